//! Names of microarchitectures and cores, by the numbers that CPUs give themselves.
//!
//! # Source
//! Intel SDM volume 4, table 2-1 (family and model of each processor generation), and the kernel's
//! `arch/x86/include/asm/intel-family.h`; AMD's processor programming references and revision
//! guides of the families named, and the kernel's `arch/x86/kernel/cpu/amd.c`.

use std::ops::RangeInclusive;

use super::cpu::{CpuNumbers, Signature};

/// Vendor, family, models, steppings, name.
type Row = (&'static str, u32, RangeInclusive<u32>, RangeInclusive<u32>, &'static str);

const INTEL: &str = "GenuineIntel";
const AMD: &str = "AuthenticAMD";
const HYGON: &str = "HygonGenuine";
const ANY: RangeInclusive<u32> = 0..=u32::MAX;

const fn intel(model: u32, name: &'static str) -> Row {
    (INTEL, 6, model..=model, ANY, name)
}

const fn amd(family: u32, first: u32, last: u32, name: &'static str) -> Row {
    (AMD, family, first..=last, ANY, name)
}

/// The first row that fits counts.
#[rustfmt::skip]
const TABLE: &[Row] = &[
    (INTEL, 15, 0..=6, ANY, "NetBurst"),
    intel(0x09, "Pentium M"), intel(0x0d, "Pentium M"),
    intel(0x0f, "Core"), intel(0x16, "Core"), intel(0x17, "Penryn"), intel(0x1d, "Penryn"),
    intel(0x1a, "Nehalem"), intel(0x1e, "Nehalem"), intel(0x1f, "Nehalem"), intel(0x2e, "Nehalem"),
    intel(0x25, "Westmere"), intel(0x2c, "Westmere"), intel(0x2f, "Westmere"),
    intel(0x2a, "Sandy Bridge"), intel(0x2d, "Sandy Bridge"),
    intel(0x3a, "Ivy Bridge"), intel(0x3e, "Ivy Bridge"),
    intel(0x3c, "Haswell"), intel(0x3f, "Haswell"), intel(0x45, "Haswell"), intel(0x46, "Haswell"),
    intel(0x3d, "Broadwell"), intel(0x47, "Broadwell"),
    intel(0x4f, "Broadwell"), intel(0x56, "Broadwell"),
    intel(0x4e, "Skylake"), intel(0x5e, "Skylake"),
    (INTEL, 6, 0x55..=0x55, 0..=4, "Skylake-SP"),
    (INTEL, 6, 0x55..=0x55, 5..=7, "Cascade Lake"),
    (INTEL, 6, 0x55..=0x55, 10..=11, "Cooper Lake"),
    (INTEL, 6, 0x8e..=0x8e, 0..=9, "Kaby Lake"),
    intel(0x8e, "Kaby Lake or later Skylake"),
    (INTEL, 6, 0x9e..=0x9e, 0..=9, "Kaby Lake"), intel(0x9e, "Coffee Lake"),
    intel(0xa5, "Comet Lake"), intel(0xa6, "Comet Lake"),
    intel(0x66, "Cannon Lake"),
    intel(0x7d, "Ice Lake"), intel(0x7e, "Ice Lake"),
    intel(0x6a, "Ice Lake-SP"), intel(0x6c, "Ice Lake-D"),
    intel(0x8c, "Tiger Lake"), intel(0x8d, "Tiger Lake"), intel(0xa7, "Rocket Lake"),
    intel(0x97, "Alder Lake"), intel(0x9a, "Alder Lake"), intel(0xbe, "Gracemont (Alder Lake-N)"),
    intel(0xb7, "Raptor Lake"), intel(0xba, "Raptor Lake"), intel(0xbf, "Raptor Lake"),
    intel(0xaa, "Meteor Lake"), intel(0xac, "Meteor Lake"),
    intel(0xb5, "Arrow Lake"), intel(0xc5, "Arrow Lake"), intel(0xc6, "Arrow Lake"),
    intel(0xbd, "Lunar Lake"), intel(0xcc, "Panther Lake"),
    intel(0x8f, "Sapphire Rapids"), intel(0xcf, "Emerald Rapids"),
    intel(0xad, "Granite Rapids"), intel(0xae, "Granite Rapids-D"),
    intel(0xaf, "Sierra Forest"), intel(0xdd, "Clearwater Forest"),
    intel(0x37, "Silvermont"), intel(0x4d, "Silvermont"),
    intel(0x5c, "Goldmont"), intel(0x5f, "Goldmont"), intel(0x7a, "Goldmont Plus"),
    intel(0x86, "Tremont"), intel(0x96, "Tremont"), intel(0x9c, "Tremont"),
    intel(0x57, "Knights Landing"), intel(0x85, "Knights Mill"),
    amd(0x0f, 0x00, 0xff, "K8"), amd(0x10, 0x00, 0x0f, "K10"), amd(0x12, 0x00, 0x0f, "K10"),
    amd(0x14, 0x00, 0x0f, "Bobcat"),
    amd(0x16, 0x00, 0x0f, "Jaguar"), amd(0x16, 0x30, 0x3f, "Puma"),
    amd(0x15, 0x00, 0x01, "Bulldozer"), amd(0x15, 0x02, 0x02, "Piledriver"),
    amd(0x15, 0x10, 0x1f, "Piledriver"), amd(0x15, 0x30, 0x3f, "Steamroller"),
    amd(0x15, 0x60, 0x7f, "Excavator"),
    amd(0x17, 0x08, 0x08, "Zen+"), amd(0x17, 0x18, 0x18, "Zen+"),
    amd(0x17, 0x00, 0x2f, "Zen"), amd(0x17, 0x50, 0x5f, "Zen"), amd(0x17, 0x30, 0xaf, "Zen 2"),
    amd(0x19, 0x00, 0x0f, "Zen 3"), amd(0x19, 0x10, 0x1f, "Zen 4"), amd(0x19, 0x20, 0x5f, "Zen 3"),
    amd(0x19, 0x60, 0x7f, "Zen 4"), amd(0x19, 0xa0, 0xaf, "Zen 4c"),
    amd(0x1a, 0x10, 0x1f, "Zen 5c"), amd(0x1a, 0x00, 0x4f, "Zen 5"), amd(0x1a, 0x60, 0x7f, "Zen 5"),
    amd(0x1a, 0x50, 0xcf, "Zen 6"),
    (HYGON, 0x18, 0x00..=0x0f, ANY, "Dhyana"),
];

