//! Stub.
use model::page::Page;
use model::record::Record;
/// Stub.
pub fn page(record: &Record, verbosity: u8) -> Page {
    crate::sheet::page(record, verbosity)
}
