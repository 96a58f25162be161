//! What stands around the areas: title, box, trust, findings, what is missing, instruments; and the small areas.

use std::collections::BTreeMap;

use serde_json::Value;

use super::check::{ANYWHERE, Failure, Rule, WITHOUT, table};
use super::page::{Table, has_digit};
use super::record::{Record, Series, items, number, text};
use super::stats::{bytes, greatest, least, median, mhz, numbers, once, si};
use super::why::lost_share;
use super::{claims, heat, known, memory, neighbours, openmp, reference, trace, waiting};

const TOP: &str = "box";
const HOW: &str = "instruments";
const PMU: &str = "pmu";
const MEANWHILE: &str = "top";
const FINDINGS: &str = "findings";
const MISSING: &str = "not measured";

pub(crate) static RULES: &[Rule] = &[
    Rule::Lines { area: TOP, section: "", template: "SIMULATED data sheet: {}", want: title },
    Rule::Lines { area: TOP, section: "", template: "cpudyno {} sweeps{}", want: subtitle },
    Rule::Tables { area: TOP, section: "", template: "", want: in_brief },
    Rule::Lines { area: TOP, section: "", template: "Trust: {}", want: trust },
    Rule::Lines { area: FINDINGS, section: "Findings", template: "→ {}", want: remedies },
    Rule::Lines { area: FINDINGS, section: "Findings", template: "{}", want: findings },
    Rule::Lines {
        area: MISSING,
        section: "Not measured",
        template: "→ {}",
        want: missing_remedies,
    },
    Rule::Lines { area: MISSING, section: "Not measured", template: "{}", want: missing },
    // An area without any numbers has its reasons where they would stand.
    Rule::Lines {
        area: MISSING,
        section: ANYWHERE,
        template: "unavailable {}",
        want: |record| of_areas(record).0,
    },
    Rule::Lines {
        area: MISSING,
        section: ANYWHERE,
        template: "→ {}",
        want: |record| of_areas(record).1,
    },
    Rule::Tables {
        area: PMU,
        section: "Counters",
        template: "what the counters of the core say, in user mode",
        want: counters,
    },
    Rule::Tables {
        area: MEANWHILE,
        section: "What the CPUs did meanwhile",
        template: "all CPUs over the whole run; {}",
        want: meanwhile,
    },
    Rule::Tables {
        area: HOW,
        section: "How it was measured",
        template: "instruments: smallest difference seen between two readings {}",
        want: instruments,
    },
    Rule::Tables {
        area: HOW,
        section: "How it was measured",
        template: "what sources say of the clock's rate",
        want: rates,
    },
    Rule::Lines {
        area: HOW,
        section: "How it was measured",
        template: "rate of {} taken from: {}",
        want: chosen,
    },
];

fn title(record: &Record) -> Vec<String> {
    let name = record.value["run"]["simulated"].as_str();
    let line = |name| format!("SIMULATED data sheet: machine sim:{name}, nothing was measured");
    name.map(line).into_iter().collect()
}

fn subtitle(record: &Record) -> Vec<String> {
    let (run, tool, plan) = (&record.value["run"], &record.value["tool"], record.plan());
    let ended = run["interrupted"].as_str().map_or(String::new(), |it| format!(", {it}"));
    let given = (number(&plan["budget_seconds"]) * 10.0).round() / 10.0;
    vec![format!(
        "{} {}, {}, {:.1} s of {given} s, {} of {} sweeps{ended}",
        text(&tool["name"]),
        text(&tool["version"]),
        text(&run["started"]),
        number(&run["seconds"]),
        plan["blocks_done"],
        plan["blocks_planned"]
    )]
}

/// A fact as people read it; none where there is a reason instead.
fn fact_text(record: &Record, id: &str) -> Option<String> {
    let value = &record.fact(id)?["value"];
    if let Some(text) = value.as_str() {
        return Some(text.to_owned());
    }
    let (number, unit) = (value["value"].as_f64()?, text(&value["unit"]));
    Some(if unit == "B" { bytes(number) } else { si(number, unit) })
}

