//! The original STREAM beside our own kernels: on the same CPUs, with arrays of the same length, both
//! counted as STREAM counts.

use kernels::memory::MemoryKernel;
use machine::{Machine, facts};
use model::record::{OriginalRate, OriginalRun};
use model::{CpuId, CpuSet, Obstacle, Unavailable};

use super::classic;
use super::request::MemoryOptions;
use crate::original::{Checked, Function, Original, Rate, Validation};
use crate::run::Error;
use crate::run::plan::{Planning, UNLIMITED};

/// Where the original runs, and how long its arrays are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extent {
    /// One thread is pinned to each.
    pub cpus: Vec<CpuId>,
    /// Elements of each array.
    pub elements: u64,
}

/// The CPUs and the length for the original: those of our own kernels, as far as there is room.
pub fn extent(machine: &Machine, options: &MemoryOptions) -> Result<Extent, Error> {
    /// Ours are made when its arrays are gone, and others may have taken some memory meanwhile.
    const PART: f64 = 0.9;
    if machine.elsewhere.is_some() || machine.simulated.is_some() {
        let why = "STREAM is a compiled program and runs only on this machine";
        let reason = Unavailable::new(Obstacle::Hardware, "the original STREAM", why);
        return Err(reason.with_remedy("leave `--machine` out").into());
    }
    let own = |kernel: &&&MemoryKernel| !classic().iter().any(|known| known.id == kernel.id);
    if let Some(kernel) = options.kernels.iter().flatten().find(own) {
        let reason = Unavailable::new(
            Obstacle::Measurement,
            format!("{} beside the original STREAM", kernel.id),
            "the original STREAM has only copy, scale, add and triad",
        );
        return Err(Error::Asked(reason.with_remedy("`cpudyno memory` measures all kernels")));
    }
    let description = facts::machine(machine);
    let placement = options.cpus.place(&description.topology)?;
    let (description, placement) = (&description, &placement);
    let plan = Planning { machine, description, placement, streams: &[], budget: UNLIMITED };
    let scope = options.scope(&plan, PART)?;
    let cpus = scope.asked_cpus().to_vec();
    Ok(Extent { elements: scope.fitting(&cpus)?, cpus })
}

/// Before anything runs: what the original would be, as a part of the plan.
pub fn planned(checked: &Checked, extent: &Extent) -> [(&'static str, String); 3] {
    let source = match (&checked.sha256, &checked.revision) {
        (Some(sha256), Some(revision)) => format!("revision {revision}, SHA-256 {sha256}"),
        (Some(sha256), None) => format!("of unknown revision, SHA-256 {sha256}"),
        (None, _) => "fetched by curl, and checked, when it runs".to_owned(),
    };
    let cpus: CpuSet = extent.cpus.iter().copied().collect();
    [
        ("Original", source),
        ("Compiler", format!("{} with {}", checked.compiler, checked.flags.join(" "))),
        ("Arrays", format!("of {} elements on CPUs {cpus}", extent.elements)),
    ]
}

/// What is kept of it.
pub fn kept(original: &Original, extent: &Extent) -> OriginalRun {
    let rate = |rate: &Rate| OriginalRate {
        workload: match rate.function {
            Function::Copy => "copy",
            Function::Scale => "scale",
            Function::Add => "add",
            Function::Triad => "triad",
        }
        .to_owned(),
        best_bytes_per_second: rate.best_bytes_per_second,
        average_seconds: rate.average.0,
        shortest_seconds: rate.shortest.0,
        longest_seconds: rate.longest.0,
    };
    OriginalRun {
        source_sha256: original.sha256.to_string(),
        revision: original.revision.clone(),
        compiler: original.compiler.clone(),
        flags: original.flags.clone(),
        cpus: extent.cpus.iter().copied().collect::<CpuSet>(),
        elements: original.report.array_elements.unwrap_or(extent.elements),
        validates: match original.report.validation {
            Validation::Validates => Some(true),
            Validation::Fails(_) => Some(false),
            Validation::Absent => None,
        },
        rates: original.report.rates.iter().map(rate).collect(),
        remarks: original.remarks.lines().to_vec(),
    }
}
