//! Is each classic stream as fast as the simplest loop of the same instruction?
//!
//! The loops are a C program; `turns` compares.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use kernels::{StreamRow, streams};
use model::CpuId;

use crate::turns::{Compared, Loops, Outcome, QUADS, pin};
use crate::{EXIT_CANNOT, EXIT_NO, companion, table, turns};

/// The plain loops, from the repository's root.
const SOURCE: &str = "benchmarks/plain-loops/plain.c";
/// What it is told.
const OPTIONS: &str = "-O2 -Wall -Wextra -Werror -masm=intel";
/// A stream is as fast as its plain loop when the two differ by no more than this.
const TOLERANCE: f64 = 0.02;

/// Compares every classic stream that can run here.
pub(crate) fn run(cpu: Option<CpuId>) -> anyhow::Result<ExitCode> {
    if !cfg!(target_arch = "x86_64") {
        bail!("cannot compare: the plain loops are written for x86-64");
    }
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    println!("{}", crate::load());
    let cpu = pin(cpu)?;
    // A child may run where its parent may.
    let mut plain = start(folder.path())?;
    println!("comparing {} streams on CPU {cpu}", streams::CLASSIC.len());
    let rows = streams::CLASSIC
        .iter()
        .map(|row| Ok((row.id, compare(row, &mut plain)?)))
        .collect::<anyhow::Result<Vec<_>>>()?;
    plain.stop()?;
    println!("\n{}", describe(&rows));
    Ok(ExitCode::from(exit_code(&rows)))
}

/// The plain loops, compiled and started.
fn start(folder: &Path) -> anyhow::Result<Loops> {
    let binary = folder.join("plain");
    companion::compile(SOURCE, OPTIONS, &binary)?;
    Loops::start(&binary, &[])
}

/// Measures a stream and its plain loop in turns.
fn compare(row: &'static StreamRow, plain: &mut Loops) -> anyhow::Result<Outcome> {
    let index = plain.index(row.id);
    let index = index.with_context(|| format!("`{SOURCE}` has no loop called `{}`", row.id))?;
    turns::compare(row, plain, index)
}

fn holds(compared: &Compared) -> bool {
    (compared.ratio - 1.0).abs() <= TOLERANCE
}

/// A refuted claim weighs more than one that could not be measured.
fn exit_code(rows: &[(&str, Outcome)]) -> u8 {
    let compared = rows.iter().filter_map(|(_, outcome)| match outcome {
        Outcome::Compared(compared) => Some(holds(compared)),
        Outcome::Lacking(_) => None,
    });
    match compared.reduce(|all, one| all && one) {
        Some(true) => 0,
        Some(false) => EXIT_NO,
        None => EXIT_CANNOT,
    }
}

fn describe(rows: &[(&str, Outcome)]) -> String {
    let compared: Vec<_> = rows
        .iter()
        .filter_map(|(id, outcome)| match outcome {
            Outcome::Compared(compared) => Some((*id, compared)),
            Outcome::Lacking(_) => None,
        })
        .collect();
    let lacking = rows.iter().filter_map(|(id, outcome)| match outcome {
        Outcome::Lacking(why) => Some([(*id).to_owned(), why.clone()]),
        Outcome::Compared(_) => None,
    });
    let mut parts = Vec::new();
    if !compared.is_empty() {
        let caption = format!(
            "Speed of each stream over that of its plain loop, median of {QUADS} quads; \
             at most {:.0} % apart",
            TOLERANCE * 100.0
        );
        parts.push(format!("{caption}\n{}", compared_table(&compared)));
    }
    let lacking: Vec<_> = lacking.collect();
    if !lacking.is_empty() {
        parts.push(format!("Not compared\n{}", table::plain(["stream", "why"], &[], lacking)));
    }
    parts.push(conclusion(&compared));
    parts.join("\n\n")
}

fn compared_table(compared: &[(&str, &Compared)]) -> String {
    let mops = |ops_per_second: f64| format!("{:.0}", ops_per_second * 1e-6);
    let range = |[low, high]: [f64; 2]| format!("{low:.4} - {high:.4}");
    let rows = compared.iter().map(|(id, compared)| {
        let verdict = if holds(compared) { "holds" } else { "FAILS" };
        [
            (*id).to_owned(),
            mops(compared.stream),
            mops(compared.plain),
            format!("{:.4}", compared.ratio),
            range(compared.interval),
            range(compared.spread),
            verdict.to_owned(),
        ]
    });
    let header =
        ["stream", "Mops", "plain Mops", "ratio", "its interval", "5 % - 95 % of quads", "verdict"];
    table::plain(header, &["Mops", "plain Mops", "ratio"], rows)
}

/// One sentence that a reader in a hurry may take away.
fn conclusion(compared: &[(&str, &Compared)]) -> String {
    let distance = |one: &Compared| (one.ratio - 1.0).abs();
    let worst = compared.iter().max_by(|a, b| distance(a.1).total_cmp(&distance(b.1)));
    let Some((id, worst)) = worst else {
        return "nothing could be compared: this CPU can run none of the streams".to_owned();
    };
    format!(
        "{} of {} streams are within {:.0} % of their plain loop; the farthest is {id} ({:+.2} %)",
        compared.iter().filter(|(_, one)| holds(one)).count(),
        compared.len(),
        TOLERANCE * 100.0,
        (worst.ratio - 1.0) * 100.0,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turns::Quad;

    fn compared(ratio: f64) -> Outcome {
        let quads: Vec<_> = (0..9).map(|_| Quad { stream: ratio * 3e9, plain: 3e9 }).collect();
        Outcome::Compared(Compared::of(&quads).unwrap())
    }

    #[test]
    fn two_per_cent_hold_and_more_does_not() {
        let code = |ratio| exit_code(&[("one", compared(ratio))]);
        assert_eq!(code(1.019), 0);
        assert_eq!(code(0.981), 0);
        assert_eq!(code(1.021), EXIT_NO);
        assert_eq!(code(0.979), EXIT_NO);
    }

    #[test]
    fn one_stream_that_is_off_decides() {
        let rows = [("good", compared(1.0)), ("bad", compared(1.5)), ("none", lacking())];
        assert_eq!(exit_code(&rows), EXIT_NO);
        let text = describe(&rows);
        assert!(text.contains("1 of 2 streams are within 2 %"), "{text}");
        assert!(text.contains("the farthest is bad (+50.00 %)"), "{text}");
        assert!(text.contains("lacks avx512f"), "{text}");
    }

    #[test]
    fn lacking_streams_refute_nothing_and_prove_nothing() {
        assert_eq!(exit_code(&[("good", compared(1.0)), ("none", lacking())]), 0);
        assert_eq!(exit_code(&[("none", lacking())]), EXIT_CANNOT);
    }

    /// The linker of these tests is a C compiler already.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn each_classic_stream_has_a_loop_that_runs() {
        let folder = tempfile::tempdir().unwrap();
        let mut plain = start(folder.path()).unwrap();
        let names: Vec<_> = plain.list.iter().map(|one| one.name.clone()).collect();
        let classic: Vec<_> = streams::CLASSIC.iter().map(|row| row.id).collect();
        assert_eq!(names, classic);
        for (index, row) in streams::CLASSIC.iter().enumerate() {
            if row.runnable().is_ok() {
                assert_eq!(plain.run(index, 3, 2).unwrap().len(), 2, "{}", row.id);
            }
        }
        plain.stop().unwrap();
    }

    fn lacking() -> Outcome {
        Outcome::Lacking("this CPU, or the system that runs it, lacks avx512f".to_owned())
    }
}
