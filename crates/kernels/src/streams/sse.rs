//! Vector streams in the encoding of SSE, for CPUs without AVX, and to compare the encodings.

stream! {
    /// Dependent additions of vectors of 64-bit integers in the encoding of SSE: each waits for the
    /// one before it.
    title: "SSE2 integer adds, serial",
    kind: Latency, chains: 1, ops: 100,
    op: Sum "paddq",
    rows: { sse SSE2_IADD = "sse2_iadd" needs [Sse2] }
}

stream! {
    /// Independent additions of vectors of 64-bit integers in the encoding of SSE: ten chains keep
    /// all adders busy.
    title: "SSE2 integer adds, parallel",
    kind: Throughput, chains: 10, ops: 100,
    op: Sum "paddq",
    rows: { sse SSE2_IADD_T = "sse2_iadd_t" needs [Sse2] }
}

stream! {
    /// Dependent additions of vectors of 64-bit floating-point numbers in the encoding of SSE: each
    /// waits for the one before it.
    title: "SSE2 floating-point adds, serial",
    kind: Latency, chains: 1, ops: 100,
    op: RealSum "addpd",
    weight: Heavy,
    rows: { sse SSE2_ADD = "sse2_add" needs [Sse2] }
}

stream! {
    /// Independent additions of vectors of 64-bit floating-point numbers in the encoding of SSE:
    /// ten chains keep all adders busy. The heaviest load without AVX in this table.
    title: "SSE2 floating-point adds, parallel",
    kind: Throughput, chains: 10, ops: 100,
    op: RealSum "addpd",
    weight: Heavy,
    rows: { sse SSE2_ADD_T = "sse2_add_t" needs [Sse2] }
}

// SSE2 multiplies without sign only.
stream! {
    /// Dependent multiplications of vectors of 32-bit integers in the encoding of SSE: each waits
    /// for the one before it.
    title: "SSE2 integer multiplies, serial",
    kind: Latency, chains: 1, ops: 100,
    op: ProductUnsigned32 "pmuludq",
    weight: Heavy,
    rows: { sse SSE2_IMUL = "sse2_imul" needs [Sse2] }
}

stream! {
    /// Independent multiplications of vectors of 32-bit integers in the encoding of SSE: ten chains
    /// keep all multipliers busy.
    title: "SSE2 integer multiplies, parallel",
    kind: Throughput, chains: 10, ops: 100,
    op: ProductUnsigned32 "pmuludq",
    weight: Heavy,
    rows: { sse SSE2_IMUL_T = "sse2_imul_t" needs [Sse2] }
}
