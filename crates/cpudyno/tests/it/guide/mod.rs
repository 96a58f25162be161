//! A simulated machine with Speed Select, whose state lasts from process to process.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::common::{Finished, cpudyno, finish};

/// The guide's system, unless it is another one.
pub(crate) struct Guide {
    folder: TempDir,
    name: &'static str,
}

impl Guide {
    /// As it came.
    pub(crate) fn new() -> Guide {
        Guide::called("guide")
    }

    pub(crate) fn called(name: &'static str) -> Guide {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        Guide { folder, name }
    }

    /// As somebody left it.
    pub(crate) fn with(name: &'static str, state: &str) -> Guide {
        let guide = Guide::called(name);
        fs::write(guide.file(), state).unwrap();
        guide
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    pub(crate) fn machine(&self) -> String {
        format!("sim:{}@{}", self.name, self.file().display())
    }

    pub(crate) fn command(&self, line: &str) -> std::process::Command {
        let machine = self.machine();
        let words: Vec<&str> = ["--machine", &machine].into_iter().chain(line.split(' ')).collect();
        cpudyno(&words)
    }

    pub(crate) fn run(&self, line: &str) -> Finished {
        finish(self.command(line))
    }

    /// Done, and what was printed.
    pub(crate) fn done(&self, line: &str) -> String {
        let finished = self.run(line);
        assert_eq!(finished.code, Some(0), "{line}: {finished:?}");
        finished.stdout
    }

    /// What was set, where it is not as the machine came.
    pub(crate) fn state(&self) -> String {
        let text = fs::read_to_string(self.file()).unwrap();
        let state: serde_json::Value = serde_json::from_str(&text).unwrap();
        format!("{} {}", state["firmware"], state["files"])
    }
}
