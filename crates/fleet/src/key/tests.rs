//! Keys of simulated machines: each is itself and no other, and what changes of one is said.

use std::sync::LazyLock;

use model::areas::turbo;
use model::record::{KeyNumber, MachineKey, PageKind, PairClass, Presentation, Record, Series};
use model::{CpuId, Known, Obstacle, Seconds, Severity, Unavailable, Unit};
use simulated::{Fault, Model};

use super::{KeyComparison, KeyVerdict, around, compare, id, read};
use crate::testing::{blank, cache, series};

/// The record of a simulated machine, with what is changed of it.
fn record(name: &str, change: impl FnOnce(&mut Model)) -> Record {
    let mut model = Model::named(name).unwrap();
    change(&mut model);
    let machine = machine::Machine::from(model.made());
    let look = Presentation::of(PageKind::Key);
    let request = measure::key::request(Seconds(3.0), None, Vec::new(), look);
    let stop = rig::executor::Stop::default();
    measure::run::measure(&machine, &request, &stop, &mut |_| {}).unwrap()
}

fn key(name: &str, change: impl FnOnce(&mut Model)) -> MachineKey {
    super::of(&record(name, change))
}

/// One of each machine as it is.
static ALL: LazyLock<Vec<(&'static str, MachineKey)>> = LazyLock::new(|| {
    let names: Vec<&'static str> = simulated::names().collect();
    crate::threads::each(names.len(), |at| (names[at], key(names[at], |_| ())))
});

fn usual(name: &str) -> &'static MachineKey {
    &ALL.iter().find(|(known, _)| *known == name).unwrap().1
}

#[test]
fn every_simulated_machine_is_another_kind_than_every_other() {
    for (a, then) in ALL.iter() {
        for (b, now) in ALL.iter().filter(|(b, _)| b != a) {
            let found = compare(then, now);
            assert_eq!(found.same_kind, KeyVerdict::No, "{a} {b}: {}", found.text);
            assert_eq!(found.verdict, KeyVerdict::No, "{a} {b}");
        }
    }
    let mut lines: Vec<&str> = ALL.iter().map(|(_, key)| key.line.as_str()).collect();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), ALL.len());
}

/// By what it says of itself one could tell them apart without measuring: by behaviour alone, those with other cores are.
#[test]
fn behaviour_tells_cores_apart_whatever_they_call_themselves() {
    let disguised = |name: &str| {
        let mut key = usual(name).clone();
        key.claims.clone_from(&usual("4c").claims);
        key.numbers.insert(id::TOTAL.to_owned(), usual("4c").numbers[id::TOTAL].clone());
        compare(usual("4c"), &key)
    };
    for name in ["epyc", "sapphire", "icelake", "sierra"] {
        let found = disguised(name);
        assert_eq!(found.same_kind, KeyVerdict::No, "{name}: {}", found.text);
    }
    assert_eq!(disguised("4c").verdict, KeyVerdict::Yes);
}

#[test]
fn a_machine_is_itself_whatever_its_noise() {
    let names: Vec<&'static str> = simulated::names().collect();
    let found = crate::threads::each(names.len() * 3, |at| {
        let name = names[at / 3];
        let again = key(name, |model| model.seed += 1 + (at % 3) as u64);
        (name, compare(usual(name), &again))
    });
    for (name, found) in found {
        assert_eq!(found.verdict, KeyVerdict::Yes, "{name}: {}", found.text);
        assert_eq!(found.text, "same kind, as it was", "{name}");
    }
}

/// Most blocks of the streams are shared there, and the usual tolerance would refuse them.
#[test]
fn busy_siblings_make_no_other_kind() {
    let found = crate::threads::each(6, |at| {
        let busy = key("epyc", |model| {
            model.seed += at as u64;
            model.faults.push(Fault::SiblingsBusyAtTimes);
        });
        compare(usual("epyc"), &busy)
    });
    for found in found {
        assert_eq!(found.same_kind, KeyVerdict::Yes, "{}", found.text);
    }
}

