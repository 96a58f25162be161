//! Columns of few different values, as the numbers that they are written as: no value is made of a cell.

use parquet::basic::{Encoding, Type};
use parquet::column::page::Page;
use parquet::column::reader::ColumnReader;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::RowGroupReader;

/// The code of no value.
pub(super) const NONE: u32 = u32::MAX;

/// A column of a row group: different values, and which of them each row has.
#[derive(Debug, Default)]
pub(super) struct Coded {
    values: Vec<Vec<u8>>,
    pub codes: Vec<u32>,
}

impl Coded {
    /// The first rows of a column, at least so many of them.
    pub(super) fn read(group: &dyn RowGroupReader, name: &str, least: usize) -> Result<Coded> {
        let (place, is_optional, kind) = column(group, name)?;
        let mut pages = group.get_column_page_reader(place)?;
        let mut coded = Coded::default();
        let rows = group.metadata().num_rows() as usize;
        while coded.codes.len() < least {
            let Some(page) = pages.get_next_page()? else { break };
            if let Page::DictionaryPage { .. } = page {
                let (bytes, count) = (page.buffer(), page.num_values() as usize);
                coded.values = values(bytes, kind, count).ok_or_else(|| broken(name))?;
            } else if page.num_values() as usize > rows - coded.codes.len() {
                return Err(broken(name));
            } else {
                coded.codes.reserve_exact(least.min(rows) - coded.codes.len());
                coded.add(&page, is_optional).ok_or_else(|| broken(name))?;
            }
        }
        let many = coded.values.len() as u32;
        let is_known = |code: &u32| *code < many || *code == NONE;
        let is_whole = coded.codes.len() >= least.min(rows);
        if is_whole && coded.codes.iter().all(is_known) { Ok(coded) } else { Err(broken(name)) }
    }

    /// The same of a column in which every row has a value.
    pub(super) fn read_full(group: &dyn RowGroupReader, name: &str, least: usize) -> Result<Coded> {
        let coded = Coded::read(group, name, least)?;
        if coded.codes.contains(&NONE) { Err(broken(name)) } else { Ok(coded) }
    }

    /// The codes of a page.
    fn add(&mut self, page: &Page, is_optional: bool) -> Option<()> {
        let count = page.num_values() as usize;
        if !matches!(page.encoding(), Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY) {
            return None;
        }
        let (levels, codes) = match page {
            Page::DataPage { buf, .. } if is_optional => {
                let (size, rest) = buf.split_at_checked(4)?;
                rest.split_at_checked(u32::from_le_bytes(size.try_into().ok()?) as usize)?
            }
            Page::DataPage { buf, .. } => (&[][..], &buf[..]),
            Page::DataPageV2 { buf, def_levels_byte_len, .. } => {
                buf.split_at_checked(*def_levels_byte_len as usize)?
            }
            Page::DictionaryPage { .. } => return None,
        };
        if !is_optional {
            let (width, codes) = codes.split_first()?;
            return hybrid(codes, *width, count, &mut self.codes);
        }
        let (mut present, mut of_these) = (Vec::new(), Vec::new());
        hybrid(levels, 1, count, &mut present)?;
        let many = present.iter().filter(|it| **it == 1).count();
        if let Some((width, codes)) = codes.split_first() {
            hybrid(codes, *width, many, &mut of_these)?;
        }
        let mut next = of_these.into_iter();
        for is_present in present {
            self.codes.push(if is_present == 1 { next.next()? } else { NONE });
        }
        Some(())
    }

    /// What a code stands for.
    pub(super) fn text(&self, code: u32) -> Option<&str> {
        std::str::from_utf8(self.values.get(code as usize)?).ok()
    }

    /// What a code of whole numbers stands for.
    pub(super) fn number(&self, code: u32) -> Option<i64> {
        let bytes = self.values.get(code as usize)?.as_slice();
        let short = || Some(i32::from_le_bytes(bytes.try_into().ok()?).into());
        bytes.try_into().ok().map(i64::from_le_bytes).or_else(short)
    }

    /// How many different values there are.
    pub(super) fn different(&self) -> usize {
        self.values.len()
    }
}

/// The place of a column, whether it may have no value, and its type.
fn column(group: &dyn RowGroupReader, name: &str) -> Result<(usize, bool, Type)> {
    let columns = group.metadata().columns();
    let found = columns.iter().position(|column| column.column_descr().name() == name);
    let place = found.ok_or_else(|| ParquetError::General(format!("it has no column `{name}`")))?;
    let column = columns[place].column_descr();
    Ok((place, column.max_def_level() > 0, column.physical_type()))
}

fn broken(name: &str) -> ParquetError {
    ParquetError::General(format!("its column `{name}` is not as `cpudyno fleet pack` writes it"))
}

/// The values of a dictionary.
fn values(mut bytes: &[u8], kind: Type, count: usize) -> Option<Vec<Vec<u8>>> {
    let mut values = Vec::new();
    for _ in 0..count {
        let size = match kind {
            Type::INT32 => 4,
            Type::INT64 => 8,
            Type::BYTE_ARRAY => {
                let (size, rest) = bytes.split_at_checked(4)?;
                bytes = rest;
                u32::from_le_bytes(size.try_into().ok()?) as usize
            }
            _ => return None,
        };
        let (value, rest) = bytes.split_at_checked(size)?;
        values.push(value.to_vec());
        bytes = rest;
    }
    Some(values)
}

