use std::fs;
use std::path::{Path, PathBuf};

use model::record::{Digest, DigestFact};

use super::{PackError, Packer, Remark, read};
use crate::survey::{Host, Rows};
use crate::testing::{blank, place, say, series};
use crate::window::RunWindow;

/// A run of a machine that began then: a bandwidth of that size with an interval, one of two nodes without.
fn run(started: &str, bandwidth: f64) -> Digest {
    let mut record = blank();
    place(&mut record, &["0-3"]);
    started.clone_into(&mut record.run.started);
    say(&mut record, "cpu.brand", "SIMULATED");
    say(&mut record, "memory.total", &format!("{bandwidth} GiB"));
    let blocks: Vec<Vec<f64>> =
        (0..9).map(|block| vec![bandwidth * (1.0 + f64::from(block) * 1e-3)]).collect();
    let blocks: Vec<&[f64]> = blocks.iter().map(Vec::as_slice).collect();
    let what = ["memory", "triad", "bandwidth"];
    record.series = vec![
        series(what, "0-3", &[("pages", "2m")], &blocks),
        series(what, "0", &[], &[&[bandwidth]]),
        series(what, "1", &[], &[&[bandwidth * 0.9]]),
        series(["turbo", "scalar_iadd", "clock"], "0", &[], &[&[3e9]]),
    ];
    let mut digest = crate::digest::of(&record);
    let (id, label) = ("numa.balancing".to_owned(), "NUMA balancing".to_owned());
    digest.facts.push(DigestFact { id, label, text: None });
    digest
}

fn pack(folder: &Path, runs: &[(&str, Digest)], remarks: &[Remark]) -> super::PackedCounts {
    let mut packer = Packer::open(folder).unwrap();
    let packable = |(host, digest): &(&str, Digest)| packer.ledger().run_of(host, digest).unwrap();
    let all = runs.iter().map(packable).collect();
    packer.add(all, remarks).unwrap();
    packer.finish().unwrap()
}

/// Machines in the order of their names, but for their files, and what their numbers mean.
fn told(mut hosts: Vec<Host>, rows: Rows) -> String {
    hosts.sort_by(|a, b| a.name.cmp(&b.name));
    for host in &mut hosts {
        host.file.clear();
    }
    let names = rows.names_in_order(&mut hosts);
    let columns = names.results.all();
    format!("{hosts:#?} {columns:#?} {:#?} {:#?}", names.facts.all(), names.texts.all())
}

fn of_pack(folder: &Path) -> String {
    let rows = Rows::default();
    let found = read(&[folder.to_owned()], &RunWindow::until_now(None), &rows).unwrap();
    told(found.hosts, rows)
}

fn of_records(runs: &[(&str, Digest)]) -> String {
    let rows = Rows::default();
    let hosts = runs.iter().map(|(host, digest)| rows.row_of(host, "", digest).unwrap()).collect();
    told(hosts, rows)
}

/// All files of a pack with their contents.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

#[test]
fn the_newest_run_of_each_machine_is_read_as_its_record() {
    let folder = tempfile::tempdir().unwrap();
    let [old, new] = ["2026-01-31T23:59:59Z", "2026-02-01T00:00:00Z"];
    let runs = [
        ("n1", run(old, 1e10)),
        ("n1", run(new, 2e10)),
        ("n2", run(new, 3e10)),
        ("n3", run(old, 4e10)),
        // It does not say when it was.
        ("n4", run("", 5e10)),
    ];
    let counts = pack(folder.path(), &runs, &[]);
    assert_eq!((counts.runs, counts.known, counts.results), (5, 0, 20));
    let [_, rest @ ..] = &runs;
    assert_eq!(of_pack(folder.path()), of_records(rest));
    for month in ["2026-01", "2026-02", "unknown"] {
        let file = format!("results/month={month}/000001.parquet");
        assert!(folder.path().join(&file).is_file(), "{file}");
    }
}

