//! Limits of control groups: within them they are named and kept, outside of them there are none, and nobody is
//! killed.

use super::{Judge, fact, topology};
use crate::cpus::Cpus;

/// What the guest's script writes into the group.
const CPUS: &str = "1-2,5";
const QUOTA: &str = "1.5 CPUs";
const MEMORY_BYTES: u64 = 200 << 20;

pub(crate) fn version2(judge: &mut Judge<'_>) {
    limits(judge, "version 2");
    far(judge);
}

pub(crate) fn version1(judge: &mut Judge<'_>) {
    limits(judge, "version 1");
    // Remedies are those of this version.
    judge.never_says("group-doctor", "cpu.max");
    judge.never_says("group-doctor", "memory.max");
}

fn limits(judge: &mut Judge<'_>, version: &str) {
    let online = judge.machine.online();
    let usable = Cpus::parse(CPUS).unwrap_or_default();
    let noted = judge.note("group-cpus").to_owned();
    judge.equal("kernel", "CPUs of the group", &CPUS.to_owned(), &noted);
    let outside = judge.record("root-doctor-json");
    for id in ["cpus.quota", "memory.limit"] {
        judge.equal("root-doctor-json", id, &"none".to_owned(), &fact(&outside, id));
    }
    for label in ["group-info-json", "group-doctor-json", "group-capture-info-json"] {
        let record = judge.record(label);
        topology::of(judge, label, &record, &online, &usable);
        let said = fact(&record, "cgroup.quota");
        judge.holds(label, "quota", QUOTA, &said, said.contains(QUOTA));
        let said = fact(&record, "memory.limit");
        let right =
            said.contains("200 MiB") || said.parse::<f64>().ok() == Some(MEMORY_BYTES as f64);
        judge.holds(label, "memory limit", "200 MiB", &said, right);
        let said = fact(&record, "cgroup.version");
        judge.holds(label, "version", version, &said, said.starts_with(version));
    }
    let record = judge.record("group-doctor-json");
    for id in ["cpus", "cpus.quota"] {
        let said = fact(&record, id);
        let right = said.starts_with("unavailable");
        judge.holds("group-doctor-json", id, "not there, as it is limited", &said, right);
    }
    for label in ["group-turbo", "group-memory", "group-numa"] {
        judge.ends_as_measured(label);
    }
    judge.ends("group-sheet", &[0]);
    // A CPU beyond the group cannot be measured, and is named.
    judge.ends("group-outside", &[2, 3, 4]);
    let record = judge.noted_record("group-record");
    let cells = record["series"].as_array().map_or(0, Vec::len);
    judge.holds("group-record", "series", "at least one", cells, cells > 0);
    let events = judge.note("group-events").to_owned();
    let killed = events.lines().find(|line| line.starts_with("oom_kill ")).unwrap_or("(nothing)");
    judge.equal("kernel", "killed for memory", &"oom_kill 0".to_owned(), &killed.to_owned());
}

/// The group has CPUs of both nodes and memory of one.
fn far(judge: &mut Judge<'_>) {
    let record = judge.record("group-far-info-json");
    let none = Vec::new();
    let nodes = record["machine"]["topology"]["nodes"].as_array().unwrap_or(&none);
    let usable: Vec<_> = nodes
        .iter()
        .filter(|node| node["usable"] == true)
        .map(|node| node["id"].to_string())
        .collect();
    judge.equal(
        "group-far-info-json",
        "nodes with memory for us",
        &"1".to_owned(),
        &usable.join(","),
    );
    judge.ends_as_measured("group-far-numa");
    judge.ends("group-set-online", &[0]);
    judge.ends("group-undo", &[0]);
}
