//! The clock outside the cores.
//!
//! # Source
//! Linux, Documentation/admin-guide/pm/intel_uncore_frequency_scaling.rst.

use super::{Lever, LeverPlace, Proof, Scope, Values, honoured};

pub(super) static LEVERS: &[Lever] = &[
    Lever {
        id: "uncore_min",
        doc: "The lowest clock of mesh, last cache and memory controllers.",
        scope: Scope::UncoreDie,
        place: LeverPlace::File(
            "/sys/devices/system/cpu/intel_uncore_frequency/{die}/min_freq_khz",
        ),
        values: Values::Kilohertz,
        rule: honoured,
        followers: &[],
        proof: Proof::CacheLatency,
        loses: None,
        moves_power: true,
    },
    Lever {
        id: "uncore_max",
        doc: "The highest clock of mesh, last cache and memory controllers.",
        scope: Scope::UncoreDie,
        place: LeverPlace::File(
            "/sys/devices/system/cpu/intel_uncore_frequency/{die}/max_freq_khz",
        ),
        values: Values::Kilohertz,
        rule: honoured,
        followers: &[],
        proof: Proof::CacheLatency,
        loses: None,
        moves_power: true,
    },
];
