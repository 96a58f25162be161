//! Does this machine pass? Bounds on results, and their place among earlier records.
//!
//! [`Bound`]s are read from what users type, [`request`] measures what they need within a budget,
//! [`judge`] says what came of it as a part of the record, [`page`] shows it.

use model::name::did_you_mean;
use model::page::{Align, Block, Page, Table, Text, Tone, si};
use model::record::{
    BoundKind, BoundOutcome, GateBound, GateRun, GateVerdict, Presentation, Record, ReferenceRun,
    ResultKey,
};
use model::{CpuSet, Finding, Known, Obstacle, Seconds, Severity, Unavailable, Unit};

use crate::areas::{self, AREAS, cores};
use crate::run::plan::Cell;
use crate::run::{Asked, Request};
use crate::sheet;
use report::compare::name;
use report::compare::results::{self, Found, Measured};
use report::reference;
use report::sheet::parts;
use rig::signals;

/// A bound on results of one name.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    /// The name, as it was typed.
    pub name: String,
    /// Which side it bounds.
    pub kind: BoundKind,
    /// The bound, in `unit`.
    pub limit: f64,
    /// Its unit.
    pub unit: Unit,
    area: &'static str,
    quantity: &'static str,
    /// One workload, or any that has the quantity.
    workload: Option<String>,
    /// So many active cores; none: as many as there are results for.
    cores: Option<usize>,
}

/// Why a text is no bound, and what helps.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{why}")]
pub struct NoBound {
    /// Why.
    pub why: String,
    /// What helps.
    pub hint: String,
}

/// What can be bounded of an area.
struct Named {
    area: &'static str,
    /// Quantities, the usual one first.
    quantities: &'static [&'static str],
    /// Shorter names of a workload with its quantity.
    short: &'static [(&'static str, &'static str, &'static str)],
    workloads: fn() -> Vec<&'static str>,
}

const NAMED: &[Named] = &[
    Named {
        area: "turbo",
        quantities: &["clock", "cycles_per_op"],
        short: &[],
        workloads: || kernels::streams::TABLE.iter().map(|row| row.id).collect(),
    },
    Named {
        area: "memory",
        quantities: &["bandwidth", "latency"],
        short: &[],
        workloads: || {
            kernels::memory::TABLE.iter().map(|kernel| kernel.id).chain(["chase"]).collect()
        },
    },
    Named {
        area: "cores",
        quantities: &["latency"],
        short: &[],
        workloads: || cores::MESSAGES.iter().map(|message| message.id).collect(),
    },
    Named {
        area: "pause",
        quantities: &["cycles_per_op"],
        short: &[],
        workloads: || vec!["pause_only"],
    },
    Named {
        area: "wake",
        quantities: &["time_per_signal", "round_trip"],
        // What most programs sleep on.
        short: &[("latency", "futex", "time_per_signal")],
        workloads: || signals::TABLE.iter().map(|method| method.id).collect(),
    },
    Named {
        area: "openmp",
        quantities: &["loop_time"],
        short: &[],
        workloads: || vec!["libgomp", "libomp", "libiomp5"],
    },
];

impl Named {
    /// Everything that may stand behind the name of the area.
    fn words(&self) -> impl Iterator<Item = &'static str> {
        let short = self.short.iter().map(|(short, ..)| *short);
        self.quantities.iter().copied().chain(short).chain((self.workloads)())
    }

    /// The quantity of a workload that is meant where none is named.
    fn usual(&self, workload: Option<&str>) -> &'static str {
        match workload {
            Some("chase") => "latency",
            _ => self.quantities[0],
        }
    }
}

/// Every name of a result that can be bounded: `memory.triad`, `memory.bandwidth`.
pub fn names() -> Vec<String> {
    let of = |named: &Named| {
        named.words().map(|word| format!("{}.{word}", named.area)).collect::<Vec<_>>()
    };
    NAMED.iter().flat_map(of).collect()
}

