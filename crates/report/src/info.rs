//! The machine in a form that a person reads in ten seconds.

use std::collections::{BTreeMap, BTreeSet};

use model::areas::turbo::promise::{BY_FIRMWARE, BY_KERNEL, BY_SHARE};
use model::page::{Align, Block, Page, Remark, Table, Text, si, tally};
use model::record::{
    Cache, CacheKind, ClockRecord, CpuPlace, Fact, FactValue, LimitReason, LimitSwitch, Node,
    PowerLimit, Record, Unsaid,
};
use model::{CpuSet, Known, Unit};

use crate::kit::{self, Absences, value_text};

/// A line of the page: facts that people read together.
enum FactLine {
    /// A label, and pieces with a comma between them; left out where none is known.
    Of(&'static str, &'static [Piece]),
    /// What is drawn from the topology, or folded by families.
    By(fn(&Record) -> Vec<(String, Text)>),
}

/// A fact or condition within a line.
struct Piece {
    id: &'static str,
    /// Words around the value, which stands for the braces; for `{cpus}`, a list of CPUs is named as such.
    words: &'static str,
    /// Values that go without saying.
    unless: &'static [&'static str],
}

const fn piece(id: &'static str, words: &'static str) -> Piece {
    Piece { id, words, unless: &[] }
}

const fn unless(unless: &'static [&'static str], id: &'static str, words: &'static str) -> Piece {
    Piece { id, words, unless }
}

use FactLine::{By, Of};

const NONE: &[&str] = &["none"];

/// The page in reading order; groups have an empty line between them.
#[rustfmt::skip]
const GROUPS: &[&[FactLine]] = &[
    &[
        Of("CPU", &[piece("cpu.brand", "{}")]),
        Of("Type", &[
            piece("cpu.microarchitecture", "{}"),
            piece("cpu.family_model_stepping", "family/model/stepping {}"),
            piece("cpu.microcode", "microcode {}"),
        ]),
        Of("Cores", &[
            piece("cpu.cores", "{}"),
            unless(&["one kind"], "cpu.kinds", "{}"),
            unless(&["1 per package"], "cpu.dies", "dies: {}"),
        ]),
        Of("CPUs", &[
            piece("cpus.usable", "{} usable"),
            unless(NONE, "cpu.offline", "off: {cpus}"),
            unless(NONE, "cpu.not_shown", "not shown: {cpus}"),
            unless(NONE, "cpu.isolated", "isolated: {cpus}"),
            unless(NONE, "cpu.nohz_full", "without a tick: {cpus}"),
            unless(NONE, "cgroup.quota", "quota {}"),
            unless(&["on", "notsupported", "notimplemented"], "smt.control", "SMT {}"),
        ]),
    ],
    &[
        By(caches),
        Of("Memory", &[
            piece("memory.total", "{}"),
            piece("memory.dimms", "{}"),
            piece("memory.channels", "channels {}"),
            unless(NONE, "memory.limit", "limit {}"),
        ]),
        By(nodes),
        Of("Huge pages", &[
            piece("thp.enabled", "transparent: {}"),
            piece("memory.huge_pages", "{}"),
        ]),
    ],
    &[
        Of("Claimed clock", &[
            piece("cpu.base_frequency", "base {}"),
            piece("cpu.min_frequency", "lowest {}"),
            piece("cpu.max_frequency", "highest {}"),
        ]),
        Of("Disputed", &[unless(NONE, "cpu.disputed_clocks", "{}")]),
        Of("Turbo limits", &[piece("turbo.ratio_limits", "{}")]),
        Of("Favoured cores", &[piece("cppc.favoured_cores", "{}")]),
        Of("Governor", &[
            piece("cpufreq.governor", "{}"),
            piece("cpufreq.driver", "driver {}"),
            piece("cpufreq.mode", "{}"),
            piece("cpufreq.limits", "{}"),
            piece("cpufreq.boost", "boost {}"),
            piece("cpufreq.epp", "energy preference {}"),
            piece("cpufreq.epb", "energy bias {}"),
        ]),
        By(held),
        By(share),
        By(power_limits),
        Of("Uncore", &[piece("uncore.limits", "{}")]),
        Of("Idle states", &[
            piece("idle.states", "{} (exit latency/residency)"),
            piece("idle.driver", "driver {}"),
            unless(NONE, "idle.disabled", "switched off: {}"),
            piece("idle.haltpoll", "polls before a halt {}"),
        ]),
    ],
    &[
        By(instruction_sets),
        Of("Not enabled", &[unless(NONE, "cpu.isa_not_enabled", "{}")]),
    ],
    &[
        Of("Virtualisation", &[piece("platform.virtualisation", "{}")]),
        Of("System", &[
            piece("platform.model", "{}"),
            piece("platform.firmware", "firmware {}"),
        ]),
        Of("Kernel", &[
            piece("kernel.release", "{}"),
            piece("kernel.preemption", "preemption {}"),
            piece("kernel.timer", "timer {}"),
            piece("clocksource", "clock source {}"),
            unless(NONE, "kernel.sched_ext", "scheduler {}"),
            unless(NONE, "kernel.debug_options", "debugging: {}"),
        ]),
        Of("Parameters", &[piece("kernel.command_line", "{}")]),
        Of("Security", &[piece("kernel.mitigations", "{}")]),
    ],
];

