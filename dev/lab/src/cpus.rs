//! Sets of CPUs, as the kernel writes them: `0-3,8`.

use std::collections::BTreeSet;
use std::fmt;

use anyhow::Context;
use serde::Deserialize;

/// A set of CPUs, or of anything else that has numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Cpus(pub(crate) BTreeSet<u32>);

impl Cpus {
    /// Reads a list, which may be empty.
    pub(crate) fn parse(text: &str) -> anyhow::Result<Self> {
        let mut set = BTreeSet::new();
        for part in text.trim().split(',').filter(|part| !part.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |text: &str| text.parse::<u32>();
            let range = number(first).and_then(|first| Ok(first..=number(last)?));
            set.extend(range.with_context(|| format!("`{text}` is no list such as 0-3,8"))?);
        }
        Ok(Self(set))
    }

    /// Its parts without gaps, each by its first and last number.
    pub(crate) fn ranges(&self) -> Vec<(u32, u32)> {
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for &cpu in &self.0 {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == cpu => *last = cpu,
                _ => ranges.push((cpu, cpu)),
            }
        }
        ranges
    }

    pub(crate) fn without(&self, others: &Self) -> Self {
        Self(&self.0 - &others.0)
    }

    pub(crate) fn and(&self, others: &Self) -> Self {
        Self(&self.0 & &others.0)
    }

    pub(crate) fn has(&self, cpu: u32) -> bool {
        self.0.contains(&cpu)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl TryFrom<String> for Cpus {
    type Error = anyhow::Error;

    fn try_from(text: String) -> anyhow::Result<Self> {
        Self::parse(&text)
    }
}

impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |&(first, last): &(u32, u32)| {
            if first == last { first.to_string() } else { format!("{first}-{last}") }
        };
        f.write_str(&self.ranges().iter().map(part).collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_written_as_they_are_read() {
        for text in ["", "0", "0-3", "0-3,8", "1,3,5-6"] {
            assert_eq!(Cpus::parse(text).unwrap().to_string(), text);
        }
        assert!(Cpus::parse("0-x").is_err());
        assert_eq!(Cpus::parse("2,0,1\n").unwrap().to_string(), "0-2");
    }
}
