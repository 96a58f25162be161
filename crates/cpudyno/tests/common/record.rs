//! What every record keeps, wherever it was measured.

use std::path::Path;
use std::sync::LazyLock;

use model::record::{Outcome, Record};
use serde_json::Value;

/// The schema as it is published, not as the types have it.
static SCHEMA: LazyLock<jsonschema::Validator> = LazyLock::new(|| {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/record.schema.json");
    let text = std::fs::read_to_string(file).expect("`cargo xtask generate` writes the schema");
    jsonschema::validator_for(&serde_json::from_str(&text).unwrap()).unwrap()
});

/// Reads a record after checking that it keeps the published schema, that no number stands for
/// absence (invariant I5), and that its summaries follow from its samples (invariant I4).
pub(crate) fn checked(json: &str) -> Record {
    let value: Value = serde_json::from_str(json).unwrap();
    let errors: Vec<_> = SCHEMA
        .iter_errors(&value)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "the record breaks its schema:\n{}", errors.join("\n"));
    assert_no_null(&value, "record");
    let record = model::record::read(json).unwrap();
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
