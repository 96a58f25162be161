//! Scalar additions with one vector instruction in a hundred: does the mere presence of wide
//! instructions cost clock?

stream! {
    /// Dependent scalar additions, and after each hundred of them one move from register to
    /// register, which most CPUs do when they rename. The ops are the additions.
    title: "move in 100 scalar adds",
    kind: Latency, chains: 1, ops: 100,
    op: Sum "add",
    beside: Move "vmovdqa",
    rows: {
        xmm AVX128_MOV_SPARSE = "avx128_mov_sparse" needs [Avx],
        ymm AVX256_MOV_SPARSE = "avx256_mov_sparse" needs [Avx2],
    }
}

stream! {
    /// Dependent scalar additions, and after each hundred of them one move from register to
    /// register, which most CPUs do when they rename. The ops are the additions.
    title: "move in 100 scalar adds",
    kind: Latency, chains: 1, ops: 100,
    op: Sum "add",
    beside: Move "vmovdqa32",
    rows: { zmm AVX512_MOV_SPARSE = "avx512_mov_sparse" needs [Avx512f] }
}

stream! {
    /// Dependent scalar additions, and after each hundred of them one masked move, which needs an
    /// execution unit because it keeps a part of its destination. The ops are the additions.
    title: "masked move in 100 scalar adds",
    kind: Latency, chains: 1, ops: 100,
    op: Sum "add",
    beside: Merge "vmovdqa32",
    rows: {
        xmm AVX128_MERGE_SPARSE = "avx128_merge_sparse" needs [Avx512f, Avx512vl],
        ymm AVX256_MERGE_SPARSE = "avx256_merge_sparse" needs [Avx512f, Avx512vl],
        zmm AVX512_MERGE_SPARSE = "avx512_merge_sparse" needs [Avx512f],
    }
}

stream! {
    /// Dependent scalar additions, and after each hundred of them one fused multiply-add: too few
    /// to heat anything, enough to ask for the licence of their width. The ops are the additions.
    title: "multiply-add in 100 scalar adds",
    kind: Latency, chains: 1, ops: 100,
    op: Sum "add",
    beside: Fused "vfmadd132pd",
    rows: {
        xmm AVX128_FMA_SPARSE = "avx128_fma_sparse" needs [Fma],
        ymm AVX256_FMA_SPARSE = "avx256_fma_sparse" needs [Fma, Avx2],
        zmm AVX512_FMA_SPARSE = "avx512_fma_sparse" needs [Avx512f],
    }
}
