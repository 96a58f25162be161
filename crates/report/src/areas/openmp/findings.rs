//! Remarks on how threads wait.

use model::page::si;
use model::record::Record;
use model::{Finding, Unit};

use super::read::{Cell, libraries, teams};

/// Who waits in two ways that differ by less need not care.
const RATIO_MIN: f64 = 2.0;
/// Cores that are kept busy by threads without work, from which on it is worth a word.
const BURNT_MIN: f64 = 0.5;
/// Settings whose regions take at most so much more than the fastest are as good as it.
const AS_GOOD: f64 = 1.15;

pub(super) fn of(record: &Record) -> Vec<Finding> {
    let teams = teams(record);
    let libraries = libraries(&teams);
    let rows = [sleeping, default_slow, default_burns];
    libraries.iter().flat_map(|teams| rows.into_iter().filter_map(|row| row(teams))).collect()
}

/// A setting and the time of a region with it.
type Timed<'a, 'b> = (&'b Cell<'a>, f64);

fn timed<'a, 'b>(teams: &[&'b Cell<'a>]) -> Vec<Timed<'a, 'b>> {
    let of = |team: &&'b Cell<'a>| Some((*team, team.median("loop_time").filter(|t| *t > 0.0)?));
    let mut timed: Vec<Timed<'_, '_>> = teams.iter().filter_map(of).collect();
    timed.sort_by(|a, b| a.1.total_cmp(&b.1));
    timed
}

fn time(seconds: f64) -> String {
    si::format(seconds, Unit::Second)
}

/// Settings that people compare: threads that wait for a while, and threads that sleep at once.
const OPPOSITES: [[&str; 2]; 2] =
    [["KMP_BLOCKTIME=1", "KMP_BLOCKTIME=0"], ["OMP_WAIT_POLICY=active", "OMP_WAIT_POLICY=passive"]];

