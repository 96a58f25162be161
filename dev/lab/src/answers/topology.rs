//! CPUs, packages, cores, nodes: as configured.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Judge, fact};
use crate::cpus::Cpus;
use crate::machine::Arch;

/// All who look at the machine see the same.
const ASKED: &[&str] = &["info-json", "doctor-json", "user-info-json", "capture-info-json"];

/// What firmware and kernel keep of a node's memory at most, in MiB, and as a part of it.
const KEPT_MIB: u64 = 160;
const KEPT_PART: u64 = 8;

pub(crate) fn judge(judge: &mut Judge<'_>) {
    let machine = judge.machine;
    let online = machine.online();
    let noted = judge.note("online").to_owned();
    judge.equal("kernel", "online", &online.to_string(), &noted);
    for label in ASKED {
        let record = judge.record(label);
        if !record.is_null() {
            of(judge, label, &record, &online, &online.without(&machine.isolated()));
        }
    }
    let record = judge.record("info-json");
    let counted = |number: usize, noun: &str| {
        format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
    };
    let packages = machine.packages(&online).len();
    let cores = machine.cores(&online);
    let threads = cores.iter().map(Cpus::len).max().unwrap_or_default();
    let single = cores.iter().filter(|core| core.len() < threads).count();
    let smt = match (threads, single) {
        (..=1, _) => "no SMT".to_owned(),
        (threads, 0) => format!("SMT {threads}"),
        (threads, _) => format!("SMT {threads}; {} with 1 thread", counted(single, "core")),
    };
    let expected = [
        counted(packages, "package"),
        counted(cores.len(), "core"),
        format!("{} ({smt})", counted(online.len(), "CPU")),
    ]
    .join(", ");
    judge.equal("info-json", "cores", &expected, &fact(&record, "cpu.cores"));
    // No kernel for Arm has files of dies.
    if machine.arch == Arch::X86 {
        let expected = format!("{} per package", machine.seen().dies);
        judge.equal("info-json", "dies", &expected, &fact(&record, "cpu.dies"));
    }
    let off = machine.present().without(&online);
    let expected = if off.is_empty() { "none".to_owned() } else { off.to_string() };
    let said = fact(&record, "cpu.offline");
    judge.holds("info-json", "offline", &expected, &said, said.starts_with(&expected));
}

/// Holds one record's topology against the machine.
pub(crate) fn of(judge: &mut Judge<'_>, label: &str, record: &Value, online: &Cpus, usable: &Cpus) {
    let machine = judge.machine;
    let topology = &record["machine"]["topology"];
    let text = |name: &str| topology[name].as_str().unwrap_or("(nothing)").to_owned();
    judge.equal(label, "online CPUs", &online.to_string(), &text("online"));
    judge.equal(label, "present CPUs", &machine.present().to_string(), &text("present"));
    judge.equal(label, "isolated CPUs", &machine.isolated().to_string(), &text("isolated"));
    judge.equal(label, "usable CPUs", &usable.to_string(), &text("usable"));
    let packages = together(topology, &["package"]);
    judge.equal(label, "packages", &listed(&machine.packages(online)), &listed(&packages));
    let cores: BTreeSet<Cpus> = cpus(topology).filter_map(siblings).collect();
    judge.equal(label, "siblings", &listed(&machine.cores(online)), &listed(&cores));
    nodes(judge, label, topology, online);
}

fn nodes(judge: &mut Judge<'_>, label: &str, topology: &Value, online: &Cpus) {
    let expected = judge.machine.nodes();
    let none = Vec::new();
    let said = topology["nodes"].as_array().unwrap_or(&none);
    judge.equal(label, "nodes", &expected.len(), &said.len());
    for (id, (node, said)) in expected.iter().zip(said).enumerate() {
        let cpus = node.cpus.and(online);
        let told = said["cpus"].as_str().unwrap_or("(nothing)").to_owned();
        judge.equal(label, format!("CPUs of node {id}"), &cpus.to_string(), &told);
        let bytes = said["memory_bytes"].as_u64();
        let mib = bytes.map(|bytes| bytes >> 20);
        let least = node.mib.saturating_sub(KEPT_MIB + node.mib / KEPT_PART);
        let right = mib.is_some_and(|mib| (least..=node.mib).contains(&mib));
        let text = mib.map_or("(nothing)".to_owned(), |mib| format!("{mib} MiB"));
        let range = format!("{least} to {} MiB", node.mib);
        judge.holds(label, format!("memory of node {id}"), range, text, right);
        let right: BTreeMap<String, u64> = (0..expected.len())
            .map(|to| (to.to_string(), u64::from(judge.machine.distance(id, to))))
            .collect();
        let right =
            if expected.len() > 1 { format!("{right:?}") } else { "{\"0\": 10}".to_owned() };
        let told: BTreeMap<String, u64> = said["distances"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(to, value)| (to.clone(), value.as_u64().unwrap_or_default()))
            .collect();
        judge.equal(label, format!("distances of node {id}"), &right, &format!("{told:?}"));
    }
}

fn cpus(topology: &Value) -> impl Iterator<Item = &Value> {
    topology["cpus"].as_array().into_iter().flatten()
}

fn siblings(cpu: &Value) -> Option<Cpus> {
    Cpus::parse(cpu["siblings"].as_str()?).ok()
}

/// CPUs that have these fields in common.
fn together(topology: &Value, fields: &[&str]) -> BTreeSet<Cpus> {
    let mut groups: BTreeMap<String, Cpus> = BTreeMap::new();
    for cpu in cpus(topology) {
        let key: Vec<_> = fields.iter().map(|field| cpu[*field].to_string()).collect();
        let number = cpu["cpu"].as_u64().unwrap_or_default() as u32;
        groups.entry(key.join("/")).or_default().0.insert(number);
    }
    groups.into_values().collect()
}

fn listed(groups: &BTreeSet<Cpus>) -> String {
    groups.iter().map(ToString::to_string).collect::<Vec<_>>().join(" | ")
}
