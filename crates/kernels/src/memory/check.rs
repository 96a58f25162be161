//! The numbers in the arrays, and what must have become of them.
//!
//! All of them are whole numbers, or such with a few binary places, and small. So every formula is
//! exact, whatever the order of additions, and stays so for 2^32 trips; a single wrong bit is an
//! error. The numbers of an array repeat with a period that is a prime, another one for each array:
//! what comes from a wrong line, page or array is another number.

use std::fmt;

use super::{Arrays, MemoryKernel, Mover};

/// One of the arrays of the kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Array {
    /// What is written; where that is in place, the numbers are those before the first trip.
    A,
    /// The first one that is only read.
    B,
    /// The second one that is only read.
    C,
    /// The third one that is only read.
    D,
}

impl Array {
    /// After so many elements the numbers repeat.
    const fn period(self) -> u64 {
        match self {
            Array::A => 7,
            Array::B => 251,
            Array::C => 241,
            Array::D => 239,
        }
    }

    /// The number at an index of the whole array, of which a thread may have a part.
    pub fn at(self, index: u64) -> f64 {
        let place = (index % self.period()) as f64;
        match self {
            // From 1 to 1.375: the kernel `update` counts its trips in the last place.
            Array::A => 1.0 + place / 16.0,
            _ => 1.0 + place,
        }
    }

    /// Fills a part of the array that begins at such an index of the whole.
    pub fn fill(self, part: &mut [f64], first_index: u64) {
        let numbers: Vec<f64> =
            (0..self.period()).map(|place| self.at(first_index + place)).collect();
        for chunk in part.chunks_mut(numbers.len()) {
            chunk.copy_from_slice(&numbers[..chunk.len()]);
        }
    }

    /// The sum of a part of the array.
    fn sum(self, first_index: u64, length: u64) -> f64 {
        let sum_of = |count: u64| (0..count).map(|place| self.at(first_index + place)).sum::<f64>();
        let periods = (length / self.period()) as f64;
        periods * sum_of(self.period()) + sum_of(length % self.period())
    }
}

/// Fills parts of all four arrays that begin at the same index of the whole. Parts of arrays that
/// are not used may be empty.
pub fn fill([a, b, c, d]: [&mut [f64]; 4], first_index: u64) {
    Array::A.fill(a, first_index);
    Array::B.fill(b, first_index);
    Array::C.fill(c, first_index);
    Array::D.fill(d, first_index);
}

/// The elements that are looked at: both ends, and between them so many that each page has one; all
/// where that is soon done.
fn sample(length: usize) -> impl Iterator<Item = usize> {
    const EDGE: usize = 128;
    // A prime, and 4072 bytes.
    const STRIDE: usize = 509;
    const SHORT: usize = 4096;
    let stride = if length <= SHORT { 1 } else { STRIDE };
    let edge = EDGE.min(length / 2);
    let between = (edge..length - edge).step_by(stride);
    (0..edge).chain(between).chain(length - edge..length)
}

impl MemoryKernel {
    /// What `a` must hold at an index of the whole array after so many trips since it was filled:
    /// at least one, and at most 2^32. For kernels that only read, what a trip adds to the sum.
    pub fn expected(&self, index: u64, trips: u64) -> f64 {
        let [mut a, b, c, d] = [Array::A, Array::B, Array::C, Array::D].map(|one| [one.at(index)]);
        let [before] = a;
        let element = Arrays { a: &mut a, b: &b, c: &c, d: &d };
        let after = (self.reference)(&element, 0, self.factor);
        if !self.in_place {
            return after;
        }
        // Each trip adds the same, and exactly.
        before + trips as f64 * (after - before)
    }
}

impl Mover {
    /// Makes `a`, a part that begins at such an index of the whole, ready for a check: elements
    /// that will be looked at become no number, so that they must have been written. For kernels
    /// that work in place it is filled anew, and trips count from here.
    pub fn prepare(&self, a: &mut [f64], first_index: u64) {
        if self.kernel().in_place {
            Array::A.fill(a, first_index);
        } else if self.kernel().writes > 0 {
            sample(a.len()).for_each(|element| a[element] = f64::NAN);
        }
    }

    /// Compares the answer with plain arithmetic, after so many trips since
    /// [`prepare`](Mover::prepare), at least one: elements of `a`, or the sum that
    /// [`run_trips`](Mover::run_trips) returned.
    ///
    /// # Error
    ///
    /// The largest relative error. It is zero whenever there is an answer: every formula is exact,
    /// so a number that differs at all is refused.
    pub fn check(
        &self,
        arrays: &Arrays<'_>,
        first_index: u64,
        trips: u64,
        sum: f64,
    ) -> Result<f64, WrongNumber> {
        assert!(trips > 0, "BUG: a check without a trip");
        if self.kernel().writes == 0 {
            let once = Array::B.sum(first_index, arrays.b.len() as u64);
            return self.compare(None, sum, once * trips as f64);
        }
        sample(arrays.a.len()).try_fold(0.0, |worst: f64, element| {
            let index = first_index + element as u64;
            let expected = self.kernel().expected(index, trips);
            Ok(worst.max(self.compare(Some(index), arrays.a[element], expected)?))
        })
    }

