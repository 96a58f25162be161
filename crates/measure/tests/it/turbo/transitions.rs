//! Transitions on simulated machines: halts, throttled dispatch and hold times that were put in come out again,
//! and what the machine loses anyway never is called one.

use machine::Machine;
use measure::areas::turbo::{Tests, TurboOptions};
use model::page::{Align, Block, Table, Text};
use model::record::{Outcome, Record, Series};
use model::{CpuId, Seconds, Severity};
use rig::placement::Choice;
use simulated::Model;

use crate::common::{assert_near, measured, of, stream, streams, why};

const PERIOD: Seconds = Seconds(2e-3);

fn traced(name: &str, id: &str, change: impl FnOnce(&mut Model)) -> Record {
    traced_by(PERIOD, name, id, change)
}

fn traced_by(period: Seconds, name: &str, id: &str, change: impl FnOnce(&mut Model)) -> Record {
    all_traced(period, name, &[id], change)
}

fn all_traced(
    period: Seconds,
    name: &str,
    ids: &[&str],
    change: impl FnOnce(&mut Model),
) -> Record {
    let mut model = Model::named(name).unwrap();
    model.noise.drift_amplitude = 0.0;
    change(&mut model);
    let tests = Tests::Trace(ids.iter().map(|id| stream(id)).collect(), period);
    let cpus = Choice { at_most: Some(2), ..Choice::usual(None) };
    measured(&Machine::from(model), TurboOptions { tests, cpus, ..streams(&[]) })
}

/// A core as Skylake servers are: throttled, halted, held low, halted again.
fn transitions(model: &mut Model) {
    model.throttled_seconds = 9e-6;
    model.halt_seconds = 11e-6;
    model.licence_hold_seconds = 650e-6;
    model.return_halt_seconds = 10e-6;
}

/// Those with numbers of one of the two cores.
fn at_core<'a>(core: &str, record: &'a Record, quantity: &'a str) -> Vec<&'a Series> {
    let is_wanted =
        |series: &&Series| series.summary().is_some() && series.parameters["core"] == core;
    of(record, quantity).filter(is_wanted).collect()
}

fn all<'a>(record: &'a Record, quantity: &'a str) -> Vec<&'a Series> {
    at_core("own", record, quantity)
}

/// Both threads of a core halt, are throttled and have its clock, whatever the kernel says of their cores.
#[test]
fn a_hidden_sibling_does_as_its_core_does() {
    let record = traced("vm-2c", "avx512_fma_t", |model| {
        transitions(model);
        // What else happens to a guest is none of this.
        (model.noise.steal_share, model.noise.drift_amplitude) = (0.0, 0.0);
    });
    let clock = |core, quantity| at_core(core, &record, quantity)[0].summary().unwrap().median;
    for core in ["own", "other"] {
        let mut halts: Vec<f64> = at_core(core, &record, "trace_halt")
            .iter()
            .map(|series| series.summary().unwrap().median)
            .collect();
        halts.sort_unstable_by(f64::total_cmp);
        assert_eq!(halts.len(), 2, "{core}: {halts:?}");
        assert_near(halts[0], 10e-6, 0.1, "when the licence is given back");
        assert_near(halts[1], 11e-6, 0.15, "when it is granted");
        assert_near(clock(core, "trace_low"), 2.7e9, 0.005, core);
        assert_near(clock(core, "trace_relaxed"), 3.2e9, 0.005, core);
        // It is told in bins of 2 us, and of a thread that is beside the payload by its edges.
        assert_near(clock(core, "trace_throttled"), 9e-6, 0.4, core);
    }
}

/// The tables below this heading.
fn tables(record: &Record) -> Vec<Table> {
    let blocks = report::areas::turbo::page(record, 0, 200).blocks.into_iter();
    blocks
        .filter_map(|block| if let Block::Table(table) = block { Some(table) } else { None })
        .filter(|table| table.caption.contains("duty cycle") || table.caption.contains("Gaps"))
        .collect()
}

fn words(row: &[Text]) -> Vec<&str> {
    row.iter().map(|cell| cell.text.as_str()).collect()
}

#[track_caller]
fn one(record: &Record, quantity: &str) -> f64 {
    let all = all(record, quantity);
    assert_eq!(all.len(), 1, "{quantity}: {all:#?}");
    all[0].summary().unwrap().median
}

