//! What checks read: facts and conditions by their id, and what is drawn from several of them.

use model::record::{FactValue, LimitState, Node, PowerLimit, Record};
use model::{CpuSet, Known, Obstacle, Reading, Unavailable, Unit};

/// Draws a reading from a record.
type Draw = fn(&Record) -> Reading<FactValue>;

/// What is drawn from a record, under an id of its own.
#[rustfmt::skip]
const DRAWN: &[(&str, Draw)] = &[
    ("place", place),
    ("cpus.usable_share", usable_share),
    ("nodes.with_cpus", nodes_with_cpus),
    ("nodes.memory_balance", memory_balance),
    ("idle.deepest", deepest),
    ("idle.halts", halts),
    ("limits.prochot", |record| limit(record, "prochot", |it| it.0.active || it.1.active)),
    ("limits.heat", |record| limit(record, "thermal", |it| it.0.active)),
    ("limits.p_state", |record| limit(record, "p-state-limit", |it| it.0.active && it.1.active)),
    ("limits.power_hidden", power_hidden),
    ("nohz_full.not_isolated", |record| apart(record, "cpu.nohz_full", "cpu.isolated")),
    ("isolated.ticking", |record| apart(record, "cpu.isolated", "cpu.nohz_full")),
    ("kernel.memory_parameters", memory_parameters),
    ("kernel.preemption_model", preemption_model),
    ("huge_pages.unused_share", huge_pages_unused),
    ("memory.swapped_share", swapped_share),
    ("memory.channels_share", channels_share),
    ("memory.slots_unplaced", slots_unplaced),
];

/// The fact, condition or drawn reading of that id.
pub(crate) fn read(record: &Record, id: &str) -> Reading<FactValue> {
    if let Some((_, draw)) = DRAWN.iter().find(|(drawn, _)| *drawn == id) {
        return draw(record);
    }
    let Some(fact) = record.fact(id) else {
        let why = format!("this record has no `{id}`: another version of cpudyno wrote it");
        return Err(Unavailable::new(Obstacle::Cpudyno, id, why));
    };
    match &fact.value {
        Known::Yes(value) => Ok(value.clone()),
        Known::No { unavailable } => Err(unavailable.clone()),
    }
}

/// Whether an absence means that the machine has no such thing.
pub(crate) fn is_not_there(reason: &Unavailable) -> bool {
    reason.obstacle == Obstacle::Hardware
}

fn text(text: impl Into<String>) -> FactValue {
    FactValue::Text(text.into())
}

fn number(value: f64, unit: Unit) -> FactValue {
    FactValue::Number { value, unit }
}

fn not_there(what: &str, why: &str) -> Unavailable {
    Unavailable::new(Obstacle::Hardware, what, why)
}

fn not_understood(id: &str, text: &str) -> Unavailable {
    let why = format!("`{id}` is `{text}`, which says nothing of it");
    Unavailable::new(Obstacle::Cpudyno, id, why)
}

/// A fact that is a text.
fn words(record: &Record, id: &str) -> Reading<String> {
    match read(record, id)? {
        FactValue::Text(text) => Ok(text),
        FactValue::Number { value, .. } => Err(not_understood(id, &value.to_string())),
    }
}

/// A fact that is a number.
fn amount(record: &Record, id: &str) -> Reading<f64> {
    match read(record, id)? {
        FactValue::Number { value, .. } if value.is_finite() => Ok(value),
        FactValue::Number { value, .. } => Err(not_understood(id, &value.to_string())),
        FactValue::Text(text) => text.parse().map_err(|_| not_understood(id, &text)),
    }
}

/// `guest` or `bare metal`.
fn place(record: &Record) -> Reading<FactValue> {
    read(record, "platform.virtualisation")?;
    Ok(text(if record.is_guest() { "guest" } else { "bare metal" }))
}

