//! The instruction streams: what a CPU is made to execute while somebody else looks at a clock.
//!
//! A stream is one loop of straight-line code. Its body repeats a single instruction a fixed number
//! of times (a few rows repeat three that belong together, or have one more beside them), and
//! nothing but `dec` and a conditional jump surrounds it, so that the number of ops in an iteration
//! is a fact of the machine code and not of a compiler's mood. Each stream is one
//! [`StreamRow`], and [`streams::TABLE`] lists those that a user may ask for. The four of [`ruler`]
//! are what the rig needs for itself: a clock, a witness for the clock, an empty call and a probe
//! for shared cores.
//!
//! # The idea
//!
//! A number of ops is believed only if it was proved. Two independent proofs are given here
//! (invariant I9), and both look at the same bytes that are timed later:
//!
//! - *The answer.* Kernels take their constants from [`Operands`] instead of containing them. With
//!   [`Operands::COUNTING`] the result of a stream is the number of its ops, or depends on each of
//!   them; [`Runnable::verify`] compares. Ops that forget their numbers, such as moves, cannot
//!   tell: there the answer has the trips of the loop, and the listing says what is in a trip. With
//!   [`Operands::QUIET`] and [`Operands::TOGGLING`] the same code runs on data that changes no bit,
//!   or as many as the op can change: power follows data, and so may the clock.
//! - *The listing.* The tests of this crate disassemble each kernel and count: mnemonic, register
//!   width, dependencies from op to op, instruction sets, alignment, and that nothing else is in
//!   the loop.
//!
//! Most streams have two more kernels, [`InLoop`], where the ruler stands in the loop beside the ops
//! and reads the clock at the same time. They are made of the same text and proved the same way.
//!
//! # What is not here
//!
//! No threads, no clocks, no machines, no records. The one system call asks whether this process may
//! use tiles, without which their kernels must not run. Who runs a stream, where, how often and between
//! which stamps is the rig's business. What this crate does keep to itself is `unsafe` (invariant
//! I8): a [`Runnable`] exists only where the CPU has the instructions that its row needs, and with
//! that [`Runnable::run`] is a safe function that makes one indirect call (invariant I3).
//!
//! # Adding a stream
//!
//! One `stream!` in the family's file below `streams/`, and one line in [`streams::TABLE`]. What a
//! new kind of op computes is said in `arithmetic.rs`, once.

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("cpudyno has instruction streams for x86-64 and AArch64 only");

#[cfg(target_arch = "aarch64")]
#[macro_use]
mod aarch64;
#[cfg(target_arch = "x86_64")]
#[macro_use]
mod x86_64;
mod arithmetic;
#[macro_use]
mod stream;

pub mod checksum;
mod dirty;
pub mod empty_loop;
mod in_loop;
#[cfg(all(test, target_arch = "x86_64"))]
mod listing;
pub mod memory;
pub mod patterns;
pub mod random_branch;
pub mod region_body;
pub mod ruler;
pub mod second_form;
pub mod spin;
pub mod streams;
#[cfg(target_arch = "x86_64")]
mod xstate;

pub use arithmetic::Operands;
pub use dirty::{Dirtier, DirtyUpper};
pub use in_loop::{InLoop, MULTIPLIES_MAX};
pub use stream::{CompanionInstruction, Data, Kind, Runnable, StreamRow, Weight, WrongAnswer};

/// The level of optimisation that this crate was compiled with: `0`, `1`, `2`, `3`, `s`, `z`.
pub const OPT_LEVEL: &str = env!("CPUDYNO_KERNELS_OPT_LEVEL");
