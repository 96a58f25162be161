//! The PMUs of a simulated machine: what counts, what stands in its way, and what the built-in
//! demonstrations make it count.
//!
//! A counter here is what the kernel's is: a hardware counter of so many bits, and what it was worth
//! when the kernel took it over. It moves when [`Model::execute`] says that something was executed.

use std::collections::BTreeMap;
use std::io;
use std::sync::LazyLock;

use model::counters::{Limits, Needs, fits, fixed_counter, general_counters};
use model::{CpuId, Obstacle, Reading, Seconds, Unavailable};
use serde::Deserialize;
use sys::errno::{EACCES, EINVAL, ENOENT};
use sys::perf_open::{Attributes, Begin, Modes, Scope};
use sys::perf_page::extended;

use crate::description::{CorePmu, Model};
use crate::faults::Fault;
use crate::files::{Files, PMUS};
use crate::state::{CountedEvent, Counters, OpenCounter, SimulatedCounter, Standing};

/// Architectural events: name, event number with unit mask, number in `perf_hw_id`, fixed counter.
///
/// # Source
/// Intel SDM volume 3B, "Pre-defined Architectural Performance Events"; reference cycles have a number
/// of the kernel's own, `arch/x86/events/intel/core.c`.
const ARCHITECTURAL: &[(&str, u64, u64, Option<u32>)] = &[
    ("cycles", 0x003c, 0, Some(1)),
    ("instructions", 0x00c0, 1, Some(0)),
    ("cache-references", 0x4f2e, 2, None),
    ("cache-misses", 0x412e, 3, None),
    ("branch-instructions", 0x00c4, 4, None),
    ("branch-misses", 0x00c5, 5, None),
    ("ref-cycles", 0x0300, 9, Some(2)),
    // The kernel has no generic name for it.
    ("slots", 0x0400, u64::MAX, Some(3)),
];

/// The same events on Arm: name, what the kernel calls it in sysfs, number. There are no others.
///
/// # Source
/// Arm ARM, "The PMU event number space and common events"; Linux `drivers/perf/arm_pmuv3.c`,
/// `armv8_pmuv3_perf_map`.
const OF_ARM: &[(&str, &str, u64)] = &[
    ("cycles", "cpu_cycles", 0x11),
    ("instructions", "inst_retired", 0x08),
    ("cache-references", "l1d_cache", 0x04),
    ("cache-misses", "l1d_cache_refill", 0x03),
    ("branch-instructions", "br_retired", 0x21),
    ("branch-misses", "br_mis_pred", 0x10),
];

/// Reference cycles have no general counter, nor have slots.
const REF_CYCLES: u32 = 2;

/// Slots of a cycle.
pub const SLOTS_PER_CYCLE: f64 = 6.0;

/// Shares of the slots.
///
/// # Source
/// Linux, `arch/x86/events/intel/core.c`: event 00h with unit masks from 80h on, counted only in a group
/// that `slots` leads.
const SHARES: [(&str, u64); 8] = [
    ("topdown-retiring", 0x8000),
    ("topdown-bad-spec", 0x8100),
    ("topdown-fe-bound", 0x8200),
    ("topdown-be-bound", 0x8300),
    ("topdown-heavy-ops", 0x8400),
    ("topdown-br-mispredict", 0x8500),
    ("topdown-fetch-lat", 0x8600),
    ("topdown-mem-bound", 0x8700),
];

/// What a demonstration counts: by each call, and by each of its units.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkCounts {
    call: BTreeMap<String, f64>,
    #[serde(default)]
    unit: BTreeMap<String, f64>,
}

static WORK: LazyLock<BTreeMap<String, WorkCounts>> = LazyLock::new(|| {
    toml::from_str(include_str!("work.toml")).expect("BUG: the table of work can be read")
});

impl CorePmu {
    /// Limits of numbers that the bits of a counter and of CPUID can say.
    pub(crate) fn is_sound(&self) -> bool {
        (1..=32).contains(&self.general)
            && self.fixed <= 16
            && (32..=64).contains(&self.width)
            && self.events.iter().all(|event| (1..=2).contains(&event.takes))
    }

