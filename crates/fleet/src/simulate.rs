//! Fleets that nobody owns: one simulated machine many times, with noise between machines, two lots of silicon and
//! faults that somebody asked for. They show what a survey finds, and how often it cries wolf.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use model::areas::{memory, openmp, turbo, wake};
use model::record::{Digest, DigestFact, DigestResult, Measured, ResultKey};
use model::stats::paired::Better;

/// Machines of a rack.
const RACK: usize = 40;

/// Something that is wrong with some machines.
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// The fact that tells of it first.
    pub fact: &'static str,
    /// What its machines say instead of what the others say.
    says: &'static [(&'static str, &'static str)],
    moves: &'static [Move],
    whom: Whom,
}

/// Which machines have a fault, where nobody says how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whom {
    /// One of two hundred, at least one.
    Few,
    /// A whole rack.
    Rack,
    /// Three of ten.
    Many,
}

/// Results that change, and by which factor.
#[derive(Debug, Clone, Copy)]
struct Move {
    area: &'static str,
    quantity: &'static str,
    /// Fewer active CPUs are spared.
    active_min: usize,
    /// More active CPUs are spared.
    active_max: usize,
    factor: f64,
}

const fn slower(
    area: &'static str,
    quantity: &'static str,
    active: [usize; 2],
    factor: f64,
) -> Move {
    Move { area, quantity, active_min: active[0], active_max: active[1], factor }
}

const ANY: [usize; 2] = [1, usize::MAX];
const FEW_CPUS: [usize; 2] = [1, 16];
const MANY_CPUS: [usize; 2] = [32, usize::MAX];

/// The faults that can be planted. What they cost is of the size that the project's simulated machines show.
#[rustfmt::skip]
pub const FAULTS: &[Fault] = &[
    Fault { name: "missing-dimm", about: "one DIMM of sixteen is missing", fact: "memory.total",
        says: &[("memory.total", "480 GiB")], whom: Whom::Few,
        moves: &[slower(memory::AREA, "bandwidth", MANY_CPUS, 0.875)] },
    Fault { name: "wrong-epp", about: "the energy preference favours power", fact: "cpufreq.epp",
        says: &[("cpufreq.epp", "balance_power")], whom: Whom::Few,
        moves: &[slower(turbo::AREA, "clock", ANY, 0.92)] },
    Fault { name: "old-microcode", about: "microcode of last year, with longer mitigations", fact: "cpu.microcode",
        says: &[("cpu.microcode", "0x0")], whom: Whom::Few,
        moves: &[slower(wake::AREA, "round_trip", ANY, 1.35), slower(wake::AREA, "time_per_signal", ANY, 1.35)] },
    Fault { name: "hot-rack", about: "the air that cools a rack is warm", fact: "rack",
        says: &[("disturbance.thermal_package", "some")], whom: Whom::Rack,
        moves: &[slower(turbo::AREA, "clock", MANY_CPUS, 0.95)] },
    Fault { name: "c6-off", about: "deep sleep is off, and idle cores leave no power to others", fact: "idle.disabled",
        says: &[("idle.disabled", "C6")], whom: Whom::Few,
        moves: &[slower(turbo::AREA, "clock", FEW_CPUS, 0.96)] },
    Fault { name: "smt-off", about: "SMT is off: nothing that a core does is slower", fact: "smt.control",
        says: &[("smt.control", "off"), ("cpus.usable", "112 of 112")], whom: Whom::Few, moves: &[] },
    Fault { name: "thp-off", about: "there are no transparent huge pages", fact: "thp.enabled",
        says: &[("thp.enabled", "never")], whom: Whom::Few,
        moves: &[slower(memory::AREA, "latency", ANY, 1.3), slower(memory::AREA, "bandwidth", ANY, 0.93)] },
    Fault { name: "clock-cap", about: "somebody capped the clock", fact: "cpufreq.limits",
        says: &[("cpufreq.limits", "0.8 to 2.6 GHz")], whom: Whom::Few,
        moves: &[slower(turbo::AREA, "clock", ANY, 0.75), slower(openmp::AREA, "loop_time", ANY, 1.3)] },
    Fault { name: "slow-firmware", about: "three of ten have a firmware that lowers the mesh", fact: "platform.firmware",
        says: &[("platform.firmware", "SIMULATED firmware 0 (01/06/2025)")], whom: Whom::Many,
        moves: &[slower(memory::AREA, "latency", ANY, 1.12)] },
];