#[test]
fn a_chain_whose_repetitions_differ_is_not_known() {
    let of = |samples: &[f64]| {
        let cell = series([turbo::AREA, "avx256_fma", "cycles_per_op"], "0", &[], &[samples]);
        let number = KeyNumber { value: 4.0, unit: Unit::CyclePerOp, interval: None };
        super::steady(number, &[&cell]).map(|it| it.value)
    };
    assert_eq!(of(&[3.99, 4.0, 4.0, 4.01]), Ok(4.0));
    let reason = of(&[3.9, 4.6, 4.9, 5.1]).unwrap_err();
    assert!(reason.why.contains("other work uses the core"), "{reason:?}");
}

fn beside(name: &str, change: impl FnOnce(&mut Model)) -> KeyComparison {
    compare(usual(name), &key(name, change))
}

#[test]
fn what_moved_is_said_and_is_no_other_kind() {
    let slower = beside("4c", |model| {
        for licence in &mut model.licence {
            licence.bins.iter_mut().for_each(|bin| bin.1 *= 0.91);
        }
    });
    assert_eq!(slower.verdict, KeyVerdict::No, "{}", slower.text);
    assert_eq!(slower.same_kind, KeyVerdict::Yes, "{}", slower.text);
    assert!(slower.text.contains("clock 9 % lower"), "{}", slower.text);
    let crowded = beside("vm-2c", |model| {
        let memory = model.memory.as_mut().unwrap();
        memory.cache.last_mut().unwrap().bytes /= 3;
    });
    assert_eq!((crowded.verdict, crowded.same_kind), (KeyVerdict::No, KeyVerdict::Yes));
    assert!(crowded.text.contains("neighbours use more of the cache"), "{}", crowded.text);
    let stolen = beside("vm-2c", |model| model.noise.steal_share = 0.2);
    assert_eq!((stolen.verdict, stolen.same_kind), (KeyVerdict::No, KeyVerdict::Yes));
    assert!(stolen.text.contains("neighbours busier"), "{}", stolen.text);
    let nearly = beside("4c", |model| {
        for licence in &mut model.licence {
            licence.bins.iter_mut().for_each(|bin| bin.1 *= 0.97);
        }
    });
    assert_eq!(nearly.verdict, KeyVerdict::Yes, "{}", nearly.text);
}

/// A guest whose kernel lists one cache, in two minutes: near, and apart.
#[test]
fn a_shared_cache_that_latency_refutes_is_said() {
    let guest = |one_way: f64| {
        record("epyc", move |model| {
            model.distance.same_cache_seconds = one_way;
        })
    };
    let (near, far) = (guest(25e-9), guest(110e-9));
    let class = |record: &Record| super::of(record).pairs["same-cache"].class.value().copied();
    assert_eq!(class(&near), Some(PairClass::SameCache));
    assert_eq!(class(&far), Some(PairClass::Apart));
    assert!(super::refuted(&super::of(&near)).is_empty());
    let told = super::refuted(&super::of(&far));
    assert!(told.iter().any(|text| text.contains("do not share one now")), "{told:?}");
    let is_found = |record: &Record| {
        record.findings.iter().any(|finding| finding.id == "placement.cache-not-shared")
    };
    assert!(!is_found(&near) && is_found(&far), "{:?}", far.findings);
    let moved = compare(&super::of(&near), &super::of(&far));
    assert_eq!((moved.verdict, moved.same_kind), (KeyVerdict::No, KeyVerdict::Yes));
    assert!(moved.text.contains("apart, 110.0 ns"), "{}", moved.text);
}

