//! Counting a command: the process and all that it starts.

use std::collections::BTreeMap;
use std::io;
use std::process::{Child, Command, ExitStatus};

use machine::Machine;
use machine::perf::{Reader, Wanted};
use machine::pmu::Pmu;
use model::record::{CountedBy, Counts, CountsRun, EventCount};
use model::{CpuId, Known, Obstacle, Reading, Unavailable};
use sys::perf_open::{Attributes, Begin, Count, Modes};
use sys::process::Usage;

use super::derived::Core;
use super::energy::{self, EnergyWatch};
use super::plan::with_slots;
use super::{
    counted_by, is_share, is_slots, kind_of, modes_of, needs_counter, open_on, sanity_loop, unit_of,
};
use crate::events::{Encoded, EventScope, plain};

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

/// Starts a command, waits for its end with `wait`, and counts what it and all that it starts do
/// from its first instruction on. Each event has its counter, which the command's processes
/// inherit: there is no page to read, and no group but that of Intel's slots with their shares.
/// Events that are refused are not counted, and have that reason; so have those that count a loop
/// wrongly just before the command starts: while it is executed, nothing tells whether somebody
/// shares the counters.
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
    let events = &complete(events);
    let refused = [refused, sanity_loop::before(machine, events).as_slice()].concat();
    let energy = EnergyWatch::open();
    let counters = open_all(machine, events, &refused);
    energy.iter().for_each(EnergyWatch::begin);
    let before = sys::process::usage_of_children()?;
    let begun = sys::clock::monotonic_raw();
    let mut child = Command::new(program).args(arguments).spawn()?;
    let status = wait(&mut child)?;
    let elapsed = sys::clock::monotonic_raw().saturating_sub(begun);
    let energy = energy.and_then(EnergyWatch::end);
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
    rows.extend(energy.and_then(|reading| energy::row(&reading, metrics)));
    rows.sort_by_key(|row| row.by);
    let table = Counts {
        title: program.clone(),
        events: rows,
        executions: 1,
        ended: Some(ended(status)),
        ..Counts::default()
    };
    let cores = Core::all(machine);
    let metrics = cores.iter().flat_map(|core| core.derive(&table, metrics)).collect();
    let run = CountsRun {
        subject: program.clone(),
        modes: "user mode; events of the kernel in all modes".to_owned(),
        passes: vec![events.iter().map(|event| event.name.clone()).collect()],
        tables: vec![Counts { metrics, ..table }],
        ..CountsRun::default()
    };
    Ok(CommandRun { status, run })
}

/// What of these events would be counted of a command, and why the rest would not: each counter is
/// opened as it would be, and closed.
pub fn rehearse(machine: &Machine, events: &[Encoded]) -> (Vec<Encoded>, Vec<Unavailable>) {
    let events = complete(events);
    let opened = open_all(machine, &events, &[]);
    let (mut able, mut absent) = (Vec::new(), Vec::new());
    for (event, opened) in events.into_iter().zip(opened) {
        match opened {
            Ok(_) => able.push(event),
            // The kernel keeps it of ended children in any case.
            Err(_) if by_usage(&event.name, Usage::default()).is_some() => able.push(event),
            Err(reason) => absent.push(Unavailable { what: event.name, ..reason }),
        }
    }
    (able, absent)
}

/// With what they cannot be counted without.
fn complete(events: &[Encoded]) -> Vec<Encoded> {
    let mut events = events.to_vec();
    with_slots(&mut events, None);
    events
}

/// The counter of an event.
enum CommandCounter {
    /// What the command and all that it starts do.
    Inherited(Reader),
    /// What everybody does meanwhile, on each CPU that counts it, from that count on.
    Shared(Vec<(Reader, u64)>),
}

/// The counters of all of them, in their order. Shares of slots come after the slots, which lead
/// them.
fn open_all(
    machine: &Machine,
    events: &[Encoded],
    refused: &[(String, Unavailable)],
) -> Vec<Reading<CommandCounter>> {
    let mut opened: BTreeMap<usize, Reading<CommandCounter>> = BTreeMap::new();
    let mut order: Vec<usize> = (0..events.len()).collect();
    order.sort_by_key(|&at| is_share(&events[at]));
    for at in order {
        let event = &events[at];
        let refusal = refused.iter().find(|(name, _)| *name == event.name);
        let slots = (0..events.len())
            .find(|&other| is_slots(&events[other]) && events[other].pmu == event.pmu)
            .filter(|_| is_share(event));
        let counter = match (refusal, slots.and_then(|slots| opened.get(&slots))) {
            (Some((_, reason)), _) => Err(reason.clone()),
            (None, None) => open(machine, event, None),
            (None, Some(Ok(CommandCounter::Inherited(slots)))) => open(machine, event, Some(slots)),
            (None, Some(Ok(CommandCounter::Shared(_)))) => {
                Err(led(event, "here they are counted for a whole CPU, not for a thread"))
            }
            (None, Some(Err(reason))) => Err(led(event, &reason.why)),
        };
        opened.insert(at, counter);
    }
    opened.into_values().collect()
}

