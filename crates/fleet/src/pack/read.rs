//! Packs as rows of machines: of each machine the newest run alone is read.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use model::Unit;
use model::record::{ResultKey, ResultValue};
use model::stats::paired::Better;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use serde::de::DeserializeOwned;

use super::coded::{Coded, NONE, doubles, floats};
use super::{FACTS, PackError, PackedHosts, RESULTS, schema};
use crate::survey::{Host, LeftOutHost, ResultColumn, Rows};
use crate::threads::each;
use crate::window::RunWindow;

/// What a pack says of a run beside its facts and results.
#[derive(Debug, Default)]
struct Run {
    host: String,
    time: Option<i64>,
    /// By the place in [`schema::OWN`].
    says: [Option<String>; schema::OWN.len()],
}

/// A row group of a pack, the same in both tables.
#[derive(Debug, Clone)]
struct Place {
    facts: PathBuf,
    group: usize,
}

/// The newest run of each machine, and that before the time since which changes are asked for; their names among those
/// of the rows.
pub fn read(
    packs: &[PathBuf],
    window: &RunWindow,
    rows: &Rows,
) -> std::result::Result<PackedHosts, PackError> {
    let (mut all, mut left_out) = (Vec::new(), Vec::new());
    for pack in packs {
        let (runs, unread) = runs(&files(pack)?);
        all.extend(runs);
        left_out.extend(unread);
    }
    left_out.extend(remarks(&all));
    let mut found = PackedHosts { left_out, ..PackedHosts::default() };
    let mut newest: BTreeMap<(&str, bool), (&str, usize, usize)> = BTreeMap::new();
    for (place, (_, runs)) in all.iter().enumerate() {
        for (number, run) in runs.iter().enumerate() {
            if run.says(schema::UNREADABLE).is_some() {
                continue;
            }
            if window.refused(&run.host, run.started(), run.says(schema::INTERRUPTED)).is_some() {
                found.hosts.push(run.host(&all[place].0.facts));
            } else {
                let it = (run.started(), place, number);
                let time = window.is_before(run.started());
                let known = newest.entry((&run.host, time)).or_insert(it);
                let older = known.0.min(it.0);
                if known.0 != it.0 {
                    found.older.push((run.host.clone(), older.to_owned()));
                }
                if known.0 < it.0 {
                    *known = it;
                }
            }
        }
    }
    let mut wanted: Vec<Vec<usize>> = vec![Vec::new(); all.len()];
    for (_, place, number) in newest.into_values() {
        wanted[place].push(number);
    }
    let read = each(all.len(), |place| {
        let (at, runs) = &all[place];
        let wanted: Vec<&Run> = wanted[place].iter().map(|number| &runs[*number]).collect();
        let hosts = if wanted.is_empty() { Ok(Vec::new()) } else { hosts(at, &wanted, rows) };
        let left_out = |why: &PackError| {
            let of_run = |run: &&Run| unreadable(&run.host, &at.facts, why);
            wanted.iter().map(of_run).collect::<Vec<_>>()
        };
        hosts.map_err(|why| left_out(&why))
    });
    for hosts in read {
        match hosts {
            Ok(hosts) => found.hosts.extend(hosts),
            Err(left_out) => found.left_out.extend(left_out),
        }
    }
    Ok(found)
}

/// The machines and times that these files have; of those that cannot be read they are packed again.
pub(super) fn known(files: &[PathBuf]) -> HashSet<(String, String)> {
    let runs = runs(files).0.into_iter().flat_map(|(_, runs)| runs);
    runs.map(|run| (run.host.clone(), run.started().to_owned())).collect()
}

