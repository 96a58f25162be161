//! Which events are counted in which pass.

use machine::Machine;
use machine::perf::{core_pmu, limits};
use machine::pmu::Pmu;
use model::counters::{Limits, Needs, fits, fixed_counter, general_counters};
use model::{CpuId, Obstacle, Reading, Unavailable};

use super::{SLOTS, is_share, is_slots, needs_counter, of_kernel};
use crate::events::sources::kernel;
use crate::events::{CounterPlace, Encoded, EventScope, plain};

/// An event that cannot be counted, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Absent {
    /// Its place among the events of the plan.
    pub event: usize,
    /// Why.
    pub why: Unavailable,
}

/// Events in passes. Nothing that was asked for is left out without a reason.
#[derive(Debug, Clone, PartialEq)]
pub struct CountingPlan {
    /// The events: what was asked for, with the base in front.
    pub events: Vec<Encoded>,
    /// The events that are anchors: they are in every pass.
    pub anchors: Vec<usize>,
    /// The events of each pass, the anchors first.
    pub passes: Vec<Vec<usize>>,
    /// What has no place in any.
    pub absent: Vec<Absent>,
    /// The counters that there are; or why that is not known, and each pass has one event.
    pub limits: Reading<Limits>,
}

/// `PERF_TYPE_SOFTWARE`.
const SOFTWARE: u32 = 1;

/// The generic events that every table begins with.
const BASE: [&str; 3] = ["instructions", "cycles", "ref-cycles"];

/// Instructions, cycles and reference cycles of a CPU's kind of core: what every table begins with.
pub fn base(machine: &Machine, cpu: CpuId) -> Vec<Encoded> {
    let pmu = core_pmu(machine, cpu);
    let is_one_of_several = machine::pmu::of_cores(&*machine.tree).len() > 1;
    let meant = pmu.as_deref().filter(|_| is_one_of_several).and_then(|name| {
        let number = Pmu::new(&*machine.tree, name).kind().ok()?;
        Some(kernel::Meant { name, number })
    });
    let limits = limits(machine, cpu);
    let is_fixed = |counter| limits.as_ref().is_ok_and(|limits| limits.has_fixed(counter));
    let event = |name| {
        let id = kernel::generic_number(name)?;
        let fixed = kernel::fixed_of_intel(id).filter(|counter| is_fixed(*counter));
        let place = fixed
            .map_or(CounterPlace::General { counters: u64::MAX, takes: 1 }, CounterPlace::Fixed);
        let (kind, config) = kernel::generic(kernel::HARDWARE, id, meant);
        Some(Encoded { pmu: pmu.clone(), ..of_kernel(name, kind, [config, 0, 0, 0], place) })
    };
    BASE.into_iter().filter_map(event).collect()
}

/// The kinds of cores of a hybrid, each with its PMU and its first CPU; of other machines none.
pub(super) fn kinds(machine: &Machine) -> Vec<(String, CpuId)> {
    let tree = &*machine.tree;
    let kinds: Vec<(String, CpuId)> = machine::pmu::of_cores(tree)
        .into_iter()
        .filter_map(|name| Pmu::new(tree, &name).first_cpu().map(|cpu| (name.clone(), cpu)))
        .collect();
    if kinds.len() > 1 { kinds } else { Vec::new() }
}

/// Instructions, cycles and reference cycles for every kind of core: a command goes from one to
/// another.
pub fn base_of_all(machine: &Machine) -> Vec<Encoded> {
    let kinds = kinds(machine);
    if kinds.is_empty() {
        let cpus = machine.host.affinity().unwrap_or_default();
        return base(machine, cpus.iter().next().unwrap_or(CpuId(0)));
    }
    let of_kind = |(pmu, cpu): (String, CpuId)| {
        let named =
            move |event: Encoded| Encoded { name: format!("{pmu}/{}/", event.name), ..event };
        base(machine, cpu).into_iter().map(named)
    };
    kinds.into_iter().flat_map(of_kind).collect()
}

/// Whether every table begins with it.
pub(super) fn is_base(name: &str) -> bool {
    BASE.contains(&name)
}

/// The names of what every table begins with, and of the kernel's own events that are counted with it.
pub fn always() -> Vec<String> {
    let base = BASE.iter().map(|&name| name.to_owned());
    base.chain(software().into_iter().map(|event| event.name)).collect()
}

/// The names of those that are in every pass.
pub fn anchors() -> [&'static str; 2] {
    ["instructions", "cycles"]
}