/// A share without its slots.
fn led(event: &Encoded, why: &str) -> Unavailable {
    let why = format!("it is counted only together with `slots`: {why}");
    Unavailable::new(Obstacle::Hardware, &event.name, why)
}

fn open(machine: &Machine, event: &Encoded, leader: Option<&Reader>) -> Reading<CommandCounter> {
    let kind = kind_of(event)?;
    let own = Attributes {
        kind,
        config: event.config,
        modes: modes_of(event, if needs_counter(event) { Modes::User } else { Modes::All }),
        // Members of a group begin with its leader.
        begin: if leader.is_some() { Begin::Now } else { Begin::AtExec },
        inherit: true,
        ..Attributes::default()
    };
    if event.scope == EventScope::Thread {
        // The calling thread executes nothing else, so that only what it starts is counted.
        let wanted = Wanted::of_this_thread(&event.name, own);
        return machine.perf.open(&wanted, leader).map(CommandCounter::Inherited);
    }
    let pmu = event.pmu.as_deref().unwrap_or_default();
    let on = |cpu: CpuId| -> Reading<(Reader, u64)> {
        let reader = open_on(machine, event, cpu, Begin::Now, None)?;
        let first = value(event, &reader)?.value;
        Ok((reader, first))
    };
    let cpus = Pmu::new(&*machine.tree, pmu).cpus()?;
    cpus.into_iter().map(on).collect::<Reading<Vec<_>>>().map(CommandCounter::Shared)
}

fn value(event: &Encoded, reader: &Reader) -> Reading<Count> {
    reader.count().map_err(|error| absent(event, format!("reading answered {error}")))
}

fn absent(event: &Encoded, why: String) -> Unavailable {
    Unavailable::new(Obstacle::Measurement, &event.name, why)
}