const IN_BRIEF: [(&str, &[&str]); 9] = [
    ("CPU", &["cpu.brand", "cpu.microarchitecture"]),
    ("Cores", &["cpu.cores"]),
    ("Caches", &["cpu.caches"]),
    ("Memory", &["memory.total"]),
    ("Runs on", &["platform.virtualisation", "kernel.release"]),
    ("Frequency", &["cpufreq.driver", "cpufreq.governor", "cpufreq.boost", "cpufreq.epp"]),
    ("Platform", &["platform.model", "platform.firmware"]),
    ("Microcode", &["cpu.microcode"]),
    ("Security", &["kernel.mitigations"]),
];

/// Facts, word for word; sizes of caches and numbers of cores once more by the topology.
fn in_brief(record: &Record) -> Vec<Table> {
    let known = |id: &&str| {
        let value = fact_text(record, id)?;
        let label = text(&record.fact(id)?["label"]).to_lowercase();
        let around = value.strip_prefix("none (bare metal)");
        if let Some(around) = around.filter(|_| *id == "platform.virtualisation") {
            return Some(format!("bare metal{around}"));
        }
        let is_bare = id.starts_with("cpufreq.") || *id == "kernel.release";
        Some(if is_bare { format!("{label} {value}") } else { value })
    };
    let line = |(label, ids): &(&str, &[&str])| {
        let parts: Vec<String> = ids.iter().filter_map(known).collect();
        if parts.is_empty() {
            let why = &record.fact(ids[0])?["value"]["unavailable"]["why"];
            return Some(vec![(*label).to_owned(), format!("not known: {}", text(why))]);
        }
        (!parts.is_empty()).then(|| vec![(*label).to_owned(), parts.join(", ")])
    };
    let mut rows: Vec<Vec<String>> = IN_BRIEF.iter().filter_map(line).collect();
    rows.extend(super::sst::in_the_box(record).map(|it| vec!["Speed Select".to_owned(), it]));
    let plan = record.plan();
    let cpus = text(&plan["cpus"]);
    let word = if super::stats::numbers(cpus).len() == 1 { "CPU" } else { "CPUs" };
    rows.push(vec!["Measured".to_owned(), format!("{word} {cpus}: {}", text(&plan["placement"]))]);
    vec![table("", &["", ""], rows)]
}

/// The numbers that facts in words have, by the topology.
pub(crate) fn facts_again(record: &Record) -> Vec<Failure> {
    let topology = &record.value["machine"]["topology"];
    let online = super::stats::numbers(text(&topology["online"]));
    let places: Vec<(u64, u64)> = online.iter().filter_map(|cpu| record.place(*cpu)).collect();
    let packages = once(places.iter().map(|it| it.0)).len();
    let cores = once(places.iter().copied()).len();
    let word = |count: usize, word: &str| super::stats::plural(count, word);
    let cpus = word(online.len(), "CPU");
    let wanted = format!("{}, {}, {cpus}", word(packages, "package"), word(cores, "core"));
    let said = fact_text(record, "cpu.cores").unwrap_or_default();
    let mut failures = Vec::new();
    if !said.starts_with(&wanted) {
        failures.push(Failure::new(TOP, format!("cores {said:?}, by the topology {wanted:?}")));
    }
    let said = fact_text(record, "cpu.caches").unwrap_or_default();
    for cache in items(&topology["caches"]) {
        let Some(size) = cache["bytes"].as_f64() else { continue };
        let d = if cache["kind"] == "data" { "d" } else { "" };
        // Five quarters of a MiB are rounded up here, and to the even digit elsewhere.
        let wanted =
            [size, size * (1.0 + 1e-9)].map(|it| format!("L{}{d} {}", cache["level"], bytes(it)));
        // Types of cores have caches of their own.
        let first = &record.value["machine"]["topology"]["cpus"][0]["cpu"];
        let first = first.as_u64().unwrap_or(0);
        let mine = items(&cache["instances"]).iter();
        let mine = mine.flat_map(|it| super::stats::numbers(text(it))).any(|cpu| cpu == first);
        if mine && cache["kind"] != "instruction" && !wanted.iter().any(|it| said.contains(it)) {
            failures.push(Failure::new(TOP, format!("caches {said:?} have none of {wanted:?}")));
        }
    }
    failures
}