/// What a bound looks like.
const FORM: &str =
    "a bound is AREA.RESULT=VALUE, such as memory.triad=80GB/s or turbo.clock@2=2.4GHz";

impl Bound {
    /// Reads `memory.triad=80GB/s`, `turbo.avx512_fma.clock@28=2.1GHz`.
    pub fn read(text: &str, kind: BoundKind) -> Result<Bound, NoBound> {
        let form = |why: String| NoBound { why, hint: FORM.to_owned() };
        let (name, value) =
            text.split_once('=').ok_or_else(|| form("it has no value".to_owned()))?;
        let (name, value) = (name.trim(), value.trim());
        let (path, cores) = match name.split_once('@') {
            None => (name, None),
            Some((path, cores)) => match cores.parse::<usize>() {
                Ok(cores) if cores > 0 => (path, Some(cores)),
                _ => return Err(form(format!("`{cores}` is no number of cores"))),
            },
        };
        let mut words = path.split('.');
        let area = words.next().unwrap_or_default();
        let Some(named) = NAMED.iter().find(|named| named.area == area) else {
            return Err(unknown(path));
        };
        let (mut workload, mut quantity) = (None, None);
        for word in words {
            if let Some(known) = named.quantities.iter().find(|known| **known == word)
                && quantity.is_none()
            {
                quantity = Some(*known);
            } else if let Some((_, of, its)) = named.short.iter().find(|row| row.0 == word)
                && workload.is_none()
                && quantity.is_none()
            {
                (workload, quantity) = (Some((*of).to_owned()), Some(*its));
            } else if (named.workloads)().contains(&word) && workload.is_none() {
                workload = Some(word.to_owned());
            } else {
                return Err(unknown(path));
            }
        }
        if workload.is_none() && quantity.is_none() {
            return Err(unknown(path));
        }
        let quantity = quantity.unwrap_or_else(|| named.usual(workload.as_deref()));
        let known = model::areas::quantity(named.area, quantity);
        let unit = known.map(|quantity| quantity.unit).ok_or_else(|| unknown(path))?;
        let limit =
            in_base_units(value, unit).map_err(|why| NoBound { why, hint: such_as(path, unit) })?;
        let (name, area) = (name.to_owned(), named.area);
        Ok(Bound { name, kind, limit, unit, area, quantity, workload, cores })
    }

    /// Whether a result is meant.
    fn is_about(&self, what: &ResultKey) -> bool {
        let question = what.parameters.get("question").map(String::as_str);
        what.area == self.area
            && what.quantity == self.quantity
            && self.workload.as_ref().is_none_or(|workload| *workload == what.workload)
            && self.cores.is_none_or(|cores| cores == what.active)
            && question != Some("sweep")
            // Under load beside it, or after a rest, it is another number.
            && !["beside", "rest_us"].iter().any(|it| what.parameters.contains_key(*it))
    }

    /// Whether a cell may give it a number.
    fn needs(&self, area: &str, cell: &Cell) -> bool {
        let is_it = |id: &str| self.workload.as_ref().is_none_or(|workload| workload == id);
        let question = cell.parameters.get("question").map(String::as_str);
        area == self.area
            && question != Some("sweep")
            && cell.workloads().iter().any(|workload| is_it(workload.id))
            && !["beside", "rest_us"].iter().any(|it| cell.parameters.contains_key(*it))
    }
}

fn unknown(path: &str) -> NoBound {
    let names = names();
    let near = did_you_mean(path, names.iter().map(String::as_str));
    let areas: Vec<&str> = NAMED.iter().map(|named| named.area).collect();
    let hint = near.map_or_else(
        || format!("{FORM}; areas: {}", areas.join(", ")),
        |near| format!("did you mean `{near}`?"),
    );
    NoBound { why: format!("there is no result `{path}`"), hint }
}

