//! Is this normal? The results of a record among those of earlier records of machines like it.
//!
//! [`Reference::new`] takes the [`Digest`] of each record of a folder; [`Reference::place`] says of each result of a record
//! where it lies among them, as a part of that record; [`report::reference`] says what is outside, and shows
//! it. Reading the files is for the caller.
//!
//! Nothing is assumed of the earlier machines but that most of them are well. Their middle is the median and
//! their spread the median distance from it, which a third of bad ones does not move. A number is outside
//! where it is so far from the median that one in ten thousand of normal numbers would be, by a factor that
//! grows where earlier ones are few; and never within 1 % of the median, or where more than one in twenty
//! earlier ones were as far out on that side.

use std::collections::BTreeMap;

use model::record::{
    Digest, DigestResult, LeftOutRecords, Record, ReferencePlace, ReferencePosition, ReferenceRun,
    ReferenceSide, ResultKey,
};
use model::stats::paired::BAND;
use model::stats::{median, quantile_sorted};
use model::{Obstacle, Unavailable, Unit};
use report::reference::COUNT_MIN;

use crate::digest;

/// By which factor of the deviation a number is outside, by the count of earlier ones: for normal numbers,
/// one in ten thousand is. Between two rows, that of fewer counts.
///
/// # Source
/// Simulated, 5,000 to 200,000 times each; a test in this file does it again, coarser.
#[rustfmt::skip]
const FACTORS: &[(usize, f64)] = &[
    (8, 22.0), (10, 14.5), (12, 11.6), (15, 9.7), (20, 7.3), (30, 5.9), (50, 5.0), (100, 4.4), (200, 4.1),
];

/// The median distance from the median is that much smaller than the standard deviation of normal numbers.
const NORMAL: f64 = 1.4826;

/// Up to this share of earlier numbers may be as far out, and the number is outside all the same.
const ALIKE_MAX: f64 = 0.05;

/// Earlier results, by kind of machine.
#[derive(Debug, Clone, Default)]
pub struct Reference {
    groups: BTreeMap<MachineKind, MachineRecords>,
    left_out: BTreeMap<String, u64>,
}

/// What makes machines alike: labels and values.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MachineKind(Vec<(String, String)>);

impl MachineKind {
    pub(crate) fn of(digest: &Digest) -> MachineKind {
        let said = |id: &str| digest.facts.iter().find(|fact| fact.id == id)?.text.clone();
        MachineKind(alike(digest.run.simulated.clone(), digest.packages, digest.cores, said))
    }

    /// Labels and values.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(label, value)| (label.as_str(), value.as_str()))
    }

    /// The value of a label.
    pub(crate) fn said(&self, label: &str) -> Option<&str> {
        self.rows().find(|(known, _)| *known == label).map(|(_, value)| value)
    }

    /// `AMD EPYC 9654, 2 packages, ...`
    pub(crate) fn in_words(&self) -> String {
        let words: Vec<String> =
            self.rows().map(|(label, value)| format!("{label} {value}")).collect();
        words.join(", ")
    }
}

/// What is bought makes a kind; what can be set or plugged is what holding machines against each other is to find.
pub(crate) fn alike(
    simulated: Option<String>,
    packages: usize,
    cores: usize,
    said: impl Fn(&str) -> Option<String>,
) -> Vec<(String, String)> {
    let known = |id: &str| said(id).unwrap_or_else(|| "unknown".to_owned());
    let rows = [
        ("CPU", known("cpu.brand")),
        ("packages", packages.to_string()),
        ("cores", cores.to_string()),
        ("virtualisation", known("platform.virtualisation")),
    ];
    let rows = simulated.map(|name| ("simulated", name)).into_iter().chain(rows);
    rows.map(|(label, value)| (label.to_owned(), value)).collect()
}

/// The records of one kind of machine.
#[derive(Debug, Clone, Default)]
struct MachineRecords {
    /// The id of each run, and when it began.
    runs: Vec<(String, String)>,
    /// The numbers of each result.
    results: BTreeMap<ResultKey, Vec<Earlier>>,
}

