//! The right to run a variant, and one trip over the arrays with it.

use std::mem::offset_of;

use model::Unavailable;

use super::{MemoryKernel, Shape, Variant};
use crate::stream::is_detected;

/// A variant's machine code: makes its trips over whole blocks and returns the sum of what it read,
/// where the kernel adds up; else the number means nothing.
#[cfg(target_arch = "x86_64")]
pub(crate) type MoverFn = unsafe extern "sysv64" fn(*const Span) -> f64;
/// A variant's machine code: makes its trips over whole blocks and returns the sum of what it read,
/// where the kernel adds up; else the number means nothing.
#[cfg(target_arch = "aarch64")]
pub(crate) type MoverFn = unsafe extern "C" fn(*const Span) -> f64;

/// What the machine code works on: the first sub-stream's part of each array, and what follows it.
#[repr(C)]
pub(crate) struct Span {
    /// The array that is written, or `b` where none is.
    lead: *mut f64,
    b: *const f64,
    c: *const f64,
    d: *const f64,
    /// Of one array in one sub-stream: a multiple of the block, and not zero.
    bytes: usize,
    /// Not zero.
    trips: u64,
    factor: f64,
}

impl Span {
    pub(crate) const LEAD: usize = offset_of!(Span, lead);
    pub(crate) const B: usize = offset_of!(Span, b);
    pub(crate) const C: usize = offset_of!(Span, c);
    pub(crate) const D: usize = offset_of!(Span, d);
    pub(crate) const BYTES: usize = offset_of!(Span, bytes);
    pub(crate) const TRIPS: usize = offset_of!(Span, trips);
    pub(crate) const FACTOR: usize = offset_of!(Span, factor);
}

/// The arrays of a kernel. Those that it does not use are ignored and may be empty.
#[derive(Debug)]
pub struct Arrays<'a> {
    /// What is written, in place or not.
    pub a: &'a mut [f64],
    /// The first one that is only read.
    pub b: &'a [f64],
    /// The second one that is only read.
    pub c: &'a [f64],
    /// The third one that is only read.
    pub d: &'a [f64],
}

impl Arrays<'_> {
    /// The length of those that a kernel uses.
    fn length(&self, kernel: &MemoryKernel) -> usize {
        let read = [self.b.len(), self.c.len(), self.d.len()];
        let written = (kernel.writes > 0).then_some(self.a.len());
        let mut used = read.into_iter().take(kernel.sources() as usize).chain(written);
        let length = used.next().expect("BUG: a kernel without arrays");
        assert!(used.all(|other| other == length), "BUG: arrays of different lengths");
        length
    }
}

/// A variant of a kernel that can run here. Only [`Mover::new`] makes one.
#[derive(Debug, Clone, Copy)]
pub struct Mover {
    kernel: &'static MemoryKernel,
    variant: &'static Variant,
}

impl Mover {
    /// The right to run a variant, or the instruction sets that this CPU and its operating system
    /// lack.
    pub fn new(
        kernel: &'static MemoryKernel,
        variant: &'static Variant,
    ) -> Result<Mover, Unavailable> {
        let is_own = kernel.variants.iter().any(|own| std::ptr::eq(own, variant));
        assert!(is_own, "BUG: {} is no variant of {}", variant.id, kernel.id);
        match variant.lacking(kernel, is_detected) {
            Some(unavailable) => Err(unavailable),
            None => Ok(Mover { kernel, variant }),
        }
    }

