//! What moves between cores, caches and memory: how much a second, and how long one pointer takes.

mod beside;
mod cells;
mod claims;
mod counting;
mod extent;
mod findings;
mod knees;
mod known;
mod list;
mod page;
mod questions;
mod read;
mod request;
mod section;
mod shown;
mod size;

pub use beside::{Extent, extent, kept, planned};
pub(super) use claims::last_cache_latency;
pub use list::list;
pub use page::page;
pub use request::{Options, Question};
pub use size::{Length, rule};

use kernels::memory::{MemoryKernel, find};
use model::Finding;
use model::areas::Quantity;
pub(super) use model::areas::memory::{ALONE, CHASE};
use model::areas::memory::{AREA, QUANTITIES};
use model::page::{Block, Text};
use model::record::Record;

use super::Area;
use crate::rig::collect::{Take, Taken};
use crate::run::plan::{Planning, Wishes};
use crate::sheet::claims::Claim;
use crate::sheet::normal::Band;

/// The area.
pub struct Memory;

/// The kernels of STREAM, in its order.
pub fn classic() -> Vec<&'static MemoryKernel> {
    ["copy", "scale", "add", "triad"].into_iter().filter_map(find).collect()
}

impl Area for Memory {
    fn id(&self) -> &'static str {
        AREA
    }

    fn title(&self) -> &'static str {
        "Memory"
    }

    fn weight(&self) -> f64 {
        3.0
    }

    fn quantities(&self) -> &'static [Quantity] {
        QUANTITIES
    }

    fn taken(&self, quantity: &str) -> Taken {
        match quantity {
            "bandwidth" => Taken::by(Take::Haul(|haul| &haul.bandwidth)),
            "latency" => Taken::by(Take::Haul(|haul| &haul.latency)),
            "latency_cycles" => Taken::by(Take::Haul(|haul| &haul.cycles)),
            "background" => Taken::by(Take::Haul(|haul| &haul.background)),
            "skew" => Taken::by(Take::Haul(|haul| &haul.skew)),
            "measured_read" => Taken::by(Take::Counted(|counted| &counted.read)),
            "measured_write" => Taken::by(Take::Counted(|counted| &counted.written)),
            "measured_beyond" => Taken::by(Take::Counted(|counted| &counted.beyond)),
            "measured_read_per_asked" => {
                Taken::by(Take::Counted(|counted| &counted.read_per_asked))
            }
            "measured_write_per_asked" => {
                Taken::by(Take::Counted(|counted| &counted.written_per_asked))
            }
            "measured_left_out" => Taken::by(Take::Haul(|haul| &haul.uncounted)),
            "answer_error" => Taken::by(Take::Haul(|haul| &haul.error)),
            _ => Taken::NAMED,
        }
    }

    fn offers(&self, workload: &str, quantity: &Quantity) -> bool {
        quantity.id == if workload == CHASE { "latency" } else { "bandwidth" }
    }

    fn wishes(&self, plan: &Planning<'_>) -> Wishes {
        request::in_brief(plan)
    }

    fn findings(&self, record: &Record) -> Vec<Finding> {
        findings::of(record)
    }

    fn sentences(&self, record: &Record) -> Vec<Text> {
        section::sentences(record)
    }

    fn claims(&self, record: &Record) -> Vec<Claim> {
        claims::claims(record)
    }

    fn bands(&self, record: &Record) -> Vec<Band> {
        known::bands(record).into_iter().chain(claims::bands(record)).collect()
    }

    fn section(&self, record: &Record) -> Vec<Block> {
        section::section(record)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use machine::Machine;
    use model::record::{PageKind, Presentation};

    use super::*;
    use crate::rig::executor::Stop;

    /// What a simulated machine answers.
    pub(super) fn simulated(
        name: &str,
        question: Question,
        change: impl FnOnce(&mut Options),
    ) -> Record {
        let mut options = Options::about(question);
        change(&mut options);
        let look = Presentation { width: 80, colour: false, verbosity: 0, page: PageKind::Memory };
        let request = options.request(vec!["test".to_owned()], look);
        let machine = Machine::named(name).unwrap();
        crate::run::measure(&machine, &request, &Stop::default(), &mut |_| {}).unwrap()
    }

    /// All that is made from a record.
    fn shown(record: &Record) {
        for verbosity in [0, 1] {
            assert!(!page(record, verbosity).blocks.is_empty());
        }
        Memory.findings(record);
        Memory.sentences(record);
        Memory.section(record);
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
            let record = simulated("sim:vm-2c", question, |options| {
                options.budget = Some(model::Seconds(2.0));
            });
            let names: BTreeSet<String> =
                record.series.iter().flat_map(|series| series.parameters.keys().cloned()).collect();
            for name in names.iter().filter(|name| *name != cells::QUESTION) {
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
