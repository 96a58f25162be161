//! What the machine says of itself as pages: pure functions of the record (invariant I2).

mod doctor;
mod info;
pub mod parts;

pub use doctor::doctor;
pub use info::info;
