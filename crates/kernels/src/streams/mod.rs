//! The streams that a user may ask for, one family a file.

use crate::StreamRow;

#[cfg(target_arch = "aarch64")]
pub mod arm;
#[cfg(target_arch = "x86_64")]
pub mod dot;
#[cfg(target_arch = "x86_64")]
pub mod float;
#[cfg(target_arch = "x86_64")]
pub mod fma;
#[cfg(target_arch = "x86_64")]
pub mod integer;
#[cfg(target_arch = "x86_64")]
pub mod moves;
pub mod scalar;
#[cfg(target_arch = "x86_64")]
pub mod sparse;
#[cfg(target_arch = "x86_64")]
pub mod sse;
#[cfg(target_arch = "x86_64")]
pub mod tiles;
#[cfg(target_arch = "x86_64")]
pub mod waiting;

/// All of them, in the order of listings: from the lightest load to the heaviest.
#[cfg(target_arch = "x86_64")]
pub static TABLE: &[&StreamRow] = &[
    &scalar::PAUSE_ONLY,
    &waiting::TPAUSE,
    &waiting::UMWAIT,
    &waiting::MWAITX,
    &float::UCOMIS_CLEAN,
    &float::UCOMIS_DIRTY,
    &scalar::SCALAR_IADD,
    &sse::SSE2_IADD,
    &sse::SSE2_IADD_T,
    &sse::SSE2_ADD,
    &sse::SSE2_ADD_T,
    &sse::SSE2_IMUL,
    &sse::SSE2_IMUL_T,
    &moves::AVX128_XOR_ZERO,
    &moves::AVX256_XOR_ZERO,
    &moves::AVX512_XOR_ZERO,
    &sparse::AVX128_MOV_SPARSE,
    &sparse::AVX256_MOV_SPARSE,
    &sparse::AVX512_MOV_SPARSE,
    &sparse::AVX128_MERGE_SPARSE,
    &sparse::AVX256_MERGE_SPARSE,
    &sparse::AVX512_MERGE_SPARSE,
    &integer::AVX128_IADD,
    &integer::AVX256_IADD,
    &integer::AVX512_IADD,
    &integer::AVX128_IADD16,
    &integer::AVX256_IADD16,
    &integer::AVX512_IADD16,
    &integer::AVX128_IADD_T,
    &integer::AVX256_IADD_T,
    &integer::AVX512_IADD_T,
    &integer::AVX128_VSHIFT,
    &integer::AVX256_VSHIFT,
    &integer::AVX512_VSHIFT,
    &integer::AVX128_VSHIFT_T,
    &integer::AVX256_VSHIFT_T,
    &integer::AVX512_VSHIFT_T,
    &integer::AVX128_VLZCNT,
    &integer::AVX256_VLZCNT,
    &integer::AVX512_VLZCNT,
    &integer::AVX128_VLZCNT_T,
    &integer::AVX256_VLZCNT_T,
    &integer::AVX512_VLZCNT_T,
    &moves::AVX512_VPERMW,
    &moves::AVX512_VPERMW_T,
    &moves::AVX512_VPERMD,
    &moves::AVX512_VPERMD_T,
    &integer::AVX128_IMUL,
    &integer::AVX256_IMUL,
    &integer::AVX512_IMUL,
    &integer::AVX128_IMUL_T,
    &integer::AVX256_IMUL_T,
    &integer::AVX512_IMUL_T,
    &dot::AVX128_IFMA,
    &dot::AVX256_IFMA,
    &dot::AVX512_IFMA,
    &dot::AVX128_IFMA_T,
    &dot::AVX256_IFMA_T,
    &dot::AVX512_IFMA_T,
    &dot::AVX128_VNNI_VEX,
    &dot::AVX256_VNNI_VEX,
    &dot::AVX128_VNNI_VEX_T,
    &dot::AVX256_VNNI_VEX_T,
    &dot::AVX128_VNNI,
    &dot::AVX256_VNNI,
    &dot::AVX512_VNNI,
    &dot::AVX128_VNNI_T,
    &dot::AVX256_VNNI_T,
    &dot::AVX512_VNNI_T,
    &dot::AVX128_VNNI_INT8,
    &dot::AVX256_VNNI_INT8,
    &dot::AVX128_VNNI_INT8_T,
    &dot::AVX256_VNNI_INT8_T,
    &dot::AVX128_VNNI16_VEX,
    &dot::AVX256_VNNI16_VEX,
    &dot::AVX128_VNNI16_VEX_T,
    &dot::AVX256_VNNI16_VEX_T,
    &dot::AVX128_VNNI16,
    &dot::AVX256_VNNI16,
    &dot::AVX512_VNNI16,
    &dot::AVX128_VNNI16_T,
    &dot::AVX256_VNNI16_T,
    &dot::AVX512_VNNI16_T,
    &dot::AVX128_VNNI_INT16,
    &dot::AVX256_VNNI_INT16,
    &dot::AVX128_VNNI_INT16_T,
    &dot::AVX256_VNNI_INT16_T,
    &dot::AVX128_BF16,
    &dot::AVX256_BF16,
    &dot::AVX512_BF16,
    &dot::AVX128_BF16_T,
    &dot::AVX256_BF16_T,
    &dot::AVX512_BF16_T,
    &dot::AVX128_FP16,
    &dot::AVX256_FP16,
    &dot::AVX512_FP16,
    &dot::AVX128_FP16_T,
    &dot::AVX256_FP16_T,
    &dot::AVX512_FP16_T,
    &sparse::AVX128_FMA_SPARSE,
    &sparse::AVX256_FMA_SPARSE,
    &sparse::AVX512_FMA_SPARSE,
    &fma::SCALAR_FMA,
    &fma::SCALAR_FMA32,
    &fma::SCALAR_FMA_T,
    &fma::SCALAR_FMA32_T,
    &fma::AVX128_FMA,
    &fma::AVX256_FMA,
    &fma::AVX512_FMA,
    &fma::AVX128_FMA32,
    &fma::AVX256_FMA32,
    &fma::AVX512_FMA32,
    &fma::AVX128_FMA_T,
    &fma::AVX256_FMA_T,
    &fma::AVX512_FMA_T,
    &fma::AVX128_FMA32_T,
    &fma::AVX256_FMA32_T,
    &fma::AVX512_FMA32_T,
    &tiles::AMX_INT8,
    &tiles::AMX_BF16,
    &tiles::AMX_FP16,
    &tiles::AMX_INT8_T,
    &tiles::AMX_BF16_T,
    &tiles::AMX_FP16_T,
];

