//! Answers of simulated machines that compute wrong, or do not.

use machine::Machine;
use measure::verify::{self, Verifying};
use model::record::{PageKind, Presentation, Record, VerifyRun};
use model::{CpuId, CpuSet, Known, Seconds, Severity};
use rig::executor::Stop;
use simulated::{Model, WrongAnswers};

fn verified(name: &str, seconds: f64, change: impl FnOnce(&mut Model)) -> Record {
    of(name, &Verifying { budget: Seconds(seconds), ..Verifying::default() }, change)
}

fn of(name: &str, verifying: &Verifying, change: impl FnOnce(&mut Model)) -> Record {
    let mut model = Model::named(name).unwrap();
    change(&mut model);
    let machine = Machine::from(model);
    let described = machine::describe(&machine, Vec::new(), Presentation::of(PageKind::Verify));
    verify::run(&machine, verifying, described, &Stop::default(), &mut |_| {}).unwrap()
}

fn run(record: &Record) -> &VerifyRun {
    record.verify.as_ref().unwrap()
}

fn wrong(cpus: &str, workload: &str, from_celsius: Option<f64>) -> WrongAnswers {
    let cpus: CpuSet = cpus.parse().unwrap();
    WrongAnswers { cpus, workload: workload.to_owned(), one_in: 1e5, from_celsius, bit: 17 }
}

#[test]
fn a_core_that_flips_a_bit_when_hot_is_found_with_stream_bits_clock_and_temperature() {
    let record = verified("faulty", 60.0, |_| ());
    let [found] = &run(&record).wrong[..] else { panic!("{:?}", run(&record).wrong) };
    assert_eq!((found.cpu, found.workload.as_str()), (CpuId(2), "avx512_fma_t"));
    assert_eq!((found.package, found.core), (0, 2));
    assert!(found.wrong > 0 && found.wrong <= found.calls, "{found:?}");
    let first = &found.examples[0];
    assert_eq!(first.flipped, [17]);
    let bits = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
    assert_eq!(bits(&first.expected) ^ bits(&first.got), 1 << 17);
    assert!(first.celsius.value().is_some_and(|it| *it > 42.99), "{first:?}");
    assert!(first.clock.value().is_some_and(|it| *it > 1e9), "{first:?}");
    assert!(found.again.here[0] > 0 && !found.is_everywhere(), "{:?}", found.again);
    assert!(found.again.elsewhere.iter().all(|it| it.wrong[0] == 0 && it.wrong[1] > 0));
    assert_eq!(run(&record).faulty(), "2".parse().unwrap());
    let finding = record.findings.iter().find(|it| it.id == "verify.wrong-answer").unwrap();
    assert_eq!((finding.severity, finding.about.as_str()), (Severity::Serious, "CPU 2"));
}

#[test]
fn a_core_that_errs_only_when_hotter_than_it_gets_is_not_accused() {
    let record = verified("laptop", 30.0, |model| {
        model.wrong_answers.push(wrong("1", "avx512_fma_t", Some(90.0)));
    });
    assert_eq!(run(&record).wrong, []);
    let Known::Yes([low, high]) = run(&record).celsius else { panic!("it has sensors") };
    assert!(42.0 <= low && low < high && high < 90.0, "{low} {high}");
}

#[test]
fn what_every_core_computes_wrong_is_the_program_and_no_core() {
    let record = verified("4c", 30.0, |model| {
        model.wrong_answers.push(WrongAnswers { one_in: 1.0, ..wrong("0-7", "sse2_imul", None) });
    });
    let run = run(&record);
    assert!(!run.wrong.is_empty() && run.wrong.iter().all(|it| it.workload == "sse2_imul"));
    assert!(run.wrong.iter().all(model::record::WrongAnswers::is_everywhere), "{:?}", run.wrong);
    assert!(run.faulty().is_empty());
    assert!(record.findings.iter().any(|it| it.id == "verify.program"));
    assert!(record.findings.iter().all(|it| it.id != "verify.wrong-answer"));
}

