//! Vector streams for the numbers of neural networks and of cryptography: dot products of bytes, of
//! 16-bit integers and of bfloat16, 16-bit floating point, products of 52-bit integers.

stream! {
    /// Dependent dot products of bytes, added up in 32 bits (`vpdpbusd`): each waits for the sum of
    /// the one before it.
    title: "byte dot products, serial",
    kind: Latency, chains: 1, ops: 100,
    op: DotBytes "vpdpbusd",
    weight: Heavy,
    rows: {
        xmm AVX128_VNNI = "avx128_vnni" needs [Avx512f, Avx512vl, Avx512Vnni],
        ymm AVX256_VNNI = "avx256_vnni" needs [Avx512f, Avx512vl, Avx512Vnni],
        zmm AVX512_VNNI = "avx512_vnni" needs [Avx512f, Avx512Vnni],
    }
}

stream! {
    /// Independent dot products of bytes, added up in 32 bits (`vpdpbusd`): sixteen chains keep all
    /// multipliers busy.
    title: "byte dot products, parallel",
    kind: Throughput, chains: 16 from 16, ops: 96,
    op: DotBytes "vpdpbusd",
    weight: Heavy,
    rows: {
        xmm AVX128_VNNI_T = "avx128_vnni_t" needs [Avx512f, Avx512vl, Avx512Vnni],
        ymm AVX256_VNNI_T = "avx256_vnni_t" needs [Avx512f, Avx512vl, Avx512Vnni],
        zmm AVX512_VNNI_T = "avx512_vnni_t" needs [Avx512f, Avx512Vnni],
    }
}

stream! {
    /// Dependent dot products of bytes in the encoding of AVX-VNNI, for CPUs without AVX-512.
    title: "byte dot products (AVX-VNNI), serial",
    kind: Latency, chains: 1, ops: 100,
    op: DotBytes "{{vex}} vpdpbusd",
    weight: Heavy,
    rows: {
        xmm AVX128_VNNI_VEX = "avx128_vnni_vex" needs [Avx2, AvxVnni],
        ymm AVX256_VNNI_VEX = "avx256_vnni_vex" needs [Avx2, AvxVnni],
    }
}

stream! {
    /// Independent dot products of bytes in the encoding of AVX-VNNI, for CPUs without AVX-512: twelve
    /// chains.
    title: "byte dot products (AVX-VNNI), parallel",
    kind: Throughput, chains: 12, ops: 96,
    op: DotBytes "{{vex}} vpdpbusd",
    weight: Heavy,
    rows: {
        xmm AVX128_VNNI_VEX_T = "avx128_vnni_vex_t" needs [Avx2, AvxVnni],
        ymm AVX256_VNNI_VEX_T = "avx256_vnni_vex_t" needs [Avx2, AvxVnni],
    }
}

stream! {
    /// Dependent products of 52-bit integers, their low halves added up (`vpmadd52luq`): each waits
    /// for the sum of the one before it.
    title: "52-bit multiply-adds, serial",
    kind: Latency, chains: 1, ops: 100,
    op: SumOfProducts52 "vpmadd52luq",
    weight: Heavy,
    rows: {
        xmm AVX128_IFMA = "avx128_ifma" needs [Avx512f, Avx512vl, Avx512ifma],
        ymm AVX256_IFMA = "avx256_ifma" needs [Avx512f, Avx512vl, Avx512ifma],
        zmm AVX512_IFMA = "avx512_ifma" needs [Avx512f, Avx512ifma],
    }
}

stream! {
    /// Independent products of 52-bit integers, their low halves added up (`vpmadd52luq`): ten
    /// chains keep all multipliers busy.
    title: "52-bit multiply-adds, parallel",
    kind: Throughput, chains: 10, ops: 100,
    op: SumOfProducts52 "vpmadd52luq",
    weight: Heavy,
    rows: {
        xmm AVX128_IFMA_T = "avx128_ifma_t" needs [Avx512f, Avx512vl, Avx512ifma],
        ymm AVX256_IFMA_T = "avx256_ifma_t" needs [Avx512f, Avx512vl, Avx512ifma],
        zmm AVX512_IFMA_T = "avx512_ifma_t" needs [Avx512f, Avx512ifma],
    }
}

