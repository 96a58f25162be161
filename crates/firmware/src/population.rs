//! What the slots hold, in the words and numbers of facts.

use std::collections::BTreeMap;

use model::Unit;
use model::page::{si, tally};

use crate::channels::Channel;
use crate::codes::MemoryType;
use crate::devices::{Device, MemoryTable, Size};

/// The slots of a machine's memory.
#[derive(Debug, Clone)]
pub struct Population<'a> {
    devices: Vec<&'a Device>,
}

/// What devices have in common that stand together in a list: size, type, what they run at and are made for.
type Kind = (Size, MemoryType, Option<u64>, Option<u64>);

impl<'a> Population<'a> {
    /// Of a table; `None`: it lists no device.
    pub fn of(table: &'a MemoryTable) -> Option<Population<'a>> {
        let devices: Vec<&Device> = table.of_system().collect();
        (!devices.is_empty()).then_some(Population { devices })
    }

    /// All slots, and what is soldered.
    pub fn devices(&self) -> &[&'a Device] {
        &self.devices
    }

    fn filled(&self) -> impl Iterator<Item = &'a Device> {
        self.devices.iter().copied().filter(|device| device.size != Size::Empty)
    }

    /// The devices that programs' memory is in.
    fn volatile(&self) -> impl Iterator<Item = &'a Device> {
        self.filled().filter(|device| !device.kind.is_persistent())
    }

    /// Whether it is what hypervisors say of the memory that they lend, and no slot: memory without a type and a speed.
    pub fn is_invented(&self) -> bool {
        self.filled().all(|device| device.kind == MemoryType::RAM && device.configured.is_none())
    }

    /// How many slots hold nothing.
    pub fn empty_slots(&self) -> usize {
        self.devices.len() - self.filled().count()
    }

    /// What all hold together, in bytes, without persistent memory; `None`: of one of them it is not known.
    pub fn bytes(&self) -> Option<u64> {
        let bytes = |device: &Device| match device.size {
            Size::Bytes(bytes) => Some(bytes),
            Size::Empty | Size::Unknown => None,
        };
        self.volatile().map(bytes).try_fold(0_u64, |sum, bytes| sum.checked_add(bytes?))
    }

    /// The least that a device runs at, in transfers a second.
    pub fn configured(&self) -> Option<u64> {
        self.volatile().filter_map(|device| device.configured).min()
    }

    /// The least that a device is made for, in transfers a second.
    pub fn rated(&self) -> Option<u64> {
        self.volatile().filter_map(|device| device.rated).min()
    }

    /// `16 of 16 slots: 16 x 32 GiB DDR5 at 4800 MT/s, rated 5600`.
    pub fn text(&self) -> String {
        let filled = self.filled().count();
        let are_soldered =
            filled > 0 && self.filled().all(|device| device.form_factor.is_soldered());
        let slots = if are_soldered {
            format!("{filled} soldered")
        } else {
            format!("{filled} of {}", tally(self.devices.len(), "slot"))
        };
        let mut kinds: BTreeMap<Kind, usize> = BTreeMap::new();
        for device in self.filled() {
            let kind = (device.size, device.kind, device.configured, device.rated);
            *kinds.entry(kind).or_default() += 1;
        }
        let mut kinds: Vec<(Kind, usize)> = kinds.into_iter().collect();
        kinds.sort_by_key(|(kind, count)| (std::cmp::Reverse(*count), *kind));
        let kinds: Vec<String> =
            kinds.iter().map(|(kind, count)| kind_text(kind, *count)).collect();
        if kinds.is_empty() { slots } else { format!("{slots}: {}", kinds.join("; ")) }
    }
}

/// Kits are called by rounded rates: 2933 and 2934 are the same.
pub(crate) fn is_below(configured: u64, rated: u64) -> bool {
    const SAME: f64 = 0.01;
    (configured as f64) < rated as f64 * (1.0 - SAME)
}

const MEGA: u64 = 1_000_000;

