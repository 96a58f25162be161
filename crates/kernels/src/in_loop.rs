//! Kernels that have the ruler in the same loop as a stream's ops.
//!
//! A clock that is read right after a payload may be another one than the payload had. In the
//! payload's own loop there is no such doubt, where a core executes out of order: the ops of the
//! stream and the ruler's chain do not wait for each other, so an iteration lasts as long as the
//! longer of the two. Where that is the chain, its multiplies tell the clock while the ops run
//! beside it at a density that the caller chooses: the time that the ops of an iteration need alone
//! over that of the multiplies. From a density of 1 on, the chain measures the ops instead.
//!
//! The two share a scheduler and, on some CPUs, an execution unit: on Intel's cores the ruler takes
//! every third cycle of port 1. Payloads that keep all ports busy and need this one too, such as
//! vector multiplies of at most 256 bits, therefore leave room for it up to a density of 0.83
//! where they have two ports, and 0.89 where they have three; all others nearly up to 1. Readings
//! at two densities show it: they agree, or they are no clock.

use crate::arithmetic::{Arithmetic, Registers};
use crate::stream::KernelFn;
use crate::{Operands, StreamRow, WrongAnswer};

/// The most multiplies of the ruler that fit into an iteration.
pub const MULTIPLIES_MAX: u32 = 64;

/// A kernel with a stream's ops and the ruler in one loop. Only
/// [`Runnable::in_loop`](crate::Runnable::in_loop) gives one.
#[derive(Debug, Clone, Copy)]
pub struct InLoop {
    pub(crate) row: &'static StreamRow,
    pub(crate) ops: u64,
    pub(crate) entry: KernelFn,
}

impl InLoop {
    /// Ops of the stream in one iteration.
    pub fn ops_per_iteration(&self) -> u64 {
        self.ops
    }

    /// Executes `iterations` times the stream's ops and then so many multiplies of the ruler, at
    /// least 1 and at most [`MULTIPLIES_MAX`].
    ///
    /// The answer is that of the ops, plus the product of the multiplies: with
    /// [`Operands::COUNTING`] 3 to the power of their number. As with
    /// [`Runnable::run`](crate::Runnable::run), there is one indirect call, and no iteration where
    /// none is wanted.
    #[inline]
    pub fn run(&self, iterations: u64, multiplies: u32, operands: &Operands) -> u64 {
        let multiplies = clamped(multiplies);
        // SAFETY: it was taken from a `Runnable`, so the row's instruction sets are there, and the
        // kernel needs no other. Kernels come from `stream!` alone: they read the block of
        // operands, which is borrowed for the call, write no memory, and change only registers that
        // are the callee's. The entry into the sled lies in it, because the count was clamped.
        unsafe { (self.entry)(iterations, operands, u64::from(multiplies)) }
    }

    /// Runs a few small counts of both kinds and compares the answers with those that plain
    /// arithmetic gives (invariant I9). It takes well under a millisecond.
    pub fn verify(&self) -> Result<(), WrongAnswer> {
        for (iterations, multiplies) in [(1, 1), (3, 7), (7, 2), (33, 20), (5, MULTIPLIES_MAX)] {
            for operands in [&Operands::COUNTING, &Operands::TOGGLING] {
                let expected = self.expected(iterations, multiplies, operands);
                let found = self.run(iterations, multiplies, operands);
                if found != expected {
                    let stream = self.row.id;
                    return Err(WrongAnswer { stream, iterations, multiplies, expected, found });
                }
            }
        }
        Ok(())
    }

    /// The answer, computed one op at a time and without the kernel.
    fn expected(&self, iterations: u64, multiplies: u32, operands: &Operands) -> u64 {
        let ruler = iterations * u64::from(clamped(multiplies));
        let product = Arithmetic::Product.answer(ruler, 1, Registers::ONE, operands);
        self.row.after_ops(iterations * self.ops, operands).wrapping_add(product)
    }
}

fn clamped(multiplies: u32) -> u32 {
    multiplies.clamp(1, MULTIPLIES_MAX)
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use model::Isa;

    use super::*;
    use crate::Kind;
    use crate::ruler::{self, every_row};
    use crate::stream::tests::runnables;
    use crate::streams;

    fn kernels() -> impl Iterator<Item = &'static InLoop> {
        runnables().flat_map(|runnable| runnable.in_loop())
    }

    #[test]
    fn ops_and_multiplies_are_counted() {
        assert!(kernels().count() >= 2, "not even those of `{}`", streams::scalar::SCALAR_IADD.id);
        for kernel in kernels() {
            assert_eq!(kernel.verify(), Ok(()));
        }
    }

    #[test]
    fn any_number_of_multiplies_is_right() {
        for kernel in kernels() {
            for multiplies in 0..=MULTIPLIES_MAX + 2 {
                for iterations in [0, 1, 9] {
                    let expected = kernel.expected(iterations, multiplies, &Operands::COUNTING);
                    let found = kernel.run(iterations, multiplies, &Operands::COUNTING);
                    let id = kernel.row.id;
                    assert_eq!(found, expected, "{id}: {iterations} times {multiplies}");
                }
            }
        }
    }

    #[test]
    fn a_wrong_count_of_ops_is_found() {
        let kernel = streams::scalar::SCALAR_IADD.in_loop[0];
        let wrong = InLoop { ops: kernel.ops + 1, ..kernel }.verify().unwrap_err();
        let text = "stream `scalar_iadd` answered 9 after 1 iterations with 1 multiplies in each, \
                    expected 10";
        assert_eq!(wrong.to_string(), text);
    }

    #[test]
    fn streams_that_occupy_units_alone_have_two() {
        for row in every_row() {
            let is_plain = row.beside.is_none() && row.followers.is_empty();
            let is_bound = matches!(row.kind, Kind::Latency | Kind::Throughput);
            let is_vector = !row.needs.contains(&Isa::AmxTile);
            let has = is_plain && is_bound && is_vector && row.id != ruler::CONTENTION.id;
            assert_eq!(row.in_loop.len(), if has { 2 } else { 0 }, "{}", row.id);
            assert!(row.in_loop.is_sorted_by_key(InLoop::ops_per_iteration), "{}", row.id);
            assert!(row.in_loop.iter().all(|kernel| kernel.row.id == row.id), "{}", row.id);
        }
    }
}
