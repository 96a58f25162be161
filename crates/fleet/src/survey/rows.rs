//! Records of many machines, each as a row of numbers: what facts, texts and results are called is kept once.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::hash::Hash;
use std::sync::{PoisonError, RwLock};

use model::Unit;
use model::record::{Digest, ResultKey, ResultValue, Skim, SkimResult};
use model::stats::paired::Better;
use serde::Serialize;

/// Machines and what their numbers mean. Rows are added from several threads.
#[derive(Debug, Default)]
pub struct Rows {
    names: RwLock<Names>,
}

/// What the numbers of rows mean.
#[derive(Debug, Default)]
pub struct Names {
    /// The id and the label of each fact.
    pub(super) facts: Numbered<String, [String; 2]>,
    /// What facts say.
    pub(super) texts: Numbered<String, String>,
    /// The results, and their units and better directions.
    pub(super) results: Numbered<String, ResultColumn>,
}

/// A result that machines have.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ResultColumn {
    /// What is measured; which CPUs took part is left out, as machines number them differently.
    #[serde(flatten)]
    pub what: ResultKey,
    /// Its unit.
    pub unit: Unit,
    /// Which direction is better, where one is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub better: Option<Better>,
}

/// A machine at a time: what it says of itself, and its results.
#[derive(Debug, Clone)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// The file of its record.
    pub file: String,
    /// A page about it, as a link, where somebody looked for one.
    pub page: Option<String>,
    /// When its run began: RFC 3339, UTC.
    pub started: String,
    /// Why its run ended early.
    pub interrupted: Option<String>,
    /// Whether it is simulated.
    pub is_simulated: bool,
    /// How many packages it has.
    pub packages: usize,
    /// How many cores it has.
    pub cores: usize,
    /// By the number of a fact: the number of its text, if it has one.
    facts: Vec<Option<u32>>,
    /// By the number of a result.
    results: Vec<HostNumber>,
}

/// A result of a machine: its median and 95 % interval; NaN where there is none.
#[derive(Debug, Clone, Copy)]
pub(super) struct HostNumber {
    pub median: f64,
    pub low: f32,
    pub high: f32,
}

const NONE: HostNumber = HostNumber { median: f64::NAN, low: f32::NAN, high: f32::NAN };

/// Things that were seen, each with a number.
#[derive(Debug)]
pub(super) struct Numbered<K, V> {
    numbers: HashMap<K, u32>,
    values: Vec<V>,
}

impl<K, V> Default for Numbered<K, V> {
    fn default() -> Self {
        Numbered { numbers: HashMap::new(), values: Vec::new() }
    }
}

impl<V> Numbered<String, V> {
    fn number(&self, key: &str) -> Option<u32> {
        self.numbers.get(key).copied()
    }

    fn add(&mut self, key: &str, value: impl FnOnce() -> V) -> u32 {
        if let Some(number) = self.number(key) {
            return number;
        }
        let number = self.values.len() as u32;
        self.numbers.insert(key.to_owned(), number);
        self.values.push(value());
        number
    }
}

impl<K: Hash + Eq, V> Numbered<K, V> {
    pub(super) fn all(&self) -> &[V] {
        &self.values
    }
}

impl Host {
    /// The number of what it says of a fact.
    pub(super) fn fact(&self, number: usize) -> Option<u32> {
        self.facts.get(number).copied().flatten()
    }

    /// Its number for a result, if it has one.
    pub(super) fn result(&self, number: usize) -> Option<HostNumber> {
        self.results.get(number).copied().filter(|cell| !cell.median.is_nan())
    }

    /// How many results it has.
    pub fn result_count(&self) -> usize {
        self.results.iter().filter(|cell| !cell.median.is_nan()).count()
    }
}

impl Rows {
    /// The row of a record that begins with a digest; `None` where it does not.
    pub fn row(&self, name: &str, file: &str, beginning: &str) -> Option<Host> {
        Some(self.skimmed(name, file, &Skim::read(beginning)?))
    }

