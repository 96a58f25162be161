//! What the ioctls of the driver carry. A structure is question and answer in one.
//!
//! # Source
//! Linux, include/uapi/linux/isst_if.h. Its words are kept where ours would hide which field is meant;
//! `socket` is a package, `clos` a class.

use super::layout::layouts;

/// Levels of instruction licences that have turbo limits of their own.
pub const LICENCES: usize = 6;
/// Groups of active cores that have turbo limits of their own.
pub const BUCKETS: usize = 8;

layouts! {
    /// What the driver is.
    PlatformInfo[8] {
        /// Version of the interface; 0: no part of the driver has found its hardware.
        api_version: u16 = 0,
        /// Version of the driver.
        driver_version: u16 = 2,
        /// How many commands it takes at once.
        commands_max: u16 = 4,
        /// 1: it has a mailbox.
        mailbox: u8 = 6,
        /// 1: it has registers in memory.
        mmio: u8 = 7,
    }

    /// A CPU and its number within the hardware.
    CpuMap[8] {
        /// The kernel's number.
        logical: u32 = 0,
        /// The lower half of register 53h or 54h.
        physical: u32 = 4,
    }

    /// A register in memory, read or written.
    MmioCommand[16] {
        /// 1: it is written.
        write: u32 = 0,
        /// A CPU of the package.
        cpu: u32 = 4,
        /// Its place.
        register: u32 = 8,
        /// What it holds.
        value: u32 = 12,
    }

    /// A command for the mailbox.
    MailboxCommand[24] {
        /// A CPU of the package.
        cpu: u32 = 0,
        /// Its parameter.
        parameter: u32 = 4,
        /// What is handed over.
        request: u32 = 8,
        /// What comes back.
        response: u32 = 12,
        /// The group of commands.
        command: u16 = 16,
        /// The command within it.
        sub_command: u16 = 18,
    }

    /// A model-specific register, read or written.
    MsrCommand[24] {
        /// 1: it is written.
        write: u32 = 0,
        /// Whose it is.
        cpu: u32 = 4,
        /// Its number.
        msr: u64 = 8,
        /// What it holds.
        data: u64 = 16,
    }

    /// The power domains of a package.
    InstanceCount[4] {
        /// The package.
        socket: u8 = 0,
        /// How many places for domains it has.
        count: u8 = 1,
        /// Which of them are there.
        valid: u16 = 2,
    }

    /// Whether cores have priorities.
    CorePowerState[6] {
        /// 1: it is set.
        set: u8 = 0,
        /// The package.
        socket: u8 = 1,
        /// The power domain.
        domain: u8 = 2,
        /// 1: they have.
        enable: u8 = 3,
        /// 1: they can have.
        supported: u8 = 4,
        /// 0: in proportion to weights; 1: in the order of classes.
        priority_type: u8 = 5,
    }

    /// A class of service.
    ClosParam[10] {
        /// 1: it is set.
        set: u8 = 0,
        /// The package.
        socket: u8 = 1,
        /// The power domain.
        domain: u8 = 2,
        /// The class.
        clos: u8 = 3,
        /// The lowest frequency, in MHz.
        min_mhz: u16 = 4,
        /// The highest one, in MHz; 25500: no limit.
        max_mhz: u16 = 6,
        /// The weight.
        weight: u8 = 8,
    }

    /// What stands before several of the next.
    ClosAssocHeader[6] {
        /// How many follow.
        count: u16 = 0,
        /// 1: they are set.
        set: u16 = 2,
        /// 1: cores have the numbers of the hardware.
        punit_cpu_map: u16 = 4,
    }

    /// The class of a core.
    ClosAssoc[6] {
        /// The package.
        socket: u8 = 0,
        /// The power domain.
        domain: u8 = 1,
        /// The core, or module, within it.
        core: u16 = 2,
        /// Its class.
        clos: u16 = 4,
    }

    /// The performance levels of a power domain.
    PerfLevels[11] {
        /// The package.
        socket: u8 = 0,
        /// The power domain.
        domain: u8 = 1,
        /// The highest level.
        max_level: u8 = 2,
        /// Revision of the feature.
        feature_rev: u8 = 3,
        /// Which levels there are.
        level_mask: u8 = 4,
        /// The level at present.
        current_level: u8 = 5,
        /// What is on at present: bit 0 base frequencies, bit 1 turbo frequencies.
        feature_state: u8 = 6,
        /// 1: the level stays until the next reset.
        locked: u8 = 7,
        /// 1: there are levels.
        enabled: u8 = 8,
        /// Levels that have turbo frequencies; before interface 3, 1: all have.
        turbo_freq_support: u8 = 9,
        /// The same for base frequencies.
        base_freq_support: u8 = 10,
    }

    /// Another level.
    PerfSetLevel[3] {
        /// The package.
        socket: u8 = 0,
        /// The power domain.
        domain: u8 = 1,
        /// The level.
        level: u8 = 2,
    }

    /// What shall be on at the present level.
    PerfSetFeature[3] {
        /// The package.
        socket: u8 = 0,
        /// The power domain.
        domain: u8 = 1,
        /// Bit 0 base frequencies, bit 1 turbo frequencies.
        feature: u8 = 2,
    }

    /// A level. Frequencies in MHz; 0: not given.
    PerfLevelInfo[154] {
        /// The package.
        socket: u8 = 0,
        /// The power domain.
        domain: u8 = 1,
        /// The level.
        level: u16 = 2,
        /// Base frequency in units of 100 MHz.
        tdp_ratio: u16 = 4,
        /// Base frequency.
        base_mhz: u16 = 6,
        /// The same under AVX2.
        base_avx2_mhz: u16 = 8,
        /// The same under AVX-512.
        base_avx512_mhz: u16 = 10,
        /// The same under AMX.
        base_amx_mhz: u16 = 12,
        /// Thermal design power.
        tdp_watts: u16 = 14,
        /// The highest temperature.
        tjunction_max_c: u16 = 16,
        /// The highest rate of memory.
        memory_mhz: u16 = 18,
        /// How it is cooled.
        cooling: u16 = 20,
        /// The highest frequency of a core.
        p0_mhz: u16 = 22,
        /// The one that is guaranteed.
        p1_mhz: u16 = 24,
        /// The most efficient one.
        pn_mhz: u16 = 26,
        /// The lowest one.
        pm_mhz: u16 = 28,
        /// The highest frequency of the fabric.
        fabric_p0_mhz: u16 = 30,
        /// The one that is guaranteed.
        fabric_p1_mhz: u16 = 32,
        /// The most efficient one, which no driver tells.
        fabric_pn_mhz: u16 = 34,
        /// The lowest one.
        fabric_pm_mhz: u16 = 36,
        /// How many groups of active cores there may be.
        max_buckets: u16 = 38,
        /// How many licences there may be.
        max_trl_levels: u16 = 40,
        /// Up to how many active cores a group goes.
        bucket_cores: [u16; BUCKETS] = 42,
        /// Turbo limits, by licence and group.
        trl_mhz: [[u16; BUCKETS]; LICENCES] = 58,
    }

    /// Which cores a level, or its base frequencies, allow.
    CpuMask[24] {
        /// The package.
        socket: u8 = 0,
        /// The power domain.
        domain: u8 = 1,
        /// The level.
        level: u8 = 2,
        /// 1: cores have the numbers of the hardware.
        punit_cpu_map: u8 = 3,
        /// A bit for each core, or module.
        mask: u64 = 8,
    }

    /// Base frequencies of two kinds of cores.
    BaseFreqInfo[12] {
        /// The package.
        socket: u8 = 0,
        /// The power domain.
        domain: u8 = 1,
        /// The level.
        level: u16 = 2,
        /// Base frequency of the chosen ones, in MHz.
        high_mhz: u16 = 4,
        /// Of the others.
        low_mhz: u16 = 6,
        /// The highest temperature.
        tjunction_max_c: u16 = 8,
        /// Thermal design power.
        tdp_watts: u16 = 10,
    }

    /// Turbo frequencies of two kinds of cores.
    TurboFreqInfo[134] {
        /// The package.
        socket: u8 = 0,
        /// The power domain.
        domain: u8 = 1,
        /// The level.
        level: u16 = 2,
        /// How many licences have a limit for the others.
        max_clips: u16 = 4,
        /// How many groups there may be.
        max_buckets: u16 = 6,
        /// How many licences there may be.
        max_trl_levels: u16 = 8,
        /// The limit of the others, by licence, in MHz.
        clip_mhz: [u16; LICENCES] = 10,
        /// Up to how many chosen cores a group goes; 0 ends the list.
        bucket_cores: [u16; BUCKETS] = 22,
        /// Limits of the chosen ones, by licence and group, in MHz.
        trl_mhz: [[u16; BUCKETS]; LICENCES] = 38,
    }

    /// Frequencies of the fabrics of a level, in MHz.
    FabricInfo[54] {
        /// The package.
        socket: u8 = 0,
        /// The power domain.
        domain: u8 = 1,
        /// The level.
        level: u16 = 2,
        /// How many there are.
        max_fabrics: u16 = 4,
        /// The highest ones.
        p0_mhz: [u16; BUCKETS] = 6,
        /// Those that are guaranteed.
        p1_mhz: [u16; BUCKETS] = 22,
        /// The lowest ones.
        pm_mhz: [u16; BUCKETS] = 38,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isst::layout::Layout;

    #[test]
    fn structures_are_as_long_as_the_kernels() {
        let singles = [
            (0, PlatformInfo::BYTES),
            (5, InstanceCount::BYTES),
            (6, CorePowerState::BYTES),
            (7, ClosParam::BYTES),
            (8, ClosAssocHeader::BYTES),
            (9, PerfLevels::BYTES),
            (10, PerfSetLevel::BYTES),
            (11, PerfSetFeature::BYTES),
            (12, PerfLevelInfo::BYTES),
            (13, CpuMask::BYTES),
            (14, BaseFreqInfo::BYTES),
            (15, CpuMask::BYTES),
            (16, TurboFreqInfo::BYTES),
            (17, FabricInfo::BYTES),
        ];
        for (number, bytes) in singles {
            assert_eq!(super::super::REQUESTS[number].header_bytes, bytes, "{number}");
        }
        let entries = [
            (1, CpuMap::BYTES),
            (2, MmioCommand::BYTES),
            (3, MailboxCommand::BYTES),
            (4, MsrCommand::BYTES),
            (8, ClosAssoc::BYTES),
        ];
        for (number, bytes) in entries {
            assert_eq!(super::super::REQUESTS[number].entry_bytes, bytes, "{number}");
        }
    }

    #[test]
    fn fields_come_back_from_their_places() {
        let mut bytes = [0xaa; 154];
        let mut info =
            PerfLevelInfo { socket: 1, level: 3, fabric_pm_mhz: 800, ..Default::default() };
        info.trl_mhz[5][7] = 4000;
        info.bucket_cores[0] = 0x0102;
        info.to_bytes(&mut bytes);
        assert_eq!((bytes[0], bytes[2], bytes[36]), (1, 3, 0x20));
        assert_eq!((bytes[42], bytes[43], bytes[152], bytes[153]), (2, 1, 0xa0, 0x0f));
        assert_eq!(PerfLevelInfo::from_bytes(&bytes), info);
    }
}