/// Every name that there is.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|row| row.4).chain(ARM_CORES.iter().map(|core| core.2))
}

/// The name of a microarchitecture, where this version has one. Where the stepping is unknown, it is
/// the one of all steppings.
pub(super) fn name(vendor: &str, signature: Signature) -> Option<&'static str> {
    let fits = |(of, family, models, steppings, _): &&Row| {
        *of == vendor
            && *family == signature.family
            && models.contains(&signature.model)
            && signature.stepping.is_none_or(|stepping| steppings.contains(&stepping))
    };
    let mut names = TABLE.iter().filter(fits).map(|(.., name)| *name);
    let name = names.next()?;
    (signature.stepping.is_some() || names.all(|other| other == name)).then_some(name)
}

/// What CPUID 7 tells of in EDX that only these microarchitectures have: bit, name, who has it.
///
/// # Source
/// Intel, Architecture Instruction Set Extensions Programming Reference (319433), table 1-2.
const NEWER: &[(u32, &str, &[&str])] =
    &[(24, "AMX", &["Sapphire Rapids", "Emerald Rapids", "Granite Rapids", "Granite Rapids-D"])];

/// What a CPU has by that register, and cannot have if it is what its numbers say.
pub(super) fn betrayed(name: &str, edx: u32) -> Option<&'static str> {
    let has = |(bit, _, of): &&(u32, &str, &[&str])| edx >> bit & 1 == 1 && !of.contains(&name);
    NEWER.iter().find(has).map(|(_, what, _)| *what)
}

/// Types of cores: EAX of CPUID 1Ah, name.
///
/// # Source
/// Intel SDM volume 2A, CPUID 1Ah: 40h in the highest byte is a core of the Core line, 20h of the
/// Atom line; the models below it as the CPUs of each generation give them.
const CORE_TYPES: &[(u32, &str)] = &[
    (0x4000_0000, "Sunny Cove"),
    (0x2000_0000, "Tremont"),
    (0x4000_0001, "Golden Cove"),
    (0x2000_0001, "Gracemont"),
    (0x4000_0002, "Redwood Cove"),
    (0x2000_0002, "Crestmont"),
    (0x4000_0003, "Lion Cove"),
    (0x2000_0003, "Skymont"),
    (0x4000_0004, "Cougar Cove"),
    (0x2000_0004, "Darkmont"),
];

