//! Drops, their causes and shares of streams made by hand, windows of 2 s.

use model::record::ClockRecord;

use super::*;
use crate::testing::{blank, near, power_limit, series};

#[test]
fn a_clock_that_came_back_has_not_dropped() {
    let back = [4249., 4317., 4352., 4254., 4160., 4159., 4170., 4172., 4255., 4276.];
    assert_eq!(falls(&back), None);
    let stays = [4249., 4317., 4352., 4254., 4160., 4159., 4170., 4172., 4165., 4161.];
    assert_eq!(falls(&stays), Some((4, 4317.0)));
    assert_eq!(falls(&[]), None);
}

#[test]
fn one_high_window_near_the_end_hides_no_drop() {
    for high in 10..20 {
        let mut clock = [3000.0; 20];
        clock[..2].fill(3500.0);
        clock[high] = 3500.0;
        assert_eq!(falls(&clock), Some((2, 3500.0)), "window {high}");
    }
    // Two at the very end are no disturbance, however long it was low.
    let back = [[3500.; 3].as_slice(), &[3000.; 51], &[3500.; 6]].concat();
    assert_eq!(falls(&back), None);
    // Of the last three windows nobody knows whether one was disturbed, or the clock came back.
    assert_eq!(
        falls(&[3500., 3500., 3500., 3500., 3500., 3500., 3500., 3000., 3000., 3500.]),
        None
    );
}

#[test]
fn a_register_without_reasons_denies_no_limit_of_power() {
    let asked = |names: &[&str]| {
        tell_of_power(&names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>())
    };
    assert!(asked(&["MSR 19Ch", "MSR 1B1h", "MSR 64Fh"]));
    assert!(!asked(&["MSR C0010061h"]));
    assert!(!asked(&[]));
}

#[test]
fn a_drop_between_two_windows_is_a_step() {
    let steps = in_steps(&[0.5, 1.5, 2.5], &[4.0, 4.0, 2.0]);
    let expected = [(0.0, 4.0), (1.0, 4.0), (1.0, 4.0), (2.0, 4.0), (2.0, 2.0), (3.0, 2.0)];
    assert_eq!(steps, expected);
    assert_eq!(in_steps(&[0.5], &[4.0]), [(0.5, 4.0); 2]);
    assert_eq!(in_steps(&[], &[]), []);
}

const HOT: &str = "avx512_fma_t";

/// What a stream has in each window.
fn windows(stream: &str, quantity: &str, group: &[(&str, &str)], values: &[f64]) -> Series {
    let parameters = [&[(STREAM, stream)], group].concat();
    series([AREA, sustained::WORKLOAD, quantity], "0-1", &parameters, &[values])
}

/// Windows of 2 s of one stream: their clock in MHz.
fn heated(stream: &str, mhz: &[f64]) -> Vec<Series> {
    let middles = (0..mhz.len()).map(|window| 2.0 * window as f64 + 1.0);
    let clock: Vec<f64> = mhz.iter().map(|it| it * 1e6).collect();
    let time = windows(stream, TIME, &[], &middles.collect::<Vec<_>>());
    vec![time, windows(stream, CLOCK, &[], &clock)]
}

/// Two packages of 50 W each for long, and 75 W for short.
fn limited(series: Vec<Series>) -> Record {
    let of = |package| {
        [(PowerTerm::Long, 50.0), (PowerTerm::Short, 75.0)]
            .map(|(term, watts)| power_limit(package, term, watts))
    };
    let clock = ClockRecord { power: [of(0), of(1)].concat(), ..ClockRecord::default() };
    Record { series, clock: Some(clock), ..blank() }
}

/// Four windows of 3,500 MHz, then eight of 3,000.
fn falling() -> Vec<f64> {
    [[3500.0; 4].as_slice(), &[3000.0; 8]].concat()
}

