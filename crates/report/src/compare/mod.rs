//! Records beside one another: which settings differ, which results differ, and which settings are known
//! to make such a difference.
//!
//! A result's interval comes from the spread between blocks of its own run. What changed between the
//! runs, such as heat, is in no interval: `cpudyno ab` compares in turns, this compares what is there.

mod causes;
mod page;
mod settings;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use model::Unit;
pub use model::record::ResultKey as What;
use model::record::{Digest, DigestResult, Measured, ResultValue as Value};
use model::stats::paired::{BAND, Better};
use model::stats::welch::{false_shares, welch};
use serde::Serialize;

pub use self::page::{drawn, name, page};
use self::settings::settings;

/// A record that takes part, without its samples.
#[derive(Debug, Clone)]
pub struct Named {
    /// Its file.
    pub name: String,
    /// What is needed of it.
    pub digest: Digest,
}

/// Where a record comes from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecordSource {
    /// Its file.
    pub name: String,
    /// The run's id: two files may hold one run.
    pub run: String,
    /// When the run began.
    pub started: String,
    /// The version of cpudyno that wrote it.
    pub version: String,
    /// The CPU.
    pub cpu: String,
    /// The simulated machine that it tells of: nothing was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulated: Option<String>,
    /// Where it comes from, where another program measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<String>,
    /// Why the run ended early.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<String>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Which form this is.
    pub schema: &'static str,
    /// The records, the one that others are held against first.
    pub records: Vec<RecordSource>,
    /// The settings and facts of which at least two records say different things.
    pub settings: Vec<Setting>,
    /// Facts that some records know and others do not.
    pub known_to_some: Vec<String>,
    /// The results that the first record and at least one other have, the largest certain difference first.
    pub results: Vec<ResultRow>,
    /// Results that one record alone has, or that the first one lacks.
    pub lonely: Vec<Lonely>,
    /// Which differing settings are known to make a difference that was seen.
    pub causes: Vec<Cause>,
}

/// Something that the machines say differently of themselves.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Setting {
    /// The fact's id.
    pub id: String,
    /// What people call it.
    pub label: String,
    /// What each record says, as text; `None` where it is not known.
    pub values: Vec<Option<String>>,
    /// Whether somebody chose it, other than what a machine is.
    pub can_be_chosen: bool,
}

/// A result that the first record and at least one other have.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ResultRow {
    /// What was measured.
    #[serde(flatten)]
    pub what: What,
    /// Its unit.
    pub unit: Unit,
    /// Which direction is better, where one is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub better: Option<Better>,
    /// Each record's number; `None` where it has none, never of the first.
    pub values: Vec<Option<Value>>,
    /// Each further record beside the first; `None` where the two have no ratio.
    pub beside: Vec<Option<RelativeValue>>,
}

/// One number beside that of the first record.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RelativeValue {
    /// This record's number over the first's.
    pub ratio: f64,
    /// The least and the greatest ratio of the two intervals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// Of all results of this record that differ from the first's as clearly as this, the expected share of
    /// those that differ by mere chance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub false_share: Option<f64>,
    /// What that says.
    pub verdict: RatioVerdict,
}

/// What a ratio says. As in a comparison by turns, what lies within 1 % is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RatioVerdict {
    /// All of the interval is on the better side of one.
    Better,
    /// All of it is on the worse side of one.
    Worse,
    /// All of it is on one side of one, and neither is better.
    Differs,
    /// The interval lies within the band.
    Same,
    /// None of these, or there is no interval.
    CannotTell,
}

/// A result that cannot be held against that of the first record.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Lonely {
    /// What it is.
    #[serde(flatten)]
    pub what: What,
    /// Whether each record has it.
    pub has: Vec<bool>,
    /// Why not, where one of them says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A differing setting that is known to change what an area measures, where that differs, too.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cause {
    /// The setting's label.
    pub setting: String,
    /// The area.
    pub area: String,
    /// How many results of the area differ.
    pub results: usize,
    /// Why it would.
    pub why: &'static str,
}

impl RecordSource {
    fn of(Named { name, digest }: &Named) -> RecordSource {
        let cpu = digest.facts.iter().find(|fact| fact.id == "cpu.brand");
        let run = digest.run.clone();
        RecordSource {
            name: name.clone(),
            run: run.id,
            started: run.started,
            version: digest.tool.version.clone(),
            cpu: cpu.and_then(|cpu| cpu.text.clone()).unwrap_or_else(|| "unknown CPU".to_owned()),
            simulated: run.simulated,
            elsewhere: run.elsewhere.filter(|_| digest.tool.is_foreign()),
            interrupted: run.interrupted,
        }
    }
}

/// Whether it is a round trip of which the time per signal is there: that is half of it.
fn is_told_by_half(what: &What, results: &BTreeMap<What, DigestResult>) -> bool {
    let half = || What { quantity: "time_per_signal".to_owned(), ..what.clone() };
    what.quantity == "round_trip" && results.contains_key(&half())
}