/// What the machine is. A verbosity of 1 and more adds every fact and condition.
pub fn info(record: &Record, verbosity: u8) -> Page {
    let groups = GROUPS.iter().map(|group| group.iter().flat_map(|line| line.pairs(record)));
    let groups = groups.map(Iterator::collect).filter(|group: &Vec<_>| !group.is_empty());
    let mut blocks = vec![title(record), Block::Groups(groups.collect())];
    blocks.extend(remarks(record));
    blocks.extend(unknown(record, verbosity));
    if verbosity > 0 {
        blocks.extend(details(record));
    }
    Page { blocks }
}

/// What bears on the clock of a machine, before anything was measured: claims, limits, and what registers say.
pub fn limits_of_clock(record: &Record) -> Vec<Block> {
    const LABELS: &[&str] = &["Claimed clock", "Disputed", "Turbo limits"];
    let is_its = |line: &&FactLine| matches!(line, Of(label, _) if LABELS.contains(label));
    let lines = GROUPS.iter().copied().flatten().filter(is_its);
    let claims = lines.flat_map(|line| line.pairs(record));
    let pairs: Vec<(String, Text)> =
        claims.chain(held(record)).chain(share(record)).chain(power_limits(record)).collect();
    let mut blocks = registers_of_limits(record);
    if !pairs.is_empty() {
        blocks.insert(1, Block::Groups(vec![pairs]));
    }
    blocks
}

fn registers_of_limits(record: &Record) -> Vec<Block> {
    let names = ["what", "state", "CPUs", "read at"];
    vec![
        Block::Heading("Limits of the clock".to_owned()),
        table("as registers say it now", &names, clock_limits(record)),
    ]
}

fn table(caption: &str, names: &[&str], rows: Vec<Vec<Text>>) -> Block {
    Table::of(caption).columns(names.iter().map(|name| (*name, Align::Left))).rows(rows).into()
}

fn title(record: &Record) -> Block {
    let run = &record.run;
    let text = match (&run.simulated, &run.elsewhere) {
        (Some(name), _) => format!("SIMULATED machine sim:{name}"),
        (None, Some(_)) => "A machine elsewhere, as recorded".to_owned(),
        (None, None) => "This machine, as it describes itself".to_owned(),
    };
    let from = run.elsewhere.as_ref().map_or(String::new(), |from| format!(", {from}"));
    let tool = &record.tool;
    let subtitle =
        format!("{} {}, {}{from}, nothing was measured", tool.name, tool.version, run.started);
    Block::Title { text, subtitle }
}

impl FactLine {
    fn pairs(&self, record: &Record) -> Vec<(String, Text)> {
        match self {
            By(draw) => draw(record),
            Of(label, pieces) => {
                let words: Vec<String> =
                    pieces.iter().filter_map(|piece| piece.say(record)).collect();
                let pair = || ((*label).to_owned(), Text::from(words.join(", ")));
                (!words.is_empty()).then(pair).into_iter().collect()
            }
        }
    }
}

