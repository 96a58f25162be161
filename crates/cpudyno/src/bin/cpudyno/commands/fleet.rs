//! `cpudyno fleet`.

mod newest;
mod plan;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use fleet::hostlist;
use fleet::simulate::{FAULTS, PlantedFault, SimulatedFleet};
use fleet::survey::{self, Host, LeftOutHost, Rows, Survey};
use fleet::window::RunWindow;
use model::Seconds;
use model::page::tally;
use model::record::PageKind;

use self::newest::NewestRuns;
use super::show::{refused, text};
use super::{json, packs, percent, presentation, sinks_beside, unrecorded};
use crate::args::{AskedFault, FleetArgs, FleetCommand, Format, SimulateArgs, Since};
use crate::failure::{Failure, code};
use crate::output::{self, Sink};

/// Which records are looked at.
struct Asked<'a> {
    records: &'a [PathBuf],
    since: Option<&'a Since>,
    age_max: Option<Duration>,
    expected: Option<&'a [String]>,
}

pub(super) fn run(args: FleetArgs) -> Result<ExitCode, Failure> {
    let FleetArgs { command, records, since, max_age, expect, groups, .. } = args;
    let FleetArgs { good, bad, fail_on, output, .. } = args;
    match command {
        Some(FleetCommand::Pack(args)) => return packs::pack(&args),
        Some(FleetCommand::Plan(args)) => return plan::run(&args),
        Some(FleetCommand::Simulate(args)) => return simulate(&args),
        None => {}
    }
    let html = output.files.html.clone();
    let (sinks, look) = sinks_beside(&records, output)?;
    let expected = expect.as_deref().map(hosts_of).transpose()?;
    let groups = groups.as_deref().map(grouped).transpose()?;
    let asked = Asked {
        records: &records,
        since: since.as_ref(),
        age_max: max_age.map(|Seconds(age)| Duration::from_secs_f64(age)),
        expected: expected.as_deref(),
    };
    let survey = surveyed(&asked, groups.as_ref(), html.as_deref())?;
    let presentation = presentation(&look, PageKind::Sheet);
    let page = survey::page(&survey, presentation.verbosity);
    let told = |format| match format {
        Format::Json => json(serde_json::to_string_pretty(&survey)),
        Format::Csv => {
            survey::csv(&survey).map_err(|error| Failure::new(code::BUG, error.to_string()))
        }
        Format::Html => {
            let mut page = page.clone();
            if presentation.verbosity == 0 {
                page.blocks.extend(survey::folded(&survey));
            }
            views::html::render(|| &page, None).map_err(|error| super::broken(&error))
        }
        format => unrecorded("a survey", &page, format, presentation),
    };
    let written = sinks.write(told);
    match (good, bad) {
        (true, _) => output::data(&(hostlist::told(&survey.good) + "\n"))?,
        (_, true) => output::data(&(hostlist::told(&survey.bad()) + "\n"))?,
        _ => output::data(&told(look.format)?)?,
    }
    written?;
    fail_on.map_or(Ok(ExitCode::SUCCESS), |share| judged(&survey, share))
}

/// Reads all records and holds the newest of each machine against the others, and against what it was.
fn surveyed(
    args: &Asked<'_>,
    groups: Option<&BTreeMap<String, String>>,
    html: Option<&Path>,
) -> Result<Survey, Failure> {
    let rows = Rows::default();
    let time = match args.since {
        Some(Since::Time(time)) => Some(time.clone()),
        Some(Since::Records(_)) | None => None,
    };
    let window = RunWindow::until_now(args.age_max).since(time);
    let NewestRuns { now, mut before, compared, mut left_out, mut older } =
        newest::read(args.records, &window, &rows)?;
    if let Some(Since::Records(folder)) = args.since {
        let start = |host: &Host| (host.name.clone(), host.started.clone());
        let window = RunWindow::until_now(None).before(now.values().map(start).collect());
        let earlier = newest::read(std::slice::from_ref(folder), &window, &rows)?;
        if earlier.now.is_empty() {
            return Err(none_before(folder));
        }
        before = earlier.now;
        older += earlier.older;
        let said = |out: LeftOutHost| LeftOutHost { why: format!("of before: {}", out.why), ..out };
        left_out.extend(earlier.left_out.into_iter().map(said));
    }
    let counts = [now.len(), now.len() + before.len()];
    let hosts = now.into_values().chain(before.into_values()).chain(compared.into_values());
    let mut hosts: Vec<Host> = hosts.collect();
    if let Some(html) = html {
        link_pages(&mut hosts, html);
    }
    let mut names = rows.names_in_order(&mut hosts);
    let group = |host: &Host| match groups {
        Some(groups) => groups.get(&host.name).cloned(),
        None => prefix(&host.name),
    };
    names.say("rack", "Group", &mut hosts, group);
    let compared = hosts.split_off(counts[1]);
    let before = hosts.split_off(counts[0]);
    let mut survey = survey::survey(&hosts, &names).with_answers(&compared, &names);
    if let Some(since) = args.since {
        survey = survey.with_drift(survey::drift(&hosts, &before, &names, since.to_string()));
    }
    survey.left_out.extend(left_out);
    survey.older = older;
    survey.missing = missing(args.expected, &hosts, &survey.left_out);
    Ok(survey)
}

