//! Remarks on wake-ups, and the verdict: which idle states there are, what they cost, what to set.

use model::page::Text;
use model::record::{FactValue, Record};
use model::{Finding, Known, Severity};

use super::read::cells;
use super::shown::idle::{SLEPT_MIN, Staircase, State, lightest, rest_words, staircases};
use super::shown::microseconds;

/// What a state adds at the median to be worth a word.
const COSTLY: f64 = 20e-6;

/// All of them.
pub(super) fn of(record: &Record) -> Vec<Finding> {
    let stairs = staircases(record);
    let mut findings = Vec::new();
    findings.extend(stairs.iter().find_map(not_slept));
    findings.extend(usual(&stairs).and_then(deep_sleep));
    findings.extend(usual(&stairs).and_then(other_than_table));
    findings
}

/// The rests without a limit.
pub(super) fn usual<'a, 'b>(stairs: &'b [Staircase<'a>]) -> Option<&'b Staircase<'a>> {
    stairs.iter().find(|stairs| stairs.limit.is_none())
}

fn note(id: &str, severity: Severity, text: String, remedy: Option<String>) -> Finding {
    let about = "wake-ups".to_owned();
    Finding::new(severity, id.to_owned(), about, text).remedy(remedy)
}

/// A sleeper that did not sleep says nothing of idle states.
fn not_slept(stairs: &Staircase<'_>) -> Option<Finding> {
    let mut awake = stairs.steps.iter().filter(|step| step.rest > 0);
    let step = awake.rfind(|s| s.slept.is_some_and(|slept| slept < SLEPT_MIN))?;
    let text = format!(
        "after rests of {} the thread slept in only {:.0} % of its waits; the other times are no wake-ups",
        rest_words(step.rest),
        step.slept? * 100.0
    );
    Some(note("wake.not-slept", Severity::Warning, text, None))
}

/// The costliest state that wake-ups ended.
pub(super) fn costliest<'a, 'b>(stairs: &'b Staircase<'a>) -> Option<&'b State<'a>> {
    let costly = stairs.states.iter().filter(|s| s.beyond.is_some_and(|beyond| beyond >= COSTLY));
    costly.max_by(|a, b| a.spread.median.total_cmp(&b.spread.median))
}

fn deep_sleep(stairs: &Staircase<'_>) -> Option<Finding> {
    let state = costliest(stairs)?;
    let text = format!(
        "a wake-up from {} takes {} us, {} us more than from the lightest sleep",
        state.name,
        microseconds(state.spread.median),
        microseconds(state.beyond?)
    );
    let gain = format!(
        "up to {} us less for each such wake-up; it costs power, and turbo of other cores",
        microseconds(state.beyond?)
    );
    Some(note("wake.deep-sleep", Severity::Note, text, Some(what_to_set(state))).gain(gain))
}

/// What keeps a state away.
fn what_to_set(state: &State<'_>) -> String {
    let limit = state.shallower.and_then(|table| table.latency_seconds).unwrap_or(0.0) * 1e6;
    // A CPU that polls takes turbo from others, and time from its sibling.
    let polls = if limit > 0.0 { "" } else { ", at which CPUs poll," };
    format!(
        "switch the state off: `cpudyno set idle.{}=off`; or hold /dev/cpu_dma_latency at {limit:.0} us{polls} in the programs that need it (`cpudyno wake idle --limit-latency {limit:.0}` shows the effect)",
        state.name
    )
}

/// A table that is off by more than this misleads the kernel's governor.
const TABLE_RATIO: f64 = 2.0;

/// The kernel's table and what was measured.
fn other_than_table(stairs: &Staircase<'_>) -> Option<Finding> {
    let off = stairs.states.iter().find_map(|state| {
        let (said, seen) = (state.table?.latency_seconds?, state.beyond?);
        let off = seen > said * TABLE_RATIO || seen < said / TABLE_RATIO;
        (off && said.max(seen) >= COSTLY).then_some((state, said, seen))
    });
    let (state, said, seen) = off?;
    let text = format!(
        "leaving {} takes {} us, the kernel's table says {}; the idle governor decides by the table",
        state.name,
        microseconds(seen),
        microseconds(said)
    );
    Some(note("wake.table-off", Severity::Note, text, None))
}

/// What the steps and the counters say; no total time is asked.
pub(super) fn verdict(record: &Record) -> Vec<Text> {
    let all = staircases(record);
    let Some(stairs) = usual(&all) else { return Vec::new() };
    let mut lines: Vec<String> = Vec::new();
    lines.extend(cliff(stairs));
    lines.extend(stairs.states.iter().filter_map(of_state));
    match costliest(stairs) {
        Some(state) => lines.push(format!("What to set: {}.", what_to_set(state))),
        None if !stairs.states.is_empty() => lines.push(format!(
            "No state costs {} us or more: there is nothing to set.",
            microseconds(COSTLY)
        )),
        None => lines.extend(without_counters(record)),
    }
    lines.extend(all.iter().filter(|other| other.limit.is_some()).filter_map(|limited| {
        let (before, after) = (stairs.steps.last()?, limited.steps.last()?);
        Some(format!(
            "With states limited to {} us, a wake-up after {} takes {} us instead of {}.",
            limited.limit?,
            rest_words(after.rest),
            microseconds(after.spread.median),
            microseconds(before.spread.median)
        ))
    }));
    lines.into_iter().map(Text::from).collect()
}