    /// The kernel that it computes.
    pub fn kernel(&self) -> &'static MemoryKernel {
        self.kernel
    }

    /// The way in which it does so.
    pub fn variant(&self) -> &'static Variant {
        self.variant
    }

    /// One trip over the arrays, which must be equally long as far as they are used. Kernels that
    /// only read return the sum of what they read, the others zero.
    #[inline]
    pub fn run(&self, arrays: &mut Arrays<'_>) -> f64 {
        self.run_trips(arrays, 1)
    }

    /// So many trips over the arrays, with nothing between one and the next: for arrays that fit
    /// into a cache and take less time than a call and two stamps. The sum is that of all trips.
    pub fn run_trips(&self, arrays: &mut Arrays<'_>, trips: u64) -> f64 {
        let length = arrays.length(self.kernel);
        if trips == 0 {
            return 0.0;
        }
        let lead = match self.kernel.writes {
            0 => arrays.b.as_ptr().cast_mut(),
            _ => arrays.a.as_mut_ptr(),
        };
        let (head, per_stream) = self.variant.shape.split(lead.addr(), length);
        let body = per_stream * self.variant.shape.streams;
        let mut sum = 0.0;
        if body != 0 {
            let span = Span {
                lead: lead.wrapping_add(head),
                b: arrays.b.as_ptr().wrapping_add(head),
                c: arrays.c.as_ptr().wrapping_add(head),
                d: arrays.d.as_ptr().wrapping_add(head),
                bytes: per_stream * size_of::<f64>(),
                trips,
                factor: self.kernel.factor,
            };
            // SAFETY: the variant's instruction sets were found by `Mover::new`, the only maker of
            // this type. Its code comes from `memory_kernel!` alone: in arrays that the kernel uses
            // it reaches `body` elements from `head` on, which are in bounds, because all of them
            // are of `length`; it writes only to `a`, which is borrowed for it, and there from an
            // aligned element on. The span outlives the call.
            let answer = unsafe { (self.variant.entry)(&raw const span) };
            sum += if self.kernel.writes == 0 { answer } else { 0.0 };
        }
        sum + self.run_plainly(arrays, (0..head).chain(head + body..length), trips)
    }

    /// Trips over single elements, without machine code.
    fn run_plainly(
        &self,
        arrays: &mut Arrays<'_>,
        elements: impl Iterator<Item = usize>,
        trips: u64,
    ) -> f64 {
        let mut sum = 0.0;
        for element in elements {
            for _ in 0..trips {
                let number = (self.kernel.reference)(arrays, element, self.kernel.factor);
                match self.kernel.writes {
                    0 => sum += number,
                    _ => arrays.a[element] = number,
                }
            }
        }
        sum
    }
}