#[test]
fn what_is_not_known_is_no_answer() {
    let mut blind = usual("4c").clone();
    blind.numbers.retain(|id, _| !id.starts_with(id::CYCLES));
    assert_eq!(compare(usual("4c"), &blind).same_kind, KeyVerdict::CannotTell);
    let mut clockless = usual("4c").clone();
    clockless.numbers.remove(id::CLOCK);
    let found = compare(usual("4c"), &clockless);
    assert_eq!((found.verdict, found.same_kind), (KeyVerdict::CannotTell, KeyVerdict::Yes));
    assert!(found.text.contains("clock unknown: it was not measured"), "{}", found.text);
    // What one of them could not read is no difference; a clock of one block may be anything.
    let mut shy = usual("4c").clone();
    shy.claims.remove("cpu.microcode");
    assert_eq!(compare(usual("4c"), &shy).verdict, KeyVerdict::Yes);
    let mut brief = usual("4c").clone();
    if let Some(Known::Yes(number)) = brief.numbers.get_mut(id::CLOCK) {
        *number = KeyNumber { value: number.value * 0.9, interval: None, ..*number };
    }
    assert_eq!(compare(usual("4c"), &brief).verdict, KeyVerdict::CannotTell);
}

#[test]
fn a_key_is_read_as_it_was_written_and_what_is_none_is_refused() {
    for (name, key) in ALL.iter() {
        let text = serde_json::to_string(key).unwrap();
        assert!(!text.contains('\n'), "{name}");
        assert_eq!(read(&text).as_ref().unwrap(), key, "{name}");
        assert!(
            key.line.is_ascii() && key.line.starts_with("k1 SIMULATED claims="),
            "{}",
            key.line
        );
    }
    let mut record = record("1c", |_| ());
    record.keys = vec![usual("4c").clone(), usual("vm-2c").clone()];
    let text = serde_json::to_string(&record).unwrap();
    assert_eq!(read(&text).unwrap(), *usual("1c"));
    // One of what was watched has no series: the last key is that after it.
    record.series.clear();
    assert_eq!(read(&serde_json::to_string(&record).unwrap()).unwrap(), *usual("vm-2c"));
    let [one, other] = ["1c", "4c"].map(|name| serde_json::to_string(usual(name)).unwrap());
    assert_eq!(read(&format!("{one}\n{other}\n")).unwrap(), *usual("4c"));
    assert_eq!(read(&one.replace("key/1", "key/1.3")).unwrap().numbers, usual("1c").numbers);
    let other = serde_json::to_string(usual("1c")).unwrap().replace("key/1", "key/2");
    for (text, why) in [
        (other.as_str(), "it is `cpudyno.key/2`, and this version reads `cpudyno.key/1`"),
        (r#"{"schema": "cpudyno.key/1"}"#, "its key is broken"),
        ("k1 SIMULATED claims=0", "it is the line of a key, which is rounded for reading"),
        ("", "not a record: "),
        ("[]", "not a record: it has no `schema`"),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.starts_with(why), "{text}: {error}");
    }
}

/// Numbers that no machine has: no panic, and never "as it was" where they are others.
#[test]
fn bent_keys_are_compared_without_harm() {
    let usual = usual("4c");
    let mut random = fastrand::Rng::with_seed(5);
    let ids: Vec<&String> = usual.numbers.keys().collect();
    for _ in 0..2_000 {
        let mut bent = usual.clone();
        let picked = ids[random.usize(..ids.len())];
        let Some(Known::Yes(number)) = bent.numbers.get_mut(picked) else { continue };
        let value =
            [0.0, -1.0, 1e308, 1e-308, -1e308, f64::from(random.i32(..))][random.usize(..6)];
        let interval = [None, Some([1e308, -1e308]), Some([0.0, 0.0])][random.usize(..3)];
        *number = KeyNumber { value, interval, ..*number };
        let found = compare(usual, &bent);
        // What the kernel says is compared as it says it; no time was lost before.
        let is_alike = picked == id::CLAIMED || picked == id::LOST && value.abs() < 0.01;
        assert_eq!(found.verdict == KeyVerdict::Yes, is_alike, "{picked} {value}: {}", found.text);
        bent.claims.insert("cpu.brand".to_owned(), Known::Yes("\u{1b}[31m\n\u{0}x".to_owned()));
        let found = compare(usual, &bent);
        assert_eq!(found.verdict, KeyVerdict::No);
        assert!(found.text.chars().all(|letter| !letter.is_control()), "{}", found.text);
        let text = serde_json::to_string(&bent).unwrap();
        assert!(read(&text).unwrap().line.is_ascii());
        super::page::compared(&found);
    }
}

