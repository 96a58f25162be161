//! The face of the reference tool beside the reference tool: the unmodified program, under our preload
//! library, and ours, on the same simulated machines, byte by byte. Of what changes something our own face,
//! `cpudyno sst`, is held against it as well: what firmware and files hold afterwards.

mod cases;
mod intended;
mod native;
mod speed;
mod tool;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context;
use levers::journal::JournalDir;
use machine::Machine;
use sst::change::Wish;
use sst::compat::{self, TOOLS, Tool};

use self::cases::Case;
use self::intended::{Difference, Expected, OWN, TABLE};
use self::native::Native;
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
    face: Face,
    verdict: Verdict,
    /// There, and here.
    ioctls: [Option<usize>; 2],
}

/// How ours is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Face {
    /// As the reference tool.
    Compat,
    /// `cpudyno sst`.
    Native,
}

/// Compares everything, or those calls in whose name that text is, or says why that is not possible here.
pub(crate) fn run(only: Option<&str>) -> anyhow::Result<ExitCode> {
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
    let native = Native::build()?;
    let compared = compare_all(&shim, &tools, &native, only)?;
    println!("{}", summary(&compared));
    let mut different = false;
    for Compared { case, face, verdict, .. } in &compared {
        if let Verdict::Different(how) = verdict {
            println!("DIFFERENT: {}\n{how}", called(case, *face));
            different = true;
        }
    }
    // What only one version shows cannot be seen without it.
    let is_whole = only.is_none() && tools.len() == TOOLS.len();
    different |= is_whole && unseen(&compared);
    Ok(if different { ExitCode::from(EXIT_NO) } else { ExitCode::SUCCESS })
}

/// Whether a row expects what no call shows: it would be a claim that nothing supports.
fn unseen(compared: &[Compared]) -> bool {
    let seen = |id: &str| {
        compared
            .iter()
            .any(|one| matches!(&one.verdict, Verdict::Intended(ids) if ids.contains(&id)))
    };
    let rows = TABLE.iter().filter(|row| !row.is_general).map(|row| row.id);
    let rows = rows.chain(OWN.iter().map(|row| row.id));
    let unseen: Vec<&str> = rows.filter(|id| !seen(id)).collect();
    if !unseen.is_empty() {
        println!("intended differences that no call shows: {}", unseen.join(", "));
    }
    !unseen.is_empty()
}

fn called(case: &Case, face: Face) -> String {
    let (version, machine, state) = (case.tool.version, case.machine, case.state.name);
    let beside = if face == Face::Native { "`cpudyno sst` beside " } else { "" };
    format!("{beside}version {version} on sim:{machine} ({state}): {}", case.arguments().join(" "))
}

/// All cases, as many at once as there are CPUs.
fn compare_all(
    shim: &Shim,
    tools: &[Built],
    native: &Native,
    only: Option<&str>,
) -> anyhow::Result<Vec<Compared>> {
    let is_there = |case: &Case| tools.iter().any(|built| built.tool == case.tool);
    let is_meant = |case: &Case| only.is_none_or(|text| called(case, Face::Compat).contains(text));
    let cases = cases::all().into_iter().filter(|case| is_there(case) && is_meant(case));
    let cases: Vec<Case> = cases.collect();
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let work = || -> anyhow::Result<()> {
        let place = Place::new()?;
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(at) else { return Ok(()) };
            let compared = compare(shim, tools, native, &place, case)?;
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
    Ok(done.into_iter().flat_map(|(_, compared)| compared).collect())
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
    let shelf = JournalDir::new(place.0.path().join("journal"), &machine);
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
        file: answer
            .file
            .filter(|(path, _)| path == Path::new(tool::RESULTS))
            .map_or_else(String::new, |(_, text)| text),
        code: answer.code.into(),
        ioctls: answer.ioctls as usize,
        state: tool::state(&place.0.path().join("state"))?,
    })
}