fn trust(record: &Record) -> Vec<String> {
    let is = |word: &str| items(&record.value["findings"]).iter().any(|it| it["severity"] == *word);
    let word = match (is("serious"), is("warning")) {
        (true, _) => "do not rely on this run",
        (_, true) => "usable with care",
        _ => "quiet",
    };
    if !record.series.iter().any(|it| it.area != "rig" && it.has()) {
        return vec!["Trust: nothing was measured.".to_owned()];
    }
    let mut parts = Vec::new();
    let cycles = record.series.iter().filter(|it| it.quantity == "cycles_per_op");
    let spreads: Vec<f64> = cycles.filter_map(Series::uncertainty).collect();
    if let Some((usual, worst)) = median(&spreads).zip(greatest(&spreads)) {
        let [usual, worst] = [usual, worst].map(|it| format!("{:.2} %", it * 100.0));
        parts.push(format!("cycles per op known to {usual}, of the worst cell {worst}"));
    }
    parts.extend(lost_share(record).map(|it| format!("{:.2} % of time lost in gaps", it * 100.0)));
    let steal = record.grown("disturbance.steal");
    parts.extend(steal.map(|it| format!("steal {}", super::stats::time(it))));
    let throttles = record.grown("disturbance.thermal_core");
    parts.extend(throttles.map(|it| format!("thermal throttles {it:.0}")));
    vec![format!("Trust: {word} ({}).", parts.join(", "))]
}

fn findings(record: &Record) -> Vec<String> {
    let line = |it: &Value| {
        let about = text(&it["about"]);
        let about = if about.is_empty() { String::new() } else { format!(" {about}:") };
        let cause =
            it["cause"].as_str().map_or(String::new(), |it| format!("; likely because {it}"));
        format!("{}{about} {}{cause}", text(&it["severity"]), text(&it["text"]))
    };
    let lines: Vec<String> = items(&record.value["findings"]).iter().map(line).collect();
    if lines.is_empty() {
        return vec!["None: nothing that was watched disturbed this run.".to_owned()];
    }
    lines
}

fn remedies(record: &Record) -> Vec<String> {
    let all = items(&record.value["findings"]).iter();
    let line = |it: &Value| {
        let gain = it["gain"].as_str().map_or(String::new(), |it| format!(" (expected: {it})"));
        Some(format!("→ {}{gain}", it["remedy"].as_str()?))
    };
    all.filter_map(line).collect()
}