/// `8 of 16`, as a share; what stands behind it names those that are missing.
fn share_of(record: &Record, id: &str) -> Reading<FactValue> {
    let said = words(record, id)?;
    let share = said.split_once(" of ").and_then(|(part, rest)| {
        let whole = rest.split([' ', ',']).next()?;
        let (part, whole): (f64, f64) = (part.parse().ok()?, whole.parse().ok()?);
        (whole > 0.0 && (0.0..=whole).contains(&part)).then(|| part / whole)
    });
    let share = share.ok_or_else(|| not_understood(id, &said))?;
    Ok(number(share, Unit::One))
}

/// Which share of the online CPUs this process may use.
fn usable_share(record: &Record) -> Reading<FactValue> {
    share_of(record, "cpus.usable")
}

/// Which share of the channels has memory.
fn channels_share(record: &Record) -> Reading<FactValue> {
    share_of(record, "memory.channels")
}

/// Empty slots, where nobody says which channels they are of.
fn slots_unplaced(record: &Record) -> Reading<FactValue> {
    if channels_share(record).is_ok() {
        return Err(not_there("slots", "the channels are known"));
    }
    read(record, "memory.slots_empty")
}

/// Nodes with CPUs: those without are of accelerators and expanders.
fn with_cpus(record: &Record) -> impl Iterator<Item = &Node> {
    record.machine.topology.nodes.iter().filter(|node| !node.cpus.is_empty())
}

fn nodes_with_cpus(record: &Record) -> Reading<FactValue> {
    read(record, "memory.nodes")?;
    Ok(number(with_cpus(record).count() as f64, Unit::Count))
}

/// The least memory of a node with CPUs over the most.
fn memory_balance(record: &Record) -> Reading<FactValue> {
    let memory: Option<Vec<u64>> = with_cpus(record).map(|node| node.memory_bytes).collect();
    let memory = memory.unwrap_or_default();
    match (memory.iter().min(), memory.iter().max()) {
        (Some(least), Some(most)) if *most > 0 => {
            Ok(number(*least as f64 / *most as f64, Unit::One))
        }
        _ => {
            Err(not_there("memory of nodes", "the kernel does not say how much memory nodes have"))
        }
    }
}

/// The longest exit of an idle state that CPUs may enter, in seconds.
fn deepest(record: &Record) -> Reading<FactValue> {
    read(record, "idle.states")?;
    let states = &record.machine.idle_states;
    let entered = states.iter().filter(|state| state.disabled_on.len() < state.cpus.len());
    let deepest = entered.filter_map(|state| state.latency_seconds).reduce(f64::max);
    let none = || not_there("idle states", "no idle state states how long leaving it takes");
    deepest.map(|seconds| number(seconds, Unit::Second)).ok_or_else(none)
}

/// Whether a guest polls before it halts.
fn halts(record: &Record) -> Reading<FactValue> {
    match read(record, "idle.haltpoll") {
        Err(reason) if reason.why.starts_with("the guest halts right away") => Ok(text("at once")),
        other => other,
    }
}

/// Whether a reason for a lower clock is there, before the run and after it.
fn limit(
    record: &Record,
    id: &str,
    is_on: impl Fn((LimitState, LimitState)) -> bool,
) -> Reading<FactValue> {
    let what = "reasons for a lower clock";
    let Some(clock) = &record.clock else {
        let why = "registers that say why the clock is lower were not read";
        let reason = Unavailable::new(Obstacle::Measurement, what, why);
        return Err(reason.with_remedy("`sudo cpudyno turbo --why`"));
    };
    if clock.asked.is_empty() {
        let none = || not_there(what, "no register here says it");
        let unread = clock.unread.iter().find(|unread| unread.what.contains(what));
        return Err(unread.cloned().unwrap_or_else(none));
    }
    // Of registers that answered, what is neither in force nor in a log is left out.
    let mut reasons = clock.reasons.iter().filter(|reason| reason.id == id);
    let is_on = reasons.any(|reason| is_on((reason.before, reason.after)));
    Ok(text(if is_on { "on" } else { "off" }))
}

