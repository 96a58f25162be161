//! What firmware of Speed Select holds.
//!
//! # Source
//! Linux, Documentation/admin-guide/pm/intel-speed-select.rst.

use machine::isst::settable::{Settable, What};

use super::{Lever, LeverPlace, Proof, Scope, Values, honoured};
use crate::object::Object;

const BASE: Proof = Proof::Unobservable("base frequencies, as the kernel reports them");
const POWER: Proof = Proof::Unobservable("which cores are throttled first when power is short");

const fn row(
    id: &'static str,
    doc: &'static str,
    is: fn(What) -> bool,
    proof: Proof,
    moves_power: bool,
) -> Lever {
    Lever {
        id,
        doc,
        scope: Scope::PowerDomain,
        place: LeverPlace::SpeedSelect(is),
        values: Values::AsRead,
        rule: honoured,
        followers: &[],
        proof,
        loses: None,
        moves_power,
    }
}

pub(super) static LEVERS: &[Lever] = &[
    row(
        "sst.level",
        "The performance level of a power domain.",
        |what| matches!(what, What::Level),
        BASE,
        true,
    ),
    row(
        "sst.features",
        "Base and turbo frequencies of two kinds of cores.",
        |what| matches!(what, What::Features),
        BASE,
        true,
    ),
    row(
        "sst.core-power",
        "Whether the firmware heeds priorities.",
        |what| matches!(what, What::CorePower),
        POWER,
        true,
    ),
    row(
        "sst.priorities",
        "Whether cores have classes, and what those mean.",
        |what| matches!(what, What::Priorities),
        POWER,
        true,
    ),
    row(
        "sst.class",
        "A class of cores: least and greatest frequency, weight.",
        |what| matches!(what, What::Class(_)),
        POWER,
        true,
    ),
    row("sst.core", "The class of a core.", |what| matches!(what, What::Core(_)), POWER, true),
    row(
        "sst.turbo-limits",
        "The turbo limits that hold at most, by count of active cores.",
        |what| matches!(what, What::TurboLimits),
        Proof::Unobservable("the clock of many cores under load"),
        true,
    ),
];

/// When a value is put back: features of levels stand on priorities, a new level switches them off, and
/// limits of clocks, as all that is no firmware's, may depend on any of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Turn {
    Level,
    FeaturesOff,
    PrioritiesOff,
    Classes,
    PrioritiesOn,
    FeaturesOn,
    TurboLimits,
    Others,
}

/// The turn of an object that is to hold this.
pub(crate) fn turn(object: &Object, text: &str) -> Turn {
    let Object::SpeedSelect(Settable { what, .. }) = object else { return Turn::Others };
    match what {
        What::Level => Turn::Level,
        What::Features if text == "none" => Turn::FeaturesOff,
        What::Features => Turn::FeaturesOn,
        What::CorePower | What::Priorities if text.starts_with("off") => Turn::PrioritiesOff,
        What::CorePower | What::Priorities => Turn::PrioritiesOn,
        What::Class(_) | What::Core(_) => Turn::Classes,
        What::TurboLimits => Turn::TurboLimits,
    }
}