/// The name of a type of cores in a generation.
pub(super) fn core_type(generation: &str, eax: u32) -> Option<&'static str> {
    let (_, name) = CORE_TYPES.iter().find(|(known, _)| *known == eax)?;
    // The successor of Golden Cove calls itself by the same number.
    Some(if (generation, *name) == ("Raptor Lake", "Golden Cove") { "Raptor Cove" } else { name })
}

/// Who designs cores of Arm's architecture.
///
/// # Source
/// Arm Architecture Reference Manual, MIDR_EL1, field Implementer.
#[rustfmt::skip]
const IMPLEMENTERS: &[(u32, &str)] = &[
    (0x41, "Arm"), (0x42, "Broadcom"), (0x43, "Cavium"), (0x46, "Fujitsu"), (0x48, "HiSilicon"),
    (0x4e, "NVIDIA"), (0x50, "APM"), (0x51, "Qualcomm"), (0x53, "Samsung"), (0x56, "Marvell"),
    (0x61, "Apple"), (0x69, "Intel"), (0x6d, "Microsoft"), (0x70, "Phytium"), (0xc0, "Ampere"),
];

/// The name of who designed a core of Arm's architecture.
pub(super) fn implementer(number: u32) -> Option<&'static str> {
    IMPLEMENTERS.iter().find(|(known, _)| *known == number).map(|(_, name)| *name)
}

/// Cores of Arm's architecture: implementer, part, name.
///
/// # Source
/// The technical reference manual of each core, MIDR_EL1; for other designers than Arm, the
/// kernel's `arch/arm64/include/asm/cputype.h`.
#[rustfmt::skip]
const ARM_CORES: &[(u32, u32, &str)] = &[
    (0x41, 0xc05, "Cortex-A5"), (0x41, 0xc07, "Cortex-A7"), (0x41, 0xc08, "Cortex-A8"),
    (0x41, 0xc09, "Cortex-A9"), (0x41, 0xc0d, "Cortex-A12"), (0x41, 0xc0e, "Cortex-A17"),
    (0x41, 0xc0f, "Cortex-A15"), (0x41, 0xd01, "Cortex-A32"), (0x41, 0xd02, "Cortex-A34"),
    (0x41, 0xd03, "Cortex-A53"), (0x41, 0xd04, "Cortex-A35"), (0x41, 0xd05, "Cortex-A55"),
    (0x41, 0xd06, "Cortex-A65"), (0x41, 0xd07, "Cortex-A57"), (0x41, 0xd08, "Cortex-A72"),
    (0x41, 0xd09, "Cortex-A73"), (0x41, 0xd0a, "Cortex-A75"), (0x41, 0xd0b, "Cortex-A76"),
    (0x41, 0xd0c, "Neoverse-N1"), (0x41, 0xd0d, "Cortex-A77"), (0x41, 0xd0e, "Cortex-A76AE"),
    (0x41, 0xd40, "Neoverse-V1"), (0x41, 0xd41, "Cortex-A78"), (0x41, 0xd42, "Cortex-A78AE"),
    (0x41, 0xd43, "Cortex-A65AE"), (0x41, 0xd44, "Cortex-X1"), (0x41, 0xd46, "Cortex-A510"),
    (0x41, 0xd47, "Cortex-A710"), (0x41, 0xd48, "Cortex-X2"), (0x41, 0xd49, "Neoverse-N2"),
    (0x41, 0xd4a, "Neoverse-E1"), (0x41, 0xd4b, "Cortex-A78C"), (0x41, 0xd4c, "Cortex-X1C"),
    (0x41, 0xd4d, "Cortex-A715"), (0x41, 0xd4e, "Cortex-X3"), (0x41, 0xd4f, "Neoverse-V2"),
    (0x41, 0xd80, "Cortex-A520"), (0x41, 0xd81, "Cortex-A720"), (0x41, 0xd82, "Cortex-X4"),
    (0x41, 0xd83, "Neoverse-V3AE"), (0x41, 0xd84, "Neoverse-V3"), (0x41, 0xd85, "Cortex-X925"),
    (0x41, 0xd87, "Cortex-A725"), (0x41, 0xd8e, "Neoverse-N3"),
    (0x42, 0x516, "ThunderX2"),
    (0x43, 0x0a1, "ThunderX"), (0x43, 0x0af, "ThunderX2"), (0x43, 0x0b8, "ThunderX3"),
    (0x46, 0x001, "A64FX"),
    (0x48, 0xd01, "TaiShan v110"), (0x48, 0xd02, "TaiShan v120"),
    (0x4e, 0x003, "Denver 2"), (0x4e, 0x004, "Carmel"), (0x4e, 0x010, "Olympus"),
    (0x51, 0x001, "Oryon"), (0x51, 0x800, "Kryo 2xx Gold"), (0x51, 0x801, "Kryo 2xx Silver"),
    (0x51, 0x802, "Kryo 3xx Gold"), (0x51, 0x803, "Kryo 3xx Silver"),
    (0x51, 0x804, "Kryo 4xx Gold"), (0x51, 0x805, "Kryo 4xx Silver"), (0x51, 0xc00, "Falkor"),
    (0x53, 0x001, "Exynos M1"), (0x53, 0x002, "Exynos M3"), (0x53, 0x003, "Exynos M4"),
    (0x53, 0x004, "Exynos M5"),
    (0x61, 0x022, "Icestorm"), (0x61, 0x023, "Firestorm"), (0x61, 0x024, "Icestorm"),
    (0x61, 0x025, "Firestorm"), (0x61, 0x028, "Icestorm"), (0x61, 0x029, "Firestorm"),
    (0x61, 0x032, "Blizzard"), (0x61, 0x033, "Avalanche"), (0x61, 0x034, "Blizzard"),
    (0x61, 0x035, "Avalanche"), (0x61, 0x038, "Blizzard"), (0x61, 0x039, "Avalanche"),
    (0x6d, 0xd49, "Cobalt 100"),
    (0xc0, 0xac3, "AmpereOne"), (0xc0, 0xac4, "AmpereOne"),
];

