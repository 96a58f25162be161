//! The plots of the data sheet: all of them where a machine has everything, reasons in their places where a
//! process may read next to nothing.

mod common;

use common::{cpudyno, finish};

/// What the page of such a machine holds, in its order: the beginnings of captions, and whether a picture
/// belongs to it.
const EVERYTHING: &[(&str, bool)] = &[
    ("what the machine says of itself", false),
    ("median clock by the chain, MHz", true),
    ("what each step takes", true),
    ("clock by the time since", true),
    ("what neighbours change", true),
    ("clock of all cores over time", true),
    ("power of all packages over time", true),
    ("temperature over time", true),
    ("copy by number of cores", true),
    ("latency of a random access by size", true),
    ("bandwidth of load by size", true),
    ("latency by what others move", true),
    ("latency of one access, ns", true),
    ("cas: latency of each pair, ns", true),
    ("round trips by how long they took", true),
    ("wake-ups by the idle state that they ended", true),
    ("us per region of the loop", true),
    ("what the counters of the core say", false),
    ("turbo frequency that each level allows", true),
];

fn page(machine: &str, budget: Option<&str>) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sheet.html");
    let args = ["sheet", "--machine", machine, "--html", file.to_str().unwrap()];
    let budget = budget.map_or_else(Vec::new, |budget| vec!["--budget", budget]);
    finish(cpudyno(&[&args[..], &budget].concat())).success();
    std::fs::read_to_string(file).unwrap()
}

/// The figures of a page: caption and what is in it.
fn figures(page: &str) -> Vec<(&str, &str)> {
    let figures = page.split("<figcaption>").skip(1);
    figures.filter_map(|it| it.split("</figure>").next()?.split_once("</figcaption>")).collect()
}

#[test]
fn a_machine_that_has_everything_fills_every_plot() {
    // With more time, and in the time that a sheet has where nobody says.
    for budget in [Some("60s"), None] {
        every_plot_is_filled(&page("sim:2s-28c", budget));
    }
}

fn every_plot_is_filled(page: &str) {
    let figures = figures(page);
    let mut rest = figures.iter();
    for (caption, is_drawn) in EVERYTHING {
        let found = rest.find(|(title, _)| title.starts_with(caption));
        let (_, figure) = found.unwrap_or_else(|| panic!("no {caption:?}, or not in its place"));
        let pictures = ["<polyline", "class=\"heat", "class=\"bar\""];
        let drawn = pictures.iter().any(|picture| figure.contains(picture));
        assert_eq!(drawn, *is_drawn, "{caption}: {figure}");
    }
    assert!(!page.contains("no points to plot"));
    // Clocks as promised are outlined, ends of caches, knees and the number of cores that is enough have names.
    assert!(page.contains(" outlined\""), "no promised clock");
    for name in ["L2 to ", "a knee with two ends: ", "95 % of the most with "] {
        assert!(page.contains(name), "{name}");
    }
    let bytes = page.len();
    assert!(bytes < 2_000_000, "{bytes} bytes are more than people forward");
}

/// A ticket shows the top, and hides the rest behind a line; no heading stands over nothing.
#[test]
fn a_sheet_in_a_ticket_is_short() {
    for (machine, budget) in [("sim:2s-28c", "30s"), ("sim:2s-28c", "3s"), ("sim:container", "10s")]
    {
        let args = ["sheet", "--machine", machine, "--budget", budget, "--format", "markdown"];
        let page = finish(cpudyno(&args)).success();
        let (top, rest) = page.split_once("<details><summary>").unwrap();
        assert!(top.lines().count() < 100, "{machine}: {top}");
        for heading in ["### Findings", "### Claims against facts"] {
            assert!(top.contains(heading), "{machine}: {top}");
        }
        assert!(rest.ends_with("</details>\n") && rest.contains("### Clock"), "{machine}: {rest}");
        let lines: Vec<&str> = page.lines().filter(|line| !line.trim().is_empty()).collect();
        for pair in lines.windows(2) {
            let both = pair.iter().all(|line| line.starts_with("### "));
            assert!(!both, "{machine} with {budget}: {pair:?}");
        }
    }
}

#[test]
fn a_container_without_rights_has_reasons_in_the_same_places() {
    let page = page("sim:container", Some("60s"));
    let section = |title: &str| {
        let after = page.split_once(&format!("<h2>{title}</h2>"));
        let (_, after) = after.unwrap_or_else(|| panic!("no section {title}"));
        after.split("<h2>").next().unwrap_or_default().to_owned()
    };
    for (title, why) in [
        ("Counters", "perf_event_paranoid"),
        ("OpenMP regions", "unavailable"),
        ("Why not faster?", "not known"),
        ("Claims against facts", "not told"),
    ] {
        let section = section(title);
        assert!(section.contains(why), "{title}: {section}");
    }
    for title in ["Clock", "Core to core", "Wake-ups", "Latency and bandwidth by size"] {
        assert!(section(title).contains("<figure>"), "{title} needs no rights");
    }
}
