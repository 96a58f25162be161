//! Limits of the clock where cores have classes of Speed Select, which limit the clock as well.

use machine::isst::{DomainAddress, MailboxQuestion};
use machine::{IsstDevice, Machine};
use model::CpuId;

use super::Change;
use crate::targets::Of;

/// Limits that classes have, too.
pub(super) const LIMITS: &[&str] = &["min_freq", "max_freq"];

/// The first change of a CPU in whose power domain firmware heeds classes; where nobody can tell, none.
pub(super) fn first_heeded<'c>(
    machine: &Machine,
    mut changes: impl Iterator<Item = &'c Change>,
) -> Option<&'c Change> {
    let device = machine.isst.open().ok()?;
    changes.find(
        |change| matches!(change.of, Of::Cpu(cpu) if heeded(machine, &*device, cpu) == Some(true)),
    )
}

fn heeded(machine: &Machine, device: &dyn IsstDevice, cpu: CpuId) -> Option<bool> {
    const ON: u32 = 1 << 1;
    if device.platform().ok()?.api_version == 1 {
        let answers = device.mailbox(&[(cpu, MailboxQuestion::PRIORITIES)]).ok()?;
        return Some(answers.first()? & ON != 0);
    }
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id");
    let package = machine.tree.read(&path).ok()?.trim().parse().ok()?;
    let physical = *device.physical(&[cpu]).ok()?.first()?;
    let domain = (physical >> 11 & 0x1f) as u8;
    Some(device.core_power(DomainAddress { package, domain }).ok()?.enable == 1)
}
