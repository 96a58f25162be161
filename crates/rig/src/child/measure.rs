//! What a team is timed with.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::{Duration, Instant};

use kernels::region_body::{relax, relaxed};
use model::Seconds;
use sys::openmp::Sum;

use super::team::{Member, Team};
use crate::regions::{Effort, Looped, RawRegions, Small, Spent, Stretch};

/// Timed stretches of each construct.
const STRETCHES: u64 = 10;
/// Of the loop. They are short: one in which somebody else had the CPU is told from the others.
const LOOP_STRETCHES: u64 = 50;
/// The delay between two constructs: so many numbers of the loop's body, some 50 ns.
const DELAY: usize = 32;

impl Team {
    pub(super) fn measure(&self, threads: usize, effort: &Effort) -> Result<RawRegions, String> {
        let mut raw = RawRegions { threads: self.threads()?, ..RawRegions::default() };
        if raw.threads as usize != threads {
            return Err(format!("its regions have {} threads, not {threads}", raw.threads));
        }
        self.warm_up(effort.warm_up)?;
        if let Some(looped) = effort.looped {
            self.looped(looped, &mut raw)?;
        }
        if let Some(rest) = effort.rest {
            raw.rest = Some(self.lead(&|_| {}, |region| {
                region();
                spent(|| std::thread::sleep(duration(rest)))
            })??);
        }
        if let Some(time) = effort.construct {
            self.constructs(threads, time, &mut raw)?;
        }
        if let Some(small) = effort.small {
            raw.small = Some(self.small(small)?);
        }
        Ok(raw)
    }

    /// How many threads a region really has.
    fn threads(&self) -> Result<u32, String> {
        let seen = AtomicU32::new(0);
        let count = |_: &dyn Member| {
            seen.fetch_add(1, Relaxed);
        };
        self.lead(&count, |region| region())?;
        Ok(seen.load(Relaxed))
    }

    /// Threads that were just made, and clocks that were low, are not what is asked about.
    fn warm_up(&self, time: Seconds) -> Result<(), String> {
        self.lead(&|_| {}, |region| {
            let begun = Instant::now();
            while begun.elapsed() < duration(time) {
                region();
            }
        })
    }

    fn looped(&self, looped: Looped, raw: &mut RawRegions) -> Result<(), String> {
        let array: Vec<AtomicU64> = (0..looped.elements).map(|_| AtomicU64::default()).collect();
        let body = |member: &dyn Member| {
            member.share(looped.elements, &mut |part| {
                relax(&array, part.start as usize..part.end as usize);
            });
        };
        let (stretches, spent, right) = self.lead(&body, |region| {
            let before = proof(&array, region);
            let count = pace(looped.time, region).min(looped.regions_max);
            let mut stretches = Vec::with_capacity(LOOP_STRETCHES as usize);
            let spent = spent(|| {
                let each = (count / LOOP_STRETCHES).max(1);
                for _ in 0..LOOP_STRETCHES.min(count) {
                    stretches.push(timed(each, || (0..each).for_each(|_| region())));
                }
            });
            (stretches, spent, before && proof(&array, region))
        })?;
        if !right {
            return Err("its loop computes a wrong result".to_owned());
        }
        raw.looped = stretches;
        raw.during_loop = Some(spent?);
        Ok(())
    }

    /// What constructs cost beside a delay: EPCC's method (Bull, 1999).
    fn constructs(
        &self,
        threads: usize,
        time: Seconds,
        raw: &mut RawRegions,
    ) -> Result<(), String> {
        // Lines of their own for each thread.
        let arrays: Vec<Vec<AtomicU64>> =
            (0..threads).map(|_| (0..DELAY * 2).map(|_| AtomicU64::default()).collect()).collect();
        let delay = |member: &dyn Member| {
            if let Some(array) = arrays.get(member.number() as usize) {
                relax(array, 0..DELAY);
            }
        };
        raw.reference = series(time, &|| relax(&arrays[0], 0..DELAY));
        raw.region = self.lead(&delay, |region| series(time, region))?;
        let sum = Sum::default();
        let added = |member: &dyn Member| {
            delay(member);
            member.add(&sum, 1.0);
        };
        let before = self.lead(&added, |region| {
            region();
            sum.get()
        })?;
        if before.to_bits() != (threads as f64).to_bits() {
            return Err(format!("its reduction of {threads} ones is {before}"));
        }
        raw.reduction = self.lead(&added, |region| series(time, region))?;
        raw.barrier = self.within(time, &|member| {
            delay(member);
            member.barrier();
        })?;
        raw.static_for = self.within(time, &|member| {
            member.share(threads as u64, &mut |part| part.for_each(|_| delay(member)));
            member.barrier_of_loop();
        })?;
        Ok(())
    }