/// The files of facts of a pack, in order.
pub(super) fn files(pack: &Path) -> std::result::Result<Vec<PathBuf>, PackError> {
    let entries = |folder: &Path| -> std::result::Result<Vec<PathBuf>, PackError> {
        let unread = |error: std::io::Error| unread(folder, &error.to_string());
        let entries = fs::read_dir(folder).map_err(unread)?;
        entries.map(|entry| Ok(entry.map_err(unread)?.path())).collect()
    };
    let mut files = Vec::new();
    let facts = pack.join(FACTS);
    for month in if facts.is_dir() { entries(&facts)? } else { Vec::new() } {
        if month.is_dir() {
            files.extend(entries(&month)?);
        }
    }
    let is_whole = |file: &PathBuf| {
        let is_hidden = file.file_name().is_some_and(|it| it.as_encoded_bytes().starts_with(b"."));
        !is_hidden && file.extension().is_some_and(|end| end == "parquet")
    };
    files.retain(is_whole);
    files.sort();
    Ok(files)
}

/// The runs of each row group, and files that cannot be read: a file of facts and that of its results are one.
fn runs(files: &[PathBuf]) -> (Vec<(Place, Vec<Run>)>, Vec<LeftOutHost>) {
    let of_file = |file: usize| {
        let facts = &files[file];
        let reader = open(facts)?;
        open(&results_beside(facts))?;
        let group = |group: usize| {
            let runs = runs_of(&*reader.get_row_group(group)?)?;
            Ok((Place { facts: facts.clone(), group }, runs))
        };
        let groups = (0..reader.num_row_groups()).map(group);
        groups.collect::<Result<Vec<_>>>().map_err(|why| unread(facts, &why.to_string()))
    };
    let (mut found, mut unread) = (Vec::new(), Vec::new());
    for (groups, file) in each(files.len(), of_file).into_iter().zip(files) {
        match groups {
            Ok(groups) => found.extend(groups),
            Err(why) => unread.push(unreadable(&file.display().to_string(), file, &why)),
        }
    }
    (found, unread)
}

fn unreadable(name: &str, file: &Path, why: &PackError) -> LeftOutHost {
    let (name, file) = (name.to_owned(), Some(file.display().to_string()));
    let remedy = "take it and its twin in `facts/` or `results/` away, and pack its records again";
    LeftOutHost { name, file, why: format!("{why}; {remedy}") }
}

/// The runs of a row group: its first rows say what there is of them.
fn runs_of(group: &dyn RowGroupReader) -> Result<Vec<Run>> {
    let facts = Coded::read_full(group, "fact", usize::MAX)?;
    let own = |code: u32| {
        let id = facts.text(code)?;
        schema::OWN.iter().position(|own| own[0] == id)
    };
    let own: Vec<Option<usize>> = (0..facts.different() as u32).map(own).collect();
    let places = facts.codes.iter().map_while(|code| own[*code as usize]);
    let places: Vec<usize> = places.collect();
    let read = |name: &str| Coded::read(group, name, places.len());
    let (hosts, times, values) = (read("host")?, read("time")?, read("value")?);
    let mut runs: Vec<Run> = Vec::new();
    let mut numbers: HashMap<(u32, u32), usize> = HashMap::new();
    for (row, place) in places.into_iter().enumerate() {
        let key = (hosts.codes[row], times.codes[row]);
        let number = *numbers.entry(key).or_insert_with(|| {
            let host = hosts.text(key.0).unwrap_or_default().to_owned();
            runs.push(Run { host, time: times.number(key.1), ..Run::default() });
            runs.len() - 1
        });
        runs[number].says[place] = values.text(values.codes[row]).map(str::to_owned);
    }
    Ok(runs)
}

impl Run {
    fn says(&self, id: &str) -> Option<&str> {
        let place = schema::OWN.iter().position(|own| own[0] == id)?;
        self.says[place].as_deref()
    }

    fn started(&self) -> &str {
        self.says(schema::STARTED).unwrap_or_default()
    }

