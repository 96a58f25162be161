//! Instruction sets that a workload may need.

use serde::{Deserialize, Serialize};

macro_rules! instruction_sets {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal),+ $(,)?) => {
        /// An instruction set that CPU and operating system must both allow.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[derive(schemars::JsonSchema)]
        pub enum Isa {
            $($(#[doc = $doc])+ #[serde(rename = $name)] $variant),+
        }

        impl Isa {
            /// All of them, in the order of their appearance on the market.
            pub const ALL: &[Isa] = &[$(Isa::$variant),+];

            /// The name as vendors write it, in lower case (`avx512f`).
            pub fn name(self) -> &'static str {
                match self { $(Isa::$variant => $name),+ }
            }
        }
    };
}

instruction_sets! {
    /// 128- and 256-bit floating point, VEX encoding.
    Avx = "avx",
    /// Fused multiply-add, 128 and 256 bit.
    Fma = "fma",
    /// 256-bit integers.
    Avx2 = "avx2",
    /// AVX-512 Foundation: 512-bit integers and floating point.
    Avx512f = "avx512f",
}

impl std::fmt::Display for Isa {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
