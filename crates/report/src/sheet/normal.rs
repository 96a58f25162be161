//! Is this normal? What was measured, beside what theory allows and what others found.
//!
//! Each area states its own bands ([`Section::bands`]); what earlier records of a
//! folder say is told by [`mod@reference`].

use model::Finding;
use model::page::{Block, Table, Text, Tone};
use model::record::Record;

use crate::areas::{SECTIONS, Section};
use crate::band::{Band, BandVerdict};
use crate::reference;

/// The section, also where nothing is known of such a machine.
pub(crate) fn section(record: &Record, verbosity: u8) -> Vec<Block> {
    let bands: Vec<Band> = SECTIONS.iter().flat_map(|area| area.bands(record)).collect();
    let mut blocks = Vec::new();
    if !bands.is_empty() {
        blocks.push(table(bands));
    }
    let earlier = record.reference.as_ref();
    blocks.extend(earlier.map(|earlier| reference::table(earlier, verbosity)));
    if blocks.is_empty() {
        let none = "cannot tell: what was measured has no figures of others for this core; \
                    `--reference DIR` asks earlier records of such machines";
        blocks.push(Block::Paragraph(Text::toned(none, Tone::Faint)));
    }
    blocks.insert(0, Block::Heading("Is this normal?".to_owned()));
    blocks
}

fn table(bands: Vec<Band>) -> Block {
    let mut notes: Vec<String> = Vec::new();
    for band in &bands {
        if !notes.contains(&band.source) {
            notes.push(band.source.clone());
        }
    }
    let mut legend: Vec<String> = Vec::new();
    let mut row = |band: Band| {
        let (verdict, why) = super::in_a_cell(&band.what, band.verdict.text());
        legend.extend(why);
        let numbers = [band.expected, band.measured, band.position].map(Text::from);
        [band.what.into(), verdict].into_iter().chain(numbers).collect()
    };
    let rows: Vec<Vec<Text>> = bands.into_iter().map(&mut row).collect();
    // Phones show the first columns: what counts is among them.
    Table::of("Results against theory and published figures of this core")
        .left("what")
        .left("verdict")
        .right("expected")
        .right("measured")
        .right("position")
        .rows(rows)
        .legend(legend)
        .notes(notes)
        .into()
}

/// A finding for each number that is not where it should be.
pub(crate) fn findings(record: &Record, areas: &[&Section]) -> Vec<Finding> {
    areas.iter().flat_map(|area| area.bands(record)).filter_map(outside).collect()
}

fn outside(band: Band) -> Option<Finding> {
    let BandVerdict::Outside(why) = band.verdict else { return None };
    // What is better than anybody expects has nothing to gain.
    let gain = band.missing.map(|ratio| {
        if ratio > 1.0 {
            format!("{ratio:.2} times as much, the least that is normal")
        } else {
            format!("{:.0} % of it, the most that is normal", ratio * 100.0)
        }
    });
    Some(
        Finding::note(
            "sheet.outside-band",
            band.what,
            format!("{} measured, {} expected ({})", band.measured, band.expected, band.position),
        )
        .cause(why)
        .remedy(band.remedy.to_owned())
        .gain(gain),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::multiply_adds;

    fn band(verdict: BandVerdict, missing: Option<f64>) -> Band {
        Band { missing, ..crate::band::tests::band(verdict) }
    }

    #[test]
    fn a_finding_says_what_there_is_to_gain() {
        let missing = |missing| {
            outside(band(BandVerdict::Outside("a channel is empty".to_owned()), missing)).unwrap()
        };
        let gain = |ratio| missing(Some(ratio)).gain.unwrap();
        assert_eq!(gain(1.6), "1.60 times as much, the least that is normal");
        assert_eq!(gain(0.8), "80 % of it, the most that is normal");
        let finding = missing(None);
        assert_eq!(finding.gain, None);
        assert_eq!(finding.cause.as_deref(), Some("a channel is empty"));
        assert_eq!(finding.text, "20 GB/s measured, 40 GB/s expected (50 % of it)");
        let nothing = [BandVerdict::Normal, BandVerdict::CannotTell("a guest".to_owned())];
        assert!(nothing.into_iter().all(|verdict| outside(band(verdict, Some(2.0))).is_none()));
    }

    #[test]
    fn band_below_its_range_is_one_finding_of_its_area() {
        let ids = |nanoseconds, areas: &[&Section]| -> Vec<String> {
            let record = multiply_adds(2000.0, &[nanoseconds; 5]);
            findings(&record, areas).into_iter().map(|it| it.id).collect()
        };
        let turbo: [&Section; 1] = [&crate::areas::turbo::SECTION];
        // 2 cores x 2 GHz x 8 doubles x 2 x 2 units = 128 GFLOP/s. 32 / 0.3125 ns = 102.4, 80 % of it; 32 / 0.26 ns =
        // 123.1, 96 %; normal is from 95 % on.
        assert_eq!(ids(0.3125, &turbo), ["sheet.outside-band"]);
        assert_eq!(ids(0.26, &turbo), [""; 0]);
        assert_eq!(ids(0.3125, &[]), [""; 0]);
    }
}
