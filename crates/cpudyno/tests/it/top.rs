//! `cpudyno top`, on simulated machines and on the one at hand.

use std::fs;

use crate::common::{Finished, Running, cpudyno, finish};
use crate::record::checked;
use crate::signals;

fn top(more: &[&str]) -> String {
    finish(cpudyno(&[&["top"], more].concat())).success()
}

fn fails(refused: &Finished, code: i32, message: &str, hint: &str) {
    assert_eq!(refused.code, Some(code), "{refused:?}");
    let lines: Vec<&str> = refused.stderr.lines().collect();
    assert!(lines[0].starts_with("error: ") && lines[0].contains(message), "{refused:?}");
    assert!(lines[1].starts_with("hint: ") && lines[1].contains(hint), "{refused:?}");
}

#[test]
fn a_large_server_at_work() {
    let more = ["--machine", "sim:2s-56c", "--once", "-c", "0-2,9,56,112"];
    insta::assert_snapshot!("top-2s-56c", top(&more));
    insta::assert_snapshot!("top-2s-56c-80", top(&[&more[..], &["--width", "80", "-v"]].concat()));
}

#[test]
fn as_in_the_speed_select_guide() {
    let more = ["-c", "0-13", "--show", "Package,Core,CPU,Bzy_MHz", "-i", "1", "-n", "2"];
    insta::assert_snapshot!("top-guide", top(&[&more[..], &["--machine", "sim:2s-56c"]].concat()));
}

#[test]
fn a_guest() {
    insta::assert_snapshot!("top-vm-2c", top(&["--machine", "sim:vm-2c", "--once"]));
}

#[test]
fn show_prints_what_the_live_run_printed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("watched.json");
    let file = file.to_str().unwrap();
    for machine in [&["--machine", "sim:2s-56c"][..], &[]] {
        let live = top(&[&["-n", "3", "-i", "20ms", "--json", file][..], machine].concat());
        let record = checked(&fs::read_to_string(file).unwrap());
        assert_eq!(record.run.plan.blocks_done, 3);
        assert_eq!(finish(cpudyno(&["show", file])).success(), live);
        assert_eq!(live.matches("\nover 0.").count(), 3, "{live}");
    }
}

#[test]
fn columns_have_names() {
    let refused = finish(cpudyno(&["top", "--once", "--show", "Bzy_Mhz", "--machine", "sim:4c"]));
    fails(&refused, 2, "there is no column `Bzy_Mhz`", "did you mean `Bzy_MHz`?");
    let refused =
        finish(cpudyno(&["top", "--once", "--show", "PkgWatt", "--machine", "sim:vm-2c"]));
    fails(
        &refused,
        3,
        "cannot watch PkgWatt: the hypervisor does not show it to this guest",
        "read it on the host",
    );
    let refused = finish(cpudyno(&["top", "-c", "0,99", "--once", "--machine", "sim:4c"]));
    fails(&refused, 2, "cannot use CPU 99: online are 0-7", "choose among --cpus 0-7");
}

#[test]
fn a_column_that_was_asked_for_stays_without_a_number_and_says_why() {
    let asked = ["--machine", "sim:guide", "top", "-c", "0-1", "--show", "Core,CPU,Bzy_MHz"];
    let page = finish(cpudyno(&[&asked[..], &["-i", "1", "-n", "1"]].concat())).success();
    let header = page.lines().find(|line| line.starts_with("Package")).expect(&page);
    assert_eq!(
        header.split_whitespace().collect::<Vec<_>>(),
        ["Package", "Core", "CPU", "Bzy_MHz"]
    );
    let row = page.lines().find(|line| line.starts_with("0        1 ")).expect(&page);
    assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["0", "1", "1", "-"]);
    // What was not asked for is not missed.
    let (_, missing) = page.split_once("Not measured").expect(&page);
    assert!(missing.contains("Bzy_MHz of CPU 0") && !missing.contains("Avg_MHz"), "{page}");
}