/// What is expected of a call.
#[derive(Default)]
struct Expectation {
    /// What the reference tool did, edited.
    run: Run,
    /// The rows by which it was.
    rows: Vec<&'static str>,
    /// Those of them that are about more than what is printed.
    rows_of_state: Vec<&'static str>,
    /// What is expected in its place, by the last of them.
    instead: Option<Expected>,
}

/// None: that needs a version that is not here.
fn expectation(
    shim: &Shim,
    tools: &[Built],
    place: &Place,
    case: &Case,
    run: Run,
) -> anyhow::Result<Option<Expectation>> {
    let mut expected = Expectation { run, ..Expectation::default() };
    for Difference { id, is_general, expects, .. } in TABLE {
        let Some(instead) = expects(case, &expected.run) else { continue };
        if !is_general {
            expected.rows.push(*id);
        }
        let run = match instead {
            Expected::Edited(run) => run,
            Expected::Otherwise(other) => edited(&other, there(shim, tools, place, &other)?),
            // It is told by another version, which is not here.
            Expected::Both(other, _) if tools.iter().all(|built| built.tool != other.tool) => {
                let called = called(case, Face::Compat);
                println!("not compared without version {}: {called}", other.tool.version);
                return Ok(None);
            }
            Expected::Both(other, edit) => {
                let run = edited(&other, there(shim, tools, place, &other)?);
                edit(&expected.run, &run)
            }
            instead => {
                expected.rows_of_state.push(*id);
                expected.instead = Some(instead);
                return Ok(Some(expected));
            }
        };
        if run.state != expected.run.state {
            expected.rows_of_state.push(*id);
        }
        expected.run = run;
    }
    Ok(Some(expected))
}

/// Both faces of ours, as far as they are compared: none, where that needs a version that is not here.
fn compare(
    shim: &Shim,
    tools: &[Built],
    native: &Native,
    place: &Place,
    case: &Case,
) -> anyhow::Result<Vec<Compared>> {
    let run_there = there(shim, tools, place, case)?;
    let ours = here(place, case)?;
    let ioctls = [run_there.ioctls, ours.ioctls].map(Some);
    let Some(expected) = expectation(shim, tools, place, case, run_there)? else {
        return Ok(Vec::new());
    };
    let mut compared = Vec::new();
    if case.is_change() && !case.json && case.tool == Tool::DEFAULT {
        let run = native.run(place, case)?;
        let verdict = native::verdict(case, &expected, &run)?;
        let (case, face, ioctls) = (case.clone(), Face::Native, [ioctls[0], None]);
        compared.push(Compared { case, face, verdict, ioctls });
    }
    let verdict = verdict(case, expected, &ours)?;
    compared.push(Compared { case: case.clone(), face: Face::Compat, verdict, ioctls });
    Ok(compared)
}

fn verdict(case: &Case, expected: Expectation, ours: &Run) -> anyhow::Result<Verdict> {
    let Expectation { run, rows, instead, .. } = expected;
    let is_met = match instead {
        Some(Expected::Refused(code)) => is_refused(case, ours, code)?,
        Some(Expected::Done) => {
            let told = ours.stderr.contains("success") && is_json(case, ours);
            ours.code == 0 && ours.state == run.state && told
        }
        Some(Expected::Failed) => ours.code == 1 && ours.stderr.contains("Error"),
        Some(Expected::Results) => ours.code == run.code && ours.stderr == run.stderr,
        Some(Expected::OwnText) => ours.code == 0 && ours.stdout.lines().count() > 3,
        _ => {
            return Ok(match first_difference(&run, ours) {
                Some(how) => Verdict::Different(how),
                None if rows.is_empty() => Verdict::Equal,
                None => Verdict::Intended(rows),
            });
        }
    };
    Ok(if is_met { Verdict::Intended(rows) } else { unmet(&rows, ours) })
}

fn unmet(rows: &[&str], ours: &Run) -> Verdict {
    let id = rows.last().copied().unwrap_or_default();
    Verdict::Different(format!("  what row `{id}` expects did not come:\n{}", shown(ours)))
}

