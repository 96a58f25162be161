//! Which registers are captured: nothing that is not in this table is read. The numbers by which a
//! CPU can be told from its like (PPIN) are not in it.

/// In ascending order. Where Intel's and AMD's names differ for one number, Intel's is here.
///
/// # Source
/// Intel SDM volume 4; AMD's processor programming references; the kernel's
/// arch/x86/include/asm/msr-index.h.
#[rustfmt::skip]
pub(crate) const TABLE: &[(u32, &str)] = &[
    (0x17, "IA32_PLATFORM_ID"),
    (0x35, "CORE_THREAD_COUNT"),
    (0x3a, "IA32_FEATURE_CONTROL"),
    (0x54, "IA32_PM_LOGICAL_ID"),
    (0x8b, "IA32_BIOS_SIGN_ID"),
    (0xcd, "FSB_FREQ"),
    (0xce, "PLATFORM_INFO"),
    (0xcf, "IA32_CORE_CAPABILITIES"),
    (0xe2, "PKG_CST_CONFIG_CONTROL"),
    (0xe7, "IA32_MPERF"),
    (0xe8, "IA32_APERF"),
    (0x10a, "IA32_ARCH_CAPABILITIES"),
    (0x122, "IA32_TSX_CTRL"),
    (0x123, "IA32_MCU_OPT_CTRL"),
    (0x140, "MISC_FEATURE_ENABLES"),
    (0x194, "FLEX_RATIO"),
    (0x198, "IA32_PERF_STATUS"),
    (0x199, "IA32_PERF_CTL"),
    (0x19a, "IA32_CLOCK_MODULATION"),
    (0x19c, "IA32_THERM_STATUS"),
    (0x1a0, "IA32_MISC_ENABLE"),
    (0x1a2, "TEMPERATURE_TARGET"),
    (0x1a4, "MISC_FEATURE_CONTROL"),
    (0x1a6, "OFFCORE_RSP_0"),
    (0x1aa, "MISC_PWR_MGMT"),
    (0x1ac, "TURBO_POWER_CURRENT_LIMIT"),
    (0x1ad, "TURBO_RATIO_LIMIT"),
    (0x1ae, "TURBO_RATIO_LIMIT1"),
    (0x1af, "TURBO_RATIO_LIMIT2"),
    (0x1b0, "IA32_ENERGY_PERF_BIAS"),
    (0x1b1, "IA32_PACKAGE_THERM_STATUS"),
    (0x1fc, "POWER_CTL"),
    (0x345, "IA32_PERF_CAPABILITIES"),
    (0x38d, "IA32_FIXED_CTR_CTRL"),
    (0x38f, "IA32_PERF_GLOBAL_CTRL"),
    (0x601, "VR_CURRENT_CONFIG"),
    (0x606, "RAPL_POWER_UNIT"),
    (0x60d, "PKG_C2_RESIDENCY"),
    (0x610, "PKG_POWER_LIMIT"),
    (0x611, "PKG_ENERGY_STATUS"),
    (0x614, "PKG_POWER_INFO"),
    (0x619, "DRAM_ENERGY_STATUS"),
    (0x61c, "DRAM_POWER_INFO"),
    (0x620, "UNCORE_RATIO_LIMIT"),
    (0x621, "UNCORE_PERF_STATUS"),
    (0x639, "PP0_ENERGY_STATUS"),
    (0x648, "CONFIG_TDP_NOMINAL"),
    (0x649, "CONFIG_TDP_LEVEL1"),
    (0x64a, "CONFIG_TDP_LEVEL2"),
    (0x64b, "CONFIG_TDP_CONTROL"),
    (0x64c, "TURBO_ACTIVATION_RATIO"),
    (0x64f, "CORE_PERF_LIMIT_REASONS"),
    (0x650, "SECONDARY_TURBO_RATIO_LIMIT"),
    (0x651, "SECONDARY_TURBO_RATIO_LIMIT_CORES"),
    (0x690, "CORE_PERF_LIMIT_REASONS, client"),
    (0x6b0, "GRAPHICS_PERF_LIMIT_REASONS"),
    (0x6b1, "RING_PERF_LIMIT_REASONS"),
    (0x770, "IA32_PM_ENABLE"),
    (0x771, "IA32_HWP_CAPABILITIES"),
    (0x772, "IA32_HWP_REQUEST_PKG"),
    (0x773, "IA32_HWP_INTERRUPT"),
    (0x774, "IA32_HWP_REQUEST"),
    (0x777, "IA32_HWP_STATUS"),
    (0xda0, "IA32_XSS"),
    (0xc000_0080, "EFER"),
    (0xc000_00e7, "MPERF, read only"),
    (0xc000_00e8, "APERF, read only"),
    (0xc000_0104, "TSC ratio"),
    (0xc000_0108, "PREFETCH_CONTROL"),
    (0xc001_0015, "HWCR"),
    (0xc001_0061, "P-state current limit"),
    (0xc001_0062, "P-state control"),
    (0xc001_0063, "P-state status"),
    (0xc001_0064, "P-state 0"),
    (0xc001_0065, "P-state 1"),
    (0xc001_0066, "P-state 2"),
    (0xc001_0067, "P-state 3"),
    (0xc001_0068, "P-state 4"),
    (0xc001_0069, "P-state 5"),
    (0xc001_006a, "P-state 6"),
    (0xc001_006b, "P-state 7"),
    (0xc001_0292, "P-state hardware status"),
    (0xc001_0293, "P-state hardware status of the core"),
    (0xc001_0296, "C-state policy"),
    (0xc001_0299, "RAPL_PWR_UNIT"),
    (0xc001_029a, "CORE_ENERGY_STAT"),
    (0xc001_029b, "PKG_ENERGY_STAT"),
    (0xc001_02b0, "CPPC_CAPABILITY_1"),
    (0xc001_02b1, "CPPC_ENABLE"),
    (0xc001_02b2, "CPPC_CAPABILITY_2"),
    (0xc001_02b3, "CPPC_REQUEST"),
    (0xc001_02b4, "CPPC_STATUS"),
];

#[cfg(test)]
mod tests {
    use super::TABLE;

    /// A fact that replays needs what it was read from.
    #[test]
    fn registers_that_facts_are_read_from_are_captured() {
        let facts = [0x54, 0xce, 0x1ad, 0x1ae, 0x1af, 0x1b0, 0x620, 0x650, 0x651, 0x770, 0x771];
        for register in facts.into_iter().chain([0xc001_0064, 0xc001_02b0]) {
            assert!(TABLE.iter().any(|(number, _)| *number == register), "{register:#x}");
        }
    }

    #[test]
    fn numbers_ascend_and_none_is_a_serial_number() {
        assert!(TABLE.windows(2).all(|pair| pair[0].0 < pair[1].0));
        // PPIN_CTL and PPIN of Intel, of AMD.
        for serial in [0x4e, 0x4f, 0xc001_02f0, 0xc001_02f1] {
            assert!(TABLE.iter().all(|(number, _)| *number != serial));
        }
    }
}
