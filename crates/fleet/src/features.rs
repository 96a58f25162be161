//! A record as labels of a node in Kubernetes: what the local source of node-feature-discovery reads.
//!
//! Each label is a line `cpudyno.io/NAME=VALUE`. Values are those that Kubernetes allows: at most 63 letters, digits,
//! `-`, `_` and `.`, the first and the last a letter or digit. Numbers are rounded to what a node is chosen by, so that
//! labels do not change with every run, and are whole, so that `Gt` and `Lt` can be asked of them. What is unknown has
//! no label, nor has the gate's verdict where it cannot judge.
//!
//! The labels end eight days after the run began: whoever is not measured again loses them.
//!
//! Sources: node-feature-discovery, customization guide, "Local feature source" (prefix, `# +expiry-time`, 64 kB);
//! Kubernetes, "Labels and Selectors", syntax and character set.

use std::time::Duration;

use model::record::{Digest, DigestResult, GateVerdict, Record, ResultKey};
use model::{Severity, Unit};

use crate::digest;

/// What stands before each name.
const PREFIX: &str = "cpudyno.io/";

/// How long labels last.
const LIFE: Duration = Duration::from_hours(8 * 24);

/// A label's value has no more bytes.
const VALUE_MAX: usize = 63;

/// The labels of a record, one a line, behind the line that says when they end.
///
/// # Errors
///
/// Says what is wrong with the time at which the run began: labels without an end would outlive what they say.
pub fn render(record: &Record) -> Result<String, String> {
    let started = &record.run.started;
    let began = humantime::parse_rfc3339(started)
        .map_err(|error| format!("the run began at `{started}`, which is no time: {error}"))?;
    let ends = humantime::format_rfc3339_seconds(began + LIFE);
    let of = |(name, value): (&str, String)| format!("{PREFIX}{name}={value}\n");
    let labels: String = labels(record).into_iter().map(of).collect();
    Ok(format!("# +expiry-time={ends}\n{labels}"))
}

