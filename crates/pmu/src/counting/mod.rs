//! Counters: what fits into a pass, opening, reading, and what the counts say.
//!
//! More events than counters are measured in further executions of the same function, never by turns
//! within one: [`plan`] puts cycles and instructions as anchors into each pass, and how far those are
//! apart tells whether the passes may stand in one table. A count whose counter had its place on the
//! hardware for a part of the time only is rejected, never scaled. What the measurement itself counts is
//! measured with an empty function, and subtracted.

mod api;
mod budget;
mod command;
mod counted_kernels;
mod derived;
mod energy;
pub mod examples;
mod known_answers;
mod pass;
mod plan;
mod regions;
mod sanity_loop;
mod sections;
mod session;
mod sheet;
mod window;

pub use api::{
    DataSheet, EventList, Profile, can_count, is_available, measure, profile, profile_to, sheet,
};
pub use budget::{Budget, BudgetKernel, Drift, Expected};
pub use command::{CommandRun, StatEvents, rehearse, stat};
pub use counted_kernels::{Data, Kernel, KernelCounts, Spec, Under};
pub use derived::{Core, needed};
pub use known_answers::{difference, refused, selftest, with_unknown};
pub use model::counts::{Report, report};
pub use plan::{
    Absent, CountingPlan, always, anchors, base, base_of_all, counters_of, plan, software,
};
pub use regions::{
    REGIONS_MAX, RegionCounters, RegionPlan, RegionRefusal, RegionSums, RegionTotal,
};
pub use sections::{CounterSet, PartIndex};
pub use session::{Executable, Session, Work};
pub use sheet::{Sheet, kernel, sizes};
pub use window::Window;

use machine::Machine;
use machine::perf::{Reader, Wanted, Way};
use machine::pmu::Config;
use model::record::CountedBy;
use model::{CpuId, Obstacle, Reading, Unavailable};
use sys::perf_open::{Attributes, Begin, Scope as Whose};

use crate::events::{CounterPlace, Encoded, EventScope, Modes, Source};

/// An event of the kernel's own, or a generic one, by its number.
fn of_kernel(name: &str, kind: u32, config: Config, place: CounterPlace) -> Encoded {
    Encoded {
        name: name.to_owned(),
        pmu: None,
        kind: Some(kind),
        config,
        by_mode: true,
        modes: None,
        scope: EventScope::Thread,
        place,
        register: None,
        source: Source::Kernel,
        description: None,
        caveats: Vec::new(),
    }
}

/// What the kernel is asked for: the event's own wish first, then what its PMU can do, then `usual`.
fn modes_of(event: &Encoded, usual: sys::perf_open::Modes) -> sys::perf_open::Modes {
    use sys::perf_open::Modes as Asked;
    match event.modes {
        Some(Modes::User) => Asked::User,
        Some(Modes::Kernel) => Asked::Kernel,
        Some(Modes::Both) => Asked::All,
        None if !event.by_mode => Asked::All,
        None => usual,
    }
}

/// Opens the counter of what everybody does on a CPU, in user and kernel mode unless the event says
/// otherwise; one with a leader is on the hardware together with it, and a leader begins when it is
/// started.
///
/// # Error
/// Where the kernel has no such PMU, or refuses.
pub fn open_on(
    machine: &Machine,
    event: &Encoded,
    cpu: CpuId,
    begin: Begin,
    leader: Option<&Reader>,
) -> Reading<Reader> {
    let modes = modes_of(event, sys::perf_open::Modes::All);
    let (kind, config) = (kind_of(event)?, event.config);
    let attributes = Attributes { kind, config, modes, begin, ..Attributes::default() };
    let scope = Whose::Everybody(cpu);
    let wanted = Wanted { scope, ..Wanted::of_this_thread(&event.name, attributes) };
    machine.perf.open(&wanted, leader)
}

/// The number of its PMU.
fn kind_of(event: &Encoded) -> Reading<u32> {
    event.kind.ok_or_else(|| {
        let why = "the kernel at hand has no such PMU";
        Unavailable::new(Obstacle::Hardware, &event.name, why)
    })
}

/// Whether it needs a counter of the core's.
fn needs_counter(event: &Encoded) -> bool {
    event.place != CounterPlace::Software
}

/// Whether it is a share of Intel's slots: it takes no counter of its own, and is counted only in a group
/// that `slots` leads.
fn is_share(event: &Encoded) -> bool {
    matches!(event.place, CounterPlace::General { takes: 0, .. })
}

/// Whether it is the slots themselves.
///
/// # Source
/// Linux, `arch/x86/events/intel/core.c`: `slots` is event 00h with unit mask 04h, on fixed counter 3.
fn is_slots(event: &Encoded) -> bool {
    event.place == CounterPlace::Fixed(SLOTS) && event.config[0] == 0x400
}

const SLOTS: u32 = 3;

fn counted_by(event: &Encoded) -> CountedBy {
    match event.place {
        CounterPlace::Fixed(_) => CountedBy::Fixed,
        CounterPlace::General { .. } => CountedBy::General,
        CounterPlace::Software if event.pmu.as_deref() == Some("msr") => CountedBy::Clock,
        CounterPlace::Software => CountedBy::Kernel,
    }
}

/// The unit of a count that is no number of events: the kernel's clocks count nanoseconds.
fn unit_of(event: &Encoded) -> Option<String> {
    const SOFTWARE: u32 = 1;
    let is_clock = event.kind == Some(SOFTWARE) && event.config[0] < 2;
    is_clock.then(|| "ns".to_owned())
}

/// The slower of two ways.
fn slower(one: Way, other: Way) -> Way {
    if one == Way::Rdpmc { other } else { one }
}
