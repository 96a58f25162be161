//! The plots of the data sheet: all of them where a machine has everything, reasons in their places where a
//! process may read next to nothing.

use crate::common::{cpudyno, finish};

/// What the page of such a machine holds, in its order: the beginnings of captions, and whether a picture
/// belongs to it.
const EVERYTHING: &[(&str, bool)] = &[
    ("Claimed and measured", false),
    ("Median clock by number of active cores", true),
    ("Steps from the advertised clock", true),
    ("Clock since avx512_fma_t began", true),
    ("Change against running alone", true),
    ("Clock of all cores over time", true),
    ("power of all packages over time", true),
    ("Temperature over time", true),
    ("copy by number of cores", true),
    ("Random access latency by size", true),
    ("bandwidth of load by size", true),
    ("Latency by background bandwidth", true),
    ("Access latency, ns", true),
    ("cas: latency by pair", true),
    ("Round-trip latency distribution", true),
    ("Wake-up latency by idle state", true),
    ("Loop region, 56 threads", true),
    ("Core counters, user mode", false),
    ("Turbo frequency by level and licence", true),
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
    is_small(page);
}

fn is_small(page: &str) {
    let bytes = page.len();
    assert!(bytes < 3_000_000, "{bytes} bytes are more than people forward");
}

/// Of machines with many cores, each of which has numbers of its own.
#[test]
fn pages_of_large_machines_are_small_enough_to_forward() {
    is_small(&page("sim:icelake", None));
    is_small(&page("sim:sapphire", Some("60s")));
}

/// A ticket has the top, and the rest behind a line where somebody asks for it; no heading stands over nothing.
#[test]
fn a_sheet_in_a_ticket_is_short() {
    for (machine, budget) in [("sim:2s-28c", "30s"), ("sim:2s-28c", "3s"), ("sim:container", "10s")]
    {
        let args = ["sheet", "--machine", machine, "--budget", budget, "--format", "markdown"];
        let short = finish(cpudyno(&args)).success();
        assert!(short.lines().count() < 100 && !short.contains("<details>"), "{machine}: {short}");
        let page = finish(cpudyno(&[&args[..], &["--all"]].concat())).success();
        let (top, rest) = page.split_once("<details").unwrap();
        assert!(short.contains("### Findings") && top.contains("### Findings"), "{machine}: {top}");
        for title in ["Claims against facts", "Clock"] {
            assert!(rest.contains(&format!("<summary>{title}</summary>")), "{machine}: {rest}");
        }
        let counts = ["<details", "</details>"].map(|tag| page.matches(tag).count());
        assert_eq!(counts[0], counts[1], "{machine}: each part ends");
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
        ("Claims against facts", "cannot tell"),
    ] {
        let section = section(title);
        assert!(section.contains(why), "{title}: {section}");
    }
    for title in ["Clock", "Core to core", "Wake-ups", "Latency and bandwidth by size"] {
        assert!(section(title).contains("<figure>"), "{title} needs no rights");
    }
}

/// The findings of a sheet of a simulated machine.
fn findings(machine: &str, budget: &str) -> Vec<serde_json::Value> {
    let args = ["sheet", "--machine", machine, "--budget", budget, "--json", "-"];
    let json = finish(cpudyno(&args)).success();
    let record: serde_json::Value = serde_json::from_str(&json).unwrap();
    record["findings"].as_array().unwrap().clone()
}

/// What the account of the clock found is the cause of a turbo limit that was not kept.
#[test]
fn a_turbo_limit_that_is_not_kept_has_its_cause_from_the_account() {
    let findings = findings("sim:laptop", "30s");
    let turbo = findings.iter().find(|it| it["about"] == "turbo, 1 to 4 cores");
    let text = turbo.unwrap()["text"].as_str().unwrap();
    assert!(text.contains("held by PL2 52 W") && text.contains("logged"), "{text}");
}

/// Whoever reads a list of findings is told one budget.
#[test]
fn one_list_of_findings_names_one_budget() {
    for budget in ["3s", "10s"] {
        let findings = findings("sim:2s-28c", budget);
        let remedies = findings.iter().filter_map(|it| it["remedy"].as_str());
        let mut budgets: Vec<&str> =
            remedies.filter(|it| it.starts_with("give it more time: --budget")).collect();
        assert!(!budgets.is_empty(), "{budget}: {findings:?}");
        budgets.dedup();
        assert_eq!(budgets.len(), 1, "{budget}: {budgets:?}");
    }
}

/// A package that saturates before the machine does has a mark of its own.
#[test]
fn the_cores_that_saturate_one_package_are_told() {
    let args = [
        "sheet",
        "--machine",
        "sim:2s-28c",
        "--budget",
        "30s",
        "--format",
        "markdown",
        "-v",
        "--all",
    ];
    let page = finish(cpudyno(&args)).success();
    assert!(page.contains("; 16 cores of one package have nearly all that it gives ("), "{page}");
    assert!(page.contains("95 % of the most of one package with 16 cores: "), "{page}");
    let args =
        ["sheet", "--machine", "sim:4c", "--budget", "10s", "--format", "markdown", "-v", "--all"];
    assert!(!finish(cpudyno(&args)).success().contains("of one package"));
}
