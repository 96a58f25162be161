//! Bandwidth, latency by size, latency beside others.

use super::check::Rule;
use super::record::Record;

pub(crate) static RULES: &[Rule] = &[];

pub(crate) fn findings(_: &Record) -> Vec<String> {
    Vec::new()
}
