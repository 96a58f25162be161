//! The memory kernels: what moves arrays while somebody else looks at a clock, and the chase that
//! waits for one line after the other.
//!
//! A kernel is a formula over arrays, such as `a[i] = b[i] + q * c[i]`. Its [`Variant`]s compute it
//! with registers of several widths and with stores of several kinds, in machine code that no
//! compiler can change, so that the way in which stores reach memory is certain: ordinary stores
//! bring a line into the cache before they change it, non-temporal ones do not. One declaration by
//! `memory_kernel!` makes them all.
//!
//! # Proofs
//!
//! As with streams, there are two (invariant I9). *The answer*: arrays are filled with numbers for
//! which every formula is exact, whatever the order; elements that were spoiled before are compared
//! with plain arithmetic afterwards ([`Mover::prepare`], [`Mover::check`]). *The listing*: tests
//! disassemble each variant and add up which bytes an iteration reads and writes, with which
//! instructions.
//!
//! # Which bytes are counted
//!
//! [`MemoryKernel::bytes_per_element`] is what the program asks for;
//! [`MemoryKernel::moved_bytes_per_element`] is what must cross the memory bus.

#[cfg(target_arch = "aarch64")]
#[macro_use]
mod aarch64;
#[cfg(target_arch = "x86_64")]
#[macro_use]
mod x86_64;

pub mod chase;
mod check;
pub mod formulas;
#[cfg(all(test, target_arch = "x86_64"))]
mod listing;
mod mover;

use model::{Isa, Unavailable};

use crate::stream::lacking;

pub use check::{Array, WrongNumber, fill};
pub use mover::{Arrays, Mover};

/// All of them, in the order of listings: the classic four in the middle, in their own order.
pub static TABLE: &[&MemoryKernel] = &[
    &formulas::LOAD,
    &formulas::STORE,
    &formulas::COPY,
    &formulas::SCALE,
    &formulas::ADD,
    &formulas::TRIAD,
    &formulas::UPDATE,
    &formulas::DAXPY,
    &formulas::STRIAD,
    &formulas::SDAXPY,
];

/// The kernel of this name, if there is one.
pub fn find(id: &str) -> Option<&'static MemoryKernel> {
    TABLE.iter().copied().find(|kernel| kernel.id == id)
}

/// One formula over arrays of 64-bit floating-point numbers.
#[derive(Debug, Clone, Copy)]
pub struct MemoryKernel {
    /// The name that users type and records keep.
    pub id: &'static str,
    /// A few words for a table.
    pub title: &'static str,
    /// What it computes and what it is good for; for the user.
    pub doc: &'static str,
    /// What it computes, with `q` for the factor.
    pub formula: &'static str,
    /// Numbers read for each element, as the program asks for them.
    pub reads: u32,
    /// Numbers written for each element: one or none.
    pub writes: u32,
    /// Floating-point operations for each element.
    pub flops: u32,
    /// Different arrays that it needs: `a` if it writes, and `b`, `c` and `d` in this order.
    pub arrays: u32,
    /// Whether `a` is read as well as written.
    pub in_place: bool,
    /// The number `q` of the formula. With it, each trip leaves a trace in the answer.
    pub factor: f64,
    /// The ways to compute it, from the narrowest to the widest.
    pub variants: &'static [Variant],
    /// The formula for one element, in plain Rust.
    pub(crate) reference: Reference,
}

/// What a kernel makes of one element of its arrays, with the factor.
pub(crate) type Reference = fn(&Arrays<'_>, usize, f64) -> f64;

/// How stores reach memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stores {
    /// Nothing is stored.
    None,
    /// Into the cache, where a line must be before it is changed.
    Ordinary,
    /// Past the caches, a whole line at once.
    NonTemporal,
    /// As the CPU chooses: one instruction copies or fills the whole array.
    String,
}

impl Stores {
    /// The word for it in records and tables.
    pub const fn word(self) -> &'static str {
        match self {
            Stores::None => "none",
            Stores::Ordinary => "ordinary",
            Stores::NonTemporal => "non-temporal",
            Stores::String => "string",
        }
    }
}

/// One way to compute a kernel.
#[derive(Debug, Clone, Copy)]
pub struct Variant {
    /// The name that users type and records keep; unique within its kernel.
    pub id: &'static str,
    /// What is special about it; for the user.
    pub doc: &'static str,
    /// Width of its registers; none where the CPU chooses it.
    pub width_bits: Option<u32>,
    /// How it stores.
    pub stores: Stores,
    /// How many lines ahead it asks for those that it will write, if it does.
    pub lines_ahead: Option<u64>,
    /// The instruction sets without which it cannot run.
    pub needs: &'static [Isa],
    pub(crate) shape: Shape,
    pub(crate) entry: mover::MoverFn,
}

impl Variant {
    /// What of instruction sets is missing for this variant of a kernel, if anything, where `offered`
    /// tells what there is.
    pub fn lacking(
        &self,
        kernel: &MemoryKernel,
        offered: impl Fn(Isa) -> bool,
    ) -> Option<Unavailable> {
        lacking(&format!("{} {}", kernel.id, self.id), self.needs, offered)
    }
}

/// What of an array the machine code takes at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// Bytes of an array that one iteration of one sub-stream takes.
    pub(crate) block_bytes: usize,
    /// Parts of the arrays, of equal length, that are walked through side by side.
    pub(crate) streams: usize,
    /// To so many bytes the array that it writes (or else reads) must be aligned.
    pub(crate) alignment: usize,
}

impl MemoryKernel {
    const ELEMENT: u64 = size_of::<f64>() as u64;

    /// Bytes that the program asks for: what it reads and what it writes.
    pub const fn bytes_per_element(&self) -> u64 {
        Self::ELEMENT * (self.reads + self.writes) as u64
    }