impl Piece {
    fn say(&self, record: &Record) -> Option<String> {
        let fact = record.fact(self.id)?;
        fact.value.value()?;
        let value = value_text(&fact.value).text;
        let said = !self.unless.contains(&value.as_str());
        let named = || value.parse().map_or_else(|_| value.clone(), |cpus: CpuSet| cpus.named());
        let words = if self.words.contains("{cpus}") {
            self.words.replacen("{cpus}", &named(), 1)
        } else {
            self.words.replacen("{}", &value, 1)
        };
        said.then_some(words)
    }
}

/// Where what the machine says of itself contradicts itself.
fn remarks(record: &Record) -> Vec<Block> {
    if record.findings.is_empty() {
        return Vec::new();
    }
    let remarks = record.findings.iter().map(Remark::from).collect();
    vec![Block::Heading("Remarks".to_owned()), Block::Remarks(remarks)]
}

/// What the page misses: whole lines by their label, else the pieces by that of their fact.
fn note_missing<'a>(absences: &mut Absences<'a>, record: &'a Record) {
    for line in GROUPS.iter().copied().flatten() {
        let Of(label, pieces) = line else { continue };
        let facts: Vec<&Fact> = pieces.iter().filter_map(|piece| record.fact(piece.id)).collect();
        let all = facts.iter().all(|fact| fact.value.value().is_none());
        for fact in facts {
            if let Known::No { unavailable } = &fact.value {
                let name = if all { label } else { fact.label.as_str() };
                absences.note(unavailable, name.to_lowercase());
            }
        }
    }
}

/// What is missing on the page and can be helped, by what helps; all that is missing, by reason,
/// for those who ask for more.
fn unknown(record: &Record, verbosity: u8) -> Vec<Block> {
    let mut absences = Absences::default();
    let remarks = if verbosity > 0 {
        absences.note_facts(record, |_| true);
        absences.remarks()
    } else {
        note_missing(&mut absences, record);
        absences.remarks_by_remedy(match record.run.elsewhere {
            None => "`sudo cpudyno info`",
            Some(_) => "`sudo cpudyno capture FILE` over there",
        })
    };
    if remarks.is_empty() {
        return Vec::new();
    }
    vec![Block::Heading("Unknown".to_owned()), Block::Remarks(remarks)]
}

/// A set of CPUs that may be long: the number of its members is what people read first.
fn cpus_text(cpus: &CpuSet) -> String {
    /// Longer lists are counted; `-v` prints them.
    const LETTERS_MAX: usize = 40;
    let list = cpus.to_string();
    match cpus.len() {
        0 => "no CPUs".to_owned(),
        1 => format!("CPU {list}"),
        _ if list.len() <= LETTERS_MAX => format!("CPUs {list}"),
        count => {
            let first = list.split(',').next().unwrap_or_default();
            format!("{count} CPUs: {first}, ...")
        }
    }
}

fn byte_text(bytes: u64) -> String {
    si::format(bytes as f64, Unit::Byte)
}

/// The CPUs of a node: it is not empty where a container only does not show them.
fn cpus_of(node: &Node) -> String {
    match (node.cpus.is_empty(), node.not_shown.is_empty()) {
        (_, true) => cpus_text(&node.cpus),
        (true, false) => format!("{} (not shown here)", cpus_text(&node.not_shown)),
        (false, false) => {
            format!("{}, not shown here: {}", cpus_text(&node.cpus), node.not_shown)
        }
    }
}

/// One line per node where there are several; from the ninth on they are counted.
fn nodes(record: &Record) -> Vec<(String, Text)> {
    const NODES_MAX: usize = 8;
    let nodes = &record.machine.topology.nodes;
    let line = |node: &Node| {
        let memory = match node.memory_bytes {
            None => String::new(),
            Some(0) => ", no memory".to_owned(),
            Some(bytes) => format!(", {}", byte_text(bytes)),
        };
        (format!("Node {}", node.id), Text::from(cpus_of(node) + &memory))
    };
    if nodes.len() < 2 {
        return Vec::new();
    }
    let mut lines: Vec<_> = nodes.iter().take(NODES_MAX).map(line).collect();
    if nodes.len() > NODES_MAX {
        let more = format!("{} more; -v prints them", nodes.len() - NODES_MAX);
        lines.push(("Nodes".to_owned(), more.into()));
    }
    lines
}

