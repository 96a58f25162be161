//! What a run asks of an area.

use machine::activity::Activity;
use model::areas::{self, Quantity};
use model::record::Series;
use rig::collect::Taken;
use rig::executor::guarded;
use sst::Part;

use super::plan::{Planning, Proposal};

/// A family of workloads.
pub struct Area {
    /// Its name, that of its modules.
    pub id: &'static str,
    /// What its numbers mean.
    pub quantities: &'static [Quantity],
    /// Its share of the time in which every cell is to have five blocks.
    pub weight: f64,
    /// How a quantity is taken, by its id.
    pub taken: fn(&str) -> Taken,
    /// Whether a workload has that quantity, where it is measured at all.
    pub offers: fn(&str, &Quantity) -> bool,
    /// What its results are called in a bound, beside the quantities that machines are judged by.
    pub names: fn() -> Names,
    /// What a run does for it beside its cells.
    pub needs: Needs,
    /// What it would like to measure for the data sheet, most wanted first.
    pub proposal: fn(&Planning<'_>) -> Proposal,
}

impl Area {
    /// One that makes its numbers itself, and needs nothing but its cells.
    pub const fn new(
        id: &'static str,
        quantities: &'static [Quantity],
        weight: f64,
        proposal: fn(&Planning<'_>) -> Proposal,
    ) -> Area {
        Area {
            id,
            quantities,
            weight,
            taken: |_| Taken::NAMED,
            offers: |_, _| true,
            names: Names::default,
            needs: Needs::NONE,
            proposal,
        }
    }

    /// The word for it in records: areas that ask something else of what another one measures have that one's.
    pub fn word(&self) -> &'static str {
        areas::word(self.id)
    }

    /// Whether it asks something else of what another one measures.
    pub fn is_within_another(&self) -> bool {
        self.word() != self.id
    }

    /// What it would like to measure. A bug in that is told in its place: the rest of a sheet stands.
    pub fn proposal(&self, plan: &Planning<'_>) -> Proposal {
        guarded(|| Ok((self.proposal)(plan)))
            .unwrap_or_else(|error| Proposal::without(self.id, error.reason(self.id)))
    }

    /// Its quantities, each with how it is taken.
    pub(super) fn taken(&self) -> Vec<(&'static Quantity, Taken)> {
        self.quantities.iter().map(|quantity| (quantity, (self.taken)(quantity.id))).collect()
    }
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
#[derive(Clone, Copy)]
pub struct Needs {
    /// Reasons for a lower clock are looked at, before and after.
    pub clocks: bool,
    /// What the CPUs do meanwhile is watched, and becomes series.
    pub activity: Option<fn(&mut Activity<'_>) -> Vec<Series>>,
    /// What Speed Select offers is read, with these parts beside those that `sst info` shows.
    pub speed_select: Option<&'static [Part]>,
}

impl Needs {
    /// Nothing.
    pub const NONE: Needs = Needs { clocks: false, activity: None, speed_select: None };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_that_panic_are_a_reason_in_their_place() {
        static BROKEN: Area = Area::new("broken", &[], 1.0, |_| panic!("no proposal"));
        let machine = machine::Machine::named("sim:1c").unwrap();
        let description = machine::facts::machine(&machine);
        let placement = rig::placement::Choice::usual(None).place(&description.topology).unwrap();
        let planned = BROKEN.proposal(&Planning {
            machine: &machine,
            description: &description,
            placement: &placement,
            streams: &[],
            budget: crate::run::plan::UNLIMITED,
        });
        assert!(planned.cells.is_empty());
        assert!(planned.absent[0].1.why.ends_with("no proposal"));
    }
}