fn at(series: &Series) -> f64 {
    series.parameters["at_us"].parse().unwrap()
}

#[test]
fn halts_throttles_and_holds_come_out() {
    let record = traced("2s-56c", "avx512_fma_t", transitions);
    let mut halts = all(&record, "trace_halt");
    halts.sort_by(|a, b| at(a).total_cmp(&at(b)));
    assert_eq!(halts.len(), 2, "{halts:#?}");
    for (halt, (phase, length)) in halts.iter().zip([(10.0, 11e-6), (852.0, 10e-6)]) {
        assert_near(halt.summary().unwrap().median, length, 0.02, "halt");
        assert!((at(halt) - phase).abs() < 3.0, "at {} us", at(halt));
    }
    let account = record.clock.as_ref().unwrap().accounts.first().unwrap();
    let halted = account.steps.iter().find(|step| step.id == "halted").unwrap();
    assert_near(halted.hertz / account.clock, 11e-6 / 200e-6, 0.05, "of its bursts");
    let taken = account.steps.iter().filter(|it| it.id == "taken").map(|it| it.hertz).sum::<f64>();
    assert_near(account.delivered, account.clock - halted.hertz - taken, 1e-9, "what is left");
    let throttled = one(&record, "trace_throttled");
    // Within two bins.
    assert!((throttled - 9e-6).abs() < 4e-6, "{throttled}");
    assert_near(one(&record, "trace_throttled_ratio"), 4.0, 0.03, "dispatch at a quarter");
    assert_near(one(&record, "trace_hold"), 650e-6, 0.02, "hold");
    assert_near(one(&record, "trace_low"), 3.4e9, 0.004, "licence L2 with two cores active");
    assert_near(one(&record, "trace_relaxed"), 3.8e9, 0.004, "the lightest licence");
    assert!(record.findings.iter().any(|it| it.id == "turbo.transition"));
}

/// Throttled dispatch alone: 256-bit integer code on Skylake only waits for voltage.
#[test]
fn dispatch_at_a_quarter_is_no_clock() {
    let record = traced("2s-56c", "avx512_iadd", |model| {
        transitions(model);
        model.halt_seconds = 0.0;
        model.return_halt_seconds = 0.0;
        model.licence[1].bins = model.licence[0].bins.clone();
    });
    assert!(all(&record, "trace_halt").is_empty());
    assert!((one(&record, "trace_throttled") - 9e-6).abs() < 3e-6);
    assert!(all(&record, "trace_hold").is_empty());
}

#[test]
fn a_light_stream_causes_nothing() {
    let record = traced("2s-56c", "scalar_iadd", transitions);
    for quantity in ["trace_halt", "trace_throttled", "trace_hold"] {
        assert!(all(&record, quantity).is_empty(), "{quantity}");
    }
    assert!(one(&record, "trace_visible") < 20e-6);
    assert!(!record.findings.iter().any(|it| it.id == "turbo.transition"));
    let looks = all(&record, "trace_clock");
    assert_eq!(looks.len(), 3, "three periods");
    assert_eq!(at_core("other", &record, "trace_clock").len(), 3, "and of the other core");
    assert!(looks[0].samples().unwrap().all().len() > 1000, "about one look a microsecond");
}

/// A look at throttled dispatch saw no clock: the multiplies are a third longer, and that is none.
#[test]
fn throttled_looks_are_not_in_the_clock() {
    let record = traced("2s-56c", "avx512_iadd", |model| {
        transitions(model);
        model.halt_seconds = 0.0;
        model.return_halt_seconds = 0.0;
        model.licence[1].bins = model.licence[0].bins.clone();
    });
    let of_own = |quantity| {
        let mut all = of(&record, quantity);
        let own = all.find(|series: &&Series| series.parameters["core"] == "own").unwrap();
        own.samples().unwrap().all()
    };
    let [time, clock] = ["trace_folded_time", "trace_folded_clock"].map(of_own);
    assert!(time.len() > 900, "{} bins", time.len());
    for (at, hertz) in std::iter::zip(&time, &clock) {
        assert_near(*hertz, 3.8e9, 0.01, &format!("{:.0} us after the beginning", at * 1e6));
    }
}