/// CPUs that may have less than they are said to reach: the clock that they may have, and the one that they reach.
type LimitedCpus = (CpuSet, f64, f64);

/// Where firmware or kernel allow less than CPUs are said to reach: somebody set it, or a driver that cools.
fn held(record: &Record) -> Vec<(String, Text)> {
    let Some(clock) = &record.clock else { return Vec::new() };
    let [by_firmware, by_share] = [BY_FIRMWARE, BY_SHARE].map(|source| held_by(clock, source));
    let by_kernel = held_by(clock, BY_KERNEL).into_iter().filter_map(|(cpus, allowed, reach)| {
        // The kernel passes on what firmware says, and passive drivers the share, which has a line of its own.
        let others = by_firmware.iter().chain(&by_share);
        let passed_on = others.filter(|(_, limit, _)| *limit <= allowed * (1.0 + SAME));
        let cpus = passed_on.fold(cpus, |cpus, (passed, ..)| cpus.difference(passed));
        (!cpus.is_empty()).then_some((cpus, allowed, reach))
    });
    let by_kernel: Vec<LimitedCpus> = by_kernel.collect();
    let mut said = Vec::new();
    if !by_firmware.is_empty() {
        let how = format!("{}, by firmware (`{BY_FIRMWARE}`)", held_words(&by_firmware));
        said.push(how);
    }
    if !by_kernel.is_empty() {
        said.push(format!(
            "{}, by `{BY_KERNEL}`; `cpudyno set {}` raises it, until whoever wrote it does so again",
            held_words(&by_kernel),
            raised(&by_kernel)
        ));
    }
    said.into_iter().map(|said| ("Held down".to_owned(), said.into())).collect()
}

/// Kernels round clocks by less.
const SAME: f64 = 0.01;

/// Those that such a source holds down.
fn held_by(clock: &ClockRecord, source: &str) -> Vec<LimitedCpus> {
    let allowed = clock.allowed.iter().filter(|it| it.source == source);
    let held = allowed.flat_map(|allowed| {
        let higher = clock.highest.iter().filter(|it| it.hertz * (1.0 - SAME) > allowed.hertz);
        higher.filter_map(|highest| {
            let cpus = highest.cpus.intersection(&allowed.cpus);
            (!cpus.is_empty()).then_some((cpus, allowed.hertz, highest.hertz))
        })
    });
    held.collect()
}

fn held_words(held: &[LimitedCpus]) -> String {
    let said = |(cpus, allowed, reach): &LimitedCpus| {
        let [hertz, of] = [*allowed, *reach].map(|hertz| si::format(hertz, Unit::Hertz));
        format!("{} at {hertz} of {of}", cpus_text(cpus))
    };
    held.iter().map(said).collect::<Vec<_>>().join("; ")
}

/// The settings that let them have all.
fn raised(held: &[LimitedCpus]) -> String {
    let megahertz = |hertz: f64| (hertz / 1e6).floor() as u64;
    let reaches: BTreeSet<u64> = held.iter().map(|(_, _, reach)| megahertz(*reach)).collect();
    if let (Some(reach), 1) = (reaches.first(), reaches.len()) {
        return format!("max_freq={reach}MHz");
    }
    // One value for all would be cut to what each CPU has, and what is cut is put back.
    let raise =
        |(cpus, _, reach): &LimitedCpus| format!("max_freq@{cpus}={}MHz", megahertz(*reach));
    held.iter().map(raise).collect::<Vec<_>>().join(" ")
}

/// The share of the clock that the driver allows, where it is not all of it.
fn share(record: &Record) -> Vec<(String, Text)> {
    const LINE: FactLine = Of("Driver's share", &[unless(NONE, "cpufreq.share", "{}")]);
    LINE.pairs(record)
}

/// Those that limit, and that what is in force limits nothing, equal packages together.
fn power_limits(record: &Record) -> Vec<(String, Text)> {
    let limits = record.clock.iter().flat_map(|clock| &clock.power);
    let limits = limits.filter(|limit| limit.is_told());
    let mut said: Vec<String> = Vec::new();
    for limit in limits.map(PowerLimit::said) {
        if !said.contains(&limit) {
            said.push(limit);
        }
    }
    if said.is_empty() {
        Vec::new()
    } else {
        vec![("Power limits".to_owned(), said.join(", ").into())]
    }
}

