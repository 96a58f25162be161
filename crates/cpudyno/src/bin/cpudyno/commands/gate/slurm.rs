//! The node of Slurm that this host is: drained and resumed where the rules allow it.
//!
//! # Source
//! scontrol(1), `update NodeName=... State=DRAIN Reason=...`; slurm.conf(5), `HealthCheckProgram`: the program drains the
//! node itself. Reasons that others wrote are theirs.

use std::process::{Command, Stdio};

use fleet::gate::callers::{Answer, PREFIX};
use model::record::{GateCode, GateVerdict};

use super::super::launch;
use crate::output;

/// The node.
pub(super) struct SlurmNode {
    name: String,
}

/// What the controller says of it.
#[derive(Debug, PartialEq, Eq)]
struct NodeState {
    /// `IDLE+DRAIN`
    state: String,
    /// As its author wrote it.
    reason: Option<String>,
}

impl NodeState {
    /// Reads what `scontrol --oneliner show node` prints.
    fn read(text: &str) -> Option<NodeState> {
        let state = text.split_whitespace().find_map(|word| word.strip_prefix("State="))?;
        // It stands last but for a comment, and has spaces.
        let reason = text.split_once(" Reason=").map(|(_, rest)| {
            let rest = rest.split_once(" Comment=").map_or(rest, |(reason, _)| reason);
            // ` [root@2026-01-31T12:00:00]` is added.
            rest.rsplit_once(" [").map_or(rest, |(reason, _)| reason).trim().to_owned()
        });
        let reason = reason.filter(|reason| !reason.is_empty());
        Some(NodeState { state: state.to_owned(), reason })
    }

    fn has(&self, flag: &str) -> bool {
        self.state.split('+').any(|word| {
            word.trim_end_matches(['*', '~', '#', '!', '%', '$', '@', '^', '-']) == flag
        })
    }

    fn is_drained(&self) -> bool {
        ["DRAIN", "DRAINED", "DRAINING"].into_iter().any(|flag| self.has(flag))
    }

    fn is_out_of_use(&self) -> bool {
        self.is_drained()
            || ["DOWN", "FAIL", "FAILING", "MAINT"].into_iter().any(|flag| self.has(flag))
    }

    /// What it was drained for, by us.
    fn code(&self) -> Option<GateCode> {
        let (word, _) = self.reason.as_ref()?.strip_prefix(PREFIX)?.split_once(' ')?;
        GateCode::ALL.into_iter().find(|code| code.word() == word)
    }

    fn is_ours(&self) -> bool {
        self.reason.as_ref().is_some_and(|reason| reason.starts_with(PREFIX))
    }
}

/// What is to be done.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    Drain,
    Resume,
    /// Nothing, for this reason.
    Leave(&'static str),
}

/// What was asked for.
#[derive(Clone, Copy)]
struct Wish {
    drain: bool,
    undrain: bool,
}

/// By the verdict, what was asked for and what the node is.
fn step(answer: &Answer, wish: Wish, node: &NodeState) -> Step {
    match answer.verdict {
        GateVerdict::CannotJudge => Step::Leave("nobody could judge it"),
        GateVerdict::Fail if !wish.drain => Step::Leave("--drain was not given"),
        GateVerdict::Fail if node.is_drained() && node.is_ours() => Step::Drain,
        GateVerdict::Fail if node.is_out_of_use() => {
            Step::Leave("others took it out of use, or it is down")
        }
        // One that began meanwhile spoils the numbers, and is no reason to drain.
        GateVerdict::Fail if !node.has("IDLE") => Step::Leave("a job runs there"),
        GateVerdict::Fail => Step::Drain,
        GateVerdict::Pass if !node.is_drained() => Step::Leave("it is not drained"),
        GateVerdict::Pass if !node.is_ours() => Step::Leave("others drained it"),
        GateVerdict::Pass if !wish.undrain => Step::Leave("--undrain was not given"),
        GateVerdict::Pass => match node.code() {
            // A wrong answer, or an error of memory, is not undone by one that is right.
            Some(GateCode::Sdc | GateCode::Ecc) => Step::Leave("somebody has to look at it first"),
            Some(code) if !answer.held.contains(&code) => {
                Step::Leave("what it was drained for was not measured, or still warns")
            }
            _ => Step::Resume,
        },
    }
}

impl SlurmNode {
    /// As Slurm calls it.
    pub(super) fn of_this_host() -> SlurmNode {
        let host = || launch::host().split('.').next().unwrap_or_default().to_owned();
        let name = std::env::var("SLURMD_NODENAME").ok().filter(|name| !name.is_empty());
        SlurmNode { name: name.unwrap_or_else(host) }
    }

