//! What is known of a machine anyway: what theory and published figures expect of its core, what it claims, its
//! settings, errors of its memory.

use checks::{Checked, State};

use model::areas;
use model::record::{GateCode, GateItem, GateState, Record};
use model::{Finding, Severity};

use report::areas::SECTIONS;
use report::band::{Band, BandVerdict};
use report::claim::{Claim, Verdict};
use report::sheet::claims;

use super::code_of;

/// Published figures are of other steppings and other memory: this far off, a machine is not called bad.
const OFF_MAX: f64 = 0.10;

/// Whether a finding is of the machine, and not of this run alone.
pub(super) fn is_of_machine(finding: &Finding) -> bool {
    is_of_memory(finding) || finding.id.starts_with("check.")
}

fn is_of_memory(finding: &Finding) -> bool {
    ["memory.corrected-errors", "memory.uncorrected-errors"].contains(&finding.id.as_str())
}

/// All that can be said without bounds and without earlier records.
pub(super) fn items(record: &Record) -> Vec<GateItem> {
    let bands = SECTIONS.iter().flat_map(|section| {
        let of = move |band| of_band(record, section.id(), band);
        section.bands(record).into_iter().map(of)
    });
    let claimed = SECTIONS.iter().flat_map(|section| {
        let of = move |claim| of_claim(record, section.id(), claim);
        section.claims(record).into_iter().map(of)
    });
    let of_rig = claims::of_clocks(record).map(|claim| of_claim(record, areas::turbo::AREA, claim));
    let lie = claims::of_placement(record).into_iter().map(|claim| GateItem {
        code: GateCode::Cfg,
        ..of_claim(record, areas::cores::AREA, claim)
    });
    let measured = bands.chain(claimed).chain(of_rig).chain(lie);
    let memory = record.findings.iter().filter(|finding| is_of_memory(finding)).map(of_memory);
    let settings = checks::of(record).into_iter().filter_map(of_check);
    measured.chain(memory).chain(settings).collect()
}

/// Whether less memory or fewer channels than the CPU takes would explain a bandwidth that is too low: the maker's table
/// has those of the best model.
fn is_population_known(record: &Record) -> bool {
    let is_it = |id| record.fact(id).is_some_and(|fact| fact.value.value().is_some());
    is_it("memory.channels") && is_it("memory.speed")
}

/// Whether the highest clocks can be reached at all: those of few cores need the others in deep sleep.
///
/// # Source
/// Intel SDM volume 3B, opportunistic processor performance: cores in C3 or deeper count as idle.
fn can_sleep_deeply(record: &Record) -> bool {
    const LIGHT: [&str; 3] = ["POLL", "C1", "C1E"];
    let all_on = record.text("idle.disabled") == Some("none");
    all_on && record.machine.idle_states.iter().any(|state| !LIGHT.contains(&state.name.as_str()))
}

fn of_band(record: &Record, area: &str, band: Band) -> GateItem {
    let off = band.missing.map(|ratio| ratio.ln().abs());
    let text = format!("{} measured, {} expected", band.measured, band.expected);
    let code = of_area(area, &band.measured);
    let is_sure = code != GateCode::Bw || is_population_known(record);
    let (state, why) = match band.verdict {
        BandVerdict::CannotTell(why) => (GateState::NotJudged, Some(why)),
        // More than anybody expects is no defect.
        BandVerdict::Normal => (GateState::Holds, None),
        BandVerdict::Outside(why) => match off {
            None => (GateState::Holds, None),
            Some(off) if off > OFF_MAX && is_sure => {
                (GateState::Fails, Some(format!("{text} ({why})")))
            }
            Some(_) => (GateState::Warns, Some(format!("{text} ({why})"))),
        },
    };
    GateItem {
        code,
        why: why.map(|why| format!("{}: {why}", band.what)),
        name: band.what,
        state,
        found: Some(band.measured),
        expected: Some(band.expected),
        by: "known figures".to_owned(),
        remedy: Some(band.remedy.to_owned()).filter(|_| state != GateState::Holds),
        off,
    }
}