/// The clock is low all the time: only a while without a payload tells that it is.
#[test]
fn a_period_shorter_than_the_hold_still_finds_the_lower_clock() {
    let record = traced_by(Seconds(0.5e-3), "2s-56c", "avx512_fma_t", transitions);
    assert_near(one(&record, "trace_low"), 3.4e9, 0.004, "licence L2 with two cores active");
    assert_near(one(&record, "trace_relaxed"), 3.8e9, 0.004, "the lightest licence");
    let hold: Vec<&Series> =
        of(&record, "trace_hold").filter(|it| it.parameters["core"] == "own").collect();
    let [hold] = hold.as_slice() else { panic!("{hold:#?}") };
    assert!(why(hold).contains("not back at the end of a period of 0.5 ms"), "{hold:?}");
    let finding = record.findings.iter().find(|it| it.id == "turbo.transition").unwrap();
    assert!(finding.text.contains("not back within the period: 3"), "{}", finding.text);
}

/// A core that halts at once, with the first op of the payload.
#[test]
fn a_halt_at_the_beginning_of_a_burst_is_seen_there() {
    // As long as usual: there is room for the looks of all periods.
    let record = traced_by(Seconds(5e-3), "2s-56c", "avx512_fma_t", |model| {
        transitions(model);
        model.throttled_seconds = 0.0;
        model.return_halt_seconds = 0.0;
    });
    let halts = all(&record, "trace_halt");
    let [halt] = halts.as_slice() else { panic!("{halts:#?}") };
    assert_near(halt.summary().unwrap().median, 11e-6, 0.02, "halt");
    assert!(at(halt) < 1.5, "at {} us", at(halt));
    assert!(one(&record, "trace_halt_share") > 0.995, "in every period");
}

/// Long periods have fewer looks a microsecond, not more memory.
#[test]
fn looks_at_long_periods_are_bounded() {
    let job = |period: f64| rig::trace::Trace {
        cpu: CpuId(0),
        beside: None,
        payload: None,
        period: Seconds(period),
        burst: Seconds(period / 10.0),
        periods: 100,
        tools: rig::streams::tools(&Machine::named("sim:2s-56c").unwrap()).unwrap(),
    };
    assert!(job(5e-3).pace().0 < 1e-12, "looks follow each other");
    assert!(job(0.1).room() <= 1 << 20);
    assert!(job(0.1).pace() * job(0.1).room() as f64 >= job(0.1).duration());
    let record = traced_by(Seconds(0.02), "2s-56c", "avx512_fma_t", transitions);
    assert_near(one(&record, "trace_hold"), 650e-6, 0.03, "hold");
    assert_eq!(all(&record, "trace_halt").len(), 2);
}

/// Looks are ten microseconds apart, and halts are as long as those between them: polls see all of each.
#[test]
fn halts_between_looks_that_are_far_apart_have_their_length() {
    let record = traced_by(Seconds(0.1), "2s-56c", "avx512_fma_t", transitions);
    let mut halts = all(&record, "trace_halt");
    halts.sort_by(|a, b| at(a).total_cmp(&at(b)));
    let lengths: Vec<f64> = halts.iter().map(|it| it.summary().unwrap().median).collect();
    let [first, second] = lengths[..] else { panic!("{halts:#?}") };
    // Dispatch is throttled before it, and looks are so far apart that what makes one look longer is taken for it.
    assert!((10.7e-6..12.3e-6).contains(&first), "the licence comes: {first}");
    assert_near(second, 10e-6, 0.03, "the licence goes");
    let visible = one(&record, "trace_visible");
    assert!((0.7e-6..5e-6).contains(&visible), "{visible}");
    // The payload begins with the period, however far apart looks are.
    let throttled = one(&record, "trace_throttled");
    assert!((7e-6..12e-6).contains(&throttled), "{throttled}");
}

