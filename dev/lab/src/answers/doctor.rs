//! What is said of the machine and of what helps, as root and as a plain user.

use serde_json::Value;

use super::{Judge, fact};
use crate::machine::Arch;

/// Remedies that only the other architecture has.
const OF_X86: &[&str] = &["msr", "intel", "CPUID", "TSC"];
const OF_ARM: &[&str] = &["perf_user_access", "device tree"];
/// Remedies that need a CPU of the host, and the one that gets it.
const OF_KVM: &[&str] = &["-cpu host", "kvm", "KVM", "libvirt"];
const TO_KVM: &str = "have QEMU use KVM";

pub(crate) fn judge(judge: &mut Judge<'_>) {
    let record = judge.record("doctor-json");
    if record.is_null() {
        return;
    }
    let online = judge.machine.online();
    let usable = online.without(&judge.machine.isolated());
    let said = fact(&record, "cpus");
    if usable == online {
        let expected = format!("all {}: {online}", online.len());
        judge.equal("doctor-json", "every CPU", &expected, &said);
    } else {
        let right = said.starts_with("all but") || said.starts_with("unavailable");
        judge.holds("doctor-json", "every CPU", "not all", &said, right);
    }
    judge.equal(
        "doctor-json",
        "affinity",
        &"threads can be pinned".to_owned(),
        &fact(&record, "affinity"),
    );
    host(judge, &record);
    let clock = judge.note("clocksource").to_owned();
    judge.equal("doctor-json", "clock source", &clock, &fact(&record, "clocksource"));
    let said = fact(&record, "clock");
    let right = said.starts_with("unavailable") || said.contains(&clock);
    judge.holds("doctor-json", "clock", format!("names `{clock}`"), &said, right);
    // No control group is mounted yet: nothing limits.
    for id in ["cpus.quota", "memory.limit"] {
        judge.equal("doctor-json", id, &"none".to_owned(), &fact(&record, id));
    }
    let page = judge.record("info-json");
    // All CPUs of these machines are equal, and no register of QEMU's says what prefetches.
    judge.equal("info-json", "kinds of cores", &"one kind".to_owned(), &fact(&page, "cpu.kinds"));
    let said = fact(&page, "prefetchers");
    let right = said.starts_with("unavailable");
    judge.holds("info-json", "prefetchers", "nobody knows", &said, right);
    remedies(judge, &record);
    for label in ["driverless-doctor", "doctor", "info"] {
        judge.never_says(label, "run as root");
    }
    for label in
        ["doctor", "info", "user-doctor", "capture-doctor", "settings-page", "sheet-plan", "top"]
    {
        let codes: &[i32] = if label == "top" { &[0, 3] } else { &[0] };
        judge.ends(label, codes);
    }
    judge.says("user-doctor", "plain user");
}

/// Who runs the guest.
fn host(judge: &mut Judge<'_>, record: &Value) {
    let expected = match judge.machine.arch {
        Arch::X86 if judge.machine.kvm => "KVM",
        Arch::X86 => "QEMU (emulated)",
        // Nothing tells an Arm guest which of the two it is.
        Arch::Arm => "QEMU",
    };
    for id in ["platform.virtualisation", "virtualisation"] {
        let said = fact(record, id);
        let right = said.starts_with(expected);
        judge.holds("doctor-json", id, format!("begins `{expected}`"), &said, right);
    }
}

/// Remedies that cannot help here are not given.
fn remedies(judge: &mut Judge<'_>, record: &Value) {
    let mut found = Vec::new();
    collect(record, &mut found);
    let foreign = match judge.machine.arch {
        Arch::X86 => OF_ARM,
        Arch::Arm => OF_X86,
    };
    let mut unfit = vec![("remedies of the other architecture", foreign)];
    if !judge.machine.kvm {
        unfit.push(("remedies of KVM", OF_KVM));
    }
    for (about, words) in unfit {
        let is_unfit = |text: &&String| {
            !text.starts_with(TO_KVM) && words.iter().any(|word| text.contains(word))
        };
        let hit = found.iter().find(is_unfit);
        let said = hit.map_or("none of them", |text| text.as_str());
        let expected = format!("none of: {}", words.join(", "));
        judge.holds("doctor-json", about, expected, said, hit.is_none());
    }
}

/// All remedies within a record.
fn collect(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field.as_str().filter(|_| name == "remedy") {
                    Some(remedy) => found.push(remedy.to_owned()),
                    None => collect(field, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        _ => {}
    }
}
