//! Keys of simulated machines: each is itself and no other, and what changes of one is said.

use std::sync::LazyLock;

use model::record::{KeyNumber, MachineKey, PageKind, PairClass, Presentation, Record};
use model::{Known, Seconds};
use simulated::Model;

use super::{KeyComparison, KeyVerdict, compare, id, read};

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
    assert!(found.text.contains("perhaps clock unknown"), "{}", found.text);
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
    let record = record("1c", |_| ());
    let text = serde_json::to_string(&record).unwrap();
    assert_eq!(read(&text).unwrap(), *usual("1c"));
    let other = serde_json::to_string(usual("1c")).unwrap().replace("key/1", "key/2");
    for (text, why) in [
        (other.as_str(), "it is `cpudyno.key/2`, and this version reads `cpudyno.key/1`"),
        (r#"{"schema": "cpudyno.key/1"}"#, "its key is broken"),
        ("k1 SIMULATED claims=0", ""),
        ("", ""),
        ("[]", ""),
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
        bent.claims.insert("cpu.brand".to_owned(), Known::Yes("\u{1b}[31m\n\u{0}x".to_owned()));
        let found = compare(usual, &bent);
        assert_eq!(found.verdict, KeyVerdict::No);
        assert!(found.text.chars().all(|letter| !letter.is_control()), "{}", found.text);
        let text = serde_json::to_string(&bent).unwrap();
        assert!(read(&text).unwrap().line.is_ascii());
        super::page::compared(&found);
    }
}
