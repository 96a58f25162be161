//! What every record keeps, wherever it was measured.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use model::record::{Digest, Outcome, Record};
use serde_json::Value;

/// Reads a record after checking that no number stands for absence (invariant I5), and that its
/// summaries follow from its samples (invariant I4). Where a check collects records, it is left there:
/// whether it keeps the published schema is for another program to say. A digest says what the rest does.
pub(crate) fn checked(json: &str) -> Record {
    if let Some(folder) = std::env::var_os("CPUDYNO_RECORDS") {
        keep(Path::new(&folder), json);
    }
    let value: Value = serde_json::from_str(json).unwrap();
    assert_no_null(&value, "record");
    let record = model::record::read(json).unwrap();
    if let Some(digest) = &record.digest {
        assert!(*digest == fleet::digest::of(&record), "the digest says something else");
        assert!(Digest::read(json).as_ref() == Some(digest), "the digest is not read");
    }
    for series in &record.series {
        let name = format!("{} {} {}", series.workload, series.quantity, series.cpu);
        match &series.outcome {
            Outcome::Unavailable { unavailable } => {
                assert!(!unavailable.what.is_empty() && !unavailable.why.is_empty(), "{name}");
            }
            Outcome::Measured { samples, summary } => {
                assert!(samples.all().iter().all(|sample| sample.is_finite()), "{name}");
                assert_eq!(samples.summary().as_ref(), Some(summary), "{name}");
            }
        }
        assert!(series.active.contains(series.cpu), "{name}");
    }
    record
}

/// Leaves a record in a folder, named after what it holds: equal ones are one file.
fn keep(folder: &Path, json: &str) {
    let mut hasher = DefaultHasher::new();
    json.hash(&mut hasher);
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join(format!("{:016x}.json", hasher.finish())), json).unwrap();
}

/// JSON writes NaN and infinity as null.
fn assert_no_null(value: &Value, path: &str) {
    match value {
        Value::Null => panic!("null at {path}"),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                assert_no_null(item, &format!("{path}[{index}]"));
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                assert_no_null(field, &format!("{path}.{name}"));
            }
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
