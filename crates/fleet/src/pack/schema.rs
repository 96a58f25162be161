//! The columns of both tables, and what a run says of itself beside what its machine says.

use std::sync::Arc;

use parquet::schema::parser::parse_message_type;
use parquet::schema::types::TypePtr;

/// Results, ordered by what they are. Times are UTC: a zone would need an extension of DuckDB.
///
/// The names of `result` are for people. What tells one from others are `area`, `workload`, `quantity`, `parameters` (a
/// JSON object) and `cores`, how many CPUs were active; and `cpus`, where there are several such sets.
const RESULTS: &str = "message results {
    REQUIRED BINARY host (STRING);
    OPTIONAL INT64 time (TIMESTAMP(MICROS,false));
    REQUIRED BINARY kind (STRING);
    REQUIRED BINARY area (STRING);
    REQUIRED BINARY result (STRING);
    REQUIRED BINARY unit (STRING);
    REQUIRED INT32 cores;
    REQUIRED DOUBLE value;
    OPTIONAL FLOAT low;
    OPTIONAL FLOAT high;
    REQUIRED INT32 n;
    REQUIRED BINARY quality (STRING);
    OPTIONAL BINARY better (STRING);
    REQUIRED BINARY workload (STRING);
    REQUIRED BINARY quantity (STRING);
    REQUIRED BINARY parameters (STRING);
    OPTIONAL BINARY cpus (STRING);
}";

/// Facts, ordered by what they are; those of the run come first. No value: it is not known.
const FACTS: &str = "message facts {
    REQUIRED BINARY host (STRING);
    OPTIONAL INT64 time (TIMESTAMP(MICROS,false));
    REQUIRED BINARY fact (STRING);
    OPTIONAL BINARY value (STRING);
    REQUIRED BINARY label (STRING);
}";

pub(super) fn results() -> TypePtr {
    parsed(RESULTS)
}

pub(super) fn facts() -> TypePtr {
    parsed(FACTS)
}

fn parsed(text: &str) -> TypePtr {
    Arc::new(parse_message_type(text).expect("BUG: a schema is written as one"))
}

/// What is known of a run, as facts: ids and labels.
pub(super) const OWN: [[&str; 2]; 8] = [
    [STARTED, "begin of the run"],
    [ID, "id of the run"],
    [PACKAGES, "packages"],
    [CORES, "cores"],
    [SIMULATED, "simulated machine"],
    [ELSEWHERE, "where the machine's answers come from"],
    [INTERRUPTED, "why the run ended early"],
    [UNREADABLE, "why a file is no record"],
];

/// The time as the record says it.
pub(super) const STARTED: &str = "run.started";
/// The run's id; of what is no record, its file.
pub(super) const ID: &str = "run.id";
pub(super) const PACKAGES: &str = "run.packages";
pub(super) const CORES: &str = "run.cores";
pub(super) const SIMULATED: &str = "run.simulated";
pub(super) const ELSEWHERE: &str = "run.elsewhere";
pub(super) const INTERRUPTED: &str = "run.interrupted";
/// Only of what is no record.
pub(super) const UNREADABLE: &str = "run.unreadable";
