//! `cpudyno turbo` prints a table that scripts for the output of avx-turbo can read: one parser reads
//! both, ours and a recording of the other's.
//!
//! The recording is other people's: it is read where it lies and is no part of this repository.
//! Without it its cases are shown as ignored.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use crate::common::{cpudyno, finish};
use libtest_mimic::{Failed, Trial};

/// What both print, by the beginning of the title: avx-turbo says which overlap it shows.
const COLUMNS: [&str; 8] =
    ["Cores", "ID", "Description", "OVRLP", "Mops", "A/M-ratio", "A/M-MHz", "M/tsc-ratio"];

/// A row of a table.
#[derive(Debug)]
struct Row {
    cores: usize,
    /// By title.
    cells: Vec<(String, String)>,
}

impl Row {
    fn cell(&self, title: &str) -> &str {
        let cell = self.cells.iter().find(|(known, _)| known.starts_with(title));
        cell.map_or_else(|| panic!("no column {title}: {self:?}"), |(_, cell)| cell)
    }

    /// One number of each thread.
    fn numbers(&self, title: &str) -> Vec<f64> {
        let number = |text: &str| {
            text.trim().parse().unwrap_or_else(|_| panic!("{title} is no list: {self:?}"))
        };
        self.cell(title).split(',').map(number).collect()
    }
}

/// The rows of all tables in a text: columns between bars, a header above each table, an empty line
/// below it.
fn rows(text: &str) -> Vec<Row> {
    let cells = |line: &str| line.split('|').map(|c| c.trim().to_owned()).collect::<Vec<_>>();
    let mut titles: Option<Vec<String>> = None;
    let mut rows = Vec::new();
    for line in text.lines() {
        let found = cells(line);
        if found.len() < 2 {
            titles = None;
        } else if found[0] == "Cores" {
            titles = Some(found);
        } else if let Some(titles) = &titles {
            assert_eq!(found.len(), titles.len(), "{line}");
            let cores = found[0].parse().expect("the first column is a number of cores");
            rows.push(Row { cores, cells: titles.iter().cloned().zip(found).collect() });
        }
    }
    rows
}

fn row<'a>(rows: &'a [Row], cores: usize, id: &str) -> &'a Row {
    let found = rows.iter().find(|row| row.cores == cores && row.cell("ID") == id);
    found.unwrap_or_else(|| panic!("no row of {id} on {cores} cores"))
}

fn ids(rows: &[Row]) -> BTreeSet<&str> {
    rows.iter().map(|row| row.cell("ID")).collect()
}

/// Every column that both have is there, and has a number for each thread.
fn check_columns(rows: &[Row]) {
    for row in rows {
        for title in COLUMNS {
            assert!(!row.cell(title).is_empty(), "{title} of {row:?}");
        }
        assert_eq!(row.numbers("OVRLP").len(), 1);
        for title in ["Mops", "A/M-ratio", "A/M-MHz", "M/tsc-ratio"] {
            assert_eq!(row.numbers(title).len(), row.cores, "{title} of {row:?}");
        }
    }
}

fn near(found: f64, expected: f64, tolerance: f64) -> bool {
    (found / expected - 1.0).abs() <= tolerance
}

fn ours() -> Vec<Row> {
    let args = ["turbo", "--machine", "sim:2s-56c", "--max-threads", "3", "--width", "300"];
    let text = finish(cpudyno(&args)).success();
    let rows = rows(&text);
    assert!(!rows.is_empty(), "{text}");
    rows
}

fn our_table_has_the_columns() {
    let rows = ours();
    check_columns(&rows);
    let counts: BTreeSet<usize> = rows.iter().map(|row| row.cores).collect();
    assert_eq!(counts, (1..=3).collect());
    assert_eq!(rows.len(), ids(&rows).len() * 3, "each stream on each number of cores");
    // The clocks that were put in, which drift by one per cent.
    for (id, cores, mhz, cycles) in [
        ("scalar_iadd", 1, 3800.0, 1.0),
        ("avx256_fma", 2, 3600.0, 4.0),
        ("avx512_fma_t", 3, 3100.0, 0.5),
    ] {
        let row = row(&rows, cores, id);
        for thread in 0..cores {
            let of = |title| row.numbers(title)[thread];
            assert!(near(of("A/M-MHz"), mhz, 0.012), "{row:?}");
            assert!(near(of("Mops"), mhz / cycles, 0.015), "{row:?}");
            assert!(near(of("A/M-ratio"), mhz / 2000.0, 0.015), "{row:?}");
        }
    }
}

