//! An area whose bugs are its own: the rest of a sheet stands.

use model::areas::Quantity;

use crate::run::area::{Area, Names, Needs};
use crate::run::plan::{Planning, Wishes};
use rig::collect::Taken;
use rig::executor::guarded;

/// An area. What panics in it is told in its place.
pub struct Contained(pub(super) &'static dyn Area);

/// Wishes of which none is left where planning fails.
pub(crate) fn wishes(id: &'static str, part: impl FnOnce() -> Wishes) -> Wishes {
    guarded(|| Ok(part()))
        .unwrap_or_else(|error| Wishes { cells: Vec::new(), absent: vec![(id, error.reason(id))] })
}

impl Area for Contained {
    fn id(&self) -> &'static str {
        self.0.id()
    }

    fn weight(&self) -> f64 {
        self.0.weight()
    }

    fn quantities(&self) -> &'static [Quantity] {
        self.0.quantities()
    }

    fn taken(&self, quantity: &str) -> Taken {
        self.0.taken(quantity)
    }

    fn offers(&self, workload: &str, quantity: &Quantity) -> bool {
        self.0.offers(workload, quantity)
    }

    fn needs(&self) -> Needs {
        self.0.needs()
    }

    fn names(&self) -> Names {
        self.0.names()
    }

    fn wishes(&self, plan: &Planning<'_>) -> Wishes {
        wishes(self.0.id(), || self.0.wishes(plan))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_panics_in_a_plan_is_told_in_its_place() {
        let planned = wishes("broken", || panic!("no wishes"));
        assert!(planned.cells.is_empty());
        assert!(planned.absent[0].1.why.ends_with("no wishes"));
    }
}
