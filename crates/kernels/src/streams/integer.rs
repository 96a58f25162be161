//! Integer vector streams.

stream! {
    /// Dependent additions of vectors of 64-bit integers: each waits for the one before it. A light
    /// load at its width, which shows whether the width alone costs clock.
    title: "integer adds, serial",
    kind: Latency, chains: 1, ops: 100,
    op: Sum "vpaddq",
    rows: {
        xmm AVX128_IADD = "avx128_iadd" needs [Avx],
        ymm AVX256_IADD = "avx256_iadd" needs [Avx2],
        zmm AVX512_IADD = "avx512_iadd" needs [Avx512f],
    }
}
