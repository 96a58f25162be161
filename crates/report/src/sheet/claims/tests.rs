//! Claims of simulated machines, and of instruments and pairs made by hand.

use model::record::{CalibratedRate, Instrument, Outcome, RateSource, Series};
use model::{Hertz, Known, Unit};

use super::*;
use crate::testing::{blank, place, series, sheet};

fn claims_of(name: &str, budget: f64) -> Vec<Claim> {
    claims(&sheet(name, budget))
}

fn verdict<'a>(claims: &'a [Claim], what: &str) -> &'a Verdict {
    let found = claims.iter().find(|claim| claim.what.starts_with(what));
    &found.unwrap_or_else(|| panic!("no claim on {what} among {claims:#?}")).verdict
}

#[test]
fn a_machine_that_tells_the_truth_is_believed() {
    let claims = claims_of("sim:2s-28c", 60.0);
    for what in ["rate of tsc", "clock of one core", "turbo", "L1", "L2", "L3", "exit from C6"] {
        assert_eq!(verdict(&claims, what), &Verdict::AsClaimed, "{what}: {claims:#?}");
    }
    let untrue: Vec<_> =
        claims.iter().filter(|it| matches!(it.verdict, Verdict::Differs(_))).collect();
    assert!(untrue.is_empty(), "{untrue:#?}");
}

#[test]
fn simulated_servers_keep_what_their_firmware_promises() {
    for name in ["sim:icelake", "sim:sapphire", "sim:guide", "sim:granite", "sim:sierra"] {
        let claims = claims_of(name, 10.0);
        let limits = claims.iter().find(|claim| claim.what.starts_with("turbo"));
        let verdict = limits.map(|claim| &claim.verdict);
        assert_eq!(verdict, Some(&Verdict::AsClaimed), "{name}: {claims:#?}");
    }
}

#[test]
fn what_was_not_measured_has_its_line() {
    let claims = claims_of("sim:2s-56c", 5.0);
    for what in ["L1", "L2", "L3", "2 ways between nodes"] {
        assert!(matches!(verdict(&claims, what), Verdict::CannotTell(_)), "{what}: {claims:#?}");
    }
}

#[test]
fn a_refuted_claim_is_a_finding_once() {
    let found = |name: &str, budget| {
        let findings = sheet(name, budget).findings.into_iter();
        findings.filter(|it| it.id == "sheet.claim-refuted").collect::<Vec<_>>()
    };
    let kept = found("sim:2s-28c", 20.0);
    assert!(kept.is_empty(), "{kept:#?}");
    // What its caches and siblings are is said by findings of their own.
    let guest = found("sim:vm-2c", 90.0);
    assert!(guest.is_empty(), "{guest:#?}");
}

#[test]
fn a_clock_that_power_holds_below_its_promise_is_no_lie() {
    // Its limits of power lie below what its firmware promises for four cores.
    let record = sheet("sim:laptop", 20.0);
    let Verdict::Held(how) = verdict(&claims(&record), "turbo").clone() else { panic!() };
    assert!(how.contains("with 4 active") && how.contains("held by PL2 52 W"), "{how}");
    let of = |id: &str| record.findings.iter().filter(|it| it.id == id).count();
    assert_eq!([of("sheet.claim-refuted"), of("sheet.claim-limited")], [0, 1]);
}

#[test]
fn lines_that_take_many_looks_into_their_cache_leave_it() {
    // All pairs are as slow as each other, and no limit in nanoseconds fits both machines: their caches differ.
    for name in ["sim:4c", "sim:laptop"] {
        let mut record = sheet(name, 30.0);
        let told = |record: &Record| {
            let claims = claims(record);
            let is_one = |it: &&Claim| it.claimed == "share a last-level cache";
            claims.iter().find(is_one).unwrap_or_else(|| panic!("{claims:#?}")).verdict.clone()
        };
        assert_eq!(told(&record), Verdict::AsClaimed, "{name}");
        for series in record.series.iter_mut().filter(|series| series.area == "cores") {
            if let Outcome::Measured { summary, .. } = &mut series.outcome {
                summary.median *= 8.0;
            }
        }
        let Verdict::Differs(how) = told(&record) else { panic!("{name} is believed") };
        assert!(how.ends_with("of that cache: lines leave it"), "{name}: {how}");
    }
}