/// What each finding says, calculated again. Those that repeat what the machine said are facts.
pub(crate) fn findings_again(record: &Record) -> Vec<Failure> {
    let mut failures = Vec::new();
    for finding in items(&record.value["findings"]) {
        let (id, said) = (text(&finding["id"]), text(&finding["text"]));
        if !has_digit(said) {
            continue;
        }
        let (area, wanted) = match id {
            "turbo.transition" => ("turbo: transitions", trace::findings(record)),
            "turbo.clock-drops" => ("turbo: heat", heat::findings(record)),
            "turbo.few-windows" => ("turbo: heat", heat::few(record)),
            "turbo.windows-disturbed" => ("turbo: heat", heat::disturbed(record)),
            "turbo.clock-drifts" => ("turbo: clock", drift(record)),
            "turbo.wide-neighbours"
            | "turbo.busy-sibling"
            | "turbo.hidden-sibling"
            | "turbo.memory-neighbours" => ("turbo: neighbours", neighbours::findings(record)),
            "turbo.latency-differs" => ("turbo: clock", known::differing(record)),
            "sheet.claim-refuted" => ("claims", claims::findings(record)),
            "reference.outside" | "reference.too-few" => ("reference", reference::findings(record)),
            "sheet.outside-band" => ("known", known::findings(record)),
            "turbo.slow-looks" => ("turbo: clock", slow_looks(record)),
            "memory.cache-size" => ("memory", memory::findings(record)),
            "memory.limited" => ("memory", memory::limited(record)),
            "memory.other-pages" => ("memory", memory::other_pages(record)),
            // Groups of samples: where they are split is no number that others could find again.
            // What is assumed was not measured, either.
            "memory.modes" | "memory.caches-unknown" => continue,
            "cores.uneven" => ("cores", waiting::uneven_pairs(record)),
            "pause.uneven" => ("pause", waiting::uneven_pauses(record)),
            "wake.deep-sleep" => ("wake", waiting::deep_sleeps(record)),
            "wake.table-off" => ("wake", waiting::tables_off(record)),
            "openmp.waiting" | "openmp.default-slow" | "openmp.default-burns" => {
                ("openmp", openmp::findings(record))
            }
            "run.gaps" => (FINDINGS, gaps(record)),
            "run.contended" => (FINDINGS, contended(record)),
            "run.few-blocks" => (FINDINGS, few_blocks(record)),
            "run.area-failed" => (FINDINGS, failed(record, said)),
            "machine.contradiction.memory" => (FINDINGS, memory_of_nodes(record)),
            // Lists against lists: the text repeats them.
            _ if id.starts_with("machine.contradiction.") => continue,
            // Counted while the run went on; nothing of it is in series.
            _ if COUNTED.iter().any(|known| id.starts_with(known)) => continue,
            _ => {
                failures.push(Failure::new(WITHOUT, format!("finding {id} has no rule: {said:?}")));
                continue;
            }
        };
        if !wanted.iter().any(|wanted| wanted == said) {
            failures.push(Failure::new(
                area,
                format!("finding {id} says {said:?}, the series {wanted:?}"),
            ));
        }
    }
    failures
}

/// Findings on rates, other work, placement, steal, and what limits a machine: told by the record alone.
const COUNTED: [&str; 17] = [
    "clock.",
    "placement.",
    "ruler.",
    "run.failed",
    "run.part-failed",
    "run.stood-still",
    "run.rivals",
    "run.busy-before",
    "run.busy-neighbour",
    "run.cpu-lost",
    "run.interrupted",
    "run.left-out",
    "run.preempted",
    "run.migrated",
    "busy.",
    "disturbance.",
    "instrument",
];

/// What the nodes have together, where it is not what the kernel has.
fn memory_of_nodes(record: &Record) -> Vec<String> {
    let nodes = items(&record.value["machine"]["topology"]["nodes"]).iter();
    let sum: f64 = nodes.filter_map(|node| node["memory_bytes"].as_f64()).sum();
    let total = record.fact("memory.total").and_then(|fact| fact["value"]["value"].as_f64());
    let said = |total: f64| {
        let [total, sum] = [total, sum].map(bytes);
        format!("`/proc/meminfo` says {total}, and the nodes have {sum} together")
    };
    total.map(said).into_iter().collect()
}

/// The least and the greatest clock without payload, of that of these CPUs that moved most, or of any where none of
/// them was looked at.
pub(crate) fn quiet_drift(record: &Record, cpus: &[u64]) -> Option<[f64; 2]> {
    let mut of_cpus: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for series in record.of_quantity("rig", "quiet_clock") {
        of_cpus.entry(series.cpu).or_default().extend(series.medians());
    }
    if of_cpus.keys().any(|cpu| cpus.contains(cpu)) {
        of_cpus.retain(|cpu, _| cpus.contains(cpu));
    }
    let ends = of_cpus.values().filter_map(|all| Some([least(all)?, greatest(all)?]));
    ends.max_by(|a, b| (a[1] / a[0]).total_cmp(&(b[1] / b[0])))
}

