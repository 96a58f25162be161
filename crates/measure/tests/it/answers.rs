//! Answers of streams that are timed: a core that computes wrong is found on the way, and no other.

use machine::Machine;
use measure::areas::turbo::{Tests, TurboOptions};
use measure::run::Request;
use measure::sheet;
use model::record::{ComparedAnswers, Outcome, PageKind, Presentation, Record, Series};
use model::{CpuId, CpuSet, Obstacle, Seconds, Severity, Unavailable};
use rig::executor::Stop;
use simulated::{Model, WrongAnswers};

use crate::common::measure;

fn timed(name: &str, seconds: f64, change: impl FnOnce(&mut Model)) -> Record {
    let presentation = Presentation::of(PageKind::Sheet);
    let request = sheet::request(Seconds(seconds), None, None, Vec::new(), presentation);
    of(name, &request, change)
}

fn of(name: &str, request: &Request, change: impl FnOnce(&mut Model)) -> Record {
    let mut model = Model::named(name).unwrap();
    change(&mut model);
    measure(&Machine::from(model), request, &Stop::default(), &mut |_| {}).unwrap()
}

fn answers(record: &Record) -> &ComparedAnswers {
    record.answers.as_ref().unwrap()
}

fn wrong(cpus: &str, workload: &str, one_in: f64) -> WrongAnswers {
    let cpus: CpuSet = cpus.parse().unwrap();
    WrongAnswers { cpus, workload: workload.to_owned(), one_in, from_celsius: None, bit: 17 }
}

/// Blocks of a sheet make it less warm than the 43 °C at which it begins to err.
#[test]
fn a_sheet_finds_a_core_that_flips_a_bit_when_it_is_as_warm_as_a_sheet_makes_it() {
    let record = timed("faulty", 30.0, |model| model.wrong_answers[0].from_celsius = Some(42.3));
    is_found(&record);
    let cold = timed("faulty", 30.0, |_| ());
    assert_eq!(answers(&cold).wrong, []);
}

#[test]
fn a_stream_that_is_held_finds_a_core_that_flips_a_bit_when_hot() {
    let stream = kernels::streams::find("avx512_fma_t").unwrap();
    let duration = Some(Seconds(10.0));
    let options = TurboOptions { duration, ..TurboOptions::about(Tests::Spec(vec![(stream, 4)])) };
    let request = options.request(Vec::new(), Presentation::of(PageKind::Turbo));
    is_found(&of("faulty", &request, |_| ()));
}

/// CPU 2 and its stream, with all that is known of it.
fn is_found(record: &Record) {
    let [found] = &answers(record).wrong[..] else { panic!("{:?}", answers(record)) };
    assert_eq!((found.cpu, found.workload.as_str()), (CpuId(2), "avx512_fma_t"));
    assert_eq!((found.package, found.core), (0, 2));
    assert!(found.wrong > 0 && found.wrong <= found.calls && found.ops > found.calls, "{found:?}");
    let first = &found.examples[0];
    assert_eq!(first.flipped, [17]);
    let bits = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
    assert_eq!(bits(&first.expected) ^ bits(&first.got), 1 << 17);
    let row = kernels::streams::find("avx512_fma_t").unwrap();
    let right = row.expected(first.iterations, kernels::Data::Quiet.operands());
    assert_eq!(bits(&first.expected), right);
    assert!(found.again.elsewhere.iter().all(|it| it.wrong[0] == 0 && it.wrong[1] > 0));
    assert_eq!(answers(record).faulty(), "2".parse().unwrap());
    let finding = record.findings.iter().find(|it| it.id == "verify.wrong-answer").unwrap();
    assert_eq!((finding.severity, finding.about.as_str()), (Severity::Serious, "CPU 2"));
}

#[test]
fn no_number_of_a_stream_stands_that_a_cpu_computed_wrong_and_all_others_do() {
    let record =
        timed("4c", 10.0, |model| model.wrong_answers = vec![wrong("1", "scalar_iadd", 1e6)]);
    let is_of_it = |cpu, workload: &str| cpu == CpuId(1) && workload == "scalar_iadd";
    let turbo = || record.series.iter().filter(|it| it.area == "turbo");
    let mut refused = 0;
    for series in turbo().filter(|it| it.workload.starts_with("scalar_")) {
        match &series.outcome {
            Outcome::Unavailable { unavailable } if is_of_it(series.cpu, &series.workload) => {
                refused += u64::from(unavailable.why.contains("answers were wrong"));
            }
            outcome => {
                assert!(!is_of_it(series.cpu, &series.workload), "{series:?}");
                let of_ruler = ["clock", "cycles_per_op"].contains(&series.quantity.as_str());
                assert!(!of_ruler || matches!(outcome, Outcome::Measured { .. }), "{series:?}");
            }
        }
    }
    assert!(refused >= 4, "clock, cycles and times, alone and together: {refused}");
}

