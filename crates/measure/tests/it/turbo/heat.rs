//! How long the clock lasts on simulated machines: drops, their causes, and what is left.

use std::sync::Arc;

use machine::Machine;
use measure::areas::turbo::{Tests, TurboOptions};
use model::page::Block;
use model::record::{Record, Series};
use model::{CpuId, Seconds};
use rig::executor::Stop;
use simulated::{Fault, Model};

use super::limits::{OfOne, machine, set_each};
use crate::common::measure;
use crate::common::{LOOK, assert_near, measured, of, streams};

/// What both streams of `--sustain` find on a machine, for so many seconds in all.
pub(super) fn sustained(name: &str, seconds: f64, change: impl FnOnce(&mut Model)) -> Record {
    let tests = Tests::Sustain(Seconds(seconds));
    measured(&machine(name, change), TurboOptions { tests, ..streams(&[]) })
}

fn windows(record: &Record, stream: &str, quantity: &str) -> Vec<f64> {
    let mine = |series: &&Series| series.parameters.get("stream").is_some_and(|it| it == stream);
    let series = of(record, quantity).find(mine).unwrap();
    series.samples().unwrap_or_else(|| panic!("{:?}", series.outcome)).all()
}

#[test]
fn a_clock_that_falls_from_pl2_to_pl1_is_seen_when_it_does() {
    let record = sustained("laptop", 30.0, |_| {});
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
    // What is known of its time is a window.
    let words: Vec<&str> = finding.text.split(' ').collect();
    let ["between", from, "and", to, "s", "after", ..] = words[..] else { panic!("{words:?}") };
    let [from, to] = [from, to].map(|it| it.parse::<f64>().unwrap());
    assert!(from <= falls && falls <= to && to - from < 1.3, "{falls} in {from} to {to}");
    assert!(!record.findings.iter().any(|it| it.id == "run.few-blocks"));
}

/// A core that the kernel holds down draws no more than that, and power limits nothing.
#[test]
fn a_clock_that_the_kernel_holds_down_meets_no_limit_of_power() {
    let record = sustained("laptop", 20.0, |m| set_each(m, "scaling_max_freq", "1000000"));
    // 4 W, and 12 W for each GHz of the four cores.
    for watts in windows(&record, "scalar_iadd", "soak_power") {
        assert_near(watts, 16.0, 0.02, "4 W and 12 W");
    }
    for account in &record.clock.as_ref().unwrap().accounts {
        assert_near(account.clock, 1e9, 0.005, "as allowed");
        let steps: Vec<&str> = account.steps.iter().map(|it| &*it.id).collect();
        assert_eq!(steps, ["kernel"], "{account:#?}");
    }
}

/// Where no register can be read, what limits beside power may be part of what power is seen to take.
#[test]
fn watts_alone_blame_nothing_alone() {
    let record = sustained("laptop", 20.0, |m| m.faults = vec![Fault::NoMsr]);
    let account = record.clock.as_ref().unwrap().accounts.last().unwrap();
    let power = account.steps.iter().find(|it| it.id == "pl1").unwrap();
    assert_eq!(power.label, "PL1 28 W, or what is not known");
    assert!(power.evidence.contains("may be part of it: not read here"), "{power:?}");
    assert!(power.evidence.contains("limit of the active cores"), "{power:?}");
}

/// The turbo limits of one package alone can be read: that of the other may be part of what power takes there.
#[test]
fn watts_beside_limits_of_others_blame_nothing_alone() {
    let machine = machine("2s-56c", |model| {
        model.power.as_mut().unwrap().long_term_watts = Some(150.0);
    });
    let msr = Arc::new(OfOne(machine.msr, CpuId(0), 0x1ad, 0));
    let tests = Tests::Sustain(Seconds(20.0));
    let record = measured(&Machine { msr, ..machine }, TurboOptions { tests, ..streams(&[]) });
    let limits = &record.machine.turbo_limits;
    assert!(!limits.is_empty() && limits.iter().all(|it| !it.cpus.contains(CpuId(0))));
    let account = record.clock.as_ref().unwrap().accounts.last().unwrap();
    let power = account.steps.iter().find(|it| it.id == "pl1").unwrap();
    assert!(power.label.ends_with(" W, or what is not known"), "{power:?}");
    assert!(power.evidence.contains("limit of the active cores may be part of it"), "{power:?}");
}

