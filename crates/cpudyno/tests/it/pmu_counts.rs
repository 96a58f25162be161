//! `cpudyno pmu stat` and `cpudyno pmu kernel`, as users call them.

use crate::common::{Finished, cpudyno, finish};
use serde_json::Value;

fn pmu(args: &[&str]) -> Finished {
    finish(cpudyno(&[&["pmu"], args].concat()))
}

const LOOP: &str = "x=0; while [ $x -lt 3000 ]; do x=$((x+1)); done; (exit 0); true & wait";

/// The rows of the first table of a record that was printed as JSON.
fn counts(json: &str) -> Vec<(String, Option<u64>)> {
    let record: Value = serde_json::from_str(json).unwrap();
    let rows = record["counts"]["tables"][0]["events"].as_array().unwrap();
    let row = |row: &Value| (row["event"].as_str().unwrap().to_owned(), row["count"].as_u64());
    rows.iter().map(row).collect()
}

#[test]
fn the_seeds_loop_on_a_simulated_machine() {
    let page = pmu(&["kernel", "loop", "--machine", "sim:4c", "--width", "100"]).success();
    assert!(page.contains("SIMULATED counts of a loop: machine sim:4c"), "{page}");
    let has =
        |cells: &[&str]| page.lines().any(|line| line.split_whitespace().eq(cells.iter().copied()));
    assert!(has(&["EVENT", "TOTAL", "/loop"]), "{page}");
    assert!(has(&["instructions", "2,000,009", "2.000"]), "{page}");
    assert!(has(&["cycles", "1,000,020", "1.000"]), "{page}");
    assert!(has(&["br_inst_retired.all_branches", "1,000,002", "1.000"]), "{page}");
    assert!(has(&["br_misp_retired.all_branches", "1", "0.000"]), "{page}");
    assert!(has(&["loop", "1,000,000", "1.000"]), "{page}");
}

#[test]
fn the_seeds_checksums_on_a_simulated_machine() {
    let page = pmu(&["kernel", "checksum", "--machine", "sim:2s-56c", "--width", "100"]).success();
    let has =
        |cells: &[&str]| page.lines().any(|line| line.split_whitespace().eq(cells.iter().copied()));
    for title in ["generic", "sse2", "avx2"] {
        assert!(page.contains(&format!("profiling: {title}")), "{page}");
    }
    assert!(has(&["EVENT", "TOTAL", "/byte", "/packet"]), "{page}");
    assert!(has(&["instructions", "421,392,000", "2.926", "4213.920"]), "{page}");
    assert!(has(&["mem_load_retired.l1_hit", "271,584,000", "1.886", "2715.840"]), "{page}");
    assert!(has(&["byte", "144,000,000", "1.000", "1440.000"]), "{page}");
    assert!(has(&["packet", "100,000", "0.001", "1.000"]), "{page}");
}

#[test]
fn a_kernel_waits_for_the_cache_that_its_data_is_in() {
    let asked = ["kernel", "triad", "--sheet", "-m", "all", "--machine", "sim:sapphire"];
    let page = pmu(&[&asked[..], &["--width", "200"]].concat()).success();
    for (size, waits) in [
        ("24 KiB", "hits in the L1 cache"),
        ("1020 KiB", "hits in the L2 cache"),
        ("52.5 MiB", "hits in the L3 cache"),
        ("210 MiB", "memory"),
    ] {
        assert!(page.contains(&format!("- {size}, warm: waits for {waits}, ")), "{page}");
        assert!(page.contains(&format!("- {size}, cold: waits for memory, ")), "{page}");
    }
    // What the model lets happen while loads wait is the share: cycles without those of 4 instructions at once.
    let record = pmu(&[&asked[..], &["--format", "json"]].concat()).success();
    let record: Value = serde_json::from_str(&record).unwrap();
    let named = |list: &Value, key: &str, name: &str| {
        let found = list.as_array().unwrap().iter().find(|it| it[key] == name).unwrap();
        found.get("count").or(found.get("value")).unwrap().as_f64().unwrap()
    };
    let tables = record["counts"]["tables"].as_array().unwrap();
    let second = |table: &&Value| table["circumstances"].to_string().contains("1020 KiB");
    let table = tables.iter().find(second).unwrap();
    let [instructions, cycles] =
        ["instructions", "cycles"].map(|it| named(&table["events"], "event", it));
    let put_in = 100.0 * (1.0 - instructions / 4.0 / cycles);
    let found = named(&table["metrics"], "id", "l2-bound");
    assert!((found - put_in).abs() < 0.1, "{found} is not {put_in}");
}