#[test]
fn what_is_packed_stays_as_it_is_and_is_not_packed_again() {
    let folder = tempfile::tempdir().unwrap();
    let runs =
        [("n1", run("2026-01-01T00:00:00Z", 1e10)), ("n2", run("2026-01-01T00:00:00Z", 2e10))];
    // Twice in one go is once.
    let twice = [runs.clone(), runs.clone()].concat();
    assert_eq!(pack(folder.path(), &twice, &[]).known, 2);
    let before = files(folder.path());
    assert_eq!(pack(folder.path(), &runs, &[]).runs, 0);
    assert_eq!(files(folder.path()), before);
    let later = [("n1", run("2026-01-02T00:00:00Z", 3e10)), runs[1].clone()];
    let counts = pack(folder.path(), &later, &[]);
    assert_eq!((counts.runs, counts.known), (1, 1));
    let after = files(folder.path());
    assert!(before.iter().all(|file| after.contains(file)) && after.len() == before.len() + 2);
    assert!(folder.path().join("facts/month=2026-01/000002.parquet").is_file());
    assert_eq!(of_pack(folder.path()), of_records(&later));
}

#[test]
fn one_writes_at_a_time_and_what_breaks_off_leaves_no_run() {
    let folder = tempfile::tempdir().unwrap();
    let first = [("n1", run("2026-01-01T00:00:00Z", 1e10))];
    pack(folder.path(), &first, &[]);
    let before = files(folder.path());
    let mut packer = Packer::open(folder.path()).unwrap();
    assert!(matches!(Packer::open(folder.path()), Err(PackError::Busy(_))));
    let run = packer.ledger().run_of("n2", &run("2026-01-01T00:00:00Z", 1e10)).unwrap();
    packer.add(vec![run], &[]).unwrap();
    drop(packer);
    assert_eq!(files(folder.path()), before);
    // Killed before, and in the midst of giving names.
    let results = folder.path().join("results/month=2026-01");
    fs::write(results.join(".cpudyno-x"), "half").unwrap();
    fs::write(results.join("000002.parquet"), "whole, without facts").unwrap();
    assert_eq!(of_pack(folder.path()), of_records(&first));
    drop(Packer::open(folder.path()).unwrap());
    assert_eq!(files(folder.path()), before);
}

#[test]
fn a_file_that_was_no_record_is_named_until_its_machine_has_one() {
    let folder = tempfile::tempdir().unwrap();
    let remark = |host: &str| Remark {
        host: host.to_owned(),
        file: format!("records/{host}.json"),
        time: "2026-01-01T12:00:00Z".to_owned(),
        why: "cut off or damaged".to_owned(),
    };
    let day = |day: u32| format!("2026-01-{day:02}T00:00:00Z");
    let remarks = [remark("n1"), remark("n2")];
    pack(folder.path(), &[("n2", run(&day(1), 1e10))], &remarks);
    let named = || {
        let packs = [folder.path().to_owned()];
        let found = read(&packs, &RunWindow::until_now(None), &Rows::default()).unwrap();
        found.left_out.into_iter().filter_map(|it| it.file).collect::<Vec<_>>()
    };
    assert_eq!(named(), ["records/n1.json", "records/n2.json"]);
    // Known, it is not said again.
    let before = files(folder.path()).len();
    assert_eq!(pack(folder.path(), &[], &remarks).left_out, 2);
    assert_eq!(files(folder.path()).len(), before);
    pack(folder.path(), &[("n1", run(&day(1), 1e10))], &[]);
    assert_eq!(named(), ["records/n2.json"]);
}

