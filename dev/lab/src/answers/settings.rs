//! What is set is there; what is undone is as it was.

use std::collections::BTreeMap;

use super::{Judge, everything};
use crate::cpus::Cpus;
use crate::machine::Arch;

/// What `settings` of the guest's library prints, line by line.
const STATE: &[&str] = &["thp", "thp_defrag", "online", "huge_pages", "numa_balancing", "smt"];

pub(crate) fn judge(judge: &mut Judge<'_>) {
    let before = state(judge.note("settings-before"));
    let online = judge.machine.online();
    let defaults = [("online", online.to_string()), ("huge_pages", "0".to_owned())];
    held(judge, "settings-before", &before, &defaults.map(|(name, value)| (name, value)));
    // A proof under an emulator may come out either way: what is asked is what was set.
    judge.ends("set-thp", &[0, 1]);
    changed(judge, "settings-thp", &before, &[("thp", "never".to_owned())]);
    undone(judge, "undo-thp", "settings-thp-undone", &before);
    if online.has(3) {
        judge.ends("set-online", &[0, 1]);
        let rest = online.without(&Cpus([3].into()));
        changed(judge, "settings-online", &before, &[("online", rest.to_string())]);
        let record = judge.record("set-online-info-json");
        let said = record["machine"]["topology"]["online"].as_str().unwrap_or_default().to_owned();
        judge.equal("set-online-info-json", "online CPUs", &rest.to_string(), &said);
        undone(judge, "undo-online", "settings-online-undone", &before);
    }
    let many =
        [("thp", "madvise"), ("huge_pages", "8"), ("numa_balancing", "0"), ("thp_defrag", "never")];
    // With one node there is nothing to balance.
    let nodes = judge.machine.nodes.len();
    let many = many.into_iter().filter(|(name, _)| nodes > 1 || *name != "numa_balancing");
    let many: Vec<_> = many.map(|(name, value)| (name, value.to_owned())).collect();
    judge.ends("set-many", &[0]);
    changed(judge, "settings-many", &before, &many);
    undone(judge, "undo-many", "settings-many-undone", &before);
    for delay in ["0.05", "0.2", "0.6", "1.5"] {
        undone(
            judge,
            &format!("undo-killed-{delay}"),
            &format!("settings-killed-{delay}"),
            &before,
        );
    }
    judge.ends("set-for", &[0]);
    changed(judge, "settings-for", &before, &[]);
    judge.ends("undo-nothing", &[0]);
    judge.ends("quiet", &[0]);
    judge.says("quiet", "[never]");
    changed(judge, "settings-quiet", &before, &[]);
    // Kernels for Arm let the first CPU go, those for x86 do not.
    let mut refused: Vec<(&str, &[i32])> = vec![("set-absent", &[2, 3]), ("set-user", &[4])];
    if judge.machine.arch == Arch::X86 {
        refused.push(("set-first", &[3, 4]));
    }
    for (label, codes) in refused {
        judge.ends(label, codes);
        let Some(reply) = judge.reply(label) else { continue };
        let said = everything(&reply);
        let right = said.contains("error: ") && said.contains("hint: ");
        judge.holds(label, "refusal", "an error with a hint", said, right);
    }
    undone(judge, "undo-first", "settings-refused", &before);
}

/// The state by name; of a choice, what is chosen.
pub(crate) fn state(note: &str) -> BTreeMap<&'static str, String> {
    let chosen = |line: &str| {
        let inner = line.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
        inner.map_or(line, |(inner, _)| inner).trim().to_owned()
    };
    STATE.iter().copied().zip(note.lines().map(chosen)).collect()
}

/// Everything is as before, but for these.
pub(crate) fn changed(
    judge: &mut Judge<'_>,
    note: &str,
    before: &BTreeMap<&'static str, String>,
    changes: &[(&'static str, String)],
) {
    let mut expected = before.clone();
    expected.extend(changes.iter().cloned());
    let said = state(judge.note(note));
    judge.equal(note, "state of the machine", &listed(&expected), &listed(&said));
}

/// These are what they must be.
fn held(
    judge: &mut Judge<'_>,
    note: &str,
    said: &BTreeMap<&'static str, String>,
    expected: &[(&'static str, String)],
) {
    for (name, value) in expected {
        let said = said.get(name).cloned().unwrap_or_default();
        judge.equal(note, *name, value, &said);
    }
}

/// The command succeeds, and the machine is as before.
pub(crate) fn undone(
    judge: &mut Judge<'_>,
    label: &str,
    note: &str,
    before: &BTreeMap<&'static str, String>,
) {
    judge.ends(label, &[0]);
    changed(judge, note, before, &[]);
}

fn listed(state: &BTreeMap<&'static str, String>) -> String {
    let parts = state.iter().map(|(name, value)| format!("{name}={value}"));
    parts.collect::<Vec<_>>().join(" ")
}
