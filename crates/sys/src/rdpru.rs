//! RDPRU of AMD: the counters of core cycles of the CPU at hand, read in user mode.

/// The instruction, where it may be executed.
#[derive(Debug, Clone, Copy)]
pub struct Rdpru(());

/// Both counters, read one right after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RdpruCounters {
    /// MPERF.
    pub mperf: u64,
    /// APERF.
    pub aperf: u64,
}

#[cfg(target_arch = "x86_64")]
impl Rdpru {
    /// The instruction, where the CPU announces it with both counters and this thread may execute
    /// it.
    ///
    /// # Source
    /// AMD64 APM volume 3, RDPRU: it is there where CPUID 8000_0008h EBX\[4\] says so, EDX\[31:16\]
    /// is the highest register; with CR4.TSD it faults in user mode, as RDTSC does, which
    /// PR_GET_TSC of prctl(2) tells.
    pub fn new() -> Option<Rdpru> {
        let leaf = crate::cpuid::leaf(0x8000_0008, 0)?;
        let announced = leaf.ebx >> 4 & 1 == 1 && leaf.edx >> 16 >= APERF;
        (announced && may_read_clocks()).then_some(Rdpru(()))
    }

    /// Reads both counters of the CPU that the calling thread runs on, after all instructions
    /// before it.
    pub fn read(self) -> RdpruCounters {
        RdpruCounters { mperf: rdpru(MPERF), aperf: rdpru(APERF) }
    }
}

#[cfg(target_arch = "x86_64")]
const MPERF: u32 = 0;
#[cfg(target_arch = "x86_64")]
const APERF: u32 = 1;

/// Whether RDTSC, and with it RDPRU, does not fault in this thread.
#[cfg(target_arch = "x86_64")]
fn may_read_clocks() -> bool {
    let mut mode: libc::c_int = 0;
    // SAFETY: the kernel writes one int, which lives on this stack.
    let done = unsafe { libc::prctl(libc::PR_GET_TSC, &raw mut mode) };
    done == 0 && mode == libc::PR_TSC_ENABLE
}

#[cfg(target_arch = "x86_64")]
fn rdpru(register: u32) -> u64 {
    let (high, low): (u64, u64);
    // SAFETY: an `Rdpru` exists only where CPUID announces the instruction and this register, and
    // the kernel lets user mode execute it; it touches no memory. Bytes, because not every
    // assembler knows the instruction.
    unsafe {
        std::arch::asm!(
            "lfence", ".byte 0x0f, 0x01, 0xfd",
            in("ecx") register, out("rdx") high, out("rax") low,
            options(nostack, preserves_flags),
        );
    }
    high << 32 | low
}

#[cfg(not(target_arch = "x86_64"))]
impl Rdpru {
    /// There is no RDPRU on this architecture.
    pub fn new() -> Option<Rdpru> {
        None
    }

    /// Never called: there is no `Rdpru` on this architecture.
    pub fn read(self) -> RdpruCounters {
        unreachable!("BUG: an Rdpru cannot be made on this architecture")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_there_exactly_where_cpuid_announces_it_and_it_counts() {
        let announced = crate::cpuid::leaf(0x8000_0008, 0)
            .is_some_and(|leaf| leaf.ebx >> 4 & 1 == 1 && leaf.edx >> 16 >= 1);
        let found = Rdpru::new();
        assert_eq!(found.is_some(), announced);
        if let Some(rdpru) = found {
            let (first, second) = (rdpru.read(), rdpru.read());
            assert!(second.aperf > first.aperf && second.mperf > first.mperf);
        }
    }
}