stream! {
    /// Dependent dot products of bfloat16, added up in 32-bit floating point (`vdpbf16ps`): each
    /// waits for the sum of the one before it.
    title: "bfloat16 dot products, serial",
    kind: Latency, chains: 1, ops: 100,
    op: DotBrain "vdpbf16ps",
    weight: Heavy,
    rows: {
        xmm AVX128_BF16 = "avx128_bf16" needs [Avx512f, Avx512vl, Avx512Bf16],
        ymm AVX256_BF16 = "avx256_bf16" needs [Avx512f, Avx512vl, Avx512Bf16],
        zmm AVX512_BF16 = "avx512_bf16" needs [Avx512f, Avx512Bf16],
    }
}

// Sixteen chains, for two a cycle at a latency of six cycles: with twelve, Zen 4 does 1.87, with fourteen 1.91.
stream! {
    /// Independent dot products of bfloat16, added up in 32-bit floating point (`vdpbf16ps`):
    /// sixteen chains keep all multipliers busy.
    title: "bfloat16 dot products, parallel",
    kind: Throughput, chains: 16 from 16, ops: 96,
    op: DotBrain "vdpbf16ps",
    weight: Heavy,
    rows: {
        xmm AVX128_BF16_T = "avx128_bf16_t" needs [Avx512f, Avx512vl, Avx512Bf16],
        ymm AVX256_BF16_T = "avx256_bf16_t" needs [Avx512f, Avx512vl, Avx512Bf16],
        zmm AVX512_BF16_T = "avx512_bf16_t" needs [Avx512f, Avx512Bf16],
    }
}

stream! {
    /// Dependent fused multiply-adds of 16-bit floating-point numbers (`vfmadd132ph`): each waits
    /// for the one before it.
    title: "16-bit fused multiply-adds, serial",
    kind: Latency, chains: 1, ops: 100,
    op: FusedHalf "vfmadd132ph",
    weight: Heavy,
    rows: {
        xmm AVX128_FP16 = "avx128_fp16" needs [Avx512f, Avx512vl, Avx512Fp16],
        ymm AVX256_FP16 = "avx256_fp16" needs [Avx512f, Avx512vl, Avx512Fp16],
        zmm AVX512_FP16 = "avx512_fp16" needs [Avx512f, Avx512Fp16],
    }
}

stream! {
    /// Independent fused multiply-adds of 16-bit floating-point numbers (`vfmadd132ph`): sixteen chains
    /// keep all multipliers busy.
    title: "16-bit fused multiply-adds, parallel",
    kind: Throughput, chains: 16 from 16, ops: 96,
    op: FusedHalf "vfmadd132ph",
    weight: Heavy,
    rows: {
        xmm AVX128_FP16_T = "avx128_fp16_t" needs [Avx512f, Avx512vl, Avx512Fp16],
        ymm AVX256_FP16_T = "avx256_fp16_t" needs [Avx512f, Avx512vl, Avx512Fp16],
        zmm AVX512_FP16_T = "avx512_fp16_t" needs [Avx512f, Avx512Fp16],
    }
}

stream! {
    /// Dependent dot products of signed 16-bit integers, added up in 32 bits (`vpdpwssd`): each waits
    /// for the sum of the one before it.
    title: "16-bit dot products, serial",
    kind: Latency, chains: 1, ops: 100,
    op: DotWords "vpdpwssd",
    weight: Heavy,
    rows: {
        xmm AVX128_VNNI16 = "avx128_vnni16" needs [Avx512f, Avx512vl, Avx512Vnni],
        ymm AVX256_VNNI16 = "avx256_vnni16" needs [Avx512f, Avx512vl, Avx512Vnni],
        zmm AVX512_VNNI16 = "avx512_vnni16" needs [Avx512f, Avx512Vnni],
    }
}

stream! {
    /// Independent dot products of signed 16-bit integers, added up in 32 bits (`vpdpwssd`): sixteen chains keep
    /// all multipliers busy.
    title: "16-bit dot products, parallel",
    kind: Throughput, chains: 16 from 16, ops: 96,
    op: DotWords "vpdpwssd",
    weight: Heavy,
    rows: {
        xmm AVX128_VNNI16_T = "avx128_vnni16_t" needs [Avx512f, Avx512vl, Avx512Vnni],
        ymm AVX256_VNNI16_T = "avx256_vnni16_t" needs [Avx512f, Avx512vl, Avx512Vnni],
        zmm AVX512_VNNI16_T = "avx512_vnni16_t" needs [Avx512f, Avx512Vnni],
    }
}