/// Units that numbers of a unit may be typed in, and what one of them is.
fn units(unit: Unit) -> &'static [(&'static str, f64)] {
    match unit {
        Unit::Hertz => &[("GHz", 1e9), ("MHz", 1e6), ("kHz", 1e3), ("Hz", 1.0)],
        Unit::Second | Unit::SecondPerOp => {
            &[("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)]
        }
        Unit::BytePerSecond => &[
            ("GB/s", 1e9),
            ("MB/s", 1e6),
            ("kB/s", 1e3),
            ("TB/s", 1e12),
            ("GiB/s", 1_073_741_824.0),
            ("MiB/s", 1_048_576.0),
            ("KiB/s", 1024.0),
            ("B/s", 1.0),
        ],
        Unit::Cycle | Unit::CyclePerOp => {
            &[("cycles", 1.0), ("cycle", 1.0), ("cycles/op", 1.0), ("cycle/op", 1.0)]
        }
        _ => &[("", 1.0)],
    }
}

/// `80GB/s` as 8e10.
fn in_base_units(text: &str, unit: Unit) -> Result<f64, String> {
    let is_number = |end: &usize| {
        text.is_char_boundary(*end)
            && text.starts_with(|c: char| c.is_ascii_digit() || c == '.')
            && text[..*end].parse::<f64>().is_ok()
    };
    let end = (1..=text.len()).rev().find(is_number);
    let Some(end) = end else { return Err(format!("`{text}` is no number with a unit")) };
    let (number, typed) = (text[..end].parse::<f64>().unwrap_or_default(), text[end..].trim());
    let row = units(unit).iter().find(|(symbol, _)| *symbol == typed);
    let Some((_, scale)) = row else {
        return Err(if typed.is_empty() {
            format!("`{text}` has no unit")
        } else {
            format!("`{typed}` is no unit of it")
        });
    };
    match number * scale {
        value if !value.is_finite() => Err(format!("`{text}` is larger than any number can be")),
        value if value > 0.0 => Ok(value),
        _ => Err(format!("`{text}` is not above zero")),
    }
}

fn such_as(path: &str, unit: Unit) -> String {
    let symbols: Vec<&str> = units(unit).iter().map(|(symbol, _)| *symbol).collect();
    let value = match unit {
        Unit::Hertz => "2.4GHz",
        Unit::Second | Unit::SecondPerOp => "120ns",
        Unit::BytePerSecond => "80GB/s",
        _ => "4cycles",
    };
    format!("such as {path}={value}; units: {}", symbols.join(", "))
}

/// What is measured: all that a sheet has, or no more than the bounds need.
pub fn request(
    budget: Seconds,
    cpus: Option<CpuSet>,
    bounds: Option<Vec<Bound>>,
    command: Vec<String>,
    presentation: Presentation,
) -> Request {
    let whole = sheet::request(budget, cpus, None, command, presentation);
    let Some(bounds) = bounds else { return whole };
    // Streams that only a bound names are no part of the sheet.
    let named = |row: &&&'static kernels::StreamRow| {
        bounds
            .iter()
            .any(|bound| bound.area == "turbo" && bound.workload.as_deref() == Some(row.id))
    };
    let mut streams = whole.streams;
    let extra: Vec<_> = kernels::streams::TABLE.iter().filter(named).copied().collect();
    streams.extend(
        extra
            .into_iter()
            .filter(|row| !kernels::streams::SHEET.iter().any(|known| known.id == row.id)),
    );
    Request {
        streams,
        ask: Box::new(move |plan| {
            let needed = AREAS.iter().filter(|area| bounds.iter().any(|b| b.area == area.id()));
            let asked = |area: &&'static dyn areas::Area| {
                let mut wishes = area.wishes(plan);
                wishes.cells.retain(|cell| bounds.iter().any(|b| b.needs(area.id(), cell)));
                Asked { area: *area, wishes }
            };
            Ok(needed.map(asked).collect())
        }),
        ..whole
    }
}

