//! What the cores fetch ahead. A bit that is set switches one off.
//!
//! # Source
//! Intel SDM volume 4, MSR_MISC_FEATURE_CONTROL (1A4H) of the Core families; AMD PPR of family 19h
//! models 10h and later, MSRC000_0108 (Prefetch Control); AMD APM volume 3, CPUID Fn8000_0021
//! EAX[13] (PrefetchCtlMsr).

use super::{Lever, Loss, Place, Proof, Scope, Values, honoured};
use crate::targets::Drivers;

const fn intel(id: &'static str, doc: &'static str, bit: u8) -> Lever {
    lever(id, doc, Place::Bit { register: 0x1a4, bit, known: is_core, cpus: INTEL })
}

const fn amd(id: &'static str, doc: &'static str, bit: u8) -> Lever {
    lever(id, doc, Place::Bit { register: 0xc000_0108, bit, known: has_control, cpus: AMD })
}

const fn lever(id: &'static str, doc: &'static str, place: Place) -> Lever {
    Lever {
        id,
        doc,
        scope: Scope::Cpu,
        place,
        values: Values::Switch { on: "0", off: "1" },
        rule: honoured,
        followers: &[],
        proof: Proof::Stride,
        loses: Some(Loss::Taint),
        moves_power: false,
    }
}

pub(super) static LEVERS: &[Lever] = &[
    intel("prefetch.l2", "Prefetcher of streams into L2 (Intel).", 0),
    intel("prefetch.l2_pair", "Prefetcher of the other line of a pair into L2 (Intel).", 1),
    intel("prefetch.l1", "Prefetcher of the next line into L1 (Intel).", 2),
    intel("prefetch.l1_ip", "Prefetcher by the address of the load into L1 (Intel).", 3),
    amd("prefetch.l1_stream", "Prefetcher of streams into L1 (AMD).", 0),
    amd("prefetch.l1_stride", "Prefetcher of strides into L1 (AMD).", 1),
    amd("prefetch.l1_region", "Prefetcher of regions into L1 (AMD).", 2),
    amd("prefetch.l2_stream", "Prefetcher of streams into L2 (AMD).", 3),
    amd("prefetch.up_down", "Prefetcher of the lines above and below into L2 (AMD).", 5),
];

const INTEL: &str = "big cores of Intel from Nehalem on";
const AMD: &str = "AMD that announces it (CPUID 0x80000021, EAX bit 13), from Zen 4 on";

/// Models of family 6 whose cores are Atoms, or that have no such register.
const NOT_CORE: &[u32] = &[
    0x1c, 0x1d, 0x26, 0x27, 0x35, 0x36, 0x37, 0x4a, 0x4c, 0x4d, 0x57, 0x5a, 0x5c, 0x5d, 0x5f, 0x65,
    0x6e, 0x75, 0x7a, 0x85, 0x86, 0x8a, 0x96, 0x9c, 0xaf, 0xb6, 0xbe, 0xdd,
];

fn is_core(drivers: &Drivers) -> bool {
    drivers.is("GenuineIntel")
        && drivers.family == Some(6)
        && drivers.model.is_some_and(|model| model >= 0x1a && !NOT_CORE.contains(&model))
        && !drivers.is_hybrid
}

fn has_control(drivers: &Drivers) -> bool {
    drivers.is("AuthenticAMD") && drivers.has_prefetch_control
}
