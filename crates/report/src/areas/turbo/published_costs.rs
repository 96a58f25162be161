//! What was measured beside what others found.

use model::Finding;
use model::record::Record;

use super::super::published::{Bound, Comparison, FigureVerdict};
use super::read::rows;

/// Every stream that has cycles per op with one active core.
pub fn compare(record: &Record) -> Vec<Comparison<'_>> {
    let alone = rows(record).into_iter().filter(|row| row.active.len() == 1);
    let comparison = alone.filter_map(|row| {
        let measured = row.median("cycles_per_op").filter(|cycles| *cycles > 0.0)?;
        let uncertainty = row.uncertainty("cycles_per_op");
        Comparison::in_record(record, row.workload, row.core_type(), measured, uncertainty)
    });
    comparison.collect()
}

/// Streams that take another number of cycles than others found on such a core.
pub(super) fn differing(record: &Record) -> Option<Finding> {
    let comparisons = compare(record);
    let differs =
        |c: &&Comparison<'_>| c.verdict() == FigureVerdict::Differs && c.bound != Some(Bound::Spin);
    let streams: Vec<String> = comparisons
        .iter()
        .filter(differs)
        .map(|c| {
            let on = c.core_type.map_or(String::new(), |core_type| format!(" on {core_type}"));
            let (known, sources) = (c.figures.words(), c.figures.sources());
            format!("{}{on} {:.3} (known: {known}, by {sources})", c.stream, c.measured)
        })
        .collect();
    (!streams.is_empty()).then(|| {
        Finding::note(
            "turbo.latency-differs",
            "cycles per op",
            format!(
                "with one core active, core cycles per op are not as others found them on this \
             microarchitecture: {}",
                streams.join("; ")
            ),
        )
    })
}
