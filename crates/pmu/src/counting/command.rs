//! Counting a command: the process and all that it starts.

use std::io;
use std::process::{Child, Command, ExitStatus};

use machine::Machine;
use machine::perf::{Reader, Wanted};
use machine::pmu::Pmu;
use machine::ports::Reading;
use model::record::{CountedBy, Counts, CountsRun, EventCount};
use model::{CpuId, Known, Obstacle, Unavailable};
use sys::perf_open::{Attributes, Begin, Count, Modes, Scope as Whose};
use sys::process::Usage;

use super::derived::Core;
use super::{base, counted_by, modes_of, needs_counter, unit_of};
use crate::events::{Encoded, Scope, plain};

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
    let counters: Vec<Reading<Counter>> = events.iter().map(open).collect();
    let before = sys::process::usage_of_children()?;
    let begun = sys::clock::monotonic_raw();
    let mut child = Command::new(program).args(arguments).spawn()?;
    let status = wait(&mut child)?;
    let elapsed = sys::clock::monotonic_raw().saturating_sub(begun);
    let usage = sys::process::usage_of_children()?.since(before);
    let counted: Vec<Reading<Count>> =
        events.iter().zip(&counters).map(|(event, counter)| read(event, counter)).collect();
    let mut rows: Vec<EventCount> =
        (0..events.len()).map(|at| row(events, &counted, at, usage)).collect();
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
    let run = CountsRun {
        subject: program.clone(),
        modes: "user mode; events of the kernel in all modes".to_owned(),
        passes: vec![events.iter().map(|event| event.name.clone()).collect()],
        tables: vec![Counts { metrics, ..table }],
        ..CountsRun::default()
    };
    Ok(CommandRun { status, run })
}

/// Instructions, cycles and reference cycles for every kind of core: a command goes from one to another.
pub fn base_of_all(machine: &Machine) -> Vec<Encoded> {
    let tree = &*machine.tree;
    let names = machine::pmu::names(tree).unwrap_or_default();
    let cores: Vec<(&String, CpuId)> = names
        .iter()
        .filter(|name| name.starts_with("cpu_") || name.starts_with("armv"))
        .filter_map(|name| Some((name, Pmu::new(tree, name).first_cpu()?)))
        .collect();
    if cores.len() < 2 {
        let cpus = machine.host.affinity().unwrap_or_default();
        return base(machine, cpus.iter().next().unwrap_or(CpuId(0)));
    }
    let of_core = |(name, cpu): (&String, CpuId)| {
        let named =
            move |event: Encoded| Encoded { name: format!("{name}/{}/", event.name), ..event };
        base(machine, cpu).into_iter().map(named).collect::<Vec<_>>()
    };
    cores.into_iter().flat_map(of_core).collect()
}

/// The counter of an event.
enum Counter {
    /// What the command and all that it starts do.
    Inherited(Reader),
    /// What everybody does meanwhile, on each CPU that counts it, from that count on.
    Shared(Vec<(Reader, u64)>),
}

fn open(machine: &Machine, event: &Encoded) -> Reading<Counter> {
    let kind = event.kind.ok_or_else(|| {
        let why = "the kernel at hand has no such PMU";
        Unavailable::new(Obstacle::Hardware, &event.name, why)
    })?;
    let own = Attributes {
        kind,
        config: event.config,
        modes: modes_of(event, if needs_counter(event) { Modes::User } else { Modes::All }),
        begin: Begin::AtExec,
        inherit: true,
        ..Attributes::default()
    };
    if event.scope == Scope::Thread {
        // The calling thread executes nothing else, so that only what it starts is counted.
        let wanted = Wanted::of_this_thread(&event.name, own);
        return machine.perf.open(&wanted, None).map(Counter::Inherited);
    }
    let pmu = event.pmu.as_deref().unwrap_or_default();
    let attributes = Attributes { modes: Modes::All, begin: Begin::Now, inherit: false, ..own };
    let on = |cpu: CpuId| -> Reading<(Reader, u64)> {
        let wanted = Wanted {
            scope: Whose::Everybody(cpu),
            ..Wanted::of_this_thread(&event.name, attributes)
        };
        let reader = machine.perf.open(&wanted, None)?;
        let first = value(event, &reader)?.value;
        Ok((reader, first))
    };
    let cpus = Pmu::new(&*machine.tree, pmu).cpus()?;
    cpus.into_iter().map(on).collect::<Reading<Vec<_>>>().map(Counter::Shared)
}

fn value(event: &Encoded, reader: &Reader) -> Reading<Count> {
    reader.count().map_err(|error| absent(event, format!("reading answered {error}")))
}

fn absent(event: &Encoded, why: String) -> Unavailable {
    Unavailable::new(Obstacle::Measurement, &event.name, why)
}

/// What a counter says in the end.
fn read(event: &Encoded, counter: &Reading<Counter>) -> Reading<Count> {
    match counter.as_ref().map_err(Clone::clone)? {
        Counter::Inherited(reader) => {
            let count = value(event, reader)?;
            if count.enabled_ns == 0 {
                let why = "its counter was never started: the command did not begin";
                return Err(absent(event, why.to_owned()));
            }
            Ok(count)
        }
        Counter::Shared(readers) => {
            let mut sum = Count::default();
            for (reader, first) in readers {
                let count = value(event, reader)?;
                let moved = count.value.checked_sub(*first);
                sum.value += moved.ok_or_else(|| absent(event, "its counter fell".to_owned()))?;
                sum.enabled_ns += count.enabled_ns;
                sum.running_ns += count.running_ns;
            }
            Ok(sum)
        }
    }
}

/// A count whose counter always had its place; of a machine with several kinds of cores, those of all
/// kinds together.
fn whole(events: &[Encoded], counted: &[Reading<Count>], at: usize) -> Reading<u64> {
    let event = &events[at];
    let count = counted[at].as_ref().map_err(Clone::clone)?;
    let same = |other: &Encoded| plain(other) == plain(event) && other.modes == event.modes;
    let of_kinds = events.iter().zip(counted).filter(|(other, _)| same(other));
    let running: u64 =
        of_kinds.filter_map(|(_, it)| it.as_ref().ok()).map(|it| it.running_ns).sum();
    if needs_counter(event) && running < count.enabled_ns {
        let why = format!(
            "its counter had its place for {running} of {} ns; the count is rejected, not scaled",
            count.enabled_ns
        );
        return Err(absent(event, why).with_remedy("count fewer events at once"));
    }
    Ok(count.value)
}

fn row(events: &[Encoded], counted: &[Reading<Count>], at: usize, usage: Usage) -> EventCount {
    let event = &events[at];
    let way = match event.scope {
        Scope::Thread => "read(2)",
        Scope::Shared => "read(2), of the whole machine",
    };
    let (count, way) = match whole(events, counted, at) {
        Ok(value) => (Known::Yes(value), Some(way)),
        Err(reason) => match by_usage(&event.name, usage) {
            Some(value) => (Known::Yes(value), Some("getrusage")),
            None => (Known::No { unavailable: reason }, None),
        },
    };
    EventCount {
        event: event.name.clone(),
        by: counted_by(event),
        unit: unit_of(event),
        count,
        own: None,
        way: way.map(str::to_owned),
    }
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
