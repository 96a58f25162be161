//! The rig and the areas that it measures.
//!
//! [`rig`] executes and times; [`areas`] know what to ask and how to read the answer; [`sheet`] puts
//! all areas into one run and one record. Nothing here prints: areas turn records into
//! [`model::page`] blocks, and views render those.
#![forbid(unsafe_code)]

pub mod areas;
pub mod rig;
pub mod sheet;
pub mod streams;
