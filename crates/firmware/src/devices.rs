//! Arrays of memory, and the devices in them.

use crate::codes::{ErrorCorrection, FormFactor, MemoryType};
use crate::structures::{Structure, append, end, structures};

/// What a table says of memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryTable {
    /// Its arrays.
    pub arrays: Vec<Array>,
    /// Its devices: one for each slot, or for what is soldered.
    pub devices: Vec<Device>,
}

/// Physical memory array, DSP0134 7.17.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Array {
    /// What its devices refer to it by.
    pub handle: u16,
    /// Where it is: 3 is the board (7.17.1).
    pub location: u8,
    /// What it is for (7.17.2).
    pub usage: u8,
    /// How it finds errors.
    pub correction: ErrorCorrection,
    /// How many devices it has.
    pub devices: u16,
}

/// Memory device, DSP0134 7.18.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// What others refer to it by.
    pub handle: u16,
    /// The array that it is part of.
    pub array: u16,
    /// Bits with those of error correction, where firmware knows it.
    pub total_width_bits: Option<u16>,
    /// Bits of data.
    pub data_width_bits: Option<u16>,
    /// What it holds.
    pub size: Size,
    /// What holds it.
    pub form_factor: FormFactor,
    /// The name of the slot, as it stands on the board.
    pub locator: String,
    /// The name of the bank that the slot is in.
    pub bank: String,
    /// What it is made of.
    pub kind: MemoryType,
    /// What it is made for, in transfers a second.
    pub rated: Option<u64>,
    /// What it runs at, in transfers a second.
    pub configured: Option<u64>,
    /// Its ranks.
    pub ranks: Option<u8>,
}

/// What a memory device holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Size {
    /// The slot is empty.
    Empty,
    /// It is filled; firmware does not know with how much.
    Unknown,
    /// So many bytes.
    Bytes(u64),
}

const ARRAY: u8 = 16;
const DEVICE: u8 = 17;
/// Arrays for other things than the machine's memory are no matter here: 7.17.2.
const SYSTEM_MEMORY: u8 = 3;

const MEGA: u64 = 1_000_000;
const MEBI: u64 = 1 << 20;
const KIBI: u64 = 1 << 10;

impl MemoryTable {
    /// What a table says; nothing where it is none.
    pub fn parse(table: &[u8]) -> MemoryTable {
        let mut memory = MemoryTable::default();
        for structure in structures(table) {
            match structure.kind {
                ARRAY => memory.arrays.extend(array(&structure)),
                DEVICE => memory.devices.extend(device(&structure)),
                _ => {}
            }
        }
        memory
    }

    /// The devices of the machine's memory: video memory, flash and caches of boards have arrays of their own.
    pub fn of_system(&self) -> impl Iterator<Item = &Device> {
        let is_its = |device: &&Device| {
            let array = self.arrays.iter().find(|array| array.handle == device.array);
            array.is_none_or(|array| array.usage == SYSTEM_MEMORY)
        };
        self.devices.iter().filter(is_its)
    }

    /// The corrections of the arrays of the machine's memory, each once.
    pub fn corrections(&self) -> Vec<ErrorCorrection> {
        let arrays = self.arrays.iter().filter(|array| array.usage == SYSTEM_MEMORY);
        let mut all: Vec<ErrorCorrection> = arrays.map(|array| array.correction).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// A table that says the same, and nothing else: it has no serial numbers, no asset tags, and no structure of another
    /// type.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut table = Vec::new();
        for array in &self.arrays {
            write_array(&mut table, array);
        }
        for device in &self.devices {
            write_device(&mut table, device);
        }
        end(&mut table);
        table
    }
}

fn array(structure: &Structure<'_>) -> Option<Array> {
    Some(Array {
        handle: structure.handle,
        location: structure.byte(0x04)?,
        usage: structure.byte(0x05)?,
        correction: ErrorCorrection(structure.byte(0x06)?),
        devices: structure.word(0x0d)?,
    })
}

fn device(structure: &Structure<'_>) -> Option<Device> {
    let width = |offset| structure.word(offset).filter(|bits| !matches!(bits, 0 | 0xffff));
    let ranks = structure.byte(0x1b).map(|attributes| attributes & 0xf);
    Some(Device {
        handle: structure.handle,
        array: structure.word(0x04)?,
        total_width_bits: width(0x08),
        data_width_bits: width(0x0a),
        size: size(structure.word(0x0c)?, structure.double_word(0x1c)),
        form_factor: FormFactor(structure.byte(0x0e)?),
        locator: structure.string(0x10),
        bank: structure.string(0x11),
        kind: MemoryType(structure.byte(0x12)?),
        rated: transfers(structure.word(0x15), structure.double_word(0x54)),
        configured: transfers(structure.word(0x20), structure.double_word(0x58)),
        ranks: ranks.filter(|ranks| *ranks > 0),
    })
}

