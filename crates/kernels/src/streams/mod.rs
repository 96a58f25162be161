//! The streams that a user may ask for, one family a file.

use crate::StreamRow;

#[cfg(target_arch = "x86_64")]
pub mod fma;
#[cfg(target_arch = "x86_64")]
pub mod integer;
pub mod scalar;

/// All of them, in the order of listings: from the lightest load to the heaviest.
#[cfg(target_arch = "x86_64")]
pub static TABLE: &[&StreamRow] = &[
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

/// All of them, in the order of listings: from the lightest load to the heaviest.
#[cfg(target_arch = "aarch64")]
pub static TABLE: &[&StreamRow] = &[&scalar::PAUSE_ONLY, &scalar::SCALAR_IADD];

/// The stream with this id or alias.
pub fn find(id: &str) -> Option<&'static StreamRow> {
    TABLE.iter().copied().find(|row| row.id == id || row.alias == Some(id))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::Kind;
    use crate::ruler::{RULER, every_row};

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
                Kind::Latency | Kind::Spin => assert_eq!(row.chains, 1, "{id}"),
                Kind::Throughput => assert!(row.chains > 1, "{id}"),
                Kind::Null => assert_eq!((row.chains, row.ops_per_iteration), (0, 0), "{id}"),
            }
            assert_eq!(row.width_bits.is_some(), !row.needs.is_empty(), "{id}");
            if let Some(bits) = row.width_bits {
                assert!(row.title.starts_with(&format!("{bits}-bit ")), "{id}: {}", row.title);
                assert!(id.starts_with(&format!("avx{bits}_")), "{id}");
            }
        }
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
