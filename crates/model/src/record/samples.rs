//! Samples by block, as they are or packed.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::stats::{Summary, median};

/// Samples by block, in the order of measuring. Packed when they are many: then each is rounded to
/// the nearest `step` and counted, and the summary is computed from what is left.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Samples {
    /// Every sample as it was, block by block; blocks that were held back are empty.
    Plain(Vec<Vec<f64>>),
    /// Counts of rounded samples.
    Packed {
        /// The width of a bin, in the unit of the series.
        step: f64,
        /// Bin number (sample / step, rounded) and how many samples fell into it, ascending.
        packed: Vec<(i64, u64)>,
        /// The number of each block that has samples, and its median, not rounded.
        block_medians: Vec<(u64, f64)>,
    },
}

/// A list is plain, an object packed: nothing has to be kept until that is known.
impl<'de> Deserialize<'de> for Samples {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Samples, D::Error> {
        from.deserialize_any(PlainOrPacked)
    }
}

struct PlainOrPacked;

impl<'de> Visitor<'de> for PlainOrPacked {
    type Value = Samples;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("samples, block by block or packed")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, blocks: A) -> Result<Samples, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(blocks)).map(Samples::Plain)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Samples, A::Error> {
        #[derive(Deserialize)]
        struct Counted {
            step: f64,
            packed: Vec<(i64, u64)>,
            block_medians: Vec<(u64, f64)>,
        }
        let Counted { step, packed, block_medians } =
            Counted::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Samples::Packed { step, packed, block_medians })
    }
}

impl Samples {
    /// All samples, in no particular order (the middle of the bin where they are packed).
    pub fn all(&self) -> Vec<f64> {
        match self {
            Samples::Plain(blocks) => blocks.iter().flatten().copied().collect(),
            Samples::Packed { step, packed, .. } => packed
                .iter()
                .flat_map(|&(bin, count)| std::iter::repeat_n(bin as f64 * step, count as usize))
                .collect(),
        }
    }

    /// The number of each block that has samples, and its median, in the order of measuring.
    pub fn numbered_medians(&self) -> Vec<(u64, f64)> {
        match self {
            Samples::Plain(blocks) => {
                let numbered =
                    |(number, block): (usize, &Vec<f64>)| Some((number as u64, median(block)?));
                blocks.iter().enumerate().filter_map(numbered).collect()
            }
            Samples::Packed { block_medians, .. } => block_medians.clone(),
        }
    }

    /// The median of each block that has samples, in the order of measuring.
    pub fn block_medians(&self) -> Vec<f64> {
        self.numbered_medians().into_iter().map(|(_, median)| median).collect()
    }

    /// The same samples rounded to `step` and counted.
    #[must_use]
    pub fn packed(&self, step: f64) -> Samples {
        assert!(step > 0.0, "BUG: packing step {step}");
        let bin = |value: f64| (value / step).round() as i64;
        let mut bins: Vec<i64> = self.all().into_iter().map(bin).collect();
        bins.sort_unstable();
        Samples::Packed {
            step,
            packed: bins.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u64)).collect(),
            block_medians: self.numbered_medians(),
        }
    }

    /// The summary that belongs to these samples; `None` when there are none.
    pub fn summary(&self) -> Option<Summary> {
        Summary::of(&self.all(), &self.block_medians())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_keeps_every_sample_within_half_a_step() {
        let plain = Samples::Plain(vec![vec![1.002, 0.999, 1.31], vec![2.0]]);
        let packed = plain.packed(0.01);
        assert_eq!(packed.all(), vec![1.0, 1.0, 1.31, 2.0]);
        assert_eq!(packed.block_medians(), vec![1.002, 2.0]);
        assert_eq!(packed.summary().unwrap().count, 4);
    }

    #[test]
    fn blocks_keep_their_numbers_when_one_is_empty() {
        let plain = Samples::Plain(vec![vec![1.0], vec![], vec![3.0]]);
        assert_eq!(plain.numbered_medians(), [(0, 1.0), (2, 3.0)]);
        assert_eq!(plain.packed(0.5).numbered_medians(), [(0, 1.0), (2, 3.0)]);
        assert_eq!(plain.summary().unwrap().blocks, 2);
    }

    #[test]
    fn both_forms_survive_json() {
        for samples in
            [Samples::Plain(vec![vec![1.5]]), Samples::Plain(vec![vec![1.5]]).packed(0.5)]
        {
            let text = serde_json::to_string(&samples).unwrap();
            assert_eq!(serde_json::from_str::<Samples>(&text).unwrap(), samples);
        }
    }
}
