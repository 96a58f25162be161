//! Devices and tables of tests.

use crate::codes::{FormFactor, MemoryType};
use crate::devices::{Device, Size};

pub(crate) const GIBI: u64 = 1 << 30;

/// 32 GiB of DDR5 in a slot of these names, made for 5600 and run at 4800 million transfers a second.
pub(crate) fn device(locator: &str, bank: &str) -> Device {
    Device {
        handle: 0x1100,
        array: 0x1000,
        total_width_bits: Some(80),
        data_width_bits: Some(64),
        size: Size::Bytes(32 * GIBI),
        form_factor: FormFactor(0x09),
        locator: locator.to_owned(),
        bank: bank.to_owned(),
        kind: MemoryType(0x22),
        rated: Some(5_600_000_000),
        configured: Some(4_800_000_000),
        ranks: Some(2),
    }
}

pub(crate) fn devices(names: &[(&str, &str)]) -> Vec<Device> {
    names.iter().map(|(locator, bank)| device(locator, bank)).collect()
}