/// What came of it.
pub fn judge(record: &Record, bounds: &[Bound], reference: Option<&ReferenceRun>) -> GateRun {
    let results: Vec<(ResultKey, Found)> = results::of_record(record).into_iter().collect();
    let bounds: Vec<GateBound> = bounds.iter().map(|bound| bounded(bound, &results)).collect();
    let mut failed: Vec<String> = bounds.iter().filter_map(broken).collect();
    let mut open: Vec<String> = bounds.iter().filter_map(not_judged).collect();
    let mut held = Vec::new();
    if !bounds.is_empty() && failed.is_empty() && open.is_empty() {
        held.push(match bounds.as_slice() {
            [one] => told(one),
            several => format!("{} bounds hold", several.len()),
        });
    }
    if let Some(reference) = reference {
        let worse = reference::findings(reference);
        let outside = worse.iter().filter(|finding| finding.severity >= Severity::Warning);
        failed.extend(outside.map(|finding| format!("{}: {}", finding.about, finding.text)));
        let placed =
            reference.positions.iter().filter(|position| position.place.value().is_some()).count();
        if placed == 0 {
            let left_out = reference::left_out(reference);
            let more = left_out.map_or_else(String::new, |some| format!(" ({some}: -v)"));
            open.push(reference::too_few(reference) + &more);
        } else {
            let records = reference.records;
            held.push(format!("{placed} results lie where {records} earlier records do"));
        }
    }
    let measured = results.iter().filter(|(_, found)| matches!(found, Found::Is(_))).count();
    if held.is_empty() {
        held.push(format!("{measured} results were measured, and nothing was asked of them"));
    }
    let serious = record.findings.iter().find(|finding| finding.severity == Severity::Serious);
    // A run that nobody should rely on lets nobody pass.
    open.extend(serious.filter(|_| failed.is_empty()).map(in_brief));
    if let Some(why) = &record.run.interrupted {
        open.insert(0, format!("the run was {why}"));
    }
    if measured == 0 && failed.is_empty() && open.is_empty() {
        open.push("nothing could be measured".to_owned());
    }
    let (verdict, lines) = match (failed.as_slice(), open.as_slice()) {
        ([_, ..], _) => (GateVerdict::Fail, &failed),
        ([], [_, ..]) => (GateVerdict::CannotJudge, &open),
        ([], []) => (GateVerdict::Pass, &held),
    };
    let reason = match (verdict, lines.as_slice()) {
        (GateVerdict::Pass, all) => all.join("; "),
        (_, [first]) => first.clone(),
        (_, [first, rest @ ..]) => format!("{first}; and {} more", rest.len()),
        (_, []) => String::new(),
    };
    // Whoever drains a machine for it is to know that somebody else was at work.
    let disturbed = record.findings.iter().filter(|finding| is_disturbance(finding));
    let worst =
        disturbed.max_by_key(|finding| finding.severity).filter(|_| verdict == GateVerdict::Fail);
    let reason = match worst {
        Some(finding) => format!("{reason}; this run was disturbed: {}", finding.text),
        None => reason,
    };
    GateRun { verdict, reason, bounds }
}

/// Whether it says that something else than the machine itself may have made numbers worse.
fn is_disturbance(finding: &Finding) -> bool {
    const DISTURBANCES: [&str; 7] = [
        "run.gaps",
        "run.contended",
        "run.preempted",
        "run.rivals",
        "run.busy-",
        "run.stood-still",
        "disturbance.",
    ];
    finding.severity >= Severity::Warning
        && DISTURBANCES.iter().any(|begin| finding.id.starts_with(begin))
}

fn in_brief(finding: &Finding) -> String {
    format!("{}: {}", finding.about, finding.text)
}

