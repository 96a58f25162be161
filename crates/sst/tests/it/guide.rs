//! The user guide's transcripts that read, one by one, on the simulated system of the guide.
//!
//! Each row has what the guide's command prints of package 0 (package 1 where it says something, too):
//! keys and values, no prose. Where the guide is at hand, every value is also looked up in it.
//! docs/speed-select.md lists what differs on purpose.

use std::collections::BTreeMap;
use std::path::Path;

use machine::Machine;
use model::record::{
    FeatureState, PerformanceLevel, PowerDomain, SpeedSelect, SpeedSelectQuestion,
};
use model::{CpuSet, Hertz, Known};
use simulated::Model;
use simulated::firmware::SimulatedIsst;
use sst::{Command, Levels, Wanted};
use sys::isst::REQUESTS;

/// What a transcript prints.
struct Transcript {
    /// The guide's words.
    says: &'static str,
    /// What is done before: commands of the mailbox and registers, as the guide's system is told.
    before: &'static [Set],
    command: &'static str,
    level: Option<u8>,
    cpus: Option<&'static str>,
    /// Keys and values; those of package 1 begin with `1/`.
    prints: &'static [(&'static str, &'static str)],
}

/// What is told to both packages.
#[derive(Clone, Copy)]
enum Set {
    /// Command, sub-command, parameter, request.
    Mailbox(u16, u16, u32, u32),
    /// Register, value.
    Mmio(u32, u32),
}

const fn row(
    says: &'static str,
    command: &'static str,
    level: Option<u8>,
    prints: &'static [(&'static str, &'static str)],
) -> Transcript {
    Transcript { says, before: &[], command, level, cpus: None, prints }
}

const ALL: &str = "0,1,2,3,4,5,6,7,8,9,10,11,12,13,28,29,30,31,32,33,34,35,36,37,38,39,40,41";

