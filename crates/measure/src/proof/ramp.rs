//! Levers that show in how a clock rises from rest.

use levers::plan::Change;
use model::record::ProofAnswer;
use model::stats::{median, quantile};

use super::{is_above, lower};
use rig::clock_rise::{Rise, WINDOW};

/// What a lever promises of the rise.
#[derive(Clone, Copy, PartialEq)]
enum Promise {
    Sooner,
    Later,
    /// Another one, in either direction.
    Other,
}

/// Governors and preferences whose order is known, those that rise soonest first.
const GOVERNORS: [&str; 2] = ["performance", "powersave"];
const PREFERENCES: [&str; 4] = ["performance", "balance_performance", "balance_power", "power"];

fn promise(change: &Change) -> Promise {
    let by_number = |soon_is_low: bool| {
        if lower(change) == soon_is_low { Promise::Sooner } else { Promise::Later }
    };
    let is_number = |text: &str| text.parse::<f64>().is_ok();
    match change.lever.id {
        "min_freq" => by_number(false),
        _ if is_number(&change.wanted) && is_number(&change.former) => by_number(true),
        "governor" => by_order(&GOVERNORS, change),
        _ => by_order(&PREFERENCES, change),
    }
}

/// By the places of both words. A word without a place is between those that are ends.
fn by_order(order: &[&str], change: &Change) -> Promise {
    let place = |word: &str| order.iter().position(|known| *known == word);
    let last = order.len() - 1;
    match (place(&change.former), place(&change.wanted)) {
        (Some(former), Some(wanted)) if wanted < former => Promise::Sooner,
        (None, Some(0)) => Promise::Sooner,
        (Some(_), Some(_)) | (Some(0), None) => Promise::Later,
        (None, Some(end)) if end == last => Promise::Later,
        (Some(end), None) if end == last => Promise::Sooner,
        _ => Promise::Other,
    }
}

/// What the rises before and after say of a change.
pub(super) fn judged(change: &Change, before: &[Rise], after: &[Rise]) -> (ProofAnswer, String) {
    let of =
        |rises: &[Rise], what: fn(&Rise) -> f64| -> Vec<f64> { rises.iter().map(what).collect() };
    let durations = [before, after].map(|rises| of(rises, |rise| rise.duration.0));
    let firsts = [before, after].map(|rises| of(rises, |rise| rise.first));
    let told = |index: usize| {
        let (duration, first) = (median(&durations[index])?, median(&firsts[index])?);
        let height = median(&of([before, after][index], |rise| rise.height))?;
        let (micros, first, height) = (duration * 1e6, first / 1e9, height / 1e9);
        Some(format!("{micros:.0} us, from {first:.3} to {height:.3} GHz"))
    };
    let (Some(was), Some(is)) = (told(0), told(1)) else {
        return (ProofAnswer::NotObservable, "no rise was measured".to_owned());
    };
    let seen = format!("before {was}; after {is}");
    let [was, is] = &durations;
    let [first_was, first_is] = &firsts;
    let sooner = is_beyond(was, is) || is_above(first_is, first_was);
    let later = is_beyond(is, was) || is_above(first_was, first_is);
    let promised = match promise(change) {
        Promise::Sooner => sooner && !later,
        Promise::Later => later && !sooner,
        Promise::Other => sooner != later,
    };
    if promised {
        return (ProofAnswer::Obeyed, seen);
    }
    if let Some(why) = broken(change, after).filter(|_| !sooner) {
        return (ProofAnswer::NotObeyed, format!("{seen}: {why}"));
    }
    let why = match (sooner, later) {
        (false, false) => {
            let longest = was.iter().chain(is).fold(0.0_f64, |most, next| most.max(*next));
            let within = (longest.max(WINDOW.0) * 1e6).ceil();
            let why = no_promise(change);
            format!("the clock was at its height within {within:.0} us both times, and {why}")
        }
        (true, true) => {
            "the clock began lower and rose sooner, or began higher and rose later".to_owned()
        }
        _ => "this is not the expected direction and may have other causes".to_owned(),
    };
    (ProofAnswer::NotObservable, format!("{seen}: {why}"))
}

