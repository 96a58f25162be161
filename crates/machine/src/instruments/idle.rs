//! What the idle states of one CPU count: how often it was in each, and for how long.
//!
//! # Source
//! Linux, `Documentation/admin-guide/pm/cpuidle.rst`: `usage` and `time` count the states that were
//! asked for; hardware may have chosen a shallower one.

use std::fs::File;
use std::os::unix::fs::FileExt;

use model::{CpuId, Obstacle, Reading, Unavailable};
use simulated::Model;

use crate::facts::fact_cache::Survey;
use crate::facts::idle::{folder, numbers};
use crate::ports::Machine;

/// What one state has counted.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct IdleCount {
    /// How often it was left.
    pub entries: u64,
    /// How long the CPU was in it, in seconds.
    pub seconds: f64,
}

/// The counters of one CPU, the shallowest state first.
pub struct IdleCounters {
    names: Vec<String>,
    source: IdleSource,
}

enum IdleSource {
    /// `usage` and `time` of each state, open, so that a look is two calls for each.
    Files(Vec<[File; 2]>),
    Simulated(Box<Model>, CpuId),
}

impl IdleCounters {
    /// Those of a CPU.
    pub fn of(machine: &Machine, cpu: CpuId) -> Reading<IdleCounters> {
        let folder = folder(cpu);
        let numbers = numbers(&Survey::new(machine), &folder)?;
        let state = |number: &u32| format!("{folder}/state{number}");
        let name = |number| machine.tree.read(&format!("{}/name", state(number)));
        let names = numbers.iter().map(name).collect::<Reading<Vec<String>>>()?;
        if let Some(model) = &machine.simulated {
            return Ok(IdleCounters {
                names,
                source: IdleSource::Simulated(Box::new(model.clone()), cpu),
            });
        }
        let open = |path: String| {
            File::open(&path).map_err(|error| {
                let why = format!("`{path}`: {}", sys::errno::words(&error));
                Unavailable::new(Obstacle::Permission, "counters of idle states", why)
            })
        };
        let files = |number: &u32| {
            let state = state(number);
            Ok([open(format!("{state}/usage"))?, open(format!("{state}/time"))?])
        };
        let files = numbers.iter().map(files).collect::<Reading<_>>()?;
        Ok(IdleCounters { names, source: IdleSource::Files(files) })
    }

    /// The names of the states, such as `C6`.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// What they have counted so far.
    pub fn read(&self) -> Option<Vec<IdleCount>> {
        match &self.source {
            IdleSource::Simulated(model, cpu) => {
                let counts = model.idle_counts(*cpu).into_iter();
                Some(
                    counts
                        .map(|it| IdleCount { entries: it.entries, seconds: it.seconds })
                        .collect(),
                )
            }
            IdleSource::Files(files) => files.iter().map(count).collect(),
        }
    }
}

fn count([usage, time]: &[File; 2]) -> Option<IdleCount> {
    let microseconds = number(time)?;
    Some(IdleCount { entries: number(usage)?, seconds: microseconds as f64 / 1e6 })
}

fn number(file: &File) -> Option<u64> {
    let mut bytes = [0; 32];
    let length = file.read_at(&mut bytes, 0).ok()?;
    std::str::from_utf8(bytes.get(..length)?).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_anew_each_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let put = |usage: &str, time: &str| {
            std::fs::write(path("usage"), usage).unwrap();
            std::fs::write(path("time"), time).unwrap();
        };
        put("7\n", "1500000\n");
        let open = |name: &str| File::open(path(name)).unwrap();
        let source = IdleSource::Files(vec![[open("usage"), open("time")]]);
        let counters = IdleCounters { names: vec!["C1".to_owned()], source };
        assert_eq!(counters.read(), Some(vec![IdleCount { entries: 7, seconds: 1.5 }]));
        put("8\n", "1500000\n");
        assert_eq!(counters.read().unwrap()[0].entries, 8);
        put("soon\n", "1\n");
        assert_eq!(counters.read(), None);
    }
}
