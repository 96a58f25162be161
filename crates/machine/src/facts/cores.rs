//! Which core each CPU is, on architectures where a core has a number or a name of its own.

use model::microarchitecture::{self, Midr, RiscV};
use model::{CpuId, CpuSet, Obstacle, Reading, Unavailable};

use super::cpuinfo::Cpuinfo;
use crate::ports::Machine;

/// Who a core says it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CoreIdentity {
    Arm(Midr),
    RiscV(RiscV),
}

impl CoreIdentity {
    /// Its name, where this version has one.
    pub(super) fn name(&self) -> Reading<String> {
        let name = match self {
            CoreIdentity::Arm(midr) => midr.name().map(String::from),
            CoreIdentity::RiscV(core) => core.name(),
        };
        name.ok_or_else(|| {
            let why = format!("this version has no name for {}", self.numbers());
            Unavailable::new(Obstacle::Cpudyno, "core", why)
        })
    }

    /// What it says, as it says it.
    pub(super) fn numbers(&self) -> String {
        match self {
            CoreIdentity::Arm(midr) => midr.to_string(),
            CoreIdentity::RiscV(core) => core.to_string(),
        }
    }

    /// Who designed it.
    pub(super) fn designer(&self) -> Option<&'static str> {
        match self {
            CoreIdentity::Arm(midr) => microarchitecture::implementer(midr.implementer()),
            CoreIdentity::RiscV(core) => core.designer(),
        }
    }
}

/// The core of every CPU that tells it, ascending; empty on other architectures.
pub(super) fn cores(
    machine: &Machine,
    cpuinfo: &Cpuinfo,
    cpus: &CpuSet,
) -> Vec<(CpuId, CoreIdentity)> {
    let listed = |cpu| {
        let arm = cpuinfo.midr(cpu).map(CoreIdentity::Arm);
        arm.or_else(|| cpuinfo.riscv(cpu).map(CoreIdentity::RiscV))
    };
    // `/proc/cpuinfo` may list fewer CPUs; where one has no such file, none has.
    let mut has_files = true;
    let mut of = |cpu| {
        let core = listed(cpu).or_else(|| {
            let midr = if has_files { midr_of_file(machine, cpu) } else { None };
            has_files = midr.is_some();
            midr.map(CoreIdentity::Arm)
        })?;
        Some((cpu, core))
    };
    cpus.iter().filter_map(&mut of).collect()
}

fn midr_of_file(machine: &Machine, cpu: CpuId) -> Option<Midr> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/regs/identification/midr_el1");
    let text = machine.tree.read(&path).ok()?;
    u64::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok().map(Midr)
}
