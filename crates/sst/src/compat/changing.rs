//! Commands that change the machine: their options, and what is told when it was done.
//!
//! The reference tool goes from one power domain to the next, and leaves those done that came before one
//! that failed. Here all of them are done, or none; so what is told is success everywhere, or one error.

use model::CpuSet;

use super::args::{Refused, Word};
use super::code;
use super::layout::{CompatOutput, Node, OutputEntry};
use super::render::RenderContext;
use crate::change::{ClassWish, What, Wish};
use crate::model::{DomainKind, Priority};

/// A command: what it is called, what it does, and the section and the title of what is told.
#[derive(Debug)]
pub(super) struct ChangeCommand {
    pub(super) words: &'static str,
    pub(super) doc: &'static str,
    section: &'static str,
    title: &'static str,
    options: &'static [Word],
}

const LEVEL: Word = ('l', "level", true, "the performance level");
const ONLINE: Word = ('o', "online", false, "also bring its CPUs online, and take others offline");
const PRIORITY: Word = ('p', "priority", true, "0: proportional, 1: ordered");
const CLASS: Word = ('c', "clos", true, "the class, 0 to 3");
const AUTO: Word = ('a', "auto", false, "also set what the feature needs");
const LIMITS: Word = ('t', "trl", true, "turbo limits, eight ratios as 0x...");
const OF_CLASS: &[Word] = &[
    CLASS,
    ('d', "desired", true, "the frequency that is wished for, which is not supported"),
    ('e', "epp", true, "energy preference, 0 to 15"),
    ('w', "weight", true, "the weight, 0 to 15"),
    ('n', "min", true, "the lowest frequency in MHz"),
    ('m', "max", true, "the highest frequency in MHz"),
];

const fn row(
    words: &'static str,
    doc: &'static str,
    [section, title]: [&'static str; 2],
    options: &'static [Word],
) -> ChangeCommand {
    ChangeCommand { words, doc, section, title, options }
}

/// All of them.
pub(super) const ROWS: &[ChangeCommand] = &[
    row(
        "perf-profile set-config-level",
        "Chooses a performance level",
        ["perf-profile", "set_tdp_level"],
        &[LEVEL, ONLINE],
    ),
    row("core-power enable", "Gives cores priorities", ["core-power", "enable"], &[PRIORITY]),
    row("core-power disable", "Takes them away", ["core-power", "disable"], &[PRIORITY]),
    row("core-power config", "Configures a class", ["core-power", "config"], OF_CLASS),
    row("core-power assoc", "Puts CPUs into a class", ["core-power", "assoc"], &[CLASS]),
    row("base-freq enable", "Switches base frequencies on", ["base-freq", "enable"], &[AUTO]),
    row("base-freq disable", "Switches them off", ["base-freq", "disable"], &[AUTO]),
    row(
        "turbo-freq enable",
        "Switches turbo frequencies on",
        ["turbo-freq", "enable"],
        &[AUTO, LIMITS],
    ),
    row("turbo-freq disable", "Switches them off", ["turbo-freq", "disable"], &[AUTO, LIMITS]),
    row("turbo-mode enable", "Opens limits of the clock", ["turbo-mode", "enable"], &[]),
    row("turbo-mode disable", "Limits clocks to their base", ["turbo-mode", "disable"], &[]),
    row("turbo-mode set-trl", "Sets turbo limits", ["turbo-mode", "set-trl"], &[LIMITS]),
];

/// The command of these words.
pub(super) fn named(words: &str) -> Option<&'static ChangeCommand> {
    ROWS.iter().find(|row| row.words == words)
}

/// What was given behind a command.
#[derive(Debug, Default)]
pub(super) struct Given {
    level: Option<u8>,
    class: Option<u32>,
    priority: u8,
    weight: Option<u8>,
    epp: Option<u8>,
    min: Option<u32>,
    max: Option<u32>,
    limits: Option<u64>,
    auto: bool,
    online: bool,
}