/// What `pmu repl` answers to these lines: of standard input, and of a file that is named, the same.
fn repl(lines: &str) -> Finished {
    let repl = ["pmu", "--machine", "sim:2s-28c", "repl"];
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lines");
    std::fs::write(&file, lines).unwrap();
    let mut command = cpudyno(&repl);
    command.stdin(std::fs::File::open(&file).unwrap());
    let finished = finish(command);
    let named = finish(cpudyno(&[&repl[..], &[file.to_str().unwrap()]].concat()));
    assert_eq!((named.code, &named.stdout), (finished.code, &finished.stdout), "{named:?}");
    finished
}

#[test]
fn lines_of_a_file_are_counted_until_one_fails() {
    let page =
        repl("# don't count this\nkernel loop\n\nlist 'br_inst.*taken'\nquit\nnosuch\n").success();
    assert!(
        page.contains("profiling: loop") && page.contains("br_inst_retired.near_taken"),
        "{page}"
    );
    let failed = repl("kernel loop\nkernel nosuch\nkernel triad\n");
    assert_eq!(failed.code, Some(2), "{}", failed.stderr);
    assert!(failed.stderr.contains("nosuch") && !failed.stdout.contains("triad"), "{failed:?}");
    let other = repl("--machine sim:4c kernel loop\n");
    assert!(other.stderr.contains("all lines are of one machine"), "{}", other.stderr);
    let absent = pmu(&["repl", "no/such/file", "--machine", "sim:4c"]);
    assert_eq!(absent.code, Some(2), "{absent:?}");
    assert!(absent.stderr.contains("cannot read lines from `no/such/file`"), "{absent:?}");
}

#[test]
fn the_same_record_gives_the_same_page() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("loop.json");
    let file = file.to_str().unwrap();
    let page = pmu(&["kernel", "loop", "--machine", "sim:4c", "--json", file]).success();
    assert_eq!(finish(cpudyno(&["show", file])).success(), page);
}

#[test]
fn the_passes_are_known_before_anything_is_counted() {
    let events: Vec<String> = (0..6).map(|code| format!("0x{code:x}d3")).collect();
    let mut args = vec!["kernel", "loop", "--machine", "sim:4c", "--dry-run"];
    args.extend(events.iter().flat_map(|event| ["--event", event.as_str()]));
    let page = pmu(&args).success();
    assert!(page.contains("4 general and 3 fixed counters"), "{page}");
    assert!(page.contains("pass 1: instructions, cycles") && page.contains("pass 2:"), "{page}");
    assert!(!page.contains("TOTAL"), "{page}");
}

