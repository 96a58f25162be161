//! Machines whose CPUs compute wrong: each is named, whatever its results are.

use serde::Serialize;

use super::rows::{Host, Names};
use super::{LeftOutHost, Survey};
use crate::digest::{NONE_WRONG, WRONG};

/// A machine whose CPUs compute wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct WrongHost {
    /// Its name.
    pub name: String,
    /// Which CPUs: `CPU 3`.
    pub cpus: String,
    /// When that was found: RFC 3339, UTC.
    pub started: String,
}

impl Host {
    /// What came of comparing answers of its CPUs.
    fn answers<'a>(&self, names: &'a Names) -> Option<&'a str> {
        self.fact(names.fact(WRONG)?).map(|text| names.said(text))
    }

    /// Whether some of its CPUs compute wrong, where that was looked at.
    pub(super) fn is_wrong(&self, names: &Names) -> Option<bool> {
        self.answers(names).map(|said| said != NONE_WRONG)
    }
}

impl Survey {
    /// The same with what was found when answers of these machines were compared. A record of that has no results, and is
    /// not left out.
    #[must_use]
    pub fn with_answers(mut self, hosts: &[Host], names: &Names) -> Survey {
        let wrong = hosts.iter().filter_map(|host| {
            let cpus = host.answers(names).filter(|said| *said != NONE_WRONG)?.to_owned();
            Some(WrongHost { name: host.name.clone(), cpus, started: host.started.clone() })
        });
        self.wrong.extend(wrong);
        self.wrong.sort();
        self.wrong.dedup();
        let is_wrong = |name: &str| self.wrong.iter().any(|it| it.name == name);
        self.good.retain(|name| !is_wrong(name));
        let is_seen = |out: &LeftOutHost| out.file.is_none() && is_wrong(&out.name);
        self.left_out.retain(|out| !is_seen(out));
        self
    }
}
