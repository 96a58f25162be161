//! The canary of a pass: a loop whose counts are known, counted by the same counters just before the work.
//!
//! A host may share counters among guests, or a counter may count what it likes, and nothing in the
//! kernel's answers says so. Where the canary is counted wrongly, the pass says why, and no number.

use kernels::empty_loop::count_down;
use machine::Machine;
use model::{Obstacle, Reading, Unavailable};
use simulated::Model;
use sys::perf_open::Modes;

use super::pass::{CounterReading, Execution, OpenCounters};
use super::{known_answers, modes_of, needs_counter};
use crate::events::{Encoded, EventScope, plain};

/// Trips of the loop: a few microseconds.
const ITERATIONS: u64 = 10_000;

/// What interrupts in between may add: an event or two each, and there are few in microseconds.
const SLACK: f64 = 50.0;

/// When it is counted, in the words of a refusal.
pub(super) const JUST_BEFORE: &str = "just before";

/// Executes it.
///
/// # Error
/// Where a model does not know it.
pub(super) fn sing(model: Option<&Model>) -> Reading<()> {
    let Some(model) = model else {
        count_down(ITERATIONS);
        return Ok(());
    };
    model.execute("loop", 1, ITERATIONS)
}

/// What it counted without what the measurement counts by itself.
pub(super) fn without(heard: Execution, own: &Execution) -> Vec<Reading<CounterReading>> {
    let difference = |(heard, own): (Reading<CounterReading>, &Reading<CounterReading>)| {
        let (heard, own) = (heard?, own.as_ref().map_err(Clone::clone)?);
        Ok(CounterReading { value: heard.value.saturating_sub(own.value), ..heard })
    };
    heard.counts.into_iter().zip(&own.counts).map(difference).collect()
}

/// Rejects what was counted beside a canary that was counted wrongly: the event by itself, or all of the
/// core's where instructions are wrong.
pub(super) fn hear(
    events: &[&Encoded],
    heard: &[Reading<CounterReading>],
    usual: Modes,
    done: &mut [Reading<CounterReading>],
) {
    let of = |at: usize| wrong(events[at], heard[at].as_ref().ok()?.value, usual, JUST_BEFORE);
    let is_anchor = |event: &Encoded| event.name == super::anchors()[0];
    let anchor = (0..events.len()).find_map(|at| of(at).filter(|_| is_anchor(events[at])));
    for (at, done) in done.iter_mut().enumerate().filter(|(_, done)| done.is_ok()) {
        let shared = anchor.clone().filter(|_| needs_counter(events[at]));
        if let Some(why) = shared.or_else(|| of(at)) {
            *done = Err(rejected(&events[at].name, why));
        }
    }
}

/// Counts the canary by each of the events of a command, before it starts: those that are wrong, by
/// name, and with instructions all of their PMU. Events without a counter here have no verdict.
pub(super) fn before(machine: &Machine, events: &[Encoded]) -> Vec<(String, Unavailable)> {
    const BEFORE: &str = "before the command was started";
    let judged = |event: &&Encoded| {
        let is_known = event.kind.is_some() && known_answers::of_the_loop(event).is_some();
        is_known && event.scope == EventScope::Thread && needs_counter(event)
    };
    let verdict = |event: &Encoded| -> Option<String> {
        let open = OpenCounters::of(machine, &[event], Modes::User);
        let model = machine.simulated.as_ref();
        let empty = || drop(model.map(|model| model.execute("empty", 1, 0)));
        let own = open.own(&mut || empty());
        let heard = open.execute(&mut || {
            empty();
            drop(sing(model));
        });
        let counted = without(heard, &own).pop()?.ok()?;
        wrong(event, counted.value, Modes::User, BEFORE)
    };
    let heard: Vec<(&Encoded, String)> =
        events.iter().filter(judged).filter_map(|event| Some((event, verdict(event)?))).collect();
    let of = |event: &Encoded| -> Option<String> {
        let own = heard.iter().find(|(wrong, _)| wrong.is_same(event));
        let anchor = || {
            let is_it = |it: &&Encoded| plain(it) == super::anchors()[0] && it.pmu == event.pmu;
            heard.iter().find(|(wrong, _)| needs_counter(event) && is_it(wrong))
        };
        own.or_else(anchor).map(|(_, why)| why.clone())
    };
    let row = |event: &Encoded| Some((event.name.clone(), rejected(&event.name, of(event)?)));
    events.iter().filter_map(row).collect()
}

/// A count that is not believed.
pub(super) fn rejected(event: &str, why: String) -> Unavailable {
    Unavailable::new(Obstacle::Measurement, event, why).with_remedy(
        "`cpudyno pmu selftest` shows which events count correctly; in a guest, the host may share \
         the counters",
    )
}

/// What is wrong with what it counted, if anything is known of it.
pub(super) fn wrong(event: &Encoded, counted: u64, usual: Modes, when: &str) -> Option<String> {
    let row = known_answers::of_the_loop(event)?;
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
            "{when}, `{}` counted {counted} in a loop that has {expected:.0}; the count is rejected",
            event.name
        )
    })
}

#[cfg(test)]
mod tests {
    use simulated::Fault;

    use super::*;
    use crate::counting::{base_of_all, software};

    #[test]
    fn a_few_interrupts_are_believed_and_a_per_cent_is_not() {
        let machine: Machine = Model::named("4c").unwrap().into();
        let [instructions, ..] = &base_of_all(&machine)[..] else { panic!("there is a base") };
        let of = |counted| wrong(instructions, counted, Modes::User, JUST_BEFORE);
        assert_eq!([of(20_000), of(20_030), of(19_990)], [None, None, None]);
        // Less than a per cent, and half of what one such loop has.
        for counted in [20_150, 20_600, 19_900, 0] {
            assert!(of(counted).is_some(), "{counted}");
        }
    }

    #[test]
    fn a_command_is_not_counted_by_counters_that_lie() {
        let events = |machine: &Machine| -> Vec<Encoded> {
            base_of_all(machine).into_iter().chain(software()).collect()
        };
        let refused = |fault: Option<Fault>| -> Vec<String> {
            let mut model = Model::named("4c").unwrap();
            model.faults.extend(fault);
            let machine: Machine = model.into();
            let refused = before(&machine, &events(&machine));
            assert!(
                refused.iter().all(|it| it.1.why.starts_with("before the command was started"))
            );
            refused.into_iter().map(|(name, _)| name).collect()
        };
        assert_eq!(refused(None), [""; 0]);
        // Instructions that stand still speak for all of the core's.
        let stood = refused(Some(Fault::PmuReadsZero));
        assert_eq!(stood, ["instructions", "cycles", "ref-cycles"]);
    }
}