#[test]
fn a_column_that_nothing_reads_stays_where_it_was_named() {
    let asked = ["--machine", "sim:guide", "top", "-c", "0-1", "--show", "C1%,CoreTmp,PkgWatt"];
    let page = finish(cpudyno(&[&asked[..], &["-n", "1"]].concat())).success();
    let cells = |begin: &str| -> Vec<String> {
        let line = page.lines().find(|line| line.starts_with(begin)).expect(&page);
        line.split_whitespace().map(str::to_owned).collect()
    };
    assert_eq!(cells("Package"), ["Package", "Core", "CPU", "C1%", "CoreTmp", "PkgWatt"], "{page}");
    for core in ["0", "1"] {
        assert_eq!(
            cells(&format!("0        {core} ")),
            ["0", core, core, "0.00", "-", "-"],
            "{page}"
        );
    }
    let (_, missing) = page.split_once("Not measured").expect(&page);
    for (column, why) in
        [("CoreTmp", "no temperature sensor"), ("PkgWatt", "no zone that counts energy")]
    {
        assert!(
            missing.contains(&format!("[unavailable] {column}: ")) && missing.contains(why),
            "{page}"
        );
    }
}

#[test]
fn a_command_is_watched_and_its_code_is_passed_on() {
    let done = finish(cpudyno(&["top", "--", "sh", "-c", "echo said; exit 7"]));
    assert_eq!(done.code, Some(7));
    assert!(done.stdout.starts_with("said\n"), "{}", done.stdout);
    assert!(done.stdout.contains("TSC_MHz") || done.stdout.contains("Busy%"));
    let refused = finish(cpudyno(&["top", "--", "no-such-program"]));
    fails(&refused, 127, "cannot execute `no-such-program`", "name a program and its arguments");
    let refused = finish(cpudyno(&["top", "--machine", "sim:4c", "--", "true"]));
    fails(&refused, 3, "cannot run `true`: sim:4c runs no commands", "leave out --machine");
}

/// Who watches until Ctrl-C has seen enough; who is killed, or whose reader goes away, ends at once.
#[test]
fn it_ends_when_it_is_told_to() {
    for (signal, code) in [("INT", 0), ("TERM", 143)] {
        let running = Running::start(cpudyno(&["top", "-i", "50ms"]));
        std::thread::sleep(std::time::Duration::from_millis(500));
        signals::send(&running.child, signal);
        let ended = running.finish();
        assert_eq!(ended.code, Some(code), "{signal}: {ended:?}");
        assert!(ended.stdout.contains("over 0.0"), "{signal}: {ended:?}");
    }
    let mut command = crate::common::program("sh");
    let binary = env!("CARGO_BIN_EXE_cpudyno");
    command.args(["-c", &format!("{binary} top -i 10ms | head -n 3")]);
    assert!(finish(command).success().starts_with("What the CPUs do"));
}

/// Places alone are a table of places: nothing else was asked for.
#[test]
fn places_alone_are_shown_alone() {
    let shown =
        top(&["--once", "--show", "Package,Core,CPU", "--machine", "sim:2s-56c", "-c", "0-1"]);
    let header = shown.lines().find(|line| line.trim_start().starts_with("Package")).unwrap();
    assert_eq!(
        header.split_whitespace().collect::<Vec<_>>(),
        ["Package", "Core", "CPU"],
        "{shown}"
    );
    assert!(!shown.contains("MHz"), "{shown}");
}

#[test]
fn what_is_hidden_is_neither_shown_nor_missed() {
    let of = |more: &[&str]| {
        top(&[&["--once", "-c", "0", "--machine", "sim:2s-28c"][..], more].concat())
    };
    let shown = of(&["--hide", "CPU%c6,Avg_MHz,Steal%"]);
    for hidden in ["CPU%c6", "Avg_MHz", "Steal%"] {
        assert!(!shown.contains(hidden), "{shown}");
    }
    assert!(shown.contains("Bzy_MHz") && shown.contains("Pkg%pc6"), "{shown}");
    let shown = of(&["--show", "IRQ,SMI,Busy%", "--hide", "Busy%"]);
    let rows = shown.lines().filter(|line| line.starts_with("0        0"));
    let rows: Vec<Vec<&str>> = rows.map(|row| row.split_whitespace().collect()).collect();
    assert_eq!(rows, [["0", "0", "0", "250", "2"]], "{shown}");
    let refused = finish(cpudyno(&["top", "--once", "--hide", "Smi", "--machine", "sim:4c"]));
    fails(&refused, 2, "there is no column `Smi`", "did you mean `SMI`?");
}

