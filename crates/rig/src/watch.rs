//! Jobs in which threads read the clock and do nothing else: when it jumps, something else had the CPU.

use std::collections::BTreeMap;
use std::sync::Arc;

use machine::instruments::interruptions::{InterruptionCounters, Interruptions};
use model::areas::jitter::cause;
use model::{CpuId, Seconds};
use sys::thread::Usage;

use super::job::Around;

/// A pinned thread on each CPU reads the clock.
#[derive(Clone)]
pub struct Polling {
    /// Where.
    pub cpus: Vec<CpuId>,
    /// For how long.
    pub time: Seconds,
    /// The shortest jump that counts.
    pub shortest: Seconds,
    /// What says why, of each CPU that has it.
    pub counters: BTreeMap<CpuId, Arc<InterruptionCounters>>,
}

/// What one thread saw.
#[derive(Debug, Clone)]
pub struct RawPolling {
    /// Where.
    pub cpu: CpuId,
    /// For how long it read the clock, gaps included.
    pub watched: Seconds,
    /// How much of that was lost in gaps, those that are not kept among them.
    pub lost: Seconds,
    /// When the clock jumped, the first [`GAPS_MAX`].
    pub gaps: Vec<Gap>,
    /// What went on around it.
    pub around: Around,
}

/// A jump of the clock.
#[derive(Debug, Clone, PartialEq)]
pub struct Gap {
    /// How far.
    pub length: Seconds,
    /// What interrupted the thread.
    pub cause: String,
}

/// Gaps of one watch that are kept: what a thread can see at worst in a second.
pub const GAPS_MAX: usize = 200_000;

/// What interrupted, by what was counted from the end of the gap before to the end of this one: of several at once the
/// one that explains the others. Switches are counted always, `came` where somebody looked.
pub fn cause_of(usage: Option<(Usage, Usage)>, came: Option<&Interruptions>) -> String {
    let grew =
        |of: fn(&Usage) -> u64| usage.is_some_and(|(before, after)| of(&after) > of(&before));
    let word = match came {
        Some(came) if came.smis > 0 => cause::SMI,
        _ if grew(|usage| usage.voluntary_switches) => cause::STOPPED,
        _ if grew(|usage| usage.involuntary_switches) => cause::THREAD,
        None => cause::NOT_LOOKED_UP,
        Some(Interruptions { device: Some(name), .. }) => {
            return format!("{} {name}", cause::DEVICE);
        }
        Some(came) if came.from_cpus > 0 => cause::IPI,
        Some(came) if came.timer > 0 && came.softirqs > 0 => cause::TIMER_SOFTIRQ,
        Some(came) if came.timer > 0 => cause::TIMER,
        Some(came) if came.other > 0 => cause::OTHER,
        Some(_) => cause::UNEXPLAINED,
    };
    word.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_of_a_gap_is_what_explains_the_rest() {
        let usage = |voluntary_switches, involuntary_switches| Usage {
            voluntary_switches,
            involuntary_switches,
            ..Usage::default()
        };
        let none = Some((usage(1, 1), usage(1, 1)));
        let tick = Interruptions { timer: 1, ..Interruptions::default() };
        let of = |usage, came: &Interruptions| cause_of(usage, Some(came));
        assert_eq!(of(none, &Interruptions::default()), cause::UNEXPLAINED);
        assert_eq!(of(none, &tick), cause::TIMER);
        assert_eq!(of(none, &Interruptions { softirqs: 2, ..tick.clone() }), cause::TIMER_SOFTIRQ);
        let card = Interruptions { device: Some("eth0".to_owned()), ..tick.clone() };
        assert_eq!(of(none, &card), "device eth0");
        // A tick after which the scheduler takes another thread.
        assert_eq!(of(Some((usage(1, 1), usage(1, 2))), &tick), cause::THREAD);
        assert_eq!(of(Some((usage(1, 1), usage(2, 1))), &tick), cause::STOPPED);
        assert_eq!(of(none, &Interruptions { smis: 1, ..tick.clone() }), cause::SMI);
        // Switches are known even where nobody looked at the tables.
        assert_eq!(cause_of(Some((usage(1, 1), usage(1, 2))), None), cause::THREAD);
        assert_eq!(cause_of(none, None), cause::NOT_LOOKED_UP);
    }
}
