//! Levers that show in how a clock rises from rest.

use levers::plan::Change;
use model::record::ProofAnswer;
use model::stats::{median, quantile};

use super::{is_above, lower};
use crate::rig::rise::{Rise, WINDOW};

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
    let why = match (sooner, later) {
        (false, false) => {
            let longest = was.iter().chain(is).fold(0.0_f64, |most, next| most.max(*next));
            let within = (longest.max(WINDOW.0) * 1e6).ceil();
            format!("the clock was at its height within {within:.0} us both times")
        }
        (true, true) => "it began lower and was there sooner, or the other way round".to_owned(),
        _ => "that is not the promised direction, and may have other reasons".to_owned(),
    };
    (ProofAnswer::NotObservable, format!("{seen}: {why}"))
}

/// Whether one time is longer than another one by more than a window, and not by chance.
fn is_beyond(one: &[f64], other: &[f64]) -> bool {
    let low = quantile(one, 0.25);
    low.zip(quantile(other, 0.75)).is_some_and(|(low, high)| low > high + WINDOW.0)
}