fn drift(record: &Record) -> Vec<String> {
    let said = |[low, high]: [f64; 2]| {
        let change = (high / low - 1.0) * 100.0;
        let [low, high] = [low, high].map(mhz);
        format!(
            "without any payload the clock moved between {low} and {high} MHz during the run ({change:.1} %): \
             compare runs by cycles per op, not by MHz"
        )
    };
    quiet_drift(record, &numbers(text(&record.plan()["cpus"]))).map(said).into_iter().collect()
}

fn slow_looks(record: &Record) -> Vec<String> {
    let mut cells: Vec<(String, String)> = Vec::new();
    for series in record.of_quantity("turbo", "clock") {
        let Some((p5, middle)) = series.q(0.05).zip(series.median()) else { continue };
        let cell = format!("{} with {} active", series.workload, series.cpus.len());
        if p5 < 0.9 * middle && !cells.iter().any(|known| known.0 == cell) {
            cells.push((cell.clone(), format!("{cell} ({} of {} MHz)", mhz(p5), mhz(middle))));
        }
    }
    let cells: Vec<String> = cells.into_iter().map(|cell| cell.1).collect();
    vec![format!(
        "one look in twenty found far less than the median under {}: the core halted, was throttled or was \
         taken away, which the chain counts as lost cycles",
        cells.join(", ")
    )]
}

fn gaps(record: &Record) -> Vec<String> {
    let said = |lost: f64| {
        let percent = lost * 100.0;
        format!(
            "{percent:.1} % of the time polled was lost in gaps: interrupts, other threads, or the hypervisor"
        )
    };
    lost_share(record).map(said).into_iter().collect()
}

fn contended(record: &Record) -> Vec<String> {
    let (mut contended, mut blocks) = (0.0, 0.0);
    for series in record.series.iter().filter(|it| it.area != "rig" && it.quantity == "clock") {
        contended += series.disturbance["contended_blocks"].as_f64().unwrap_or(0.0);
        blocks += series.blocks.len() as f64;
    }
    let share = contended / (contended + blocks) * 100.0;
    vec![format!(
        "in {share:.0} % of blocks the add chain disagreed with the multiply chain by more than 0.25 %: cores \
         were shared with something busy; those blocks are left out"
    )]
}

fn few_blocks(record: &Record) -> Vec<String> {
    let plan = record.plan();
    let done = plan["blocks_done"].as_u64().unwrap_or(0);
    let (took, given) = (number(&record.value["run"]["seconds"]), number(&plan["budget_seconds"]));
    let blocks = if done == 1 { "block was" } else { "blocks were" };
    let over = if done == 1 && took > 1.2 * given {
        format!(", in {took:.0} s where there were {given:.0}")
    } else if done > 0 && took < 0.8 * given {
        format!(
            ", in {took:.0} of {given:.0} s: another block of every cell did not fit into the rest"
        )
    } else {
        String::new()
    };
    vec![format!("only {done} {blocks} completed{over}: numbers have no interval")]
}

/// The sentence itself, where those that it names are in the record, one at least without numbers for that reason.
fn failed(record: &Record, said: &str) -> Vec<String> {
    let parts = said
        .split_once(" failed: ")
        .and_then(|(names, rest)| Some((names, rest.split_once("; every")?.0)));
    let Some((names, why)) = parts else { return Vec::new() };
    let has = |name: &str| record.series.iter().any(|series| series.workload == name);
    let ended = |name: &str| {
        let mut of_it = record.series.iter().filter(|series| series.workload == name);
        of_it.any(|series| series.unavailable.as_ref().is_some_and(|reason| reason["why"] == why))
    };
    let mut all = names.split(", ");
    let is_so = all.clone().all(has) && all.any(ended);
    is_so.then(|| format!("{names} failed: {why}; everything else stands")).into_iter().collect()
}

