//! Records on their way into a pack, as rows of numbers: what they are called is kept once.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, PoisonError};
use std::time::UNIX_EPOCH;

use model::record::{Digest, DigestRun, Skim, SkimResult};

use super::schema;
use crate::reference;
use crate::survey::{Numbered, ResultColumn, beginning_of, column, write_key};

/// What the numbers of runs mean, and which runs the pack has already. Several threads ask at once.
#[derive(Debug)]
pub struct Ledger {
    names: Mutex<PackNames>,
    known: HashSet<(String, String)>,
}

/// What was seen so far.
#[derive(Debug, Default)]
pub(super) struct PackNames {
    /// Ids and labels.
    pub facts: Numbered<String, [String; 2]>,
    pub texts: Numbered<String, String>,
    /// With the CPUs, where they tell it from another.
    pub results: Numbered<String, ResultColumn>,
}

/// A record, as a pack takes it.
#[derive(Debug)]
pub enum Packable {
    /// A run that the pack has.
    Known,
    /// One that it has not.
    New(Box<PackedRun>),
}

/// A run of a machine.
#[derive(Debug)]
pub struct PackedRun {
    pub(super) host: String,
    /// As the record says it.
    pub(super) started: String,
    /// In microseconds since 1970, where it is a time.
    pub(super) time: Option<i64>,
    /// Of its machine, a text.
    pub(super) kind: u32,
    /// A text.
    pub(super) quality: u32,
    /// Facts and texts.
    pub(super) facts: Vec<(u32, Option<u32>)>,
    pub(super) results: Vec<PackedResult>,
}

/// A result of a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct PackedResult {
    pub result: u32,
    pub value: f64,
    pub interval: Option<[f32; 2]>,
    pub blocks: u32,
}

/// A file that is no record.
#[derive(Debug, Clone)]
pub struct Remark {
    /// The machine that it is named after.
    pub host: String,
    /// The file.
    pub file: String,
    /// When it was written: RFC 3339, UTC.
    pub time: String,
    /// Why it is none.
    pub why: String,
}

impl Ledger {
    /// A pack has these machines at these times already.
    pub(super) fn new(known: HashSet<(String, String)>) -> Ledger {
        let mut names = PackNames::default();
        for [id, label] in schema::OWN {
            names.fact(id, label);
        }
        Ledger { names: Mutex::new(names), known }
    }

    /// The run of a record that begins with a digest; `None` where it does not.
    pub fn run(&self, host: &str, beginning: &str) -> Option<Packable> {
        let skim = Skim::read(beginning)?;
        let run = (host.to_owned(), skim.run.started.clone());
        if self.known.contains(&run) {
            return Some(Packable::Known);
        }
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        Some(Packable::New(Box::new(names.run(run, &skim))))
    }

    /// That of any digest.
    pub fn run_of(&self, host: &str, digest: &Digest) -> Option<Packable> {
        self.run(host, &beginning_of(digest)?)
    }

    /// What is no record as a run that says why; `None` where the pack says so already.
    pub(super) fn remark(&self, remark: &Remark) -> Option<PackedRun> {
        if self.known.contains(&(remark.host.clone(), remark.time.clone())) {
            return None;
        }
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let says = [
            (schema::STARTED, &remark.time),
            (schema::ID, &remark.file),
            (schema::UNREADABLE, &remark.why),
        ];
        let facts = says.map(|(id, text)| (names.fact(id, id), Some(names.text(text))));
        let none = names.text("");
        Some(PackedRun {
            host: remark.host.clone(),
            started: remark.time.clone(),
            time: microseconds(&remark.time),
            kind: none,
            quality: none,
            facts: facts.to_vec(),
            results: Vec::new(),
        })
    }

    pub(super) fn names(&mut self) -> &PackNames {
        self.names.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PackNames {
    fn fact(&mut self, id: &str, label: &str) -> u32 {
        self.facts.add(id, || [id.to_owned(), label.to_owned()])
    }

    fn text(&mut self, text: &str) -> u32 {
        self.texts.add(text, || text.to_owned())
    }

    fn run(&mut self, (host, started): (String, String), skim: &Skim<'_>) -> PackedRun {
        let own = own(skim);
        let facts = skim.facts.iter().map(|fact| (fact.id(), fact.label(), fact.text()));
        let own = own.iter().map(|(id, text)| (*id, *id, text.as_deref()));
        let facts = own.chain(facts).map(|(id, label, text)| {
            let text = text.map(|text| self.text(text));
            (self.fact(id, label), text)
        });
        let facts = facts.collect();
        let mut key = String::new();
        let results = skim.results().map(|result| self.result(&mut key, &result)).collect();
        PackedRun {
            time: microseconds(&started),
            kind: self.text(&kind(skim)),
            quality: self.text(quality(&skim.run)),
            host,
            started,
            facts,
            results,
        }
    }

    fn result(&mut self, key: &mut String, result: &SkimResult<'_>) -> PackedResult {
        write_key(key, result);
        if let Some(cpus) = result.cpus {
            key.push('\0');
            key.push_str(cpus);
        }
        let owned = || {
            let mut column = column(result);
            column.what.cpus = result.cpus.map(str::to_owned);
            column
        };
        PackedResult {
            result: self.results.add(key, owned),
            value: result.value.median,
            interval: result.value.interval.map(|ends| ends.map(|end| end as f32)),
            blocks: result.blocks as u32,
        }
    }
}

/// What is known of the run itself.
fn own(skim: &Skim<'_>) -> [(&'static str, Option<String>); 7] {
    let run = &skim.run;
    [
        (schema::STARTED, Some(run.started.clone())),
        (schema::ID, Some(run.id.clone())),
        (schema::PACKAGES, Some(skim.packages.to_string())),
        (schema::CORES, Some(skim.cores.to_string())),
        (schema::SIMULATED, run.simulated.clone()),
        (schema::ELSEWHERE, run.elsewhere.clone()),
        (schema::INTERRUPTED, run.interrupted.clone()),
    ]
}

/// What numbers of a run are worth, in a word.
fn quality(run: &DigestRun) -> &'static str {
    match (&run.simulated, &run.interrupted, &run.elsewhere) {
        (Some(_), ..) => "SIMULATED",
        (None, Some(_), _) => "interrupted",
        (None, None, Some(_)) => "elsewhere",
        (None, None, None) => "measured",
    }
}

/// What makes a machine's kind, as one text.
fn kind(skim: &Skim<'_>) -> String {
    let texts: BTreeMap<&str, &str> =
        skim.facts.iter().filter_map(|fact| Some((fact.id(), fact.text()?))).collect();
    let said = |id: &str| texts.get(id).map(|text| (*text).to_owned());
    let simulated = skim.run.simulated.as_ref().map(|_| "yes".to_owned());
    let alike = reference::alike(simulated, skim.packages, skim.cores, said);
    let words = alike.into_iter().map(|(label, value)| format!("{label} {value}"));
    words.collect::<Vec<_>>().join(", ")
}

fn microseconds(time: &str) -> Option<i64> {
    let since = humantime::parse_rfc3339(time).ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_micros()).ok()
}
