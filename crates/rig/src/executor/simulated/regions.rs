//! Parallel regions on a described machine: what they take by whether threads spin or sleep.

use model::{Obstacle, Seconds, Unavailable};
use simulated::Openmp;

use super::super::super::regions::{
    Effort, Looped, RawRegions, Regions, RuntimeKind, Spent, Stretch, Team, Waiting,
};
use super::{CpuTimeline, START, Simulated};

/// Timed stretches of each kind.
const STRETCHES: u64 = 10;
/// The delay between two constructs.
const DELAY: Seconds = Seconds(50e-9);

/// Answers a job from the model of OpenMP.
pub(super) fn simulate(rig: &mut Simulated, job: &Regions) -> Result<RawRegions, Unavailable> {
    let model = rig.model.clone();
    let Some(openmp) = &model.openmp else {
        let why = "the description of this machine has no OpenMP runtime";
        return Err(Unavailable::new(Obstacle::Hardware, "parallel regions", why));
    };
    let now = model.elapsed.seconds() + START + job.effort.warm_up;
    let line = CpuTimeline { model: &model, now, random: rig.random.fork() };
    let mut scene = Scene { openmp, job, line };
    let raw = scene.run();
    rig.worked(scene.line.now, &job.cpus);
    Ok(raw)
}

struct Scene<'a> {
    openmp: &'a Openmp,
    job: &'a Regions,
    line: CpuTimeline<'a>,
}

impl Scene<'_> {
    fn run(&mut self) -> RawRegions {
        let threads = self.job.cpus.len() as u32;
        let mut raw = RawRegions { threads, ..RawRegions::default() };
        let Effort { looped, construct, rest, small, .. } = self.job.effort;
        if let Some(looped) = looped {
            self.looped(looped, &mut raw);
        }
        raw.rest = rest.map(|rest| self.asleep(rest, 1));
        if let Some(time) = construct {
            let alone = |cost: f64| Seconds(DELAY.0 + cost);
            raw.reference = self.series(time, DELAY);
            raw.region = self.series(time, alone(self.region()));
            raw.reduction = self.series(time, alone(self.region() + self.reduction()));
            raw.barrier = self.within(time);
            raw.static_for = self.within(time);
        }
        raw.small = small.map(|small| self.asleep(small.sleep, small.regions));
        raw
    }

    fn looped(&mut self, looped: Looped, raw: &mut RawRegions) {
        // Parts are alike: the slowest thread decides.
        let factors = self.job.cpus.iter().map(|cpu| self.line.model.loop_factor(*cpu));
        let slowest = factors.fold(0.0, f64::max);
        let work = looped.elements as f64 * self.openmp.element_seconds * slowest / self.threads();
        let each = work + self.region();
        let count = ((looped.time.0 / each) as u64).clamp(1, looped.regions_max.max(1));
        let in_stretch = (count / STRETCHES).max(1);
        raw.looped = (0..STRETCHES.min(count)).map(|_| self.stretch(in_stretch, each)).collect();
        let nanoseconds: u64 = raw.looped.iter().map(|stretch| stretch.nanoseconds).sum();
        // Who sleeps is busy with the work alone, and the first thread with waking the others.
        let busy =
            if self.spins() { self.threads() } else { 1.0 + (self.threads() - 1.0) * work / each };
        let cpu_nanoseconds = (nanoseconds as f64 * busy) as u64;
        raw.during_loop = Some(Spent { nanoseconds, cpu_nanoseconds });
    }

    /// Regions that the first thread sleeps after.
    fn asleep(&mut self, sleep: Seconds, regions: u32) -> Spent {
        let each = sleep.0 + self.region();
        let taken = self.stretch(u64::from(regions), each);
        let spun = self.spin_seconds().min(sleep.0) * (self.threads() - 1.0) * f64::from(regions);
        Spent { nanoseconds: taken.nanoseconds, cpu_nanoseconds: (spun * 1e9) as u64 }
    }

    fn series(&mut self, time: Seconds, each: Seconds) -> Vec<Stretch> {
        let count = ((time.0 / each.0) as u64 / STRETCHES).max(1);
        (0..STRETCHES).map(|_| self.stretch(count, each.0)).collect()
    }

    /// One region with n barriers, and one with 2n.
    fn within(&mut self, time: Seconds) -> Vec<[Stretch; 2]> {
        let each = DELAY.0 + self.barrier();
        let count = ((time.0 / each) as u64 / (3 * STRETCHES / 2)).max(1);
        let region = self.region();
        let mut of = |count: u64| {
            let once = self.stretch(1, region + count as f64 * each);
            Stretch { count, ..once }
        };
        (0..STRETCHES / 2).map(|_| [of(count), of(2 * count)]).collect()
    }

    fn stretch(&mut self, count: u64, each: f64) -> Stretch {
        let interval = self.line.pass(Seconds(count as f64 * each));
        let seconds = interval.length().count() as f64 / self.line.model.clock.tsc_hz;
        Stretch { count, nanoseconds: (seconds * 1e9).round() as u64 }
    }

    fn threads(&self) -> f64 {
        self.job.cpus.len() as f64
    }

    /// How long a thread without work spins.
    fn spin_seconds(&self) -> f64 {
        let milliseconds = |ms: u32| f64::from(ms) * 1e-3;
        let looks = |count: u64| count as f64 * self.openmp.look_seconds;
        match (&self.job.team, self.job.waiting) {
            (Team::Spinning, _) | (_, Waiting::Active | Waiting::BlockTime(None)) => f64::INFINITY,
            (Team::Sleeping, _) | (_, Waiting::Passive) => 0.0,
            (_, Waiting::BlockTime(Some(ms))) => milliseconds(ms),
            (_, Waiting::SpinCount(count)) => looks(count),
            (_, Waiting::Default) if self.job.kind == RuntimeKind::Kmpc => {
                milliseconds(self.openmp.kmp_block_time_ms)
            }
            (_, Waiting::Default) => looks(self.openmp.gomp_spin_count),
        }
    }

    /// Whether there is work again before threads sleep.
    fn spins(&self) -> bool {
        self.spin_seconds() > self.openmp.region_spinning_seconds
    }

    fn region(&self) -> f64 {
        match (self.job.cpus.len(), self.spins()) {
            (1, _) => 0.0,
            (_, true) => self.openmp.region_spinning_seconds,
            (_, false) => self.openmp.region_sleeping_seconds,
        }
    }

    fn barrier(&self) -> f64 {
        match (self.job.cpus.len(), self.spins()) {
            (1, _) => 0.0,
            (_, true) => self.openmp.barrier_spinning_seconds,
            (_, false) => self.openmp.barrier_sleeping_seconds,
        }
    }

    fn reduction(&self) -> f64 {
        if self.job.cpus.len() > 1 { self.openmp.reduction_seconds } else { 0.0 }
    }
}