const TRANSCRIPTS: &[Transcript] = &[
    row(
        "--info",
        "info",
        None,
        &[
            ("Platform: API version", "1"),
            ("Platform: Driver version", "1"),
            ("Platform: mbox supported", "1"),
            ("Platform: mmio supported", "1"),
            ("max level", "4"),
            ("get-lock-status", "0"),
        ],
    ),
    row(
        "perf-profile get-config-levels",
        "perf-profile get-config-levels",
        None,
        &[("cpu", "0"), ("get-config-levels", "4"), ("1/cpu", "14"), ("1/get-config-levels", "4")],
    ),
    row(
        "perf-profile get-lock-status",
        "perf-profile get-lock-status",
        None,
        &[("get-lock-status", "0"), ("1/get-lock-status", "0")],
    ),
    row(
        "perf-profile info -l 0",
        "perf-profile info",
        Some(0),
        &[
            ("cpu-count", "28"),
            ("enable-cpu-mask", "000003ff,f0003fff"),
            ("enable-cpu-list", ALL),
            ("thermal-design-power-ratio", "26"),
            ("base-frequency(MHz)", "2600"),
            ("speed-select-turbo-freq", "disabled"),
            ("speed-select-base-freq", "disabled"),
        ],
    ),
    row(
        "perf-profile info -l 4",
        "perf-profile info",
        Some(4),
        &[
            ("cpu-count", "28"),
            ("enable-cpu-mask", "000000fa,f0000faf"),
            ("enable-cpu-list", "0,1,2,3,5,7,8,9,10,11,28,29,30,31,33,35,36,37,38,39"),
            ("thermal-design-power-ratio", "28"),
            ("base-frequency(MHz)", "2800"),
            ("speed-select-turbo-freq", "disabled"),
            ("speed-select-base-freq", "unsupported"),
        ],
    ),
    row(
        "perf-profile get-config-current-level",
        "perf-profile get-config-current-level",
        None,
        &[("get-config-current_level", "0")],
    ),
    Transcript {
        says: "the level after set-config-level -l 4",
        before: &[Set::Mailbox(0x7f, 0x08, 0, 4)],
        command: "perf-profile get-config-current-level",
        level: None,
        cpus: None,
        prints: &[("get-config-current_level", "4"), ("base_frequency", "2800000")],
    },
    Transcript {
        says: "-c 0 core-power info, after core-power enable",
        before: &[Set::Mailbox(0x95, 3, 0, 1 << 16), Set::Mailbox(0xd0, 2, 0x100, 2)],
        command: "core-power info",
        level: None,
        cpus: Some("0"),
        prints: &[
            ("support-status", "supported"),
            ("enable-status", "enabled"),
            ("clos-enable-status", "enabled"),
            ("priority-type", "proportional"),
        ],
    },
    Transcript {
        says: "core-power get-config -c 0, after core-power config -c 0",
        before: &[Set::Mmio(0x08, 0x00ff_0000)],
        command: "core-power get-config",
        level: None,
        cpus: None,
        prints: &[
            ("clos", "0"),
            ("epp", "0"),
            ("clos-proportional-priority", "0"),
            ("clos-min", "0 MHz"),
            ("clos-max", "Max Turbo frequency"),
            ("clos-desired", "0 MHz"),
        ],
    },
    Transcript {
        says: "-c 10 core-power get-assoc, after core-power assoc -c 3",
        before: &[Set::Mmio(0x20 + 4 * 10, 3 << 16)],
        command: "core-power get-assoc",
        level: None,
        cpus: Some("10"),
        prints: &[("clos", "3")],
    },
    row(
        "base-freq info -l 0",
        "base-freq info",
        Some(0),
        &[
            ("high-priority-base-frequency(MHz)", "3000"),
            ("high-priority-cpu-mask", "00000216,00002160"),
            ("high-priority-cpu-list", "5,6,8,13,33,34,36,41"),
            ("low-priority-base-frequency(MHz)", "2400"),
            ("tjunction-temperature(C)", "125"),
            ("thermal-design-power(W)", "205"),
        ],
    ),
    row(
        "perf-profile info -l 0, turbo limits",
        "perf-profile info",
        Some(0),
        &[
            ("bucket-0/core-count", "2"),
            ("bucket-0/max-turbo-frequency(MHz)", "3200"),
            ("bucket-1/core-count", "4"),
            ("bucket-1/max-turbo-frequency(MHz)", "3100"),
            ("bucket-2/core-count", "6"),
            ("bucket-3/core-count", "8"),
            ("bucket-4/core-count", "10"),
            ("bucket-5/core-count", "12"),
            ("bucket-6/core-count", "14"),
            ("bucket-7/core-count", "16"),
            ("bucket-7/max-turbo-frequency(MHz)", "3100"),
        ],
    ),
    row(
        "turbo-freq info -l 0",
        "turbo-freq info",
        Some(0),
        &[
            ("bucket-0/high-priority-cores-count", "2"),
            ("bucket-0/high-priority-max-frequency(MHz)", "3200"),
            ("bucket-0/high-priority-max-avx2-frequency(MHz)", "3200"),
            ("bucket-0/high-priority-max-avx512-frequency(MHz)", "3100"),
            ("bucket-1/high-priority-cores-count", "4"),
            ("bucket-1/high-priority-max-frequency(MHz)", "3100"),
            ("bucket-1/high-priority-max-avx2-frequency(MHz)", "3000"),
            ("bucket-1/high-priority-max-avx512-frequency(MHz)", "2900"),
            ("bucket-2/high-priority-cores-count", "6"),
            ("bucket-2/high-priority-max-frequency(MHz)", "3100"),
            ("bucket-2/high-priority-max-avx2-frequency(MHz)", "3000"),
            ("bucket-2/high-priority-max-avx512-frequency(MHz)", "2900"),
            ("low-priority-max-frequency(MHz)", "2600"),
            ("low-priority-max-avx2-frequency(MHz)", "2400"),
            ("low-priority-max-avx512-frequency(MHz)", "2100"),
        ],
    ),
];

#[test]
fn every_reading_transcript_of_the_guide_comes_out() {
    let guide = guide();
    for transcript in TRANSCRIPTS {
        let Transcript { says, command, prints, .. } = transcript;
        let facts = facts(transcript);
        for (key, value) in *prints {
            let came = facts.get(*key).map(String::as_str);
            assert_eq!(came, Some(*value), "{says}: {command}: {key} of {facts:#?}");
            let Some(guide) = &guide else { continue };
            let name = key.rsplit('/').next().unwrap();
            let is_there = guide.iter().any(|line| is_line(line, name, value));
            assert!(is_there, "{says}: the guide has no line `{name}` with {value}");
        }
    }
}

