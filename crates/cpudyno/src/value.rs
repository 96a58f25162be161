//! Numbers of records, for programs.

use std::collections::BTreeMap;
use std::fmt;

use model::page::si;
use model::record::{Record, Series};
use model::{CpuSet, Reading, Unavailable, Unit};

/// A measured number, with what makes it believable. Of several CPUs it is the median over them.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    unit: Unit,
    median: f64,
    interval: Option<[f64; 2]>,
    minimum: f64,
    maximum: f64,
    samples: u64,
    is_doubtful: bool,
}

impl Value {
    /// What these series say together, or why they have no number.
    pub(crate) fn of(series: &[&Series]) -> Reading<Value> {
        let series = &fleet::digest::of_one_class(series)[..];
        let measured = fleet::digest::pooled(series).map_err(|reason| {
            let of = |one: &&Series| format!("{} of {}", one.quantity, one.workload);
            Unavailable { what: series.first().map_or(reason.what, of), ..reason }
        })?;
        let value = measured.value();
        let summaries = || series.iter().filter_map(|one| one.summary());
        let unit = series.first().map_or(Unit::One, |one| one.unit);
        Ok(Value {
            unit,
            median: value.median,
            interval: value.interval,
            minimum: summaries().map(|it| it.min).fold(f64::INFINITY, f64::min),
            maximum: summaries().map(|it| it.max).fold(f64::NEG_INFINITY, f64::max),
            samples: summaries().map(|it| it.count).sum(),
            is_doubtful: series.iter().all(|one| one.is_doubtful()),
        })
    }

    /// In the unit of [`Value::unit`]: an SI base unit.
    pub fn median(&self) -> f64 {
        self.median
    }

    /// The 95 % interval of the median, from the spread between blocks; `None` with fewer than five.
    pub fn interval(&self) -> Option<[f64; 2]> {
        self.interval
    }

    /// The smallest sample.
    pub fn minimum(&self) -> f64 {
        self.minimum
    }

    /// The largest sample.
    pub fn maximum(&self) -> f64 {
        self.maximum
    }

    /// How many samples it rests on.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// What it counts.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// Whether it rests on disturbed blocks alone.
    pub fn is_doubtful(&self) -> bool {
        self.is_doubtful
    }

    #[cfg(feature = "measure")]
    /// Multiplied, as bytes are that move for each one that was asked for.
    pub(crate) fn times(&self, factor: f64) -> Value {
        Value {
            median: self.median * factor,
            interval: self.interval.map(|ends| ends.map(|end| end * factor)),
            minimum: self.minimum * factor,
            maximum: self.maximum * factor,
            ..self.clone()
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", si::format(self.median, self.unit))?;
        if let Some([low, high]) = self.interval
            && self.median > 0.0
        {
            let farther = (high - self.median).max(self.median - low);
            write!(f, " ± {:.1} %", farther / self.median * 100.0)?;
        }
        if self.is_doubtful { f.write_str(" (disturbed)") } else { Ok(()) }
    }
}

/// A result of a record: what was measured, on which CPUs at once, and the number or why there is none.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The area, such as `memory`.
    pub area: String,
    /// The workload, such as `triad`.
    pub workload: String,
    /// The quantity, such as `bandwidth`; `cpudyno show FILE --notes` says what each means.
    pub quantity: String,
    /// What else tells it from others, such as `footprint: 1048576` (bytes).
    pub parameters: BTreeMap<String, String>,
    /// The CPUs that were active at once.
    pub cpus: CpuSet,
    /// Those of them that the number is of: of a mix of streams, the ones that executed this one.
    pub of_cpus: CpuSet,
    /// The number, of these CPUs together; cores of several types have none.
    pub value: Reading<Value>,
}

impl Row {
    /// A parameter that is a whole number.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.parameters.get(name)?.parse().ok()
    }

    fn is_of(&self, series: &Series) -> bool {
        (&self.area, &self.workload, &self.quantity)
            == (&series.area, &series.workload, &series.quantity)
            && self.cpus == series.active
            && self.parameters == series.parameters
    }
}

/// Cores of several types are never one number.
fn mixed(row: &Row, types: &str) -> Unavailable {
    let what = format!("{} of {}", row.quantity, row.workload);
    let why = format!("it differs by type of core: {types}; the series of the record have each");
    Unavailable::new(model::Obstacle::Hardware, what, why)
}

/// All results of a record, in its order. Series of single CPUs and single samples stand in [`Record::series`].
pub(crate) fn rows(record: &Record) -> Vec<Row> {
    let mut groups: Vec<(Row, Vec<&Series>)> = Vec::new();
    let mut places: BTreeMap<(&str, &str, &str, String), Vec<usize>> = BTreeMap::new();
    for series in record.measured() {
        let name = (
            series.area.as_str(),
            series.workload.as_str(),
            series.quantity.as_str(),
            series.active.to_string(),
        );
        let known = places.entry(name).or_default();
        if let Some(place) = known.iter().find(|place| groups[**place].0.is_of(series)) {
            groups[*place].1.push(series);
            continue;
        }
        known.push(groups.len());
        let row = Row {
            area: series.area.clone(),
            workload: series.workload.clone(),
            quantity: series.quantity.clone(),
            parameters: series.parameters.clone(),
            cpus: series.active.clone(),
            of_cpus: CpuSet::default(),
            value: Err(Unavailable::new(model::Obstacle::Measurement, "result", "")),
        };
        groups.push((row, vec![series]));
    }
    let told = |(row, series): (Row, Vec<&Series>)| {
        let of_cpus: CpuSet = series.iter().map(|one| one.cpu).collect();
        let types = record.machine.topology.types(&of_cpus);
        let value = match types.filter(|types| types.contains(" and ") && series.len() > 1) {
            Some(types) => Err(mixed(&row, &types)),
            None => Value::of(&series),
        };
        Row { of_cpus, value, ..row }
    };
    groups.into_iter().map(told).collect()
}
