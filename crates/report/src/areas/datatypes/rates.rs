//! Rates of multiply-adds, read back out of a record.

use model::areas::{datatypes, energy, turbo};
use model::record::{PlannedWorkload, Record, Series};
use model::stats::median;
use model::{CpuSet, Datatype, in_order};

use crate::areas::energy::follow;
use crate::areas::published::{Figures, Units};
use crate::areas::turbo::read::shown_class;
use crate::cells::{Cell, cells};

/// A stream of multiply-adds on some CPUs.
pub(super) struct Rate<'a> {
    pub(super) stream: &'a PlannedWorkload,
    pub(super) datatype: Datatype,
    /// Multiplications and additions in one op.
    operations_per_op: f64,
    pub(super) active: &'a CpuSet,
    /// The type of its cores, where the machine has several and all of them are of one.
    pub(super) kind: Option<&'a str>,
    /// Whether its cores are of several types.
    pub(super) is_mixed: bool,
    /// Multiplications and additions a second, of all of them.
    pub(super) per_second: f64,
    /// How far that may be off, as a share of it.
    pub(super) uncertainty: Option<f64>,
    /// Ops in a cycle of one core, where its clock is known and all are of one type.
    ops_per_cycle: Option<f64>,
    /// In hertz: the sum over all cores, where each is known.
    clocks: Option<f64>,
    /// What all packages drew meanwhile, in watts, where all CPUs were active and it was read.
    pub(super) watts: Option<f64>,
    /// Whether any of its numbers rests on disturbed blocks alone, or on bursts that a quota cuts off.
    pub(super) is_doubtful: bool,
    pub(super) units: Option<Units>,
}

/// Every stream of multiply-adds that was measured as such or for its clock, in the order of datatypes, the narrowest
/// first; none where nobody asked for datatypes.
pub(super) fn rates(record: &Record) -> Vec<Rate<'_>> {
    if record.series_of(datatypes::AREA, "time_per_op").next().is_none() {
        return Vec::new();
    }
    let is_rate = |series: &Series| {
        let planned = record.run.plan.workload(&series.workload);
        let is_peak = planned.is_some_and(|it| it.datatype.is_some() && it.kind == "throughput");
        [datatypes::AREA, turbo::AREA].contains(&series.area.as_str())
            && is_peak
            && !series.parameters.contains_key("spec")
    };
    let own = cells(record, |series| series.area == datatypes::AREA && is_rate(series));
    let others = cells(record, |series| series.area != datatypes::AREA && is_rate(series));
    let all = own.into_iter().chain(others);
    let mut rates: Vec<Rate<'_>> = Vec::new();
    for rate in all.filter_map(|cell| Rate::of(record, &cell)) {
        let is_it =
            |known: &Rate<'_>| known.stream.id == rate.stream.id && known.active == rate.active;
        if !rates.iter().any(is_it) {
            rates.push(rate);
        }
    }
    rates.sort_by(|a, b| {
        let order = |rate: &Rate<'_>| (rate.datatype, rate.active.len());
        order(a).cmp(&order(b)).then(a.operations_per_op.total_cmp(&b.operations_per_op))
    });
    rates
}

/// Whether so many CPUs may run at once for long: what a quota throttles has its rate in bursts alone.
pub(super) fn is_within_quota(record: &Record, active: &CpuSet) -> bool {
    let said = record.text("cgroup.quota").and_then(|text| text.split_whitespace().next());
    let cpus: Option<f64> = said.and_then(|number| number.parse().ok());
    cpus.is_none_or(|cpus| cpus >= active.len() as f64)
}

/// What packages drew under a stream on these CPUs: the sum over all of them, where their counters are believed.
fn watts(record: &Record, stream: &str, active: &CpuSet) -> Option<f64> {
    let is_its = |it: &&Series| {
        let is_all = it.parameters.get(energy::LOADED).is_some_and(|it| it == energy::EVERYBODY);
        it.workload == stream && it.active == *active && is_all
    };
    let all = record.series_of(energy::AREA, energy::POWER).filter(is_its);
    let each: Option<Vec<f64>> = all.map(|series| Some(series.summary()?.median)).collect();
    let watts: f64 = each?.iter().sum();
    (watts > 0.0 && follow(record)).then_some(watts)
}