impl Given {
    /// Takes an option.
    pub(super) fn take(&mut self, word: &Word, value: &str) -> Result<(), Refused> {
        match word.1 {
            "level" => self.level = Some(Refused::number("level", value)?),
            "online" => self.online = true,
            "priority" => self.priority = small("priority", value, 1)?,
            "clos" => self.class = Some(Refused::number("clos", value)?),
            // It is never heeded.
            "desired" => drop(Refused::number::<u32>("desired", value)?),
            "epp" => self.epp = Some(small("epp", value, 15)?),
            "weight" => self.weight = Some(small("weight", value, 15)?),
            "min" => self.min = Some(Refused::number("min", value)?),
            "max" => self.max = Some(Refused::number("max", value)?),
            "trl" => self.limits = Some(limits(value)?),
            _ => self.auto = true,
        }
        Ok(())
    }
}

impl ChangeCommand {
    /// Its options.
    pub(super) fn options(&self) -> &'static [Word] {
        self.options
    }

    /// What is wanted, or what is missing.
    pub(super) fn wish(
        &self,
        given: &Given,
        cpus: Option<CpuSet>,
        json: bool,
    ) -> Result<Wish, Refused> {
        let error = |message: &str, code| Err(Refused::error(message, json, code));
        let class = given.class.and_then(|class| u8::try_from(class).ok()).filter(|it| *it < 4);
        let what = match self.words {
            "perf-profile set-config-level" => match given.level {
                Some(level) => What::Level { level, with_cpus: given.online },
                None => return error("Invalid command: specify tdp_level", code::FAILED),
            },
            "core-power enable" | "core-power disable" => {
                let on = self.title == "enable";
                What::CorePower { on, priority: Priority::of(given.priority == 1) }
            }
            "core-power config" | "core-power assoc" => match class {
                None => return error("Invalid clos id\n", code::USAGE),
                Some(class) if self.title == "assoc" => {
                    if cpus.is_none() {
                        let message = "Invalid target cpu. Specify with [-c|--cpu]";
                        return error(message, code::USAGE);
                    }
                    What::Association(class)
                }
                Some(class) => {
                    let Given { weight, epp, min, max, .. } = *given;
                    What::Class(ClassWish { class, weight, epp, min_mhz: min, max_mhz: max })
                }
            },
            "base-freq enable" => What::BaseFreq { on: true, auto: given.auto },
            "base-freq disable" => What::BaseFreq { on: false, auto: given.auto },
            "turbo-freq enable" => {
                What::TurboFreq { on: true, auto: given.auto, limits: given.limits }
            }
            "turbo-freq disable" => {
                What::TurboFreq { on: false, auto: given.auto, limits: given.limits }
            }
            "turbo-mode enable" => What::TurboMode(true),
            "turbo-mode disable" => What::TurboMode(false),
            _ => match given.limits {
                Some(limits) => What::TurboLimits(limits),
                None => return error("Invalid TRL. Specify with [-t|--trl]", code::FAILED),
            },
        };
        Ok(Wish { what, cpus, lenient: true })
    }

    /// What is told when it was done, of each power domain or of each CPU that was named; of all of them with the last.
    pub(super) fn told(&self, seen: &RenderContext<'_>, wish: &Wish) -> CompatOutput {
        let mut shown = CompatOutput::default();
        let success = |section| Node::section(section, vec![Node::leaf(self.title, &"success")]);
        let is_auto = matches!(wish.what, What::TurboFreq { on: true, auto: true, .. });
        let of_cores = !matches!(wish.what, What::Level { .. } | What::CorePower { .. });
        for at in super::render::places(seen.snapshot, wish.cpus.as_ref()) {
            if of_cores && at.domain.kind() != DomainKind::Compute {
                continue;
            }
            seen.put(&mut shown, at, vec![success(self.section)]);
        }
        // The newer version gives this a place of its own, `package--1`, which no machine has.
        if let Some(OutputEntry::Place(_, parts)) = shown.entries.last_mut().filter(|_| is_auto) {
            parts.push(success("turbo-freq --auto"));
        }
        shown
    }
}

fn small(of: &str, text: &str, most: u8) -> Result<u8, Refused> {
    let number: u8 = Refused::number(of, text)?;
    if number <= most {
        return Ok(number);
    }
    Err(Refused::here(format!("--{of} takes numbers from 0 to {most}")))
}

fn limits(text: &str) -> Result<u64, Refused> {
    let digits = text.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
    digits.ok_or_else(|| {
        Refused::as_there(format!("malformed arguments for:trl [{text}]\n"), code::USAGE)
    })
}
