//! How much a counter grew, from note to note.

use model::growth::grown;
use model::{Obstacle, Reading, Unavailable};
use sys::perf_open::Count;

/// Whole numbers from here on are not all numbers of a record.
const EXACT: u64 = 1 << 53;

/// A whole number as a record has it.
pub(super) fn exact(what: &str, number: u64) -> Reading<f64> {
    if number <= EXACT {
        return Ok(number as f64);
    }
    let why = format!("{number:#x} has more than 53 bits, which a number of a record cannot hold");
    Err(Unavailable::new(Obstacle::Cpudyno, what, why)
        .with_remedy("read its lower half, `u32`, or how much it grew, `delta`"))
}

/// A counter, as it was read last, and how much it grew since somebody asked.
#[derive(Debug, Clone)]
pub(super) struct Growing<T> {
    last: Option<Reading<T>>,
    sum: Reading<u64>,
}

impl<T: Clone> Growing<T> {
    pub(super) fn new() -> Growing<T> {
        Growing { last: None, sum: Ok(0) }
    }

    /// Takes note of what it says: what came between two notes is told by `between`, of the later one
    /// and of the one before.
    pub(super) fn note(&mut self, now: Reading<T>, between: impl Fn(T, T) -> Reading<u64>) {
        let Some(before) = self.last.replace(now.clone()) else { return };
        let more = now.and_then(|now| between(now, before?));
        let so_far = std::mem::replace(&mut self.sum, Ok(0));
        self.sum = so_far.and_then(|so_far| Ok(so_far.saturating_add(more?)));
    }

    /// What it said last.
    pub(super) fn last(&self, what: &str) -> Reading<T> {
        let unread = || Unavailable::new(Obstacle::Measurement, what, "it was not read");
        self.last.clone().unwrap_or_else(|| Err(unread()))
    }

    /// How much it grew since this was asked last.
    pub(super) fn take(&mut self) -> Reading<u64> {
        std::mem::replace(&mut self.sum, Ok(0))
    }
}

/// Growth of a counter of 32 bits, which began again once at most, or of 64 bits, which does not.
pub(super) fn between(what: &str, is_short: bool, now: u64, before: u64) -> Reading<u64> {
    if is_short {
        return Ok(u64::from((now as u32).wrapping_sub(before as u32)));
    }
    match now.checked_sub(before) {
        Some(more) => Ok(more),
        None => grown(what, now as f64, before as f64).map(|more| more as u64),
    }
}

/// Growth of a counter of the kernel, that had its place all the time.
pub(super) fn counted(what: &str, is_shared: bool, now: Count, before: Count) -> Reading<u64> {
    let refused = |why: String| Unavailable::new(Obstacle::Measurement, what, why);
    let enabled = now.enabled_ns.saturating_sub(before.enabled_ns);
    let running = now.running_ns.saturating_sub(before.running_ns);
    if enabled == 0 {
        return Err(refused("the kernel did not count: the CPU is offline".to_owned()));
    }
    if is_shared && running < enabled {
        let why = format!(
            "its counter was on the hardware for {running} of {enabled} ns; the count is rejected, \
             not scaled"
        );
        return Err(refused(why).with_remedy("count fewer events, or end others that count"));
    }
    between(what, false, now.value, before.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_begin_again_at_32_bits_and_never_at_64() {
        assert_eq!(between("x", true, 5, 0xffff_fffe), Ok(7));
        assert_eq!(between("x", false, u64::MAX, u64::MAX - 3), Ok(3));
        let fell = between("x", false, 5, 0xffff_fffe).unwrap_err();
        assert!(fell.why.contains("fell from 4294967294 to 5"), "{fell:?}");
    }

    #[test]
    fn what_was_noted_adds_up_and_one_gap_is_no_number() {
        let mut counter = Growing::new();
        let mut note = |now: Reading<u64>| {
            counter.note(now, |now, before| between("x", true, now, before));
            counter.clone()
        };
        let gone = Unavailable::new(Obstacle::Hardware, "x", "gone");
        note(Ok(0xffff_0000));
        // It begins again twice within an interval, and was noted between.
        note(Ok(0x1_0000));
        note(Ok(0xffff_0000));
        let mut seen = note(Ok(0x1_0000));
        assert_eq!(seen.take(), Ok(0x2_0000 + 0xfffe_0000 + 0x2_0000));
        note(Err(gone.clone()));
        assert_eq!(note(Ok(7)).take(), Err(gone));
        assert_eq!(seen.take(), Ok(0));
    }

    #[test]
    fn counts_of_a_part_of_the_time_are_rejected() {
        let count = |value, enabled_ns, running_ns| Count { value, enabled_ns, running_ns };
        let before = count(10, 100, 100);
        assert_eq!(counted("x", true, count(15, 200, 200), before), Ok(5));
        let part = counted("x", true, count(15, 200, 180), before).unwrap_err();
        assert!(part.why.contains("80 of 100 ns"), "{part:?}");
        // The kernel's own counters take no turns.
        assert_eq!(counted("x", false, count(15, 200, 180), before), Ok(5));
        let offline = counted("x", true, before, before).unwrap_err();
        assert!(offline.why.contains("offline"), "{offline:?}");
        assert!(counted("x", true, count(3, 200, 200), before).is_err());
    }

    #[test]
    fn raw_numbers_are_whole_or_not_there() {
        assert_eq!(exact("x", 1 << 53), Ok(9_007_199_254_740_992.0));
        assert!(exact("x", (1 << 53) + 1).unwrap_err().why.contains("0x20000000000001"));
    }
}
