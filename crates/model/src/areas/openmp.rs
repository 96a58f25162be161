//! Parallel regions.

use std::collections::BTreeMap;

use super::{LOWER, NEITHER, Quantity};
use crate::{Seconds, Unit};

/// Its id.
pub const AREA: &str = "openmp";

/// The barrier of our own at which threads spin.
pub const SPINNING: &str = "spin_barrier";

/// Empty regions that the first thread sleeps after, as the ancestor has them: how many.
pub const SMALL_REGIONS: u32 = 25;
/// How long it sleeps after each.
pub const SMALL_SLEEP: Seconds = Seconds(0.2);

/// What its numbers mean, in the order of a record.
pub static QUANTITIES: &[Quantity] = &[
    Quantity::new(
        "loop_time",
        "time per region of the loop",
        Unit::Second,
        LOWER,
        "One parallel region with a static loop in it, x = (10 x + 1) / 15 for each number of an \
         array, which all threads have the same code for.",
    )
    .judged(),
    Quantity::new(
        "loop_regions",
        "regions that were run",
        Unit::Count,
        NEITHER,
        "How many of them stand behind the times of one block.",
    ),
    Quantity::new(
        "loop_busy",
        "cores busy during the loop",
        Unit::One,
        LOWER,
        "CPU time of all threads against time; 1 is one core.",
    ),
    Quantity::new(
        "region_cost",
        "cost of a region",
        Unit::Second,
        LOWER,
        "Regions with a short delay in them, less the delay alone on one thread (EPCC's method).",
    ),
    Quantity::new(
        "barrier_cost",
        "cost of a barrier",
        Unit::Second,
        LOWER,
        "One region with delay and barrier n times against one with 2n times, less the delay.",
    ),
    Quantity::new(
        "for_cost",
        "cost of a static loop",
        Unit::Second,
        LOWER,
        "The same with a static loop that has a delay for each thread, and the barrier at its end.",
    ),
    Quantity::new(
        "reduction_cost",
        "cost of a region with a reduction",
        Unit::Second,
        LOWER,
        "Regions with a delay and a sum over all threads, less the delay.",
    ),
    Quantity::new(
        "rest_busy",
        "cores busy while the first thread sleeps",
        Unit::One,
        LOWER,
        "CPU time of all threads against time, right after a region; 1 is one core.",
    ),
    Quantity::new(
        "small_time",
        "time of small regions",
        Unit::Second,
        LOWER,
        "25 empty regions, each with 200 ms after it in which the first thread sleeps.",
    ),
    Quantity::new(
        "small_busy",
        "cores busy meanwhile",
        Unit::One,
        LOWER,
        "CPU time of all threads against time; 1 is one core.",
    ),
];

/// What tells series of one workload apart.
pub(super) fn apart(parameters: &BTreeMap<String, String>) -> Option<String> {
    parameters.get("setting").cloned()
}