/// What has a reason in place of numbers, by reason: names, and the reason.
fn absences(record: &Record) -> Vec<(&Value, Vec<String>)> {
    let mut all: Vec<(&Value, String)> = Vec::new();
    let mut note = |reason, name: String| all.push((reason, name));
    for it in items(&record.value["instruments"]) {
        if let Some(reason) = it.get("unavailable") {
            note(reason, format!("{} ({})", text(&it["measures"]), text(&it["id"])));
        }
    }
    for series in &record.series {
        if let Some(reason) = &series.unavailable {
            note(reason, name(series, reason));
        }
    }
    let facts = items(&record.value["machine"]["facts"]).iter();
    for fact in facts.chain(items(&record.value["conditions"]["before"])) {
        if !IN_BRIEF.iter().any(|(_, ids)| ids.contains(&text(&fact["id"]))) {
            continue;
        }
        if let Some(reason) = fact["value"].get("unavailable") {
            note(reason, text(&fact["label"]).to_lowercase());
        }
    }
    by_reason(all.into_iter())
}

/// Each reason once, with the names of what it is a reason for.
fn by_reason<'a>(
    absences: impl Iterator<Item = (&'a Value, String)>,
) -> Vec<(&'a Value, Vec<String>)> {
    let mut all: Vec<(&Value, Vec<String>)> = Vec::new();
    for (reason, name) in absences {
        let at = all.iter().position(|(known, _)| known["why"] == reason["why"]);
        let at = at.unwrap_or_else(|| {
            all.push((reason, Vec::new()));
            all.len() - 1
        });
        if !all[at].1.contains(&name) {
            all[at].1.push(name);
        }
    }
    all
}

/// What a series without numbers is called.
/// What those quantities are called that have a reason of their own.
const CALLED: [(&str, &str); 17] = [
    ("soak_clock", "clock in a window"),
    ("soak_limited", "windows in which a limit was seen"),
    ("soak_power", "power in a window"),
    ("soak_temperature", "temperature after a window"),
    ("trace_clock", "clock in a look"),
    ("trace_folded_clock", "clock in a bin"),
    ("trace_halt", "halt"),
    ("trace_hold", "how long the clock stays low after the payload"),
    ("trace_hold_visible", "the least difference of clocks that can be told"),
    ("trace_looked", "periods in which a phase was looked at"),
    ("trace_low", "clock under the payload"),
    ("trace_relaxed", "clock at the end of the period"),
    ("trace_stretch", "how much longer adds took in a look"),
    ("trace_throttled", "throttled dispatch"),
    ("trace_throttled_visible", "the least throttled dispatch that can be told"),
    ("trace_time", "time of a look"),
    ("trace_visible", "the least halt that can be told"),
];

fn name(series: &Series, reason: &Value) -> String {
    let of = |key| series.parameter(key);
    let what = text(&reason["what"]);
    if series.parameters.is_empty() && !what.is_empty() {
        return what.to_owned();
    }
    let workload = &series.workload;
    match series.area.as_str() {
        "turbo" => {
            if let Some((beside, place)) = of("beside").zip(of("place")) {
                return format!("{workload} beside {beside}, {place}");
            }
            if let Some(stream) = of("stream") {
                let core = of("core").map(|core| format!("{core} core"));
                let of = core.or(of("cpus").map(|cpus| format!("CPUs {cpus}")));
                let of = of.map_or(String::new(), |of| format!(" ({of})"));
                let called = CALLED.iter().find(|(id, _)| *id == series.quantity);
                let called = called.map_or(series.quantity.as_str(), |(_, called)| called);
                return format!("{called} of {stream}{of}");
            }
        }
        "pmu" => return "counters of the core".to_owned(),
        "top" => {
            if let Some(column) = of("column") {
                return format!("{column} of CPU {}", series.active);
            }
        }
        _ => {}
    }
    let apart = match series.area.as_str() {
        "wake" => match (of("rest_us"), of("limit_us"), of("pair")) {
            (Some(rest), None, _) => Some(format!("after a rest of {rest} us")),
            (Some(rest), Some(limit), _) => {
                Some(format!("after a rest of {rest} us, limited to {limit} us,"))
            }
            (None, _, pair) => pair.map(str::to_owned),
        },
        "openmp" => of("setting").map(str::to_owned),
        _ => None,
    };
    let apart = apart.map_or(String::new(), |words| format!(" {words}"));
    format!("{workload}{apart} with {} active", series.cpus.len())
}