fn of_claim(record: &Record, area: &str, claim: Claim) -> GateItem {
    // What a setting explains, somebody may have wanted.
    let is_bad = claim.cause.is_none() && claim.short.is_some() && can_sleep_deeply(record);
    let caused = |how: String| match claim.cause {
        Some(cause) => format!("{how} ({cause})"),
        None => how,
    };
    let (state, how) = match claim.verdict {
        Verdict::AsClaimed => (GateState::Holds, None),
        Verdict::Differs(how) if is_bad => (GateState::Fails, Some(how)),
        Verdict::Differs(how) => (GateState::Warns, Some(caused(how))),
        Verdict::Held(how) => (GateState::Warns, Some(how)),
        Verdict::CannotTell(why) => (GateState::NotJudged, Some(why)),
    };
    let said = |text: String| Some(text).filter(|text| text != "-");
    let remedy = || format!("look closer: `{}`", claim.command);
    let is_known = matches!(state, GateState::Fails | GateState::Warns);
    GateItem {
        code: of_area(area, &claim.measured),
        why: how.map(|how| format!("{}: {how}", claim.what)),
        name: claim.what,
        state,
        found: said(claim.measured),
        expected: said(claim.claimed),
        by: claim.by,
        remedy: is_known.then(remedy),
        off: claim.short,
    }
}

/// Of memory, what is no rate is a time.
fn of_area(area: &str, measured: &str) -> GateCode {
    let is_rate = measured.contains("/s");
    code_of(area, if is_rate { "bandwidth" } else { "latency" })
}

/// What is but a note is no reason to name a machine.
fn of_check(checked: Checked) -> Option<GateItem> {
    let Checked { check, state, .. } = checked;
    let item = GateItem {
        code: GateCode::Cfg,
        name: check.about.clone(),
        state: GateState::Holds,
        found: None,
        expected: None,
        by: "settings".to_owned(),
        why: None,
        remedy: None,
        off: None,
    };
    match state {
        State::AsExpected => Some(item),
        State::DoesNotApply => None,
        State::Unknown(reason) => Some(GateItem {
            state: GateState::NotJudged,
            why: Some(format!("{}: {}", check.about, reason.why)),
            remedy: reason.remedy,
            ..item
        }),
        State::Differs { .. } if check.weight == Severity::Note => None,
        State::Differs { found, expected } => {
            let is_serious = check.weight == Severity::Serious;
            Some(GateItem {
                state: if is_serious { GateState::Fails } else { GateState::Warns },
                why: Some(format!("{}: {found}, where {expected} is expected", check.about)),
                found: Some(found),
                expected: Some(expected),
                remedy: check.mend.clone().into(),
                ..item
            })
        }
    }
}

fn of_memory(finding: &Finding) -> GateItem {
    let is_serious = finding.severity == Severity::Serious;
    GateItem {
        code: GateCode::Ecc,
        name: "memory errors".to_owned(),
        state: if is_serious { GateState::Fails } else { GateState::Warns },
        found: None,
        expected: None,
        by: "kernel".to_owned(),
        why: Some(format!("{}: {}", finding.about, finding.text)),
        remedy: finding.remedy.clone(),
        off: None,
    }
}

#[cfg(test)]
mod tests {
    use model::record::{FactValue, GateVerdict};
    use report::claim::Verdict;

    use super::*;
    use crate::gate::{Measures, judge};
    use crate::testing::blank;

    /// A record of a machine whose idle states are all there, or are not.
    fn record(has_deep_states: bool) -> Record {
        let mut record = blank();
        let state = |name: &str| model::record::IdleState {
            name: name.to_owned(),
            description: String::new(),
            latency_seconds: None,
            residency_seconds: None,
            cpus: model::CpuSet::default(),
            disabled_on: model::CpuSet::default(),
        };
        record.machine.idle_states = vec![state("POLL"), state("C1")];
        record.machine.idle_states.extend(has_deep_states.then(|| state("C6")));
        let all_on = model::record::Fact {
            id: "idle.disabled".to_owned(),
            label: String::new(),
            value: model::Known::Yes(FactValue::Text("none".to_owned())),
        };
        record.conditions.before.push(all_on);
        record
    }

