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

stream! {
    /// Dependent multiply-adds of 32-bit numbers (`fmla`): each
    /// waits for the one before it.
    title: "32-bit fused multiply-adds, serial",
    kind: Latency, chains: 1, ops: 100,
    op: AccumulateSingle "fmla",
    weight: Heavy,
    rows: {
        neon NEON_FMA32 = "neon_fma32" needs [Asimd],
    }
}

stream! {
    /// Independent multiply-adds of 32-bit numbers (`fmla`): sixteen
    /// chains keep all multipliers busy.
    title: "32-bit fused multiply-adds, parallel",
    kind: Throughput, chains: 16, ops: 96,
    op: AccumulateSingle "fmla",
    weight: Heavy,
    rows: {
        neon NEON_FMA32_T = "neon_fma32_t" needs [Asimd],
    }
}

stream! {
    /// Dependent multiply-adds of 16-bit floating-point numbers (`fmla`): each
    /// waits for the one before it.
    title: "16-bit fused multiply-adds, serial",
    kind: Latency, chains: 1, ops: 100,
    op: AccumulateHalf "fmla",
    weight: Heavy,
    rows: {
        neon NEON_FP16 = "neon_fp16" needs [Asimd, Asimdhp],
    }
}

stream! {
    /// Independent multiply-adds of 16-bit floating-point numbers (`fmla`): sixteen
    /// chains keep all multipliers busy.
    title: "16-bit fused multiply-adds, parallel",
    kind: Throughput, chains: 16, ops: 96,
    op: AccumulateHalf "fmla",
    weight: Heavy,
    rows: {
        neon NEON_FP16_T = "neon_fp16_t" needs [Asimd, Asimdhp],
    }
}

stream! {
    /// Dependent multiply-adds of 32-bit numbers (`fmad`): each
    /// waits for the one before it.
    title: "32-bit fused multiply-adds, serial",
    kind: Latency, chains: 1, ops: 100,
    op: FusedSingle "fmad",
    weight: Heavy,
    rows: {
        sve SVE_FMA32 = "sve_fma32" needs [Sve],
    }
}

stream! {
    /// Independent multiply-adds of 32-bit numbers (`fmad`): sixteen
    /// chains keep all multipliers busy.
    title: "32-bit fused multiply-adds, parallel",
    kind: Throughput, chains: 16, ops: 96,
    op: FusedSingle "fmad",
    weight: Heavy,
    rows: {
        sve SVE_FMA32_T = "sve_fma32_t" needs [Sve],
    }
}

stream! {
    /// Dependent multiply-adds of 16-bit floating-point numbers (`fmad`): each
    /// waits for the one before it.
    title: "16-bit fused multiply-adds, serial",
    kind: Latency, chains: 1, ops: 100,
    op: FusedHalf "fmad",
    weight: Heavy,
    rows: {
        sve SVE_FP16 = "sve_fp16" needs [Sve],
    }
}

stream! {
    /// Independent multiply-adds of 16-bit floating-point numbers (`fmad`): sixteen
    /// chains keep all multipliers busy.
    title: "16-bit fused multiply-adds, parallel",
    kind: Throughput, chains: 16, ops: 96,
    op: FusedHalf "fmad",
    weight: Heavy,
    rows: {
        sve SVE_FP16_T = "sve_fp16_t" needs [Sve],
    }
}

stream! {
    /// Dependent dot products of signed bytes, added up in 32 bits (`sdot`): each
    /// waits for the one before it.
    title: "byte dot products, serial",
    kind: Latency, chains: 1, ops: 100,
    op: DotSignedBytes "sdot",
    weight: Heavy,
    rows: {
        neon NEON_DOT = "neon_dot" needs [Asimd, Asimddp],
        sve SVE_DOT = "sve_dot" needs [Sve],
    }
}

stream! {
    /// Independent dot products of signed bytes, added up in 32 bits (`sdot`): sixteen
    /// chains keep all multipliers busy.
    title: "byte dot products, parallel",
    kind: Throughput, chains: 16, ops: 96,
    op: DotSignedBytes "sdot",
    weight: Heavy,
    rows: {
        neon NEON_DOT_T = "neon_dot_t" needs [Asimd, Asimddp],
        sve SVE_DOT_T = "sve_dot_t" needs [Sve],
    }
}

stream! {
    /// Dependent products of two rows of eight signed bytes by two (`smmla`): each
    /// waits for the one before it.
    title: "byte matrix products, serial",
    kind: Latency, chains: 1, ops: 100,
    op: MatrixBytes "smmla",
    weight: Heavy,
    rows: {
        neon NEON_I8MM = "neon_i8mm" needs [Asimd, I8mm],
    }
}

stream! {
    /// Independent products of two rows of eight signed bytes by two (`smmla`): sixteen
    /// chains keep all multipliers busy.
    title: "byte matrix products, parallel",
    kind: Throughput, chains: 16, ops: 96,
    op: MatrixBytes "smmla",
    weight: Heavy,
    rows: {
        neon NEON_I8MM_T = "neon_i8mm_t" needs [Asimd, I8mm],
    }
}

stream! {
    /// Dependent dot products of bfloat16, added up in 32-bit floating point (`bfdot`): each
    /// waits for the one before it.
    title: "bfloat16 dot products, serial",
    kind: Latency, chains: 1, ops: 100,
    op: DotBrain "bfdot",
    weight: Heavy,
    rows: {
        neon NEON_BF16 = "neon_bf16" needs [Asimd, Bf16],
    }
}

stream! {
    /// Independent dot products of bfloat16, added up in 32-bit floating point (`bfdot`): sixteen
    /// chains keep all multipliers busy.
    title: "bfloat16 dot products, parallel",
    kind: Throughput, chains: 16, ops: 96,
    op: DotBrain "bfdot",
    weight: Heavy,
    rows: {
        neon NEON_BF16_T = "neon_bf16_t" needs [Asimd, Bf16],
    }
}

stream! {
    /// Dependent products of two rows of four numbers of bfloat16 by two (`bfmmla`): each
    /// waits for the one before it.
    title: "bfloat16 matrix products, serial",
    kind: Latency, chains: 1, ops: 100,
    op: MatrixBrain "bfmmla",
    weight: Heavy,
    rows: {
        neon NEON_BFMMLA = "neon_bfmmla" needs [Asimd, Bf16],
    }
}

stream! {
    /// Independent products of two rows of four numbers of bfloat16 by two (`bfmmla`): sixteen
    /// chains keep all multipliers busy.
    title: "bfloat16 matrix products, parallel",
    kind: Throughput, chains: 16, ops: 96,
    op: MatrixBrain "bfmmla",
    weight: Heavy,
    rows: {
        neon NEON_BFMMLA_T = "neon_bfmmla_t" needs [Asimd, Bf16],
    }
}