/// What each area has reasons for, and what would help, area by area.
fn of_areas(record: &Record) -> (Vec<String>, Vec<String>) {
    let areas = super::stats::once(record.series.iter().map(|series| series.area.clone()));
    let mut told = (Vec::new(), Vec::new());
    for area in areas {
        let of_area = record.series.iter().filter(|series| series.area == area);
        let absences = by_reason(of_area.filter_map(|series| {
            let reason = series.unavailable.as_ref()?;
            Some((reason, name(series, reason)))
        }));
        told.0.extend(lines(&absences));
        told.1.extend(remedies_of(&absences));
    }
    told
}

fn missing(record: &Record) -> Vec<String> {
    lines(&absences(record))
}

fn lines(absences: &[(&Value, Vec<String>)]) -> Vec<String> {
    let line = |(reason, names): &(&Value, Vec<String>)| {
        let more = names.len().saturating_sub(6);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let names = names[..names.len().min(6)].join(", ");
        format!("unavailable {names}{more}: {}", text(&reason["why"]))
    };
    absences.iter().map(line).collect()
}

fn missing_remedies(record: &Record) -> Vec<String> {
    remedies_of(&absences(record))
}

fn remedies_of(absences: &[(&Value, Vec<String>)]) -> Vec<String> {
    let remedies = absences.iter().filter_map(|(reason, _)| reason["remedy"].as_str());
    remedies.map(|remedy| format!("→ {remedy}")).collect()
}

fn counters(record: &Record) -> Vec<Table> {
    let row = |cycles: &Series| {
        let of = |area, quantity| {
            let same = |it: &&Series| {
                (&it.workload, it.cpu) == (&cycles.workload, cycles.cpu) && it.cpus.len() == 1
            };
            record.of_quantity(area, quantity).find(same).and_then(Series::median)
        };
        let instructions = of("pmu", "instructions_per_op");
        let counted = cycles.median();
        let ratio = instructions.zip(counted).filter(|(_, cycles)| *cycles > 0.0);
        let numbers = [
            instructions,
            counted,
            of("turbo", "cycles_per_op"),
            ratio.map(|(instructions, cycles)| instructions / cycles),
        ];
        let numbers = numbers.map(|it| it.map_or("-".to_owned(), |it| format!("{it:.3}")));
        let known = instructions.is_some() || counted.is_some();
        known.then(|| std::iter::once(cycles.workload.clone()).chain(numbers).collect())
    };
    let all = record.of_quantity("pmu", "counted_cycles_per_op");
    let rows: Vec<Vec<String>> = all.filter_map(row).collect();
    let columns = [
        "stream",
        "instructions per op",
        "cycles per op",
        "by the ruler",
        "instructions per cycle",
    ];
    let caption = "what the counters of the core say, in user mode";
    if rows.is_empty() { Vec::new() } else { vec![table(caption, &columns, rows)] }
}

