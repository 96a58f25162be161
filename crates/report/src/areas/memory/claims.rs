//! What caches, nodes and channels are said to be, beside what was measured.

use std::collections::BTreeSet;

use model::page::tally;
use model::record::Record;

use super::byte_accounting::Counting;
use super::cache_boundaries::{self, Whose};
use super::channels::Offered;
use super::read::{Cell, cells};
use super::shown::sweep::{self, Sweep, name, not_seen, sweep};
use super::shown::{nanoseconds, size};
use super::working_set::Extent;
use super::{ALONE, CHASE};
use crate::band::{self, Band};
use crate::claim::{Claim, Verdict};

/// Sizes of caches, distances of nodes, and what channels can give.
pub(super) fn claims(record: &Record) -> Vec<Claim> {
    caches(record).into_iter().chain(distances(record)).chain(channels(record)).collect()
}

/// Channels x rate, which nothing that goes to memory can exceed. Less says nothing of the claim: a band does.
fn channels(record: &Record) -> Option<Claim> {
    let drawn = Drawn::of(record)?;
    let counting = &drawn.counting;
    let text = |bytes| format!("{} {}", counting.text(bytes), counting.unit());
    let known = Offered::to(record, &drawn.packages);
    let claimed = known.as_ref().map_or("-".to_owned(), |offered| offered.words.clone());
    let verdict = match known.as_ref().map(|offered| offered.bytes_per_second) {
        None => {
            let why = "no table here has channels and rate of this CPU, and only root reads SMBIOS";
            Verdict::CannotTell(why.to_owned())
        }
        Some(peak) if drawn.moved > peak => {
            let times = drawn.moved / peak;
            Verdict::Differs(format!("{times:.2} times the {} of its channels", text(peak)))
        }
        Some(_) => Verdict::AsClaimed,
    };
    Some(Claim {
        what: "memory channels".to_owned(),
        claimed,
        by: known.map_or(String::new(), |offered| offered.by.to_owned()),
        measured: format!("{} by {}", text(drawn.moved), tally(drawn.cores, "core")),
        verdict,
        finding: Some("sheet.outside-band"),
        short: None,
        cause: None,
        command: "cpudyno memory bandwidth",
    })
}

/// Seconds of one pointer in the last-level cache that the kernel lists; nothing where latencies do not show that cache.
pub(in super::super) fn last_cache_latency(record: &Record) -> Option<f64> {
    let sweep = sweep(record)?;
    let last = sweep.claims.last()?.level;
    let is_last = |level: &&cache_boundaries::LatencyLevel| matches!(level.whose, Whose::Cache(it) if it.level == last);
    sweep.levels.iter().find(is_last).map(|level| level.seconds)
}

/// Claims of caches as latencies tell of them, and of those that they do not reach.
fn caches(record: &Record) -> Vec<Claim> {
    let sweep = sweep(record);
    let mut claims = sweep.as_ref().map_or_else(Vec::new, told);
    let why = match &sweep {
        Some(_) => "latencies were not measured up to its end",
        None => "no latencies were measured",
    };
    let cpu = sweep.map(|sweep| sweep.cpu).or(record.run.plan.cpus.iter().next());
    let claimed = cpu.map(|cpu| sweep::claims(&record.machine.topology, cpu));
    for cache in claimed.into_iter().flatten() {
        let (what, verdict) = (format!("L{}", cache.level), Verdict::CannotTell(why.to_owned()));
        if claims.iter().all(|claim| claim.what != what) {
            claims.push(of_cache(what, cache.bytes, "-".to_owned(), verdict));
        }
    }
    claims.sort_by(|a, b| a.what.cmp(&b.what));
    claims
}

