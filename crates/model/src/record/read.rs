//! Reading a record back: what is refused, and why.

use serde::de::value::{Error as ValueError, StringDeserializer};
use serde::de::{DeserializeOwned, IgnoredAny, IntoDeserializer};
use serde::{Deserialize, Deserializer};

use crate::json;

use super::{Outcome, Record, SCHEMA, Samples, Series};

/// Why a text is no record that this version can read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is not JSON, or cut off.
    #[error("not a record: {}", json::refusal(.0))]
    Json(serde_json::Error),
    /// It is JSON, but says nothing of a schema.
    #[error("not a record: it has no `schema`")]
    NoSchema,
    /// It is somebody else's JSON.
    #[error("not a record: its schema is `{0}`, expected `{SCHEMA}`")]
    Foreign(String),
    /// It was written by a version with another major schema.
    #[error("its schema is `{0}`, and this version reads `{SCHEMA}`")]
    OtherMajor(String),
    /// It claims the schema, but does not keep it.
    #[error("the record breaks its schema: {0}")]
    Broken(serde_json::Error),
    /// It keeps the schema, but says what no run can have measured.
    #[error("the record contradicts itself: {0}")]
    Contradiction(String),
}

/// No run is longer: a hundred years.
const LONGEST_SECONDS: f64 = 3.2e9;

/// What a word of a record stands for; nothing where a later version wrote one that this one does not know.
pub(crate) fn if_known<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    from: D,
) -> Result<Option<T>, D::Error> {
    let word = Option::<String>::deserialize(from)?;
    let known = |word: String| {
        let word: StringDeserializer<ValueError> = word.into_deserializer();
        T::deserialize(word).ok()
    };
    Ok(word.and_then(known))
}

/// Reads a record of the same major schema; fields that this version does not know are ignored.
pub fn read(text: &str) -> Result<Record, ReadError> {
    let record: Record = serde_json::from_str(text).map_err(|broken| fault(text, broken))?;
    judged(Some(record.schema.clone()))?;
    let (run, plan) = (&record.run, &record.run.plan);
    for (what, seconds) in [("length", run.seconds), ("budget", plan.budget_seconds)] {
        if !(0.0..=LONGEST_SECONDS).contains(&seconds) {
            return Err(ReadError::Contradiction(format!("the run's {what}, {seconds} s")));
        }
    }
    record.series.iter().try_for_each(check)?;
    Ok(record)
}

/// Whether it is no JSON, no record, or a broken one. Its text is read once more: a second way to make a record
/// would double what the compiler generates.
fn fault(text: &str, broken: serde_json::Error) -> ReadError {
    #[derive(Deserialize)]
    struct Head {
        schema: Option<String>,
    }
    if let Err(error) = serde_json::from_str::<IgnoredAny>(text) {
        return ReadError::Json(error);
    }
    match serde_json::from_str::<Head>(text) {
        Err(_) => ReadError::NoSchema,
        Ok(head) => judged(head.schema).err().unwrap_or(ReadError::Broken(broken)),
    }
}

/// Whether this version reads that schema.
pub(super) fn judged(schema: Option<String>) -> Result<(), ReadError> {
    let schema = schema.ok_or(ReadError::NoSchema)?;
    match schema.strip_prefix("cpudyno.record/") {
        None => Err(ReadError::Foreign(schema)),
        Some(_) if !is_of_major(&schema, SCHEMA) => Err(ReadError::OtherMajor(schema)),
        Some(_) => Ok(()),
    }
}

/// Whether a schema is of that major version: `cpudyno.record/1.3` would be a later minor of `cpudyno.record/1`.
pub fn is_of_major(schema: &str, ours: &str) -> bool {
    schema.split('.').take(2).eq(ours.split('.'))
}

/// What views rely on: packed samples are as many as the summary says, and not more than memory holds.
fn check(series: &Series) -> Result<(), ReadError> {
    const SAMPLES_MAX: u64 = 100_000_000;
    let Outcome::Measured { samples: Samples::Packed { step, packed, .. }, summary } =
        &series.outcome
    else {
        return Ok(());
    };
    let count = packed.iter().try_fold(0u64, |sum, (_, count)| sum.checked_add(*count));
    let count = count.filter(|count| *count == summary.count && *count <= SAMPLES_MAX);
    if count.is_some() && step.is_finite() && *step > 0.0 {
        return Ok(());
    }
    let Series { workload, quantity, cpu, .. } = series;
    let text = format!("packed samples of {quantity} of `{workload}` on CPU {cpu}");
    Err(ReadError::Contradiction(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(step: f64, count: u64) -> Series {
        let packed =
            Samples::Packed { step, packed: vec![(7, count)], block_medians: vec![(0, 7.0)] };
        let summary = crate::stats::Summary::of(&[7.0], &[7.0]).unwrap();
        Series {
            area: "turbo".to_owned(),
            workload: "scalar_iadd".to_owned(),
            quantity: "clock".to_owned(),
            unit: crate::Unit::Hertz,
            parameters: std::collections::BTreeMap::new(),
            cpu: crate::CpuId(0),
            active: crate::CpuSet::default(),
            placement_class: None,
            outcome: Outcome::Measured { samples: packed, summary },
            fixed_cost: None,
            disturbance: super::super::Disturbance::default(),
        }
    }

    #[test]
    fn packed_samples_that_nobody_can_have_measured_are_refused() {
        assert!(check(&series(1.0, 1)).is_ok());
        for (step, count) in [(1.0, 2), (1.0, u64::MAX), (0.0, 1), (-1.0, 1), (f64::NAN, 1)] {
            let error = check(&series(step, count)).unwrap_err().to_string();
            assert!(error.contains("scalar_iadd"), "{error}");
        }
    }
}
