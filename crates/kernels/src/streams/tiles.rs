//! Streams of products of matrices, in the tiles of AMX. AVX-512, which every CPU with tiles has, adds up
//! their answers.

stream! {
    /// Dependent products of tiles of signed bytes, added up in 32 bits (`tdpbssd`): each multiplies
    /// 16 rows of 64 bytes with 16 columns of 64 bytes and waits for the sums of the one before it.
    title: "byte matrix products, serial",
    kind: Latency, chains: 1, ops: 10,
    op: TileBytes "tdpbssd",
    weight: Heavy,
    rows: { tile AMX_INT8 = "amx_int8" needs [AmxTile, AmxInt8, Avx512f] }
}

// All tiles but the two that are multiplied: more than the four that cover a latency of 52 cycles
// at 16 cycles each (Intel Optimization Reference Manual, chapter on AMX).
stream! {
    /// Independent products of tiles of signed bytes, added up in 32 bits (`tdpbssd`): six chains
    /// keep the matrix unit busy.
    title: "byte matrix products, parallel",
    kind: Throughput, chains: 6, ops: 24,
    op: TileBytes "tdpbssd",
    weight: Heavy,
    rows: { tile AMX_INT8_T = "amx_int8_t" needs [AmxTile, AmxInt8, Avx512f] }
}

stream! {
    /// Dependent products of tiles of bfloat16, added up in 32-bit floating point (`tdpbf16ps`):
    /// each multiplies 16 rows of 32 numbers with 16 columns of 32 numbers and waits for the sums
    /// of the one before it.
    title: "bfloat16 matrix products, serial",
    kind: Latency, chains: 1, ops: 10,
    op: TileBrain "tdpbf16ps",
    weight: Heavy,
    rows: { tile AMX_BF16 = "amx_bf16" needs [AmxTile, AmxBf16, Avx512f] }
}

stream! {
    /// Independent products of tiles of bfloat16, added up in 32-bit floating point (`tdpbf16ps`):
    /// six chains keep the matrix unit busy.
    title: "bfloat16 matrix products, parallel",
    kind: Throughput, chains: 6, ops: 24,
    op: TileBrain "tdpbf16ps",
    weight: Heavy,
    rows: { tile AMX_BF16_T = "amx_bf16_t" needs [AmxTile, AmxBf16, Avx512f] }
}

stream! {
    /// Dependent products of tiles of 16-bit floating point, added up in 32 bits (`tdpfp16ps`): each
    /// multiplies 16 rows of 32 numbers with 16 columns of 32 numbers and waits for the sums of the one
    /// before it.
    title: "16-bit floating-point matrix products, serial",
    kind: Latency, chains: 1, ops: 10,
    op: TileHalf "tdpfp16ps",
    weight: Heavy,
    rows: { tile AMX_FP16 = "amx_fp16" needs [AmxTile, AmxFp16, Avx512f] }
}

stream! {
    /// Independent products of tiles of 16-bit floating point, added up in 32 bits (`tdpfp16ps`): six
    /// chains keep the matrix unit busy.
    title: "16-bit floating-point matrix products, parallel",
    kind: Throughput, chains: 6, ops: 24,
    op: TileHalf "tdpfp16ps",
    weight: Heavy,
    rows: { tile AMX_FP16_T = "amx_fp16_t" needs [AmxTile, AmxFp16, Avx512f] }
}
