//! Whether the machine obeys a setting: what its lever names is measured before and after.
//!
//! There are three answers. That nothing changed is no disobedience where nothing could be seen: a
//! clock that was below a limit before says nothing of the limit.

mod chase;
mod heat;
mod ramp;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use levers::plan::Change;
use levers::rows::Proof;
use levers::{Drivers, SettingOwner, overrides};
use machine::instruments::clock::{self, RateChoice};
use machine::instruments::idle::IdleCounters;
use machine::memory;
use machine::{Machine, Tree, facts};
use model::record::{Proof as Proven, ProofAnswer};
use model::stats::{median, quantile};
use model::{CpuId, Hertz, Obstacle, Pages, Reading, Seconds, Unavailable};
use sys::memory::Mapping;

use crate::areas::subjects;
use crate::run::arm_env::ArmEnv;
use crate::run::single::{Ready, Single};
use rig::alarm::{Alarm, By};
use rig::calibration;
use rig::clock_rise::{self, Rise};
use rig::executor::{Executor, RunError, Stop};
use rig::job::Tools;
use rig::reduce;
use rig::ruler::{Ruler, Rulers};
use rig::streams;

use crate::run;
use chase::Chased;
pub(crate) use heat::SWITCHES;

/// How often a clock, a pointer or a rise is measured in one look.
const BLOCKS: usize = 9;

/// Looks at a machine before and after settings were changed.
pub struct Observer<'a> {
    machine: &'a Machine,
    executor: Box<dyn Executor>,
    tools: Tools,
    rulers: Rulers,
    stop: Stop,
    /// What follows pointers, once something did, and what it was made ready for: both looks use the
    /// same memory.
    single: Option<Single<'a>>,
    ready: BTreeMap<(&'static str, CpuId), Ready>,
    /// The second thread of a core, once there was one.
    sibling: Option<CpuId>,
}

/// What was seen.
#[derive(Debug, Clone, PartialEq)]
enum Observation {
    /// Hertz of one core under load, block by block, and how often it was throttled until then.
    Clock { hertz: Vec<f64>, throttles: Option<u64> },
    /// How the clock of one core rose from rest, each time.
    Ramp(Vec<Rise>),
    /// How long a pointer took.
    Chase(Chased),
    /// How often each idle state was entered while a thread slept so many times.
    Idle { entries: Vec<(String, u64)>, sleeps: usize },
    /// The share of memory in huge pages: of memory for which nothing was asked, and of memory for
    /// which they were.
    HugePages { plain: f64, asked: f64 },
    /// Whether a thread could be pinned there.
    Pinned(bool),
}

/// What was seen of each change, by setting.
pub struct ChangeObservations(BTreeMap<String, Reading<Observation>>);

