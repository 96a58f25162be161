//! Which source of a clock's rate to believe, and what to say when they disagree. Pure.

use model::record::{CalibratedRate, RateSource};
use model::{Finding, Hertz, Known, Obstacle, Reading, Unavailable};

/// What a source is good for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Role {
    /// It may be chosen.
    Rate,
    /// It may be chosen where there is no other, and it replaces one that is absurd.
    Measured,
    /// Never chosen: announced in steps of so many hertz.
    Nominal(f64),
    /// Never chosen: it says how far the others are from true time.
    Check,
}

/// What one source says.
#[derive(Debug, Clone)]
pub(super) struct RateReading {
    pub(super) name: String,
    pub(super) hertz: Reading<f64>,
    pub(super) independent: bool,
    pub(super) role: Role,
}

/// More disagreement than this is said. Crystals are good for 100 ppm, and each source has one.
const DISAGREEMENT_PPM_MAX: f64 = 200.0;

/// Beyond it an announced rate is not inaccurate, but wrong.
const ABSURD_PPM: f64 = 10_000.0;

/// Which sources may be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RateChoice {
    /// The best one that says something and is not absurd.
    #[default]
    Best,
    /// What was measured against `CLOCK_MONOTONIC_RAW`, whatever CPUID, hypervisor and kernel
    /// announce. They are compared with it.
    Measured,
}

/// Chooses among sources in order of preference.
pub(super) fn choose(
    clock: &str,
    sources: &[RateReading],
    choice: RateChoice,
) -> Result<(CalibratedRate, Vec<Finding>), Unavailable> {
    let known = |role| {
        let mut of_role = sources.iter().filter(move |source| source.role == role);
        of_role.find_map(|source| Some((source, *source.hertz.as_ref().ok()?)))
    };
    let measured = known(Role::Measured);
    let mut findings = Vec::new();
    let announced = known(Role::Rate).filter(|_| choice == RateChoice::Best);
    let preferred = announced.or(measured).ok_or_else(|| no_rate(clock, choice))?;
    let chosen = match measured {
        Some(measured) if ppm(preferred.1, measured.1).abs() > ABSURD_PPM => {
            findings.push(replaced(clock, preferred, measured));
            measured
        }
        _ => preferred,
    };
    let replaced = |source: &RateReading| source.role == Role::Rate && !findings.is_empty();
    let disagreements: Vec<Finding> = sources
        .iter()
        .filter(|source| !replaced(source))
        .filter_map(|source| disagreement(clock, source, chosen))
        .collect();
    findings.extend(disagreements);
    let rate = CalibratedRate {
        hertz: Hertz(chosen.1),
        chosen: chosen.0.name.clone(),
        sources: sources.iter().map(|source| row(source, chosen.1)).collect(),
    };
    Ok((rate, findings))
}

fn ppm(hertz: f64, chosen: f64) -> f64 {
    (hertz / chosen - 1.0) * 1e6
}

fn row(source: &RateReading, chosen: f64) -> RateSource {
    RateSource {
        source: source.name.clone(),
        hertz: Known::from(source.hertz.clone()),
        disagreement_ppm: source.hertz.as_ref().ok().map(|&hertz| ppm(hertz, chosen)),
        independent: source.independent,
    }
}

fn no_rate(clock: &str, choice: RateChoice) -> Unavailable {
    let why = match choice {
        RateChoice::Best => {
            "no source states the rate, and the counter stands still against CLOCK_MONOTONIC_RAW"
        }
        RateChoice::Measured => "the rate could not be measured against CLOCK_MONOTONIC_RAW",
    };
    Unavailable::new(Obstacle::Hardware, format!("rate of {clock}"), why)
}

fn disagreement(clock: &str, source: &RateReading, chosen: (&RateReading, f64)) -> Option<Finding> {
    let hertz = *source.hertz.as_ref().ok()?;
    let ppm = ppm(hertz, chosen.1);
    let within_steps = match source.role {
        Role::Nominal(step) => (hertz - chosen.1).abs() <= step,
        _ => false,
    };
    (ppm.abs() > DISAGREEMENT_PPM_MAX && !within_steps).then(|| {
        Finding::warning(
            "clock.rates-disagree",
            clock,
            format!(
                "the rate by {} is {ppm:+.0} ppm off the one by {}, which was used: all times and \
             clocks of this run are uncertain by as much",
                source.name, chosen.0.name
            ),
        )
        .remedy(
            "compare within this machine only, or calibrate while a time daemon synchronises it"
                .to_owned(),
        )
    })
}