    /// Without facts and results.
    fn host(&self, file: &Path) -> Host {
        let count = |id: &str| self.says(id).and_then(|text| text.parse().ok()).unwrap_or_default();
        let mut host = Host::new(&self.host, &file.display().to_string(), self.started());
        host.interrupted = self.says(schema::INTERRUPTED).map(str::to_owned);
        host.is_simulated = self.says(schema::SIMULATED).is_some();
        host.packages = count(schema::PACKAGES);
        host.cores = count(schema::CORES);
        host
    }
}

/// Files that were no record when they were packed, but for machines of which a record was packed later.
fn remarks(all: &[(Place, Vec<Run>)]) -> Vec<LeftOutHost> {
    let mut last: HashMap<&str, &Path> = HashMap::new();
    let is_run = |run: &&Run| run.says(schema::UNREADABLE).is_none();
    for (place, runs) in all {
        for run in runs.iter().filter(is_run) {
            let known = last.entry(&run.host).or_insert(&place.facts);
            if known.file_name() < place.facts.file_name() {
                *known = &place.facts;
            }
        }
    }
    let mut found = Vec::new();
    for (place, runs) in all {
        for run in runs {
            let later = |last: &&Path| last.file_name() > place.facts.file_name();
            let is_answered = last.get(&*run.host).is_some_and(later);
            if let Some(why) = run.says(schema::UNREADABLE).filter(|_| !is_answered) {
                let (name, file) = (run.host.clone(), run.says(schema::ID).map(str::to_owned));
                found.push(LeftOutHost { name, file, why: why.to_owned() });
            }
        }
    }
    found
}

/// Puts what a table says of runs into the rows of their machines.
type Put = fn(&dyn RowGroupReader, &[&Run], &mut [Host], &Rows) -> Result<()>;

/// Rows of the machines that a row group has these runs of.
fn hosts(place: &Place, wanted: &[&Run], rows: &Rows) -> std::result::Result<Vec<Host>, PackError> {
    let mut hosts: Vec<Host> = wanted.iter().map(|run| run.host(&place.facts)).collect();
    let results = results_beside(&place.facts);
    let tables: [(&Path, Put); 2] = [(&place.facts, put_facts), (&results, put_results)];
    for (file, put) in tables {
        let reader = open(file)?;
        let group = reader.get_row_group(place.group);
        let done = group.and_then(|group| put(&*group, wanted, &mut hosts, rows));
        done.map_err(|why| unread(file, &why.to_string()))?;
    }
    Ok(hosts)
}

/// The file of results that belongs to one of facts.
fn results_beside(facts: &Path) -> PathBuf {
    let mut above = facts.ancestors().skip(1);
    let (month, pack) = (above.next().and_then(Path::file_name), above.nth(1));
    let pack = pack.unwrap_or(Path::new(""));
    pack.join(RESULTS).join(month.unwrap_or_default()).join(facts.file_name().unwrap_or_default())
}

/// Of which wanted run each row is.
struct Slots {
    hosts: Vec<u32>,
    times: Vec<u32>,
    /// By the code of a host: codes of times, and places.
    of_host: Vec<Vec<(u32, usize)>>,
}

impl Slots {
    fn read(group: &dyn RowGroupReader, wanted: &[&Run]) -> Result<Slots> {
        let hosts = Coded::read_full(group, "host", usize::MAX)?;
        let times = Coded::read(group, "time", usize::MAX)?;
        let codes = 0..times.different() as u32;
        let codes: HashMap<i64, u32> =
            codes.filter_map(|code| Some((times.number(code)?, code))).collect();
        let mut of_name: HashMap<&str, Vec<(u32, usize)>> = HashMap::new();
        for (slot, run) in wanted.iter().enumerate() {
            let time = run.time.and_then(|time| codes.get(&time)).copied().unwrap_or(NONE);
            of_name.entry(&run.host).or_default().push((time, slot));
        }
        let of_host = |code| of_name.get(hosts.text(code)?).cloned();
        let of_host = (0..hosts.different() as u32).map(|code| of_host(code).unwrap_or_default());
        Ok(Slots { of_host: of_host.collect(), hosts: hosts.codes, times: times.codes })
    }

