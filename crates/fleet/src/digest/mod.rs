//! What others are held against, out of a record: what the machine says of itself in words, and each result.
//!
//! It stands at the beginning of every record of measurements, so that whoever compares many reads no further. Of
//! older records it is made when they are read.

mod facts;
mod results;

use std::borrow::Cow;

use model::record::{Digest, DigestRun, Record};

pub(crate) use self::facts::{AFTER, NONE_WRONG, WRONG, can_change};
pub use self::results::{of_one_class, pooled};

/// The digest of a record.
pub fn of(record: &Record) -> Digest {
    let run = &record.run;
    let places = &record.machine.topology.cpus;
    let mut cores: Vec<(u32, u32)> = places.iter().map(|p| (p.package, p.core)).collect();
    cores.sort_unstable();
    cores.dedup();
    Digest {
        tool: record.tool.clone(),
        run: DigestRun {
            id: run.id.clone(),
            started: run.started.clone(),
            simulated: run.simulated.clone(),
            elsewhere: run.elsewhere.clone(),
            interrupted: run.interrupted.clone(),
        },
        packages: cores.chunk_by(|a, b| a.0 == b.0).count(),
        cores: cores.len(),
        facts: facts::of(record),
        results: results::of(record),
    }
}

/// The digest that a record has, or that is made of it.
pub fn at_hand(record: &Record) -> Cow<'_, Digest> {
    record.digest.as_ref().map_or_else(|| Cow::Owned(of(record)), Cow::Borrowed)
}

#[cfg(test)]
mod tests {
    use model::record::{Fact, FactValue};
    use model::{Known, Unit};

    use crate::testing::{blank, place, say};

    #[test]
    fn cores_are_counted_once_in_each_package() {
        let mut record = blank();
        place(&mut record, &["0-2", "3-4"]);
        // CPU 1 is the sibling of CPU 0; core 0 of the other package is another one.
        record.machine.topology.cpus[1].core = 0;
        record.machine.topology.cpus[3].core = 0;
        let digest = super::of(&record);
        assert_eq!((digest.packages, digest.cores), (2, 4));
    }

    #[test]
    fn facts_that_move_by_themselves_are_left_out_and_events_are_some_or_none() {
        let mut record = blank();
        for id in ["cpu.brand", "load", "busy.cpus"] {
            say(&mut record, id, "it");
        }
        let after = |id: &str, value: f64| {
            let value = Known::Yes(FactValue::Number { value, unit: Unit::Count });
            Fact { id: id.to_owned(), label: id.to_owned(), value }
        };
        record.conditions.after = vec![
            after("disturbance.thermal_core", 3.0),
            after("disturbance.cgroup_throttles", 0.0),
            after("disturbance.interrupts", 9.0),
            Fact {
                id: "busy.cpus".to_owned(),
                label: "Other busy CPUs".to_owned(),
                value: Known::Yes(FactValue::Text("CPU 3".to_owned())),
            },
            Fact {
                id: "temperature".to_owned(),
                label: "Temperature, hottest".to_owned(),
                value: Known::Yes(FactValue::Text("87 °C".to_owned())),
            },
            after("cpufreq.boost", 1.0),
        ];
        let facts: Vec<(String, Option<String>)> =
            super::of(&record).facts.into_iter().map(|fact| (fact.id, fact.text)).collect();
        let texts =
            |id: &str| facts.iter().find(|fact| fact.0 == id).and_then(|it| it.1.as_deref());
        let ids: Vec<&str> = facts.iter().map(|fact| fact.0.as_str()).collect();
        let thermal = ["disturbance.thermal_core", "disturbance.cgroup_throttles"];
        let [hot, throttled] = thermal;
        let last = ["busy.cpus", "after.temperature", "after.cpufreq.boost", "tool.version"];
        assert_eq!(ids, [["cpu.brand", hot].as_slice(), &[throttled], &last].concat());
        assert_eq!(thermal.map(texts), [Some("some"), Some("none")]);
        assert_eq!(texts("busy.cpus"), Some("some"));
        assert_eq!(texts("after.temperature"), Some("80 to 89 °C"));
    }
}
