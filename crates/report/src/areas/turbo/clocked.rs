//! Clocks that were measured, as accounts take them: of streams, of a mix of them, and of further questions.

use model::record::Series;
use model::{CpuId, CpuSet};

use super::read::{self, WorkloadRow};

/// How the gaps of a question were seen.
pub(in crate::areas) const GAPS: &str = "gaps in polling while it ran";

/// A clock that was measured.
pub(in crate::areas) struct Clocked<'a> {
    /// What was executed.
    pub(in crate::areas) stream: &'a str,
    /// The workload of its series.
    pub(in crate::areas) workload: &'a str,
    /// When, where a stream has several clocks.
    pub(in crate::areas) moment: Option<String>,
    /// The type of the cores, where the machine has several.
    pub(in crate::areas) core_type: Option<&'a str>,
    /// The cores that were active.
    pub(in crate::areas) active: CpuSet,
    /// Those of them that executed it, each with its clock.
    pub(in crate::areas) cpus: Vec<(CpuId, f64)>,
    /// The median over them.
    pub(in crate::areas) clock: f64,
    /// What ran faster on the same cores, as far as is known.
    pub(in crate::areas) lighter: Option<Lighter<'a>>,
    /// Its clock where the other cores are merely active, if they execute something that may cost more.
    pub(in crate::areas) beside_scalar: Option<f64>,
    /// Limits without a clock that were seen just then; none: those of the workload as a whole count.
    pub(in crate::areas) seen: Option<Vec<LimitEvidence>>,
    /// The share of time that gaps took while it ran, and how they were seen; none: as while all streams ran.
    pub(in crate::areas) gaps: Option<(f64, &'static str)>,
    /// The share of time that it halted beside those gaps, and what says so.
    pub(in crate::areas) halted: Option<(f64, String)>,
    /// Its counters, where it is a stream of its own.
    pub(in crate::areas) row: Option<&'a WorkloadRow<'a>>,
}

/// Lighter code on the same cores, or none at all.
#[derive(Clone, Copy)]
pub(in crate::areas) struct Lighter<'a> {
    pub(in crate::areas) name: &'a str,
    pub(in crate::areas) hertz: f64,
}

/// A limit that states no clock.
#[derive(Clone)]
pub(in crate::areas) struct LimitEvidence {
    pub(in crate::areas) id: String,
    pub(in crate::areas) label: String,
    pub(in crate::areas) evidence: String,
}

impl Lighter<'_> {
    pub(in crate::areas) fn said(&self) -> String {
        format!("{} runs at {} MHz on the same cores", self.name, read::mhz(self.hertz))
    }

    pub(in crate::areas) fn in_short(&self) -> String {
        format!("{} runs at {} MHz", self.name, read::mhz(self.hertz))
    }
}

impl<'a> Clocked<'a> {
    /// A stream on all of these cores, beside the lightest one.
    pub(in crate::areas) fn of_row(
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
    pub(in crate::areas) fn of_series(
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
    pub(in crate::areas) fn own(&self) -> Option<CpuSet> {
        let own: CpuSet = self.cpus.iter().map(|(cpu, _)| *cpu).collect();
        let is_mix = self.row.is_some_and(WorkloadRow::is_mix);
        is_mix.then_some(own)
    }
}

#[cfg(test)]
mod tests {
    use model::record::{Disturbance, Record};

    use super::*;
    use crate::testing::{blank, near, on, series, turbo};

    #[test]
    fn clocked_row_has_the_median_of_its_cpus_and_the_lighter_clock() {
        let mut record = turbo(&[("scalar_iadd", "0-1", 3400.0)]);
        let heavy = ["turbo", "avx512_fma_t", "clock"];
        record.series.push(series(heavy, "0-1", &[], &[&[3000e6]]));
        record.series.push(on(1, series(heavy, "0-1", &[], &[&[3100e6]])));
        let rows = read::rows(&record);
        let [light, heavy] = &rows[..] else { panic!("two streams") };
        let of = Clocked::of_row(heavy, Some(light)).unwrap();
        // The middle of 3,000 and 3,100 MHz.
        near(of.clock, 3050e6);
        assert_eq!(of.cpus, [(CpuId(0), 3000e6), (CpuId(1), 3100e6)]);
        near(of.lighter.unwrap().hertz, 3400e6);
        // A stream is not lighter than itself.
        assert!(Clocked::of_row(light, Some(light)).unwrap().lighter.is_none());
    }

    #[test]
    fn clocked_mix_names_the_cpus_of_its_stream() {
        let own = |parameters: &[(&str, &str)]| {
            let clock = series(["turbo", "avx512_fma_t", "clock"], "0-3", parameters, &[&[3e9]]);
            let record = Record { series: vec![clock.clone(), on(2, clock)], ..blank() };
            let rows = read::rows(&record);
            Clocked::of_row(&rows[0], None).unwrap().own()
        };
        // CPUs 0 and 2 of four.
        assert_eq!(own(&[("spec", "2x512")]), Some("0,2".parse().unwrap()));
        assert_eq!(own(&[]), None);
    }

    #[test]
    fn clocked_series_has_the_gaps_of_that_series() {
        let mut clock = series(["turbo", "sustain", "soak_clock"], "0-1", &[], &[&[3e9]]);
        clock.disturbance = Disturbance { lost_share: Some(0.03), ..Disturbance::default() };
        let of = Clocked::of_series(&clock, "scalar_iadd", "last window", 2.9e9);
        assert_eq!(of.gaps, Some((0.03, GAPS)));
        assert_eq!(of.cpus, [(CpuId(0), 2.9e9)], "the clock of that moment");
    }
}
