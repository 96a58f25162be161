//! Memory of all jobs of a run, as much as there is room for.
//!
//! Each job may fit by itself, and all that is kept from one to the next need not: what nobody uses is given back before
//! the kernel has to kill somebody.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use model::CpuId;

use super::super::super::traffic::Store;
use super::super::RunError;
use super::traffic::Stores;

/// How much memory jobs may hold together.
pub(super) struct Purse {
    bytes: AtomicU64,
    /// What neighbours work in at the moment.
    in_use: AtomicU64,
}

impl Default for Purse {
    fn default() -> Purse {
        Purse { bytes: AtomicU64::new(u64::MAX), in_use: AtomicU64::new(0) }
    }
}

impl Purse {
    pub(super) fn allow(&self, bytes: u64) {
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    /// Takes memory for a job in `mine`, and gives back what is kept there and in `other` where there is too little.
    ///
    /// # Errors
    /// There is no room for it, even if nothing else was kept.
    pub(super) fn take(
        &self,
        wanted: &[(CpuId, Store)],
        mine: &Stores,
        other: &Stores,
    ) -> Result<u64, RunError> {
        let needed: u64 = wanted.iter().map(|wanted| mine.would_hold(wanted)).sum();
        let allowed = self.bytes.load(Ordering::Relaxed);
        let room = allowed.saturating_sub(self.in_use.load(Ordering::Relaxed));
        let spare = room.saturating_sub(needed);
        let beside = mine.keep(spare, wanted);
        other.keep(spare.saturating_sub(beside), &[]);
        if let Some(&(cpu, store)) = wanted.first().filter(|_| needed > room) {
            let source = io::Error::other(format!(
                "its threads need {} MiB in all, and {} MiB are available",
                needed >> 20,
                room >> 20
            ));
            return Err(RunError::Memory { cpu, store, source });
        }
        Ok(needed)
    }

    /// Gives back what is kept where other things of the process need so many bytes.
    pub(super) fn clear(&self, bytes: u64, mine: &Stores, other: &Stores) {
        let most = self.bytes.load(Ordering::Relaxed).saturating_sub(bytes);
        other.keep(most.saturating_sub(mine.keep(most, &[])), &[]);
    }

    /// Notes what neighbours work in from now on.
    pub(super) fn used_by_neighbours(&self, bytes: u64) {
        self.in_use.store(bytes, Ordering::Relaxed);
    }
}

/// What it takes of the memory that others use, too: whole huge pages, as the kernel makes them.
pub(super) fn bytes(store: &Store) -> u64 {
    const HUGE: u64 = 2 << 20;
    match store.pages.reserved_bytes() {
        Some(_) => 0,
        None => store.bytes.next_multiple_of(HUGE),
    }
}

#[cfg(test)]
mod tests {
    use model::Pages;

    use super::*;

    const MIB: u64 = 1 << 20;

    fn ring(cpu: u32, mebibytes: u64) -> (CpuId, Store) {
        (CpuId(cpu), Store::of_ring(mebibytes * MIB, Pages::Base))
    }

    /// Takes memory as a job does, and leaves it to later ones.
    fn work(purse: &Purse, stores: &Stores, (cpu, store): (CpuId, Store)) -> Result<u64, RunError> {
        let needed = purse.take(&[(cpu, store)], stores, &Stores::default())?;
        stores.touch(cpu, store)?;
        Ok(needed)
    }

    #[test]
    fn what_nobody_uses_is_given_back_before_there_is_too_little() {
        let (purse, stores) = (Purse::default(), Stores::default());
        purse.allow(16 * MIB);
        work(&purse, &stores, ring(0, 4)).unwrap();
        work(&purse, &stores, ring(1, 8)).unwrap();
        assert_eq!(stores.held(), 12 * MIB, "both fit");
        work(&purse, &stores, ring(2, 6)).unwrap();
        assert_eq!(stores.held(), 10 * MIB, "the largest went");
        // What is wanted again stays where it is.
        work(&purse, &stores, ring(0, 4)).unwrap();
        assert_eq!(stores.held(), 10 * MIB);
    }

    #[test]
    fn a_job_that_cannot_fit_says_how_much_there_is() {
        let (purse, stores) = (Purse::default(), Stores::default());
        purse.allow(16 * MIB);
        work(&purse, &stores, ring(0, 4)).unwrap();
        let error = work(&purse, &stores, ring(1, 18)).unwrap_err().to_string();
        assert!(error.contains("need 18 MiB in all, and 16 MiB are available"), "{error}");
        // What neighbours work in is theirs.
        purse.used_by_neighbours(10 * MIB);
        let error = work(&purse, &stores, ring(1, 8)).unwrap_err().to_string();
        assert!(error.contains("need 8 MiB in all, and 6 MiB are available"), "{error}");
        assert_eq!(stores.held(), 0, "it was tried");
        purse.used_by_neighbours(0);
        work(&purse, &stores, ring(1, 8)).unwrap();
    }

    #[test]
    fn what_else_the_process_needs_comes_before_what_is_kept() {
        let (purse, stores, beside) = (Purse::default(), Stores::default(), Stores::default());
        purse.allow(16 * MIB);
        work(&purse, &stores, ring(0, 4)).unwrap();
        purse.clear(10 * MIB, &stores, &beside);
        assert_eq!(stores.held(), 4 * MIB);
        purse.clear(14 * MIB, &stores, &beside);
        assert_eq!(stores.held(), 0);
    }
}
