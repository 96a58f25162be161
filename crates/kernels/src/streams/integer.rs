//! Integer vector streams: adds, shifts, counts of zeros, multiplies.

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

// Register 16 exists in the EVEX encoding only, at any width.
stream! {
    /// Dependent additions of vectors of 64-bit integers in register 16, which only AVX-512 has:
    /// the same load as in register 0, and another state of the register file. The upper halves of
    /// such registers can cost clock for as long as they are in use.
    title: "integer adds in register 16, serial",
    kind: Latency, chains: 1 from 16, ops: 100,
    op: Sum "vpaddq",
    rows: {
        xmm AVX128_IADD16 = "avx128_iadd16" needs [Avx512f, Avx512vl],
        ymm AVX256_IADD16 = "avx256_iadd16" needs [Avx512f, Avx512vl],
        zmm AVX512_IADD16 = "avx512_iadd16" needs [Avx512f],
    }
}

// Ten chains cover four adds a cycle at a latency of two cycles.
stream! {
    /// Independent additions of vectors of 64-bit integers: ten chains keep all adders busy.
    title: "integer adds, parallel",
    kind: Throughput, chains: 10, ops: 100,
    op: Sum "vpaddq",
    rows: {
        xmm AVX128_IADD_T = "avx128_iadd_t" needs [Avx],
        ymm AVX256_IADD_T = "avx256_iadd_t" needs [Avx2],
        zmm AVX512_IADD_T = "avx512_iadd_t" needs [Avx512f],
    }
}

stream! {
    /// Dependent shifts of 32-bit integers, each by a count of its own (`vpsrlvd`).
    title: "variable shifts, serial",
    kind: Latency, chains: 1, ops: 100,
    op: Shift32 "vpsrlvd",
    rows: {
        xmm AVX128_VSHIFT = "avx128_vshift" needs [Avx2],
        ymm AVX256_VSHIFT = "avx256_vshift" needs [Avx2],
        zmm AVX512_VSHIFT = "avx512_vshift" needs [Avx512f],
    }
}

stream! {
    /// Independent shifts of 32-bit integers, each by a count of its own (`vpsrlvd`): ten chains.
    title: "variable shifts, parallel",
    kind: Throughput, chains: 10, ops: 100,
    op: Shift32 "vpsrlvd",
    rows: {
        xmm AVX128_VSHIFT_T = "avx128_vshift_t" needs [Avx2],
        ymm AVX256_VSHIFT_T = "avx256_vshift_t" needs [Avx2],
        zmm AVX512_VSHIFT_T = "avx512_vshift_t" needs [Avx512f],
    }
}

stream! {
    /// Dependent counts of leading zeros in 32-bit integers (`vplzcntd`). Some CPUs compute them in
    /// their multipliers, at the latency of a multiply-add.
    title: "leading zero counts, serial",
    kind: Latency, chains: 1, ops: 100,
    op: LeadingZeros32 "vplzcntd",
    weight: Heavy,
    rows: {
        xmm AVX128_VLZCNT = "avx128_vlzcnt" needs [Avx512f, Avx512cd, Avx512vl],
        ymm AVX256_VLZCNT = "avx256_vlzcnt" needs [Avx512f, Avx512cd, Avx512vl],
        zmm AVX512_VLZCNT = "avx512_vlzcnt" needs [Avx512f, Avx512cd],
    }
}

stream! {
    /// Independent counts of leading zeros in 32-bit integers (`vplzcntd`): ten chains.
    title: "leading zero counts, parallel",
    kind: Throughput, chains: 10, ops: 100,
    op: LeadingZeros32 "vplzcntd",
    weight: Heavy,
    rows: {
        xmm AVX128_VLZCNT_T = "avx128_vlzcnt_t" needs [Avx512f, Avx512cd, Avx512vl],
        ymm AVX256_VLZCNT_T = "avx256_vlzcnt_t" needs [Avx512f, Avx512cd, Avx512vl],
        zmm AVX512_VLZCNT_T = "avx512_vlzcnt_t" needs [Avx512f, Avx512cd],
    }
}

stream! {
    /// Dependent multiplications of signed 32-bit integers to 64 bits (`vpmuldq`): each waits for
    /// the one before it. The multipliers are used, but most of the time they wait.
    title: "integer multiplies, serial",
    kind: Latency, chains: 1, ops: 100,
    op: Product32 "vpmuldq",
    weight: Heavy,
    rows: {
        xmm AVX128_IMUL = "avx128_imul" needs [Avx],
        ymm AVX256_IMUL = "avx256_imul" needs [Avx2],
        zmm AVX512_IMUL = "avx512_imul" needs [Avx512f],
    }
}

// Ten chains cover two multiplies a cycle at a latency of five cycles.
stream! {
    /// Independent multiplications of signed 32-bit integers to 64 bits (`vpmuldq`): ten chains
    /// keep all multipliers busy. A heavy load at its width, without floating point.
    title: "integer multiplies, parallel",
    kind: Throughput, chains: 10, ops: 100,
    op: Product32 "vpmuldq",
    weight: Heavy,
    rows: {
        xmm AVX128_IMUL_T = "avx128_imul_t" needs [Avx],
        ymm AVX256_IMUL_T = "avx256_imul_t" needs [Avx2],
        zmm AVX512_IMUL_T = "avx512_imul_t" needs [Avx512f],
    }
}
