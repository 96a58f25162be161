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
use model::page::{Block, Text};
use model::record::Record;
use model::{Finding, Unit};

use super::Area;
use crate::rig::collect::{Guard, Quantity, Take};
use crate::run::plan::{Planning, Wishes};
use crate::sheet::claims::Claim;
use crate::sheet::normal::Band;

/// The area.
pub struct Memory;

const AREA: &str = "memory";

/// The workload that follows pointers; all others are kernels.
pub(super) const CHASE: &str = "chase";

/// The kernel that the sheet measures on ever more cores.
pub(super) const ALONE: &str = "copy";

/// The kernels of STREAM, in its order.
pub fn classic() -> Vec<&'static MemoryKernel> {
    ["copy", "scale", "add", "triad"].into_iter().filter_map(find).collect()
}

const fn offered(
    id: &'static str,
    label: &'static str,
    unit: Unit,
    better: &'static str,
    doc: &'static str,
    take: Take,
) -> Quantity {
    Quantity {
        id,
        label,
        unit,
        better,
        doc,
        guard: Guard::None,
        if_offered: true,
        packing: 1e-3,
        take,
    }
}

static QUANTITIES: &[Quantity] = &[
    offered(
        "bandwidth",
        "bandwidth",
        Unit::BytePerSecond,
        "higher is better",
        "Bytes that the program asks for, of all threads together, per second from the first one's \
         beginning to the last one's end; one sample for each repetition.",
        Take::Haul(|haul| &haul.bandwidth),
    ),
    offered(
        "latency",
        "latency",
        Unit::Second,
        "lower is better",
        "Seconds that each pointer of a chain takes, where one is known only when the one before has \
         arrived; one sample for each repetition.",
        Take::Haul(|haul| &haul.latency),
    ),
    offered(
        "latency_cycles",
        "latency in core cycles",
        Unit::Cycle,
        "lower is better",
        "The same in core cycles, by the multiply chain right after.",
        Take::Haul(|haul| &haul.cycles),
    ),
    offered(
        "background",
        "bandwidth beside it",
        Unit::BytePerSecond,
        "higher is better",
        "Bytes per second that the other threads asked for meanwhile.",
        Take::Haul(|haul| &haul.background),
    ),
    offered(
        "skew",
        "skew",
        Unit::One,
        "lower is better",
        "How much earlier than the last thread the first one was through, as a share of the time.",
        Take::Haul(|haul| &haul.skew),
    ),
    offered(
        "measured_read",
        "measured reads",
        Unit::BytePerSecond,
        "",
        "Bytes per second that the memory controllers of all packages read from memory, of everybody, \
         by their own counters: what they counted between a reading before the first thread's beginning \
         and one after the last one's end, over the time of the repetition. Lines that stores and \
         prefetchers bring in count, too.",
        Take::Counted(|counted| &counted.read),
    ),
    offered(
        "measured_write",
        "measured writes",
        Unit::BytePerSecond,
        "",
        "Bytes per second that they write to memory, in the same way.",
        Take::Counted(|counted| &counted.written),
    ),
    offered(
        "measured_beyond",
        "time between readings beyond the repetition",
        Unit::One,
        "lower is better",
        "How much longer than the repetition the time between the two readings of the memory \
         controllers was, as a share of the repetition: what others moved meanwhile counts, too.",
        Take::Counted(|counted| &counted.beyond),
    ),
    offered(
        "measured_read_per_asked",
        "measured reads for each byte asked for",
        Unit::One,
        "",
        "Bytes that the memory controllers read for each byte that the program asks for, in the same \
         repetition.",
        Take::Counted(|counted| &counted.read_per_asked),
    ),
    offered(
        "measured_write_per_asked",
        "measured writes for each byte asked for",
        Unit::One,
        "",
        "Bytes that they write for each byte that the program asks for, in the same repetition.",
        Take::Counted(|counted| &counted.written_per_asked),
    ),
    offered(
        "measured_left_out",
        "repetitions that were not counted",
        Unit::One,
        "lower is better",
        "Repetitions of a block that are left out of what memory controllers counted, beside the first: \
         a counter was taken by others, stood still or ran backwards. Blocks without any have no sample.",
        Take::Haul(|haul| &haul.uncounted),
    ),
    offered(
        "answer_error",
        "largest error of the answers",
        Unit::One,
        "lower is better",
        "Relative; every kernel is exact, so that it is zero or there is no number at all.",
        Take::Haul(|haul| &haul.error),
    ),
];

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