    fn clock(short: Option<f64>, cause: Option<&str>) -> Claim {
        Claim {
            what: "clock of one core".to_owned(),
            claimed: "3800 MHz".to_owned(),
            by: "MSR 1ADh".to_owned(),
            measured: "3000 MHz".to_owned(),
            verdict: Verdict::Differs("-21.1 %".to_owned()),
            finding: None,
            short,
            cause: cause.map(str::to_owned),
            command: "cpudyno turbo --why",
        }
    }

    fn state(record: &Record, claim: Claim) -> GateState {
        of_claim(record, "turbo", claim).state
    }

    #[test]
    fn a_clock_fails_that_nothing_explains_and_warns_where_something_may() {
        let deep = record(true);
        assert_eq!(state(&deep, clock(Some(0.21), None)), GateState::Fails);
        assert_eq!(state(&deep, clock(Some(0.21), Some("boost is off"))), GateState::Warns);
        assert_eq!(state(&deep, clock(None, None)), GateState::Warns);
        // Without deep sleep of others one core does not reach the highest clock.
        assert_eq!(state(&record(false), clock(Some(0.21), None)), GateState::Warns);
        let mut off = record(true);
        off.conditions.before[0].value = model::Known::Yes(FactValue::Text("C6".to_owned()));
        assert_eq!(state(&off, clock(Some(0.21), None)), GateState::Warns);
    }

    fn band(measured: &str, missing: Option<f64>) -> Band {
        Band {
            what: "copy on 56 cores".to_owned(),
            expected: "400 GB/s".to_owned(),
            source: String::new(),
            measured: measured.to_owned(),
            position: String::new(),
            verdict: BandVerdict::Outside("less than channels give".to_owned()),
            normal: [1.0, 1.0],
            missing,
            remedy: "look",
        }
    }

    #[test]
    fn a_bandwidth_fails_where_it_is_known_what_is_plugged_in() {
        let of = |record: &Record, missing| of_band(record, "memory", band("100 GB/s", missing));
        let mut known = blank();
        assert_eq!(of(&known, Some(2.4)).state, GateState::Warns);
        for id in ["memory.channels", "memory.speed"] {
            crate::testing::say(&mut known, id, "8 of 8");
        }
        let fails = of(&known, Some(2.4));
        assert_eq!((fails.state, fails.code), (GateState::Fails, GateCode::Bw));
        assert_eq!(of(&known, Some(1.05)).state, GateState::Warns);
        // More than anybody expects.
        assert_eq!(of(&known, None).state, GateState::Holds);
        let slow = of_band(&blank(), "memory", band("300 ns", Some(0.5)));
        assert_eq!((slow.state, slow.code), (GateState::Fails, GateCode::Lat));
    }

    #[test]
    fn errors_of_memory_warn_or_fail_whatever_else_was_measured() {
        let mut record = blank();
        let (corrected, uncorrected) = ("memory.corrected-errors", "memory.uncorrected-errors");
        record.findings = vec![Finding::warning(corrected, "DIMM A1", "3 errors came up")];
        let judged = judge(&record, &Measures::default());
        let ecc = judged.items.iter().find(|item| item.code == GateCode::Ecc).unwrap();
        assert_eq!(ecc.state, GateState::Warns);
        record.findings = vec![Finding::serious(uncorrected, "DIMM A1", "1 error came up")];
        let judged = judge(&record, &Measures::default());
        assert_eq!(judged.verdict, GateVerdict::Fail, "{judged:?}");
        assert_eq!(judged.items[0].code, GateCode::Ecc);
    }
}
