//! What the cores fetch ahead. A bit that is set switches one off.
//!
//! # Source
//! Intel SDM volume 4, MSR_MISC_FEATURE_CONTROL (1A4H) of the Core families; AMD PPR of family 19h
//! models 10h and later, MSRC000_0108 (Prefetch Control); AMD APM volume 3, CPUID Fn8000_0021
//! EAX[13] (PrefetchCtlMsr).

use machine::facts::prefetchers::{OF_AMD, OF_INTEL, has_misc_feature_control};

use super::{Lever, LeverPlace, Loss, Proof, Scope, Values, honoured};
use crate::drivers::Drivers;

const fn intel(id: &'static str, doc: &'static str, bit: u8) -> Lever {
    lever(id, doc, LeverPlace::Bit { register: 0x1a4, bit, known: is_core, cpus: OF_INTEL })
}

const fn amd(id: &'static str, doc: &'static str, bit: u8) -> Lever {
    lever(id, doc, LeverPlace::Bit { register: 0xc000_0108, bit, known: has_control, cpus: OF_AMD })
}

const fn lever(id: &'static str, doc: &'static str, place: LeverPlace) -> Lever {
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

fn is_core(drivers: &Drivers) -> bool {
    let numbers = drivers.family.zip(drivers.model);
    drivers.is("GenuineIntel")
        && numbers.is_some_and(|(family, model)| has_misc_feature_control(family, model))
        && !drivers.is_hybrid
}

fn has_control(drivers: &Drivers) -> bool {
    drivers.is("AuthenticAMD") && drivers.has_prefetch_control
}
