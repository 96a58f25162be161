//! What records say, as pages: each is a function of the record alone (invariant I2).
//!
//! Measuring writes records and knows none of this; this reads them and knows no machine, so that another machine, or
//! another build, shows the same. [`kit`] has the pieces that pages are made of.
#![forbid(unsafe_code)]

mod doctor;
mod info;
pub mod kit;
pub mod settings;
pub mod speed_select;

pub use doctor::{capabilities, doctor};
pub use info::info;
