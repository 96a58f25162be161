//! Good machines of which files are missing, or hold another number: silence is taken for no answer, and what contradicts
//! itself is said.
//!
//! `CPUDYNO_BENT` is how many machines are bent for each rule: the same ones each time, so that more of them begin with
//! those of fewer.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use machine::{Machine, Tree};
use model::record::{CpuPlace, FactValue, PageKind, Presentation, Record, Topology};
use model::{CpuSet, Known, Obstacle, Reading, Unavailable};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use recorded::{capture, parse};

const USUALLY: u32 = 500;

/// The captures of `testdata/machines`, but those that are bent already, and those below `../shared/fixtures/field`
/// where that is there, with its trees.
fn good() -> Vec<(String, String)> {
    const BENT: [&str; 2] = ["contradictory", "holes"];
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    let name = |path: &Path| path.file_stem().unwrap().to_string_lossy().into_owned();
    let mut paths = files(&root.join("../../testdata/machines"));
    assert!(paths.len() >= 10, "{paths:?}");
    let mut cases = files(&root.join("../../../shared/fixtures/field"));
    cases.retain(|case| case.is_dir());
    paths.extend(cases.iter().flat_map(|case| files(&case.join("input"))));
    let trees = cases.iter().flat_map(|case| {
        let trees = files(&case.join("input")).into_iter().filter(|tree| tree.is_dir());
        trees.map(|tree| (name(case), capture(&Machine::rooted(&tree).unwrap())))
    });
    let trees: Vec<(String, String)> = trees.collect();
    paths.retain(|path| path.extension().is_some_and(|kind| kind == "capture"));
    let mut all: Vec<(String, String)> =
        paths.iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect();
    all.retain(|(name, _)| !BENT.contains(&name.as_str()));
    all.extend(trees);
    all.sort();
    all
}

fn record(text: &str) -> Option<Record> {
    Some(described(&parse("bent", text).ok()?))
}

fn described(machine: &Machine) -> Record {
    let look = Presentation { width: 80, verbosity: 1, ..Presentation::of(PageKind::Info) };
    let record = machine::describe(machine, Vec::new(), look);
    report::info(&record, 1);
    report::doctor(&record, 1);
    record
}

/// Runs a property over so many bent machines.
fn search<S: Strategy>(strategy: &S, property: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let cases = std::env::var("CPUDYNO_BENT").ok().and_then(|count| count.parse().ok());
    let config =
        Config { cases: cases.unwrap_or(USUALLY), failure_persistence: None, ..Config::default() };
    let same = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, same);
    if let Err(error) = runner.run(strategy, property) {
        panic!("{error}");
    }
}

/// Which machine is bent: small ones more often, as large ones take longer and have little that is their own.
fn which(machines: &[(String, String)]) -> impl Strategy<Value = usize> {
    const SMALL: usize = 32;
    let cpus = |text: &str| record(text).unwrap().machine.topology.online.len();
    let times = |text: &str| (2 * SMALL / cpus(text).max(1)).clamp(1, 8);
    let often = machines.iter().enumerate().flat_map(|(place, (_, text))| vec![place; times(text)]);
    prop::sample::select(often.collect::<Vec<_>>())
}

/// The lines of files and registers, and what these are called.
fn files(text: &str) -> Vec<(usize, &str)> {
    let lines = text.lines().enumerate();
    lines.filter_map(|(at, line)| Some((at, path_of(line)?))).collect()
}

/// The file that a line is the text of, which may be empty; or the register that it is the value of.
fn path_of(line: &str) -> Option<&str> {
    let path = line.split_once(" =").map(|(path, _)| path);
    // Leaves of CPUID have a dot.
    let is_register = |path: &str| path.starts_with("0x") && !path.contains('.');
    path.filter(|path| path.starts_with('/') || is_register(path))
}

/// A capture without those sources.
fn without(text: &str, gone: &[String]) -> String {
    let is_kept = |line: &&str| path_of(line).is_none_or(|path| !gone.contains(&source(path)));
    text.lines().filter(is_kept).collect::<Vec<_>>().join("\n")
}

/// Files that one source consists of: of all CPUs at once.
fn source(path: &str) -> String {
    let digits = |c: char| c.is_ascii_digit();
    let mut parts: Vec<&str> = path.split('/').collect();
    let last = parts.pop().unwrap_or_default();
    let folder = parts
        .last()
        .map(|part| part.trim_end_matches(']').trim_end_matches(digits))
        .unwrap_or_default();
    format!("{folder}/{last}")
}

