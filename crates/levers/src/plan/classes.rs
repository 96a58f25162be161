//! Limits of the clock where cores have classes of Speed Select, which limit the clock as well.

use machine::isst::{DomainAddress, MailboxQuestion};
use machine::{IsstDevice, Machine};
use model::{CpuId, CpuSet};

use super::Change;
use crate::targets::SettingOwner;

/// Limits that classes have, too.
pub(super) const LIMITS: &[&str] = &["min_freq", "max_freq"];

/// The first change of a CPU in whose power domain firmware heeds classes; where nobody can tell, none.
pub(super) fn first_heeded<'c>(
    machine: &Machine,
    mut changes: impl Iterator<Item = &'c Change>,
) -> Option<&'c Change> {
    let device = machine.isst.open().ok()?;
    changes.find(
        |change| matches!(change.of, SettingOwner::Cpu(cpu) if heeded(machine, &*device, cpu) == Some(true)),
    )
}

/// The CPUs of these changes whose cores somebody put into a class; where nobody can tell, none.
pub(super) fn placed<'c>(machine: &Machine, changes: impl Iterator<Item = &'c Change>) -> CpuSet {
    let Ok(device) = machine.isst.open() else { return CpuSet::default() };
    let of = |change: &Change| match change.of {
        SettingOwner::Cpu(cpu) => Some(cpu),
        SettingOwner::Machine | SettingOwner::Part(_) => None,
    };
    let mut cpus: Vec<CpuId> = changes.filter_map(of).collect();
    cpus.sort_unstable();
    cpus.dedup();
    let in_class = |cpus: &[CpuId]| -> Vec<CpuId> {
        let classes = classes_of(machine, &*device, cpus).unwrap_or_default();
        let all = cpus.iter().zip(classes);
        all.filter(|(_, class)| *class != 0).map(|(cpu, _)| *cpu).collect()
    };
    cpus.chunks(AT_ONCE).flat_map(in_class).collect()
}

/// As many questions as the driver takes at once.
const AT_ONCE: usize = 64;

/// The classes of cores: registers in memory of the older generation, behind the mailbox on Skylake servers.
fn classes_of(machine: &Machine, device: &dyn IsstDevice, cpus: &[CpuId]) -> Option<Vec<u32>> {
    const CORES: u32 = 0x20;
    let physical = device.physical(cpus).ok()?;
    let each = cpus.iter().copied().zip(physical);
    if device.platform().ok()?.api_version > 1 {
        let one = |(cpu, physical): (CpuId, u32)| {
            let package = package_of(machine, cpu)?;
            let domain = (physical >> 11 & 0x1f) as u8;
            Some((DomainAddress { package, domain }, (physical >> 3 & 0xff) as u16))
        };
        let cores: Vec<(DomainAddress, u16)> = each.map(one).collect::<Option<_>>()?;
        return Some(device.associations(&cores).ok()?.into_iter().map(u32::from).collect());
    }
    let cores: Vec<(CpuId, u32)> = each.map(|(cpu, it)| (cpu, it >> 1 & 0xff)).collect();
    let registers: Vec<(CpuId, u32)> =
        cores.iter().map(|(cpu, core)| (*cpu, CORES + 4 * core)).collect();
    let by_mailbox = || {
        let question = |&(cpu, core): &(CpuId, u32)| {
            Some((cpu, MailboxQuestion::association(u8::try_from(core).ok()?)))
        };
        device.mailbox(&cores.iter().map(question).collect::<Option<Vec<_>>>()?).ok()
    };
    let words = device.mmio(&registers).ok().or_else(by_mailbox)?;
    Some(words.into_iter().map(|word| word >> 16 & 3).collect())
}

fn package_of(machine: &Machine, cpu: CpuId) -> Option<u8> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id");
    machine.tree.read(&path).ok()?.trim().parse().ok()
}

fn heeded(machine: &Machine, device: &dyn IsstDevice, cpu: CpuId) -> Option<bool> {
    const ON: u32 = 1 << 1;
    if device.platform().ok()?.api_version == 1 {
        let answers = device.mailbox(&[(cpu, MailboxQuestion::PRIORITIES)]).ok()?;
        return Some(answers.first()? & ON != 0);
    }
    let package = package_of(machine, cpu)?;
    let physical = *device.physical(&[cpu]).ok()?.first()?;
    let domain = (physical >> 11 & 0x1f) as u8;
    Some(device.core_power(DomainAddress { package, domain }).ok()?.enable == 1)
}
