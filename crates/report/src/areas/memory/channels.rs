//! Channels of memory: how many are filled and what they run at, beside what the CPU has.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use model::Finding;
use model::page::tally;
use model::record::{MemoryChannel, Record};
use serde::Deserialize;

/// The table, as `data/README.md` describes it.
pub(super) static PEAKS: LazyLock<Vec<Peak>> = LazyLock::new(|| {
    const TEXT: &str = include_str!("../../../../../data/memory-peak.toml");
    let table: PeakTable = toml::from_str(TEXT).expect("BUG: a test reads the table");
    table.peak
});

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PeakTable {
    peak: Vec<Peak>,
}

/// The most that the memory of one package can give, by the CPU's maker.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Peak {
    pub(super) of: Vec<String>,
    pub(super) brand: String,
    pub(super) channels: u32,
    /// Millions of transfers a second.
    pub(super) transfers: u32,
    pub(super) remark: Option<String>,
}

impl Peak {
    pub(super) fn of(record: &Record) -> Option<&'static Peak> {
        let [core, brand] = ["cpu.microarchitecture", "cpu.brand"].map(|id| record.text(id));
        let (core, brand) = (core?, brand?);
        PEAKS.iter().find(|peak| peak.of.iter().any(|of| of == core) && brand.contains(&peak.brand))
    }

    /// Bytes a second: each transfer of a channel is eight bytes wide.
    pub(super) fn bytes_per_second(&self) -> f64 {
        f64::from(self.channels) * f64::from(self.transfers) * 1e6 * 8.0
    }
}

/// What channels can give: those that firmware says are filled at the rate that it says, else those of the maker's table.
pub(super) struct Offered {
    /// Bytes a second.
    pub(super) bytes_per_second: f64,
    /// `16 channels x 4800 MT/s`.
    pub(super) words: String,
    pub(super) by: &'static str,
    pub(super) remark: Option<&'static str>,
    /// Whether it is what is in the slots, and not what could be.
    pub(super) is_of_slots: bool,
}

impl Offered {
    /// To CPUs of these packages.
    pub(super) fn to(record: &Record, packages: &BTreeSet<u32>) -> Option<Offered> {
        let by_maker = || {
            let peak = Peak::of(record)?;
            let count = packages.len();
            Some(Offered {
                bytes_per_second: peak.bytes_per_second() * count as f64,
                words: format!(
                    "{} x {} channels x {} MT/s",
                    tally(count, "package"),
                    peak.channels,
                    peak.transfers
                ),
                by: "the CPU's maker",
                remark: peak.remark.as_deref(),
                is_of_slots: false,
            })
        };
        by_firmware(record, packages).or_else(by_maker)
    }
}

fn by_firmware(record: &Record, packages: &BTreeSet<u32>) -> Option<Offered> {
    let channels = of_packages(record, packages)?;
    let bytes = channels.iter().map(|channel| channel.bytes_per_second()).sum::<Option<f64>>()?;
    let filled: Vec<&&MemoryChannel> = channels.iter().filter(|it| it.filled > 0).collect();
    let rates = filled.iter().filter_map(|channel| channel.transfers_per_second);
    let [least, most] =
        [rates.clone().fold(f64::INFINITY, f64::min), rates.fold(0.0, f64::max)].map(megatransfers);
    let rate = if least == most { most } else { format!("{least} to {most}") };
    let is_narrow = filled.iter().any(|channel| channel.width_bits != Some(64));
    let narrow = if is_narrow { ", not all of 64 bits" } else { "" };
    (bytes > 0.0).then(|| Offered {
        bytes_per_second: bytes,
        words: format!("{} x {rate} MT/s{narrow}", tally(filled.len(), "channel")),
        by: "firmware (SMBIOS)",
        remark: None,
        is_of_slots: true,
    })
}

fn megatransfers(per_second: f64) -> String {
    format!("{:.0}", per_second / 1e6)
}