impl<'a> Observer<'a> {
    /// Gets ready; or why nothing can be measured.
    pub fn new(machine: &'a Machine, stop: &Stop) -> Reading<Observer<'a>> {
        let stamp_clock = clock::calibrate_by(machine, RateChoice::Best)?;
        let executor = run::executor(machine, &stamp_clock, None, stop)?;
        let tools = streams::tools(machine)?;
        Ok(Observer {
            machine,
            executor,
            tools,
            rulers: Rulers::new(),
            stop: stop.clone(),
            single: None,
            ready: BTreeMap::new(),
            sibling: None,
        })
    }

    /// The clock of a CPU under load: the median over a few short stretches.
    pub fn clock_of(&mut self, cpu: CpuId) -> Result<Reading<Hertz>, RunError> {
        match self.clock(cpu) {
            Err(Blind::Run(error)) => Err(error),
            Err(Blind::Reason(reason)) => Ok(Err(reason)),
            Ok(blocks) => Ok(median(&blocks).map(Hertz).ok_or_else(|| {
                let why = "the chains did not agree: something else used the core";
                Unavailable::new(Obstacle::Measurement, "core clock", why)
            })),
        }
    }

    /// Looks at what these changes should change.
    pub fn look(&mut self, changes: &[Change]) -> Result<ChangeObservations, RunError> {
        let mut look = BTreeMap::new();
        for change in first_of_each(changes) {
            let seen = match self.see(change) {
                Err(Blind::Run(error)) => return Err(error),
                Err(Blind::Reason(reason)) => Err(reason),
                Ok(seen) => Ok(seen),
            };
            look.insert(change.setting.clone(), seen);
        }
        Ok(ChangeObservations(look))
    }

    fn see(&mut self, change: &Change) -> Result<Observation, Blind> {
        let blind = |why: &str| {
            let what = format!("effect of `{}`", change.setting);
            Err(Blind::Reason(Unavailable::new(Obstacle::Cpudyno, what, why)))
        };
        let cpu = match change.of {
            SettingOwner::Cpu(cpu) => cpu,
            SettingOwner::Part(ref part) => self.cpu_of(part)?,
            SettingOwner::Machine => self.first_cpu()?,
        };
        match change.lever.proof {
            Proof::Clock => {
                let hertz = self.clock(cpu)?;
                Ok(Observation::Clock { hertz, throttles: self.throttles(cpu) })
            }
            Proof::Ramp => self.ramp(cpu),
            Proof::CacheLatency => self.chase("memory cache", cpu, change),
            Proof::Stride => self.chase("memory stride", cpu, change),
            Proof::IdleStates => self.idle(cpu),
            Proof::HugePages => self.huge_pages(),
            Proof::Pinning => self.pinned(cpu, change),
            Proof::Unobservable(why) => blind(why),
        }
    }

    fn first_cpu(&self) -> Result<CpuId, Blind> {
        let usable = self.machine.host.affinity().map_err(Blind::Reason)?;
        let none = || Unavailable::new(Obstacle::Permission, "CPUs", "this process may use none");
        usable.iter().next().ok_or_else(|| Blind::Reason(none()))
    }

    /// A CPU of the package that a part of the machine is in; where nobody tells which, the first.
    fn cpu_of(&self, part: &str) -> Result<CpuId, Blind> {
        let package = package_of(&*self.machine.tree, part);
        let topology = facts::machine(self.machine).topology;
        let mut places = topology.usable_places();
        match places.find(|place| package.is_some_and(|package| place.package == package)) {
            Some(place) => Ok(place.cpu),
            None => self.first_cpu(),
        }
    }

    /// The ruler of a CPU.
    fn ruler(&mut self, cpu: CpuId) -> Result<Ruler, Blind> {
        let executor = &mut *self.executor;
        if !self.rulers.contains_key(&cpu) {
            self.rulers.extend(calibration::calibrate(executor, &self.tools, &[cpu])?);
            for _ in 0..calibration::LOOKS {
                calibration::refine(executor, &self.tools, &mut self.rulers)?;
            }
        }
        self.rulers[&cpu].clone().map_err(Blind::Reason)
    }

    /// The clock under load, block by block.
    fn clock(&mut self, cpu: CpuId) -> Result<Vec<f64>, Blind> {
        let ruler = self.ruler(cpu)?;
        let executor = &mut *self.executor;
        let job = calibration::quiet(&self.tools, cpu);
        let mut blocks = Vec::new();
        for _ in 0..BLOCKS {
            let raw = executor.repeat(&job)?;
            let rate = executor.rate();
            let null = self.tools.null;
            let reduced = reduce::reduce(&raw.members[0], null, &job, Some(&ruler), rate);
            blocks.extend(median(&reduced.quiet_clock));
        }
        if blocks.is_empty() {
            let why = "the chains did not agree: something else used the core";
            let reason = Unavailable::new(Obstacle::Measurement, "core clock", why);
            return Err(Blind::Reason(reason));
        }
        Ok(blocks)
    }

    /// How often the kernel saw that core throttled.
    fn throttles(&self, cpu: CpuId) -> Option<u64> {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}/thermal_throttle");
        let text = self.machine.tree.read(&format!("{folder}/core_throttle_count")).ok()?;
        text.trim().parse().ok()
    }