/// The name of a core of Arm's architecture.
pub(super) fn arm_core(implementer: u32, part: u32) -> Option<&'static str> {
    let fits = |(of, number, _): &&(u32, u32, &str)| (*of, *number) == (implementer, part);
    ARM_CORES.iter().find(fits).map(|(.., name)| *name)
}

/// The numbers of a CPU of that name; capitals, blanks and hyphens are all the same.
pub(super) fn numbers(called: &str) -> Option<CpuNumbers> {
    let called = letters(called);
    let of_arm = || {
        let core = ARM_CORES.iter().find(|core| letters(core.2) == called)?;
        Some(CpuNumbers::Arm { implementer: core.0, part: core.1 })
    };
    TABLE.iter().filter(|row| letters(row.4) == called).find_map(first_of).or_else(of_arm)
}

/// The first CPU of a row that no earlier row has.
fn first_of(row: &Row) -> Option<CpuNumbers> {
    /// Steppings have 4 bits.
    const LAST: u32 = 15;
    let steppings = || (*row.3.start()..=LAST).take_while(|it| row.3.contains(it));
    let all = row.2.clone().flat_map(|model| steppings().map(move |stepping| (model, stepping)));
    let family = row.1;
    let is_its = |(model, stepping): &(u32, u32)| {
        name(row.0, Signature { family, model: *model, stepping: Some(*stepping) }) == Some(row.4)
    };
    let (model, stepping) = all.into_iter().find(is_its)?;
    Some(CpuNumbers::X86 { vendor: row.0.to_owned(), family, model, stepping: Some(stepping) })
}

fn letters(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|it| it.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steppings_tell_generations_apart_and_strangers_have_no_name() {
        let of = |vendor, family, model, stepping| {
            name(vendor, Signature { family, model, stepping: Some(stepping) })
        };
        let of_any = |model| name(INTEL, Signature { family: 6, model, stepping: None });
        assert_eq!((of_any(0x55), of_any(207)), (None, Some("Emerald Rapids")));
        assert_eq!(of(INTEL, 6, 0x55, 4), Some("Skylake-SP"));
        assert_eq!(of(INTEL, 6, 0x55, 7), Some("Cascade Lake"));
        assert_eq!(of(INTEL, 6, 207, 2), Some("Emerald Rapids"));
        assert_eq!(of(AMD, 0x17, 0x31, 0), Some("Zen 2"));
        assert_eq!(of(INTEL, 6, 300, 0), None);
        assert_eq!(of("Arm", 6, 0x55, 4), None);
    }

    #[test]
    fn nobody_has_what_came_after_it() {
        let amx = 1 << 24;
        assert_eq!(betrayed("Rocket Lake", amx | 1), Some("AMX"));
        assert_eq!(betrayed("Rocket Lake", !amx), None);
        assert_eq!(betrayed("Granite Rapids", amx), None);
        let named = |name: &&str| names().any(|known| known == *name);
        assert!(NEWER.iter().all(|(_, _, of)| of.iter().all(named)));
    }
}
