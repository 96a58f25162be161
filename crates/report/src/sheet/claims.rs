//! What the machine claims, beside what was measured.
//!
//! Each area states its own claims ([`Section::claims`]); those of clocks and of
//! who shares a core are the rig's, and stand here.

use std::collections::BTreeMap;

use model::page::{Block, Table, Text};
use model::record::{CHANGED, InstrumentState, Record, Relation};
use model::{CpuId, Finding, in_order};

use crate::areas::{SECTIONS, Section};
use crate::claim::{Claim, Verdict};

/// All claims of a record.
pub fn claims(record: &Record) -> Vec<Claim> {
    let of_areas = SECTIONS.iter().flat_map(|area| area.claims(record));
    of_clocks(record).into_iter().chain(of_areas).chain(of_placement(record)).collect()
}

/// A finding for each claim that is refuted, unless another one says so, and for each that a limit kept from being met;
/// areas are those that measured.
pub fn findings(record: &Record, areas: &[&Section], told: &[&Finding]) -> Vec<Finding> {
    let of_areas = areas.iter().flat_map(|area| area.claims(record));
    let all = of_clocks(record).into_iter().chain(of_areas).chain(of_placement(record));
    let refuted = all.filter_map(|claim| {
        let look = format!("look closer: `{}`", claim.command);
        let how = match &claim.verdict {
            Verdict::Differs(how) => how,
            Verdict::Held(how) => {
                let finding = Finding::note("sheet.claim-limited", claim.what, how.clone());
                return Some(finding.remedy(look));
            }
            Verdict::AsClaimed | Verdict::CannotTell(_) => return None,
        };
        let is_told = |id: &str| told.iter().any(|finding| finding.id.starts_with(id));
        if claim.finding.is_some_and(is_told) {
            return None;
        }
        let Claim { claimed, by, measured, .. } = &claim;
        Some(
            Finding::note(
                "sheet.claim-refuted",
                claim.what.clone(),
                format!("{how}: {measured} measured, {claimed} claimed ({by})"),
            )
            .cause(claim.cause)
            .remedy(look),
        )
    });
    refuted.collect()
}

/// The section; nothing where nothing was measured that could be held against a claim.
pub fn section(record: &Record) -> Vec<Block> {
    let claims = claims(record);
    if claims.is_empty() {
        return Vec::new();
    }
    let (sources, reasons) = (claimed_by(&claims), reasons(&claims));
    let row = |claim: Claim| {
        let (verdict, _) = super::in_a_cell(&claim.what, claim.verdict.text());
        vec![Text::from(claim.what), verdict, claim.claimed.into(), claim.measured.into()]
    };
    vec![
        Block::Heading("Claims against facts".to_owned()),
        Table::of("Claimed and measured")
            .left("what")
            .left("verdict")
            .left("claimed")
            .left("measured")
            .rows(claims.into_iter().map(row))
            .legend(reasons)
            .notes(sources)
            .into(),
    ]
}

/// Who claims what, one note for each.
fn claimed_by(claims: &[Claim]) -> Vec<String> {
    let said = || claims.iter().filter(|claim| !claim.by.is_empty());
    let note = |by: &str| {
        let what: Vec<&str> = said().filter(|it| it.by == by).map(|it| it.what.as_str()).collect();
        format!("claimed by {by}: {}", what.join(", "))
    };
    in_order(said().map(|claim| claim.by.as_str())).into_iter().map(note).collect()
}

/// Why verdicts are as they are, one note for each reason.
fn reasons(claims: &[Claim]) -> Vec<String> {
    let of = |claim: &Claim| claim.verdict.text().text;
    let verdicts: Vec<String> = claims.iter().map(of).filter(|it| it.contains(": ")).collect();
    let note = |verdict: &str| {
        let what = claims.iter().filter(|claim| of(claim) == verdict).map(|it| it.what.as_str());
        format!("{}, {verdict}", what.collect::<Vec<_>>().join(", "))
    };
    in_order(verdicts.iter().map(String::as_str)).into_iter().map(note).collect()
}