/// Columns of counters are known where they do not show; then they are not opened.
#[test]
fn counters_are_hidden_as_other_columns_are() {
    let sim = ["--machine", "sim:2s-56c", "--once", "-c", "0-1"];
    for more in [&["--hide", "IPC"][..], &["--show", "Busy%", "--hide", "IPC,Stall%"]] {
        let shown = top(&[&sim[..], more].concat());
        assert!(shown.contains("Busy%") && !shown.contains("IPC"), "{shown}");
    }
    let refused = |more: &[&str]| finish(cpudyno(&[&["top"], &sim[..], more].concat()));
    let sorted = refused(&["--show", "Busy%", "--sort", "IPC"]);
    fails(&sorted, 2, "cannot sort by IPC: it does not show", "a column that shows");
    let added = refused(&["--add", "msr/0x10,name=CPU"]);
    fails(&added, 2, "cannot add a column `CPU`", "name=TSC");
}

/// What a ratio is weighted by is read with it, and does not show.
#[test]
fn ratios_of_counters_have_numbers_without_other_columns() {
    let of =
        |more: &[&str]| top(&[&["--machine", "sim:2s-56c", "--once", "-c", "0,56"], more].concat());
    for column in ["IPC", "Stall%", "L2%hit", "LLC%hit"] {
        let shown = of(&["--show", column]);
        let header = shown.lines().find(|line| line.starts_with("Package")).unwrap();
        assert_eq!(header.split_whitespace().last(), Some(column), "{shown}");
        let rows = shown.lines().filter(|line| line.starts_with(['-', '0', '1']));
        let numbers = rows.filter_map(|row| row.split_whitespace().last()?.parse::<f64>().ok());
        assert_eq!(numbers.filter(|number| *number > 0.0).count(), 3, "{shown}");
    }
    let shown = of(&["--hide", "L2MRPS,Avg_MHz"]);
    assert!(shown.contains("L2%hit") && !shown.contains("L2MRPS"), "{shown}");
}

/// Counters of energy begin again within minutes: they are followed in an interval of five.
#[test]
fn long_intervals_have_watts() {
    let shown = top(&["--once", "-i", "5m", "--show", "PkgWatt", "--machine", "sim:2s-56c"]);
    assert!(shown.contains("over 300.000 s"), "{shown}");
    let watts = shown.lines().find(|line| line.trim_start().starts_with("- ")).unwrap();
    let watts: f64 = watts.split_whitespace().last().unwrap().parse().unwrap();
    assert!(watts > 100.0 && watts < 1000.0, "{shown}");
}

#[test]
fn files_of_a_machine_that_runs_are_watched() {
    let of = |root: &str| finish(cpudyno(&["top", "--once", "-i", "100ms", "--root", root]));
    let told = of("/").success();
    assert!(told.contains("Busy%"), "{told}");
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("proc")).unwrap();
    fs::write(folder.path().join("proc/uptime"), "100.00 100.00\n").unwrap();
    let refused = of(folder.path().to_str().unwrap());
    assert_eq!(refused.code, Some(3));
    assert!(refused.stderr.contains("nothing runs on files below a folder"), "{}", refused.stderr);
}

/// Who waits for the end of a watch without one gets it before memory is full.
#[test]
fn a_record_has_an_end() {
    // Counters of all CPUs would take longer than all else, and are not what is asked here.
    let hidden = "IPC,Stall%,L2MRPS,L2%hit,LLCMRPS,LLC%hit";
    let args =
        ["top", "--machine", "sim:2s-56c", "-i", "0.1", "--format", "json", "--hide", hidden];
    let ended = finish(cpudyno(&args));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("a record holds no more"), "{}", ended.stderr);
    assert!(ended.stdout.starts_with('{') && ended.stdout.trim_end().ends_with('}'));
}

