//! The CPUID instruction, and the register that says what the operating system allows of it.

use std::thread;

use model::CpuId;

use crate::affinity;

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

/// A leaf of the CPU that the calling thread runs on, where that CPU announces it.
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

/// A leaf of one CPU, read by a short-lived thread that is pinned there; `None` also where the
/// kernel does not let this process run there.
pub fn leaf_on(cpu: CpuId, number: u32, subleaf: u32) -> Option<Leaf> {
    let there = move || {
        affinity::pin(cpu).ok()?;
        leaf(number, subleaf)
    };
    thread::Builder::new().spawn(there).ok()?.join().ok()?
}

/// XCR0, the register files that the operating system saves; `None` where it saves none by XSAVE.
///
/// # Source
/// Intel SDM volume 1, section 13.3: XGETBV is there where CPUID 1 ECX\[27\] (OSXSAVE) is set.
#[cfg(target_arch = "x86_64")]
pub fn xcr0() -> Option<u64> {
    const OSXSAVE: u32 = 1 << 27;
    #[target_feature(enable = "xsave")]
    fn xgetbv() -> u64 {
        // SAFETY: XCR0 is there wherever XGETBV may be executed.
        unsafe { std::arch::x86_64::_xgetbv(0) }
    }
    let enabled = leaf(1, 0)?.ecx & OSXSAVE != 0;
    // SAFETY: OSXSAVE says that XSAVE is there and that the operating system has enabled it.
    enabled.then(|| unsafe { xgetbv() })
}

/// There is no XCR0 on this architecture.
#[cfg(not(target_arch = "x86_64"))]
pub fn xcr0() -> Option<u64> {
    None
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn every_cpu_that_may_be_used_answers_and_absent_ones_do_not() {
        for cpu in affinity::current().unwrap().iter() {
            let here = leaf(0, 0).unwrap();
            assert_eq!(leaf_on(cpu, 0, 0), Some(here), "{cpu}");
        }
        assert_eq!(leaf_on(CpuId(60_000), 0, 0), None);
        assert_eq!(leaf(0x0fff_ffff, 0), None);
    }

    #[test]
    fn xcr0_agrees_with_what_the_compiler_detects() {
        const AVX: u64 = 0b110;
        let enabled = xcr0().unwrap_or_default();
        let avx = leaf(1, 0).unwrap().ecx >> 28 & 1 == 1;
        assert_eq!(avx && enabled & AVX == AVX, std::is_x86_feature_detected!("avx"));
    }
}
