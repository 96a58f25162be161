//! What a machine says of itself and what does not change while it runs: one row per fact.
//!
//! Each file holds the rows of its own subject. Host names, serial numbers and user names are never
//! read (invariant I10).

pub(crate) mod boost;
pub(crate) mod cgroup;
mod claimed;
mod cores;
mod cppc;
mod cpu;
mod cpuinfo;
mod dimms;
mod edac;
pub(crate) mod fact_cache;
pub(crate) mod fact_table;
pub(crate) mod frequency;
mod groups;
mod hwp;
pub(crate) mod idle;
mod isa;
mod kernel;
mod memory;
mod platform;
mod preferred_cores;
pub mod prefetchers;
mod topology;
mod tsc;
pub(crate) mod tuning;
mod turbo_ratio;
mod uncore;

use model::record::Topology;
use model::{CpuSet, Finding, Reading};

pub use self::cgroup::{Quota, restored_cpuset};
pub(crate) use self::claimed::{BY_KERNEL, Claimed, claimed, is_sold};
pub(crate) use self::cppc::{
    HighestLevels, boosted_by_hwp, boosted_by_levels, highest_levels, nominal_frequency,
};
pub use self::cpu::cpu_numbers;
pub(crate) use self::cpu::vendor as cpu_vendor;
pub(crate) use self::cpuinfo::{Architecture, Cpuinfo};
pub(crate) use self::dimms::{memory_channels, memory_table};
pub(crate) use self::edac::{Edac, edac, errors as memory_errors};
use self::fact_cache::Survey;
use self::fact_table::FactRow;
pub(crate) use self::frequency::{Policies, Policy, policies};
pub(crate) use self::groups::{Maker, bits, flag, identity, register_of_all};
pub(crate) use self::idle::{IdleSwitches, idle_states, idle_switches, switched_off};
pub use self::isa::isa;
pub use self::kernel::concerns_performance;
pub(crate) use self::kernel::to_load;
pub(crate) use self::memory::{HUGE_PAGES, MEMINFO, huge_page_pools};
pub use self::platform::is_guest;
pub(crate) use self::platform::{
    Ground, ON_THE_HOST, container, ground, hidden_from_guest, is_contained, no_file,
};
pub use self::topology::online;
pub use self::topology::{can_be_pinned_to, not_shown};
pub(crate) use self::topology::{first_cpu, isolated};
pub(crate) use self::tsc::{TimeStampCounter, time_stamp_counter};
pub(crate) use self::turbo_ratio::turbo_limits;
pub use self::uncore::agents as uncore_agents;
use crate::parse::folded;
use crate::ports::Machine;

/// In reading order.
pub(crate) const TABLES: &[&[FactRow]] = &[
    cpu::ROWS,
    isa::ROWS,
    topology::ROWS,
    frequency::ROWS,
    claimed::ROWS,
    turbo_ratio::ROWS,
    hwp::ROWS,
    cppc::ROWS,
    preferred_cores::ROWS,
    uncore::ROWS,
    idle::ROWS,
    memory::ROWS,
    dimms::ROWS,
    platform::ROWS,
    kernel::ROWS,
    tuning::ROWS,
];

/// The facts of a machine, and who sits where. It never fails: what cannot be read says why.
pub fn machine(machine: &Machine) -> model::record::Machine {
    machine_of(&Survey::new(machine))
}

pub(crate) fn machine_of(survey: &Survey<'_>) -> model::record::Machine {
    model::record::Machine {
        facts: TABLES.iter().flat_map(|rows| fact_table::read(rows, survey)).collect(),
        capabilities: Vec::new(),
        topology: survey.topology().clone(),
        turbo_limits: survey.turbo_limits().map(<[_]>::to_vec).unwrap_or_default(),
        idle_states: survey.idle_states().map(<[_]>::to_vec).unwrap_or_default(),
        memory_channels: survey.memory_channels().map(<[_]>::to_vec).unwrap_or_default(),
    }
}

/// The facts of these ids alone, in reading order.
pub fn some(machine: &Machine, ids: &[&str]) -> Vec<model::record::Fact> {
    let survey = Survey::new(machine);
    let rows = TABLES.iter().flat_map(|rows| rows.iter()).filter(|row| ids.contains(&row.id));
    rows.map(|row| fact_table::fact(row.id, row.label, (row.read)(&survey))).collect()
}

/// Who sits where. It never fails: a CPU of which nothing is known is a core of its own.
pub fn topology(machine: &Machine) -> Topology {
    topology_of(&Survey::new(machine)).0
}

/// Who sits where by CPUID alone, for these CPUs: for machines without sysfs, and to compare with
/// it. `None` where CPUID does not say it of every one of them.
pub fn topology_by_cpuid(machine: &Machine, cpus: &CpuSet) -> Option<Topology> {
    topology::by_cpuid::topology(machine.cpuid.as_ref(), cpus)
}

/// With where the files that say it contradict each other.
pub(crate) fn topology_of(survey: &Survey<'_>) -> (Topology, Vec<Finding>) {
    topology::topology(survey)
}

/// How much CPU time control groups leave to this process; `None`: they do not limit it.
pub fn cpu_quota(machine: &Machine) -> Reading<Option<Quota>> {
    cgroup::quota(machine)
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
