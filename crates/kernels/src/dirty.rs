//! Vector registers whose upper halves are left dirty on purpose.
//!
//! While the upper half of a vector register holds anything but zeros, some CPUs pay for it:
//! instructions in the encoding of SSE depend on it or wait for it, and the clock may stay at the
//! licence of the wide register. A CPU that keeps such state need not execute a single wide
//! instruction, so it belongs to the conditions of a measurement.

use model::{Isa, Obstacle, Unavailable};

use crate::stream::is_detected;
#[cfg(target_arch = "x86_64")]
use crate::xstate::in_use;

/// Which register is to be left dirty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirtyUpper {
    /// `zmm15`, or `ymm15` without AVX-512: one of the registers that `vzeroupper` cleans.
    Register15,
    /// `zmm16`: one of those that AVX-512 added, which `vzeroupper` leaves alone.
    Register16,
}

impl DirtyUpper {
    /// The right to make it dirty, or what this CPU and its operating system lack for it.
    pub fn available(self) -> Result<Dirtier, Unavailable> {
        let lacks = |isa: Isa| {
            let why = format!("this CPU, or the system that runs it, lacks {}", isa.name());
            Unavailable::new(Obstacle::Hardware, "dirty upper halves", why)
        };
        match self {
            DirtyUpper::Register15 if is_detected(Isa::Avx512f) => Ok(ZMM15),
            DirtyUpper::Register15 if is_detected(Isa::Avx) => Ok(YMM15),
            DirtyUpper::Register15 => Err(lacks(Isa::Avx)),
            DirtyUpper::Register16 if is_detected(Isa::Avx512f) => Ok(ZMM16),
            DirtyUpper::Register16 => Err(lacks(Isa::Avx512f)),
        }
    }
}

/// Makes the upper half of one register dirty. Only [`DirtyUpper::available`] gives one.
#[derive(Debug, Clone, Copy)]
pub struct Dirtier {
    register: &'static str,
    entry: DirtyFn,
    /// The parts of the register that XSAVE knows as upper halves, as bits of XINUSE.
    components: u64,
}

impl Dirtier {
    /// The register, as an assembler spells it: `zmm15`.
    pub fn register(&self) -> &'static str {
        self.register
    }

    /// Fills the register with ones, on the calling thread, and leaves it so.
    ///
    /// It is one instruction as wide as the register, which may ask for the licence of its width:
    /// what it leaves behind is seen alone only after that licence has ended.
    ///
    /// # How long it lasts
    ///
    /// The system saves the state with the thread, and compilers may overwrite a register that a
    /// callee may change, though they seldom do so with this one. `vzeroupper` cleans registers up
    /// to 15. Each kernel of the AVX and AVX-512 streams ends with it, and compiled code that uses
    /// AVX does so too, so register 15 must be made dirty before each call. Inside of those kernels
    /// it is a constant, so that only scalar and SSE streams run beside a dirty register 15.
    /// Register 16 stays dirty until something overwrites it; here only the streams in register 16
    /// do so.
    #[inline]
    pub fn run(&self) {
        // SAFETY: `DirtyUpper::available`, the only maker of this type, has found the instruction
        // set of the entry. It changes one register, which is the callee's.
        unsafe { (self.entry)() }
    }

    /// Whether the CPU keeps state of such upper halves, of this register or of another one; `None`
    /// where it does not tell.
    ///
    /// A CPU may say yes although all of them are zero, but never no while one is not.
    ///
    /// # Source
    ///
    /// Intel SDM volume 1, section 13.6 (XINUSE), and volume 2, XGETBV with ECX = 1, which is there
    /// where CPUID 0Dh.1 EAX\[2\] is set.
    pub fn is_in_use(&self) -> Option<bool> {
        in_use().map(|components| components & self.components == self.components)
    }
}

/// No such state on this architecture.
#[cfg(target_arch = "aarch64")]
fn in_use() -> Option<u64> {
    None
}

#[cfg(target_arch = "x86_64")]
type DirtyFn = unsafe extern "sysv64" fn();
#[cfg(target_arch = "aarch64")]
type DirtyFn = unsafe extern "C" fn();

/// A dirtier: the register, the instruction that fills it, and its components of XINUSE.
macro_rules! dirtier {
    ($name:ident, $register:literal, $fill:literal, $components:expr) => {
        const $name: Dirtier = {
            #[cfg(target_arch = "x86_64")]
            #[unsafe(naked)]
            unsafe extern "sysv64" fn fill() {
                core::arch::naked_asm!($fill, "ret")
            }
            // AArch64 has none of the instruction sets, so nobody reaches it.
            #[cfg(target_arch = "aarch64")]
            unsafe extern "C" fn fill() {}
            Dirtier { register: $register, entry: fill, components: $components }
        };
    };
}