    /// Drains it, resumes it, or says why not.
    pub(super) fn act(&self, answer: &Answer, drain: bool, undrain: bool) {
        let name = &self.name;
        let done =
            self.state().and_then(|node| match step(answer, Wish { drain, undrain }, &node) {
                Step::Leave(why) => {
                    Ok(format!("node {name} ({}) is left as it is: {why}", node.state))
                }
                Step::Drain if node.reason.as_ref() == Some(&answer.text) => {
                    Ok(format!("node {name} is drained for this reason already"))
                }
                Step::Drain => {
                    self.update(&["State=DRAIN", &format!("Reason={}", answer.text)])?;
                    Ok(format!("node {name} is drained"))
                }
                Step::Resume => {
                    self.update(&["State=RESUME"])?;
                    Ok(format!("node {name} is in use again"))
                }
            });
        match done {
            Ok(said) => output::remark(&format!("note: {said}")),
            Err(why) => output::remark(&format!("warning: node {name} is left as it is: {why}")),
        }
    }

    fn state(&self) -> Result<NodeState, String> {
        let said = scontrol(&["--oneliner", "show", "node", &self.name])?;
        NodeState::read(&said).ok_or_else(|| format!("scontrol says no state of `{}`", self.name))
    }

    fn update(&self, what: &[&str]) -> Result<(), String> {
        let node = format!("NodeName={}", self.name);
        scontrol(&[&["update", &node], what].concat()).map(drop)
    }
}

/// What it prints, or why it failed.
fn scontrol(args: &[&str]) -> Result<String, String> {
    let output = Command::new("scontrol").args(args).stdin(Stdio::null()).output();
    let output =
        output.map_err(|error| format!("cannot run scontrol: {}", sys::errno::words(&error)))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("scontrol {}: {}", args.join(" "), said.lines().next().unwrap_or("failed")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(state: &str, reason: Option<&str>) -> NodeState {
        NodeState { state: state.to_owned(), reason: reason.map(str::to_owned) }
    }

    #[test]
    fn what_scontrol_prints_is_read() {
        let text = "NodeName=n1 Arch=x86_64 CoresPerSocket=1 OS=Linux 6.1 State=IDLE+DRAIN ThreadsPerCore=1 \
                    Reason=cpudyno:BW memory.triad 187 of 412GB/s (63 peers) [root@2026-11-28T14:00:00]\n";
        let read = NodeState::read(text).unwrap();
        let reason = "cpudyno:BW memory.triad 187 of 412GB/s (63 peers)";
        assert_eq!(read, node("IDLE+DRAIN", Some(reason)));
        assert!(read.is_drained() && read.is_ours());
        let idle = NodeState::read("NodeName=n1 State=IDLE ThreadsPerCore=1").unwrap();
        assert_eq!(idle, node("IDLE", None));
        assert!(!idle.is_out_of_use());
        assert!(NodeState::read("DOWN*").is_none());
        assert!(node("DOWN*", None).is_out_of_use() && node("MIXED+DRAIN", None).is_drained());
    }

    #[test]
    fn a_node_is_taken_out_and_put_back_by_us_alone() {
        let ours = Some("cpudyno:CLK turbo 2.1 of 3GHz (12 peers)");
        let (fail, pass) = (GateVerdict::Fail, GateVerdict::Pass);
        let both = Wish { drain: true, undrain: true };
        let answer = |verdict| Answer {
            text: String::new(),
            code: 0,
            verdict,
            held: vec![GateCode::Clk, GateCode::Sdc],
        };
        let of = |verdict, state, reason| step(&answer(verdict), both, &node(state, reason));
        assert_eq!(of(fail, "IDLE", None), Step::Drain);
        assert_eq!(of(fail, "IDLE+DRAIN", ours), Step::Drain);
        assert_eq!(of(pass, "IDLE+DRAIN", ours), Step::Resume);
        for (verdict, state, reason) in [
            (fail, "MIXED", None),
            (fail, "ALLOCATED", None),
            (fail, "IDLE+DRAIN", Some("NHC: disk full")),
            (fail, "IDLE+DRAIN", None),
            (fail, "DOWN*", Some("Not responding")),
            (fail, "DOWN", ours),
            (fail, "IDLE+MAINT", None),
            (pass, "IDLE", None),
            (pass, "IDLE+DRAIN", Some("NHC: disk full")),
            (pass, "IDLE+DRAIN", None),
            (pass, "DOWN", ours),
            (pass, "IDLE+DRAIN", Some("cpudyno:SDC avx2 gave 3 for 2")),
            (pass, "IDLE+DRAIN", Some("cpudyno:BW memory.triad 187 of 412GB/s")),
            (GateVerdict::CannotJudge, "IDLE", None),
            (GateVerdict::CannotJudge, "IDLE+DRAIN", ours),
        ] {
            assert!(matches!(of(verdict, state, reason), Step::Leave(_)), "{verdict:?} {state}");
        }
        let none = Wish { drain: false, undrain: false };
        for (verdict, state, reason) in [(fail, "IDLE", None), (pass, "IDLE+DRAIN", ours)] {
            let step = step(&answer(verdict), none, &node(state, reason));
            assert!(matches!(step, Step::Leave(_)), "{state}");
        }
    }
}
