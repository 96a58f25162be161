//! The library: answers are those of the command, from typed values; nothing of the caller's is changed.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use cpudyno::memory::{Bandwidth, Latency, Scaling, VectorLengths};
use cpudyno::turbo::{Active, Clocks, all_streams, stream};
use cpudyno::{CpuId, Error, Seconds, Stop, Unit, cores, gate, openmp, pause, record, sheet, wake};
use model::record::{GateVerdict, PageKind};

const MACHINE: &str = "sim:4c";

#[test]
fn bandwidths_have_units_intervals_and_what_moves() {
    let bandwidth = Bandwidth::builder().on(MACHINE).budget(Seconds(30.0)).run().unwrap();
    let triad = bandwidth.triad().unwrap();
    assert_eq!((triad.unit(), bandwidth.kernels.threads()), (Unit::BytePerSecond, 4));
    let [low, high] = triad.interval().unwrap();
    assert!(low <= triad.median() && triad.median() <= high, "{triad}");
    assert!(triad.minimum() <= low && high <= triad.maximum(), "{triad}");
    let told = bandwidth.rows().into_iter().filter(|row| {
        row.workload == "triad"
            && row.parameters.get("question").is_some_and(|it| it == "bandwidth")
            && row.quantity == "bandwidth"
            && row.cpus.len() == 4
    });
    let fastest = told.filter_map(|row| row.value.ok()).map(|it| it.median());
    assert_eq!(fastest.fold(0.0, f64::max).to_bits(), triad.median().to_bits());
    // An ordinary store reads its line first: 32 bytes for 24.
    let ordinary = Bandwidth::builder().on(MACHINE).threads(1).variant("sse").run().unwrap();
    let (asked, moved) = (ordinary.triad().unwrap(), ordinary.kernels.moved("triad").unwrap());
    assert!((moved.median() / asked.median() - 32.0 / 24.0).abs() < 1e-9, "{asked}, {moved}");
    assert!(ordinary.fewer.is_empty() && ordinary.kernels.threads() == 1);
    let none = ordinary.kernels.bandwidth("triade").unwrap_err();
    assert_eq!(none.what, "bandwidth of triade");
}

#[test]
fn scaling_lengths_and_latencies_come_in_order() {
    let scaling = Scaling::builder().on("sim:4c").budget(Seconds(3.0)).run().unwrap();
    let threads: Vec<usize> =
        scaling.points.iter().map(cpudyno::memory::Kernels::threads).collect();
    assert!(threads.is_sorted() && threads.first() == Some(&1) && threads.last() == Some(&4));
    let lengths = VectorLengths::builder().on("sim:4c").budget(Seconds(3.0)).run().unwrap();
    let elements: Vec<u64> = lengths.points.iter().map(|point| point.elements).collect();
    assert!(elements.is_sorted() && elements.len() == 4, "{elements:?}");
    let latency = Latency::builder().on("sim:4c").budget(Seconds(3.0)).run().unwrap();
    let sizes: Vec<u64> = latency.points.iter().map(|point| point.footprint).collect();
    assert!(sizes.is_sorted() && sizes.len() > 3, "{sizes:?}");
    assert!(latency.points.iter().all(|it| it.value.as_ref().is_ok_and(|it| it.median() > 0.0)));
}

#[test]
fn clocks_are_of_the_cores_that_were_asked_for() {
    let clocks = |active| {
        let asked = Clocks::builder().on("sim:4c").streams(&all_streams()[..1]).active(active);
        asked.budget(Seconds(1.0)).run().unwrap()
    };
    let active = |clocks: &Clocks| {
        let mut counts: Vec<usize> =
            clocks.rows.iter().map(cpudyno::turbo::Clock::active).collect();
        counts.dedup();
        counts
    };
    assert_eq!(active(&clocks(Active::All)), [4]);
    assert_eq!(active(&clocks(Active::Cores(2))), [2]);
    assert_eq!(active(&clocks(Active::Each)).first(), Some(&1));
    assert!(clocks(Active::All).rows[0].clock.as_ref().unwrap().median() > 1e9);
    assert!(stream("no such stream").is_none());
}

