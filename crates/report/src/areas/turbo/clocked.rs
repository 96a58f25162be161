//! Clocks that were measured, as accounts take them: of streams, of a mix of them, and of further questions.

use model::record::Series;
use model::{CpuId, CpuSet};

use super::read::{self, WorkloadRow};

/// How the gaps of a question were seen.
pub(super) const GAPS: &str = "gaps in polling while it ran";

/// A clock that was measured.
pub(super) struct Clocked<'a> {
    /// What was executed.
    pub(super) stream: &'a str,
    /// The workload of its series.
    pub(super) workload: &'a str,
    /// When, where a stream has several clocks.
    pub(super) moment: Option<String>,
    /// The type of the cores, where the machine has several.
    pub(super) core_type: Option<&'a str>,
    /// The cores that were active.
    pub(super) active: CpuSet,
    /// Those of them that executed it, each with its clock.
    pub(super) cpus: Vec<(CpuId, f64)>,
    /// The median over them.
    pub(super) clock: f64,
    /// What ran faster on the same cores, as far as is known.
    pub(super) lighter: Option<Lighter<'a>>,
    /// Its clock where the other cores are merely active, if they execute something that may cost more.
    pub(super) beside_scalar: Option<f64>,
    /// Limits without a clock that were seen just then; none: those of the workload as a whole count.
    pub(super) seen: Option<Vec<LimitEvidence>>,
    /// The share of time that gaps took while it ran, and how they were seen; none: as while all streams ran.
    pub(super) gaps: Option<(f64, &'static str)>,
    /// The share of time that it halted beside those gaps, and what says so.
    pub(super) halted: Option<(f64, String)>,
    /// Its counters, where it is a stream of its own.
    pub(super) row: Option<&'a WorkloadRow<'a>>,
}

/// Lighter code on the same cores, or none at all.
#[derive(Clone, Copy)]
pub(super) struct Lighter<'a> {
    pub(super) name: &'a str,
    pub(super) hertz: f64,
}

/// A limit that states no clock.
#[derive(Clone)]
pub(super) struct LimitEvidence {
    pub(super) id: String,
    pub(super) label: String,
    pub(super) evidence: String,
}

impl Lighter<'_> {
    pub(super) fn said(&self) -> String {
        format!("{} runs at {} MHz on the same cores", self.name, read::mhz(self.hertz))
    }

    pub(super) fn in_short(&self) -> String {
        format!("{} runs at {} MHz", self.name, read::mhz(self.hertz))
    }
}

impl<'a> Clocked<'a> {
    /// A stream on all of these cores, beside the lightest one.
    pub(super) fn of_row(
        row: &'a WorkloadRow<'a>,
        light: Option<&WorkloadRow<'a>>,
    ) -> Option<Clocked<'a>> {
        let light = light.filter(|light| light.workload != row.workload);
        let lighter =
            light.and_then(|it| Some(Lighter { name: it.workload, hertz: it.median("clock")? }));
        let clock = row.median("clock")?;
        let cpus = |series: &&Series| Some((series.cpu, series.summary()?.median));
        Some(Clocked {
            stream: row.workload,
            workload: row.workload,
            moment: row.cpus.as_ref().map(CpuSet::named),
            core_type: row.core_type(),
            active: row.active.clone(),
            cpus: row.of("clock").iter().filter_map(cpus).collect(),
            clock,
            lighter,
            beside_scalar: None,
            seen: None,
            gaps: None,
            halted: None,
            row: Some(row),
        })
    }

    /// The median of a series of a question.
    pub(super) fn of_series(
        series: &'a Series,
        stream: &'a str,
        moment: &str,
        clock: f64,
    ) -> Clocked<'a> {
        Clocked {
            stream,
            workload: &series.workload,
            moment: Some(moment.to_owned()),
            core_type: series.parameters.get("core_type").map(String::as_str),
            active: series.active.clone(),
            cpus: vec![(series.cpu, clock)],
            clock,
            lighter: None,
            beside_scalar: None,
            seen: None,
            gaps: series.disturbance.lost_share.map(|share| (share, GAPS)),
            halted: None,
            row: None,
        }
    }

    /// Those that executed it, where others executed something else.
    pub(super) fn own(&self) -> Option<CpuSet> {
        let own: CpuSet = self.cpus.iter().map(|(cpu, _)| *cpu).collect();
        let is_mix = self.row.is_some_and(WorkloadRow::is_mix);
        is_mix.then_some(own)
    }
}
