//! Do instructions cost on this CPU what others found on its microarchitecture?

use std::process::ExitCode;

use anyhow::Context;
use report::areas::published::{self, Bound, Comparison, FigureVerdict};
use report::areas::turbo::published_costs::compare;

use crate::{EXIT_CANNOT, EXIT_NO, agree, built, table};

/// All streams, each alone on a core.
const COMMAND: [&str; 5] = ["turbo", "--test", "all", "--max-threads", "1"];

/// Measures once and compares with `data/instruction-latency.toml`.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let binary = built::release_binary()?;
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let record = agree::measure(&binary, &COMMAND, &folder.path().join("latency.json"))?;
    let comparisons = compare(&record);
    println!("\nCore cycles per op with one core active, median\n{}\n", shown(&comparisons));
    println!("{}", published::citations(comparisons.iter().map(|c| &c.figures)).join("\n"));
    let answer = Answer::of(comparisons.iter().map(|c| (c.stream, c.bound, c.verdict())));
    println!("\n{}", answer.text());
    Ok(match answer {
        Answer::Equal(_) => ExitCode::SUCCESS,
        Answer::Differ(_) => {
            println!("the record is kept in `{}`", folder.keep().display());
            ExitCode::from(EXIT_NO)
        }
        Answer::NothingKnown => ExitCode::from(EXIT_CANNOT),
    })
}

fn shown(comparisons: &[Comparison<'_>]) -> String {
    let rows = comparisons.iter().map(|c| {
        [
            c.stream.to_owned(),
            c.core_type.unwrap_or("").to_owned(),
            format!("{:.4}", c.measured),
            c.figures.words(),
            c.figures.sources(),
            c.verdict().word().to_owned(),
        ]
    });
    let header = ["stream", "core", "measured", "known", "source", "verdict"];
    table::plain(header, &["measured", "known"], rows)
}

/// What the latency streams say; throughputs depend on what else a core does, and are shown only.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    /// So many equal a known latency.
    Equal(usize),
    /// These differ from all known ones.
    Differ(Vec<String>),
    /// There is none to compare with.
    NothingKnown,
}

impl Answer {
    fn of<'a>(
        verdicts: impl IntoIterator<Item = (&'a str, Option<Bound>, FigureVerdict)>,
    ) -> Answer {
        let mut equal = 0;
        let mut differing = Vec::new();
        for (stream, bound, verdict) in verdicts {
            match verdict {
                FigureVerdict::Equal if bound == Some(Bound::Latency) => equal += 1,
                FigureVerdict::Differs if bound == Some(Bound::Latency) => {
                    differing.push(stream.to_owned());
                }
                FigureVerdict::Equal
                | FigureVerdict::Differs
                | FigureVerdict::Unsure
                | FigureVerdict::Unknown => {}
            }
        }
        match (equal, differing.is_empty()) {
            (0, true) => Answer::NothingKnown,
            (_, true) => Answer::Equal(equal),
            (_, false) => Answer::Differ(differing),
        }
    }

    fn text(&self) -> String {
        match self {
            Answer::Equal(count) => format!("{count} latencies equal known ones within 2 %"),
            Answer::Differ(streams) => {
                format!("other latencies than all known ones: {}", streams.join(", "))
            }
            Answer::NothingKnown => {
                "nothing could be compared: no latency is known of this microarchitecture\n\
                 hint: `data/README.md` says how to add one"
                    .to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_latencies_decide() {
        let equal = ("fma", Some(Bound::Latency), FigureVerdict::Equal);
        let differs = ("add", Some(Bound::Latency), FigureVerdict::Differs);
        let beside = [
            ("pause", Some(Bound::Spin), FigureVerdict::Differs),
            ("fma_t", Some(Bound::Throughput), FigureVerdict::Differs),
            ("xor", None, FigureVerdict::Unknown),
        ];
        assert_eq!(Answer::of(beside), Answer::NothingKnown);
        assert_eq!(Answer::of(beside.into_iter().chain([equal])), Answer::Equal(1));
        assert_eq!(Answer::of([equal, differs]), Answer::Differ(vec!["add".to_owned()]));
    }
}
