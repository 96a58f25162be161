//! Dies that sysfs does not show: compute dies of recent Xeons by a register, I/O dies by their
//! uncore.

use std::collections::{BTreeMap, BTreeSet};

use model::{CpuId, Reading};

use super::super::cpuinfo::Cpuinfo;
use super::groups::Groups;
use super::sysfs::{CPU, number, text};
use crate::ports::Machine;

/// IA32_PM_LOGICAL_ID: thread in bits 2:0, module in 10:3, power domain, which is a die, in 15:11.
///
/// # Source
/// The kernel's `drivers/platform/x86/intel/tpmi_power_domains.c`.
pub(super) const PM_LOGICAL_ID: u32 = 0x54;

/// Granite Rapids, its D variant, Sierra Forest, Clearwater Forest: `die_id` is 0 on every CPU.
const MODELS: [u32; 4] = [0xad, 0xae, 0xaf, 0xdd];

/// Whether this CPU tells its dies by the register only.
pub(super) fn are_by_register(cpuinfo: Option<&Cpuinfo>) -> bool {
    let number = |key| cpuinfo?.first(key)?.parse::<u32>().ok();
    number("cpu family") == Some(6) && number("model").is_some_and(|model| MODELS.contains(&model))
}

/// The compute die of each CPU, by the register, which is read once per core.
pub(super) fn by_register(machine: &Machine, cores: &Groups) -> BTreeMap<CpuId, u32> {
    let mut dies = BTreeMap::new();
    for core in cores.iter() {
        let Some(first) = core.iter().next() else { continue };
        // A machine that refuses one CPU refuses all: asking 256 times tells nothing more.
        let Ok(die) = of_cpu(machine, first) else { break };
        dies.extend(core.iter().map(|cpu| (cpu, die)));
    }
    dies
}

/// The compute die of one CPU, by the register.
pub(super) fn of_cpu(machine: &Machine, cpu: CpuId) -> Reading<u32> {
    let value = machine.msr.read(cpu, PM_LOGICAL_ID)?;
    Ok((value >> 11 & 0x1f) as u32)
}

/// The dies with an uncore of their own but without cores, by package: I/O dies.
///
/// # Source
/// The kernel's `Documentation/admin-guide/pm/intel_uncore_frequency_scaling.rst`: `domain_id`,
/// `package_id`, and on newer kernels `agent_types`.
pub(super) fn io_dies(
    machine: &Machine,
    compute: &BTreeSet<(u32, u32)>,
) -> BTreeMap<u32, BTreeSet<u32>> {
    let uncore = format!("{CPU}/intel_uncore_frequency");
    let names = machine.tree.list(&uncore).unwrap_or_default();
    let mut dies: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for name in names.iter().filter(|name| name.starts_with("uncore")) {
        let of = |file: &str| number(machine, &format!("{uncore}/{name}/{file}"));
        let (Some(package), Some(die)) = (of("package_id"), of("domain_id")) else { continue };
        let agents = text(machine, &format!("{uncore}/{name}/agent_types")).unwrap_or_default();
        let has_cores = agents.split_whitespace().any(|agent| agent == "core");
        if !has_cores && !compute.contains(&(package, die)) {
            dies.entry(package).or_default().insert(die);
        }
    }
    dies
}