/// Holds records against the first of them.
pub fn compare(records: &[Named]) -> Comparison {
    let sources: Vec<RecordSource> = records.iter().map(RecordSource::of).collect();
    let (settings, known_to_some) = settings(records);
    // Hashed before they are sorted: a thousand records have the same results.
    let mut results: HashMap<Cow<'_, What>, Vec<Option<&DigestResult>>> = HashMap::new();
    let is_matrix_there = sources.iter().any(|source| source.elsewhere.is_some());
    for (place, Named { digest, .. }) in records.iter().enumerate() {
        let told = digest.results.iter().filter(|it| !is_told_by_half(it.0, &digest.results));
        for (what, found) in told {
            let what = if is_matrix_there { by_cpus(what) } else { Cow::Borrowed(what) };
            results.entry(what).or_insert_with(|| vec![None; records.len()])[place] = Some(found);
        }
    }
    let (mut rows, mut lonely) = (Vec::new(), Vec::new());
    for (what, found) in BTreeMap::from_iter(results) {
        match row(&what, &found) {
            Ok(row) => rows.push(row),
            Err(why) => {
                let is_measured = |found: &DigestResult| found.outcome.is_ok();
                let has = found.iter().map(|found| found.is_some_and(is_measured)).collect();
                lonely.push(Lonely { what: what.into_owned(), has, why });
            }
        }
    }
    for place in 0..records.len().saturating_sub(1) {
        heed_chance(&mut rows, place);
    }
    rows.sort_by(|a: &ResultRow, b| b.size().total_cmp(&a.size()));
    let causes = causes::of(&settings, &rows);
    let schema = "cpudyno.comparison/1";
    Comparison { schema, records: sources, settings, known_to_some, results: rows, lonely, causes }
}

/// A result of a pair of CPUs by these alone: a matrix says neither how they lie to each other nor of how many lines.
fn by_cpus(what: &What) -> Cow<'_, What> {
    if what.area != "cores" || what.cpus.is_none() {
        return Cow::Borrowed(what);
    }
    let mut what = what.clone();
    what.parameters.retain(|name, _| !matches!(name.as_str(), "between" | "lines"));
    Cow::Owned(what)
}

/// Of hundreds of results some differ by chance alone: what is told of one record has to be so unlikely
/// that no more than one in twenty of all that is told is such.
fn heed_chance(rows: &mut [ResultRow], place: usize) {
    let besides = rows.iter_mut().filter_map(|row| row.beside[place].as_mut());
    let mut asked: Vec<&mut RelativeValue> =
        besides.filter(|one| one.false_share.is_some()).collect();
    let chances: Vec<f64> = asked.iter().filter_map(|one| one.false_share).collect();
    for (one, share) in asked.iter_mut().zip(false_shares(&chances)) {
        one.false_share = Some(share);
        let differs = !matches!(one.verdict, RatioVerdict::Same | RatioVerdict::CannotTell);
        if differs && share > FALSE_MAX {
            one.verdict = RatioVerdict::CannotTell;
        }
    }
}

/// The share of false ones among differences that are told.
pub const FALSE_MAX: f64 = 0.05;

impl Comparison {
    /// The first of the further records of which no result has a verdict.
    pub fn undecided(&self) -> Option<&RecordSource> {
        let told = |place: usize| {
            let mut rows = self.results.iter().filter_map(move |row| row.beside[place]);
            rows.any(|beside| beside.verdict != RatioVerdict::CannotTell)
        };
        let mut others = self.records.iter().skip(1).enumerate();
        others.find(|(place, _)| !told(*place)).map(|(_, record)| record)
    }

    /// Whether that other record has a result in common with the first.
    fn is_compared(&self, place: usize) -> bool {
        self.results.iter().any(|row| row.beside[place - 1].is_some())
    }

    /// How many results of the first record or of that other one have no ratio of the two.
    fn not_compared(&self, place: usize) -> usize {
        let rows = self.results.iter().filter(|row| row.beside[place - 1].is_none()).count();
        let lonely = self.lonely.iter().filter(|it| it.has[0] || it.has[place]).count();
        rows + lonely
    }

    /// The results that are worse by more than a share, the worst first.
    pub fn worse_by(&self, share: f64) -> Vec<&ResultRow> {
        let mut rows: Vec<(f64, &ResultRow)> =
            self.results.iter().map(|row| (row.worse_by(), row)).collect();
        rows.retain(|(by, _)| *by > share);
        rows.sort_by(|a, b| b.0.total_cmp(&a.0));
        rows.into_iter().map(|(_, row)| row).collect()
    }
}

impl Setting {
    /// Whether the record in that place says something else than the first, where both are known.
    fn differs_in(&self, place: usize) -> bool {
        let [first, other] = [0, place].map(|place| self.values[place].as_ref());
        first.zip(other).is_some_and(|(first, other)| first != other)
    }
}

