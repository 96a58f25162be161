//! A record as metrics for Prometheus: what node_exporter's textfile collector reads.
//!
//! The text is Prometheus' text format 0.0.4: each family is in one piece, with HELP and TYPE before it, which are the
//! same on every machine, as the collector asks of all files that it reads; names end in base units; no sample has a
//! time of its own, as the collector refuses those. What was not measured has no line: zero would be a number.
//!
//! A host has fewer than [`SERIES_MAX`] series. Of all that is judged they show medians at the ends of what was varied:
//! one core and all cores, the shortest and the longest pause, the nearest and the farthest node. Of curves over the
//! size of data only the end in memory is shown. What differs only by the CPUs or the bytes that it was measured on is one series, their
//! median, for each kind of cores.

use std::collections::BTreeMap;
use std::fmt::Write;

use model::record::{
    Digest, FactValue, GateCode, GateItem, GateState, GateVerdict, Record, ResultKey,
};
use model::stats::median;
use model::stats::paired::Better;
use model::{CpuSet, Unit, areas};

use crate::digest;

/// Fewer series than this are of one host: a monitor keeps each for months.
pub const SERIES_MAX: usize = 200;

/// So many bounds have a series; those that do not hold come first.
const BOUNDS_MAX: usize = 60;

/// Labels and their values, in the order in which they are written.
type Labels = Vec<(String, String)>;

/// Samples of one name.
struct MetricFamily {
    name: String,
    help: String,
    samples: Vec<(Labels, f64)>,
}

impl MetricFamily {
    fn new(name: &str, help: &str, samples: Vec<(Labels, f64)>) -> MetricFamily {
        MetricFamily { name: name.to_owned(), help: help.to_owned(), samples }
    }

    fn one(name: &str, help: &str, value: f64) -> MetricFamily {
        MetricFamily::new(name, help, vec![(Vec::new(), value)])
    }
}

/// The metrics of a record.
pub fn render(record: &Record) -> String {
    let digest = digest::at_hand(record);
    let mut others = disturbances(record);
    others.extend(gate(record));
    others.extend(run(record, &digest));
    let taken: usize = others.iter().map(|family| family.samples.len()).sum();
    let mut families = results(record, &digest, (SERIES_MAX - 1).saturating_sub(taken));
    families.extend(others);
    let mut text = String::new();
    let simulated = record.run.simulated.as_deref();
    if simulated.is_some() {
        text.push_str("# SIMULATED: no machine was measured.\n");
    }
    for family in families.iter().filter(|family| !family.samples.is_empty()) {
        write_family(&mut text, family, simulated);
    }
    text
}

/// What stands behind a name for that unit, as Prometheus wants it.
fn suffix(unit: Unit) -> &'static str {
    match unit {
        Unit::Hertz => "hertz",
        Unit::Second => "seconds",
        Unit::SecondPerOp => "seconds_per_op",
        Unit::Cycle => "cycles",
        Unit::CyclePerOp => "cycles_per_op",
        Unit::One => "ratio",
        Unit::PerSecond => "per_second",
        Unit::TransferPerSecond => "transfers_per_second",
        Unit::FlopPerSecond => "flops_per_second",
        Unit::Count => "",
        Unit::Byte => "bytes",
        Unit::BytePerSecond => "bytes_per_second",
        Unit::Watt => "watts",
        Unit::Celsius => "celsius",
    }
}

/// `turbo`, `cycles_per_op`: `cpudyno_turbo_cycles_per_op`, with the unit once.
fn name(area: &str, quantity: &str, unit: &str) -> String {
    let quantity = quantity.strip_suffix(unit).unwrap_or(quantity).trim_end_matches('_');
    let words = ["cpudyno", area, quantity, unit].into_iter().filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_")
}

/// A result that is shown, and what it shares with others of its series.
struct Shown {
    family: String,
    labels: Labels,
    active: usize,
    median: f64,
}