/// Events of the kernel's own, which need no hardware. Switches and migrations are counted in all modes,
/// because they happen in the kernel's: in user mode alone there would be none.
///
/// # Source
/// `include/uapi/linux/perf_event.h`, `enum perf_sw_ids`; `kernel/events/core.c`, `perf_exclude_event`.
pub fn software() -> Vec<Encoded> {
    /// Whether the kernel counts it in the mode in which it happens.
    const EVENTS: [(&str, bool); 4] = [
        ("task-clock", true),
        ("page-faults", true),
        ("context-switches", false),
        ("cpu-migrations", false),
    ];
    let event = |(name, by_mode)| {
        let id = kernel::software_number(name)?;
        Some(Encoded {
            by_mode,
            ..of_kernel(name, SOFTWARE, [id, 0, 0, 0], CounterPlace::Software)
        })
    };
    EVENTS.into_iter().filter_map(event).collect()
}

/// Puts events into as few passes as first fit finds, on the counters of a CPU's kind of core.
/// Reference cycles, where nobody asks for them, have what place is left, and cost no pass.
pub fn plan(machine: &Machine, cpu: CpuId, asked: &[Encoded]) -> CountingPlan {
    let limits = limits(machine, cpu);
    let pmu = core_pmu(machine, cpu);
    let mut events = base(machine, cpu);
    let base = events.len();
    // A name has an event for each kind of core: the one of this kind is meant.
    let mut asked: Vec<&Encoded> = asked.iter().collect();
    asked.sort_by_key(|event| needs_counter(event) && event.pmu != pmu);
    let mut wished = vec![false; base];
    for event in asked {
        if let Some(at) = events.iter().position(|known| known.is_same(event)) {
            wished[at] = true;
        } else {
            events.push(event.clone());
            wished.push(true);
        }
    }
    with_slots(&mut events, pmu.as_deref());
    wished.resize(events.len(), true);
    let is_anchor = |event: &Encoded| anchors().contains(&event.name.as_str());
    let anchors: Vec<usize> = (0..base).filter(|&at| is_anchor(&events[at])).collect();
    let mut plan = CountingPlan {
        events,
        anchors: anchors.clone(),
        passes: vec![anchors],
        absent: Vec::new(),
        limits,
    };
    // Choosy events first: whoever can go anywhere finds a place beside them.
    let mut order: Vec<usize> =
        (0..plan.events.len()).filter(|at| !plan.anchors.contains(at)).collect();
    order.sort_by_key(|&at| (!wished[at], is_share(&plan.events[at]), plan.choices(at)));
    for at in order {
        let refusal = plan.refusal(at, pmu.as_deref());
        match refusal.or_else(|| (!wished[at]).then(|| plan.cost(at)).flatten()) {
            Some(why) => plan.absent.push(Absent { event: at, why }),
            None => plan.place(at),
        }
    }
    for pass in &mut plan.passes {
        let anchors = plan.anchors.len().min(pass.len());
        pass[anchors..].sort_unstable();
        // The first leads the group.
        if pass.iter().any(|&at| is_share(&plan.events[at]))
            && let Some(place) = pass.iter().position(|&at| is_slots(&plan.events[at]))
        {
            pass[..=place].rotate_right(1);
        }
    }
    plan.absent.sort_by_key(|absent| absent.event);
    plan
}

/// Whoever asks for shares of the slots needs the slots.
pub(super) fn with_slots(events: &mut Vec<Encoded>, pmu: Option<&str>) {
    let here = |event: &&Encoded| is_share(event) && (pmu.is_none() || event.pmu.as_deref() == pmu);
    let Some(share) = events.iter().find(here) else { return };
    if !events.iter().any(is_slots) {
        let slots = Encoded {
            name: share.name.replace(plain(share), "slots"),
            config: [0x400, 0, 0, 0],
            place: CounterPlace::Fixed(SLOTS),
            ..share.clone()
        };
        events.push(slots);
    }
}

/// Why an event of the cores cannot be counted on this kind of core, if it is another kind's.
pub(super) fn of_another_kind(event: &Encoded, pmu: Option<&str>) -> Option<Unavailable> {
    let of_core = needs_counter(event) && event.scope == EventScope::Thread;
    let of = event.pmu.as_deref().filter(|_| of_core)?;
    let pmu = pmu.filter(|pmu| of != *pmu)?;
    let why = format!("PMU `{of}` counts on another kind of core; here it is `{pmu}`");
    let remedy = format!("pin to a CPU of `/sys/bus/event_source/devices/{of}/cpus`");
    Some(Unavailable::new(Obstacle::Hardware, &event.name, why).with_remedy(remedy))
}

