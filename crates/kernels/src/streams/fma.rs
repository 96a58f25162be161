//! Fused multiply-adds of 64-bit and of 32-bit floating-point numbers.

stream! {
    /// Dependent fused multiply-adds: each waits for the one before it. The multipliers are used,
    /// but most of the time they wait: a medium load at its width.
    title: "fused multiply-adds, serial",
    kind: Latency, chains: 1, ops: 100,
    op: Fused "vfmadd132pd",
    weight: Heavy,
    rows: {
        xmm AVX128_FMA = "avx128_fma" needs [Fma],
        ymm AVX256_FMA = "avx256_fma" needs [Fma, Avx2],
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
        ymm AVX256_FMA_T = "avx256_fma_t" needs [Fma, Avx2],
        zmm AVX512_FMA_T = "avx512_fma_t" needs [Avx512f],
    }
}

stream! {
    /// Dependent fused multiply-adds of 32-bit numbers: each waits for the one before it.
    title: "32-bit fused multiply-adds, serial",
    kind: Latency, chains: 1, ops: 100,
    op: FusedSingle "vfmadd132ps",
    weight: Heavy,
    rows: {
        xmm AVX128_FMA32 = "avx128_fma32" needs [Fma],
        ymm AVX256_FMA32 = "avx256_fma32" needs [Fma, Avx2],
        zmm AVX512_FMA32 = "avx512_fma32" needs [Avx512f],
    }
}

stream! {
    /// Independent fused multiply-adds of 32-bit numbers: twelve chains keep all multipliers busy.
    title: "32-bit fused multiply-adds, parallel",
    kind: Throughput, chains: 12, ops: 96,
    op: FusedSingle "vfmadd132ps",
    weight: Heavy,
    rows: {
        xmm AVX128_FMA32_T = "avx128_fma32_t" needs [Fma],
        ymm AVX256_FMA32_T = "avx256_fma32_t" needs [Fma, Avx2],
        zmm AVX512_FMA32_T = "avx512_fma32_t" needs [Avx512f],
    }
}

stream! {
    /// Dependent fused multiply-adds of one 64-bit number each: each waits for the one before it.
    title: "fused multiply-adds, serial",
    kind: Latency, chains: 1, ops: 100,
    op: Fused "vfmadd132sd",
    weight: Heavy,
    rows: { scalar SCALAR_FMA = "scalar_fma" needs [Fma] }
}

stream! {
    /// Independent fused multiply-adds of one 64-bit number each: twelve chains keep all multipliers busy,
    /// and most of their width idle.
    title: "fused multiply-adds, parallel",
    kind: Throughput, chains: 12, ops: 96,
    op: Fused "vfmadd132sd",
    weight: Heavy,
    rows: { scalar SCALAR_FMA_T = "scalar_fma_t" needs [Fma] }
}

stream! {
    /// Dependent fused multiply-adds of one 32-bit number each: each waits for the one before it.
    title: "32-bit fused multiply-adds, serial",
    kind: Latency, chains: 1, ops: 100,
    op: FusedOneSingle "vfmadd132ss",
    weight: Heavy,
    rows: { scalar SCALAR_FMA32 = "scalar_fma32" needs [Fma] }
}

stream! {
    /// Independent fused multiply-adds of one 32-bit number each: twelve chains keep all multipliers busy,
    /// and most of their width idle.
    title: "32-bit fused multiply-adds, parallel",
    kind: Throughput, chains: 12, ops: 96,
    op: FusedOneSingle "vfmadd132ss",
    weight: Heavy,
    rows: { scalar SCALAR_FMA32_T = "scalar_fma32_t" needs [Fma] }
}
