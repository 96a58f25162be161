//! Records and pages in, text out.
//!
//! A view decides how something looks, never what it says: numbers arrive rounded and with their
//! unit ([`model::page`]), or leave exactly as they were measured ([`json`], [`csv`]). Everything
//! here is a pure function (invariant I2): it reads no environment, terminal or clock, and prints
//! nothing, so that the same record gives the same bytes anywhere and at any time.
//!
//! What a machine says of itself is not trusted: characters that could move a cursor, change a
//! colour or hide text come out as visible stand-ins.

#![forbid(unsafe_code)]

mod axis;
pub mod csv;
pub mod html;
pub mod json;
pub mod markdown;
mod number;
mod shades;
pub mod text;
mod visible;

/// Why a record could not be written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// JSON has no way to say it.
    #[error("cannot write the record as JSON: {source}, in `{field}`")]
    Json {
        /// The field that was being written.
        field: String,
        /// What it cannot say.
        source: serde_json::Error,
    },
    /// CSV has no way to say it.
    #[error("cannot write the record as CSV")]
    Csv(#[source] ::csv::Error),
}
