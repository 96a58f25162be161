//! The pointer chase: loads of which each one must wait for the one before, because it brings the
//! address of the next.
//!
//! A [`Ring`] is a block of memory whose lines are linked into one cycle, in an order that nobody
//! can guess. Time per step is the latency of a load. With several chains at once, which begin
//! evenly spread along the cycle, it tells how many such loads a core keeps in flight.

use std::iter;

use fastrand::Rng;

/// The most chains that are followed at once.
pub const CHAINS_MAX: usize = 16;

/// Bytes of a line: one is in each step.
pub const LINE_BYTES: usize = 64;

/// Steps of a chain are taken so many at a time.
pub const STEPS_AT_ONCE: u64 = 16;

/// Takes so many times [`STEPS_AT_ONCE`] steps on chains at the addresses in a table.
#[cfg(target_arch = "x86_64")]
type WalkFn = unsafe extern "sysv64" fn(*mut u64, u64);
/// Takes so many times [`STEPS_AT_ONCE`] steps on chains at the addresses in a table.
#[cfg(target_arch = "aarch64")]
type WalkFn = unsafe extern "C" fn(*mut u64, u64);

/// By the number of chains less one.
static WALKS: [WalkFn; CHAINS_MAX] = walks!();

/// Numbers in a line.
const WORDS: usize = LINE_BYTES / size_of::<u64>();

/// The order in which lines are visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Walk {
    /// Any order: most steps of a large block lead to another page.
    Random,
    /// All lines of a window in random order before those of the next, which is a random one. While
    /// the CPU remembers the addresses of all pages in a window, a step costs no translation.
    ///
    /// # Caveats
    ///
    /// In windows of a few pages, so many steps lead to a page that was just visited that the CPU
    /// fetches its other lines before they are asked for. Seen on Cascade Lake in 150 MiB of small
    /// pages: 40 to 45 ns in windows of 4 to 64 KiB, 121 to 129 ns from 256 KiB to 4 MiB, 223 ns
    /// without windows; with pages of 2 MiB as well 113 to 124 ns at 256 KiB and 1 MiB.
    Windows {
        /// A multiple of 64.
        bytes: usize,
    },
    /// Each line after the one below it, one step for each: what prefetchers fetch ahead of the walk is
    /// there before it is asked for.
    Ascending,
    /// Every second line, in any order: whoever fetches lines by pairs (Intel's adjacent-line prefetcher)
    /// fetches none that will be asked for, so that misses can be counted.
    Apart,
}

impl Walk {
    /// One line of so many is visited.
    const fn every(self) -> usize {
        if matches!(self, Walk::Apart) { 2 } else { 1 }
    }

    /// In windows that are large enough for nobody to guess the next line, and small enough for
    /// each of [`CHAINS_MAX`] chains to have the addresses of its pages remembered by most CPUs.
    pub const LOCAL: Walk = Walk::Windows { bytes: 256 << 10 };
}

/// Lines of 64 bytes, linked into one cycle.
#[derive(Debug)]
pub struct Ring<'a> {
    /// Of each line, the first number is the address of the next one on the cycle. The others are
    /// notes of the order, which nobody needs any more.
    memory: &'a mut [u64],
    /// One line of so many is on the cycle.
    every: usize,
    /// Where the chains are, by their number less one.
    at: [[u64; CHAINS_MAX]; CHAINS_MAX],
}