/// One row for all CPUs: watts are added, the hottest sensor counts, clocks are weighted by the time in which
/// CPUs ran, all else is a mean.
fn meanwhile(record: &Record) -> Vec<Table> {
    let all = || record.series.iter().filter(|it| it.area == "top" && it.has());
    let first = |it: &Series| it.samples[0];
    let names = once(all().filter_map(|it| it.parameter("column")));
    let cell = |name: &&str| {
        let column: BTreeMap<u64, &Series> = all()
            .filter(|it| it.parameter("column") == Some(name))
            .map(|it| (it.cpu, it))
            .collect();
        let values: Vec<f64> = column.values().map(|it| first(it)).collect();
        let any = column.values().next().expect("a column has series");
        let of = |quantity: &str| -> f64 {
            let of = all().filter(|it| it.quantity == quantity && column.contains_key(&it.cpu));
            of.map(first).sum()
        };
        let sum: f64 = values.iter().sum();
        let value = match (any.unit.as_str(), any.quantity.as_str()) {
            ("W", _) => sum,
            ("°C", _) => greatest(&values).expect("a column has values"),
            (_, "busy_clock") => of("average_clock") / of("busy_share"),
            _ => sum / values.len() as f64,
        };
        match any.unit.as_str() {
            "Hz" => mhz(value),
            "°C" => format!("{value:.0}"),
            "1" => format!("{:.2}", value * 100.0),
            _ => format!("{value:.2}"),
        }
    };
    if names.is_empty() {
        return Vec::new();
    }
    let row = names.iter().map(cell).collect();
    vec![table("all CPUs over the whole run; `cpudyno top` watches each", &names, vec![row])]
}

fn used(record: &Record) -> impl Iterator<Item = &Value> {
    items(&record.value["instruments"]).iter().filter(|it| it.get("unavailable").is_none())
}

fn instruments(record: &Record) -> Vec<Table> {
    let row = |it: &Value| {
        let (unit, step) = (text(&it["unit"]), number(&it["resolution"]));
        let is_count = ["cycle", "count"].contains(&unit);
        let step = if is_count { format!("{step:.0}") } else { si(step, unit) };
        let rate = it["rate"]["hertz"].as_f64().map(|it| format!("{:.6} MHz", it / 1e6));
        let cost = super::stats::time(number(&it["own_cost_seconds"]));
        let words = ["id", "measures"].map(|key| text(&it[key]).to_owned());
        words.into_iter().chain([step, cost, rate.unwrap_or_default()]).collect()
    };
    let caption = "instruments: smallest difference seen between two readings (the step is no greater), and \
                   the cost of one";
    let columns = ["instrument", "measures", "difference", "own cost", "rate"];
    vec![table(caption, &columns, used(record).map(row).collect())]
}

/// How far each source is off is calculated again from its rate and the chosen one.
fn rates(record: &Record) -> Vec<Table> {
    let mut rows = Vec::new();
    for it in used(record) {
        let chosen = it["rate"]["hertz"].as_f64();
        for source in items(&it["rate"]["sources"]) {
            let hertz = source["hertz"].as_f64();
            let off = hertz.zip(chosen).map(|(hertz, chosen)| (hertz / chosen - 1.0) * 1e6);
            // Less than half of the last digit has the sign of what was subtracted.
            let off = off.map(|off| format!("{:+.1}", if off.abs() < 0.05 { 0.0 } else { off }));
            rows.push(vec![
                text(&it["id"]).to_owned(),
                text(&source["source"]).to_owned(),
                hertz.map_or("unavailable".to_owned(), |it| format!("{:.6}", it / 1e6)),
                off.unwrap_or_default(),
                if source["independent"] == true { "yes" } else { "no" }.to_owned(),
            ]);
        }
    }
    let columns = ["clock", "source", "MHz", "ppm off", "independent"];
    let caption = "what sources say of the clock's rate";
    if rows.is_empty() { Vec::new() } else { vec![table(caption, &columns, rows)] }
}

fn chosen(record: &Record) -> Vec<String> {
    let line = |it: &Value| {
        let chosen = it["rate"]["chosen"].as_str()?;
        Some(format!("rate of {} taken from: {chosen}", text(&it["id"])))
    };
    used(record).filter_map(line).collect()
}