#[test]
fn a_guest_that_misleads_is_found_out() {
    let claims = claims_of("sim:vm-2c", 90.0);
    for what in ["CPUs 0 and 1", "L3", "rate of tsc"] {
        assert!(matches!(verdict(&claims, what), Verdict::Differs(_)), "{what}: {claims:#?}");
    }
    assert!(matches!(verdict(&claims, "clock of one core"), Verdict::CannotTell(_)));
}

/// A stamp clock of 2 GHz, and by how many millionths other sources are off.
fn stamped(sources: &[(&str, Option<f64>, bool)]) -> Verdict {
    let source = |(source, off, independent): &(&str, Option<f64>, bool)| RateSource {
        source: (*source).to_owned(),
        hertz: Known::Yes(2e9),
        disagreement_ppm: *off,
        independent: *independent,
    };
    let rate = CalibratedRate {
        hertz: Hertz(2e9),
        chosen: "CPUID".to_owned(),
        sources: sources.iter().map(source).collect(),
    };
    let state = InstrumentState::Used {
        unit: Unit::Second,
        resolution: 1e-9,
        own_cost_seconds: 1e-8,
        rate: Some(rate),
    };
    let [id, source, measures] = ["tsc", "", ""].map(str::to_owned);
    let instruments = vec![Instrument { id, source, measures, state }];
    of_clocks(&Record { instruments, ..blank() }).unwrap().verdict
}

#[test]
fn stamp_clock_is_judged_by_the_farthest_source() {
    // Two crystals of 100 ppm each are within 200; the chosen source does not count.
    let chosen = ("CPUID", Some(900.0), false);
    let near = ("the kernel", Some(150.0), true);
    assert_eq!(stamped(&[chosen, near]), Verdict::AsClaimed);
    for far in [201.0, -201.0] {
        let found = stamped(&[chosen, near, ("time", Some(far), true)]);
        assert!(matches!(found, Verdict::Differs(_)), "{far}: {found:?}");
    }
    // Neither a source without a number nor one of the same origin counts.
    let silent = [chosen, ("time", None, true), ("the kernel", Some(0.0), false)];
    assert!(matches!(stamped(&silent), Verdict::CannotTell(_)));
}

#[test]
fn sharing_differs_where_probes_and_kernel_disagree() {
    let mut record = blank();
    place(&mut record, &["0-3", "4-5"]);
    // CPUs 0 and 1 are threads of one core, 2 and 3 have a cache of their own.
    for cpu in &mut record.machine.topology.cpus {
        let mates = ["0-1", "0-1", "2-3", "2-3", "4-5", "4-5"][cpu.cpu.0 as usize];
        cpu.last_level_cache = mates.parse().unwrap();
        if cpu.cpu.0 < 2 {
            cpu.siblings = mates.parse().unwrap();
        }
    }
    let differs = |pairs: &[(&str, &str)]| -> Vec<bool> {
        let probed = |(cpus, class): &(&str, &str)| Series {
            placement_class: Some((*class).to_owned()),
            ..series(["cores", "pair", "latency"], cpus, &[], &[&[5e-8]])
        };
        let record = Record { series: pairs.iter().map(probed).collect(), ..record.clone() };
        let claims = of_placement(&record);
        claims.iter().map(|it| matches!(it.verdict, Verdict::Differs(_))).collect()
    };
    assert_eq!(differs(&[("0,1", "same-core")]), [false]);
    assert_eq!(differs(&[("0,1", "same-cache")]), [true]);
    // Two cores of one cache, and of two: the second pair of a relation and class has no line of its own.
    assert_eq!(differs(&[("2,3", "same-core")]), [true]);
    assert_eq!(differs(&[("2,3", "same-cache"), ("4,5", "same-cache")]), [false]);
    assert_eq!(differs(&[("0,2", "same-cache"), ("0,3", "apart")]), [false, true]);
    assert_eq!(differs(&[("0,4", "same-cache")]), [true]);
    assert_eq!(differs(&[("0,4", "apart")]), [false]);
    // CPUs that moved during the run prove nothing.
    assert_eq!(differs(&[("2,3", CHANGED)]), [false; 0]);
}