/// All of them, in the order of listings: from the lightest load to the heaviest.
#[cfg(target_arch = "aarch64")]
pub static TABLE: &[&StreamRow] = &[
    &scalar::PAUSE_ONLY,
    &arm::YIELD,
    &arm::WFE,
    &scalar::SCALAR_IADD,
    &arm::NEON_IADD,
    &arm::NEON_IADD_T,
    &arm::SVE_IADD,
    &arm::SVE_IADD_T,
    &arm::NEON_DOT,
    &arm::SVE_DOT,
    &arm::NEON_DOT_T,
    &arm::SVE_DOT_T,
    &arm::NEON_I8MM,
    &arm::NEON_I8MM_T,
    &arm::NEON_BF16,
    &arm::NEON_BF16_T,
    &arm::NEON_BFMMLA,
    &arm::NEON_BFMMLA_T,
    &arm::NEON_FP16,
    &arm::SVE_FP16,
    &arm::NEON_FP16_T,
    &arm::SVE_FP16_T,
    &arm::NEON_FMA,
    &arm::NEON_FMA32,
    &arm::SVE_FMA,
    &arm::SVE_FMA32,
    &arm::NEON_FMA_T,
    &arm::NEON_FMA32_T,
    &arm::SVE_FMA_T,
    &arm::SVE_FMA32_T,
];

