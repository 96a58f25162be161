//! What can be measured here, what not, why, and what helps; and which settings cost speed.

use model::page::{Block, Page, Remark, Table, Text, Tone, si};
use model::record::{Fact, FactValue, Record};
use model::{Known, Obstacle, Unavailable};

use crate::checked;

/// The capabilities of the machine. A verbosity of 1 and more adds Sources of each answer.
pub fn doctor(record: &Record, verbosity: u8) -> Page {
    let capabilities = &record.machine.capabilities;
    let mut blocks = vec![title(record), Block::Paragraph(summary(capabilities))];
    if let Some(elsewhere) = &record.run.elsewhere {
        let text = format!(
            "These are the answers of {elsewhere}, as they were for whoever recorded them: \
             nothing was tried here."
        );
        blocks.push(Block::Paragraph(Text::toned(text, Tone::Warning)));
    }
    blocks.push(available(capabilities));
    for group in GROUPS {
        let remarks = remarks(capabilities, group);
        if !remarks.is_empty() {
            blocks.push(Block::Heading(group.heading.into()));
            blocks.push(Block::Remarks(remarks));
        }
    }
    blocks.extend(checked::blocks(record, verbosity));
    if verbosity > 0 {
        blocks.push(how(capabilities));
    }
    blocks.retain(|block| !matches!(block, Block::Table(table) if table.rows.is_empty()));
    Page { blocks }
}

/// Those who may stand in the way.
struct ObstacleGroup {
    obstacle: Obstacle,
    heading: &'static str,
    /// How the summary counts them.
    clause: &'static str,
    mark: &'static str,
    tone: Tone,
}

/// Those that somebody can do something about come first.
const GROUPS: &[ObstacleGroup] = &[
    ObstacleGroup {
        obstacle: Obstacle::Permission,
        heading: "Not allowed by kernel, hypervisor or container",
        clause: "not allowed by kernel, hypervisor or container",
        mark: "not allowed",
        tone: Tone::Warning,
    },
    ObstacleGroup {
        obstacle: Obstacle::Hardware,
        heading: "Not offered by the hardware",
        clause: "not offered by the hardware",
        mark: "not there",
        tone: Tone::Faint,
    },
    ObstacleGroup {
        obstacle: Obstacle::Cpudyno,
        heading: "Not known to cpudyno",
        clause: "not known to cpudyno",
        mark: "not known",
        tone: Tone::Faint,
    },
    ObstacleGroup {
        obstacle: Obstacle::Measurement,
        heading: "Not measured",
        clause: "not measured",
        mark: "not measured",
        tone: Tone::Faint,
    },
];

fn title(record: &Record) -> Block {
    let run = &record.run;
    let text = match (&run.simulated, &run.elsewhere) {
        (Some(name), _) => format!("SIMULATED doctor: machine sim:{name}, nothing was tried"),
        (None, Some(_)) => "What could be measured there".to_owned(),
        (None, None) => "What can be measured here".to_owned(),
    };
    let subtitle = format!("{} {}, {}", record.tool.name, record.tool.version, run.started);
    Block::Title { text, subtitle }
}

fn missing(capabilities: &[Fact]) -> impl Iterator<Item = (&Fact, &Unavailable)> {
    capabilities.iter().filter_map(|fact| match &fact.value {
        Known::No { unavailable } => Some((fact, unavailable)),
        Known::Yes(_) => None,
    })
}

/// `18 of 24 available; 5 not allowed by kernel, hypervisor or container; 1 not ...`
fn summary(capabilities: &[Fact]) -> Text {
    if capabilities.is_empty() {
        return Text::toned("This record says nothing of capabilities.", Tone::Warning);
    }
    let lacking = missing(capabilities).count();
    let there = capabilities.len() - lacking;
    let mut clauses = vec![format!("{there} of {} available", capabilities.len())];
    for group in GROUPS {
        let count = missing(capabilities).filter(|(_, r)| r.obstacle == group.obstacle).count();
        if count > 0 {
            clauses.push(format!("{count} {}", group.clause));
        }
    }
    let tone = if lacking == 0 { Tone::Good } else { Tone::Strong };
    Text::toned(clauses.join("; ") + ".", tone)
}

