//! The streams that the rig needs for itself. None of them is in the table of streams.
//!
//! The clock of a core is read from a chain whose latency is a small whole number of cycles. The
//! chain of multiplications is the ruler: it agrees with other chains within a few parts in a
//! thousand, also when a second hardware thread shares the core. The chain of additions reads slow
//! by up to some per cent in that case, and this is what makes it a witness: where the two
//! disagree, the core was shared.

stream! {
    /// Dependent multiplications in a general purpose register: the chain by which clocks are read.
    /// Its latency is the same small whole number of cycles at any clock.
    title: "integer multiplies, serial",
    kind: Latency, chains: 1, ops: 100,
    op: Product "imul" ("mul" on aarch64),
    rows: { gpr RULER = "ruler" needs [] }
}

stream! {
    /// Dependent additions in a general purpose register: the witness for the ruler. With a busy
    /// second thread on the core it reads slow, and the ruler does not.
    title: "integer adds, serial",
    kind: Latency, chains: 1, ops: 100,
    op: Sum "add",
    rows: { gpr WITNESS = "witness" needs [] }
}

stream! {
    /// Nothing: it returns at once. Its time is the cost of the call that every repetition makes.
    title: "empty call",
    kind: Null, chains: 0, ops: 0,
    op: Nothing "ret",
    rows: { none NULL = "null" needs [] }
}

// Cores have one unit for these on x86-64 and at most two on AArch64, with latencies of three and
// two cycles: five chains are enough for both.
stream! {
    /// Independent multiplications in general purpose registers: five chains keep the multiplier
    /// busy in every cycle. Two hardware threads of one core halve each other, two cores do not.
    title: "integer multiplies, parallel",
    kind: Throughput, chains: 5, ops: 100,
    op: Product "imul" ("mul" on aarch64),
    rows: { gpr CONTENTION = "contention" needs [] }
}

/// The table's rows and the four of this file.
#[cfg(test)]
pub(crate) fn every_row() -> impl Iterator<Item = &'static crate::StreamRow> {
    crate::streams::TABLE.iter().copied().chain([&RULER, &WITNESS, &NULL, &CONTENTION])
}
