//! A loop with a branch that nobody can predict: half of the tosses of a coin are guessed wrongly, as a
//! known answer for counters of wrong guesses.

/// Conditional branches in each toss: that of the coin, and that of the loop.
pub const BRANCHES: u64 = 2;

/// Tosses a coin so often, at least once, and returns its state: the next tosses go on from there.
///
/// # Source
/// The coin is bit 62 of a linear congruential generator with the constants of Knuth's MMIX (TAOCP volume
/// 2, section 3.3.4): its period is 2^63 tosses, longer than any history that a CPU keeps.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
pub fn toss(times: u64, state: u64) -> u64 {
    let mut next = state;
    // SAFETY: it changes its three registers and the flags, and touches no memory.
    unsafe {
        std::arch::asm!(
            ".p2align 5",
            "2: imul {state}, {factor}",
            "add {state}, {beside}",
            "bt {state}, 62",
            // What the branch passes over matters to nobody.
            "jc 3f",
            "lea {way}, [{state} + 1]",
            "3: dec {times}",
            "jnz 2b",
            state = inout(reg) next,
            factor = in(reg) FACTOR,
            beside = in(reg) BESIDE,
            way = out(reg) _,
            times = inout(reg) times.max(1) => _,
            options(nomem, nostack),
        );
    }
    next
}

/// Tosses a coin so often, at least once, and returns its state: the next tosses go on from there.
#[cfg(target_arch = "aarch64")]
#[inline(never)]
pub fn toss(times: u64, state: u64) -> u64 {
    let mut next = state;
    // SAFETY: it changes its registers and the flags, and touches no memory.
    unsafe {
        std::arch::asm!(
            ".p2align 5",
            "2: madd {state}, {state}, {factor}, {beside}",
            "tbnz {state}, #62, 3f",
            "add {way}, {state}, #1",
            "3: subs {times}, {times}, #1",
            "b.ne 2b",
            state = inout(reg) next,
            factor = in(reg) FACTOR,
            beside = in(reg) BESIDE,
            way = out(reg) _,
            times = inout(reg) times.max(1) => _,
            options(nomem, nostack),
        );
    }
    next
}

const FACTOR: u64 = 6_364_136_223_846_793_005;
const BESIDE: u64 = 1_442_695_040_888_963_407;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_coin_is_that_of_the_formula() {
        let step = |state: u64| state.wrapping_mul(FACTOR).wrapping_add(BESIDE);
        let after = |times: u64| (0..times).fold(1, |state, _| step(state));
        for times in [1, 2, 7, 1000] {
            assert_eq!(toss(times, 1), after(times));
        }
        assert_eq!(toss(0, 1), after(1));
        let states = std::iter::successors(Some(1), |&state| Some(step(state)));
        let heads = states.take(100_000).filter(|state| state >> 62 & 1 == 1).count();
        assert!((49_000..51_000).contains(&heads), "{heads}");
    }
}