/// In mebibytes, or where the highest bit is set in kibibytes; 7FFFh stands for the field of 2.7: DSP0134 7.18.
fn size(word: u16, extended: Option<u32>) -> Size {
    match word {
        0 => Size::Empty,
        0xffff | 0x8000 => Size::Unknown,
        0x7fff => match extended.map(|mebibytes| mebibytes & 0x7fff_ffff) {
            None | Some(0) => Size::Unknown,
            Some(mebibytes) => Size::Bytes(u64::from(mebibytes) * MEBI),
        },
        _ if word & 0x8000 == 0 => Size::Bytes(u64::from(word) * MEBI),
        _ => Size::Bytes(u64::from(word & 0x7fff) * KIBI),
    }
}

/// In millions a second; zero is unknown, FFFFh stands for the field of 3.3: DSP0134 7.18.
fn transfers(word: Option<u16>, extended: Option<u32>) -> Option<u64> {
    let millions = match word? {
        0 => return None,
        0xffff => u64::from(extended? & 0x7fff_ffff),
        millions => u64::from(millions),
    };
    (millions > 0).then_some(millions * MEGA)
}

fn write_array(table: &mut Vec<u8>, array: &Array) {
    let mut body = vec![array.location, array.usage, array.correction.0];
    // No capacity of its own, and no structure of errors.
    body.extend(0x8000_0000_u32.to_le_bytes());
    body.extend(0xfffe_u16.to_le_bytes());
    body.extend(array.devices.to_le_bytes());
    body.extend(0_u64.to_le_bytes());
    append(table, ARRAY, array.handle, &body, &[]);
}

fn write_device(table: &mut Vec<u8>, device: &Device) {
    /// The length of version 3.3, with the header.
    const BYTES: usize = 0x5c;
    let mut whole = [0; BYTES];
    let mut put = |offset: usize, bytes: &[u8]| {
        whole[offset..offset + bytes.len()].copy_from_slice(bytes);
    };
    let width = |bits: Option<u16>| bits.unwrap_or(0xffff).to_le_bytes();
    let (size, extended) = size_words(device.size);
    let strings: Vec<&str> = [&device.locator, &device.bank]
        .into_iter()
        .map(String::as_str)
        .filter(|it| !it.is_empty())
        .collect();
    let number =
        |string: &str| strings.iter().position(|it| *it == string).map_or(0, |at| at as u8 + 1);
    put(0x04, &device.array.to_le_bytes());
    put(0x06, &0xfffe_u16.to_le_bytes());
    put(0x08, &width(device.total_width_bits));
    put(0x0a, &width(device.data_width_bits));
    put(0x0c, &size.to_le_bytes());
    put(0x0e, &[device.form_factor.0]);
    put(0x10, &[number(&device.locator), number(&device.bank), device.kind.0]);
    put(0x1b, &[device.ranks.unwrap_or(0)]);
    put(0x1c, &extended.to_le_bytes());
    for (at, beyond, rate) in [(0x15, 0x54, device.rated), (0x20, 0x58, device.configured)] {
        let millions = rate.map_or(0, |rate| rate / MEGA);
        let word = u16::try_from(millions).unwrap_or(0xffff);
        put(at, &word.to_le_bytes());
        put(beyond, &if word == 0xffff { millions as u32 } else { 0 }.to_le_bytes());
    }
    append(table, DEVICE, device.handle, &whole[4..], &strings);
}