    fn has_slots(&self) -> bool {
        self.fixed > 3
    }

    /// The events of Arm's architecture that it has, where it is of that: as [`OF_ARM`].
    fn of_arm(&self) -> impl Iterator<Item = &'static (&'static str, &'static str, u64)> {
        let has = |name: &str| {
            self.arm.as_ref().is_some_and(|arm| !arm.lacks.iter().any(|lacked| lacked == name))
        };
        OF_ARM.iter().filter(move |row| has(row.0))
    }

    /// Whether it has a generic event.
    fn has_generic(&self, name: &str) -> bool {
        self.arm.is_none() || self.of_arm().any(|row| row.0 == name)
    }

    fn needs(&self, name: &str, general: u32) -> Option<Needs> {
        let all = general_counters(general);
        if let Some((_, _, _, fixed)) = ARCHITECTURAL.iter().find(|row| row.0 == name) {
            let fixed_bit = fixed.filter(|number| *number < self.fixed).map_or(0, fixed_counter);
            let general = if fixed.is_some_and(|number| number >= REF_CYCLES) { 0 } else { all };
            return Some(Needs { counters: fixed_bit | general, takes: 1 });
        }
        let event = self.events.iter().find(|event| event.name == name)?;
        let counters = event.counters.map_or(all, u128::from) & all;
        Some(Needs { counters, takes: event.takes })
    }

    /// What an encoding counts. The kernel takes what it does not know, which counts nothing.
    fn name_of(&self, config: u64) -> Option<&str> {
        if self.arm.is_some() {
            return self.of_arm().find(|row| row.2 == config).map(|row| row.0);
        }
        let architectural = ARCHITECTURAL.iter().find(|row| row.1 == config).map(|row| row.0);
        let own = || self.events.iter().find(|event| event.config == config);
        let share = SHARES.iter().find(|row| row.1 == config && self.has_slots()).map(|row| row.0);
        let architectural = architectural.or(share);
        architectural.or_else(|| own().map(|event| event.name.as_str()))
    }
}

impl Model {
    /// The limits of a CPU, before the watchdog takes its counter.
    pub(crate) fn core_limits(&self, cpu: CpuId) -> Option<Limits> {
        let pmu = &self.pmu[self.pmu_of(cpu)?];
        let halves = pmu.halved_by_smt && self.has_smt();
        Some(Limits {
            general: if halves { pmu.general / 2 } else { pmu.general },
            fixed_bits: (1 << pmu.fixed) - 1,
            width: Some(pmu.width),
            watchdog: self.nmi_watchdog,
        })
    }

    /// The PMU of a CPU's kind of core.
    fn pmu_of(&self, cpu: CpuId) -> Option<usize> {
        if self.is_arm() {
            let little = self.is_efficient(cpu) == Some(true);
            return Some(usize::from(little).min(self.pmu.len() - 1));
        }
        let kind = match self.is_efficient(cpu) {
            Some(true) => "cpu_atom",
            Some(false) => "cpu_core",
            None => "cpu",
        };
        self.pmu.iter().position(|pmu| pmu.name == kind)
    }

    /// Whether its cores count as those of Arm's architecture.
    pub(crate) fn is_arm(&self) -> bool {
        self.pmu.iter().any(|pmu| pmu.arm.is_some())
    }

    /// Where the thread runs.
    pub fn counted_cpu(&self) -> CpuId {
        self.counting.state().cpu.unwrap_or(CpuId(0))
    }

    /// Lets the thread that counts run on a CPU.
    pub fn count_on(&self, cpu: CpuId) {
        self.counting.state().cpu = Some(cpu);
    }

