//! Plans, each several settings under one name: what they come to on a machine.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use levers::ask::SettingSpec;
use levers::plan::Plan;
use levers::presets::{self, Preset, PresetLine};
use levers::{Error, Levers};
use machine::Machine;
use model::name::did_you_mean;
use model::page::{Block, Page, Table, Text};

use super::settings;
use crate::args::{Asked, BadValue};
use crate::failure::{Failure, code};

/// A setting that was asked for by name, or by a line of a plan.
pub(super) struct Wish<T> {
    pub(super) setting: T,
    /// None: it was typed.
    line: Option<PresetLine>,
}

/// What was asked for, with the lines of plans in their place. What was typed goes before a line of the same
/// name.
pub(super) struct Wishes<T> {
    pub(super) all: Vec<Wish<T>>,
    /// Lines that stand for what needs no setting of the machine.
    pub(super) told: Vec<String>,
    /// Lines that what was typed goes before.
    pub(super) left_out: Vec<String>,
}

impl<T> Wish<T> {
    /// The same of another kind of setting.
    pub(super) fn with<U>(self, of: impl FnOnce(T) -> U) -> Wish<U> {
        Wish { setting: of(self.setting), line: self.line }
    }

    /// The line of the plan, with the reason that it gives; nothing of what was typed.
    pub(super) fn told(&self) -> Option<String> {
        let PresetLine { place, text, why, .. } = self.line.as_ref()?;
        let why = why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
        Some(format!("{place}: {text}{why}"))
    }
}

/// Reads the plans among what was asked for; `setting` reads a line.
pub(super) fn read<T>(
    asked: Vec<Asked<T>>,
    setting: fn(&str) -> Result<T, BadValue>,
) -> Result<Wishes<T>, Failure> {
    let typed: Vec<String> =
        asked.iter().filter(|it| it.setting.is_some()).map(|it| name(&it.text)).collect();
    let mut wishes = Wishes { all: Vec::new(), told: Vec::new(), left_out: Vec::new() };
    for Asked { text, setting: one } in asked {
        if let Some(setting) = one {
            wishes.all.push(Wish { setting, line: None });
            continue;
        }
        for line in lines(&text[1..])? {
            if typed.contains(&name(&line.text)) {
                let PresetLine { place, text, .. } = line;
                let why = "gives way to what the command says";
                wishes.left_out.push(format!("{place}: {text} {why}"));
                continue;
            }
            let setting = setting(&line.text)
                .map_err(|bad| Failure::usage(format!("{}: {bad}", line.place)).hint(bad.hint))?;
            wishes.all.push(Wish { setting, line: Some(line) });
        }
    }
    Ok(wishes)
}

impl Wish<SettingSpec> {
    /// What becomes of it on a machine.
    pub(super) fn fate(self, machine: &Machine, levers: &dyn Levers, force: bool) -> Fate {
        let told = self.told();
        let Wish { setting, line } = self;
        match (Plan::new(machine, levers, std::slice::from_ref(&setting), force), line) {
            (Ok(_), _) => Fate::Here(setting, told),
            (Err(error @ (Error::Absent { .. } | Error::Value { .. })), Some(line))
                if line.is_optional =>
            {
                Fate::LeftOut(format!("{}: {} is left out: {error}", line.place, line.text))
            }
            (Err(error), line) => {
                Fate::Refused(setting, PlanRefusal { error, place: line.map(|line| line.place) })
            }
        }
    }
}

/// What becomes of a wish.
pub(super) enum Fate {
    /// It can be planned; with the line of a plan that it stands in.
    Here(SettingSpec, Option<String>),
    /// The machine goes without.
    LeftOut(String),
    /// It cannot be.
    Refused(SettingSpec, PlanRefusal),
}

/// Why a wish cannot be planned.
pub(super) struct PlanRefusal {
    pub(super) error: Error,
    /// Where it stands; none: it was typed.
    place: Option<String>,
}

impl PlanRefusal {
    /// The same for users.
    pub(super) fn failure(self) -> Failure {
        let failure = settings::refused(self.error);
        let place = self.place.map_or_else(String::new, |place| format!("{place}: "));
        Failure { message: format!("{place}{}", failure.message), ..failure }
    }
}

impl<T> Wishes<T> {
    /// All that is to be said of plans before a machine was asked.
    pub(super) fn remarks(&self) -> Vec<String> {
        self.told.iter().chain(&self.left_out).cloned().collect()
    }
}