#[test]
fn damaged_files_are_refused_and_nobody_panics() {
    let folder = tempfile::tempdir().unwrap();
    pack(folder.path(), &[("n1", run("2026-01-01T00:00:00Z", 1e10))], &[]);
    let packs = [folder.path().to_owned()];
    let try_it = || read(&packs, &RunWindow::until_now(None), &Rows::default()).unwrap();
    for (file, whole) in files(folder.path()) {
        if file.ends_with(".lock") {
            continue;
        }
        for end in (0..whole.len()).step_by(31) {
            fs::write(&file, &whole[..end]).unwrap();
            let found = try_it();
            let [refused] = found.left_out.as_slice() else { panic!("{found:?}") };
            assert!(refused.why.contains(".parquet` of the pack: "), "{refused:?}");
            assert!(found.hosts.is_empty(), "{found:?}");
        }
        // Signs, counts that grow and shrink, and letters.
        for (mask, step) in [(0x55, 7), (0x02, 11), (0x1c, 11), (0x80, 11)] {
            for place in (0..whole.len()).step_by(step) {
                let mut other = whole.clone();
                other[place] ^= mask;
                fs::write(&file, other).unwrap();
                let _ = try_it();
            }
        }
        fs::write(&file, whole).unwrap();
    }
    assert_eq!((try_it().hosts.len(), try_it().left_out.len()), (1, 0));
}

#[test]
fn a_damaged_file_loses_its_own_runs_alone_and_they_are_packed_again() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"];
    let runs = [("n1", run(first, 1e10)), ("n2", run(second, 2e10))];
    for run in &runs {
        pack(folder.path(), std::slice::from_ref(run), &[]);
    }
    // Of results alone: facts and results of a packing are one.
    fs::write(folder.path().join("results/month=2026-01/000001.parquet"), "PAR1").unwrap();
    let look = || {
        let packs = [folder.path().to_owned()];
        let found = read(&packs, &RunWindow::until_now(None), &Rows::default()).unwrap();
        let mut names: Vec<String> = found.hosts.into_iter().map(|host| host.name).collect();
        names.sort();
        (names, found.left_out.len())
    };
    assert_eq!(look(), (vec!["n2".to_owned()], 1));
    let counts = pack(folder.path(), &runs, &[]);
    assert_eq!((counts.runs, counts.known), (1, 1));
    assert_eq!(look(), (vec!["n1".to_owned(), "n2".to_owned()], 1));
}

#[test]
fn the_newest_run_before_a_time_is_read_too() {
    let folder = tempfile::tempdir().unwrap();
    let days = ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z"];
    let runs = days.map(|day| ("n1", run(day, 1e10)));
    pack(folder.path(), &runs, &[]);
    let window = RunWindow::until_now(None).since(Some("2026-01-03".to_owned()));
    let found = read(&[folder.path().to_owned()], &window, &Rows::default()).unwrap();
    let mut started: Vec<&str> = found.hosts.iter().map(|host| &*host.started).collect();
    started.sort_unstable();
    assert_eq!(started, &days[1..]);
    assert_eq!(found.older, [("n1".to_owned(), days[0].to_owned())]);
}

#[test]
fn packing_takes_nothing_away_that_packs_do_not_write() {
    let folder = tempfile::tempdir().unwrap();
    let others = ["results/run1/table.csv", "results/month=2026-01/_SUCCESS", "facts/notes.txt"];
    for file in others {
        let file = folder.path().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "mine").unwrap();
    }
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("000001.parquet"), "mine").unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), folder.path().join("results/month=2025-01"))
        .unwrap();
    // What a packing left that was broken off goes.
    let left = folder.path().join("results/month=2026-01/000007.parquet");
    fs::write(&left, "half").unwrap();
    pack(folder.path(), &[("n1", run("2026-01-01T00:00:00Z", 1e10))], &[]);
    assert!(!left.exists() && elsewhere.path().join("000001.parquet").exists());
    assert!(others.iter().all(|file| folder.path().join(file).exists()));
}

#[test]
fn a_lock_that_is_a_link_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = folder.path().join("elsewhere");
    fs::write(&elsewhere, "mine").unwrap();
    std::os::unix::fs::symlink(&elsewhere, folder.path().join(".lock")).unwrap();
    assert!(super::Packer::open(folder.path()).is_err());
    assert_eq!(fs::read_to_string(elsewhere).unwrap(), "mine");
}
