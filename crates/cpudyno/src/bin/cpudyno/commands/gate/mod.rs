//! `cpudyno gate`: asked by people, or called by a scheduler or a monitor.

mod busy;
mod called;
mod deadline;
mod slurm;

pub(crate) use self::called::misused;

use std::path::Path;
use std::process::ExitCode;

use fleet::gate::learn::{self, BoundsFile};
use fleet::gate::{self, Measures};
use fleet::reference::Reference;
use fleet::{features, metrics};
use machine::Machine;
use measure::gate::{Wanted, is_name, read, request};
use measure::run::{Error, Request};
use measure::verify::Verifying;
use model::record::{Bound, BoundKind, GateVerdict, PageKind, Record};
use model::{CpuSet, Seconds};
use rig::executor::RunError;

use super::measuring::{EndingSignal, attempted, refused};
use super::start::{Start, Turn};
use super::verify::verified;
use super::{Delivery, Sinks, command, presentation, records, sinks};
use crate::args::{Bounded, Format, GateArgs, PresentationArgs};
use crate::failure::{Failure, code};
use crate::output::{self, Sink};
use crate::signals::Signals;

/// In half a minute most of what a sheet has is measured.
const BUDGET: Seconds = Seconds(30.0);
/// In less, a sheet lacks what tells most of a machine.
const WHOLE_FROM: Seconds = Seconds(15.0);

