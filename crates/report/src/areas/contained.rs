//! A section whose bugs are its own: the rest of a sheet stands.

use std::panic::AssertUnwindSafe;

use model::page::{Block, Remark, Text, Tone};
use model::record::Record;
use model::{Finding, Obstacle, Unavailable};

use super::Section;
use crate::band::Band;
use crate::claim::Claim;

/// A section. What panics in it is told in its place.
pub(super) struct Contained(pub(super) &'static dyn Section);

impl Contained {
    /// What it says, or why it says nothing.
    fn told<T>(&self, part: impl FnOnce(&dyn Section) -> T) -> Result<T, Unavailable> {
        // Nothing is changed while a record is read: what a panic leaves behind is whole.
        std::panic::catch_unwind(AssertUnwindSafe(|| part(self.0))).map_err(|panic| {
            let text = panic.downcast_ref::<&str>().copied();
            let said = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
            let words: Vec<&str> =
                said.unwrap_or("it did not say which").split_whitespace().collect();
            let why = format!("a fault of cpudyno ended it: {}", words.join(" "));
            Unavailable::new(Obstacle::Cpudyno, self.id(), why)
                .with_remedy("please report it, with the record: --json FILE")
        })
    }

    /// Lists of which the rest of the page has no need.
    fn list<T>(&self, part: impl FnOnce(&dyn Section) -> Vec<T>) -> Vec<T> {
        self.told(part).unwrap_or_default()
    }
}

impl Section for Contained {
    fn id(&self) -> &'static str {
        self.0.id()
    }

    fn findings(&self, record: &Record) -> Vec<Finding> {
        let bug = |reason: Unavailable| {
            vec![
                Finding::warning(
                    format!("{}.bug", self.id()),
                    self.id().to_owned(),
                    format!("its findings are missing: {}", reason.why),
                )
                .remedy(reason.remedy),
            ]
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
            vec![
                Block::Heading(model::areas::title(self.id()).to_owned()),
                Block::Remarks(vec![remark]),
            ]
        };
        self.told(|area| area.section(record)).unwrap_or_else(bug)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Broken;

    impl Section for Broken {
        fn id(&self) -> &'static str {
            "broken"
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
        let record = crate::testing::described("sim:1c");
        let area = Contained(&Broken);
        let blocks = area.section(&record);
        let [Block::Heading(title), Block::Remarks(remarks)] = blocks.as_slice() else {
            panic!("{blocks:?}")
        };
        assert_eq!(title, "broken");
        assert!(remarks[0].text.ends_with("no section"), "{remarks:?}");
        assert!(remarks[0].remedy.as_ref().unwrap().contains("report"));
        assert!(area.findings(&record)[0].text.ends_with("no findings"));
        assert!(area.sentences(&record).is_empty());
        assert!(area.claims(&record).is_empty() && area.bands(&record).is_empty());
    }
}
