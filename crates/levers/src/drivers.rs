//! Who decides on a machine, and which CPUs it has.

use machine::Machine;
use model::{CpuId, CpuSet};

pub(crate) const CPU: &str = "/sys/devices/system/cpu";

/// Who decides on this machine, as far as rules ask.
#[derive(Debug, Default)]
pub struct Drivers {
    /// The driver of the cores' frequency.
    pub cpufreq: Option<String>,
    /// The governor of the first CPU.
    pub governor: Option<String>,
    /// The vendor, as CPUID writes it.
    pub vendor: Option<String>,
    /// The family.
    pub family: Option<u32>,
    /// The model.
    pub model: Option<u32>,
    /// Whether cores are of several types.
    pub is_hybrid: bool,
    /// Whether an AMD processor announces the register that switches prefetchers off.
    pub has_prefetch_control: bool,
}

impl Drivers {
    /// Those of a machine.
    pub fn of(machine: &Machine) -> Drivers {
        let read = |path: String| machine.tree.read(&path).ok().map(|text| text.trim().to_owned());
        let first = online(machine).iter().next().unwrap_or(CpuId(0));
        let cpufreq = |file: &str| read(format!("{CPU}/cpu{first}/cpufreq/{file}"));
        let signature = machine.cpuid.leaf(1, 0).map(|leaf| leaf.eax);
        let vendor = machine.cpuid.leaf(0, 0).map(|leaf| {
            let words = [leaf.ebx, leaf.edx, leaf.ecx];
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            String::from_utf8_lossy(&bytes).into_owned()
        });
        Drivers {
            cpufreq: cpufreq("scaling_driver"),
            governor: cpufreq("scaling_governor"),
            vendor,
            family: signature.map(family),
            model: signature.map(model),
            is_hybrid: machine.cpuid.leaf(7, 0).is_some_and(|leaf| leaf.edx >> 15 & 1 == 1),
            has_prefetch_control: machine
                .cpuid
                .leaf(0x8000_0021, 0)
                .is_some_and(|leaf| leaf.eax >> 13 & 1 == 1),
        }
    }

    /// Whether the vendor is that one.
    pub(crate) fn is(&self, vendor: &str) -> bool {
        self.vendor.as_deref() == Some(vendor)
    }
}

/// The displayed family of CPUID leaf 1.
///
/// # Source
/// Intel SDM volume 2A, CPUID; AMD APM volume 3, E.3.2.
fn family(signature: u32) -> u32 {
    let family = signature >> 8 & 0xf;
    if family == 0xf { family + (signature >> 20 & 0xff) } else { family }
}

/// The displayed model of CPUID leaf 1.
fn model(signature: u32) -> u32 {
    let (model, beyond) = (signature >> 4 & 0xf, signature >> 16 & 0xf);
    if signature >> 8 & 0xf >= 6 { beyond << 4 | model } else { model }
}

/// The CPUs that the kernel knows of; those that are switched off among them.
pub(crate) fn present(machine: &Machine) -> CpuSet {
    let list = |file: &str| machine.tree.read(&format!("{CPU}/{file}")).ok()?.parse().ok();
    let present: CpuSet = list("present").or_else(|| list("online")).unwrap_or_default();
    present.difference(&machine::facts::not_shown(machine, &present))
}

/// The CPUs that are switched off, as far as they are shown.
pub(crate) fn off(machine: &Machine) -> CpuSet {
    present(machine).difference(&online(machine))
}

/// The CPUs that are switched on.
pub(crate) fn online(machine: &Machine) -> CpuSet {
    let list = machine.tree.read(&format!("{CPU}/online"));
    list.ok().and_then(|list| list.parse().ok()).unwrap_or_else(|| present(machine))
}
