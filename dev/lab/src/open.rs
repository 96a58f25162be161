//! Faults of the product that the lab has seen and that are not mended: `open.toml`.

use std::collections::BTreeSet;

use anyhow::{Context, bail};
use serde::Deserialize;

use crate::answers::Answer;
use crate::machine::Machine;

/// Answers that are wrong, and known to be.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Open {
    /// What is wrong, in a line.
    fault: String,
    /// Where; `x-*` is every machine whose name begins so.
    machines: Vec<String>,
    /// What the lab calls the answers; `*: budget` is that answer of every command.
    answers: Vec<String>,
    /// Whether they may be right, too: it depends on time.
    #[serde(default)]
    sometimes: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    open: Vec<Open>,
}

/// How a machine's answers came out.
pub(crate) struct Judged {
    /// Ids of wrong answers that nobody expects.
    pub(crate) unexpected: BTreeSet<String>,
    /// How many wrong ones are known.
    pub(crate) known: usize,
    /// Known to be wrong, and right, or never asked.
    pub(crate) stale: Vec<String>,
}

impl Judged {
    pub(crate) fn wrong(&self, answer: &Answer) -> bool {
        !answer.right && self.unexpected.contains(&answer.id())
    }
}

/// All open faults.
pub(crate) fn all(machines: &[Machine]) -> anyhow::Result<Vec<Open>> {
    let File { open } =
        toml::from_str(include_str!("../open.toml")).context("cannot read `open.toml`")?;
    for Open { fault, machines: names, .. } in &open {
        if let Some(name) =
            names.iter().find(|name| !machines.iter().any(|machine| is_meant(name, &machine.name)))
        {
            bail!("`open.toml` has `{fault}` of machine `{name}`, which does not exist");
        }
    }
    Ok(open)
}

/// Whether a name, or the begin of names, means this machine.
fn is_meant(name: &str, machine: &str) -> bool {
    name.strip_suffix('*').map_or(name == machine, |begin| machine.starts_with(begin))
}

/// Tells wrong answers that are known from those that are not. What was never asked is stale where the machine did
/// the whole of its tasks.
pub(crate) fn judge(machine: &str, answers: &[Answer], open: &[Open], whole: bool) -> Judged {
    let is_here = |name: &String| is_meant(name, machine);
    let here: Vec<&Open> = open.iter().filter(|open| open.machines.iter().any(is_here)).collect();
    let is_known = |id: &String| {
        let general = id.split_once(": ").map(|(_, about)| format!("*: {about}"));
        here.iter().any(|open| {
            open.answers.contains(id)
                || open.answers.iter().any(|known| general.as_ref() == Some(known))
        })
    };
    let wrong: BTreeSet<String> =
        answers.iter().filter(|answer| !answer.right).map(Answer::id).collect();
    let asked: BTreeSet<String> = answers.iter().map(Answer::id).collect();
    let mut stale = Vec::new();
    for Open { fault, answers, machines, .. } in here.iter().filter(|open| !open.sometimes) {
        let must_ask = whole && machines.iter().any(|name| name == machine);
        let is_stale = |id: &&String| !wrong.contains(*id) && (must_ask || asked.contains(*id));
        for id in answers.iter().filter(is_stale) {
            let how = if asked.contains(id) { "is right" } else { "was not asked" };
            stale.push(format!("{machine}: `{id}` {how} (open: {fault})"));
        }
    }
    let unexpected: BTreeSet<String> = wrong.iter().filter(|id| !is_known(id)).cloned().collect();
    Judged { known: wrong.len() - unexpected.len(), unexpected, stale }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(about: &str, right: bool) -> Answer {
        let text = String::new;
        Answer {
            label: "info".to_owned(),
            about: about.to_owned(),
            expected: text(),
            said: text(),
            right,
        }
    }

    #[test]
    fn a_known_fault_is_expected_until_it_is_mended() {
        let open = [Open {
            fault: "one".to_owned(),
            machines: vec!["m".to_owned()],
            answers: vec!["info: a".to_owned(), "info: b".to_owned(), "info: c".to_owned()],
            sometimes: false,
        }];
        let answers = [answer("a", false), answer("b", true), answer("d", false)];
        let judged = judge("m", &answers, &open, true);
        assert_eq!(judged.known, 1);
        assert_eq!(judged.unexpected.iter().collect::<Vec<_>>(), ["info: d"]);
        assert_eq!(judged.stale.len(), 2, "{:?}", judged.stale);
        assert_eq!(judge("m", &answers, &open, false).stale.len(), 1);
        assert_eq!(judge("other", &answers, &open, true).unexpected.len(), 2);
    }
}