#[test]
fn every_other_question_has_its_answer() {
    let budget = Seconds(2.0);
    let pairs = cores::Latencies::builder().on("sim:4c").budget(budget).run().unwrap();
    assert!(pairs.between(CpuId(0), CpuId(1)).unwrap().median() > 0.0);
    assert!(pairs.between(CpuId(0), CpuId(99)).is_err());
    let wakes = wake::Latencies::builder().on("sim:4c").budget(budget).run().unwrap();
    assert!(wakes.rows().iter().any(|row| row.workload == "futex" && row.value.is_ok()));
    let pauses = pause::Latencies::builder().on("sim:4c").run().unwrap();
    assert!(pauses.cycles("pause_only").is_ok_and(|cycles| cycles.median() > 1.0));
    assert!(pauses.cycles("no such instruction").is_err());
    // Cores of several types are never one number.
    let hybrid = pause::Latencies::builder().on("sim:hybrid").run().unwrap();
    let several = hybrid.cycles("pause_only").unwrap_err();
    assert!(several.why.contains("P, E, LP-E"), "{several}");
    let of = |kind: &str| {
        let is_it = |it: &&pause::InstructionLatency| {
            it.instruction == "pause_only" && it.core_type.as_deref() == Some(kind)
        };
        hybrid.instructions.iter().find(is_it).unwrap().cycles.clone().unwrap().median()
    };
    assert!(of("P") > 2.0 * of("E") && of("E") > 1.2 * of("LP-E"));
    let types =
        Clocks::builder().on("sim:hybrid").streams(&all_streams()[..1]).active(Active::Cores(1));
    let types: Vec<_> = types.run().unwrap().rows.into_iter().map(|row| row.core_type).collect();
    assert_eq!(types, ["P", "E", "LP-E"].map(|it| Some(it.to_owned())));
    let overheads = openmp::Overheads::builder().on("sim:4c").budget(budget).run().unwrap();
    let short = Bandwidth::builder().on("sim:2s-56c").budget(Seconds(0.1)).run().unwrap();
    assert_eq!(short.triad().unwrap_err().what, "bandwidth of triad");
    assert!(overheads.regions.iter().any(|it| it.runtime == "libgomp" && it.cost.is_ok()));
    let sheet = sheet::Sheet::builder().on("sim:4c").budget(budget).run().unwrap();
    assert_eq!(sheet.record().run.presentation.page, PageKind::Sheet);
    assert_eq!(sheet.record().run.command, ["cpudyno::sheet::Sheet"]);
    assert!(sheet.record().digest.as_ref().is_some_and(|digest| !digest.results.is_empty()));
}

#[test]
fn a_gate_judges_by_bounds_and_by_what_is_known() {
    let bounded = |bound: &str| {
        let asked = gate::Judgement::builder().on("sim:4c").budget(Seconds(2.0));
        asked.bound_min(bound).unwrap().run().unwrap()
    };
    assert_eq!(bounded("memory.triad=1MB/s").verdict(), GateVerdict::Pass);
    let fails = bounded("memory.triad=90TB/s");
    assert!(!fails.passes() && fails.line().contains("FAIL: memory.triad is"), "{}", fails.line());
    assert!(gate::Judgement::builder().bound_min("memory.triade=1MB/s").is_err());
}