pub(super) fn run(machine: &Machine, mut args: GateArgs) -> Result<ExitCode, Failure> {
    if let Some(folder) = args.learn {
        output::data(&learned(&folder)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(caller) = args.caller.take() {
        return called::run(machine, caller, args);
    }
    let start = Start::new(std::mem::take(&mut args.start), &args.output.files);
    let (asked, outputs) = asked(args)?;
    let signals = Signals::listen()?;
    let turn = start.turn(machine, &signals)?;
    let budget = asked.budget.unwrap_or(BUDGET);
    let (record, signal) = match asked.judged(machine, budget, &outputs.look, &signals, &turn) {
        Ok(judged) => judged,
        Err(error) if is_wrong_answer(&error) => {
            output::data(&format!("FAIL: {error}\n"))?;
            return Ok(ExitCode::from(code::NO));
        }
        Err(error) => return Err(signals.of(refused(machine, error))),
    };
    let delivery = Delivery::of(&record);
    let is_brief = outputs.look.format == Format::Text && !outputs.look.verbose;
    let text =
        if is_brief { gate::line(&record) + "\n" } else { delivery.told(outputs.look.format)? };
    let written = outputs.write(&record, signal);
    output::data(&text)?;
    written?;
    let verdict = record.gate.as_ref().map(|gate| gate.verdict);
    Ok(match (signal, verdict) {
        (Some((number, _)), _) => ExitCode::from(128 + number as u8),
        (None, Some(GateVerdict::Pass)) => ExitCode::SUCCESS,
        (None, Some(GateVerdict::Fail)) => ExitCode::from(code::NO),
        (None, _) => ExitCode::from(code::NOT_HERE),
    })
}

/// What a machine is to be judged by.
struct Asked {
    bounds: Vec<Bound>,
    file: Option<BoundsFile>,
    reference: Option<Reference>,
    /// Whether more is measured than bounds need.
    is_whole: bool,
    budget: Option<Seconds>,
    cpus: Option<CpuSet>,
    /// For how long answers are compared.
    verify: Option<Seconds>,
}

/// Where it goes beside the verdict.
struct Outputs {
    sinks: Sinks,
    metrics: Option<Sink>,
    features: Option<Sink>,
    look: PresentationArgs,
}

/// Reads what can be read before anything is measured, and opens all files.
fn asked(args: GateArgs) -> Result<(Asked, Outputs), Failure> {
    let GateArgs {
        min,
        max,
        reference,
        bounds,
        metrics,
        features,
        budget,
        cpus,
        verify,
        output,
        ..
    } = args;
    output::are_apart(&[
        ("--json", output.files.json.as_deref()),
        ("--html", output.files.html.as_deref()),
        ("--metrics", metrics.as_deref()),
        ("--features", features.as_deref()),
    ])?;
    for (option, file) in [("--metrics", &metrics), ("--features", &features)] {
        if file.as_deref() == Some(Path::new("-")) {
            let text = format!("{option} writes a file, which appears when it is complete");
            return Err(Failure::usage(text)
                .hint(format!("name it, or print it beside the verdict: {option} /dev/stdout")));
        }
    }
    let (sinks, look) = sinks(output)?;
    let metrics = metrics.as_deref().map(Sink::open).transpose()?;
    let features = features.as_deref().map(Sink::open).transpose()?;
    let is_whole = reference.is_some() || metrics.is_some() || features.is_some();
    let file = bounds.as_deref().map(bounds_of).transpose()?;
    let typed = min.into_iter().chain(max).map(|Bounded(bound)| bound);
    let (file, rows) = file.map_or((None, Vec::new()), |(file, rows)| (Some(file), rows));
    let asked = Asked {
        bounds: typed.chain(rows).collect(),
        file,
        reference: reference.as_deref().map(records::reference).transpose()?,
        is_whole,
        budget,
        cpus,
        verify,
    };
    Ok((asked, Outputs { sinks, metrics, features, look }))
}

/// Reads a file of bounds.
fn bounds_of(path: &Path) -> Result<(BoundsFile, Vec<Bound>), Failure> {
    const HINT: &str = "`cpudyno gate --learn DIR > FILE` writes one";
    let wrong = |why: String| {
        Failure::usage(format!("cannot use the bounds in `{}`: {why}", path.display()))
    };
    let text = std::fs::read_to_string(path)
        .map_err(|error| wrong(sys::errno::words(&error)).hint(HINT))?;
    let file =
        BoundsFile::read(&text).map_err(|why| wrong(why.trim_end().to_owned()).hint(HINT))?;
    let mut bounds = Vec::new();
    for row in &file.bounds {
        let sides = [(&row.min, BoundKind::Min), (&row.max, BoundKind::Max)];
        let typed = sides.into_iter().filter_map(|(value, kind)| Some((value.as_ref()?, kind)));
        for (value, kind) in typed {
            let bound = read(&format!("{}={value}", row.name), kind).map_err(|error| {
                wrong(format!("`{}` = `{value}`: {}", row.name, error.why)).hint(error.hint)
            })?;
            // What was learned with more time may not fit into less.
            bounds.push(Bound { is_needed: false, ..bound });
        }
    }
    if bounds.is_empty() {
        return Err(wrong("it has no [[bound]] with min or max".to_owned()).hint(HINT));
    }
    Ok((file, bounds))
}

impl Asked {
    fn request(&self, budget: Seconds, look: &PresentationArgs) -> Request {
        let wanted = match self.bounds.as_slice() {
            _ if self.is_whole => Wanted::Sheet,
            [] if budget < WHOLE_FROM => Wanted::Known,
            [] => Wanted::Sheet,
            bounds => Wanted::Bounds(bounds.to_vec()),
        };
        let presentation = presentation(look, PageKind::Gate);
        request(budget, self.cpus.clone(), wanted, command(), presentation)
    }

    /// Measures, and judges.
    fn judged(
        &self,
        machine: &Machine,
        budget: Seconds,
        look: &PresentationArgs,
        signals: &Signals,
        turn: &Turn,
    ) -> Result<(Record, Option<EndingSignal>), Error> {
        let request = self.request(budget, look);
        let (mut record, mut signal) = attempted(machine, &request, signals, turn)?;
        if let (Some(budget), None) = (self.verify, signal) {
            let cpus = self.cpus.clone();
            let verifying = Verifying { budget, cpus, ..Verifying::default() };
            record = verified(machine, &verifying, record, signals)?;
            // A run that was stopped has all that its bounds are about.
            signal = signals.came();
            record.digest = Some(fleet::digest::of(&record));
        }
        self.judge(&mut record);
        Ok((record, signal))
    }

    fn judge(&self, record: &mut Record) {
        if let Some(earlier) = &self.reference {
            records::place(record, earlier);
        }
        let unfit = self.file.as_ref().and_then(|file| file.unfit(record));
        let measures = Measures {
            bounds: if unfit.is_some() { &[] } else { &self.bounds },
            reference: record.reference.as_ref(),
            unfit: unfit.as_deref(),
        };
        record.gate = Some(gate::judge(record, &measures));
    }
}

impl Outputs {
    fn write(self, record: &Record, signal: Option<EndingSignal>) -> Result<(), Failure> {
        let written = Delivery::of(record).write(self.sinks);
        // An unfinished run is no state of the machine for a monitor.
        if signal.is_some() {
            return written;
        }
        let exported = self.metrics.map_or(Ok(()), |sink| sink.write(&metrics::render(record)));
        let labelled = self.features.map_or(Ok(()), |sink| {
            let labels = features::render(record).map_err(|why| {
                Failure::new(code::NOT_HERE, format!("cannot write labels: {why}"))
            })?;
            sink.write(&labels)
        });
        written.and(exported).and(labelled)
    }
}

/// A CPU that computes something wrong is an answer.
fn is_wrong_answer(error: &Error) -> bool {
    matches!(error, Error::Run(RunError::WrongAnswer(_)))
}

/// Bounds of the records of a folder.
fn learned(folder: &Path) -> Result<String, Failure> {
    let digests = records::digests(folder)?;
    learn::learn(&digests, is_name).map_err(|error| {
        let hint = match error {
            learn::NothingLearned::TooFew(_) => {
                "measure more: `cpudyno sheet --json DIR/`, also again on the same machine"
            }
            learn::NothingLearned::Kinds(_) => "give each kind a folder of its own",
        };
        let text = format!("cannot learn bounds from `{}`: {error}", folder.display());
        Failure::new(code::NOT_HERE, text).hint(hint)
    })
}
