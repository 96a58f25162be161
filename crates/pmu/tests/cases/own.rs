//! Our own table, beside the lists of others.

use std::collections::{BTreeMap, BTreeSet};

use libtest_mimic::Failed;
use pmu::events::{CounterPlace, Encoded, Events, Source, Table, Target};

use super::lists::perfmon;
use super::{Case, Need, none};

pub(super) const CASES: &[Case] = &[
    ("our_rows_are_encoded_and_described", Need::Nothing, rows),
    ("our_sets_name_families_and_sources", Need::Nothing, sets),
    ("our_rows_are_those_of_the_lists", Need::Lists, beside_lists),
    ("our_rows_are_those_of_libpfm4", Need::Libpfm, beside_libpfm),
];

fn own(cpu: &str) -> Vec<Encoded> {
    Events::of(Target::named(cpu).unwrap()).of_source(Source::Own).events.clone()
}

fn rows() -> Result<(), Failed> {
    for family in &Table::builtin().family {
        let events = own(&family.id);
        let names: BTreeSet<&str> = events.iter().map(|event| event.name.as_str()).collect();
        assert_eq!(names.len(), events.len(), "{}: a name stands twice", family.id);
        // Cores of phones that tell less.
        let least = if ["cortex-a53", "cortex-a73"].contains(&&*family.id) { 20 } else { 40 };
        assert!(events.len() >= least, "{} has {} events", family.id, events.len());
        for event in &events {
            assert_eq!(event.name, event.name.to_lowercase());
            let doc = event.description.as_deref().unwrap_or_default();
            assert!(doc.ends_with('.') && doc.len() > 10, "{}: {doc}", event.name);
            assert!(event.kind.is_none(), "it is another CPU's");
            if let CounterPlace::General { counters, takes: 1.. } = event.place {
                let all = (1 << family.general) - 1;
                assert!(counters != 0 && counters & !all == 0, "{} {counters:#x}", event.name);
            }
        }
        let fixed =
            events.iter().filter(|event| matches!(event.place, CounterPlace::Fixed(_))).count();
        let expected = if family.cpuid.starts_with("0x") { 1 } else { family.fixed as usize };
        assert_eq!(fixed, expected, "{}", family.id);
    }
    Ok(())
}

fn sets() -> Result<(), Failed> {
    let table = Table::builtin();
    let known: BTreeSet<&str> = table.family.iter().map(|family| family.id.as_str()).collect();
    assert_eq!(known.len(), table.family.len());
    let names: Vec<&str> = table.family.iter().flat_map(pmu::events::Family::names).collect();
    let explained = include_str!("../../../../data/README.md");
    let sources = table.set.iter().map(|set| set.source.as_str());
    for source in sources.chain([&*table.fixed.source, &*table.architectural.source]) {
        assert!(explained.contains(&format!("| `{source}` |")), "{source}");
    }
    for set in &table.set {
        let strangers: Vec<&String> =
            set.of.iter().filter(|id| !known.contains(id.as_str())).collect();
        assert!(strangers.is_empty(), "{strangers:?}");
    }
    // Both types of core of a hybrid share names; nobody else does.
    let several: BTreeSet<&str> = names
        .iter()
        .filter(|name| names.iter().filter(|it| it == name).count() > 1)
        .copied()
        .collect();
    let hybrids = table.family.iter().filter(|family| family.core.is_some());
    let of_hybrids: BTreeSet<&str> = hybrids.flat_map(pmu::events::Family::names).collect();
    assert!(several.contains("alder-lake") && several.is_subset(&of_hybrids), "{several:?}");
    Ok(())
}

/// Same name, same encoding, and not on counters that the list does not give it.
fn differing(ours: &[Encoded], theirs: &[Encoded]) -> (usize, Vec<String>) {
    let mut common = 0;
    let mut wrong = Vec::new();
    for event in ours {
        let Some(other) = theirs.iter().find(|other| other.name == event.name) else { continue };
        common += 1;
        if other.config != event.config || !fits(event.place, other.place) {
            let (ours, theirs) = (event.config[0], other.config[0]);
            let places = (event.place, other.place);
            wrong.push(format!("{}: {ours:#x}, the list {theirs:#x}; {places:?}", event.name));
        }
    }
    (common, wrong)
}

fn fits(ours: CounterPlace, theirs: CounterPlace) -> bool {
    match (ours, theirs) {
        (CounterPlace::Fixed(ours), CounterPlace::Fixed(theirs)) => ours == theirs,
        (
            CounterPlace::General { counters, takes },
            CounterPlace::General { counters: all, takes: other },
        ) => takes == other && counters & !all == 0,
        // Lists of Arm name no counters.
        (CounterPlace::Fixed(31), _) => true,
        _ => false,
    }
}

fn beside_lists() -> Result<(), Failed> {
    for (cpu, folder, least) in [
        ("skylake-x", "perfmon", 45),
        ("sapphire-rapids", "perfmon", 40),
        ("alder-lake-p", "perfmon", 40),
        ("alder-lake-e", "perfmon", 25),
        ("zen3", "linux-6.1", 25),
        ("neoverse-n1", "arm", 25),
        ("neoverse-v1", "arm", 30),
    ] {
        let ours = own(cpu);
        let (common, wrong) = differing(&ours, &perfmon(cpu, folder));
        none(&wrong)?;
        assert!(common >= least, "{cpu}: {common} of {} are in the list", ours.len());
    }
    // Arm's events have one number on all cores.
    let (common, wrong) = differing(&own("neoverse-v2"), &perfmon("neoverse-v1", "arm"));
    none(&wrong)?;
    assert!(common >= 60, "neoverse-v2: {common} are in the list of neoverse-v1");
    Ok(())
}