impl Shape {
    /// Elements in front of the first block, and elements in all blocks of one sub-stream, of an
    /// array at such an address.
    fn split(&self, address: usize, length: usize) -> (usize, usize) {
        const ELEMENT: usize = size_of::<f64>();
        let head = address.wrapping_neg() % self.alignment / ELEMENT;
        let head = head.min(length);
        let per_stream = (length - head) * ELEMENT / self.streams;
        (head, per_stream / self.block_bytes * self.block_bytes / ELEMENT)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use model::{Isa, Obstacle};

    use super::*;
    use crate::memory::{TABLE, fill, formulas};

    /// Each variant of each kernel that can run on this machine; for the others, the reason is
    /// checked.
    pub(crate) fn movers() -> impl Iterator<Item = Mover> {
        let every =
            TABLE.iter().flat_map(|&kernel| kernel.variants.iter().map(move |v| (kernel, v)));
        every.filter_map(|(kernel, variant)| match Mover::new(kernel, variant) {
            Ok(mover) => Some(mover),
            Err(unavailable) => {
                let missing =
                    |isa: &Isa| !is_detected(*isa) && unavailable.why.contains(isa.name());
                assert!(variant.needs.iter().any(missing), "{unavailable:?}");
                assert_eq!(unavailable.what, format!("{} {}", kernel.id, variant.id));
                None
            }
        })
    }

    /// What stands around an array and must stay as it is.
    const GUARD: f64 = -77.0;

    /// Four buffers that begin at a multiple of 64 bytes.
    struct Buffers([Vec<[f64; 8]>; 4]);

    impl Buffers {
        fn new(longest: usize) -> Self {
            Buffers(std::array::from_fn(|_| vec![[GUARD; 8]; longest / 8 + 4]))
        }

        /// Parts of so many elements that begin so many elements behind the first 64 bytes.
        fn parts(&mut self, length: usize, offsets: [usize; 4]) -> [&mut [f64]; 4] {
            let mut offsets = offsets.into_iter();
            self.0.each_mut().map(|buffer| {
                let all = buffer.as_flattened_mut();
                let misplaced = all.as_ptr().addr().wrapping_neg() % 64 / 8;
                &mut all[misplaced + 8 + offsets.next().expect("there are four")..][..length]
            })
        }
    }

    /// Makes two trips and compares everything that it may have changed, bit by bit.
    fn try_out(mover: Mover, buffers: &mut Buffers, length: usize, offsets: [usize; 4]) {
        let kernel = mover.kernel();
        let [a, b, c, d] = buffers.parts(length, offsets).map(|part| &mut *part);
        fill([a, b, c, d], 5);
        let mut wanted = a.to_vec();
        let mut wanted_sum = 0.0;
        let plain = Arrays { a: &mut wanted, b, c, d };
        for element in (0..length).cycle().take(2 * length) {
            let number = (kernel.reference)(&plain, element, kernel.factor);
            match kernel.writes {
                0 => wanted_sum += number,
                _ => plain.a[element] = number,
            }
        }
        let mut arrays = Arrays { a, b, c, d };
        let sum = mover.run(&mut arrays) + mover.run(&mut arrays);
        let place = format!("{} {}, {length} at {offsets:?}", kernel.id, mover.variant().id);
        assert_eq!(sum.to_bits(), wanted_sum.to_bits(), "the sum of {place}");
        let same = |(one, other): (&f64, &f64)| one.to_bits() == other.to_bits();
        assert!(arrays.a.iter().zip(&wanted).all(same), "array a of {place}");
        let all = buffers.0[0].as_flattened();
        let guards = all.iter().filter(|&&number| number.to_bits() == GUARD.to_bits()).count();
        assert_eq!(guards, all.len() - length, "what is around array a of {place}");
        buffers.parts(length, offsets)[0].fill(GUARD);
    }

    #[test]
    fn every_variant_is_right_for_any_length_and_offset() {
        let mut buffers = Buffers::new(1200);
        for mover in movers() {
            for length in 0..=70 {
                for one in 0..8 {
                    // In eight lengths, each offset of one array meets each one of another.
                    let offsets = [one, one * 3 + length, one * 5 + length, one * 7 + length / 8];
                    try_out(mover, &mut buffers, length, offsets.map(|offset| offset % 8));
                }
            }
            for length in [512, 1001, 1003, 1151] {
                for one in 0..64 {
                    let offsets = [one, one / 8, one * 3 + one / 8, one * 5 + one / 8];
                    try_out(mover, &mut buffers, length, offsets.map(|offset| offset % 8));
                }
            }
        }
    }

    #[test]
    fn trips_in_a_row_are_like_single_ones() {
        let mut buffers = Buffers::new(300);
        for mover in movers() {
            let mut answers = [1, 7].map(|at_once| {
                let [a, b, c, d] = buffers.parts(300, [1, 0, 0, 0]).map(|part| &mut *part);
                fill([a, b, c, d], 0);
                let mut arrays = Arrays { a, b, c, d };
                let sums = (0..7 / at_once).map(|_| mover.run_trips(&mut arrays, at_once));
                let sum: f64 = sums.sum();
                (sum.to_bits(), arrays.a.iter().map(|one| one.to_bits()).collect::<Vec<_>>())
            });
            let [single, in_a_row] = answers.each_mut();
            assert_eq!(single, in_a_row, "{} {}", mover.kernel().id, mover.variant().id);
        }
    }

    #[test]
    fn no_trip_changes_nothing() {
        for mover in movers() {
            let mut a = [GUARD; 200];
            let read = [1.0; 200];
            let mut arrays = Arrays { a: &mut a, b: &read, c: &read, d: &read };
            assert_eq!(mover.run_trips(&mut arrays, 0).to_bits(), 0);
            assert!(a.iter().all(|one| one.to_bits() == GUARD.to_bits()));
        }
    }

    #[test]
    fn most_of_an_aligned_array_is_done_by_machine_code() {
        for kernel in TABLE {
            for Variant { id, shape, .. } in kernel.variants {
                let whole = 4096 / 8;
                let (head, per_stream) = shape.split(0x1_0000, whole);
                assert_eq!((head, per_stream * shape.streams), (0, whole), "{} {id}", kernel.id);
            }
        }
    }

    #[test]
    #[should_panic(expected = "BUG: arrays of different lengths")]
    fn arrays_of_different_lengths_are_a_bug() {
        let mover = movers().find(|one| one.kernel().id == "triad").expect("one can run");
        let mut a = [0.0; 10];
        mover.run(&mut Arrays { a: &mut a, b: &[0.0; 10], c: &[0.0; 9], d: &[] });
    }

    #[test]
    #[should_panic(expected = "is no variant of")]
    fn a_variant_of_another_kernel_is_a_bug() {
        let _ = Mover::new(&formulas::LOAD, &formulas::COPY.variants[0]);
    }

    #[test]
    fn a_lacking_instruction_set_is_named() {
        let triad = &crate::memory::formulas::TRIAD;
        let wide = triad.variants.iter().rfind(|one| !one.needs.is_empty()).expect("there is one");
        let lacks = wide.lacking(triad, |_| false).expect("it is missing");
        assert_eq!(lacks.what, format!("triad {}", wide.id));
        assert_eq!(lacks.obstacle, Obstacle::Hardware);
    }

    #[test]
    fn every_kernel_has_a_variant_that_runs_everywhere() {
        for kernel in TABLE {
            assert!(movers().any(|one| std::ptr::eq(one.kernel(), *kernel)), "{}", kernel.id);
        }
    }
}
