//! Results as a tree: what many share is written once.

use std::collections::BTreeMap;

use serde::de::{Deserializer, Error as _};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

use super::{DigestResult, Measured};
use crate::quantity::Unit;
use crate::record::ResultKey;
use crate::stats::paired::Better;
use crate::unavailable::Unavailable;

/// The quantities of a workload.
type Quantities<S, C> = BTreeMap<S, Quantity<S, C>>;

/// Its texts are owned, or borrowed from the record; so are its cells, or only what is needed of them.
#[derive(Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "DigestTree"))]
#[serde(bound(deserialize = "S: Deserialize<'de> + Ord, C: Deserialize<'de>"))]
pub(super) struct Tree<S: Ord = String, C = Cell> {
    /// Why results are absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    reasons: Vec<Unavailable>,
    /// By area, workload and quantity.
    pub(super) areas: BTreeMap<S, BTreeMap<S, Quantities<S, C>>>,
}

#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "DigestQuantity"))]
#[serde(bound(deserialize = "S: Deserialize<'de> + Ord, C: Deserialize<'de>"))]
pub(super) struct Quantity<S: Ord, C> {
    pub(super) unit: Unit,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) better: Option<Better>,
    /// The relative width of the bins that samples were kept in, where they were.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) packing: f64,
    pub(super) rows: Vec<Row<S, C>>,
}

/// Results that differ by the CPUs that were active alone.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "DigestRow"))]
#[serde(bound(deserialize = "S: Deserialize<'de> + Ord, C: Deserialize<'de>"))]
pub(super) struct Row<S: Ord, C> {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) parameters: BTreeMap<S, S>,
    pub(super) cells: Vec<C>,
}

/// A result with so many CPUs active: a median, or the place of the reason why there is none.
#[derive(Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "DigestCell"))]
pub(super) struct Cell {
    active: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cpus: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    median: Option<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    blocks_ppm: Vec<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<usize>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(width: &f64) -> bool {
    *width == 0.0
}

impl Tree {
    fn add(&mut self, key: &ResultKey, result: &DigestResult) {
        let ResultKey { area, workload, quantity, active, cpus, parameters } = key.clone();
        let (measured, reason) = match &result.outcome {
            Ok(measured) => (Some(measured.clone()), None),
            Err(reason) => (None, Some(self.place(reason))),
        };
        let cell = Cell {
            active,
            cpus,
            median: measured.as_ref().map(|it| it.median),
            blocks_ppm: measured.map(|it| it.blocks_ppm).unwrap_or_default(),
            reason,
        };
        let workloads = self.areas.entry(area).or_default();
        let quantities = workloads.entry(workload).or_default();
        let DigestResult { unit, better, .. } = *result;
        let packing = result.outcome.as_ref().map_or(0.0, |it| it.packing);
        let none = || Quantity { unit, better, packing: 0.0, rows: Vec::new() };
        let Quantity { packing: widest, rows, .. } =
            quantities.entry(quantity).or_insert_with(none);
        *widest = widest.max(packing);
        match rows.iter_mut().find(|row| row.parameters == parameters) {
            Some(row) => row.cells.push(cell),
            None => rows.push(Row { parameters, cells: vec![cell] }),
        }
    }

    /// Where a reason stands among those of all results.
    fn place(&mut self, reason: &Unavailable) -> usize {
        let known = self.reasons.iter().position(|known| known == reason);
        known.unwrap_or_else(|| {
            self.reasons.push(reason.clone());
            self.reasons.len() - 1
        })
    }

    fn outcome(&self, cell: Cell, packing: f64) -> Option<Result<Measured, Unavailable>> {
        match (cell.reason, cell.median) {
            (Some(place), _) => Some(Err(self.reasons.get(place)?.clone())),
            (None, median) => {
                Some(Ok(Measured { median: median?, blocks_ppm: cell.blocks_ppm, packing }))
            }
        }
    }
}

pub(super) fn serialize<S: Serializer>(
    results: &BTreeMap<ResultKey, DigestResult>,
    to: S,
) -> Result<S::Ok, S::Error> {
    let mut tree = Tree::<String>::default();
    for (key, result) in results {
        tree.add(key, result);
    }
    tree.serialize(to)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<BTreeMap<ResultKey, DigestResult>, D::Error> {
    let mut tree = Tree::<String>::deserialize(from)?;
    let mut results = BTreeMap::new();
    for (area, workloads) in std::mem::take(&mut tree.areas) {
        for (workload, quantities) in workloads {
            for (quantity, Quantity { unit, better, packing, rows }) in quantities {
                for Row { parameters, cells } in rows {
                    for cell in cells {
                        let key = ResultKey {
                            area: area.clone(),
                            workload: workload.clone(),
                            quantity: quantity.clone(),
                            active: cell.active,
                            cpus: cell.cpus.clone(),
                            parameters: parameters.clone(),
                        };
                        let outcome = tree.outcome(cell, packing);
                        let outcome = outcome.ok_or_else(|| D::Error::missing_field("median"))?;
                        results.insert(key, DigestResult { unit, better, outcome });
                    }
                }
            }
        }
    }
    Ok(results)
}
