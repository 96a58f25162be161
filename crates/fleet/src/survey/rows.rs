//! Records of many machines, each as a row of numbers: what facts, texts and results are called is kept once.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError, RwLock};

use model::Unit;
use model::record::{Digest, ResultKey, ResultValue, Skim, SkimResult};
use model::stats::paired::Better;
use serde::Serialize;

use crate::threads::each;

/// Machines and what their numbers mean. Rows are added from several threads.
#[derive(Debug, Default)]
pub struct Rows {
    names: RwLock<Names>,
}

/// What the numbers of rows mean.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// The id and the label of each fact.
    pub(crate) facts: Numbered<String, [String; 2]>,
    /// What facts say.
    pub(crate) texts: Numbered<String, String>,
    /// The results, and their units and better directions.
    pub(crate) results: Numbered<String, ResultColumn>,
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

impl ResultColumn {
    /// Whether it is what that result is of; as [`write_key`] tells one from others.
    fn is_of(&self, result: &SkimResult<'_>) -> bool {
        let ResultKey { area, workload, quantity, active, cpus: _, parameters } = &self.what;
        let parameters = parameters.iter().map(|(name, value)| (&**name, &**value));
        area == result.area
            && workload == result.workload
            && quantity == result.quantity
            && *active == result.active
            && parameters.eq(result.parameters())
    }
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
    /// By the number of a fact: the number of its text, or [`NO_TEXT`].
    facts: Vec<u32>,
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

/// It says nothing of a fact.
const NO_TEXT: u32 = u32::MAX;

const NONE: HostNumber = HostNumber { median: f64::NAN, low: f32::NAN, high: f32::NAN };

/// Things that were seen, each with a number.
#[derive(Debug, Clone)]
pub(crate) struct Numbered<K, V> {
    numbers: HashMap<K, u32>,
    values: Vec<V>,
}

impl<K, V> Default for Numbered<K, V> {
    fn default() -> Self {
        Numbered { numbers: HashMap::new(), values: Vec::new() }
    }
}

impl<V> Numbered<String, V> {
    pub(crate) fn number(&self, key: &str) -> Option<u32> {
        self.numbers.get(key).copied()
    }

    /// That number, where it is of what is looked for: most machines say the same in the same order, and to compare is
    /// faster than to look up.
    fn at(&self, number: u32, is_it: impl Fn(&V) -> bool) -> Option<u32> {
        self.values.get(number as usize).filter(|value| is_it(value)).map(|_| number)
    }

    pub(crate) fn add(&mut self, key: &str, value: impl FnOnce() -> V) -> u32 {
        if let Some(number) = self.number(key) {
            return number;
        }
        let number = self.values.len() as u32;
        self.numbers.insert(key.to_owned(), number);
        self.values.push(value());
        number
    }

    /// Numbers them in the order of their keys; gives the new number of each old one.
    fn in_order(&mut self) -> Vec<u32> {
        let mut keys: Vec<(&str, u32)> = self.numbers.iter().map(|it| (&**it.0, *it.1)).collect();
        keys.sort_unstable();
        let mut moved = vec![0; keys.len()];
        for (new, (_, old)) in keys.iter().enumerate() {
            moved[*old as usize] = new as u32;
        }
        for number in self.numbers.values_mut() {
            *number = moved[*number as usize];
        }
        let mut values: Vec<(u32, V)> =
            moved.iter().copied().zip(std::mem::take(&mut self.values)).collect();
        values.sort_unstable_by_key(|it| it.0);
        self.values = values.into_iter().map(|it| it.1).collect();
        moved
    }
}

impl<K: Hash + Eq, V> Numbered<K, V> {
    pub(crate) fn all(&self) -> &[V] {
        &self.values
    }
}

impl Host {
    /// A machine of which nothing is known yet.
    pub(crate) fn new(name: &str, file: &str, started: &str) -> Host {
        Host {
            name: name.to_owned(),
            file: file.to_owned(),
            page: None,
            started: started.to_owned(),
            interrupted: None,
            is_simulated: false,
            packages: 0,
            cores: 0,
            facts: Vec::new(),
            results: Vec::new(),
        }
    }