/// A bound beside the result that comes nearest to breaking it.
fn bounded(bound: &Bound, results: &[(ResultKey, Found)]) -> GateBound {
    let about: Vec<&(ResultKey, Found)> =
        results.iter().filter(|(what, _)| bound.is_about(what)).collect();
    let is = |pair: &&(ResultKey, Found)| match &pair.1 {
        Found::Is(measured) => Some((pair.0.clone(), measured.clone())),
        Found::Absent(_) => None,
    };
    // What this machine cannot do is no part of it; what there was no time or quiet for is.
    let missed = |pair: &&(ResultKey, Found)| match &pair.1 {
        Found::Absent(reason) if reason.obstacle == Obstacle::Measurement => {
            Some((pair.0.clone(), reason.clone()))
        }
        _ => None,
    };
    let mut all: Vec<(ResultKey, Measured)> = about.iter().filter_map(is).collect();
    let mut missed: Vec<(ResultKey, Unavailable)> = about.iter().filter_map(missed).collect();
    let keys = all.iter().map(|(what, _)| what).chain(missed.iter().map(|(what, _)| what));
    let most = keys.map(|what| what.active).max();
    all.retain(|(what, _)| Some(what.active) == most);
    missed.retain(|(what, _)| Some(what.active) == most);
    let worst = all.into_iter().reduce(|a, b| {
        let b_is_worse = match bound.kind {
            BoundKind::Min => b.1.value.median < a.1.value.median,
            BoundKind::Max => b.1.value.median > a.1.value.median,
        };
        if b_is_worse { b } else { a }
    });
    let outcome = worst.map(|(what, measured)| {
        let value = measured.value.median;
        let holds = match bound.kind {
            BoundKind::Min => value >= bound.limit,
            BoundKind::Max => value <= bound.limit,
        };
        BoundOutcome { what, value, interval: measured.value.interval, holds }
    });
    // What is broken is broken, whatever else is not known.
    let outcome = outcome.filter(|outcome| !outcome.holds || missed.is_empty());
    let absent = || {
        let told = missed.first().map(|(what, reason)| {
            let cores = if what.active == 1 { "core" } else { "cores" };
            format!("{} on {} {cores}: {}", what.workload, what.active, reason.why)
        });
        let told = told.or_else(|| {
            about.iter().find_map(|(_, found)| match found {
                Found::Absent(reason) => Some(reason.why.clone()),
                Found::Is(_) => None,
            })
        });
        let why = told.unwrap_or_else(|| match bound.cores {
            Some(cores) => format!("it was not measured on {cores} cores here"),
            None => "it was not measured here".to_owned(),
        });
        Unavailable::new(Obstacle::Measurement, bound.name.clone(), why).with_remedy(
            "`cpudyno sheet --dry-run` says what can be measured here; --budget gives it more time",
        )
    };
    GateBound {
        name: bound.name.clone(),
        kind: bound.kind,
        limit: bound.limit,
        unit: bound.unit,
        outcome: outcome.ok_or_else(absent).into(),
    }
}

fn on(active: usize) -> String {
    if active == 1 { "on 1 core".to_owned() } else { format!("on {active} cores") }
}

fn told(bound: &GateBound) -> String {
    let Known::Yes(outcome) = &bound.outcome else { return String::new() };
    let side = match (bound.kind, outcome.holds) {
        (BoundKind::Min, true) => "at least",
        (BoundKind::Max, true) => "at most",
        (BoundKind::Min, false) => "below",
        (BoundKind::Max, false) => "above",
    };
    let (value, limit) =
        (si::format(outcome.value, bound.unit), si::format(bound.limit, bound.unit));
    let workload = &outcome.what.workload;
    let of = if bound.name.contains(workload.as_str()) {
        String::new()
    } else {
        format!(" ({workload})")
    };
    format!("{}{of} is {value} {}, {side} {limit}", bound.name, on(outcome.what.active))
}

fn broken(bound: &GateBound) -> Option<String> {
    bound.outcome.value().filter(|outcome| !outcome.holds).map(|_| told(bound))
}

fn not_judged(bound: &GateBound) -> Option<String> {
    match &bound.outcome {
        Known::Yes(_) => None,
        Known::No { unavailable } => Some(format!("{}: {}", bound.name, unavailable.why)),
    }
}

/// The verdict as a word.
pub fn word(verdict: GateVerdict) -> &'static str {
    match verdict {
        GateVerdict::Pass => "PASS",
        GateVerdict::Fail => "FAIL",
        GateVerdict::CannotJudge => "CANNOT JUDGE",
    }
}