fn our_classic_tables_say_the_same() {
    let args = ["turbo", "--classic", "--machine", "sim:2s-56c", "--max-threads", "3"];
    let text = finish(cpudyno(&args)).success();
    assert!(text.starts_with("SIMULATED: machine sim:2s-56c, nothing was measured\n"), "{text}");
    let banners: Vec<&str> = text.lines().filter(|line| line.contains(" Threads: ")).collect();
    assert_eq!(banners.len(), 3, "{text}");
    let (classic, ours) = (rows(&text), ours());
    check_columns(&classic);
    assert_eq!(classic.len(), ours.len());
    for row in &classic {
        let same = self::row(&ours, row.cores, row.cell("ID"));
        for title in ["Mops", "A/M-MHz", "M/tsc-ratio"] {
            assert_eq!(row.numbers(title), same.numbers(title), "{row:?}");
        }
    }
}

fn recording() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/fixtures/freq-avx/11900k-avx-turbo.txt.xz")
}

/// Every row but those of `pause`, whose ops are another area's here.
fn theirs() -> Vec<Row> {
    let file = BufReader::new(File::open(recording()).expect("the recording can be opened"));
    let mut text = String::new();
    lzma_rust2::XzReader::new(file, true).read_to_string(&mut text).expect("it can be unpacked");
    let mut rows = rows(&text);
    rows.retain(|row| row.cell("ID") != "pause_only");
    rows
}

fn their_table_has_the_columns() {
    let rows = theirs();
    check_columns(&rows);
    for cores in 1..=8 {
        assert_eq!(rows.iter().filter(|row| row.cores == cores).count(), 45, "{cores} cores");
    }
    let mops = |id| row(&rows, 1, id).numbers("Mops")[0];
    let clock = mops("scalar_iadd");
    // Latencies of Rocket Lake in cycles: FMA, VPLZCNTD and VPERMW 4, VPMULDQ 5, VPERMD 3.
    for (id, cycles) in [
        ("avx128_fma", 4.0),
        ("avx512_fma", 4.0),
        ("avx256_vlzcnt", 4.0),
        ("avx512_vpermw", 4.0),
        ("avx256_imul", 5.0),
        ("avx512_vpermd", 3.0),
    ] {
        assert!(near(clock / mops(id), cycles, 0.002), "{id}: {} of {clock} Mops", mops(id));
    }
    // The number of active cores limits the clock there, and between the limits it wanders.
    for (cores, mhz) in
        [(1, 5100.0), (4, 5100.0), (5, 4900.0), (6, 4900.0), (7, 4800.0), (8, 4800.0)]
    {
        let of_cores = rows.iter().filter(|row| row.cores == cores);
        let greatest = of_cores.flat_map(|row| row.numbers("A/M-MHz")).fold(0.0, f64::max);
        assert!(near(greatest, mhz, 0.002), "{cores} cores: {greatest} MHz");
    }
    // No licence lowers it.
    for row in rows.iter().filter(|row| row.cores == 1) {
        assert!(near(row.numbers("A/M-MHz")[0], 5100.0, 0.002), "{row:?}");
    }
}

fn their_streams_are_among_ours() {
    let (ours, theirs) = (ours(), theirs());
    let (ours, theirs) = (ids(&ours), ids(&theirs));
    let lacking: Vec<&&str> = theirs.difference(&ours).collect();
    assert!(theirs.len() == 45 && lacking.is_empty(), "not ours: {lacking:?}");
}

pub(crate) fn trials() -> Vec<Trial> {
    let trial = |name: &str, test: fn()| {
        Trial::test(format!("avx_turbo::{name}"), move || {
            test();
            Ok::<(), Failed>(())
        })
    };
    let mut trials = vec![
        trial("our_table_has_the_columns", our_table_has_the_columns),
        trial("our_classic_tables_say_the_same", our_classic_tables_say_the_same),
    ];
    let here = recording().is_file();
    for (name, test) in [
        ("their_table_has_the_columns", their_table_has_the_columns as fn()),
        ("their_streams_are_among_ours", their_streams_are_among_ours),
    ] {
        let reason = if here { "" } else { " (../shared/fixtures/freq-avx is not here)" };
        trials.push(trial(&format!("{name}{reason}"), test).with_ignored_flag(!here));
    }
    trials
}
