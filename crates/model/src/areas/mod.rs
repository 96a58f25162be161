//! The words of each area's records: its id, its workloads and parameters, and what its numbers mean.
//!
//! Who measures writes them, and who explains reads them; neither knows the other.

pub mod cores;
pub mod datatypes;
pub mod energy;
pub mod interference;
pub mod jitter;
pub mod memory;
pub mod openmp;
pub mod pause;
pub mod pmu;
pub mod preferred_cores;
mod result_names;
pub mod sst;
pub mod sustained;
pub mod top;
pub mod transitions;
pub mod turbo;
pub mod wake;

use std::collections::BTreeMap;

use crate::Unit;
use crate::record::Series;
use crate::stats::paired::Better;
pub use result_names::result_name;

/// What a number means: one row for each quantity of an area.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantity {
    /// Its id in records.
    pub id: &'static str,
    /// What people call it, with its unit.
    pub label: &'static str,
    /// The unit of its samples.
    pub unit: Unit,
    /// Which direction is better, where one is.
    pub better: Option<Better>,
    /// What it is and how it is obtained.
    pub doc: &'static str,
    /// Bins of this relative width lose nothing that matters when samples are packed; 0: their order matters,
    /// and they never are.
    pub packing: f64,
    /// Whether machines are judged by it: it is compared, bounded and placed among others. The rest is evidence: how
    /// well something was measured, or what came of it beside.
    pub judged: bool,
}

const HIGHER: Option<Better> = Some(Better::More);
const LOWER: Option<Better> = Some(Better::Less);
const NEITHER: Option<Better> = None;

impl Quantity {
    /// One whose samples may be packed in bins of a thousandth.
    pub const fn new(
        id: &'static str,
        label: &'static str,
        unit: Unit,
        better: Option<Better>,
        doc: &'static str,
    ) -> Quantity {
        Quantity { id, label, unit, better, doc, packing: 1e-3, judged: false }
    }

    const fn judged(self) -> Quantity {
        Quantity { judged: true, ..self }
    }

    const fn packed(self, packing: f64) -> Quantity {
        Quantity { packing, ..self }
    }

    const fn in_order(self) -> Quantity {
        self.packed(0.0)
    }
}

/// The parameter that names the stream of a series whose workload does not.
pub const STREAM: &str = "stream";

/// The parameter of series whose samples lie in the order of time, one block.
pub const TIMELINE: &str = "timeline";

/// What is to be known of an area to name what it measured: one row for each, in the order of a sheet.
struct AreaRow {
    id: &'static str,
    /// The word for it in records, where that is another area's.
    within: Option<&'static str>,
    /// Whether a workload under that word is one of its own.
    has: fn(&str) -> bool,
    /// What people call it, as a heading.
    title: &'static str,
    quantities: &'static [Quantity],
    /// What a series is called, where that is not its workload.
    name_of: fn(&Series) -> Option<String>,
    /// What tells series of one workload apart beside the active CPUs, in words.
    apart: fn(&BTreeMap<String, String>) -> Option<String>,
}

impl AreaRow {
    /// An area whose series are called by their workloads.
    const fn new(
        id: &'static str,
        title: &'static str,
        quantities: &'static [Quantity],
    ) -> AreaRow {
        AreaRow {
            id,
            within: None,
            has: |_| false,
            title,
            quantities,
            name_of: |_| None,
            apart: |_| None,
        }
    }

    /// One that asks something else of what another one measures: its series stand under that one's word.
    const fn within(self, area: &'static str, has: fn(&str) -> bool) -> AreaRow {
        AreaRow { within: Some(area), has, ..self }
    }

    /// The word for it in records.
    fn word(&self) -> &'static str {
        self.within.unwrap_or(self.id)
    }
}