    /// Opens a counter, as the kernel does.
    pub fn open_counter(
        &self,
        attributes: &Attributes,
        scope: Scope,
        leader: Option<&SimulatedCounter>,
    ) -> io::Result<SimulatedCounter> {
        let refused = |code| Err(io::Error::from_raw_os_error(code));
        let level = match (scope, attributes.modes) {
            (Scope::Everybody(_), _) => 0,
            (_, Modes::User) => 2,
            _ => 1,
        };
        if self.perf_event_paranoid > level {
            return refused(EACCES);
        }
        let counts = self.counted_by(attributes)?;
        let mut state = self.counting.state();
        let leader = leader.map(|leader| leader.id);
        if let CountedEvent::Core(_, name, _) = &counts
            && is_share(name)
        {
            let slots = leader.and_then(|leader| state.open.get(&leader));
            if !slots.is_some_and(
                |open| matches!(&open.counts, CountedEvent::Core(_, it, _) if it == "slots"),
            ) {
                return refused(EINVAL);
            }
        } else if let CountedEvent::Core(at, _, needs) = &counts {
            let together = state.group(leader).filter_map(|open| open.needs(*at));
            let together: Vec<Needs> = together.chain([*needs]).collect();
            // The kernel tries a group on a PMU that nobody else uses.
            let mut alone = self.limits_of(*at);
            alone.watchdog = false;
            if !fits(alone.available(), &together) {
                return refused(EINVAL);
            }
        }
        let mut opened = self.new_counter(&mut state, attributes, counts, leader);
        if let Scope::Everybody(cpu) = scope {
            opened.on = Some(cpu);
        }
        state.next += 1;
        let id = state.next;
        state.open.insert(id, opened);
        Ok(SimulatedCounter { id, counting: self.counting.clone() })
    }

    fn new_counter(
        &self,
        state: &mut Counters,
        attributes: &Attributes,
        counts: CountedEvent,
        leader: Option<u64>,
    ) -> OpenCounter {
        /// So close before zero that the least work passes it.
        const SHORT_OF: u64 = 3;
        /// What an unfair host lets a group see.
        const CHEATED: f64 = 0.7;
        let is_core = matches!(counts, CountedEvent::Core(..));
        let seen = match leader.and_then(|leader| state.open.get(&leader)) {
            Some(leader) => leader.seen,
            None if is_core => {
                state.groups += 1;
                let cheats = self.has(Fault::PmuHostShares) && state.groups.is_multiple_of(2);
                if cheats { CHEATED } else { 1.0 }
            }
            None => 1.0,
        };
        let begins = attributes.begin == Begin::Now;
        let width = match &counts {
            CountedEvent::Core(at, ..) => self.pmu[*at].width,
            CountedEvent::Software(_) => u64::BITS,
        };
        let mask = u64::MAX >> (u64::BITS - width);
        let wraps = is_core && self.has(Fault::PmuWraps);
        let falls = is_core && self.has(Fault::PmuFalls);
        let hardware = if wraps { mask - (SHORT_OF - 1) } else { 0 };
        OpenCounter {
            counts,
            on: None,
            modes: attributes.modes,
            leader,
            pinned: attributes.pinned,
            state: if begins { Standing::Started } else { Standing::Open },
            seen,
            falls,
            width,
            hardware,
            offset: if falls { FALLS_FROM } else { 0 }.wrapping_sub(extended(
                0,
                hardware,
                width as u16,
            )),
            enabled_ns: 0,
            running_ns: 0,
        }
    }

    fn limits_of(&self, at: usize) -> Limits {
        let cpu = self.cpus().find(|cpu| self.pmu_of(*cpu) == Some(at)).unwrap_or(CpuId(0));
        self.core_limits(cpu).unwrap_or(Limits {
            general: 0,
            fixed_bits: 0,
            width: None,
            watchdog: false,
        })
    }