/// A stream that this machine cannot execute says so beside one that it can.
#[test]
fn a_stream_that_cannot_be_followed_has_its_reason_beside_others() {
    let record = all_traced(Seconds(5e-3), "4c", &["avx512_fma_t", "avx256_fma_t"], |_| {});
    let why = record.series.iter().find_map(|series| match &series.outcome {
        Outcome::Unavailable { unavailable } if unavailable.what.contains("avx512_fma_t") => {
            Some(&unavailable.why)
        }
        _ => None,
    });
    assert!(why.is_some(), "{:?}", record.series);
    assert!(of(&record, "trace_visible").any(|it| it.parameters["stream"] == "avx256_fma_t"));
}

/// The least that could be told is measured, and no constant.
#[test]
fn what_throttled_dispatch_could_be_told_is_measured() {
    let light = traced("2s-56c", "scalar_iadd", transitions);
    let least = one(&light, "trace_throttled_visible");
    assert!((4e-6..20e-6).contains(&least), "{least}");
    let page = format!("{:?}", report::areas::turbo::page(&light, 0, 200));
    let said = format!("{:.0} us", least * 1e6);
    assert!(page.contains(&format!("none seen above {said}\"")), "{said}: {page}");
}

/// A guest whose host takes the CPU away for 1 ms now and then loses time, and has no transition.
#[test]
fn gaps_of_a_guest_are_no_transitions() {
    let record = traced("vm-2c", "avx512_fma_t", |model| {
        model.noise.steal_share = 0.05;
        for licence in 1..model.licence.len() {
            model.licence[licence].bins = model.licence[0].bins.clone();
        }
        model.halt_seconds = 0.0;
    });
    for quantity in ["trace_halt", "trace_throttled", "trace_hold"] {
        assert!(all(&record, quantity).is_empty(), "{quantity}");
    }
    let mut gaps = all(&record, "trace_gap");
    gaps.extend(at_core("other", &record, "trace_gap"));
    let longest = gaps.iter().map(|gap| gap.summary().unwrap().max).fold(0.0, f64::max);
    assert!(longest > 0.9e-3, "the host's millisecond is among the gaps: {longest}");
}

/// Stamps in steps of 10 ns, as some counters have them: single looks see clocks in steps of 3 %, and their mean none.
#[test]
fn a_clock_that_is_a_little_lower_is_seen_although_stamps_have_steps() {
    let lower = |share: f64| {
        traced("2s-56c", "avx512_fma_t", |model| {
            transitions(model);
            model.clock.tsc_step_ticks = 20;
            let highest = model.licence[0].bins.clone();
            for licence in &mut model.licence[1..] {
                licence.bins =
                    highest.iter().map(|(cores, hertz)| (*cores, hertz * share)).collect();
            }
        })
    };
    let record = lower(0.98);
    let looks = all(&record, "trace_clock")[0].samples().unwrap().all();
    let (mut values, count) = (looks.clone(), looks.len());
    values.sort_by(f64::total_cmp);
    values.dedup();
    assert!(values.len() * 50 < count, "looks have steps: {} values of {count}", values.len());
    assert_near(one(&record, "trace_low"), 3.8e9 * 0.98, 0.002, "2 % lower");
    assert_near(one(&record, "trace_relaxed"), 3.8e9, 0.002, "the lightest licence");
    assert_near(one(&record, "trace_hold"), 650e-6, 0.03, "hold");
    // What is told to be visible is: a clock that is lower by twice that is seen, one of half of it is not.
    let visible = one(&record, "trace_hold_visible");
    assert!((0.004..0.015).contains(&visible), "{visible}");
    assert!(!all(&lower(1.0 - 2.0 * visible), "trace_hold").is_empty());
    assert!(all(&lower(1.0 - 0.5 * visible), "trace_hold").is_empty());
}

/// Looks ten microseconds apart are few in each bin: steps of 20 ns stay in their mean.
#[test]
fn what_few_looks_in_steps_cannot_tell_is_not_called_visible() {
    let few = |step: u64| {
        let record = traced_by(Seconds(0.1), "2s-56c", "scalar_iadd", |model| {
            model.noise.relative_sd = 0.0;
            model.noise.interrupts_per_second = 0.0;
            model.clock.tsc_step_ticks = step;
        });
        one(&record, "trace_hold_visible")
    };
    let (fine, coarse) = (few(2), few(40));
    assert!(coarse > 2.0 * fine, "steps of 1 ns: {fine}, of 20 ns: {coarse}");
}

