//! Energy counters: whether each follows the load of its own package, in watts that can be.

use model::areas::energy::{AREA, BUSY, LOADED, NOBODY, PACKAGE, POWER, WORKLOAD};
use model::page::{Block, Table, Text, tally};
use model::record::{Outcome, PowerLimit, PowerTerm, Record, Series};
use model::stats::{mean, median};
use model::{CpuSet, Obstacle, in_order};

use super::Section;
use crate::claim::{Claim, Verdict};

/// What it says.
pub const SECTION: Section = Section { claims, ..Section::of(AREA, blocks) };

/// The counter of one package, by who worked.
struct Counter<'a> {
    record: &'a Record,
    package: u32,
}

/// All counters that were read.
fn counters(record: &Record) -> Vec<Counter<'_>> {
    let packages = record.series_of(AREA, POWER);
    let packages = packages.filter(|it| it.workload == WORKLOAD && it.samples().is_some());
    let packages = in_order(packages.filter_map(|it| number(it, PACKAGE)));
    packages.into_iter().map(|package| Counter { record, package }).collect()
}

fn number(series: &Series, key: &str) -> Option<u32> {
    series.parameters.get(key)?.parse().ok()
}

impl Counter<'_> {
    fn samples(&self, quantity: &'static str, loaded: &str) -> Option<Vec<f64>> {
        let is_it = |it: &&Series| {
            number(it, PACKAGE) == Some(self.package)
                && it.parameters.get(LOADED).is_some_and(|it| it == loaded)
        };
        Some(self.record.series_of(AREA, quantity).find(is_it)?.samples()?.all())
    }

    /// Watts while that package works.
    fn under(&self, package: u32) -> Option<f64> {
        median(&self.samples(POWER, &package.to_string())?)
    }

    fn idle(&self) -> Option<f64> {
        median(&self.samples(POWER, NOBODY)?)
    }

    /// How far beyond that of idling a counter has to rise before it is said to follow a load.
    fn least_rise(&self) -> Option<f64> {
        /// What counters of small packages tell apart in a window, in watts.
        const WATTS: f64 = 0.5;
        /// Idle packages move by as much.
        const SHARE: f64 = 0.1;
        Some((self.idle()? * SHARE).max(WATTS))
    }

    /// By how much it rises while that package works.
    fn rise(&self, package: u32) -> Option<f64> {
        Some(self.under(package)? - self.idle()?)
    }

    /// The highest of the limits of power of the package for these times that are in force.
    fn limit(&self, terms: &[PowerTerm]) -> Option<(f64, PowerTerm)> {
        let limits = self.record.clock.iter().flat_map(|clock| &clock.power);
        let is_of = |it: &&PowerLimit| it.package == self.package && terms.contains(&it.term);
        let mine = limits.filter(|it| it.enabled).filter(is_of);
        let watts = mine.filter_map(|it| Some((it.watts?, it.term)));
        watts.max_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// The cores of the package that worked, and how many it has.
    fn cores(&self) -> [usize; 2] {
        let topology = &self.record.machine.topology;
        let mine = topology.cpus.iter().filter(|place| place.package == self.package);
        let planned = &self.record.run.plan.cpus;
        let all = in_order(mine.clone().map(|place| place.core));
        let at_work = mine.filter(|place| planned.contains(place.cpu)).map(|place| place.core);
        [in_order(at_work).len(), all.len()]
    }

    /// The other packages that worked.
    fn others(&self) -> Vec<u32> {
        let loaded = self.record.series_of(AREA, POWER).filter_map(|it| number(it, LOADED));
        in_order(loaded.filter(|it| *it != self.package))
    }

    fn verdict(&self) -> Option<Verdict> {
        let (idle, own, least) = (self.idle()?, self.under(self.package)?, self.least_rise()?);
        let others = self.others().into_iter().filter_map(|it| Some((it, self.rise(it)?)));
        let most = others.max_by(|a, b| a.1.total_cmp(&b.1));
        let rises = |watts: f64| format!("by {watts:.0} W");
        let differs = |how: String| Some(Verdict::Differs(how));
        if idle <= 0.0 && own <= 0.0 {
            return differs("it stands still".to_owned());
        }
        let rise = own - idle;
        if let Some((other, of_other)) = most.filter(|it| it.1 >= least) {
            let how = rises(of_other);
            if rise < least {
                return differs(format!("the load of package {other} raises it, {how}"));
            }
            if of_other > rise / 2.0 {
                return differs(format!("the load of package {other} raises it, too, {how}"));
            }
        }
        if rise < least {
            return Some(self.flat());
        }
        Some(self.implausible(own).map_or(Verdict::AsClaimed, Verdict::Differs))
    }

    /// What to say of a counter that the load of its package does not raise.
    fn flat(&self) -> Verdict {
        /// Where others use a package, a load is not the difference between idle and busy.
        const BUSY_MAX: f64 = 0.2;
        let busy = self.samples(BUSY, NOBODY).and_then(|shares| mean(&shares));
        let [at_work, all] = self.cores();
        if let Some(busy) = busy.filter(|busy| *busy > BUSY_MAX) {
            let busy = busy * 100.0;
            return Verdict::CannotTell(format!("other programs kept it {busy:.0} % busy before"));
        }
        if at_work * 2 < all {
            return Verdict::CannotTell(format!("{at_work} of its {all} cores worked"));
        }
        Verdict::Differs("no load raises it".to_owned())
    }

    /// What is wrong with so many watts under the heaviest load.
    fn implausible(&self, watts: f64) -> Option<String> {
        /// No package draws more, and more is no limit.
        const WATTS_MAX: f64 = 1000.0;
        /// Short peaks go beyond the limits of power; twice as much is none.
        const TIMES_MAX: f64 = 2.0;
        /// All cores under the heaviest stream draw more than this share of the limit that lasts.
        const SHARE_MIN: f64 = 0.15;
        let limit = |terms| self.limit(terms).filter(|(limit, _)| *limit < WATTS_MAX);
        let Some((most, term)) = limit(&[PowerTerm::Long, PowerTerm::Short, PowerTerm::Package])
        else {
            let text = || format!("{watts:.0} W, more than any package draws");
            return (watts > WATTS_MAX).then(text);
        };
        if watts > most * TIMES_MAX {
            let (times, term) = (watts / most, term.word());
            return Some(format!("{times:.0} times its limit ({term} {most:.0} W)"));
        }
        let [at_work, all] = self.cores();
        let (lasting, term) = limit(&[PowerTerm::Long, PowerTerm::Package])?;
        (at_work == all && watts < lasting * SHARE_MIN).then(|| {
            let (percent, term) = (watts / lasting * 100.0, term.word());
            format!("{percent:.0} % of its limit ({term} {lasting:.0} W) with all cores at work")
        })
    }

    fn claim(&self) -> Option<Claim> {
        let Counter { package, .. } = self;
        let [at_work, all] = self.cores();
        let rises: Vec<String> = self
            .others()
            .into_iter()
            .filter_map(|it| Some(format!("{:+.1} W under package {it}'s", self.rise(it)?)))
            .collect();
        let own = format!("{:+.1} W under its load", self.rise(*package)?);
        let moved: Vec<String> = std::iter::once(own).chain(rises.into_iter().take(1)).collect();
        Some(Claim {
            what: format!("energy counter, package {package}"),
            claimed: format!("{:.1} W idle, {:.1} W loaded", self.idle()?, self.under(*package)?),
            by: format!("energy counter, package {package}, {at_work} of {all} cores at work"),
            measured: moved.join(", "),
            verdict: self.verdict()?,
            finding: None,
            short: None,
            cause: None,
            command: "cpudyno top",
        })
    }
}

