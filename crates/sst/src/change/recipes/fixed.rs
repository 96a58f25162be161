//! Processors without an interface: the setup of the firmware has chosen two kinds of cores, and limits of
//! the clock are all that is left to set.
//!
//! # Source
//! Linux, tools/power/x86/intel-speed-select/isst-config.c.

use levers::plan::PlannedWrite;
use model::CpuId;

use super::super::ground::Ground;
use super::super::limits::{LEAST, MAX, MIN, MOST, limit};
use super::super::{Refused, Steps, What};

/// How such a machine answers.
pub(in super::super) const BACKEND: &str = "cpufreq";

pub(super) fn steps(ground: &Ground<'_>) -> Result<Steps, Refused> {
    let limits = match ground.wish.what {
        What::BaseFreq { on: true, .. } => each(ground, |cpu| {
            let base = ground.khz(cpu, "base_frequency")?;
            Some([limit(cpu, MAX, base), limit(cpu, MIN, base)])
        }),
        What::BaseFreq { on: false, .. } => each(ground, |cpu| {
            let (most, least) = (ground.khz(cpu, MOST)?, ground.khz(cpu, LEAST)?);
            Some([limit(cpu, MAX, most), limit(cpu, MIN, least)])
        }),
        What::TurboMode(on) => return ground.turbo_mode(on),
        _ => {
            let why = "this processor has no interface of Speed Select: the setup of its firmware decides";
            return Err(ground
                .wish
                .not_here(why, "`cpudyno sst base-freq info` shows what it decided"));
        }
    };
    Ok(Steps { limits, ..Steps::default() })
}

fn each(ground: &Ground<'_>, of: impl Fn(CpuId) -> Option<[PlannedWrite; 2]>) -> Vec<PlannedWrite> {
    let domains = ground.targets();
    let cpus = domains.iter().flat_map(|domain| domain.cpus.iter().map(|member| member.cpu));
    cpus.filter_map(of).flatten().collect()
}
