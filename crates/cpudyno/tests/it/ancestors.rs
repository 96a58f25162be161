//! What the ancestors do and no other test holds: rows of `docs/ancestors.toml`.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use crate::common::{cpudyno, finish};
use crate::guide::Guide;
use crate::record::checked;

/// What `turbo` prints of one stream on a server.
fn turbo(more: &[&str]) -> String {
    let args = ["turbo", "--machine", "sim:guide", "--test", "scalar_iadd"];
    finish(cpudyno(&[&args, more].concat())).success()
}

/// The cells of a page's only row, by title. What does not fit beside the others stands in a further table.
fn cells(page: &str) -> BTreeMap<&str, &str> {
    let lines: Vec<&str> = page.lines().collect();
    let tables = lines.windows(2).filter(|pair| pair[0].starts_with("Cores | "));
    let cells = tables.flat_map(|pair| pair[0].split('|').zip(pair[1].split('|')));
    let cells: BTreeMap<&str, &str> = cells.map(|(a, b)| (a.trim(), b.trim())).collect();
    assert!(!cells.is_empty(), "no table: {page}");
    cells
}

fn number(text: &str) -> f64 {
    text.trim().parse().unwrap_or_else(|_| panic!("`{text}` is no number"))
}

/// The first line of a page that begins with that word.
fn line<'a>(page: &'a str, word: &str) -> &'a str {
    let found = page.lines().find(|line| line.split_whitespace().next() == Some(word));
    found.unwrap_or_else(|| panic!("no line begins with `{word}`: {page}"))
}

#[test]
fn the_list_of_streams_says_what_each_executes() {
    for command in [&["turbo", "--list"][..], &["streams"]] {
        let list = finish(cpudyno(&[command, &["--width", "100"]].concat())).success();
        for (id, does) in [
            ("pause_only", "spin-wait hints"),
            ("scalar_iadd", "64-bit integer adds, serial"),
            ("avx256_fma_t", "256-bit fused multiply-adds, parallel"),
            ("avx512_vpermw", "512-bit 16-bit permutations, serial"),
        ] {
            let (_, told) = line(&list, id).split_once(' ').unwrap();
            assert_eq!(told.trim(), does, "{command:?} {id}: {list}");
        }
    }
}

#[test]
fn threads_unlike_the_usual_ones_are_said_to_be_so_on_the_page_and_in_the_record() {
    let unpinned = "not pinned: numbers may belong to another CPU";
    let apart = "not waiting for each other: fewer cores may be active at once";
    let both = format!("{unpinned}; {apart}");
    for (options, manner) in [
        (&[][..], None),
        (&["--no-pin"], Some(unpinned)),
        (&["--no-barrier"], Some(apart)),
        (&["--no-pin", "--no-barrier"], Some(both.as_str())),
    ] {
        let asked = [&["--max-threads", "1", "--width", "200"], options].concat();
        let page = turbo(&asked);
        let told = page.lines().find_map(|line| line.strip_prefix("│ Threads ")).unwrap();
        let told = told.trim_end_matches('│').trim();
        assert_eq!(told, manner.unwrap_or("pinned, starting together"), "{options:?}: {page}");
        let record = checked(&turbo(&[&asked[..], &["--json", "-"]].concat()));
        assert_eq!(record.run.plan.manner.as_deref(), manner, "{options:?}");
    }
}

#[test]
fn a_warm_up_of_no_time_is_none_and_one_of_100_ms_is_in_the_recorded_command() {
    for (ms, manner) in [("0", Some("not warmed up")), ("100", None)] {
        let asked = ["--max-threads", "1", "--warmup-ms", ms];
        let record = checked(&turbo(&[&asked[..], &["--json", "-"]].concat()));
        assert_eq!(record.run.plan.manner.as_deref(), manner, "{ms}");
        let command = &record.run.command;
        assert!(command.windows(2).any(|pair| pair == ["--warmup-ms", ms]), "{command:?}");
        let page = turbo(&asked);
        assert_eq!(page.contains("not warmed up"), manner.is_some(), "{ms}: {page}");
    }
    let endless = finish(cpudyno(&["turbo", "--machine", "sim:4c", "--warmup-ms", "60001"]));
    assert_eq!(endless.code, Some(2), "{endless:?}");
    assert!(endless.stderr.contains("expected a number from 0 to 60000"), "{endless:?}");
}