fn available(capabilities: &[Fact]) -> Block {
    let row = |fact: &Fact| {
        let value = match fact.value.value()? {
            FactValue::Text(text) => text.clone(),
            FactValue::Number { value, unit } => si::format(*value, *unit),
        };
        Some(vec![Text::from(fact.id.as_str()), fact.label.as_str().into(), value.into()])
    };
    Table::of("Available (id for --require)")
        .left("id")
        .left("capability")
        .left("found")
        .rows(capabilities.iter().filter_map(row))
        .into()
}

/// One remark per reason and remedy: what is missing for the same reason comes with it.
fn remarks(capabilities: &[Fact], group: &ObstacleGroup) -> Vec<Remark> {
    let mut reasons: Vec<(&Unavailable, Vec<&Fact>)> = Vec::new();
    for (fact, reason) in missing(capabilities).filter(|(_, r)| r.obstacle == group.obstacle) {
        let same =
            |known: &Unavailable| (&known.why, &known.remedy) == (&reason.why, &reason.remedy);
        match reasons.iter_mut().find(|(known, _)| same(known)) {
            Some((_, facts)) => facts.push(fact),
            None => reasons.push((reason, vec![fact])),
        }
    }
    reasons.into_iter().map(|(reason, facts)| remark(&facts, reason, group)).collect()
}

fn remark(facts: &[&Fact], reason: &Unavailable, group: &ObstacleGroup) -> Remark {
    let mut text = format!("{}.", reason.why.trim_end_matches('.'));
    for fact in facts {
        let Some(about) = about(&fact.id) else { continue };
        let it = if facts.len() == 1 { "it".to_owned() } else { format!("`{}`", fact.id) };
        text.extend([" Without ", &it, ": ", about.without, "."]);
    }
    let names: Vec<String> =
        facts.iter().map(|fact| format!("{}, `{}`", fact.label, fact.id)).collect();
    Remark {
        mark: Text::toned(group.mark, group.tone),
        about: names.join("; "),
        text,
        remedy: reason.remedy.clone(),
    }
}

fn how(capabilities: &[Fact]) -> Block {
    let row = |fact: &Fact| Some(vec![Text::from(fact.id.as_str()), about(&fact.id)?.how.into()]);
    Table::of("Sources of each answer")
        .left("id")
        .left("found out by")
        .rows(capabilities.iter().filter_map(row))
        .into()
}

/// What people want to know of a capability beside its state.
pub(crate) struct About {
    id: &'static str,
    /// What its absence costs.
    without: &'static str,
    how: &'static str,
}

const fn entry(id: &'static str, without: &'static str, how: &'static str) -> About {
    About { id, without, how }
}

/// An id that another version wrote may not be among them.
pub(crate) fn about(id: &str) -> Option<&'static About> {
    ABOUT.iter().find(|about| about.id == id)
}

