//! What `cpudyno fleet pack` writes, asked by DuckDB and Polars with the questions of the guide.
//!
//! Where Python has neither, the cases are shown as ignored; `CPUDYNO_NEEDS_ENGINES=1`, which the project's check sets,
//! makes them fail there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{cpudyno, finish, program};
use libtest_mimic::{Failed, Trial};
use serde_json::Value;

/// Runs what the guide has, in both engines, and prints rows by engine and question.
const DRIVER: &str = r#"
import json, sys
import duckdb
sql, python = (open(name).read() for name in sys.argv[1:3])
asked = {}
for statement in sql.split(";\n"):
    lines = [line for line in statement.splitlines() if line]
    name = next((line[3:].split(":")[0] for line in lines if line.startswith("-- ")), None)
    done = duckdb.sql(statement) if lines else None
    if name:
        asked[name] = done.fetchall()
names = {}
exec(python, names)
polars = {name: names[name].collect().rows() for name in asked}
print(json.dumps({"duckdb": asked, "polars": polars}))
"#;

/// The faults of each month, by the same chance: whoever is ill in one is ill in the next, too.
const MONTHS: [(&str, &str); 3] =
    [("2026-01", ""), ("2026-02", "missing-dimm:3"), ("2026-03", "missing-dimm:3,wrong-epp:4")];

