//! Names of events, and what they are to the kernel.

mod encoded;

pub use encoded::{Encoded, Modes, Place, Scope, Source};
