//! What the targets share with the tests of the workspace.

#[path = "../../crates/machine/tests/it/hostile/anything.rs"]
mod anything;

pub use anything::{PATHS, machine_of, survey};