/// The seed's demonstrations, on whatever machine this is: numbers, or reasons for what has none.
#[test]
fn the_seeds_demonstrations_here() {
    let demonstrations: [(&[&str], &str, &str); 3] = [
        (&["empty"], "profiling: empty", "instructions"),
        (&["loop"], "profiling: loop", "1,000,000"),
        (&["checksum", "--packets", "1000"], "profiling: generic", "1,440,000"),
    ];
    for (words, title, has) in demonstrations {
        let done = pmu(&[&["kernel"][..], words, &["--width", "120"]].concat());
        // Where nobody may be pinned, nothing is counted, and that is said.
        if done.code == Some(3) {
            assert!(done.stderr.contains("cannot count"), "{done:?}");
            continue;
        }
        let page = done.success();
        assert!(page.contains(title) && page.contains(has), "{page}");
        let row = |event: &str| {
            // The unit stands behind the name.
            let cells = |line: &str| -> Vec<String> {
                let cells = line.split_whitespace().filter(|cell| !cell.starts_with('('));
                cells.map(str::to_owned).collect()
            };
            let mut rows = page.lines().map(cells);
            let found = rows.find(|row| row.first().is_some_and(|first| first == event));
            found.and_then(|row| row.into_iter().nth(1))
        };
        let remarks: String = page.split("not counted").skip(1).collect();
        for event in ["instructions", "cycles", "ref-cycles", "task-clock", "page-faults"] {
            match row(event).unwrap_or_else(|| panic!("{event} is no row: {page}")).as_str() {
                "-" => assert!(remarks.contains(event), "{event}: {page}"),
                number => assert!(number.replace(',', "").parse::<u64>().is_ok(), "{page}"),
            }
        }
        if cfg!(target_arch = "x86_64") && words[0] != "empty" {
            let ticks = row("tsc").unwrap().replace(',', "").parse::<u64>().unwrap();
            assert!(ticks > 100_000, "a million iterations, or a megabyte: {page}");
        }
    }
}

/// A dry run says what would not be counted, and executes nothing: no known answer, either.
#[test]
fn a_dry_run_has_reasons_and_executes_nothing() {
    let words = ["kernel", "loop", "--machine", "sim:vm-2c", "--dry-run", "--tested"];
    let page = pmu(&[&words[..], &["--width", "100"]].concat()).success();
    assert!(page.contains("pass 1: task-clock, page-faults"), "{page}");
    assert!(page.contains("not counted") && page.contains("hypervisor"), "{page}");
    assert!(page.contains("counters  the kernel has no PMU of the core"), "{page}");
    assert!(!page.contains("work whose counts are known"), "an answer was tested: {page}");
    let shown = |machine: &[&str]| {
        let words = [&["stat", "--dry-run", "--tested", "--width", "100"], machine].concat();
        pmu(&[&words[..], &["--", "no-such-program"]].concat()).success()
    };
    let page = shown(&["--machine", "sim:vm-2c"]);
    assert!(page.contains("pass 1: task-clock, page-faults"), "{page}");
    let remarks: String = page.split("not counted").skip(1).collect();
    assert!(remarks.contains("ref-cycles") && remarks.contains("hypervisor"), "{page}");
    let page = shown(&["--machine", "sim:4c", "-m", "ipc"]);
    assert!(page.contains("pass 1: instructions, cycles, ref-cycles"), "{page}");
    // Slots lead their shares, so that these would be counted of a command as well.
    let page = shown(&["--machine", "sim:2s-56c", "-m", "retiring"]);
    assert!(page.contains("topdown-retiring") && page.contains("slots"), "{page}");
    assert!(!page.contains("EINVAL"), "{page}");
}

/// Who asks for something by name wants that counted; a command's own code goes first.
#[test]
fn in_vain_is_no_success() {
    let done = pmu(&["kernel", "loop", "--machine", "sim:vm-2c", "-e", "branches"]);
    assert_eq!(done.code, Some(3), "{done:?}");
    assert!(done.stderr.contains("none of the events that were asked for"), "{done:?}");
    assert!(done.stdout.contains("profiling: loop"), "the table is there: {done:?}");
    let found =
        pmu(&["kernel", "loop", "--machine", "sim:vm-2c", "-e", "branches,x", "-e", "task-clock"]);
    assert_eq!(found.code, Some(3), "there is no event `branches,x`: {found:?}");
    pmu(&["kernel", "loop", "--machine", "sim:vm-2c", "-e", "branches", "-e", "task-clock"])
        .success();
    // A packet that no machine has memory for is counted by nobody.
    let done = pmu(&["kernel", "checksum", "--packets", "1", "--size", "1024G", "--width", "400"]);
    assert_eq!(done.code, Some(3), "{done:?}");
    assert!(done.stdout.contains("memory") || done.stderr.contains("cannot count"), "{done:?}");
    let failed = pmu(&["stat", "-e", "uncore_no_such", "--", "sh", "-c", "exit 7"]);
    assert_eq!(failed.code, Some(3), "a name that means nothing starts no command: {failed:?}");
    // Cycles are counted here, or not; a command that failed says so in any case.
    let failed = pmu(&["stat", "-e", "cycles", "--", "sh", "-c", "exit 7"]);
    assert_eq!(failed.code, Some(7), "{failed:?}");
    let done = pmu(&["stat", "-e", "cycles", "--", "true"]);
    let counted = !done.stderr.lines().any(|line| line.split_whitespace().eq(["cycles", "-"]));
    assert_eq!(done.code, Some(if counted { 0 } else { 3 }), "{done:?}");
}

