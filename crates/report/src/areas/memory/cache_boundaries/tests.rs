use super::*;
use crate::testing::near;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Sizes as a sweep has them: three to an octave.
fn sizes(largest: u64) -> Vec<u64> {
    let sizes = (0..).map(|step| (4096.0 * (f64::from(step) / 3.0).exp2()) as u64 / 64 * 64);
    sizes.take_while(|bytes| *bytes < largest).chain([largest]).collect()
}

fn claims(bytes: &[u64]) -> Vec<ClaimedCache> {
    (1..).zip(bytes).map(|(level, &bytes)| ClaimedCache { level, bytes }).collect()
}

/// A staircase of these sizes and latencies in nanoseconds; the last latency is that of memory.
fn stairs(caches: &[(u64, f64)], memory: f64) -> impl Fn(u64) -> f64 + '_ {
    move |bytes| {
        let held = caches.iter().find(|(size, _)| bytes <= *size);
        held.map_or(memory, |(_, ns)| *ns) * 1e-9
    }
}

fn points(sizes: &[u64], seconds: impl Fn(u64) -> f64) -> Vec<CurvePoint> {
    let point = |&bytes: &u64| {
        let seconds = seconds(bytes);
        CurvePoint { bytes, seconds, blocks: vec![(0, seconds), (1, seconds)] }
    };
    sizes.iter().map(point).collect()
}

fn claimed_caches(claims: &[ClaimedCache]) -> u64 {
    claims.iter().filter(|claim| claim.level > 1).map(|claim| claim.bytes).sum()
}

fn found(points: &[CurvePoint], claims: &[ClaimedCache]) -> Vec<LatencyLevel> {
    levels(points, claims, claimed_caches(claims))
}

fn whose(levels: &[LatencyLevel]) -> Vec<Whose> {
    levels.iter().map(|level| level.whose).collect()
}

#[track_caller]
fn assert_within(level: &LatencyLevel, bytes: u64, widest: f64) {
    let [low, high] = level.knee.expect("it ends").interval;
    assert!((low..=high).contains(&(bytes as f64)), "{bytes} not within {low} to {high}");
    assert!(high / low <= widest, "{low} to {high} says nothing");
}

const CACHES: [(u64, f64); 3] = [(48 * KIB, 1.5), (2 * MIB, 4.5), (16 * MIB, 21.0)];

#[test]
fn a_clean_staircase_comes_out_as_put_in() {
    let claims = claims(&[48 * KIB, 2 * MIB, 105 * MIB]);
    let levels = found(&points(&sizes(448 * MIB), stairs(&CACHES, 92.0)), &claims);
    let [l1, l2, l3] = [0, 1, 2].map(|at| Whose::Cache(claims[at]));
    assert_eq!(whose(&levels), [l1, l2, l3, Whose::Memory]);
    for (level, (bytes, ns)) in levels.iter().zip(CACHES) {
        assert_within(level, bytes, 1.3);
        assert!((level.seconds * 1e9 / ns - 1.0).abs() < 1e-6);
    }
    assert_eq!(levels[3].knee, None);
    assert_eq!(levels[3].sizes[1], 448 * MIB);
}

#[test]
fn noise_and_outliers_move_nothing_far() {
    let claims = claims(&[48 * KIB, 2 * MIB, 16 * MIB]);
    let clean = stairs(&CACHES, 92.0);
    for seed in 0..50 {
        let mut random = fastrand::Rng::with_seed(seed);
        let sizes = sizes(80 * MIB);
        let outliers: Vec<usize> = (0..3).map(|_| random.usize(0..sizes.len())).collect();
        let mut points = points(&sizes, &clean);
        for (at, point) in points.iter_mut().enumerate() {
            point.seconds *= 1.0 + 0.08 * random.f64();
            if outliers.contains(&at) {
                point.seconds *= 4.0;
            }
            for (_, seconds) in &mut point.blocks {
                *seconds *= 1.0 + 0.15 * random.f64();
            }
        }
        let levels = found(&points, &claims);
        assert_eq!(levels.len(), 4, "seed {seed}: {levels:?}");
        for (level, (bytes, ns)) in levels.iter().zip(CACHES) {
            // An outlier right before the end of a plateau cannot be told from its end.
            let step = 2f64.powf(1.0 / 3.0) * 1.01;
            let [low, high] = level.knee.unwrap().interval;
            let allowed = low / step..=high * step;
            assert!(allowed.contains(&(bytes as f64)), "seed {seed}: {bytes} in {allowed:?}");
            assert!(high / low <= 4.0, "seed {seed}: {low} to {high}");
            assert!((level.seconds * 1e9 / ns - 1.04).abs() < 0.08, "seed {seed}: {level:?}");
        }
    }
}

#[test]
fn a_gradual_end_has_a_wide_interval() {
    // Beyond its size a cache still holds a part, as one with random replacement does.
    let ns = |bytes: u64| {
        let hits = (12.0 * MIB as f64 / bytes as f64).min(1.0);
        20.0 * hits + 110.0 * (1.0 - hits)
    };
    let inner = stairs(&CACHES[..2], 0.0);
    let claims = claims(&[48 * KIB, 2 * MIB, 32 * MIB]);
    let points = points(&sizes(136 * MIB), |bytes| match inner(bytes) {
        0.0 => ns(bytes) * 1e-9,
        seconds => seconds,
    });
    let levels = found(&points, &claims);
    assert_eq!(whose(&levels)[2], Whose::Cache(claims[2]));
    assert_within(&levels[2], 12 * MIB, 8.0);
    let knee = levels[2].knee.unwrap();
    assert!(knee.interval[1] / knee.interval[0] > 2.0, "{knee:?}");
    assert!((12.0..32.0).contains(&(knee.bytes / MIB as f64)), "{knee:?}");
}

