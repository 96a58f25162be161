//! The counters of a core, and which events fit on them together.

/// Where an event can be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// The counters that can count it, one bit each: see [`general_counters`] and [`fixed_counter`].
    pub counters: u128,
    /// How many of them it takes at once.
    pub takes: u32,
}

/// So many general counters from the first on, as bits.
pub fn general_counters(number: u32) -> u128 {
    (1u128 << number.min(u64::BITS)) - 1
}

/// The fixed counter of that number, as a bit.
pub fn fixed_counter(number: u32) -> u128 {
    1u128.checked_shl(u64::BITS + number).unwrap_or(0)
}

/// Whether all of them can be counted at once on these counters.
pub fn fits(available: u128, wanted: &[Needs]) -> bool {
    let mut holders = [None; u128::BITS as usize];
    let seats = wanted.iter().flat_map(|needs| (0..needs.takes.max(1)).map(|_| needs.counters));
    let seats: Vec<u128> = seats.map(|counters| counters & available).collect();
    (0..seats.len()).all(|seat| place(seat, &seats, &mut holders, &mut 0))
}

/// Finds a counter for one, and another one for whoever holds it (an augmenting path).
fn place(
    seat: usize,
    seats: &[u128],
    holders: &mut [Option<usize>; u128::BITS as usize],
    seen: &mut u128,
) -> bool {
    loop {
        let left = seats[seat] & !*seen;
        if left == 0 {
            return false;
        }
        let counter = left.trailing_zeros() as usize;
        *seen |= 1 << counter;
        let free = match holders[counter] {
            None => true,
            Some(holder) => place(holder, seats, holders, seen),
        };
        if free {
            holders[counter] = Some(seat);
            return true;
        }
    }
}

/// The counters of a core that a thread on it may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// General counters: with SMT, those that are left to each thread.
    pub general: u32,
    /// Fixed counters, a bit each: numbers may be left out. There are none on AMD.
    pub fixed_bits: u32,
    /// Bits of a general counter; none: the CPU does not say.
    pub width: Option<u32>,
    /// Whether the kernel's watchdog holds one of them.
    pub watchdog: bool,
}

impl Limits {
    /// The fixed counter of cycles.
    ///
    /// # Source
    /// Intel SDM volume 3B, table of fixed-function counters: 0 instructions, 1 cycles, 2 reference
    /// cycles, 3 slots.
    pub const CYCLES: u32 = 1;

    /// Whether there is a fixed counter of that number.
    pub fn has_fixed(&self, number: u32) -> bool {
        self.fixed_bits.checked_shr(number).is_some_and(|bits| bits & 1 == 1)
    }

    /// The counters that can be had, as bits: all but the one of the watchdog, which counts cycles and
    /// takes the fixed counter where there is one.
    pub fn available(&self) -> u128 {
        let fixed = u128::from(self.fixed_bits) << u64::BITS;
        let watchdog = match (self.watchdog, self.has_fixed(Limits::CYCLES)) {
            (false, _) => 0,
            (true, true) => fixed_counter(Limits::CYCLES),
            (true, false) => 1 << self.general.saturating_sub(1),
        };
        (general_counters(self.general) | fixed) & !watchdog
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(counters: u128) -> Needs {
        Needs { counters, takes: 1 }
    }

    #[test]
    fn events_make_room_for_those_that_are_choosier() {
        let any = on(general_counters(4));
        let first = on(0b0001);
        assert!(fits(0b1111, &[any, any, any, first]));
        assert!(!fits(0b1111, &[any, any, any, any, first]));
        assert!(!fits(0b1111, &[first, first]));
        assert!(!fits(0b1110, &[first]));
        assert!(fits(0b11, &[on(0b11), on(0b01)]) && fits(0b11, &[on(0b01), on(0b11)]));
        assert!(fits(0, &[]));
        let cycles = on(general_counters(4) | fixed_counter(1));
        let counters = general_counters(1) | fixed_counter(1);
        assert!(fits(counters, &[cycles, first]) && !fits(counters, &[cycles, first, any]));
    }

    #[test]
    fn some_events_take_two() {
        let wide = Needs { counters: 0b111, takes: 2 };
        assert!(fits(0b111, &[wide, on(0b111)]));
        assert!(!fits(0b111, &[wide, wide]));
        assert!(!fits(0b001, &[wide]));
    }

    /// Against trying every way: all sets of up to four events on four counters.
    #[test]
    fn the_answer_is_that_of_trying_everything() {
        fn by_trying(free: u128, wanted: &[Needs]) -> bool {
            let Some((first, others)) = wanted.split_first() else { return true };
            (0..4).any(|bit| {
                first.counters & free >> bit << bit & 1 << bit != 0
                    && by_trying(free & !(1 << bit), others)
            })
        }
        let mut seen = [0; 2];
        for number in 0..1u32 << 16 {
            let wanted: Vec<Needs> =
                (0..4).map(|i| on(u128::from(number >> (4 * i) & 0xf))).collect();
            let answer = fits(0b1111, &wanted);
            assert_eq!(answer, by_trying(0b1111, &wanted), "{wanted:?}");
            seen[usize::from(answer)] += 1;
        }
        assert!(seen.iter().all(|&count| count > 1000), "{seen:?}");
    }
}
