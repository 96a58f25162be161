//! `cpudyno memory` on simulated machines: its pages, and that `show` prints the same.

use std::collections::BTreeSet;

use crate::common::{cpudyno, finish};
use crate::record::checked;

/// What `cpudyno memory` prints.
fn memory(machine: &str, more: &[&str]) -> String {
    finish(cpudyno(&[&["memory", "--machine", machine], more].concat())).success()
}

#[test]
fn bandwidth_of_a_guest() {
    insta::assert_snapshot!("bandwidth-80", memory("sim:vm-2c", &["--width", "80"]));
    let asked = ["--width", "120", "--write-allocate", "off", "--unit", "GB"];
    insta::assert_snapshot!("bandwidth-120", memory("sim:vm-2c", &asked));
}

#[test]
fn what_memory_controllers_counted_stands_beside() {
    let asked = ["--kernels", "copy,load", "--unit", "GB", "--width", "130"];
    insta::assert_snapshot!("measured-130", memory("sim:2s-56c", &asked));
}

#[test]
fn arrays_within_caches_are_called_so() {
    let small = ["--length", "20000", "--threads", "1", "--kernels", "copy,triad"];
    let page = memory("sim:1c", &[&small[..], &["--width", "100"]].concat());
    insta::assert_snapshot!("within-caches", page);
    for (length, words) in [("1000", "within L1"), ("300000", "within L3"), ("2MiB", "within L3")] {
        let page = memory("sim:1c", &["--length", length, "--budget", "1s"]);
        assert!(page.contains(&format!("CPU 0: {words}")), "{length}: {page}");
        assert!(page.contains("--length 4718592"), "{length}: {page}");
    }
    let page = memory("sim:1c", &["--length", "1000000", "--budget", "1s"]);
    assert!(page.contains("CPU 0: cache and memory"), "{page}");
}

#[test]
fn scaling_of_two_packages() {
    insta::assert_snapshot!("scaling-80", memory("sim:2s-56c", &["scaling", "--width", "80"]));
}

#[test]
fn scaling_of_all_has_every_number_of_threads() {
    let counts = |more: &[&str]| {
        let asked = ["scaling", "--threads", "24", "--kernels", "copy", "--budget", "1s"];
        let plan =
            memory("sim:2s-56c", &[&asked, more, &["--dry-run", "--format", "json"]].concat());
        let plan: serde_json::Value = serde_json::from_str(&plan).unwrap();
        let cells = plan["cells"].as_array().unwrap();
        let count = |cell: &serde_json::Value| cell["cpus"].as_array().map(Vec::len);
        let counts: BTreeSet<usize> = cells.iter().map(|cell| count(cell).unwrap()).collect();
        counts.into_iter().collect::<Vec<_>>()
    };
    assert_eq!(counts(&["--all"]), (1..=24).collect::<Vec<_>>());
    assert!(counts(&[]).len() < 12);
}

