//! Vector streams that move bits and compute nothing: zeroing and permutations.

// The two narrow rows and the wide one have different names for the same.
stream! {
    /// Exclusive or of a register with itself, which CPUs know to be zero: they are done when they
    /// are renamed, without an execution unit. What is left is the width of the instruction.
    title: "zeroing",
    kind: Rename, chains: 1, ops: 100,
    op: Zero "vpxor",
    rows: {
        xmm AVX128_XOR_ZERO = "avx128_xor_zero" needs [Avx],
        ymm AVX256_XOR_ZERO = "avx256_xor_zero" needs [Avx2],
    }
}

stream! {
    /// Exclusive or of a register with itself, which CPUs know to be zero: they are done when they
    /// are renamed, or in a port where the CPU still sends them there at this width.
    title: "zeroing",
    kind: Rename, chains: 1, ops: 100,
    op: Zero "vpxord",
    rows: { zmm AVX512_XOR_ZERO = "avx512_xor_zero" needs [Avx512f] }
}

stream! {
    /// Dependent permutations of 16-bit parts across the whole vector.
    title: "16-bit permutations, serial",
    kind: Latency, chains: 1, ops: 100,
    op: Permutation16 "vpermw",
    rows: { zmm AVX512_VPERMW = "avx512_vpermw" needs [Avx512f, Avx512bw] }
}

stream! {
    /// Independent permutations of 16-bit parts across the whole vector: ten chains.
    title: "16-bit permutations, parallel",
    kind: Throughput, chains: 10, ops: 100,
    op: Permutation16 "vpermw",
    rows: { zmm AVX512_VPERMW_T = "avx512_vpermw_t" needs [Avx512f, Avx512bw] }
}

stream! {
    /// Dependent permutations of 32-bit parts across the whole vector.
    title: "32-bit permutations, serial",
    kind: Latency, chains: 1, ops: 100,
    op: Permutation32 "vpermd",
    rows: { zmm AVX512_VPERMD = "avx512_vpermd" needs [Avx512f] }
}

stream! {
    /// Independent permutations of 32-bit parts across the whole vector: ten chains.
    title: "32-bit permutations, parallel",
    kind: Throughput, chains: 10, ops: 100,
    op: Permutation32 "vpermd",
    rows: { zmm AVX512_VPERMD_T = "avx512_vpermd_t" needs [Avx512f] }
}
