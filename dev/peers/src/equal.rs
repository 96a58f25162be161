//! Does `ab` find no difference where there is none, and does it name who disturbs it?
//!
//! Comparisons of A with A on this machine: of areas and of a command in turns. Then the same beside a
//! process that spins on the CPU that is measured.

use std::process::{Child, Command, ExitCode, Stdio};

use anyhow::Context;
use machine::Machine;
use measure::ab::{self, AbSubject, Comparing, Metric};
use model::record::{PageKind, Presentation, Record};
use model::stats::paired::Verdict;
use model::stats::share_at_most;
use model::{CpuId, CpuSet, Known, Seconds};
use rig::executor::Stop;

use crate::{EXIT_NO, because, table};

/// Of twenty runs with equal arms so many may find a difference.
const FALSE_MAX_OF_20: usize = 1;

/// What stands for a command.
const ANY_COMMAND: &str = "command";
const COMMAND: [&str; 3] = ["sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"];

/// Who spins.
const SPINNER: &str = "yes";

/// Compares; each comparison takes about so long.
pub(crate) fn run(runs: usize, budget: Seconds, areas: &[String]) -> anyhow::Result<ExitCode> {
    let machine = Machine::real();
    let usable = machine.host.affinity().map_err(|reason| because(&reason))?;
    let cpu = usable.iter().next().context("this process may use no CPU")?;
    println!("{}; {runs} runs, {:.0} s each", crate::load(), budget.0);
    let mut rows = Vec::new();
    let (mut wrong, mut named, mut unanswered, mut failed) = (0, 0, 0, 0);
    for index in 0..runs {
        let area = areas[index % areas.len()].as_str();
        let subject = (area != ANY_COMMAND).then_some(area);
        let quiet = compare(&machine, subject, cpu, budget);
        let disturbed = {
            let _spinner = Spinner::start(cpu)?;
            compare(&machine, subject, cpu, budget)
        };
        let is_named = disturbed.as_ref().is_ok_and(names_the_spinner);
        let verdict = verdict(&quiet);
        wrong += usize::from(verdict.is_false);
        failed += usize::from(quiet.is_err());
        unanswered += usize::from(quiet.as_ref().is_ok_and(|record| !has_answer(record)));
        named += usize::from(is_named);
        let words = if is_named { SPINNER } else { "nobody" };
        let left_out = [&quiet, &disturbed].map(left_out).join(" / ");
        let beside = self::verdict(&disturbed).words;
        let row =
            [area.to_owned(), verdict.words, verdict.ratio, left_out, words.to_owned(), beside];
        rows.push(row);
    }
    let header = ["measured", "A with A", "ratio", "left out", "named", "beside it"];
    println!("{}", table::plain(header, &[], rows));
    println!(
        "{wrong} of {runs} found a difference between equal arms (below {:.0} % with a confidence of \
         95 %); a process that spins on the same CPU was named in {named} of {runs}",
        share_at_most(wrong as u64, runs as u64) * 100.0
    );
    let allowed = (runs * FALSE_MAX_OF_20).div_ceil(20);
    // What has no answer keeps no promise: noise may take a quarter of them, an error none.
    let told = format!("{unanswered} of {runs} had no answer, {failed} failed");
    println!("{told}; at most {} and none are allowed", runs / 4);
    let is_answered = failed == 0 && unanswered <= runs / 4;
    let is_good = wrong <= allowed && named == runs && is_answered;
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::from(EXIT_NO) })
}

fn compare(
    machine: &Machine,
    subject: Option<&str>,
    cpu: CpuId,
    budget: Seconds,
) -> anyhow::Result<Record> {
    let what = match subject {
        Some(id) => AbSubject::Area(
            measure::areas::subjects::find(id)
                .with_context(|| format!("there is no area `{id}`"))?,
            None,
        ),
        None => AbSubject::Command(COMMAND.map(str::to_owned).to_vec(), Metric::Wall),
    };
    let mut comparing = Comparing { budget, ..Comparing::usual(what) };
    // Waking takes two CPUs.
    if subject != Some("wake") {
        for own in &mut comparing.own {
            own.cpus = Some(CpuSet::from_iter([cpu]));
        }
    }
    let look = Presentation::of(PageKind::Ab);
    let described = machine::describe(machine, Vec::new(), look);
    let run = ab::run(machine, &comparing, None, described, &Stop::default(), &mut |_| {});
    run.with_context(|| format!("cannot compare {}", subject.unwrap_or("a command")))
}

/// Whether there is a ratio at all, with whichever verdict.
fn has_answer(record: &Record) -> bool {
    record.comparison.as_ref().is_some_and(|run| run.comparison.value().is_some())
}

struct Told {
    is_false: bool,
    words: String,
    ratio: String,
}

fn verdict(compared: &anyhow::Result<Record>) -> Told {
    let record = match compared {
        Ok(record) => record,
        Err(error) => {
            let words = format!("{error}: {}", error.root_cause());
            return Told { is_false: false, words, ratio: "-".to_owned() };
        }
    };
    match record.comparison.as_ref().map(|run| &run.comparison) {
        Some(Known::Yes(found)) => Told {
            is_false: matches!(found.verdict, Verdict::Faster | Verdict::Slower),
            words: match &found.verdict {
                Verdict::Faster => "faster".to_owned(),
                Verdict::Slower => "slower".to_owned(),
                Verdict::Same => "same".to_owned(),
                Verdict::CannotTell(reason) => format!("cannot tell: {}", reason.why),
            },
            ratio: format!("{:.4}", found.ratio.centre.exp()),
        },
        Some(Known::No { unavailable }) => {
            Told { is_false: false, words: unavailable.why.clone(), ratio: "-".to_owned() }
        }
        None => Told { is_false: false, words: "no comparison".to_owned(), ratio: "-".to_owned() },
    }
}

/// Quads that were left out, of those that were tried.
fn left_out(compared: &anyhow::Result<Record>) -> String {
    let run = compared.as_ref().ok().and_then(|record| record.comparison.as_ref());
    run.map_or_else(String::new, |run| {
        format!("{} of {}", run.left_out.len(), run.left_out.len() + run.quads.len())
    })
}

fn names_the_spinner(record: &Record) -> bool {
    let name = format!("`{SPINNER}`");
    record.findings.iter().any(|f| f.id == "run.rivals" && f.text.contains(&name))
}

/// A process that uses all of a CPU, until it is dropped.
struct Spinner(Child);

impl Spinner {
    fn start(cpu: CpuId) -> anyhow::Result<Spinner> {
        let mut command = Command::new(SPINNER);
        command.stdout(Stdio::null());
        sys::process::arrange(&mut command, Some(CpuSet::from_iter([cpu])), None);
        Ok(Spinner(command.spawn().with_context(|| format!("cannot run {SPINNER}"))?))
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        // It may have been ended by somebody else.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