/// The table is printed although the file for its budget has gone away meanwhile.
#[test]
fn a_table_outlives_its_budget() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    let budget = inner.join("b.json");
    let script = format!("rm -rf {}", inner.display());
    let words = ["stat", "--save-budget", budget.to_str().unwrap(), "--", "sh", "-c", &script];
    let done = pmu(&words);
    assert!(done.stderr.contains("elapsed (ns)") && done.stderr.contains("error: "), "{done:?}");
    assert_ne!(done.code, Some(0), "{done:?}");
}

/// A budget that was edited is checked as what is typed is.
#[test]
fn an_edited_budget_is_checked() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("budget.json");
    let budget = file.to_str().unwrap();
    let words = ["kernel", "checksum", "--machine", "sim:4c", "--save-budget", budget];
    pmu(&words).success();
    let sound: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let refused = |change: fn(&mut Value), why: &str| {
        let mut edited = sound.clone();
        change(&mut edited);
        std::fs::write(&file, edited.to_string()).unwrap();
        let done = pmu(&["check", budget, "--machine", "sim:4c"]);
        assert_eq!(done.code, Some(2), "{why}: {done:?}");
        assert!(done.stderr.contains(why), "{why}: {done:?}");
    };
    refused(|it| it["kernel"]["packets"] = u64::MAX.into(), "packets");
    refused(|it| it["kernel"]["iterations"] = u64::MAX.into(), "iterations");
    refused(|it| it["kernel"]["sizes"] = vec![u64::MAX].into(), "a size of");
    refused(|it| it["expected"][0]["tolerance"] = Value::from(-1.0), "no number from 0 on");
}

#[test]
fn a_command_keeps_its_output_and_its_exit_code() {
    let done = pmu(&["stat", "--", "sh", "-c", "echo said; exit 7"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(7), "said\n"), "{done:?}");
    assert!(done.stderr.contains("exit code 7"), "{done:?}");
    for event in ["task-clock", "page-faults", "context-switches", "cpu-migrations", "elapsed"] {
        assert!(done.stderr.contains(event), "{event}: {done:?}");
    }
    let killed = pmu(&["stat", "--", "sh", "-c", "kill -KILL $$"]);
    assert_eq!(killed.code, Some(128 + 9), "{killed:?}");
    assert!(killed.stderr.contains("killed by signal 9"), "{killed:?}");
}

#[test]
fn a_command_that_cannot_be_executed_is_said() {
    let done = pmu(&["stat", "--", "no-such-program"]);
    assert_eq!(done.code, Some(127), "{done:?}");
    assert!(done.stderr.contains("cannot execute `no-such-program`: there is no such"), "{done:?}");
    assert_eq!(pmu(&["stat", "--", "/"]).code, Some(126));
    assert_eq!(pmu(&["stat"]).code, Some(2));
    assert_eq!(pmu(&["stat", "--machine", "sim:4c", "--", "true"]).code, Some(2));
}

/// What a command starts is counted, too.
#[test]
fn children_are_counted() {
    let faults = |script: &str| {
        let done = pmu(&["stat", "--format", "json", "--", "sh", "-c", script]);
        assert_eq!(done.code, Some(0), "{done:?}");
        let rows = counts(&done.stdout);
        rows.iter().find(|(event, _)| event == "page-faults").and_then(|(_, count)| *count)
    };
    let (Some(one), Some(many)) =
        (faults("exit 0"), faults("for i in 1 2 3 4 5; do (ls /); done >/dev/null"))
    else {
        return; // The kernel lets nobody count here.
    };
    assert!(many > 3 * one, "{one} {many}");
}