impl<'a> Rate<'a> {
    fn of(record: &'a Record, cell: &Cell<'a>) -> Option<Rate<'a>> {
        let stream = record.run.plan.workload(cell.workload)?;
        let operations = f64::from(stream.operations_per_op?);
        let of = |quantity: &'static str| {
            let mut all: Vec<&Series> = cell.all(quantity).collect();
            if let Some(class) = shown_class(&all) {
                all.retain(|series| series.placement_class == *class);
            }
            all
        };
        // One core of which nothing is known makes the sum of all unknown, too.
        let medians = |quantity: &'static str| -> Option<Vec<f64>> {
            let all: Option<Vec<f64>> =
                of(quantity).into_iter().map(|series| Some(series.summary()?.median)).collect();
            all.filter(|all| all.len() == cell.active.len())
        };
        let seconds = medians("time_per_op")?;
        let topology = &record.machine.topology;
        let kinds = in_order(cell.active.iter().map(|cpu| topology.kind(cpu)));
        let has_kinds = in_order(topology.cpus.iter().map(|place| place.kind.as_deref())).len() > 1;
        let kind = match kinds.as_slice() {
            [one] => one.filter(|_| has_kinds),
            _ => None,
        };
        let is_mixed = kinds.len() > 1;
        let cycles = medians("cycles_per_op").filter(|_| !is_mixed);
        let ops_per_cycle = cycles.and_then(|all| median(&all)).map(|cycles| 1.0 / cycles);
        let known = ops_per_cycle
            .and_then(|per_cycle| Figures::in_record(record, &stream.id, kind)?.units(per_cycle));
        let off = of("time_per_op");
        let off = off.iter().filter_map(|it| it.summary()?.relative_uncertainty());
        Some(Rate {
            stream,
            datatype: stream.datatype?,
            operations_per_op: operations,
            active: cell.active,
            kind,
            is_mixed,
            watts: watts(record, &stream.id, cell.active),
            per_second: seconds.iter().map(|seconds| operations / seconds).sum(),
            uncertainty: off.reduce(f64::max),
            ops_per_cycle,
            clocks: medians("clock").map(|all| all.iter().sum()),
            is_doubtful: of("time_per_op").iter().any(|series| series.is_doubtful())
                || !is_within_quota(record, cell.active),
            units: known,
        })
    }

    /// In hertz, where that of each core is known and all are of one type: their mean.
    pub(super) fn clock(&self) -> Option<f64> {
        self.clocks.filter(|_| !self.is_mixed).map(|sum| sum / self.active.len() as f64)
    }

    /// Elements that one core multiplies and adds in a cycle.
    pub(super) fn elements_per_cycle(&self) -> Option<f64> {
        Some(self.operations_per_op / 2.0 * self.ops_per_cycle?)
    }

    /// What was reached of what the units of these cores could do at the clocks that they held: units x operations x the
    /// sum of the clocks.
    pub(super) fn of_theory(&self) -> Option<f64> {
        let units = self.units.as_ref()?.count;
        Some(self.per_second / (units * self.operations_per_op * self.clocks?))
    }

    /// Bits of its vectors, as far as it has any, and multiplies and adds each number of them once.
    pub(super) fn vector_bits(&self) -> Option<u32> {
        let bits = self.operations_per_op as u32 * self.bits_per_operation();
        let is_scalable = self.stream.id.starts_with("sve");
        Some(bits).filter(|bits| is_scalable || self.stream.width_bits == Some(*bits))
    }

    /// How wide its instructions are: `512 bit`, `tile`, `scalar`.
    pub(super) fn width(&self) -> String {
        match (self.stream.width_bits, self.vector_bits()) {
            (Some(bits), Some(_)) => format!("{bits} bit"),
            (Some(bits), None) => format!("{bits} bit, matrix"),
            (None, Some(bits)) => format!("{bits} bit (SVE)"),
            (None, None) if self.stream.id.starts_with("amx") => "tile".to_owned(),
            (None, None) => "scalar".to_owned(),
        }
    }

    /// Bits of a vector for each operation of an op.
    fn bits_per_operation(&self) -> u32 {
        match self.datatype {
            Datatype::Fp64 => 32,
            Datatype::Fp32 => 16,
            Datatype::Fp16 | Datatype::Bf16 | Datatype::Int16 => 8,
            Datatype::Int8 => 4,
        }
    }
}