impl CountingPlan {
    /// The counters that an event can have.
    ///
    /// # Source
    /// Linux, `arch/x86/events/intel/core.c`, `intel_pmu_check_event_constraints`: what has a fixed
    /// counter can have every general one, too, but for reference cycles and slots.
    fn needs(&self, at: usize) -> Option<Needs> {
        let general = self.limits.as_ref().map_or(0, |limits| limits.general);
        match self.events[at].place {
            CounterPlace::Software | CounterPlace::General { takes: 0, .. } => None,
            CounterPlace::Fixed(number) => {
                let elsewhere = if number < 2 { general_counters(general) } else { 0 };
                Some(Needs { counters: fixed_counter(number) | elsewhere, takes: 1 })
            }
            CounterPlace::General { counters, takes } => {
                let counters = u128::from(counters) & general_counters(general);
                Some(Needs { counters, takes })
            }
        }
    }

    fn choices(&self, at: usize) -> u32 {
        self.needs(at).map_or(0, |needs| needs.counters.count_ones())
    }

    fn fit(&self, pass: &[usize]) -> bool {
        let registers = |at: &usize| self.events[*at].register.map(|number| (number, *at));
        let clash = pass.iter().filter_map(registers).any(|(number, one)| {
            let other =
                |other: &usize| *other != one && self.events[*other].register == Some(number);
            let same =
                |other: &usize| self.events[*other].config[1..] == self.events[one].config[1..];
            pass.iter().any(|at| other(at) && !same(at))
        });
        let wanted: Vec<Needs> = pass.iter().filter_map(|&at| self.needs(at)).collect();
        !clash
            && match &self.limits {
                Ok(limits) => fits(limits.available(), &wanted),
                // Nobody knows how many there are: one event beside the anchors.
                Err(_) => wanted.len() <= self.anchors.len() + 1,
            }
    }

    /// Why no pass can have it.
    fn refusal(&self, at: usize, pmu: Option<&str>) -> Option<Unavailable> {
        let event = &self.events[at];
        let absent = |obstacle, why: String| Some(Unavailable::new(obstacle, &event.name, why));
        let of = event.pmu.as_deref();
        if event.kind.is_none() {
            let why = match of {
                Some(name) => format!("the kernel has no PMU `{name}`"),
                None => "the kernel has no PMU for it".to_owned(),
            };
            return absent(Obstacle::Hardware, why);
        }
        if event.scope == EventScope::Shared {
            let why = "it counts for a part of the whole machine, not for one function";
            return absent(Obstacle::Hardware, why.to_owned());
        }
        if !needs_counter(event) {
            return None;
        }
        if let Some(elsewhere) = of_another_kind(event, pmu) {
            return Some(elsewhere);
        }
        let is_arm = of.is_some_and(machine::pmu::is_of_arm);
        if is_arm && event.kind == Some(kernel::HARDWARE) && !kernel::has_arm(event.config[0]) {
            return absent(Obstacle::Hardware, "Arm's architecture has no such event".to_owned());
        }
        if is_share(event) {
            // Slots were placed before, or have their reason.
            let slots = self.events.iter().position(is_slots);
            let reason = self.absent.iter().find(|absent| Some(absent.event) == slots);
            return reason.map(|absent| Unavailable {
                what: event.name.clone(),
                why: format!("it is counted only together with `slots`: {}", absent.why.why),
                ..absent.why.clone()
            });
        }
        let alone: Vec<usize> = self.anchors.iter().copied().chain([at]).collect();
        if self.fit(&alone) {
            return None;
        }
        let limits = self.limits.as_ref().ok()?;
        let why = format!(
            "no counter is left for it after instructions and cycles: {}",
            in_words(*limits)
        );
        let absent = absent(Obstacle::Hardware, why)?;
        Some(if limits.watchdog {
            absent.with_remedy("`sudo sysctl kernel.nmi_watchdog=0` gives one back")
        } else {
            absent
        })
    }

    /// Why what nobody asked for is left out: it has a place in a further pass alone.
    fn cost(&self, at: usize) -> Option<Unavailable> {
        if self.pass_for(at).is_some() {
            return None;
        }
        let name = &self.events[at].name;
        let why =
            "no counter is left, and an event that was not asked for gets no further execution";
        let absent = Unavailable::new(Obstacle::Hardware, name, why);
        Some(absent.with_remedy(format!("ask for `{name}` by its name")))
    }

