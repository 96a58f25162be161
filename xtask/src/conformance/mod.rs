//! The face of the reference tool beside the reference tool: the unmodified program, under our preload
//! library, and ours, on the same simulated machines, byte by byte.

mod cases;
mod intended;
mod speed;
mod tool;

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context;
use levers::journal::Shelf;
use machine::Machine;
use sst::change::Wish;
use sst::compat::{self, TOOLS};

use self::cases::Case;
use self::intended::{Difference, Expected, TABLE};
pub(crate) use self::speed::{ioctls_percent, time_percent};
use self::tool::{Built, Run, Shim};
use crate::{EXIT_CANNOT, EXIT_NO, table};

/// How a comparison came out.
enum Verdict {
    Equal,
    /// Equal to what these rows expect.
    Intended(Vec<&'static str>),
    /// The first line that differs: what was expected, and what came.
    Different(String),
}

struct Compared {
    case: Case,
    verdict: Verdict,
    /// There, and here.
    ioctls: [usize; 2],
}

/// Compares everything, or says why that is not possible here.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let shim = Shim::build()?;
    let mut tools = Vec::new();
    for tool in TOOLS {
        match Built::new(&shim, tool) {
            Ok(built) => tools.push(built),
            Err(error) => {
                let (version, kernel) = (tool.version, tool.kernel);
                eprintln!("SKIPPED: version {version} of the reference tool: {error:#}");
                eprintln!(
                    "hint: it is built from Debian's package linux-source-{kernel}, with libnl-genl-3-dev"
                );
            }
        }
    }
    if tools.is_empty() {
        return Ok(ExitCode::from(EXIT_CANNOT));
    }
    let compared = compare_all(&shim, &tools)?;
    println!("{}", summary(&compared));
    let mut different = false;
    for Compared { case, verdict, .. } in &compared {
        if let Verdict::Different(how) = verdict {
            println!("DIFFERENT: {}\n{how}", called(case));
            different = true;
        }
    }
    // What only one version shows cannot be seen without it.
    different |= unseen(&compared) && tools.len() == TOOLS.len();
    Ok(if different { ExitCode::from(EXIT_NO) } else { ExitCode::SUCCESS })
}

/// Whether a row expects what no call shows: it would be a claim that nothing supports.
fn unseen(compared: &[Compared]) -> bool {
    let seen = |id: &str| {
        compared
            .iter()
            .any(|one| matches!(&one.verdict, Verdict::Intended(ids) if ids.contains(&id)))
    };
    let unseen: Vec<&str> =
        TABLE.iter().filter(|row| !row.is_general && !seen(row.id)).map(|row| row.id).collect();
    if !unseen.is_empty() {
        println!("intended differences that no call shows: {}", unseen.join(", "));
    }
    !unseen.is_empty()
}

fn called(case: &Case) -> String {
    let (version, machine, state) = (case.tool.version, case.machine, case.state.name);
    format!("version {version} on sim:{machine} ({state}): {}", case.arguments().join(" "))
}

/// All cases, as many at once as there are CPUs.
fn compare_all(shim: &Shim, tools: &[Built]) -> anyhow::Result<Vec<Compared>> {
    let is_there = |case: &Case| tools.iter().any(|built| built.tool == case.tool);
    let cases: Vec<Case> = cases::all().into_iter().filter(is_there).collect();
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let work = || -> anyhow::Result<()> {
        let place = Place::new()?;
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(at) else { return Ok(()) };
            let compared = compare(shim, tools, &place, case)?;
            done.lock()
                .map_err(|_| anyhow::anyhow!("BUG: a thread panicked"))?
                .push((at, compared));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| -> anyhow::Result<()> {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            thread.join().map_err(|_| anyhow::anyhow!("BUG: a thread panicked"))??;
        }
        Ok(())
    })?;
    let mut done = done.into_inner().map_err(|_| anyhow::anyhow!("BUG: a thread panicked"))?;
    done.sort_by_key(|(at, _)| *at);
    Ok(done.into_iter().filter_map(|(_, compared)| compared).collect())
}