/// Whoever stops a run kept no CPU busy for longer than that.
#[test]
fn no_cpu_was_busy_for_longer_than_the_run() {
    let tests = Tests::Sustain(Seconds(60.0));
    let request = TurboOptions { tests, ..streams(&[]) }.request(vec!["test".to_owned()], LOOK);
    let stop = Stop::default();
    let machine = machine("laptop", |_| {});
    let run = measure(&machine, &request, &stop, &mut |progress| {
        if progress.doing == "sustain" {
            stop.ask();
        }
    });
    let record = run.unwrap();
    assert!(record.run.interrupted.is_some());
    let busy = record.clock.unwrap().busy_seconds.unwrap();
    assert!(busy <= record.run.seconds * 4.0, "{busy} s of {} s", record.run.seconds);
}

/// Heat throttled cores in some windows, of which the registers of limits say nothing.
#[test]
fn throttles_that_were_counted_are_a_limit_that_came_up() {
    let record = sustained("2s-56c", 10.0, |m| m.faults = vec![Fault::ThermalThrottle]);
    let limits: Vec<&str> = of(&record, "soak_limited")
        .filter_map(|series| Some(series.parameters.get("limit")?.as_str()))
        .collect();
    assert!(limits.contains(&"throttling by heat"), "{limits:?}");
    let record = measured(
        &machine("2s-56c", |m| m.faults = vec![Fault::ThermalThrottle]),
        TurboOptions { tests: Tests::Why, ..streams(&[]) },
    );
    let page = format!("{:?}", report::areas::turbo::page(&record, 0, 200));
    assert!(!page.contains("no limit was in force or came up"), "{page}");
}

/// PL2 lasts for less than a window.
#[test]
fn an_early_drop_is_no_normal_state() {
    let record = sustained("laptop", 30.0, |m| m.power.as_mut().unwrap().long_term_seconds = 1.3);
    let mut drops = record.findings.iter().filter(|it| it.id == "turbo.clock-drops");
    for stream in ["avx512_fma_t", "scalar_iadd"] {
        let finding = drops.next().unwrap();
        assert_eq!(finding.about, format!("{stream} on all cores"));
        assert!(finding.text.contains("to PL1"), "{}", finding.text);
    }
    let rows =
        report::areas::turbo::page(&record, 0, 200).blocks.into_iter().find_map(|it| match it {
            model::page::Block::Table(it) if it.caption.contains("first window") => Some(it.rows),
            _ => None,
        });
    for row in rows.unwrap() {
        let kept = &row[3].text;
        assert_near(kept.trim_end_matches(" %").parse().unwrap(), 50.0, 0.01, "half of the clock");
    }
}

/// The averages that limits hold on have forgotten one stream when the next begins.
#[test]
fn each_stream_begins_with_its_own_pl2() {
    let record = sustained("laptop", 30.0, |_| {});
    let falls = 8.0 * 2f64.ln();
    for (stream, from, to) in [("avx512_fma_t", 2.222e9, 1.111e9), ("scalar_iadd", 4.0e9, 2.0e9)] {
        let [time, clock, power] = ["soak_time", "soak_clock", "soak_power"]
            .map(|quantity| windows(&record, stream, quantity));
        for (at, hertz) in std::iter::zip(&time, &clock) {
            let expected = if *at < falls { from } else { to };
            if (at - falls).abs() > 1.2 {
                assert_near(*hertz, expected, 0.005, &format!("{stream} after {at:.1} s"));
            }
        }
        assert_near(power[1], 52.0, 0.02, "PL2");
    }
    // Three times the eight seconds of PL1.
    assert_eq!(windows(&record, "scalar_iadd", "soak_rest"), [24.0]);
}

/// The register of PL1 has a time, and no limit.
#[test]
fn a_limit_that_is_none_sets_no_rest() {
    let record = sustained("2s-28c", 10.0, |_| {});
    assert_eq!(windows(&record, "scalar_iadd", "soak_rest"), [5.0], "half of what a stream takes");
    let page = format!("{:?}", report::areas::turbo::page(&record, 0, 200));
    let line = "the machine rested for 5.000 s before scalar_iadd; there is no PL1 that remembers";
    assert!(page.contains(line), "{page}");
}

