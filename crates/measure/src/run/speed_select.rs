//! What Speed Select offers, for areas that ask for it.

use machine::Machine;
use model::Obstacle;
use model::record::{SpeedSelect, SpeedSelectQuestion};
use sst::{Command, Error, Wanted};

use super::area::Area;

/// What `sst info` shows, where an area asks for it and there is any; or what is in its way where there may be some.
pub(crate) fn told(machine: &Machine, areas: &[&Area]) -> Option<SpeedSelect> {
    let asked: Vec<_> = areas.iter().filter_map(|area| area.needs.speed_select).collect();
    if asked.is_empty() {
        return None;
    }
    let command = Command::named("info")?;
    let mut wanted = Wanted::by(command);
    wanted.parts.extend(asked.concat());
    let question =
        SpeedSelectQuestion { command: command.words.to_owned(), ..SpeedSelectQuestion::default() };
    match sst::read(machine, &wanted) {
        Ok(snapshot) => Some(sst::speed_select(&snapshot, question, Vec::new())),
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
    use model::record::{PageKind, Presentation, Record};
    use simulated::{Fault, Model};

    use super::*;
    use crate::areas::sst::SST;

    fn told_of(name: &str, faults: &[Fault]) -> Option<SpeedSelect> {
        let model = Model { faults: faults.to_vec(), ..Model::named(name).unwrap() };
        told(&Machine::from(model), &[&SST])
    }

    fn section_of(told: SpeedSelect) -> String {
        let machine = Machine::from(Model::named("guide").unwrap());
        let look = Presentation::of(PageKind::Sheet);
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
