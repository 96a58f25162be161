//! Numbers that are computed from counts, as data: `data/metrics.toml` has a formula for each family of
//! CPUs, with unit, meaning and range. A result out of range is no result: what was counted does not fit
//! together, and says so.

mod formula;

use std::sync::LazyLock;

use model::{Obstacle, Unavailable};
use serde::Deserialize;

use crate::events::Family;
pub use formula::{Formula, FormulaError};

/// The table, as `data/README.md` describes it.
static TABLE: LazyLock<MetricFile> = LazyLock::new(|| {
    const TEXT: &str = include_str!("../../../../data/metrics.toml");
    toml::from_str(TEXT).expect("BUG: a test reads the table")
});

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MetricFile {
    metric: Vec<Metric>,
}

/// A number that is computed from counts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// Its name in commands.
    pub id: String,
    /// Its name in tables.
    pub title: String,
    /// The unit of the result.
    pub unit: String,
    /// Of a share, the one that it is a part of, one level up.
    pub parent: Option<String>,
    /// What it says.
    pub doc: String,
    /// Of a share of slots or cycles, what the core does in it: `waits for hits in the L2 cache`.
    pub says: Option<String>,
    /// The least that it can be.
    pub least: f64,
    /// The most that it can be.
    pub most: f64,
    /// How it is computed; the first that is of a family counts.
    pub formulas: Vec<Variant>,
}

/// A formula for some families.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Ids of families; none: every CPU.
    #[serde(default)]
    pub of: Vec<String>,
    /// How many threads use the core, where that matters.
    pub threads: Option<u32>,
    /// The formula.
    pub formula: Formula,
    /// Who says so, as `data/README.md` explains it.
    pub source: String,
}

