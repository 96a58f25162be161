//! Kinds of cores, where a machine has several.

use std::collections::BTreeMap;

use model::CpuId;
use serde::Deserialize;

use super::check::positive;
use super::{CacheLevel, Cost, Memory, Model};

/// Cores of one kind. What it leaves out is as on any core of the machine.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoreKind {
    /// What it is called.
    pub name: KindName,
    /// How many of them each package has: kinds follow one another there.
    pub cores: u32,
    /// As far as they come, in hertz.
    pub highest_hz: Option<f64>,
    /// What costs otherwise there.
    #[serde(default)]
    pub costs: BTreeMap<String, Cost>,
    /// Size of the second-level cache.
    pub l2_bytes: Option<u64>,
    /// How many of them share a second-level cache.
    pub cores_per_l2: Option<u32>,
    /// Whether they are a cluster of their own, outside of the last-level cache.
    #[serde(default)]
    pub without_l3: bool,
    /// What caches and memory give to them in truth.
    pub memory: Option<KindMemory>,
    /// How long a cache line takes between two of them, one way, in seconds.
    pub distance_seconds: Option<f64>,
    /// How many times as long signals to them, and their alarms, take.
    #[serde(default = "once")]
    pub wake_factor: f64,
    /// How many times as long they take for their part of an OpenMP loop.
    #[serde(default = "once")]
    pub loop_factor: f64,
}

/// What kinds of cores are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum KindName {
    /// Fast ones.
    P,
    /// Efficient ones.
    E,
    /// Efficient ones of low power: the kernel counts them among the efficient ones.
    #[serde(rename = "LP-E")]
    LowPower,
}

/// What caches and memory give to one kind of core.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KindMemory {
    /// Its caches, nearest first.
    pub cache: Vec<CacheLevel>,
    /// How long a pointer takes that lies in memory, in seconds.
    pub latency_seconds: f64,
    /// What one core moves to and from memory at most, in bytes per second.
    pub core_bandwidth: f64,
}

/// What caches and memory give to one core.
#[derive(Debug, Clone, Copy)]
pub struct Reach<'a> {
    /// Its caches, nearest first.
    pub cache: &'a [CacheLevel],
    /// How long a pointer takes that lies in memory of the own node, in seconds.
    pub latency_seconds: f64,
    /// What it moves to and from memory at most, in bytes per second.
    pub core_bandwidth: f64,
}

const fn once() -> f64 {
    1.0
}

impl KindName {
    /// Whether CPUID calls it an Atom, and the kernel counts it with `cpu_atom`.
    pub(crate) fn is_efficient(self) -> bool {
        self != KindName::P
    }
}

impl CoreKind {
    /// So many cores of a name, and nothing else that differs.
    pub fn named(name: KindName, cores: u32) -> CoreKind {
        CoreKind {
            name,
            cores,
            highest_hz: None,
            costs: BTreeMap::new(),
            l2_bytes: None,
            cores_per_l2: None,
            without_l3: false,
            memory: None,
            distance_seconds: None,
            wake_factor: 1.0,
            loop_factor: 1.0,
        }
    }

    /// So many fast cores in each package, followed by so many efficient ones.
    pub fn pair(fast: u32, efficient: u32) -> Vec<CoreKind> {
        vec![CoreKind::named(KindName::P, fast), CoreKind::named(KindName::E, efficient)]
    }

    pub(super) fn is_sound(&self, model: &Model) -> bool {
        let memory = self.memory.as_ref().is_none_or(|it| {
            let levels = it.cache.iter().all(CacheLevel::is_sound);
            levels && positive(it.latency_seconds) && positive(it.core_bandwidth)
        });
        let shared = self.cores_per_l2.is_none_or(|of| of > 0 && self.cores.is_multiple_of(of));
        let times = [self.highest_hz, self.distance_seconds].into_iter().flatten();
        let mut positives = times.chain([self.wake_factor, self.loop_factor]);
        let costs = self.costs.keys().all(|id| model.costs.contains_key(id));
        self.cores > 0 && memory && shared && positives.all(positive) && costs
    }
}

impl Reach<'_> {
    /// The nearest level that holds so many bytes, where so many cores use the last one alike; none: memory.
    pub fn level(&self, bytes: u64, sharing: u64) -> Option<&CacheLevel> {
        let last = self.cache.len().saturating_sub(1);
        self.cache.iter().enumerate().find_map(|(index, level)| {
            let needed = if index == last { bytes * sharing } else { bytes };
            (needed <= level.bytes).then_some(level)
        })
    }
}

impl Memory {
    /// What it gives to a core of a kind.
    pub fn reach<'a>(&'a self, kind: Option<&'a CoreKind>) -> Reach<'a> {
        match kind.and_then(|kind| kind.memory.as_ref()) {
            Some(own) => Reach {
                cache: &own.cache,
                latency_seconds: own.latency_seconds,
                core_bandwidth: own.core_bandwidth,
            },
            None => Reach {
                cache: &self.cache,
                latency_seconds: self.latency_seconds,
                core_bandwidth: self.core_bandwidth,
            },
        }
    }
}

impl Model {
    /// What kind of core a CPU is in; `None` where all cores are of one kind.
    pub fn kind_of(&self, cpu: CpuId) -> Option<&CoreKind> {
        self.kind_and_place(cpu).map(|(kind, _)| kind)
    }

    /// And which one of its kind that core is.
    fn kind_and_place(&self, cpu: CpuId) -> Option<(&CoreKind, u32)> {
        let mut place = self.claimed_core_of(cpu);
        for kind in &self.kind {
            if place < kind.cores {
                return Some((kind, place));
            }
            place -= kind.cores;
        }
        None
    }

    /// Whether a CPU is in an efficient core; `None` where all cores are of one kind.
    pub fn is_efficient(&self, cpu: CpuId) -> Option<bool> {
        self.kind_of(cpu).map(|kind| kind.name.is_efficient())
    }

    /// Which second-level cache of its package and kind a CPU uses.
    pub(crate) fn l2_of(&self, cpu: CpuId) -> (u32, u32, u32) {
        let each = self.caches.cores_per_l2.unwrap_or(1);
        let package = self.package_of(cpu);
        match self.kind_and_place(cpu) {
            Some((kind, place)) => {
                (package, kind.name as u32, place / kind.cores_per_l2.unwrap_or(each))
            }
            None => (package, 0, self.claimed_core_of(cpu) / each),
        }
    }

    /// Whether a CPU uses the third-level cache.
    pub(crate) fn has_l3(&self, cpu: CpuId) -> bool {
        self.kind_of(cpu).is_none_or(|kind| !kind.without_l3)
    }

    /// How many times as long a signal to a CPU takes as on most.
    pub fn wake_factor(&self, cpu: CpuId) -> f64 {
        self.kind_of(cpu).map_or(1.0, |kind| kind.wake_factor)
    }

    /// The same for its part of an OpenMP loop.
    pub fn loop_factor(&self, cpu: CpuId) -> f64 {
        self.kind_of(cpu).map_or(1.0, |kind| kind.loop_factor)
    }

    pub(super) fn kinds_fit(&self) -> bool {
        let cores: u32 = self.kind.iter().map(|kind| kind.cores).sum();
        let layout = &self.topology;
        self.kind.is_empty()
            || cores == layout.cores_per_package
                && layout.threads_per_core == 1
                && self.kind.iter().all(|kind| kind.is_sound(self))
    }
}