/// The judged results, no more than so many series of them.
fn results(record: &Record, digest: &Digest, max: usize) -> Vec<MetricFamily> {
    let mut shown: Vec<Shown> = Vec::new();
    let mut helps: BTreeMap<String, String> = BTreeMap::new();
    for (what, unit, value) in at_the_ends(record, digest) {
        let family = name(&what.area, &what.quantity, suffix(unit));
        helps.entry(family.clone()).or_insert_with(|| help(what));
        shown.push(Shown {
            family,
            labels: labels(record, what),
            active: what.active,
            median: value,
        });
    }
    let alike = |a: &Shown, b: &Shown| (&a.family, &a.labels) == (&b.family, &b.labels);
    shown.sort_by(|a, b| {
        let cores = b.active.cmp(&a.active);
        a.family.cmp(&b.family).then(cores).then_with(|| a.labels.cmp(&b.labels))
    });
    let series = shown.chunk_by(alike).filter_map(|parts| {
        let medians: Vec<f64> = parts.iter().map(|part| part.median).collect();
        Some((&parts[0].family, &parts[0].labels, median(&medians)?))
    });
    let mut families: BTreeMap<&String, Vec<(Labels, f64)>> = BTreeMap::new();
    for (family, labels, value) in series {
        families.entry(family).or_default().push((labels.clone(), value));
    }
    shorten(families.values_mut(), max);
    let family = |(name, samples): (&String, _)| MetricFamily::new(name, &helps[name], samples);
    families.into_iter().map(family).collect()
}

/// Takes the last series of the longest families until no more than `max` are left.
fn shorten<'a>(families: impl Iterator<Item = &'a mut Vec<(Labels, f64)>>, max: usize) {
    let mut families: Vec<_> = families.collect();
    let all: usize = families.iter().map(|samples| samples.len()).sum();
    for _ in max..all {
        if let Some(longest) = families.iter_mut().max_by_key(|samples| samples.len()) {
            longest.pop();
        }
    }
}

/// What was measured, but for what lies between the ends of a row of numbers, and for curves within caches.
fn at_the_ends<'a>(record: &Record, digest: &'a Digest) -> Vec<(&'a ResultKey, Unit, f64)> {
    let all: CpuSet = record.machine.topology.cpus.iter().map(|place| place.cpu).collect();
    let caches = record.machine.topology.caches_in_use(&all).map(|caches| caches.bytes as f64);
    let is_in_caches = |what: &ResultKey| {
        let given = |name: &str| what.parameters.get(name);
        let is_curve = given(areas::memory::QUESTION).is_some_and(|asked| asked == "sweep");
        let bytes = given("footprint").and_then(|bytes| number(bytes));
        is_curve && !bytes.zip(caches).is_some_and(|(bytes, caches)| bytes > caches)
    };
    let measured = digest.results.iter().filter(|(what, _)| !is_in_caches(what));
    let measured = measured.filter_map(|(what, result)| {
        Some((what, result.unit, result.outcome.as_ref().ok()?.median))
    });
    let measured: Vec<_> = measured.collect();
    let mut ends: BTreeMap<(_, &str), (f64, f64)> = BTreeMap::new();
    for (what, ..) in &measured {
        for (dimension, value) in numbers(what) {
            let end = ends.entry((row(what), dimension)).or_insert((value, value));
            *end = (end.0.min(value), end.1.max(value));
        }
    }
    let is_end = |what: &ResultKey| {
        numbers(what).all(|(dimension, value)| {
            let (low, high) = ends[&(row(what), dimension)];
            value <= low || value >= high
        })
    };
    measured.iter().copied().filter(|(what, ..)| is_end(what)).collect()
}

/// What stays the same along a row of numbers: area, workload and quantity, and parameters, of which those that are
/// numbers have no value here.
type RowKey<'a> = ([&'a str; 3], Vec<(&'a str, Option<&'a str>)>);

fn row(what: &ResultKey) -> RowKey<'_> {
    let words = what.parameters.iter().filter(|(name, _)| !is_size(name));
    let words =
        words.map(|(name, value)| (name.as_str(), number(value).is_none().then_some(&**value)));
    ([&what.area, &what.workload, &what.quantity], words.collect())
}