    fn counted_by(&self, attributes: &Attributes) -> io::Result<CountedEvent> {
        const HARDWARE: u32 = 0;
        const SOFTWARE: u32 = 1;
        /// `PERF_PMU_TYPE_SHIFT`: which PMU of a hybrid a generic event means.
        const OF_PMU: u32 = 32;
        let code = io::Error::from_raw_os_error;
        let [config, beside @ ..] = attributes.config;
        if attributes.kind == SOFTWARE {
            return if config <= 11 {
                Ok(CountedEvent::Software(config))
            } else {
                Err(code(ENOENT))
            };
        }
        let generic = attributes.kind == HARDWARE;
        if generic && self.is_arm() && config >> OF_PMU != 0 {
            return Err(code(ENOENT));
        }
        let kind = if generic { (config >> OF_PMU) as u32 } else { attributes.kind };
        let at = match kind {
            0 => self.pmu_of(self.cpus().next().unwrap_or(CpuId(0))),
            kind => self.pmu.iter().position(|pmu| pmu.kind == kind),
        };
        let at = at.ok_or_else(|| code(ENOENT))?;
        let pmu = &self.pmu[at];
        let name = if generic {
            let row = ARCHITECTURAL.iter().find(|row| row.2 == config & u64::from(u32::MAX));
            let name = row.map(|row| row.0).filter(|name| pmu.has_generic(name));
            name.ok_or_else(|| code(ENOENT))?
        } else if config >> 32 != 0 || beside != [0; 3] {
            return Err(code(EINVAL));
        } else {
            pmu.name_of(config).unwrap_or("nothing")
        };
        let general = self.limits_of(at).general;
        let all = Needs { counters: general_counters(general), takes: 1 };
        Ok(CountedEvent::Core(at, name.to_owned(), pmu.needs(name, general).unwrap_or(all)))
    }

    /// What a demonstration counts is known by its name: so many calls, so many units in all.
    ///
    /// # Error
    /// Where it is not known.
    pub fn execute(&self, work: &str, calls: u64, units: u64) -> Reading<()> {
        let Some(counts) = WORK.get(work) else {
            let why = "the model knows what its own demonstrations count, and nothing else";
            return Err(Unavailable::new(Obstacle::Cpudyno, format!("counts of `{work}`"), why));
        };
        let total = |name: &str| {
            let of = |table: &BTreeMap<String, f64>| table.get(name).copied().unwrap_or(0.0);
            of(&counts.call) * calls as f64 + of(&counts.unit) * units as f64
        };
        self.happen(total);
        Ok(())
    }

    /// Lets so many of each event happen, by the names of this machine and of the kernel: `instructions`,
    /// `cycles`, `page-faults`. Time passes by the cycles.
    pub fn happen(&self, total: impl Fn(&str) -> f64) {
        let seconds = Seconds(total("cycles") / self.bin_hz(0, 1));
        self.elapsed.advance(seconds);
        let mut state = self.counting.state();
        state.executed += 1;
        if let Some(power) = self.power {
            // Idling is counted by the time that passed.
            let joules = power.core_watts_per_ghz * total("cycles") * 1e-9;
            let package = self.package_of(state.cpu.unwrap_or(CpuId(0)));
            self.worked.note(package, |drawn| drawn.package_joules += joules);
        }
        let here = state.cpu.unwrap_or(CpuId(0));
        let meant = state.meant(|open| open.on.is_none_or(|cpu| cpu == here));
        self.counted(&mut state, here, &meant, seconds, total);
    }

    /// Lets a CPU do the work of others for so long, of which it is busy for a part.
    pub(crate) fn happen_on(&self, cpu: CpuId, duration: Seconds, busy: Seconds) {
        let mut state = self.counting.state();
        let meant = state.meant(|open| open.on == Some(cpu));
        let Some(of_others) = WORK.get("others").filter(|_| !meant.is_empty()) else { return };
        let cycles = busy.0 * self.clock_at_work(cpu);
        let total = |name: &str| match name {
            "ref-cycles" => busy.0 * self.clock.tsc_hz,
            name => of_others.unit.get(name).copied().unwrap_or(0.0) * cycles,
        };
        self.counted(&mut state, cpu, &meant, duration, total);
    }