/// Numbers of so many bits, in runs of the same number and in groups of eight.
///
/// # Source
/// Parquet's format, Encodings.md: "Run Length Encoding / Bit-Packing Hybrid (RLE = 3)".
fn hybrid(mut bytes: &[u8], width: u8, count: usize, to: &mut Vec<u32>) -> Option<()> {
    let width = usize::from(width);
    let end = to.len() + count;
    if width > 32 {
        return None;
    }
    while to.len() < end {
        let mut header: u64 = 0;
        for shift in (0..).step_by(7) {
            let (byte, rest) = bytes.split_first()?;
            bytes = rest;
            header |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                break;
            }
        }
        let many = (header >> 1) as usize;
        if header & 1 == 0 {
            let (value, rest) = bytes.split_at_checked(width.div_ceil(8))?;
            bytes = rest;
            let value = value.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte));
            if many == 0 {
                return None;
            }
            to.resize(end.min(to.len().checked_add(many)?), value);
        } else {
            let (groups, rest) = bytes.split_at_checked(many.checked_mul(width)?)?;
            bytes = rest;
            let left = (end - to.len()).min(many.checked_mul(8)?);
            unpack(groups, width, left, to);
            if many == 0 {
                return None;
            }
        }
    }
    Some(())
}

/// So many numbers of some bits, the lowest bit first.
fn unpack(bytes: &[u8], width: usize, count: usize, to: &mut Vec<u32>) {
    let mask = (1u64 << width) - 1;
    let number = |place: usize| {
        let (byte, bit) = (place * width / 8, place * width % 8);
        let mut word = [0; 8];
        let there = &bytes[byte..bytes.len().min(byte + 8)];
        word[..there.len()].copy_from_slice(there);
        (u64::from_le_bytes(word) >> bit & mask) as u32
    };
    to.extend((0..count).map(number));
}

/// A column of numbers.
pub(super) fn doubles(group: &dyn RowGroupReader, name: &str) -> Result<Vec<f64>> {
    let (place, ..) = column(group, name)?;
    let rows = group.metadata().num_rows() as usize;
    let ColumnReader::DoubleColumnReader(mut reader) = group.get_column_reader(place)? else {
        return Err(broken(name));
    };
    let mut values = Vec::with_capacity(rows);
    while values.len() < rows {
        if reader.read_records(rows - values.len(), None, None, &mut values)?.0 == 0 {
            return Err(broken(name));
        }
    }
    Ok(values)
}

/// A column of numbers that may be absent: NaN.
pub(super) fn floats(group: &dyn RowGroupReader, name: &str) -> Result<Vec<f32>> {
    let (place, ..) = column(group, name)?;
    let rows = group.metadata().num_rows() as usize;
    let ColumnReader::FloatColumnReader(mut reader) = group.get_column_reader(place)? else {
        return Err(broken(name));
    };
    let (mut values, mut levels) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    while levels.len() < rows {
        if reader.read_records(rows - levels.len(), Some(&mut levels), None, &mut values)?.0 == 0 {
            return Err(broken(name));
        }
    }
    if values.len() < rows {
        let mut present = values.into_iter();
        let mut value = |level: &i16| if *level > 0 { present.next() } else { None };
        values = levels.iter().map(|level| value(level).unwrap_or(f32::NAN)).collect();
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_and_groups_are_read_and_cut_ones_refused() {
        let read = |bytes: &[u8], width, count| {
            let mut numbers = Vec::new();
            hybrid(bytes, width, count, &mut numbers).map(|()| numbers)
        };
        // The example of Encodings.md: 0 to 7 in three bits each.
        let packed = [3, 0b1000_1000, 0b1100_0110, 0b1111_1010];
        assert_eq!(read(&packed, 3, 8), Some((0..8).collect()));
        assert_eq!(read(&packed, 3, 6), Some((0..6).collect()));
        // Five times 300 in nine bits, then the eight.
        let both = [&[10, 0x2c, 1][..], &packed].concat();
        assert_eq!(read(&both[..3], 9, 5), Some(vec![300; 5]));
        assert_eq!(
            read(&[10, 5, 3, 0b1000_1000, 0b1100_0110, 0b1111_1010], 3, 13),
            Some([[5; 5].as_slice(), &[0, 1, 2, 3, 4, 5, 6, 7]].concat())
        );
        for cut in 0..packed.len() {
            assert_eq!(read(&packed[..cut], 3, 8), None, "{cut}");
        }
        // Nothing forever, and numbers that are too wide.
        assert_eq!(read(&[0, 1, 0, 1], 3, 8), None);
        assert_eq!(read(&[1, 1, 1], 3, 8), None);
        assert_eq!(read(&[16, 1], 33, 8), None);
        // A header that never ends.
        assert_eq!(read(&[0xff; 12], 3, 8), None);
        assert_eq!(read(&[], 0, 0), Some(vec![]));
    }
}
