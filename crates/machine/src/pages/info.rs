//! The machine in a form that a person reads in ten seconds.

use model::CpuSet;
use model::page::{Align, Block, Page, Table, Text, si};
use model::record::{Cache, CacheKind, CpuPlace, Fact, FactValue, Node, Record};
use model::{Unit, record::Topology};

use super::parts::{self, Absences, columns, fact, value_text};
use crate::text::tally;

/// A heading, and the facts and conditions below it. Those that a record does not have, or does not
/// know, are left out.
struct Group {
    title: &'static str,
    ids: &'static [&'static str],
    /// What is not a fact of its own.
    more: fn(&Record) -> Vec<(String, Text)>,
}

const GROUPS: &[Group] = &[
    Group {
        title: "CPU",
        ids: &[
            "cpu.brand",
            "cpu.microarchitecture",
            "cpu.vendor",
            "cpu.family_model_stepping",
            "cpu.microcode",
        ],
        more: nothing,
    },
    Group {
        title: "Topology",
        ids: &[
            "cpu.cores",
            "cpu.core_types",
            "cpu.kinds",
            "cpu.dies",
            "cpu.offline",
            "cpu.isolated",
            "cpus.usable",
            "smt.control",
            "cgroup.quota",
        ],
        more: nodes,
    },
    Group { title: "Caches", ids: &[], more: caches_in_brief },
    Group {
        title: "Memory",
        ids: &["memory.total", "memory.limit", "memory.huge_pages", "thp.enabled"],
        more: nothing,
    },
    Group {
        title: "Frequency",
        ids: &[
            "cpufreq.driver",
            "cpufreq.mode",
            "cpufreq.governor",
            "cpufreq.epp",
            "cpufreq.epb",
            "cpufreq.limits",
            "cpufreq.boost",
            "cpu.min_frequency",
            "cpu.base_frequency",
            "cpu.max_frequency",
            "turbo.ratio_limits",
            "turbo.hwp",
            "cppc.performance",
            "cppc.favoured_cores",
            "uncore.limits",
            "power.profile",
        ],
        more: nothing,
    },
    Group {
        title: "Idle states",
        ids: &["idle.driver", "idle.states", "idle.disabled"],
        more: nothing,
    },
    Group { title: "Instruction sets", ids: &[], more: instruction_sets },
    Group {
        title: "Kernel and firmware",
        ids: &[
            "platform.virtualisation",
            "platform.model",
            "platform.firmware",
            "kernel.release",
            "kernel.command_line",
            "kernel.preemption",
            "kernel.timer",
            "clocksource",
            "cgroup.version",
            "kernel.mitigations",
        ],
        more: nothing,
    },
];

/// What the machine is. A verbosity of 1 and more adds every fact and condition.
pub fn info(record: &Record, verbosity: u8) -> Page {
    let mut blocks = vec![title(record)];
    for group in GROUPS {
        let table = caches(&record.machine.topology).filter(|_| group.title == "Caches");
        let block = table.or_else(|| boxed(record, group));
        if let Some(block) = block {
            blocks.extend([Block::Heading(group.title.to_owned()), block]);
        }
    }
    let mut absences = Absences::default();
    absences.note_facts(record, |_| true);
    let unknown = absences.remarks_with_root_apart(match record.run.elsewhere {
        None => "`sudo cpudyno info`",
        Some(_) => "`sudo cpudyno capture FILE` over there",
    });
    if !unknown.is_empty() {
        blocks.push(Block::Heading("Unknown".to_owned()));
        blocks.push(Block::Remarks(unknown));
    }
    if verbosity > 0 {
        blocks.extend(details(record));
    }
    Page { blocks }
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

fn boxed(record: &Record, group: &Group) -> Option<Block> {
    let line = |id: &&str| {
        let fact = fact(record, id)?;
        fact.value.value().map(|_| (fact.label.clone(), value_text(&fact.value)))
    };
    let mut lines: Vec<(String, Text)> = group.ids.iter().filter_map(line).collect();
    lines.extend((group.more)(record));
    (!lines.is_empty()).then_some(Block::Box(lines))
}

fn nothing(_: &Record) -> Vec<(String, Text)> {
    Vec::new()
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
            format!("{count} CPUs from {first}")
        }
    }
}