    /// The first pass that has room for it.
    fn pass_for(&self, at: usize) -> Option<usize> {
        let with = |pass: &Vec<usize>| {
            let pass: Vec<usize> = pass.iter().copied().chain([at]).collect();
            self.fit(&pass)
        };
        self.passes.iter().position(with)
    }

    fn place(&mut self, at: usize) {
        if is_share(&self.events[at]) {
            let leads = |pass: &&mut Vec<usize>| pass.iter().any(|&at| is_slots(&self.events[at]));
            let pass = self.passes.iter_mut().find(leads);
            return pass.expect("BUG: slots have a pass, or shares a reason").push(at);
        }
        match self.pass_for(at) {
            Some(pass) => self.passes[pass].push(at),
            None => self.passes.push(self.anchors.iter().copied().chain([at]).collect()),
        }
    }

    /// Leaves events out that are refused, each with its reason: by name, those that a known answer found
    /// wrong. Where an anchor is refused, no counter of the core is believed.
    pub fn refuse(&mut self, refused: &[(String, Unavailable)]) {
        let by_name = |at: usize| {
            refused.iter().find(|(name, _)| *name == self.events[at].name).map(|row| &row.1)
        };
        let anchor = self.anchors.iter().find_map(|&at| by_name(at));
        let reason = |at: usize| {
            let of_core = anchor.filter(|_| needs_counter(&self.events[at]));
            by_name(at)
                .or(of_core)
                .map(|reason| Unavailable { what: self.events[at].name.clone(), ..reason.clone() })
        };
        let absent: Vec<Absent> = (0..self.events.len())
            .filter_map(|at| Some(Absent { event: at, why: reason(at)? }))
            .collect();
        self.leave_out(absent);
    }

    /// Leaves these out, and passes that have nothing but anchors then.
    pub(super) fn leave_out(&mut self, absent: Vec<Absent>) {
        for Absent { event, .. } in &absent {
            self.passes.iter_mut().for_each(|pass| pass.retain(|at| at != event));
            self.absent.retain(|known| known.event != *event);
        }
        self.passes.retain(|pass| pass.iter().any(|at| !self.anchors.contains(at)));
        if self.passes.is_empty() {
            let anchors = self.anchors.iter().copied();
            let kept = anchors.filter(|at| !absent.iter().any(|absent| absent.event == *at));
            self.passes.push(kept.collect());
        }
        self.absent.extend(absent);
        self.absent.sort_by_key(|absent| absent.event);
    }

    /// Whether these of its events fit on the counters together, without anchors.
    pub(super) fn together(&self, events: &[Encoded]) -> Reading<()> {
        let place = |event: &Encoded| self.events.iter().position(|it| it.name == event.name);
        let places: Vec<usize> = events.iter().filter_map(place).collect();
        if self.fit(&places) {
            return Ok(());
        }
        let names: Vec<&str> = events.iter().map(|event| event.name.as_str()).collect();
        let counters = self.limits.as_ref().map_or("its counters".to_owned(), |it| in_words(*it));
        let why = format!("{} do not fit together on {counters}", names.join(", "));
        Err(Unavailable::new(Obstacle::Hardware, "set of counters", why)
            .with_remedy("open a set of fewer events"))
    }

    /// The event of the plan that is the same: it may stand there under the name of what is in
    /// every table.
    pub fn find(&self, event: &Encoded) -> Option<&Encoded> {
        self.events.iter().find(|known| known.is_same(event))
    }

    /// The names of the events of each pass.
    pub fn names(&self) -> Vec<Vec<String>> {
        let name = |&at: &usize| self.events[at].name.clone();
        self.passes.iter().map(|pass| pass.iter().map(name).collect()).collect()
    }
}

/// The counters of a CPU's core, in words. CPUID tells guests of counters that they have not.
///
/// # Error
/// Where the kernel has no PMU of that core, or the CPU does not say how many counters it has.
pub fn counters_of(machine: &Machine, cpu: CpuId) -> Reading<String> {
    if core_pmu(machine, cpu).is_none() {
        let why = "the kernel has no PMU of the core";
        return Err(Unavailable::new(Obstacle::Hardware, "number of counters", why));
    }
    limits(machine, cpu).map(in_words)
}

/// The counters of a core in words.
fn in_words(limits: Limits) -> String {
    let Limits { general, fixed_bits, watchdog, .. } = limits;
    let fixed = fixed_bits.count_ones();
    let held = if watchdog { ", one of them used by the kernel's watchdog" } else { "" };
    format!("{general} general and {fixed} fixed counters{held}")
}