/// A number of an earlier record.
#[derive(Debug, Clone)]
struct Earlier {
    /// The place of its run.
    run: usize,
    unit: Unit,
    median: f64,
}

impl Reference {
    /// From what is needed of each record, or why a file is none.
    pub fn new(records: impl IntoIterator<Item = Result<Digest, String>>) -> Reference {
        let mut reference = Reference::default();
        for record in records {
            match record {
                Ok(digest) => reference.add(digest),
                Err(why) => *reference.left_out.entry(why).or_default() += 1,
            }
        }
        reference
    }

    fn add(&mut self, digest: Digest) {
        let kind = MachineKind::of(&digest);
        if digest.results.is_empty() {
            let why = "nothing was measured in them".to_owned();
            *self.left_out.entry(why).or_default() += 1;
            return;
        }
        let group = self.groups.entry(kind).or_default();
        let (id, run) = ((digest.run.id, digest.run.started), group.runs.len());
        // A record and its page are one run, as are copies.
        if group.runs.contains(&id) {
            let why = "they hold the same runs again".to_owned();
            *self.left_out.entry(why).or_default() += 1;
            return;
        }
        group.runs.push(id);
        for (what, result) in digest.results {
            if let Ok(measured) = result.outcome {
                let earlier = Earlier { run, unit: result.unit, median: measured.median };
                group.results.entry(what).or_default().push(earlier);
            }
        }
    }

    /// Why files are left out, with how many, whatever the machine.
    pub fn left_out(&self) -> Vec<LeftOutRecords> {
        let told =
            |(why, count): (&String, &u64)| LeftOutRecords { why: why.clone(), count: *count };
        self.left_out.iter().map(told).collect()
    }

    /// Whether no file was a record of measurements, of whatever machine.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Where each result of a record lies among those of earlier records of such machines. The record
    /// itself, where it is among them, is none of them.
    pub fn place(&self, record: &Record) -> ReferenceRun {
        let digest = digest::at_hand(record);
        let kind = MachineKind::of(&digest);
        let empty = MachineRecords::default();
        let group = self.groups.get(&kind).unwrap_or(&empty);
        // Simulated runs all have one id.
        let is_itself = |run: &(String, String)| {
            digest.run.simulated.is_none() && run.0 == digest.run.id && !run.0.is_empty()
        };
        let mut starts: Vec<&String> =
            group.runs.iter().filter(|run| !is_itself(run)).map(|(_, started)| started).collect();
        starts.sort();
        let others: usize = self.groups.values().map(|group| group.runs.len()).sum();
        let mut left_out = self.left_out.clone();
        if others > group.runs.len() {
            let why = "other machines are in them".to_owned();
            *left_out.entry(why).or_default() += (others - group.runs.len()) as u64;
        }
        let positions = digest.results.iter().filter_map(|(what, result)| {
            let value = result.outcome.as_ref().ok()?.median;
            let earlier = group.results.get(what).map_or(&[][..], Vec::as_slice);
            let earlier = earlier.iter().filter(|earlier| {
                !is_itself(&group.runs[earlier.run]) && earlier.unit == result.unit
            });
            let earlier = earlier.map(|earlier| earlier.median).collect();
            Some(position(what.clone(), result, value, earlier))
        });
        ReferenceRun {
            records: starts.len() as u64,
            span: starts.first().zip(starts.last()).map(|(a, b)| [(*a).clone(), (*b).clone()]),
            positions: positions.collect(),
            alike: kind.0,
            left_out: left_out
                .into_iter()
                .map(|(why, count)| LeftOutRecords { why, count })
                .collect(),
        }
    }
}