/// Whether it was refused with that exit code, and nothing was changed.
fn is_refused(case: &Case, ours: &Run, code: i32) -> anyhow::Result<bool> {
    let as_it_was = tool::state_of(case.state.file)? == ours.state;
    Ok(ours.code == code && ours.stderr.starts_with("error: ") && as_it_was)
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
    if let Some(how) = other_state(expected, ours) {
        return Some(how);
    }
    let streams = [
        ("standard output", &expected.stdout, &ours.stdout),
        ("standard error", &expected.stderr, &ours.stderr),
        ("the file of -o", &expected.file, &ours.file),
    ];
    let (stream, there, here) = streams.into_iter().find(|(_, there, here)| there != here)?;
    let line = there.lines().zip(here.lines()).take_while(|(there, here)| there == here).count();
    let at = |text: &str| text.lines().nth(line).unwrap_or("(the end)").to_owned();
    let (there, here) = (at(there), at(here));
    Some(format!("  {stream}, line {}:\n  expected {there:?}\n  got      {here:?}", line + 1))
}

/// How the state of the machine differs.
fn other_state(expected: &Run, ours: &Run) -> Option<String> {
    let lines = |some: &[String], other: &[String], sign: &str| {
        let missing = some.iter().filter(|line| !other.contains(line)).take(6);
        missing.fold(String::new(), |text, line| text + "    " + sign + " " + line + "\n")
    };
    let (there, here) = (&expected.state, &ours.state);
    let differs = lines(there, here, "-") + &lines(here, there, "+");
    (there != here)
        .then(|| format!("  state of the machine (- expected, + got):\n{differs}{}", shown(ours)))
}

fn shown(run: &Run) -> String {
    let lines = run.stdout.lines().chain(run.stderr.lines()).take(8);
    lines.fold(String::new(), |text, line| text + "    " + line + "\n")
}

/// A row for each face, version, machine and state, and the intended differences that were seen.
fn summary(compared: &[Compared]) -> String {
    struct Counts {
        verdicts: [usize; 3],
        ioctls: [Option<usize>; 2],
    }
    let mut rows: BTreeMap<(usize, [&str; 4]), Counts> = BTreeMap::new();
    let mut order: Vec<[&str; 4]> = Vec::new();
    for Compared { case, face, verdict, ioctls } in compared {
        let face = if *face == Face::Native { "cpudyno sst" } else { "--compat" };
        let key = [face, case.tool.version, case.machine, case.state.name];
        let place = order.iter().position(|known| *known == key).unwrap_or_else(|| {
            order.push(key);
            order.len() - 1
        });
        let none = || Counts { verdicts: [0; 3], ioctls: [Some(0); 2] };
        let counts = rows.entry((place, key)).or_insert_with(none);
        counts.verdicts[match verdict {
            Verdict::Equal => 0,
            Verdict::Intended(_) => 1,
            Verdict::Different(_) => 2,
        }] += 1;
        for (sum, count) in counts.ioctls.iter_mut().zip(ioctls) {
            *sum = sum.zip(*count).map(|(sum, count)| sum + count);
        }
    }
    let cells = rows.into_iter().map(|((_, [face, version, machine, state]), counts)| {
        let [equal, intended, different] = counts.verdicts.map(|count| count.to_string());
        let [there, here] =
            counts.ioctls.map(|count| count.map_or("-".to_owned(), |it| it.to_string()));
        let [face, version, machine, state] = [face, version, machine, state].map(str::to_owned);
        [face, version, machine, state, equal, intended, different, there, here]
    });
    let right = ["equal", "intended", "different", "ioctls there", "here"];
    let header = [
        "face",
        "version",
        "machine",
        "state",
        "equal",
        "intended",
        "different",
        "ioctls there",
        "here",
    ];
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
    let own = OWN.iter().map(|row| {
        [row.id.to_owned(), seen(row.id), format!("{}; cpudyno sst: {}", row.there, row.here)]
    });
    let header = ["intended difference", "calls", "what and why"];
    let intended = table::plain(header, &["calls"], differences.chain(own));
    format!("{text}\n\n{intended}\n")
}
