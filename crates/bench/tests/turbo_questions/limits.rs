//! Why the clock is not higher, and how long it lasts, on simulated machines: limits that were put in come out
//! by name and in megahertz.

use super::common::{assert_near, measured, of, streams};
use bench::areas::turbo::{Options, Tests};
use machine::Machine;
use machine::simulated::Model;
use model::record::{AccountStep, ClockAccount, PowerTerm, Record, Series};
use model::{Known, Seconds};

fn machine(name: &str, change: impl FnOnce(&mut Model)) -> Machine {
    let mut model = Model::named(name).unwrap();
    model.noise.drift_amplitude = 0.0;
    change(&mut model);
    Machine::from(model)
}

fn why(machine: &Machine) -> Record {
    measured(machine, Options { tests: Tests::Why, ..streams(&[]) })
}

/// The account of a stream on so many cores.
#[track_caller]
fn account<'a>(record: &'a Record, stream: &str, cores: usize) -> &'a ClockAccount {
    let accounts = &record.clock.as_ref().unwrap().accounts;
    let found = accounts.iter().find(|it| it.workload == stream && it.active.len() == cores);
    let account = found.unwrap_or_else(|| panic!("no account of {stream} on {cores} cores"));
    if let (Known::Yes(advertised), Some(rest)) = (&account.advertised, account.unexplained) {
        let lost: f64 = account.steps.iter().map(|step| step.hertz).sum();
        let sum = advertised.hertz - lost - rest;
        assert_near(sum, account.delivered, 1e-9, "the steps add up to the distance");
    }
    account
}

#[track_caller]
fn step<'a>(account: &'a ClockAccount, id: &str) -> &'a AccountStep {
    let found = account.steps.iter().find(|step| step.id == id);
    found.unwrap_or_else(|| panic!("no step {id} in {:#?}", account.steps))
}

#[track_caller]
fn explained(account: &ClockAccount) {
    let rest = account.unexplained.unwrap() / account.clock;
    assert!(rest.abs() < 0.005, "{:.3} % unexplained: {:#?}", rest * 100.0, account.steps);
}

#[test]
fn bins_and_licences_are_named_with_their_megahertz() {
    let record = why(&machine("2s-56c", |_| {}));
    let alone = account(&record, "scalar_iadd", 1);
    assert_near(alone.advertised.value().unwrap().hertz, 3.8e9, 1e-9, "one core");
    explained(alone);
    let heavy = account(&record, "avx512_fma_t", 112);
    assert_near(step(heavy, "active-cores").hertz, 0.8e9, 1e-9, "3.8 to 3.0 GHz");
    assert_near(step(heavy, "licence").hertz, 0.8e9, 0.01, "3.0 to 2.2 GHz");
    explained(heavy);
}

#[test]
fn power_limits_are_named() {
    let record = why(&machine("laptop", |_| {}));
    let clock = record.clock.as_ref().unwrap();
    let limit = |term| clock.power.iter().find(|it| it.term == term).unwrap();
    assert_eq!(limit(PowerTerm::Long).watts, Some(28.0));
    assert_eq!(limit(PowerTerm::Short).watts, Some(52.0));
    let light = account(&record, "scalar_iadd", 4);
    let power = light.steps.iter().find(|step| step.id.starts_with("pl")).unwrap();
    assert!(power.label.contains("PL2 52 W"), "{power:?}");
    // (52 - 4) W by 4 cores of 3 W a GHz each.
    assert_near(power.hertz, 0.3e9, 0.05, "4.3 to 4.0 GHz");
    explained(light);
}

/// PROCHOT was asserted from outside before the run and after it: its log says nothing, its state does.
#[test]
fn an_external_prochot_is_named() {
    let record = why(&machine("2s-56c", |model| model.prochot_hz = Some(0.8e9)));
    let account = account(&record, "scalar_iadd", 1);
    let step = step(account, "prochot");
    assert_near(step.hertz, 3.0e9, 0.005, "3.8 to 0.8 GHz");
    assert!(step.evidence.contains("before and after"), "{step:?}");
    explained(account);
}

#[test]
fn two_limits_at_once_are_both_named() {
    let record = why(&machine("laptop", |model| {
        model.prochot_hz = Some(3.9e9);
        model.power.as_mut().unwrap().heavier = 1.0;
    }));
    for (stream, cores) in [("scalar_iadd", 4), ("avx512_fma_t", 4)] {
        let account = account(&record, stream, cores);
        let both = account.steps.iter().find(|step| step.id.contains('+')).unwrap();
        assert!(both.id.contains("prochot") && both.id.contains("pl2"), "{both:?}");
        assert!(both.label.ends_with("together"), "{both:?}");
        explained(account);
    }
}