fn say(key: &mut MachineKey, id: &str, text: &str) {
    key.claims.insert(id.to_owned(), Known::Yes(text.to_owned()));
}

/// Whoever reads them, and from wherever.
#[test]
fn a_container_and_root_make_no_other_machine() {
    let hash = |key: &MachineKey| super::line(key).split(' ').nth(2).unwrap().to_owned();
    let usual = usual("sapphire");
    let mut contained = usual.clone();
    let text = usual.claims["platform.virtualisation"].value().unwrap();
    say(&mut contained, "platform.virtualisation", &format!("{text}, in a Docker container"));
    let mut plain = usual.clone();
    say(&mut plain, "memory.channels", "16 of 16 by EDAC");
    let mut blind = usual.clone();
    blind.claims.remove("memory.channels");
    for other in [&contained, &plain, &blind] {
        let found = compare(usual, other);
        assert_eq!(found.verdict, KeyVerdict::Yes, "{}", found.text);
        assert_eq!(hash(other), hash(usual));
    }
    let mut emptier = plain.clone();
    say(&mut emptier, "memory.channels", "15 of 16 by EDAC");
    assert_eq!(compare(&plain, &emptier).same_kind, KeyVerdict::No);
    let mut guest = usual.clone();
    say(&mut guest, "platform.virtualisation", "KVM, in a Docker container");
    assert_eq!(compare(usual, &guest).same_kind, KeyVerdict::No);
    assert_ne!(hash(&guest), hash(usual));
}

/// Two sockets whose CPUs are numbered in turns: the first in placement is not that of the lowest number.
#[test]
fn a_key_is_of_the_cpu_that_was_measured() {
    let mut turned = record("4c", |_| ());
    let swap = |cpu: CpuId| CpuId(if cpu.0 < 2 { 1 - cpu.0 } else { cpu.0 });
    for series in &mut turned.series {
        series.cpu = swap(series.cpu);
        series.active = series.active.iter().map(swap).collect();
    }
    let found = compare(usual("4c"), &super::of(&turned));
    assert_eq!(found.verdict, KeyVerdict::Yes, "{}", found.text);
}

#[test]
fn caches_of_320_mib_have_memory_behind_them() {
    let large = key("sapphire", |model| {
        model.caches.l3_bytes = 320 << 20;
        model.memory.as_mut().unwrap().cache.last_mut().unwrap().bytes = 320 << 20;
    });
    for id in [id::MEMORY, id::USABLE, id::READ] {
        assert!(large.numbers[id].value().is_some(), "{id}: {:?}", large.numbers[id]);
    }
    let found = compare(&large, &large);
    assert_eq!(found.verdict, KeyVerdict::Yes, "{}", found.text);
}

/// As on guests of Arm, where nobody says which caches there are.
#[test]
fn memory_and_the_end_of_caches_need_no_claim() {
    let mut record = record("vm-2c", |_| ());
    record.machine.topology.caches.clear();
    let blind = super::of(&record);
    let [memory, usable] = [id::MEMORY, id::USABLE].map(|id| blind.numbers[id].value().copied());
    assert_eq!(memory, usual("vm-2c").numbers[id::MEMORY].value().copied());
    let known = usual("vm-2c").numbers[id::USABLE].value().unwrap().value;
    assert!((usable.unwrap().value / known - 1.0).abs() < 0.2, "{usable:?}, {known}");
    assert_eq!(blind.numbers[id::CLAIMED].value(), None);
    assert_eq!(compare(&blind, &blind).verdict, KeyVerdict::Yes);
}

fn lose(key: &mut MachineKey, id: &str, obstacle: Obstacle, why: &str) {
    let unavailable = Unavailable::new(obstacle, "it", why);
    key.numbers.insert(id.to_owned(), Known::No { unavailable });
}

