//! From numbers to advice; each with the numbers that it rests on.

use model::Unit;
use model::page::{Text, si};
use model::record::Record;

use super::facts::{self, RestWakeUp, Team};

/// An answer to one question.
pub(super) struct Advice {
    pub(super) what: &'static str,
    /// The advice and what it rests on; or why there is none.
    pub(super) value: Result<(String, String), String>,
}

impl Advice {
    /// As a sentence of the sheet.
    pub(super) fn sentence(&self) -> Option<Text> {
        let (value, because) = self.value.as_ref().ok()?;
        Some(format!("Spin before sleeping: {value} ({because}).").into())
    }
}

/// All of it, the most general first.
pub(super) fn advice(record: &Record) -> Vec<Advice> {
    let wake_up = facts::wake_up(record);
    let pause = facts::pause(record);
    let runtime = |what, runtimes: &[&str], prefix| Advice {
        what,
        value: least(&facts::teams(record, runtimes, prefix)).ok_or_else(|| {
            format!("no runtime of {} was measured with two settings", runtimes.join(", "))
        }),
    };
    vec![
        Advice { what: "spin before sleeping", value: spin(wake_up, pause) },
        Advice { what: "between two looks at a line", value: look(facts::line(record), pause) },
        runtime("KMP_BLOCKTIME", &["libomp", "libiomp5"], "KMP_BLOCKTIME="),
        runtime("GOMP_SPINCOUNT", &["libgomp"], "GOMP_SPINCOUNT="),
        Advice { what: "wake-ups after a rest", value: sleep(&facts::steps(record)) },
    ]
}

fn time(seconds: f64) -> String {
    si::format(seconds, Unit::Second)
}

/// For as long as a wake-up takes.
fn spin(wake_up: Option<(f64, f64)>, pause: Option<f64>) -> Result<(String, String), String> {
    let (median, p99) = wake_up.ok_or("no wake-up of another core was measured")?;
    let seen = format!(
        "a futex wakes another core in {} (there and back: p99 {})",
        time(median),
        time(p99)
    );
    Ok(match pause {
        None => (format!("for {}", time(median)), seen),
        Some(pause) => (
            format!("for {}, {:.0} pauses", time(median), median / pause),
            format!("{seen}, a pause takes {}", time(pause)),
        ),
    })
}

/// No more often than the line can come.
fn look(line: Option<f64>, pause: Option<f64>) -> Result<(String, String), String> {
    let line = line.ok_or("no pair of cores was measured")?;
    let pause = pause.ok_or("the pause was not measured")?;
    let count = (line / pause).ceil().max(1.0);
    let word = if count > 1.0 { "pauses" } else { "pause" };
    Ok((
        format!("{count:.0} {word}"),
        format!("a contended line takes {}, a pause {}", time(line), time(pause)),
    ))
}

/// The least value of a setting whose regions take hardly longer than with the best one: who spins for
/// longer only keeps cores busy.
fn least(teams: &[Team]) -> Option<(String, String)> {
    /// Less than regions scatter.
    const HARDLY: f64 = 1.1;
    if teams.len() < 2 {
        return None;
    }
    let best = teams.iter().map(|team| team.region).fold(f64::INFINITY, f64::min);
    let worst = teams.iter().max_by(|a, b| a.region.total_cmp(&b.region))?;
    let value = |team: &Team| match team.setting.split_once('=')?.1 {
        "infinite" => Some(f64::INFINITY),
        number => number.parse().ok(),
    };
    let good = teams.iter().filter(|team| team.region <= best * HARDLY);
    let chosen =
        good.min_by(|a, b| value(a).unwrap_or(f64::NAN).total_cmp(&value(b).unwrap_or(f64::NAN)))?;
    let busy = chosen.busy_after.map_or(String::new(), |busy| {
        format!(", and {busy:.2} cores stay busy in the 20 ms after it")
    });
    let against = if worst.region <= chosen.region * HARDLY {
        ", and hardly longer with any other".to_owned()
    } else {
        format!(", {:.1} times as long with {}", worst.region / chosen.region, worst.setting)
    };
    Some((chosen.setting.clone(), format!("a region takes {}{against}{busy}", time(chosen.region))))
}