/// Somebody else takes half of the CPUs' time: windows last as long as ever, and hold fewer jobs.
#[test]
fn windows_end_by_time() {
    let record = sustained("4c", 10.0, |model| {
        model.noise.interrupts_per_second = 100.0;
        model.noise.interrupt_seconds = 5e-3;
    });
    let time = windows(&record, "scalar_iadd", "soak_time");
    assert_eq!(time.len(), 10, "{time:?}");
    // Whose clock it is, where others take as much.
    let found = record.findings.iter().filter(|it| it.id == "turbo.windows-disturbed");
    let texts: Vec<&str> = found.map(|it| it.text.as_str()).collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    for text in texts {
        let percent: f64 = text.split(' ').next().unwrap().parse().unwrap();
        assert!((20.0..=50.0).contains(&percent), "{text}");
    }
    assert!(*time.last().unwrap() < 10.5, "{time:?}");
}

/// Somebody else has the CPUs for two seconds now and then, so that there are few windows: of a drop nothing is known.
#[test]
fn of_few_windows_no_drop_is_told() {
    let record = sustained("4c", 5.0, |model| {
        model.noise.interrupts_per_second = 0.5;
        model.noise.interrupt_seconds = 2.0;
    });
    let count = windows(&record, "scalar_iadd", "soak_time").len();
    assert!((2..10).contains(&count), "{count}");
    let finding = record.findings.iter().find(|it| it.id == "turbo.few-windows").unwrap();
    assert!(finding.text.contains(" windows instead of 10"), "{}", finding.text);
    let page = report::areas::turbo::page(&record, 0, 200);
    let table = page.blocks.into_iter().find_map(|block| match block {
        Block::Table(table) if table.caption.contains("first window") => Some(table),
        _ => None,
    });
    let table = table.unwrap();
    let row = table.rows.iter().find(|row| row[0].text == "scalar_iadd").unwrap();
    assert_eq!(row.last().unwrap().text, "unavailable");
    let note = format!("first drop of scalar_iadd unavailable: {count} windows, and 10 are needed");
    assert!(table.legend.contains(&note), "{:?}", table.legend);
}

/// What lowers the clock during the run is named where it was seen, and not where nobody could look.
#[test]
fn the_cause_of_a_drop_is_the_one_that_was_seen() {
    let drop = |change: fn(&mut Model)| {
        let record = sustained("2s-56c", 10.0, |model| {
            model.prochot_hz = Some(1.5e9);
            model.prochot_from_seconds = 5.0;
            change(model);
        });
        record.findings.into_iter().find(|it| it.id == "turbo.clock-drops").unwrap().text
    };
    let seen = drop(|_| {});
    assert!(seen.contains(" to 1500 MHz"), "{seen}");
    assert!(seen.ends_with("PROCHOT (external, or hot) was seen then"), "{seen}");
    let unseen = drop(|model| model.faults.push(Fault::NoMsr));
    assert!(unseen.ends_with("stayed there: cause not known"), "{unseen}");
}

/// The heavy stream falls to PL1, and long after that, under the light one, PROCHOT is asserted.
#[test]
fn what_came_later_caused_no_drop() {
    let record = sustained("laptop", 20.0, |model| {
        model.prochot_hz = Some(0.8e9);
        model.prochot_from_seconds = 43.5;
    });
    let drop = |stream: &str| {
        let about = format!("{stream} on all cores");
        let found = record.findings.iter().find(|it| it.about == about);
        let clock = || windows(&record, stream, "soak_clock");
        found.unwrap_or_else(|| panic!("{about}: {:?}", clock())).text.clone()
    };
    let heavy = drop("avx512_fma_t");
    assert!(heavy.contains("PL2 to PL1") && !heavy.contains("PROCHOT"), "{heavy}");
    let light = drop("scalar_iadd");
    assert!(light.contains(" to 800 MHz") && light.contains("PROCHOT"), "{light}");
}

/// A clock that moves by a per cent from window to window falls by two now and then, and has not dropped.
#[test]
fn a_noisy_clock_has_no_drop() {
    let record = sustained("2s-56c", 10.0, |model| {
        model.noise.drift_amplitude = 0.03;
        model.noise.drift_period_seconds = 2.7;
    });
    assert!(
        !record.findings.iter().any(|it| it.id == "turbo.clock-drops"),
        "{:?}",
        record.findings
    );
}

#[test]
fn a_clock_that_lasts_has_no_drop() {
    let record = sustained("2s-56c", 20.0, |_| {});
    let clock = windows(&record, "avx512_fma_t", "soak_clock");
    assert_near(*clock.last().unwrap(), 2.2e9, 0.004, "all cores");
    assert!(!record.findings.iter().any(|it| it.id == "turbo.clock-drops"));
}
