//! What to do by the numbers of a record, and the pages of commands that try something or count: each is a function of the record
//! alone (invariant I2).
#![forbid(unsafe_code)]

pub mod ab;
pub mod counts;
mod frame;
pub mod quiet;
pub mod sweep;
pub mod threads;
pub mod verify;