#[test]
fn registers_of_the_leaf_of_the_tsc_are_captured_and_give_the_rate_of_the_stamp_clock() {
    let captured = finish(cpudyno(&["capture", "-", "--machine", "sim:guide"]));
    assert_eq!(captured.code, Some(0), "{captured:?}");
    let (_, registers) = line(&captured.stdout, "0x15.0").split_once(" = ").unwrap();
    let registers: Vec<u64> =
        registers.split(' ').map(|register| u64::from_str_radix(register, 16).unwrap()).collect();
    let &[eax, ebx, ecx, _] = &registers[..] else { panic!("not four: {registers:?}") };
    // The crystal in hertz, times a ratio.
    let megahertz = ecx * ebx / eax / 1_000_000;
    let page = turbo(&["--max-threads", "1"]);
    assert!(page.contains(&format!("{megahertz}.000 MHz (CPUID 15h)")), "{registers:?} {page}");
}

#[test]
fn a_wide_page_has_the_description_of_the_stream_in_its_row() {
    let page = turbo(&["--max-threads", "1", "--width", "200"]);
    assert_eq!(cells(&page)["Description"], "64-bit integer adds, serial", "{page}");
}

/// A record in which MPERF stood still for a quarter of the time, as it does in a halt.
#[test]
fn of_a_core_halted_for_a_quarter_of_the_time_three_quarters_of_the_clock_are_left_on_average() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    let json = turbo(&["--max-threads", "1", "--width", "200", "--json", "-"]);
    let mut record: Value = serde_json::from_str(&json).unwrap();
    let shown = |record: &Value| {
        fs::write(&file, record.to_string()).unwrap();
        finish(cpudyno(&["show", file.to_str().unwrap()])).success()
    };
    let awake = shown(&record);
    let mut all = record["series"].as_array_mut().unwrap().iter_mut();
    let rate = all.find(|series| series["quantity"] == "mperf_rate").unwrap();
    let halted = rate.to_string().replace("2600000000.0", "1950000000.0");
    *rate = serde_json::from_str(&halted).unwrap();
    let halted = shown(&record);
    let [before, after] = [cells(&awake), cells(&halted)];
    assert_eq!([before["M/tsc-ratio"], after["M/tsc-ratio"]], ["1.00", "0.75"], "{halted}");
    assert_eq!(before["A/M-MHz"], after["A/M-MHz"], "the clock while not halted: {halted}");
    for cells in [before, after] {
        let average = number(cells["A/M-MHz"]) * number(cells["M/tsc-ratio"]);
        assert!((number(cells["Avg-MHz"]) - average).abs() <= 1.0, "{cells:?}");
    }
}

#[test]
fn a_cell_has_a_value_of_each_of_eight_threads_and_of_nine_least_middle_and_greatest() {
    let titles = ["Mops", "Cycles/op"];
    for (threads, more, values, between) in
        [("3", &[][..], 3, ", "), ("8", &["-v"], 8, ", "), ("9", &["-v"], 3, " / ")]
    {
        let asked = ["--min-threads", threads, "--max-threads", threads, "--width", "200"];
        let page = turbo(&[&asked[..], more].concat());
        let cells = cells(&page);
        for title in titles {
            let listed: Vec<f64> = cells[title].split(between).map(number).collect();
            assert_eq!(listed.len(), values, "{threads} {title}: {page}");
            assert!(between == ", " || listed.is_sorted(), "{threads} {title}: {page}");
        }
    }
    // Where they have no room and are not asked for, values that agree are one.
    let asked = ["--min-threads", "3", "--max-threads", "3", "--width", "100"];
    for (more, values) in [(&[][..], 1), (&["-v"], 3)] {
        let page = turbo(&[&asked, more].concat());
        assert_eq!(cells(&page)["Mops"].split(", ").count(), values, "{more:?}: {page}");
    }
}