#[test]
fn what_one_key_lacks_is_not_alike() {
    let usual = usual("4c");
    let told = |key: &MachineKey, verdict: KeyVerdict, text: &str| {
        for (then, now) in [(usual, key), (key, usual)] {
            let found = compare(then, now);
            assert_eq!(found.verdict, verdict, "{}", found.text);
            assert!(found.text.contains(text), "{}", found.text);
        }
    };
    let cannot = |key: &MachineKey, text: &str| told(key, KeyVerdict::CannotTell, text);
    for id in [id::USABLE, id::READ, id::LOST, id::TOTAL, id::MEMORY] {
        let mut crowded = usual.clone();
        lose(&mut crowded, id, Obstacle::Measurement, "neighbours take it all");
        cannot(&crowded, "neighbours take it all");
    }
    let mut moving = usual.clone();
    let pair = moving.pairs.values_mut().next().unwrap();
    pair.class = Err(Unavailable::new(Obstacle::Measurement, "it", "they moved")).into();
    cannot(&moving, "they moved");
    let mut apart = usual.clone();
    apart.pairs.clear();
    cannot(&apart, "it was not measured");
    let mut unsaid = usual.clone();
    unsaid.claims.clear();
    cannot(&unsaid, "nothing that they say of themselves is known of both");
    unsaid.claims.clone_from(&usual.claims);
    unsaid.claims.remove("cpu.brand");
    cannot(&unsaid, "CPU");
    let mut other = usual.clone();
    if let Some(Known::Yes(number)) = other.numbers.get_mut(id::READ) {
        number.unit = Unit::Hertz;
    }
    cannot(&other, "reads of one core in another unit");
    // PAUSE is no chain, and two chains are few.
    let mut few = usual.clone();
    let mut left = 2;
    few.numbers.retain(|id, _| {
        let is_chain = id.starts_with(id::CYCLES) && id != "cycles.pause_only";
        left -= i32::from(is_chain);
        !is_chain || left >= 0
    });
    assert!(few.numbers.contains_key("cycles.pause_only"));
    // Who calls itself the same needs one of more than a cycle.
    assert_eq!(compare(&few, &few).same_kind, KeyVerdict::Yes);
    let mut blind = few.clone();
    blind.numbers.retain(|id, _| !id.starts_with(id::CYCLES));
    cannot(&blind, "instruction latencies: 0 known of both, 3 needed");
    few.claims.remove("cpu.family_model_stepping");
    cannot(&few, "instruction latencies: 2 known of both, 3 needed");
}

#[test]
fn what_no_key_can_have_is_no_difference() {
    let without = |obstacle, why: &str| {
        let mut key = usual("4c").clone();
        lose(&mut key, id::MEMORY, obstacle, why);
        key
    };
    let small = without(Obstacle::Hardware, "no room");
    let found = compare(&small, &small);
    assert_eq!(found.verdict, KeyVerdict::Yes, "{}", found.text);
    assert_eq!(found.remarks, ["latency of memory unknown of both: no room"]);
    let other = without(Obstacle::Hardware, "a smaller machine");
    assert_eq!(compare(&small, &other).verdict, KeyVerdict::CannotTell);
    let late = without(Obstacle::Measurement, "no time");
    assert_eq!(compare(&late, &late).verdict, KeyVerdict::CannotTell);
}

