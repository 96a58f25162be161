//! An area whose bugs are its own: the rest of a sheet stands.

use std::collections::BTreeMap;

use model::areas::Quantity;
use model::page::{Block, Remark, Text, Tone};
use model::record::{Record, Series};
use model::{Finding, Severity, Unavailable};

use super::Area;
use crate::rig::collect::Taken;
use crate::rig::executor::guarded;
use crate::run::plan::{Planning, Wishes};
use crate::sheet::claims::Claim;
use crate::sheet::normal::Band;

/// An area. What panics in it is told in its place.
pub struct Contained(pub(super) &'static dyn Area);

/// What a part of an area says, or why it says nothing.
pub(crate) fn contained<T>(id: &'static str, part: impl FnOnce() -> T) -> Result<T, Unavailable> {
    guarded(|| Ok(part())).map_err(|error| error.reason(id))
}

/// Wishes of which none is left where planning fails.
pub(crate) fn wishes(id: &'static str, part: impl FnOnce() -> Wishes) -> Wishes {
    contained(id, part)
        .unwrap_or_else(|reason| Wishes { cells: Vec::new(), absent: vec![(id, reason)] })
}

impl Contained {
    fn told<T>(&self, part: impl FnOnce(&dyn Area) -> T) -> Result<T, Unavailable> {
        contained(self.0.id(), || part(self.0))
    }

    /// Lists of which the rest of the page has no need.
    fn list<T>(&self, part: impl FnOnce(&dyn Area) -> Vec<T>) -> Vec<T> {
        self.told(part).unwrap_or_default()
    }
}

impl Area for Contained {
    fn id(&self) -> &'static str {
        self.0.id()
    }

    fn title(&self) -> &'static str {
        self.0.title()
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

    fn apart(&self, parameters: &BTreeMap<String, String>) -> Option<String> {
        self.0.apart(parameters)
    }

    fn name_of(&self, series: &Series) -> Option<String> {
        self.0.name_of(series)
    }

    fn wishes(&self, plan: &Planning<'_>) -> Wishes {
        wishes(self.0.id(), || self.0.wishes(plan))
    }

    fn findings(&self, record: &Record) -> Vec<Finding> {
        let bug = |reason: Unavailable| {
            vec![Finding {
                id: format!("{}.bug", self.id()),
                severity: Severity::Warning,
                about: self.id().to_owned(),
                text: format!("its findings are missing: {}", reason.why),
                remedy: reason.remedy,
                cause: None,
                gain: None,
            }]
        };
        self.told(|area| area.findings(record)).unwrap_or_else(bug)
    }

    fn sentences(&self, record: &Record) -> Vec<Text> {
        self.list(|area| area.sentences(record))
    }

    fn claims(&self, record: &Record) -> Vec<Claim> {
        self.list(|area| area.claims(record))
    }

    fn bands(&self, record: &Record) -> Vec<Band> {
        self.list(|area| area.bands(record))
    }

    fn section(&self, record: &Record) -> Vec<Block> {
        let bug = |reason: Unavailable| {
            let remark = Remark {
                mark: Text::toned("unavailable", Tone::Warning),
                about: self.id().to_owned(),
                text: reason.why,
                remedy: reason.remedy,
            };
            vec![Block::Heading(self.title().to_owned()), Block::Remarks(vec![remark])]
        };
        self.told(|area| area.section(record)).unwrap_or_else(bug)
    }
}

#[cfg(test)]
mod tests {
    use machine::Machine;
    use model::record::{PageKind, Presentation};

    use super::*;

    struct Broken;

    impl Area for Broken {
        fn id(&self) -> &'static str {
            "broken"
        }
        fn title(&self) -> &'static str {
            "Broken"
        }
        fn weight(&self) -> f64 {
            1.0
        }
        fn quantities(&self) -> &'static [Quantity] {
            &[]
        }
        fn wishes(&self, _: &Planning<'_>) -> Wishes {
            panic!("no wishes")
        }
        fn findings(&self, _: &Record) -> Vec<Finding> {
            panic!("no findings")
        }
        fn sentences(&self, _: &Record) -> Vec<Text> {
            panic!("no sentences")
        }
        fn claims(&self, _: &Record) -> Vec<Claim> {
            panic!("no claims")
        }
        fn bands(&self, _: &Record) -> Vec<Band> {
            panic!("no bands")
        }
        fn section(&self, _: &Record) -> Vec<Block> {
            panic!("no {}", "section")
        }
    }

    #[test]
    fn what_panics_is_told_in_its_place() {
        let look = Presentation { width: 80, colour: false, verbosity: 0, page: PageKind::Sheet };
        let machine = Machine::named("sim:1c").unwrap();
        let record = machine::describe(&machine, Vec::new(), look);
        let area = Contained(&Broken);
        let blocks = area.section(&record);
        let [Block::Heading(title), Block::Remarks(remarks)] = blocks.as_slice() else {
            panic!("{blocks:?}")
        };
        assert_eq!(title, "Broken");
        assert!(remarks[0].text.ends_with("no section"), "{remarks:?}");
        assert!(remarks[0].remedy.as_ref().unwrap().contains("report"));
        assert!(area.findings(&record)[0].text.ends_with("no findings"));
        assert!(area.sentences(&record).is_empty());
        assert!(area.claims(&record).is_empty() && area.bands(&record).is_empty());
        let planned = wishes("broken", || panic!("no wishes"));
        assert!(planned.cells.is_empty());
        assert!(planned.absent[0].1.why.ends_with("no wishes"));
    }
}