stream! {
    /// Dependent dot products of signed 16-bit integers in the encoding of AVX-VNNI (`vpdpwssd`): each waits
    /// for the sum of the one before it.
    title: "16-bit dot products (AVX-VNNI), serial",
    kind: Latency, chains: 1, ops: 100,
    op: DotWords "{{vex}} vpdpwssd",
    weight: Heavy,
    rows: {
        xmm AVX128_VNNI16_VEX = "avx128_vnni16_vex" needs [Avx2, AvxVnni],
        ymm AVX256_VNNI16_VEX = "avx256_vnni16_vex" needs [Avx2, AvxVnni],
    }
}

stream! {
    /// Independent dot products of signed 16-bit integers in the encoding of AVX-VNNI (`vpdpwssd`): twelve chains keep
    /// all multipliers busy.
    title: "16-bit dot products (AVX-VNNI), parallel",
    kind: Throughput, chains: 12, ops: 96,
    op: DotWords "{{vex}} vpdpwssd",
    weight: Heavy,
    rows: {
        xmm AVX128_VNNI16_VEX_T = "avx128_vnni16_vex_t" needs [Avx2, AvxVnni],
        ymm AVX256_VNNI16_VEX_T = "avx256_vnni16_vex_t" needs [Avx2, AvxVnni],
    }
}

stream! {
    /// Dependent dot products of signed bytes, added up in 32 bits (`vpdpbssd`): each waits
    /// for the sum of the one before it.
    title: "byte dot products (AVX-VNNI-INT8), serial",
    kind: Latency, chains: 1, ops: 100,
    op: DotSignedBytes "vpdpbssd",
    weight: Heavy,
    rows: {
        xmm AVX128_VNNI_INT8 = "avx128_vnni_int8" needs [Avx2, AvxVnniInt8],
        ymm AVX256_VNNI_INT8 = "avx256_vnni_int8" needs [Avx2, AvxVnniInt8],
    }
}

stream! {
    /// Independent dot products of signed bytes, added up in 32 bits (`vpdpbssd`): twelve chains keep
    /// all multipliers busy.
    title: "byte dot products (AVX-VNNI-INT8), parallel",
    kind: Throughput, chains: 12, ops: 96,
    op: DotSignedBytes "vpdpbssd",
    weight: Heavy,
    rows: {
        xmm AVX128_VNNI_INT8_T = "avx128_vnni_int8_t" needs [Avx2, AvxVnniInt8],
        ymm AVX256_VNNI_INT8_T = "avx256_vnni_int8_t" needs [Avx2, AvxVnniInt8],
    }
}

stream! {
    /// Dependent dot products of 16-bit integers with sign and without (`vpdpwsud`): each waits
    /// for the sum of the one before it.
    title: "16-bit dot products (AVX-VNNI-INT16), serial",
    kind: Latency, chains: 1, ops: 100,
    op: DotMixedWords "vpdpwsud",
    weight: Heavy,
    rows: {
        xmm AVX128_VNNI_INT16 = "avx128_vnni_int16" needs [Avx2, AvxVnniInt16],
        ymm AVX256_VNNI_INT16 = "avx256_vnni_int16" needs [Avx2, AvxVnniInt16],
    }
}

stream! {
    /// Independent dot products of 16-bit integers with sign and without (`vpdpwsud`): twelve chains keep
    /// all multipliers busy.
    title: "16-bit dot products (AVX-VNNI-INT16), parallel",
    kind: Throughput, chains: 12, ops: 96,
    op: DotMixedWords "vpdpwsud",
    weight: Heavy,
    rows: {
        xmm AVX128_VNNI_INT16_T = "avx128_vnni_int16_t" needs [Avx2, AvxVnniInt16],
        ymm AVX256_VNNI_INT16_T = "avx256_vnni_int16_t" needs [Avx2, AvxVnniInt16],
    }
}
