//! A key from a text: as it was printed, or that of a record.

use model::record::{KEY_SCHEMA, MachineKey, ReadError, is_of_major};

/// Why a text has no key.
#[derive(Debug, thiserror::Error)]
pub enum NoKey {
    /// It is a key, and not of this major version.
    #[error("it is `{0}`, and this version reads `{KEY_SCHEMA}`")]
    OtherMajor(String),
    /// It begins as a key and is none.
    #[error("its key is broken: {0}")]
    Broken(serde_json::Error),
    /// It is a line for people.
    #[error("it is the line of a key, which is rounded for reading")]
    Line,
    /// It is neither a key nor a record.
    #[error(transparent)]
    Record(#[from] ReadError),
}

/// The key of that text, which is foreign: of several, one a line, the last; of a record without measurements, such as
/// one of `quiet`, the last that it keeps.
///
/// # Errors
/// Where it has none.
pub fn read(text: &str) -> Result<MachineKey, NoKey> {
    let last = text.trim_end().lines().next_back().unwrap_or_default();
    if last.starts_with("k1 ") {
        return Err(NoKey::Line);
    }
    let (text, schema) = match (schema(text), schema(last)) {
        (None, Some(of_last)) if of_last.starts_with(FORM) => (last, Some(of_last)),
        (of_all, _) => (text, of_all),
    };
    match schema.filter(|schema| schema.starts_with(FORM)) {
        Some(schema) if !is_of_major(&schema, KEY_SCHEMA) => Err(NoKey::OtherMajor(schema)),
        Some(_) => {
            let key: MachineKey = serde_json::from_str(text).map_err(NoKey::Broken)?;
            // A line is made of a key, and never believed.
            Ok(MachineKey { line: super::line(&key), ..key })
        }
        None => {
            let mut record = model::record::read(text)?;
            let kept = record.keys.pop().filter(|_| record.measured().next().is_none());
            Ok(kept.map_or_else(
                || super::of(&record),
                |key| MachineKey { line: super::line(&key), ..key },
            ))
        }
    }
}

/// How schemas of keys begin.
const FORM: &str = "cpudyno.key/";

fn schema(text: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct KeyHead {
        schema: String,
    }
    Some(serde_json::from_str::<KeyHead>(text).ok()?.schema)
}
