//! What memory controllers count of what was asked for, and why they are not believed.

use std::collections::BTreeSet;

use machine::Machine;
use measure::areas::memory::{Length, MemoryOptions, Question};
use model::Seconds;
use model::record::{InstrumentState, Record, Series};
use simulated::{Fault, Model};

use super::{asked, changed, measured, median, name, near, of, parameter};
use crate::common::assert_near;

/// The server, of whose memory nobody else moves anything.
fn quiet_server(change: impl FnOnce(&mut Model)) -> Machine {
    changed("sim:2s-56c", |model| {
        model.noise.steal_share = 0.0;
        let memory = model.memory.as_mut().unwrap();
        let controllers = memory.controllers.as_mut().unwrap();
        (controllers.idle_read, controllers.idle_written) = (0.0, 0.0);
        change(model);
    })
}

fn copies(variant: Option<&str>) -> MemoryOptions {
    let kernels = kernels::memory::find("copy").into_iter().collect();
    let budget = Some(Seconds(2.0));
    let variant = variant.map(str::to_owned);
    MemoryOptions { kernels: Some(kernels), variant, budget, ..asked(Question::Bandwidth) }
}

/// What controllers read and wrote for each byte that was asked for, by how stores were done: twice, by
/// what was measured in a second, and as it is recorded.
fn measured_per_asked(record: &Record) -> Vec<(String, [f64; 2])> {
    let of_cell = |series: &&Series| {
        let beside = |quantity: &str| {
            let all = of(record, quantity, &[]);
            let same = |other: &&&Series| {
                (&other.parameters, &other.active) == (&series.parameters, &series.active)
            };
            median(all.iter().find(same).unwrap_or_else(|| panic!("no {quantity}")))
        };
        let shares = ["measured_read", "measured_write"].map(|way| {
            let share = beside(&format!("{way}_per_asked"));
            assert_near(beside(way) / median(series), share, 5e-3, way);
            share
        });
        (parameter(series, "stores").to_owned(), shares)
    };
    of(record, "bandwidth", &[]).iter().map(of_cell).collect()
}

fn ids(record: &Record) -> Vec<&str> {
    let ours = record.findings.iter().filter(|finding| finding.id.starts_with("memory."));
    ours.map(|finding| finding.id.as_str()).collect()
}

/// The row of the memory controllers.
fn controllers(record: &Record) -> Option<&InstrumentState> {
    let row = record.instruments.iter().find(|row| row.id == "memory_controllers");
    row.map(|row| &row.state)
}

#[track_caller]
fn assert_shares(record: &Record, expected: &[(&str, [f64; 2])]) {
    let found = measured_per_asked(record);
    let stores: BTreeSet<&str> = found.iter().map(|(stores, _)| stores.as_str()).collect();
    assert_eq!(stores, expected.iter().map(|(stores, _)| *stores).collect());
    for (stores, shares) in found {
        let (_, put_in) = expected.iter().find(|(known, _)| *known == stores).unwrap();
        for (found, put_in) in std::iter::zip(shares, put_in) {
            assert_near(found, *put_in, 2e-3, &stores);
        }
    }
}

#[test]
fn controllers_count_what_went_through_them() {
    let record = measured(&quiet_server(|_| ()), copies(None));
    // Ordinary stores bring their lines in, so that as much is read again as is written.
    assert_shares(&record, &[("ordinary", [1.0, 0.5]), ("non-temporal", [0.5, 0.5])]);
    assert_eq!(ids(&record), Vec::<&str>::new());
    assert!(matches!(controllers(&record), Some(InstrumentState::Used { .. })));
    for series in of(&record, "measured_beyond", &[]) {
        let beyond = median(series);
        assert!((1e-6..0.05).contains(&beyond), "{}: {beyond}", name(series));
    }
    let strings = measured(&quiet_server(|_| ()), copies(Some("rep-movsb")));
    assert_shares(&strings, &[("string", [0.5, 0.5])]);
}