/// A CPU that its host takes away for most of the time: a halt in every period is there wherever anybody looked, and
/// where nobody did, nothing is told.
#[test]
fn halts_are_counted_in_the_periods_that_were_looked_at() {
    let taken = |away: [f64; 2], halt: f64| {
        traced_by(Seconds(5e-3), "vm-2c", "avx512_fma_t", |model| {
            model.noise.steal_share = 0.0;
            [model.noise.interrupts_per_second, model.noise.interrupt_seconds] = away;
            model.throttled_seconds = 0.0;
            model.halt_seconds = halt;
            model.return_halt_seconds = 0.0;
        })
    };
    let record = taken([300.0, 1e-3], 12e-6);
    let halts = all(&record, "trace_halt");
    let [halt] = halts.as_slice() else { panic!("{halts:#?}") };
    assert_near(halt.summary().unwrap().median, 12e-6, 0.03, "halt");
    let count = halt.summary().unwrap().count;
    assert!(count < 90, "{count} periods of 100, which were enough");
    assert!(one(&record, "trace_halt_share") > 0.9, "in nearly all that were looked at");
    // Where one pass does not show enough, three do.
    let record = taken([950.0, 1e-3], 0.0);
    let looked = one(&record, "trace_looked");
    assert!((50.0..150.0).contains(&looked), "{looked}");
    assert!(all(&record, "trace_halt").is_empty());
    looks_are_kept(&record);
    // After 2 ms of work it is away for 20 ms.
    let record = taken([500.0, 20e-3], 0.0);
    let halts: Vec<&Series> =
        of(&record, "trace_halt").filter(|it| it.parameters["core"] == "own").collect();
    let [halt] = halts.as_slice() else { panic!("{halts:#?}") };
    looks_are_kept(&record);
    let reason = why(halt);
    assert!(reason.contains("of 300 periods have one, and 50 are needed"), "{reason}");
    assert!(one(&record, "trace_looked") < 50.0);
    let tables = tables(&record);
    for (cell, what) in [(2, "halts"), (3, "throttled")] {
        assert_eq!(tables[0].rows[0][cell].text, "unavailable", "{what}");
        let note = format!("{what} of avx512_fma_t (own, CPU 0) unavailable: ");
        assert!(tables[0].legend.iter().any(|it| it.starts_with(&note)), "{:?}", tables[0].legend);
    }
    assert!(tables[0].legend.iter().any(|note| note.contains(reason)), "{:?}", tables[0].legend);
    let mut findings = record.findings.iter().filter(|it| it.id == "turbo.transition");
    assert!(
        findings.all(|it| it.text.starts_with("halts: unavailable; ")),
        "{:?}",
        record.findings
    );
    // Time that is lost here is found as anywhere, and has its share in the table.
    let gaps = record.findings.iter().find(|it| it.id == "run.gaps").unwrap();
    assert_eq!(gaps.severity, Severity::Serious, "most of it is lost: {gaps:?}");
    let shares = all(&record, "trace_gap_share");
    assert!(shares.iter().all(|it| it.summary().unwrap().median > 0.4), "{shares:#?}");
}

/// Whichever periods gaps cover, three others are in the record, of both cores.
#[track_caller]
fn looks_are_kept(record: &Record) {
    for core in ["own", "other"] {
        for quantity in ["trace_time", "trace_clock", "trace_stretch"] {
            let kept = at_core(core, record, quantity);
            assert_eq!(kept.len(), 3, "{core} {quantity}: {kept:#?}");
            assert!(kept.iter().all(|it| it.summary().unwrap().count > 100), "{core} {quantity}");
        }
    }
}

