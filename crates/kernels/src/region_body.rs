//! The body of a parallel loop: `x = (10 x + 1) / 15` for each number of an array.
//!
//! It is one piece of machine code, so that programs made by other compilers can execute the same
//! bytes ([`machine_code`]): what differs then is the runtime around it. Two numbers at a time, as
//! compilers do it for any CPU of the architecture; 0.2 stays what it is, so that it may be executed
//! as often as one likes.

use std::ops::Range;
use std::sync::atomic::AtomicU64;

/// What becomes of one number.
pub fn relaxed(x: f64) -> f64 {
    (x * 10.0 + 1.0) / 15.0
}

/// Lets numbers of that range become what [`relaxed`] makes of them. They are kept as their bits.
///
/// # Panics
///
/// Where the range is not one of the array.
pub fn relax(x: &[AtomicU64], range: Range<usize>) {
    assert!(range.start <= range.end && range.end <= x.len(), "BUG: no such part: {range:?}");
    // SAFETY: the range was checked; atomics may be written through a shared reference, and have the
    // layout of what they hold.
    unsafe { cpudyno_relax(x.as_ptr().cast_mut().cast(), range.start, range.end) }
}

/// The machine code of [`relax`]: position-independent, called by the ABI of C with the address of the
/// array, the first place and the one after the last.
pub fn machine_code() -> &'static [u8] {
    let first = (cpudyno_relax as *const ()).cast::<u8>();
    let bytes = &raw const cpudyno_relax_end as usize - first as usize;
    // SAFETY: both symbols are of one piece of code, the first one before the second one.
    unsafe { std::slice::from_raw_parts(first, bytes) }
}

unsafe extern "C" {
    fn cpudyno_relax(x: *mut f64, from: usize, to: usize);
    static cpudyno_relax_end: u8;
}

/// The code between two symbols, at the beginning of a line of the caches.
macro_rules! code {
    ($($line:literal),+ $(,)?) => {
        core::arch::global_asm!(
            ".pushsection .text.cpudyno_relax, \"ax\", %progbits",
            ".p2align 6",
            ".globl cpudyno_relax",
            ".hidden cpudyno_relax",
            ".type cpudyno_relax, %function",
            "cpudyno_relax:",
            $($line,)+
            ".size cpudyno_relax, . - cpudyno_relax",
            ".globl cpudyno_relax_end",
            ".hidden cpudyno_relax_end",
            "cpudyno_relax_end:",
            // An address after everything else belongs to no section.
            "nop",
            ".popsection",
        );
    };
}

#[cfg(target_arch = "x86_64")]
code! {
    "mov rax, 0x4024000000000000",
    "movq xmm1, rax",
    "unpcklpd xmm1, xmm1",
    "mov rax, 0x3ff0000000000000",
    "movq xmm2, rax",
    "unpcklpd xmm2, xmm2",
    "mov rax, 0x402e000000000000",
    "movq xmm3, rax",
    "unpcklpd xmm3, xmm3",
    "lea rax, [rsi + 2]",
    "cmp rax, rdx",
    "ja 3f",
    ".p2align 5",
    "2:",
    "movupd xmm0, [rdi + 8*rsi]",
    "mulpd xmm0, xmm1",
    "addpd xmm0, xmm2",
    "divpd xmm0, xmm3",
    "movupd [rdi + 8*rsi], xmm0",
    "mov rsi, rax",
    "add rax, 2",
    "cmp rax, rdx",
    "jbe 2b",
    "3:",
    "cmp rsi, rdx",
    "jae 4f",
    "movsd xmm0, [rdi + 8*rsi]",
    "mulsd xmm0, xmm1",
    "addsd xmm0, xmm2",
    "divsd xmm0, xmm3",
    "movsd [rdi + 8*rsi], xmm0",
    "4:",
    "ret",
}

#[cfg(target_arch = "aarch64")]
code! {
    "fmov v1.2d, #10.0",
    "fmov v2.2d, #1.0",
    "fmov v3.2d, #15.0",
    "add x3, x1, #2",
    "cmp x3, x2",
    "b.hi 3f",
    "2:",
    "add x4, x0, x1, lsl #3",
    "ldr q0, [x4]",
    "fmul v0.2d, v0.2d, v1.2d",
    "fadd v0.2d, v0.2d, v2.2d",
    "fdiv v0.2d, v0.2d, v3.2d",
    "str q0, [x4]",
    "mov x1, x3",
    "add x3, x3, #2",
    "cmp x3, x2",
    "b.ls 2b",
    "3:",
    "cmp x1, x2",
    "b.hs 4f",
    "ldr d0, [x0, x1, lsl #3]",
    "fmul d0, d0, d1",
    "fadd d0, d0, d2",
    "fdiv d0, d0, d3",
    "str d0, [x0, x1, lsl #3]",
    "4:",
    "ret",
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;

    #[test]
    fn every_part_of_an_array_becomes_what_it_should_and_nothing_else_does() {
        const LENGTH: usize = 9;
        for from in 0..=LENGTH {
            for to in from..=LENGTH {
                let x: Vec<AtomicU64> =
                    (0..LENGTH).map(|i| AtomicU64::new((i as f64 * 0.37).to_bits())).collect();
                relax(&x, from..to);
                for (place, bits) in x.iter().enumerate() {
                    let before = place as f64 * 0.37;
                    let expected =
                        if (from..to).contains(&place) { relaxed(before) } else { before };
                    assert_eq!(bits.load(Relaxed), expected.to_bits(), "{from}..{to}: {place}");
                }
            }
        }
    }

    #[test]
    fn a_fifth_stays_what_it_is() {
        assert_eq!(relaxed(0.2).to_bits(), 0.2f64.to_bits());
    }

    #[test]
    fn the_machine_code_ends_with_its_return() {
        let code = machine_code();
        #[cfg(target_arch = "x86_64")]
        assert_eq!(code.last(), Some(&0xc3));
        #[cfg(target_arch = "aarch64")]
        assert_eq!(code.last_chunk(), Some(&[0xc0, 0x03, 0x5f, 0xd6]));
        assert!((64..=256).contains(&code.len()), "{}", code.len());
    }
}
