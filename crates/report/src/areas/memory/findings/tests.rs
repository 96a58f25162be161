use measure::areas::memory::{Length, MemoryOptions, Question};

use super::super::SECTION;
use super::*;
use crate::testing::{blank, memory, series};
use machine::Machine;
use model::record::{Outcome, Samples};

fn of_question(question: Question, change: impl FnOnce(&mut MemoryOptions)) -> Record {
    memory("sim:1c", question, change)
}

fn ids(record: &Record) -> Vec<String> {
    SECTION.findings(record).into_iter().map(|finding| finding.id).collect()
}

#[test]
fn arrays_that_caches_hold_are_found() {
    let with = |length| {
        of_question(Question::Bandwidth, |options| {
            options.length = length;
        })
    };
    let caches = Machine::named("sim:1c").unwrap().simulated.unwrap().caches;
    let rule = size::TIMES_CACHES * (caches.l2_bytes + caches.l3_bytes);
    assert!(ids(&with(None)).is_empty());
    assert!(ids(&with(Some(Length::Bytes(rule)))).is_empty());
    let small = with(Some(Length::Bytes(rule - 4096)));
    assert_eq!(ids(&small), ["memory.arrays-too-small"]);
    let remedy = SECTION.findings(&small)[0].remedy.clone().unwrap();
    assert!(remedy.ends_with(&format!("--length {}", rule / 8)), "{remedy}");
}

#[test]
fn lack_of_room_is_found() {
    let mut record = of_question(Question::Bandwidth, |_| ());
    for series in &mut record.series {
        series.parameters.insert("limited_by".to_owned(), "free memory".to_owned());
    }
    let findings = SECTION.findings(&record);
    assert_eq!(ids(&record), ["memory.limited"]);
    assert!(findings[0].text.ends_with("limited by free memory"), "{}", findings[0].text);
}

#[test]
fn other_pages_than_asked_for_are_found() {
    let mut record = of_question(Question::Latency, |_| ());
    let placed = |share| PlacedMemory {
        cpu: model::CpuId(0),
        content: "ring".to_owned(),
        bytes: 1 << 20,
        pages: "thp".to_owned(),
        node: None,
        backing: model::Known::Yes("4 KiB pages, 70 %".to_owned()),
        as_asked: share,
    };
    record.run.plan.memory = vec![placed(Some(0.95)), placed(None)];
    assert!(ids(&record).is_empty());
    record.run.plan.memory.push(placed(Some(0.3)));
    assert_eq!(ids(&record), ["memory.other-pages"]);
    // What is so already is not advised.
    let remedy = |mode: &str| {
        let mut record = record.clone();
        let thp = record.conditions.before.iter_mut().find(|fact| fact.id == "thp.enabled");
        thp.unwrap().value = model::Known::Yes(FactValue::Text(mode.to_owned()));
        SECTION.findings(&record).swap_remove(0).remedy.unwrap()
    };
    assert!(remedy("never").contains("echo madvise"));
    for mode in ["always", "madvise"] {
        assert!(!remedy(mode).contains("madvise") && remedy(mode).contains("scattered"));
    }
}

#[test]
fn sizes_that_nobody_says_are_told_as_assumed() {
    let mut record = of_question(Question::Bandwidth, |_| ());
    assert!(ids(&record).is_empty());
    record.machine.topology.caches.clear();
    let told = SECTION.findings(&record);
    let told: Vec<&str> = told.iter().map(|finding| finding.id.as_str()).collect();
    assert!(told.contains(&"memory.caches-unknown"), "{told:?}");
}

