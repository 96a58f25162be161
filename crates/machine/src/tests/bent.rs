//! Sources of one fact that hold anything: nothing is told that they deny.

use std::collections::{BTreeMap, BTreeSet};

use model::record::LimitReason;
use model::{CpuId, CpuSet};
use proptest::prelude::*;

use super::clock::{AMD, INTEL, Made};
use crate::facts;

const CPU: &str = "/sys/devices/system/cpu";

/// What a file of a number may hold instead of it.
fn garbage() -> impl Strategy<Value = String> {
    prop_oneof!["[0-9]{0,12}", "-[0-9]{1,3}", Just(String::new()), Just("x".to_owned())]
}

/// The CPUs that a text begins with: `CPU 3 (`, `CPUs 0-1 (`.
fn named(text: &str) -> Option<(CpuSet, &str)> {
    let rest = text.strip_prefix("CPUs ").or_else(|| text.strip_prefix("CPU "))?;
    let (cpus, rest) = rest.split_once(" (")?;
    Some((cpus.parse().unwrap(), rest))
}

/// Each `a to b GHz` of a text.
fn ranges(text: &str) -> Vec<(f64, f64)> {
    let words: Vec<&str> = text.split([' ', ':', ';', ',', '(', ')']).collect();
    let range = |at: &[&str]| match at {
        [low, "to", high, "GHz"] => Some((low.parse().ok()?, high.parse().ok()?)),
        _ => None,
    };
    words.windows(4).filter_map(range).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Who is favoured has the highest rank of all, by the source that is named; a rank that is none ranks nobody.
    #[test]
    fn favoured_cores_are_those_that_are_ranked_highest(
        ranks in prop::collection::vec(prop::sample::select(vec![60_u32, 166, 171, 176, 236]), 6),
        by_driver: bool,
        bent in prop::option::of((0_u32..6, garbage())),
    ) {
        let file = if by_driver { "amd_pstate_prefcore_ranking" } else { "highest_perf" };
        let mut made = Made::new(AMD, 26, 68, 6);
        for (rank, cpu) in ranks.iter().zip(0..) {
            made = made.put(cpu, file, rank);
        }
        let mut known: BTreeMap<CpuId, Option<f64>> =
            ranks.iter().zip(0..).map(|(rank, cpu)| (CpuId(cpu), Some(f64::from(*rank)))).collect();
        if let Some((cpu, text)) = &bent {
            made = made.put(*cpu, file, text);
            known.insert(CpuId(*cpu), text.parse().ok().filter(|rank| *rank > 0.0));
        }
        let said = made.fact("cppc.favoured_cores");
        let all: Option<Vec<f64>> = known.values().copied().collect();
        let most = all.iter().flatten().copied().fold(0.0, f64::max);
        let least = all.iter().flatten().copied().fold(f64::INFINITY, f64::min);
        if let Some((cpus, rest)) = named(&said) {
            let rank: f64 = rest.split([',', ' ']).next().unwrap().parse().unwrap();
            prop_assert!(all.is_some() && rank.to_bits() == most.to_bits(), "{said}: {known:?}");
            let is_highest = |cpu: &CpuId| known[cpu] == Some(most);
            let highest: CpuSet = known.keys().copied().filter(is_highest).collect();
            prop_assert_eq!(&cpus, &highest, "{}: {:?}", said, known);
        } else if said.starts_with("none") {
            prop_assert!(all.is_some() && most.to_bits() == least.to_bits(), "{said}: {known:?}");
        } else {
            prop_assert!(all.is_none() || most > 65_535.0 || most.fract() > 0.0, "{said}: {known:?}");
        }
    }

    /// Ranges of domains are those of their own files; one that begins above its end is said to.
    #[test]
    fn ranges_of_uncores_are_what_their_files_say(
        domains in prop::collection::vec(
            (prop::sample::select(vec!["core", "io", "core cache memory", ""]), 4_u32..30, 4_u32..30), 1..5
        ),
        bent in prop::option::of((any::<prop::sample::Index>(), any::<bool>(), garbage())),
    ) {
        let mut made = Made::new(INTEL, 6, 0xad, 4);
        let mut files: BTreeMap<String, String> = BTreeMap::new();
        for (number, (agents, least, most)) in domains.iter().enumerate() {
            let folder = format!("{CPU}/intel_uncore_frequency/uncore{number:02}");
            made.files.put(format!("{folder}/agent_types"), *agents);
            files.insert(format!("{folder}/min_freq_khz"), format!("{least}00000"));
            files.insert(format!("{folder}/max_freq_khz"), format!("{most}00000"));
        }
        if let Some((which, is_most, text)) = &bent {
            let end = if *is_most { "max" } else { "min" };
            let number = which.index(domains.len());
            let path = format!("{CPU}/intel_uncore_frequency/uncore{number:02}/{end}_freq_khz");
            files.insert(path, text.clone());
        }
        for (path, text) in &files {
            made.files.put(path.as_str(), text.as_str());
        }
        let said = made.fact("uncore.limits");
        let gigahertz = |text: &String| (text.parse::<f64>().ok()? / 1e4).round().into();
        let known: BTreeSet<u64> =
            files.values().filter_map(gigahertz).map(|it: f64| it as u64).collect();
        for (low, high) in ranges(&said) {
            prop_assert!(low <= high, "{said}: {files:?}");
            for end in [low, high] {
                prop_assert!(known.contains(&((end * 100.0).round() as u64)), "{said}: {files:?}");
            }
        }
        let read = |number: usize, end: &str| -> Option<f64> {
            let path = format!("{CPU}/intel_uncore_frequency/uncore{number:02}/{end}_freq_khz");
            files[&path].parse().ok().filter(|khz| (1.0..=20e6).contains(khz))
        };
        let is_upside_down = |number: usize| {
            read(number, "min").zip(read(number, "max")).is_some_and(|(min, max)| min > max + 1e4)
        };
        if (0..domains.len()).any(is_upside_down) {
            prop_assert!(said.contains("contradictory"), "{said}: {files:?}");
        }
    }

    /// A reason for a lower clock is told where its bit is set, and nowhere else.
    #[test]
    fn reasons_are_bits_that_are_set(
        model in prop::sample::select(vec![0x5e_u32, 0x3c, 0x4f, 0x8f, 0xb7]),
        registers in prop::collection::btree_map(
            prop::sample::select(vec![0x19c_u32, 0x1b1, 0x64f, 0x690]), any::<u32>(), 0..4
        ),
    ) {
        let values: Vec<(u32, u64)> =
            registers.iter().map(|(address, value)| (*address, u64::from(*value))).collect();
        let record = Made::new(INTEL, 6, model, 2).registers(&values).record();
        let clock = record.clock.unwrap();
        for LimitReason { id, source, after, .. } in &clock.reasons {
            let (register, bits) = source.strip_prefix("MSR ").unwrap().split_once(' ').unwrap();
            let address = u32::from_str_radix(register.trim_end_matches('h'), 16).unwrap();
            let value = registers.get(&address).copied();
            prop_assert!(value.is_some(), "{id} of {source}: {registers:?}");
            let bits: Vec<u32> = bits
                .split(|c: char| !c.is_ascii_digit())
                .filter_map(|bit| bit.parse().ok())
                .collect();
            let is_set = |bit: &u32| value.unwrap() >> bit & 1 == 1;
            prop_assert!(bits.iter().any(is_set), "{id} of {source}: {registers:x?}");
            prop_assert!(after.active || after.logged, "{id} of {source}");
        }
    }

    /// Counts of modules are told as cores: the table ends with all cores of the package, or with a word.
    #[test]
    fn counts_of_modules_are_told_as_cores(
        model in prop::sample::select(vec![0xaf_u32, 0xdd, 0xb6]),
        modules in 1_u32..9,
        ratios in prop::collection::vec(0_u8..60, 8),
        counts in prop::collection::vec(0_u8..12, 8),
        gone: bool,
    ) {
        let cores = 4 * modules;
        let register = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
        let mut registers = vec![(0x1ad, register(&ratios))];
        if !gone {
            registers.push((0x1ae, register(&counts)));
        }
        let made = Made::new(INTEL, 6, model, cores).registers(&registers);
        for limit in facts::machine(&made.machine()).turbo_limits {
            let told = format!("{:?} of {ratios:?} {counts:?}", limit.steps);
            prop_assert_eq!(limit.cores, Some(cores));
            prop_assert!(limit.steps.is_sorted_by_key(|step| step.active_cores), "{told}");
            for step in &limit.steps {
                let modules = step.active_cores / 4;
                prop_assert!(step.active_cores % 4 == 0 && step.active_cores <= cores, "{told}");
                let is_stated = ratios.iter().zip(&counts).any(|(ratio, count)| {
                    let is_its = u32::from(*count) == modules;
                    let is_all = step.active_cores == cores && u32::from(*count) >= modules;
                    (step.hertz - f64::from(*ratio) * 1e8).abs() < 1.0 && (is_its || is_all)
                });
                prop_assert!(is_stated, "{told}");
            }
            let reached = limit.steps.last().map(|step| step.active_cores);
            prop_assert_eq!(limit.beyond.is_some(), reached < Some(cores), "{}", told);
        }
    }
}
