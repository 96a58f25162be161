//! Sources of one fact that hold anything: nothing is told that they deny.

use std::collections::{BTreeMap, BTreeSet};

use model::record::{LimitReason, PowerTerm};
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

    /// Of each term the least limit that is in force is named, and nothing of a control that is off, nor of what is no
    /// limit; where nothing in force limits, that is not made up.
    #[test]
    fn the_least_limit_of_power_that_holds_is_named(
        zones in prop::collection::vec(
            (
                prop::sample::select(vec!["package-0", "package-0-die-1", "psys", "package-1", "core"]),
                any::<bool>(),
                any::<bool>(),
                [0_u32..300, 0..300],
            ),
            1..6,
        ),
        off in prop::option::of(prop::sample::select(vec!["intel-rapl", "intel-rapl-mmio"])),
        bent in prop::option::of((
            any::<prop::sample::Index>(),
            0_usize..2,
            prop_oneof![garbage(), Just("4095875000".to_owned()), Just("0".to_owned())],
        )),
    ) {
        const POWERCAP: &str = "/sys/class/powercap";
        let mut made = Made::new(INTEL, 6, 0xb7, 4);
        // What is in force, in watts, by package or platform and term.
        let mut holds: BTreeMap<PowerTerm, Vec<f64>> = BTreeMap::new();
        for (number, (name, by_memory, is_on, watts)) in zones.iter().enumerate() {
            let control = if *by_memory { "intel-rapl-mmio" } else { "intel-rapl" };
            let folder = format!("{POWERCAP}/{control}:{number}");
            made.files.put(format!("{folder}/name"), *name);
            made.files.put(format!("{folder}/enabled"), if *is_on { "1" } else { "0" });
            let terms = match *name {
                "package-0" | "package-0-die-1" => [PowerTerm::Long, PowerTerm::Short],
                "psys" => [PowerTerm::PlatformLong, PowerTerm::PlatformShort],
                _ => continue,
            };
            for (index, term) in terms.into_iter().enumerate() {
                let which = ["long_term", "short_term"][index];
                let mut text = format!("{}000000", watts[index]);
                if let Some((zone, bent, other)) = &bent
                    && zone.index(zones.len()) == number && *bent == index
                {
                    text.clone_from(other);
                }
                made.files.put(format!("{folder}/constraint_{index}_name"), which);
                made.files.put(format!("{folder}/constraint_{index}_power_limit_uw"), &text);
                let limit = text.parse().ok().map(|microwatts: f64| microwatts * 1e-6);
                let limit = limit.filter(|watts| *watts > 0.0 && *watts < 4095.0);
                if *is_on && off != Some(control) {
                    holds.entry(term).or_default().extend(limit);
                }
            }
        }
        if let Some(control) = off {
            made.files.put(format!("{POWERCAP}/{control}/enabled"), "0");
        }
        let told = made.record().clock.unwrap().power;
        for limit in &told {
            let least = holds.get(&limit.term).and_then(|all| all.iter().copied().reduce(f64::min));
            let named = limit.watts.filter(|_| limit.enabled);
            let is_least = match (named, least) {
                (Some(named), Some(least)) => (named - least).abs() < 1e-3,
                (named, least) => named == least,
            };
            prop_assert!(is_least, "{limit:?}: {holds:?}");
            let begin = limit.said();
            let number = least.map_or(String::new(), |least| format!("{} {least:.0} W ", limit.term.word()));
            prop_assert!(begin.starts_with(number.trim_end()), "{begin}: {holds:?}");
        }
        let terms: BTreeSet<PowerTerm> = told.iter().map(|limit| limit.term).collect();
        prop_assert_eq!(terms.len(), told.len(), "{:?}", told);
        for (term, limits) in &holds {
            prop_assert!(limits.is_empty() || terms.contains(term), "{told:?}: {holds:?}");
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