    /// The clock from rest on.
    fn ramp(&mut self, cpu: CpuId) -> Result<Observation, Blind> {
        let ruler = self.ruler(cpu)?;
        let job = clock_rise::job(&self.tools, cpu, BLOCKS as u32);
        let raw = self.executor.repeat(&job)?;
        Ok(Observation::Ramp(clock_rise::of(&raw.members[0], &job, &ruler, self.executor.rate())))
    }

    /// How long a pointer takes that such a workload follows, the clock of the core beside it, and what
    /// the hardware says of the clock outside of the cores meanwhile.
    fn chase(
        &mut self,
        workload: &'static str,
        cpu: CpuId,
        change: &Change,
    ) -> Result<Observation, Blind> {
        let (machine, mut uncore) = (self.machine, Vec::new());
        let single = match &mut self.single {
            Some(single) => single,
            empty => empty.insert(Single::new(self.machine, &self.stop)?),
        };
        let ready = match self.ready.entry((workload, cpu)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(empty) => {
                let Some(subject) = subjects::find(workload) else {
                    panic!("BUG: there is no workload `{workload}`")
                };
                let own = ArmEnv { cpus: Some([cpu].into_iter().collect()), ..ArmEnv::default() };
                empty.insert(single.prepare(subject, &own, subject.quantity, None)?)
            }
        };
        let measure = |_| {
            let pointer = single.measure(ready)?.map_err(Blind::Reason)?;
            uncore.extend(uncore_hertz(machine, change));
            Ok(pointer)
        };
        let latency = (0..BLOCKS).map(measure).collect::<Result<_, Blind>>()?;
        Ok(Observation::Chase(Chased { latency, clock: self.clock(cpu)?, uncore }))
    }

    fn idle(&mut self, cpu: CpuId) -> Result<Observation, Blind> {
        /// Long enough for any state to be worth it.
        const SLEEP: Seconds = Seconds(10e-3);
        const SLEEPS: usize = 20;
        let counters = IdleCounters::of(self.machine, cpu).map_err(Blind::Reason)?;
        let unread = || {
            let why = "the counters of idle states could not be read";
            Unavailable::new(Obstacle::Permission, "idle states", why)
        };
        let read = || counters.read().ok_or_else(|| Blind::Reason(unread()));
        let id = "clock_nanosleep";
        let alarm = |sleeps| {
            let distances = vec![SLEEP; sleeps];
            Alarm { id, by: By::Nanosleep, cpu, distances, look: None }
        };
        // An entry counts when the CPU leaves the state: it may have been entered before the change.
        self.executor.alarm(&alarm(1))?;
        let before = read()?;
        self.executor.alarm(&alarm(SLEEPS))?;
        let after = read()?;
        let grown = std::iter::zip(before, after).map(|(a, b)| b.entries.checked_sub(a.entries));
        let counts: Vec<u64> = grown.collect::<Option<_>>().ok_or_else(|| {
            let why = format!("a counter of idle states of CPU {cpu} fell meanwhile");
            Blind::Reason(Unavailable::new(Obstacle::Measurement, "idle states", why))
        })?;
        let entries = counters.names().iter().cloned().zip(counts).collect();
        Ok(Observation::Idle { entries, sleeps: SLEEPS })
    }

    fn huge_pages(&self) -> Result<Observation, Blind> {
        const BYTES: usize = 64 << 20;
        let blind =
            |why: String| Blind::Reason(Unavailable::new(Obstacle::Hardware, "huge pages", why));
        if self.machine.simulated.is_some() {
            return Err(blind("a simulated machine has no pages".to_owned()));
        }
        let share = |address: usize| -> Result<f64, Blind> {
            let backing = memory::backing(self.machine, &(address..address + BYTES));
            let share = backing.map_err(Blind::Reason)?.share_of(Pages::Transparent);
            share.ok_or_else(|| blind("the memory was not there after it was touched".to_owned()))
        };
        // Touched by being filled; a kernel that gives zeroed pages for nothing would not be asked.
        let plain = vec![1_u8; BYTES];
        let plain = share(std::hint::black_box(&plain).as_ptr().addr())?;
        let mapping = Mapping::new(BYTES, Pages::Transparent)
            .map_err(|error| blind(sys::errno::words(&error)))?;
        mapping.populate(0..BYTES).map_err(|error| blind(sys::errno::words(&error)))?;
        Ok(Observation::HugePages { plain, asked: share(mapping.address())? })
    }