#[test]
fn what_is_uncertain_is_said_so() {
    let with = |id: &str, value: f64, interval: Option<[f64; 2]>| {
        let mut key = usual("4c").clone();
        if let Some(Known::Yes(number)) = key.numbers.get_mut(id) {
            *number = KeyNumber { value, interval, ..*number };
        }
        key
    };
    let verdict = |a: &MachineKey, b: &MachineKey| compare(a, b).verdict;
    // Nothing was seen, and nothing could be seen.
    let sure = with(id::MEMORY, 100e-9, Some([99e-9, 101e-9]));
    assert_eq!(verdict(&sure, &sure), KeyVerdict::Yes);
    for vague in [with(id::MEMORY, 100e-9, Some([60e-9, 200e-9])), with(id::MEMORY, 100e-9, None)] {
        let found = compare(&sure, &vague);
        assert_eq!(found.verdict, KeyVerdict::CannotTell, "{}", found.text);
        assert!(found.text.contains("latency of memory too uncertain"), "{}", found.text);
    }
    // A thread that ran once for 20 ms is no busier neighbour: the mean moves, and most looks do not.
    let quiet = with(id::LOST, 0.0, Some([0.0, 0.0]));
    let once = compare(&quiet, &with(id::LOST, 0.03, Some([0.0, 0.001])));
    assert_eq!(once.verdict, KeyVerdict::CannotTell, "{}", once.text);
    assert!(once.text.contains("perhaps neighbours busier"), "{}", once.text);
    assert_eq!(verdict(&quiet, &with(id::LOST, 0.03, None)), KeyVerdict::CannotTell);
    assert_eq!(verdict(&quiet, &with(id::LOST, 0.2, Some([0.18, 0.22]))), KeyVerdict::No);
    // A sibling of the host's slows an inner cache for a while, and not for all blocks.
    let l2 = "cache.l2.latency";
    let value = usual("4c").numbers[l2].value().unwrap().value;
    let own = with(l2, value, Some([0.98 * value, 1.1 * value]));
    let slowed = with(l2, 1.29 * value, Some([1.2 * value, 1.4 * value]));
    assert_eq!(compare(&own, &slowed).same_kind, KeyVerdict::CannotTell);
    assert_eq!(compare(&own, &with(l2, 1.29 * value, None)).same_kind, KeyVerdict::CannotTell);
    let other = with(l2, 2.0 * value, Some([1.9 * value, 2.1 * value]));
    assert_eq!(compare(&own, &other).same_kind, KeyVerdict::No);
    // The clock differs for sure, whatever kind it is.
    let mut slow = with(id::CLOCK, 1e9, Some([0.99e9, 1.01e9]));
    slow.numbers.retain(|id, _| !id.starts_with(id::CYCLES) || id == "cycles.scalar_iadd");
    let found = compare(usual("4c"), &slow);
    assert_eq!((found.verdict, found.same_kind), (KeyVerdict::No, KeyVerdict::CannotTell));
    assert!(found.text.starts_with("clock ") && !found.text.contains("perhaps"), "{}", found.text);
}

#[test]
fn counters_that_cannot_be_read_any_more_are_a_remark() {
    let mut without = usual("4c").clone();
    say(&mut without, "pmu", "8 counters");
    let with = without.clone();
    let unavailable = Unavailable::new(Obstacle::Permission, "PMU", "no");
    without.claims.insert("pmu".to_owned(), Known::No { unavailable });
    let found = compare(&with, &without);
    assert_eq!(found.verdict, KeyVerdict::Yes, "{}", found.text);
    assert_eq!(found.remarks, ["PMU unknown, was `8 counters`"]);
}

/// Blocks of a pair: its CPUs, each block's class and seconds.
fn pair_record(cells: &[(&str, &str, &[f64])]) -> Record {
    let mut record = blank();
    for (cpus, class, seconds) in cells {
        let blocks: Vec<&[f64]> = seconds.chunks(1).collect();
        let of = ["cores", "cas", "latency"];
        let found = series(of, cpus, &[("between", "same-cache")], &blocks);
        record.series.push(Series { placement_class: Some((*class).to_owned()), ..found });
    }
    record
}

#[test]
fn pairs_that_lie_differently_are_not_pooled() {
    let pair = |cells: &[(&str, &str, &[f64])]| {
        let pair = super::of(&pair_record(cells)).pairs.remove("same-cache").unwrap();
        (pair.latency.value().map(|number| number.value), pair.class)
    };
    let (near, far) = ([25e-9; 6], [300e-9; 6]);
    let (latency, class) = pair(&[("0-1", "same-cache", &near), ("0,2", "apart", &far)]);
    assert_eq!((latency, class.value()), (Some(300e-9), Some(&PairClass::Apart)));
    // One block of six, or one that changed meanwhile, decides nothing.
    let (latency, class) = pair(&[
        ("0-1", "same-core", &near[..1]),
        ("0-1", "changed", &[200e-9; 9]),
        ("0-1", "same-cache", &near),
    ]);
    assert_eq!((latency, class.value()), (Some(25e-9), Some(&PairClass::SameCache)));
    let (latency, class) = pair(&[("0-1", "changed", &near)]);
    assert_eq!((latency, class.value()), (None, None));
}