/// The size in the field of all versions, and in that of 2.7.
fn size_words(size: Size) -> (u16, u32) {
    let bytes = match size {
        Size::Empty => return (0, 0),
        Size::Unknown => return (0xffff, 0),
        Size::Bytes(bytes) => bytes,
    };
    if !bytes.is_multiple_of(MEBI) {
        return (0x8000 | (bytes / KIBI).min(0x7ffe) as u16, 0);
    }
    match u16::try_from(bytes / MEBI) {
        Ok(mebibytes) if mebibytes < 0x7fff => (mebibytes, 0),
        _ => (0x7fff, (bytes / MEBI) as u32),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::structures::append;
    use crate::testing::{GIBI, device};

    /// A structure as DSP0134 lays it out, byte by byte: 16 GiB of DDR4 at 2666, in version 2.8.
    const BY_HAND: &[u8] = &[
        17, 0x28, 0x34, 0x12, // header
        0x00, 0x10, 0xfe, 0xff, // array 1000h, no errors
        72, 0, 64, 0, // widths
        0x00, 0x40, // 16384 MiB
        0x09, 0, 1, 2, // DIMM, no set, locators
        0x1a, 0x80, 0x20, // DDR4
        0x75, 0x0b, // 2933
        3, 4, 5, 6, // manufacturer, serial number, asset tag, part number
        2, // two ranks
        0, 0, 0, 0, // no extended size
        0x6a, 0x0a, // 2666
        0xb0, 0x04, 0xb0, 0x04, 0xb0, 0x04, // voltages
        b'P', b'1', b'-', b'D', b'I', b'M', b'M', b'A', b'1', 0, //
        b'N', b'O', b'D', b'E', b' ', b'0', 0, //
        b'm', 0, b'S', b'E', b'C', b'R', b'E', b'T', 0, b'T', b'A', b'G', 0, b'p', 0, 0,
    ];

    #[test]
    fn a_device_is_read_as_the_specification_lays_it_out() {
        let table = MemoryTable::parse(BY_HAND);
        let expected = Device {
            handle: 0x1234,
            total_width_bits: Some(72),
            size: Size::Bytes(16 * GIBI),
            kind: MemoryType(0x1a),
            rated: Some(2_933_000_000),
            configured: Some(2_666_000_000),
            ..device("P1-DIMMA1", "NODE 0")
        };
        assert_eq!(table.devices, [expected]);
        assert_eq!(MemoryTable::parse(&BY_HAND[..BY_HAND.len() - 1]).devices, [], "it is cut off");
    }

    #[test]
    fn what_names_a_device_is_not_written_again() {
        let written = MemoryTable::parse(BY_HAND).to_bytes();
        let text = String::from_utf8_lossy(&written);
        assert!(text.contains("P1-DIMMA1") && text.contains("NODE 0"));
        assert!(!text.contains("SECRET") && !text.contains("TAG"), "{text}");
    }

    #[test]
    fn sizes_and_rates_beyond_16_bits_stand_in_fields_of_their_own() {
        assert_eq!(size(0x7fff, Some(131_072)), Size::Bytes(128 * GIBI));
        assert_eq!(size(0x7fff, None), Size::Unknown);
        assert_eq!(size(0x8200, None), Size::Bytes(512 * KIBI));
        assert_eq!((size(0, None), size(0xffff, None)), (Size::Empty, Size::Unknown));
        assert_eq!(transfers(Some(0xffff), Some(70_000)), Some(70_000_000_000));
        assert_eq!((transfers(Some(0), None), transfers(Some(0xffff), None)), (None, None));
        assert_eq!(transfers(None, None), None);
    }

    #[test]
    fn memory_of_other_arrays_is_none_of_the_machine() {
        let array = |handle, usage| Array {
            handle,
            location: 3,
            usage,
            correction: ErrorCorrection(handle as u8),
            devices: 1,
        };
        let of = |array| Device { array, ..device("x", "") };
        let arrays = vec![array(5, 3), array(6, 4)];
        let table = MemoryTable { arrays, devices: vec![of(5), of(6), of(7)] };
        assert_eq!(table.of_system().count(), 2, "one is video memory, of one nobody says it");
        assert_eq!(table.corrections(), [ErrorCorrection(5)]);
    }

    #[test]
    fn a_table_ends_where_it_says_so() {
        let table = MemoryTable { devices: vec![device("x", "")], ..MemoryTable::default() };
        let mut bytes = table.to_bytes();
        append(&mut bytes, 17, 1, &[0; 0x58], &[]);
        assert_eq!(MemoryTable::parse(&bytes), table);
    }

    proptest! {
        #[test]
        fn whatever_is_read_can_be_written_and_read_again(
            kinds in prop::collection::vec((15_u8..20, 0_u8..110, prop::collection::vec(any::<u8>(), 0..160)), 0..8),
        ) {
            let structures = kinds.iter().flat_map(|(kind, length, rest)| [&[*kind, *length][..], rest].concat());
            let table: Vec<u8> = structures.collect();
            let read = MemoryTable::parse(&table);
            prop_assert_eq!(MemoryTable::parse(&read.to_bytes()), read);
        }

        #[test]
        fn a_device_of_any_bytes_survives(
            body in prop::collection::vec(any::<u8>(), 0x58), names in prop::collection::vec("[ -~]{1,70}", 0..7),
        ) {
            let mut table = Vec::new();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            append(&mut table, 17, 1, &body, &names);
            let read = MemoryTable::parse(&table);
            prop_assert_eq!(read.devices.len(), 1);
            prop_assert_eq!(MemoryTable::parse(&read.to_bytes()), read);
        }
    }
}