/// What the longest rest costs over the shortest one. Tails of a machine that others use are no cost of sleep: only
/// medians that are certainly apart tell of one.
fn sleep(steps: &[RestWakeUp]) -> Result<(String, String), String> {
    let slept: Vec<&RestWakeUp> = steps.iter().filter(|step| step.rest_seconds > 0.0).collect();
    let (Some(first), Some(last)) = (slept.first(), slept.last()) else {
        return Err("no sleeper that rested was measured".to_owned());
    };
    if slept.len() < 2 {
        return Err("wake-ups after one rest only were measured".to_owned());
    }
    let apart = first.between.zip(last.between).is_some_and(|(short, long)| long[0] > short[1]);
    if !apart {
        return Err(format!(
            "after a rest of {} wake-ups take no longer than after {}, as far as that is known",
            time(last.rest_seconds),
            time(first.rest_seconds)
        ));
    }
    Ok((
        format!("{} more after {}", time(last.median - first.median), time(last.rest_seconds)),
        format!(
            "{} after a rest of {}, {} after {} (p99 {} and {})",
            time(last.median),
            time(last.rest_seconds),
            time(first.median),
            time(first.rest_seconds),
            time(last.p99),
            time(first.p99)
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn team(setting: &str, region: f64, busy_after: f64) -> Team {
        Team { setting: setting.to_owned(), region, busy_after: Some(busy_after) }
    }

    #[test]
    fn the_least_setting_that_is_good_enough_is_chosen() {
        let teams = [
            team("KMP_BLOCKTIME=0", 20e-6, 0.0),
            team("KMP_BLOCKTIME=infinite", 4.0e-6, 1.0),
            team("KMP_BLOCKTIME=200", 3.9e-6, 0.9),
            team("KMP_BLOCKTIME=1", 4.1e-6, 0.1),
        ];
        let (setting, because) = least(&teams).unwrap();
        assert_eq!(setting, "KMP_BLOCKTIME=1");
        assert!(because.contains("4.9 times as long with KMP_BLOCKTIME=0"), "{because}");
        assert!(because.contains("0.10 cores stay busy"), "{because}");
        assert_eq!(least(&teams[..1]), None);
        let alike =
            [team("GOMP_SPINCOUNT=100", 4e-6, 0.1), team("GOMP_SPINCOUNT=10000", 4e-6, 0.2)];
        let (setting, because) = least(&alike).unwrap();
        assert_eq!(setting, "GOMP_SPINCOUNT=100");
        assert!(because.contains("hardly longer") && !because.contains("times"), "{because}");
    }

    #[test]
    fn spinning_lasts_as_long_as_a_wake_up() {
        let (value, because) = spin(Some((5e-6, 30e-6)), Some(10e-9)).unwrap();
        assert!(value.ends_with("500 pauses"), "{value}");
        assert!(because.contains("p99 30"), "{because}");
        assert!(spin(None, Some(10e-9)).is_err());
        assert!(spin(Some((5e-6, 30e-6)), None).is_ok());
    }

    #[test]
    fn a_line_is_looked_at_when_it_can_have_come() {
        assert_eq!(look(Some(70e-9), Some(30e-9)).unwrap().0, "3 pauses");
        assert_eq!(look(Some(20e-9), Some(30e-9)).unwrap().0, "1 pause");
        assert!(look(None, Some(30e-9)).is_err());
    }

    #[test]
    fn sleep_costs_what_the_longest_rest_adds() {
        let step = |rest_seconds, median: f64, p99| {
            let between = Some([median * 0.9, median * 1.1]);
            RestWakeUp { rest_seconds, median, between, p99 }
        };
        let steps = [step(0.0, 1e-6, 2e-6), step(10e-6, 5e-6, 9e-6), step(10e-3, 145e-6, 200e-6)];
        let (value, because) = sleep(&steps).unwrap();
        assert!(value.starts_with("140"), "{value}");
        assert!(because.contains("145"), "{because}");
        assert!(sleep(&steps[..2]).is_err());
        // A tail alone is nobody's sleep, nor is what may be nothing.
        let late = [steps[1], RestWakeUp { p99: 2e-3, ..step(10e-3, 5.5e-6, 0.0) }];
        assert!(sleep(&late).unwrap_err().contains("no longer than after"));
        let unknown = [steps[1], RestWakeUp { between: None, ..steps[2] }];
        assert!(sleep(&unknown).is_err());
    }
}
