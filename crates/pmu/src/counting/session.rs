//! Counting a function: its passes, one after the other, and the table that they make.

use std::cell::OnceCell;

use machine::Machine;
use machine::activity::{EnergyMeter, EnergyReading};
use machine::perf::{Wanted, core_pmu};
use model::record::{AnchorSpread, CountedBy, CountedUnit, Counts, CountsRun, EventCount};
use model::{CpuId, CpuSet, Isa, Known, Obstacle, Reading, Unavailable};
use simulated::Model;
use sys::perf_open::{Attributes, Modes};

use super::derived::Core;
use super::energy;
use super::pass::{CounterReading, Execution, OpenCounters};
use super::plan::{Absent, CountingPlan, counters_of, plan};
use super::{counted_by, is_share, modes_of, needs_counter, sanity_loop, unit_of};
use crate::events::Encoded;

/// What is executed while counters count.
pub enum Work<'a> {
    /// A function of the calling program: a simulated machine cannot execute it.
    Function(&'a mut dyn FnMut()),
    /// Something that simulated machines know, too.
    Known(&'a mut dyn Executable),
    /// Nothing: what the measurement counts by itself, which is subtracted elsewhere.
    Nothing,
}

/// Something that real and simulated machines can execute.
pub trait Executable {
    /// What is done before, and not counted.
    fn before(&mut self) {}
    /// What a real machine executes.
    fn run(&mut self);
    /// What happens on a simulated one.
    ///
    /// # Error
    /// Where the model does not know it.
    fn simulate(&mut self, model: &Model) -> Reading<()>;
}

/// The calling thread, pinned to a CPU for as long as this lives.
pub struct Session<'a> {
    machine: &'a Machine,
    before: CpuSet,
    cpu: CpuId,
    modes: Modes,
    /// Whether each pass counts a loop first whose counts are known.
    with_canary: bool,
    /// Metrics that are wanted, also where they have no value; none: nothing is derived.
    metrics: Option<Vec<String>>,
    core: OnceCell<Core>,
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        // Whoever may be pinned may be let go.
        drop(self.machine.perf.run_on(&self.before));
    }
}

impl<'a> Session<'a> {
    /// Pins the calling thread to the CPU that it runs on, or to the one that is named; user mode is
    /// counted.
    ///
    /// # Error
    /// Where nothing can be counted on the machine, or the thread may not be pinned.
    pub fn on(machine: &'a Machine, cpu: Option<CpuId>) -> Reading<Session<'a>> {
        let before = machine.host.affinity()?;
        let here = cpu.or_else(|| machine.perf.current_cpu()).or_else(|| before.iter().next());
        let cpu = here.ok_or_else(|| {
            Unavailable::new(Obstacle::Permission, "CPU to count on", "this process may use none")
        })?;
        machine.perf.run_on(&std::iter::once(cpu).collect())?;
        Ok(Session {
            machine,
            before,
            cpu,
            modes: Modes::User,
            with_canary: true,
            metrics: Some(Vec::new()),
            core: OnceCell::new(),
        })
    }

    /// The same with these metrics, by their ids: where one has no value, it has a reason.
    #[must_use]
    pub fn with_metrics(mut self, ids: &[String]) -> Session<'a> {
        self.metrics = Some(ids.to_vec());
        self
    }

