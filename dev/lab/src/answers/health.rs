//! What holds of every command on every machine: it ends, by itself, and in one of the ways that are documented.

use super::{Judge, everything, measure};
use crate::boot::Run;

/// The exit codes that the product's help names, but those of its own bugs.
const DOCUMENTED: &[i32] = &[0, 1, 2, 3, 4];
/// What no kernel says while all is well.
const TROUBLE: &[&str] = &[
    "Kernel panic",
    "Oops",
    "BUG:",
    "Call Trace",
    "Out of memory: Killed",
    "oom-kill:",
    "soft lockup",
];

/// What QEMU makes kernels say of some of its topologies.
const OF_QEMU: &[&str] = &["arch topology borken"];

pub(crate) fn judge(judge: &mut Judge<'_>, run: &Run) {
    let ended = if run.ended { "powered off" } else { "did not, and was switched off" };
    judge.holds("machine", "end", "powers off by itself", ended, run.ended);
    let complete = judge.replies.complete;
    judge.holds("machine", "tasks", "come to their end", complete, complete);
    let replies = judge.replies;
    let says = |line: &str, words: &[&str]| words.iter().any(|word| line.contains(word));
    let mut lines = replies.console.lines();
    let trouble = lines.find(|line| says(line, TROUBLE) && !says(line, OF_QEMU));
    judge.holds("machine", "kernel", "no trouble", trouble.unwrap_or("none"), trouble.is_none());
    for label in &replies.unanswered {
        judge.holds(label, "end", "it ends", "it does not", false);
    }
    for (label, reply) in &replies.asked {
        let said = everything(reply);
        let right = DOCUMENTED.contains(&reply.code)
            && !said.contains("panicked at")
            && !said.contains("BUG:");
        let last = said.trim().lines().last().unwrap_or_default();
        let how = if right { reply.code.to_string() } else { format!("{}: {last}", reply.code) };
        measure::of_page(judge, label, reply);
        judge.holds(label, "way to end", "an exit code that is documented, no panic", how, right);
    }
}
