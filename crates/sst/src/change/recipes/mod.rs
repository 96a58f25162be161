//! What each wish comes to: one file a feature.

mod base_freq;
mod core_power;
mod fixed;
mod level;
mod turbo_freq;

use super::ground::Ground;
use super::{Refused, Steps, What};

pub(super) use self::fixed::BACKEND as FIXED;
pub(super) use self::turbo_freq::lowered;

/// The steps of the wish, as things are.
pub(super) fn steps(ground: &Ground<'_>) -> Result<Steps, Refused> {
    if ground.snapshot.backend == FIXED {
        return fixed::steps(ground);
    }
    let mut steps = of_feature(ground)?;
    let beside = ground.beside_classes(&steps);
    steps.remarks.extend(beside);
    steps.remarks.extend(ground.elsewhere());
    Ok(steps)
}

fn of_feature(ground: &Ground<'_>) -> Result<Steps, Refused> {
    match &ground.wish.what {
        What::Level { level, with_cpus } => level::steps(ground, *level, *with_cpus),
        What::CorePower { on: true, priority } => core_power::enable(ground, *priority),
        What::CorePower { on: false, priority } => core_power::disable(ground, *priority),
        What::Class(wish) => core_power::class(ground, wish),
        What::Association(class) => core_power::associate(ground, *class),
        What::BaseFreq { on: true, auto } => base_freq::enable(ground, *auto),
        What::BaseFreq { on: false, auto } => base_freq::disable(ground, *auto),
        What::TurboFreq { on: true, auto, limits } => turbo_freq::enable(ground, *auto, *limits),
        What::TurboFreq { on: false, auto, limits } => turbo_freq::disable(ground, *auto, *limits),
        What::TurboMode(on) => ground.turbo_mode(*on),
        What::TurboLimits(limits) => turbo_freq::limits(ground, *limits),
    }
}
