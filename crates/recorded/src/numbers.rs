//! Sets of numbers as ranges.

use std::fmt;

/// The largest number: that of a CPU, as in [`model::CpuSet`].
pub(crate) const NUMBER_MAX: u32 = 65_535;

/// A set of numbers of CPUs, nodes and the like, such as `0-55,112-167`. Unlike a
/// [`model::CpuSet`], it takes as much memory as its text, whatever the text claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Numbers(Vec<(u32, u32)>);

impl Numbers {
    /// The set of these numbers, which ascend.
    pub(crate) fn ascending(numbers: impl IntoIterator<Item = u32>) -> Numbers {
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for number in numbers {
            match ranges.last_mut() {
                Some((_, last)) if number <= last.saturating_add(1) => *last = number.max(*last),
                _ => ranges.push((number, number)),
            }
        }
        Numbers(ranges)
    }

    /// Reads what `Display` writes.
    pub(crate) fn parse(text: &str) -> Option<Numbers> {
        let number = |digits: &str| {
            let plain = digits.bytes().all(|b| b.is_ascii_digit());
            let number = digits.parse::<u32>().ok().filter(|_| plain)?;
            (number <= NUMBER_MAX).then_some(number)
        };
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            let ascends = ranges.last().is_none_or(|(_, before)| *before < first);
            if first > last || !ascends {
                return None;
            }
            ranges.push((first, last));
        }
        Some(Numbers(ranges))
    }

    /// First and last of each run, ascending.
    pub(crate) fn ranges(&self) -> &[(u32, u32)] {
        &self.0
    }

    /// How many numbers there are.
    pub(crate) fn count(&self) -> u64 {
        self.0.iter().map(|(first, last)| u64::from(last - first) + 1).sum()
    }

    /// All of them, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        self.0.iter().flat_map(|(first, last)| *first..=*last)
    }
}

impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (first, last)) in self.0.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            if first == last {
                write!(f, "{comma}{first}")?;
            } else {
                write!(f, "{comma}{first}-{last}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_no_set_is_refused() {
        for bad in ["", "a", "3-1", "1,1", "2,1", "0-3,3", "0-4294967295", "0-65536", "+1", "1-2-3"]
        {
            assert_eq!(Numbers::parse(bad), None, "{bad}");
        }
        assert_eq!(Numbers::parse("0-65535").map(|numbers| numbers.count()), Some(65_536));
    }

    proptest! {
        #[test]
        fn written_and_read_are_the_same(numbers in proptest::collection::btree_set(0u32..900, 1..60)) {
            let set = Numbers::ascending(numbers.iter().copied());
            prop_assert_eq!(Numbers::parse(&set.to_string()), Some(set.clone()));
            prop_assert_eq!(set.iter().collect::<Vec<_>>(), numbers.into_iter().collect::<Vec<_>>());
        }
    }
}
