//! Whether signals without a rest include leaving deep sleep.

use model::record::{IdleState, Record};
use model::{CpuId, Known};

use super::SIGNALS;
use super::read::{Cell, cells};
use super::shown::microseconds;

/// In one sentence; nothing where no thread was waited for.
pub(super) fn sentence(record: &Record) -> Option<String> {
    let cells = cells(record, SIGNALS);
    // A wait lasts as long as a round trip.
    let waits = cells.iter().filter_map(|cell| cell.median("round_trip"));
    let wait = waits.reduce(f64::max)?;
    let states = &record.machine.idle_states;
    if states.is_empty() {
        return Some(unknown(record));
    }
    let is_used = |cpu: CpuId| cells.iter().any(|cell: &Cell<'_>| cell.active.contains(cpu));
    let allowed = states.iter().filter(|state| {
        let is_on = |cpu: &CpuId| is_used(*cpu) && !state.disabled_on.contains(*cpu);
        state.cpus.iter().any(|cpu| is_on(&cpu)) && is_within(record, state)
    });
    let exit = |state: &&IdleState| state.latency_seconds.unwrap_or_default();
    let deepest = allowed.max_by(|a, b| exit(a).total_cmp(&exit(b)));
    let Some(state) = deepest.filter(|state| exit(state) > 0.0) else {
        return Some(
            "No time includes leaving deep sleep: no idle state is allowed here.".to_owned(),
        );
    };
    let (name, leaving) = (&state.name, microseconds(exit(&state)));
    let stays = state.residency_seconds.unwrap_or_default().max(exit(&state));
    Some(if wait < stays {
        format!(
            "Median waits of up to {} us are too short for {name}, the deepest idle state allowed here: leaving it \
             ({leaving} us by the kernel's table) is not included; `cpudyno wake idle` measures it.",
            microseconds(wait)
        )
    } else {
        format!(
            "Times may include leaving {name}, the deepest idle state allowed here ({leaving} us by the \
             kernel's table): `cpudyno wake idle` tells them apart."
        )
    })
}

/// Whether the resume latency that CPUs allow lets them enter a state; where it differs by CPU, it may.
fn is_within(record: &Record, state: &IdleState) -> bool {
    let text = record.text("idle.resume_latency").unwrap_or_default();
    if text == "none at all" {
        return false;
    }
    let limit = text.strip_suffix(" us").and_then(|limit| limit.parse::<f64>().ok());
    limit.is_none_or(|limit| state.latency_seconds.is_none_or(|exit| exit * 1e6 <= limit))
}

/// The same where no idle state is known.
fn unknown(record: &Record) -> String {
    if record.is_guest() {
        return "Whether times include leaving deep sleep cannot be told: in a guest the host decides how deep \
                a CPU sleeps."
            .to_owned();
    }
    let why = match record.fact("idle.states").map(|fact| &fact.value) {
        Some(Known::No { unavailable }) => format!(": {}", unavailable.why),
        _ => String::new(),
    };
    format!("Whether times include leaving deep sleep is unknown{why}.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{blank, say, series};

    /// Round trips of 7 us on CPUs 0-1, with C1 (2 us to leave) and C6 (100 us, worth it from `residency` us on).
    fn record(residency: f64) -> Record {
        let mut record = blank();
        let of = ["wake", "futex", "round_trip"];
        record.series.push(series(of, "0-1", &[("question", SIGNALS)], &[&[7e-6]]));
        record.machine.idle_states = [("C1", 2.0, 2.0), ("C6", 100.0, residency)]
            .map(|(name, exit, residency)| IdleState {
                name: name.to_owned(),
                description: String::new(),
                latency_seconds: Some(exit * 1e-6),
                residency_seconds: Some(residency * 1e-6),
                cpus: "0-1".parse().unwrap(),
                disabled_on: model::CpuSet::default(),
            })
            .to_vec();
        record
    }

    #[test]
    fn the_deepest_state_that_is_allowed_is_named() {
        let mut record = record(400.0);
        let said = |record: &Record| sentence(record).unwrap();
        let text = said(&record);
        assert!(text.contains("Median waits of up to 7.00 us are too short for C6"), "{text}");
        assert!(text.contains("(100 us by the kernel's table) is not included"), "{text}");
        // Switched off on both CPUs, or by a limit: C1 may have been entered.
        record.machine.idle_states[1].disabled_on = "0-1".parse().unwrap();
        assert!(said(&record).starts_with("Times may include leaving C1"), "{}", said(&record));
        record.machine.idle_states[1].disabled_on = "1".parse().unwrap();
        assert!(said(&record).contains("C6"));
        say(&mut record, "idle.resume_latency", "20 us");
        assert!(said(&record).starts_with("Times may include leaving C1"), "{}", said(&record));
        record.machine.facts.clear();
        say(&mut record, "idle.resume_latency", "none at all");
        assert!(said(&record).contains("no idle state is allowed"), "{}", said(&record));
    }

    #[test]
    fn where_no_state_is_known_it_says_who_decides() {
        let mut record = record(400.0);
        record.machine.idle_states.clear();
        assert!(sentence(&record).unwrap().ends_with("is unknown."));
        say(&mut record, "platform.virtualisation", "KVM");
        assert!(sentence(&record).unwrap().contains("in a guest the host decides"));
        record.series.clear();
        assert_eq!(sentence(&record), None);
    }
}
