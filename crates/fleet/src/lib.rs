//! What many records say beside one another: which of them are alike, what differs and why, which machine is worse than
//! it was or than others, and whether one passes.
//!
//! A record carries a digest, made when it was written, so that ten thousand of them are compared without their samples.
#![forbid(unsafe_code)]

pub mod compare;
pub mod counts;
pub mod digest;
pub mod features;
pub mod gate;
pub mod history;
pub mod hostlist;
pub mod key;
pub mod metrics;
pub mod pack;
pub mod reference;
pub mod simulate;
pub mod survey;
#[cfg(test)]
#[path = "../../report/src/testing/by_hand.rs"]
mod testing;
pub mod threads;
pub mod window;