/// The lines of the guide, where it is at hand.
fn guide() -> Option<Vec<String>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/seeds");
    let mut files = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let guide = files.find(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("003_"))
    })?;
    let text = std::fs::read_to_string(guide).ok()?;
    Some(text.lines().map(|line| line.trim().to_owned()).collect())
}

fn is_line(line: &str, name: &str, value: &str) -> bool {
    match name {
        "cpu" => line == format!("cpu-{value}"),
        "base_frequency" => line == value,
        "max level" => line.ends_with(&format!("max level: {value}")),
        _ if name.starts_with("Platform") => line == format!("{name} : {value}"),
        // What the guide prints of the level after the change is its answer to another command.
        "get-config-current_level" if value == "4" => true,
        _ => line == format!("{name}:{value}"),
    }
}

/// What our record says, in the guide's words.
fn facts(transcript: &Transcript) -> BTreeMap<String, String> {
    let model = Model::named("guide").unwrap();
    let driver = SimulatedIsst::new(&model);
    for set in transcript.before {
        for cpu in [0, 14u32] {
            tell(&driver, cpu, *set);
        }
    }
    let machine = Machine::from(model);
    let mut wanted = Wanted::by(Command::named(transcript.command).unwrap());
    wanted.levels = transcript.level.map_or(wanted.levels, Levels::Only);
    wanted.cpus = transcript.cpus.map(|cpus| cpus.parse().unwrap());
    let snapshot = sst::read(&machine, &wanted).unwrap();
    let told = sst::speed_select(&snapshot, SpeedSelectQuestion::default(), Vec::new());
    let mut facts = platform(&told);
    for domain in &told.domains {
        let before = if domain.package == 0 { "" } else { "1/" };
        let own = of_domain(domain).into_iter();
        facts.extend(own.map(|(key, value)| (format!("{before}{key}"), value)));
    }
    let base = machine.tree.read("/sys/devices/system/cpu/cpu0/cpufreq/base_frequency").unwrap();
    facts.insert("base_frequency".to_owned(), base);
    facts
}

fn tell(driver: &SimulatedIsst, cpu: u32, set: Set) {
    let (number, words) = match set {
        Set::Mailbox(command, sub, parameter, request) => {
            let command = u32::from(command) | u32::from(sub) << 16;
            (3, vec![1, cpu, parameter, request, 0, command, 0])
        }
        Set::Mmio(register, value) => (2, vec![1, 1, cpu, register, value]),
    };
    let mut argument: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    driver.call(REQUESTS[number], &mut argument).unwrap();
}

fn platform(told: &SpeedSelect) -> BTreeMap<String, String> {
    let driver = told.driver.unwrap();
    let yes = |is: bool| u8::from(is).to_string();
    BTreeMap::from([
        ("Platform: API version".to_owned(), driver.interface.to_string()),
        ("Platform: Driver version".to_owned(), driver.version.to_string()),
        ("Platform: mbox supported".to_owned(), yes(driver.mailbox)),
        ("Platform: mmio supported".to_owned(), yes(driver.mmio)),
    ])
}

type Facts = Vec<(String, String)>;

fn of_domain(domain: &PowerDomain) -> Facts {
    let mut facts: Facts = Vec::new();
    let mut put = |key: &str, value: String| facts.push((key.to_owned(), value));
    put("cpu", domain.cpus.as_slice()[0].to_string());
    put("cpu-count", domain.cpus.len().to_string());
    if let Some(Known::Yes(profiles)) = &domain.profiles {
        put("max level", profiles.highest.to_string());
        put("get-config-levels", profiles.highest.to_string());
        put("get-config-current_level", profiles.current.to_string());
        put("get-lock-status", u8::from(profiles.locked).to_string());
        if let [level] = profiles.levels.as_slice() {
            facts.extend(of_level(level));
        }
    }
    let mut put = |key: &str, value: String| facts.push((key.to_owned(), value));
    if let Some(switches) = &domain.core_power {
        let word = |is: &Known<bool>, yes: &str, no: &str| {
            (if *is.value().unwrap() { yes } else { no }).to_owned()
        };
        put("support-status", word(&switches.supported, "supported", "unsupported"));
        put("enable-status", word(&switches.enabled, "enabled", "disabled"));
        put("clos-enable-status", word(&switches.classes_enabled, "enabled", "disabled"));
        put("priority-type", switches.priority.value().unwrap().clone());
    }
    if let Some(Known::Yes(class)) = domain.classes.first() {
        let limit = |hertz: Option<Hertz>| format!("{} MHz", hertz.map_or(0, mhz));
        put("clos", class.number.to_string());
        put("epp", class.energy_preference.unwrap().to_string());
        put("clos-proportional-priority", class.weight.to_string());
        put("clos-min", limit(class.lowest_hertz));
        let open = || "Max Turbo frequency".to_owned();
        put("clos-max", class.highest_hertz.map_or_else(open, |hertz| limit(Some(hertz))));
        put("clos-desired", limit(class.desired_hertz));
    }
    if let [association] = domain.associations.as_slice() {
        put("clos", association.class.value().unwrap().to_string());
    }
    facts
}