/// XINUSE: the upper half of one of YMM 0 to 15.
const YMM_HIGH: u64 = 1 << 2;
/// XINUSE: the upper half of one of ZMM 0 to 15.
const ZMM_HIGH: u64 = 1 << 6;
/// XINUSE: one of ZMM 16 to 31.
const HIGH_ZMM: u64 = 1 << 7;

dirtier!(YMM15, "ymm15", "vcmptrueps ymm15, ymm15, ymm15", YMM_HIGH);
dirtier!(ZMM15, "zmm15", "vpternlogd zmm15, zmm15, zmm15, 0xff", YMM_HIGH | ZMM_HIGH);
dirtier!(ZMM16, "zmm16", "vpternlogd zmm16, zmm16, zmm16, 0xff", HIGH_ZMM);

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use std::arch::asm;
    use std::arch::x86_64::_xrstor64;

    use super::*;

    /// The lowest 64 bits of the upper half of `$register`, right behind a dirtier.
    macro_rules! upper_half_after {
        ($dirtier:ident, $extract:literal) => {{
            let found: u64;
            // SAFETY: the caller found the instruction set of the dirtier, which is that of what
            // reads the register too. Both change registers of a callee, which are declared.
            unsafe {
                asm!(
                    "call {entry}",
                    $extract,
                    "vmovq rax, xmm0",
                    "vzeroupper",
                    entry = in(reg) $dirtier.entry,
                    lateout("rax") found,
                    clobber_abi("sysv64"),
                );
            }
            found
        }};
    }

    #[test]
    fn upper_halves_hold_ones() {
        if is_detected(Isa::Avx) {
            assert_eq!(upper_half_after!(YMM15, "vextractf128 xmm0, ymm15, 1"), u64::MAX);
        }
        if is_detected(Isa::Avx512f) {
            assert_eq!(upper_half_after!(ZMM15, "vextractf64x4 ymm0, zmm15, 1"), u64::MAX);
            assert_eq!(upper_half_after!(ZMM16, "vextractf64x4 ymm0, zmm16, 1"), u64::MAX);
        }
    }

    /// An area as XRSTOR reads it: no component in it, so that each one takes its first state.
    #[repr(C, align(64))]
    struct Area([u8; 1024]);

    fn clean() {
        #[target_feature(enable = "xsave")]
        fn restore() {
            // SAFETY: the header asks for first states, and of upper halves alone. None of them is
            // in use: this crate is not compiled for AVX.
            unsafe { _xrstor64(Area([0; 1024]).0.as_ptr(), YMM_HIGH | ZMM_HIGH | HIGH_ZMM) }
        }
        // SAFETY: the caller knows that there is XGETBV, which is a part of XSAVE.
        unsafe { restore() }
    }

    #[test]
    fn a_dirty_register_is_in_use() {
        let flags = std::fs::read_to_string("/proc/cpuinfo").expect("it can be read");
        let tells = flags.split_whitespace().any(|flag| flag == "xgetbv1");
        assert_eq!(in_use().is_some(), tells, "XGETBV with ECX = 1");
        for which in [DirtyUpper::Register15, DirtyUpper::Register16] {
            let Ok(dirtier) = which.available() else { continue };
            if tells {
                // What it says now is not checked: it may say yes at any time.
                clean();
            }
            dirtier.run();
            assert_eq!(dirtier.is_in_use(), tells.then_some(true), "{}", dirtier.register());
        }
    }

    #[test]
    fn the_widest_register_that_there_is_serves() {
        let register = |which: DirtyUpper| match which.available() {
            Ok(dirtier) => dirtier.register().to_owned(),
            Err(unavailable) => unavailable.why,
        };
        let lacks = |name| format!("this CPU, or the system that runs it, lacks {name}");
        let (avx, avx512) = (is_detected(Isa::Avx), is_detected(Isa::Avx512f));
        let narrow = if avx { "ymm15".to_owned() } else { lacks("avx") };
        let fifteen = if avx512 { "zmm15".to_owned() } else { narrow };
        let sixteen = if avx512 { "zmm16".to_owned() } else { lacks("avx512f") };
        assert_eq!(register(DirtyUpper::Register15), fifteen);
        assert_eq!(register(DirtyUpper::Register16), sixteen);
    }
}
