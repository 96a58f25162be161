//! Reading a record back: what is refused, and why.

use serde::Deserialize;

use super::{Record, SCHEMA};

/// Why a text is no record that this version can read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is not JSON, or cut off.
    #[error("not a record: {0}")]
    Json(serde_json::Error),
    /// It is JSON, but says nothing of a schema.
    #[error("not a record: it has no `schema`")]
    NoSchema,
    /// It is somebody else's JSON.
    #[error("not a record: its schema is `{0}`, expected `{SCHEMA}`")]
    Foreign(String),
    /// It was written by a version with another major schema.
    #[error("its schema is `{0}`, and this version reads `{SCHEMA}`")]
    OtherMajor(String),
    /// It claims the schema, but does not keep it.
    #[error("the record breaks its schema: {0}")]
    Broken(serde_json::Error),
}

/// Reads a record of the same major schema; fields that this version does not know are ignored.
pub fn read(text: &str) -> Result<Record, ReadError> {
    #[derive(Deserialize)]
    struct Head {
        schema: Option<String>,
    }
    let value: serde_json::Value = serde_json::from_str(text).map_err(ReadError::Json)?;
    let head = Head::deserialize(&value).map_err(|_| ReadError::NoSchema)?;
    let schema = head.schema.ok_or(ReadError::NoSchema)?;
    let major = |schema: &str| schema.split('.').take(2).collect::<Vec<_>>().join(".");
    match schema.strip_prefix("cpudyno.record/") {
        None => return Err(ReadError::Foreign(schema)),
        // `cpudyno.record/1.3` would be a later minor of ours.
        Some(_) if major(&schema) != SCHEMA => return Err(ReadError::OtherMajor(schema)),
        Some(_) => {}
    }
    serde_json::from_value(value).map_err(ReadError::Broken)
}