/// The channels of these packages; `None` where firmware's names do not say which they are.
fn of_packages<'a>(record: &'a Record, packages: &BTreeSet<u32>) -> Option<Vec<&'a MemoryChannel>> {
    let all = &record.machine.memory_channels;
    let cpus = &record.machine.topology.cpus;
    let are_all = cpus.iter().all(|place| packages.contains(&place.package));
    let is_its = |channel: &&MemoryChannel| match channel.package {
        Some(package) => packages.contains(&package),
        None => true,
    };
    let is_known = are_all || all.iter().all(|channel| channel.package.is_some());
    (is_known && !all.is_empty()).then(|| all.iter().filter(is_its).collect())
}

/// What empty channels and slow DIMMs cost.
pub(super) fn findings(record: &Record) -> Vec<Finding> {
    [empty(record), slow(record)].into_iter().flatten().collect()
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// A channel that firmware lists and that holds nothing, or that the CPU has and the board does not.
fn empty(record: &Record) -> Option<Finding> {
    /// Longer lists are cut.
    const NAMES_MAX: usize = 6;
    let channels = &record.machine.memory_channels;
    let names: Vec<&str> =
        channels.iter().filter(|it| it.filled == 0).map(|it| it.name.as_str()).collect();
    let filled = channels.len() - names.len();
    let packages: BTreeSet<u32> =
        record.machine.topology.cpus.iter().map(|place| place.package).collect();
    let of_cpus = Peak::of(record).map(|peak| peak.channels as usize * packages.len());
    let all = of_cpus.unwrap_or(0).max(channels.len());
    if filled == 0 || filled == all {
        return None;
    }
    let more = if names.len() > NAMES_MAX { ", ..." } else { "" };
    let place = if names.is_empty() {
        " (the board has no slots for the others)".to_owned()
    } else {
        let named = names[..names.len().min(NAMES_MAX)].join(", ");
        format!(", and nothing is in {named}{more}")
    };
    let share = percent(1.0 - filled as f64 / all as f64);
    let text = format!(
        "{filled} of {} are filled{place}: {share} of the bandwidth that all of them give is missing",
        tally(all, "channel")
    );
    let finding = Finding::warning("memory.channels-empty", "memory channels", text);
    let remedy = "put a DIMM of the same size and rate into each channel".to_owned();
    Some(if names.is_empty() { finding } else { finding.remedy(remedy) })
}

/// DIMMs that run below what both they and the CPU are made for.
fn slow(record: &Record) -> Option<Finding> {
    let most = Peak::of(record).map_or(f64::INFINITY, |peak| f64::from(peak.transfers) * 1e6);
    let slow = record.machine.memory_channels.iter().filter_map(|channel| {
        let limit = channel.rated_per_second?.min(most);
        let could = MemoryChannel { rated_per_second: Some(limit), ..channel.clone() };
        could.is_slow().then_some((channel.transfers_per_second?, limit))
    });
    let (runs, could) = slow.min_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)))?;
    let share = percent(1.0 - runs / could);
    let text = format!(
        "DIMMs run at {} MT/s and are made for {}: {share} of their bandwidth is missing",
        megatransfers(runs),
        megatransfers(could)
    );
    let (finding, remedy) = if most.is_finite() {
        let remedy = "firmware's setup limits the rate, or a second DIMM in a channel does";
        (Finding::warning("memory.slow-dimms", "memory speed", text), remedy)
    } else {
        let remedy = "the CPU may allow no more; else firmware's setup or a second DIMM in a channel limits it";
        (Finding::note("memory.slow-dimms", "memory speed", text), remedy)
    };
    Some(finding.remedy(remedy.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{blank, near, place, say};

    /// Eight channels in each of two packages at those rates, in millions a second; the last `empty` of them hold nothing.
    fn record(empty: usize, runs: f64, rated: f64) -> Record {
        let mut record = blank();
        place(&mut record, &["0-7", "8-15"]);
        let channel = |index: usize| {
            let is_filled = index < 16 - empty;
            MemoryChannel {
                package: Some(u32::from(index >= 8)),
                name: format!("D{index}"),
                slots: 1,
                filled: is_filled.into(),
                width_bits: is_filled.then_some(64),
                transfers_per_second: is_filled.then_some(runs * 1e6),
                rated_per_second: is_filled.then_some(rated * 1e6),
            }
        };
        record.machine.memory_channels = (0..16).map(channel).collect();
        record
    }

    /// The maker's table has 8 channels at 4800.
    fn sapphire(record: &mut Record) {
        say(record, "cpu.microarchitecture", "Sapphire Rapids");
        say(record, "cpu.brand", "Intel(R) Xeon(R) Platinum 8480+");
    }

    fn both() -> BTreeSet<u32> {
        BTreeSet::from([0, 1])
    }

    #[test]
    fn slots_that_firmware_lists_are_preferred_to_what_makers_state() {
        let mut record = record(1, 4400.0, 4800.0);
        sapphire(&mut record);
        let offered = Offered::to(&record, &both()).unwrap();
        assert_eq!(
            (offered.words.as_str(), offered.by),
            ("15 channels x 4400 MT/s", "firmware (SMBIOS)")
        );
        near(offered.bytes_per_second, 15.0 * 4.4e9 * 8.0);
        let second = Offered::to(&record, &BTreeSet::from([1])).unwrap();
        near(second.bytes_per_second, 7.0 * 4.4e9 * 8.0);
        record.machine.memory_channels[0].package = None;
        let of_second = Offered::to(&record, &BTreeSet::from([1])).unwrap();
        assert_eq!(of_second.by, "the CPU's maker", "nobody says which channels are its");
        near(Offered::to(&record, &both()).unwrap().bytes_per_second, 15.0 * 4.4e9 * 8.0);
        record.machine.memory_channels[0].width_bits = None;
        assert!(!Offered::to(&record, &both()).unwrap().is_of_slots, "a width is unknown");
        record.machine.memory_channels.clear();
        let by_maker = Offered::to(&record, &both()).unwrap();
        assert_eq!(by_maker.words, "2 packages x 8 channels x 4800 MT/s");
    }

    #[test]
    fn channels_of_other_rates_and_widths_are_told() {
        let mut record = record(0, 4800.0, 4800.0);
        record.machine.memory_channels[3].transfers_per_second = Some(4.4e9);
        record.machine.memory_channels[4].width_bits = Some(32);
        let offered = Offered::to(&record, &both()).unwrap();
        assert_eq!(offered.words, "16 channels x 4400 to 4800 MT/s, not all of 64 bits");
        near(offered.bytes_per_second, 14.0 * 38.4e9 + 35.2e9 + 19.2e9);
    }

    fn said(record: &Record) -> Vec<(String, String)> {
        findings(record).into_iter().map(|it| (it.id, it.text)).collect()
    }

    #[test]
    fn empty_channels_cost_their_share() {
        let id = "memory.channels-empty".to_owned();
        assert_eq!(said(&record(0, 4800.0, 4800.0)), []);
        let text = "15 of 16 channels are filled, and nothing is in D15: 6 % of the bandwidth that all of them \
                    give is missing";
        assert_eq!(said(&record(1, 4800.0, 4800.0)), [(id.clone(), text.to_owned())]);
        // A board with fewer channels than its CPUs have.
        let mut board = record(0, 4800.0, 4800.0);
        sapphire(&mut board);
        assert_eq!(said(&board), []);
        board.machine.memory_channels.truncate(12);
        let text = "12 of 16 channels are filled (the board has no slots for the others): 25 % of the bandwidth \
                    that all of them give is missing";
        assert_eq!(said(&board), [(id, text.to_owned())]);
        assert_eq!(said(&blank()), []);
    }

    #[test]
    fn dimms_below_what_they_and_the_cpu_allow_are_slow() {
        let of = |runs: f64, is_known: bool| {
            let mut record = record(0, runs, 5600.0);
            if is_known {
                sapphire(&mut record);
            }
            findings(&record).into_iter().map(|it| (it.severity, it.text)).next()
        };
        assert_eq!(of(5600.0, false), None);
        let text =
            "DIMMs run at 4800 MT/s and are made for 5600: 14 % of their bandwidth is missing";
        assert_eq!(of(4800.0, false), Some((model::Severity::Note, text.to_owned())));
        assert_eq!(of(4800.0, true), None, "the CPU allows no more");
        let text =
            "DIMMs run at 4400 MT/s and are made for 4800: 8 % of their bandwidth is missing";
        assert_eq!(of(4400.0, true), Some((model::Severity::Warning, text.to_owned())));
    }
}
