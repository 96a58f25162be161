//! What users ask for: `SETTING=VALUE`, or `SETTING@CPUS=VALUE`.

use std::str::FromStr;

use machine::Machine;
use model::CpuSet;

use crate::error::Error;
use crate::rows::{Lever, Scope};
use crate::targets::targets;

/// A setting and the value that it is to have.
#[derive(Debug, Clone)]
pub struct SettingSpec {
    /// What was typed before `=`.
    pub name: String,
    /// The row.
    pub lever: &'static Lever,
    /// The name of the idle state, where the row has one for each.
    pub state: Option<String>,
    /// For which CPUs; none: for all.
    pub cpus: Option<CpuSet>,
    /// For which part that is no CPU, by its name or by that of an agent; none: for all.
    pub part: Option<String>,
    /// The value, as it was typed.
    pub value: String,
}

impl SettingSpec {
    /// The same with the row that this machine has: where there is none for all CPUs, that of each group.
    pub(crate) fn here(&self, machine: &Machine) -> SettingSpec {
        let is_there = |lever| {
            let all = targets(machine, lever, self.state.as_deref(), self.cpus.as_ref());
            all.iter().any(|target| target.object.read(machine).is_ok())
        };
        let other = self.lever.of_groups().filter(|other| other.scope != self.lever.scope);
        match other.filter(|other| !is_there(self.lever) && is_there(other)) {
            Some(lever) => SettingSpec { lever, ..self.clone() },
            None => self.clone(),
        }
    }
}

impl FromStr for SettingSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<SettingSpec, Error> {
        let malformed = |why: String| Error::Malformed { text: text.to_owned(), why };
        let Some((setting, value)) = text.split_once('=') else {
            return Err(malformed("a setting looks like governor=performance".to_owned()));
        };
        let (name, list) = match setting.split_once('@') {
            None => (setting.trim(), None),
            Some((name, list)) => (name.trim(), Some(list.trim())),
        };
        let value = value.trim();
        if value.is_empty() {
            return Err(malformed(format!("the value of `{name}` is missing")));
        }
        let Some((mut lever, state)) = Lever::find(name) else {
            return Err(Error::Unknown { setting: name.to_owned(), suggestion: Lever::near(name) });
        };
        if list.is_some() {
            lever = lever.of_groups().unwrap_or(lever);
        }
        let (cpus, part) = match (lever.scope, list) {
            (_, None) => (None, None),
            (Scope::Machine, Some(_)) => {
                let why = format!("`{name}` is no setting of single CPUs: leave @ out");
                return Err(malformed(why));
            }
            (Scope::UncoreDie, Some(part))
                if part.starts_with(|c: char| c.is_ascii_alphabetic()) =>
            {
                (None, Some(part.to_owned()))
            }
            (Scope::UncoreDie, Some(_)) => {
                let why = format!(
                    "`{name}` is no setting of single CPUs: name a part (uncore00) or its agent (io) \
                     after @, or leave it out"
                );
                return Err(malformed(why));
            }
            (_, Some(list)) => {
                let cpus: CpuSet = list.parse().map_err(|error| malformed(format!("{error}")))?;
                if cpus.is_empty() {
                    return Err(malformed("the list after @ names no CPU".to_owned()));
                }
                (Some(cpus), None)
            }
        };
        Ok(SettingSpec {
            name: name.to_owned(),
            lever,
            state: state.map(str::to_owned),
            cpus,
            part,
            value: value.to_owned(),
        })
    }
}