fn told(sweep: &Sweep<'_>) -> Vec<Claim> {
    let claim = |level: &cache_boundaries::LatencyLevel| {
        let Whose::Cache(claimed) = level.whose else { return None };
        let measured = level.knee.map_or("-".to_owned(), |knee| {
            let [low, high] = knee.interval.map(|bytes| size(bytes as u64));
            format!("{} ({low} - {high})", size(knee.bytes as u64))
        });
        let verdict = match sweep::verdict(level) {
            sweep::LevelVerdict::AsClaimed => Verdict::AsClaimed,
            sweep::LevelVerdict::Behaves(bytes) => {
                Verdict::Differs(format!("behaves like {}", size(bytes)))
            }
            sweep::LevelVerdict::Vague(factor) => Verdict::CannotTell(sweep::known_to(factor)),
            sweep::LevelVerdict::Unknown => {
                Verdict::CannotTell("too little was measured around its end".to_owned())
            }
        };
        Some(of_cache(name(level.whose), claimed.bytes, measured, verdict))
    };
    let unseen = not_seen(sweep).into_iter().map(|claim| {
        let verdict = Verdict::Differs("latencies do not show it".to_owned());
        let (what, measured) = (format!("L{}", claim.level), "no plateau of its own".to_owned());
        of_cache(what, claim.bytes, measured, verdict)
    });
    sweep.levels.iter().filter_map(claim).chain(unseen).collect()
}

fn of_cache(what: String, claimed: u64, measured: String, verdict: Verdict) -> Claim {
    Claim {
        what,
        claimed: size(claimed),
        by: "kernel".to_owned(),
        measured,
        verdict,
        finding: Some("memory.cache-size"),
        short: None,
        cause: None,
        command: "cpudyno memory sweep",
    }
}

/// The firmware's relative distances are relative latencies.
///
/// # Source
/// ACPI specification, section on the System Locality Information Table: 10 is the node itself, 20 twice its
/// latency.
fn distances(record: &Record) -> Vec<Claim> {
    /// Firmware rounds, and often states one number for all machines of a family.
    const OFF_MAX: f64 = 0.25;
    const SELF: f64 = 10.0;
    let cells = cells(record, "numa");
    let latency = |from: u32, to: u32| {
        let of = |cell: &&Cell<'_>| {
            cell.workload == CHASE
                && cell.number("from_node") == Some(from.into())
                && cell.number("to_node") == Some(to.into())
        };
        cells.iter().find(of)?.main_median("latency")
    };
    let (mut claims, mut unmeasured) = (Vec::new(), Vec::new());
    let firmware = "firmware (SLIT)";
    for node in &record.machine.topology.nodes {
        for (&to, &distance) in node.distances.iter().filter(|(to, _)| **to != node.id) {
            let (Some(own), Some(far)) = (latency(node.id, node.id), latency(node.id, to)) else {
                unmeasured.push(distance);
                continue;
            };
            let (claimed, ratio) = (f64::from(distance) / SELF, far / own);
            let verdict = if (ratio / claimed - 1.0).abs() <= OFF_MAX {
                Verdict::AsClaimed
            } else {
                Verdict::Differs(format!("{:+.0} %", (ratio / claimed - 1.0) * 100.0))
            };
            claims.push(Claim {
                what: format!("node {} to node {to}", node.id),
                claimed: format!("distance {distance}: {claimed:.2} times"),
                by: firmware.to_owned(),
                measured: format!(
                    "{} ns for {} ns: {ratio:.2} times",
                    nanoseconds(far),
                    nanoseconds(own)
                ),
                verdict,
                finding: None,
                short: None,
                cause: None,
                command: NUMA,
            });
        }
    }
    let ends = unmeasured.iter().min().zip(unmeasured.iter().max());
    claims.extend(ends.map(|(least, greatest)| Claim {
        what: tally(unmeasured.len(), "way") + " between nodes",
        claimed: if least == greatest {
            format!("distance {least}")
        } else {
            format!("distances {least} to {greatest}")
        },
        by: firmware.to_owned(),
        measured: "-".to_owned(),
        verdict: Verdict::CannotTell("latencies from node to node were not measured".to_owned()),
        finding: None,
        short: None,
        cause: None,
        command: NUMA,
    }));
    claims
}

/// What shows latencies from node to node.
const NUMA: &str = "cpudyno memory numa";

/// Bandwidth of all cores, beside channels x rate.
pub(super) fn bands(record: &Record) -> Vec<Band> {
    bandwidth(record).into_iter().collect()
}

/// What the most cores that were measured drew from memory together.
struct Drawn<'a> {
    workload: String,
    cores: usize,
    packages: BTreeSet<u32>,
    /// Bytes a second, as far as they are known to have gone to memory.
    moved: f64,
    counting: Counting<'a>,
}