#[test]
fn verbose_pages_have_the_lines_of_the_original_from_the_same_record() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    let page = memory("sim:4c", &["-v", "--json", file.to_str().unwrap()]);
    let record = model::record::read(&std::fs::read_to_string(&file).unwrap()).unwrap();
    for (active, count) in [("0", 1), ("0-3", 4)] {
        let table = page.split("As STREAM prints it: ").find(|part| {
            part.starts_with(&format!("Single-threaded, CPU {active},"))
                || part.starts_with(&format!("{count} threads, CPUs {active},"))
        });
        let table = table.unwrap_or_else(|| panic!("{page}"));
        for (kernel, label, arrays) in [
            ("copy", "Copy:", 2.0),
            ("scale", "Scale:", 2.0),
            ("add", "Add:", 3.0),
            ("triad", "Triad:", 3.0),
        ] {
            let series = record.series.iter().find(|it| {
                let is =
                    |key: &str, value: &str| it.parameters.get(key).is_some_and(|it| it == value);
                (it.workload.as_str(), it.quantity.as_str()) == (kernel, "bandwidth")
                    && it.active == active.parse().unwrap()
                    && is("question", "bandwidth")
                    && is("choice", model::areas::memory::choice::ORDINARY)
            });
            let series = series.unwrap();
            let rates = series.samples().unwrap().all();
            let bytes = series.parameters["elements"].parse::<f64>().unwrap() * 8.0 * arrays;
            let best = rates.iter().copied().fold(0.0, f64::max);
            let worst = rates.iter().copied().fold(f64::INFINITY, f64::min);
            let mean = rates.iter().map(|rate| bytes / rate).sum::<f64>() / rates.len() as f64;
            let times = [mean, bytes / best, bytes / worst].map(|time| format!("{time:.6}"));
            let line = table.lines().find(|line| line.starts_with(label)).unwrap();
            let found: Vec<&str> = line.split_whitespace().skip(1).collect();
            assert_eq!(found, [&[format!("{:.1}", best / 1e6)], &times[..]].concat(), "{line}");
        }
    }
    assert!(!memory("sim:4c", &[]).contains("As STREAM prints it"));
}

#[test]
fn advice_on_pinning_stands_where_it_matters() {
    let advice = |machine: &str| {
        let page = memory(machine, &["--kernels", "copy", "--budget", "1s"]);
        let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = words.split("that does not pin them may run ").nth(1)?;
        Some(text.split(": ").next()?.to_owned())
    };
    assert_eq!(advice("sim:2s-56c").as_deref(), Some("far from their memory"));
    assert_eq!(advice("sim:hybrid").as_deref(), Some("on slower cores"));
    assert_eq!((advice("sim:4c"), advice("sim:vm-2c")), (None, None));
}

#[test]
fn sweep_of_a_guest_that_claims_too_much() {
    insta::assert_snapshot!("sweep-80", memory("sim:vm-2c", &["sweep", "--width", "80"]));
    insta::assert_snapshot!("sweep-120", memory("sim:2s-56c", &["sweep", "--width", "120"]));
}

#[test]
fn factors_as_the_original_has_them() {
    let page = memory("sim:2s-56c", &["sweep", "--factors", "4", "--width", "80"]);
    insta::assert_snapshot!("factors-80", page);
}

#[test]
fn latency_in_small_and_huge_pages() {
    insta::assert_snapshot!("latency-80", memory("sim:vm-2c", &["latency", "--width", "80"]));
    insta::assert_snapshot!("latency-120", memory("sim:1c", &["latency", "--width", "120"]));
    let page = memory("sim:1c", &["latency", "--verbose"]);
    assert!(page.contains("    16           10.0        8.0\n"), "{page}");
}

#[test]
fn latency_while_others_move_data() {
    insta::assert_snapshot!("loaded-80", memory("sim:2s-56c", &["loaded", "--width", "80"]));
}

#[test]
fn from_node_to_node() {
    insta::assert_snapshot!("numa-80", memory("sim:2s-56c", &["numa", "--width", "80"]));
    let page = memory("sim:1c", &["numa"]);
    assert!(page.contains("This machine has one memory node, 0"), "{page}");
}

#[test]
fn the_list_says_what_runs_here() {
    let page = memory("sim:1c", &["--list", "--width", "120"]);
    insta::assert_snapshot!("list-120", page);
}

#[test]
fn show_prints_what_the_live_run_printed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    let file = file.to_str().unwrap();
    for machine in ["sim:vm-2c", "sim:2s-56c"] {
        for question in [&[][..], &["scaling"], &["sweep"], &["latency"], &["loaded"], &["numa"]] {
            for width in ["80", "120"] {
                let look = ["--budget", "5s", "--width", width, "--json", file];
                let live = memory(machine, &[question, &look[..]].concat());
                let shown = finish(cpudyno(&["show", file])).success();
                assert!(live == shown, "{machine} {question:?}: `show` prints something else");
                checked(&std::fs::read_to_string(file).unwrap());
            }
        }
    }
}

