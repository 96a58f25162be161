//! Ways to wake a thread.

use std::collections::BTreeMap;

use super::{LOWER, NEITHER, Quantity};
use crate::Unit;

/// Its id.
pub const AREA: &str = "wake";
/// What a number was measured for: this parameter.
pub const QUESTION: &str = "question";
/// Threads that signal each other.
pub const SIGNALS: &str = "signals";
/// A sleeper that rests before it is woken.
pub const IDLE: &str = "idle";
/// Alarms.
pub const TIMER: &str = "timer";
/// How the two CPUs lie to each other.
pub const PAIR: &str = "pair";
/// Microseconds that the sleeper rested.
pub const REST: &str = "rest_us";
/// Microseconds that idle states may take to be left, where that was limited.
pub const LIMIT: &str = "limit_us";
/// The number of the idle state that was left.
pub const STATE: &str = "state";
/// How far alarms were away.
pub const DISTANCE: &str = "distance";

/// What whoever is woken by a method did that leaves the CPU to others, in the parameter `waits`.
pub const SLEEPS: &str = "sleeps";

/// Ways to ask for an alarm.
pub const WAYS: [&str; 2] = ["clock_nanosleep", "timerfd"];

/// Ranges of distances of alarms: the word, and the least and most seconds.
pub const RANGES: [(&str, f64, f64); 3] =
    [("10-100 us", 10e-6, 100e-6), ("0.1-1 ms", 100e-6, 1e-3), ("1-20 ms", 1e-3, 20e-3)];

/// What its numbers mean, in the order of a record.
pub static QUANTITIES: &[Quantity] = &[
    Quantity::new("time_per_signal", "time per signal", Unit::Second, LOWER, "Half of a round trip, the mean over each stretch of signals there and back without a stamp \
         between them.").judged().packed(5e-4),
    Quantity::new("round_trip", "round trip", Unit::Second, LOWER, "From a signal until its answer is there. Of threads that signal each other, both ways by the \
         same method; of a sleeper that rested, the answer is a cache line that is polled.").judged().packed(5e-4),
    Quantity::new("one_way", "one way", Unit::Second, LOWER, "From right before the signal until the other thread goes on, by the clocks of both CPUs, where \
         these were seen to agree; only of ways of 1 us and more.").packed(5e-4),
    Quantity::new("slept", "waits that slept", Unit::One, NEITHER, "Times that the kernel took a waiting thread off its CPU (voluntary switches), per wait.").packed(5e-4),
    Quantity::new("clock_offset_low", "clock ahead, at least", Unit::Second, LOWER, "How far the second CPU's clock is ahead of the first one's at least: the latest time at which \
         its stamp was behind the return of a cache line.").packed(5e-4),
    Quantity::new("clock_offset_high", "clock ahead, at most", Unit::Second, LOWER, "The same at most: the earliest time at which its stamp was after a cache line was sent.").packed(5e-4),
    Quantity::new("ambiguous", "wake-ups without one state", Unit::One, NEITHER, "The share of wake-ups between which the sleeper's CPU left no idle state or several.").packed(5e-4),
    Quantity::new("entries", "entries per wake-up", Unit::One, NEITHER, "How often the sleeper's CPU left this idle state, per wake-up, by the kernel's count.").packed(5e-4),
    Quantity::new("residence", "time in the state", Unit::Second, LOWER, "How long it was in that state each time, by the kernel's count.").packed(5e-4),
    Quantity::new("lateness", "lateness", Unit::Second, LOWER, "How much later than the time that it asked for a thread runs again; with a timer slack of 1 ns.").packed(5e-4),
];

/// What tells series of one workload apart.
pub(super) fn apart(parameters: &BTreeMap<String, String>) -> Option<String> {
    let of = |name: &str| parameters.get(name).map(String::as_str);
    Some(match (of(REST), of(LIMIT), of(PAIR)) {
        (Some(rest), None, _) => format!("after a rest of {rest} us"),
        (Some(rest), Some(limit), _) => {
            format!("after a rest of {rest} us, limited to {limit} us,")
        }
        (None, _, pair) => pair?.to_owned(),
    })
}