impl<'a> Drawn<'a> {
    fn of(record: &'a Record) -> Option<Drawn<'a>> {
        let counting = Counting::of(record);
        let cells = cells(record, "bandwidth");
        let copies = cells.iter().filter(|cell| cell.workload == ALONE);
        let of_memory = copies.filter(|cell| counting.extent(cell) == Some(Extent::Memory));
        let widest = of_memory.max_by_key(|cell| cell.active.len())?;
        let moved = counting.headline(widest, widest.main_median("bandwidth")?)?;
        let topology = &record.machine.topology;
        let package = |cpu| topology.place(cpu).map(|place| place.package);
        let packages: BTreeSet<u32> = widest.active.iter().filter_map(package).collect();
        let (workload, cores) = (widest.workload.to_owned(), widest.active.len());
        (!packages.is_empty()).then_some(Drawn { workload, cores, packages, moved, counting })
    }
}

fn bandwidth(record: &Record) -> Option<Band> {
    /// Published results of STREAM on full sockets are 70 to 90 % of the peak.
    const SHARE_MIN: f64 = 0.6;
    /// Fewer cores than these of a package cannot draw all that its memory gives.
    const CORES_MIN: usize = 8;
    let Drawn { workload, cores, packages, moved, counting } = Drawn::of(record)?;
    let offered = Offered::to(record, &packages)?;
    let expected = offered.bytes_per_second;
    let share = moved / expected;
    let guest = record.is_guest();
    let few = cores < CORES_MIN * packages.len();
    let verdict = if share > 1.0 {
        band::BandVerdict::Outside("more than memory can give: caches took part".to_owned())
    } else if share >= SHARE_MIN {
        band::BandVerdict::Normal
    } else if guest {
        band::BandVerdict::CannotTell("a guest has part of the channels".to_owned())
    } else if few {
        band::BandVerdict::CannotTell(format!("{} cannot draw more", tally(cores, "core")))
    } else if offered.is_of_slots {
        let why = "less than filled channels give, by what firmware says of their rate";
        band::BandVerdict::Outside(why.to_owned())
    } else {
        let why = "not all channels are populated, or not at full rate";
        band::BandVerdict::Outside(why.to_owned())
    };
    let remark = offered.remark.map_or(String::new(), |remark| format!("; {remark}"));
    Some(Band {
        what: format!("{workload} on {}", tally(cores, "core")),
        expected: format!("{} {}", counting.text(expected), counting.unit()),
        source: format!(
            "{} expected: {} x 8 bytes, by {}{remark}",
            counting.unit(),
            offered.words,
            offered.by
        ),
        measured: format!("{} {}", counting.text(moved), counting.unit()),
        position: format!("{:.1} % of it", share * 100.0),
        verdict,
        normal: [SHARE_MIN, 1.0].map(|end| end / share),
        missing: (share < SHARE_MIN).then_some(SHARE_MIN / share),
        remedy: "see what each slot holds, and at which rate: `sudo dmidecode -t memory`",
    })
}

#[cfg(test)]
mod tests {
    use super::super::channels::PEAKS;
    use super::*;
    use crate::testing::{blank, near, place, say, series};

    #[test]
    fn every_peak_is_one_of_a_known_core() {
        assert!(PEAKS.len() >= 14);
        let known: Vec<&str> = model::microarchitecture::names().collect();
        for peak in PEAKS.iter() {
            for core in &peak.of {
                assert!(known.contains(&core.as_str()), "{core}");
            }
            assert!(!peak.brand.is_empty() && peak.channels > 0, "{peak:?}");
            let gigabytes = peak.bytes_per_second() / 1e9;
            assert!((60.0..1000.0).contains(&gigabytes), "{peak:?}: {gigabytes} GB/s");
        }
    }

    /// 6 channels x 2933 million transfers a second x 8 bytes, by the table.
    const PEAK: f64 = 140.784e9;

    /// Copy that moves that share of the peaks of these packages, on all their CPUs.
    fn copied(packages: &[&str], share: f64) -> Record {
        let mut record = blank();
        place(&mut record, packages);
        say(&mut record, "cpu.microarchitecture", "Cascade Lake");
        say(&mut record, "cpu.brand", "Intel(R) Xeon(R) Gold 6248");
        // 1 GiB is beyond all caches that are assumed; two bytes are read or written, and one brought in.
        let parameters = [
            ("question", "bandwidth"),
            ("moved_per_asked", "3/2"),
            ("elements", "134217728"),
            ("footprint", "2147483648"),
        ];
        let asked = share * PEAK * packages.len() as f64 / 1.5;
        let active = packages.join(",");
        record.series =
            vec![series(["memory", ALONE, "bandwidth"], &active, &parameters, &[&[asked]])];
        record
    }

