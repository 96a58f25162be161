//! `cpudyno fleet`.

mod plan;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use fleet::hostlist;
use fleet::pack::PackedHosts;
use fleet::simulate::{FAULTS, PlantedFault, SimulatedFleet};
use fleet::survey::{self, Host, LeftOutHost, Rows, Survey};
use model::page::tally;
use model::record::PageKind;

use super::show::{refused, text};
use super::{packs, presentation, records, sinks_beside, unrecorded};
use crate::args::{AskedFault, FleetArgs, FleetCommand, Format, SimulateArgs};
use crate::failure::{Failure, code};
use crate::output::{self, Sink};

pub(super) fn run(args: FleetArgs) -> Result<ExitCode, Failure> {
    let FleetArgs { command, records, expect, groups, good, bad, fail_on, output } = args;
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
    let survey = surveyed(&records, expected.as_deref(), groups.as_ref(), html.as_deref())?;
    let presentation = presentation(&look, PageKind::Sheet);
    let page = survey::page(&survey, presentation.verbosity);
    let told = |format| match format {
        Format::Json => json(&survey),
        Format::Csv => {
            survey::csv(&survey).map_err(|error| Failure::new(code::BUG, error.to_string()))
        }
        Format::Html => views::html::render(|| &page, None).map_err(|error| super::broken(&error)),
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

/// Reads all records and holds the newest of each machine against the others.
fn surveyed(
    files: &[PathBuf],
    expected: Option<&[String]>,
    groups: Option<&BTreeMap<String, String>>,
    html: Option<&Path>,
) -> Result<Survey, Failure> {
    let rows = Rows::default();
    let PackedHosts { hosts: packed, older, mut left_out } = packs::read(files, &rows)?;
    let files = records::files(files)?;
    let read = records::rows(&files, &rows);
    let mut newest: BTreeMap<String, Host> = BTreeMap::new();
    // A run may be in a pack and be a record, too, and a record have a page.
    let mut runs: BTreeSet<(String, String)> = older.into_iter().collect();
    let mut interrupted: BTreeSet<(String, String)> = BTreeSet::new();
    let packed = packed.into_iter().map(|host| (Path::new("").to_owned(), Ok(host)));
    for (file, host) in packed.chain(files.into_iter().zip(read)) {
        match host {
            Ok(host) if host.interrupted.is_some() => {
                interrupted.insert((host.name, host.started));
            }
            Ok(host) => {
                runs.insert((host.name.clone(), host.started.clone()));
                match newest.get(&host.name) {
                    Some(known) if known.started >= host.started => {}
                    _ => drop(newest.insert(host.name.clone(), host)),
                }
            }
            Err(why) => {
                let name = records::host_name(&file);
                let file = Some(file.display().to_string());
                left_out.push(LeftOutHost { name, file, why: why.to_owned() });
            }
        }
    }
    left_out.extend(interrupted.into_iter().map(|(name, _)| {
        let why = "its run was interrupted".to_owned();
        LeftOutHost { name, file: None, why }
    }));
    left_out.sort_by(|a, b| (&a.name, &a.file, &a.why).cmp(&(&b.name, &b.file, &b.why)));
    left_out.dedup();
    for out in left_out.iter_mut().filter(|out| newest.contains_key(&out.name)) {
        out.why += "; another record of the machine is looked at";
    }
    let older = runs.len() - newest.len();
    let mut hosts: Vec<Host> = newest.into_values().collect();
    if let Some(html) = html {
        link_pages(&mut hosts, html);
    }
    let mut names = rows.names_in_order(&mut hosts);
    let group = |host: &Host| match groups {
        Some(groups) => groups.get(&host.name).cloned(),
        None => prefix(&host.name),
    };
    names.say("rack", "Group", &mut hosts, group);
    let mut survey = survey::survey(&hosts, &names);
    survey.left_out.extend(left_out);
    survey.older = older;
    // What has a record, though one that says nothing, is not missing.
    let seen = hosts.iter().map(|host| &host.name).chain(survey.left_out.iter().map(|it| &it.name));
    // Kernels often know their host with its domain, schedulers without.
    let short = |name: &String| name.split('.').next().unwrap_or_default().to_owned();
    let seen: BTreeSet<String> = seen.flat_map(|name| [name.clone(), short(name)]).collect();
    let expected: BTreeSet<String> = expected.unwrap_or_default().iter().cloned().collect();
    survey.missing = expected.difference(&seen).cloned().collect();
    Ok(survey)
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
    if survey.judged == 0 {
        return Err(Failure::new(code::NOT_HERE, "no machine could be held against others")
            .hint("it takes records of eight machines of a kind: `cpudyno sheet --json FILE`"));
    }
    let slower = survey.slower_than(share);
    if let Some(first) = slower.first() {
        let percent = (share * 1e8).round() / 1e6;
        let machines = tally(slower.len(), "machine");
        let lose = if slower.len() == 1 { "loses" } else { "lose" };
        let text = format!("{machines} {lose} more than {percent} %, first: {first}");
        return Err(Failure::new(code::NO, text));
    }
    let bad = survey.bad();
    let whole: BTreeSet<&String> = survey.good.iter().chain(&bad).collect();
    let unjudged = survey.left_out.iter().filter(|out| !whole.contains(&out.name)).count();
    if unjudged + survey.missing.len() > 0 {
        let (left_out, missing) = (tally(unjudged, "record"), survey.missing.len());
        let text =
            format!("{left_out} left out and {missing} missing: these machines were not judged");
        return Err(Failure::new(code::NOT_HERE, text).hint("-v names them, and why"));
    }
    Ok(ExitCode::SUCCESS)
}

fn json(survey: &Survey) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(survey);
    Ok(text.map_err(|error| Failure::new(code::BUG, error.to_string()))? + "\n")
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
    let simulated = SimulatedFleet::new(digest, args.hosts, args.seed, &faults);
    emptied(&args.folder)?;
    for host in 0..simulated.len() {
        base.digest = Some(simulated.digest(host));
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
