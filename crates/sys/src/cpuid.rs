//! The CPUID instruction, executed on the CPU that the calling thread runs on.

/// The four registers that a leaf answers with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leaf {
    /// EAX.
    pub eax: u32,
    /// EBX.
    pub ebx: u32,
    /// ECX.
    pub ecx: u32,
    /// EDX.
    pub edx: u32,
}

/// A leaf, where this CPU announces it.
///
/// The hypervisor's range (4000_0000h and up) counts as announced only where CPUID 1 ECX\[31\] says
/// that there is a hypervisor: bare machines answer those leaves with the data of another leaf.
#[cfg(target_arch = "x86_64")]
pub fn leaf(leaf: u32, subleaf: u32) -> Option<Leaf> {
    use std::arch::x86_64::__cpuid_count;
    let base = leaf & 0xf000_0000;
    if base == 0x4000_0000 && __cpuid_count(1, 0).ecx >> 31 == 0 {
        return None;
    }
    if leaf > __cpuid_count(base, 0).eax {
        return None;
    }
    let answer = __cpuid_count(leaf, subleaf);
    Some(Leaf { eax: answer.eax, ebx: answer.ebx, ecx: answer.ecx, edx: answer.edx })
}

/// There is no CPUID on this architecture.
#[cfg(not(target_arch = "x86_64"))]
pub fn leaf(_leaf: u32, _subleaf: u32) -> Option<Leaf> {
    None
}