/// The answer in one line.
pub fn line(record: &Record) -> String {
    let Some(run) = &record.gate else { return String::new() };
    let simulated = if record.run.simulated.is_some() { "SIMULATED " } else { "" };
    format!("{simulated}{}: {}", word(run.verdict), run.reason)
}

/// The page: verdict, bounds, the place among earlier records, findings.
pub fn page(record: &Record, verbosity: u8) -> Page {
    let tone = match record.gate.as_ref().map(|run| run.verdict) {
        Some(GateVerdict::Pass) => Tone::Good,
        Some(GateVerdict::Fail) => Tone::Serious,
        Some(GateVerdict::CannotJudge) | None => Tone::Warning,
    };
    let title = match &record.run.simulated {
        Some(name) => format!("SIMULATED gate: machine sim:{name}, nothing was measured"),
        None => "Does this machine pass?".to_owned(),
    };
    let mut blocks = vec![
        Block::Title { text: title, subtitle: parts::subtitle(record) },
        Block::Paragraph(Text::toned(line(record), tone)),
    ];
    let Some(run) = &record.gate else { return Page { blocks } };
    blocks.push(Block::Paragraph(parts::trust(record)));
    if !run.bounds.is_empty() {
        blocks.push(bounds_table(&run.bounds));
    }
    if let Some(reference) = &record.reference {
        blocks.push(reference::table(reference, verbosity));
    }
    blocks.push(Block::Heading("Findings".to_owned()));
    blocks.push(parts::findings(record));
    if verbosity > 0 {
        blocks.extend(parts::missing(record));
        blocks.extend(parts::details(record));
    }
    Page { blocks }
}