fn byte_text(bytes: u64) -> String {
    si::format(bytes as f64, Unit::Byte)
}

/// One line per node; from the ninth on they are counted.
fn nodes(record: &Record) -> Vec<(String, Text)> {
    const NODES_MAX: usize = 8;
    let nodes = &record.machine.topology.nodes;
    let line = |node: &Node| {
        let memory = node.memory_bytes.map_or(String::new(), |b| format!(", {}", byte_text(b)));
        (format!("Node {}", node.id), Text::from(cpus_text(&node.cpus) + &memory))
    };
    let mut lines: Vec<_> = nodes.iter().take(NODES_MAX).map(line).collect();
    if nodes.len() > NODES_MAX {
        let more = format!("{} more; -v prints them", nodes.len() - NODES_MAX);
        lines.push(("Nodes".to_owned(), more.into()));
    }
    lines
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

/// One line where the record has no rows of caches.
fn caches_in_brief(record: &Record) -> Vec<(String, Text)> {
    let fact = fact(record, "cpu.caches").filter(|fact| fact.value.value().is_some());
    fact.map(|fact| (fact.label.clone(), value_text(&fact.value))).into_iter().collect()
}

fn caches(topology: &Topology) -> Option<Block> {
    let unknown = || "?".to_owned();
    let row = |cache: &Cache| {
        let instances = cache.instances.len() as u64;
        let shared = cache.instances.iter().map(CpuSet::len);
        let each = match (shared.clone().min(), shared.max()) {
            (Some(least), Some(most)) if least == most => least.to_string(),
            (Some(least), Some(most)) => format!("{least} to {most}"),
            _ => unknown(),
        };
        let total = cache.bytes.and_then(|bytes| bytes.checked_mul(instances));
        [
            cache_name(cache),
            cache.bytes.map_or_else(unknown, byte_text),
            cache.ways.map_or_else(unknown, |ways| ways.to_string()),
            cache.line_bytes.map_or_else(unknown, |line| byte_text(u64::from(line))),
            instances.to_string(),
            each,
            total.map_or_else(unknown, byte_text),
        ]
        .map(Text::from)
        .to_vec()
    };
    let names = ["cache", "size", "ways", "line", "instances", "CPUs each", "in total"];
    let align = |name: &str| if name == "cache" { Align::Left } else { Align::Right };
    let rows: Vec<Vec<Text>> = topology.caches.iter().map(row).collect();
    (!rows.is_empty()).then(|| {
        Block::Table(Table {
            caption: String::new(),
            columns: names.map(|name| (name.to_owned(), align(name))).to_vec(),
            rows,
            notes: Vec::new(),
        })
    })
}

/// Families of instruction sets, by how their names begin; the first that fits has it.
const FAMILIES: &[(&str, &[&str])] = &[
    ("SSE", &["mmx", "sse", "ssse"]),
    ("AVX-512", &["avx512"]),
    ("AMX", &["amx"]),
    ("AVX", &["avx", "fma", "f16c", "vaes", "vpclmulqdq"]),
    ("SVE and SME", &["sve", "sme"]),
    ("Neon", &["asimd", "neon", "fp16", "bf16", "i8mm"]),
];

fn instruction_sets(record: &Record) -> Vec<(String, Text)> {
    let known = |id| fact(record, id).filter(|fact| fact.value.value().is_some());
    let mut lines = Vec::new();
    if let Some(Fact { value, .. }) = known("cpu.isa") {
        let names = value_text(value).text;
        let family_of = |name: &str| {
            let begins =
                |(_, starts): &&(&str, &[&str])| starts.iter().any(|start| name.starts_with(start));
            FAMILIES.iter().find(begins).map_or("Other", |(family, _)| *family)
        };
        let families = FAMILIES.iter().map(|(family, _)| *family).chain(["Other"]);
        lines.extend(families.filter_map(|family| {
            let members: Vec<&str> =
                names.split_whitespace().filter(|name| family_of(name) == family).collect();
            (!members.is_empty()).then(|| (family.to_owned(), members.join(" ").into()))
        }));
    }
    let rest = known("cpu.isa_not_enabled");
    lines.extend(rest.map(|fact| (fact.label.clone(), value_text(&fact.value))));
    lines
}

/// Everything, for those who ask for more.
fn details(record: &Record) -> Vec<Block> {
    let topology = &record.machine.topology;
    // These have a table of their own.
    let facts = record.machine.facts.iter().filter(|fact| fact.id != EACH_MITIGATION);
    let mut blocks = vec![Block::Heading("Facts".to_owned()), parts::fact_table(facts)];
    let row = |fact: &Fact| vec![Text::from(fact.label.as_str()), value_text(&fact.value)];
    let table = |caption: &str, names: &[&str], rows| {
        Block::Table(Table {
            caption: caption.to_owned(),
            columns: columns(names),
            rows,
            notes: Vec::new(),
        })
    };
    blocks.push(Block::Heading("Conditions".to_owned()));
    let conditions = record.conditions.before.iter().map(row).collect();
    blocks.push(table("what may change between two runs", &["condition", "value"], conditions));
    blocks.push(Block::Heading("Mitigations".to_owned()));
    blocks.push(table("in the kernel's words", &["vulnerability", "state"], mitigations(record)));
    blocks.push(Block::Heading("Nodes".to_owned()));
    let nodes = topology.nodes.iter().map(node_row).collect();
    let names = ["node", "CPUs", "memory", "distances"];
    blocks.push(table("memory nodes; distances as the firmware states them", &names, nodes));
    blocks.push(Block::Heading("CPUs".to_owned()));
    let names = ["CPUs", "package", "die", "module", "cores", "node", "kind", "last-level cache"];
    blocks.push(table("where each CPU sits, neighbours folded", &names, places(&topology.cpus)));
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
    let each = fact(record, EACH_MITIGATION).and_then(|fact| fact.value.value());
    let Some(FactValue::Text(each)) = each else { return Vec::new() };
    let row = |part: &str| {
        let (name, state) = part.split_once(": ").unwrap_or((part, ""));
        vec![Text::from(name), Text::from(state)]
    };
    each.split(" | ").map(row).collect()
}

fn node_row(node: &Node) -> Vec<Text> {
    let distances: Vec<String> =
        node.distances.iter().map(|(to, distance)| format!("{to}: {distance}")).collect();
    let memory = node.memory_bytes.map_or_else(|| "?".to_owned(), byte_text);
    [node.id.to_string(), node.cpus.to_string(), memory, distances.join(", ")]
        .map(Text::from)
        .to_vec()
}

/// One row for CPUs that follow each other and differ in nothing but their core.
fn places(cpus: &[CpuPlace]) -> Vec<Vec<Text>> {
    let alike = |a: &CpuPlace, b: &CpuPlace| {
        let key = |place: &CpuPlace| (place.package, place.die, place.module, place.node);
        key(a) == key(b)
            && a.kind == b.kind
            && a.last_level_cache == b.last_level_cache
            && a.cpu.0.abs_diff(b.cpu.0) == 1
    };
    cpus.chunk_by(alike).filter_map(place_row).collect()
}

fn place_row(places: &[CpuPlace]) -> Option<Vec<Text>> {
    let (first, last) = (places.first()?, places.last()?);
    let members: CpuSet = places.iter().map(|place| place.cpu).collect();
    let number = |number: Option<u32>| number.map_or_else(|| "?".to_owned(), |n| n.to_string());
    let cores = if first.core == last.core {
        first.core.to_string()
    } else {
        format!("{}-{}", first.core, last.core)
    };
    let cells = [
        members.to_string(),
        first.package.to_string(),
        number(first.die),
        number(first.module),
        cores,
        number(first.node),
        first.kind.clone().unwrap_or_else(|| "?".to_owned()),
        tally(first.last_level_cache.len(), "CPU"),
    ];
    Some(cells.map(Text::from).to_vec())
}
