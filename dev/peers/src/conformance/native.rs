//! Our own face beside the reference tool: `cpudyno sst`, called with the same words as a process of its own, leaves
//! firmware and files as the reference tool does, or refuses for a reason that has its row.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::Context;

use super::cases::Case;
use super::intended::{Expected, OWN};
use super::tool::{self, Run};
use super::{Expectation, Place, Verdict, is_refused, other_state, shown, unmet};
use crate::built;

/// The program.
pub(super) struct Native(PathBuf);

impl Native {
    pub(super) fn build() -> anyhow::Result<Native> {
        built::binary().map(Native)
    }

    /// What it does on the machine of a case.
    pub(super) fn run(&self, place: &Place, case: &Case) -> anyhow::Result<Run> {
        let machine = place.machine(case)?;
        let output = Command::new(&self.0)
            .args(["--machine", &machine, "sst"])
            .args(case.arguments())
            .current_dir(place.0.path())
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("cannot run `{}`", self.0.display()))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Run {
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
            file: String::new(),
            code: output.status.code().unwrap_or(-1),
            ioctls: 0,
            state: tool::state(&place.0.path().join("state"))?,
        })
    }
}

/// Whether it did what the reference tool does. What it prints is its own.
pub(super) fn verdict(case: &Case, expected: &Expectation, ours: &Run) -> anyhow::Result<Verdict> {
    let mut rows = expected.rows_of_state.clone();
    let own = OWN.iter().find_map(|row| Some((row.id, (row.refuses)(case)?)));
    let refused = match (own, &expected.instead) {
        (Some((id, code)), _) => {
            rows.push(id);
            Some(code)
        }
        (None, Some(Expected::Refused(code))) => Some(*code),
        (None, _) => None,
    };
    if let Some(code) = refused {
        let is_met = is_refused(case, ours, code)?;
        return Ok(if is_met { Verdict::Intended(rows) } else { unmet(&rows, ours) });
    }
    if let Some(how) = other_state(&expected.run, ours) {
        return Ok(Verdict::Different(how));
    }
    let succeeds = matches!(expected.instead, Some(Expected::Done)) || expected.run.code == 0;
    if succeeds != (ours.code == 0) {
        let (there, here) = (expected.run.code, ours.code);
        let how = format!("  exit code: expected one like {there}, got {here}\n{}", shown(ours));
        return Ok(Verdict::Different(how));
    }
    Ok(if rows.is_empty() { Verdict::Equal } else { Verdict::Intended(rows) })
}