#[test]
fn priorities_0_and_1_are_planned_as_proportional_and_ordered() {
    for (priority, kind) in [("0", "proportional"), ("1", "ordered")] {
        let words = ["-c", "0", "core-power", "enable", "-p", priority, "--dry-run"];
        let args = [&["sst", "--machine", "sim:guide"], &words[..]].concat();
        let page = finish(cpudyno(&args)).success();
        let cells: Vec<&str> = line(&page, "sst.priorities").split_whitespace().collect();
        assert_eq!(cells[..5], ["sst.priorities", "off", "proportional", "on", kind], "{page}");
    }
}

#[test]
fn what_is_left_out_of_a_class_is_told_with_its_default() {
    let note = |given: &[&str]| {
        let args = ["sst", "--machine", "sim:guide", "core-power", "config", "-c", "0"];
        let page = finish(cpudyno(&[&args[..], given, &["--dry-run"]].concat())).success();
        page.lines().find_map(|line| line.strip_prefix("- not given, ").map(str::to_owned))
    };
    let all = "set to the default: min (0 MHz), max (no limit), weight (0), epp (0)";
    assert_eq!(note(&[]).as_deref(), Some(all));
    let two = "set to the default: weight (0), epp (0)";
    assert_eq!(note(&["-n", "2000", "-m", "3000"]).as_deref(), Some(two));
    assert_eq!(note(&["-n", "2000", "-m", "3000", "-w", "1", "-e", "1"]), None);
}

impl Guide {
    /// The page of a comparison, which leaves the governor as it was.
    fn compared(&self, line: &str) -> String {
        let page = self.done(&format!("ab {line}"));
        let left = self.done("settings governor --width 100");
        let is = left.lines().find(|line| line.starts_with("governor ")).unwrap();
        assert!(is.split_whitespace().nth(3) == Some("performance"), "{line}: {left}");
        page
    }
}

/// On a simulated machine both reach the same clock, one of them later: `ab` sees that, and no other difference.
fn between_governors(area: &str, budget: &str) {
    let plans = "--a governor=powersave --b governor=performance";
    let page = Guide::called("4c")
        .compared(&format!("--area {area} {plans} --budget {budget} --width 100"));
    for words in [
        "\nA and B are the same within 1.0 %: B / A = ",
        "\nA    governor=powersave ",
        "\nB    governor=performance ",
        "\n[obeyed] governor: before ",
    ] {
        assert!(page.contains(words), "no `{words}`: {page}");
    }
}

#[test]
fn signals_under_two_power_plans_differ_as_the_clock_does() {
    between_governors("wake", "3s");
    let guide = Guide::new();
    let half = "--area wake --a max_freq=1.6GHz --b max_freq=3.2GHz --budget 3s --width 100";
    let page = guide.compared(half);
    assert!(page.contains("\nB is better: B / A = 0.6"), "{page}");
}

#[test]
fn regions_under_two_governors_that_reach_the_same_clock_cost_the_same() {
    between_governors("openmp", "15s");
}

/// A pause takes cycles: with turbo off and base-freq on, 2.4 GHz have CPUs without priority, 3 GHz those with it.
#[test]
fn a_pause_of_a_priority_core_is_shorter_by_its_base_clock() {
    let guide = Guide::new();
    let cycles = |clocks: [f64; 2]| {
        let page = guide.done("pause --cpus 0,5 --width 100");
        for (cpu, gigahertz) in ["0", "5"].into_iter().zip(clocks) {
            let ns = number(line(&page, cpu).split_whitespace().nth(1).unwrap_or_default());
            assert!((ns * gigahertz - 140.0).abs() < 1.0, "{ns} ns at {gigahertz} GHz: {page}");
        }
    };
    guide.done("set no_turbo=on --no-proof");
    cycles([2.6, 2.6]);
    guide.done("sst base-freq enable -a");
    cycles([2.4, 3.0]);
}