/// What is asked for wrongly, what is said of it, and what helps.
#[test]
fn wrong_values_are_told_what_is_right() {
    #[rustfmt::skip]
    let rows: &[(&str, &str, &str)] = &[
        ("--length -1", "invalid value '-1' for '--length <LENGTH>'", "give elements of 8 bytes"),
        ("--threads -1", "expected a number of at least 1", "`cpudyno info`"),
        ("--budget -1", "expected a time from 1s to 1h", "--budget 30s"),
        ("--length 512M", "expected a length", "did you mean `512MB`?"),
        ("--unit mb", "invalid value 'mb' for '--unit <UNIT>'", "did you mean `MB`?"),
        ("--length 15", "arrays of 15 elements: at least 16 are needed (a cache line for each of 2 threads)",
            "--length 16"),
        ("sweep --length 511", "arrays of 511 elements: at least 512 are needed (one page)", "--length 512"),
        ("latency --length 511", "arrays of 511 elements: at least 512 are needed (one page)", "--length 512"),
    ];
    for (args, error, hint) in rows {
        let args: Vec<&str> = args.split(' ').collect();
        let refused = finish(cpudyno(&[&["memory", "--machine", "sim:vm-2c"], &args[..]].concat()));
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{args:?}");
        let said = &refused.stderr;
        assert!(said.contains(error) && said.contains(hint), "{args:?}: {said}");
    }
}

#[test]
fn a_kernel_that_is_named_twice_is_measured_once() {
    let of = |kernels| memory("sim:1c", &["--kernels", kernels, "--budget", "1s"]);
    assert_eq!(of("copy,copy"), of("copy"));
}

/// Caches are never called memory, and within them nothing is counted that was not moved.
#[test]
fn numbers_of_caches_are_counted_as_asked() {
    let small = ["--length", "1000", "--machine", "sim:2s-56c"];
    for (question, heading) in [
        ("numa", "From node to node: within L1"),
        ("loaded", "Latency while others move data: within L1"),
        ("scaling", "Bandwidth by number of threads: within L1"),
    ] {
        let page = finish(cpudyno(&[&["memory", question], &small[..]].concat())).success();
        assert!(page.contains(heading), "{page}");
        assert!(page.contains("they are none of memory") || page.contains("none of memory"));
        let (_, table) = page.split_once(heading).unwrap();
        assert!(!table.contains("with write-allocate"), "{page}");
    }
}

/// The model moves 1.5 times as much for a copy with ordinary stores, but not within caches.
#[test]
fn a_copy_within_caches_moves_what_was_asked() {
    let of = |switch: &str| {
        let asked = ["scaling", "--length", "1MiB", "--kernels", "copy", "--variant", "avx"];
        let page = memory("sim:1c", &[&asked[..], &["--write-allocate", switch]].concat());
        let row = page.lines().find(|line| line.trim_start().starts_with("1 ")).unwrap();
        row.split_whitespace().nth(1).unwrap().to_owned()
    };
    assert_eq!(of("on"), of("off"));
}

/// Two arrays lie within a cache that three do not: each row has its own counting, and no median is
/// taken over both.
#[test]
fn each_kernel_is_counted_by_where_it_lies() {
    let page = memory("sim:1c", &["--length", "4MiB", "--width", "120"]);
    assert!(page.contains("CPU 0: within L3, cache and memory"), "{page}");
    assert!(page.contains("within L3: copy, scale"), "{page}");
    assert!(page.contains("cache and memory: add, triad"), "{page}");
    assert!(!page.contains("COPY "), "{page}");
}