    /// What the counters that are meant make of what happened on a CPU in so much time.
    fn counted(
        &self,
        state: &mut Counters,
        here: CpuId,
        meant: &[u64],
        seconds: Seconds,
        total: impl Fn(&str) -> f64,
    ) {
        let placed = self.placed(state, here, meant);
        let share = if self.has(Fault::PmuMultiplexes) { 0.8 } else { 1.0 };
        let nanoseconds = seconds.0 * 1e9;
        for id in meant {
            let Some(open) = state.open.get_mut(id) else { continue };
            let (moved, share) = match &open.counts {
                CountedEvent::Software(0 | 1) => (nanoseconds, 1.0),
                CountedEvent::Software(number) => (total(of_kernel(*number)), 1.0),
                CountedEvent::Core(_, name, _) if name == "ref-cycles" && open.on.is_none() => {
                    (self.seen(name, seconds.0 * self.clock.tsc_hz), share)
                }
                CountedEvent::Core(_, name, _) => (self.seen(name, of_slots(name, &total)), share),
            };
            match placed.get(id) {
                Some(true) => open.count(nanoseconds, moved, share),
                Some(false) => open.enabled_ns += nanoseconds.round() as u64,
                None => {}
            }
        }
    }

    /// What a counter makes of what happened.
    fn seen(&self, name: &str, truth: f64) -> f64 {
        let is_fixed = ARCHITECTURAL.iter().any(|row| row.0 == name && row.3.is_some());
        match () {
            () if self.has(Fault::PmuReadsZero) => 0.0,
            () if self.has(Fault::PmuMiscounts) && !is_fixed => truth * 1.5,
            () => truth,
        }
    }

    /// The counters that are to count, and whether each has a place: groups as a whole, in the order of
    /// their opening. Pinned ones without a place are in error from then on.
    fn placed(&self, state: &mut Counters, here: CpuId, meant: &[u64]) -> BTreeMap<u64, bool> {
        let here = self.pmu_of(here);
        let gone = self.has(Fault::PmuTaken) && state.executed > TAKEN_AFTER;
        let mut placed = BTreeMap::new();
        let mut taken: Vec<Needs> = Vec::new();
        let of_meant = || meant.iter().filter_map(|id| Some((*id, state.open.get(id)?)));
        for (leader, first) in of_meant() {
            if first.leader.is_some() || first.state != Standing::Started {
                continue;
            }
            let group = || of_meant().filter(move |it| it.1.group(it.0) == leader);
            let cores = group().any(|(_, open)| matches!(open.counts, CountedEvent::Core(..)));
            let of_others = group().any(|(_, open)| open.is_of_another(here));
            let mut together = taken.clone();
            together
                .extend(here.iter().flat_map(|&at| group().filter_map(move |it| it.1.needs(at))));
            let available = here.map_or(0, |at| self.limits_of(at).available());
            let fit = !cores || !gone && !of_others && fits(available, &together);
            placed.extend(group().map(|(id, _)| (id, fit)));
            if fit {
                taken = together;
            }
        }
        let pinned: Vec<u64> =
            of_meant().filter(|(_, open)| open.pinned).map(|(id, _)| id).collect();
        for id in meant.iter().filter(|id| placed.get(id) == Some(&false)) {
            if let Some(open) = state.open.get_mut(id).filter(|it| pinned.contains(&it.group(*id)))
            {
                open.state = Standing::Lost;
            }
        }
        placed
    }
}

fn is_share(name: &str) -> bool {
    SHARES.iter().any(|row| row.0 == name)
}

/// What so many of an event are, of slots and their shares where nobody says otherwise: what does not retire waits for
/// the back end.
fn of_slots(name: &str, total: &dyn Fn(&str) -> f64) -> f64 {
    let (slots, told) = (SLOTS_PER_CYCLE * total("cycles"), total(name));
    match name {
        _ if told > 0.0 => told,
        "slots" => slots,
        "topdown-retiring" => total("instructions").min(slots),
        "topdown-be-bound" => {
            let others = ["topdown-retiring", "topdown-bad-spec", "topdown-fe-bound"];
            (slots - others.map(|other| of_slots(other, total)).iter().sum::<f64>()).max(0.0)
        }
        _ => told,
    }
}

/// What moves an event of the kernel's own (`perf_sw_ids`) that is no time.
fn of_kernel(number: u64) -> &'static str {
    match number {
        2 | 5 => "page-faults",
        3 => "context-switches",
        4 => "cpu-migrations",
        _ => "nothing",
    }
}

/// Where counters begin that run backwards.
const FALLS_FROM: u64 = 1 << 50;

/// How often something is executed before counters are taken away.
const TAKEN_AFTER: u64 = 2;

