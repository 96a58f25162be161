//! Numbers that stand for words.

use std::fmt;

/// How a memory array finds errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ErrorCorrection(pub u8);

/// # Source
/// DSP0134 7.17.3.
const ERROR_CORRECTIONS: &[(u8, &str)] =
    &[(3, "none"), (4, "parity"), (5, "single-bit ECC"), (6, "multi-bit ECC"), (7, "CRC")];

/// What holds a memory device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormFactor(pub u8);

/// # Source
/// DSP0134 7.18.1.
const FORM_FACTORS: &[(u8, &str)] = &[
    (0x03, "SIMM"),
    (0x05, "chip"),
    (0x08, "proprietary card"),
    (0x09, "DIMM"),
    (0x0b, "row of chips"),
    (0x0c, "RIMM"),
    (0x0d, "SODIMM"),
    (0x0f, "FB-DIMM"),
    (0x10, "die"),
    (0x11, "CAMM"),
];

/// What a memory device is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MemoryType(pub u8);

/// # Source
/// DSP0134 7.18.2.
const MEMORY_TYPES: &[(u8, &str)] = &[
    (0x03, "DRAM"),
    (0x07, "RAM"),
    (0x0f, "SDRAM"),
    (0x12, "DDR"),
    (0x13, "DDR2"),
    (0x14, "DDR2 FB-DIMM"),
    (0x18, "DDR3"),
    (0x1a, "DDR4"),
    (0x1b, "LPDDR"),
    (0x1c, "LPDDR2"),
    (0x1d, "LPDDR3"),
    (0x1e, "LPDDR4"),
    (NON_VOLATILE, "persistent memory"),
    (0x20, "HBM"),
    (0x21, "HBM2"),
    (0x22, "DDR5"),
    (0x23, "LPDDR5"),
    (0x24, "HBM3"),
];

const NON_VOLATILE: u8 = 0x1f;

fn name(table: &[(u8, &'static str)], code: u8) -> Option<&'static str> {
    table.iter().find(|(known, _)| *known == code).map(|(_, name)| *name)
}

impl ErrorCorrection {
    /// Its name; `None`: firmware does not know it, or this version does not.
    pub fn name(self) -> Option<&'static str> {
        name(ERROR_CORRECTIONS, self.0)
    }
}

impl FormFactor {
    /// Its name; `None` as above.
    pub fn name(self) -> Option<&'static str> {
        name(FORM_FACTORS, self.0)
    }

    /// Whether it is part of the board or of the CPU's package: nobody can put in another one.
    pub fn is_soldered(self) -> bool {
        matches!(self.0, 0x05 | 0x0b | 0x10)
    }
}

impl MemoryType {
    /// That of an empty slot.
    pub const UNKNOWN: MemoryType = MemoryType(0x02);
    /// The type that QEMU gives what it lends a guest, and no DIMM is of.
    pub const RAM: MemoryType = MemoryType(0x07);

    /// Its name; `None` as above.
    pub fn name(self) -> Option<&'static str> {
        name(MEMORY_TYPES, self.0)
    }

    /// Whether it keeps what it holds without power: it takes a slot, and is no memory of programs by itself.
    pub fn is_persistent(self) -> bool {
        self.0 == NON_VOLATILE
    }

    /// The type of that name.
    pub fn named(called: &str) -> Option<MemoryType> {
        MEMORY_TYPES.iter().find(|(_, name)| *name == called).map(|(code, _)| MemoryType(*code))
    }
}

impl fmt::Display for MemoryType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "memory of type {:#04x}", self.0),
        }
    }
}