#[test]
fn only_a_cache_of_several_cores_is_said_to_be_shared() {
    let behaves = |name| {
        let mut record = memory(name, Question::Sweep, |_| ());
        for cache in &mut record.machine.topology.caches {
            // What the machine claims is four times what it has.
            cache.bytes = cache.bytes.map(|bytes| if cache.level == 1 { bytes * 4 } else { bytes });
        }
        let findings = SECTION.findings(&record);
        let text = |about: &str| {
            let found = findings.iter().find(|finding| finding.about == about);
            found.map(|finding| finding.text.clone()).unwrap_or_default()
        };
        [text("L1 cache"), text("L3 cache")]
    };
    let [own, shared] = behaves("sim:vm-2c");
    assert!(own.contains("latencies show") && !own.contains("share"), "{own}");
    assert!(
        shared.contains("latencies show") && shared.contains("other cores share it"),
        "{shared}"
    );
}

#[test]
fn modes_of_a_bandwidth_are_found() {
    let mut record = of_question(Question::Bandwidth, |_| ());
    let series = record.series.iter_mut().find(|series| series.quantity == "bandwidth");
    let samples = Samples::Plain(vec![vec![60e9, 61e9, 110e9, 112e9]; 3]);
    let summary = samples.summary().unwrap();
    series.unwrap().outcome = Outcome::Measured { samples, summary };
    let findings = SECTION.findings(&record);
    assert_eq!(ids(&record), ["memory.modes"]);
    let text = &findings[0].text;
    assert!(text.contains("60.50 (50 %) and 111.00 (50 %) GB/s, as asked"), "{text}");
    let variant = record.series[0].parameters["variant"].clone();
    assert!(text.contains(&format!("({variant}) on 1 thread")), "{text}");
    // The page has no middle of both.
    let page = format!("{:?}", super::super::page(&record, 0));
    assert!(page.contains("60.50 or 111.00") || page.contains("or 166.50"), "{page}");
    assert!(!page.contains("85.5"), "{page}");
}

#[test]
fn a_few_disturbed_samples_are_no_mode_and_in_no_spread() {
    let mut record = of_question(Question::Bandwidth, |_| ());
    let series = record.series.iter_mut().find(|series| series.quantity == "bandwidth");
    let mut blocks = vec![vec![110e9; 9]; 3];
    blocks[1][4] = 19e9;
    blocks[2][0] = 19e9;
    let samples = Samples::Plain(blocks);
    let summary = samples.summary().unwrap();
    series.unwrap().outcome = Outcome::Measured { samples, summary };
    assert_eq!(ids(&record), [""; 0]);
    let page = format!("{:?}", super::super::page(&record, 0));
    let told = "apart from the median and p10 - p90, of 27 samples, as asked: 2 near 19.00";
    assert!(page.contains(told), "{page}");
    let spread = page.contains("110.00 - 110.00") || page.contains("165.00 - 165.00");
    assert!(spread, "{page}");
}

#[test]
fn traffic_is_other_than_counted_beyond_a_tenth() {
    let found = |told: &str, measured: [f64; 2]| {
        let mut record = blank();
        let parameters = [("question", "scaling"), ("moved_per_asked", told)];
        let ways = ["measured_read_per_asked", "measured_write_per_asked"];
        for (quantity, value) in ways.into_iter().zip(measured) {
            let of = ["memory", "triad", quantity];
            record.series.push(series(of, "0", &parameters, &[&[value]]));
        }
        let found = OTHER_TRAFFIC.iter().filter_map(|kind| other_traffic(&record, kind));
        found.map(|finding| finding.id).collect::<Vec<_>>()
    };
    // 4/3 and a tenth are 1.4667, 4/3 less a tenth is 1.2.
    assert_eq!(found("4/3", [1.10, 0.36]), [""; 0]);
    assert_eq!(found("4/3", [1.11, 0.36]), ["memory.more-traffic"]);
    assert_eq!(found("4/3", [0.87, 0.34]), [""; 0]);
    assert_eq!(found("4/3", [0.85, 0.34]), ["memory.write-allocate-evaded"]);
    // Where nothing is brought in, nothing can be spared.
    assert_eq!(found("1/1", [0.59, 0.30]), ["memory.less-traffic"]);
}