/// Where files of a thread's cases lie.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> anyhow::Result<Place> {
        Ok(Place(tempfile::tempdir().context("cannot make a folder for what is compared")?))
    }

    /// The machine of a case as it was before; nothing of another call is left.
    fn machine(&self, case: &Case) -> anyhow::Result<String> {
        for entry in std::fs::read_dir(self.0.path())? {
            let path = entry?.path();
            if path.is_dir() {
                std::fs::remove_dir_all(path)?;
            } else {
                std::fs::remove_file(path)?;
            }
        }
        let file = self.0.path().join("state");
        std::fs::write(&file, case.state.file)?;
        Ok(format!("sim:{}@{}", case.machine, file.display()))
    }
}

fn there(shim: &Shim, tools: &[Built], place: &Place, case: &Case) -> anyhow::Result<Run> {
    let machine = place.machine(case)?;
    let tool = tools.iter().find(|built| built.tool == case.tool);
    let tool = tool.context("BUG: a case names a tool that is not in the table")?;
    tool.run(shim, &machine, &case.arguments(), place.0.path())
}

fn here(place: &Place, case: &Case) -> anyhow::Result<Run> {
    let machine = Machine::named(&place.machine(case)?)?;
    let shelf = Shelf::new(place.0.path().join("journal"), &machine);
    let mut changer = |wish: &Wish| {
        let levers = levers::port::of(&machine).ok_or_else(|| levers::Error::Absent {
            setting: "Speed Select".to_owned(),
            why: "nothing writes to this machine".to_owned(),
            remedy: None,
        })?;
        sst::change::make(&machine, levers, &shelf, "conformance", wish)
    };
    let answer = compat::answer(&machine, case.tool, &case.arguments(), &mut changer);
    Ok(Run {
        stdout: answer.stdout,
        stderr: answer.stderr,
        code: answer.code.into(),
        ioctls: answer.ioctls as usize,
        state: tool::state(&place.0.path().join("state"))?,
    })
}

/// None: that needs a version that is not here.
fn compare(
    shim: &Shim,
    tools: &[Built],
    place: &Place,
    case: &Case,
) -> anyhow::Result<Option<Compared>> {
    let run_there = there(shim, tools, place, case)?;
    let ours = here(place, case)?;
    let ioctls = [run_there.ioctls, ours.ioctls];
    let mut expected = run_there;
    let mut rows = Vec::new();
    for Difference { id, is_general, expects, .. } in TABLE {
        let Some(instead) = expects(case, &expected) else { continue };
        if !is_general {
            rows.push(*id);
        }
        let is_met = match instead {
            Expected::Edited(run) => {
                expected = run;
                continue;
            }
            Expected::Otherwise(other) => {
                expected = edited(&other, there(shim, tools, place, &other)?);
                continue;
            }
            // It is told by another version, which is not here.
            Expected::Both(other, _) if tools.iter().all(|built| built.tool != other.tool) => {
                println!("not compared without version {}: {}", other.tool.version, called(case));
                return Ok(None);
            }
            Expected::Both(other, edit) => {
                let run = edited(&other, there(shim, tools, place, &other)?);
                expected = edit(&expected, &run);
                continue;
            }
            Expected::Refused(code) => {
                let as_it_was = tool::state_of(case.state.file)? == ours.state;
                ours.code == code && ours.stderr.starts_with("error: ") && as_it_was
            }
            Expected::Done => {
                let told = ours.stderr.contains("success") && is_json(case, &ours);
                ours.code == 0 && ours.state == expected.state && told
            }
            Expected::Failed => ours.code == 1 && ours.stderr.contains("Error"),
            Expected::Results => ours.code == expected.code && ours.stderr == expected.stderr,
            Expected::OwnText => ours.code == 0 && ours.stdout.lines().count() > 3,
        };
        let verdict = if is_met {
            Verdict::Intended(rows)
        } else {
            Verdict::Different(format!("  what row `{id}` expects did not come:\n{}", shown(&ours)))
        };
        return Ok(Some(Compared { case: case.clone(), verdict, ioctls }));
    }
    let verdict = match first_difference(&expected, &ours) {
        Some(how) => Verdict::Different(how),
        None if rows.is_empty() => Verdict::Equal,
        None => Verdict::Intended(rows),
    };
    Ok(Some(Compared { case: case.clone(), verdict, ioctls }))
}

