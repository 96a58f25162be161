//! Levers that show in how long a pointer takes: the clock of the last cache, and what is fetched ahead.

use levers::plan::Change;
use levers::rows::Proof;
use model::record::ProofAnswer;
use model::stats::median;

use super::{is_above, lower};

/// What was measured, block by block.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Chased {
    /// Seconds of a pointer.
    pub(super) latency: Vec<f64>,
    /// Hertz of the core that followed it.
    pub(super) clock: Vec<f64>,
}

/// Whether pointers must take longer: with a lower limit, or without a prefetcher.
fn longer(change: &Change) -> bool {
    match change.lever.proof {
        Proof::Stride => change.wanted == "1",
        _ => lower(change),
    }
}

/// What pointers before and after say of a change.
pub(super) fn judged(change: &Change, before: &Chased, after: &Chased) -> (ProofAnswer, String) {
    let middles = [&before.latency, &after.latency, &before.clock, &after.clock].map(|v| median(v));
    let [Some(was), Some(is), Some(clock_was), Some(clock_is)] = middles else {
        return (ProofAnswer::NotObservable, "no pointer was followed".to_owned());
    };
    let (was, is) = (was * 1e9, is * 1e9);
    let seen = format!("{was:.1} ns before, {is:.1} ns after");
    let blind = |why: String| (ProofAnswer::NotObservable, format!("{seen}: {why}"));
    let differ = |one: &[f64], other: &[f64]| is_above(one, other) || is_above(other, one);
    if differ(&before.clock, &after.clock) {
        let (was, is) = (clock_was / 1e9, clock_is / 1e9);
        return blind(format!("the core's clock changed, too: {was:.3} GHz, then {is:.3} GHz"));
    }
    let rose = is_above(&after.latency, &before.latency);
    let fell = is_above(&before.latency, &after.latency);
    if longer(change) && rose || !longer(change) && fell {
        let at = format!("{seen}, the core at {:.3} GHz", clock_is / 1e9);
        return (ProofAnswer::Obeyed, at);
    }
    blind(match (rose || fell, change.lever.proof) {
        (true, _) => "that is not the promised direction, and may have other reasons".to_owned(),
        (false, Proof::Stride) => "other prefetchers may bring the lines".to_owned(),
        (false, _) => "one core at work need not bring the uncore to its limit".to_owned(),
    })
}