/// Those of a data sheet, where nobody asks for others.
#[cfg(target_arch = "x86_64")]
pub static SHEET: &[&StreamRow] = &[
    &scalar::PAUSE_ONLY,
    &scalar::SCALAR_IADD,
    &integer::AVX128_IADD,
    &integer::AVX256_IADD,
    &integer::AVX512_IADD,
    &fma::AVX128_FMA,
    &fma::AVX256_FMA,
    &fma::AVX512_FMA,
    &fma::AVX128_FMA_T,
    &fma::AVX256_FMA_T,
    &fma::AVX512_FMA_T,
];

/// Those of a data sheet, where nobody asks for others.
#[cfg(target_arch = "aarch64")]
pub static SHEET: &[&StreamRow] = &[&scalar::PAUSE_ONLY, &scalar::SCALAR_IADD];

/// The 49 streams that users of avx-turbo know, in its order.
#[cfg(target_arch = "x86_64")]
pub static CLASSIC: &[&StreamRow] = &[
    &scalar::PAUSE_ONLY,
    &float::UCOMIS_CLEAN,
    &float::UCOMIS_DIRTY,
    &scalar::SCALAR_IADD,
    &integer::AVX128_IADD,
    &integer::AVX256_IADD,
    &integer::AVX512_IADD,
    &integer::AVX128_IADD16,
    &integer::AVX256_IADD16,
    &integer::AVX512_IADD16,
    &integer::AVX128_IADD_T,
    &integer::AVX256_IADD_T,
    &moves::AVX128_XOR_ZERO,
    &moves::AVX256_XOR_ZERO,
    &moves::AVX512_XOR_ZERO,
    &sparse::AVX128_MOV_SPARSE,
    &sparse::AVX256_MOV_SPARSE,
    &sparse::AVX512_MOV_SPARSE,
    &sparse::AVX128_MERGE_SPARSE,
    &sparse::AVX256_MERGE_SPARSE,
    &sparse::AVX512_MERGE_SPARSE,
    &integer::AVX128_VSHIFT,
    &integer::AVX256_VSHIFT,
    &integer::AVX512_VSHIFT,
    &integer::AVX128_VSHIFT_T,
    &integer::AVX256_VSHIFT_T,
    &integer::AVX512_VSHIFT_T,
    &integer::AVX128_VLZCNT,
    &integer::AVX256_VLZCNT,
    &integer::AVX512_VLZCNT,
    &integer::AVX128_VLZCNT_T,
    &integer::AVX256_VLZCNT_T,
    &integer::AVX512_VLZCNT_T,
    &integer::AVX128_IMUL,
    &integer::AVX256_IMUL,
    &integer::AVX512_IMUL,
    &sparse::AVX128_FMA_SPARSE,
    &sparse::AVX256_FMA_SPARSE,
    &sparse::AVX512_FMA_SPARSE,
    &fma::AVX128_FMA,
    &fma::AVX256_FMA,
    &fma::AVX512_FMA,
    &fma::AVX128_FMA_T,
    &fma::AVX256_FMA_T,
    &fma::AVX512_FMA_T,
    &moves::AVX512_VPERMW,
    &moves::AVX512_VPERMW_T,
    &moves::AVX512_VPERMD,
    &moves::AVX512_VPERMD_T,
];

/// On this architecture there is no older tool: all of them.
#[cfg(target_arch = "aarch64")]
pub static CLASSIC: &[&StreamRow] = TABLE;