/// Time that is taken from a burst is that of its own core, as the table has it, where nothing else takes any.
#[test]
fn what_is_taken_from_bursts_is_what_the_machine_loses_anyway() {
    // Those that come so often that no halt as short is told, too.
    for [per_second, seconds] in [[300.0, 1e-3], [8000.0, 20e-6]] {
        let record = traced("vm-2c", "avx512_fma_t", |model| {
            model.noise.steal_share = 0.0;
            model.noise.interrupts_per_second = per_second;
            model.noise.interrupt_seconds = seconds;
        });
        let quiet = |it: &&&Series| it.parameters["pass"] == "without payload";
        let shares = all(&record, "trace_gap_share");
        let share = shares.iter().find(quiet).unwrap().summary().unwrap().median;
        let put_in = per_second * seconds;
        assert_near(share, put_in, 0.25, "of the time");
        let account = record.clock.as_ref().unwrap().accounts.first().unwrap();
        let taken = account.steps.iter().find(|step| step.id == "taken").unwrap();
        let share_said = format!("{:.2} %", share * 100.0);
        let said =
            format!("gaps of its core without the stream, before and after it, {share_said}");
        assert_eq!(taken.evidence, said);
        assert_near(taken.hertz / account.clock, share, 1e-6, "of the clock");
    }
}

/// A halt of 2.5 us right behind throttled dispatch is as long as looks are by that: it is not denied.
#[test]
fn a_short_halt_behind_throttled_dispatch_is_not_denied() {
    let record = traced("2s-56c", "avx512_fma_t", |model| {
        transitions(model);
        model.halt_seconds = 2.5e-6;
        model.return_halt_seconds = 0.0;
    });
    let least = one(&record, "trace_visible_beside_throttled");
    assert!(!all(&record, "trace_halt").is_empty() || least > 2.5e-6, "none above {least}");
    assert!(tables(&record)[0].rows[0][2].text.contains(" beside throttled looks), "));
    // Where nothing is throttled, one as short is seen.
    let record = traced("2s-56c", "avx512_fma_t", |model| {
        transitions(model);
        (model.throttled_seconds, model.halt_seconds) = (0.0, 2.5e-6);
        model.return_halt_seconds = 0.0;
    });
    let halts = all(&record, "trace_halt");
    let [halt] = halts.as_slice() else { panic!("{halts:#?}") };
    assert_near(halt.summary().unwrap().median, 2.5e-6, 0.05, "halt");
    assert!(all(&record, "trace_visible_beside_throttled").is_empty());
}

/// Cores of two types never share a row.
#[test]
fn each_type_of_core_is_followed() {
    let mut model = Model::named("4c").unwrap();
    model.kind = simulated::CoreKind::pair(model.topology.cores_per_package - 2, 2);
    let tests = Tests::Trace(vec![stream("scalar_iadd")], PERIOD);
    let record = measured(&Machine::from(model), TurboOptions { tests, ..streams(&[]) });
    let own = all(&record, "trace_visible");
    let cpus: Vec<(CpuId, &str)> =
        own.iter().map(|it| (it.cpu, it.parameters["core_type"].as_str())).collect();
    let [(first, big), (second, small)] = cpus[..] else { panic!("{cpus:?}") };
    assert_eq!(first, CpuId(0));
    assert!(second > first && big != small, "{cpus:?}");
    let rows: Vec<Vec<String>> = tables(&record)[0]
        .rows
        .iter()
        .map(|row| words(row).into_iter().map(str::to_owned).collect())
        .collect();
    assert_eq!(rows.len(), 4, "{rows:?}");
    assert_eq!(rows[0][0], format!("scalar_iadd on {big}"));
    assert_eq!(rows[2][..2], [format!("scalar_iadd on {small}"), format!("own, CPU {second}")]);
}

/// A halt of the package stops the core beside, too; one of the core does not.
#[test]
fn the_other_core_tells_whose_halt_it_is() {
    let record = |others: bool| {
        traced("2s-56c", "avx512_fma_t", |model| {
            transitions(model);
            model.halts_others = others;
        })
    };
    let of_package = record(true);
    let lengths = |record: &Record| -> Vec<f64> {
        let mut halts = at_core("other", record, "trace_halt");
        halts.sort_by(|a, b| at(a).total_cmp(&at(b)));
        halts.iter().map(|it| it.summary().unwrap().median).collect()
    };
    let [first, second] = lengths(&of_package)[..] else { panic!("{:?}", lengths(&of_package)) };
    assert_near(first, 11e-6, 0.02, "the licence comes");
    assert_near(second, 10e-6, 0.02, "the licence goes");
    assert!(of_package.findings.iter().any(|it| it.about.ends_with("other, CPU 1")));
    let of_core = record(false);
    assert_eq!(lengths(&of_core), [0.0; 0]);
    for (record, said) in [(&of_package, "11.0"), (&of_core, "none seen above ")] {
        let table = tables(record).remove(0);
        let cells = words(&table.rows[1]);
        assert_eq!(cells[..2], ["avx512_fma_t", "other, CPU 1"]);
        assert!(cells[2].starts_with(said), "{cells:?}");
        assert!(cells[4].starts_with("no lower clock seen above "), "{cells:?}");
    }
}