#[test]
fn unknown_events_are_no_rows() {
    let done = pmu(&["kernel", "loop", "--machine", "sim:4c", "--event", "cycels"]);
    assert_eq!(done.code, Some(3), "{done:?}");
    assert!(done.stderr.contains("cycels"), "{done:?}");
}

#[test]
fn a_data_sheet_compares_circumstances() {
    let args = ["kernel", "triad", "--sheet", "--size", "16K,1M", "--machine", "sim:2s-56c"];
    let page = pmu(&[&args[..], &["--width", "160"]].concat()).success();
    // The data is of whole blocks, and its size is what it is, also without a sheet.
    for header in ["12 KiB, warm", "12 KiB, cold", "12 KiB, neighbour busy", "1020 KiB, warm"] {
        assert!(page.contains(header), "{header}: {page}");
    }
    for (asked, is) in [("16K", "12 KiB"), ("1M", "1020 KiB"), ("24K", "24 KiB")] {
        let alone = pmu(&["kernel", "triad", "--size", asked, "--machine", "sim:2s-56c"]).success();
        assert!(alone.contains(&format!("profiling: triad, {is}\n")), "{alone}");
    }
    assert!(page.contains("counts of each element"), "{page}");
    // Cold data comes from memory, a line for each eight numbers of three arrays.
    let misses = page.lines().find(|line| line.starts_with("mem_load_retired.l3_miss")).unwrap();
    let cells: Vec<&str> = misses.split_whitespace().skip(1).collect();
    assert_eq!(cells, ["0.000", "0.375", "0.000", "0.000", "0.375", "0.000"]);
}

#[test]
fn a_budget_holds_until_it_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("budget.json");
    let budget = file.to_str().unwrap();
    let on = |words: &[&str]| pmu(&[words, &["--machine", "sim:4c"]].concat());
    on(&["kernel", "loop", "--save-budget", budget, "--tolerance", "5"]).success();
    let holds = on(&["check", budget, "--width", "120"]);
    assert_eq!(holds.code, Some(0), "{holds:?}");
    assert!(holds.stdout.contains("Budget per unit") && !holds.stdout.contains("DRIFTS"));
    // Nobody's business where it lies.
    let record = on(&["check", budget, "--format", "json"]).success();
    assert!(!record.contains(budget), "{record}");
    let mut edited: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    edited["expected"][0]["per_unit"] = Value::from(1.5);
    std::fs::write(&file, edited.to_string()).unwrap();
    let drifts = on(&["check", budget, "--width", "120"]);
    assert_eq!(drifts.code, Some(1), "{drifts:?}");
    assert!(drifts.stdout.contains("DRIFTS") && drifts.stderr.contains("1 of "), "{drifts:?}");
    edited["expected"][0]["event"] = Value::from("nobody's");
    std::fs::write(&file, edited.to_string()).unwrap();
    let untold = on(&["check", budget]);
    assert_eq!(untold.code, Some(3), "{untold:?}");
    std::fs::write(&file, "{}").unwrap();
    assert_eq!(on(&["check", budget]).code, Some(2));
}

/// Where nothing can be counted, nothing is as it was: that is no answer.
#[test]
fn a_budget_of_nothing_does_not_hold() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("budget.json");
    let budget = file.to_str().unwrap();
    let on = |words: &[&str]| pmu(&[words, &["--machine", "sim:vm-2c"]].concat());
    assert_eq!(on(&["kernel", "loop", "--save-budget", budget]).code, Some(0));
    let untold = on(&["check", budget]);
    assert_eq!(untold.code, Some(3), "{untold:?}");
    assert!(untold.stderr.contains("nothing was counted"), "{untold:?}");
    // Page faults are the kernel's, who counts them there, too.
    assert_eq!(on(&["kernel", "touch", "--save-budget", budget]).code, Some(0));
    let holds = on(&["check", budget]);
    assert_eq!(holds.code, Some(0), "{holds:?}");
}

