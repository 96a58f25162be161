//! What a package of a simulated machine may draw, and what becomes of its clock when it draws more.
//!
//! Power goes with the clock. PL2 holds at any time; PL1 holds on an average that follows power with the time
//! constant of the limit. So a package that is loaded begins at PL2, and falls to PL1 when its average has
//! come there: both steps have a place in time that is known.

use model::{CpuId, Seconds};

use crate::description::Model;
use crate::description::Power;

/// What a package may draw while a job runs.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    /// Its average when the job begins, in watts, and when that is.
    average: f64,
    begun: Seconds,
    tau: f64,
    /// PL1 and PL2 in watts; infinite where there is none.
    long: f64,
    short: f64,
    /// What it draws at the clocks that its cores would have.
    wanted: f64,
    /// The clocks in hertz that PL1 and PL2 leave those that want more.
    ceilings: [f64; 2],
}

/// What one core draws for each hertz of its clock, and the clock that it would have.
type Draw = (f64, f64);

/// The clock at which these cores draw so many watts together, where those that want less have less.
fn ceiling(watts: f64, cores: &[Draw]) -> f64 {
    let mut cores = cores.to_vec();
    cores.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut left = watts.max(0.0);
    let mut per_hertz: f64 = cores.iter().map(|(weight, _)| weight).sum();
    for (weight, wanted) in cores {
        let even = left / per_hertz;
        if even <= wanted {
            return even;
        }
        left -= weight * wanted;
        per_hertz -= weight;
    }
    f64::INFINITY
}

impl Budget {
    /// Watts while no average is in the way.
    fn at_first(&self) -> f64 {
        self.wanted.min(self.short)
    }

    /// When the average comes to PL1, if it does.
    fn falls(&self) -> Option<Seconds> {
        let first = self.at_first();
        if first <= self.long {
            return None;
        }
        let left =
            (first - self.long) / (first - self.average.min(self.long)).max(f64::MIN_POSITIVE);
        Some(self.begun + Seconds(-self.tau * left.ln()))
    }

    /// The clock that power allows at this moment, in hertz.
    pub fn ceiling(&self, now: Seconds) -> f64 {
        let [long, short] = self.ceilings;
        match self.falls() {
            Some(at) if now >= at => long,
            _ => short,
        }
    }

    /// Joules until then, the average at that time, and which limits were met.
    fn until(&self, end: Seconds) -> (f64, f64, [bool; 2]) {
        let first = self.at_first();
        let short = first >= self.short;
        let (elapsed, end_average);
        match self.falls() {
            Some(at) if end >= at => {
                let before = (at - self.begun).0.max(0.0);
                let after = (end - self.begun).0 - before;
                return (first * before + self.long * after, self.long, [true, short]);
            }
            _ => {
                elapsed = (end - self.begun).0;
                end_average = first + (self.average - first) * (-elapsed / self.tau).exp();
            }
        }
        (first * elapsed, end_average, [false, short])
    }
}

impl Model {
    /// The budget of a package from now on, each of its active cores, by one of its CPUs, having a licence; none where
    /// nothing says what it draws.
    pub fn budget(&self, package: u32, at_work: &[(CpuId, usize)]) -> Option<Budget> {
        let power = self.power?;
        let now = self.elapsed.seconds();
        let active = at_work.len() as u32;
        let share = |(_, licence): &(CpuId, usize)| 1.0 + power.heavier * *licence as f64;
        // What settings and priorities leave a core is all that it can draw for.
        let wanted = |&(cpu, licence): &(CpuId, usize)| {
            let granted = self.granted_hz(cpu, licence, active);
            granted.min(self.ceiling_hz(cpu)).min(self.clip_hz(cpu, licence))
        };
        let per_core = power.core_watts_per_ghz * 1e-9;
        let cores: Vec<Draw> =
            at_work.iter().map(|it| (per_core * share(it), wanted(it))).collect();
        let drawn: f64 = cores.iter().map(|(weight, wanted)| weight * wanted).sum();
        let [long, short] = [power.long_term_watts, power.short_term_watts]
            .map(|watts| watts.unwrap_or(f64::INFINITY));
        Some(Budget {
            average: self.cooled(power, package, now),
            begun: now,
            tau: power.long_term_seconds.max(1e-3),
            long,
            short,
            wanted: power.idle_watts + drawn,
            ceilings: [long, short].map(|watts| ceiling(watts - power.idle_watts, &cores)),
        })
    }