#[test]
fn a_claimed_cache_that_is_not_there_is_not_found() {
    let claims = claims(&[32 * KIB, MIB, 32 * MIB]);
    let caches = [(32 * KIB, 1.5), (MIB, 5.0)];
    let levels = found(&points(&sizes(132 * MIB), stairs(&caches, 100.0)), &claims);
    let expected = [Whose::Cache(claims[0]), Whose::Cache(claims[1]), Whose::Memory];
    assert_eq!(whose(&levels), expected);
}

#[test]
fn what_stays_within_a_cache_is_no_memory() {
    let claims = claims(&[48 * KIB, 2 * MIB, 16 * MIB]);
    let clean = stairs(&CACHES, 92.0);
    let within = |largest: u64| whose(&found(&points(&sizes(largest), &clean), &claims));
    assert_eq!(within(16 * KIB), [Whose::Cache(claims[0])]);
    assert_eq!(within(MIB), [Whose::Cache(claims[0]), Whose::Cache(claims[1])]);
    // Past the last cache, but by less than the rule asks.
    assert_eq!(within(48 * MIB).last(), Some(&Whose::Beyond(Some(3))));
    assert_eq!(within(72 * MIB).last(), Some(&Whose::Memory));
    assert!(found(&[], &claims).is_empty());
}

#[test]
fn without_claims_caches_have_numbers() {
    let levels = levels(&points(&sizes(80 * MIB), stairs(&CACHES, 92.0)), &[], 16 * MIB);
    let numbers = [1, 2, 3].map(Whose::Unclaimed);
    assert_eq!(whose(&levels)[..3], numbers);
    assert_eq!(whose(&levels)[3], Whose::Memory);
}

#[test]
fn a_gap_between_the_sizes_is_said() {
    let claims = claims(&[48 * KIB, 2 * MIB, 105 * MIB]);
    let sizes = [4 * KIB, 8 * KIB, 16 * KIB, 128 * MIB, 256 * MIB, 448 * MIB];
    let levels = found(&points(&sizes, stairs(&CACHES, 92.0)), &claims);
    // The nearest one whose end may lie there.
    assert_eq!(whose(&levels), [Whose::Cache(claims[0]), Whose::Memory]);
    assert!(levels[0].knee.unwrap().is_gap());
}

#[test]
fn a_knee_that_moves_from_block_to_block_has_their_interval() {
    let claims = claims(&[48 * KIB, 2 * MIB, 32 * MIB]);
    let with = |l3: u64| {
        let caches = [CACHES[0], CACHES[1], (l3, 21.0)];
        move |bytes| stairs(&caches, 92.0)(bytes)
    };
    let (small, large) = (with(8 * MIB), with(20 * MIB));
    let mut points = points(&sizes(136 * MIB), with(12 * MIB));
    for point in &mut points {
        point.blocks = (0..10)
            .map(|block| {
                let seconds = if block < 5 { small(point.bytes) } else { large(point.bytes) };
                (block, seconds)
            })
            .collect();
    }
    let levels = found(&points, &claims);
    let [low, high] = levels[2].knee.unwrap().interval;
    assert!(low <= 10.0 * MIB as f64 && high >= 20.0 * MIB as f64, "{low} to {high}");
}

#[test]
fn a_knee_lies_in_the_geometric_middle_of_the_sizes_around_it() {
    let sizes = [8 * KIB, 16 * KIB, 32 * KIB, 64 * KIB, 128 * KIB, 256 * KIB];
    let claims = claims(&[48 * KIB]);
    let levels = found(&points(&sizes, stairs(&[(32 * KIB, 1.0)], 4.0)), &claims);
    let knee = levels[0].knee.unwrap();
    // The root of 32 x 64 KiB, and from one to the other.
    near(knee.bytes, 2048f64.sqrt() * KIB as f64);
    let [low, high] = knee.interval.map(|bytes| bytes as u64);
    assert_eq!([low, high], [32 * KIB, 64 * KIB]);
    assert_eq!((levels[0].sizes, levels[1].sizes), ([8 * KIB, 32 * KIB], [64 * KIB, 256 * KIB]));
    near(levels[0].seconds, 1e-9);
    near(levels[1].seconds, 4e-9);
    assert_eq!(knee.blocks, 2);
}

#[test]
fn an_interval_of_more_than_four_octaves_is_a_gap() {
    let of = |high| Knee { bytes: 1.0, interval: [1.0, high], blocks: 5 };
    assert_eq!([of(16.0).is_gap(), of(16.1).is_gap()], [false, true]);
    // 4 is two octaves above the interval, 1/8 three below it.
    let knee = Knee { bytes: 1.0, interval: [1.0, 1.0], blocks: 5 };
    near(knee.off(4.0), 2.0);
    near(knee.off(0.125), 3.0);
    near(of(2.0).off(1.5), 0.0);
}

#[test]
fn a_quiet_curve_has_medians_of_three_and_never_falls() {
    let seconds = [1.0, 4.0, 1.0, 1.0, 3.0, 2.0, 2.5, 5.0];
    let point =
        |(bytes, seconds): (u64, &f64)| CurvePoint { bytes, seconds: *seconds, blocks: Vec::new() };
    let points: Vec<CurvePoint> = (1..).zip(&seconds).map(point).collect();
    // Medians of three: 1 1 1 1 2 2.5 2.5, and the ends as they are.
    assert_eq!(quiet(&points), [1.0, 1.0, 1.0, 1.0, 2.0, 2.5, 2.5, 5.0]);
    let falling: Vec<CurvePoint> = (1..).zip(&[3.0, 2.0, 1.0]).map(point).collect();
    assert_eq!(quiet(&falling), [1.0, 1.0, 1.0]);
}
