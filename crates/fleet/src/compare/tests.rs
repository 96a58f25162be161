use model::{Obstacle, Unavailable};

use super::*;
use crate::testing::{blank, near, say, series};

fn value(median: f64, half: f64) -> Value {
    Value { median, interval: Some([median - half, median + half]) }
}

fn of_blocks(median: f64, half: f64) -> Measured {
    let blocks = [-half, -half, 0.0, half, half].map(|off| median + off);
    Measured::of(&blocks, 0.0).unwrap()
}

fn verdict(first: Value, other: Value, better: Option<Better>) -> RatioVerdict {
    beside(first, other, better).verdict
}

#[test]
fn a_verdict_needs_intervals_apart_or_narrow() {
    let hundred = value(100.0, 0.2);
    let (more, less) = (Some(Better::More), Some(Better::Less));
    assert_eq!(verdict(hundred, value(110.0, 1.0), more), RatioVerdict::Better);
    assert_eq!(verdict(hundred, value(110.0, 1.0), less), RatioVerdict::Worse);
    assert_eq!(verdict(hundred, value(110.0, 1.0), None), RatioVerdict::Differs);
    assert_eq!(verdict(hundred, value(90.0, 1.0), more), RatioVerdict::Worse);
    assert_eq!(verdict(hundred, value(101.0, 9.0), more), RatioVerdict::CannotTell);
    let alone = Value { median: 200.0, interval: None };
    assert_eq!(verdict(hundred, alone, more), RatioVerdict::CannotTell);
    // Within the band, certain differences are the same, too.
    assert_eq!(verdict(value(100.0, 0.0), value(100.1, 0.0), more), RatioVerdict::Same);
}

#[test]
fn of_many_results_a_few_that_differ_by_chance_are_not_told() {
    let what = |active| What {
        area: "turbo".to_owned(),
        workload: "it".to_owned(),
        quantity: "clock".to_owned(),
        active,
        cpus: None,
        parameters: BTreeMap::new(),
    };
    let row = |active, chance| ResultRow {
        what: what(active),
        unit: Unit::Hertz,
        better: Some(Better::More),
        values: vec![Some(value(100.0, 0.1)), Some(value(90.0, 0.1))],
        beside: vec![Some(RelativeValue {
            false_share: Some(chance),
            ..beside(value(100.0, 0.1), value(90.0, 0.1), Some(Better::More))
        })],
    };
    let verdicts = |chances: &[f64]| -> Vec<RatioVerdict> {
        let mut rows: Vec<ResultRow> =
            chances.iter().enumerate().map(|(at, chance)| row(at, *chance)).collect();
        heed_chance(&mut rows, 0);
        rows.iter().map(|row| row.beside[0].unwrap().verdict).collect()
    };
    assert_eq!(verdicts(&[0.01]), [RatioVerdict::Worse]);
    let mut many = vec![0.5; 99];
    many.push(0.01);
    assert!(verdicts(&many).iter().all(|verdict| *verdict == RatioVerdict::CannotTell));
    many.push(1e-6);
    assert_eq!(verdicts(&many)[100], RatioVerdict::Worse);
}

#[test]
fn a_record_that_lacks_a_result_takes_it_from_no_other() {
    let what = What {
        area: "turbo".to_owned(),
        workload: "it".to_owned(),
        quantity: "clock".to_owned(),
        active: 1,
        cpus: None,
        parameters: BTreeMap::new(),
    };
    let of = |median: f64| {
        let measured = of_blocks(median, 0.1);
        let (unit, better) = (Unit::Hertz, Some(Better::More));
        DigestResult { unit, better, outcome: Ok(measured) }
    };
    let (first, slow, zero) = (of(100.0), of(50.0), of(0.0));
    let why = Unavailable::new(Obstacle::Measurement, "result", "it was stopped before");
    let absent = DigestResult { outcome: Err(why), ..first.clone() };
    let all = [Some(&first), None, Some(&slow), Some(&absent), Some(&zero)];
    let found = row(&what, &all).unwrap();
    let has: Vec<bool> = found.values.iter().map(Option::is_some).collect();
    assert_eq!(has, [true, false, true, false, true]);
    let verdicts = found.beside.iter().map(|one| one.map(|one| one.verdict));
    assert_eq!(verdicts.collect::<Vec<_>>(), [None, Some(RatioVerdict::Worse), None, None]);
    assert!(found.worse_by() > 0.9);

    assert_eq!(row(&what, &[None, Some(&slow), Some(&first)]), Err(None));
    assert_eq!(row(&what, &[Some(&first), None, None]), Err(None));
    let why = row(&what, &[Some(&first), Some(&absent)]).unwrap_err();
    assert_eq!(why.as_deref(), Some("it was stopped before"));
    let why = row(&what, &[Some(&first), Some(&zero)]).unwrap_err();
    assert!(why.unwrap().contains("no ratio"));
}

#[test]
fn a_round_trip_is_no_result_beside_its_half() {
    let what = |workload: &str, quantity: &str| What {
        area: "wake".to_owned(),
        workload: workload.to_owned(),
        quantity: quantity.to_owned(),
        active: 2,
        cpus: None,
        parameters: BTreeMap::new(),
    };
    let found = || {
        let measured = of_blocks(1e-6, 1e-8);
        DigestResult { unit: Unit::Second, better: None, outcome: Ok(measured) }
    };
    let half = what("futex", "time_per_signal");
    let all = [half.clone(), what("futex", "round_trip"), what("pipe", "round_trip")];
    let results = all.into_iter().map(|what| (what, found())).collect();
    let kept: Vec<&What> =
        BTreeMap::keys(&results).filter(|what| !is_told_by_half(what, &results)).collect();
    assert_eq!(kept, [&half, &what("pipe", "round_trip")]);
}