/// Why the hardware lowers clocks, now and since logs were cleared, and the switches that bear on it.
fn clock_limits(record: &Record) -> Vec<Vec<Text>> {
    let Some(clock) = &record.clock else { return Vec::new() };
    let reason = |it: &LimitReason| {
        let when = match (it.after.active, it.after.logged) {
            (true, true) => "in force now, and logged",
            (true, false) => "in force now",
            (false, _) => "logged only: it was in force some time since the log was cleared",
        };
        [it.label.clone(), when.to_owned(), it.cpus.to_string(), it.source.clone()]
    };
    let switch = |it: &LimitSwitch| {
        let on = if it.on { "on" } else { "off" };
        [it.label.clone(), on.to_owned(), it.cpus.to_string(), it.source.clone()]
    };
    let none = || {
        let none = "none in force and none logged".to_owned();
        ["reasons for a lower clock".to_owned(), none, String::new(), clock.asked.join(", ")]
    };
    let is_clear = clock.reasons.is_empty() && !clock.asked.is_empty();
    let rows = clock.reasons.iter().map(reason).chain(is_clear.then(none));
    let unread = clock.unread.iter().map(|it| {
        [it.what.clone(), format!("not known: {}", it.why), String::new(), String::new()]
    });
    let rows = rows.chain(clock.switches.iter().map(switch)).chain(unread);
    rows.map(|row| row.map(Text::from).to_vec()).collect()
}

/// `L1d`, `L1i`, `L2`.
fn cache_name(cache: &Cache) -> String {
    let suffix = match cache.kind {
        CacheKind::Data => "d",
        CacheKind::Instruction => "i",
        CacheKind::Unified => "",
    };
    format!("L{}{suffix}", cache.level)
}

/// One line per kind and size of cache; one line where the record has no rows of caches.
fn caches(record: &Record) -> Vec<(String, Text)> {
    let caches = &record.machine.topology.caches;
    if caches.is_empty() {
        const IN_BRIEF: FactLine = Of("Caches", &[piece("cpu.caches", "{} (of one CPU)")]);
        return IN_BRIEF.pairs(record);
    }
    let line = |cache: &Cache| (cache_name(cache), Text::from(cache_words(cache)));
    caches.iter().map(line).collect()
}

/// `48 KiB, 12 ways, line 64 B, one per 2 CPUs, 112 in all`.
fn cache_words(cache: &Cache) -> String {
    let mut words = vec![cache.bytes.map_or_else(|| "size unknown".to_owned(), byte_text)];
    words.extend(cache.ways.map(|ways| tally(ways as usize, "way")));
    words.extend(cache.line_bytes.map(|line| format!("line {}", byte_text(u64::from(line)))));
    let mut widths: BTreeMap<usize, usize> = BTreeMap::new();
    for width in cache.instances.iter().map(CpuSet::len) {
        *widths.entry(width).or_default() += 1;
    }
    let whose = |width: usize| if width == 1 { "CPU".to_owned() } else { format!("{width} CPUs") };
    let count = cache.instances.len();
    match widths.iter().map(|(width, count)| (*width, *count)).collect::<Vec<_>>().as_slice() {
        [] => {}
        [(width, 1)] => words.push(format!("one for {}", whose(*width))),
        [(width, _)] => words.push(format!("one per {}, {count} in all", whose(*width))),
        [(least, few), (most, many)] => words.push(format!(
            "{few} of {} and {many} of {}, {count} in all",
            tally(*least, "CPU"),
            tally(*most, "CPU")
        )),
        [(least, _), .., (most, _)] => {
            words.push(format!("one per {least} to {}, {count} in all", whose(*most)));
        }
    }
    words.join(", ")
}

/// A family of instruction sets.
struct IsaFamily {
    name: &'static str,
    /// How the names of its members begin; of several families that fit, the longest beginning
    /// has them.
    starts: &'static [&'static str],
    /// What the name of the family says already.
    prefix: &'static str,
}