impl<'a> Ring<'a> {
    /// Links a block of memory whose address and length are multiples of 64 bytes: at least as
    /// many lines as there are chains, and at most 256 GiB. It needs no other memory than a number
    /// for each window.
    pub fn link(memory: &'a mut [u64], walk: Walk, seed: u64) -> Ring<'a> {
        let every = walk.every();
        let lines = memory.len() / WORDS / every;
        let is_whole = memory.as_ptr().addr().is_multiple_of(LINE_BYTES);
        assert!(is_whole && memory.len().is_multiple_of(WORDS), "BUG: a part of a line");
        let is_right = (CHAINS_MAX..=u32::MAX as usize).contains(&lines);
        assert!(is_right, "BUG: {lines} lines for {CHAINS_MAX} chains");
        let mut random = Rng::with_seed(seed);
        match walk {
            Walk::Random | Walk::Apart => put_in_order(memory, lines, lines, &mut random),
            Walk::Windows { bytes } => {
                let is_window = bytes > 0 && bytes.is_multiple_of(LINE_BYTES);
                assert!(is_window, "BUG: a window of {bytes} bytes");
                put_in_order(memory, lines, bytes / LINE_BYTES, &mut random);
            }
            Walk::Ascending => (0..lines).for_each(|line| note_line(memory, line, line as u64)),
        }
        let base = memory.as_mut_ptr().expose_provenance();
        let address = |line: u64| base as u64 + line * (every * LINE_BYTES) as u64;
        let mut line = line_of(memory, lines - 1);
        for place in 0..lines {
            let next = line_of(memory, place);
            memory[line as usize * every * WORDS] = address(next);
            line = next;
        }
        let begin = |chain: usize, chains: usize| {
            // Chains beyond the wanted ones are never followed.
            let place = chain % chains * lines / chains;
            address(line_of(memory, place))
        };
        let at = std::array::from_fn(|one| std::array::from_fn(|chain| begin(chain, one + 1)));
        Ring { memory, every, at }
    }

    /// The number of lines on the cycle, and of steps of one way round.
    pub fn lines(&self) -> usize {
        self.memory.len() / WORDS / self.every
    }

    /// Takes at least so many steps on each of 1 to 16 chains at once, and returns how many it
    /// took: the next multiple of [`STEPS_AT_ONCE`]. Each goes on where it was left by the last
    /// walk with as many chains.
    ///
    /// # Caveats
    ///
    /// Registers are there for 14 chains. The steps of the others take the way through a vector
    /// register, which costs a few cycles each; that shows in the first-level cache only.
    #[inline]
    pub fn walk(&mut self, chains: usize, steps: u64) -> u64 {
        let which = chains.checked_sub(1).filter(|&which| which < CHAINS_MAX);
        let which = which.expect("BUG: a walk of no chain or of too many");
        let trips = steps.div_ceil(STEPS_AT_ONCE);
        if trips > 0 {
            // SAFETY: the walk follows addresses from one line of the ring to the next, as `link`
            // has written them; the memory is borrowed as long as the ring is there, and nobody
            // else writes to it. It reads and writes the addresses of `chains` chains.
            unsafe { WALKS[which](self.at[which].as_mut_ptr(), trips) };
        }
        trips * STEPS_AT_ONCE
    }

    /// Writes all lines back to memory and drops them from all caches, so that each is a miss until it
    /// was visited.
    pub fn flush(&mut self) {
        flush(self.memory);
    }

    /// The line to which each of so many chains goes next, in a number from 0 on.
    pub fn next_lines(&self, chains: usize) -> impl Iterator<Item = usize> {
        self.at[chains - 1][..chains].iter().map(|&address| self.line_at(address))
    }

    /// Whether all lines are on one cycle. Walks it once, slowly.
    pub fn is_whole(&self) -> bool {
        let next = |&line: &usize| {
            let next = self.line_at(self.memory[line * self.every * WORDS]);
            (next != 0).then_some(next)
        };
        // As many lines as there are without the first one again: none was visited twice, or the
        // way would never have come back to the first.
        let visited = iter::successors(Some(0), next).take(self.lines() + 1).count();
        visited == self.lines()
    }

    fn line_at(&self, address: u64) -> usize {
        (address as usize - self.memory.as_ptr().addr()) / LINE_BYTES / self.every
    }
}

/// Writes the lines of a block of memory back, and drops them from all caches.
pub fn flush<T>(memory: &[T]) {
    let first = memory.as_ptr().cast::<u64>();
    for offset in (0..size_of_val(memory)).step_by(LINE_BYTES) {
        flush_line(first.wrapping_byte_add(offset));
    }
}

/// Drops a line from all caches (Intel SDM volume 2A, CLFLUSH).
#[cfg(target_arch = "x86_64")]
fn flush_line(line: *const u64) {
    // SAFETY: CLFLUSH is part of SSE2, which every x86-64 has; it changes no memory, and faults where a
    // load would: the line is borrowed by whoever calls.
    unsafe { std::arch::x86_64::_mm_clflush(line.cast()) };
}

/// Drops a line from all caches (Arm ARM, DC CIVAC), which Linux lets programs do.
#[cfg(target_arch = "aarch64")]
fn flush_line(line: *const u64) {
    // SAFETY: it changes no memory, and faults where a load would: the line is borrowed by whoever calls.
    unsafe { std::arch::asm!("dc civac, {}", in(reg) line, options(nostack, preserves_flags)) };
}

/// The line that is visited at a place on the cycle is noted in the numbers of the lines behind the
/// first one, by two in a number: so closely together that to shuffle them is quick.
fn slot(place: usize) -> (usize, u32) {
    const SLOTS: usize = 2 * (WORDS - 1);
    let within = place % SLOTS;
    (place / SLOTS * WORDS + 1 + within / 2, within as u32 % 2 * u32::BITS)
}

/// The line that is visited at a place on the cycle.
fn line_of(memory: &[u64], place: usize) -> u64 {
    let (word, shift) = slot(place);
    u64::from((memory[word] >> shift) as u32)
}

fn note_line(memory: &mut [u64], place: usize, line: u64) {
    let (word, shift) = slot(place);
    let others = memory[word] & !(u64::from(u32::MAX) << shift);
    memory[word] = others | line << shift;
}

/// Notes which line is visited at each place: windows in random order, and the lines of each in
/// random order.
fn put_in_order(memory: &mut [u64], lines: usize, window: usize, random: &mut Rng) {
    let mut windows: Vec<usize> = (0..lines.div_ceil(window)).collect();
    random.shuffle(&mut windows);
    let mut place = 0;
    for number in windows {
        let first = number * window;
        let count = window.min(lines - first);
        for line in 0..count {
            // A new line takes the place of any, which moves to the end.
            let other = place + random.usize(..=line);
            note_line(memory, place + line, line_of(memory, other));
            note_line(memory, other, (first + line) as u64);
        }
        place += count;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Memory of so many lines, in whole lines.
    fn memory(lines: usize) -> Vec<[u64; 16]> {
        vec![[7; 16]; lines / 2 + 1]
    }

    fn block(memory: &mut [[u64; 16]], lines: usize) -> &mut [u64] {
        let all = memory.as_flattened_mut();
        let misplaced = all.as_ptr().addr().wrapping_neg() % LINE_BYTES / size_of::<u64>();
        &mut all[misplaced..][..lines * WORDS]
    }

    /// The lines in the order of a walk of one chain, once round.
    fn order(ring: &Ring<'_>) -> Vec<usize> {
        let next = |&line: &usize| Some(ring.line_at(ring.memory[line * ring.every * WORDS]));
        iter::successors(ring.next_lines(1).next(), next).take(ring.lines()).collect()
    }

    #[test]
    fn all_lines_are_on_one_cycle() {
        for lines in [16, 17, 64, 65, 1000, 4099] {
            for walk in [
                Walk::Random,
                Walk::Windows { bytes: 64 },
                Walk::Windows { bytes: 4096 },
                Walk::Windows { bytes: 1 << 21 },
                Walk::Ascending,
            ] {
                for seed in 0..3 {
                    let mut memory = memory(lines);
                    let ring = Ring::link(block(&mut memory, lines), walk, seed);
                    assert!(ring.is_whole(), "{lines} lines, {walk:?}");
                    assert_eq!(ring.lines(), lines);
                    let visited: BTreeSet<_> = order(&ring).into_iter().collect();
                    assert_eq!(visited.len(), lines, "{walk:?}");
                }
            }
        }
    }

    #[test]
    fn a_broken_ring_is_not_whole() {
        let mut memory = memory(100);
        let ring = Ring::link(block(&mut memory, 100), Walk::Random, 1);
        // One line is left out.
        let skipped = ring.line_at(ring.memory[0]);
        ring.memory[0] = ring.memory[skipped * WORDS];
        assert!(!ring.is_whole());
        // The way leads into a circle without the first line.
        ring.memory[skipped * WORDS] = ring.memory.as_ptr().addr() as u64 + skipped as u64 * 64;
        ring.memory[0] = ring.memory[skipped * WORDS];
        assert!(!ring.is_whole());
    }

    #[test]
    fn walks_follow_the_lines() {
        let lines = 1009;
        let mut memory = memory(lines);
        let mut ring = Ring::link(block(&mut memory, lines), Walk::Random, 3);
        let order = order(&ring);
        let mut place = vec![0; lines];
        for (at, &line) in order.iter().enumerate() {
            place[line] = at;
        }
        for chains in 1..=CHAINS_MAX {
            let begin: Vec<_> = ring.next_lines(chains).map(|line| place[line]).collect();
            let wanted: Vec<_> = (0..chains).map(|chain| chain * lines / chains).collect();
            assert_eq!(begin, wanted, "evenly spread");
            let mut total = 0;
            for (steps, done) in [(0, 0), (1, 16), (16, 16), (17, 32), (5000, 5008)] {
                assert_eq!(ring.walk(chains, steps), done);
                total += done as usize;
                let now: Vec<_> = ring.next_lines(chains).map(|line| place[line]).collect();
                let wanted: Vec<_> = begin.iter().map(|from| (from + total) % lines).collect();
                assert_eq!(now, wanted, "{chains} chains, {total} steps");
            }
        }
    }

    #[test]
    fn nobody_can_guess_the_next_line() {
        let lines = 10_000;
        let mut memory = memory(lines);
        let ring = Ring::link(block(&mut memory, lines), Walk::Random, 4);
        let order = order(&ring);
        let steps: Vec<_> =
            order.windows(2).map(|two| two[1].cast_signed() - two[0].cast_signed()).collect();
        let near = steps.iter().filter(|step| step.unsigned_abs() <= 10).count();
        assert!(near < 60, "{near} of {lines} steps lead to one of 20 neighbours");
        let upwards = steps.iter().filter(|&&step| step > 0).count();
        assert!((4500..5500).contains(&upwards), "{upwards} of {lines} steps lead upwards");
        // No step is more frequent than chance allows.
        let different: BTreeSet<_> = steps.iter().collect();
        assert!(different.len() > 6000, "{} different steps", different.len());
        let other = Ring::link(block(&mut memory, lines), Walk::Random, 5);
        assert_ne!(self::order(&other), order, "another seed, another order");
    }

    #[test]
    fn windows_are_visited_one_after_the_other() {
        let (lines, per_window) = (64 * 100 + 10, 64);
        let mut memory = memory(lines);
        let walk = Walk::Windows { bytes: per_window * LINE_BYTES };
        let ring = Ring::link(block(&mut memory, lines), walk, 6);
        let order = order(&ring);
        let windows: Vec<_> = order.iter().map(|line| line / per_window).collect();
        let changes = windows.windows(2).filter(|two| two[0] != two[1]).count();
        assert_eq!(changes, 100, "each of 101 windows is entered once");
        let mut entered = windows.clone();
        entered.dedup();
        let in_order = entered.windows(2).filter(|two| two[0] + 1 == two[1]).count();
        assert!(in_order < 10, "{in_order} windows follow their neighbour");
        let pairs = order.windows(2);
        let in_order = pairs.filter(|two| two[0] + 1 == two[1]).count();
        assert!(in_order < lines / 20, "{in_order} lines follow their neighbour");
    }

    #[test]
    fn lines_apart_leave_out_their_neighbours() {
        let lines = 2 * 1009;
        let mut memory = memory(lines);
        let mut ring = Ring::link(block(&mut memory, lines), Walk::Apart, 3);
        assert_eq!((ring.lines(), ring.is_whole()), (1009, true));
        let visited: BTreeSet<_> = order(&ring).into_iter().collect();
        assert_eq!(visited.len(), 1009);
        let first = ring.memory.as_ptr().addr() as u64;
        assert!(ring.at[0].iter().take(1).all(|at| (at - first).is_multiple_of(128)));
        let (begin, round) = (ring.at[0][0], 1009 * STEPS_AT_ONCE);
        assert_eq!((ring.walk(1, round), ring.at[0][0]), (round, begin), "once round is home");
    }

    #[test]
    fn an_ascending_walk_goes_from_each_line_to_the_next() {
        for lines in [16, 1009] {
            let mut memory = memory(lines);
            let ring = Ring::link(block(&mut memory, lines), Walk::Ascending, 7);
            assert_eq!(order(&ring), (0..lines).collect::<Vec<_>>());
        }
    }

    #[test]
    #[should_panic(expected = "BUG: a walk of no chain")]
    fn too_many_chains_are_a_bug() {
        let mut memory = memory(32);
        Ring::link(block(&mut memory, 32), Walk::Random, 1).walk(17, 1);
    }

    #[test]
    #[should_panic(expected = "BUG: a part of a line")]
    fn a_part_of_a_line_is_a_bug() {
        let mut memory = memory(32);
        Ring::link(&mut block(&mut memory, 32)[1..], Walk::Random, 1);
    }
}