/// What a setting does that makes threads sleep: of the usual two, or of the fastest and the slowest.
fn sleeping(teams: &[&Cell<'_>]) -> Option<Finding> {
    let timed = timed(teams);
    let of = |setting: &str| timed.iter().find(|(team, _)| team.setting() == setting);
    let usual = OPPOSITES.iter().find_map(|[awake, asleep]| of(awake).zip(of(asleep)));
    let (&(fast, least), &(slow, most)) = usual.or(timed.first().zip(timed.last()))?;
    let looped = most / least;
    let empty = region(fast).zip(region(slow));
    let alone = empty.map_or(0.0, |(least, most)| most / least);
    let beside = empty.map_or(String::new(), |(least, most)| {
        format!("; the region alone costs {} and {}: {alone:.1} times", time(least), time(most))
    });
    (looped.max(alone) >= RATIO_MIN).then(|| {
        let text = format!(
            "a loop region takes {1} with {0} and {3} with {2}, {looped:.1} times as long, on {4} threads{beside}",
            named(fast),
            time(least),
            named(slow),
            time(most),
            fast.active.len()
        );
        Finding::note("openmp.waiting", fast.workload.to_owned(), text)
    })
}

/// What a region costs without the loop in it.
fn region(team: &Cell<'_>) -> Option<f64> {
    team.median("region_cost").filter(|cost| *cost > 0.0)
}

/// The way of waiting, in words.
fn named(team: &Cell<'_>) -> String {
    if team.is_default() { "its default".to_owned() } else { team.setting().to_owned() }
}

/// A default that costs time. One block is no ground for advice.
fn default_slow(teams: &[&Cell<'_>]) -> Option<Finding> {
    let mut timed = timed(teams);
    timed.retain(|(team, _)| team.is_known("loop_time"));
    let &(fast, least) = timed.first()?;
    let &(_, default) = timed.iter().find(|(team, _)| team.is_default())?;
    let asleep = OPPOSITES.iter().any(|[_, asleep]| fast.setting() == *asleep);
    let (cause, remedy) = if asleep {
        let remedy = format!(
            "use fewer threads, or CPUs that nobody else uses; else export {}",
            fast.setting()
        );
        ("threads spin on CPUs that others want", remedy)
    } else {
        (
            "threads sleep between regions and are woken for each",
            format!("export {}", fast.setting()),
        )
    };
    (default >= RATIO_MIN * least).then(|| {
        let text = format!(
            "a loop region takes {} by default, {} is possible",
            time(default),
            time(least)
        );
        Finding::warning("openmp.default-slow", fast.workload.to_owned(), text)
            .cause(cause.to_owned())
            .remedy(remedy)
            .gain(format!("{:.1} times as fast a region", default / least))
    })
}

/// A default that keeps cores busy while there is nothing to do.
fn default_burns(teams: &[&Cell<'_>]) -> Option<Finding> {
    let busy = |team: &Cell<'_>| team.median("rest_busy").or_else(|| team.median("small_busy"));
    let default = teams.iter().find(|team| team.is_default())?;
    let burnt = busy(default).filter(|burnt| *burnt >= BURNT_MIN)?;
    let timed = timed(teams);
    let least = timed.first().map(|(_, least)| *least);
    let modest = |(team, time): &&Timed<'_, '_>| {
        least.is_some_and(|least| *time <= AS_GOOD * least)
            && busy(team).is_some_and(|busy| busy < burnt / 2.0)
    };
    let better: Option<&Cell<'_>> = timed.iter().find(modest).map(|(team, _)| *team);
    let text =
        format!("by default, threads without work keep {burnt:.2} cores busy after a region");
    Some(
        Finding::note("openmp.default-burns", default.workload.to_owned(), text)
            .cause("they spin before they sleep".to_owned())
            .remedy(better.map(|team| format!("export {}", team.setting())))
            .gain(
                better
                    .and_then(busy)
                    .map(|busy| format!("{:.2} cores free for others", burnt - busy)),
            ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{blank, near, series};

    /// Teams of one library: a setting, and numbers of it in so many blocks.
    fn record(of: &[(&str, &[(&str, f64)])], blocks: usize) -> Record {
        let mut record = blank();
        for (setting, numbers) in of {
            let parameters = [("library", "libgomp.so.1"), ("setting", *setting)];
            for (quantity, value) in *numbers {
                let of = ["openmp", "libgomp", quantity];
                let value = [*value];
                record.series.push(series(of, "0-3", &parameters, &vec![&value[..]; blocks]));
            }
        }
        record
    }

    fn ids(record: &Record) -> Vec<String> {
        of(record).into_iter().map(|finding| finding.id).collect()
    }

    #[test]
    fn threads_that_sleep_cost_twice_a_region_of_the_loop_or_an_empty_one() {
        let of = |asleep: f64, costs: [f64; 2]| {
            let [awake, sleeping] = costs.map(|us| us * 1e-6);
            ids(&record(
                &[
                    (
                        "OMP_WAIT_POLICY=passive",
                        &[("loop_time", asleep), ("region_cost", sleeping)],
                    ),
                    ("OMP_WAIT_POLICY=active", &[("loop_time", 4e-6), ("region_cost", awake)]),
                ],
                1,
            ))
        };
        // 7.9 of 4 us are 1.98 times as long, 8.1 are 2.03; 2.1 of 1 us are 2.1 times as long.
        assert_eq!(of(7.9e-6, [1.0, 1.9]), [""; 0]);
        assert_eq!(of(8.1e-6, [1.0, 1.9]), ["openmp.waiting"]);
        assert_eq!(of(4.4e-6, [1.0, 2.1]), ["openmp.waiting"]);
    }

    #[test]
    fn a_default_is_slow_at_twice_the_fastest_in_five_blocks() {
        let of = |default: f64, blocks: usize| {
            let of: [(&str, &[(&str, f64)]); 2] =
                [("default", &[("loop_time", default)]), ("it=1", &[("loop_time", 4e-6)])];
            ids(&record(&of, blocks)).contains(&"openmp.default-slow".to_owned())
        };
        assert_eq!([of(7.9e-6, 5), of(8.1e-6, 5), of(8.1e-6, 4)], [false, true, false]);
    }

    #[test]
    fn a_default_burns_half_a_core_that_an_equal_setting_would_free() {
        let found = |burnt: f64, slower: f64| {
            let other = [("loop_time", slower), ("rest_busy", 0.1)];
            let record = record(
                &[("default", &[("loop_time", 4e-6), ("rest_busy", burnt)]), ("it=1", &other)],
                1,
            );
            of(&record).into_iter().find(|finding| finding.id == "openmp.default-burns")
        };
        assert!(found(0.49, 4e-6).is_none());
        // 0.51 - 0.1 cores; 4.59 us are at most 15 % more than 4, 4.61 are not.
        let free = Some("0.41 cores free for others".to_owned());
        assert_eq!(found(0.51, 4.59e-6).unwrap().gain, free);
        assert_eq!(found(0.51, 4.61e-6).unwrap().gain, None);
    }

    #[test]
    fn key_figures_are_a_region_that_spins_and_one_that_sleeps() {
        let of: [(&str, &[(&str, f64)]); 3] = [
            ("OMP_WAIT_POLICY=passive", &[("loop_time", 20e-6)]),
            ("OMP_WAIT_POLICY=active", &[("loop_time", 3e-6)]),
            ("default", &[("loop_time", 4e-6)]),
        ];
        let figures = super::super::figures::figures(&record(&of, 5));
        assert_eq!(figures.len(), 2);
        near(figures[0].value().unwrap(), 4e-6);
        near(figures[1].value().unwrap(), 20e-6);
        // Five equal blocks.
        assert_eq!(figures[0].uncertainty, Some(0.0));
    }
}