const fn family(
    name: &'static str,
    prefix: &'static str,
    starts: &'static [&'static str],
) -> IsaFamily {
    IsaFamily { name, starts, prefix }
}

const FAMILIES: &[IsaFamily] = &[
    family("SSE", "", &["mmx", "sse", "ssse"]),
    family("AVX", "", &["avx", "fma", "f16c", "xop", "vaes", "vpclmulqdq"]),
    family("AVX-512", "avx512", &["avx512"]),
    family("AMX", "amx_", &["amx"]),
    family("Neon", "", &["asimd", "neon", "fp16", "bf16", "i8mm"]),
    family("SVE and SME", "", &["sve", "sme"]),
    family("Other sets", "", &[""]),
];

fn instruction_sets(record: &Record) -> Vec<(String, Text)> {
    let known = record.fact("cpu.isa").filter(|fact| fact.value.value().is_some());
    let names = known.map_or(String::new(), |fact| value_text(&fact.value).text);
    let home = |name: &str| {
        let fit = |family: &IsaFamily| {
            family.starts.iter().filter(|s| name.starts_with(**s)).map(|s| s.len()).max()
        };
        let fits = FAMILIES.iter().enumerate().filter_map(|(i, family)| Some((fit(family)?, i)));
        fits.max().map(|(_, index)| index)
    };
    let line = |(index, family): (usize, &IsaFamily)| {
        let members: Vec<&str> = names
            .split_whitespace()
            .filter(|name| home(name) == Some(index))
            .map(|name| name.strip_prefix(family.prefix).unwrap_or(name).trim_start_matches('_'))
            .collect();
        (!members.is_empty()).then(|| (family.name.to_owned(), members.join(" ").into()))
    };
    FAMILIES.iter().enumerate().filter_map(line).collect()
}

/// Everything, for those who ask for more.
fn details(record: &Record) -> Vec<Block> {
    let topology = &record.machine.topology;
    // These have a table of their own.
    let facts = record.machine.facts.iter().filter(|fact| fact.id != EACH_MITIGATION);
    let mut blocks = vec![Block::Heading("Facts".to_owned()), kit::fact_table(facts)];
    let row = |fact: &Fact| vec![Text::from(fact.label.as_str()), value_text(&fact.value)];
    blocks.push(Block::Heading("Conditions".to_owned()));
    let conditions = record.conditions.before.iter().map(row).collect();
    blocks.push(table("what may change between two runs", &["condition", "value"], conditions));
    blocks.extend(registers_of_limits(record));
    blocks.push(Block::Heading("Mitigations".to_owned()));
    blocks.push(table("in the kernel's words", &["vulnerability", "state"], mitigations(record)));
    blocks.push(Block::Heading("Caches".to_owned()));
    let caches = topology.caches.iter().map(cache_row).collect();
    let names = ["cache", "size", "ways", "line", "instances", "in total", "shared by CPUs"];
    blocks.push(table("equal caches together", &names, caches));
    blocks.push(Block::Heading("Nodes".to_owned()));
    let nodes = topology.nodes.iter().map(node_row).collect();
    let names = ["node", "CPUs", "memory", "distances"];
    blocks.push(table("memory nodes; distances as the firmware states them", &names, nodes));
    blocks.push(Block::Heading("CPUs".to_owned()));
    let names = ["CPUs", "package", "die", "modules", "cores", "node", "kind", "last-level cache"];
    blocks.push(table(
        "where each CPU sits, neighbours folded",
        &names,
        places(&topology.cpus, &topology.unsaid),
    ));
    without_empty_tables(blocks)
}

/// A heading goes with its table.
fn without_empty_tables(blocks: Vec<Block>) -> Vec<Block> {
    let is_empty = |block: &Block| matches!(block, Block::Table(table) if table.rows.is_empty());
    let mut kept = Vec::new();
    for block in blocks {
        if is_empty(&block) {
            kept.pop();
        } else {
            kept.push(block);
        }
    }
    kept
}

/// The fact that holds all mitigations, with a bar between them.
const EACH_MITIGATION: &str = "kernel.mitigations.each";

