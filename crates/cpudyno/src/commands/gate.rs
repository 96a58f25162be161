//! `cpudyno gate`.

use std::path::Path;
use std::process::ExitCode;

use fleet::{gate, metrics};
use machine::Machine;
use measure::gate::request;
use model::record::{Bound, GateVerdict, PageKind};

use super::measuring::measured;
use super::start::Start;
use super::{Delivery, command, presentation, records, sinks};
use crate::args::{Bounded, Format, GateArgs};
use crate::failure::{Failure, code};
use crate::output::{self, Sink};
use crate::signals::Signals;

pub(super) fn run(machine: &Machine, args: GateArgs) -> Result<ExitCode, Failure> {
    let GateArgs { min, max, reference: folder, metrics: file, budget, cpus, start, output } = args;
    output::are_apart(&[
        ("--json", output.files.json.as_deref()),
        ("--html", output.files.html.as_deref()),
        ("--metrics", file.as_deref()),
    ])?;
    if file.as_deref() == Some(Path::new("-")) {
        return Err(Failure::usage("--metrics writes a file, which appears when it is complete")
            .hint("name it, or print it beside the verdict: --metrics /dev/stdout"));
    }
    let start = Start::new(start, &output.files);
    let (sinks, look) = sinks(output)?;
    let bounds: Vec<Bound> = min.into_iter().chain(max).map(|Bounded(bound)| bound).collect();
    if bounds.is_empty() && folder.is_none() && file.is_none() {
        return Err(Failure::usage("there is nothing to judge by").hint(
            "give a bound, such as --min memory.triad=80GB/s, or a folder of earlier records: \
             --reference DIR",
        ));
    }
    let metrics_to = file.as_deref().map(Sink::open).transpose()?;
    // What cannot be read then is said before half a minute is spent.
    let earlier = folder.as_deref().map(records::reference).transpose()?;
    let presentation = presentation(&look, PageKind::Gate);
    let only = (folder.is_none() && metrics_to.is_none()).then(|| bounds.clone());
    let request = request(budget, cpus, only, command(), presentation);
    let signals = Signals::listen()?;
    let turn = start.turn(machine, &signals)?;
    let (mut record, signal) = measured(machine, &request, &signals, &turn)?;
    if let Some(earlier) = &earlier {
        records::place(&mut record, earlier);
    }
    let judged = gate::judge(&record, &bounds, record.reference.as_ref());
    let verdict = judged.verdict;
    record.gate = Some(judged);
    let telling = Delivery::of(&record);
    let brief = look.format == Format::Text && !look.verbose;
    let text = if brief { gate::line(&record) + "\n" } else { telling.told(look.format)? };
    let written = telling.write(sinks);
    // An unfinished run is no state of the machine for a monitor.
    let exported = match metrics_to {
        Some(sink) if signal.is_none() => sink.write(&metrics::render(&record)),
        _ => Ok(()),
    };
    output::data(&text)?;
    written.and(exported)?;
    Ok(match (signal, verdict) {
        (Some((number, _)), _) => ExitCode::from(128 + number as u8),
        (None, GateVerdict::Pass) => ExitCode::SUCCESS,
        (None, GateVerdict::Fail) => ExitCode::from(code::NO),
        (None, GateVerdict::CannotJudge) => ExitCode::from(code::NOT_HERE),
    })
}
