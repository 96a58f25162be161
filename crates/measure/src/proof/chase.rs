//! Levers that show in how long a pointer takes: the clock of the last cache, and what is fetched ahead.

use levers::plan::Change;
use levers::rows::Proof;
use levers::{Lever, Object};
use machine::Machine;
use model::record::ProofAnswer;
use model::stats::{median, quantile};

use super::{ABOVE, is_above, lower};

/// What was measured, block by block.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Chased {
    /// Seconds of a pointer.
    pub(super) latency: Vec<f64>,
    /// Hertz of the core that followed it.
    pub(super) clock: Vec<f64>,
    /// Hertz outside of the cores, as the hardware says; nothing where it does not say.
    pub(super) uncore: Vec<f64>,
}

/// Whether pointers must take longer: with a lower limit, or without a prefetcher.
fn longer(change: &Change) -> bool {
    match change.lever.proof {
        Proof::Stride => change.wanted == "1",
        _ => lower(change),
    }
}

/// What pointers before and after say of a change.
pub(super) fn judged(
    machine: &Machine,
    change: &Change,
    before: &Chased,
    after: &Chased,
) -> (ProofAnswer, String) {
    let middles = [&before.latency, &after.latency, &before.clock, &after.clock].map(|v| median(v));
    let [Some(was), Some(is), Some(clock_was), Some(clock_is)] = middles else {
        return (ProofAnswer::NotObservable, "no pointer was followed".to_owned());
    };
    let (was, is) = (was * 1e9, is * 1e9);
    let seen = format!("{was:.1} ns before, {is:.1} ns after");
    let blind = |why: String| (ProofAnswer::NotObservable, format!("{seen}: {why}"));
    let rose = is_above(&after.latency, &before.latency);
    let fell = is_above(&before.latency, &after.latency);
    let is_promised = longer(change) && rose || !longer(change) && fell;
    if let Some(why) = beyond_limit(change, &after.uncore).filter(|_| !is_promised) {
        return (ProofAnswer::NotObeyed, format!("{seen}: {why}"));
    }
    let differ = |one: &[f64], other: &[f64]| is_above(one, other) || is_above(other, one);
    if differ(&before.clock, &after.clock) {
        let (was, is) = (clock_was / 1e9, clock_is / 1e9);
        return blind(format!("the core's clock changed, too: {was:.3} GHz, then {is:.3} GHz"));
    }
    if is_promised {
        let at = format!("{seen}, the core at {:.3} GHz", clock_is / 1e9);
        return (ProofAnswer::Obeyed, at);
    }
    blind(match (rose || fell, change.lever.proof) {
        (true, _) => "this is not the expected direction and may have other causes".to_owned(),
        (false, Proof::Stride) => others(machine, change),
        (false, _) => "one core at work need not bring the uncore to its limit".to_owned(),
    })
}

/// That the hardware itself says a clock beyond the limit that was set, where three quarters of the looks
/// do. A clock within the limit says nothing: it may have been there before.
fn beyond_limit(change: &Change, uncore: &[f64]) -> Option<String> {
    let limit = change.wanted.parse::<f64>().ok()? * 1e3;
    let (low, high) = (quantile(uncore, 0.25)?, quantile(uncore, 0.75)?);
    let is = match change.lever.id {
        "uncore_max" if low > limit * ABOVE => low,
        "uncore_min" if high * ABOVE < limit => high,
        _ => return None,
    };
    let (is, limit) = (is / 1e9, limit / 1e9);
    Some(format!("the uncore clock by hardware is {is:.3} GHz, the limit is {limit:.3} GHz"))
}

/// Who else may bring the lines that a prefetcher would: those that are on, by name, or some without a
/// switch. Processors have more of them than there are bits, so that one that shows nothing is never known
/// not to obey.
fn others(machine: &Machine, change: &Change) -> String {
    let is_on = |lever: &&Lever| {
        let Object::Bit { cpu, register, .. } = change.object else { return false };
        (0..64).any(|bit| {
            let object = Object::Bit { cpu, register, bit };
            lever.is_at(&object)
                && object != change.object
                && object.read(machine).is_ok_and(|bit| bit == "0")
        })
    };
    let on: Vec<&str> = Lever::all().filter(is_on).map(|lever| lever.id).collect();
    if on.is_empty() {
        return "prefetchers without a switch may fetch the lines".to_owned();
    }
    format!("other prefetchers that are on may fetch the lines: {}", on.join(", "))
}