    /// The row of any digest.
    pub fn row_of(&self, name: &str, file: &str, digest: &Digest) -> Option<Host> {
        let text = serde_json::to_string(digest).ok()?;
        let head = format!(r#"{{"schema":"{}","digest":{text}}}"#, model::record::SCHEMA);
        self.row(name, file, &head)
    }

    fn skimmed(&self, name: &str, file: &str, skim: &Skim<'_>) -> Host {
        let mut host = Host {
            name: name.to_owned(),
            file: file.to_owned(),
            page: None,
            started: skim.run.started.clone(),
            interrupted: skim.run.interrupted.clone(),
            is_simulated: skim.run.simulated.is_some(),
            packages: skim.packages,
            cores: skim.cores,
            facts: Vec::new(),
            results: Vec::new(),
        };
        let mut pending = Vec::new();
        // Nearly everything is known from the first machine, and readers do not wait for each other.
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        let mut key = String::new();
        for fact in &skim.facts {
            match (names.facts.number(fact.id()), fact.text()) {
                (Some(id), Some(text)) if let Some(text) = names.texts.number(text) => {
                    put(&mut host.facts, id, Some(text), None);
                }
                (Some(_), None) => {}
                _ => pending.push(Pending::Fact(fact)),
            }
        }
        for result in skim.results() {
            write_key(&mut key, &result);
            match names.results.number(&key) {
                Some(number) => host.put_result(number, &result),
                None => pending.push(Pending::Result(Box::new(result))),
            }
        }
        drop(names);
        if !pending.is_empty() {
            self.learn(&mut host, pending);
        }
        host
    }

    fn learn(&self, host: &mut Host, pending: Vec<Pending<'_>>) {
        let mut names = self.names.write().unwrap_or_else(PoisonError::into_inner);
        let mut key = String::new();
        for new in pending {
            match new {
                Pending::Fact(fact) => {
                    let labelled = || [fact.id().to_owned(), fact.label().to_owned()];
                    let id = names.facts.add(fact.id(), labelled);
                    let text = fact.text().map(|text| names.texts.add(text, || text.to_owned()));
                    put(&mut host.facts, id, text, None);
                }
                Pending::Result(result) => {
                    write_key(&mut key, &result);
                    let number = names.results.add(&key, || column(&result));
                    host.put_result(number, &result);
                }
            }
        }
    }

    /// What the numbers mean, when all rows are there.
    pub fn names(self) -> Names {
        self.names.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What no machine before it said.
enum Pending<'a> {
    Fact(&'a model::record::SkimFact<'a>),
    Result(Box<SkimResult<'a>>),
}

impl Names {
    /// The number of a fact that has that id.
    pub(super) fn fact(&self, id: &str) -> Option<usize> {
        self.facts.number(id).map(|number| number as usize)
    }

    /// What a number of a text stands for.
    pub(super) fn said(&self, text: u32) -> &str {
        &self.texts.all()[text as usize]
    }

    /// The number of a text.
    pub(super) fn text(&mut self, text: &str) -> u32 {
        self.texts.add(text, || text.to_owned())
    }

    /// Gives each machine one more fact.
    pub fn say(
        &mut self,
        id: &str,
        label: &str,
        hosts: &mut [Host],
        says: impl Fn(&Host) -> Option<String>,
    ) {
        let number = self.facts.add(id, || [id.to_owned(), label.to_owned()]);
        for host in hosts {
            let text = says(host).map(|text| self.text(&text));
            put(&mut host.facts, number, text, None);
        }
    }
}

impl Host {
    /// Of several that differ by their CPUs alone, the worst one counts: a fault of one node is none of the others.
    fn put_result(&mut self, number: u32, result: &SkimResult<'_>) {
        let ResultValue { median, interval } = result.value;
        // Parts of nothing are no parts.
        if median <= 0.0 || !median.is_finite() {
            return;
        }
        let [low, high] = interval.map_or([f32::NAN; 2], |ends| ends.map(|end| end as f32));
        let cell = HostNumber { median, low, high };
        let is_worse = |known: HostNumber| match result.better {
            Some(Better::More) | None => median < known.median,
            Some(Better::Less) => median > known.median,
        };
        if self.result(number as usize).is_none_or(is_worse) {
            put(&mut self.results, number, cell, NONE);
        }
    }
}

fn put<T: Clone>(row: &mut Vec<T>, number: u32, value: T, none: T) {
    let place = number as usize;
    if row.len() <= place {
        row.resize(place + 1, none);
    }
    row[place] = value;
}

fn write_key(key: &mut String, result: &SkimResult<'_>) {
    key.clear();
    for word in [result.area, result.workload, result.quantity] {
        key.push_str(word);
        key.push('\0');
    }
    let _ = write!(key, "{}", result.active);
    for (name, value) in result.parameters() {
        for word in ["\0", name, "=", value] {
            key.push_str(word);
        }
    }
}

fn column(result: &SkimResult<'_>) -> ResultColumn {
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    ResultColumn {
        what: ResultKey {
            area: result.area.to_owned(),
            workload: result.workload.to_owned(),
            quantity: result.quantity.to_owned(),
            active: result.active,
            cpus: None,
            parameters: result.parameters().map(owned).collect(),
        },
        unit: result.unit,
        better: result.better,
    }
}
