//! Speed Select: what firmware said, which the record has.

use super::check::Rule;

pub(crate) static RULES: &[Rule] = &[];