fn replaced(clock: &str, announced: (&RateReading, f64), measured: (&RateReading, f64)) -> Finding {
    Finding::serious(
        "clock.rate-absurd",
        clock,
        format!(
            "{} says {:.3} MHz, {} says {:.3} MHz: the announced rate is wrong by {:.1} %, the \
             measured one was used",
            announced.0.name,
            announced.1 / 1e6,
            measured.0.name,
            measured.1 / 1e6,
            (announced.1 / measured.1 - 1.0) * 100.0
        ),
    )
    .remedy("report it to the operator of the hypervisor or the author of the firmware".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(name: &str, role: Role, hertz: Option<f64>) -> RateReading {
        let absent = || Unavailable::new(Obstacle::Hardware, name, "absent");
        let hertz = hertz.ok_or_else(absent);
        RateReading { name: name.into(), hertz, independent: true, role }
    }

    fn ids(findings: &[Finding]) -> Vec<&str> {
        findings.iter().map(|finding| finding.id.as_str()).collect()
    }

    #[test]
    fn the_first_known_source_is_chosen_and_350_ppm_are_said() {
        let sources = [
            source("leaf", Role::Rate, None),
            source("kernel", Role::Rate, Some(2e9)),
            source("raw", Role::Measured, Some(2.0007e9)),
        ];
        let (rate, findings) = choose("tsc", &sources, RateChoice::Best).unwrap();
        assert_eq!((rate.chosen.as_str(), rate.hertz.0), ("kernel", 2e9));
        assert_eq!(ids(&findings), ["clock.rates-disagree"]);
        assert!(findings[0].text.contains("raw is +350 ppm off the one by kernel"), "{findings:?}");
        assert_eq!(rate.sources[0].disagreement_ppm, None);
        assert!((rate.sources[2].disagreement_ppm.unwrap() - 350.0).abs() < 1e-6);
    }

    #[test]
    fn crystals_may_differ_by_50_ppm_and_nominal_rates_by_their_step() {
        let sources = [
            source("leaf", Role::Rate, Some(2e9)),
            source("raw", Role::Measured, Some(2.0001e9)),
            source("nominal", Role::Nominal(1e6), Some(2.001e9)),
        ];
        assert_eq!(choose("tsc", &sources, RateChoice::Best).unwrap().1, []);
    }

    #[test]
    fn an_absurd_announcement_gives_way_to_what_was_measured() {
        let sources = [
            source("leaf", Role::Rate, Some(4e9)),
            source("raw", Role::Measured, Some(2e9)),
            source("ntp", Role::Check, Some(2.00001e9)),
        ];
        let (rate, findings) = choose("tsc", &sources, RateChoice::Best).unwrap();
        assert_eq!((rate.chosen.as_str(), rate.hertz.0), ("raw", 2e9));
        assert_eq!(ids(&findings), ["clock.rate-absurd"]);
    }

    #[test]
    fn the_measured_one_can_be_forced_and_the_others_are_compared_with_it() {
        let sources = [
            source("leaf", Role::Rate, Some(2e9)),
            source("kernel", Role::Rate, Some(2.0007e9)),
            source("raw", Role::Measured, Some(2.0007e9)),
            source("nominal", Role::Nominal(1e6), Some(2e9)),
        ];
        let (rate, findings) = choose("tsc", &sources, RateChoice::Measured).unwrap();
        assert_eq!((rate.chosen.as_str(), rate.hertz.0), ("raw", 2.0007e9));
        assert_eq!(rate.sources.len(), 4);
        assert_eq!(ids(&findings), ["clock.rates-disagree"]);
        assert!(findings[0].text.contains("leaf is -350 ppm off the one by raw"), "{findings:?}");
        let announced = &sources[..2];
        let reason = choose("tsc", announced, RateChoice::Measured).unwrap_err();
        assert_eq!(reason.why, "the rate could not be measured against CLOCK_MONOTONIC_RAW");
    }

    #[test]
    fn checks_and_nominal_rates_are_never_chosen() {
        let sources =
            [source("ntp", Role::Check, Some(2e9)), source("16h", Role::Nominal(1e6), Some(2e9))];
        assert!(!choose("tsc", &sources, RateChoice::Best).unwrap_err().why.is_empty());
    }
}