/// What was seen on another CPU is of that CPU.
#[test]
fn series_are_of_the_cpu_that_they_were_taken_on() {
    let record = traced("2s-56c", "avx512_fma_t", transitions);
    let mut seen = 0;
    for series in record.series.iter().filter(|it| it.quantity.starts_with("trace_")) {
        let of = if series.parameters["core"] == "own" { CpuId(0) } else { CpuId(1) };
        assert_eq!(series.cpu, of, "{} {:?}", series.quantity, series.parameters);
        seen += 1;
    }
    assert!(seen > 30, "{seen}");
}

/// Two CPUs that the kernel calls two cores, and that are one.
#[test]
fn a_core_that_is_the_same_is_called_a_hidden_sibling() {
    let core =
        |name: &str| tables(&traced(name, "avx512_fma_t", |_| {}))[0].rows[1][1].text.clone();
    assert_eq!(core("vm-2c"), "hidden sibling, CPU 1");
    assert_eq!(core("2s-56c"), "other, CPU 1");
}

/// Each row of gaps was cut where its own stream and core could tell.
#[test]
fn gaps_have_the_least_of_their_own_stream() {
    let ids = ["avx512_fma_t", "scalar_iadd"];
    let record = all_traced(PERIOD, "2s-56c", &ids, transitions);
    let table = &tables(&record)[1];
    assert_eq!(table.rows.len(), 8, "two streams, with and without, two cores");
    let keys = table.columns.iter().take_while(|(_, align)| *align == Align::Label);
    assert_eq!(keys.map(|it| it.0.as_str()).collect::<Vec<_>>(), ["stream", "pass", "core"]);
    for row in &table.rows {
        let cells = words(row);
        let core = cells[2].split(',').next().unwrap();
        let visible = at_core(core, &record, "trace_visible");
        let own = visible.iter().find(|it| it.parameters["stream"] == cells[0]).unwrap();
        let least = own.summary().unwrap().median;
        assert_eq!(cells[3], model::page::si::format(least, model::Unit::Second), "{cells:?}");
        assert!(cells[5].ends_with(" %"), "{cells:?}");
    }
}

/// What happened is marked, and drawn where it can be seen.
#[test]
fn the_timeline_marks_what_happened() {
    let record = traced("2s-56c", "avx512_fma_t", transitions);
    let blocks = report::areas::turbo::page(&record, 0, 200).blocks.into_iter();
    let plots: Vec<_> = blocks
        .filter_map(|block| if let Block::Lines(lines) = block { Some(lines) } else { None })
        .filter(|plot| plot.caption.contains("all periods folded"))
        .collect();
    let [all, beginning] = plots.as_slice() else { panic!("{plots:#?}") };
    let marks = |plot: &model::page::Lines| -> Vec<String> {
        plot.marks.iter().map(|mark| mark.text.clone()).collect()
    };
    let [throttled, first, second, end] = &marks(all)[..] else { panic!("{:?}", marks(all)) };
    assert!(throttled.starts_with("throttled for "), "{throttled}");
    assert!(first.starts_with("halt of 1") && first.contains(" at "), "{first}");
    assert!(second.starts_with("halt of 1"), "{second}");
    assert_eq!(end, "the stream ends at 201 us");
    assert!(beginning.caption.contains(", the first 100 us"), "{}", beginning.caption);
    assert_eq!(marks(beginning), [throttled.clone(), first.clone()]);
    let own = &beginning.lines[0].1;
    assert!(own.len() > 30 && own.iter().all(|(at, _)| *at < 100.0), "{own:?}");
    // While dispatch is throttled and the core halts, there is no clock, and so no line.
    let pieces: Vec<&[(f64, f64)]> = beginning.pieces(own).collect();
    let long: Vec<_> = pieces.iter().filter(|piece| piece.len() > 2).collect();
    let [after] = long.as_slice() else { panic!("{pieces:?}") };
    assert!((18.0..24.0).contains(&after[0].0), "{pieces:?}");
    assert_eq!(beginning.pieces(&beginning.lines[1].1).count(), 1, "the other core");
}

