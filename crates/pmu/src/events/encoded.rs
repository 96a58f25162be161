//! An event, ready to be counted.

/// An event as perf_event_open(2) takes it, and what is to be known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Encoded {
    /// Its name, as tables show it: lower case, with the modifier that was asked for (`cycles:u`).
    pub name: String,
    /// The PMU in sysfs that counts it, such as `cpu`, `cpu_core` or `msr`; none: the kernel's software.
    pub pmu: Option<String>,
    /// That PMU's number (`perf_event_attr.type`); none: the kernel at hand has no such PMU, and the
    /// event cannot be opened here.
    pub kind: Option<u32>,
    /// `config`, `config1`, `config2` and `config3`.
    pub config: machine::pmu::Config,
    /// Whether it can be counted in user mode alone (the PMU `msr` refuses every `exclude_*` bit).
    pub by_mode: bool,
    /// The modes that the modifier asks for; none: left to who counts.
    pub modes: Option<Modes>,
    /// Whose doing it counts.
    pub scope: EventScope,
    /// Which counters can count it.
    pub place: CounterPlace,
    /// The register that it needs beside its counter, such as 0x3f7 (front end), 0x3f6 (load latency)
    /// or 0x1a6 (offcore response, which has a twin in 0x1a7): two events that want different values
    /// of it do not fit into one pass.
    pub register: Option<u32>,
    /// Where the encoding comes from.
    pub source: Source,
    /// What it counts, in the words of its source.
    pub description: Option<String>,
    /// What is known to be wrong with it: errata, in whole sentences.
    pub caveats: Vec<String>,
}

impl Encoded {
    /// Whether both are one event, counted in the same modes: by its name, or by its encoding. An
    /// event whose PMU is not here is like no other.
    pub fn is_same(&self, other: &Encoded) -> bool {
        let encoded =
            || self.kind.is_some() && (self.kind, self.config) == (other.kind, other.config);
        self.modes == other.modes && (self.name == other.name || encoded())
    }
}

/// The modes in which an event is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Modes {
    /// `:u`
    User,
    /// `:k`
    Kernel,
    /// `:uk`
    Both,
}

/// Whose doing an event counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventScope {
    /// A thread's or a CPU's, as who opens it wishes.
    Thread,
    /// That of a part of the machine which several CPUs share (uncore): it is opened for the CPUs that
    /// the PMU's `cpumask` names, and for no thread.
    Shared,
}

/// Which counters of its PMU can count an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CounterPlace {
    /// The kernel's own counters: they need no hardware, and there are as many as wanted.
    Software,
    /// The fixed counter of that number.
    Fixed(u32),
    /// General counters: those whose bits are set; several at once of one count where it takes `takes`.
    General {
        /// The counters that can count it, one bit each; `u64::MAX` where its source does not say.
        counters: u64,
        /// How many of them it takes.
        takes: u32,
    },
}

impl CounterPlace {
    /// That of a share of the slots: it takes no counter of its own.
    pub const SHARE: CounterPlace = CounterPlace::General { counters: 0, takes: 0 };
    /// What is to be known of such a share.
    pub(crate) const WITH_SLOTS: &'static str = "It is counted only in a group that `slots` leads.";
}

/// Where an encoding comes from, in the order of precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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