#[rustfmt::skip] // One capability, three lines: id, what its absence costs, how it was found out.
const ABOUT: &[About] = &[
    entry("msr",
        "turbo limits, power limits and HWP are what the kernel says of them, if it does",
        "opening /dev/cpu/*/msr of the first usable CPU"),
    entry("msr.module",
        "no register can be read, not even by root",
        "/sys/module/msr, /dev/cpu/*, /lib/modules"),
    entry("aperf_mperf",
        "the core clock comes from a chain of known latency instead of APERF over MPERF",
        "CPUID 6, then reading MSR 0xe8"),
    entry("perf",
        "no counts of the kernel's own, and no conversion of the TSC by the kernel",
        "perf_event_open: cpu-clock of this thread, user mode only"),
    entry("perf.kernel",
        "what the kernel does for a thread is not counted",
        "perf_event_open: cpu-clock of this thread"),
    entry("perf.system_wide",
        "nobody else's work on a CPU is counted, nor any counter outside of the cores",
        "perf_event_open: cpu-clock of everybody on the first usable CPU"),
    entry("pmu",
        "no cycles, instructions or misses by counter: clock and cost come from timing alone",
        "perf_event_open: cycles of this thread, user mode only; CPUID 0Ah or 8000_0022h"),
    entry("rdpmc",
        "every reading of a counter is a system call, too slow for short stretches",
        "the page of an event: cap_user_rdpmc"),
    entry("uncore",
        "memory traffic is computed from what a stream moves, not counted at the controllers",
        "perf_event_open: an event of the first PMU named uncore_*, amd_df, arm_cmn and such"),
    entry("cpufreq",
        "governor, limits and energy preference are not known; the clock is measured all the same",
        "cpufreq folder of every online CPU"),
    entry("cpuidle",
        "wake-up times cannot be told apart by idle state",
        "cpuidle folder of the first online CPU"),
    entry("cpu_dma_latency",
        "idle states cannot be bounded during a measurement of wake-up",
        "opening /dev/cpu_dma_latency for writing; nothing is written"),
    entry("isst",
        "Speed Select can be neither shown nor tried",
        "opening /dev/isst_interface"),
    entry("rapl",
        "no energy, no power, no op per joule",
        "energy_uj in /sys/class/powercap, else perf_event_open: power/energy-pkg"),
    entry("thermal",
        "a clock that falls with heat cannot be told from one that falls by a limit",
        "/sys/class/hwmon and /sys/class/thermal"),
    entry("huge_pages",
        "latencies beyond the reach of the TLB contain page walks, unless transparent huge pages \
         help",
        "mapping one page with MAP_HUGETLB"),
    entry("huge_pages.1gib",
        "memory latencies over many GiB contain page walks",
        "pool of the size in /sys/kernel/mm/hugepages"),
    entry("thp",
        "large buffers stand on small pages unless huge ones are reserved",
        "/sys/kernel/mm/transparent_hugepage/enabled"),
    entry("memory_lock",
        "pages of a buffer may go while they are measured; page faults are counted",
        "locking one page with mlock"),
    entry("affinity",
        "threads wander between CPUs: no number belongs to one of them",
        "sched_setaffinity to the CPUs that the thread has already"),
    entry("cpus",
        "the other CPUs are not measured",
        "sched_getaffinity, the list of online CPUs, cpuset of the control group"),
    entry("cpus.quota",
        "long stretches are stopped in between; stops are counted and reported",
        "cpu.max or cpu.cfs_quota_us of the control groups"),
    entry("realtime",
        "other tasks may take a CPU away during a stretch; each time is counted",
        "a thread that asks for SCHED_FIFO and ends"),
    entry("clock",
        "time comes from CLOCK_MONOTONIC_RAW, which steps coarser and costs more",
        "CPUID 8000_0007h, flags in /proc/cpuinfo"),
    entry("virtualisation",
        "it is not known who decides on clock and placement",
        "CPUID 1 ECX[31] and 4000_0000h, /sys/hypervisor"),
    entry("container",
        "it is not known whose limits apply",
        "/.dockerenv, /run/.containerenv, /run/systemd/container, /proc/self/uid_map"),
    entry("seccomp",
        "what the filter refuses is missing above",
        "Seccomp in /proc/self/status, and what was refused"),
    entry("lockdown",
        "a refusal by the lock of the kernel may look like one by missing rights",
        "/sys/kernel/security/lockdown, efivars"),
    entry("capabilities",
        "only what every user may do is tried with success",
        "CapEff in /proc/self/status"),
];

/// The capabilities that the page knows.
pub fn capabilities() -> impl Iterator<Item = &'static str> {
    ABOUT.iter().map(|about| about.id)
}