fn position(
    what: ResultKey,
    result: &DigestResult,
    value: f64,
    earlier: Vec<f64>,
) -> ReferencePosition {
    let count = earlier.len();
    let place = place(value, earlier).ok_or_else(|| {
        let why = format!(
            "there are {count} earlier numbers of it, and {COUNT_MIN} are needed to say what is usual"
        );
        Unavailable::new(Obstacle::Measurement, "place among earlier records", why)
            .with_remedy("keep more records in that folder: `cpudyno sheet --json FILE`")
    });
    ReferencePosition {
        what,
        unit: result.unit,
        better: result.better,
        value,
        count: count as u64,
        place: place.into(),
    }
}

/// Where a number lies among earlier ones; `None` where they are too few.
pub fn place(value: f64, mut earlier: Vec<f64>) -> Option<ReferencePlace> {
    earlier.retain(|number| number.is_finite());
    let row = FACTORS.iter().rev().find(|(count, _)| *count <= earlier.len())?;
    earlier.sort_by(f64::total_cmp);
    let quartiles = [0.0, 0.25, 0.5, 0.75, 1.0].map(|q| quantile_sorted(&earlier, q));
    let middle = quartiles[2];
    let distances: Vec<f64> = earlier.iter().map(|number| (number - middle).abs()).collect();
    let deviation = median(&distances)? * NORMAL;
    let reach = (row.1 * deviation).max(BAND * middle.abs());
    let limits = [middle - reach, middle + reach];
    let count = |is: &dyn Fn(f64) -> bool| {
        earlier.iter().filter(|number| is(**number)).count() as f64 / earlier.len() as f64
    };
    let (lower, higher) = (count(&|number| number < value), count(&|number| number > value));
    let side = if value < limits[0] && 1.0 - higher <= ALIKE_MAX {
        ReferenceSide::Below
    } else if value > limits[1] && 1.0 - lower <= ALIKE_MAX {
        ReferenceSide::Above
    } else {
        ReferenceSide::Inside
    };
    let below = f64::midpoint(lower, 1.0 - higher);
    Some(ReferencePlace { quartiles, deviation, below, limits, side })
}

#[cfg(test)]
mod tests {
    use report::reference::findings;

    use super::*;
    use crate::simulate::normal;
    use crate::testing::{blank, near, say, series};

    #[test]
    fn of_well_machines_hardly_any_is_outside() {
        // Far from 1 %, so that the band does not help.
        for count in [8, 11, 20, 50, 100] {
            let mut random = fastrand::Rng::with_seed(count as u64);
            let trials = 20_000;
            let outside = (0..trials).filter(|_| {
                let mut number = || 100.0 + 10.0 * normal(&mut random);
                let earlier = (0..count).map(|_| number()).collect();
                place(number(), earlier).unwrap().side != ReferenceSide::Inside
            });
            let outside = outside.count();
            assert!(outside <= 8, "{outside} of {trials} with {count} earlier ones");
        }
    }

    #[test]
    fn few_numbers_have_no_place_and_equal_ones_a_band() {
        assert_eq!(place(1.0, vec![1.0; COUNT_MIN - 1]), None);
        let side = |value| place(value, vec![100.0; COUNT_MIN]).unwrap().side;
        assert_eq!(
            [side(99.1), side(98.9), side(100.9), side(101.1)],
            [
                ReferenceSide::Inside,
                ReferenceSide::Below,
                ReferenceSide::Inside,
                ReferenceSide::Above
            ]
        );
        let same = place(100.0, vec![100.0; COUNT_MIN]).unwrap();
        assert!((same.below - 0.5).abs() < 1e-12, "{same:?}");
    }

    #[test]
    fn a_third_of_bad_machines_hides_no_worse_one_and_many_like_it_do() {
        let mut earlier: Vec<f64> = (0..20).map(|i| 100.0 + 0.1 * f64::from(i % 5)).collect();
        earlier.extend([90.0; 10]);
        assert_eq!(place(80.0, earlier.clone()).unwrap().side, ReferenceSide::Below);
        assert_eq!(place(90.0, earlier).unwrap().side, ReferenceSide::Inside);
    }

