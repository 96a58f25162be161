//! A key from a text: as it was printed, or that of a record.

use model::record::{KEY_SCHEMA, MachineKey, ReadError};

/// Why a text has no key.
#[derive(Debug, thiserror::Error)]
pub enum NoKey {
    /// It is a key, and not of this major version.
    #[error("it is `{0}`, and this version reads `{KEY_SCHEMA}`")]
    OtherMajor(String),
    /// It begins as a key and is none.
    #[error("its key is broken: {0}")]
    Broken(serde_json::Error),
    /// It is neither a key nor a record.
    #[error(transparent)]
    Record(#[from] ReadError),
}

/// The key of that text, which is foreign.
///
/// # Errors
/// Where it has none.
pub fn read(text: &str) -> Result<MachineKey, NoKey> {
    #[derive(serde::Deserialize)]
    struct KeyHead {
        schema: String,
    }
    let is_key = |schema: &str| schema.starts_with("cpudyno.key/");
    match serde_json::from_str::<KeyHead>(text) {
        Ok(head) if head.schema == KEY_SCHEMA => {
            let key: MachineKey = serde_json::from_str(text).map_err(NoKey::Broken)?;
            // A line is made of a key, and never believed.
            Ok(MachineKey { line: super::line(&key), ..key })
        }
        Ok(head) if is_key(&head.schema) => Err(NoKey::OtherMajor(head.schema)),
        _ => Ok(super::of(&model::record::read(text)?)),
    }
}
