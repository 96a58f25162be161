//! What each reading command needs: one row each.

use crate::read::{Levels, Part};

/// A command that reads.
#[derive(Debug, Clone, Copy)]
pub struct Command {
    /// Feature and command: `perf-profile info`.
    pub words: &'static str,
    /// What it shows.
    pub doc: &'static str,
    /// Which levels it asks for, where none is named.
    pub levels: Levels,
    /// What it asks for beside them.
    pub parts: &'static [Part],
}

const fn command(
    words: &'static str,
    doc: &'static str,
    levels: Levels,
    parts: &'static [Part],
) -> Command {
    Command { words, doc, levels, parts }
}

impl Command {
    /// The command of these words.
    pub fn named(words: &str) -> Option<&'static Command> {
        COMMANDS.iter().find(|command| command.words == words)
    }
}

/// All of them.
pub const COMMANDS: &[Command] = &[
    command(
        "info",
        "What this machine can do, and whether it may be changed",
        Levels::All,
        &[Part::CorePower, Part::Lock],
    ),
    command(
        "perf-profile info",
        "Performance levels: cores, frequencies, power, features",
        Levels::All,
        &[Part::Properties, Part::BaseFreq, Part::TurboFreq, Part::CorePower, Part::Lock],
    ),
    command("perf-profile get-config-levels", "The highest level", Levels::Summary, &[]),
    command("perf-profile get-config-version", "Revision of the interface", Levels::Summary, &[]),
    command(
        "perf-profile get-config-enabled",
        "Whether levels can be chosen while the machine runs",
        Levels::Summary,
        &[],
    ),
    command("perf-profile get-config-current-level", "The level at present", Levels::Summary, &[]),
    command(
        "perf-profile get-lock-status",
        "Whether the level is locked",
        Levels::Summary,
        &[Part::Lock],
    ),
    command("core-power info", "Whether cores have priorities", Levels::None, &[Part::CorePower]),
    command(
        "core-power get-config",
        "The classes",
        Levels::None,
        &[Part::CorePower, Part::Classes],
    ),
    command(
        "core-power get-assoc",
        "The classes of CPUs",
        Levels::None,
        &[Part::CorePower, Part::Associations],
    ),
    command(
        "base-freq info",
        "Base frequencies of two kinds of cores",
        Levels::Current,
        &[Part::Properties, Part::BaseFreq],
    ),
    command(
        "turbo-freq info",
        "Turbo frequencies of two kinds of cores",
        Levels::Current,
        &[Part::TurboFreq],
    ),
];