    /// Whether a thread can be pinned to that CPU; of SMT, to the second thread of some core.
    fn pinned(&mut self, cpu: CpuId, change: &Change) -> Result<Observation, Blind> {
        let cpu = if change.lever.id == "online" {
            cpu
        } else {
            self.sibling = self.sibling.or_else(|| second_thread(self.machine));
            // No core shows a second thread.
            let Some(sibling) = self.sibling else { return Ok(Observation::Pinned(false)) };
            sibling
        };
        match self.executor.repeat(&calibration::quiet(&self.tools, cpu)) {
            Ok(_) => Ok(Observation::Pinned(true)),
            Err(RunError::Pin { .. }) => Ok(Observation::Pinned(false)),
            Err(error) => Err(Blind::Run(error)),
        }
    }
}

const UNCORE: &str = "/sys/devices/system/cpu/intel_uncore_frequency";

/// The package that a clock outside of the cores is in: by its file, else by its name.
///
/// # Source
/// Linux, Documentation/admin-guide/pm/intel_uncore_frequency_scaling.rst: entries of clusters have
/// numbers for names, and a file `package_id`.
fn package_of(tree: &dyn Tree, part: &str) -> Option<u32> {
    let file = tree.read(&format!("{UNCORE}/{part}/package_id")).ok();
    let name = part.strip_prefix("package_").and_then(|rest| rest.split('_').next());
    file.as_deref().map(str::trim).or(name)?.parse().ok()
}

/// What the hardware says of the clock outside of the cores, of the part that is to change.
fn uncore_hertz(machine: &Machine, change: &Change) -> Option<f64> {
    let SettingOwner::Part(part) = &change.of else { return None };
    let khz = machine.tree.read(&format!("{UNCORE}/{part}/current_freq_khz")).ok()?;
    Some(khz.trim().parse::<f64>().ok()? * 1e3)
}

/// A CPU that is not the first one of its core.
fn second_thread(machine: &Machine) -> Option<CpuId> {
    let topology = facts::machine(machine).topology;
    let second =
        topology.usable_places().find(|place| place.siblings.iter().any(|s| s < place.cpu));
    second.map(|place| place.cpu)
}

/// Why nothing was seen.
enum Blind {
    Run(RunError),
    Reason(Unavailable),
}

impl From<run::Error> for Blind {
    fn from(error: run::Error) -> Blind {
        match error {
            run::Error::Run(error) => Blind::Run(error),
            run::Error::Unavailable(reason) | run::Error::Asked(reason) => Blind::Reason(reason),
            error @ (run::Error::Placement(_) | run::Error::Setting(_)) => {
                let why = error.to_string();
                Blind::Reason(Unavailable::new(Obstacle::Cpudyno, "workload", why))
            }
        }
    }
}

impl From<RunError> for Blind {
    fn from(error: RunError) -> Blind {
        Blind::Run(error)
    }
}

fn first_of_each(changes: &[Change]) -> impl Iterator<Item = &Change> {
    changes.iter().enumerate().filter_map(|(index, change)| {
        let is_new = !changes[..index].iter().any(|known| known.setting == change.setting);
        is_new.then_some(change)
    })
}

