//! Of each machine the newest run, in records and packs; where somebody asks since when, also the newest before.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use fleet::pack::PackedHosts;
use fleet::survey::{Host, LeftOutHost, Rows};
use fleet::window::RunWindow;

use crate::commands::{packs, records};
use crate::failure::Failure;

/// Runs by the names of their machines.
#[derive(Default)]
pub(super) struct NewestRuns {
    pub now: BTreeMap<String, Host>,
    /// The newest before the time that was asked for.
    pub before: BTreeMap<String, Host>,
    /// The newest in which answers of CPUs were compared; what was measured then is not of interest.
    pub compared: BTreeMap<String, Host>,
    pub left_out: Vec<LeftOutHost>,
    /// How many runs are none of these.
    pub older: usize,
}

/// Reads them all.
pub(super) fn read(
    files: &[PathBuf],
    window: &RunWindow,
    rows: &Rows,
) -> Result<NewestRuns, Failure> {
    let PackedHosts { hosts: packed, older, left_out } = packs::read(files, window, rows)?;
    let files = records::files(files)?;
    let read = records::rows(&files, rows);
    let mut newest = NewestRuns { left_out, ..NewestRuns::default() };
    // A run may be in a pack and be a record, too, and a record have a page.
    let mut runs: BTreeSet<(String, String)> = older.into_iter().collect();
    let mut no_good: BTreeSet<(String, String, &str)> = BTreeSet::new();
    let packed = packed.into_iter().map(|host| (Path::new("").to_owned(), Ok(host)));
    for (file, host) in packed.chain(files.into_iter().zip(read)) {
        match host {
            Ok(host) => {
                let is_wrong = rows.is_wrong(&host);
                newest.compare(&host, window, is_wrong);
                let refused =
                    window.refused(&host.name, &host.started, host.interrupted.as_deref());
                if let Some(why) = refused {
                    no_good.insert((host.name, host.started, why));
                } else {
                    runs.insert((host.name.clone(), host.started.clone()));
                    // Where nothing was measured, the answers are all that it has.
                    if host.result_count() > 0 || is_wrong.is_none() {
                        newest.add(host, window);
                    }
                }
            }
            Err(why) => {
                let name = cpudyno::fleet::host_name(&file);
                let file = Some(file.display().to_string());
                newest.left_out.push(LeftOutHost { name, file, why: why.to_owned() });
            }
        }
    }
    let told = |(name, _, why): (String, String, &str)| LeftOutHost {
        name,
        file: None,
        why: why.to_owned(),
    };
    newest.left_out.extend(no_good.into_iter().map(told));
    // A machine of which nothing was measured is told all the same.
    for (name, host) in &newest.compared {
        newest.now.entry(name.clone()).or_insert_with(|| host.clone());
    }
    let is_apart =
        |it: &&Host| newest.now.get(&it.name).is_none_or(|now| now.started != it.started);
    let apart = newest.compared.values().filter(is_apart).count();
    newest.older = runs.len().saturating_sub(newest.now.len() + newest.before.len() + apart);
    Ok(newest.in_order())
}

impl NewestRuns {
    /// Keeps the answers of a run, if they are newer. One that ended early proves what was wrong, and not that nothing is.
    fn compare(&mut self, host: &Host, window: &RunWindow, is_wrong: Option<bool>) {
        let tells = match is_wrong {
            Some(true) => true,
            Some(false) => host.interrupted.is_none(),
            None => false,
        };
        let known = self.compared.get(&host.name);
        let is_newer = known.is_none_or(|known| known.started < host.started);
        let is_asked = window.refused(&host.name, &host.started, None).is_none();
        if tells && is_newer && is_asked && !window.is_before(&host.started) {
            self.compared.insert(host.name.clone(), host.without_results());
        }
    }

    fn add(&mut self, host: Host, window: &RunWindow) {
        let is_before = window.is_before(&host.started);
        let of_time = if is_before { &mut self.before } else { &mut self.now };
        match of_time.get(&host.name) {
            Some(known) if known.started >= host.started => {}
            _ => drop(of_time.insert(host.name.clone(), host)),
        }
    }

    fn in_order(mut self) -> NewestRuns {
        self.left_out.sort_by(|a, b| (&a.name, &a.file, &a.why).cmp(&(&b.name, &b.file, &b.why)));
        self.left_out.dedup();
        for out in self.left_out.iter_mut().filter(|out| self.now.contains_key(&out.name)) {
            out.why += "; another record of the machine is looked at";
        }
        self
    }
}