    /// Bytes that must be moved where the caches hold nothing of the arrays; none where the CPU
    /// chooses and does not tell.
    ///
    /// An ordinary store needs its line in the cache, so an array that is written but not read is
    /// read all the same: write-allocate.
    pub const fn moved_bytes_per_element(&self, stores: Stores) -> Option<u64> {
        let allocated = if self.in_place { 0 } else { Self::ELEMENT * self.writes as u64 };
        match stores {
            Stores::Ordinary => Some(self.bytes_per_element() + allocated),
            Stores::None | Stores::NonTemporal => Some(self.bytes_per_element()),
            Stores::String => None,
        }
    }

    /// The variant of this name, if there is one.
    pub fn variant(&self, id: &str) -> Option<&'static Variant> {
        self.variants.iter().find(|variant| variant.id == id)
    }

    /// Arrays that are read and not written: `b`, or `b` and `c`, or `b`, `c` and `d`.
    pub(crate) fn sources(&self) -> u32 {
        self.arrays - self.writes
    }
}

/// Declares a memory kernel in all its variants.
///
/// The doc comment is its help. `ops` say what is done to a register, in this order, before it is
/// stored to `a`: `load`, `mul` and `add`, each with an array or with `q`; or `sum` with an array,
/// where nothing is stored. The `reference` says the same in plain Rust and shares nothing with it.
/// `string` is the one instruction that can do it too.
macro_rules! memory_kernel {
    (
        $(#[doc = $doc:literal])+
        $name:ident = $id:literal, title: $title:literal, formula: $formula:literal,
        arrays: $arrays:literal, reads: $reads:literal, writes: $writes:literal,
        flops: $flops:literal, factor: $factor:expr,
        ops: $ops:tt, $(string: $string:ident,)?
        reference: $reference:expr $(,)?
    ) => {
        $(#[doc = $doc])+
        pub static $name: $crate::memory::MemoryKernel = $crate::memory::MemoryKernel {
            id: $id,
            title: $title,
            doc: concat!($($doc),+).trim_ascii(),
            formula: $formula,
            reads: $reads,
            writes: $writes,
            flops: $flops,
            arrays: $arrays,
            in_place: $arrays < $reads + $writes,
            factor: $factor,
            variants: variants!($ops $($string)?),
            reference: $reference,
        };
    };
}
use memory_kernel;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        let ids: BTreeSet<_> = TABLE.iter().map(|kernel| kernel.id).collect();
        assert_eq!(ids.len(), TABLE.len());
        for kernel in TABLE {
            assert!(find(kernel.id).is_some_and(|found| std::ptr::eq(found, *kernel)));
            let ids: BTreeSet<_> = kernel.variants.iter().map(|variant| variant.id).collect();
            assert_eq!(ids.len(), kernel.variants.len(), "{}", kernel.id);
            for variant in kernel.variants {
                let found = kernel.variant(variant.id).expect("it is there");
                assert!(std::ptr::eq(found, variant));
                assert!(!variant.doc.is_empty());
            }
        }
        assert!(find("quad").is_none() && TABLE[0].variant("mmx").is_none());
    }

    #[test]
    fn write_allocate_is_counted_as_the_field_does() {
        let factors = [
            ("load", 1.0),
            ("store", 2.0),
            ("copy", 1.5),
            ("scale", 1.5),
            ("add", 4.0 / 3.0),
            ("triad", 4.0 / 3.0),
            ("update", 1.0),
            ("daxpy", 1.0),
            ("striad", 1.25),
            ("sdaxpy", 1.0),
        ];
        assert_eq!(factors.len(), TABLE.len());
        for (id, factor) in factors {
            let kernel = find(id).expect("it is in the table");
            let asked = kernel.bytes_per_element();
            let wanted = (asked as f64 * factor).round() as u64;
            let stores = if kernel.writes == 0 { Stores::None } else { Stores::Ordinary };
            assert_eq!(kernel.moved_bytes_per_element(stores), Some(wanted), "{id}");
            assert_eq!(kernel.moved_bytes_per_element(Stores::NonTemporal), Some(asked), "{id}");
            assert_eq!(kernel.moved_bytes_per_element(Stores::String), None, "{id}");
        }
    }

    #[test]
    fn counts_follow_from_the_formula() {
        for kernel in TABLE {
            let (written, read) = kernel.formula.split_once(" = ").expect("it has two sides");
            let names = ["a[i]", "b[i]", "c[i]", "d[i]"];
            let reads = names.iter().filter(|name| read.contains(**name)).count();
            let used = names.iter().filter(|name| kernel.formula.contains(**name)).count();
            let flops = read.matches(['+', '*']).count();
            let found = (kernel.reads, kernel.writes, kernel.arrays, kernel.flops);
            let writes = u32::from(written == "a[i]");
            assert_eq!(found, (reads as u32, writes, used as u32, flops as u32), "{}", kernel.id);
            assert_eq!(kernel.in_place, writes == 1 && read.contains("a[i]"), "{}", kernel.id);
        }
    }

    #[test]
    fn stores_are_what_the_kernel_does() {
        for kernel in TABLE {
            for variant in kernel.variants {
                let is_none = variant.stores == Stores::None;
                assert_eq!(is_none, kernel.writes == 0, "{} {}", kernel.id, variant.id);
                let is_nt = variant.stores == Stores::NonTemporal;
                assert_eq!(is_nt, variant.id.contains("-nt"), "{} {}", kernel.id, variant.id);
            }
        }
        let words: BTreeSet<_> =
            [Stores::None, Stores::Ordinary, Stores::NonTemporal, Stores::String]
                .map(Stores::word)
                .into();
        assert_eq!(words.len(), 4);
    }
}
