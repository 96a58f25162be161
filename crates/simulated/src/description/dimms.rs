//! What is in the slots of memory.

use firmware::{Array, Device, ErrorCorrection, FormFactor, MemoryTable, MemoryType, Size};
use serde::Deserialize;

use super::check::positive;
use super::{Layout, Model};

/// The slots of memory: one DIMM to a channel.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dimms {
    /// Channels of each package.
    pub channels: u32,
    /// What each DIMM holds, in bytes.
    pub bytes: u64,
    /// What they are made of: `DDR5`.
    pub kind: String,
    /// What they run at, in transfers a second.
    pub transfers_per_second: f64,
    /// What they are made for, in transfers a second.
    pub rated_per_second: f64,
    /// The slots that hold nothing, by their names.
    #[serde(default)]
    pub empty: Vec<String>,
}

/// A slot: its package and channel, its name, and whether it is filled.
pub(crate) struct Slot {
    pub(crate) package: u32,
    pub(crate) channel: u32,
    pub(crate) name: String,
    pub(crate) is_filled: bool,
}

impl Dimms {
    /// Letters are enough for them, and names are those of slots.
    pub(crate) fn are_sound(&self, layout: &Layout) -> bool {
        let rates = [self.transfers_per_second, self.rated_per_second];
        let slots = self.slots(layout);
        (1..=26).contains(&self.channels)
            && self.bytes > 0
            && rates.into_iter().all(positive)
            && MemoryType::named(&self.kind).is_some()
            && self.empty.iter().all(|empty| slots.iter().any(|slot| slot.name == *empty))
    }

    /// In the order of their channels.
    pub(crate) fn slots(&self, layout: &Layout) -> Vec<Slot> {
        let slot = |package: u32, channel: u32| {
            let letter = char::from(b'A' + (channel % 26) as u8);
            let name = format!("CPU{}_DIMM_{letter}1", package + 1);
            let is_filled = !self.empty.contains(&name);
            Slot { package, channel, name, is_filled }
        };
        let of_package = |package| (0..self.channels).map(move |channel| slot(package, channel));
        (0..layout.packages).flat_map(of_package).collect()
    }

    fn device(&self, slot: &Slot) -> Device {
        let filled = |value: u64| slot.is_filled.then_some(value);
        let bits = |bits: u16| slot.is_filled.then_some(bits);
        Device {
            handle: 0x1100 + (slot.package << 5 | slot.channel) as u16,
            array: ARRAY + slot.package as u16,
            total_width_bits: bits(if self.kind == "DDR5" { 80 } else { 72 }),
            data_width_bits: bits(64),
            size: if slot.is_filled { Size::Bytes(self.bytes) } else { Size::Empty },
            form_factor: FormFactor(0x09),
            locator: slot.name.clone(),
            bank: format!("NODE {}", slot.package + 1),
            kind: MemoryType::named(&self.kind)
                .filter(|_| slot.is_filled)
                .unwrap_or(MemoryType::UNKNOWN),
            rated: filled(self.rated_per_second as u64),
            configured: filled(self.transfers_per_second as u64),
            ranks: slot.is_filled.then_some(2),
        }
    }
}

const ARRAY: u16 = 0x1000;

/// The board, and what the machine's memory is for: DSP0134 7.17.1 and 7.17.2.
fn array(handle: u16, correction: ErrorCorrection, devices: u32) -> Array {
    Array { handle, location: 3, usage: 3, correction, devices: devices as u16 }
}

impl Model {
    /// The tables of its firmware, as far as they are of memory; none: it has none. A guest's say what QEMU says.
    pub(crate) fn memory_table(&self) -> Option<Vec<u8>> {
        if self.identity.hypervisor.is_some() {
            return Some(self.lent().to_bytes());
        }
        let dimms = self.dimms.as_ref()?;
        let of = |package| array(ARRAY + package as u16, ErrorCorrection(6), dimms.channels);
        let slots = dimms.slots(&self.topology);
        let table = MemoryTable {
            arrays: (0..self.topology.packages).map(of).collect(),
            devices: slots.iter().map(|slot| dimms.device(slot)).collect(),
        };
        Some(table.to_bytes())
    }

    /// One slot with all of it, of no speed.
    fn lent(&self) -> MemoryTable {
        let device = Device {
            handle: 0x1100,
            array: ARRAY,
            total_width_bits: None,
            data_width_bits: None,
            size: Size::Bytes(self.caches.memory_bytes),
            form_factor: FormFactor(0x09),
            locator: "DIMM 0".to_owned(),
            bank: String::new(),
            kind: MemoryType::RAM,
            rated: None,
            configured: None,
            ranks: None,
        };
        MemoryTable { arrays: vec![array(ARRAY, ErrorCorrection(6), 1)], devices: vec![device] }
    }

    /// What a node gives to all cores together, in bytes a second, by the channels of its package that are filled; none:
    /// nothing can be moved here.
    pub fn node_bandwidth(&self, node: u32) -> Option<f64> {
        let whole = self.memory.as_ref()?.node_bandwidth;
        let package = node / self.topology.nodes_per_package;
        let Some(dimms) = &self.dimms else { return Some(whole) };
        let slots = dimms.slots(&self.topology);
        let filled = slots.iter().filter(|slot| slot.package == package && slot.is_filled).count();
        let has_slots = package < self.topology.packages;
        Some(if has_slots { whole * filled as f64 / f64::from(dimms.channels) } else { whole })
    }
}
