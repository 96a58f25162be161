//! Registers in which hardware says why it lowers the clock: a bit that is set while that is so, and a
//! log beside it that stays.

use model::microarchitecture::{Reasons as ReasonsLayout, Signature, clock_of_intel};
use model::record::BOOST;

/// A reason, and its bits in a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bit {
    /// The same word for one reason wherever it is read.
    pub(super) id: &'static str,
    pub(super) label: &'static str,
    /// Set while it lowers the clock.
    pub(super) active: u32,
    /// Set since it did; none: there is no log.
    pub(super) log: Option<u32>,
}

/// Whose register it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    Core,
    Package,
}

/// A register of reasons.
#[derive(Debug)]
pub(super) struct Register {
    pub(super) address: u32,
    pub(super) whose: Whose,
    /// In groups, which registers share.
    groups: &'static [&'static [Bit]],
}

impl Register {
    /// All of its reasons.
    pub(super) fn bits(&self) -> impl Iterator<Item = &'static Bit> {
        self.groups.iter().copied().flatten()
    }
}

const fn pair(id: &'static str, label: &'static str, active: u32, log: u32) -> Bit {
    Bit { id, label, active, log: Some(log) }
}

/// Log bits that are 16 above.
const fn above(id: &'static str, label: &'static str, active: u32) -> Bit {
    pair(id, label, active, active + 16)
}

const PROCHOT: (&str, &str) = ("prochot", "PROCHOT (external, or hot)");
const THERMAL: (&str, &str) = ("thermal", "temperature");
const CURRENT: (&str, &str) = ("current", "current (electrical design point)");
const TURBO: (&str, &str) = ("turbo-limit", "turbo limit of the active cores");
const AUTONOMOUS: Bit = above("autonomous", "control by utilisation", 5);

/// What the status of a core and that of a package have both.
const STATUS: &[Bit] = &[
    pair(THERMAL.0, THERMAL.1, 0, 1),
    pair(PROCHOT.0, PROCHOT.1, 2, 3),
    pair("critical-temperature", "critical temperature", 4, 5),
    pair("power", "power limit", 10, 11),
];

/// # Source
/// Intel SDM volume 3B, "Thermal status register" `IA32_THERM_STATUS`. The thresholds of bits 6 to 9 belong to
/// software and lower nothing.
const CORE_STATUS: Register = Register {
    address: 0x19c,
    whose: Whose::Core,
    groups: &[
        STATUS,
        &[
            pair(CURRENT.0, CURRENT.1, 12, 13),
            pair("cross-domain", "limit of another domain", 14, 15),
        ],
    ],
};

/// # Source
/// Intel SDM volume 3B, `IA32_PACKAGE_THERM_STATUS`.
const PACKAGE_STATUS: Register =
    Register { address: 0x1b1, whose: Whose::Package, groups: &[STATUS] };

/// What all registers of reasons have.
const ALL: &[Bit] = &[
    above(PROCHOT.0, PROCHOT.1, 0),
    above(THERMAL.0, THERMAL.1, 1),
    above("vr-thermal", "voltage regulator is hot", 6),
];

/// What bit 8 is to Haswell and Broadwell; their successors count other constraints in it, too.
const DESIGN_POINT: Bit = above(CURRENT.0, CURRENT.1, 8);

/// What those of clients have.
const CLIENTS: &[Bit] = &[
    above("pl1", "PL1", 10),
    above("pl2", "PL2", 11),
    above(TURBO.0, TURBO.1, 12),
    above("attenuation", "turbo transition attenuation", 13),
];

/// # Source
/// Intel SDM volume 4, `MSR_CORE_PERF_LIMIT_REASONS` of Skylake client and its successors.
const CLIENT: Register = Register {
    address: 0x64f,
    whose: Whose::Package,
    groups: &[
        ALL,
        &[
            above("residency", "residency state regulation", 4),
            above("average-thermal", "running average thermal limit", 5),
            above("vr-current", "design current of the voltage regulator", 7),
            above("other", "other (electrical or another constraint)", 8),
        ],
        CLIENTS,
    ],
};

/// # Source
/// Intel SDM volume 4, the same register of Haswell and Broadwell client; names as turbostat decodes it.
const HASWELL: Register = Register {
    address: 0x690,
    whose: Whose::Package,
    groups: &[
        ALL,
        &[
            above("graphics", "graphics driver", 4),
            AUTONOMOUS,
            DESIGN_POINT,
            above("core-power", "core power limit", 9),
        ],
        CLIENTS,
    ],
};

/// # Source
/// Intel SDM volume 4, the same register of Haswell and Broadwell servers.
const HASWELL_SERVER: Register = Register {
    address: 0x690,
    whose: Whose::Package,
    groups: &[
        ALL,
        &[
            above("power", "power budget", 2),
            above("platform", "platform configuration", 3),
            AUTONOMOUS,
            DESIGN_POINT,
            above(TURBO.0, TURBO.1, 10),
            above("p1", "cores at P1", 13),
            above(TURBO.0, TURBO.1, 14),
            above("below-request", "below what the system asks for", 15),
        ],
    ],
};

/// A bit of a number that is no log of anything.
const fn limit(active: u32) -> Bit {
    Bit { id: "p-state-limit", label: "P-state limit", active, log: None }
}

/// # Source
/// AMD processor programming references, `Core::X86::Msr::PStateCurLim`: the highest P-state that is allowed
/// now in bits 2:0; any bit means that P0 is not. There is no log.
const AMD_LIMIT: Register = Register {
    address: 0xc001_0061,
    whose: Whose::Core,
    groups: &[&[limit(0), limit(1), limit(2)]],
};