/// What two looks say of the changes between them.
pub fn judge(
    machine: &Machine,
    changes: &[Change],
    before: &ChangeObservations,
    after: &ChangeObservations,
) -> Vec<Proven> {
    let drivers = Drivers::of(machine);
    let proof = |change: &Change| {
        let (answer, mut seen) =
            match (&before.0.get(&change.setting), &after.0.get(&change.setting)) {
                (Some(Ok(before)), Some(Ok(after))) => verdict(machine, change, before, after),
                (Some(Err(reason)), _) | (_, Some(Err(reason))) => unseen(reason),
                _ => (ProofAnswer::NotObservable, "not observed".to_owned()),
            };
        if answer == ProofAnswer::NotObeyed {
            let rule = (change.lever.rule)(&drivers).into_iter();
            let deciders = overrides::of(machine, &change.object, &change.wanted);
            let why: Vec<String> = rule.chain(deciders).collect();
            if !why.is_empty() {
                seen = format!("set, but the CPU does not obey: {} ({seen})", why.join("; "));
            }
        }
        let load = load(change).to_owned();
        let caveat = heat::caveat(machine, change.lever);
        Proven { id: change.setting.clone(), load, answer, seen, caveat }
    };
    first_of_each(changes).map(proof).collect()
}

/// How long changes are held until the heat that they made or spared has settled; none where none of
/// them moves power.
pub(crate) fn settles(machine: &Machine, changes: &[Change]) -> Option<Seconds> {
    let times = changes.iter().filter_map(|change| heat::settles(machine, change.lever));
    times.reduce(|a, b| if a.0 > b.0 { a } else { b })
}

/// What to know of the effects of changes that move power.
pub(crate) fn caveats(machine: &Machine, changes: &[Change]) -> Vec<(String, String)> {
    let caveat =
        |change: &Change| Some((change.setting.clone(), heat::caveat(machine, change.lever)?));
    first_of_each(changes).filter_map(caveat).collect()
}

/// That nothing could be seen of any of these changes.
pub fn unseen_of(machine: &Machine, changes: &[Change], why: &str) -> Vec<Proven> {
    let unseen = |change: &Change| Proven {
        id: change.setting.clone(),
        load: load(change).to_owned(),
        answer: ProofAnswer::NotObservable,
        seen: why.to_owned(),
        caveat: heat::caveat(machine, change.lever),
    };
    first_of_each(changes).map(unseen).collect()
}

fn unseen(reason: &Unavailable) -> (ProofAnswer, String) {
    (ProofAnswer::NotObservable, reason.why.clone())
}

/// The load under which a lever is looked at, in words.
pub fn load(change: &Change) -> &'static str {
    match change.lever.proof {
        Proof::Clock => "a chain of multiplies on one core",
        Proof::IdleStates => "a thread that sleeps 10 ms at a time",
        Proof::HugePages => "64 MiB that are touched for the first time",
        Proof::Pinning => "a thread that is pinned there",
        Proof::Ramp => "a chain of multiplies on one core, each time after 50 ms of sleep",
        Proof::CacheLatency => "pointers in the last cache, followed by one core",
        Proof::Stride => "pointers from each line of memory to the next, followed by one core",
        Proof::Unobservable(_) => "none",
    }
}

fn verdict(
    machine: &Machine,
    change: &Change,
    before: &Observation,
    after: &Observation,
) -> (ProofAnswer, String) {
    match (before, after) {
        (
            Observation::Clock { hertz: before, throttles: was },
            Observation::Clock { hertz, throttles },
        ) => {
            let throttled = was.zip(*throttles).map_or(Some(0), |(was, is)| is.checked_sub(was));
            clocks(machine, change, before, hertz, throttled)
        }
        (Observation::Ramp(before), Observation::Ramp(after)) => {
            ramp::judged(change, before, after)
        }
        (Observation::Chase(before), Observation::Chase(after)) => {
            chase::judged(machine, change, before, after)
        }
        (
            Observation::Idle { entries: before, sleeps },
            Observation::Idle { entries: after, .. },
        ) => idled(machine, change, before, after, *sleeps),
        (Observation::HugePages { .. }, Observation::HugePages { plain, asked }) => {
            paged(change, *plain, *asked)
        }
        (Observation::Pinned(before), Observation::Pinned(after)) => {
            let wanted = matches!(&*change.wanted, "1" | "on");
            let word = |there: bool| if there { "could" } else { "could not" };
            let answer = match (*before == wanted, *after == wanted) {
                (_, false) => ProofAnswer::NotObeyed,
                (true, true) => ProofAnswer::NotObservable,
                (false, true) => ProofAnswer::Obeyed,
            };
            let (before, after) = (word(*before), word(*after));
            (answer, format!("a thread {before} be pinned there before, and {after} afterwards"))
        }
        _ => (
            ProofAnswer::NotObservable,
            "the observations before and after are of different kinds".to_owned(),
        ),
    }
}