/// What a counter says in the end.
fn read(event: &Encoded, counter: &Reading<CommandCounter>) -> Reading<Count> {
    match counter.as_ref().map_err(Clone::clone)? {
        CommandCounter::Inherited(reader) => {
            let count = value(event, reader)?;
            if count.enabled_ns == 0 {
                let why = "its counter was never started: the command did not begin";
                return Err(absent(event, why.to_owned()));
            }
            Ok(count)
        }
        CommandCounter::Shared(readers) => {
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
/// kinds together. What parts of the machine count for all is judged by its own counters alone.
fn whole(events: &[Encoded], counted: &[Reading<Count>], at: usize) -> Reading<u64> {
    let event = &events[at];
    let count = counted[at].as_ref().map_err(Clone::clone)?;
    let is_of_thread = |event: &Encoded| event.scope == EventScope::Thread;
    let of_another_kind = |(other, _): &(&Encoded, _)| {
        let same = plain(other) == plain(event) && other.modes == event.modes;
        same && other.pmu != event.pmu && is_of_thread(other) && is_of_thread(event)
    };
    let others = events.iter().zip(counted).filter(of_another_kind);
    let elsewhere: u64 =
        others.filter_map(|(_, it)| it.as_ref().ok()).map(|it| it.running_ns).sum();
    let running = count.running_ns.saturating_add(elsewhere);
    if needs_counter(event) && running < count.enabled_ns {
        let why = format!(
            "its counter was on the hardware for {running} of {} ns; the count is rejected, not \
             scaled",
            count.enabled_ns
        );
        return Err(absent(event, why).with_remedy("count fewer events at once"));
    }
    Ok(count.value)
}

fn row(events: &[Encoded], counted: &[Reading<Count>], at: usize, usage: Usage) -> EventCount {
    let event = &events[at];
    let way = match event.scope {
        EventScope::Thread => "read(2)",
        EventScope::Shared => "read(2), of the whole machine",
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
        (None, None) => "the command did not end".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use simulated::Model;

    use super::*;
    use crate::counting::base_of_all;
    use crate::events::{CounterPlace, Events, Source, Target};

    fn event(pmu: &str, name: &str, scope: EventScope) -> Encoded {
        Encoded {
            name: format!("{pmu}/{name}/"),
            pmu: Some(pmu.to_owned()),
            kind: Some(4),
            config: [0; 4],
            by_mode: true,
            modes: None,
            scope,
            place: CounterPlace::General { counters: u64::MAX, takes: 1 },
            register: None,
            source: Source::Own,
            description: None,
            caveats: Vec::new(),
        }
    }

    fn ran(running_ns: u64) -> Count {
        Count { value: 10, enabled_ns: 100, running_ns }
    }

    #[test]
    fn instances_do_not_make_up_for_each_other() {
        let names = ["uncore_imc_0", "uncore_imc_1"];
        let events = names.map(|pmu| event(pmu, "cas_count_read", EventScope::Shared));
        let counted = [Ok(ran(60)), Ok(ran(60))];
        for at in [0, 1] {
            let why = whole(&events, &counted, at).unwrap_err().why;
            assert!(why.contains("60 of 100 ns"), "{why}");
        }
        assert_eq!(whole(&events, &[Ok(ran(100)), Ok(ran(60))], 0), Ok(10));
        assert!(whole(&events, &[Ok(ran(100)), Ok(ran(60))], 1).is_err());
    }

    #[test]
    fn kinds_of_cores_do() {
        let events = ["cpu_core", "cpu_atom"].map(|pmu| event(pmu, "cycles", EventScope::Thread));
        assert_eq!(whole(&events, &[Ok(ran(60)), Ok(ran(40))], 0), Ok(10));
        assert!(
            whole(&events, &[Ok(ran(60)), Ok(ran(30))], 1).unwrap_err().why.contains("90 of 100")
        );
        // Another event of the same PMU has its own time.
        let others = ["cycles", "cycles"].map(|name| event("cpu_core", name, EventScope::Thread));
        assert!(whole(&others, &[Ok(ran(60)), Ok(ran(60))], 0).is_err());
    }

    fn hybrid() -> Machine {
        let mut model = Model::named("4c").unwrap();
        model.topology.threads_per_core = 1;
        model.kind = simulated::CoreKind::pair(model.topology.cores_per_package - 2, 2);
        let mut atom = model.pmu[0].clone();
        model.pmu[0].name = "cpu_core".to_owned();
        atom.name = "cpu_atom".to_owned();
        atom.kind = 10;
        model.pmu.push(atom);
        model.into()
    }

    #[test]
    fn a_command_is_counted_on_each_kind_of_core() {
        let names = |machine: &Machine| -> Vec<String> {
            base_of_all(machine).into_iter().map(|event| event.name).collect()
        };
        let found = names(&hybrid());
        assert_eq!(found.len(), 6, "{found:?}");
        for name in ["cpu_core/cycles/", "cpu_atom/instructions/", "cpu_atom/ref-cycles/"] {
            assert!(found.contains(&name.to_owned()), "{name}: {found:?}");
        }
        let plain: Machine = Model::named("4c").unwrap().into();
        assert_eq!(names(&plain), ["instructions", "cycles", "ref-cycles"]);
        assert_eq!(Core::all(&hybrid()).len(), 2);
    }

    /// The kernel takes a share of the slots in a group that they lead, and nowhere else.
    #[test]
    fn shares_are_led_by_slots() {
        let machine: Machine = Model::named("2s-56c").unwrap().into();
        let events = Events::of(Target::of(&machine));
        let asked = events.resolve_all(["topdown-retiring", "topdown-be-bound"]).unwrap();
        let names = |events: Vec<Encoded>| -> Vec<String> {
            events.into_iter().map(|event| event.name).collect()
        };
        let (able, absent) = rehearse(&machine, &asked);
        assert!(absent.is_empty(), "{absent:?}");
        assert_eq!(names(able), ["topdown-retiring", "topdown-be-bound", "slots"]);
        // Without slots, none; and each says why.
        let mut model = Model::named("2s-56c").unwrap();
        model.perf_event_paranoid = 3;
        let (able, absent) = rehearse(&model.into(), &asked);
        assert!(able.is_empty(), "{able:?}");
        assert_eq!(absent.len(), 3, "{absent:?}");
        assert!(absent.iter().all(|it| it.why.contains("EACCES")), "{absent:?}");
    }

    #[test]
    fn what_would_not_be_counted_is_known_before() {
        let machine: Machine = Model::named("vm-2c").unwrap().into();
        let asked: Vec<Encoded> = base_of_all(&machine).into_iter().collect();
        let (able, absent) = rehearse(&machine, &asked);
        assert!(able.is_empty(), "{able:?}");
        let names: Vec<&str> = absent.iter().map(|it| it.what.as_str()).collect();
        assert_eq!(names, ["instructions", "cycles", "ref-cycles"]);
        assert!(absent.iter().all(|it| it.why.contains("hypervisor")), "{absent:?}");
    }
}