fn bounds_table(bounds: &[GateBound]) -> Block {
    let row = |bound: &GateBound| {
        let side = if bound.kind == BoundKind::Min { "at least" } else { "at most" };
        let limit = format!("{side} {}", si::format(bound.limit, bound.unit));
        let (found, of, word) = match &bound.outcome {
            Known::Yes(outcome) => (
                Text::from(si::format(outcome.value, bound.unit)),
                Text::from(format!("{}, {}", name(&outcome.what), on(outcome.what.active))),
                if outcome.holds {
                    Text::toned("holds", Tone::Good)
                } else {
                    Text::toned("fails", Tone::Serious)
                },
            ),
            Known::No { unavailable } => (
                Text::toned("-", Tone::Faint),
                Text::from(unavailable.why.as_str()),
                Text::toned("cannot judge", Tone::Warning),
            ),
        };
        vec![Text::from(bound.name.as_str()), limit.into(), found, word, of]
    };
    let columns = [
        ("bound", Align::Label),
        ("is", Align::Right),
        ("found", Align::Right),
        ("", Align::Left),
        ("the result that comes nearest", Align::Left),
    ];
    Block::Table(Table {
        caption: "bounds".to_owned(),
        columns: columns.map(|(name, align)| (name.to_owned(), align)).to_vec(),
        rows: bounds.iter().map(row).collect(),
        notes: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::compare::is_judged;

    fn limit(text: &str) -> Result<(Unit, f64), String> {
        let bound = Bound::read(text, BoundKind::Min);
        bound.map(|bound| (bound.unit, bound.limit)).map_err(|error| error.to_string())
    }

    #[test]
    fn bounds_have_names_and_units_of_the_project() {
        assert_eq!(limit("memory.triad=80GB/s"), Ok((Unit::BytePerSecond, 80e9)));
        let why = |text| limit(text).unwrap_err();
        assert!(why("memory.triad=1e400GB/s").contains("larger than any number can be"));
        assert!(why("memory.triad=0GB/s").contains("is not above zero"));
        assert_eq!(limit("memory.bandwidth=1GiB/s"), Ok((Unit::BytePerSecond, 1_073_741_824.0)));
        assert_eq!(limit("turbo.avx256_fma@2=2.5 GHz"), Ok((Unit::Hertz, 2.5e9)));
        let Ok((Unit::Second, latency)) = limit("wake.latency=50us") else { panic!() };
        assert!((latency - 50e-6).abs() < 1e-12);
        let of = |name: &str| Bound::read(name, BoundKind::Max).map(|bound| bound.quantity);
        assert_eq!(of("wake.latency=50us"), Ok("time_per_signal"));
        assert_eq!(of("wake.futex.round_trip=50us"), Ok("round_trip"));
        for bad in [
            "memory.triad",
            "memory.triad=80",
            "memory.triad=80GHz",
            "memory.triad=fast",
            "memory.triad=0GB/s",
            "memory.triad=infGB/s",
            "memory.triad@0=1GB/s",
            "memory=1GB/s",
            "memory.triadd=1GB/s",
            "memory.triad.copy=1GB/s",
            "memroy.triad=1GB/s",
            "=",
            "",
        ] {
            assert!(limit(bad).is_err(), "{bad}");
        }
        let hint = Bound::read("memory.triadd=1GB/s", BoundKind::Min).unwrap_err().hint;
        assert!(hint.contains("`memory.triad`"), "{hint}");
    }

    /// A record of the clocks of a simulated machine, for these bounds.
    fn clocks(bounds: &[Bound]) -> Record {
        use model::record::PageKind;
        let look = Presentation { width: 80, colour: false, verbosity: 0, page: PageKind::Sheet };
        let asked = request(Seconds(3.0), None, Some(bounds.to_vec()), Vec::new(), look);
        let machine = machine::Machine::named("sim:4c").unwrap();
        let stop = rig::executor::Stop::default();
        crate::run::measure(&machine, &asked, &stop, &mut |_| {}).unwrap()
    }

    #[test]
    fn a_stopped_run_lets_nobody_pass() {
        let bound = |text| vec![Bound::read(text, BoundKind::Min).unwrap()];
        let (held, broken) = (bound("turbo.clock@1=1MHz"), bound("turbo.clock@1=1000GHz"));
        let mut record = clocks(&held);
        assert_eq!(judge(&record, &held, None).verdict, GateVerdict::Pass);
        record.run.interrupted = Some("stopped by SIGINT".to_owned());
        let stopped = judge(&record, &held, None);
        assert_eq!(stopped.verdict, GateVerdict::CannotJudge);
        assert_eq!(stopped.reason, "the run was stopped by SIGINT");
        // What is broken is broken.
        assert_eq!(judge(&record, &broken, None).verdict, GateVerdict::Fail);
        record.series.clear();
        let nothing = judge(&record, &held, None).reason;
        assert!(nothing.starts_with("the run was stopped by SIGINT; and "), "{nothing}");
    }

    #[test]
    fn a_failure_of_a_disturbed_run_says_so() {
        let bounds = vec![Bound::read("turbo.clock@1=1000GHz", BoundKind::Min).unwrap()];
        let mut record = clocks(&bounds);
        let quiet = judge(&record, &bounds, None);
        assert!(quiet.verdict == GateVerdict::Fail && !quiet.reason.contains("disturbed"));
        record.findings.push(Finding {
            id: "run.gaps".to_owned(),
            severity: Severity::Warning,
            about: "this run".to_owned(),
            text: "25 % of the time polled was lost in gaps".to_owned(),
            cause: None,
            remedy: None,
            gain: None,
        });
        let reason = judge(&record, &bounds, None).reason;
        assert!(
            reason.ends_with("disturbed: 25 % of the time polled was lost in gaps"),
            "{reason}"
        );
    }

    #[test]
    fn every_name_is_a_result_that_is_judged() {
        for named in NAMED {
            for quantity in named.quantities {
                assert!(is_judged(named.area, quantity), "{} {quantity}", named.area);
            }
            for (_, workload, quantity) in named.short {
                assert!((named.workloads)().contains(workload));
                assert!(named.quantities.contains(quantity));
            }
        }
        assert!(names().len() > 50);
    }
}
