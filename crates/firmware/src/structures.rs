//! A table as structures, and structures as a table.

/// A structure: its formatted part with the header, and its strings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Structure<'a> {
    /// Which type it is of.
    pub(crate) kind: u8,
    /// What others refer to it by.
    pub(crate) handle: u16,
    formatted: &'a [u8],
    strings: &'a [u8],
}

/// The last structure of a table, DSP0134 7.45.
const END_OF_TABLE: u8 = 127;

/// The type, the length of the formatted part, and the handle: DSP0134 6.1.2.
const HEADER_BYTES: usize = 4;

/// The structures of a table up to its end, or to where it makes no sense.
///
/// # Source
/// DSP0134 6.1: behind the formatted part stand strings that each end with a zero byte, and then one more; without strings
/// there are two.
pub(crate) fn structures(table: &[u8]) -> impl Iterator<Item = Structure<'_>> {
    let mut rest = table;
    std::iter::from_fn(move || {
        let (structure, behind) = first(rest)?;
        rest = behind;
        (structure.kind != END_OF_TABLE).then_some(structure)
    })
}

fn first(table: &[u8]) -> Option<(Structure<'_>, &[u8])> {
    let [kind, length, low, high, ..] = *table else { return None };
    let length = usize::from(length);
    if length < HEADER_BYTES {
        return None;
    }
    let (formatted, behind) = table.split_at_checked(length)?;
    let end = behind.windows(2).position(|pair| pair == [0, 0])?;
    let (strings, behind) = (&behind[..end], &behind[end + 2..]);
    Some((Structure { kind, handle: u16::from_le_bytes([low, high]), formatted, strings }, behind))
}

impl Structure<'_> {
    /// The bytes at an offset, where the structure is long enough: older versions of the specification have less.
    fn bytes<const N: usize>(&self, offset: usize) -> Option<[u8; N]> {
        self.formatted.get(offset..offset + N)?.try_into().ok()
    }

    pub(crate) fn byte(&self, offset: usize) -> Option<u8> {
        self.bytes::<1>(offset).map(|[byte]| byte)
    }

    pub(crate) fn word(&self, offset: usize) -> Option<u16> {
        self.bytes(offset).map(u16::from_le_bytes)
    }

    pub(crate) fn double_word(&self, offset: usize) -> Option<u32> {
        self.bytes(offset).map(u32::from_le_bytes)
    }

    /// The string whose number stands at that offset; empty where there is none. What is no printable ASCII is a `?`.
    pub(crate) fn string(&self, offset: usize) -> String {
        /// The specification limits strings no more; a name of a slot has less.
        const LETTERS_MAX: usize = 64;
        let number = self.byte(offset).unwrap_or(0);
        let Some(index) = usize::from(number).checked_sub(1) else { return String::new() };
        let bytes = self.strings.split(|byte| *byte == 0).nth(index).unwrap_or_default();
        let is_shown = |byte: u8| byte.is_ascii_graphic() || byte == b' ';
        let shown = |byte: &u8| if is_shown(*byte) { char::from(*byte) } else { '?' };
        bytes.iter().take(LETTERS_MAX).map(shown).collect::<String>().trim().to_owned()
    }
}

/// Appends a structure to a table: what follows its header, and its strings, of which none is empty.
pub(crate) fn append(table: &mut Vec<u8>, kind: u8, handle: u16, body: &[u8], strings: &[&str]) {
    let length = u8::try_from(HEADER_BYTES + body.len()).expect("BUG: a body fits into a byte");
    table.extend([kind, length]);
    table.extend(handle.to_le_bytes());
    table.extend(body);
    for string in strings {
        table.extend(string.bytes());
        table.push(0);
    }
    if strings.is_empty() {
        table.push(0);
    }
    table.push(0);
}

/// Ends a table.
pub(crate) fn end(table: &mut Vec<u8>) {
    append(table, END_OF_TABLE, 0xfeff, &[], &[]);
}