#[test]
fn several_events_may_stand_between_commas() {
    let events = |asked: &[&str]| {
        let words = [&["kernel", "loop", "--machine", "sim:4c", "--format", "json"], asked];
        counts(&pmu(&words.concat()).success())
    };
    let two = events(&["-e", "l1-dcache-loads,cpu/event=0xc4,umask=0/"]);
    assert_eq!(two, events(&["-e", "l1-dcache-loads", "-e", "cpu/event=0xc4,umask=0/"]));
    assert!(two.iter().any(|row| row.0 == "cpu/event=0xc4,umask=0/" && row.1.is_some()), "{two:?}");
    let tested = pmu(&["selftest", "--machine", "sim:4c", "-e", "cycles,instructions"]).success();
    assert!(tested.contains("\ncycles ") && tested.contains("\ninstructions "), "{tested}");
}

/// A command that is counted again is like itself, and one that fails is no answer.
#[test]
fn a_budget_of_a_command() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("budget.json");
    let budget = file.to_str().unwrap();
    let saved =
        pmu(&["stat", "--save-budget", budget, "--tolerance", "50", "--", "sh", "-c", LOOP]);
    assert_eq!(saved.code, Some(0), "{saved:?}");
    let again = pmu(&["check", budget, "--", "sh", "-c", LOOP]);
    assert_eq!(again.code, Some(0), "{again:?}");
    let failed = pmu(&["check", budget, "--", "sh", "-c", "exit 7"]);
    assert_eq!(failed.code, Some(7), "{failed:?}");
    let nameless = pmu(&["check", budget]);
    assert_eq!(nameless.code, Some(2), "{nameless:?}");
    assert!(nameless.stderr.contains("this budget is of a command"), "{nameless:?}");
}

#[test]
fn metrics_follow_from_the_counts() {
    let page = pmu(&["kernel", "loop", "--machine", "sim:4c", "--width", "100"]).success();
    let has =
        |words: &[&str]| page.lines().any(|line| line.split_whitespace().eq(words.iter().copied()));
    assert!(has(&["instructions", "per", "cycle", "2.000", "instructions/cycle"]), "{page}");
    let args =
        ["kernel", "loop", "--machine", "sim:2s-56c", "--metric", "branch-miss-rate,l2-mpki"];
    let page = pmu(&args).success();
    assert!(page.contains("branches predicted wrongly"), "{page}");
    assert!(
        page.contains("L2 cache misses") && page.contains("mem_load_retired.l2_miss"),
        "{page}"
    );
    // Where a formula's events are not counted, the number has a reason.
    let done = pmu(&["kernel", "loop", "--machine", "sim:vm-2c", "--metric", "ipc"]);
    assert_eq!(done.code, Some(3), "{done:?}");
    let page = &done.stdout;
    assert!(page.contains("instructions per cycle") && page.contains("was not counted"), "{page}");
}

#[test]
fn known_answers_are_told_by_the_exit_code() {
    let honest = pmu(&["selftest", "--machine", "sim:2s-56c", "--width", "160"]);
    assert_eq!(honest.code, Some(0), "{honest:?}");
    assert!(honest.stdout.contains("right") && !honest.stdout.contains("WRONG"), "{honest:?}");
    let only = pmu(&["selftest", "--machine", "sim:4c", "-e", "instructions"]).success();
    assert!(only.contains("2.000") && !only.contains("page-faults"), "{only}");
    let none = pmu(&["selftest", "--machine", "sim:4c", "-e", "bus-cycles"]);
    assert_eq!(none.code, Some(3), "{none:?}");
    // Whoever asks for two is not told of one alone.
    let both = ["selftest", "--machine", "sim:4c", "-e", "instructions", "-e", "cache-references"];
    let half = pmu(&both);
    assert_eq!(half.code, Some(3), "{half:?}");
    assert!(
        half.stdout.contains("right") && half.stdout.contains("its answer is not known"),
        "{half:?}"
    );
    // What this machine has counts as it should; caches and clocks may be disturbed by others.
    let here = pmu(&["selftest", "-e", "page-faults"]);
    if here.code != Some(3) {
        assert_eq!(here.code, Some(0), "{here:?}");
    }
}