/// A halt is as long as it was, although the clock is lower after it.
#[test]
fn halts_before_a_lower_clock_have_their_length() {
    let record = traced("2s-56c", "avx512_fma_t", |model| {
        transitions(model);
        model.throttled_seconds = 0.0;
    });
    let mut halts = all(&record, "trace_halt");
    halts.sort_by(|a, b| at(a).total_cmp(&at(b)));
    for (halt, length) in halts.iter().zip([11e-6, 10e-6]) {
        assert_near(halt.summary().unwrap().median, length, 0.005, "halt");
    }
}

/// What was found is not all that may be there: the least that could be told of others stands beside it.
#[test]
fn what_was_found_has_the_least_of_others_beside_it() {
    let record = traced("2s-56c", "avx512_fma_t", transitions);
    let row = &tables(&record)[0].rows[0];
    let visible = model::page::si::format(one(&record, "trace_visible"), model::Unit::Second);
    // In whole bins.
    let [throttled, length, hold] = ["trace_throttled_visible", "trace_throttled", "trace_hold"]
        .map(|it| format!("{:.0}", one(&record, it) * 1e6));
    let looked = one(&record, "trace_looked");
    let beside = one(&record, "trace_visible_beside_throttled");
    let beside = model::page::si::format(beside, model::Unit::Second);
    let least = format!(
        "; no others above {visible} ({beside} beside throttled looks), {looked:.0} periods"
    );
    assert!(row[2].text.ends_with(&least), "{row:?}");
    assert!(row[3].text.ends_with(&format!("; no others above {throttled} us")), "{row:?}");
    assert!(row[3].text.starts_with(&format!("{length} ± 2 us at ")), "{row:?}");
    assert!(row[4].text.starts_with(&format!("{hold} ± 2 us after it, at ")), "{row:?}");
}

/// What others found stands below what was seen, on CPUs of that microarchitecture.
#[test]
fn what_others_found_stands_on_the_page() {
    let notes = |core: &str| {
        let record = traced("2s-56c", "avx512_fma_t", |model| {
            core.clone_into(&mut model.identity.microarchitecture);
        });
        tables(&record).remove(0).notes
    };
    let line = "others found on a Xeon W-2104: dispatch throttled for 8 to 20 us, halts of 10 us, the lower clock held \
                for 650 to 680 us, 11 us halted when it is given back (avxfreq1)";
    assert!(notes("Skylake-SP").iter().any(|note| note == line), "{:?}", notes("Skylake-SP"));
    assert!(!notes("Zen 4").iter().any(|note| note.starts_with("others found")));
}

/// Each stream is probed by itself, and all of them are one sweep.
#[test]
fn placements_that_change_are_counted_once_a_sweep() {
    let ids = ["avx512_fma_t", "avx512_iadd_t", "avx256_fma_t", "avx256_iadd_t", "avx128_fma_t"];
    let mut model = Model::named("2s-56c").unwrap();
    // Half of the stretches of a probe have an interrupt, and seem longer than any within one cache.
    model.distance.apart_seconds = 70e-9;
    [model.noise.interrupts_per_second, model.noise.interrupt_seconds] = [70e3, 1e-6];
    let tests = Tests::Trace(ids.iter().map(|id| stream(id)).collect(), PERIOD);
    let cpus = Choice { cpus: Some("0,56".parse().unwrap()), ..Choice::usual(None) };
    let record = measured(&Machine::from(model), TurboOptions { tests, cpus, ..streams(&[]) });
    let changed = |series: &&Series| {
        series.quantity == "trace_visible"
            && series.parameters["core"] == "own"
            && series.placement_class.as_deref() == Some("changed")
    };
    let changed = record.series.iter().filter(changed).count();
    assert!(changed > 1, "{changed} streams of {}", ids.len());
    let finding = record.findings.iter().find(|it| it.id == "placement.changed").unwrap();
    assert!(finding.text.contains(" during 1 of 1 sweeps "), "{}", finding.text);
}
