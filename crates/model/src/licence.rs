//! Frequency licences: which one a stream needs, and which row of the firmware's tables states its clock.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a stream asks of a core, lightest first, as frequency licences tell it apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Licence {
    /// Scalar code, 128 bits, and light code of 256 bits.
    Plain,
    /// Multiplies and floating point of 256 bits.
    #[serde(rename = "heavy-256")]
    Heavy256,
    /// Other code of 512 bits.
    #[serde(rename = "light-512")]
    Light512,
    /// Multiplies and floating point of 512 bits.
    #[serde(rename = "heavy-512")]
    Heavy512,
    /// Multiplies of tiles.
    Tiles,
}

impl Licence {
    /// The one of a stream by its name: records of earlier versions say no more.
    pub fn by_name(stream: &str) -> Licence {
        const HEAVY: [&str; 9] =
            ["fma", "fma32", "vnni", "vnni16", "ifma", "bf16", "fp16", "vlzcnt", "imul"];
        let (width, rest) = stream.split_once('_').unwrap_or((stream, ""));
        // Where nearly every element is masked off, little is multiplied.
        let is_heavy = HEAVY.contains(&rest.split('_').next().unwrap_or_default())
            && !rest.ends_with("_sparse");
        match (width, is_heavy) {
            ("amx", _) => Licence::Tiles,
            ("avx512", true) => Licence::Heavy512,
            ("avx512", false) => Licence::Light512,
            ("avx256", true) => Licence::Heavy256,
            _ => Licence::Plain,
        }
    }

    /// All of them, lightest first.
    pub const ALL: [Licence; 5] =
        [Licence::Plain, Licence::Heavy256, Licence::Light512, Licence::Heavy512, Licence::Tiles];

    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Licence::Plain => "plain",
            Licence::Heavy256 => "heavy 256 bit",
            Licence::Light512 => "light 512 bit",
            Licence::Heavy512 => "heavy 512 bit",
            Licence::Tiles => "tiles",
        }
    }

    /// Its row of a table, by the number of rows; the last one where the table ends before.
    ///
    /// # Source
    /// Named tables have `sse`, `avx2`, `avx512`, `amx`: light 512-bit code shares a licence with heavy 256-bit
    /// code. Those by number have a row more (Granite Rapids: SSE, AVX2, AVX-512, heavy AVX-512, AMX).
    pub fn row<T>(self, table: &[T]) -> Option<&T> {
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
