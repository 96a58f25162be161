//! What users ask for: `SETTING=VALUE`, or `SETTING@CPUS=VALUE`.

use std::str::FromStr;

use model::CpuSet;

use crate::error::Error;
use crate::rows::{Lever, Scope};

/// A setting and the value that it is to have.
#[derive(Debug, Clone)]
pub struct Asked {
    /// What was typed before `=`.
    pub name: String,
    /// The row.
    pub lever: &'static Lever,
    /// The name of the idle state, where the row has one for each.
    pub state: Option<String>,
    /// For which CPUs; none: for all.
    pub cpus: Option<CpuSet>,
    /// The value, as it was typed.
    pub value: String,
}

impl FromStr for Asked {
    type Err = Error;

    fn from_str(text: &str) -> Result<Asked, Error> {
        let malformed = |why: String| Error::Malformed { text: text.to_owned(), why };
        let Some((setting, value)) = text.split_once('=') else {
            return Err(malformed("a setting looks like governor=performance".to_owned()));
        };
        let (name, cpus) = match setting.split_once('@') {
            None => (setting.trim(), None),
            Some((name, list)) => {
                let cpus: CpuSet =
                    list.trim().parse().map_err(|error| malformed(format!("{error}")))?;
                if cpus.is_empty() {
                    return Err(malformed("the list after @ names no CPU".to_owned()));
                }
                (name.trim(), Some(cpus))
            }
        };
        let value = value.trim();
        if value.is_empty() {
            return Err(malformed(format!("what is `{name}` to be set to?")));
        }
        let Some((lever, state)) = Lever::find(name) else {
            return Err(Error::Unknown { setting: name.to_owned(), suggestion: Lever::near(name) });
        };
        if cpus.is_some() && matches!(lever.scope, Scope::Machine | Scope::UncoreDie) {
            return Err(malformed(format!("`{name}` is no setting of single CPUs: leave @ out")));
        }
        Ok(Asked {
            name: name.to_owned(),
            lever,
            state: state.map(str::to_owned),
            cpus,
            value: value.to_owned(),
        })
    }
}