    fn of(&self, row: usize) -> Option<usize> {
        let of_host = &self.of_host[self.hosts[row] as usize];
        of_host.iter().find(|(time, _)| *time == self.times[row]).map(|it| it.1)
    }

    /// The rows of each run. Tables are ordered by what they are about, and machines in memory each for itself: whoever
    /// writes them in the order of tables waits for memory at each cell.
    fn rows(&self, runs: usize) -> Vec<Vec<u32>> {
        let mut rows: Vec<Vec<u32>> = vec![Vec::new(); runs];
        for row in 0..self.hosts.len() {
            if let Some(slot) = self.of(row) {
                rows[slot].push(row as u32);
            }
        }
        rows
    }
}

fn put_facts(
    group: &dyn RowGroupReader,
    wanted: &[&Run],
    hosts: &mut [Host],
    rows: &Rows,
) -> Result<()> {
    let slots = Slots::read(group, wanted)?;
    let read = |name: &str| Coded::read(group, name, usize::MAX);
    let (facts, labels, values) = (read("fact")?, read("label")?, read("value")?);
    same_length(&[&facts.codes, &labels.codes, &values.codes, &slots.hosts, &slots.times])?;
    let mut said: HashMap<(u32, u32), Option<u32>> = HashMap::new();
    let mut texts: Vec<Option<u32>> = vec![None; values.different()];
    let mut number = |key: (u32, u32)| {
        *said.entry(key).or_insert_with(|| {
            let (id, label) = (facts.text(key.0)?, labels.text(key.1)?);
            let is_own = schema::OWN.iter().any(|own| own[0] == id);
            (!is_own).then(|| rows.fact(id, label))
        })
    };
    let numbers = runs_of_keys(facts.codes.len(), |row| (facts.codes[row], labels.codes[row]));
    let numbers: Vec<(usize, Option<u32>)> =
        numbers.into_iter().map(|(end, key)| (end, number(key))).collect();
    for (host, of_host) in hosts.iter_mut().zip(slots.rows(wanted.len())) {
        let mut at = 0;
        for row in of_host {
            let row = row as usize;
            while numbers[at].0 <= row {
                at += 1;
            }
            let Some(number) = numbers[at].1 else { continue };
            let code = values.codes[row] as usize;
            let text = texts.get_mut(code).and_then(|known| {
                *known = known.or_else(|| Some(rows.text(values.text(code as u32)?)));
                *known
            });
            host.put_fact(number, text);
        }
    }
    Ok(())
}

/// Where each row ends that has the same key as those before it, and its key.
fn runs_of_keys<K: PartialEq + Copy>(rows: usize, key: impl Fn(usize) -> K) -> Vec<(usize, K)> {
    let mut found: Vec<(usize, K)> = Vec::new();
    for row in 0..rows {
        let key = key(row);
        match found.last_mut() {
            Some((end, known)) if *known == key => *end = row + 1,
            _ => found.push((row + 1, key)),
        }
    }
    found
}

/// What tells one result from others.
const WHAT: [&str; 7] = ["area", "workload", "quantity", "parameters", "cores", "unit", "better"];

