//! What multiply-adds are of.

use serde::{Deserialize, Serialize};

/// A kind of number, by its format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Datatype {
    /// Floating point of 64 bits (IEEE 754 binary64).
    Fp64,
    /// Floating point of 32 bits (binary32).
    Fp32,
    /// Floating point of 16 bits (binary16).
    Fp16,
    /// Floating point of 16 bits with the exponent of 32 bits (bfloat16).
    Bf16,
    /// Integers of 16 bits, products added up in 32 bits.
    Int16,
    /// Integers of 8 bits, products added up in 32 bits.
    Int8,
}

impl Datatype {
    /// All of them, the widest first.
    pub const ALL: [Datatype; 6] = [
        Datatype::Fp64,
        Datatype::Fp32,
        Datatype::Fp16,
        Datatype::Bf16,
        Datatype::Int16,
        Datatype::Int8,
    ];

    /// Its name, as people write it.
    pub fn name(self) -> &'static str {
        match self {
            Datatype::Fp64 => "FP64",
            Datatype::Fp32 => "FP32",
            Datatype::Fp16 => "FP16",
            Datatype::Bf16 => "BF16",
            Datatype::Int16 => "INT16",
            Datatype::Int8 => "INT8",
        }
    }

    /// Whether it is a kind of floating point.
    pub fn is_floating(self) -> bool {
        !matches!(self, Datatype::Int16 | Datatype::Int8)
    }
}