    /// The first number that is wrong, of all of them: slower than [`check`](Mover::check), which looks at a sample.
    pub fn check_every(
        &self,
        arrays: &Arrays<'_>,
        first_index: u64,
        trips: u64,
        sum: f64,
    ) -> Result<(), WrongNumber> {
        if self.kernel().writes == 0 {
            return self.check(arrays, first_index, trips, sum).map(drop);
        }
        (first_index..).zip(arrays.a.iter()).try_for_each(|(index, found)| {
            self.compare(Some(index), *found, self.kernel().expected(index, trips)).map(drop)
        })
    }

    /// The relative error.
    fn compare(&self, index: Option<u64>, found: f64, expected: f64) -> Result<f64, WrongNumber> {
        if found.to_bits() == expected.to_bits() {
            return Ok(0.0);
        }
        let (kernel, variant) = (self.kernel().id, self.variant().id);
        Err(WrongNumber { kernel, variant, index, found, expected })
    }

    /// Runs over a few small arrays and checks each element (invariant I9). It takes well under a
    /// millisecond.
    pub fn verify(&self) -> Result<(), WrongNumber> {
        const LENGTH: usize = 1031;
        const TRIPS: u64 = 3;
        let mut numbers: [_; 4] = std::array::from_fn(|_| vec![0.0; LENGTH]);
        // From an odd element on, plain code has a part in it, and all numbers are other ones.
        for first in [0, 1] {
            let mut parts = numbers.each_mut().map(|array| &mut array[first..]);
            fill(parts.each_mut().map(|part| &mut **part), first as u64);
            let [a, b, c, d] = parts;
            self.prepare(a, first as u64);
            let mut arrays = Arrays { a, b, c, d };
            let sum = self.run_trips(&mut arrays, TRIPS);
            self.check(&arrays, first as u64, TRIPS, sum)?;
        }
        Ok(())
    }
}

/// A memory kernel did not compute what it promises: none of its numbers may be believed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WrongNumber {
    /// The kernel's id.
    pub kernel: &'static str,
    /// The variant's id.
    pub variant: &'static str,
    /// The index in the whole of array `a`; none where it is the sum that is wrong.
    pub index: Option<u64>,
    /// What was there; not a number where it was never written.
    pub found: f64,
    /// The right number.
    pub expected: f64,
}

impl fmt::Display for WrongNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WrongNumber { kernel, variant, index, found, expected } = self;
        write!(f, "memory kernel `{kernel}`, variant `{variant}`: ")?;
        match index {
            None => write!(f, "the sum")?,
            Some(index) => write!(f, "a[{index}]")?,
        }
        if found.is_nan() {
            return write!(f, " was not computed, expected {expected:?}");
        }
        let error = ((found - expected) / expected).abs();
        write!(f, " is {found:?}, expected {expected:?}: a relative error of {error:.1e}")
    }
}

impl std::error::Error for WrongNumber {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::mover::tests::movers;
    use crate::memory::{TABLE, formulas};

    #[test]
    fn every_variant_verifies() {
        for mover in movers() {
            assert_eq!(mover.verify(), Ok(()));
        }
    }

    #[test]
    fn what_is_expected_is_what_trips_give() {
        for kernel in TABLE {
            for index in [0, 1, 6, 250, 1_000_003] {
                let [mut a, b, c, d] =
                    [Array::A, Array::B, Array::C, Array::D].map(|one| [one.at(index)]);
                for trips in 1..=1000 {
                    let element = Arrays { a: &mut a, b: &b, c: &c, d: &d };
                    let number = (kernel.reference)(&element, 0, kernel.factor);
                    if kernel.writes > 0 {
                        a = [number];
                    }
                    let expected = kernel.expected(index, trips);
                    assert_eq!(number.to_bits(), expected.to_bits(), "{} {index}", kernel.id);
                }
            }
        }
    }

    #[test]
    fn trips_stay_exact_and_different_up_to_the_limit() {
        const LIMIT: u64 = 1 << 32;
        for kernel in TABLE.iter().filter(|kernel| kernel.in_place) {
            // The largest numbers of all arrays.
            for index in 0..251 * 241 {
                let last = kernel.expected(index, LIMIT);
                let before = kernel.expected(index, LIMIT - 1);
                let step = kernel.expected(index, 2) - kernel.expected(index, 1);
                assert!(step > 0.0, "{} at {index}", kernel.id);
                assert_eq!((last - before).to_bits(), step.to_bits(), "{} at {index}", kernel.id);
            }
        }
    }

