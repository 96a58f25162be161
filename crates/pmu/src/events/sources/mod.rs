//! Where encodings come from: one file a source, one row each, in the order of precedence.

pub(crate) mod kernel;
mod libpfm;
mod own;
mod perfmon;
mod raw;

pub(super) use perfmon::core_types;
pub use perfmon::lists;

use std::collections::HashMap;

use model::{Obstacle, Unavailable};

use super::cpu::Maker;
use super::encoded::{Encoded, EventScope, Source};
use super::error::Error;
use super::lookup::plain;
use super::target::Target;
use super::zero;

/// A source of encodings.
pub struct EventSource {
    /// Which one.
    pub source: Source,
    /// Its name in tables and commands.
    pub name: &'static str,
    /// What it is.
    pub doc: &'static str,
    /// Everything that it knows of a target.
    pub(crate) all: fn(&Target<'_>) -> Listed,
    /// Names that only it can read and that it does not list; `None`: this is no such name.
    pub(crate) find: fn(&Target<'_>, &str) -> FoundEvents,
}

/// Events, or what is wrong with a name; none where it is no name of that kind.
pub(crate) type FoundEvents = Option<Result<Vec<Encoded>, Error>>;

/// In the order of precedence.
pub const TABLE: &[EventSource] = &[own::ROW, perfmon::ROW, kernel::ROW, libpfm::ROW, raw::ROW];

/// What a source has to say.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Listed {
    /// Its events.
    pub events: Vec<Encoded>,
    /// What it has not, and why.
    pub missing: Vec<Unavailable>,
}

impl Listed {
    fn nothing(reason: Unavailable) -> Listed {
        Listed { events: Vec::new(), missing: vec![reason] }
    }
}

impl Source {
    /// Its row.
    pub fn row(self) -> &'static EventSource {
        TABLE.iter().find(|row| row.source == self).expect("BUG: every source has a row")
    }
}

/// Everything that a source knows of a target and that can be believed.
pub(super) fn believed(target: &Target<'_>, row: &EventSource) -> Listed {
    let Listed { events, mut missing } = (row.all)(target);
    let others = matches!(row.source, Source::Perfmon | Source::Libpfm);
    let mut kept = Vec::with_capacity(events.len());
    for event in events {
        match refused(target, &event).filter(|_| others || row.source == Source::Own) {
            Some(why) => {
                let what = format!("event `{}` of {}", event.name, row.name);
                missing.push(Unavailable::new(Obstacle::Cpudyno, what, why));
            }
            None => kept.push(event),
        }
    }
    if others {
        name_twins(&mut kept);
    }
    Listed { events: kept, missing }
}

/// Why the code of an event is not the event's, or cannot be counted here.
fn refused(target: &Target<'_>, event: &Encoded) -> Option<String> {
    let core = target.cores.iter().find(|core| event.pmu.as_ref() == Some(&core.pmu))?;
    let code = event.config[0];
    // Makers may have names for fixed counters that we do not know.
    let name = (event.source == Source::Libpfm).then(|| plain(event));
    zero::refused(core, name, code).or_else(|| {
        let is_wide = core.maker() == Maker::Intel && code >> 40 & 0xff > 0;
        (is_wide && core.is_narrow).then(|| {
            "it needs a unit mask of 16 bits, and this kernel gives it 8; Linux 6.13 gives it 16"
                .to_owned()
        })
    })
}

/// One code under two names: each says so of the other. One of them may be wrong.
fn name_twins(events: &mut [Encoded]) {
    let mut first = HashMap::new();
    for at in 0..events.len() {
        let event = &events[at];
        let key = (event.pmu.clone(), event.config, event.register, event.place);
        let twin = *first.entry(key).or_insert(at);
        if twin != at && event.scope == EventScope::Thread && event.name != events[twin].name {
            let says = |other: &Encoded| format!("Its code is that of `{}`, too.", other.name);
            let (of_first, of_this) = (says(&events[at]), says(&events[twin]));
            events[at].caveats.push(of_this);
            events[twin].caveats.push(of_first);
        }
    }
}

/// The name that a name of perf stands for.
pub(super) fn kernel_aliases(name: &str) -> &str {
    kernel::ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name)
}

/// A source that reads no names but those that it lists.
fn no_more(_: &Target<'_>, _: &str) -> FoundEvents {
    None
}