fn none_before(folder: &Path) -> Failure {
    let (is_there, folder) = (folder.exists(), folder.display());
    let text = if is_there {
        format!("`{folder}` has no record of a run that began before those of now")
    } else {
        format!("`{folder}` is neither a time nor there")
    };
    Failure::usage(text)
        .hint("such as --since 2026-11-01 (UTC), --since 30d, or --since last-month/")
}

/// Which machines were expected and have no record, not even one that says nothing.
fn missing(expected: Option<&[String]>, hosts: &[Host], left_out: &[LeftOutHost]) -> Vec<String> {
    let seen = hosts.iter().map(|host| &host.name).chain(left_out.iter().map(|it| &it.name));
    // Kernels often know their host with its domain, schedulers without.
    let short = |name: &String| name.split('.').next().unwrap_or_default().to_owned();
    let seen: BTreeSet<String> = seen.flat_map(|name| [name.clone(), short(name)]).collect();
    let expected: BTreeSet<String> = expected.unwrap_or_default().iter().cloned().collect();
    expected.difference(&seen).cloned().collect()
}

/// Links machines whose page lies beside their record, as a page that is written to `html` reaches it.
fn link_pages(hosts: &mut [Host], html: &Path) {
    let folder = html.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(folder) = folder.canonicalize() else { return };
    for host in hosts {
        let Ok(page) = Path::new(&host.file).with_extension("html").canonicalize() else {
            continue;
        };
        let shown = page.strip_prefix(&folder).unwrap_or(&page);
        host.page = Some(
            shown.to_string_lossy().replace('%', "%25").replace('#', "%23").replace('?', "%3F"),
        );
    }
}

/// A name without the number at its end; none where nothing else is left.
fn prefix(name: &str) -> Option<String> {
    // That ends in no number.
    if name.starts_with("localhost") {
        return None;
    }
    let short = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let short = short.trim_end_matches(|letter: char| !letter.is_ascii_digit());
    (!short.is_empty() && short != name).then(|| short.to_owned())
}

/// The names that a file lists, a name or a host list to a line.
fn hosts_of(file: &Path) -> Result<Vec<String>, Failure> {
    let text = lines(file)?.join("\n");
    hostlist::read(&text).map_err(|why| {
        Failure::usage(format!("`{}`: {why}", file.display()))
            .hint("names, or lists as Slurm has them: n[01-64]")
    })
}

/// The lines of a file that are not empty.
fn lines(file: &Path) -> Result<Vec<String>, Failure> {
    let text = fs::read_to_string(file).map_err(|error| {
        let why = sys::errno::words(&error);
        Failure::usage(format!("cannot read `{}`: {why}", file.display()))
            .hint("a name to a line, as `sinfo -hN -o %N` prints them")
    })?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    Ok(lines.map(str::to_owned).collect())
}

/// Which group each machine is in.
fn grouped(file: &Path) -> Result<BTreeMap<String, String>, Failure> {
    let lines = lines(file)?;
    let pair = |(place, line): (usize, &String)| {
        let (name, group) = line.split_once(char::is_whitespace).ok_or_else(|| {
            let (file, line) = (file.display(), place + 1);
            Failure::usage(format!("`{file}`, line {line}: no name and group"))
                .hint("lines of a machine's name, a blank and its group: r07n12 rack7")
        })?;
        Ok((name.to_owned(), group.trim().to_owned()))
    };
    lines.iter().enumerate().map(pair).collect()
}