/// Names and values.
fn labels(record: &Record) -> Vec<(&'static str, String)> {
    let digest = digest::at_hand(record);
    let said = |id: &str| {
        let fact = digest.facts.iter().find(|fact| fact.id == id)?;
        value(fact.text.as_deref()?)
    };
    let verdict = record.gate.as_ref().and_then(|gate| match gate.verdict {
        GateVerdict::Pass => Some("pass".to_owned()),
        GateVerdict::Fail => Some("fail".to_owned()),
        GateVerdict::CannotJudge => None,
    });
    let measured = digest.results.values().any(|result| result.outcome.is_ok());
    let clock = on_all(&digest, ["turbo", "scalar_iadd", "clock"], Unit::Hertz);
    let triad = on_all(&digest, ["memory", "triad", "bandwidth"], Unit::BytePerSecond);
    let all = [
        ("gate", verdict),
        ("clock-mhz", clock.map(|hertz| in_steps(hertz / 1e6, 100.0))),
        ("triad-gigabytes-per-second", triad.map(|rate| two_digits(rate / 1e9))),
        ("cpu", said("cpu.brand")),
        ("microarchitecture", said("cpu.microarchitecture")),
        ("smt", said("smt.control")),
        ("quality", measured.then(|| quality(record).to_owned())),
        ("simulated", record.run.simulated.as_deref().and_then(value)),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// How far the numbers can be trusted, in the words of a sheet.
fn quality(record: &Record) -> &'static str {
    match record.findings.iter().map(|finding| finding.severity).max() {
        Some(Severity::Serious) => "bad",
        Some(Severity::Warning) => "fair",
        Some(Severity::Note) | None => "good",
    }
}

/// The result with the most active cores.
fn on_all(digest: &Digest, [area, workload, quantity]: [&str; 3], unit: Unit) -> Option<f64> {
    let is_it = |what: &ResultKey, result: &DigestResult| {
        (&*what.area, &*what.workload, &*what.quantity, result.unit)
            == (area, workload, quantity, unit)
    };
    let results = digest.results.iter().filter(|(what, result)| is_it(what, result));
    let measured = results.filter_map(|(what, result)| {
        let median = result.outcome.as_ref().ok()?.median;
        (median.is_finite() && median > 0.0).then_some((what.active, median))
    });
    measured.max_by_key(|(active, _)| *active).map(|(_, median)| median)
}

fn in_steps(number: f64, step: f64) -> String {
    format!("{:.0}", (number / step).round() * step)
}

/// A whole number of two digits and zeros, or below ten of one.
fn two_digits(number: f64) -> String {
    in_steps(number, 10f64.powf((number.log10().floor() - 1.0).max(0.0)))
}

/// A text as a label's value; `None` where none of its characters is allowed.
fn value(text: &str) -> Option<String> {
    let mut value = String::new();
    for c in text.chars() {
        let allowed = c.is_ascii_alphanumeric() || ".-_".contains(c);
        // `Intel(R) Xeon(R)`: what lies between words is one dash.
        match allowed {
            true => value.push(c),
            false if !value.ends_with('-') => value.push('-'),
            false => {}
        }
    }
    let is_end = |c: char| !c.is_ascii_alphanumeric();
    let value = value.trim_matches(is_end);
    let value = value[..value.len().min(VALUE_MAX)].trim_end_matches(is_end);
    (!value.is_empty()).then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{blank, say, series};
    use model::record::GateRun;

    #[test]
    fn a_measured_record_has_a_handful_of_labels_that_end() {
        let mut record = blank();
        say(&mut record, "cpu.brand", "Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz");
        say(&mut record, "smt.control", "on");
        let of = |area, workload, quantity, active, value| {
            series([area, workload, quantity], active, &[], &[&[value]])
        };
        record.series = vec![
            of("turbo", "scalar_iadd", "clock", "0-3", 2.749e9),
            of("turbo", "scalar_iadd", "clock", "0", 3.9e9),
            of("memory", "triad", "bandwidth", "0-3", 187.2e9),
        ];
        let gate = |verdict| GateRun {
            verdict,
            reason: String::new(),
            bounds: Vec::new(),
            items: Vec::new(),
        };
        record.gate = Some(gate(GateVerdict::Pass));
        let expected = "# +expiry-time=2026-01-09T00:00:00Z\n\
                        cpudyno.io/gate=pass\n\
                        cpudyno.io/clock-mhz=2700\n\
                        cpudyno.io/triad-gigabytes-per-second=190\n\
                        cpudyno.io/cpu=Intel-R-Xeon-R-Gold-6230-CPU-2.10GHz\n\
                        cpudyno.io/smt=on\n\
                        cpudyno.io/quality=good\n";
        assert_eq!(render(&record).unwrap(), expected);
        record.gate = Some(gate(GateVerdict::CannotJudge));
        assert!(!render(&record).unwrap().contains("gate"), "neither passed nor failed");
    }

    #[test]
    fn a_record_of_nothing_has_no_labels_and_one_of_no_time_is_refused() {
        let mut record = blank();
        assert_eq!(render(&record).unwrap(), "# +expiry-time=2026-01-09T00:00:00Z\n");
        record.run.started = "yesterday".to_owned();
        assert!(render(&record).unwrap_err().contains("`yesterday`"));
    }

    #[test]
    fn values_are_what_kubernetes_allows_whatever_a_machine_says() {
        let long = format!("{}-{}", "x".repeat(62), "y".repeat(99));
        for (text, expected) in [
            ("AMD EPYC 9654 96-Core Processor", Some("AMD-EPYC-9654-96-Core-Processor")),
            (" (not known)\n", Some("not-known")),
            ("µ-arch=1\ncpudyno.io/gate=pass", Some("arch-1-cpudyno.io-gate-pass")),
            (long.as_str(), Some(&long[..62])),
            ("(---)", None),
            ("", None),
        ] {
            assert_eq!(value(text).as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn numbers_are_rounded_to_what_nodes_are_chosen_by() {
        for (rate, expected) in [(8.98, "9"), (14.6, "15"), (187.2, "190"), (1234.0, "1200")] {
            assert_eq!(two_digits(rate), expected);
        }
        assert_eq!((two_digits(0.4), in_steps(3849.0, 100.0)), ("0".to_owned(), "3800".to_owned()));
    }
}