/// The numbers that tell a result from others of its row: active cores, and parameters.
fn numbers(what: &ResultKey) -> impl Iterator<Item = (&str, f64)> {
    let parameters = what.parameters.iter().filter(|(name, _)| !is_size(name));
    let parameters = parameters.filter_map(|(name, value)| Some((name.as_str(), number(value)?)));
    [("", what.active as f64)].into_iter().chain(parameters)
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Whether that is the size of the data, which follows from a machine's caches: as a label it would tell machines
/// apart that are held against one another.
fn is_size(parameter: &str) -> bool {
    ["elements", "footprint"].contains(&parameter)
}

fn help(what: &ResultKey) -> String {
    let quantity = areas::quantity(&what.area, &what.quantity);
    let label = quantity.map_or(what.quantity.as_str(), |quantity| quantity.label);
    let better = match quantity.and_then(|quantity| quantity.better) {
        Some(Better::More) => ", higher is better",
        Some(Better::Less) => ", lower is better",
        None => "",
    };
    format!("{}: {label}, the median over blocks{better}.", what.area)
}

/// What tells a series from others of its family.
fn labels(record: &Record, what: &ResultKey) -> Labels {
    let cpus = what.cpus.as_deref().and_then(|cpus| cpus.parse::<CpuSet>().ok());
    let kinds = cpus.and_then(|cpus| record.machine.topology.types(&cpus));
    let mut labels = vec![
        ("workload".to_owned(), what.workload.clone()),
        ("active".to_owned(), what.active.to_string()),
    ];
    labels.extend(kinds.map(|kinds| ("kind".to_owned(), kinds)));
    let parameters = what.parameters.iter().filter(|(name, _)| !is_size(name));
    labels.extend(parameters.map(|(name, value)| (label(name), value.clone())));
    labels
}

/// Letters, digits and underscores; words of our own are no parameters' names.
fn label(parameter: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let name: String = parameter.chars().map(plain).collect();
    let is_taken = ["workload", "active", "kind", "simulated"].contains(&name.as_str());
    let begins_well = name.starts_with(|c: char| c.is_ascii_alphabetic());
    if is_taken || !begins_well { format!("parameter_{name}") } else { name }
}

/// What grew during the run: it begins anew with each, so that it is no counter of Prometheus.
fn disturbances(record: &Record) -> Vec<MetricFamily> {
    let of = |fact: &model::record::Fact| {
        let id = fact.id.strip_prefix("disturbance.")?;
        let FactValue::Number { value, unit } = fact.value.value()? else { return None };
        let unit = suffix(*unit);
        let help = format!("{} during the run.", fact.label);
        Some(MetricFamily::one(&name("run", id, unit), &help, *value))
    };
    record.conditions.after.iter().filter_map(of).collect()
}

fn gate(record: &Record) -> Vec<MetricFamily> {
    let Some(gate) = &record.gate else { return Vec::new() };
    // Who could not be judged has neither passed nor failed.
    let verdict = match gate.verdict {
        GateVerdict::Pass => Some(1.0),
        GateVerdict::Fail => Some(0.0),
        GateVerdict::CannotJudge => None,
    };
    let verdict = verdict.map(|value| (Vec::new(), value)).into_iter().collect();
    let mut bounds: Vec<_> = gate
        .bounds
        .iter()
        .filter_map(|bound| {
            let holds = bound.outcome.value()?.holds;
            let kind = bound.kind.word().to_owned();
            let labels = vec![("bound".to_owned(), bound.name.clone()), ("kind".to_owned(), kind)];
            Some((labels, f64::from(u8::from(holds))))
        })
        .collect();
    bounds.sort_by(|a, b| a.1.total_cmp(&b.1).then_with(|| a.0.cmp(&b.0)));
    // One that is given twice is one.
    bounds.dedup_by(|later, first| later.0 == first.0);
    bounds.truncate(BOUNDS_MAX);
    let mut families = vec![
        MetricFamily::new(
            "cpudyno_gate_pass",
            "Whether the machine passes: 1, or 0; none: cannot judge.",
            verdict,
        ),
        MetricFamily::new("cpudyno_gate_bound_holds", "Whether a bound holds: 1, or 0.", bounds),
        MetricFamily::new(
            "cpudyno_gate_items",
            "What the machine was judged by, by code and what came of it.",
            by_code(&gate.items),
        ),
    ];
    if let Some(reference) = &record.reference {
        let placed: Vec<_> = reference
            .positions
            .iter()
            .filter(|position| position.place.value().is_some())
            .collect();
        let worse = placed.iter().filter(|position| position.is_worse()).count();
        let one = |value: usize| vec![(Vec::new(), value as f64)];
        families.push(MetricFamily::new(
            "cpudyno_gate_reference_records",
            "Earlier records of such a machine.",
            one(reference.records as usize),
        ));
        families.push(MetricFamily::new(
            "cpudyno_gate_reference_results_worse",
            "Results that are worse than earlier records allow.",
            if placed.is_empty() { Vec::new() } else { one(worse) },
        ));
    }
    families
}

/// How many things of a code fail, warn and hold, where any was judged.
fn by_code(items: &[GateItem]) -> Vec<(Labels, f64)> {
    const STATES: [(&str, GateState); 3] =
        [("fails", GateState::Fails), ("warns", GateState::Warns), ("holds", GateState::Holds)];
    let of = |code: GateCode| {
        let counts = STATES.map(|(word, state)| {
            let is_it = |item: &&GateItem| (item.code, item.state) == (code, state);
            (word, items.iter().filter(is_it).count())
        });
        let any = counts.iter().any(|(_, count)| *count > 0);
        counts.into_iter().filter(move |_| any).map(move |(word, count)| {
            let labels = [("code", code.word()), ("state", word)];
            (labels.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(), count as f64)
        })
    };
    GateCode::ALL.into_iter().flat_map(of).collect()
}

fn run(record: &Record, digest: &Digest) -> Vec<MetricFamily> {
    let severe = |severity| record.findings.iter().filter(|f| f.severity == severity).count();
    let severities = [model::Severity::Note, model::Severity::Warning, model::Severity::Serious];
    let findings = severities.map(|severity| {
        let labels = vec![("severity".to_owned(), severity.word().to_owned())];
        (labels, severe(severity) as f64)
    });
    let measured = digest.results.values().filter(|result| result.outcome.is_ok()).count();
    vec![
        MetricFamily::one(
            "cpudyno_run_duration_seconds",
            "How long the run took.",
            record.run.seconds,
        ),
        MetricFamily::new(
            "cpudyno_run_findings",
            "Remarks on validity or result, by weight.",
            findings.to_vec(),
        ),
        MetricFamily::one(
            "cpudyno_run_results",
            "Judged results of the record; here are those at the ends of what was varied.",
            measured as f64,
        ),
        MetricFamily::new(
            "cpudyno_info",
            "What was measured, and by which cpudyno; always 1.",
            vec![(info(digest), 1.0)],
        ),
    ]
}

/// What the machine says of itself; what is unknown is no label.
fn info(digest: &Digest) -> Labels {
    const SAID: [(&str, &str); 7] = [
        ("cpu", "cpu.brand"),
        ("microarchitecture", "cpu.microarchitecture"),
        ("microcode", "cpu.microcode"),
        ("model", "platform.model"),
        ("bios", "platform.firmware"),
        ("kernel", "kernel.release"),
        ("version", "tool.version"),
    ];
    let text = |id: &str| digest.facts.iter().find(|fact| fact.id == id)?.text.clone();
    SAID.iter().filter_map(|(label, id)| Some(((*label).to_owned(), text(id)?))).collect()
}

fn write_family(text: &mut String, family: &MetricFamily, simulated: Option<&str>) {
    let MetricFamily { name, help, samples } = family;
    let simulated = simulated.map(|name| ("simulated".to_owned(), name.to_owned()));
    let mut put = |line: std::fmt::Arguments<'_>| {
        text.write_fmt(line).expect("BUG: a string refuses to be written to");
    };
    put(format_args!("# HELP {name} {}\n", help.replace('\\', "\\\\").replace('\n', "\\n")));
    put(format_args!("# TYPE {name} gauge\n"));
    for (labels, value) in samples.iter().filter(|(_, value)| value.is_finite()) {
        let all: Vec<String> = labels
            .iter()
            .chain(&simulated)
            .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
            .collect();
        let labels = if all.is_empty() { String::new() } else { format!("{{{}}}", all.join(",")) };
        put(format_args!("{name}{labels} {value}\n"));
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{blank, series};

    #[test]
    fn names_end_in_their_unit_once_and_labels_are_plain() {
        assert_eq!(name("turbo", "clock", "hertz"), "cpudyno_turbo_clock_hertz");
        assert_eq!(name("pause", "cycles_per_op", "cycles_per_op"), "cpudyno_pause_cycles_per_op");
        assert_eq!(name("run", "interrupts", ""), "cpudyno_run_interrupts");
        assert_eq!(label("rest_us"), "rest_us");
        assert_eq!(label("OMP places"), "omp_places");
        assert_eq!([label("active"), label("2nd")], ["parameter_active", "parameter_2nd"]);
        assert_eq!(escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }

    /// Lines that begin so.
    fn lines(record: &Record, begin: &str) -> Vec<String> {
        let text = render(record);
        text.lines().filter(|line| line.starts_with(begin)).map(str::to_owned).collect()
    }

    #[test]
    fn a_result_is_a_line_with_its_base_unit_and_median_and_an_absent_one_is_none() {
        let mut record = blank();
        let pages = [("pages", "thp"), ("active", "no")];
        let absent = series(["memory", "triad", "bandwidth"], "0-1", &[], &[&[1.0]]);
        let unavailable = model::Unavailable::new(model::Obstacle::Measurement, "it", "no time");
        let outcome = model::record::Outcome::Unavailable { unavailable };
        record.series = vec![
            series(["memory", "copy", "bandwidth"], "0-1", &pages, &[&[14e9], &[15e9], &[19e9]]),
            series(["memory", "chase", "latency"], "3", &[], &[&[1.25e-7]]),
            series(["pause", "pause_only", "cycles_per_op"], "3", &[], &[&[140.5]]),
            model::record::Series { outcome, ..absent },
        ];
        let bandwidth = "cpudyno_memory_bandwidth_bytes_per_second";
        let labels = r#"workload="copy",active="2",parameter_active="no",pages="thp""#;
        assert_eq!(lines(&record, bandwidth), [format!("{bandwidth}{{{labels}}} 15000000000")]);
        let value = |name: &str| {
            let lines = lines(&record, name);
            let (_, value) = lines[0].rsplit_once(' ').unwrap();
            (lines.len(), value.parse::<f64>().unwrap())
        };
        assert_eq!(value("cpudyno_memory_latency_seconds{"), (1, 1.25e-7));
        assert_eq!(value("cpudyno_pause_cycles_per_op{"), (1, 140.5));
        assert_eq!(lines(&record, "# UNIT"), [""; 0], "it is no OpenMetrics");
    }

    /// Labels of a family and their values.
    fn of(record: &Record, family: &str) -> Vec<String> {
        let lines = lines(record, &format!("{family}{{"));
        lines.iter().map(|line| line[family.len()..].to_owned()).collect()
    }

    #[test]
    fn a_row_of_numbers_shows_its_ends_and_a_curve_that_in_memory() {
        let mut record = blank();
        let of_cores = |cores: &str, value: f64| {
            series(
                ["memory", "copy", "bandwidth"],
                cores,
                &[("question", "bandwidth")],
                &[&[value]],
            )
        };
        record.series = vec![of_cores("0", 1e9), of_cores("0-1", 2e9), of_cores("0-3", 4e9)];
        for (rest, value) in [("10", 1e-5), ("100", 2e-5), ("1000", 3e-5)] {
            let parameters = [("question", "idle"), ("rest_us", rest)];
            record.series.push(series(
                ["wake", "futex", "round_trip"],
                "0-1",
                &parameters,
                &[&[value]],
            ));
        }
        crate::testing::place(&mut record, &["0-3"]);
        crate::testing::cache(&mut record, 2, 1 << 20, &["0-3"]);
        for (bytes, value) in [("4096", 1e-9), ("1048576", 2e-9), ("1048577", 9e-9)] {
            let parameters = [("question", "sweep"), ("footprint", bytes)];
            record.series.push(series(
                ["memory", "chase", "latency"],
                "0",
                &parameters,
                &[&[value]],
            ));
        }
        let bandwidth = of(&record, "cpudyno_memory_bandwidth_bytes_per_second");
        let labels =
            |active| format!("{{workload=\"copy\",active=\"{active}\",question=\"bandwidth\"}}");
        assert_eq!(bandwidth, [labels(4) + " 4000000000", labels(1) + " 1000000000"]);
        let rests = of(&record, "cpudyno_wake_round_trip_seconds");
        assert!(rests[0].contains("rest_us=\"10\"") && rests[1].contains("rest_us=\"1000\""));
        let latency = of(&record, "cpudyno_memory_latency_seconds");
        assert_eq!((rests.len(), latency.len()), (2, 1));
        assert!(latency[0].ends_with(" 0.000000009") && !latency[0].contains("footprint"));
        assert_eq!(lines(&record, "cpudyno_run_results "), ["cpudyno_run_results 9"]);
    }

    #[test]
    fn cores_of_a_kind_are_one_series_and_kinds_are_not_mixed() {
        let mut record = blank();
        crate::testing::place(&mut record, &["0-3"]);
        for place in &mut record.machine.topology.cpus {
            place.kind = Some(if place.cpu.0 < 3 { "P" } else { "E" }.to_owned());
        }
        for (cpu, cycles) in [("0", 140.0), ("1", 150.0), ("2", 141.0), ("3", 40.0)] {
            record.series.push(series(
                ["pause", "pause_only", "cycles_per_op"],
                cpu,
                &[],
                &[&[cycles]],
            ));
        }
        let labels = |kind| format!("{{workload=\"pause_only\",active=\"1\",kind=\"{kind}\"}}");
        let expected = [labels("E") + " 40", labels("P") + " 141"];
        assert_eq!(of(&record, "cpudyno_pause_cycles_per_op"), expected);
    }

    #[test]
    fn the_longest_family_gives_way_and_broken_bounds_come_first() {
        let mut record = blank();
        for stream in 0..300 {
            let name = format!("stream{stream}");
            record.series.push(series(["turbo", &name, "clock"], "0", &[], &[&[3e9]]));
        }
        record.series.push(series(["memory", "copy", "bandwidth"], "0", &[], &[&[1e9]]));
        let bound = |at: usize| model::record::GateBound {
            name: format!("bound{at}"),
            kind: model::record::BoundKind::Min,
            limit: 1.0,
            unit: Unit::Hertz,
            outcome: model::Known::Yes(model::record::BoundOutcome {
                what: digest::of(&record).results.keys().next().unwrap().clone(),
                value: 1.0,
                interval: None,
                holds: at != 99,
            }),
        };
        let bounds = (0..100).map(bound).collect();
        let (verdict, reason) = (GateVerdict::Fail, String::new());
        record.gate = Some(model::record::GateRun { verdict, reason, bounds, items: Vec::new() });
        let text = render(&record);
        let count = text.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(count, SERIES_MAX - 1);
        assert_eq!(of(&record, "cpudyno_memory_bandwidth_bytes_per_second").len(), 1);
        let bounds = of(&record, "cpudyno_gate_bound_holds");
        assert_eq!((bounds.len(), &*bounds[0]), (BOUNDS_MAX, "{bound=\"bound99\",kind=\"min\"} 0"));
    }

    #[test]
    fn what_was_judged_is_counted_by_code_and_what_was_not_is_left_out() {
        let mut record = blank();
        let item = |code, state| GateItem {
            code,
            state,
            name: "it".to_owned(),
            found: None,
            expected: None,
            by: String::new(),
            why: None,
            remedy: None,
            off: None,
        };
        let items = vec![
            item(GateCode::Bw, GateState::Fails),
            item(GateCode::Bw, GateState::Holds),
            item(GateCode::Bw, GateState::Holds),
            item(GateCode::Ecc, GateState::NotJudged),
        ];
        let (verdict, reason, bounds) = (GateVerdict::Fail, String::new(), Vec::new());
        record.gate = Some(model::record::GateRun { verdict, reason, bounds, items });
        let of_bandwidth = |state, count| format!("{{code=\"BW\",state=\"{state}\"}} {count}");
        let expected =
            [of_bandwidth("fails", 1), of_bandwidth("warns", 0), of_bandwidth("holds", 2)];
        assert_eq!(of(&record, "cpudyno_gate_items"), expected);
    }

    #[test]
    fn what_is_unknown_of_a_machine_is_no_label() {
        let mut record = blank();
        crate::testing::say(&mut record, "cpu.brand", "Some \"CPU\" @ 2 GHz");
        crate::testing::say(&mut record, "kernel.release", "6.1.0");
        let version = &record.tool.version;
        let labels = format!(r#"cpu="Some \"CPU\" @ 2 GHz",kernel="6.1.0",version="{version}""#);
        assert_eq!(lines(&record, "cpudyno_info"), [format!("cpudyno_info{{{labels}}} 1")]);
    }

    #[test]
    fn whoever_cannot_be_judged_has_neither_passed_nor_failed() {
        let mut record = blank();
        let mut passed = |verdict| {
            let (reason, bounds, items) = (String::new(), Vec::new(), Vec::new());
            record.gate = Some(model::record::GateRun { verdict, reason, bounds, items });
            lines(&record, "cpudyno_gate_pass")
        };
        assert_eq!(passed(GateVerdict::Pass), ["cpudyno_gate_pass 1"]);
        assert_eq!(passed(GateVerdict::Fail), ["cpudyno_gate_pass 0"]);
        assert_eq!(passed(GateVerdict::CannotJudge), [""; 0]);
    }
}