/// A power limit that is held by the register that most tools do not show.
fn power_hidden(record: &Record) -> Reading<FactValue> {
    let what = "power limits";
    let Some(clock) = &record.clock else {
        let reason = Unavailable::new(Obstacle::Measurement, what, "power limits were not read");
        return Err(reason.with_remedy("`sudo cpudyno info`"));
    };
    if clock.power.is_empty() {
        let none = || not_there(what, "no register here states any");
        let unread = clock.unread.iter().find(|unread| unread.what.contains(what));
        return Err(unread.cloned().unwrap_or_else(none));
    }
    let hidden = clock.power.iter().find(|limit| {
        let above = |watts: f64| limit.watts.is_some_and(|held| held < watts);
        let is_above = limit.beside.iter().any(|it| it.enabled && it.watts.is_some_and(above));
        is_above && limit.source.to_lowercase().contains("mmio")
    });
    Ok(text(hidden.map_or_else(|| "none".to_owned(), PowerLimit::said)))
}

/// The CPUs of one list that are not in the other.
fn apart(record: &Record, these: &str, those: &str) -> Reading<FactValue> {
    let list = |id: &str| -> Reading<CpuSet> {
        let said = words(record, id)?;
        if said == "none" {
            return Ok(CpuSet::default());
        }
        said.parse().map_err(|_| not_understood(id, &said))
    };
    let left = list(these)?.difference(&list(those)?);
    Ok(text(if left.is_empty() { "none".to_owned() } else { left.to_string() }))
}

/// Parameters that leave out memory or nodes.
fn memory_parameters(record: &Record) -> Reading<FactValue> {
    let line = words(record, "kernel.command_line")?;
    let is_one = |word: &&str| word.starts_with("mem=") || *word == "numa=off";
    let found: Vec<&str> = line.split_whitespace().filter(is_one).collect();
    Ok(text(if found.is_empty() { "none".to_owned() } else { found.join(" ") }))
}

/// How the kernel is preempted, where that is told.
fn preemption_model(record: &Record) -> Reading<FactValue> {
    let model = words(record, "kernel.preemption")?;
    if model == "dynamic" {
        let why = "the kernel can switch how it is preempted, and only root may read the mode";
        let reason = Unavailable::new(Obstacle::Permission, "preemption", why);
        let is_root = record.text("user") == Some("root");
        return Err(reason.with_remedy(if is_root {
            "`sudo mount -t debugfs none /sys/kernel/debug`".to_owned()
        } else {
            format!("{}: `sudo cpudyno doctor`", model::AS_ROOT)
        }));
    }
    Ok(text(model))
}

/// Memory in huge pages that nobody uses, as a share of all.
fn huge_pages_unused(record: &Record) -> Reading<FactValue> {
    let id = "memory.huge_pages";
    let said = words(record, id)?;
    if said.starts_with("none reserved") {
        return Ok(number(0.0, Unit::One));
    }
    let unused: Option<Vec<f64>> = said.split(", ").map(unused_bytes).collect();
    let unused: f64 = unused.ok_or_else(|| not_understood(id, &said))?.into_iter().sum();
    share_of_memory(record, unused)
}

/// `8 x 1 GiB (6 free)`, in bytes.
fn unused_bytes(pool: &str) -> Option<f64> {
    let (_, size) = pool.split_once(" x ")?;
    let (size, free) = size.split_once(" (")?;
    let free: f64 = free.strip_suffix(" free)")?.parse().ok()?;
    let (size, unit) = size.split_once(' ')?;
    let scale = match unit {
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        "GiB" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    Some(free * size.parse::<f64>().ok()? * scale)
}

fn swapped_share(record: &Record) -> Reading<FactValue> {
    share_of_memory(record, amount(record, "memory.swapped")?)
}

fn share_of_memory(record: &Record, bytes: f64) -> Reading<FactValue> {
    let total = amount(record, "memory.total")?;
    if total <= 0.0 {
        return Err(not_understood("memory.total", &total.to_string()));
    }
    Ok(number(bytes / total, Unit::One))
}