/// The registers of an Intel CPU; models that this version does not know have the thermal status alone.
pub(super) fn of_intel(signature: Signature) -> Vec<&'static Register> {
    let clock = clock_of_intel(signature.family, signature.model);
    let reasons = clock.and_then(|clock| clock.reasons).map(|layout| match layout {
        ReasonsLayout::Client => &CLIENT,
        ReasonsLayout::Haswell => &HASWELL,
        ReasonsLayout::HaswellServer => &HASWELL_SERVER,
    });
    [&CORE_STATUS, &PACKAGE_STATUS].into_iter().chain(reasons).collect()
}

/// The registers of AMD CPUs from family 17h on.
pub(super) fn of_amd() -> Vec<&'static Register> {
    vec![&AMD_LIMIT]
}

/// A switch in a register.
#[derive(Debug)]
pub(super) struct Switch {
    pub(super) address: u32,
    pub(super) bit: u32,
    pub(super) label: &'static str,
    /// Whether a set bit switches it off.
    pub(super) inverted: bool,
}

/// # Source
/// Intel SDM volume 4, `MSR_POWER_CTL`: bits 0 and 1 of Sandy Bridge and its successors.
pub(super) const SWITCHES_OF_INTEL: &[Switch] = &[
    Switch { address: 0x1fc, bit: 0, label: "bi-directional PROCHOT", inverted: false },
    Switch { address: 0x1fc, bit: 1, label: "promotion of C1 to C1E", inverted: false },
];

/// # Source
/// AMD processor programming references, `Core::X86::Msr::HWCR`: `CpbDis` in bit 25.
pub(super) const SWITCHES_OF_AMD: &[Switch] =
    &[Switch { address: 0xc001_0015, bit: 25, label: BOOST, inverted: true }];

impl Switch {
    pub(super) fn is_on(&self, value: u64) -> bool {
        (value >> self.bit & 1 == 1) != self.inverted
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// What a register says is in force, and what it has logged.
    fn said(register: &Register, value: u64) -> [Vec<&'static str>; 2] {
        let of = |bit: fn(&Bit) -> Option<u32>| {
            let mut set: Vec<&Bit> =
                register.bits().filter(|it| bit(it).is_some_and(|n| value >> n & 1 == 1)).collect();
            set.sort_by_key(|it| it.active);
            set.into_iter().map(|bit| bit.id).collect()
        };
        [of(|bit| Some(bit.active)), of(|bit| bit.log)]
    }

    /// An i5-8500 in issue 455 of ssdtPRGen.sh; turbostat's own words for two values of the older layout.
    #[test]
    fn reasons_in_public_reports() {
        let coffee = said(&CLIENT, 0x3000_1000);
        assert_eq!(coffee, [vec!["turbo-limit"], vec!["turbo-limit", "attenuation"]]);
        assert_eq!(said(&CLIENT, 0x0100_0100), [["other"], ["other"]], "not current alone");
        let logged = ["autonomous", "current", "pl1", "pl2", "turbo-limit"];
        assert_eq!(said(&HASWELL, 0x1d20_0000), [vec![], logged.to_vec()]);
        assert_eq!(said(&HASWELL, 0x0400_0000), [vec![], vec!["pl1"]]);
    }

    /// Registers that InstLatx64 recorded: Broadwell-EP, Skylake-SP, Meteor Lake, Granite Rapids.
    #[test]
    fn recorded_registers() {
        let none: [Vec<&str>; 2] = [vec![], vec![]];
        assert_eq!(said(&CORE_STATUS, 0x884d_0800), [vec![], vec!["power"]]);
        assert_eq!(said(&CORE_STATUS, 0x883c_2800), [vec![], vec!["power", "current"]]);
        assert_eq!(said(&CORE_STATUS, 0x883d_0002), [vec![], vec!["thermal"]]);
        assert_eq!(said(&CORE_STATUS, 0x8836_0000), none);
        assert_eq!(said(&PACKAGE_STATUS, 0x8837_0802), [vec![], vec!["thermal", "power"]]);
        assert_eq!(
            said(&HASWELL_SERVER, 0xe084_0000),
            [vec![], vec!["power", "p1", "turbo-limit", "below-request"]]
        );
    }

    /// Issue 163 of throttled: cleared, the CPU went from 800 MHz to 3.1 GHz; issue 21 of CPUTune.
    #[test]
    fn whether_others_may_throttle() {
        let [switch, _] = SWITCHES_OF_INTEL else { panic!("two switches") };
        for (value, on) in [(0x2c_005d, true), (0x2c_005c, false), (0x24_005e, false)] {
            assert_eq!(switch.is_on(value), on, "{value:#x}");
        }
        let [boost] = SWITCHES_OF_AMD else { panic!("one switch") };
        assert!(boost.is_on(0x0900_0011), "EPYC 7742");
        assert!(!boost.is_on(0x0b00_0011));
    }

    /// A register whose two bits of one reason overlap would say nothing.
    #[test]
    fn every_bit_is_one_thing() {
        let tables =
            [&CORE_STATUS, &PACKAGE_STATUS, &CLIENT, &HASWELL, &HASWELL_SERVER, &AMD_LIMIT];
        for register in tables {
            let mut seen = Vec::new();
            for bit in register.bits() {
                for place in [Some(bit.active), bit.log].into_iter().flatten() {
                    assert!(place < 32 && !seen.contains(&place), "{:x} {bit:?}", register.address);
                    seen.push(place);
                }
            }
        }
    }
}