    /// The same with counts alone: what follows from them takes a look at the whole machine.
    #[must_use]
    pub fn without_metrics(mut self) -> Session<'a> {
        self.metrics = None;
        self
    }

    /// The core that is counted on.
    pub fn core(&self) -> &Core {
        self.core.get_or_init(|| Core::of(self.machine, self.cpu))
    }

    /// The same without a canary, for whoever wants to see what it would refuse.
    #[must_use]
    pub fn without_canary(mut self) -> Session<'a> {
        self.with_canary = false;
        self
    }

    /// The CPUs that the thread may use, but for its being pinned.
    pub(super) fn usable(&self) -> &CpuSet {
        &self.before
    }

    /// The machine.
    pub(super) fn machine(&self) -> &'a Machine {
        self.machine
    }

    /// The same with the kernel's work for the thread.
    #[must_use]
    pub fn with_kernel(mut self) -> Session<'a> {
        self.modes = Modes::All;
        self
    }

    /// The CPU.
    pub fn cpu(&self) -> CpuId {
        self.cpu
    }

    /// Whether the machine can execute a checksum: this one by its CPUID, a simulated one by what it
    /// says of itself.
    pub(super) fn can_execute(&self, row: &'static kernels::checksum::ChecksumRow) -> Reading<()> {
        let Some(model) = &self.machine.simulated else { return row.runnable().map(drop) };
        // Every x86-64 has it.
        let has = |isa: &Isa| *isa == Isa::Sse2 || model.identity.isa.contains(isa);
        match row.needs.iter().find(|isa| !has(isa)) {
            None => Ok(()),
            Some(isa) => {
                let why = format!("this simulated machine lacks {isa}");
                Err(Unavailable::new(Obstacle::Hardware, row.id, why))
            }
        }
    }

    /// The passes for these events on this CPU.
    pub fn plan(&self, events: &[Encoded]) -> CountingPlan {
        plan(self.machine, self.cpu, events)
    }

    /// Why the kernel does not open an event here, if it does not: it is opened, and closed.
    pub(super) fn closed(&self, event: &Encoded) -> Option<Unavailable> {
        let Some(kind) = event.kind else {
            let why = "the kernel at hand has no such PMU";
            return Some(Unavailable::new(Obstacle::Hardware, &event.name, why));
        };
        let attributes = Attributes {
            kind,
            config: event.config,
            modes: modes_of(event, self.modes),
            ..Attributes::default()
        };
        let wanted = Wanted::of_this_thread(&event.name, attributes);
        self.machine.perf.open(&wanted, None).err()
    }

    /// The plan without the events that the kernel does not open, each with its reason.
    #[must_use]
    pub fn tried(&self, mut plan: CountingPlan) -> CountingPlan {
        let has_pass = |at: &usize| plan.passes.iter().any(|pass| pass.contains(at));
        // Shares of slots are opened behind slots alone.
        let alone = |at: &usize| has_pass(at) && !is_share(&plan.events[*at]);
        let closed = |at| Some(Absent { event: at, why: self.closed(&plan.events[at])? });
        let absent = (0..plan.events.len()).filter(alone).filter_map(closed).collect();
        plan.leave_out(absent);
        plan
    }

    /// What is known before anything is counted.
    pub fn outline(&self, subject: &str, plan: &CountingPlan) -> CountsRun {
        let limits = counters_of(self.machine, self.cpu);
        let modes = if self.modes == Modes::User { "user mode" } else { "user and kernel mode" };
        CountsRun {
            subject: subject.to_owned(),
            modes: modes.to_owned(),
            cpu: Some(self.cpu),
            pmu: core_pmu(self.machine, self.cpu),
            limits: Some(limits.into()),
            passes: plan.names(),
            absent: plan.absent.iter().map(|absent| absent.why.clone()).collect(),
            ..CountsRun::default()
        }
    }

    /// Executes the work once a pass, and puts the passes together.
    ///
    /// # Error
    /// Where the machine cannot execute it.
    pub fn count(
        &self,
        title: &str,
        plan: &CountingPlan,
        mut work: Work<'_>,
        units: &[CountedUnit],
    ) -> Reading<Counts> {
        if matches!(work, Work::Function(_)) && self.machine.simulated.is_some() {
            let why = "a simulated machine cannot execute a function of this program";
            return Err(Unavailable::new(Obstacle::Cpudyno, title, why)
                .with_remedy("count on a real machine, or a demonstration: `cpudyno pmu kernel`"));
        }
        let is_work = !matches!(work, Work::Nothing);
        let asked = self.metrics.as_ref().filter(|_| is_work);
        let mut meter = asked.map(|_| EnergyMeter::new(self.machine, Some(self.cpu)));
        let mut passes = Vec::with_capacity(plan.passes.len());
        for pass in &plan.passes {
            passes.push(self.pass(plan, pass, &mut work, meter.as_mut())?);
        }
        let mut counts = table(title, plan, &passes, units);
        let drawn = passes.first().and_then(|pass| pass.energy.as_ref()).zip(asked);
        counts.events.extend(drawn.and_then(|(reading, asked)| energy::row(reading, asked)));
        Ok(self.with_metrics_of(counts))
    }

    /// The counts with what follows from them, where that was not left out.
    fn with_metrics_of(&self, counts: Counts) -> Counts {
        let of_core = |row: &EventCount| matches!(row.by, CountedBy::Fixed | CountedBy::General);
        let is_counted = |row: &EventCount| of_core(row) && row.count.value().is_some();
        let Some(asked) = &self.metrics else { return counts };
        if asked.is_empty() && !counts.events.iter().any(is_counted) {
            return counts;
        }
        let metrics = self.core().derive(&counts, asked);
        Counts { metrics, ..counts }
    }

    /// Opens the counters of a plan's only pass, and counts nothing and a known loop with them.
    pub(super) fn opened(&self, plan: &CountingPlan) -> (OpenCounters<'a>, Silence) {
        let pass = plan.passes.first().map_or(&[][..], Vec::as_slice);
        let events: Vec<&Encoded> = pass.iter().map(|&at| &plan.events[at]).collect();
        let open = OpenCounters::of(self.machine, &events, self.modes);
        let own = open.own(&mut || ());
        let heard = self.with_canary.then(|| {
            // A real machine fails at no loop.
            let heard = open.execute(&mut || drop(sanity_loop::sing(None)));
            sanity_loop::without(heard, &own)
        });
        (open, Silence { own, heard })
    }

    /// The table of one execution that was counted by what [`Session::opened`] gave.
    pub(super) fn told(
        &self,
        plan: &CountingPlan,
        silence: &Silence,
        done: Execution,
        units: &[CountedUnit],
    ) -> Counts {
        let pass = plan.passes.first().cloned().unwrap_or_default();
        let mut passed = Passed { events: pass, own: silence.own.clone(), done, energy: None };
        passed.doubt(plan);
        if let Some(heard) = &silence.heard {
            let events: Vec<&Encoded> = passed.events.iter().map(|&at| &plan.events[at]).collect();
            sanity_loop::hear(&events, heard, self.modes, &mut passed.done.counts);
        }
        self.with_metrics_of(table("function", plan, &[passed], units))
    }

    fn pass(
        &self,
        plan: &CountingPlan,
        pass: &[usize],
        work: &mut Work<'_>,
        mut meter: Option<&mut EnergyMeter<'_>>,
    ) -> Reading<Passed> {
        let events: Vec<&Encoded> = pass.iter().map(|&at| &plan.events[at]).collect();
        if let Work::Known(known) = work {
            known.before();
        }
        let open = OpenCounters::of(self.machine, &events, self.modes);
        let simulated = self.machine.simulated.as_ref();
        let failed = OnceCell::new();
        let simulate = |id: &str, units| {
            if let Some(Err(reason)) = simulated.map(|model| model.execute(id, 1, units)) {
                failed.get_or_init(|| reason);
            }
        };
        let mut own = open.own(&mut || simulate("empty", 0));
        let heard = self.with_canary.then(|| {
            let heard = open.execute(&mut || {
                simulate("empty", 0);
                if let Err(reason) = sanity_loop::sing(simulated) {
                    failed.get_or_init(|| reason);
                }
            });
            sanity_loop::without(heard, &own)
        });
        if let Some(meter) = &mut meter {
            meter.begin();
        }
        let done = match work {
            Work::Nothing => Execution { counts: own.counts.clone(), ticks: own.ticks },
            Work::Function(function) => open.execute(&mut || function()),
            Work::Known(known) => match simulated {
                None => open.execute(&mut || known.run()),
                Some(model) => open.execute(&mut || {
                    simulate("empty", 0);
                    if let Err(reason) = known.simulate(model) {
                        failed.get_or_init(|| reason);
                    }
                }),
            },
        };
        let energy = meter.map(EnergyMeter::end);
        if let Some(reason) = failed.into_inner() {
            return Err(reason);
        }
        if matches!(work, Work::Nothing) {
            own = Execution { counts: vec![Ok(NOTHING); own.counts.len()], ticks: Some(0) };
        }
        let mut passed = Passed { events: pass.to_vec(), own, done, energy };
        passed.doubt(plan);
        if let Some(heard) = heard {
            sanity_loop::hear(&events, &heard, self.modes, &mut passed.done.counts);
        }
        Ok(passed)
    }
}