const AREAS: &[AreaRow] = &[
    AreaRow::new(turbo::AREA, "Clock", turbo::QUANTITIES),
    AreaRow {
        name_of: transitions::name_of,
        ..AreaRow::new(transitions::AREA, "Licence transitions", transitions::QUANTITIES)
            .within(turbo::AREA, |workload| workload == transitions::WORKLOAD)
    },
    AreaRow {
        name_of: sustained::name_of,
        ..AreaRow::new(sustained::AREA, "Sustained clock", sustained::QUANTITIES)
            .within(turbo::AREA, |workload| workload == sustained::WORKLOAD)
    },
    AreaRow::new(preferred_cores::AREA, "Preferred cores", preferred_cores::QUANTITIES)
        .within(turbo::AREA, |workload| workload == preferred_cores::WORKLOAD),
    AreaRow {
        name_of: interference::name_of,
        ..AreaRow::new(interference::AREA, "Neighbours", interference::QUANTITIES)
            .within(turbo::AREA, interference::has)
    },
    AreaRow::new(memory::AREA, "Memory", memory::QUANTITIES),
    AreaRow::new(cores::AREA, "Core to core", cores::QUANTITIES),
    AreaRow::new(pause::AREA, "Pause", pause::QUANTITIES),
    AreaRow { apart: wake::apart, ..AreaRow::new(wake::AREA, "Wake-ups", wake::QUANTITIES) },
    AreaRow {
        apart: openmp::apart,
        ..AreaRow::new(openmp::AREA, "OpenMP regions", openmp::QUANTITIES)
    },
    AreaRow {
        name_of: |series| Some(datatypes::name_of(series)),
        ..AreaRow::new(datatypes::AREA, "Datatypes", datatypes::QUANTITIES)
    },
    AreaRow {
        apart: jitter::apart,
        ..AreaRow::new(jitter::AREA, "Interruptions", jitter::QUANTITIES)
    },
    AreaRow::new(WAIT, "Spin or sleep", &[]),
    AreaRow {
        name_of: |_| Some("counters of the core".to_owned()),
        ..AreaRow::new(pmu::AREA, "Counters", pmu::QUANTITIES)
    },
    AreaRow {
        name_of: energy::name_of,
        ..AreaRow::new(energy::AREA, "Energy counters", energy::QUANTITIES)
    },
    AreaRow::new(sst::AREA, "Speed Select", &[]),
    AreaRow {
        name_of: top::name_of,
        ..AreaRow::new(top::AREA, "What the CPUs did meanwhile", top::QUANTITIES)
    },
];

fn row(area: &str) -> Option<&'static AreaRow> {
    AREAS.iter().find(|row| row.id == area)
}

/// The areas whose series stand under a word.
fn under(word: &str) -> impl Iterator<Item = &'static AreaRow> {
    AREAS.iter().filter(move |row| row.word() == word)
}

/// The row of a series.
fn row_of(series: &Series) -> Option<&'static AreaRow> {
    let own = under(&series.area).find(|row| (row.has)(&series.workload));
    own.or_else(|| row(&series.area))
}

/// What a series is of: its quantity, its stream, and which of the CPUs.
fn label_of(
    quantities: &[Quantity],
    series: &Series,
    stream: &str,
    which: Option<String>,
) -> String {
    let what = quantities.iter().find(|quantity| quantity.id == series.quantity);
    let what = what.map_or(series.quantity.as_str(), |quantity| quantity.label);
    let which = which.map_or(String::new(), |which| format!(" ({which})"));
    format!("{what} of {stream}{which}")
}

/// The parameter of teams of threads that grow: in which order CPUs join them.
pub const ORDER: &str = "order";
/// One CPU of each core first, far from each other: nodes and last-level caches take turns.
pub const SPREAD: &str = "spread";
/// One CPU of each core first, near to each other.
pub const COMPACT: &str = "compact";
/// The cores of one type alone.
pub const OF_TYPE: &str = "type";

/// The area that only reads what others measured.
pub const WAIT: &str = "wait";

/// Every area, in the order of a sheet.
pub fn ids() -> impl Iterator<Item = &'static str> {
    AREAS.iter().map(|row| row.id)
}

/// What people call an area, as a heading; its id where this build does not know it.
pub fn title(area: &str) -> &str {
    row(area).map_or(area, |row| row.title)
}

/// What an area means by a quantity's id; none where neither is known to this build.
pub fn quantity(area: &str, id: &str) -> Option<&'static Quantity> {
    under(area).flat_map(|row| row.quantities).find(|quantity| quantity.id == id)
}

/// The word for an area in records.
pub fn word(area: &'static str) -> &'static str {
    row(area).map_or(area, AreaRow::word)
}

/// Whether a series is of this area: several may stand under one word.
pub fn is_of(series: &Series, area: &str) -> bool {
    row_of(series).map_or(series.area == area, |row| row.id == area)
}

/// The quantities that machines are judged by, of an area, the usual one first.
pub fn judged(area: &str) -> impl Iterator<Item = &'static Quantity> {
    let quantities = row(area).map_or(&[][..], |row| row.quantities);
    quantities.iter().filter(|quantity| quantity.judged)
}

/// What a series without numbers is called, where that is not its workload.
pub fn name_of(series: &Series) -> Option<String> {
    row_of(series).and_then(|row| (row.name_of)(series))
}

/// What tells series of one workload apart beside the active CPUs, in words, by their parameters.
pub fn apart(area: &str, parameters: &BTreeMap<String, String>) -> Option<String> {
    row(area).and_then(|row| (row.apart)(parameters))
}