    /// The average of a package that has idled since it was worked on last.
    fn cooled(&self, power: Power, package: u32, now: Seconds) -> f64 {
        let warm = self.drawn(package);
        let Some(since) = warm.since else { return power.idle_watts };
        let left = (-(now - since).0 / power.long_term_seconds.max(1e-3)).exp();
        power.idle_watts + (warm.average - power.idle_watts) * left
    }

    /// Notes what a package drew by its budget until now.
    pub fn spend(&self, package: u32, budget: &Budget) {
        let now = self.elapsed.seconds();
        let (joules, average, [long, short]) = budget.until(now);
        self.worked.note(package, |drawn| {
            let idle = self.power.map_or(0.0, |power| drawn.idled(power.idle_watts, budget.begun));
            drawn.package_joules += joules + idle;
            drawn.average = average;
            drawn.watts = average;
            drawn.since = Some(now);
            drawn.met_long |= long;
            drawn.met_short |= short;
        });
    }

    /// Whether PL1 and PL2 of a package were met so far.
    pub(crate) fn met_limits(&self, package: u32) -> [bool; 2] {
        let drawn = self.drawn(package);
        [drawn.met_long, drawn.met_short]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(long: f64, short: f64) -> Budget {
        Budget {
            average: 10.0,
            begun: Seconds(1.0),
            tau: 8.0,
            long,
            short,
            wanted: 60.0,
            ceilings: [long, short].map(|watts| ceiling(watts - 10.0, &[(5e-9, 5e9); 2])),
        }
    }

    #[test]
    fn a_package_falls_from_pl2_to_pl1_when_its_average_is_there() {
        let budget = budget(30.0, 50.0);
        let falls = budget.falls().unwrap().0;
        // 50 - 40 e^(-t/8) = 30.
        assert!((falls - 1.0 - 8.0 * 2f64.ln()).abs() < 1e-9, "{falls}");
        assert!((budget.ceiling(Seconds(falls - 0.01)) - 4e9).abs() < 1.0);
        assert!((budget.ceiling(Seconds(falls + 0.01)) - 2e9).abs() < 1.0);
        let (joules, average, met) = budget.until(Seconds(falls + 1.0));
        assert!((joules - (50.0 * 8.0 * 2f64.ln() + 30.0)).abs() < 1e-6, "{joules}");
        assert_eq!((average.to_bits(), met), (30f64.to_bits(), [true, true]));
    }

    #[test]
    fn what_capped_cores_do_not_draw_the_others_may() {
        // 3 W for each GHz: two cores want 4 GHz, two may have 1 GHz.
        let cores = [(3e-9, 4e9), (3e-9, 1e9), (3e-9, 4e9), (3e-9, 1e9)];
        for (watts, hertz) in [(24.0, 3e9), (18.0, 2e9), (9.0, 0.75e9), (0.0, 0.0), (-1.0, 0.0)] {
            assert!((ceiling(watts, &cores) - hertz).abs() < 1.0, "{watts} W");
        }
        assert!(ceiling(30.1, &cores).is_infinite());
    }

    #[test]
    fn a_package_that_draws_less_than_its_limits_meets_none() {
        let budget = budget(100.0, 200.0);
        assert_eq!(budget.falls(), None);
        assert_eq!(budget.until(Seconds(20.0)).2, [false, false]);
        assert!(budget.ceiling(Seconds(20.0)) > 5e9);
    }
}