impl Counters {
    /// The counters that are meant, in the order of their opening.
    fn meant(&self, is_meant: impl Fn(&OpenCounter) -> bool) -> Vec<u64> {
        self.open.iter().filter(|(_, open)| is_meant(open)).map(|(id, _)| *id).collect()
    }

    fn group(&self, leader: Option<u64>) -> impl Iterator<Item = &OpenCounter> {
        self.open.iter().filter_map(move |(id, open)| {
            let member = leader.is_some() && (Some(*id) == leader || open.leader == leader);
            member.then_some(open)
        })
    }
}

impl OpenCounter {
    /// The leader of its group.
    fn group(&self, own: u64) -> u64 {
        self.leader.unwrap_or(own)
    }

    fn is_of_another(&self, pmu: Option<usize>) -> bool {
        matches!(&self.counts, CountedEvent::Core(at, ..) if Some(*at) != pmu)
    }

    /// Counts what moved in so many nanoseconds, of which it had its place for a share.
    fn count(&mut self, nanoseconds: f64, moved: f64, share: f64) {
        let moved = if self.modes == Modes::Kernel { 0.0 } else { moved * share * self.seen };
        self.enabled_ns += nanoseconds.round() as u64;
        self.running_ns += (nanoseconds * share).round() as u64;
        let mask = u64::MAX >> (u64::BITS - self.width);
        let moved = moved.round() as u64;
        let step = if self.falls { moved.wrapping_neg() } else { moved };
        self.hardware = self.hardware.wrapping_add(step) & mask;
    }

    fn needs(&self, pmu: usize) -> Option<Needs> {
        match &self.counts {
            CountedEvent::Core(at, name, needs) if *at == pmu && !is_share(name) => Some(*needs),
            _ => None,
        }
    }
}

/// The PMUs, as the kernel describes them.
pub(crate) fn put_pmus(files: &mut Files, model: &Model) {
    files.put("/proc/sys/kernel/nmi_watchdog", &u8::from(model.nmi_watchdog));
    for (at, pmu) in model.pmu.iter().enumerate() {
        let mut put = |file: &str, text: &str| {
            files.put(format!("{PMUS}/{}/{file}", pmu.name), text);
        };
        put("type", &pmu.kind.to_string());
        let cpus: model::CpuSet =
            model.cpus().filter(|cpu| model.pmu_of(*cpu) == Some(at)).collect();
        // Arm's driver names the CPUs of each PMU, also of the only one.
        if model.pmu.len() > 1 || pmu.arm.is_some() {
            put("cpus", &cpus.to_string());
        }
        if let Some(arm) = &pmu.arm {
            for (term, bits) in [("event", "config:0-15"), ("rdpmc", "config1:1")] {
                put(&format!("format/{term}"), bits);
            }
            for (_, name, number) in pmu.of_arm() {
                put(&format!("events/{name}"), &format!("event={number:#05x}"));
            }
            for cpu in cpus.iter() {
                let file = "regs/identification/midr_el1";
                let path = format!("/sys/devices/system/cpu/cpu{cpu}/{file}");
                files.put(path, &format!("{:#018x}", arm.midr));
            }
            continue;
        }
        put("rdpmc", "1");
        for (term, bits) in [("event", "0-7"), ("umask", "8-15"), ("edge", "18"), ("inv", "23")] {
            put(&format!("format/{term}"), &format!("config:{bits}"));
        }
        put("format/cmask", "config:24-31");
        let has = |row: &&(&str, u64, u64, Option<u32>)| row.0 != "slots" || pmu.has_slots();
        let architectural = ARCHITECTURAL.iter().filter(has).map(|row| (row.0, row.1));
        let shares = SHARES.into_iter().filter(|_| pmu.has_slots());
        let architectural = architectural.chain(shares);
        let own = pmu.events.iter().map(|event| (event.name.as_str(), event.config));
        for (name, config) in architectural.chain(own) {
            let (event, umask) = (config & 0xff, config >> 8 & 0xff);
            put(&format!("events/{name}"), &format!("event={event:#04x},umask={umask:#04x}"));
        }
    }
}
