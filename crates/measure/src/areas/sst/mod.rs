//! Intel Speed Select: what the firmware offers, in the data sheet of machines that have it.
//!
//! It measures nothing and asks for no time. Where there is none, nothing is said.

use ::sst::{Command, Error, Part, Wanted};
use machine::Machine;
use model::Obstacle;
use model::areas::Quantity;
pub(crate) use model::areas::sst::AREA;
use model::record::{SpeedSelect, SpeedSelectQuestion};

use super::{Area, turbo};
use crate::run::plan::{Planning, Wishes};

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
}

/// What `sst info` shows, where it is among the areas that are asked, and there is any; or what is in its
/// way where there may be some.
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
    let question =
        SpeedSelectQuestion { command: command.words.to_owned(), ..SpeedSelectQuestion::default() };
    match ::sst::read(machine, &wanted) {
        Ok(snapshot) => Some(::sst::speed_select(&snapshot, question, Vec::new())),
        // No guest has any.
        Err(Error::Unavailable(reason))
            if reason.obstacle != Obstacle::Hardware && !machine::facts::is_guest(machine) =>
        {
            Some(SpeedSelect { question, missing: vec![reason], ..SpeedSelect::default() })
        }
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use machine::simulated::{Fault, Model};
    use model::record::{PageKind, Presentation, Record};

    use super::*;

    fn told_of(name: &str, faults: &[Fault]) -> Option<SpeedSelect> {
        let model = Model { faults: faults.to_vec(), ..Model::named(name).unwrap() };
        told(&Machine::from(model), &[&Sst as &dyn Area])
    }

    fn section_of(told: SpeedSelect) -> String {
        let machine = Machine::from(Model::named("guide").unwrap());
        let look = Presentation { width: 100, colour: false, verbosity: 0, page: PageKind::Sheet };
        let record = machine::describe(&machine, Vec::new(), look);
        let record = Record { speed_select: Some(told), ..record };
        format!("{:?}", report::speed_select::section(&record))
    }

    #[test]
    fn machines_that_have_it_say_so_and_others_nothing() {
        let guide = told_of("guide", &[]).unwrap();
        assert_eq!((guide.domains.len(), guide.missing.len()), (2, 0));
        let refused = told_of("guide", &[Fault::PlainUser]).unwrap();
        assert!(refused.domains.is_empty() && refused.missing[0].why.contains("EACCES"));
        let shown = section_of(refused);
        assert!(shown.contains("EACCES") && !shown.contains("Power domains"), "{shown}");
        assert_eq!(told_of("2s-56c", &[]), None);
        assert_eq!(told_of("vm-2c", &[]), None);
    }
}
