use machine::Machine;
use measure::areas::memory::Question;

use super::*;
use crate::testing::{blank, cache, memory, near, series};

fn record(name: &str) -> Record {
    memory(name, Question::Sweep, |_| ())
}

#[test]
fn levels_come_out_as_put_into_the_machine() {
    for name in ["sim:1c", "sim:vm-2c", "sim:2s-56c"] {
        let truth = Machine::named(name).unwrap().simulated.unwrap().memory.unwrap();
        let record = record(name);
        let sweep = sweep(&record).unwrap();
        assert_eq!(sweep.levels.len(), truth.cache.len() + 1, "{name}: {:?}", sweep.levels);
        let near = |found: f64, put_in: f64| {
            assert!((found / put_in - 1.0).abs() < 0.03, "{name}: {found} for {put_in}");
        };
        for (level, put_in) in sweep.levels.iter().zip(&truth.cache) {
            let [low, high] = level.knee.unwrap().interval;
            let bytes = put_in.bytes as f64;
            assert!((low..=high).contains(&bytes), "{name}: {bytes} in {low} to {high}");
            assert!(high / low < 2.0, "{name}: {low} to {high}");
            near(sweep.seconds(level), put_in.latency_seconds);
            let moved = sweep.over(level, "load", "bandwidth").unwrap();
            near(moved, put_in.core_bandwidth);
        }
        let memory = sweep.levels.last().unwrap();
        assert_eq!(memory.whose, Whose::Memory);
        near(sweep.seconds(memory), truth.latency_seconds);
    }
}

#[test]
fn an_end_that_half_and_twice_the_claim_would_fit_proves_nothing() {
    const MIB: u64 = 1 << 20;
    let of = |claimed: u64, ends: [u64; 2]| {
        let interval = ends.map(|mib| (mib * MIB) as f64);
        let knee = Knee { bytes: 16.0 * MIB as f64, interval, blocks: 5 };
        let whose = Whose::Cache(ClaimedCache { level: 3, bytes: claimed * MIB });
        verdict(&LatencyLevel { whose, seconds: 2e-8, sizes: [MIB, 4 * MIB], knee: Some(knee) })
    };
    assert_eq!(of(16, [8, 32]), LevelVerdict::AsClaimed);
    assert_eq!(of(16, [4, 64]), LevelVerdict::Vague(16.0));
    // What lies outside is refuted by a wide one, too.
    assert_eq!(of(256, [4, 64]), LevelVerdict::Behaves(16 * MIB));
}