/// The longest rest against the fastest in which the sleeper slept.
pub(super) fn cliff(stairs: &Staircase<'_>) -> Option<String> {
    let (lightest, last) = (lightest(&stairs.steps)?, stairs.steps.last()?);
    (lightest.rest < last.rest).then(|| {
        format!(
            "After a rest of {} a wake-up takes {} us (p99 {}), after {} it takes {} (p99 {}).",
            rest_words(last.rest),
            microseconds(last.spread.median),
            microseconds(last.spread.p99),
            rest_words(lightest.rest),
            microseconds(lightest.spread.median),
            microseconds(lightest.spread.p99)
        )
    })
}

fn of_state(state: &State<'_>) -> Option<String> {
    let table = match state.table.map(|table| table.latency_seconds) {
        None => "the kernel's table does not have it".to_owned(),
        Some(None) => "the kernel's table has no time of it".to_owned(),
        Some(Some(seconds)) => format!("the kernel's table says {}", microseconds(seconds)),
    };
    Some(format!(
        "{}: {} us, {} beyond the lightest sleep; {table}.",
        state.name,
        microseconds(state.spread.median),
        microseconds(state.beyond?)
    ))
}

/// What can be said where the kernel counts no idle states.
fn without_counters(record: &Record) -> Vec<String> {
    let text = |id: &str| match &record.machine.fact(id)?.value {
        Known::Yes(FactValue::Text(text)) => Some(text.as_str()),
        _ => None,
    };
    let reason = |id: &str| match &record.machine.fact(id)?.value {
        Known::No { unavailable } => Some(unavailable.why.as_str()),
        Known::Yes(_) => None,
    };
    if cells(record, super::IDLE).is_empty() {
        return Vec::new();
    }
    let guest = record.is_guest();
    let mut lines = Vec::new();
    if guest {
        lines.push(
            "This is a guest: its idle is a halt, and which states the host's CPU enters meanwhile is \
             invisible here. The steps above are guest and host together."
                .to_owned(),
        );
        lines.push(match (text("idle.haltpoll"), reason("idle.haltpoll")) {
            (Some(how), _) => format!(
                "Before it halts the guest polls (haltpoll) {how}: shorter rests cost no exit to the host."
            ),
            (None, why) => format!(
                "{}; the host may poll before it sleeps (kvm.halt_poll_ns), which shows as a step.",
                why.map_or_else(|| "Whether the guest polls is unknown".to_owned(), capital)
            ),
        });
    } else if let Some(why) = reason("idle.states") {
        lines.push(format!("Which state was left is unknown: {why}."));
    }
    lines
}

/// A reason as the beginning of a sentence.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

#[cfg(test)]
mod tests {
    use super::super::shown::idle::tests::record;
    use super::*;

    fn ids(record: &Record) -> Vec<String> {
        of(record).into_iter().map(|finding| finding.id).collect()
    }

    #[test]
    fn a_state_is_deep_from_twenty_microseconds_on_whatever_the_table_says() {
        let of = |c6: f64| {
            let mut record = record(&[("10", 5.0, 1.0)], [6.0, c6]);
            record.machine.idle_states.clear();
            ids(&record)
        };
        // 24.9 and 25.1 us are 19.9 and 20.1 beyond the lightest sleep.
        assert_eq!(of(24.9), [""; 0]);
        assert_eq!(of(25.1), ["wake.deep-sleep"]);
    }

    #[test]
    fn a_table_is_off_where_it_says_half_or_twice_of_what_a_state_takes() {
        let is_off = |c6: f64| {
            ids(&record(&[("10", 5.0, 1.0)], [6.0, c6])).contains(&"wake.table-off".to_owned())
        };
        // The table says 100 us: 49 and 201 beyond 5 us are too far from it, 51 and 199 are not.
        assert_eq!([54.0, 56.0, 204.0, 206.0].map(is_off), [true, false, false, true]);
    }

    #[test]
    fn a_sleeper_that_was_awake_in_a_tenth_of_its_waits_is_told() {
        let of = |slept: f64| {
            let mut record = record(&[("0", 1.0, 0.0), ("10", 5.0, slept)], [6.0, 7.0]);
            record.machine.idle_states.clear();
            ids(&record)
        };
        assert_eq!(of(0.91), [""; 0]);
        assert_eq!(of(0.89), ["wake.not-slept"]);
    }
}
