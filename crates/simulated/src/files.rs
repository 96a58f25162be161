//! Files that are held in memory: of simulated machines, captures and tests.

use std::collections::{BTreeMap, BTreeSet};

use model::{Obstacle, Reading, Unavailable};

/// Files by path, held in memory.
#[derive(Debug, Clone, Default)]
pub struct Files(BTreeMap<String, String>);

impl Files {
    /// Puts a file there.
    pub fn put(&mut self, path: impl Into<String>, text: &(impl ToString + ?Sized)) {
        self.0.insert(path.into(), text.to_string());
    }

    /// The text of the file at an absolute path.
    pub fn read(&self, path: &str) -> Reading<String> {
        self.0.get(path).cloned().ok_or_else(|| missing(path))
    }

    /// The names of the entries of a folder, sorted.
    pub fn list(&self, path: &str) -> Reading<Vec<String>> {
        let folder = format!("{}/", path.trim_end_matches('/'));
        let below =
            self.0.range(folder.clone()..).map_while(|(path, _)| path.strip_prefix(&folder));
        let names: BTreeSet<&str> =
            below.map(|rest| rest.split_once('/').map_or(rest, |(name, _)| name)).collect();
        if names.is_empty() {
            return Err(missing(path));
        }
        Ok(names.into_iter().map(String::from).collect())
    }
}

/// What is said of a file or folder that is not there.
pub fn missing(path: &str) -> Unavailable {
    let why = format!("there is no `{path}` here");
    Unavailable::new(Obstacle::Hardware, format!("`{path}`"), why)
}

/// The folder of the CPUs.
pub(crate) const CPU: &str = "/sys/devices/system/cpu";

pub(crate) fn kilohertz(hertz: f64) -> String {
    ((hertz / 1e3).round() as u64).to_string()
}

/// Where the kernel describes PMUs.
pub(crate) const PMUS: &str = "/sys/bus/event_source/devices";
