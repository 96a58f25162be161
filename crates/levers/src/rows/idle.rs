//! Which idle states CPUs may enter.
//!
//! # Source
//! Linux, Documentation/admin-guide/pm/cpuidle.rst, Documentation/ABI/testing/sysfs-devices-power,
//! Documentation/power/pm_qos_interface.rst; include/linux/pm_qos.h for what "no limit" is written as.

use model::record::NO_LATENCY_LIMIT_US;

use super::{Lever, LeverPlace, Proof, Scope, Values, honoured};

pub(super) static LEVERS: &[Lever] = &[
    Lever {
        id: "resume_latency",
        doc: "The longest time that a CPU may take to leave an idle state; 0 sets no limit, n/a \
              tolerates no latency at all: the CPU polls.",
        scope: Scope::Cpu,
        place: LeverPlace::File("/sys/devices/system/cpu/cpu{cpu}/power/pm_qos_resume_latency_us"),
        values: Values::NumberOr { word: "n/a", text: "n/a", max: i32::MAX as u64 - 1, unit: "us" },
        rule: honoured,
        followers: &[],
        proof: Proof::IdleStates,
        loses: None,
        moves_power: true,
    },
    Lever {
        id: "cpu_dma_latency",
        doc: "The longest time that any CPU may take to leave an idle state. The request lasts \
              only while cpudyno runs; the strictest one of all programs applies.",
        scope: Scope::Machine,
        place: LeverPlace::Request("/dev/cpu_dma_latency"),
        values: Values::NumberOr {
            word: "none",
            text: "2000000000",
            max: NO_LATENCY_LIMIT_US - 1,
            unit: "us",
        },
        rule: honoured,
        followers: &[],
        proof: Proof::IdleStates,
        loses: None,
        moves_power: true,
    },
    Lever {
        id: "idle.STATE",
        doc: "Whether CPUs may enter that idle state, such as idle.C6.",
        scope: Scope::IdleState,
        place: LeverPlace::File("/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}/disable"),
        values: Values::Switch { on: "0", off: "1" },
        rule: honoured,
        followers: &[],
        proof: Proof::IdleStates,
        loses: None,
        moves_power: true,
    },
];