fn facts(record: &Record) -> BTreeMap<&str, &Known<FactValue>> {
    record.machine.facts.iter().map(|fact| (fact.id.as_str(), &fact.value)).collect()
}

/// What is counted of the files that are there; idle states, which have numbers where nobody names them; limits of control groups, of which one without the file has none (the
/// kernel's `cgroup-v2.rst`); and what two sources say differently of these machines.
const OTHERWISE: &[&str] = &[
    "kernel.mitigations",
    "idle.states",
    "memory.limit",
    "cgroup.quota",
    "cppc.favoured_cores",
    "memory.huge_pages",
    "cpu.max_frequency",
    "cpu.disputed_clocks",
];
/// What is told by cores and their kinds: of CPUs alone, or of fewer kinds, where less says which there are.
const BY_KIND: &[&str] = &[
    "cpu.kinds",
    "cpu.cores",
    "cpu.caches",
    "cpu.base_frequency",
    "cppc.performance",
    "turbo.hwp",
    "turbo.ratio_limits",
];

/// Whether it says the same or less: no word of its own but those for what is not known.
fn is_less_of(is: &FactValue, was: &FactValue) -> bool {
    const UNKNOWN: &[&str] = &["of", "unknown", "size", "unreadable"];
    let words = |value: &FactValue| -> Vec<String> {
        let text = match value {
            FactValue::Text(text) => text.clone(),
            FactValue::Number { value, .. } => value.to_string(),
        };
        let between = |c: char| c.is_whitespace() || ",;()".contains(c);
        text.split(between).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let (is, was) = (words(is), words(was));
    // Of a part of the CPUs it says how many those are.
    let is_partial = is.iter().any(|word| word == "unreadable");
    is_partial || is.iter().all(|word| UNKNOWN.contains(&word.as_str()) || was.contains(word))
}

/// Without some of its sources a machine is described alike, or not at all, or it is said that sources differ.
#[test]
fn silence_is_no_answer() {
    let machines = good();
    let whole: Vec<Record> = machines.iter().map(|(_, text)| record(text).unwrap()).collect();
    let strategy = (which(&machines), prop::collection::vec(any::<prop::sample::Index>(), 1..4));
    search(&strategy, |(which, gone)| {
        let (name, text) = &machines[which];
        let all = files(text);
        let gone: Vec<String> = gone.iter().map(|at| source(all[at.index(all.len())].1)).collect();
        let Some(bent) = record(&without(text, &gone)) else { return Ok(()) };
        let (before, after) = (facts(&whole[which]), facts(&bent));
        let differs = |id: &str| before.get(id) != after.get(id);
        let by_kind = differs("cpu.kinds") || differs("cpu.cores");
        for (id, was) in before {
            let Some(is) = after.get(id) else { continue };
            // Of hybrids without the registers of counts the first one counts core by core, as Alder Lake has it.
            let of_counts = |it: &String| ["0x1ae", "0x651"].iter().any(|known| it.contains(known));
            let by_core = id == "turbo.ratio_limits" && gone.iter().any(of_counts);
            if OTHERWISE.contains(&id) || by_kind && BY_KIND.contains(&id) || by_core {
                continue;
            }
            if let (Known::Yes(was), Known::Yes(is)) = (was, is) {
                prop_assert!(
                    is_less_of(is, was),
                    "{name} without {gone:?}: {id} was {was:?} and is {is:?}"
                );
            }
        }
        check(&bent, name)
    });
}

/// The files of a machine without one of them.
struct Without {
    tree: Box<dyn Tree>,
    gone: String,
}

impl Tree for Without {
    fn read(&self, path: &str) -> Reading<String> {
        if path != self.gone {
            return self.tree.read(path);
        }
        Err(Unavailable::new(Obstacle::Hardware, path, format!("there is no `{path}` here")))
    }

    fn list(&self, path: &str) -> Reading<Vec<String>> {
        let mut names = self.tree.list(path)?;
        names.retain(|name| format!("{path}/{name}") != self.gone);
        Ok(names)
    }
}

/// The file of one CPU, of a path that stands for those of many: `cpu[0-3]`.
fn of_one(path: &str, which: prop::sample::Index) -> String {
    let Some((before, rest)) = path.split_once('[') else { return path.to_owned() };
    let Some((list, after)) = rest.split_once(']') else { return path.to_owned() };
    let cpus: Vec<u32> = list.parse::<CpuSet>().unwrap().iter().map(|cpu| cpu.0).collect();
    format!("{before}{}{}", cpus[which.index(cpus.len())], of_one(after, which))
}

/// What one CPU alone does not say makes nothing else of the others, and nothing of this one that nobody says.
#[test]
fn what_one_cpu_does_not_say_is_no_answer() {
    let machines = good();
    let whole: Vec<Record> = machines.iter().map(|(_, text)| record(text).unwrap()).collect();
    let index = any::<prop::sample::Index>;
    let strategy = (which(&machines), index(), index());
    search(&strategy, |(which, file, cpu)| {
        let (name, text) = &machines[which];
        let all: Vec<&str> = files(text).into_iter().map(|(_, path)| path).collect();
        let all: Vec<&str> = all.into_iter().filter(|path| path.contains("/cpu[")).collect();
        if all.is_empty() {
            return Ok(());
        }
        let gone = of_one(all[file.index(all.len())], cpu);
        let mut machine = parse("bent", text).unwrap();
        machine.tree = Box::new(Without { tree: machine.tree, gone: gone.clone() });
        let bent = described(&machine);
        let (before, after) = (facts(&whole[which]), facts(&bent));
        let differs = |id: &str| before.get(id) != after.get(id);
        let by_kind = differs("cpu.kinds") || differs("cpu.cores");
        for (id, was) in before {
            let Some(Known::Yes(is)) = after.get(id) else { continue };
            if OTHERWISE.contains(&id) || by_kind && BY_KIND.contains(&id) {
                continue;
            }
            // What is known of some CPUs alone says of which.
            let of_some = matches!(is, FactValue::Text(text) if text.contains("(CPU"));
            if let Known::Yes(was) = was {
                prop_assert!(
                    of_some || is_less_of(is, was),
                    "{name} without {gone}: {id} was {was:?} and is {is:?}"
                );
            }
        }
        check(&bent, name)
    });
}

/// Who shares a cache, a core or a package with another one is shared with by it, and equal caches are shared by as many;
/// where not all of a group are there, or sources differ, that is said.
#[test]
fn groups_of_sharing_are_mutual_and_of_one_width() {
    for (name, text) in good() {
        let record = record(&text).unwrap();
        let topology = &record.machine.topology;
        let said = |about: &str| record.findings.iter().any(|finding| finding.about == about);
        for place in &topology.cpus {
            let groups: [fn(&CpuPlace) -> &CpuSet; 2] =
                [|place| &place.siblings, |place| &place.last_level_cache];
            for group in groups {
                let others = group(place).iter().filter_map(|cpu| topology.place(cpu));
                for other in others {
                    let is_mutual = group(other) == group(place);
                    assert!(
                        is_mutual || said("cores") || said("caches"),
                        "{name}: {place:?} {other:?}"
                    );
                }
            }
        }
        let all_there = topology.online.len() == topology.present.len();
        for cache in &topology.caches {
            assert!(!cross(&cache.instances) || said("caches"), "{name}: {cache:?}");
            // Kinds of cores share theirs among as many as they like.
            let kind = |cpus: &CpuSet| topology.place(cpus.iter().next()?)?.kind.clone();
            let mut widths: BTreeMap<Option<String>, BTreeSet<usize>> = BTreeMap::new();
            for cpus in &cache.instances {
                widths.entry(kind(cpus)).or_default().insert(cpus.len());
            }
            let are_alike = widths.values().all(|widths| widths.len() == 1);
            assert!(are_alike || !all_there || said("caches"), "{name}: {cache:?}");
        }
    }
}

/// Where somebody chose which files there are, that one is missing is nobody's fault.
#[test]
fn files_that_were_not_copied_are_nobodys_fault() {
    let folder = tempfile::tempdir().unwrap();
    let copied = Machine::rooted(folder.path()).unwrap().elsewhere;
    let machines = good();
    let strategy = (which(&machines), prop::collection::vec(any::<prop::sample::Index>(), 0..12));
    search(&strategy, |(which, gone)| {
        let (name, text) = &machines[which];
        let all = files(text);
        let gone: Vec<String> = gone.iter().map(|at| source(all[at.index(all.len())].1)).collect();
        let Ok(mut machine) = parse("bent", &without(text, &gone)) else { return Ok(()) };
        machine.elsewhere.clone_from(&copied);
        for absence in absences(&described(&machine)) {
            let blames = [
                "built without",
                "newer ones",
                "this kernel does not",
                "no driver is loaded",
                "booted without",
                "hypervisor does not show",
                "names no group",
            ];
            let is_blame = blames.iter().any(|blame| absence.why.contains(blame));
            let is_fault = absence.obstacle == Obstacle::Hardware || is_blame;
            prop_assert!(!is_fault, "{name} without {gone:?}: {absence:?}");
        }
        Ok(())
    });
}

/// All that is not known: of facts, of conditions, and of what can be done.
fn absences(record: &Record) -> Vec<&Unavailable> {
    let facts = record.machine.facts.iter().chain(&record.machine.capabilities);
    let all = facts.chain(&record.conditions.before);
    all.filter_map(|fact| match &fact.value {
        Known::No { unavailable } => Some(unavailable),
        Known::Yes(_) => None,
    })
    .collect()
}

/// A number in a file is another one: what is told is whole, or says that it is not.
#[test]
fn what_contradicts_itself_is_said() {
    let machines = good();
    let number = prop_oneof![0_u64..9, 0_u64..300, any::<u32>().prop_map(u64::from)];
    let change = (any::<prop::sample::Index>(), number);
    let strategy = (which(&machines), prop::collection::vec(change, 1..4));
    search(&strategy, |(which, changes)| {
        let (name, text) = &machines[which];
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for (place, number) in &changes {
            let all = files(text);
            let at = all[place.index(all.len())].0;
            let line = &mut lines[at];
            let (path, value) = line.split_once(" =").unwrap();
            if path.starts_with("0x") {
                *line = format!("{path} = {number:#x}");
                continue;
            }
            let digits = value.find(|c: char| c.is_ascii_digit());
            let Some(first) = digits else { continue };
            let rest = value[first..].trim_start_matches(|c: char| c.is_ascii_digit());
            *line = format!("{path} ={}{number}{rest}", &value[..first]);
        }
        let Some(bent) = record(&lines.join("\n")) else { return Ok(()) };
        check(&bent, name)
    });
}

/// What a description must keep, or else say.
fn check(record: &Record, name: &str) -> Result<(), TestCaseError> {
    let said = |about: &str| record.findings.iter().any(|finding| finding.about == about);
    let all = || format!("{name}: {:#?}", record.findings);
    let topology = &record.machine.topology;
    for fact in &record.machine.facts {
        if let Known::Yes(FactValue::Number { value, .. }) = &fact.value {
            prop_assert!(value.is_finite() && *value >= 0.0, "{name}: {fact:?}");
        }
    }
    prop_assert!(!clocks_are_wrong(record) || said("clocks"), "{}", all());
    prop_assert!(!siblings_differ(topology) || said("cores"), "{} {:?}", all(), topology.cpus);
    for cache in &topology.caches {
        prop_assert!(cache.bytes != Some(0), "{name}: {cache:?}");
        prop_assert!(!cross(&cache.instances) || said("caches"), "{} {cache:?}", all());
    }
    // Parts of one node (`numa=fake=`) have all of its CPUs.
    let mut of_nodes: Vec<CpuSet> = topology.nodes.iter().map(|node| node.cpus.clone()).collect();
    of_nodes.dedup();
    prop_assert!(!cross(&of_nodes) || said("nodes"), "{} {:?}", all(), topology.nodes);
    Ok(())
}

fn clocks_are_wrong(record: &Record) -> bool {
    let of = |id: &str| match record.machine.fact(id)?.value.value()? {
        FactValue::Number { value, .. } => Some(*value),
        FactValue::Text(_) => None,
    };
    let [least, base, most] =
        ["cpu.min_frequency", "cpu.base_frequency", "cpu.max_frequency"].map(of);
    let above = |a: Option<f64>, b: Option<f64>| a.zip(b).is_some_and(|(a, b)| a > b);
    above(least, base) || above(base, most) || above(least, most)
}

fn siblings_differ(topology: &Topology) -> bool {
    topology.cpus.iter().any(|place| {
        let others = place.siblings.iter().filter_map(|cpu| topology.place(cpu));
        others.into_iter().any(|other| {
            other.siblings != place.siblings
                || other.package != place.package
                || other.last_level_cache != place.last_level_cache
        })
    })
}

/// Whether a CPU is in two of them.
fn cross(sets: &[CpuSet]) -> bool {
    let count: usize = sets.iter().map(CpuSet::len).sum();
    sets.iter().flat_map(CpuSet::iter).collect::<CpuSet>().len() < count
}