/// Whether it is JSON, where that was asked for.
fn is_json(case: &Case, run: &Run) -> bool {
    !case.json || serde_json::from_str::<serde_json::Value>(&run.stderr).is_ok()
}

/// The edits that need no other call.
fn edited(case: &Case, run: Run) -> Run {
    TABLE.iter().fold(run, |run, row| match (row.expects)(case, &run) {
        Some(Expected::Edited(run)) => run,
        _ => run,
    })
}

fn first_difference(expected: &Run, ours: &Run) -> Option<String> {
    if expected.code != ours.code {
        let (there, here) = (expected.code, ours.code);
        return Some(format!("  exit code: expected {there}, got {here}\n{}", shown(ours)));
    }
    if expected.state != ours.state {
        let lines = |some: &[String], other: &[String], sign: &str| {
            let missing = some.iter().filter(|line| !other.contains(line)).take(6);
            missing.fold(String::new(), |text, line| text + "    " + sign + " " + line + "\n")
        };
        let (there, here) = (&expected.state, &ours.state);
        let differs = lines(there, here, "-") + &lines(here, there, "+");
        return Some(format!(
            "  state of the machine (- expected, + got):\n{differs}{}",
            shown(ours)
        ));
    }
    let streams = [
        ("standard output", &expected.stdout, &ours.stdout),
        ("standard error", &expected.stderr, &ours.stderr),
    ];
    let (stream, there, here) = streams.into_iter().find(|(_, there, here)| there != here)?;
    let line = there.lines().zip(here.lines()).take_while(|(there, here)| there == here).count();
    let at = |text: &str| text.lines().nth(line).unwrap_or("(the end)").to_owned();
    let (there, here) = (at(there), at(here));
    Some(format!("  {stream}, line {}:\n  expected {there:?}\n  got      {here:?}", line + 1))
}

fn shown(run: &Run) -> String {
    let lines = run.stdout.lines().chain(run.stderr.lines()).take(8);
    lines.fold(String::new(), |text, line| text + "    " + line + "\n")
}

/// A row for each machine and version, and the intended differences that were seen.
fn summary(compared: &[Compared]) -> String {
    let mut rows: Vec<([String; 3], [usize; 5])> = Vec::new();
    for Compared { case, verdict, ioctls } in compared {
        let key = [case.tool.version, case.machine, case.state.name].map(str::to_owned);
        if rows.last().is_none_or(|(last, _)| *last != key) {
            rows.push((key, [0; 5]));
        }
        let Some((_, counts)) = rows.last_mut() else { continue };
        counts[match verdict {
            Verdict::Equal => 0,
            Verdict::Intended(_) => 1,
            Verdict::Different(_) => 2,
        }] += 1;
        counts[3] += ioctls[0];
        counts[4] += ioctls[1];
    }
    let cells = rows.into_iter().map(|([version, machine, state], counts)| {
        let [equal, intended, different, there, here] = counts.map(|count| count.to_string());
        [version, machine, state, equal, intended, different, there, here]
    });
    let right = ["equal", "intended", "different", "ioctls there", "here"];
    let header =
        ["version", "machine", "state", "equal", "intended", "different", "ioctls there", "here"];
    let text = table::plain(header, &right, cells);
    let seen = |id: &str| {
        let has =
            |it: &&Compared| matches!(&it.verdict, Verdict::Intended(ids) if ids.contains(&id));
        compared.iter().filter(has).count().to_string()
    };
    let differences = TABLE.iter().map(|row| {
        let calls = if row.is_general { "all".to_owned() } else { seen(row.id) };
        [row.id.to_owned(), calls, format!("{}; here: {}", row.there, row.here)]
    });
    let intended =
        table::plain(["intended difference", "calls", "what and why"], &["calls"], differences);
    format!("{text}\n\n{intended}\n")
}
