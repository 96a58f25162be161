//! The rig and the areas that it measures.
//!
//! [`rig`] executes and times; [`areas`] know what to ask and how to read the answer; [`run`] measures
//! what they ask for as one record; [`sheet`] asks all of them. Nothing here prints: areas turn records into
//! [`model::page`] blocks, and views render those.
#![forbid(unsafe_code)]

pub mod ab;
pub mod areas;
pub mod gate;
pub mod original;
pub mod proof;
pub mod quiet;
pub mod rig;
pub mod run;
pub mod sheet;
pub mod streams;
