//! Whatever is typed, and whatever stands in others' lists: an answer or an error, and no panic.

use std::fs;

use libtest_mimic::Failed;
use machine::Machine;
use pmu::events::{CpuModel, Events, Source, Target, lists};
use pmu::metrics::Formula;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tempfile::TempDir;

use super::{Case, Need};

pub(super) const CASES: &[Case] = &[
    ("whatever_is_typed_has_an_answer", Need::Nothing, typed),
    ("whatever_a_list_says_has_an_answer", Need::Nothing, listed),
];

/// Names are made of pieces that mean something, in any order.
/// What a list says of an event.
const KEYS: &[&str] = &[
    "EventCode",
    "UMask",
    "UMaskExt",
    "CounterMask",
    "Invert",
    "EdgeDetect",
    "AnyThread",
    "Counter",
    "CounterHTOff",
    "MSRIndex",
    "MSRValue",
    "Errata",
    "Deprecated",
    "Unit",
    "PortMask",
    "FCMask",
    "FILTER_VALUE",
    "CounterType",
];

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("cycles".to_owned()),
        Just("cpu/".to_owned()),
        Just("event=0x1".to_owned()),
        Just(",umask=".to_owned()),
        Just("::".to_owned()),
        Just(":u".to_owned()),
        Just("/".to_owned()),
        Just("0x".to_owned()),
        Just("r".to_owned()),
        Just(".*".to_owned()),
        Just("GenuineIntel-6-".to_owned()),
        Just("(a - b) / ".to_owned()),
        "\\PC{0,4}",
        "[0-9a-f]{1,18}",
    ]
}

fn runner() -> TestRunner {
    TestRunner::new(Config { failure_persistence: None, cases: 200, ..Config::default() })
}

fn typed() -> Result<(), Failed> {
    let events = Events::of(Target::named("zen4").unwrap());
    let machine = Machine::named("sim:2s-56c").unwrap();
    let simulated = Events::of(Target::of(&machine));
    let text = prop::collection::vec(piece(), 0..5).prop_map(|pieces| pieces.concat());
    runner()
        .run(&text, |text| {
            for events in [&events, &simulated] {
                if let Ok(found) = events.resolve(&text) {
                    prop_assert!(!found.is_empty());
                }
            }
            let _ = (CpuModel::named(&text), text.parse::<Formula>());
            Ok(())
        })
        .map_err(|error| error.to_string().into())
}

fn listed() -> Result<(), Failed> {
    let value = prop_oneof![
        Just("0x00".to_owned()),
        Just("Fixed counter 1".to_owned()),
        Just("0x1a6,0x1a7".to_owned()),
        Just("1".to_owned()),
        Just("L3PMC".to_owned()),
        "0x[0-9a-f]{1,17}",
        "\\PC{0,6}",
    ];
    let event = prop::collection::vec((prop::sample::select(KEYS), value), 0..8);
    let row = "\\PC{0,12}";
    runner()
        .run(&(event, row), |(event, row)| {
            let there = TempDir::new().unwrap();
            let map = format!(
                "head\nGenuineIntel-6-8F,V1,a.json,core\nAuthenticAMD-25-.*,V1,a.json,core\n{row}\n"
            );
            let entry: serde_json::Map<String, serde_json::Value> = event
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value.into()))
                .chain([("EventName".to_owned(), "A.B".into())])
                .collect();
            let list = serde_json::json!({ "Events": [entry] }).to_string();
            fs::write(there.path().join("mapfile.csv"), &map).unwrap();
            fs::write(there.path().join("a.json"), list).unwrap();
            for cpu in ["GenuineIntel-6-8F-8", "AuthenticAMD-25-1-1"] {
                let target = Target::named(cpu).unwrap().with_folder(Some(there.path()));
                let events = Events::of(target);
                let found = events.of_source(Source::Perfmon);
                prop_assert!(!found.events.is_empty() || !found.missing.is_empty());
                let _ = lists(&map, &CpuModel::named(cpu).unwrap());
            }
            Ok(())
        })
        .map_err(|error| error.to_string().into())
}