#[test]
fn worse_is_what_is_certain_and_alike_in_both_directions() {
    let share =
        |first, other, better| (beside(first, other, better).certain().exp_m1() * 100.0).round();
    assert_eq!(
        share(value(100.0, 0.0), value(50.0, 0.0), Some(Better::More)).to_bits(),
        100f64.to_bits()
    );
    assert_eq!(
        share(value(50.0, 0.0), value(100.0, 0.0), Some(Better::Less)).to_bits(),
        100f64.to_bits()
    );
    // From 100 down to 94 at the median, and to 99 at the interval's near end: 1 % is certain.
    let near = Value { median: 94.0, interval: Some([89.0, 99.0]) };
    assert_eq!(share(value(100.0, 0.0), near, Some(Better::More)).to_bits(), 1f64.to_bits());
}

/// A record of copy in GB/s and of a chase in ns, each block by block.
fn named(name: &str, copy: &[f64], chase: &[f64]) -> Named {
    let mut record = blank();
    for (workload, quantity, scale, blocks) in
        [("copy", "bandwidth", 1e9, copy), ("chase", "latency", 1e-9, chase)]
    {
        let blocks: Vec<[f64; 1]> = blocks.iter().map(|block| [block * scale]).collect();
        let blocks: Vec<&[f64]> = blocks.iter().map(|block| &block[..]).collect();
        record.series.push(series(["memory", workload, quantity], "0", &[], &blocks));
    }
    Named { name: name.to_owned(), digest: crate::digest::of(&record) }
}

#[test]
fn results_that_differ_stand_by_the_nearest_ends_of_their_intervals() {
    let one = named("A", &[99.0, 100.0, 100.0, 100.0, 101.0], &[79.0, 80.0, 80.0, 80.0, 81.0]);
    let other = named("B", &[79.0, 80.0, 80.0, 80.0, 81.0], &[118.8, 120.0, 120.0, 120.0, 121.2]);
    let found = compare(&[one, other]);
    let rows: Vec<(&str, RatioVerdict)> = found
        .results
        .iter()
        .map(|row| (row.what.workload.as_str(), row.beside[0].unwrap().verdict))
        .collect();
    assert_eq!(rows, [("chase", RatioVerdict::Worse), ("copy", RatioVerdict::Worse)]);
    let [chase, copy] = [0, 1].map(|row| found.results[row].beside[0].unwrap());
    near(chase.ratio, 1.5);
    near(copy.ratio, 0.8);
    // From the least to the greatest block, and a thousandth more on each side for the bins.
    let [low, high] = copy.interval.unwrap();
    near(low, 79.0 * 0.999 / (101.0 * 1.001));
    near(high, 81.0 * 1.001 / (99.0 * 0.999));
    // 118.8 over 81 is 46.4 % more for certain, 99 over 81 is 22.0 %.
    near(found.results[0].worse_by(), 118.8 * 0.999 / (81.0 * 1.001) - 1.0);
    let worse = |share| found.worse_by(share).len();
    assert_eq!([worse(0.21), worse(0.22), worse(0.46), worse(0.47)], [2, 1, 1, 0]);
}

#[test]
fn what_differs_by_less_than_a_hundredth_is_the_same_and_few_blocks_decide_nothing() {
    let verdicts = |copy: &[f64], chase: &[f64]| {
        let found = compare(&[named("A", copy, &[80.0; 5]), named("B", &[100.0; 5], chase)]);
        let told = found.results.iter().map(|row| row.beside[0].unwrap().verdict);
        (told.collect::<Vec<_>>(), found.undecided().map(|record| record.name.clone()))
    };
    let (same, open) = (RatioVerdict::Same, RatioVerdict::CannotTell);
    // 0.7 % and two thousandths are within 1 %; 0.9 % and two are not, and are certainly more.
    assert_eq!(verdicts(&[100.0; 5], &[80.56; 5]), (vec![same; 2], None));
    let (told, _) = verdicts(&[100.0; 5], &[80.72; 5]);
    assert_eq!(told, [RatioVerdict::Worse, same]);
    // Four blocks have no interval, however far apart they are.
    assert_eq!(verdicts(&[50.0; 4], &[160.0; 4]), (vec![open; 2], Some("B".to_owned())));
}

#[test]
fn limits_can_be_chosen_on_the_same_cpu_only() {
    let of = |brand: &str, limits: &str, governor: Option<&str>| {
        let mut record = blank();
        say(&mut record, "cpufreq.limits", limits);
        say(&mut record, "cpu.brand", brand);
        say(&mut record, "load", limits);
        if let Some(governor) = governor {
            say(&mut record, "cpufreq.governor", governor);
        }
        Named { name: String::new(), digest: crate::digest::of(&record) }
    };
    let found = |records: &[Named]| {
        let (found, some) = settings(records);
        let found = found.into_iter().map(|it| (it.id, it.can_be_chosen));
        (found.collect::<Vec<_>>(), some)
    };
    let [id, brand] = ["cpufreq.limits", "cpu.brand"].map(str::to_owned);
    let first = of("one", "1 to 3 GHz", Some("powersave"));
    let same = found(&[first.clone(), of("one", "1 to 2 GHz", None)]);
    assert_eq!(same, (vec![(id.clone(), true)], vec!["cpufreq.governor".to_owned()]));
    // What another CPU came with nobody chose; it stands first, as no choice does.
    let other = found(&[first, of("another", "1 to 2 GHz", Some("powersave"))]);
    assert_eq!(other, (vec![(id, false), (brand, false)], Vec::new()));
}
