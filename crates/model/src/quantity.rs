//! Physical quantities: one newtype each, SI base units only; prefixes belong to views.

use std::ops::{Add, Div, Mul, Sub};

use serde::{Deserialize, Serialize};

macro_rules! quantity {
    ($(#[doc = $doc:literal])+ $name:ident) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
        #[derive()]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(transparent)]
        pub struct $name(pub f64);

        impl Add for $name {
            type Output = $name;
            fn add(self, other: $name) -> $name { $name(self.0 + other.0) }
        }

        impl Sub for $name {
            type Output = $name;
            fn sub(self, other: $name) -> $name { $name(self.0 - other.0) }
        }

        impl Mul<f64> for $name {
            type Output = $name;
            fn mul(self, factor: f64) -> $name { $name(self.0 * factor) }
        }

        impl Div<f64> for $name {
            type Output = $name;
            fn div(self, divisor: f64) -> $name { $name(self.0 / divisor) }
        }

        /// The ratio of two like quantities is a number.
        impl Div for $name {
            type Output = f64;
            fn div(self, other: $name) -> f64 { self.0 / other.0 }
        }
    };
}

quantity!(
    /// A duration in seconds.
    Seconds
);
quantity!(
    /// A rate in hertz (events or cycles per second).
    Hertz
);

/// The unit of the numbers in a series: SI base units and counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Unit {
    /// Hertz.
    #[serde(rename = "Hz")]
    Hertz,
    /// Seconds.
    #[serde(rename = "s")]
    Second,
    /// Core clock cycles.
    #[serde(rename = "cycle")]
    Cycle,
    /// Core clock cycles per op.
    #[serde(rename = "cycle/op")]
    CyclePerOp,
    /// Seconds per op.
    #[serde(rename = "s/op")]
    SecondPerOp,
    /// A ratio; 1 is the whole.
    #[serde(rename = "1")]
    One,
    /// Events per second.
    #[serde(rename = "1/s")]
    PerSecond,
    /// Transfers per second, of a bus.
    #[serde(rename = "T/s")]
    TransferPerSecond,
    /// Floating-point operations per second.
    #[serde(rename = "FLOP/s")]
    FlopPerSecond,
    /// A count.
    #[serde(rename = "count")]
    Count,
    /// Bytes.
    #[serde(rename = "B")]
    Byte,
    /// Bytes per second.
    #[serde(rename = "B/s")]
    BytePerSecond,
    /// Watts.
    #[serde(rename = "W")]
    Watt,
    /// Degrees Celsius.
    #[serde(rename = "°C")]
    Celsius,
}

impl Unit {
    /// The symbol as the record writes it.
    pub fn symbol(self) -> &'static str {
        match self {
            Unit::Hertz => "Hz",
            Unit::Second => "s",
            Unit::Cycle => "cycle",
            Unit::CyclePerOp => "cycle/op",
            Unit::SecondPerOp => "s/op",
            Unit::One => "1",
            Unit::PerSecond => "1/s",
            Unit::TransferPerSecond => "T/s",
            Unit::FlopPerSecond => "FLOP/s",
            Unit::Count => "count",
            Unit::Byte => "B",
            Unit::BytePerSecond => "B/s",
            Unit::Watt => "W",
            Unit::Celsius => "°C",
        }
    }
}