/// Whether the counter of each package was seen to follow its own load.
pub(super) fn follow(record: &Record) -> bool {
    let counters = counters(record);
    let follows = |counter: &Counter<'_>| matches!(counter.verdict(), Some(Verdict::AsClaimed));
    !counters.is_empty() && counters.iter().all(follows)
}

fn claims(record: &Record) -> Vec<Claim> {
    let counters = counters(record);
    let claims: Vec<Claim> = counters.iter().filter_map(Counter::claim).collect();
    if claims.is_empty() { refused(record).into_iter().collect() } else { claims }
}

/// Counters that are there, and that this process may not read.
fn refused(record: &Record) -> Option<Claim> {
    let mut reasons = record.series_of(AREA, POWER).filter_map(|it| match &it.outcome {
        Outcome::Unavailable { unavailable } => Some(unavailable),
        Outcome::Measured { .. } => None,
    });
    let reason = reasons.find(|it| it.obstacle == Obstacle::Permission)?;
    Some(Claim {
        what: "energy counters".to_owned(),
        claimed: "-".to_owned(),
        by: String::new(),
        measured: "-".to_owned(),
        verdict: Verdict::CannotTell(reason.why.clone()),
        finding: None,
        short: None,
        cause: None,
        command: "cpudyno doctor",
    })
}

/// Watts of each counter, by the package at work.
fn blocks(record: &Record) -> Vec<Block> {
    let counters = counters(record);
    let loaded = in_order(record.series_of(AREA, POWER).filter_map(|it| number(it, LOADED)));
    let watts = |watts: Option<f64>| {
        Text::from(watts.map_or_else(|| "-".to_owned(), |watts| format!("{watts:.1}")))
    };
    let row = |counter: &Counter<'_>| {
        let under = loaded.iter().map(|package| watts(counter.under(*package)));
        let first = [Text::from(format!("package {}", counter.package)), watts(counter.idle())];
        first.into_iter().chain(under).collect::<Vec<Text>>()
    };
    let rows: Vec<Vec<Text>> = counters.iter().map(row).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let mut table =
        Table::of("Energy counters by package at work, W").left("counter").right("idle");
    for package in &loaded {
        table = table.right(format!("package {package}"));
    }
    let cpus: &CpuSet = &record.run.plan.cpus;
    let note =
        format!("{} under the heaviest stream, package by package", tally(cpus.len(), "CPU"));
    vec![Block::Heading("Energy counters".to_owned()), table.rows(rows).notes(vec![note]).into()]
}
