//! Streams of AArch64: hints, and vectors.

stream! {
    /// YIELD, the hint that was meant for spin loops. Most cores do nothing for it.
    title: "yields",
    kind: Spin, chains: 1, ops: 10,
    op: Count "yield",
    rows: { none YIELD = "yield" needs [] }
}

stream! {
    /// WFE right after an event was set (SEVL): what a look costs. Without an event it would last until the
    /// next one, which Linux sends every 100 us.
    title: "waits for an event that is there",
    kind: Spin, chains: 1, ops: 10,
    op: Count "wfe",
    rows: { event WFE = "wfe" needs [] }
}

stream! {
    /// Dependent additions of vectors of 64-bit integers: each waits for the one before it.
    title: "integer adds, serial",
    kind: Latency, chains: 1, ops: 100,
    op: Sum "add",
    rows: {
        neon NEON_IADD = "neon_iadd" needs [Asimd],
        sve SVE_IADD = "sve_iadd" needs [Sve],
    }
}

stream! {
    /// Independent additions of vectors of 64-bit integers: ten chains keep all adders busy.
    title: "integer adds, parallel",
    kind: Throughput, chains: 10, ops: 100,
    op: Sum "add",
    rows: {
        neon NEON_IADD_T = "neon_iadd_t" needs [Asimd],
        sve SVE_IADD_T = "sve_iadd_t" needs [Sve],
    }
}

stream! {
    /// Dependent multiply-adds: each adds its product to the sum of the one before it. Many CPUs
    /// need the sum only in the last cycles of the instruction, so a chain of sums is shorter than
    /// a chain of products would be.
    title: "fused multiply-adds, serial in the sum",
    kind: Latency, chains: 1, ops: 100,
    op: Accumulate "fmla",
    weight: Heavy,
    rows: { neon NEON_FMA = "neon_fma" needs [Asimd] }
}

// Sixteen chains, for four multiply-adds a cycle at a latency of four cycles.
stream! {
    /// Independent multiply-adds: sixteen chains keep all multipliers busy in every cycle. The
    /// heaviest load at this width.
    title: "fused multiply-adds, parallel",
    kind: Throughput, chains: 16, ops: 96,
    op: Accumulate "fmla",
    weight: Heavy,
    rows: { neon NEON_FMA_T = "neon_fma_t" needs [Asimd] }
}

stream! {
    /// Dependent multiply-adds: the product carries the chain, so that the whole latency is in its
    /// way.
    title: "fused multiply-adds, serial",
    kind: Latency, chains: 1, ops: 100,
    op: Fused "fmad",
    weight: Heavy,
    rows: { sve SVE_FMA = "sve_fma" needs [Sve] }
}

stream! {
    /// Independent multiply-adds: sixteen chains keep all multipliers busy in every cycle. The
    /// heaviest load of an AArch64 CPU in this table.
    title: "fused multiply-adds, parallel",
    kind: Throughput, chains: 16, ops: 96,
    op: Fused "fmad",
    weight: Heavy,
    rows: { sve SVE_FMA_T = "sve_fma_t" needs [Sve] }
}
