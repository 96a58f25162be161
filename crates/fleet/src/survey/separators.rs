//! Which fact separates some machines from the others.
//!
//! Each fact is asked by Fisher's exact test whether what the machines in question say of it is said by others as
//! often, and the chance is multiplied by how many values and facts were asked.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Names;
use crate::compare::known_cause;

/// A fact that machines in question have and others have not.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Separator {
    /// The fact's id.
    pub id: String,
    /// What people call it.
    pub label: String,
    /// What the machines in question say; `None` where they do not know it.
    pub says: Option<String>,
    /// How many of them say it.
    pub of_these: usize,
    /// How many others say it.
    pub of_others: usize,
    /// What others say most often.
    pub usual: Option<String>,
    /// How likely some fact separates them as well as this by mere chance.
    pub chance: f64,
    /// Why it may move such a result, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<&'static str>,
}

/// A separation with a smaller chance is no accident.
pub const CHANCE_MAX: f64 = 0.05;

/// A fact that machines of a kind say differently: the number of a text of each machine, in their order.
#[derive(Debug, Clone)]
pub(super) struct DifferingFact {
    pub id: String,
    pub label: String,
    pub texts: Vec<Option<u32>>,
    /// How many machines say each.
    counts: BTreeMap<Option<u32>, usize>,
}

impl DifferingFact {
    /// `None` where all say the same, or nearly each something else: a name or a date is no cause.
    pub(super) fn of(id: &str, label: &str, texts: Vec<Option<u32>>) -> Option<DifferingFact> {
        let mut counts = BTreeMap::new();
        for text in &texts {
            *counts.entry(*text).or_insert(0) += 1;
        }
        let differs = counts.len() > 1 && counts.len() * 2 <= texts.len().max(4);
        let (id, label) = (id.to_owned(), label.to_owned());
        differs.then_some(DifferingFact { id, label, texts, counts })
    }

    /// What is said and by how many, the most frequent first.
    pub(super) fn counts(&self) -> Vec<(Option<u32>, usize)> {
        let mut counts: Vec<(Option<u32>, usize)> =
            self.counts.iter().map(|it| (*it.0, *it.1)).collect();
        counts.sort_by_key(|it| std::cmp::Reverse(it.1));
        counts
    }

    /// What machines say most often, but for these.
    fn usual(&self, these: &[usize]) -> Option<u32> {
        let mut counts = self.counts.clone();
        for place in these {
            if let Some(count) = counts.get_mut(&self.texts[*place]) {
                *count -= 1;
            }
        }
        counts.into_iter().max_by_key(|it| it.1).and_then(|(text, _)| text)
    }
}

/// Machines of one kind and what they say differently.
pub(super) struct KindFacts<'a> {
    pub facts: &'a [DifferingFact],
    pub hosts: usize,
    /// What the numbers of texts stand for.
    pub names: &'a Names,
}

/// A fact's value and how it separates.
struct Candidate<'a> {
    fact: &'a DifferingFact,
    text: Option<u32>,
    of_these: usize,
    of_others: usize,
    chance: f64,
    cause: Option<(usize, &'static str)>,
}

impl KindFacts<'_> {
    /// The facts that separate these machines (their places, ascending) from the others, the best first; those that no
    /// other has, however likely by chance, are among them.
    pub(super) fn separators(&self, these: &[usize], area: &str) -> Vec<Separator> {
        self.separators_with(these, these, area)
    }

    /// The same, of what those of them that lead say.
    pub(super) fn separators_with(
        &self,
        leading: &[usize],
        these: &[usize],
        area: &str,
    ) -> Vec<Separator> {
        let candidate = |fact| self.candidate(fact, leading, these, area);
        let mut found: Vec<Candidate<'_>> = self.facts.iter().filter_map(candidate).collect();
        // What is known to move such results comes before what stands beside it by chance or by place.
        let rank = |it: &Candidate<'_>| {
            let steps = (it.chance.max(1e-300).ln() / 3.0).round() as i64;
            let cause = it.cause.map_or(usize::MAX, |it| it.0);
            (it.chance > CHANCE_MAX, it.cause.is_none(), steps, cause)
        };
        found.sort_by_key(rank);
        found.into_iter().map(|candidate| self.told(&candidate, these)).collect()
    }

    fn candidate<'a>(
        &self,
        fact: &'a DifferingFact,
        leading: &[usize],
        these: &[usize],
        area: &str,
    ) -> Option<Candidate<'a>> {
        // What only those say that follow is not counted: of a thousand lone suspects each leads once.
        let mut said: BTreeMap<Option<u32>, usize> =
            leading.iter().map(|place| (fact.texts[*place], 0)).collect();
        for place in these {
            if let Some(count) = said.get_mut(&fact.texts[*place]) {
                *count += 1;
            }
        }
        let tried = (self.facts.len() * fact.counts.len()) as f64;
        let best = said.into_iter().map(|(text, of_these)| {
            let all = fact.counts[&text];
            let chance = fisher(of_these, these.len(), all, self.hosts) * tried;
            (text, of_these, all - of_these, chance.min(1.0))
        });
        let (text, of_these, of_others, chance) = best.min_by(|a, b| a.3.total_cmp(&b.3))?;
        // Of those that lead it is what nobody says but who is asked about, however few they are.
        let alone = of_others == 0 && (leading.len() < these.len() || of_these * 2 > these.len());
        let is_rare = (of_these + of_others) * 2 <= self.hosts;
        let cause = known_cause(&fact.id, area);
        (is_rare && (chance <= CHANCE_MAX || alone)).then_some(Candidate {
            fact,
            text,
            of_these,
            of_others,
            chance,
            cause,
        })
    }

    fn told(&self, candidate: &Candidate<'_>, these: &[usize]) -> Separator {
        let Candidate { fact, text, of_these, of_others, chance, cause } = candidate;
        let said = |text: u32| self.names.said(text).to_owned();
        Separator {
            id: fact.id.clone(),
            label: fact.label.clone(),
            says: text.map(said),
            of_these: *of_these,
            of_others: *of_others,
            usual: fact.usual(these).map(said),
            chance: *chance,
            why: cause.map(|(_, why)| why),
        }
    }
}