/// What counters count of nothing, and of a loop whose counts are known.
pub(super) struct Silence {
    pub(super) own: Execution,
    heard: Option<Vec<Reading<CounterReading>>>,
}

const NOTHING: CounterReading = CounterReading { value: 0, way: machine::perf::Way::Rdpmc };

/// A pass that was executed.
struct Passed {
    events: Vec<usize>,
    own: Execution,
    done: Execution,
    /// What the CPU's package drew meanwhile, where that is of interest.
    energy: Option<EnergyReading>,
}

impl Passed {
    /// No function executes no instructions and takes no cycles: counters of which one says so stand
    /// still, whatever the kernel says of them.
    fn doubt(&mut self, plan: &CountingPlan) {
        let stands = |at: &usize| {
            plan.anchors.contains(&self.events[*at])
                && matches!(&self.done.counts[*at], Ok(counted) if counted.value == 0)
        };
        if !(0..self.events.len()).any(|at| stands(&at)) {
            return;
        }
        for (at, &event) in self.events.iter().enumerate() {
            let event = &plan.events[event];
            if needs_counter(event) && self.done.counts[at].is_ok() {
                let why = "the counters of the core stood still while code was executed";
                let stood = Unavailable::new(Obstacle::Permission, &event.name, why);
                self.done.counts[at] = Err(stood.with_remedy(
                    "in a guest: ask for a PMU on the host; else end other programs that use the \
                     PMU",
                ));
            }
        }
    }

