//! Channels of memory, and what is in them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// A channel of memory, as firmware describes its slots.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryChannel {
    /// The package that it is of, in the order of their numbers; absent where firmware's names do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<u32>,
    /// How firmware calls its first slot, or its bank.
    pub name: String,
    /// Its slots.
    pub slots: u32,
    /// How many of them hold memory of programs.
    pub filled: u32,
    /// What it moves at once, in bits of data; absent where it is empty or firmware does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width_bits: Option<u16>,
    /// What it runs at, in transfers a second; absent likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfers_per_second: Option<f64>,
    /// What its devices are made for, in transfers a second; absent likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rated_per_second: Option<f64>,
}

impl MemoryChannel {
    /// What it can give, in bytes a second: nothing where it is empty; `None` where firmware does not say it.
    pub fn bytes_per_second(&self) -> Option<f64> {
        if self.filled == 0 {
            return Some(0.0);
        }
        Some(f64::from(self.width_bits?) / 8.0 * self.transfers_per_second?)
    }

    /// Whether it runs below what its devices are made for, by more than makers round.
    pub fn is_slow(&self) -> bool {
        /// 2933 and 2934 are the same.
        const SAME: f64 = 0.01;
        let rates = self.transfers_per_second.zip(self.rated_per_second);
        rates.is_some_and(|(runs, rated)| runs < rated * (1.0 - SAME))
    }
}

/// `8 of 8 in each package`, `15 of 16 (empty: CPU2_DIMM_C1)`.
pub fn channels_in_brief(channels: &[MemoryChannel]) -> String {
    let of = |package| channels.iter().filter(move |channel| channel.package == package);
    let packages: BTreeSet<Option<u32>> = channels.iter().map(|channel| channel.package).collect();
    let all: BTreeSet<usize> = packages.iter().map(|package| of(*package).count()).collect();
    let empty: Vec<&str> =
        channels.iter().filter(|it| it.filled == 0).map(|it| it.name.as_str()).collect();
    match (all.first(), all.len(), empty.is_empty()) {
        (Some(each), 1, true) if packages.len() > 1 && !packages.contains(&None) => {
            format!("{each} of {each} in each package")
        }
        (_, _, true) => format!("{0} of {0}", channels.len()),
        _ => {
            let filled = channels.len() - empty.len();
            format!("{filled} of {} (empty: {})", channels.len(), empty.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel(package: Option<u32>, name: &str, filled: u32) -> MemoryChannel {
        MemoryChannel {
            package,
            name: name.to_owned(),
            slots: 1,
            filled,
            width_bits: (filled > 0).then_some(64),
            transfers_per_second: (filled > 0).then_some(4.8e9),
            rated_per_second: (filled > 0).then_some(5.6e9),
        }
    }

    #[test]
    fn channels_are_told_by_package_where_all_are_full() {
        let of = |packages: &[Option<u32>], filled: u32| {
            let all: Vec<MemoryChannel> =
                packages.iter().map(|package| channel(*package, "A1", 1)).collect();
            let mut all = all;
            all[0].filled = filled;
            channels_in_brief(&all)
        };
        let two = [Some(0), Some(0), Some(1), Some(1)];
        assert_eq!(of(&two, 1), "2 of 2 in each package");
        assert_eq!(of(&two, 0), "3 of 4 (empty: A1)");
        assert_eq!(of(&[Some(0), Some(1), Some(1)], 1), "3 of 3");
        assert_eq!(of(&[Some(0), Some(0)], 1), "2 of 2");
        assert_eq!(of(&[None, None], 1), "2 of 2");
        assert_eq!(channels_in_brief(&[]), "0 of 0");
    }

    #[test]
    fn a_channel_gives_its_width_at_its_rate() {
        let full = channel(None, "A1", 1);
        assert_eq!(full.bytes_per_second(), Some(38.4e9));
        assert!(full.is_slow());
        assert_eq!(channel(None, "A1", 0).bytes_per_second(), Some(0.0));
        let unsaid = MemoryChannel { width_bits: None, ..full };
        assert_eq!(unsaid.bytes_per_second(), None);
        let rounded = MemoryChannel {
            transfers_per_second: Some(2.933e9),
            rated_per_second: Some(2.934e9),
            ..unsaid
        };
        assert!(!rounded.is_slow());
    }
}