impl ResultRow {
    /// How far the furthest record is from the first, where that is certain: a log ratio.
    fn size(&self) -> f64 {
        self.beside.iter().flatten().map(RelativeValue::certain).fold(0.0, f64::max)
    }

    /// Whether any record differs from the first with certainty.
    pub fn differs(&self) -> bool {
        self.size() > 0.0
    }

    /// Whether the record in that place, which is not the first, does.
    fn differs_in(&self, place: usize) -> bool {
        self.beside[place - 1].as_ref().is_some_and(|beside| beside.certain() > 0.0)
    }

    /// Whether one of these records does.
    fn differs_among(&self, places: &[usize]) -> bool {
        places.iter().any(|place| *place > 0 && self.differs_in(*place))
    }

    /// The place of the record that is worse with most certainty, where one is.
    pub fn worst(&self) -> Option<usize> {
        let worse = |place: &usize| {
            let beside = self.beside[place - 1].as_ref();
            beside
                .filter(|it| it.verdict == RatioVerdict::Worse)
                .map_or(0.0, RelativeValue::certain)
        };
        let places = (1..=self.beside.len()).filter(|place| worse(place) > 0.0);
        places.max_by(|a, b| worse(a).total_cmp(&worse(b)))
    }

    /// By which share the worst record is worse with certainty: 0.05 is 5 %.
    fn worse_by(&self) -> f64 {
        let all = self.beside.iter().flatten();
        let worse = all.filter(|beside| beside.verdict == RatioVerdict::Worse);
        worse.map(RelativeValue::certain).fold(0.0, f64::max).exp_m1()
    }
}

impl RelativeValue {
    /// The log ratio of the interval's end that is nearest to one, where one is not within it.
    fn certain(&self) -> f64 {
        match (self.verdict, self.interval) {
            (
                RatioVerdict::Better | RatioVerdict::Worse | RatioVerdict::Differs,
                Some([low, high]),
            ) => low.ln().abs().min(high.ln().abs()),
            _ => 0.0,
        }
    }
}

/// A result of the first record and of others; or why there is none, where one of them says so.
fn row(what: &What, found: &[Option<&DigestResult>]) -> Result<ResultRow, Option<String>> {
    let why =
        || found.iter().flatten().find_map(|one| Some(one.outcome.as_ref().err()?.why.clone()));
    let all = found.iter().map(|one| one.and_then(|one| Some((one, one.outcome.as_ref().ok()?))));
    let all: Vec<Option<(&DigestResult, &Measured)>> = all.collect();
    let [Some((first, measured)), others @ ..] = all.as_slice() else { return Err(why()) };
    if others.iter().all(Option::is_none) {
        return Err(why());
    }
    let alike = |one: &DigestResult| one.unit == first.unit;
    let against_first = |(one, other): &(&DigestResult, &Measured)| {
        let has_ratio = alike(one) && measured.median > 0.0 && other.median > 0.0;
        has_ratio.then(|| RelativeValue {
            // The chance of this one; of all of them together it is told later.
            false_share: welch(&measured.blocks(), &other.blocks()),
            ..beside(measured.value(), other.value(), first.better)
        })
    };
    let beside = others.iter().map(|other| other.as_ref().and_then(against_first));
    let beside: Vec<Option<RelativeValue>> = beside.collect();
    if beside.iter().all(Option::is_none) {
        return Err(Some("numbers that are not above zero have no ratio".to_owned()));
    }
    let value = |(one, measured): &(&DigestResult, &Measured)| alike(one).then(|| measured.value());
    let values = all.iter().map(|one| one.as_ref().and_then(value)).collect();
    Ok(ResultRow { what: what.clone(), unit: first.unit, better: first.better, values, beside })
}

fn beside(first: Value, other: Value, better: Option<Better>) -> RelativeValue {
    let interval = first.interval.zip(other.interval).and_then(|(first, other)| {
        let ends = [other[0] / first[1], other[1] / first[0]];
        ends.iter().all(|end| end.is_finite() && *end > 0.0).then_some(ends)
    });
    let band = BAND.ln_1p();
    let verdict = match interval.map(|ends| ends.map(f64::ln)) {
        Some([low, high]) if low >= -band && high <= band => RatioVerdict::Same,
        Some([low, _]) if low > 0.0 => side(better, Better::More),
        Some([_, high]) if high < 0.0 => side(better, Better::Less),
        _ => RatioVerdict::CannotTell,
    };
    RelativeValue { ratio: other.median / first.median, interval, false_share: None, verdict }
}

/// What it is to be on that side, by which is better.
fn side(better: Option<Better>, is: Better) -> RatioVerdict {
    match better {
        None => RatioVerdict::Differs,
        Some(better) if better == is => RatioVerdict::Better,
        Some(_) => RatioVerdict::Worse,
    }
}

#[cfg(test)]
mod tests {
    use model::{Obstacle, Unavailable};

    use super::*;

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
        let share = |first, other, better| {
            (beside(first, other, better).certain().exp_m1() * 100.0).round()
        };
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
}