    #[test]
    fn limits_are_factors_of_the_median_distance_from_the_median() {
        let earlier = vec![104.0, 96.0, 100.0, 98.0, 102.0, 100.0, 99.0, 101.0];
        let of = |value| place(value, earlier.clone()).unwrap();
        let found = of(101.0);
        // A quarter of 7 steps is 0.75 steps beyond 98.
        for (found, expected) in found.quartiles.iter().zip([96.0, 98.75, 100.0, 101.25, 104.0]) {
            near(*found, expected);
        }
        // Distances 0 0 1 1 2 2 4 4: 1.5 x 1.4826, and 22 times that.
        near(found.deviation, 2.2239);
        near(found.limits[0], 100.0 - 48.9258);
        near(found.limits[1], 100.0 + 48.9258);
        // Five of eight are lower, two are higher: between 5/8 and 6/8.
        near(found.below, 0.6875);
        let sides = [51.08, 51.07, 148.92, 148.93].map(|value| of(value).side);
        let inside = ReferenceSide::Inside;
        assert_eq!(sides, [inside, ReferenceSide::Below, inside, ReferenceSide::Above]);
    }

    #[test]
    fn the_factor_is_that_of_no_more_earlier_numbers_than_there_are() {
        // Half of them 99, half 101: the deviation is 1.4826 of any count.
        for (count, factor) in [(8, 22.0), (10, 14.5), (14, 11.6), (18, 9.7), (98, 5.0), (300, 4.1)]
        {
            let earlier = (0..count).map(|at| 99.0 + 2.0 * f64::from(at % 2)).collect();
            near(place(100.0, earlier).unwrap().limits[1], 100.0 + factor * 1.4826);
        }
    }

    /// A record of copy in GB/s and of a chase in ns.
    fn record(id: &str, brand: &str, copy: f64, chase: f64) -> Record {
        let mut record = blank();
        id.clone_into(&mut record.run.id);
        say(&mut record, "cpu.brand", brand);
        record.series = vec![
            series(["memory", "copy", "bandwidth"], "0", &[], &[&[copy * 1e9]]),
            series(["memory", "chase", "latency"], "0", &[], &[&[chase * 1e-9]]),
        ];
        record
    }

    #[test]
    fn a_record_is_held_against_other_runs_of_such_machines_once_each() {
        let copies = [96.0, 98.0, 99.0, 100.0, 100.0, 101.0, 102.0, 104.0];
        let runs = copies.iter().enumerate();
        let mut all: Vec<Record> =
            runs.map(|(run, copy)| record(&run.to_string(), "one", *copy, 80.0)).collect();
        all.extend([record("3", "one", 1.0, 1.0), record("8", "another", 1.0, 1.0)]);
        let place = |copy, chase| {
            let this = record("it", "one", copy, chase);
            let all = all.iter().chain([&this]);
            Reference::new(all.map(|record| Ok(digest::of(record)))).place(&this)
        };
        let run = place(40.0, 100.0);
        let left_out: Vec<u64> = run.left_out.iter().map(|left| left.count).collect();
        assert_eq!((run.records, left_out), (8, vec![1, 1]));
        assert!(run.positions.iter().all(|position| position.count == 8));
        // 40 of 100 GB/s are below 51, 100 ns above 80.8: of both, copy is farther off.
        let outside =
            |run: &ReferenceRun| findings(run).into_iter().map(|it| it.about).collect::<Vec<_>>();
        let [first, second] = outside(&run).try_into().unwrap();
        assert!(first.contains("copy") && second.contains("chase"), "{first}, {second}");
        // Less latency is no fault; nor is 1 % more.
        assert_eq!(outside(&place(100.0, 60.0)), [""; 0]);
        assert_eq!(outside(&place(100.0, 80.7)), [""; 0]);
        assert_eq!(outside(&place(100.0, 80.9)).len(), 1);
    }
}
