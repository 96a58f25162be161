//! What a run asks of an area.

use machine::activity::Activity;
use model::areas::Quantity;
use model::record::Series;
use rig::collect::Taken;
use sst::Part;

use super::plan::{Planning, Wishes};

/// A family of workloads.
pub trait Area: Sync {
    /// Its name: folder, record id and command are this word.
    fn id(&self) -> &'static str;
    /// Its share of the time that is left after the minima of all areas.
    fn weight(&self) -> f64;
    /// What its numbers mean.
    fn quantities(&self) -> &'static [Quantity];
    /// How a quantity is taken, by its id.
    fn taken(&self, _quantity: &str) -> Taken {
        Taken::NAMED
    }
    /// Whether a workload has that quantity, where it is measured at all.
    fn offers(&self, _workload: &str, _quantity: &Quantity) -> bool {
        true
    }
    /// What its results are called in a bound, beside the quantities that machines are judged by.
    fn names(&self) -> Names {
        Names::default()
    }
    /// What a run does for it beside its cells.
    fn needs(&self) -> Needs {
        Needs::default()
    }
    /// What it would like to measure for the data sheet, most wanted first.
    fn wishes(&self, plan: &Planning<'_>) -> Wishes;
}

/// Words for results of an area.
#[derive(Default)]
pub struct Names {
    /// Its workloads; of an area without any, nothing can be bounded.
    pub workloads: Vec<&'static str>,
    /// The quantity that is meant by a workload alone, where that is not the usual one of the area.
    pub meant: &'static [(&'static str, &'static str)],
    /// Shorter words for a workload with its quantity.
    pub short: &'static [(&'static str, &'static str, &'static str)],
}

/// What a run does beside the cells of an area.
#[derive(Clone, Copy, Default)]
pub struct Needs {
    /// Reasons for a lower clock are looked at, before and after.
    pub clocks: bool,
    /// What the CPUs do meanwhile is watched, and becomes series.
    pub activity: Option<fn(&mut Activity<'_>) -> Vec<Series>>,
    /// What Speed Select offers is read, with these parts beside those that `sst info` shows.
    pub speed_select: Option<&'static [Part]>,
}

/// The quantities of an area, each with how it is taken.
pub(super) fn taken(area: &dyn Area) -> Vec<(&'static Quantity, Taken)> {
    area.quantities().iter().map(|quantity| (quantity, area.taken(quantity.id))).collect()
}