/// A fault and how many machines have it.
#[derive(Debug, Clone, Copy)]
pub struct PlantedFault {
    /// What is wrong.
    pub fault: &'static Fault,
    /// How many machines, where somebody said.
    pub count: Option<usize>,
}

impl FromStr for PlantedFault {
    type Err = String;

    /// `NAME` or `NAME:HOSTS`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, count) = text.split_once(':').map_or((text, None), |(a, b)| (a, Some(b)));
        let known = || FAULTS.iter().map(|fault| fault.name).collect::<Vec<_>>().join(", ");
        let fault = FAULTS.iter().find(|fault| fault.name == name);
        let fault =
            fault.ok_or_else(|| format!("no fault is called `{name}`; there are {}", known()))?;
        let bad = |count: &str| format!("`{count}` is no number of machines, as 3 in `{name}:3`");
        let count = count.map(|count| count.parse().map_err(|_| bad(count))).transpose()?;
        Ok(PlantedFault { fault, count })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.about)
    }
}

/// A fleet: each machine is made when it is asked for, always the same.
#[derive(Debug)]
pub struct SimulatedFleet {
    base: Digest,
    hosts: usize,
    seed: u64,
    day: u64,
    /// Who has which fault.
    planted: Vec<(&'static Fault, BTreeSet<usize>)>,
}

impl SimulatedFleet {
    /// So many machines like that one. Each machine has at most one fault; those that do not fit are left out.
    pub fn new(base: Digest, hosts: usize, seed: u64, faults: &[PlantedFault]) -> SimulatedFleet {
        let size = rack_size(hosts);
        let mut random = fastrand::Rng::with_seed(seed);
        let mut free: Vec<usize> = (0..hosts).collect();
        random.shuffle(&mut free);
        // Whole racks are taken first.
        let mut asked: Vec<&PlantedFault> = faults.iter().collect();
        asked.sort_by_key(|it| it.fault.whom != Whom::Rack);
        let mut planted = Vec::new();
        for PlantedFault { fault, count } in asked {
            let ill: Vec<usize> = if fault.whom == Whom::Rack {
                let rack = random.usize(0..hosts.div_ceil(size));
                let in_rack = |host: &usize| host / size == rack && free.contains(host);
                (0..hosts).filter(in_rack).take(count.unwrap_or(size)).collect()
            } else {
                let usual = if fault.whom == Whom::Few { hosts / 200 } else { hosts * 3 / 10 };
                free.iter().copied().take(count.unwrap_or(usual.max(1))).collect()
            };
            let ill: BTreeSet<usize> = ill.into_iter().collect();
            free.retain(|host| !ill.contains(host));
            planted.push((*fault, ill));
        }
        SimulatedFleet { base, hosts, seed, day: 0, planted }
    }

    /// The same machines, measured so many days later.
    #[must_use]
    pub fn on_day(self, day: u64) -> SimulatedFleet {
        SimulatedFleet { day, ..self }
    }

    /// How many machines there are.
    pub fn len(&self) -> usize {
        self.hosts
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.hosts == 0
    }

    /// The faults, and the names of the machines that have them.
    pub fn planted(&self) -> Vec<(&'static Fault, Vec<String>)> {
        let named = |hosts: &BTreeSet<usize>| {
            let mut names: Vec<String> = hosts.iter().map(|host| self.name(*host)).collect();
            names.sort();
            names
        };
        self.planted.iter().map(|(fault, hosts)| (*fault, named(hosts))).collect()
    }

    /// The name of a machine: its rack and its number there.
    pub fn name(&self, host: usize) -> String {
        let size = rack_size(self.hosts);
        format!("r{:03}n{:02}", host / size, host % size)
    }