impl Wishes<SettingSpec> {
    /// What the machine has of it. Of what must be there nothing is missing, or the error says where it stands;
    /// what was typed is for the plan of all to refuse.
    pub(super) fn here(
        self,
        machine: &Machine,
        levers: &dyn Levers,
        force: bool,
    ) -> Result<Found, Failure> {
        let mut found = Found { told: self.told, left_out: self.left_out, asked: Vec::new() };
        for wish in self.all {
            if wish.line.is_none() {
                found.asked.push(wish.setting);
                continue;
            }
            match wish.fate(machine, levers, force) {
                Fate::Here(setting, told) => {
                    found.asked.push(setting);
                    found.told.extend(told);
                }
                Fate::LeftOut(why) => found.left_out.push(why),
                Fate::Refused(_, refusal) => return Err(refusal.failure()),
            }
        }
        Ok(found)
    }
}

/// What a machine has of what was asked for.
#[derive(Default)]
pub(super) struct Found {
    pub(super) asked: Vec<SettingSpec>,
    /// Lines of plans that are among it.
    pub(super) told: Vec<String>,
    /// Lines that are left out, and why.
    pub(super) left_out: Vec<String>,
}

impl Found {
    /// All that is to be said of plans.
    pub(super) fn remarks(&self) -> Vec<String> {
        self.told.iter().chain(&self.left_out).cloned().collect()
    }
}

/// How a plan is called on a page: by its file without folders.
pub(super) fn called(text: &str) -> String {
    let Some(plan) = text.strip_prefix('@') else { return text.to_owned() };
    let name = Path::new(plan).file_name().map_or(plan.into(), |name| name.to_string_lossy());
    format!("@{name}")
}

/// What stands before the value.
fn name(text: &str) -> String {
    text.split_once('=').map_or(text, |(name, _)| name).trim().to_owned()
}

/// The lines of a plan: of one that is built in, or of a file.
fn lines(plan: &str) -> Result<Vec<PresetLine>, Failure> {
    if let Some(preset) = presets::find(plan) {
        return Ok(preset.lines());
    }
    let text = text_of(plan).map_err(|error| {
        let text = format!("cannot read plan `{plan}`: {}", sys::errno::words(&error));
        let known = || presets::built_in().iter().map(|preset| preset.name.as_str());
        let near = did_you_mean(plan, known());
        let hint = match near {
            _ if error.kind() != io::ErrorKind::NotFound => "name another file".to_owned(),
            Some(near) => format!("did you mean `@{near}`?"),
            None => format!(
                "name a file, or a built-in plan: @{} (`cpudyno settings --plans`)",
                known().collect::<Vec<_>>().join(", @")
            ),
        };
        let code = match error.kind() {
            io::ErrorKind::PermissionDenied => code::REFUSED,
            _ => code::USAGE,
        };
        Failure::new(code, text).hint(hint)
    })?;
    let lines = presets::of_file(plan, &text);
    if lines.is_empty() {
        return Err(Failure::usage(format!("plan `{plan}` has no setting")).hint(
            "a line looks like governor=performance; `cpudyno settings --save FILE` writes one",
        ));
    }
    Ok(lines)
}

/// The text of a file that is no larger than plans are.
fn text_of(file: &str) -> io::Result<String> {
    const BYTES_MAX: u64 = 1 << 20;
    let mut text = String::new();
    let read = File::open(file)?.take(BYTES_MAX + 1).read_to_string(&mut text)?;
    if read as u64 > BYTES_MAX {
        return Err(io::Error::from(io::ErrorKind::FileTooLarge));
    }
    Ok(text)
}

/// The text of a plan that asks for these settings.
pub(super) fn text<'a>(settings: impl Iterator<Item = &'a levers::settings::Setting>) -> String {
    let mut lines = vec!["# Settings as `cpudyno settings --save` found them.".to_owned()];
    for line in settings.flat_map(|setting| &setting.asks) {
        // Two rows of one name may come to the same.
        if !lines.contains(line) {
            lines.push(line.clone());
        }
    }
    lines.join("\n") + "\n"
}

/// The plans that are built in.
pub(super) fn page() -> Page {
    let of = |preset: &'static Preset| {
        let row = |it: &'static presets::PresetSetting| {
            [&it.set, &it.why, &it.source].map(|text| Text::from(text.as_str())).to_vec()
        };
        let table = Table::of(format!("@{}", preset.name))
            .left("setting")
            .left("because")
            .left("source")
            .rows(preset.settings.iter().map(row));
        [Block::Paragraph(format!("@{}: {}", preset.name, preset.doc).into()), table.into()]
    };
    let mut blocks: Vec<Block> = presets::built_in().iter().flat_map(of).collect();
    let text = "A machine goes without the settings that it does not have. `cpudyno set @NAME --dry-run` \
                shows what is left here.";
    blocks.push(Block::Paragraph(text.into()));
    Page { blocks }
}
