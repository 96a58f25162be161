//! What records say, as pages: each is a function of the record alone (invariant I2).
//!
//! Measuring writes records and knows none of this; this reads them and knows no machine, so that another machine, or
//! another build, shows the same. [`kit`] has the pieces that pages are made of.
#![forbid(unsafe_code)]

pub mod areas;
pub mod band;
mod cells;
mod checked;
pub mod claim;
mod doctor;
mod figure;
mod info;
pub mod kit;
mod outline;
pub mod parts;
pub mod reference;
mod run;
pub mod settings;
pub mod sheet;
pub mod speed_select;
#[cfg(test)]
mod testing;

pub use doctor::{capabilities, doctor};
pub use info::{info, limits_of_clock};
pub use outline::outline;
pub use run::annotate;
