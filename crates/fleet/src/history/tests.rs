use model::record::Digest;

use super::{Entry, History, KeptRuns, Move, why};
use crate::simulate::{FAULTS, PlantedFault, SimulatedFleet, normal};
use crate::survey::tests::base;

/// So many boots of one machine, a day each, with what is asked for from that boot on. From run to run all of a quantity
/// moves a little, which no spread within a run shows.
fn boots(count: usize, seed: u64, fault: Option<(&str, usize)>) -> Vec<Entry> {
    let base = base();
    let planted = fault.map(|(name, at)| {
        let fault = FAULTS.iter().find(|fault| fault.name == name).unwrap();
        (PlantedFault { fault, count: Some(1) }, at)
    });
    let mut random = fastrand::Rng::with_seed(seed ^ 0x5eed);
    let on_day = |day: usize| {
        let faults: Vec<PlantedFault> =
            planted.iter().filter(|(_, at)| day >= *at).map(|(fault, _)| *fault).collect();
        let machine = SimulatedFleet::new(base.clone(), 1, seed, &faults).on_day(day as u64);
        let digest = shaken(machine.digest(0), &mut random);
        Entry { boot: Some(format!("boot{day}")), digest }
    };
    (0..count).map(on_day).collect()
}

/// Another run: each result is off by as much as it varies within a run, and one of a hundred by six times that.
fn shaken(mut digest: Digest, random: &mut fastrand::Rng) -> Digest {
    for (key, result) in &mut digest.results {
        let Ok(measured) = &result.outcome else { continue };
        let spread = match key.quantity.as_str() {
            "clock" => 0.001,
            "bandwidth" | "latency" => 0.006,
            _ => 0.02,
        };
        let wide = if random.f64() < 0.01 { 6.0 } else { 1.0 };
        let factor = (wide * spread * normal(random)).exp();
        let blocks: Vec<f64> = measured.blocks().iter().map(|block| block * factor).collect();
        result.outcome = Ok(model::record::Measured::of(&blocks, 0.0).unwrap());
    }
    digest
}

fn told(entries: Vec<Entry>) -> History {
    History::of(KeptRuns { entries, skipped: Vec::new() }, None)
}

fn moved_at(history: &History) -> Vec<usize> {
    let moved = history.runs.iter().enumerate().filter(|(_, run)| !run.moved.is_empty());
    moved.map(|(place, _)| place).collect()
}

/// Of so many histories, those that find this at the right boot, and only there.
fn found(fault: &str, is_it: impl Fn(&Move) -> bool, fact: &str) -> usize {
    let is_found = |seed: &u64| {
        let at = 20 + (*seed as usize * 13) % 160;
        let history = told(boots(200, *seed, Some((fault, at))));
        let run = &history.runs[at];
        let is_said = run.changed.iter().any(|change| change.id == fact);
        let elsewhere = history.runs.iter().enumerate().filter(|(place, _)| *place != at);
        let is_alone = elsewhere.clone().all(|(_, run)| !run.moved.iter().any(&is_it));
        let quiet = elsewhere.clone().all(|(_, run)| run.changed.is_empty());
        is_said && run.moved.iter().any(&is_it) && is_alone && quiet
    };
    (0..100).filter(is_found).count()
}

#[test]
fn a_capped_clock_is_found_at_its_boot() {
    let is_clock = |it: &Move| it.what.quantity == "clock" && it.speed < 0.8 && it.confirmed;
    let found = found("clock-cap", is_clock, "cpufreq.limits");
    assert!(found >= 95, "{found} of 100");
}

#[test]
fn a_missing_dimm_is_found_at_its_boot() {
    let is_bandwidth =
        |it: &Move| it.what.quantity == "bandwidth" && it.speed < 0.9 && it.confirmed;
    let found = found("missing-dimm", is_bandwidth, "memory.total");
    assert!(found >= 95, "{found} of 100");
}

#[test]
fn unchanged_machines_have_no_history_in_nineteen_of_twenty() {
    for count in [4, 10, 50, 200] {
        let alarms = (0..200).filter(|seed| !moved_at(&told(boots(count, *seed, None))).is_empty());
        let alarms = alarms.count();
        assert!(alarms <= 10, "{count} boots: {alarms} of 200");
    }
}

/// A kernel that wakes threads later.
fn with_new_kernel(entry: &mut Entry) {
    let kernel = entry.digest.facts.iter_mut().find(|fact| fact.id == "kernel.release");
    kernel.unwrap().text = Some("6.2.0-simulated".to_owned());
    for (key, result) in &mut entry.digest.results {
        if let (Ok(measured), "wake") = (&mut result.outcome, &*key.area) {
            measured.median *= 1.4;
        }
    }
}