    /// What an event counted without the measurement's own counts, and those.
    fn count(&self, event: usize) -> Option<(Reading<CounterReading>, Option<u64>)> {
        let at = self.events.iter().position(|one| *one == event)?;
        // What the measurement counts by itself is subtracted, or nothing is said.
        let own = match &self.own.counts[at] {
            Ok(own) => own.value,
            Err(reason) => {
                let done = self.done.counts[at].as_ref().err();
                return Some((Err(done.unwrap_or(reason).clone()), None));
            }
        };
        let without = |counted: &CounterReading| CounterReading {
            value: counted.value.saturating_sub(own),
            ..*counted
        };
        Some((self.done.counts[at].as_ref().map(without).map_err(Clone::clone), Some(own)))
    }

    /// Whether what it counted can stand beside another pass: each anchor was counted in both.
    fn can_be_compared(&self, first: &Passed, plan: &CountingPlan) -> bool {
        let counted = |pass: &Passed, anchor| pass.count(anchor).is_some_and(|it| it.0.is_ok());
        let both = |&anchor: &usize| counted(self, anchor) && counted(first, anchor);
        plan.anchors.iter().any(both)
    }
}

/// How near the anchors of two passes must be to each other for their counts to stand in one table:
/// within a share of the least one, or within so many events. Instructions are nearly the same in
/// each execution of a function: an interrupt or a page fault adds one or two. Cycles follow caches
/// and clocks.
const AGREE: [(&str, f64, u64); 2] = [("instructions", 0.01, 50), ("cycles", 0.1, 10_000)];

