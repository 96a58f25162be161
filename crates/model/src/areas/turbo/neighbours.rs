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