/// What one instruction moves is not known with write-allocate: it is in no headline.
#[test]
fn what_is_not_known_is_left_out() {
    let asked = ["--variant", "rep-movsb", "--kernels", "copy", "--threads", "2"];
    let page = memory("sim:vm-2c", &[&asked[..], &["--width", "160"]].concat());
    let row = page.lines().find(|line| line.starts_with("copy")).unwrap();
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    assert_eq!(cells[3..6], ["unavailable", "-", "-"], "{page}");
    let page = memory("sim:vm-2c", &[&["scaling"], &asked[..]].concat());
    assert!(page.contains("left out: copy (rep-movsb)"), "{page}");
}

#[test]
fn each_kernel_has_its_map_between_nodes() {
    let asked = ["numa", "--kernels", "copy,load", "--cpus", "0-3,56"];
    let page = memory("sim:2s-56c", &[&asked[..], &["--width", "120"]].concat());
    for words in [
        "Bandwidth of copy, MB/s with write-allocate",
        "Bandwidth of load, MB/s with write-allocate",
        "data is moved by CPUs 0-3 of node 0; by CPU 56 of node 1",
    ] {
        assert!(page.contains(words), "no {words} in {page}");
    }
}

#[test]
fn a_cache_that_is_no_faster_than_memory_is_not_called_so() {
    let page = memory("sim:vm-2c", &["latency", "--width", "120"]);
    assert!(page.contains("L3 only claimed: 52.5 MiB would lie in it, and is no"), "{page}");
    assert_eq!(page.matches("would lie in it").count(), 1, "{page}");
    assert!(!page.contains("L3, as claimed"), "{page}");
}

/// Points are thinned until a sweep fits, and what is left out is said.
#[test]
fn one_sweep_fits_into_the_time() {
    let plan = memory("sim:2s-56c", &["scaling", "--dry-run", "--width", "200"]);
    let line = plan.lines().find(|line| line.contains("Time ")).unwrap();
    let (seconds, _) = line.split_once("about ").unwrap().1.split_once(" s of 30").unwrap();
    assert!(seconds.parse::<f64>().unwrap() <= 30.0, "{plan}");
    let page = memory("sim:2s-56c", &["sweep", "--factors", "64", "--budget", "1m"]);
    assert!(page.contains("factors between these do not fit into the time"), "{page}");
    let page = memory("sim:2s-56c", &["scaling", "--budget", "1s"]);
    assert!(page.contains("the 1.0 s of the run ended before"), "{page}");
    assert!(page.contains("-> give it more time: --budget 2s"), "{page}");
    let all = memory("sim:1c", &["sweep", "--factors", "10", "--budget", "1m"]);
    assert!(!all.contains("factors between these"), "{all}");
}

/// The model's node has what 15 cores take: the bracket holds it, and is narrow where there is time.
#[test]
fn saturation_lies_in_a_narrow_bracket() {
    let page = memory("sim:2s-56c", &["scaling", "--budget", "2m", "--width", "200"]);
    for node in ["node 0: it takes ", "node 1: it takes "] {
        let (_, rest) = page.split_once(node).unwrap();
        let numbers = rest.split_once(" threads").unwrap().0;
        let (low, high) = numbers.split_once(" to ").unwrap_or((numbers, numbers));
        let [low, high] = [low, high].map(|number| number.parse::<u32>().unwrap());
        assert!(low <= 15 && high >= 15 && high <= low + 2, "{numbers}: {page}");
    }
}

#[test]
fn a_sweep_without_a_plateau_prints_its_points() {
    let page = memory("sim:1c", &["sweep", "--length", "512"]);
    assert!(page.contains("every point: too few for a plateau"), "{page}");
    assert!(page.contains("4 KiB"), "{page}");
}

#[test]
fn no_verdict_rests_on_a_few_blocks() {
    let page = memory("sim:vm-2c", &["sweep", "--budget", "1s"]);
    assert!(page.contains("1 of 30 sweeps"), "{page}");
    assert!(!page.contains("behaves like"), "{page}");
}
