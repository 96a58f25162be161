//! Frequency licences: which one a stream needs, and which row of the firmware's tables states its clock.

/// What code asks of a core, lightest first, as frequency licences tell it apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    Plain,
    Heavy256,
    Light512,
    Heavy512,
    Tiles,
}

impl Weight {
    /// Multiplies and multiply-adds are heavy where they come thick.
    pub(super) fn of(workload: &str) -> Weight {
        let multiplies = ["fma", "imul", "vlzcnt"].iter().any(|word| workload.contains(word));
        let is_heavy = multiplies && !workload.contains("sparse");
        match workload {
            it if it.starts_with("amx") => Weight::Tiles,
            it if it.starts_with("avx512") && is_heavy => Weight::Heavy512,
            it if it.starts_with("avx512") => Weight::Light512,
            it if it.starts_with("avx256") && is_heavy => Weight::Heavy256,
            _ => Weight::Plain,
        }
    }

    /// Its row of a table, by the number of rows; the last one where the table ends before.
    ///
    /// # Source
    /// Named tables have `sse`, `avx2`, `avx512`, `amx`: light 512-bit code shares a licence with heavy 256-bit
    /// code. Those by number have a row more (Granite Rapids: SSE, AVX2, AVX-512, heavy AVX-512, AMX).
    pub(super) fn row<T>(self, table: &[T]) -> Option<&T> {
        const NUMBERED: usize = 5;
        let is_numbered = table.len() >= NUMBERED;
        let row = match self {
            Weight::Plain => 0,
            Weight::Heavy256 => 1,
            Weight::Light512 => 1 + usize::from(is_numbered),
            Weight::Heavy512 => 2 + usize::from(is_numbered),
            Weight::Tiles => 3 + usize::from(is_numbered),
        };
        table.get(row).or(table.last())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stream_finds_its_row() {
        let of = |id: &str, table: &[&'static str]| *Weight::of(id).row(table).unwrap();
        let named = ["sse", "avx2", "avx512", "amx"];
        let numbered = ["level-0", "level-1", "level-2", "level-3", "level-4"];
        for (id, by_name, by_number) in [
            ("scalar_iadd", "sse", "level-0"),
            ("avx256_iadd_t", "sse", "level-0"),
            ("avx256_fma_t", "avx2", "level-1"),
            ("avx512_iadd_t", "avx2", "level-2"),
            ("avx512_fma_sparse", "avx2", "level-2"),
            ("avx512_fma_t", "avx512", "level-3"),
            ("amx_bf16_t", "amx", "level-4"),
            ("amx_int8", "amx", "level-4"),
        ] {
            assert_eq!((of(id, &named), of(id, &numbered)), (by_name, by_number), "{id}");
        }
        assert_eq!(of("amx_bf16_t", &named[..3]), "avx512", "older CPUs have no tiles");
    }
}