#[test]
fn lost_time_has_the_interval_of_its_looks() {
    let mut record = blank();
    let looks: [&[f64]; 6] = [&[0.0], &[0.0], &[0.001], &[0.0], &[0.18], &[0.0]];
    record.series.push(series(["jitter", "poll", "lost"], "0", &[], &looks));
    let lost = *super::of(&record).numbers[id::LOST].value().unwrap();
    assert!((lost.value - 0.181 / 6.0).abs() < 1e-12, "{lost:?}");
    assert_eq!(lost.interval, Some([0.0, 0.18]));
}

/// A record of latencies of 4, 8 and 64 MiB, block by block; what has no number has no sample.
fn curve_record(blocks: &[[Option<f64>; 3]]) -> Record {
    let mut record = blank();
    cache(&mut record, 2, 1 << 20, &["0"]);
    cache(&mut record, 3, 8 << 20, &["0"]);
    for (at, mib) in [4_u64, 8, 64].into_iter().enumerate() {
        let samples: Vec<Vec<f64>> =
            blocks.iter().map(|block| block[at].into_iter().collect()).collect();
        let samples: Vec<&[f64]> = samples.iter().map(Vec::as_slice).collect();
        let bytes = (mib << 20).to_string();
        let parameters = [("footprint", bytes.as_str())];
        record.series.push(series(["memory", "chase", "latency"], "0", &parameters, &samples));
    }
    record
}

#[test]
fn only_whole_curves_tell_where_a_cache_ends_and_most_of_them_do() {
    let usable = |blocks: &[[Option<f64>; 3]]| {
        super::of(&curve_record(blocks)).numbers[id::USABLE].value().map(|it| it.value)
    };
    let whole = [Some(1e-8), Some(1e-8), Some(1e-7)];
    let expected = usable(&[whole; 5]).unwrap();
    // Ended early: as if 8 MiB were memory, or as if it began there.
    let early = [[Some(1e-8), Some(8e-8), None], [None, Some(1e-8), Some(1e-7)]];
    assert_eq!(usable(&[&[whole; 2][..], &early].concat()), Some(expected));
    let flat = [Some(9e-8), Some(9e-8), Some(1e-7)];
    assert_eq!(usable(&[whole, whole, flat]), Some(expected));
    assert_eq!(usable(&[whole, flat, flat]), None);
}

#[test]
fn keys_around_a_command_say_whether_the_machine_moved() {
    let found = |taken: &[Result<MachineKey, Unavailable>]| around::finding(taken, "ab");
    let usual = || Ok(usual("4c").clone());
    assert_eq!(found(&[usual(), usual()]), None);
    assert_eq!(found(&[]), None, "--no-key");
    assert_eq!(found(&[usual()]), None, "ended early");
    let slow = key("4c", |model| {
        for licence in &mut model.licence {
            licence.bins.iter_mut().for_each(|bin| bin.1 *= 0.9);
        }
    });
    let moved = found(&[usual(), Ok(slow)]).unwrap();
    assert_eq!((moved.id.as_str(), moved.severity), ("ab.machine-moved", Severity::Warning));
    assert!(moved.text.contains("clock 10 % lower"), "{}", moved.text);
    let mut blind = usual().unwrap();
    lose(&mut blind, id::CLOCK, Obstacle::Measurement, "no ruler");
    let unknown = found(&[usual(), Ok(blind)]).unwrap();
    assert_eq!((unknown.id.as_str(), unknown.severity), ("ab.machine-unknown", Severity::Note));
    assert!(unknown.text.contains("no ruler"), "{}", unknown.text);
    let missing = Unavailable::new(Obstacle::Measurement, "key", "another process measured");
    let missing = found(&[usual(), Err(missing)]).unwrap();
    assert!(missing.text.ends_with("another process measured"), "{}", missing.text);
}