fn beside_libpfm() -> Result<(), Failed> {
    let library = sys::pfm::Pfm::load().unwrap();
    let mut compared = BTreeMap::new();
    let mut wrong = Vec::new();
    for family in &Table::builtin().family {
        let events = Events::of(Target::named(&family.id).unwrap());
        let theirs = &events.of_source(Source::Libpfm).events;
        for event in &events.of_source(Source::Own).events {
            let other = theirs.iter().find(|other| other.name == event.name);
            *compared.entry(family.id.as_str()).or_insert(0) += usize::from(other.is_some());
            if let Some(other) = other.filter(|other| other.config != event.config) {
                let known = KNOWN.contains(&(&*family.id, &*event.name));
                let (ours, theirs) = (event.config[0], other.config[0]);
                let text = format!("{} {}: {ours:#x}, {theirs:#x}", family.id, event.name);
                wrong.extend((!known).then_some(text));
            }
        }
    }
    none(&wrong)?;
    let version = library.version();
    for (family, least) in COMPARED {
        let found = compared.get(family).copied().unwrap_or(0);
        assert!(found >= *least, "{family}: {found}; libpfm4 {version:?} knows {compared:?}");
    }
    for (family, least) in BY_CODE {
        let events = Events::of(Target::named(family).unwrap());
        let theirs: BTreeSet<[u64; 4]> =
            events.of_source(Source::Libpfm).events.iter().map(|event| event.config).collect();
        let ours = &events.of_source(Source::Own).events;
        let found = ours.iter().filter(|event| theirs.contains(&event.config)).count();
        assert!(found >= *least, "{family}: libpfm4 has {found} of {} codes", ours.len());
    }
    Ok(())
}

/// Families, and how many of our events libpfm4 has by the same names at least: none is passed over.
const COMPARED: &[(&str, usize)] =
    &[("haswell", 100), ("broadwell", 100), ("skylake", 100), ("skylake-x", 100)];

/// Families that libpfm4 calls by other names, and how many of our codes it has at least.
const BY_CODE: &[(&str, usize)] = &[("zen2", 45), ("zen3", 60), ("zen4", 80)];

/// Family and name: codes of fixed counters that not all kernels know, or that are another event's.
const KNOWN: &[(&str, &str)] = &[
    ("ice-lake-sp", "inst_retired.any"),
    ("ice-lake", "inst_retired.any"),
    ("sapphire-rapids", "inst_retired.any"),
    ("sapphire-rapids", "cpu_clk_unhalted.thread"),
    // What the lists of the makers have otherwise.
    ("skylake-x", "uops_retired.stall_cycles"),
    ("skylake", "uops_retired.stall_cycles"),
    ("sapphire-rapids", "arith.idiv_active"),
    ("sapphire-rapids", "exe.amx_busy"),
    // One of both has the precise kind of the event.
    ("nehalem", "br_inst_retired.all_branches"),
    ("nehalem", "inst_retired.any_p"),
    ("westmere", "br_inst_retired.all_branches"),
    ("westmere", "br_misp_retired.all_branches"),
    ("westmere", "inst_retired.any"),
    ("sandy-bridge", "br_inst_retired.all_branches"),
    ("sandy-bridge", "br_misp_retired.all_branches"),
    ("sandy-bridge-ep", "br_inst_retired.all_branches"),
    ("sandy-bridge-ep", "br_misp_retired.all_branches"),
    // The lists of the makers have another unit mask.
    ("ivy-bridge-ep", "mem_load_uops_llc_miss_retired.local_dram"),
    ("haswell", "l2_rqsts.demand_data_rd_hit"),
    ("haswell", "l2_rqsts.rfo_hit"),
    ("haswell", "l2_rqsts.code_rd_hit"),
    ("haswell-x", "l2_rqsts.demand_data_rd_hit"),
    ("haswell-x", "l2_rqsts.rfo_hit"),
    ("haswell-x", "l2_rqsts.code_rd_hit"),
    ("broadwell", "l2_rqsts.demand_data_rd_hit"),
    ("broadwell", "l2_rqsts.rfo_hit"),
    ("broadwell", "l2_rqsts.code_rd_hit"),
    ("broadwell-x", "l2_rqsts.demand_data_rd_hit"),
    ("broadwell-x", "l2_rqsts.rfo_hit"),
    ("broadwell-x", "l2_rqsts.code_rd_hit"),
    ("broadwell-de", "l2_rqsts.demand_data_rd_hit"),
    ("broadwell-de", "l2_rqsts.rfo_hit"),
    ("broadwell-de", "l2_rqsts.code_rd_hit"),
    // libpfm4 counts cycles with a walk, not walks.
    ("knights-landing", "page_walks.d_side_walks"),
    ("knights-landing", "page_walks.i_side_walks"),
];
