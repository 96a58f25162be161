//! A bound on results, as somebody asked for it.

use std::collections::BTreeMap;

use super::{BoundKind, ResultKey};
use crate::Unit;

/// A bound on results of one name.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    /// The name, as it was typed.
    pub name: String,
    /// Which side it bounds.
    pub kind: BoundKind,
    /// The bound, in `unit`.
    pub limit: f64,
    /// Its unit.
    pub unit: Unit,
    /// The area of the results.
    pub area: &'static str,
    /// Their quantity.
    pub quantity: &'static str,
    /// One workload, or any that has the quantity.
    pub workload: Option<String>,
    /// So many active cores; none: as many as there are results for.
    pub cores: Option<usize>,
    /// Whether a machine passes only if it could be judged by it.
    pub is_needed: bool,
}

impl Bound {
    /// Whether numbers of that area, with these parameters, may be meant.
    pub fn may_be(&self, area: &str, parameters: &BTreeMap<String, String>) -> bool {
        let question = parameters.get("question").map(String::as_str);
        area == self.area
            && question != Some("sweep")
            // Under load beside it, or after a rest, it is another number.
            && !["beside", "rest_us"].iter().any(|it| parameters.contains_key(*it))
    }

    /// Whether that workload is meant.
    pub fn is_of(&self, workload: &str) -> bool {
        self.workload.as_ref().is_none_or(|mine| mine == workload)
    }

    /// Whether a result is meant.
    pub fn is_about(&self, what: &ResultKey) -> bool {
        self.may_be(&what.area, &what.parameters)
            && what.quantity == self.quantity
            && self.is_of(&what.workload)
            && self.cores.is_none_or(|cores| cores == what.active)
    }
}
