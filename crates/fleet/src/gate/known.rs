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

use super::{code_of, disturbance};

/// Published figures are of other steppings and other memory: this far off, a machine is not called bad.
const OFF_MAX: f64 = 0.10;

/// Whether a finding is of the machine, and not of this run alone.
pub(super) fn is_of_machine(finding: &Finding) -> bool {
    is_of_memory(finding) || finding.id.starts_with("check.")
}

fn is_of_memory(finding: &Finding) -> bool {
    finding.id.starts_with("disturbance.memory")
}

/// All that can be said without bounds and without earlier records.
pub(super) fn items(record: &Record) -> Vec<GateItem> {
    let disturbed = disturbance(record);
    let bands = SECTIONS.iter().flat_map(|section| {
        let of = move |band| of_band(section.id(), band);
        section.bands(record).into_iter().map(of)
    });
    let claimed = SECTIONS.iter().flat_map(|section| {
        let of = move |claim| of_claim(section.id(), claim);
        section.claims(record).into_iter().map(of)
    });
    let of_rig = claims::of_clocks(record).map(|claim| of_claim(areas::turbo::AREA, claim));
    let lie = claims::of_placement(record)
        .into_iter()
        .map(|claim| GateItem { code: GateCode::Cfg, ..of_claim(areas::cores::AREA, claim) });
    let measured = bands.chain(claimed).chain(of_rig).chain(lie).map(|item| match disturbed {
        Some(finding) if item.state == GateState::Fails => disturbed_by(item, finding),
        _ => item,
    });
    let memory = record.findings.iter().filter(|finding| is_of_memory(finding)).map(of_memory);
    let settings = checks::of(record).into_iter().filter_map(of_check);
    measured.chain(memory).chain(settings).collect()
}

/// What a disturbed run says of a machine, another one may not.
fn disturbed_by(item: GateItem, finding: &Finding) -> GateItem {
    let why = item.why.unwrap_or_default();
    GateItem {
        code: GateCode::Noise,
        state: GateState::CannotJudge,
        why: Some(format!("{why}; this run was disturbed: {}", finding.text)),
        remedy: finding.remedy.clone(),
        ..item
    }
}

fn of_band(area: &str, band: Band) -> GateItem {
    let off = band.missing.map(|ratio| ratio.ln().abs());
    let text = format!("{} measured, {} expected", band.measured, band.expected);
    let (state, why) = match band.verdict {
        BandVerdict::CannotTell(why) => (GateState::NotJudged, Some(why)),
        // More than anybody expects is no defect.
        BandVerdict::Normal => (GateState::Holds, None),
        BandVerdict::Outside(why) => match off {
            None => (GateState::Holds, None),
            Some(off) if off > OFF_MAX => (GateState::Fails, Some(format!("{text} ({why})"))),
            Some(_) => (GateState::Warns, Some(format!("{text} ({why})"))),
        },
    };
    GateItem {
        code: of_area(area, &band.measured),
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

fn of_claim(area: &str, claim: Claim) -> GateItem {
    let caused = |how: String| match claim.cause {
        Some(cause) => format!("{how} ({cause})"),
        None => how,
    };
    let (state, how) = match claim.verdict {
        Verdict::AsClaimed => (GateState::Holds, None),
        Verdict::Differs(how) if claim.is_short => (GateState::Fails, Some(caused(how))),
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
        off: None,
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
