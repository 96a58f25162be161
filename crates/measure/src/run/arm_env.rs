//! Settings of one arm that change nothing on the machine: how the measured program, or the measuring
//! threads, run.

use std::collections::BTreeMap;

use model::name::did_you_mean;
use model::record::Setting;
use model::{CpuSet, Known, Pages};

use rig::signals::{self, Method};

/// How an arm runs.
#[derive(Clone, Default)]
pub struct ArmEnv {
    /// Variables of the environment.
    pub variables: BTreeMap<String, String>,
    /// The CPUs that it may use.
    pub cpus: Option<CpuSet>,
    /// The number of threads.
    pub threads: Option<usize>,
    /// The pages of its memory.
    pub pages: Option<Pages>,
    /// The way to wake a thread.
    pub wake: Option<&'static Method>,
    /// The niceness.
    pub nice: Option<i32>,
    /// The names of the other arm's variables: both are measured with what knows them.
    pub beside: Vec<String>,
}

/// A row: what it is called, what it does, what it takes, and how it is taken.
pub struct ArmRow {
    /// Its name. `env.NAME` stands for any name.
    pub id: &'static str,
    /// What it does.
    pub doc: &'static str,
    /// What it takes, in words.
    pub takes: &'static str,
    take: fn(&mut ArmEnv, &str) -> Option<()>,
}

/// All of them.
pub static ROWS: &[ArmRow] = &[
    ArmRow {
        id: "env.NAME",
        doc: "A variable of the environment of what is measured, such as env.KMP_BLOCKTIME.",
        takes: "any text",
        take: |_, _| None,
    },
    ArmRow {
        id: "cpus",
        doc: "The CPUs that it may use.",
        takes: "a list, such as 0-3,8",
        take: |own, text| {
            own.cpus = Some(text.parse().ok().filter(|cpus: &CpuSet| !cpus.is_empty())?);
            Some(())
        },
    },
    ArmRow {
        id: "threads",
        doc: "The number of threads; of a command, OMP_NUM_THREADS, and {n} in its arguments.",
        takes: "a number from 1",
        take: |own, text| {
            own.threads = Some(text.parse().ok().filter(|&count| count > 0)?);
            Some(())
        },
    },
    ArmRow {
        id: "pages",
        doc: "The pages of the memory that an area uses.",
        takes: "4k, thp, 2m, 1g",
        take: |own, text| {
            own.pages = Some(Pages::ALL.iter().copied().find(|pages| pages.name() == text)?);
            Some(())
        },
    },
    ArmRow {
        id: "wake",
        doc: "The way in which the area wake signals a thread.",
        takes: "a method of `cpudyno wake --list`",
        take: |own, text| {
            own.wake = Some(signals::find(text)?);
            Some(())
        },
    },
    ArmRow {
        id: "nice",
        doc: "The niceness of a command.",
        takes: "a number from -20 to 19",
        take: |own, text| {
            own.nice = Some(text.parse().ok().filter(|nice| (-20..20).contains(nice))?);
            Some(())
        },
    },
];

impl ArmEnv {
    /// Whether both run what is measured alike.
    pub fn runs_as(&self, other: &ArmEnv) -> bool {
        let wake = |arm: &ArmEnv| arm.wake.map(|method| method.id);
        let of = |arm: &ArmEnv| (arm.cpus.clone(), arm.threads, arm.pages, arm.nice);
        self.variables == other.variables && wake(self) == wake(other) && of(self) == of(other)
    }

    /// Takes a setting; none: it is none of these. An error says what it takes.
    pub fn take(&mut self, name: &str, value: &str) -> Option<Result<(), String>> {
        if let Some(variable) = name.strip_prefix("env.") {
            let is_name = !variable.is_empty() && !variable.contains(['=', '\0']);
            if !is_name || value.contains('\0') {
                return Some(Err("a variable looks like env.NAME=VALUE".to_owned()));
            }
            self.variables.insert(variable.to_owned(), value.to_owned());
            return Some(Ok(()));
        }
        let row = ROWS.iter().find(|row| row.id == name)?;
        let taken = (row.take)(self, value);
        Some(taken.ok_or_else(|| format!("`{name}` takes {}", row.takes)))
    }

    /// Whether another arm runs as this one does.
    pub(crate) fn is_like(&self, other: &ArmEnv) -> bool {
        let wake = |own: &ArmEnv| own.wake.map(|method| method.id);
        let rest = |own: &ArmEnv| (own.cpus.clone(), own.threads, own.pages, own.nice);
        self.variables == other.variables && wake(self) == wake(other) && rest(self) == rest(other)
    }

    /// The names of the variables of both arms.
    pub(crate) fn known_variables(&self) -> impl Iterator<Item = &str> {
        self.variables.keys().chain(&self.beside).map(String::as_str)
    }

    /// The names of what was set, in words for areas that cannot heed it.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        let set = [
            (!self.variables.is_empty(), "env"),
            (self.cpus.is_some(), "cpus"),
            (self.threads.is_some(), "threads"),
            (self.pages.is_some(), "pages"),
            (self.wake.is_some(), "wake"),
            (self.nice.is_some(), "nice"),
        ];
        set.into_iter().filter_map(|(is_set, name)| is_set.then_some(name)).collect()
    }
}

/// The name most like what was typed.
pub fn near(typed: &str) -> Option<&'static str> {
    did_you_mean(typed, ROWS.iter().map(|row| row.id))
}

/// The rows as `cpudyno settings` lists them.
pub fn listed() -> impl Iterator<Item = Setting> {
    ROWS.iter().map(|row| Setting {
        id: row.id.to_owned(),
        doc: row.doc.to_owned(),
        of: Some(model::record::ARM.to_owned()),
        value: Known::Yes("as it is".to_owned()),
        takes: Some(row.takes.to_owned()),
        fixed: None,
        rule: None,
        proof: "what it is compared by".to_owned(),
    })
}