/// A clock may be above a limit by so much and still keep it: limits are multiples of 100 MHz, or
/// are rounded by the driver.
const ABOVE: f64 = 1.02;

fn clocks(
    machine: &Machine,
    change: &Change,
    before: &[f64],
    after: &[f64],
    throttled: Option<u64>,
) -> (ProofAnswer, String) {
    let (Some(was), Some(is)) = (median(before), median(after)) else {
        return (ProofAnswer::NotObservable, "no clock was measured".to_owned());
    };
    let hertz = |hertz: f64| format!("{:.3} GHz", hertz / 1e9);
    let cpu =
        if let SettingOwner::Cpu(cpu) = change.of { format!("CPU {cpu}: ") } else { String::new() };
    let seen = format!("{cpu}{} before, {} after", hertz(was), hertz(is));
    let blind = |why: &str| (ProofAnswer::NotObservable, format!("{seen}: {why}"));
    let reasons = || {
        let throttles = match throttled {
            Some(0) => None,
            Some(times) => Some(format!("heat throttled the core {times} times meanwhile")),
            None => Some("thermal throttling is unknown, as its counter fell".to_owned()),
        };
        let deciders = overrides::of(machine, &change.object, &change.wanted);
        let all: Vec<String> = throttles.into_iter().chain(deciders).collect();
        if all.is_empty() {
            ", which may have other causes".to_owned()
        } else {
            format!(": {}", all.join("; "))
        }
    };
    let rose = is_above(after, before);
    let fell = is_above(before, after);
    match expected(machine, change) {
        Expected::AtMost(ceiling) if is > ceiling * ABOVE => {
            (ProofAnswer::NotObeyed, format!("{seen}, above the limit of {}", hertz(ceiling)))
        }
        Expected::AtMost(ceiling) if was > ceiling * ABOVE => (ProofAnswer::Obeyed, seen),
        Expected::AtMost(ceiling) => {
            blind(&format!("the clock was not above {} before", hertz(ceiling)))
        }
        Expected::Lower if fell => (ProofAnswer::Obeyed, seen),
        Expected::Lower => blind("the base frequency is not known, and the clock did not fall"),
        Expected::Higher if rose => (ProofAnswer::Obeyed, seen),
        Expected::Other if rose || fell => (ProofAnswer::Obeyed, seen),
        Expected::Higher => blind(&format!("the clock of one core did not rise{}", reasons())),
        Expected::Other => blind(&format!("the clock of one core did not change{}", reasons())),
    }
}

/// What a clock should do.
enum Expected {
    /// Stay below so many hertz.
    AtMost(f64),
    Lower,
    Higher,
    /// Be another one, in either direction.
    Other,
}

fn expected(machine: &Machine, change: &Change) -> Expected {
    match (change.lever.id, &*change.wanted) {
        ("no_turbo", "1") | ("boost", "0") => {
            base_hertz(machine, change).map_or(Expected::Lower, Expected::AtMost)
        }
        ("max_freq", khz) if lower(change) => {
            khz.parse::<f64>().map_or(Expected::Lower, |khz| Expected::AtMost(khz * 1e3))
        }
        ("platform_profile", _) => Expected::Other,
        _ => Expected::Higher,
    }
}

/// Whether one clock is above another one, and not by chance: three quarters of its blocks are above
/// three quarters of the other's.
fn is_above(one: &[f64], other: &[f64]) -> bool {
    let low = quantile(one, 0.25);
    low.zip(quantile(other, 0.75)).is_some_and(|(low, high)| low > high * ABOVE)
}