fn put_results(
    group: &dyn RowGroupReader,
    wanted: &[&Run],
    hosts: &mut [Host],
    rows: &Rows,
) -> Result<()> {
    let slots = Slots::read(group, wanted)?;
    let what = WHAT.iter().map(|name| Coded::read(group, name, usize::MAX));
    let what: Vec<Coded> = what.collect::<Result<_>>()?;
    let values = doubles(group, "value")?;
    let (lows, highs) = (floats(group, "low")?, floats(group, "high")?);
    let codes: Vec<&Vec<u32>> = what.iter().map(|it| &it.codes).collect();
    same_length(&[&codes[..], &[&slots.hosts, &slots.times]].concat())?;
    if [values.len(), lows.len(), highs.len()] != [slots.hosts.len(); 3] {
        return Err(ParquetError::General("its columns differ in length".to_owned()));
    }
    let numbers = runs_of_keys(values.len(), |row| {
        std::array::from_fn::<u32, { WHAT.len() }, _>(|at| codes[at][row])
    });
    let number = |(end, key): (usize, [u32; WHAT.len()])| {
        let column = column(&what, key);
        let none = || ParquetError::General(format!("row {end}: no result is such"));
        let column = column.ok_or_else(none)?;
        Ok((end, rows.result(&column), column.better))
    };
    let numbers: Vec<(usize, u32, Option<Better>)> =
        numbers.into_iter().map(number).collect::<Result<_>>()?;
    for (host, of_host) in hosts.iter_mut().zip(slots.rows(wanted.len())) {
        let mut at = 0;
        for row in of_host {
            let row = row as usize;
            while numbers[at].0 <= row {
                at += 1;
            }
            let (_, number, better) = numbers[at];
            let ends = [f64::from(lows[row]), f64::from(highs[row])];
            let interval = (!ends[0].is_nan() && !ends[1].is_nan()).then_some(ends);
            host.put_result(number, better, ResultValue { median: values[row], interval });
        }
    }
    Ok(())
}

/// What a row's codes stand for.
fn column(what: &[Coded], key: [u32; WHAT.len()]) -> Option<ResultColumn> {
    let text = |place: usize| what[place].text(key[place]).map(str::to_owned);
    let better: Option<Better> = match text(6) {
        Some(word) => Some(of_word(&word)?),
        None => None,
    };
    Some(ResultColumn {
        what: ResultKey {
            area: text(0)?,
            workload: text(1)?,
            quantity: text(2)?,
            active: usize::try_from(what[4].number(key[4])?).ok()?,
            cpus: None,
            parameters: serde_json::from_str(&text(3)?).ok()?,
        },
        unit: of_word::<Unit>(&text(5)?)?,
        better,
    })
}

/// What JSON calls so.
fn of_word<T: DeserializeOwned>(word: &str) -> Option<T> {
    serde_json::from_value(word.into()).ok()
}

fn same_length(columns: &[&Vec<u32>]) -> Result<()> {
    if columns.windows(2).all(|two| two[0].len() == two[1].len()) {
        return Ok(());
    }
    Err(ParquetError::General("its columns differ in length".to_owned()))
}

fn open(file: &Path) -> std::result::Result<SerializedFileReader<File>, PackError> {
    let fail = |error: std::io::Error| unread(file, &error.to_string());
    let opened = File::open(file).map_err(fail)?;
    let size = opened.metadata().map_err(fail)?.len();
    let reader = SerializedFileReader::new(opened);
    let reader = reader.map_err(|why| unread(file, &why.to_string()))?;
    if reader.metadata().row_groups().iter().all(|group| is_sound(group, size)) {
        return Ok(reader);
    }
    Err(unread(file, "its end does not fit what it says of itself"))
}

/// Whether a row group lies within its file: the crate takes for granted that it does.
fn is_sound(group: &RowGroupMetaData, size: u64) -> bool {
    /// So many rows there are of 4,096 machines with 4,096 results each.
    const ROWS_MAX: i64 = 1 << 24;
    let lies_within = |column: &ColumnChunkMetaData| {
        let begin = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
        let end = begin.checked_add(column.compressed_size());
        let is_within = end.is_some_and(|end| end >= begin && end as u64 <= size);
        begin >= 0 && is_within && column.num_values() == group.num_rows()
    };
    (0..=ROWS_MAX).contains(&group.num_rows()) && group.columns().iter().all(lies_within)
}

fn unread(file: &Path, why: &str) -> PackError {
    PackError::Read { file: file.to_owned(), why: why.to_owned() }
}
