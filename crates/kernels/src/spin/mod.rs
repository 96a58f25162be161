//! Instructions that wait for a cache line, or for a time, without the kernel's help.
//!
//! Each is a token that exists only where the CPU announces the instruction, so that using it is safe.

mod mwaitx;
mod waitpkg;

pub use mwaitx::MwaitX;
pub use waitpkg::WaitPkg;
