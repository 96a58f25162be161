//! What neighbours cost a victim.

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

/// Where neighbours are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// On all other cores that were chosen.
    Others,
    /// On the other thread of the victim's core.
    Sibling,
}

impl Place {
    /// Both.
    pub const ALL: [Place; 2] = [Place::Others, Place::Sibling];

    /// The word for it in records.
    pub const fn word(self) -> &'static str {
        match self {
            Place::Others => "other cores",
            Place::Sibling => "SMT sibling",
        }
    }
}

/// What neighbours do, by the words for it. Those that cost most come first.
pub const CLASSES: [&str; 9] = [
    "memory",
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

/// Victims and classes, by the words for them.
pub fn named_in_matrix() -> impl Iterator<Item = &'static str> {
    VICTIMS.into_iter().chain(CLASSES)
}
