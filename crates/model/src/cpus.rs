//! CPU numbers and sets of them, in the list form that Linux uses (`0-3,8`).

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The kernel's number of a logical CPU. Numbers may have holes and may exceed 1,023.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct CpuId(pub u32);

impl fmt::Display for CpuId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The largest CPU number that a list may name: the kernel's own limit is 8,192 (`CONFIG_NR_CPUS`),
/// and without one `0-4294967295` would eat all memory.
const CPU_NUMBER_MAX: u32 = 65_535;

/// A set of CPUs, ordered by number. Serialised as its list form. A clone shares its numbers: every
/// CPU of a large machine names those that share its last-level cache.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct CpuSet {
    ids: Arc<[CpuId]>,
}

impl CpuSet {
    /// Reads a mask as the kernel writes it: hexadecimal, groups of 32 CPUs between commas, the
    /// lowest CPU last.
    pub fn from_mask(mask: &str) -> Option<CpuSet> {
        let mut ids = Vec::new();
        for (group, digits) in mask.trim().rsplit(',').enumerate() {
            let bits = u32::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))?;
            let first = u32::try_from(group).ok()?.checked_mul(32)?;
            ids.extend((0..32).filter(|bit| bits >> bit & 1 == 1).map(|bit| CpuId(first + bit)));
            if ids.last().is_some_and(|last| last.0 > CPU_NUMBER_MAX) {
                return None;
            }
        }
        Some(CpuSet { ids: ids.into() })
    }

    /// In words: `CPU 10`, `CPUs 0-3,5`.
    pub fn named(&self) -> String {
        format!("{} {self}", if self.len() == 1 { "CPU" } else { "CPUs" })
    }

    /// Number of CPUs in the set.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether no CPU is in the set.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Whether `cpu` is in the set.
    pub fn contains(&self, cpu: CpuId) -> bool {
        self.ids.binary_search(&cpu).is_ok()
    }

    /// The CPUs in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = CpuId> + '_ {
        self.ids.iter().copied()
    }

    /// The CPUs as a slice, ascending.
    pub fn as_slice(&self) -> &[CpuId] {
        &self.ids
    }

    /// The CPUs of this set that are not in `other`.
    #[must_use]
    pub fn difference(&self, other: &CpuSet) -> CpuSet {
        self.iter().filter(|&cpu| !other.contains(cpu)).collect()
    }

    /// The CPUs that are in both sets.
    #[must_use]
    pub fn intersection(&self, other: &CpuSet) -> CpuSet {
        self.iter().filter(|&cpu| other.contains(cpu)).collect()
    }
}

impl FromIterator<CpuId> for CpuSet {
    fn from_iter<I: IntoIterator<Item = CpuId>>(ids: I) -> Self {
        let mut ids: Vec<CpuId> = ids.into_iter().collect();
        ids.sort_unstable();
        ids.dedup();
        CpuSet { ids: ids.into() }
    }
}

/// Runs of neighbours are folded: `0-3,8`. The empty set is the empty string.
impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, run) in self.ids.chunk_by(|a, b| a.0 + 1 == b.0).enumerate() {
            let comma = if i == 0 { "" } else { "," };
            match run {
                [only] => write!(f, "{comma}{only}")?,
                [first, .., last] => write!(f, "{comma}{first}-{last}")?,
                [] => {}
            }
        }
        Ok(())
    }
}

/// Why a text is no list of CPUs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot read `{part}` in CPU list `{list}`: {why}")]
pub struct CpuListError {
    list: String,
    part: String,
    why: &'static str,
}

/// Reads `0-3,8` and the kernel's stride form `0-31:1/4`; white space around it is ignored.
impl FromStr for CpuSet {
    type Err = CpuListError;

    fn from_str(list: &str) -> Result<Self, Self::Err> {
        let list = list.trim();
        if list.is_empty() {
            return Ok(CpuSet::default());
        }
        let mut ids = Vec::new();
        for part in list.split(',') {
            let fail = |why| CpuListError { list: list.into(), part: part.into(), why };
            let number = |text: &str| -> Result<u32, CpuListError> {
                let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
                let number = text.parse::<u32>().ok().filter(|_| digits);
                let number = number.ok_or_else(|| fail("expected a number such as 3, or 0-3"))?;
                if number > CPU_NUMBER_MAX {
                    return Err(fail("no CPU has a number above 65535"));
                }
                Ok(number)
            };
            let (range, stride) = part.split_once(':').map_or((part, None), |(r, s)| (r, Some(s)));
            let (first, last) = match range.split_once('-') {
                Some((first, last)) => (number(first)?, number(last)?),
                None => (number(range)?, number(range)?),
            };
            if first > last {
                return Err(fail("the range runs backwards"));
            }
            let (used, group) = match stride.map(|stride| stride.split_once('/')) {
                None => (1, 1),
                Some(Some((used, group))) => (number(used)?, number(group)?),
                Some(None) => return Err(fail("expected used/group after the colon")),
            };
            if used == 0 || group < used {
                return Err(fail("a stride used/group needs 1 <= used <= group"));
            }
            ids.extend((first..=last).filter(|n| (n - first) % group < used).map(CpuId));
        }
        Ok(ids.into_iter().collect())
    }
}

impl Serialize for CpuSet {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CpuSet {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for CpuSet {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "CpuSet".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "a list of CPU numbers such as `0-3,8`",
            "pattern": "^([0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*)?$"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_with_holes_strides_and_large_numbers() {
        let set: CpuSet = "0-2,5,2000-2001\n".parse().unwrap();
        assert_eq!(set.to_string(), "0-2,5,2000-2001");
        assert_eq!(set.len(), 6);
        assert_eq!("0-7:1/4".parse::<CpuSet>().unwrap().to_string(), "0,4");
        assert_eq!("".parse::<CpuSet>().unwrap().to_string(), "");
    }

    #[test]
    fn bad_lists_say_which_part_is_bad() {
        for bad in ["a", "1,,2", "3-1", "-1", "0-", "1-2-3", "+1", "0-4294967295", "0-9:0/4", "0:1"]
        {
            let error = bad.parse::<CpuSet>().unwrap_err().to_string();
            assert!(error.starts_with("cannot read `"), "{error}");
        }
    }

    #[test]
    fn masks_have_the_lowest_cpu_last() {
        let list = |mask| CpuSet::from_mask(mask).map(|set| set.to_string());
        assert_eq!(list("00000000,00001c07\n").as_deref(), Some("0-2,10-12"));
        assert_eq!(list("3,80000000").as_deref(), Some("31-33"));
        assert_eq!(list("ff").as_deref(), Some("0-7"));
        assert_eq!(list("0").as_deref(), Some(""));
        for bad in ["", "x", "1,", "+1", "123456789", "-1"] {
            assert_eq!(list(bad), None, "{bad}");
        }
        assert_eq!(list(&format!("1{}", ",00000000".repeat(4000))), None);
    }

    proptest! {
        #[test]
        fn display_and_parse_are_inverse(ids in proptest::collection::vec(0u32..5000, 0..60)) {
            let set: CpuSet = ids.into_iter().map(CpuId).collect();
            prop_assert_eq!(set.to_string().parse::<CpuSet>().unwrap(), set);
        }
    }
}