fn spread(plan: &CountingPlan, passes: &[Passed]) -> Vec<AnchorSpread> {
    let of = |&anchor: &usize| {
        let event = &plan.events[anchor].name;
        let counts = passes.iter().filter_map(|pass| pass.count(anchor)?.0.ok());
        let counts: Vec<u64> = counts.map(|counted| counted.value).collect();
        let (least, greatest) = (*counts.iter().min()?, *counts.iter().max()?);
        let (_, share, number) = AGREE.iter().find(|row| row.0 == event)?;
        let apart = greatest - least;
        let agrees = apart <= *number || apart as f64 <= share * least as f64;
        (counts.len() > 1).then(|| AnchorSpread { event: event.clone(), least, greatest, agrees })
    };
    plan.anchors.iter().filter_map(of).collect()
}

fn table(title: &str, plan: &CountingPlan, passes: &[Passed], units: &[CountedUnit]) -> Counts {
    let spread = spread(plan, passes);
    let apart: Option<&AnchorSpread> = spread.iter().find(|spread| !spread.agrees);
    let mut events: Vec<EventCount> = plan
        .events
        .iter()
        .enumerate()
        .map(|(at, event)| {
            let first =
                passes.iter().enumerate().find_map(|(pass, it)| Some((pass, it.count(at)?)));
            let (count, own) = match first {
                Some((pass, (Ok(_), _)))
                    if pass > 0
                        && let Some(apart) = apart =>
                {
                    (Err(disagree(&event.name, apart)), None)
                }
                Some((pass, (Ok(_), _)))
                    if pass > 0 && !passes[pass].can_be_compared(&passes[0], plan) =>
                {
                    (Err(unanchored(&event.name)), None)
                }
                Some((_, (count, own))) => (count, own),
                None => (Err(absent(plan, at)), None),
            };
            row(event, count, own)
        })
        .collect();
    if let Some(first) = passes.first()
        && let (Some(ticks), Some(own)) = (first.done.ticks, first.own.ticks)
    {
        events.push(EventCount {
            event: "tsc".to_owned(),
            by: CountedBy::Clock,
            unit: None,
            count: Known::Yes(ticks.saturating_sub(own)),
            own: Some(own),
            way: Some("rdtsc".to_owned()),
        });
    }
    events.sort_by_key(|row| row.by);
    Counts {
        title: title.to_owned(),
        units: units.to_vec(),
        events,
        executions: passes.len() as u64,
        spread,
        ..Counts::default()
    }
}

fn row(event: &Encoded, count: Reading<CounterReading>, own: Option<u64>) -> EventCount {
    let is_base = super::plan::is_base(&event.name);
    EventCount {
        event: event.name.clone(),
        by: if is_base { CountedBy::Fixed } else { counted_by(event) },
        unit: unit_of(event),
        way: count.as_ref().ok().map(|counted| counted.way.name().to_owned()),
        own: own.filter(|_| count.is_ok()),
        count: count.map(|counted| counted.value).into(),
    }
}

fn absent(plan: &CountingPlan, at: usize) -> Unavailable {
    let found = plan.absent.iter().find(|absent| absent.event == at);
    found.map_or_else(
        || Unavailable::new(Obstacle::Cpudyno, &plan.events[at].name, "no pass counts it"),
        |absent| absent.why.clone(),
    )
}

fn disagree(event: &str, apart: &AnchorSpread) -> Unavailable {
    let AnchorSpread { event: anchor, least, greatest, .. } = apart;
    let why = format!(
        "it was counted in another execution, which differs from the first: {least} to {greatest} \
         {anchor}"
    );
    Unavailable::new(Obstacle::Measurement, event, why)
        .with_remedy("count fewer events at once, or a function that does the same in each call")
}

fn unanchored(event: &str) -> Unavailable {
    let why = "it was counted in another execution, and without instructions and cycles the two \
               cannot be compared";
    Unavailable::new(Obstacle::Measurement, event, why).with_remedy("count fewer events at once")
}