impl Metric {
    /// All of them, in order.
    pub fn all() -> &'static [Metric] {
        &TABLE.metric
    }

    /// That of this id.
    pub fn find(id: &str) -> Option<&'static Metric> {
        Metric::all().iter().find(|metric| metric.id == id)
    }

    /// The formula for a core of that family whose events come from so many threads: what it
    /// [needs](Formula::events) must be counted.
    ///
    /// # Error
    /// Where there is none for such CPUs.
    pub fn formula(&self, family: Option<&Family>, threads: u32) -> Result<&Formula, Unavailable> {
        let fits = |variant: &&Variant| {
            let of = variant.of.is_empty() || family.is_some_and(|it| variant.of.contains(&it.id));
            of && variant.threads.is_none_or(|needed| needed == threads)
        };
        let found = self.formulas.iter().find(fits).map(|variant| &variant.formula);
        found.ok_or_else(|| {
            let cpu = family.map_or("CPUs that our table does not know", |it| it.title.as_str());
            let why = format!("no formula is known for {cpu}");
            Unavailable::new(Obstacle::Cpudyno, self.title.as_str(), why)
        })
    }

    /// Its value from counts by their names.
    ///
    /// # Error
    /// Where a count is missing, where the divisor is zero, and where the result is out of range.
    pub fn value(
        &self,
        formula: &Formula,
        count: impl Fn(&str) -> Option<f64>,
    ) -> Result<f64, Unavailable> {
        /// Counters of one pass do not begin and end in one instant: a share may be over by so much.
        const SLACK: f64 = 0.01;
        let refused = |why: String| Unavailable::new(Obstacle::Measurement, &*self.title, why);
        let value = formula.value(count).map_err(|error| refused(error.to_string()))?;
        let slack = SLACK * (self.most - self.least).min(100.0);
        if !(self.least - slack..=self.most + slack).contains(&value) {
            let Metric { least, most, unit, .. } = self;
            let why = format!(
                "the counts give {value:.1} {unit}, outside of {least} to {most}: they do not fit \
                 together"
            );
            let remedy = "measure longer, and count the events of the formula in one pass";
            return Err(refused(why).with_remedy(remedy));
        }
        Ok(value.clamp(self.least, self.most))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::events::{Events, Table, Target};

    #[test]
    fn every_metric_says_what_it_is() {
        let ids: BTreeSet<&str> = Metric::all().iter().map(|metric| metric.id.as_str()).collect();
        assert_eq!(ids.len(), Metric::all().len());
        let explained = include_str!("../../../../data/README.md");
        let families: BTreeSet<&str> =
            Table::builtin().family.iter().map(|family| family.id.as_str()).collect();
        for metric in Metric::all() {
            assert!(metric.doc.ends_with('.') && metric.least < metric.most, "{}", metric.id);
            let is_share = metric.unit.starts_with('%');
            assert!(!is_share || (metric.least, metric.most) == (0.0, 100.0));
            assert_eq!(metric.says.is_some(), metric.unit.starts_with("% of "), "{}", metric.id);
            assert!(metric.parent.iter().all(|it| ids.contains(it.as_str())), "{}", metric.id);
            for variant in &metric.formulas {
                assert!(variant.of.iter().all(|id| families.contains(id.as_str())), "{variant:?}");
                assert!(explained.contains(&format!("| `{}` |", variant.source)), "{variant:?}");
                assert!(!variant.formula.events().is_empty());
            }
        }
    }

    /// Formulas name events that their CPUs have, by what is built in or by the kernel.
    #[test]
    fn formulas_name_events_of_their_families() {
        const OF_SYSFS: &[&str] = &[
            "slots",
            "topdown-retiring",
            "topdown-bad-spec",
            "topdown-fe-bound",
            "topdown-be-bound",
            "topdown-heavy-ops",
            "topdown-br-mispredict",
            "topdown-fetch-lat",
            "topdown-mem-bound",
            // No event, but a row that the library adds.
            model::counts::PACKAGE_ENERGY,
        ];
        for family in &Table::builtin().family {
            let events = Events::of(Target::named(&family.id).unwrap());
            for metric in Metric::all() {
                for threads in [1, 2] {
                    let Ok(formula) = metric.formula(Some(family), threads) else { continue };
                    for name in formula.events() {
                        let known = OF_SYSFS.contains(&name) || events.resolve(name).is_ok();
                        assert!(known, "{} of {}: {name}", metric.id, family.id);
                    }
                }
            }
        }
    }

    fn family(id: &str) -> &'static Family {
        Table::builtin().family.iter().find(|family| family.id == id).unwrap()
    }

    /// The four shares of level 1 are all slots, whatever was counted.
    #[test]
    fn the_slots_are_shared_out() {
        let counts = |name: &str| {
            let count = match name {
                "cycles" => 1000,
                "idq_uops_not_delivered.core" => 700,
                "uops_issued.any" => 2000,
                "uops_retired.retire_slots" => 1800,
                "int_misc.recovery_cycles" => 50,
                "slots" => 6000,
                "topdown-retiring" => 3000,
                "topdown-bad-spec" => 600,
                "topdown-fe-bound" => 900,
                "topdown-be-bound" => 1500,
                _ => return None,
            };
            Some(f64::from(count))
        };
        for (id, retiring) in [("skylake-x", 45.0), ("sapphire-rapids", 50.0)] {
            let share = |metric: &str| {
                let metric = Metric::find(metric).unwrap();
                metric.value(metric.formula(Some(family(id)), 1).unwrap(), counts).unwrap()
            };
            let shares =
                ["retiring", "bad-speculation", "frontend-bound", "backend-bound"].map(share);
            assert!((shares.iter().sum::<f64>() - 100.0).abs() < 1e-9, "{shares:?}");
            assert!((shares[0] - retiring).abs() < 1e-9, "{shares:?}");
        }
    }

    #[test]
    fn what_cannot_be_is_no_result() {
        let metric = Metric::find("branch-miss-rate").unwrap();
        let formula = metric.formula(None, 1).unwrap();
        let of = |misses: f64, branches: f64| {
            let count = move |name: &str| match name {
                "branch-misses" => Some(misses),
                "branches" => Some(branches),
                _ => None,
            };
            metric.value(formula, count)
        };
        assert_eq!(of(5.0, 100.0), Ok(5.0));
        assert_eq!(of(100.5, 100.0), Ok(100.0));
        let why = of(300.0, 100.0).unwrap_err().why;
        assert_eq!(why, "the counts give 300.0 %, outside of 0 to 100: they do not fit together");
        assert!(of(1.0, 0.0).unwrap_err().why.contains("`branches` is 0"));
        let absent = metric.value(formula, |_| None).unwrap_err().why;
        assert_eq!(absent, "`branch-misses` was not counted");
        let zen2 = Metric::find("retiring").unwrap().formula(Some(family("zen2")), 1);
        assert_eq!(zen2.unwrap_err().why, "no formula is known for Zen 2");
    }
}
