//! Settings of a machine: what can be moved, and how it is written, read back and undone.
//!
//! A [`Lever`] is one row of [`rows::LEVERS`]. What a user [asks](ask::SettingSpec) for becomes a
//! [`Plan`](plan::Plan) of changes, each with the value that is there now. A [`Session`] keeps them in
//! a [`journal`] on disk before it writes, reads each value back, and gives the former ones
//! back; after a crash [`undo`] does that from the journal.
//!
//! This is the only crate that writes to a machine (invariant I6): through the port [`Levers`], which
//! nobody else is handed.
#![forbid(unsafe_code)]

pub mod ask;
mod drivers;
mod error;
pub mod journal;
pub mod object;
mod outcome;
pub mod overrides;
pub mod plan;
pub mod port;
pub mod presets;
mod restore;
pub mod rows;
mod session;
pub mod settings;
mod targets;
pub mod unlimited;
mod write;

pub use drivers::Drivers;
pub use error::{Error, LEFT, RESTLESS};
pub use object::Object;
pub use outcome::{Changed, Others, Undone};
pub use port::Levers;
pub use rows::{LEVERS, Lever};
pub use session::{NotMade, Session, undo};
pub use targets::SettingOwner;