    /// Regions that do the same n times, and 2n times.
    fn within(
        &self,
        time: Seconds,
        once: &(dyn Fn(&dyn Member) + Sync),
    ) -> Result<Vec<[Stretch; 2]>, String> {
        let times = AtomicU64::new(1);
        let body = |member: &dyn Member| (0..times.load(Relaxed)).for_each(|_| once(member));
        self.lead(&body, |region| {
            let repeated = |count: u64| {
                times.store(count, Relaxed);
                timed(count, region)
            };
            let mut count = 1;
            // Three parts in each of the stretches: n, and 2n.
            let target = duration(time).as_nanos() as u64 / (3 * STRETCHES / 2);
            while repeated(count).nanoseconds < target && count < COUNT_MAX {
                count *= 2;
            }
            (0..STRETCHES / 2).map(|_| [repeated(count), repeated(2 * count)]).collect()
        })
    }

    fn small(&self, small: Small) -> Result<Spent, String> {
        self.lead(&|_| {}, |region| {
            spent(|| {
                for _ in 0..small.regions {
                    region();
                    std::thread::sleep(duration(small.sleep));
                }
            })
        })?
    }
}

/// Nothing is repeated more often, however short it is.
const COUNT_MAX: u64 = 1 << 32;

fn duration(time: Seconds) -> Duration {
    Duration::from_secs_f64(time.0.max(0.0))
}

/// How often something can be done in that time.
fn pace(time: Seconds, once: &dyn Fn()) -> u64 {
    let mut count = 1;
    loop {
        let stretch = timed(count, || (0..count).for_each(|_| once()));
        // A tenth of the time, or a count that nothing needs.
        if stretch.nanoseconds as f64 > time.0 * 1e8 || count >= COUNT_MAX {
            let each = stretch.nanoseconds.max(1) as f64 / count as f64;
            return ((time.0 * 1e9 / each) as u64).max(1);
        }
        count *= 2;
    }
}

fn series(time: Seconds, once: &dyn Fn()) -> Vec<Stretch> {
    let each = (pace(time, once) / STRETCHES).max(1);
    (0..STRETCHES).map(|_| timed(each, || (0..each).for_each(|_| once()))).collect()
}

fn timed(count: u64, work: impl FnOnce()) -> Stretch {
    let begun = Instant::now();
    work();
    Stretch { count, nanoseconds: begun.elapsed().as_nanos() as u64 }
}

/// Time and CPU time of some work.
fn spent(work: impl FnOnce()) -> Result<Spent, String> {
    let cpu = || {
        let time = sys::process::cpu_time();
        time.map_err(|error| format!("cannot read the CPU time of this process: {error}"))
    };
    let (before, begun) = (cpu()?, Instant::now());
    work();
    let (elapsed, after) = (begun.elapsed(), cpu()?);
    let cpu_nanoseconds = after.saturating_sub(before).as_nanos() as u64;
    Ok(Spent { nanoseconds: elapsed.as_nanos() as u64, cpu_nanoseconds })
}

/// Whether three regions make of every number what the loop's body should make of it.
fn proof(array: &[AtomicU64], region: &dyn Fn()) -> bool {
    const REGIONS: usize = 3;
    for (place, number) in array.iter().enumerate() {
        number.store((place as f64).to_bits(), Relaxed);
    }
    (0..REGIONS).for_each(|_| region());
    let expected = |place: usize| (0..REGIONS).fold(place as f64, |x, _| relaxed(x));
    let right =
        |(place, number): (usize, &AtomicU64)| number.load(Relaxed) == expected(place).to_bits();
    array.iter().enumerate().all(right)
}
