//! Numbers with their units, as exact as the firmware gives them.

use std::fmt;

use serde::Serialize;

macro_rules! units {
    ($($(#[$doc:meta])* $name:ident($number:ty) = $suffix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(pub $number);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!("{} ", $suffix), self.0)
            }
        }
    )*};
}

units! {
    /// A frequency.
    Megahertz(u32) = "MHz";
    /// A power.
    Watts(u32) = "W";
    /// A temperature.
    Celsius(u32) = "C";
}

impl Megahertz {
    /// What ratios are multiples of.
    const PER_RATIO: u32 = 100;

    /// A ratio as the firmware has it; 0 is none.
    pub fn of_ratio(ratio: u8) -> Option<Megahertz> {
        Megahertz::given(u32::from(ratio) * Self::PER_RATIO)
    }

    /// A number of the driver; 0 is none.
    pub fn given(mhz: impl Into<u32>) -> Option<Megahertz> {
        Some(mhz.into()).filter(|mhz| *mhz > 0).map(Megahertz)
    }
}