fn lower(change: &Change) -> bool {
    let number = |text: &str| text.parse::<f64>().unwrap_or(f64::NAN);
    number(&change.wanted) < number(&change.former)
}

/// The clock that a core holds without turbo.
fn base_hertz(machine: &Machine, change: &Change) -> Option<f64> {
    let cpu = if let SettingOwner::Cpu(cpu) = change.of { cpu } else { CpuId(0) };
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/base_frequency");
    let file = machine.tree.read(&path);
    let file = file.ok().and_then(|khz| khz.trim().parse::<f64>().ok()).map(|khz| khz * 1e3);
    file.or_else(|| {
        let megahertz = machine.cpuid.leaf(0x16, 0)?.eax & 0xffff;
        (megahertz > 0).then(|| f64::from(megahertz) * 1e6)
    })
}

fn idled(
    machine: &Machine,
    change: &Change,
    before: &[(String, u64)],
    after: &[(String, u64)],
    sleeps: usize,
) -> (ProofAnswer, String) {
    let count = |entries: &[(String, u64)], name: &str| {
        entries.iter().filter(|(known, _)| known == name).map(|(_, count)| count).sum::<u64>()
    };
    let list = |names: &[String], entries: &[(String, u64)]| {
        let one = |name: &String| format!("{name} {}", count(entries, name));
        names.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    let forbidden = forbidden(machine, change);
    let all: Vec<String> = before.iter().map(|(name, _)| name.clone()).collect();
    let entered =
        |names: &[String], entries| -> u64 { names.iter().map(|n| count(entries, n)).sum() };
    let Some(forbidden) = forbidden.filter(|names| !names.is_empty()) else {
        let name = change.setting.strip_prefix("idle.").map_or(all, |s| vec![s.to_owned()]);
        let seen = format!("entered before {}, after {}", list(&name, before), list(&name, after));
        return if entered(&name, before) == 0 && entered(&name, after) > 0 {
            (ProofAnswer::Obeyed, seen)
        } else {
            (
                ProofAnswer::NotObservable,
                format!("{seen}: a state that is allowed need not be used"),
            )
        };
    };
    let (was, is) = (entered(&forbidden, before), entered(&forbidden, after));
    let seen = format!(
        "in {sleeps} sleeps each: entered before {}, after {}",
        list(&forbidden, before),
        list(&forbidden, after)
    );
    match (was, is) {
        (0, 0) => (
            ProofAnswer::NotObservable,
            format!("{seen}: these states were not used before either"),
        ),
        (_, 0) => (ProofAnswer::Obeyed, seen),
        _ => (ProofAnswer::NotObeyed, seen),
    }
}

/// The idle states that a change forbids; none: it allows some.
fn forbidden(machine: &Machine, change: &Change) -> Option<Vec<String>> {
    if let Some(state) = change.setting.strip_prefix("idle.") {
        return (change.wanted == "1").then(|| vec![state.to_owned()]);
    }
    let limit = match (change.lever.id, &*change.wanted) {
        ("resume_latency", "0") => return None,
        ("resume_latency", "n/a") => 0.0,
        (_, text) => text.parse::<f64>().ok()?,
    };
    let cpu = match change.of {
        SettingOwner::Cpu(cpu) => cpu,
        SettingOwner::Machine | SettingOwner::Part(_) => {
            machine.host.affinity().ok()?.iter().next()?
        }
    };
    let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle");
    let beyond = |state: String| {
        let read = |file: &str| machine.tree.read(&format!("{folder}/{state}/{file}")).ok();
        let latency: f64 = read("latency")?.trim().parse().ok()?;
        (latency > limit).then(|| read("name"))?
    };
    let states = machine.tree.list(&folder).ok()?.into_iter();
    // The first one is there for limits that no state keeps.
    Some(states.filter(|state| state != "state0").filter_map(beyond).collect())
}

fn paged(change: &Change, plain: f64, asked: f64) -> (ProofAnswer, String) {
    /// Beginning and end of memory fit no huge page.
    const MOST: f64 = 0.8;
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let seen = format!(
        "afterwards {} of memory was in huge pages, and {} where they were asked for",
        percent(plain),
        percent(asked)
    );
    let answer = match &*change.wanted {
        "never" if plain == 0.0 && asked == 0.0 => ProofAnswer::Obeyed,
        "madvise" if plain == 0.0 && asked > MOST => ProofAnswer::Obeyed,
        "always" if plain > MOST => ProofAnswer::Obeyed,
        // Where not even those get them that ask, memory may be in pieces.
        "always" | "madvise" if asked <= MOST && plain <= asked => ProofAnswer::NotObservable,
        "always" | "madvise" | "never" => ProofAnswer::NotObeyed,
        _ => ProofAnswer::NotObservable,
    };
    (answer, seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct One(&'static str, &'static str);

    impl Tree for One {
        fn read(&self, path: &str) -> Reading<String> {
            let there = (path == self.0).then(|| format!("{}\n", self.1));
            there.ok_or_else(|| Unavailable::new(Obstacle::Hardware, path, "it is not there"))
        }

        fn list(&self, path: &str) -> Reading<Vec<String>> {
            Err(Unavailable::new(Obstacle::Hardware, path, "it is not there"))
        }
    }

    #[test]
    fn a_count_of_throttles_that_fell_is_unknown() {
        let change = Change {
            setting: "boost".to_owned(),
            lever: levers::Lever::all().find(|lever| lever.id == "boost").unwrap(),
            of: levers::SettingOwner::Machine,
            object: levers::Object::File("boost".to_owned()),
            former: "0".to_owned(),
            wanted: "1".to_owned(),
            followers: Vec::new(),
            is_effective: false,
            was_open: false,
        };
        let machine = Machine::named("sim:1c").unwrap();
        let said = |was, is| {
            let clock =
                |throttles| Observation::Clock { hertz: vec![2e9; 5], throttles: Some(throttles) };
            verdict(&machine, &change, &clock(was), &clock(is)).1
        };
        assert!(said(7, 9).contains("throttled the core 2 times"), "{}", said(7, 9));
        assert!(said(7, 2).contains("unknown, as its counter fell"), "{}", said(7, 2));
        assert!(!said(7, 7).contains("throttl"), "{}", said(7, 7));
    }

    #[test]
    fn where_memory_lies_says_who_gets_huge_pages() {
        use ProofAnswer::{NotObeyed, NotObservable, Obeyed};
        let lever = levers::Lever::all().find(|lever| lever.id == "thp").unwrap();
        let change = |wanted: &str| Change {
            setting: "thp".to_owned(),
            lever,
            of: levers::SettingOwner::Machine,
            object: levers::Object::File("thp".to_owned()),
            former: String::new(),
            wanted: wanted.to_owned(),
            followers: Vec::new(),
            is_effective: false,
            was_open: false,
        };
        // What is asked, the share of plain memory, the share of what asks for them.
        for (wanted, plain, asked, answer) in [
            ("never", 0.0, 0.0, Obeyed),
            ("never", 0.0, 0.1, NotObeyed),
            ("madvise", 0.0, 0.97, Obeyed),
            ("madvise", 0.97, 0.97, NotObeyed),
            ("madvise", 0.0, 0.3, NotObservable),
            ("always", 0.97, 0.97, Obeyed),
            ("always", 0.0, 0.97, NotObeyed),
            ("always", 0.3, 0.3, NotObservable),
            ("within_size", 0.97, 0.97, NotObservable),
        ] {
            assert_eq!(paged(&change(wanted), plain, asked).0, answer, "{wanted} {plain} {asked}");
        }
    }

    #[test]
    fn a_cluster_says_in_which_package_it_is() {
        let path = "/sys/devices/system/cpu/intel_uncore_frequency/uncore03/package_id";
        let tree = One(path, "1");
        assert_eq!(package_of(&tree, "uncore03"), Some(1));
        assert_eq!(package_of(&tree, "uncore02"), None);
        assert_eq!(package_of(&tree, "package_02_die_01"), Some(2));
    }
}