fn mitigations(record: &Record) -> Vec<Vec<Text>> {
    let each = record.fact(EACH_MITIGATION).and_then(|fact| fact.value.value());
    let Some(FactValue::Text(each)) = each else { return Vec::new() };
    let row = |part: &str| {
        let (name, state) = part.split_once(": ").unwrap_or((part, ""));
        vec![Text::from(name), Text::from(state)]
    };
    each.split(" | ").map(row).collect()
}

fn cache_row(cache: &Cache) -> Vec<Text> {
    let unknown = || "?".to_owned();
    // Nobody may say who shares a cache, nor how many there are.
    let instances = Some(cache.instances.len() as u64).filter(|&count| count > 0);
    let total = cache.bytes.zip(instances).and_then(|(bytes, count)| bytes.checked_mul(count));
    [
        cache_name(cache),
        cache.bytes.map_or_else(unknown, byte_text),
        cache.ways.map_or_else(unknown, |ways| ways.to_string()),
        cache.line_bytes.map_or_else(unknown, |line| byte_text(u64::from(line))),
        instances.map_or_else(unknown, |count| count.to_string()),
        total.map_or_else(unknown, byte_text),
        shared_by(cache),
    ]
    .map(Text::from)
    .to_vec()
}

/// `0-1; 2-3`: who shares each; many are cut short.
fn shared_by(cache: &Cache) -> String {
    const INSTANCES_MAX: usize = 4;
    if cache.instances.is_empty() {
        return "?".to_owned();
    }
    let sets: Vec<String> =
        cache.instances.iter().take(INSTANCES_MAX).map(CpuSet::to_string).collect();
    let more = if cache.instances.len() > INSTANCES_MAX { "; ..." } else { "" };
    sets.join("; ") + more
}

fn node_row(node: &Node) -> Vec<Text> {
    let distances: Vec<String> =
        node.distances.iter().map(|(to, distance)| format!("{to}: {distance}")).collect();
    let memory = node.memory_bytes.map_or_else(|| "?".to_owned(), byte_text);
    let cpus = if node.not_shown.is_empty() { node.cpus.to_string() } else { cpus_of(node) };
    [node.id.to_string(), cpus, memory, distances.join(", ")].map(Text::from).to_vec()
}

/// One row for CPUs that follow each other and differ in nothing but their core and module.
fn places(cpus: &[CpuPlace], unsaid: &Unsaid) -> Vec<Vec<Text>> {
    let alike = |a: &CpuPlace, b: &CpuPlace| {
        let is_unsaid = |cpu| (unsaid.package.contains(cpu), unsaid.core.contains(cpu));
        let key = |place: &CpuPlace| (place.package, place.die, place.node, is_unsaid(place.cpu));
        key(a) == key(b)
            && a.kind == b.kind
            && a.last_level_cache == b.last_level_cache
            && a.cpu.0.abs_diff(b.cpu.0) == 1
    };
    cpus.chunk_by(alike).filter_map(|places| place_row(places, unsaid)).collect()
}

fn place_row(places: &[CpuPlace], unsaid: &Unsaid) -> Option<Vec<Text>> {
    let first = places.first()?;
    let members: CpuSet = places.iter().map(|place| place.cpu).collect();
    let number = |number: Option<u32>| number.map_or_else(|| "?".to_owned(), |n| n.to_string());
    // Numbers may have holes: only what follows each other is a range.
    let each = |of: &dyn Fn(&CpuPlace) -> Option<u32>| {
        let numbers: Option<CpuSet> = places.iter().map(|it| of(it).map(model::CpuId)).collect();
        numbers.map_or_else(|| "?".to_owned(), |numbers| numbers.to_string())
    };
    let package = Some(first.package).filter(|_| !unsaid.package.contains(first.cpu));
    let cache = match first.last_level_cache.len() {
        0 => "?".to_owned(),
        count => tally(count, "CPU"),
    };
    let cells = [
        members.to_string(),
        number(package),
        number(first.die),
        each(&|place| place.module),
        each(&|place| Some(place.core).filter(|_| !unsaid.core.contains(place.cpu))),
        number(first.node),
        first.kind.clone().unwrap_or_else(|| "?".to_owned()),
        cache,
    ];
    Some(cells.map(Text::from).to_vec())
}