/// The rate of the stamp clock, against the independent source that is farthest from it.
pub fn of_clocks(record: &Record) -> Option<Claim> {
    /// As in the finding on rates that disagree: crystals are within 100 ppm, two of them within 200.
    const PPM_MAX: f64 = 200.0;
    let instrument = record.instruments.first()?;
    let InstrumentState::Used { rate: Some(rate), .. } = &instrument.state else { return None };
    let others = rate.sources.iter().filter(|it| it.source != rate.chosen);
    let others = others.filter_map(|it| {
        Some((it.disagreement_ppm?, it.source.as_str()))
            .filter(|off| it.independent || off.0 != 0.0)
    });
    let worst = others.max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()));
    let verdict = match worst {
        None => Verdict::CannotTell("no other source says anything".to_owned()),
        Some((ppm, _)) if ppm.abs() <= PPM_MAX => Verdict::AsClaimed,
        Some((ppm, _)) => Verdict::Differs(format!("{ppm:+.0} ppm")),
    };
    Some(Claim {
        what: format!("rate of {}", instrument.id),
        claimed: format!("{:.6} MHz", rate.hertz.0 / 1e6),
        by: rate.chosen.clone(),
        measured: worst.map_or("-".to_owned(), |(ppm, by)| {
            let by = by.split_once(" (").map_or(by, |(by, _)| by);
            format!("{ppm:+.1} ppm by {by}")
        }),
        verdict,
        finding: Some("clock.rates-disagree"),
        short: None,
        cause: None,
        command: "cpudyno info -v",
    })
}

/// Whether CPUs lie to each other as the kernel says: pairs that were probed, of each relation one line.
pub fn of_placement(record: &Record) -> Vec<Claim> {
    let topology = &record.machine.topology;
    let mut seen: BTreeMap<(Relation, &str), ([CpuId; 2], usize)> = BTreeMap::new();
    for series in &record.series {
        let [a, b] = series.active.as_slice() else { continue };
        let Some(relation) = topology.relation(*a, *b) else { continue };
        // Where they lay otherwise afterwards, how they lay is not known.
        if let Some(class) = series.placement_class.as_ref().filter(|class| *class != CHANGED) {
            seen.entry((relation, class)).or_insert(([*a, *b], 0)).1 += 1;
        }
    }
    let claim = |((relation, class), ([a, b], _)): (&(Relation, &str), &([CpuId; 2], usize))| {
        let shares_core = class.contains("same-core");
        let claimed = match relation {
            Relation::Sibling => "threads of one core",
            Relation::SameCache => "cores of one cache",
            Relation::OtherCache => "cores of two caches",
            Relation::OtherPackage => "cores of two packages",
            // Nothing is claimed of these.
            Relation::SamePackage | Relation::SameCpu => return None,
        };
        let verdict = match (relation, shares_core) {
            (Relation::Sibling, true) => Verdict::AsClaimed,
            (Relation::Sibling, false) => Verdict::Differs("they do not share a core".to_owned()),
            (_, true) => Verdict::Differs("two threads of one core".to_owned()),
            (Relation::SameCache, false) if class.contains("apart") => {
                Verdict::Differs("not always near each other".to_owned())
            }
            (Relation::OtherCache | Relation::OtherPackage, false) if **class == *"same-cache" => {
                Verdict::Differs("as near as within one cache".to_owned())
            }
            (_, false) => Verdict::AsClaimed,
        };
        Some(Claim {
            what: format!("CPUs {a} and {b}"),
            claimed: claimed.to_owned(),
            by: "kernel".to_owned(),
            measured: format!("{class}, as probed"),
            verdict,
            finding: Some("placement."),
            short: None,
            cause: None,
            command: "cpudyno cores",
        })
    };
    seen.iter().filter_map(claim).collect()
}

#[cfg(test)]
mod tests;
