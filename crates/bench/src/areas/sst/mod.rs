//! Intel Speed Select: what the firmware offers, in the data sheet of machines that have it.
//!
//! It measures nothing and asks for no time. Where there is none, nothing is said.

use ::sst::{Command, Part, Wanted, pages};
use machine::Machine;
use model::Finding;
use model::page::{Block, Text};
use model::record::{Record, SpeedSelect, SpeedSelectQuestion};

use super::{Area, Planning, Wishes, turbo};
use crate::rig::collect::Quantity;

/// Its name.
pub(crate) const AREA: &str = "sst";

/// The area.
pub struct Sst;

impl Area for Sst {
    fn id(&self) -> &'static str {
        AREA
    }

    fn weight(&self) -> f64 {
        0.0
    }

    fn quantities(&self) -> &'static [Quantity] {
        &[]
    }

    fn wishes(&self, _: &Planning<'_>) -> Wishes {
        Wishes::default()
    }

    fn findings(&self, _: &Record) -> Vec<Finding> {
        Vec::new()
    }

    fn sentences(&self, _: &Record) -> Vec<Text> {
        Vec::new()
    }

    fn section(&self, record: &Record) -> Vec<Block> {
        pages::section(record)
    }
}

/// What `sst info` shows, where it is among the areas that are asked, and there is any.
pub(crate) fn told(machine: &Machine, areas: &[&dyn Area]) -> Option<SpeedSelect> {
    let has = |id: &str| areas.iter().any(|area| area.id() == id);
    if !has(AREA) && !has(turbo::AREA) {
        return None;
    }
    let command = Command::named("info")?;
    let mut wanted = Wanted::by(command);
    if has(turbo::AREA) {
        // What levels and classes take from a clock.
        use Part::{Associations, Classes, Properties, TurboFreq};
        wanted.parts.extend([Properties, TurboFreq, Classes, Associations]);
    }
    let snapshot = ::sst::read(machine, &wanted).ok()?;
    let question =
        SpeedSelectQuestion { command: command.words.to_owned(), ..SpeedSelectQuestion::default() };
    Some(::sst::speed_select(&snapshot, question, Vec::new()))
}