/// Logs that were set before a run are no evidence of it.
#[test]
fn an_old_log_explains_nothing() {
    let first = machine("laptop", |_| {});
    why(&first);
    let relieved = {
        let mut model = first.simulated.clone().unwrap();
        model.power.as_mut().unwrap().short_term_watts = Some(500.0);
        model.power.as_mut().unwrap().long_term_watts = Some(500.0);
        Machine::from(model)
    };
    let record = why(&relieved);
    let clock = record.clock.as_ref().unwrap();
    assert!(clock.reasons.iter().any(|reason| reason.id == "pl2" && reason.before.logged));
    assert!(clock.reasons.iter().all(|reason| !reason.held()), "{:#?}", clock.reasons);
    let light = account(&record, "scalar_iadd", 4);
    assert!(light.steps.iter().all(|step| !step.id.starts_with("pl")), "{:#?}", light.steps);
}

#[test]
fn a_clip_of_speed_select_is_named() {
    let record = why(&machine("sapphire", |model| {
        let firmware = model.speed_select.as_mut().unwrap();
        // Priorities on, turbo frequencies of two kinds on, all cores of package 0 in class 3.
        firmware.came_with.insert("0.0/priorities".into(), 2);
        firmware.came_with.insert("0.0/core-power".into(), 1);
        firmware.came_with.insert("0.0/features".into(), 2);
        for module in 0..56 {
            firmware.came_with.insert(format!("0.0/association/{module}"), 3);
        }
    }));
    let account = account(&record, "scalar_iadd", 1);
    let clip = step(account, "sst");
    assert_near(clip.hertz, 1.2e9, 1e-6, "3.8 to 2.6 GHz");
    assert!(clip.evidence.contains("turbo-freq clips class 3 to 2600 MHz"), "{clip:?}");
    explained(account);
}

#[test]
fn what_the_kernel_and_others_take_is_told_apart() {
    let record = why(&machine("2s-56c", |model| model.noise.steal_share = 0.02));
    let account = account(&record, "scalar_iadd", 1);
    let taken = step(account, "taken");
    assert_near(taken.hertz / account.clock, 0.02, 0.35, "the hypervisor took two per cent");
    assert!(account.delivered < account.clock);
}

#[test]
fn a_guest_knows_what_it_lost_and_not_what_it_was_promised() {
    let record = why(&machine("vm-2c", |_| {}));
    let clock = record.clock.as_ref().unwrap();
    assert!(!clock.accounts.is_empty());
    for account in &clock.accounts {
        assert!(matches!(account.advertised, Known::No { .. }), "{account:?}");
        assert_eq!(account.unexplained, None);
        assert!(account.steps.iter().all(|step| ["taken", "halted"].contains(&step.id.as_str())));
    }
    assert!(clock.unread.iter().any(|reason| reason.why.contains("hypervisor")), "{clock:?}");
}

#[test]
fn each_core_alone_has_a_clock() {
    let record = why(&machine("2s-56c", |_| {}));
    let cores: Vec<&Series> = of(&record, "core_clock").collect();
    assert_eq!(cores.len(), 112);
    for core in cores {
        assert_near(core.summary().unwrap().median, 3.8e9, 0.004, "one core alone");
    }
}

fn windows(record: &Record, stream: &str, quantity: &str) -> Vec<f64> {
    let mine = |series: &&Series| series.parameters.get("stream").is_some_and(|it| it == stream);
    let series = of(record, quantity).find(mine).unwrap();
    series.samples().unwrap_or_else(|| panic!("{:?}", series.outcome)).all()
}

#[test]
fn a_clock_that_falls_from_pl2_to_pl1_is_seen_when_it_does() {
    let tests = Tests::Sustain(Seconds(30.0));
    let record = measured(&machine("laptop", |_| {}), Options { tests, ..streams(&[]) });
    let [time, clock, power] = ["soak_time", "soak_clock", "soak_power"]
        .map(|quantity| windows(&record, "scalar_iadd", quantity));
    // Windows are sized by the clock that a core has at first.
    assert!(time.len() >= 10 && clock.len() == time.len() && power.len() == time.len());
    // The average comes to PL1 when 52 - 48 e^(-t/8) is 28.
    let falls = 8.0 * 2f64.ln();
    for (at, hertz) in std::iter::zip(&time, &clock) {
        let expected = if *at < falls { 4.0e9 } else { 2.0e9 };
        if (at - falls).abs() > 1.2 {
            assert_near(*hertz, expected, 0.005, &format!("after {at:.1} s"));
        }
    }
    assert_near(power[1], 52.0, 0.02, "PL2");
    assert_near(*power.last().unwrap(), 28.0, 0.02, "PL1");
    let finding = record.findings.iter().find(|it| it.id == "turbo.clock-drops").unwrap();
    assert!(finding.text.contains("PL2 to PL1 (52 to 28 W)"), "{}", finding.text);
    assert!(!record.findings.iter().any(|it| it.id == "run.few-blocks"));
}

#[test]
fn a_clock_that_lasts_has_no_drop() {
    let tests = Tests::Sustain(Seconds(20.0));
    let record = measured(&machine("2s-56c", |_| {}), Options { tests, ..streams(&[]) });
    let clock = windows(&record, "avx512_fma_t", "soak_clock");
    assert_near(*clock.last().unwrap(), 2.2e9, 0.004, "all cores");
    assert!(!record.findings.iter().any(|it| it.id == "turbo.clock-drops"));
}