#[test]
fn a_core_that_is_always_wrong_is_found_by_the_portable_computation() {
    let record =
        timed("4c", 5.0, |model| model.wrong_answers = vec![wrong("3", "scalar_iadd", 1.0)]);
    let [found] = &answers(&record).wrong[..] else { panic!("{:?}", answers(&record)) };
    assert_eq!((found.cpu, found.wrong), (CpuId(3), found.calls));
    assert!(!found.is_everywhere());
}

/// The portable computation and the same call again are not made any more.
#[test]
fn after_an_interruption_answers_that_differ_accuse_no_cpu() {
    let mut model = Model::named("4c").unwrap();
    model.wrong_answers = vec![wrong("0", "scalar_iadd", 1.0)];
    let presentation = Presentation::of(PageKind::Sheet);
    let request = sheet::request(Seconds(20.0), None, None, Vec::new(), presentation);
    let (stop, mut told) = (Stop::default(), 0);
    let record = measure(&Machine::from(model), &request, &stop, &mut |_| {
        told += 1;
        if told == 100 {
            stop.ask();
        }
    });
    let record = record.unwrap();
    assert!(record.run.interrupted.is_some());
    assert_eq!(answers(&record).wrong, []);
    let finding = record.findings.iter().find(|it| it.id.starts_with("verify.")).unwrap();
    assert_eq!((finding.id.as_str(), finding.about.as_str()), ("verify.unclear", "`scalar_iadd`"));
    let is_of_it = |area: &str, workload: &str| area == "turbo" && workload == "scalar_iadd";
    let mut of_it = record.series.iter().filter(|it| is_of_it(&it.area, &it.workload));
    let is_refused = |it: &Series| match &it.outcome {
        Outcome::Unavailable { unavailable } => unavailable.why.contains("nothing tells whose"),
        Outcome::Measured { .. } => false,
    };
    assert!(of_it.any(|it| it.cpu == CpuId(0) && is_refused(it)));
}

#[test]
fn what_every_core_computes_wrong_is_the_program_and_no_core() {
    let record =
        timed("4c", 5.0, |model| model.wrong_answers = vec![wrong("0-7", "scalar_iadd", 1.0)]);
    assert!(!answers(&record).wrong.is_empty() && answers(&record).faulty().is_empty());
    let finding = record.findings.iter().find(|it| it.id == "verify.program").unwrap();
    let refused = record.series.iter().filter_map(|it| match &it.outcome {
        Outcome::Unavailable { unavailable } if it.workload == "scalar_iadd" => Some(unavailable),
        _ => None,
    });
    let refused: Vec<_> = refused.filter(|it| it.why.contains("answers were wrong")).collect();
    let of_cpudyno = |it: &&Unavailable| {
        it.obstacle == Obstacle::Cpudyno && it.remedy == finding.remedy && it.remedy.is_some()
    };
    assert!(!refused.is_empty() && refused.iter().all(of_cpudyno), "{refused:?}");
    assert!(record.findings.iter().all(|it| it.id != "verify.wrong-answer"));
}

#[test]
fn a_core_that_computes_the_reference_wrong_accuses_nobody_else() {
    let record = timed("4c", 5.0, |model| model.wrong_answers = vec![wrong("2", "reference", 1.0)]);
    let wrong = &answers(&record).wrong;
    assert!(wrong.iter().all(|it| it.cpu == CpuId(2) && it.workload == "reference"), "{wrong:?}");
}

#[test]
fn machines_without_a_fault_have_no_wrong_answer_and_say_how_many_were_right() {
    for name in ["1c", "4c", "laptop", "hybrid", "vm-2c", "2s-56c"] {
        let record = timed(name, 10.0, |_| ());
        let answers = answers(&record);
        assert_eq!(answers.wrong, [], "{name}");
        assert!(record.findings.iter().all(|it| !it.id.starts_with("verify.")), "{name}");
        assert!(answers.ops_least > 1_000_000 && answers.calls > 1000, "{name} {answers:?}");
        assert!(answers.with_reference >= answers.streams.len() as u64 - 1, "{name} {answers:?}");
    }
}

#[test]
fn answers_change_no_number() {
    let right = timed("laptop", 10.0, |_| ());
    let request = || {
        let presentation = Presentation::of(PageKind::Sheet);
        sheet::request(Seconds(10.0), None, None, Vec::new(), presentation)
    };
    let mut without = request();
    without.manner.compared = false;
    let without = of("laptop", &without, |_| ());
    assert!(without.answers.is_none());
    assert_eq!(without.series, right.series);
}