/// The cells of a table's rows, without that of all CPUs.
fn rows(page: &str) -> Vec<Vec<&str>> {
    let (_, table) = page.split_once("\nPackage ").unwrap();
    let rows = table.lines().skip(3).take_while(|line| !line.is_empty());
    rows.map(|line| line.split_whitespace().collect()).collect()
}

#[test]
fn rows_are_sorted_and_grouped_and_a_record_keeps_that() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sorted.json");
    let file = file.to_str().unwrap();
    let sim = ["--machine", "sim:2s-56c", "--once", "-c", "0,9,56,112", "--json", file];
    let live = |more: &[&str]| {
        let live = top(&[&sim[..], more].concat());
        assert_eq!(finish(cpudyno(&["show", file])).success(), live);
        live
    };
    let sorted = live(&["--show", "Busy%,Bzy_MHz", "--sort", "Bzy_MHz"]);
    let cpus: Vec<&str> = rows(&sorted).into_iter().map(|row| row[2]).collect();
    // What has no clock stands at the end.
    assert_eq!(cpus, ["56", "0", "9", "112"], "{sorted}");
    let grouped = live(&["--show", "Busy%,IRQ", "--group", "core"]);
    let expected = [
        ["0", "0", "0,112", "37.50", "500"],
        ["0", "9", "9", "0.00", "250"],
        ["1", "0", "56", "20.00", "250"],
    ];
    assert_eq!(rows(&grouped), expected, "{grouped}");
    let grouped = live(&["--show", "PkgWatt", "--group", "package", "--sort", "PkgWatt"]);
    let expected = [["0", "-", "0,9,112", "93.08"], ["1", "0", "56", "64.13"]];
    assert_eq!(rows(&grouped), expected, "{grouped}");
    let named = live(&["--show", "Busy%", "--group", "node"]);
    assert!(named.contains("node 1: 56"), "{named}");
}

#[test]
fn columns_to_sort_by_and_to_add_are_there_or_refused() {
    let refused = |more: &[&str]| finish(cpudyno(&[&["top", "--once"], more].concat()));
    let sim = ["--machine", "sim:vm-2c"];
    fails(&refused(&[&sim[..], &["--sort", "Bsy%"]].concat()), 2, "no column `Bsy%`", "`Busy%`?");
    let hidden = refused(&[&sim[..], &["--sort", "Busy%", "--show", "IRQ"]].concat());
    fails(&hidden, 2, "cannot sort by Busy%: it does not show", "a column that shows");
    let absent = refused(&[&sim[..], &["--sort", "PkgWatt"]].concat());
    assert_eq!(absent.code, Some(3), "{absent:?}");
    fails(&refused(&["--add", "msr0x10"]), 2, "`msr0x10` is no register", "such as msr/0x10");
    fails(&refused(&["--add", "sysfs/../etc/passwd"]), 2, "is no file below /sys", "such as");
    fails(&refused(&["--group", "socket"]), 2, "core, kind, node, package", "leave it out");
    // What is added shows with what was asked for; what cannot be read says so.
    let more = ["--show", "IRQ", "--add", "msr/0x10", "--add", "sysfs/devices/system/cpu/online"];
    let page = top(&[&["--once"], &sim[..], &more].concat());
    assert!(page.contains("msr0x10: there is no `/dev/cpu/*/msr`"), "{page}");
    assert!(page.contains("holds `0-1`, which is no number"), "{page}");
}

#[test]
fn pages_of_records_have_plots_over_time() {
    let folder = tempfile::tempdir().unwrap();
    let [html, json] = ["page.html", "record.json"].map(|name| folder.path().join(name));
    let [html, json] = [&html, &json].map(|path| path.to_str().unwrap());
    let args = ["-n", "3", "--machine", "sim:2s-56c", "-c", "0-1", "--show", "Busy%,PkgWatt"];
    let live = top(&[&args[..], &["--html", html, "--json", json]].concat());
    assert!(!live.contains("over time"), "{live}");
    let page = fs::read_to_string(html).unwrap();
    assert_eq!(page.matches("<polyline").count(), 2);
    assert!(page.contains("Busy% over time") && page.contains("PkgWatt over time"));
    let all = finish(cpudyno(&["show", "--all", json])).success();
    assert!(all.contains("Busy% over time"), "{all}");
}