/// The answer for scripts.
fn judged(survey: &Survey, share: f64) -> Result<ExitCode, Failure> {
    if let Some(first) = survey.wrong.first() {
        let machines = tally(survey.wrong.len(), "machine");
        let text = format!("{machines} with wrong answers, first: {}, {}", first.name, first.cpus);
        return Err(Failure::new(code::NO, text).hint("there: cpudyno verify --minutes 10"));
    }
    if survey.judged == 0 {
        return Err(Failure::new(code::NOT_HERE, "no machine could be held against others")
            .hint("it takes records of eight machines of a kind: `cpudyno sheet --json FILE`"));
    }
    let slower = survey.slower_than(share);
    if let Some(first) = slower.first() {
        let machines = tally(slower.len(), "machine");
        let lose = if slower.len() == 1 { "loses" } else { "lose" };
        let text = format!("{machines} {lose} more than {} %, first: {first}", percent(share));
        return Err(Failure::new(code::NO, text));
    }
    let mut slower = survey.drift.iter().flat_map(|drift| drift.fleet_slower_than(share));
    if let Some(change) = slower.next() {
        let (what, lost) = (model::areas::result_name(&change.column.what), 1.0 - change.ratio);
        let text = format!("the fleet loses {:.1} % of what it was in {what}", lost * 100.0);
        return Err(Failure::new(code::NO, text));
    }
    let bad = survey.bad();
    let whole: BTreeSet<&String> = survey.good.iter().chain(&bad).collect();
    let unjudged = survey.left_out.iter().filter(|out| !whole.contains(&out.name)).count();
    if let Some(drift) = &survey.drift {
        let (gone, left_out) = (drift.gone.len(), drift.apart.left_out.len());
        if drift.apart.judged == 0 || gone + left_out > 0 {
            let text = format!(
                "{} not measured since, and {left_out} could not be held against before",
                tally(gone, "machine")
            );
            return Err(Failure::new(code::NOT_HERE, text).hint("-v names them, and why"));
        }
    }
    if unjudged + survey.missing.len() > 0 {
        let (left_out, missing) = (tally(unjudged, "record"), survey.missing.len());
        let text =
            format!("{left_out} left out and {missing} missing: these machines were not judged");
        return Err(Failure::new(code::NOT_HERE, text).hint("-v names them, and why"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes a fleet that nobody owns.
fn simulate(args: &SimulateArgs) -> Result<ExitCode, Failure> {
    let mut buffer = Vec::new();
    let text = text(&args.from, &mut buffer)?;
    let mut base =
        model::record::read(&text).map_err(|error| refused(&args.from, &text, &error))?;
    if base.run.simulated.is_none() {
        let why = format!("`{}` is a record of a real machine", args.from.display());
        return Err(Failure::usage(why)
            .hint("a fleet is made of a simulated one: `cpudyno sheet --machine sim:2s-56c --json base.json`"));
    }
    let digest = base.digest.take().unwrap_or_else(|| fleet::digest::of(&base));
    base.series.clear();
    let faults: Vec<PlantedFault> = args
        .faults
        .iter()
        .flat_map(|asked| match asked {
            AskedFault::All => {
                FAULTS.iter().map(|fault| PlantedFault { fault, count: None }).collect()
            }
            AskedFault::One(planted) => vec![*planted],
        })
        .collect();
    let simulated = SimulatedFleet::new(digest, args.hosts, args.seed, &faults).on_day(args.day);
    emptied(&args.folder)?;
    for host in 0..simulated.len() {
        let digest = simulated.digest(host);
        base.run.id.clone_from(&digest.run.id);
        base.run.started.clone_from(&digest.run.started);
        base.digest = Some(digest);
        let file = args.folder.join(simulated.name(host) + ".json");
        let text = views::json::render(&base).map_err(|error| super::broken(&error))?;
        Sink::open(&file)?.write(&text)?;
    }
    let mut told = format!("SIMULATED: {} records in {}\n", simulated.len(), args.folder.display());
    for (fault, hosts) in simulated.planted() {
        let _ = writeln!(told, "{}: {fault}", hostlist::told(&hosts));
    }
    output::data(&told)?;
    Ok(ExitCode::SUCCESS)
}

/// Makes a folder, or sees that it is empty.
fn emptied(folder: &Path) -> Result<(), Failure> {
    let fail = |error: std::io::Error| {
        let why = sys::errno::words(&error);
        Failure::usage(format!("cannot write to the folder `{}`: {why}", folder.display()))
            .hint("name a new folder")
    };
    fs::create_dir_all(folder).map_err(fail)?;
    if fs::read_dir(folder).map_err(fail)?.next().is_some() {
        return Err(Failure::usage(format!("the folder `{}` is not empty", folder.display()))
            .hint("name a new folder: simulated machines are not put beside others"));
    }
    Ok(())
}
