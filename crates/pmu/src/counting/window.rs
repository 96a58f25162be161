//! Counters around a stretch of a program that is no function: a block of a language that has no closures, or one
//! that calls back.

use machine::Machine;
use model::record::CountedUnit;
use model::{Obstacle, Reading, Unavailable};

use super::api::{EventList, Profile, too_many};
use super::pass::{BegunExecution, Execution, OpenCounters};
use super::session::{Session, Silence};
use super::{CountingPlan, plan};

/// Counters of the calling thread, open and read at the two ends of a stretch of it. The thread is pinned for as long
/// as this lives. Every table begins with instructions, cycles and reference cycles; of energy there is no row.
pub struct Window<'a> {
    session: Session<'a>,
    plan: CountingPlan,
    open: OpenCounters<'a>,
    silence: Silence,
    begun: Option<BegunExecution>,
    done: Option<Execution>,
    /// The names of those that were asked for; of none, of those that every table begins with.
    asked: Vec<String>,
    /// Whether nothing has been counted between the two ends as the caller places them.
    is_raw: bool,
}

impl<'a> Window<'a> {
    /// Opens the counters of these events. One that cannot be counted is a row with its reason.
    ///
    /// # Error
    /// Where the machine is simulated, the thread cannot be pinned, a name means nothing, or the events do not fit
    /// into one pass, with the passes that they would need.
    pub fn open<E: EventList + ?Sized>(machine: &'a Machine, events: &E) -> Reading<Window<'a>> {
        if machine.simulated.is_some() {
            let why = "a simulated machine cannot execute a block of this program";
            return Err(Unavailable::new(Obstacle::Cpudyno, "counters", why)
                .with_remedy("count on a real machine, or a demonstration: `cpudyno pmu kernel`"));
        }
        let session = Session::on(machine, None)?;
        let events = events.encoded(machine)?;
        let plan = plan(machine, session.cpu(), &events);
        too_many(&plan)?;
        let (open, silence) = session.opened(&plan);
        let asked = if events.is_empty() { &plan.events } else { &events };
        let asked = asked.iter().map(|event| event.name.clone()).collect();
        Ok(Window { session, plan, open, silence, begun: None, done: None, asked, is_raw: true })
    }

    /// The names of the events that were asked for; of none, of those that every table begins with.
    pub fn asked(&self) -> &[String] {
        &self.asked
    }

    /// Why events that were asked for will have no count.
    pub fn refusals(&self) -> Vec<Unavailable> {
        let is_asked = |at: &usize| self.asked.contains(&self.plan.events[*at].name);
        let closed = self.plan.passes.first().into_iter().flatten().enumerate();
        let closed = closed.filter(|(_, at)| is_asked(at));
        let closed = closed.filter_map(|(place, _)| self.open.refusal(place).cloned());
        let absent = self.plan.absent.iter().filter(|absent| is_asked(&absent.event));
        absent.map(|absent| absent.why.clone()).chain(closed).collect()
    }

    /// Begins; what had begun and was not ended is forgotten.
    pub fn begin(&mut self) {
        self.begun = Some(self.open.begin());
    }

    /// Ends what had begun.
    pub fn end(&mut self) {
        self.done = self.begun.take().map(|begun| self.open.end(begun));
    }

    /// Says that the caller executed nothing in the stretch that ended: the least of several is what the measurement
    /// counts by itself from then on, with what lies between the caller's two ends and these.
    pub fn was_nothing(&mut self) {
        let Some(nothing) = self.done.take() else { return };
        if std::mem::take(&mut self.is_raw) {
            self.silence.own = nothing;
        } else {
            self.silence.own.keep_least(nothing);
        }
    }

    /// What was counted in the stretch that ended; units are what was done meanwhile. None: no stretch has ended.
    pub fn profile(&mut self, units: &[CountedUnit]) -> Option<Profile> {
        let counts = self.session.told(&self.plan, &self.silence, self.done.take()?, units);
        Some(Profile { run: self.session.outline("function", &self.plan), counts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretch_that_was_not_begun_has_no_counts() {
        let machine = Machine::real();
        let mut window = Window::open(&machine, &["page-faults"]).unwrap();
        window.end();
        assert_eq!(window.profile(&[]), None);
        window.begin();
        window.end();
        let profile = window.profile(&[CountedUnit::new("page", 3)]).unwrap();
        assert_eq!(profile.counts.executions, 1);
        assert_eq!(profile.counts.units[0].name, "page");
        assert_eq!(window.profile(&[]), None);
    }

    #[test]
    fn own_counts_of_nothing_are_subtracted() {
        let machine = Machine::real();
        let mut window = Window::open(&machine, &["page-faults"]).unwrap();
        let touch = |pages: usize| std::hint::black_box(vec![1u8; pages * 4096]).len();
        for _ in 0..3 {
            window.begin();
            touch(1 << 14);
            window.end();
            window.was_nothing();
        }
        window.begin();
        window.end();
        let profile = window.profile(&[]).unwrap();
        let row = profile.counts.events.iter().find(|row| row.event == "page-faults").unwrap();
        let Some(own) = row.own else { return };
        assert!(own > 0, "{row:?}");
        assert_eq!(row.count.value(), Some(&0));
    }

    #[test]
    fn events_of_several_passes_and_simulated_machines_are_refused() {
        let machine = Machine::named("4c").unwrap();
        let refused = Window::open(&machine, &["instructions"]).err().unwrap();
        assert!(refused.why.contains("simulated"), "{refused:?}");
    }
}
