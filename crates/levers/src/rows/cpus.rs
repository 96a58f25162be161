//! Which CPUs there are.
//!
//! # Source
//! Linux, Documentation/core-api/cpu_hotplug.rst, Documentation/ABI/testing/sysfs-devices-system-cpu.

use super::{Lever, LeverPlace, Loss, Proof, Scope, Values, honoured};

pub(super) static LEVERS: &[Lever] = &[
    Lever {
        id: "smt",
        doc: "Whether cores execute several threads.",
        scope: Scope::Machine,
        place: LeverPlace::File("/sys/devices/system/cpu/smt/control"),
        values: Values::Words(&["on", "off"]),
        rule: honoured,
        // Switching threads on again also brings those back that were off by themselves.
        followers: &["/sys/devices/system/cpu/cpu{cpu}/online"],
        proof: Proof::Pinning,
        loses: Some(Loss::Bindings),
        moves_power: false,
    },
    Lever {
        id: "online",
        doc: "Whether the kernel uses a CPU.",
        scope: Scope::Cpu,
        place: LeverPlace::File("/sys/devices/system/cpu/cpu{cpu}/online"),
        values: Values::Switch { on: "1", off: "0" },
        rule: honoured,
        followers: &[],
        proof: Proof::Pinning,
        loses: Some(Loss::Bindings),
        moves_power: false,
    },
];
