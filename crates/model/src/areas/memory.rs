//! Memory: bandwidth and latency.

use super::{HIGHER, LOWER, NEITHER, Quantity};
use crate::Unit;

/// Its id.
pub const AREA: &str = "memory";
/// The workload that follows pointers; all others are kernels.
pub const CHASE: &str = "chase";
/// The kernel that the sheet measures on ever more cores.
pub const ALONE: &str = "copy";
/// What a number was measured for: the parameter `question`.
pub const QUESTION: &str = "question";
/// Elements and bytes of what others move beside a chase.
pub const BESIDE_ELEMENTS: &str = "beside_elements";
/// The bytes of it.
pub const BESIDE_FOOTPRINT: &str = "beside_footprint";

/// What its numbers mean, in the order of a record.
pub static QUANTITIES: &[Quantity] = &[
    Quantity::new(
        "bandwidth",
        "bandwidth",
        Unit::BytePerSecond,
        HIGHER,
        "Bytes that the program asks for, of all threads together, per second from the first one's \
         beginning to the last one's end; one sample for each repetition.",
    ),
    Quantity::new(
        "latency",
        "latency",
        Unit::Second,
        LOWER,
        "Seconds that each pointer of a chain takes, where one is known only when the one before has \
         arrived; one sample for each repetition.",
    ),
    Quantity::new(
        "latency_cycles",
        "latency in core cycles",
        Unit::Cycle,
        LOWER,
        "The same in core cycles, by the multiply chain right after.",
    ),
    Quantity::new(
        "background",
        "bandwidth beside it",
        Unit::BytePerSecond,
        HIGHER,
        "Bytes per second that the other threads asked for meanwhile.",
    ),
    Quantity::new(
        "skew",
        "skew",
        Unit::One,
        LOWER,
        "How much earlier than the last thread the first one was through, as a share of the time.",
    ),
    Quantity::new(
        "measured_read",
        "measured reads",
        Unit::BytePerSecond,
        NEITHER,
        "Bytes per second that the memory controllers of all packages read from memory, of everybody, \
         by their own counters: what they counted between a reading before the first thread's beginning \
         and one after the last one's end, over the time of the repetition. Lines that stores and \
         prefetchers bring in count, too.",
    ),
    Quantity::new(
        "measured_write",
        "measured writes",
        Unit::BytePerSecond,
        NEITHER,
        "Bytes per second that they write to memory, in the same way.",
    ),
    Quantity::new(
        "measured_beyond",
        "time between readings beyond the repetition",
        Unit::One,
        LOWER,
        "How much longer than the repetition the time between the two readings of the memory \
         controllers was, as a share of the repetition: what others moved meanwhile counts, too.",
    ),
    Quantity::new(
        "measured_read_per_asked",
        "measured reads for each byte asked for",
        Unit::One,
        NEITHER,
        "Bytes that the memory controllers read for each byte that the program asks for, in the same \
         repetition.",
    ),
    Quantity::new(
        "measured_write_per_asked",
        "measured writes for each byte asked for",
        Unit::One,
        NEITHER,
        "Bytes that they write for each byte that the program asks for, in the same repetition.",
    ),
    Quantity::new(
        "measured_left_out",
        "repetitions that were not counted",
        Unit::One,
        LOWER,
        "Repetitions of a block that are left out of what memory controllers counted, beside the first: \
         a counter was taken by others, stood still or ran backwards. Blocks without any have no sample.",
    ),
    Quantity::new(
        "answer_error",
        "largest error of the answers",
        Unit::One,
        LOWER,
        "Relative; every kernel is exact, so that it is zero or there is no number at all.",
    ),
];