    /// What a record of that machine begins with.
    pub fn digest(&self, host: usize) -> Digest {
        let machine = self.seed ^ (host as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let of_run = machine ^ (self.day + 1).wrapping_mul(0xd1b5_4a32_d192_ed03);
        let [mut random, mut of_run] = [machine, of_run].map(fastrand::Rng::with_seed);
        let mut digest = self.base.clone();
        digest.run.id = format!("simulated{host:08x}.{}", self.day);
        digest.run.started = later(&digest.run.started, self.day);
        let faults: Vec<&Fault> = self
            .planted
            .iter()
            .filter(|(_, hosts)| hosts.contains(&host))
            .map(|(fault, _)| *fault)
            .collect();
        for (id, says) in faults.iter().flat_map(|fault| fault.says) {
            say(&mut digest.facts, id, says);
        }
        // Two lots of silicon: four of ten machines have cores that clock 2 % lower.
        let lot = if random.f64() < 0.4 { 0.98 } else { 1.0 };
        let silicon = lot * (1.0 + 0.002 * normal(&mut random));
        for (key, result) in &mut digest.results {
            let clock = if key.quantity == "clock" { silicon } else { 1.0 };
            let factor: f64 =
                faults.iter().flat_map(|fault| fault.moves).map(|it| it.factor(key)).product();
            let host = clock * factor * between(result.better, &key.quantity, &mut random);
            vary(result, host, &key.quantity, &mut of_run);
        }
        digest
    }
}

/// Racks of small fleets are small.
fn rack_size(hosts: usize) -> usize {
    RACK.min(hosts / 10).max(1)
}

impl Move {
    fn factor(&self, key: &ResultKey) -> f64 {
        let is_it = key.area == self.area
            && key.quantity == self.quantity
            && (self.active_min..=self.active_max).contains(&key.active);
        if is_it { self.factor } else { 1.0 }
    }
}

fn say(facts: &mut [DigestFact], id: &str, says: &str) {
    let after = format!("{}{id}", crate::digest::AFTER);
    for fact in facts.iter_mut().filter(|fact| fact.id == id || fact.id == after) {
        fact.text = Some(says.to_owned());
    }
}

/// The standard deviation between machines, and that between blocks of one, relative.
fn noise(quantity: &str) -> [f64; 2] {
    match quantity {
        "clock" => [0.001, 0.0005],
        "bandwidth" => [0.006, 0.004],
        "latency" => [0.008, 0.004],
        "cycles_per_op" | "cycles_per_iteration" => [0.0005, 0.0005],
        _ => [0.025, 0.015],
    }
}

/// The factor of a machine among others.
fn between(better: Option<Better>, quantity: &str, random: &mut fastrand::Rng) -> f64 {
    let [between, _] = noise(quantity);
    // What is slower than usual is so by chance more often than what is faster.
    let skew = |x: f64| match better {
        Some(Better::More) => -x,
        _ => x,
    };
    (between * skew(normal(random) + 0.3 * normal(random).powi(2))).exp()
}

/// Another run is a little off as a whole, and so is each block.
fn vary(result: &mut DigestResult, factor: f64, quantity: &str, random: &mut fastrand::Rng) {
    const BLOCKS: usize = 10;
    let [_, within] = noise(quantity);
    let Ok(measured) = &result.outcome else { return };
    let middle = measured.median * factor * (1.0 + 0.3 * within * normal(random));
    let blocks: Vec<f64> = (0..BLOCKS).map(|_| middle * (1.0 + within * normal(random))).collect();
    if let Some(varied) = Measured::of(&blocks, 0.0) {
        result.outcome = Ok(varied);
    }
}

/// A time so many days later.
fn later(time: &str, days: u64) -> String {
    let later = humantime::parse_rfc3339(time)
        .ok()
        .and_then(|time| time.checked_add(Duration::from_secs(days.checked_mul(86_400)?)));
    later
        .map_or_else(|| time.to_owned(), |time| humantime::format_rfc3339_seconds(time).to_string())
}

/// Normal numbers by Box and Muller.
pub(crate) fn normal(random: &mut fastrand::Rng) -> f64 {
    let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.f64()).cos()
}
