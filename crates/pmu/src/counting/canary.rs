//! The canary of a pass: a loop whose counts are known, counted by the same counters just before the work.
//!
//! A host may share counters among guests, or a counter may count what it likes, and nothing in the
//! kernel's answers says so. Where the canary is counted wrongly, the pass says why, and no number.

use kernels::count_down::count_down;
use machine::ports::Reading;
use model::{Obstacle, Unavailable};
use sys::perf_open::Modes;

use super::pass::Counted;
use super::{answers, modes_of, needs_counter};
use crate::events::Encoded;

/// Trips of the loop: a few microseconds.
pub(super) const ITERATIONS: u64 = 10_000;

/// What an interrupt in between may add, and what the measurement counts by itself.
const SLACK: f64 = 1000.0;

/// Executes it.
pub(super) fn sing() {
    count_down(ITERATIONS);
}

/// Rejects what was counted beside a canary that was counted wrongly: the event by itself, or all of the
/// core's where instructions are wrong.
pub(super) fn hear(
    events: &[&Encoded],
    heard: &[Reading<Counted>],
    usual: Modes,
    done: &mut [Reading<Counted>],
) {
    let of = |at: usize| wrong(events[at], heard[at].as_ref().ok()?.value, usual);
    let is_anchor = |event: &Encoded| event.name == super::anchors()[0];
    let anchor = (0..events.len()).find_map(|at| of(at).filter(|_| is_anchor(events[at])));
    for (at, done) in done.iter_mut().enumerate().filter(|(_, done)| done.is_ok()) {
        let shared = anchor.clone().filter(|_| needs_counter(events[at]));
        if let Some(why) = shared.or_else(|| of(at)) {
            let absent = Unavailable::new(Obstacle::Measurement, &events[at].name, why);
            *done = Err(absent.with_remedy(
                "`cpudyno pmu selftest` says which events count as they should; in a guest, the host \
                 may share the counters",
            ));
        }
    }
}

/// What is wrong with what it counted, if anything is known of it.
fn wrong(event: &Encoded, counted: u64, usual: Modes) -> Option<String> {
    let row = answers::of_the_loop(event)?;
    let expected = row.per_iteration * ITERATIONS as f64;
    // What the kernel does meanwhile is in other modes' counts.
    let most = match modes_of(event, usual) {
        Modes::User => expected * (1.0 + row.more) + SLACK,
        Modes::All => f64::INFINITY,
        Modes::Kernel => return None,
    };
    let least = expected * (1.0 - row.less);
    (!(least..=most).contains(&(counted as f64))).then(|| {
        format!(
            "just before, `{}` counted {counted} in a loop that has {expected:.0}; the count is rejected",
            event.name
        )
    })
}