#[test]
fn drop_lies_between_the_middles_of_the_windows_around_it() {
    let record = limited(heated(HOT, &falling()));
    let soaked = soaked(&record);
    let drop = soaked[0].drop(&record).unwrap();
    // The fourth window of 2 s has its middle at 7 s, the fifth at 9 s.
    assert_eq!((drop.between[0], drop.between[1]), (7.0, 9.0));
    assert_eq!((drop.from, drop.to), (3500e6, 3000e6));
    // Of a steady clock 2 % are a drop: 70 MHz are, 69 are none.
    let small = |by: f64| falls(&[[3500.0; 6].as_slice(), &[3500.0 - by; 6]].concat());
    assert_eq!((small(71.0), small(69.0)), (Some((6, 3500.0)), None));
}

#[test]
fn share_kept_is_the_last_window_over_the_first() {
    let record = limited(heated(HOT, &falling()));
    let blocks = blocks(&record);
    let Some(Block::Table(table)) = blocks.get(1) else { panic!("{blocks:?}") };
    // 3,000 of 3,500 MHz are 85.714 %.
    assert!(table.rows[0].iter().any(|cell| cell.text == "85.7 %"), "{:?}", table.rows);
}

#[test]
fn drop_of_a_noisy_clock_is_four_deviations() {
    // Neighbouring windows differ by 3 %, which is 0.954 standard deviations: 4 x 0.03 / 0.954 = 12.58 %.
    let noisy: Vec<f64> =
        (0..10).map(|window| 3000.0 * (0.03 * f64::from(window % 2)).exp()).collect();
    near(least(&noisy), 0.12 / 0.954);
    near(least(&[3000.0; 10]), 0.02);
}

#[test]
fn drop_from_one_limit_of_power_to_the_other_needs_watts_near_both() {
    let cause = |before: f64, after: f64| {
        let power = [vec![before; 4], vec![after; 8]].concat();
        let record =
            limited([heated(HOT, &falling()), vec![windows(HOT, POWER, &[], &power)]].concat());
        soaked(&record)[0].power_limit(&record, 4)
    };
    // 2 x 50 W = 100 W for long, 2 x 75 W = 150 W for short; near is 5 %.
    assert!(cause(150.0, 104.0).unwrap().contains("PL2"));
    assert!(!cause(120.0, 96.0).unwrap().contains("PL2"));
    assert_eq!(cause(150.0, 94.0), None);
    assert_eq!(cause(150.0, 106.0), None);
}

#[test]
fn clocks_of_the_first_and_the_last_window_have_their_own_evidence() {
    let power = [vec![150.0; 4], vec![100.0; 8]].concat();
    let lost = [vec![0.0; 11], vec![0.08]].concat();
    let light: Vec<f64> = falling().iter().map(|mhz| mhz + 200.0).collect();
    let hot = [windows(HOT, POWER, &[], &power), windows(HOT, LOST, &[], &lost)].to_vec();
    let series = [heated(HOT, &falling()), hot, heated(LIGHT, &light)].concat();
    let record = limited(series);
    let all = clocked(&record);
    // Two windows of each stream, the heavy one first; the light one is 200 MHz above it in both.
    let found: Vec<(f64, Option<f64>)> =
        all.iter().map(|it| (it.clock, it.lighter.map(|light| light.hertz))).collect();
    let heavy = [(3500e6, Some(3700e6)), (3000e6, Some(3200e6))];
    assert_eq!(found, [&heavy[..], &[(3700e6, None), (3200e6, None)]].concat());
    let limit = |at: usize| all[at].seen.as_ref().unwrap()[0].id.as_str();
    assert_eq!([limit(0), limit(1)], ["pl2", "pl1"]);
    let gaps = |at: usize| all[at].gaps.unwrap().0;
    assert_eq!((gaps(0), gaps(1)), (0.0, 0.08));
}

#[test]
fn findings_need_nine_windows_or_more_than_five_per_cent_lost() {
    let of = |count: usize, lost: &[f64]| {
        let mut series = heated(HOT, &vec![3000.0; count]);
        series.push(windows(HOT, LOST, &[], lost));
        let record = limited(series);
        let soaked = soaked(&record);
        (few(&soaked[0]).is_some(), disturbed(&soaked[0]).is_some())
    };
    // Ten windows are enough; the median of what they lost may be 5 %.
    assert_eq!(of(9, &[0.04, 0.05, 0.9]), (true, false));
    assert_eq!(of(10, &[0.04, 0.06, 0.06]), (false, true));
}