/// The stream with this id or alias.
pub fn find(id: &str) -> Option<&'static StreamRow> {
    TABLE.iter().copied().find(|row| row.id == id || row.alias == Some(id))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use model::Isa;

    use super::*;
    use crate::Kind;
    use crate::ruler::{self, RULER, every_row};

    #[test]
    fn names_are_unique_and_plain() {
        let mut names = BTreeSet::new();
        for row in every_row() {
            for name in [Some(row.id), row.alias].into_iter().flatten() {
                assert!(names.insert(name), "`{name}` twice");
                let is_plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_');
                assert!(!name.is_empty() && name.bytes().all(is_plain), "`{name}`");
            }
        }
    }

    #[test]
    fn every_row_is_described() {
        for row in every_row() {
            let StreamRow { id, title, doc, .. } = row;
            assert!(!title.is_empty() && !title.ends_with('.'), "{id}: {title}");
            assert!(doc.ends_with('.') && doc.starts_with(char::is_uppercase), "{id}: {doc}");
            assert!(!doc.contains("  ") && !doc.contains('\n'), "{id}: {doc}");
            assert!(!row.mnemonic.is_empty(), "{id}");
        }
    }

    #[test]
    fn every_row_agrees_with_itself() {
        for row in every_row() {
            let id = row.id;
            match row.kind {
                Kind::Latency | Kind::Rename | Kind::Spin => assert_eq!(row.chains, 1, "{id}"),
                Kind::Throughput => assert!(row.chains > 1, "{id}"),
                Kind::Null => assert_eq!((row.chains, row.ops_per_iteration), (0, 0), "{id}"),
            }
            if row.kind == Kind::Throughput && ruler::CONTENTION.id != id {
                let least = if row.needs.contains(&Isa::AmxTile) { 6 } else { 10 };
                assert!(row.chains >= least && id.ends_with("_t"), "{id}");
                let serial = find(id.trim_end_matches("_t")).map(|row| (row.mnemonic, row.needs));
                assert_eq!(serial, Some((row.mnemonic, row.needs)), "{id}");
            }
            assert!(row.width_bits.is_none() || !row.needs.is_empty(), "{id}");
            if let Some(bits) = row.width_bits {
                assert!(row.title.starts_with(&format!("{bits}-bit ")), "{id}: {}", row.title);
                let prefixes = [format!("avx{bits}_"), "sse2_".to_owned(), "neon_".to_owned()];
                assert!(prefixes.iter().any(|prefix| id.starts_with(prefix)), "{id}");
            }
        }
    }

    #[test]
    fn the_sheet_is_part_of_the_table() {
        let place = |row: &StreamRow| TABLE.iter().position(|other| other.id == row.id);
        let places: Vec<_> = SHEET.iter().map(|row| place(row)).collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted());
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_streams_that_people_know_are_here() {
        let widths = [
            "iadd",
            "iadd16",
            "xor_zero",
            "mov_sparse",
            "merge_sparse",
            "vshift",
            "vshift_t",
            "vlzcnt",
            "vlzcnt_t",
            "imul",
            "fma_sparse",
            "fma",
            "fma_t",
        ];
        let one_width = ["vpermw", "vpermw_t", "vpermd", "vpermd_t"];
        let mut known: Vec<String> =
            ["pause_only", "ucomis_clean", "ucomis_dirty", "scalar_iadd"].map(String::from).into();
        known.extend(["avx128_iadd_t".to_owned(), "avx256_iadd_t".to_owned()]);
        known.extend(one_width.map(|name| format!("avx512_{name}")));
        for bits in [128, 256, 512] {
            known.extend(widths.map(|name| format!("avx{bits}_{name}")));
        }
        known.sort_unstable();
        let mut classic: Vec<&str> = CLASSIC.iter().map(|row| row.id).collect();
        classic.sort_unstable();
        assert_eq!(classic, known);
        assert_eq!(classic.len(), 49);
        assert!(classic.iter().all(|id| find(id).is_some()), "each is in the table");
    }

    #[test]
    fn rows_are_found_by_id_and_by_alias() {
        for row in TABLE {
            for name in [Some(row.id), row.alias].into_iter().flatten() {
                assert_eq!(find(name).map(|found| found.id), Some(row.id));
            }
        }
        assert!(find("no_such_stream").is_none());
        assert!(find(RULER.id).is_none());
    }
}