pub(crate) fn trials() -> Vec<Trial> {
    let is_needed = std::env::var_os("CPUDYNO_NEEDS_ENGINES").is_some();
    let done = python().args(["-c", "import duckdb, polars"]).output();
    let ignored = !done.is_ok_and(|done| done.status.success()) && !is_needed;
    let name = "engines::both_answer_the_guide_s_questions_alike_and_find_what_was_planted";
    let why = if ignored { ": `import duckdb, polars` fails" } else { "" };
    vec![Trial::test(format!("{name}{why}"), alike).with_ignored_flag(ignored)]
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// With what the checks install.
fn python() -> Command {
    let mut python = program("python3");
    python.env("PYTHONPATH", root().join("target/tools"));
    python
}

/// Three months of 200 machines in a pack, and who was given which fault in the last.
fn packed(folder: &Path) -> Result<BTreeMap<String, Vec<String>>, Failed> {
    let path = |name: &str| folder.join(name).display().to_string();
    let base = path("base.json");
    let machine = ["--machine", "sim:2s-56c"];
    finish(cpudyno(&[&["sheet"][..], &machine, &["--json", &base]].concat())).success();
    let text = fs::read_to_string(&base)?;
    let mut planted = BTreeMap::new();
    for (month, faults) in MONTHS {
        let moved = text.replace("2026-01-01T", &format!("{month}-01T"));
        assert!(moved.contains(&format!("{month}-01T")), "a simulated run begins in January");
        fs::write(&base, moved)?;
        let records = path(month);
        let mut args = vec!["fleet", "simulate", "--from", &base, "--hosts", "200", "--seed", "7"];
        args.extend(["--fault", faults].iter().filter(|_| !faults.is_empty()));
        args.push(&records);
        let told = finish(cpudyno(&args)).success();
        let lines = told.lines().filter_map(|line| line.split_once(": "));
        planted = lines.skip(1).map(|(hosts, fault)| (named(fault), expanded(hosts))).collect();
        let done = finish(cpudyno(&["fleet", "pack", &records, "--to", &path("fleet.pack")]));
        assert!(done.success().starts_with("200 runs with "));
    }
    Ok(planted)
}

fn named(fault: &str) -> String {
    fault.split(':').next().unwrap_or_default().to_owned()
}

/// The names of a host list, ascending.
fn expanded(list: &str) -> Vec<String> {
    let (mut names, mut prefix, mut inside) = (Vec::new(), String::new(), false);
    for part in list.split(',') {
        let mut part = part;
        if let Some((before, first)) = part.split_once('[') {
            (prefix, part, inside) = (before.to_owned(), first, true);
        }
        let ends = part.ends_with(']');
        let part = part.trim_end_matches(']');
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        match (inside, first.parse::<u32>(), last.parse::<u32>()) {
            (true, Ok(from), Ok(to)) => {
                let width = first.len();
                names.extend((from..=to).map(|number| format!("{prefix}{number:0width$}")));
            }
            _ => names.push(part.to_owned()),
        }
        inside &= !ends;
    }
    names.sort();
    names
}

/// The block of that kind of the guide.
fn block(kind: &str) -> String {
    let guide = fs::read_to_string(root().join("docs/guide/fleet.md")).unwrap();
    let (_, rest) = guide.split_once(&format!("```{kind}\n")).expect("the guide has questions");
    rest.split("```").next().unwrap_or_default().to_owned()
}

fn alike() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let planted = packed(folder.path())?;
    fs::write(folder.path().join("sql"), block("sql"))?;
    fs::write(folder.path().join("python"), block("python"))?;
    let done =
        python().args(["-c", DRIVER, "sql", "python"]).current_dir(folder.path()).output()?;
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
    let printed = String::from_utf8(done.stdout)?;
    // The guide prints one itself.
    let answers: Value = serde_json::from_str(printed.lines().last().unwrap_or_default())?;
    let (duckdb, polars) = (&answers["duckdb"], &answers["polars"]);
    assert_eq!(duckdb.as_object().map(serde_json::Map::len), Some(5), "five questions");
    for (question, rows) in duckdb.as_object().unwrap() {
        agree(question, rows, &polars[question]);
    }
    let hosts = |question: &str, count: usize| {
        let rows = duckdb[question].as_array().unwrap().iter().take(count);
        let mut hosts: Vec<String> = rows.map(|row| row[0].as_str().unwrap().to_owned()).collect();
        hosts.sort();
        hosts
    };
    let (dimm, epp) = (&planted["missing-dimm"], &planted["wrong-epp"]);
    assert_eq!((dimm.len(), epp.len()), (3, 4));
    assert_eq!(&hosts("slowest", 3), dimm);
    assert_eq!(&hosts("drift", usize::MAX), dimm);
    let changed = duckdb["changed"].as_array().unwrap();
    let who = |fact: &str| {
        let rows = changed.iter().filter(|row| row[1] == fact);
        rows.map(|row| row[0].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!((&who("memory.total"), &who("cpufreq.epp")), (dimm, epp));
    assert_eq!(changed.len(), 7, "{changed:?}");
    // Four of 200 clock 8 % lower.
    let by_fact = duckdb["by_fact"].as_array().unwrap();
    let group = |at: usize| (by_fact[at][0].as_str().unwrap(), by_fact[at][1].as_u64().unwrap());
    assert_eq!((group(0), group(1)), (("balance_power", 4), ("performance", 196)));
    let clock = |at: usize| by_fact[at][2].as_f64().unwrap();
    assert!((clock(0) / clock(1) - 0.92).abs() < 0.015, "{by_fact:?}");
    // Normal numbers with a deviation of 0.6 % lie within 2 % but for a tenth.
    let spread = duckdb["spread"].as_array().unwrap();
    let months: Vec<&str> = spread.iter().map(|row| row[1].as_str().unwrap()).collect();
    assert_eq!(months, MONTHS.map(|(month, _)| month));
    let is_near = |row: &Value| (0.012..0.035).contains(&row[2].as_f64().unwrap());
    assert!(spread.iter().all(is_near), "{spread:?}");
    Ok(())
}

/// Rows are the same, numbers up to their rounding.
fn agree(question: &str, a: &Value, b: &Value) {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len(), "{question}: {a:?} {b:?}");
            for (a, b) in a.iter().zip(b) {
                agree(question, a, b);
            }
        }
        (Value::Number(x), Value::Number(y)) => {
            let (x, y) = (x.as_f64().unwrap(), y.as_f64().unwrap());
            assert!((x - y).abs() <= 1e-9 * x.abs(), "{question}: {x} {y}");
        }
        _ => assert_eq!(a, b, "{question}"),
    }
}
