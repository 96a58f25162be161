//! An event, ready to be counted.

/// An event as perf_event_open(2) takes it, and what is to be known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Encoded {
    /// Its name, as tables show it: lower case.
    pub name: String,
    /// The PMU in sysfs that counts it, such as `cpu`, `cpu_core` or `msr`; none: the kernel's software.
    pub pmu: Option<String>,
    /// That PMU's number (`perf_event_attr.type`).
    pub kind: u32,
    /// `config`, `config1`, `config2` and `config3`.
    pub config: machine::pmu::Config,
    /// Whether it can be counted in user mode alone (the PMU `msr` refuses every `exclude_*` bit).
    pub by_mode: bool,
    /// Which counters can count it.
    pub place: Place,
    /// Where the encoding comes from.
    pub source: Source,
    /// What it counts, in the words of its source.
    pub description: Option<String>,
    /// What is known to be wrong with it: errata, in whole sentences.
    pub caveats: Vec<String>,
}

/// Which counters of its PMU can count an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The kernel's own counters: they need no hardware, and there are as many as wanted.
    Software,
    /// The fixed counter of that number.
    Fixed(u32),
    /// General counters: those whose bits are set; several at once of one count where it takes `takes`.
    General {
        /// The counters that can count it, one bit each.
        counters: u64,
        /// How many of them it takes.
        takes: u32,
    },
}

/// Where an encoding comes from, in the order of precedence.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// Our own table.
    Own,
    /// A folder of perfmon's JSON files.
    Perfmon,
    /// The kernel: generic events and those that sysfs names.
    Kernel,
    /// libpfm4, loaded at run time.
    Libpfm,
    /// The user's own code.
    Raw,
}
