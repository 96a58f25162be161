//! Frequency licences: which one a stream needs, and which row of the firmware's tables states its clock.

use kernels::{StreamRow, Weight};
use model::Isa;
use serde::Deserialize;

/// What a stream asks of a core, lightest first, as frequency licences tell it apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Licence {
    Plain,
    #[serde(rename = "heavy-256")]
    Heavy256,
    #[serde(rename = "light-512")]
    Light512,
    #[serde(rename = "heavy-512")]
    Heavy512,
    Tiles,
}

impl Licence {
    /// All of them, lightest first.
    pub(super) const ALL: [Licence; 5] =
        [Licence::Plain, Licence::Heavy256, Licence::Light512, Licence::Heavy512, Licence::Tiles];

    /// The word for it.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Licence::Plain => "plain",
            Licence::Heavy256 => "heavy 256 bit",
            Licence::Light512 => "light 512 bit",
            Licence::Heavy512 => "heavy 512 bit",
            Licence::Tiles => "tiles",
        }
    }

    /// The one of a workload; of what is no stream, the lightest.
    pub(super) fn of(workload: &str) -> Licence {
        kernels::streams::find(workload).map_or(Licence::Plain, Licence::of_row)
    }

    fn of_row(row: &StreamRow) -> Licence {
        match (row.width_bits, row.weight) {
            _ if row.needs.contains(&Isa::AmxTile) => Licence::Tiles,
            (Some(512), Weight::Heavy) => Licence::Heavy512,
            (Some(512), Weight::Light) => Licence::Light512,
            (Some(256), Weight::Heavy) => Licence::Heavy256,
            _ => Licence::Plain,
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
            Licence::Plain => 0,
            Licence::Heavy256 => 1,
            Licence::Light512 => 1 + usize::from(is_numbered),
            Licence::Heavy512 => 2 + usize::from(is_numbered),
            Licence::Tiles => 3 + usize::from(is_numbered),
        };
        table.get(row).or(table.last())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stream_finds_its_row() {
        let of = |id: &str, table: &[&'static str]| *Licence::of(id).row(table).unwrap();
        let named = ["sse", "avx2", "avx512", "amx"];
        let numbered = ["level-0", "level-1", "level-2", "level-3", "level-4"];
        for (id, by_name, by_number) in [
            ("scalar_iadd", "sse", "level-0"),
            ("avx256_iadd_t", "sse", "level-0"),
            ("avx256_fma_t", "avx2", "level-1"),
            ("avx512_iadd_t", "avx2", "level-2"),
            ("avx512_fma_sparse", "avx2", "level-2"),
            ("avx512_fma_t", "avx512", "level-3"),
            ("avx512_bf16_t", "avx512", "level-3"),
            ("avx512_fp16_t", "avx512", "level-3"),
            ("avx512_vnni_t", "avx512", "level-3"),
            ("avx512_ifma", "avx512", "level-3"),
            ("avx256_vnni_vex_t", "avx2", "level-1"),
            ("avx256_merge_sparse", "sse", "level-0"),
            ("avx512_vpermd_t", "avx2", "level-2"),
            ("amx_bf16_t", "amx", "level-4"),
            ("amx_int8", "amx", "level-4"),
        ] {
            assert_eq!((of(id, &named), of(id, &numbered)), (by_name, by_number), "{id}");
        }
        assert_eq!(of("amx_bf16_t", &named[..3]), "avx512", "older CPUs have no tiles");
    }
}
