//! What `/proc/cpuinfo` says of places: for kernels and recordings without topology in sysfs, and
//! for the names of Arm's cores.

use std::collections::BTreeMap;

use model::{CpuId, CpuSet};

/// What it says, as far as places go.
#[derive(Debug, Clone, Default)]
pub(super) struct Cpuinfo {
    /// Display family and model of x86.
    pub(super) family: Option<u32>,
    pub(super) model: Option<u32>,
    /// `cache size`: of one cache, the last-level one, without its level.
    pub(super) cache_size: Option<String>,
    /// Each CPU.
    pub(super) processors: BTreeMap<CpuId, Processor>,
}

/// What it says of one CPU.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Processor {
    pub(super) package: Option<u32>,
    pub(super) core: Option<u32>,
    /// Of Arm's register MIDR: who made it, and which one it is.
    pub(super) implementer: Option<u32>,
    pub(super) part: Option<u32>,
}

impl Cpuinfo {
    pub(super) fn parse(text: &str) -> Cpuinfo {
        let mut cpuinfo = Cpuinfo::default();
        let mut current = None;
        for line in text.lines() {
            let Some((key, value)) = line.split_once(':') else { continue };
            let (key, value) = (key.trim(), value.trim());
            if let Some(cpu) = processor(key, value) {
                cpuinfo.processors.entry(cpu).or_default();
                current = Some(cpu);
                continue;
            }
            match key {
                "cpu family" => cpuinfo.family = cpuinfo.family.or(value.parse().ok()),
                "model" => cpuinfo.model = cpuinfo.model.or(value.parse().ok()),
                "cache size" if cpuinfo.cache_size.is_none() => {
                    cpuinfo.cache_size = Some(value.into());
                }
                _ => {}
            }
            if let Some(processor) = current.and_then(|cpu| cpuinfo.processors.get_mut(&cpu)) {
                processor.learn(key, value);
            }
        }
        cpuinfo
    }

    /// The CPUs that it names.
    pub(super) fn cpus(&self) -> CpuSet {
        self.processors.keys().copied().collect()
    }

    pub(super) fn of(&self, cpu: CpuId) -> Processor {
        self.processors.get(&cpu).copied().unwrap_or_default()
    }
}

impl Processor {
    fn learn(&mut self, key: &str, value: &str) {
        let hexadecimal = || u32::from_str_radix(value.strip_prefix("0x")?, 16).ok();
        match key {
            "physical id" => self.package = value.parse().ok(),
            "core id" => self.core = value.parse().ok(),
            "CPU implementer" => self.implementer = hexadecimal(),
            "CPU part" => self.part = hexadecimal(),
            _ => {}
        }
    }
}

/// `processor : 3`; s390 writes `processor 3: version = ...`.
fn processor(key: &str, value: &str) -> Option<CpuId> {
    let number = match key.strip_prefix("processor")? {
        "" => value,
        number => number.trim(),
    };
    let list: CpuSet = number.parse().ok().filter(|list: &CpuSet| list.len() == 1)?;
    list.iter().next()
}
