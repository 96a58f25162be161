//! Rates of multiply-adds, read back out of a record.

use model::areas::{datatypes, turbo};
use model::record::{PlannedWorkload, Record, Series};
use model::stats::median;
use model::{CpuSet, Datatype, in_order};

use crate::areas::published::Figures;
use crate::areas::turbo::read::shown_class;
use crate::cells::{Cell, cells};

/// A stream of multiply-adds on some CPUs.
pub(super) struct Rate<'a> {
    pub(super) stream: &'a PlannedWorkload,
    pub(super) datatype: Datatype,
    /// Multiplications and additions in one op.
    operations_per_op: f64,
    pub(super) active: &'a CpuSet,
    /// Multiplications and additions a second, of all of them.
    pub(super) per_second: f64,
    /// How far that may be off, as a share of it.
    pub(super) uncertainty: Option<f64>,
    /// Ops in a cycle of one core, where its clock is known.
    ops_per_cycle: Option<f64>,
    /// In hertz, where it is known: the median of the cores.
    pub(super) clock: Option<f64>,
    pub(super) is_doubtful: bool,
    known: Option<Figures>,
}

/// Every stream of multiply-adds that was measured, in the order of datatypes, the narrowest first. What two areas
/// measured is told once.
pub(super) fn rates(record: &Record) -> Vec<Rate<'_>> {
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
            |known: &&Rate<'_>| known.stream.id == rate.stream.id && known.active == rate.active;
        if !rates.iter().any(|known| is_it(&known)) {
            rates.push(rate);
        }
    }
    rates.sort_by(|a, b| {
        let order = |rate: &Rate<'_>| (rate.datatype, rate.active.len());
        order(a).cmp(&order(b)).then(a.operations_per_op.total_cmp(&b.operations_per_op))
    });
    rates
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
        let times = of("time_per_op");
        let medians = times.iter().map(|series| Some(series.summary()?.median));
        let medians: Option<Vec<f64>> = medians.collect();
        // One core whose time is unknown makes the sum of all unknown, too.
        let medians = medians.filter(|all| all.len() == cell.active.len())?;
        let off = times.iter().filter_map(|it| it.summary()?.relative_uncertainty());
        let of_cores = |quantity: &'static str| {
            let medians = of(quantity).into_iter().filter_map(|it| Some(it.summary()?.median));
            median(&medians.collect::<Vec<_>>())
        };
        let topology = &record.machine.topology;
        let kinds = in_order(cell.active.iter().map(|cpu| topology.kind(cpu)));
        // What a core of one type could do says nothing of another one's.
        let kind = match kinds.as_slice() {
            [one] => Some(*one),
            _ => None,
        };
        let has_kinds = in_order(topology.cpus.iter().map(|place| place.kind.as_deref())).len() > 1;
        let known = kind
            .and_then(|kind| Figures::in_record(record, &stream.id, kind.filter(|_| has_kinds)));
        Some(Rate {
            stream,
            datatype: stream.datatype?,
            operations_per_op: operations,
            active: cell.active,
            per_second: medians.iter().map(|seconds| operations / seconds).sum(),
            uncertainty: off.reduce(f64::max),
            ops_per_cycle: of_cores("cycles_per_op").map(|cycles| 1.0 / cycles),
            clock: of_cores("clock"),
            is_doubtful: times.iter().all(|series| series.is_doubtful()),
            known,
        })
    }

    /// Elements that one core multiplies and adds in a cycle.
    pub(super) fn elements_per_cycle(&self) -> Option<f64> {
        Some(self.operations_per_op / 2.0 * self.ops_per_cycle?)
    }

    /// The instructions of which others saw a core of this kind begin so many in a cycle, or one in so many: the number
    /// of its units.
    pub(super) fn units(&self) -> Option<f64> {
        let cycles = self.known.as_ref()?.least()?;
        // Others measured it, too: what is near a whole number is one.
        let whole = |number: f64| Some(number.round()).filter(|it| *it >= 1.0);
        if cycles < 1.0 { whole(1.0 / cycles) } else { whole(cycles).map(|cycles| 1.0 / cycles) }
    }

    /// What the units of these cores could do at the clock that they held: clock x units x operations x cores.
    pub(super) fn theory(&self) -> Option<f64> {
        Some(self.clock? * self.units()? * self.operations_per_op * self.active.len() as f64)
    }

    /// What of that was reached.
    pub(super) fn of_theory(&self) -> Option<f64> {
        Some(self.per_second / self.theory()?)
    }

    /// Who says how many units there are.
    pub(super) fn sources(&self) -> Option<String> {
        self.units()?;
        Some(self.known.as_ref()?.sources())
    }

    /// How wide its instructions are: `512 bit`, `tile`, `scalar`.
    pub(super) fn width(&self) -> String {
        match self.stream.width_bits {
            Some(bits) => format!("{bits} bit"),
            None if self.stream.id.starts_with("amx") => "tile".to_owned(),
            None if self.stream.id.starts_with("sve") => {
                // Of 64 bits each, a register holds as many operations as its stream of that datatype says.
                format!("{:.0} bit (SVE)", self.operations_per_op * self.bits_per_operation())
            }
            None => "scalar".to_owned(),
        }
    }

    /// Bits of a register for each operation of an op.
    fn bits_per_operation(&self) -> f64 {
        match self.datatype {
            Datatype::Fp64 => 32.0,
            Datatype::Fp32 => 16.0,
            Datatype::Fp16 | Datatype::Bf16 | Datatype::Int16 => 8.0,
            Datatype::Int8 => 4.0,
        }
    }
}
