//! A record as metrics for Prometheus: what node_exporter's textfile collector reads.
//!
//! The text is valid twice, as Prometheus' text format and as OpenMetrics: each family is in one piece, with
//! HELP, TYPE and UNIT before it; names end in their unit, in base units; the last line is `# EOF`. What was
//! not measured has no line: zero would be a number.

use std::collections::BTreeMap;
use std::fmt::Write;

use model::Unit;
use model::record::{FactValue, GateVerdict, Record};
use model::stats::paired::Better;

use crate::digest;

/// Labels and their values, in the order in which they are written.
type Labels = Vec<(String, String)>;

/// Samples of one name.
struct MetricFamily {
    name: String,
    unit: &'static str,
    help: String,
    samples: Vec<(Labels, f64)>,
}

/// The metrics of a record.
pub fn render(record: &Record) -> String {
    let mut families = results_of(record);
    families.extend(disturbances(record));
    families.extend(gate(record));
    families.extend(run(record));
    let mut text = String::new();
    for family in families.iter().filter(|family| !family.samples.is_empty()) {
        write_family(&mut text, family, record.run.simulated.as_deref());
    }
    text.push_str("# EOF\n");
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

fn results_of(record: &Record) -> Vec<MetricFamily> {
    let mut families: BTreeMap<String, MetricFamily> = BTreeMap::new();
    for (what, result) in &digest::at_hand(record).results {
        let Ok(measured) = &result.outcome else { continue };
        let unit = suffix(result.unit);
        let named = name(&what.area, &what.quantity, unit);
        let quantity = model::areas::quantity(&what.area, &what.quantity);
        let help = || {
            let label = quantity.map_or(what.quantity.as_str(), |quantity| quantity.label);
            let better = match quantity.and_then(|quantity| quantity.better) {
                Some(Better::More) => ", higher is better",
                Some(Better::Less) => ", lower is better",
                None => "",
            };
            format!("{}: {label}, the median over blocks{better}.", what.area)
        };
        let family = families.entry(named.clone()).or_insert_with(|| MetricFamily {
            name: named,
            unit,
            help: help(),
            samples: Vec::new(),
        });
        let mut labels = vec![
            ("workload".to_owned(), what.workload.clone()),
            ("active".to_owned(), what.active.to_string()),
        ];
        labels.extend(what.cpus.as_ref().map(|cpus| ("cpus".to_owned(), cpus.clone())));
        let parameters = what.parameters.iter();
        labels.extend(parameters.map(|(name, value)| (label(name), value.clone())));
        family.samples.push((labels, measured.median));
    }
    families.into_values().collect()
}

/// Letters, digits and underscores; words of our own are no parameters' names.
fn label(parameter: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let name: String = parameter.chars().map(plain).collect();
    let is_taken = ["workload", "active", "cpus", "simulated"].contains(&name.as_str());
    let begins_well = name.starts_with(|c: char| c.is_ascii_alphabetic());
    if is_taken || !begins_well { format!("parameter_{name}") } else { name }
}

/// What grew during the run: it begins anew with each, so that it is no counter of Prometheus.
fn disturbances(record: &Record) -> Vec<MetricFamily> {
    let of = |fact: &model::record::Fact| {
        let id = fact.id.strip_prefix("disturbance.")?;
        let FactValue::Number { value, unit } = fact.value.value()? else { return None };
        let unit = suffix(*unit);
        Some(MetricFamily {
            name: name("run", id, unit),
            unit,
            help: format!("{} during the run.", fact.label),
            samples: vec![(Vec::new(), *value)],
        })
    };
    record.conditions.after.iter().filter_map(of).collect()
}

fn gate(record: &Record) -> Vec<MetricFamily> {
    let Some(gate) = &record.gate else { return Vec::new() };
    let plain = |name: &str, help: &str, samples: Vec<(Labels, f64)>| MetricFamily {
        name: name.to_owned(),
        unit: "",
        help: help.to_owned(),
        samples,
    };
    // Who could not be judged has neither passed nor failed.
    let verdict = match gate.verdict {
        GateVerdict::Pass => Some(1.0),
        GateVerdict::Fail => Some(0.0),
        GateVerdict::CannotJudge => None,
    };
    let verdict = verdict.map(|value| (Vec::new(), value)).into_iter().collect();
    let bounds = gate.bounds.iter().filter_map(|bound| {
        let holds = bound.outcome.value()?.holds;
        let kind = bound.kind.word().to_owned();
        let labels = vec![("bound".to_owned(), bound.name.clone()), ("kind".to_owned(), kind)];
        Some((labels, f64::from(u8::from(holds))))
    });
    let mut families = vec![
        plain(
            "cpudyno_gate_pass",
            "Whether the machine passes: 1, or 0; none: cannot judge.",
            verdict,
        ),
        plain("cpudyno_gate_bound_holds", "Whether a bound holds: 1, or 0.", bounds.collect()),
    ];
    if let Some(reference) = &record.reference {
        let placed: Vec<_> = reference
            .positions
            .iter()
            .filter(|position| position.place.value().is_some())
            .collect();
        let worse = placed.iter().filter(|position| position.is_worse()).count();
        let one = |value: usize| vec![(Vec::new(), value as f64)];
        families.push(plain(
            "cpudyno_gate_reference_records",
            "Earlier records of such a machine.",
            one(reference.records as usize),
        ));
        families.push(plain(
            "cpudyno_gate_reference_results_worse",
            "Results that are worse than earlier records allow.",
            if placed.is_empty() { Vec::new() } else { one(worse) },
        ));
    }
    families
}

fn run(record: &Record) -> Vec<MetricFamily> {
    let version = vec![("version".to_owned(), record.tool.version.clone())];
    let severe = |severity| record.findings.iter().filter(|f| f.severity == severity).count();
    let severities = [model::Severity::Note, model::Severity::Warning, model::Severity::Serious];
    let findings = severities.map(|severity| {
        let labels = vec![("severity".to_owned(), severity.word().to_owned())];
        (labels, severe(severity) as f64)
    });
    vec![
        MetricFamily {
            name: "cpudyno_run_duration_seconds".to_owned(),
            unit: "seconds",
            help: "How long the run took.".to_owned(),
            samples: vec![(Vec::new(), record.run.seconds)],
        },
        MetricFamily {
            name: "cpudyno_run_findings".to_owned(),
            unit: "",
            help: "Remarks on validity or result, by weight.".to_owned(),
            samples: findings.to_vec(),
        },
        MetricFamily {
            name: "cpudyno_build".to_owned(),
            unit: "",
            help: "The version of cpudyno that measured; always 1.".to_owned(),
            samples: vec![(version, 1.0)],
        },
    ]
}

fn write_family(text: &mut String, family: &MetricFamily, simulated: Option<&str>) {
    let MetricFamily { name, unit, help, samples } = family;
    let simulated = simulated.map(|name| ("simulated".to_owned(), name.to_owned()));
    let said = if simulated.is_some() { "SIMULATED. " } else { "" };
    let mut put = |line: std::fmt::Arguments<'_>| {
        text.write_fmt(line).expect("BUG: a string refuses to be written to");
    };
    put(format_args!(
        "# HELP {name} {said}{}\n",
        help.replace('\\', "\\\\").replace('\n', "\\n").replace('"', "'")
    ));
    put(format_args!("# TYPE {name} gauge\n"));
    if !unit.is_empty() {
        put(format_args!("# UNIT {name} {unit}\n"));
    }
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
        let unit = format!("# UNIT {bandwidth} bytes_per_second");
        assert_eq!(lines(&record, "# UNIT cpudyno_memory_bandwidth"), [unit]);
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
