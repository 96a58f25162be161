//! Our own table: families of CPUs, and the events that are known of them without anybody's help.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex_lite::Regex;
use serde::Deserialize;

use super::fields::Fields;

/// The table, as `data/README.md` describes it.
static TABLE: LazyLock<Table> = LazyLock::new(|| {
    const TEXT: &str = include_str!("../../../../data/events.toml");
    toml::from_str(TEXT).expect("BUG: a test reads the table")
});

/// The table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Families of CPUs.
    pub family: Vec<Family>,
    /// Intel's fixed counters, by their number.
    pub fixed: EventFile,
    /// Intel's architectural events, by their bit.
    pub architectural: EventFile,
    /// Sets of events.
    pub set: Vec<Set>,
}

impl Table {
    /// The table that is built in.
    pub fn builtin() -> &'static Table {
        &TABLE
    }
}

/// CPUs with the same events.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Family {
    /// Its name in tables and commands.
    pub id: String,
    /// What it is.
    pub title: String,
    /// One such CPU, as lists of events write it.
    pub cpuid: String,
    /// Other names, with the CPU that each means.
    #[serde(default)]
    pub also: BTreeMap<String, String>,
    /// Which CPUs belong to it.
    #[serde(deserialize_with = "expression")]
    pub cpus: Regex,
    /// Which type of core, where such CPUs have two.
    pub core: Option<CoreType>,
    /// What libpfm4 calls it; the first that a version knows counts.
    pub libpfm: Vec<String>,
    /// General counters of a core that one thread uses.
    pub general: u32,
    /// Fixed counters.
    pub fixed: u32,
    /// How many architectural events CPUID announces.
    pub announced: u32,
}

/// A type of core of a hybrid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CoreType {
    /// Performance.
    Core,
    /// Efficiency.
    Atom,
    /// Efficiency, on a die of their own and of an older design.
    LowPower,
}

impl CoreType {
    /// What Linux calls their PMUs: `arch/x86/events/intel/core.c`, `intel_hybrid_pmu_type_map`.
    const PMUS: [(CoreType, &'static str); 3] = [
        (CoreType::Core, "cpu_core"),
        (CoreType::Atom, "cpu_atom"),
        (CoreType::LowPower, "cpu_lowpower"),
    ];

    /// The PMU of such cores.
    pub fn pmu(self) -> &'static str {
        let row = CoreType::PMUS.iter().find(|(core, _)| *core == self);
        row.map(|(_, pmu)| *pmu).expect("BUG: every type of core has a PMU")
    }

    /// The type of cores that a PMU is of, of a hybrid.
    pub fn of_pmu(name: &str) -> Option<CoreType> {
        CoreType::PMUS.iter().find(|(_, pmu)| *pmu == name).map(|(core, _)| *core)
    }
}

/// Events without a family of their own.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventFile {
    /// Where they come from, as `data/README.md` explains it.
    pub source: String,
    /// The events, in order.
    pub events: Vec<EventRow>,
}

/// Events that some families share.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// The ids of those families.
    pub of: Vec<String>,
    /// Where they come from, as `data/README.md` explains it.
    pub source: String,
    /// The events.
    pub events: Vec<EventRow>,
}

/// An event.
#[derive(Debug, Clone, Deserialize)]
pub struct EventRow {
    /// Its name, in lower case.
    pub name: String,
    /// What is written into the select register.
    #[serde(flatten)]
    pub fields: Fields,
    /// Which general counters can count it, as `0-3`; none: all.
    pub counters: Option<String>,
    /// How many counters it takes; none where it is a share of the slots.
    #[serde(default = "one")]
    pub takes: u32,
    /// What others call it.
    #[serde(default)]
    pub also: Vec<String>,
    /// What it counts.
    pub doc: String,
}

fn one() -> u32 {
    1
}

/// The whole of a CPU's name, with any stepping where the expression names none.
fn expression<'de, D: serde::Deserializer<'de>>(text: D) -> Result<Regex, D::Error> {
    let text = String::deserialize(text)?;
    Regex::new(&format!("^(?:{text})(?:-.*)?$")).map_err(serde::de::Error::custom)
}