/// How likely at least `both` of `drawn` machines have a property that `having` of all have, by chance.
///
/// # Source
/// R. A. Fisher, The Design of Experiments, 1935: the exact test, one side.
fn fisher(both: usize, drawn: usize, having: usize, all: usize) -> f64 {
    let ways =
        |of: usize, take: usize| log_factorial(of) - log_factorial(take) - log_factorial(of - take);
    let term = |both: usize| {
        (ways(having, both) + ways(all - having, drawn - both) - ways(all, drawn)).exp()
    };
    let most = drawn.min(having);
    let least = both.max((drawn + having).saturating_sub(all));
    // From the first on each is smaller than the one before it, soon by far.
    let mut sum = 0.0;
    for both in least..=most {
        let term = term(both);
        sum += term;
        if term < sum * 1e-12 {
            break;
        }
    }
    sum.min(1.0)
}

/// The logarithm of n!.
///
/// # Source
/// Stirling's series, e.g. Abramowitz and Stegun 6.1.41; exact products where it is not.
fn log_factorial(n: usize) -> f64 {
    const EXACT: usize = 16;
    if n < EXACT {
        return (2..=n).map(|factor| (factor as f64).ln()).sum();
    }
    let x = n as f64 + 1.0;
    (x - 0.5) * x.ln() - x + (std::f64::consts::TAU).ln() / 2.0 + 1.0 / (12.0 * x)
        - 1.0 / (360.0 * x.powi(3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_are_those_of_drawing_without_putting_back() {
        let near = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-9, "{a} {b}");
        // The lady tasting tea: all four of eight, and at least three.
        near(fisher(4, 4, 4, 8), 1.0 / 70.0);
        near(fisher(3, 4, 4, 8), 17.0 / 70.0);
        near(fisher(1, 1, 1, 1_000), 1e-3);
        near(fisher(0, 3, 5, 20), 1.0);
        near(fisher(2, 2, 40, 10_000), 40.0 * 39.0 / (10_000.0 * 9_999.0));
        // 20! = 2432902008176640000.
        near(log_factorial(20), 2_432_902_008_176_640_000f64.ln());
    }

    fn question(facts: &[DifferingFact], these: &[usize]) -> Vec<(String, usize, usize, bool)> {
        let mut names = Names::default();
        for number in 0..100 {
            names.text(&number.to_string());
        }
        let question = KindFacts { facts, hosts: 100, names: &names };
        let found = question.separators(these, "memory");
        let told = |it: Separator| (it.id, it.of_these, it.of_others, it.chance <= CHANCE_MAX);
        found.into_iter().map(told).collect()
    }

    #[test]
    fn the_fact_that_they_share_and_others_lack_is_named_first() {
        let fact = |id: &str, says: &dyn Fn(usize) -> u32| {
            DifferingFact::of(id, id, (0..100).map(|place| Some(says(place))).collect())
        };
        let these = [3, 4, 5, 6];
        let facts: Vec<DifferingFact> = [
            fact("platform.firmware", &|place| u32::from(place < 50)),
            fact("thp.enabled", &|place| u32::from((3..7).contains(&place))),
            fact("rack", &|place| place as u32 / 10),
            fact("kernel.release", &|_| 1),
            fact("name", &|place| place as u32),
        ]
        .into_iter()
        .flatten()
        .collect();
        // All the same and all different are no facts that separate.
        assert_eq!(facts.len(), 3);
        let found = question(&facts, &these);
        assert_eq!(found[0], ("thp.enabled".to_owned(), 4, 0, true));
        // Half of all machines have that firmware: 4 of 4 by chance in one of 17, and three facts of two values.
        assert!(found.iter().all(|it| it.0 != "platform.firmware"), "{found:?}");
        // One machine alone proves nothing among a hundred, and what it alone says is named.
        let alone = fact("memory.total", &|place| u32::from(place == 9)).unwrap();
        let found = question(&[facts, vec![alone]].concat(), &[9]);
        assert_eq!(found, [("memory.total".to_owned(), 1, 0, false)]);
    }
}