#[test]
fn a_new_kernel_is_found_at_its_boot_with_what_it_costs() {
    let is_found = |seed: &u64| {
        let at = 20 + (*seed as usize * 13) % 160;
        let mut entries = boots(200, *seed, None);
        entries[at..].iter_mut().for_each(with_new_kernel);
        let history = told(entries);
        let changed: Vec<usize> =
            (0..200).filter(|it| !history.runs[*it].changed.is_empty()).collect();
        let moved = &history.runs[at].moved;
        let causes = history.changed_with(at).iter().filter(|it| why(it, moved).is_some()).count();
        moved_at(&history) == [at] && changed == [at] && causes == 1
    };
    let found = (0..100).filter(is_found).count();
    assert!(found >= 95, "{found} of 100");
}

#[test]
fn the_newest_boot_is_told_before_another_one_confirms_it() {
    let mut entries = boots(30, 3, Some(("clock-cap", 29)));
    let history = told(entries.clone());
    let newest = history.runs.last().unwrap();
    let clocks = || newest.moved.iter().filter(|it| it.what.quantity == "clock");
    assert!(clocks().count() > 0 && clocks().all(|it| !it.confirmed), "{newest:?}");
    assert_eq!(history.slower_than(0.05), []);
    // Another run of the same boot confirms it.
    let again = boots(31, 3, Some(("clock-cap", 29))).pop().unwrap();
    entries.push(Entry { boot: Some("boot29".to_owned()), ..again });
    let history = told(entries);
    assert_eq!((history.runs.len(), history.boots()), (31, 30));
    assert!(history.slower_than(0.05)[0].1 < 0.8);
    let mut clocks = history.runs[29].moved.iter().filter(|it| it.what.quantity == "clock");
    assert!(clocks.all(|it| it.confirmed));
}

#[test]
fn what_is_as_fast_as_at_the_beginning_is_not_slower() {
    let mut entries = boots(60, 5, Some(("clock-cap", 20)));
    let well = boots(60, 5, None);
    entries[40..].clone_from_slice(&well[40..]);
    let history = told(entries.clone());
    assert_eq!(moved_at(&history), [20, 40]);
    assert_eq!(history.slower_than(0.05), []);
    let kept = KeptRuns { entries: entries[..40].to_vec(), skipped: Vec::new() };
    assert!(!History::of(kept, None).slower_than(0.05).is_empty());
    // Of the last ten boots nothing is otherwise than at their beginning.
    let kept = KeptRuns { entries: entries[..40].to_vec(), skipped: Vec::new() };
    assert_eq!(moved_at(&History::of(kept, Some(10))), [0; 0]);
}

/// Of so many histories, those that tell of a move.
fn alarms(of: impl Fn(u64) -> Vec<Entry>) -> usize {
    (0..200).filter(|seed| !moved_at(&told(of(*seed))).is_empty()).count()
}

/// Each memory result of each run, times what that gives.
fn times(mut entries: Vec<Entry>, mut factor: impl FnMut() -> f64) -> Vec<Entry> {
    for entry in &mut entries {
        let factor = factor();
        for (key, result) in &mut entry.digest.results {
            if let (Ok(measured), "memory") = (&mut result.outcome, &*key.area) {
                measured.median *= factor;
            }
        }
    }
    entries
}

#[test]
fn what_jumps_between_two_levels_or_takes_after_the_run_before_is_no_step() {
    for count in [20, 60, 200] {
        let jumping = alarms(|seed| {
            let mut random = fastrand::Rng::with_seed(seed);
            times(boots(count, seed, None), || if random.f64() < 0.2 { 0.9 } else { 1.0 })
        });
        assert!(jumping <= 20, "{count} runs: {jumping} of 200");
        let following = alarms(|seed| {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut off = 0.0;
            times(boots(count, seed, None), || {
                off = 0.5 * off + 0.02 * normal(&mut random);
                f64::exp(off)
            })
        });
        assert!(following <= 20, "{count} runs: {following} of 200");
    }
}

#[test]
fn a_change_within_a_boot_is_of_its_run() {
    let mut entries = boots(60, 9, Some(("clock-cap", 40)));
    for entry in &mut entries {
        entry.boot = Some("one".to_owned());
    }
    let history = told(entries);
    assert_eq!((history.boots(), moved_at(&history)), (1, vec![40]));
    assert_eq!(history.changed_with(40)[0].id, "cpufreq.limits");
}

#[test]
fn what_changed_while_a_result_was_not_measured_is_with_its_move() {
    let mut entries = boots(60, 11, Some(("clock-cap", 40)));
    for entry in &mut entries[40..43] {
        entry.digest.results.retain(|key, _| key.area != "turbo");
    }
    let history = told(entries);
    assert_eq!(moved_at(&history), [40, 43]);
    assert!(history.changed_with(43).iter().any(|it| it.id == "cpufreq.limits"));
}

#[test]
fn few_runs_and_none_say_nothing() {
    for count in 0..4 {
        let history = told(boots(count, 1, Some(("clock-cap", 2))));
        assert_eq!((history.runs.len(), history.results.len()), (count, 0));
    }
}
