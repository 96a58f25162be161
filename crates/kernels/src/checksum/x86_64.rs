//! The sum with vectors: 64-bit lanes take the low and the high halves of words, so that no carry is
//! lost below 2^32 of them.

use core::arch::x86_64::{
    __m128i, __m256i, __m512i, _mm_add_epi64, _mm_and_si128, _mm_loadu_si128, _mm_set1_epi64x,
    _mm_setzero_si128, _mm_srli_epi64, _mm256_add_epi64, _mm256_and_si256, _mm256_loadu_si256,
    _mm256_set1_epi64x, _mm256_setzero_si256, _mm256_srli_epi64, _mm512_add_epi64,
    _mm512_and_si512, _mm512_loadu_si512, _mm512_set1_epi64, _mm512_setzero_si512,
    _mm512_srli_epi64,
};

use super::{add_around, portable};

const LOW: i64 = 0xffff_ffff;

macro_rules! sum {
    ($(#[doc = $doc:literal])+ $name:ident, $feature:literal, $vector:ident, $bytes:literal,
     $zero:ident, $set:ident, $load:ident, $and:ident, $shift:ident, $add:ident) => {
        $(#[doc = $doc])+
        #[target_feature(enable = $feature)]
        pub(super) fn $name(bytes: &[u8]) -> u64 {
            let (vectors, rest) = bytes.as_chunks::<$bytes>();
            let low = $set(LOW);
            let (mut lows, mut highs) = ($zero(), $zero());
            for vector in vectors {
                let pointer: *const $vector = vector.as_ptr().cast();
                // SAFETY: the bytes of the vector are those of the chunk; any alignment is allowed.
                let words = unsafe { $load(pointer) };
                lows = $add(lows, $and(words, low));
                highs = $add(highs, $shift::<32>(words));
            }
            // SAFETY: a vector consists of as many lanes, and every pattern of bits is a number.
            let lanes: [u64; $bytes / 8] = unsafe { std::mem::transmute($add(lows, highs)) };
            lanes.into_iter().fold(portable::sum(rest), add_around)
        }
    };
}

sum!(
    /// 16 bytes at a time.
    sum_sse2, "sse2", __m128i, 16, _mm_setzero_si128, _mm_set1_epi64x, _mm_loadu_si128,
    _mm_and_si128, _mm_srli_epi64, _mm_add_epi64
);
sum!(
    /// 32 bytes at a time.
    sum_avx2, "avx2", __m256i, 32, _mm256_setzero_si256, _mm256_set1_epi64x, _mm256_loadu_si256,
    _mm256_and_si256, _mm256_srli_epi64, _mm256_add_epi64
);
sum!(
    /// 64 bytes at a time.
    sum_avx512, "avx512f", __m512i, 64, _mm512_setzero_si512, _mm512_set1_epi64,
    _mm512_loadu_si512, _mm512_and_si512, _mm512_srli_epi64, _mm512_add_epi64
);
