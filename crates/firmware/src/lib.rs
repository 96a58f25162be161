//! Tables that firmware leaves in memory: bytes in, typed values out.
//!
//! SMBIOS alone, and of it what says how memory is populated. No I/O: who reads the table is elsewhere. The bytes are foreign:
//! whatever they are, reading ends, and what is not understood is left out. Serial numbers and asset tags are never taken
//! (invariant I10), so that a table which is written again from what was read names no machine.
//!
//! # Source
//! DMTF, System Management BIOS Reference Specification, DSP0134, version 3.7; sections are cited by their numbers there.

#![forbid(unsafe_code)]

mod channels;
mod codes;
mod devices;
mod population;
mod structures;
#[cfg(test)]
mod testing;

pub use self::channels::{Channel, channels};
pub use self::codes::{ErrorCorrection, FormFactor, MemoryType};
pub use self::devices::{Array, Device, MemoryTable, Size};
pub use self::population::Population;