#[test]
fn a_core_that_computes_the_reference_wrong_is_found_and_accuses_nobody_else() {
    let record = verified("4c", 60.0, |model| {
        model.wrong_answers.push(wrong("3", "reference", None));
    });
    let [found] = &run(&record).wrong[..] else { panic!("{:?}", run(&record).wrong) };
    assert_eq!((found.cpu, found.workload.as_str()), (CpuId(3), "reference"));
    assert_eq!(run(&record).faulty(), "3".parse().unwrap());
}

#[test]
fn memory_that_holds_something_else_is_found() {
    let record = verified("laptop", 60.0, |model| {
        model.wrong_answers.push(WrongAnswers { one_in: 1e8, ..wrong("5", "triad", None) });
    });
    let wrong = &run(&record).wrong;
    assert!(!wrong.is_empty(), "{:?}", run(&record).workloads);
    assert!(wrong.iter().all(|it| it.cpu == CpuId(5) && it.workload == "triad"));
}

#[test]
fn rare_faults_are_found_if_one_waits() {
    let found = |seconds: f64| {
        let record = verified("4c", seconds, |model| {
            let rare = WrongAnswers { one_in: 1e10, ..wrong("2", "avx256_fma_t", None) };
            model.wrong_answers.push(rare);
        });
        run(&record).wrong.iter().map(|it| it.wrong).sum::<u64>()
    };
    assert!(found(3600.0) > 0);
}

#[test]
fn a_day_of_machines_without_a_fault_is_a_day_without_a_wrong_answer() {
    const HOURS: f64 = 6.0;
    for name in ["4c", "laptop", "hybrid", "vm-2c"] {
        let record = verified(name, HOURS * 3600.0, |_| ());
        let run = run(&record);
        assert_eq!(run.wrong, [], "{name}");
        assert!(record.findings.iter().all(|it| !it.id.starts_with("verify.")), "{name}");
        assert!(run.seconds >= HOURS * 3600.0, "{name}: {}", run.seconds);
        assert!(run.cpus.iter().all(|cpu| cpu.ops > 1_000_000_000), "{name}: {:?}", run.cpus);
        let all = run.all();
        let whole = |it: &CpuSet| all.difference(it).is_empty();
        assert!(run.workloads.iter().all(|it| whole(&it.alone) && whole(&it.together)), "{name}");
    }
}

#[test]
fn only_what_was_asked_for_is_compared() {
    let asked = Verifying {
        budget: Seconds(2.0),
        cpus: Some("1,3".parse().unwrap()),
        workloads: vec!["scalar_iadd".to_owned(), "copy".to_owned()],
    };
    let record = of("4c", &asked, |_| ());
    let run = run(&record);
    assert_eq!(run.all(), "1,3".parse().unwrap());
    let ids: Vec<&str> = run.workloads.iter().map(|it| it.id.as_str()).collect();
    assert!(ids == ["scalar_iadd", "copy"], "{ids:?}");
    assert_eq!(run.workloads[0].second_form.as_deref(), Some("sse2_iadd"));
}

#[test]
fn one_seed_is_one_run() {
    let twice = || verified("faulty", 20.0, |_| ());
    assert_eq!(twice(), twice());
}

#[test]
fn a_run_that_is_stopped_has_what_was_compared() {
    let machine = Machine::named("sim:4c").unwrap();
    let described = machine::describe(&machine, Vec::new(), Presentation::of(PageKind::Verify));
    let stop = Stop::default();
    let ask = stop.clone();
    let mut looks = 0;
    let record = verify::run(&machine, &Verifying::default(), described, &stop, &mut |_| {
        looks += 1;
        if looks > 20 {
            ask.ask();
        }
    });
    let record = record.unwrap();
    assert_eq!(run(&record).ended, "it was stopped");
    assert!(run(&record).cpus.iter().any(|cpu| cpu.calls > 0));
    assert_eq!(record.run.interrupted.as_deref(), Some("stopped"));
}