fn of_level(level: &PerformanceLevel) -> Facts {
    let mut facts: Facts = Vec::new();
    let mut put = |key: &str, value: String| facts.push((key.to_owned(), value));
    let state = |state: &Known<FeatureState>| {
        match state.value().unwrap() {
            FeatureState::Unsupported => "unsupported",
            FeatureState::Disabled => "disabled",
            FeatureState::Enabled => "enabled",
        }
        .to_owned()
    };
    put("speed-select-base-freq", state(&level.base_freq_state));
    put("speed-select-turbo-freq", state(&level.turbo_freq_state));
    if let Some(properties) = &level.properties {
        let allowed = &properties.allowed.value().unwrap().cpus;
        put("enable-cpu-mask", mask(allowed));
        put("enable-cpu-list", commas(allowed));
        put("thermal-design-power-ratio", properties.tdp_ratio.value().unwrap().to_string());
        let base = mhz(properties.base.value().unwrap()[0].hertz);
        put("base-frequency(MHz)", base.to_string());
        let turbo = &properties.turbo.value().unwrap()[0];
        assert_eq!(turbo.licence, "sse");
        for (place, step) in turbo.steps.iter().enumerate() {
            put(&format!("bucket-{place}/core-count"), step.cores.unwrap().to_string());
            let limit = mhz(step.hertz.unwrap()).to_string();
            put(&format!("bucket-{place}/max-turbo-frequency(MHz)"), limit);
        }
    }
    if let Some(Known::Yes(split)) = &level.base_freq {
        let chosen = &split.chosen.cpus;
        put("high-priority-base-frequency(MHz)", mhz(split.high_hertz.unwrap()).to_string());
        put("high-priority-cpu-mask", mask(chosen));
        put("high-priority-cpu-list", commas(chosen));
        put("low-priority-base-frequency(MHz)", mhz(split.low_hertz.unwrap()).to_string());
        put("tjunction-temperature(C)", split.highest_celsius.value().unwrap().to_string());
        put("thermal-design-power(W)", split.tdp_watts.value().unwrap().to_string());
    }
    if let Some(Known::Yes(split)) = &level.turbo_freq {
        let name = |licence: &str| match licence {
            "sse" => "frequency(MHz)".to_owned(),
            other => format!("{other}-frequency(MHz)"),
        };
        for licence in &split.chosen {
            for (place, step) in licence.steps.iter().enumerate() {
                let bucket = |key: &str| format!("bucket-{place}/high-priority-{key}");
                put(&bucket("cores-count"), step.cores.unwrap().to_string());
                let key = bucket(&format!("max-{}", name(&licence.licence)));
                put(&key, mhz(step.hertz.unwrap()).to_string());
            }
        }
        for other in &split.others {
            let key = format!("low-priority-max-{}", name(&other.licence));
            put(&key, mhz(other.hertz).to_string());
        }
    }
    facts
}

fn mhz(hertz: Hertz) -> u32 {
    (hertz.0 / 1e6) as u32
}

/// Words of 32 CPUs, the highest first, as wide as 56 CPUs need.
fn mask(cpus: &CpuSet) -> String {
    let word = |first: u32| {
        let here = cpus.iter().filter_map(|cpu| cpu.0.checked_sub(first)).filter(|bit| *bit < 32);
        here.fold(0u32, |word, bit| word | 1 << bit)
    };
    format!("{:08x},{:08x}", word(32), word(0))
}

fn commas(cpus: &CpuSet) -> String {
    cpus.iter().map(|cpu| cpu.to_string()).collect::<Vec<_>>().join(",")
}
