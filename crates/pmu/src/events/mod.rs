//! Names of events, and what they are to the kernel.

mod encoded;

pub use encoded::{Encoded, Place, Source};