/// What shows that a change is not obeyed, whatever else may be: a clock below the lowest one that is
/// allowed, or one that has to be asked for by a governor that asks for nothing but the highest.
fn broken(change: &Change, after: &[Rise]) -> Option<String> {
    /// A window of 50 us may hold 10 us of what a wake-up brings beside: cold caches, a timer.
    const WITHIN: f64 = 0.8;
    /// Processors and drivers look for a clock every millisecond at the latest; two of them.
    const LONGEST: f64 = 2e-3;
    let of = |what: fn(&Rise) -> f64| -> Vec<f64> { after.iter().map(what).collect() };
    match (change.lever.id, &*change.wanted) {
        ("min_freq", khz) => {
            let floor = khz.parse::<f64>().ok()? * 1e3;
            let first = quantile(&of(|rise| rise.first), 0.75)?;
            // A core that never comes to the floor is held by something else: heat, power.
            let is_free = median(&of(|rise| rise.height))? >= floor;
            (is_free && first < floor * WITHIN).then(|| {
                format!("the clock began below the lowest allowed clock, {:.3} GHz", floor / 1e9)
            })
        }
        ("governor", "performance") => {
            let soonest = quantile(&of(|rise| rise.duration.0), 0.25)?;
            (soonest > LONGEST).then(|| {
                let micros = soonest * 1e6;
                format!(
                    "a governor that requests the highest clock would reach it in less than \
                     {micros:.0} us"
                )
            })
        }
        _ => None,
    }
}

/// Why a clock that rises as before is no disobedience.
fn no_promise(change: &Change) -> &'static str {
    match change.lever.id {
        "min_freq" => "a clock that begins above `min_freq` does not show its effect",
        "governor" => "a governor may leave it to the processor how soon it rises",
        _ => "a preference is a hint, which the processor may ignore",
    }
}

/// Whether one time is longer than another one by more than a window, and not by chance.
fn is_beyond(one: &[f64], other: &[f64]) -> bool {
    let low = quantile(one, 0.25);
    low.zip(quantile(other, 0.75)).is_some_and(|(low, high)| low > high + WINDOW.0)
}

#[cfg(test)]
mod tests {
    use levers::plan::Change;
    use levers::{Lever, Object, SettingOwner};
    use model::{CpuId, Seconds};

    use super::*;

    fn change(id: &str, former: &str, wanted: &str) -> Change {
        let (lever, _) = Lever::find(id).unwrap();
        Change {
            setting: id.to_owned(),
            lever,
            of: SettingOwner::Cpu(CpuId(0)),
            object: Object::File("/nowhere".to_owned()),
            former: former.to_owned(),
            wanted: wanted.to_owned(),
            followers: Vec::new(),
            is_effective: false,
            was_open: false,
        }
    }

    /// Rises of so many milliseconds, from and to so many gigahertz.
    fn rises(milliseconds: f64, from: f64, to: f64) -> Vec<Rise> {
        let duration = Seconds(milliseconds * 1e-3);
        vec![Rise { duration, first: from * 1e9, height: to * 1e9 }; 9]
    }

    #[test]
    fn not_obeyed_is_said_where_obeying_would_have_shown() {
        use ProofAnswer::{NotObeyed, NotObservable, Obeyed};
        let slow = rises(8.0, 0.8, 3.8);
        for (id, former, wanted, after, expected) in [
            ("governor", "powersave", "performance", slow.clone(), NotObeyed),
            ("governor", "powersave", "performance", rises(1.0, 0.8, 3.8), Obeyed),
            // Nothing says how soon others rise.
            ("governor", "performance", "schedutil", slow.clone(), NotObservable),
            ("epp", "power", "performance", slow.clone(), NotObservable),
            ("min_freq", "800000", "3000000", slow.clone(), NotObeyed),
            ("min_freq", "800000", "900000", slow.clone(), NotObservable),
            // Something else holds it below.
            ("min_freq", "800000", "3000000", rises(8.0, 0.8, 2.0), NotObservable),
            ("min_freq", "800000", "3000000", rises(8.0, 3.0, 3.8), Obeyed),
        ] {
            let (answer, seen) = judged(&change(id, former, wanted), &slow, &after);
            assert_eq!(answer, expected, "{id}={wanted}: {seen}");
        }
    }
}