    /// The number of what it says of a fact.
    pub(super) fn fact(&self, number: usize) -> Option<u32> {
        self.facts.get(number).copied().filter(|text| *text != NO_TEXT)
    }

    /// Its number for a result, if it has one.
    pub(super) fn result(&self, number: usize) -> Option<HostNumber> {
        self.results.get(number).copied().filter(|cell| !cell.median.is_nan())
    }

    /// The same machine, of which nothing was measured yet.
    #[must_use]
    pub fn without_results(&self) -> Host {
        Host { results: Vec::new(), ..self.clone() }
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
        self.row(name, file, &beginning_of(digest)?)
    }

    /// Whether some of a machine's CPUs compute wrong, where answers were compared.
    pub fn is_wrong(&self, host: &Host) -> Option<bool> {
        host.is_wrong(&self.names.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The number of a fact.
    #[cfg(feature = "parquet")]
    pub(crate) fn fact(&self, id: &str, label: &str) -> u32 {
        let mut names = self.names.write().unwrap_or_else(PoisonError::into_inner);
        names.facts.add(id, || [id.to_owned(), label.to_owned()])
    }

    /// The number of a text.
    #[cfg(feature = "parquet")]
    pub(crate) fn text(&self, text: &str) -> u32 {
        self.names.write().unwrap_or_else(PoisonError::into_inner).text(text)
    }

    /// The number of a result.
    #[cfg(feature = "parquet")]
    pub(crate) fn result(&self, column: &ResultColumn) -> u32 {
        let mut names = self.names.write().unwrap_or_else(PoisonError::into_inner);
        names.results.add(&key_of(&column.what), || column.clone())
    }

    fn skimmed(&self, name: &str, file: &str, skim: &Skim<'_>) -> Host {
        let mut host = Host {
            interrupted: skim.run.interrupted.clone(),
            is_simulated: skim.run.simulated.is_some(),
            packages: skim.packages,
            cores: skim.cores,
            ..Host::new(name, file, &skim.run.started)
        };
        let mut pending = Vec::new();
        // Nearly everything is known from the first machine, and readers do not wait for each other.
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        let (mut key, mut next) = (String::new(), 0);
        for fact in &skim.facts {
            let known = names.facts.at(next, |[id, _]| *id == fact.id());
            let known = known.or_else(|| names.facts.number(fact.id()));
            next = known.map_or(next, |number| number + 1);
            match (known, fact.text()) {
                (Some(id), Some(text)) if let Some(text) = names.texts.number(text) => {
                    put(&mut host.facts, id, text, NO_TEXT);
                }
                (Some(_), None) => {}
                _ => pending.push(Pending::Fact(fact)),
            }
        }
        next = 0;
        for result in skim.results() {
            let known = names.results.at(next, |column| column.is_of(&result));
            let known = known.or_else(|| {
                write_key(&mut key, &result);
                names.results.number(&key)
            });
            next = known.map_or(next, |number| number + 1);
            match known {
                Some(number) => host.put_result(number, result.better, result.value),
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
                    put(&mut host.facts, id, text.unwrap_or(NO_TEXT), NO_TEXT);
                }
                Pending::Result(result) => {
                    write_key(&mut key, &result);
                    let number = names.results.add(&key, || column(&result));
                    host.put_result(number, result.better, result.value);
                }
            }
        }
    }

    /// What the numbers mean, when all rows are there.
    pub fn names(self) -> Names {
        self.names.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same, numbered by what they mean and not by who came first: threads read in any order.
    pub fn names_in_order(self, hosts: &mut [Host]) -> Names {
        /// So many take longer than a thread takes to come for more.
        const PART: usize = 1000;
        let mut names = self.names();
        let [facts, texts, results] =
            [names.facts.in_order(), names.texts.in_order(), names.results.in_order()];
        let move_all = |hosts: &mut [Host]| {
            let (mut says, mut cells) = (Vec::new(), Vec::new());
            for host in hosts {
                says.clear();
                says.resize(facts.len(), NO_TEXT);
                for (text, fact) in host.facts.iter().zip(&facts) {
                    says[*fact as usize] = texts.get(*text as usize).copied().unwrap_or(NO_TEXT);
                }
                std::mem::swap(&mut host.facts, &mut says);
                cells.clear();
                cells.resize(results.len(), NONE);
                for (cell, result) in host.results.iter().zip(&results) {
                    cells[*result as usize] = *cell;
                }
                std::mem::swap(&mut host.results, &mut cells);
            }
        };
        let parts: Vec<Mutex<&mut [Host]>> = hosts.chunks_mut(PART).map(Mutex::new).collect();
        let move_part =
            |part: usize| move_all(&mut parts[part].lock().unwrap_or_else(PoisonError::into_inner));
        each(parts.len(), move_part);
        names
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

    /// The same of numbers that are ratios of speeds.
    pub(super) fn of_ratios(&self) -> Names {
        let mut names = self.clone();
        for column in &mut names.results.values {
            column.unit = Unit::One;
            column.better = column.better.map(|_| Better::More);
        }
        names
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
            put(&mut host.facts, number, text.unwrap_or(NO_TEXT), NO_TEXT);
        }
    }
}

impl Host {
    /// Of several that differ by their CPUs alone, the worst one counts: a fault of one node is none of the others.
    pub(crate) fn put_result(&mut self, number: u32, better: Option<Better>, value: ResultValue) {
        let ResultValue { median, interval } = value;
        // Parts of nothing are no parts.
        if median <= 0.0 || !median.is_finite() {
            return;
        }
        let [low, high] = interval.map_or([f32::NAN; 2], |ends| ends.map(|end| end as f32));
        let cell = HostNumber { median, low, high };
        let is_worse = |known: HostNumber| match better {
            Some(Better::More) | None => median < known.median,
            Some(Better::Less) => median > known.median,
        };
        if self.result(number as usize).is_none_or(is_worse) {
            put(&mut self.results, number, cell, NONE);
        }
    }

    /// What it says of a fact.
    pub(crate) fn put_fact(&mut self, number: u32, text: Option<u32>) {
        put(&mut self.facts, number, text.unwrap_or(NO_TEXT), NO_TEXT);
    }
}

fn put<T: Clone>(row: &mut Vec<T>, number: u32, value: T, none: T) {
    let place = number as usize;
    if row.len() <= place {
        row.resize(place + 1, none);
    }
    row[place] = value;
}

/// What tells a result from others, but for the CPUs, as one text.
pub(crate) fn write_key(key: &mut String, result: &SkimResult<'_>) {
    let what = [result.area, result.workload, result.quantity];
    write_parts(key, what, result.active, result.parameters());
}

#[cfg(feature = "parquet")]
fn key_of(what: &ResultKey) -> String {
    let mut key = String::new();
    let parameters = what.parameters.iter().map(|(name, value)| (&**name, &**value));
    write_parts(&mut key, [&what.area, &what.workload, &what.quantity], what.active, parameters);
    key
}

fn write_parts<'a>(
    key: &mut String,
    what: [&str; 3],
    active: usize,
    parameters: impl Iterator<Item = (&'a str, &'a str)>,
) {
    key.clear();
    for word in what {
        key.push_str(word);
        key.push('\0');
    }
    let _ = write!(key, "{active}");
    for (name, value) in parameters {
        for word in ["\0", name, "=", value] {
            key.push_str(word);
        }
    }
}

/// What a record begins with.
pub fn beginning_of(digest: &Digest) -> Option<String> {
    let text = serde_json::to_string(digest).ok()?;
    Some(format!(r#"{{"schema":"{}","digest":{text}}}"#, model::record::SCHEMA))
}

pub(crate) fn column(result: &SkimResult<'_>) -> ResultColumn {
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
