//! What an area has to say of a record.

use std::panic::AssertUnwindSafe;

use model::page::{Block, Remark, Text, Tone};
use model::record::Record;
use model::{Finding, Obstacle, Unavailable};

use crate::band::Band;
use crate::claim::Claim;
use crate::figure::KeyFigure;

/// What an area has to say of a record. A bug in it is its own, and told in its place: the rest of a page stands.
pub struct Section {
    /// Its name: folder, record id and command are this word.
    pub(super) id: &'static str,
    /// Remarks on its numbers.
    pub(super) findings: fn(&Record) -> Vec<Finding>,
    /// Its answer in plain sentences.
    pub(super) sentences: fn(&Record) -> Vec<Text>,
    /// What the machine claims of what it measures, and what became of that.
    pub(super) claims: fn(&Record) -> Vec<Claim>,
    /// Its numbers beside what theory allows and others found.
    pub(super) bands: fn(&Record) -> Vec<Band>,
    /// Its key figures.
    pub(super) figures: fn(&Record) -> Vec<KeyFigure>,
    /// Its part of the sheet.
    pub(super) blocks: fn(&Record) -> Vec<Block>,
}

impl Section {
    /// One that has a part of the sheet, and nothing else to say.
    pub(super) const fn of(id: &'static str, blocks: fn(&Record) -> Vec<Block>) -> Section {
        Section {
            id,
            findings: |_| Vec::new(),
            sentences: |_| Vec::new(),
            claims: |_| Vec::new(),
            bands: |_| Vec::new(),
            figures: |_| Vec::new(),
            blocks,
        }
    }

    /// Its name.
    pub fn id(&self) -> &'static str {
        self.id
    }

    /// Remarks on its numbers.
    pub fn findings(&self, record: &Record) -> Vec<Finding> {
        self.contained(self.findings, record).unwrap_or_else(|reason| {
            let text = format!("its findings are missing: {}", reason.why);
            let bug = Finding::warning(format!("{}.bug", self.id), self.id.to_owned(), text);
            vec![bug.remedy(reason.remedy)]
        })
    }

    /// Its answer in plain sentences.
    pub fn sentences(&self, record: &Record) -> Vec<Text> {
        self.contained(self.sentences, record).unwrap_or_default()
    }

    /// What the machine claims of what it measures, and what became of that.
    pub fn claims(&self, record: &Record) -> Vec<Claim> {
        self.contained(self.claims, record).unwrap_or_default()
    }

    /// Its numbers beside what theory allows and others found.
    pub fn bands(&self, record: &Record) -> Vec<Band> {
        self.contained(self.bands, record).unwrap_or_default()
    }

    /// Its key figures.
    pub(crate) fn figures(&self, record: &Record) -> Vec<KeyFigure> {
        self.contained(self.figures, record).unwrap_or_default()
    }

    /// Its part of the sheet.
    pub fn section(&self, record: &Record) -> Vec<Block> {
        self.contained(self.blocks, record).unwrap_or_else(|reason| {
            let remark = Remark {
                mark: Text::toned("unavailable", Tone::Warning),
                about: self.id.to_owned(),
                text: reason.why,
                remedy: reason.remedy,
            };
            vec![
                Block::Heading(model::areas::title(self.id).to_owned()),
                Block::Remarks(vec![remark]),
            ]
        })
    }

    /// What a part says, or why it says nothing.
    fn contained<T>(&self, part: fn(&Record) -> T, record: &Record) -> Result<T, Unavailable> {
        // Nothing is changed while a record is read: what a panic leaves behind is whole.
        std::panic::catch_unwind(AssertUnwindSafe(|| part(record))).map_err(|panic| {
            let text = panic.downcast_ref::<&str>().copied();
            let said = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
            let words: Vec<&str> =
                said.unwrap_or("it did not say which").split_whitespace().collect();
            let why = format!("a fault of cpudyno ended it: {}", words.join(" "));
            Unavailable::new(Obstacle::Cpudyno, self.id, why)
                .with_remedy("please report it, with the record: --json FILE")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_panics_is_told_in_its_place() {
        let record = crate::testing::described("sim:1c");
        let area = Section {
            findings: |_| panic!("no findings"),
            sentences: |_| panic!("no sentences"),
            claims: |_| panic!("no claims"),
            bands: |_| panic!("no bands"),
            ..Section::of("broken", |_| panic!("no {}", "section"))
        };
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
