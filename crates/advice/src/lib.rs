//! What to do by the numbers of a record: each answer is a function of the record alone (invariant I2).
#![forbid(unsafe_code)]

pub mod ab;
pub mod sweep;
pub mod threads;
pub mod verify;
