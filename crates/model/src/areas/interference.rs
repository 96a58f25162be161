//! What neighbours cost a victim.

use super::{HIGHER, LOWER, Quantity};
use crate::Unit;
use crate::record::Series;

/// Its id.
pub const AREA: &str = "interference";

/// What a victim has: alone, beside its neighbours, and the second over the first.
pub struct Measure {
    /// Alone.
    pub alone: &'static str,
    /// Beside neighbours.
    pub beside: &'static str,
    /// Beside them over alone.
    pub ratio: &'static str,
}

impl Measure {
    /// Whether a quantity is one of its three.
    pub fn has(&self, quantity: &str) -> bool {
        [self.alone, self.beside, self.ratio].contains(&quantity)
    }
}

/// What the neighbours do.
pub const BESIDE: &str = "beside";
/// Where the neighbours are.
pub const PLACE: &str = "place";
/// A victim of scalar instructions, as a workload; the others likewise.
pub const SCALAR: &str = "victim scalar";
/// One of the widest vectors.
pub const VECTOR: &str = "victim vector";
/// One that moves data.
pub const BANDWIDTH: &str = "victim bandwidth";
/// One that follows pointers.
pub const LATENCY: &str = "victim latency";
/// All of them.
pub const VICTIMS: [&str; 4] = [SCALAR, VECTOR, BANDWIDTH, LATENCY];
/// Its clock.
pub const CLOCK: Measure =
    Measure { alone: "tax_clock_alone", beside: "tax_clock", ratio: "tax_clock_ratio" };
/// Its ops per second.
pub const RATE: Measure =
    Measure { alone: "tax_rate_alone", beside: "tax_rate", ratio: "tax_rate_ratio" };
/// Its bandwidth.
pub const MOVED: Measure =
    Measure { alone: "tax_bandwidth_alone", beside: "tax_bandwidth", ratio: "tax_bandwidth_ratio" };
/// Its latency.
pub const WAIT: Measure =
    Measure { alone: "tax_latency_alone", beside: "tax_latency", ratio: "tax_latency_ratio" };
/// The class that costs a core nothing but that others are active.
pub const SCALAR_CLASS: &str = "scalar";
/// The class that moves memory.
pub const MEMORY_CLASS: &str = "memory";

/// Where neighbours are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// On all other cores that were chosen.
    Others,
    /// On every second one of them.
    Half,
    /// On one of them.
    One,
    /// On the other thread of the victim's core.
    Sibling,
}

impl Place {
    /// All of them.
    pub const ALL: [Place; 4] = [Place::Others, Place::Sibling, Place::One, Place::Half];

    /// Those on fewer of the other cores.
    pub const FEWER: [Place; 2] = [Place::One, Place::Half];

    /// Whether a word is that of some of the other cores, or of all.
    pub fn is_on_other_cores(word: &str) -> bool {
        [Place::One, Place::Half, Place::Others].iter().any(|place| place.word() == word)
    }

    /// The word for it in records.
    pub const fn word(self) -> &'static str {
        match self {
            Place::Others => "other cores",
            Place::Half => "half of the other cores",
            Place::One => "one other core",
            Place::Sibling => "SMT sibling",
        }
    }
}

/// What neighbours do, by the words for it. Those that cost most come first.
pub const CLASSES: [&str; 9] = [
    MEMORY_CLASS,
    SCALAR_CLASS,
    "tiles",
    "heavy 512 bit",
    "heavy 256 bit",
    "light 512 bit",
    "light 256 bit",
    "lock spinner",
    "pause",
];

/// Whether a workload stands for a class of neighbours that cannot be had here.
pub fn is_class(workload: &str) -> bool {
    CLASSES.contains(&workload)
}

/// Whether a workload is one of its own.
pub(super) fn has(workload: &str) -> bool {
    VICTIMS.contains(&workload) || is_class(workload)
}

/// Victims and classes, by the words for them.
pub fn named_in_matrix() -> impl Iterator<Item = &'static str> {
    VICTIMS.into_iter().chain(CLASSES)
}

/// What its numbers mean, in the order of a record.
pub static QUANTITIES: &[Quantity] = &[
    Quantity::new(
        CLOCK.alone,
        "clock of the victim alone",
        Unit::Hertz,
        HIGHER,
        "Median clock by the chain, the mean of the jobs before and after those beside neighbours.",
    ),
    Quantity::new(
        CLOCK.beside,
        "clock of the victim beside neighbours",
        Unit::Hertz,
        HIGHER,
        "Median clock by the chain, the mean of two jobs beside neighbours.",
    ),
    Quantity::new(
        CLOCK.ratio,
        "clock beside neighbours over alone",
        Unit::One,
        HIGHER,
        "One for each block: alone, beside, beside, alone.",
    ),
    Quantity::new(
        RATE.alone,
        "ops per second of the victim alone",
        Unit::PerSecond,
        HIGHER,
        "Median rate of ops, the mean of the jobs before and after those beside neighbours.",
    ),
    Quantity::new(
        RATE.beside,
        "ops per second of the victim beside neighbours",
        Unit::PerSecond,
        HIGHER,
        "Median rate of ops, the mean of two jobs beside neighbours.",
    ),
    Quantity::new(
        RATE.ratio,
        "ops per second beside neighbours over alone",
        Unit::One,
        HIGHER,
        "One for each block: alone, beside, beside, alone.",
    ),
    Quantity::new(
        MOVED.alone,
        "bandwidth of the victim alone",
        Unit::BytePerSecond,
        HIGHER,
        "Median bandwidth of a triad beyond caches, the mean of the jobs before and after those beside neighbours.",
    ),
    Quantity::new(
        MOVED.beside,
        "bandwidth of the victim beside neighbours",
        Unit::BytePerSecond,
        HIGHER,
        "Median bandwidth of a triad beyond caches, the mean of two jobs beside neighbours.",
    ),
    Quantity::new(
        MOVED.ratio,
        "bandwidth beside neighbours over alone",
        Unit::One,
        HIGHER,
        "One for each block: alone, beside, beside, alone.",
    ),
    Quantity::new(
        WAIT.alone,
        "latency of the victim alone",
        Unit::Second,
        LOWER,
        "Median latency of one chain of pointers beyond caches, the mean of the jobs before and after \
         those beside neighbours.",
    ),
    Quantity::new(
        WAIT.beside,
        "latency of the victim beside neighbours",
        Unit::Second,
        LOWER,
        "Median latency of one chain of pointers beyond caches, the mean of two jobs beside neighbours.",
    ),
    Quantity::new(
        WAIT.ratio,
        "latency beside neighbours over alone",
        Unit::One,
        LOWER,
        "One for each block: alone, beside, beside, alone.",
    ),
];

/// What a series without numbers is called: the victim, and who is beside it.
pub(super) fn name_of(series: &Series) -> Option<String> {
    let beside = series.parameters.get(BESIDE)?;
    let place = series.parameters.get(PLACE)?;
    Some(format!("{} beside {beside}, {place}", series.workload))
}