#[test]
fn records_are_read_shown_and_compared_as_by_the_command() {
    let measured = |budget| sheet::Sheet::builder().on("sim:4c").budget(Seconds(budget)).run();
    let (one, other) = (measured(1.0).unwrap(), measured(2.0).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("n1_20261128T000000Z.json");
    record::save(one.record(), &path).unwrap();
    let read = record::open(&path).unwrap();
    let shown = super::common::cpudyno(&["show"]).arg(&path).output().unwrap();
    assert_eq!(record::text(&read), String::from_utf8(shown.stdout).unwrap());
    std::fs::write(folder.path().join("n2.html"), record::html(other.record()).unwrap()).unwrap();
    std::fs::write(folder.path().join("other.json"), "{}").unwrap();
    let fleet = cpudyno::fleet::read(folder.path()).unwrap();
    assert_eq!(fleet.machines.keys().collect::<Vec<_>>(), ["n1", "n2"]);
    assert_eq!(fleet.left_out.len(), 1);
    assert!(fleet.text().contains("SIMULATED"), "{}", fleet.text());
    let comparison = cpudyno::compare([("a", one.record()), ("b", other.record())]);
    assert!(cpudyno::fleet::comparison_text(&comparison).contains("SIMULATED"));
    let missing = record::open(folder.path().join("none.json")).unwrap_err();
    assert!(missing.to_string().contains("none.json"), "{missing}");
}

#[test]
fn what_does_not_go_is_an_error_with_a_hint() {
    let unknown = Bandwidth::builder().on("sim:none").run().unwrap_err();
    assert!(matches!(unknown, Error::Machine(_)), "{unknown}");
    let many = Bandwidth::builder().on("sim:4c").threads(64).run().unwrap_err();
    assert!(many.to_string().contains("64"), "{many}");
    let cpus = Bandwidth::builder().on("sim:4c").cpus("0-9".parse().unwrap()).run().unwrap_err();
    assert!(cpus.to_string().contains('9'), "{cpus}");
}

#[test]
fn commands_and_workloads_are_compared() {
    use cpudyno::ab::{CommandMetric, Verdict};
    let told = |value: &'static str| ("env.TOLD", value);
    let [(name, one), (_, two)] = ["1", "2"].map(told);
    let printing = cpudyno::ab::command(["sh", "-c", "echo '{\"it\": '$TOLD'}'"])
        .metric(CommandMetric::Json("it".to_owned()))
        .budget(Seconds(3.0));
    let trial = printing.a(name, one).unwrap().b(name, two).unwrap().run().unwrap();
    // B printed twice as much. What others do beside it may forbid a verdict, not the numbers.
    let quads = &trial.record().comparison.as_ref().unwrap().quads;
    let sorted = quads.iter().map(|quad| {
        let mut values = quad.values.map(|value| value as u64);
        values.sort_unstable();
        values
    });
    let (mixed, equal): (Vec<_>, Vec<_>) = sorted.partition(|values| values[0] != values[3]);
    assert!(!mixed.is_empty() && mixed.iter().all(|values| *values == [1, 1, 2, 2]), "{mixed:?}");
    assert!(equal.iter().all(|values| matches!(values[0], 1 | 2)), "{equal:?}");
    if let Ok(found) = trial.comparison() {
        assert!(matches!(found.verdict, Verdict::Slower | Verdict::CannotTell(_)), "{found:?}");
    }
    let area = cpudyno::ab::area("memory-latency").on(MACHINE).budget(Seconds(5.0));
    let same = area.a("pages", "thp").unwrap().b("pages", "4k").unwrap().run().unwrap();
    assert!(record::text(same.record()).contains("SIMULATED"));
    let wrong = cpudyno::ab::area("none").on(MACHINE).run().unwrap_err();
    assert!(wrong.hint().is_some_and(|hint| hint.contains("memory-latency")), "{wrong}");
    let unknown = cpudyno::ab::command(["true"]).a("governor", "powersave").err().unwrap();
    assert!(unknown.to_string().contains("governor"), "{unknown}");
}

#[test]
fn words_ask_for_every_area_and_what_they_misspell_has_a_hint() {
    use cpudyno::by_name::{Listener, measure};
    let measured = |area: &str, options: &str| {
        let options = format!(r#"{{"machine": "sim:4c"{options}}}"#);
        measure(area, Some(&options), Listener::default())
    };
    let asked = [
        (
            "memory",
            r#", "budget": 1, "question": "scaling", "every": true, "write_allocate": false"#,
        ),
        ("turbo", r#", "budget": 1, "streams": ["pause_only"], "cores": 2"#),
        ("cores", r#", "budget": 1, "messages": ["cas"]"#),
        ("wake", r#", "budget": 1, "methods": ["futex"]"#),
        ("openmp", r#", "budget": 1, "threads": [2]"#),
        ("jitter", r#", "budget": 1, "shortest": 1e-5"#),
        ("threads", r#", "budget": 1"#),
        ("gate", r#", "budget": 2, "min": ["memory.triad=1MB/s"]"#),
        ("verify", r#", "budget": 1, "workloads": ["scalar_iadd", "triad"]"#),
        ("sheet", r#", "budget": 1"#),
        ("pause", r#", "budget": 1"#),
        ("info", ""),
        ("doctor", ""),
    ];
    for (area, options) in asked {
        let record = measured(area, options).unwrap_or_else(|error| panic!("{area}: {error}"));
        assert_eq!(record.run.simulated.as_deref(), Some("4c"), "{area}");
    }
    let bytes = measured("memory", r#", "budget": 1, "write_allocate": false"#).unwrap();
    assert!(bytes.run.plan.bytes.is_some_and(|bytes| !bytes.write_allocate));
    for (area, options, hint) in [
        ("memori", "", "memory"),
        ("memory", r#", "thread": 2"#, "threads"),
        ("memory", r#", "threads": 0"#, ""),
        ("memory", r#", "budget": -1"#, ""),
        ("memory", r#", "kernels": ["triade"]"#, "triad"),
        ("gate", r#", "min": ["memory.triade=1MB/s"]"#, "triad"),
        ("turbo", r#", "cpus": 3"#, ""),
    ] {
        let error = measured(area, options).unwrap_err();
        assert!(matches!(error, Error::Argument { .. }), "{area}{options}: {error}");
        assert!(error.hint().unwrap_or_default().contains(hint), "{area}{options}: {error}");
    }
}

#[test]
fn what_means_nothing_is_refused_before_anything_is_measured() {
    fn refused<A>(answer: Result<A, Error>, word: &str) {
        let error = answer.err().unwrap_or_else(|| panic!("{word} is taken"));
        assert!(matches!(error, Error::Argument { .. }), "{error:?}");
        assert!(error.to_string().contains(word), "{error}");
    }
    for budget in [f64::NAN, 0.0, -1.0, f64::INFINITY] {
        refused(sheet::Sheet::builder().on(MACHINE).budget(Seconds(budget)).run(), "budget");
    }
    refused(Bandwidth::builder().on(MACHINE).threads(0).run(), "threads");
    refused(Bandwidth::builder().on(MACHINE).kernels(&[]).run(), "kernels");
    refused(Bandwidth::builder().on(MACHINE).cpus(cpudyno::CpuSet::default()).run(), "cpus");
    refused(Clocks::builder().on(MACHINE).streams(&[]).run(), "streams");
    refused(Clocks::builder().on(MACHINE).active(Active::Cores(0)).run(), "cores");
    let row = all_streams()[0];
    for mix in [&[][..], &[(row, 0)], &[(row, usize::MAX), (row, 2)]] {
        refused(Clocks::builder().on(MACHINE).mix(mix).run(), "mix");
    }
    refused(cores::Latencies::builder().on(MACHINE).messages(&[]).run(), "messages");
    refused(wake::Latencies::builder().on(MACHINE).methods(&[]).run(), "methods");
    refused(openmp::Overheads::builder().on(MACHINE).threads(&[0]).run(), "threads");
    refused(openmp::Overheads::builder().on(MACHINE).runtimes(&["libgompp"]).run(), "libgompp");
    refused(cpudyno::ab::command(Vec::<String>::new()).run(), "command");
    let shortest = cpudyno::jitter::Gaps::builder().on(MACHINE).shortest(Seconds(-1.0));
    refused(shortest.run(), "shortest");
    let gone = cpudyno::ab::area("memory-latency").on(MACHINE).cpus("90".parse().unwrap()).run();
    assert!(gone.is_err());
}

#[test]
fn options_that_were_set_stay_and_a_mix_is_of_its_own_cores() {
    let first = "0".parse().unwrap();
    let one = Bandwidth::builder().on(MACHINE).options(|it| it.cpus.cpus = Some(first));
    assert_eq!(one.run().unwrap().kernels.threads(), 1);
    let named = |name: &str| stream(name).unwrap();
    let parts = [(named("pause_only"), 1), (named("scalar_iadd"), 3)];
    let mix = Clocks::builder().on(MACHINE).mix(&parts).run().unwrap();
    let cores: Vec<usize> = mix.rows.iter().map(cpudyno::turbo::Clock::active).collect();
    assert_eq!(cores, [1, 3]);
}

#[test]
fn bandwidth_without_time_to_try_the_ways_is_no_number() {
    let short = Bandwidth::builder().on(MACHINE).budget(Seconds(1.0)).run().unwrap();
    let reason = short.triad().unwrap_err();
    assert!(reason.why.contains("no time to try"), "{reason}");
    assert!(short.fewer[0].bandwidth("triad").is_ok());
    let stop = Stop::default();
    stop.ask();
    let stopped = sheet::Sheet::builder().on("sim:hybrid").stop(stop).run();
    assert!(stopped.is_err_and(|error| matches!(error, Error::Stopped)));
}

#[test]
fn a_stop_leaves_what_was_measured_until_then() {
    let stop = Stop::default();
    let (asker, shares) = (stop.clone(), Arc::new(Mutex::new(Vec::new())));
    let heard = shares.clone();
    let sheet = sheet::Sheet::builder()
        .budget(Seconds(30.0))
        .wait(Duration::from_mins(2))
        .stop(stop)
        .progress(move |progress| {
            heard.lock().unwrap().push(progress.share);
            if progress.share > 0.02 {
                asker.ask();
            }
        })
        .run()
        .unwrap();
    assert!(sheet.record().run.interrupted.is_some());
    assert!(shares.lock().unwrap().iter().all(|share| (0.0..=1.0).contains(share)));
}

#[test]
fn measuring_leaves_the_threads_of_the_caller_alone() {
    let before = sys::affinity::current().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let asked = || pause::Latencies::builder().budget(Seconds(0.5)).wait(Duration::from_mins(2));
    let first = asked().run().unwrap();
    // Another thread of the same program takes its turn, too.
    let second = std::thread::spawn(move || asked().run().unwrap()).join().unwrap();
    drop(folder);
    assert_eq!(sys::affinity::current().unwrap(), before);
    assert_ne!(first.record().run.id, second.record().run.id);
}

#[test]
fn who_measures_already_is_named_or_waited_for() {
    use cpudyno::host_lock::{Taken, place};
    let place = place(true).unwrap();
    let begun = std::time::Instant::now();
    let held = loop {
        match place.take().unwrap() {
            Taken::Held(held) => break held,
            Taken::By(_) => assert!(begun.elapsed() < Duration::from_mins(2)),
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    assert!(held.is_some());
    let busy = pause::Latencies::builder().budget(Seconds(0.2)).run().unwrap_err();
    let Error::Busy { holder } = &busy else { panic!("{busy}") };
    assert!(holder.contains(&std::process::id().to_string()), "{holder}");
    assert!(busy.hint().is_some());
}
