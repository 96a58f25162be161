//! Counting a command: the process and all that it starts.

use std::io;
use std::process::{Child, Command, ExitStatus};

use machine::Machine;
use machine::perf::{Reader, Wanted};
use machine::ports::Reading;
use model::record::{CountedBy, Counts, CountsRun, EventCount};
use model::{Known, Obstacle, Unavailable};
use sys::perf_open::{Attributes, Begin, Modes};
use sys::process::Usage;

use super::derived::Core;
use super::{counted_by, modes_of, needs_counter};
use crate::events::Encoded;

/// A command that was counted.
#[derive(Debug)]
pub struct CommandRun {
    /// How it ended.
    pub status: ExitStatus,
    /// What it counted.
    pub run: CountsRun,
}

/// What is counted of a command.
#[derive(Debug, Default)]
pub struct StatEvents<'a> {
    /// The events.
    pub events: &'a [Encoded],
    /// Those that are refused, by name, each with its reason.
    pub refused: &'a [(String, Unavailable)],
    /// Metrics that are wanted, also where they have no value.
    pub metrics: &'a [String],
}

/// Starts a command, waits for its end with `wait`, and counts what it and all that it starts do from its
/// first instruction on. Each event has its counter, which the command's processes inherit: there is no
/// page to read, and no group. Events that are refused are not counted, and have that reason.
///
/// # Error
/// Where the command cannot be started or waited for. Events that cannot be counted are rows.
pub fn stat(
    machine: &Machine,
    words: &[String],
    asked: &StatEvents<'_>,
    wait: impl FnOnce(&mut Child) -> io::Result<ExitStatus>,
) -> io::Result<CommandRun> {
    let StatEvents { events, refused, metrics } = asked;
    let (program, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let open = |event: &Encoded| match refused.iter().find(|(name, _)| *name == event.name) {
        Some((_, reason)) => Err(reason.clone()),
        None => open(machine, event),
    };
    let readers: Vec<Reading<Reader>> = events.iter().map(open).collect();
    let before = sys::process::usage_of_children()?;
    let begun = sys::clock::monotonic_raw();
    let mut child = Command::new(program).args(arguments).spawn()?;
    let status = wait(&mut child)?;
    let elapsed = sys::clock::monotonic_raw().saturating_sub(begun);
    let usage = sys::process::usage_of_children()?.since(before);
    let mut rows: Vec<EventCount> =
        events.iter().zip(&readers).map(|(event, reader)| row(event, reader, usage)).collect();
    let nanoseconds = [("elapsed", elapsed), ("user", usage.user), ("system", usage.system)];
    rows.extend(nanoseconds.map(|(event, time)| EventCount {
        event: event.to_owned(),
        by: CountedBy::Kernel,
        unit: Some("ns".to_owned()),
        count: Known::Yes(time.as_nanos() as u64),
        own: None,
        way: Some(if event == "elapsed" { "clock_gettime" } else { "getrusage" }.to_owned()),
    }));
    rows.sort_by_key(|row| row.by);
    let table = Counts {
        title: program.clone(),
        events: rows,
        executions: 1,
        ended: Some(ended(status)),
        ..Counts::default()
    };
    let core = machine.perf.current_cpu().map(|cpu| Core::of(machine, cpu));
    let metrics = core.map(|core| core.derive(&table, metrics)).unwrap_or_default();
    let table = Counts { metrics, ..table };
    let run = CountsRun {
        subject: program.clone(),
        modes: "user mode; events of the kernel in all modes".to_owned(),
        passes: vec![events.iter().map(|event| event.name.clone()).collect()],
        tables: vec![table],
        ..CountsRun::default()
    };
    Ok(CommandRun { status, run })
}

fn open(machine: &Machine, event: &Encoded) -> Reading<Reader> {
    let kind = event.kind.ok_or_else(|| {
        let why = "the kernel at hand has no such PMU";
        Unavailable::new(Obstacle::Hardware, &event.name, why)
    })?;
    let attributes = Attributes {
        kind,
        config: event.config,
        modes: modes_of(event, if needs_counter(event) { Modes::User } else { Modes::All }),
        begin: Begin::AtExec,
        inherit: true,
        ..Attributes::default()
    };
    // The calling thread executes nothing else, so that only what it starts is counted.
    machine.perf.open(&Wanted::of_this_thread(&event.name, attributes), None)
}

fn row(event: &Encoded, reader: &Reading<Reader>, usage: Usage) -> EventCount {
    let counted = reader.as_ref().map_err(Clone::clone).and_then(|reader| count(event, reader));
    let (count, way) = match counted {
        Ok(value) => (Known::Yes(value), Some("read(2)")),
        Err(reason) => match by_usage(&event.name, usage) {
            Some(value) => (Known::Yes(value), Some("getrusage")),
            None => (Known::No { unavailable: reason }, None),
        },
    };
    EventCount {
        event: event.name.clone(),
        by: counted_by(event),
        unit: event.name.ends_with("-clock").then(|| "ns".to_owned()),
        count,
        own: None,
        way: way.map(str::to_owned),
    }
}

fn count(event: &Encoded, reader: &Reader) -> Reading<u64> {
    let absent = |why: String| Unavailable::new(Obstacle::Measurement, &event.name, why);
    let count = reader.count().map_err(|error| absent(format!("reading answered {error}")))?;
    if count.enabled_ns == 0 {
        return Err(absent("its counter was never started: the command did not begin".to_owned()));
    }
    if needs_counter(event) && count.running_ns != count.enabled_ns {
        let why = format!(
            "its counter had its place for {} of {} ns; the count is rejected, not scaled",
            count.running_ns, count.enabled_ns
        );
        return Err(absent(why).with_remedy("count fewer events at once"));
    }
    Ok(count.value)
}

/// What the kernel keeps of ended children in any case, where it lets us count nothing.
fn by_usage(event: &str, usage: Usage) -> Option<u64> {
    match event {
        "page-faults" => Some(usage.page_faults),
        "context-switches" => Some(usage.switches),
        "task-clock" => Some((usage.user + usage.system).as_nanos() as u64),
        _ => None,
    }
}

/// How a command ended, in words.
fn ended(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "it did not end".to_owned(),
    }
}
