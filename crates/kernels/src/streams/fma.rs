//! Floating-point vector streams: fused multiply-adds of 64-bit numbers.

stream! {
    /// Dependent fused multiply-adds: each waits for the one before it. The multipliers are used,
    /// but most of the time they wait: a medium load at its width.
    title: "fused multiply-adds, serial",
    kind: Latency, chains: 1, ops: 100,
    op: Fused "vfmadd132pd",
    weight: Heavy,
    rows: {
        xmm AVX128_FMA = "avx128_fma" needs [Fma],
        ymm AVX256_FMA = "avx256_fma" needs [Fma],
        zmm AVX512_FMA = "avx512_fma" needs [Avx512f],
    }
}

// Ten chains cover two multiply-adds a cycle at a latency of four or five cycles, and leave enough
// of the 16 registers of AVX2 for the constants.
stream! {
    /// Independent fused multiply-adds: ten chains keep all multipliers busy in every cycle. The
    /// heaviest load at its width, and the one for which CPUs lower their clock the most.
    title: "fused multiply-adds, parallel",
    kind: Throughput, chains: 10, ops: 100,
    op: Fused "vfmadd132pd",
    weight: Heavy,
    rows: {
        xmm AVX128_FMA_T = "avx128_fma_t" needs [Fma],
        ymm AVX256_FMA_T = "avx256_fma_t" needs [Fma],
        zmm AVX512_FMA_T = "avx512_fma_t" needs [Avx512f],
    }
}
