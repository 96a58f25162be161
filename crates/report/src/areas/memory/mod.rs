//! Memory: bandwidth and latency, as people read them.

mod byte_accounting;
mod cache_boundaries;
mod channels;
mod claims;
mod figures;
mod findings;
mod page;
mod published_latencies;
mod read;
mod section;
mod shown;
mod stream_comparison;
mod working_set;

pub(super) use claims::last_cache_latency;
pub use page::page;

use model::areas::memory::{ALONE, AREA, CHASE};
use model::record::Record;

use super::Section;
use crate::band::Band;

/// What it says.
pub const SECTION: Section = Section {
    findings: findings::of,
    sentences: section::sentences,
    claims: claims::claims,
    bands,
    figures: figures::figures,
    ..Section::of(AREA, section::section)
};

fn bands(record: &Record) -> Vec<Band> {
    published_latencies::bands(record).into_iter().chain(claims::bands(record)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use measure::areas::memory::Question;

    use super::*;
    use crate::testing::memory;

    /// All that is made from a record.
    fn shown(record: &Record) {
        for verbosity in [0, 1] {
            assert!(!page(record, verbosity).blocks.is_empty());
        }
        SECTION.findings(record);
        SECTION.sentences(record);
        SECTION.section(record);
    }

    #[test]
    fn no_record_is_too_strange_for_a_page() {
        let questions = [
            Question::Bandwidth,
            Question::Scaling,
            Question::Sweep,
            Question::Factors(2),
            Question::Latency,
            Question::Loaded,
            Question::Numa,
        ];
        for question in questions {
            let record = memory("sim:vm-2c", question, |options| {
                options.budget = Some(model::Seconds(2.0));
            });
            let names: BTreeSet<String> =
                record.series.iter().flat_map(|series| series.parameters.keys().cloned()).collect();
            for name in names.iter().filter(|name| *name != "question") {
                for value in ["0", "1", "18446744073709551615", "-1", "x/0", ""] {
                    let mut strange = record.clone();
                    for series in &mut strange.series {
                        series.parameters.insert(name.clone(), value.to_owned());
                    }
                    shown(&strange);
                }
                let mut without = record.clone();
                for series in &mut without.series {
                    series.parameters.remove(name);
                }
                shown(&without);
            }
            let mut nowhere = record.clone();
            nowhere.machine.topology = model::record::Topology::default();
            shown(&nowhere);
            let mut endless = record.clone();
            for cache in &mut endless.machine.topology.caches {
                cache.bytes = Some(u64::MAX);
            }
            shown(&endless);
            for series in &mut nowhere.series {
                series.active = model::CpuSet::default();
            }
            shown(&nowhere);
            nowhere.series.clear();
            shown(&nowhere);
        }
    }
}
