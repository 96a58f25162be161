//! What a machine says of itself and what does not change while it runs: one row per fact.
//!
//! Host names, serial numbers and user names are never read (invariant I10).

mod cpu;
pub(crate) mod frequency;
mod microarchitecture;
mod platform;
mod topology;

use model::Unit;
use model::record::FactValue;

pub use self::cpu::isa;
pub(crate) use self::platform::is_guest;
pub use self::topology::topology;
pub(crate) use self::topology::{first_cpu, online};
use crate::ports::{Machine, Reading};
use crate::rows::{self, Row, number, row, text};
use crate::text::{bytes, folded, sysfs_bytes, tally};

/// In reading order.
#[rustfmt::skip]
pub(crate) const TABLE: &[Row] = &[
    row("cpu.brand", "CPU", |m| cpu::brand(m).map(text)),
    row("cpu.vendor", "Vendor", |m| cpu::vendor(m).map(text)),
    row("cpu.family_model_stepping", "Family/model/stepping", signature),
    row("cpu.microcode", "Microcode", |m| cpu::microcode(m).map(text)),
    row("cpu.microarchitecture", "Microarchitecture", |m| cpu::microarchitecture(m).map(text)),
    row("cpu.isa", "Instruction sets", isa_names),
    row("cpu.cores", "Cores", cores),
    row("cpu.caches", "Caches of one CPU", caches),
    row("cpu.base_frequency", "Base frequency, as claimed", base_frequency),
    row("cpu.max_frequency", "Highest frequency, as claimed", max_frequency),
    row("memory.total", "Memory", |m| Ok(number(platform::memory_bytes(m)?, Unit::Byte))),
    row("memory.nodes", "NUMA nodes", |m| Ok(number(platform::nodes(m)?, Unit::Count))),
    row("platform.virtualisation", "Virtualisation", |m| platform::virtualisation(m).map(text)),
    row("platform.firmware", "Firmware", |m| platform::firmware(m).map(text)),
    row("kernel.release", "Kernel", |m| m.tree.read("/proc/sys/kernel/osrelease").map(text)),
    row("kernel.mitigations", "Vulnerabilities", |m| platform::mitigations(m).map(text)),
];

/// The facts of a machine, and who sits where. It never fails: what cannot be read says why.
pub fn machine(machine: &Machine) -> model::record::Machine {
    model::record::Machine {
        facts: rows::read(TABLE, machine),
        topology: topology::topology(machine),
    }
}

fn signature(machine: &Machine) -> Reading<FactValue> {
    cpu::signature(machine).map(|signature| text(signature.to_string()))
}

fn base_frequency(machine: &Machine) -> Reading<FactValue> {
    frequency::base(machine).map(|hertz| number(hertz, Unit::Hertz))
}

fn max_frequency(machine: &Machine) -> Reading<FactValue> {
    frequency::max(machine).map(|hertz| number(hertz, Unit::Hertz))
}

fn isa_names(machine: &Machine) -> Reading<FactValue> {
    let names: Vec<&str> = isa(machine)?.iter().map(|isa| isa.name()).collect();
    Ok(text(if names.is_empty() { "none beyond the base".into() } else { names.join(" ") }))
}

fn cores(machine: &Machine) -> Reading<FactValue> {
    let online = online(machine);
    if online.is_empty() {
        return Err(topology::nothing_known());
    }
    let places = topology::places(machine, &online);
    let count = |mut keys: Vec<(u32, u32)>| {
        keys.sort_unstable();
        keys.dedup();
        keys.len()
    };
    let packages = count(places.iter().map(|place| (place.package, 0)).collect());
    let cores = count(places.iter().map(|place| (place.package, place.core)).collect());
    let threads = places.iter().map(|place| place.siblings.len()).max().unwrap_or(1);
    let smt = if threads > 1 { format!("SMT {threads}") } else { "no SMT".into() };
    Ok(text(format!(
        "{}, {}, {} ({smt})",
        tally(packages, "package"),
        tally(cores, "core"),
        tally(online.len(), "CPU")
    )))
}

fn caches(machine: &Machine) -> Reading<FactValue> {
    let folder = format!("/sys/devices/system/cpu/cpu{}/cache", first_cpu(machine)?);
    let describe = |index: &String| {
        let read = |file: &str| machine.tree.read(&format!("{folder}/{index}/{file}")).ok();
        let suffix = match read("type")?.as_str() {
            "Data" => "d",
            "Instruction" => return None,
            _ => "",
        };
        Some(format!("L{}{suffix} {}", read("level")?, bytes(sysfs_bytes(&read("size")?)?)))
    };
    let indices = machine.tree.list(&folder)?;
    let caches: Vec<String> = indices.iter().filter_map(describe).collect();
    if caches.is_empty() {
        return Err(platform::not_offered("the kernel describes no caches here", &folder));
    }
    Ok(text(caches.join(", ")))
}

/// Equal answers of the online CPUs folded; the reason of the first one where none answers.
pub(crate) fn folded_over_cpus(
    machine: &Machine,
    read: impl Fn(model::CpuId) -> Reading<String>,
) -> Reading<String> {
    let answers: Vec<Reading<String>> = online(machine).iter().map(read).collect();
    if answers.iter().all(Result::is_err) {
        return Err(answers
            .into_iter()
            .find_map(Result::err)
            .unwrap_or_else(topology::nothing_known));
    }
    Ok(folded(answers.iter().map(|answer| answer.as_deref().unwrap_or("unreadable"))))
}