    #[test]
    fn arrays_are_filled_by_index() {
        for array in [Array::A, Array::B, Array::C, Array::D] {
            for first in [0, 3, 250, 1_000_000] {
                let mut part = [0.0; 700];
                array.fill(&mut part, first);
                let mut sum = 0.0;
                for (index, number) in (first..).zip(part) {
                    assert_eq!(number.to_bits(), array.at(index).to_bits());
                    sum += number;
                }
                assert_eq!(sum.to_bits(), array.sum(first, 700).to_bits(), "{array:?}");
            }
            // What comes from the next line or page is another number.
            for distance in [1, 8, 512, 4096] {
                assert_ne!(array.at(0).to_bits(), array.at(distance).to_bits(), "{array:?}");
            }
        }
    }

    #[test]
    fn a_sample_has_both_ends_and_each_page() {
        for length in [0, 1, 2, 255, 256, 257, 4096] {
            let mut all: Vec<_> = sample(length).collect();
            all.dedup();
            assert_eq!(all, (0..length).collect::<Vec<_>>());
        }
        let length = 1_000_003;
        let some: Vec<_> = sample(length).collect();
        assert!(some.len() < length / 400);
        let in_page = |page: usize| some.iter().any(|element| element / 512 == page);
        assert!((0..length / 512).all(in_page));
        assert!(some.is_sorted() && (0..128).all(|one| some.contains(&(length - 1 - one))));
    }

    /// A mover, its arrays, and what a check says after something was done to `a` and the sum.
    fn checked(
        kernel: &str,
        length: usize,
        spoil: fn(&mut [f64], &mut f64),
    ) -> Option<WrongNumber> {
        let mover = movers().find(|one| one.kernel().id == kernel).expect("one can run");
        let mut numbers: [_; 4] = std::array::from_fn(|_| vec![0.0; length]);
        let [a, b, c, d] = numbers.each_mut().map(Vec::as_mut_slice);
        fill([a, b, c, d], 10);
        mover.prepare(a, 10);
        let mut arrays = Arrays { a, b, c, d };
        let mut sum = mover.run_trips(&mut arrays, 4);
        spoil(arrays.a, &mut sum);
        mover.check(&arrays, 10, 4, sum).err()
    }

    #[test]
    fn a_wrong_number_is_found() {
        for kernel in TABLE.iter().filter(|kernel| kernel.writes > 0) {
            assert_eq!(checked(kernel.id, 10_000, |_, _| ()), None);
            let wrong = checked(kernel.id, 10_000, |a, _| a[9999] = a[9999].next_up());
            let wrong = wrong.unwrap_or_else(|| panic!("{} passes", kernel.id));
            assert_eq!((wrong.kernel, wrong.index), (kernel.id, Some(10_009)));
            assert!(wrong.found > wrong.expected);
        }
        let wrong = checked("load", 1000, |_, sum| *sum += 1.0).expect("it is wrong");
        assert_eq!(wrong.index, None);
    }

    #[test]
    fn what_did_nothing_does_not_pass() {
        for mover in movers() {
            let mut numbers: [_; 4] = std::array::from_fn(|_| vec![0.0; 6000]);
            let [a, b, c, d] = numbers.each_mut().map(Vec::as_mut_slice);
            fill([a, b, c, d], 0);
            // Right numbers of an earlier run.
            let mut arrays = Arrays { a, b, c, d };
            mover.run(&mut arrays);
            mover.prepare(arrays.a, 0);
            for trips in [1, 2, 1000] {
                let wrong = mover.check(&arrays, 0, trips, 0.0).expect_err("nothing was done");
                assert_eq!(wrong.variant, mover.variant().id);
            }
        }
    }

    #[test]
    fn trips_that_are_missing_are_noticed_in_place() {
        for id in ["update", "daxpy", "sdaxpy"] {
            let mover = movers().find(|one| one.kernel().id == id).expect("one can run");
            let mut numbers: [_; 4] = std::array::from_fn(|_| vec![0.0; 1000]);
            let [a, b, c, d] = numbers.each_mut().map(Vec::as_mut_slice);
            fill([a, b, c, d], 0);
            let mut arrays = Arrays { a, b, c, d };
            mover.run_trips(&mut arrays, 6);
            assert_eq!(mover.check(&arrays, 0, 6, 0.0), Ok(0.0));
            assert!(mover.check(&arrays, 0, 7, 0.0).is_err());
            assert!(mover.check(&arrays, 0, 5, 0.0).is_err());
        }
    }

    #[test]
    fn a_wrong_number_says_what_and_where() {
        let wrong = WrongNumber {
            kernel: formulas::TRIAD.id,
            variant: "avx",
            index: Some(7),
            found: 10.0,
            expected: 8.0,
        };
        let text = "memory kernel `triad`, variant `avx`: a[7] is 10.0, expected 8.0: a relative \
                    error of 2.5e-1";
        assert_eq!(wrong.to_string(), text);
        let never = WrongNumber { index: None, found: f64::NAN, ..wrong };
        let text = "memory kernel `triad`, variant `avx`: the sum was not computed, expected 8.0";
        assert_eq!(never.to_string(), text);
    }
}