#[test]
fn counters_may_begin_again_at_zero() {
    let wraps = quiet_server(|model| model.faults.push(Fault::ControllersWrap));
    let shares = [("ordinary", [1.0, 0.5]), ("non-temporal", [0.5, 0.5])];
    assert_shares(&measured(&wraps, copies(None)), &shares);
}

#[test]
fn what_others_move_is_said_and_not_subtracted() {
    let busy = quiet_server(|model| {
        let controllers = model.memory.as_mut().unwrap().controllers.as_mut().unwrap();
        (controllers.idle_read, controllers.idle_written) = (2e9, 1e9);
    });
    let record = measured(&busy, MemoryOptions { threads: Some(1), ..copies(None) });
    let rig = |quantity: &str| {
        let all = record.series.iter().filter(|s| s.area == "rig" && s.quantity == quantity);
        all.map(median).collect::<Vec<_>>()
    };
    let [read, written] = [rig("idle_read"), rig("idle_write")];
    assert_eq!((read.len(), written.len()), (1, 1));
    assert_near(read[0], 4e9, 1e-3, "of both packages");
    assert_near(written[0], 2e9, 1e-3, "of both packages");
    for (stores, asked) in [("ordinary", 8e9), ("non-temporal", 12e9)] {
        let having = [("stores", stores)];
        near(of(&record, "bandwidth", &having)[0], asked, 0.01);
        near(of(&record, "measured_read", &having)[0], 12e9 - asked / 2.0 + 4e9, 0.01);
        near(of(&record, "measured_write", &having)[0], asked / 2.0 + 2e9, 0.01);
    }
    assert_eq!(ids(&record), ["memory.more-traffic"]);
    let page = format!("{:?}", report::areas::memory::page(&record, 0));
    assert!(page.contains("they read 4000.0 and wrote 2000.0 MB/s; that is contained"), "{page}");
    // What they moved is no part of a headline.
    let strings = measured(&busy, MemoryOptions { threads: Some(1), ..copies(Some("rep-movsb")) });
    let page = format!("{:?}", report::areas::memory::page(&strings, 0));
    assert!(page.contains("because others move more than 2 % of what was measured"), "{page}");
    assert!(page.contains("left out: copy (rep-movsb)") || page.contains("unavailable"), "{page}");
}

#[test]
fn counters_that_do_not_see_what_is_known_are_not_believed() {
    for (fault, why) in [
        (Fault::ControllersSeeHalf, "half of the traffic is counted"),
        (Fault::ControllersReadZero, "the memory controllers counted 0: they do not count"),
        (Fault::ControllersStandStill, "a counter stands still"),
    ] {
        let record = measured(&quiet_server(|model| model.faults.push(fault)), copies(None));
        let Some(InstrumentState::Unavailable { unavailable }) = controllers(&record) else {
            panic!("{fault:?}: they were believed");
        };
        assert!(unavailable.why.contains(why), "{fault:?}: {unavailable:?}");
        assert!(!record.series.iter().any(|s| s.quantity.starts_with("measured_")), "{fault:?}");
        let page = format!("{:?}", report::areas::memory::page(&record, 0));
        assert_eq!(page.matches(why).count(), 1, "{page}");
    }
    let half = quiet_server(|model| model.faults.push(Fault::ControllersSeeHalf));
    let record = measured(&half, copies(None));
    let Some(InstrumentState::Unavailable { unavailable }) = controllers(&record) else {
        panic!("they were believed");
    };
    // Four times the caches of one core and its package.
    let text = "reading 428 MiB, the controllers counted 214 MiB: ";
    assert!(unavailable.why.starts_with(text), "{unavailable:?}");
}

#[test]
fn what_the_cell_before_left_in_caches_is_not_counted() {
    let kernels = ["load", "copy"].into_iter().filter_map(kernels::memory::find).collect();
    let options = MemoryOptions { kernels: Some(kernels), threads: Some(1), ..copies(None) };
    let record = measured(&quiet_server(|_| ()), options);
    for series in of(&record, "measured_write", &[]) {
        if series.workload == "load" {
            let samples = series.samples().unwrap().all();
            assert!(samples.iter().all(|sample| *sample <= 0.0), "{samples:?}");
        }
    }
    assert_eq!(ids(&record), Vec::<&str>::new());
    let counts = |quantity: &str| {
        let all = of(&record, quantity, &[]);
        all.iter().map(|series| series.samples().unwrap().all().len()).sum::<usize>()
    };
    // Two repetitions in each block, of which the second one is counted.
    assert_eq!(counts("measured_read") * 2, counts("bandwidth"));
}

