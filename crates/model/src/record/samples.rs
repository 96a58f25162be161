//! Samples by block, as they are or packed.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use crate::stats::{Summary, median, to_digits};

/// Samples by block, in the order of measuring. Packed when they are many: then each is rounded to
/// the nearest `step` and counted, and the summary is computed from what is left.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Samples {
    /// Every sample as it was, block by block; blocks that were held back are empty.
    Plain(Vec<Vec<f64>>),
    /// Counts of rounded samples.
    Packed {
        /// The width of a bin, in the unit of the series.
        step: f64,
        /// Bin number (sample / step, rounded) and how many samples fell into it, ascending. Written as runs of bins
        /// that follow each other: the number of the first bin, then the count of each.
        #[serde(serialize_with = "as_runs")]
        #[cfg_attr(feature = "schema", schemars(with = "Vec<Vec<i64>>"))]
        packed: Vec<(i64, u64)>,
        /// The number of each block that has samples, and its median, to five significant digits.
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
        struct CountedSamples {
            step: f64,
            #[serde(deserialize_with = "from_runs")]
            packed: Vec<(i64, u64)>,
            block_medians: Vec<(u64, f64)>,
        }
        let CountedSamples { step, packed, block_medians } =
            CountedSamples::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Samples::Packed { step, packed, block_medians })
    }
}

fn as_runs<S: Serializer>(packed: &[(i64, u64)], to: S) -> Result<S::Ok, S::Error> {
    let runs = packed.chunk_by(|(before, _), (bin, _)| before.checked_add(1) == Some(*bin));
    to.collect_seq(runs.map(|run| {
        let counts = run.iter().map(|(_, count)| i128::from(*count));
        run.first().map(|(bin, _)| i128::from(*bin)).into_iter().chain(counts).collect::<Vec<_>>()
    }))
}

fn from_runs<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<(i64, u64)>, D::Error> {
    let mut packed = Vec::new();
    for run in Vec::<Vec<i64>>::deserialize(from)? {
        let Some((first, counts)) = run.split_first() else {
            return Err(D::Error::custom("a run of bins without the number of the first"));
        };
        for (bin, count) in (i128::from(*first)..).zip(counts) {
            let pair = i64::try_from(bin).ok().zip(u64::try_from(*count).ok());
            let wrong = || D::Error::custom(format!("{count} samples in bin {bin}"));
            packed.push(pair.ok_or_else(wrong)?);
        }
    }
    Ok(packed)
}

impl Samples {
    /// All samples, in no particular order (the middle of the bin where they are packed).
    pub fn all(&self) -> Vec<f64> {
        match self {
            Samples::Plain(blocks) => blocks.iter().flatten().copied().collect(),
            Samples::Packed { step, packed, .. } => {
                let middle = middle_of_bin(*step);
                let of =
                    |&(bin, count): &(i64, u64)| std::iter::repeat_n(middle(bin), count as usize);
                packed.iter().flat_map(of).collect()
            }
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
            block_medians: self
                .numbered_medians()
                .into_iter()
                .map(|(number, median)| (number, to_digits(median, MEDIAN_DIGITS)))
                .collect(),
        }
    }

    /// The summary that belongs to these samples; `None` when there are none.
    pub fn summary(&self) -> Option<Summary> {
        Summary::of(&self.all(), &self.block_medians())
    }
}

/// A tenth and less of the bins that samples are rounded to: more would be noise that fills the record.
const MEDIAN_DIGITS: usize = 5;

/// Where the middle of a bin is, as decimals would have it: what is written of it is no longer than it must be.
fn middle_of_bin(step: f64) -> impl Fn(i64) -> f64 {
    /// Powers of ten up to here are exact.
    const EXACT: i32 = 22;
    let whole = |power: &i32| {
        let scaled = step * 10f64.powi(*power);
        (1.0..1e6).contains(&scaled) && (scaled - scaled.round()).abs() < 1e-12 * scaled
    };
    // Of a product and a quotient of whole numbers only the latter is rounded.
    let power = (0..=EXACT).find(whole).map(|power| 10f64.powi(power));
    move |bin| match power {
        Some(power) => bin as f64 * (step * power).round() / power,
        None => bin as f64 * step,
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
    fn packed_numbers_are_no_longer_than_they_must_be() {
        let samples = vec![vec![3.349e-10, 3.351_234_5e-10, 0.1 + 0.2]];
        let packed = Samples::Plain(samples).packed(1.7e-13);
        assert_eq!(packed.all()[..2], [3.349e-10, 3.3507e-10]);
        assert_eq!(packed.block_medians(), [3.3512e-10]);
        let thirds = Samples::Plain(vec![vec![1.0]]).packed(1.0 / 3.0);
        assert_eq!(thirds.all(), [1.0]);
        let many = Samples::Plain(vec![vec![2_962_499_999.0]]).packed(1.5e6);
        assert_eq!(many.all(), [2_962_500_000.0]);
    }

    #[test]
    fn bins_that_follow_each_other_are_written_once() {
        let samples = vec![vec![-2.0, -1.0, -1.0, 0.0, 7.0, 9.0, 9.0]];
        let packed = Samples::Plain(samples).packed(1.0);
        let text = serde_json::to_string(&packed).unwrap();
        assert!(text.contains(r#""packed":[[-2,1,2,1],[7,1],[9,2]]"#), "{text}");
        assert_eq!(serde_json::from_str::<Samples>(&text).unwrap(), packed);
        let each = text.replace("[-2,1,2,1]", "[-2,1],[-1,2],[0,1]");
        assert_eq!(serde_json::from_str::<Samples>(&each).unwrap(), packed);
        for wrong in ["[]", "[0,-1]", "[9223372036854775807,1,1]"] {
            let text = text.replace("[7,1]", wrong);
            assert!(serde_json::from_str::<Samples>(&text).is_err(), "{text}");
        }
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