#[test]
fn a_cache_that_behaves_like_less_is_told_and_others_are_not() {
    let misleading = record("sim:vm-2c");
    let verdicts: Vec<LevelVerdict> =
        sweep(&misleading).unwrap().levels.iter().map(verdict).collect();
    let [
        LevelVerdict::AsClaimed,
        LevelVerdict::AsClaimed,
        LevelVerdict::Behaves(bytes),
        LevelVerdict::Unknown,
    ] = verdicts[..]
    else {
        panic!("{verdicts:?}");
    };
    assert!(((14 << 20)..=(21 << 20)).contains(&bytes), "{bytes}");
    let of_size = |record: &Record| {
        let found = record.findings.iter().filter(|found| found.id == "memory.cache-size");
        found.count()
    };
    assert_eq!(of_size(&misleading), 1);
    assert_eq!(of_size(&record("sim:1c")), 0);
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Sizes that double from 8 KiB on: 1 ns up to 32 KiB, 4 ns up to 512 KiB, then 80 ns; in three blocks.
fn by_hand(largest: u64, claims: &[(u8, u64)]) -> Record {
    let mut record = blank();
    for (level, bytes) in claims {
        cache(&mut record, *level, *bytes, &["0"]);
    }
    let sizes = (3..).map(|power| KIB << power).take_while(|bytes| *bytes <= largest);
    for bytes in sizes {
        let ns = match bytes / KIB {
            0..=32 => 1.0,
            33..=512 => 4.0,
            _ => 80.0,
        };
        let parameters = [("question", "sweep"), ("footprint", &bytes.to_string())];
        let mut put = |quantity: &str, value: f64| {
            let blocks: [&[f64]; 3] = [&[value], &[value], &[value]];
            let of = ["memory", CHASE, quantity];
            record.series.push(series(of, "0", &parameters, &blocks));
        };
        put("latency", ns * 1e-9);
        // Of memory the clock is not known.
        if ns < 80.0 {
            put("latency_cycles", ns * 3.0);
        }
    }
    record
}

#[test]
fn levels_of_a_sweep_have_their_time_cycles_and_ends() {
    let record = by_hand(8 * MIB, &[(1, 32 * KIB), (2, 2 * MIB)]);
    let sweep = sweep(&record).unwrap();
    let [l1, l2, memory] = sweep.levels.as_slice() else { panic!("{:?}", sweep.levels) };
    for (level, seconds) in [(l1, 1e-9), (l2, 4e-9), (memory, 80e-9)] {
        near(sweep.seconds(level), seconds);
    }
    assert_eq!([l1, l2, memory].map(|level| sweep.cycles(level)), [Some(3.0), Some(12.0), None]);
    // 2 MiB are claimed, 512 KiB to 1 MiB are there: the root of the product is 741,455 bytes.
    assert_eq!(verdict(l1), LevelVerdict::AsClaimed);
    assert_eq!(verdict(l2), LevelVerdict::Behaves(741_455));
    assert_eq!((memory.whose, verdict(memory)), (Whose::Memory, LevelVerdict::Unknown));
}

#[test]
fn an_end_is_as_claimed_up_to_a_step_beyond_its_interval() {
    let of = |claimed: f64, blocks: usize| {
        let knee = Knee { bytes: 1.4e6, interval: [1e6, 2e6], blocks };
        let whose = Whose::Cache(ClaimedCache { level: 2, bytes: claimed as u64 });
        verdict(&LatencyLevel { whose, seconds: 4e-9, sizes: [1, 2], knee: Some(knee) })
    };
    // 1 MB / 1.3 is 769,231 bytes, 2 MB x 1.3 are 2.6 MB.
    assert_eq!([of(0.77e6, 3), of(2.59e6, 3)], [LevelVerdict::AsClaimed; 2]);
    assert_eq!([of(0.76e6, 3), of(2.61e6, 3)], [LevelVerdict::Behaves(1_400_000); 2]);
    assert_eq!(of(2.61e6, 2), LevelVerdict::Unknown);
}

#[test]
fn a_claimed_cache_is_not_seen_where_two_of_its_sizes_were_measured_in_vain() {
    let unseen = |l3, largest| {
        let record = by_hand(largest, &[(1, 32 * KIB), (2, MIB), (3, l3)]);
        let sweep = sweep(&record).unwrap();
        not_seen(&sweep).into_iter().map(|claim| claim.level).collect::<Vec<_>>()
    };
    // Beyond the 1 MiB of the second level 2 and 4 MiB take as long as memory.
    assert_eq!(unseen(4 * MIB, 128 * MIB), [3]);
    // One size, or a cache that was not passed, says nothing.
    assert_eq!(unseen(2 * MIB, 128 * MIB), [0; 0]);
    assert_eq!(unseen(4 * MIB, 4 * MIB), [0; 0]);
}

#[test]
fn a_point_is_the_lower_quartile_of_its_samples() {
    let mut record = by_hand(8 * KIB, &[]);
    let samples: &[&[f64]] = &[&[1.0, 4.0], &[3.0, 2.0]];
    let parameters = [("question", "sweep"), ("footprint", "8192")];
    record.series = vec![series(["memory", CHASE, "latency"], "0", &parameters, samples)];
    let point = point(&cells(&record, "sweep")[0]).unwrap();
    // Three quarters of the way from 1 to 2.
    near(point.seconds, 1.75);
    assert_eq!((point.bytes, point.blocks), (8192, vec![(0, 2.5), (1, 2.5)]));
}
