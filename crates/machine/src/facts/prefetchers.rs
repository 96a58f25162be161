//! Which CPUs have registers that switch prefetchers off: those of others mean something else, or nothing.

/// Which of Intel's, in words.
pub const OF_INTEL: &str = "big cores of Intel from Nehalem on";

/// Which of AMD's, in words.
pub const OF_AMD: &str = "AMD that announces it (CPUID 0x80000021, EAX bit 13), from Zen 4 on";

/// Models of family 6 whose cores are Atoms, or that have no such register.
const NOT_CORE: &[u32] = &[
    0x1c, 0x1d, 0x26, 0x27, 0x35, 0x36, 0x37, 0x4a, 0x4c, 0x4d, 0x57, 0x5a, 0x5c, 0x5d, 0x5f, 0x65,
    0x6e, 0x75, 0x7a, 0x85, 0x86, 0x8a, 0x96, 0x9c, 0xaf, 0xb6, 0xbe, 0xdd,
];

/// Whether an Intel CPU of that family and model, whose cores are all of one type, has MSR 1A4H.
///
/// # Source
/// Intel SDM volume 4, MSR_MISC_FEATURE_CONTROL (1A4H) of the Core families.
pub fn has_misc_feature_control(family: u32, model: u32) -> bool {
    family == 6 && model >= 0x1a && !NOT_CORE.contains(&model)
}
