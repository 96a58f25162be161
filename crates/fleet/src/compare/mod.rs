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

pub use model::record::ResultKey as What;
use model::record::{Digest, DigestResult, Measured, ResultValue as Value};
use model::stats::paired::{BAND, Better};
use model::stats::welch::{false_shares, welch};
use model::{Unit, areas};
use serde::Serialize;

pub(crate) use self::causes::{known as known_cause, may_be_set as can_be_chosen};
pub use self::page::{drawn, page};
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
    if what.area != areas::cores::AREA || what.cpus.is_none() {
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
mod tests;
