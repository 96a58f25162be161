//! How many counters a thread has.

use ::model::counters::Limits;
use ::model::{CpuId, Obstacle, Reading, Unavailable};
use sys::cpuid::Leaf;

use crate::ports::Machine;

/// The counters of a CPU.
///
/// # Error
/// Where the CPU does not say how many it has, as on AArch64.
///
/// # Source
/// Intel SDM volume 2A, CPUID 0Ah: EAX\[7:0\] version, EAX\[15:8\] general counters of a logical
/// processor, EAX\[23:16\] their width, EDX\[4:0\] fixed ones, and from version 5 on
/// those whose bits are set in ECX. AMD APM volume 3, CPUID 8000_0022h:
/// EBX\[3:0\] where EAX\[0\] is set; before that six where 8000_0001h ECX\[23\] is set, else four; volume
/// 2, "Performance Monitoring Counters": 48 bits.
pub fn limits(machine: &Machine, cpu: CpuId) -> Reading<Limits> {
    let watchdog = machine.tree.read("/proc/sys/kernel/nmi_watchdog");
    let watchdog = watchdog.is_ok_and(|on| on.trim() == "1");
    let known = counters(machine, cpu).map(|(general, fixed_bits, width)| Limits {
        general,
        fixed_bits,
        width,
        watchdog,
    });
    known.ok_or_else(|| {
        let why = match machine.cpuid.leaf(0, 0) {
            Some(_) => format!("CPUID of CPU {cpu} does not say how many counters it has"),
            None => {
                format!("no register that programs may read says how many counters CPU {cpu} has")
            }
        };
        Unavailable::new(Obstacle::Hardware, "number of counters", why)
    })
}

/// Whether leaf 0 of CPUID is one of AMD's, or of Hygon's, whose cores are AMD's: EBX is the start
/// of `AuthenticAMD` or `HygonGenuine`.
pub(crate) fn is_amd(vendor: Leaf) -> bool {
    const OF_AMD: [u32; 2] = [u32::from_le_bytes(*b"Auth"), u32::from_le_bytes(*b"Hygo")];
    OF_AMD.contains(&vendor.ebx)
}

fn counters(machine: &Machine, cpu: CpuId) -> Option<(u32, u32, Option<u32>)> {
    /// Numbers of fixed counters that the kernel's interface has.
    const FIXED_MAX: u32 = 16;
    // Captures hold what differs from CPU to CPU, and the rest once.
    let leaf = |leaf, subleaf| {
        let of_cpu = machine.cpuid.leaf_of(cpu, leaf, subleaf);
        of_cpu.or_else(|| machine.cpuid.leaf(leaf, subleaf))
    };
    if is_amd(leaf(0, 0)?) {
        let announced = leaf(0x8000_0022, 0).filter(|leaf| leaf.eax & 1 == 1);
        let extended = || leaf(0x8000_0001, 0).map(|leaf| leaf.ecx >> 23 & 1 == 1);
        let general = match announced {
            Some(leaf) => leaf.ebx & 0xf,
            None if extended()? => 6,
            None => 4,
        };
        return Some((general, 0, Some(48)));
    }
    let leaf = leaf(0xa, 0).filter(|leaf| leaf.eax & 0xff != 0)?;
    let width = leaf.eax >> 16 & 0xff;
    let named = if leaf.eax & 0xff >= 5 { leaf.ecx } else { 0 };
    let fixed = ((1u32 << (leaf.edx & 0x1f).min(FIXED_MAX)) - 1) | named & 0xffff;
    Some((leaf.eax >> 8 & 0xff, fixed, Some(width).filter(|width| *width > 0)))
}