    #[test]
    fn a_bandwidth_is_normal_from_six_tenths_of_channels_times_rate_on() {
        use band::BandVerdict::{CannotTell, Normal, Outside};
        let verdict = |packages: &[&str], share| bands(&copied(packages, share))[0].verdict.clone();
        assert_eq!(verdict(&["0-7"], 0.61), Normal);
        assert_eq!(verdict(&["0-7"], 0.99), Normal);
        assert!(matches!(verdict(&["0-7"], 0.59), Outside(_)));
        assert!(matches!(verdict(&["0-7"], 1.01), Outside(_)));
        // Two packages have twice as much, and 15 cores are fewer than 8 of each.
        assert_eq!(verdict(&["0-7", "8-15"], 0.61), Normal);
        assert!(matches!(verdict(&["0-7", "8-15"], 0.59), Outside(_)));
        assert!(matches!(verdict(&["0-7", "8-14"], 0.59), CannotTell(_)));
        let mut guest = copied(&["0-7"], 0.59);
        say(&mut guest, "platform.virtualisation", "KVM");
        assert!(matches!(bands(&guest)[0].verdict, CannotTell(_)));
    }

    #[test]
    fn more_than_channels_times_rate_refutes_the_channels() {
        let claim = |packages: &[&str], share| channels(&copied(packages, share)).unwrap();
        for share in [0.3, 0.99] {
            assert_eq!(claim(&["0-7"], share).verdict, Verdict::AsClaimed, "{share}");
        }
        let more = claim(&["0-7", "8-15"], 1.25);
        assert_eq!(more.claimed, "2 packages x 6 channels x 2933 MT/s");
        let how = "1.25 times the 281.57 GB/s of its channels".to_owned();
        assert_eq!(more.verdict, Verdict::Differs(how));
        let mut unknown = copied(&["0-7"], 0.5);
        unknown.machine.facts.retain(|fact| fact.id != "cpu.brand");
        assert!(matches!(channels(&unknown).unwrap().verdict, Verdict::CannotTell(_)));
        assert_eq!(channels(&blank()), None, "nothing was drawn from memory");
    }

    #[test]
    fn half_of_channels_times_rate_lacks_a_fifth_of_it() {
        let band = &bands(&copied(&["0-7", "8-15"], 0.5))[0];
        assert_eq!(
            (band.expected.as_str(), band.measured.as_str()),
            ("281.57 GB/s", "140.78 GB/s")
        );
        // Normal is from 0.6 to 1 of the peak: 1.2 to 2 times what was measured.
        let [low, high] = band.normal;
        near(low, 1.2);
        near(high, 2.0);
        near(band.missing.unwrap(), 1.2);
    }

    #[test]
    fn distances_of_nodes_are_latencies_within_a_quarter() {
        let of = |far_ns: f64| {
            let mut record = blank();
            let node = |id, distances: [(u32, u32); 2]| model::record::Node {
                id,
                cpus: id.to_string().parse().unwrap(),
                not_shown: model::CpuSet::default(),
                memory_bytes: None,
                usable: None,
                distances: distances.into(),
            };
            record.machine.topology.nodes = vec![node(0, [(0, 10), (1, 21)])];
            for (to, ns) in [("0", 80.0), ("1", far_ns)] {
                let parameters = [("question", "numa"), ("from_node", "0"), ("to_node", to)];
                let of = ["memory", CHASE, "latency"];
                record.series.push(series(of, "0", &parameters, &[&[ns * 1e-9]]));
            }
            distances(&record).remove(0).verdict
        };
        // 21 of 10 are 2.1 times 80 ns, that is 168; three quarters of them are 126, five quarters 210.
        assert_eq!(of(127.0), Verdict::AsClaimed);
        assert_eq!(of(209.0), Verdict::AsClaimed);
        assert_eq!(of(125.0), Verdict::Differs("-26 %".to_owned()));
        assert_eq!(of(211.0), Verdict::Differs("+26 %".to_owned()));
    }
}