#[test]
fn repetitions_that_others_counted_in_are_left_out_and_said() {
    let taken = quiet_server(|model| model.faults.push(Fault::ControllersTaken));
    let record = measured(&taken, MemoryOptions { threads: Some(1), ..copies(None) });
    let left_out = of(&record, "measured_left_out", &[]);
    let lost: f64 = left_out.iter().flat_map(|series| series.samples().unwrap().all()).sum();
    // Within a tenth of a second, of two seconds in all.
    assert!((1.0..=3.0).contains(&lost), "{lost}");
    let shares = [("ordinary", [1.0, 0.5]), ("non-temporal", [0.5, 0.5])];
    assert_shares(&record, &shares);
    let page = format!("{:?}", report::areas::memory::page(&record, 0));
    let said = format!("repetitions {lost} are left out: a counter was taken by others");
    assert!(page.contains(&said), "{page}");
}

#[test]
fn write_allocate_that_did_not_happen_is_found() {
    let evading = |share| {
        let machine = quiet_server(|model| {
            let memory = model.memory.as_mut().unwrap();
            memory.controllers.as_mut().unwrap().evaded_share = share;
        });
        measured(&machine, copies(None))
    };
    let record = evading(0.5);
    assert_shares(&record, &[("ordinary", [0.75, 0.5]), ("non-temporal", [0.5, 0.5])]);
    assert_eq!(ids(&record), ["memory.write-allocate-evaded"]);
    let finding = record.findings.iter().find(|f| f.id.ends_with("evaded")).unwrap();
    assert!(finding.text.contains("SpecI2M") && finding.text.contains("; "), "{}", finding.text);
    // 2 % of 24 bytes is nothing to speak of.
    assert_eq!(ids(&evading(0.06)), Vec::<&str>::new());
}

#[test]
fn where_controllers_cannot_be_counted_the_reason_stands_once() {
    let refused = quiet_server(|model| model.perf_event_paranoid = 2);
    for (machine, why, remedy) in [
        (refused, "`kernel.perf_event_paranoid` is 2", "kernel.perf_event_paranoid=0"),
        (changed("sim:vm-2c", |_| ()), "shows this guest no PMU", "on the host"),
        (changed("sim:1c", |_| ()), "the kernel found no PMU", "load the driver"),
    ] {
        let record = measured(&machine, copies(None));
        let Some(InstrumentState::Unavailable { unavailable }) = controllers(&record) else {
            panic!("they were counted: {:?}", record.instruments);
        };
        assert!(unavailable.why.contains(why), "{unavailable:?}");
        assert!(unavailable.remedy.as_deref().is_some_and(|text| text.contains(remedy)));
        assert!(!record.series.iter().any(|s| s.quantity.starts_with("measured_")));
        let page = format!("{:?}", report::areas::memory::page(&record, 0));
        assert_eq!(page.matches(why).count(), 1, "{page}");
    }
}

#[test]
fn only_what_goes_to_memory_is_counted() {
    let within = MemoryOptions { length: Some(Length::Bytes(1 << 20)), ..copies(None) };
    let record = measured(&quiet_server(|_| ()), within);
    assert_eq!(controllers(&record), None, "nobody looked for them");
    let factors = measured(&quiet_server(|_| ()), asked(Question::Factors(5)));
    let counted = |factor: &str| !of(&factors, "measured_read", &[("factor", factor)]).is_empty();
    assert_eq!(["1", "3", "4", "5"].map(counted), [false, false, true, true]);
    let latency = measured(&quiet_server(|_| ()), asked(Question::Latency));
    assert_eq!(controllers(&latency), None);
}
