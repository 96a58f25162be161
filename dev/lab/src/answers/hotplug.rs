//! CPUs that are off, that go, that are kept off, that are left alone.

use std::collections::BTreeSet;

use super::{Judge, everything, numa, settings, topology};
use crate::cpus::Cpus;

/// CPUs go and come.
pub(crate) fn judge(judge: &mut Judge<'_>) {
    let all = judge.machine.online();
    let left = all.without(&Cpus([3, 5].into()));
    let noted = judge.note("hotplug-online").to_owned();
    judge.equal("kernel", "online", &left.to_string(), &noted);
    for label in ["off-info-json", "off-capture-info-json"] {
        let record = judge.record(label);
        topology::of(judge, label, &record, &left, &left);
    }
    for label in ["off-info", "off-doctor", "off-settings", "off-capture", "off-turbo"] {
        judge.ends(label, &[0]);
    }
    judge.ends("off-turbo-3", &[2, 3]);
    judge.says("off-turbo-3", "3");
    judge.ends("off-set-3", &[0, 1]);
    for (note, cpus) in
        [("hotplug-set", all.without(&Cpus([5].into()))), ("hotplug-undone", left.clone())]
    {
        let noted = judge.note(note).to_owned();
        judge.equal("kernel", note, &cpus.to_string(), &noted);
    }
    // A run that loses a CPU says so, and keeps the rest.
    judge.ends("gone-turbo", &[0, 3]);
    judge.says("gone-turbo", "CPU 6");
    let near = Cpus((0..4).collect());
    let record = judge.record("node-off-info-json");
    topology::of(judge, "node-off-info-json", &record, &near, &near);
    judge.ends("node-off-numa", &[0]);
    let record = judge.noted_record("node-off-record");
    let expected: BTreeSet<_> = [(0, 0), (0, 1)].into();
    let said = numa::measured(&record, "latency");
    judge.equal("node-off-numa", "pairs of nodes", &numa::pairs(&expected), &numa::pairs(&said));
    judge.ends("node-off-plan", &[0]);
    judge.ends("hotplug-top", &[0]);
    let noted = judge.note("hotplug-after").to_owned();
    judge.equal("kernel", "online afterwards", &all.to_string(), &noted);
}

/// Isolated CPUs are measured where the process may use them; elsewhere it is said how it may.
pub(crate) fn isolated(judge: &mut Judge<'_>) {
    for label in ["isolated-turbo-2", "isolated-turbo-23", "isolated-plan"] {
        judge.ends(label, &[2]);
        judge.says(label, "taskset -c");
    }
    for label in ["isolated-allowed-turbo", "isolated-mask-turbo"] {
        judge.ends(label, &[0]);
    }
    let record = judge.record("isolated-mask-info-json");
    let said = record["machine"]["topology"]["usable"].as_str().unwrap_or_default().to_owned();
    judge.equal("isolated-mask-info-json", "usable CPUs", &"2,5".to_owned(), &said);
}

/// SMT as a setting.
pub(crate) fn smt(judge: &mut Judge<'_>) {
    let before = settings::state(judge.note("settings-smt-before"));
    let kept_off = judge.machine.parameter("nosmt").is_some();
    let all = judge.machine.present();
    let firsts = Cpus(all.0.iter().copied().filter(|cpu| cpu.is_multiple_of(2)).collect());
    let state = |cpus: &Cpus, word: &str| [("online", cpus.to_string()), ("smt", word.to_owned())];
    judge.ends("smt-off", &[0, 1]);
    settings::changed(judge, "settings-smt-off", &before, &state(&firsts, "off"));
    let record = judge.record("smt-off-info-json");
    let said = record["machine"]["topology"]["online"].as_str().unwrap_or_default().to_owned();
    judge.equal("smt-off-info-json", "online CPUs", &firsts.to_string(), &said);
    settings::undone(judge, "undo-smt-off", "settings-smt-off-undone", &before);
    judge.ends("smt-on", &[0, 1]);
    settings::changed(judge, "settings-smt-on", &before, &state(&all, "on"));
    settings::undone(judge, "undo-smt-on", "settings-smt-on-undone", &before);
    // The kernel brings no sibling back while SMT is off.
    judge.ends("smt-online", if kept_off { &[3, 4] } else { &[0] });
    settings::undone(judge, "undo-smt-online", "settings-smt-online-undone", &before);
    settings::undone(judge, "undo-smt-killed", "settings-smt-killed", &before);
    // QEMU's registers ignore what is written, which is seen by reading back.
    judge.ends("smt-prefetch", &[1, 3, 4]);
    judge.ends("undo-smt-prefetch", &[0]);
    judge.ends("smt-too-many", &[1, 2, 3, 4]);
    settings::undone(judge, "undo-smt-too-many", "settings-smt-after", &before);
}

/// What a locked kernel refuses.
pub(crate) fn lock(judge: &mut Judge<'_>) {
    let mode = judge.machine.parameter("lockdown").unwrap_or_default().to_owned();
    let noted = judge.note("lockdown").to_owned();
    let right = noted.contains(&format!("[{mode}]"));
    judge.holds("kernel", "lockdown", format!("[{mode}]"), noted, right);
    let record = judge.record("lock-doctor-json");
    let said = super::fact(&record, "lockdown");
    judge.holds("lock-doctor-json", "lockdown", &mode, &said, said.contains(&mode));
    judge.ends("lock-doctor", &[0]);
    for label in ["lock-doctor", "lock-settings", "lock-set", "lock-set-pair"] {
        judge.never_says(label, "run as root");
    }
    for label in ["lock-set", "lock-set-pair"] {
        judge.ends(label, &[3, 4]);
        let said = judge.reply(label).map(|reply| everything(&reply)).unwrap_or_default();
        judge.holds(label, "names the lock", "lock", &said, said.contains("lock"));
    }
    // Where one of two cannot be set, none is.
    let before = settings::state(judge.note("settings-lock-before"));
    settings::changed(judge, "settings-lock-refused", &before, &[]);
    judge.ends("lock-undo", &[0]);
}