fn kind_text((size, kind, configured, rated): &Kind, count: usize) -> String {
    let size = match size {
        Size::Bytes(bytes) => si::format(*bytes as f64, Unit::Byte),
        Size::Empty | Size::Unknown => "unknown size".to_owned(),
    };
    let at = configured.map_or(String::new(), |rate| format!(" at {} MT/s", rate / MEGA));
    let rated = match (*configured, *rated) {
        (Some(configured), Some(rated)) if is_below(configured, rated) => {
            format!(", rated {}", rated / MEGA)
        }
        (None, Some(rated)) => format!(", rated {} MT/s", rated / MEGA),
        _ => String::new(),
    };
    format!("{count} x {size} {kind}{at}{rated}")
}

impl Channel<'_> {
    /// How many of its slots hold memory of programs.
    pub fn filled(&self) -> usize {
        self.volatile().count()
    }

    fn volatile(&self) -> impl Iterator<Item = &Device> {
        let is_volatile =
            |device: &&Device| device.size != Size::Empty && !device.kind.is_persistent();
        self.devices.iter().copied().filter(is_volatile)
    }

    /// What it moves at once, in bits of data; `None`: it is empty, or firmware does not say it.
    pub fn width_bits(&self) -> Option<u16> {
        self.volatile().filter_map(|device| device.data_width_bits).max()
    }

    /// What it runs at, in transfers a second: as its slowest device.
    pub fn configured(&self) -> Option<u64> {
        let all: Option<Vec<u64>> = self.volatile().map(|device| device.configured).collect();
        all?.into_iter().min()
    }

    /// What its devices are made for, in transfers a second: the slowest of them.
    pub fn rated(&self) -> Option<u64> {
        let all: Option<Vec<u64>> = self.volatile().map(|device| device.rated).collect();
        all?.into_iter().min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes::FormFactor;
    use crate::testing::{GIBI, devices};

    fn text(change: impl Fn(usize, &mut Device)) -> String {
        let mut table = MemoryTable { devices: devices(&[("a", ""); 4]), ..MemoryTable::default() };
        for (index, device) in table.devices.iter_mut().enumerate() {
            change(index, device);
        }
        Population::of(&table).unwrap().text()
    }

    #[test]
    fn what_differs_is_listed_the_most_first() {
        assert_eq!(text(|_, _| {}), "4 of 4 slots: 4 x 32 GiB DDR5 at 4800 MT/s, rated 5600");
        let one_empty = text(|index, device| {
            if index == 0 {
                device.size = Size::Empty;
            }
        });
        assert_eq!(one_empty, "3 of 4 slots: 3 x 32 GiB DDR5 at 4800 MT/s, rated 5600");
        let mixed = text(|index, device| {
            device.rated = device.configured;
            if index == 0 {
                device.size = Size::Bytes(16 * GIBI);
            }
        });
        assert_eq!(
            mixed,
            "4 of 4 slots: 3 x 32 GiB DDR5 at 4800 MT/s; 1 x 16 GiB DDR5 at 4800 MT/s"
        );
        let soldered = text(|_, device| {
            device.form_factor = FormFactor(0x0b);
            (device.kind, device.configured, device.rated) = (MemoryType(0x23), None, None);
        });
        assert_eq!(soldered, "4 soldered: 4 x 32 GiB LPDDR5");
        let none = text(|_, device| device.size = Size::Empty);
        assert_eq!(none, "0 of 4 slots");
    }

    #[test]
    fn persistent_memory_fills_a_slot_and_is_no_memory_of_programs() {
        let mut table = MemoryTable { devices: devices(&[("a", ""); 2]), ..MemoryTable::default() };
        table.devices[1].kind = MemoryType(0x1f);
        table.devices[1].configured = Some(2_666_000_000);
        let population = Population::of(&table).unwrap();
        assert_eq!((population.empty_slots(), population.bytes()), (0, Some(32 * GIBI)));
        assert_eq!(population.configured(), Some(4_800_000_000));
        assert!(Population::of(&MemoryTable::default()).is_none());
    }

    #[test]
    fn rates_that_are_only_rounded_are_the_same() {
        assert!(!is_below(2_933_000_000, 2_934_000_000));
        assert!(is_below(4_800_000_000, 5_600_000_000));
    }
}
