//! Lists of others, and what is made of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use libtest_mimic::Failed;
use pmu::events::{CounterPlace, Encoded, EventScope, Events, Source, Target};
use tempfile::TempDir;

use super::{Case, Need, none, wrong};

pub(super) const CASES: &[Case] = &[
    ("perfmon_of_sapphire_rapids_is_what_libpfm4_computed", Need::Lists, sapphire_rapids),
    ("perfmon_of_skylake_is_what_libpfm4_computed", Need::Lists, skylake),
    ("amd_lists_are_what_libpfm4_computed", Need::Lists, zen3),
    ("arm_lists_are_codes", Need::Lists, arm),
    ("a_hybrid_has_a_list_for_each_type_of_core", Need::Lists, hybrid),
    ("units_outside_of_the_cores_are_encoded", Need::Lists, uncore),
    ("registers_counters_and_errata_are_kept", Need::Lists, beside),
    ("steppings_choose_lists", Need::Lists, steppings),
    ("broken_lists_say_what_is_wrong", Need::Nothing, broken),
];

/// A folder of others' lists, where it is there.
pub(super) fn folder(name: &str) -> Option<PathBuf> {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures/pmu");
    shared.is_dir().then(|| shared.join(name))
}

/// The folder with its files unpacked, as users have it.
pub(super) fn unpacked(name: &str) -> TempDir {
    let there = TempDir::new().unwrap();
    for entry in fs::read_dir(folder(name).unwrap()).unwrap() {
        let path = entry.unwrap().path();
        let mut text = String::new();
        let mut file = BufReader::new(File::open(&path).unwrap());
        let name = if path.extension().is_some_and(|ending| ending == "xz") {
            lzma_rust2::XzReader::new(file, true).read_to_string(&mut text).unwrap();
            path.file_stem()
        } else {
            file.read_to_string(&mut text).unwrap();
            path.file_name()
        };
        fs::write(there.path().join(name.unwrap()), text).unwrap();
    }
    there
}

/// What a folder says of a CPU.
pub(super) fn perfmon(cpu: &str, folder: &str) -> Vec<Encoded> {
    let there = unpacked(folder);
    let events = Events::of(Target::named(cpu).unwrap().with_folder(Some(there.path())));
    let listed = events.of_source(Source::Perfmon);
    let complaints: Vec<&str> = listed
        .missing
        .iter()
        .map(|missing| missing.why.as_str())
        .filter(|why| !why.ends_with("is listed but missing"))
        .collect();
    assert!(complaints.is_empty(), "{complaints:?}");
    listed.events.clone()
}

/// Configurations by name, in lower case: what libpfm4 4.13 computed.
pub(super) fn computed(file: &str) -> BTreeMap<String, [u64; 4]> {
    let path = folder("libpfm4-4.13-encodings").unwrap().join(file);
    let text = fs::read_to_string(path).unwrap();
    let line = |line: &str| {
        let words: Vec<&str> = line.split(',').collect();
        let hex = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).unwrap();
        let joined = if words[1].is_empty() { "" } else { "." };
        let name = format!("{}{joined}{}", words[0], words[1]).to_lowercase();
        (name, [hex(words[3]), hex(words[4]), hex(words[5]), 0])
    };
    text.lines().skip(1).map(line).collect()
}

/// Compares by name. The names that differ must be those that are known to.
fn compare(
    events: &[Encoded],
    computed: &BTreeMap<String, [u64; 4]>,
    known: &[(&str, &str)],
    least: usize,
) -> Result<(), Failed> {
    let mut common = 0;
    let mut differing = BTreeSet::new();
    let mut shown = Vec::new();
    for event in events {
        if let Some(theirs) = computed.get(&event.name) {
            common += 1;
            if *theirs != event.config {
                differing.insert(event.name.as_str());
                shown.push(format!("{}: {:x?}, libpfm4 {theirs:x?}", event.name, event.config));
            }
        }
    }
    let known: BTreeSet<&str> = known.iter().map(|(name, _)| *name).collect();
    if differing != known || common < least {
        let shown = shown.join("\n");
        let gone: Vec<_> = known.difference(&differing).collect();
        return wrong(format!("{common} in common; {shown}\nno longer different: {gone:?}"));
    }
    Ok(())
}

/// Name, why it differs. Where they do, the list is right, or Linux knows the event by another code.
const SAPPHIRE_RAPIDS: &[(&str, &str)] = &[
    ("inst_retired.any", "Linux' code of the fixed counter; libpfm4 has that of another event"),
    ("cpu_clk_unhalted.thread", "the same; kernels before 6.19 know no 0x200"),
    ("topdown.backend_bound_slots", "the list's event; libpfm4 has perf's share of the slots"),
    ("topdown.bad_spec_slots", "the same"),
    ("topdown.br_mispredict_slots", "the same"),
    ("topdown.memory_bound_slots", "the same"),
    ("arith.idiv_active", "libpfm4 forgets that cycles are counted"),
    ("arith.int_divider_active", "libpfm4 forgets that cycles are counted"),
    ("int_misc.unknown_branch_cycles", "the list has it by register 3F7h"),
    ("uops_retired.ms", "the list has it by register 3F7h"),
    ("mem_trans_retired.store_sample", "libpfm4 has another unit mask"),
    ("exe.amx_busy", "libpfm4 adds a `config1`, which the event has not"),
];

fn sapphire_rapids() -> Result<(), Failed> {
    let events = perfmon("sapphire-rapids", "perfmon");
    let of_cores: Vec<Encoded> =
        events.into_iter().filter(|event| event.scope == EventScope::Thread).collect();
    assert_eq!(of_cores.len(), 411);
    compare(&of_cores, &computed("spr.csv"), SAPPHIRE_RAPIDS, 284)
}

const SKYLAKE: &[(&str, &str)] = &[
    ("uops_retired.stall_cycles", "libpfm4 has another unit mask"),
    ("uops_retired.total_cycles", "libpfm4 has another unit mask, and 10 in place of 16"),
];

fn skylake() -> Result<(), Failed> {
    let events = perfmon("skylake-x", "perfmon");
    assert_eq!(events.len(), 470);
    compare(&events, &computed("skx.csv"), SKYLAKE, 200)
}

/// The lists call events otherwise than libpfm4: what is compared is which codes there are.
fn zen3() -> Result<(), Failed> {
    let events = perfmon("zen3", "linux-6.1");
    assert_eq!(events.len(), 243);
    let ours: BTreeSet<[u64; 4]> = events.iter().map(|event| event.config).collect();
    let theirs = computed("amd64_fam19h_zen3.csv");
    let without: Vec<String> = theirs
        .iter()
        .filter(|(name, config)| {
            // Sums of parts that the list has one by one, or not at all.
            !ours.contains(*config) && !ZEN3_SUMS.contains(&name.as_str())
        })
        .map(|(name, config)| format!("{name} {config:x?}"))
        .collect();
    none(&without)?;
    let pair = events.iter().find(|event| event.name == "fp_ret_sse_avx_ops.all").unwrap();
    assert_eq!(pair.place, CounterPlace::General { counters: 0b10101, takes: 2 });
    let of_l3 = events.iter().find(|event| event.name == "l3_misses").unwrap();
    assert_eq!((of_l3.pmu.as_deref(), of_l3.scope), (Some("amd_l3"), EventScope::Shared));
    let fabric = events.iter().find(|e| e.name == "remote_outbound_data_controller_0").unwrap();
    assert_eq!(fabric.config[0], 0x7_0000_02c7);
    Ok(())
}

const ZEN3_SUMS: &[&str] = &[
    "fp_dispatch_faults.any",
    "l2_prefetch_hit_l2.l1_hw_prefetcher",
    "l2_prefetch_hit_l2.l2_hw_prefetcher",
    "l2_prefetch_hit_l3.l1_hw_prefetcher",
    "l2_prefetch_hit_l3.l2_hw_prefetcher",
    "l2_prefetch_miss_l3.l1_hw_prefetcher",
    "l2_prefetch_miss_l3.l2_hw_prefetcher",
    "ops_source_dispatched_from_decoder.opcache_dispatched",
    "ops_source_dispatched_from_decoder.x86decoder_dispatched",
    "ops_type_dispatched_from_decoder.fp_disp_retire_mode",
    "ops_type_dispatched_from_decoder.int_disp_retire_mode",
    "prefetch_instructions_dispatched.any",
    "retired_sse_avx_flops.any",
];

fn arm() -> Result<(), Failed> {
    for (cpu, file, count) in
        [("neoverse-n1", "neoverse-n1.json", 110), ("neoverse-v1", "neoverse-v1.json", 132)]
    {
        let there = unpacked("arm");
        let text = fs::read_to_string(there.path().join(file)).unwrap();
        let list: serde_json::Value = serde_json::from_str(&text).unwrap();
        let events = perfmon(cpu, "arm");
        let listed = list["events"].as_array().unwrap();
        assert_eq!((events.len(), listed.len()), (count, count), "{cpu}");
        for (event, listed) in events.iter().zip(listed) {
            assert_eq!(event.name, listed["name"].as_str().unwrap().to_lowercase());
            assert_eq!(event.config, [listed["code"].as_u64().unwrap(), 0, 0, 0]);
        }
    }
    Ok(())
}

fn hybrid() -> Result<(), Failed> {
    let events = perfmon("alder-lake", "perfmon");
    let of = |name: &str| events.iter().find(|event| event.name == name).map(|e| e.config);
    assert_eq!(of("cpu_core/br_inst_retired.cond/"), Some([0x11c4, 0, 0, 0]));
    assert_eq!(of("cpu_atom/br_inst_retired.cond/"), Some([0x7ec4, 0, 0, 0]));
    assert_eq!(events.len(), 319 + 211);
    let one = perfmon("alder-lake-e", "perfmon");
    assert_eq!(one.len(), 211);
    assert!(one.iter().all(|event| event.pmu.as_deref() == Some("cpu_atom")));
    // Without a second type of core, the only list.
    assert_eq!(perfmon("alder-lake-n", "perfmon").len(), 211);
    Ok(())
}

fn uncore() -> Result<(), Failed> {
    let events = perfmon("sapphire-rapids", "perfmon");
    let of = |name: &str| events.iter().find(|event| event.name == name).unwrap();
    let tor = of("unc_cha_tor_inserts.ia_miss");
    assert_eq!(tor.config, [0x00c0_01fe_0000_0135, 0, 0, 0]);
    assert_eq!((tor.pmu.as_deref(), tor.scope), (Some("uncore_cha"), EventScope::Shared));
    assert!(!tor.by_mode && tor.kind.is_none());
    assert_eq!(of("unc_m_cas_count.rd").config, [0xcf05, 0, 0, 0]);
    assert_eq!(of("unc_m_cas_count.rd").pmu.as_deref(), Some("uncore_imc"));
    assert_eq!(of("unc_upi_clockticks").pmu.as_deref(), Some("uncore_upi"));
    let part = of("unc_iio_data_req_of_cpu.mem_read.part0");
    assert_eq!(part.config, [0x0007_0010_0000_0483, 0, 0, 0]);
    assert_eq!(events.iter().filter(|event| event.scope == EventScope::Shared).count(), 289);
    Ok(())
}

fn beside() -> Result<(), Failed> {
    let events = perfmon("sapphire-rapids", "perfmon");
    let of = |name: &str| events.iter().find(|event| event.name == name).unwrap();
    let latency = of("mem_trans_retired.load_latency_gt_128");
    assert_eq!((latency.config, latency.register), ([0x1cd, 0x80, 0, 0], Some(0x3f6)));
    let offcore = of("ocr.demand_data_rd.any_response");
    assert_eq!((offcore.config, offcore.register), ([0x12a, 0x1_0001, 0, 0], Some(0x1a6)));
    let front = of("frontend_retired.dsb_miss");
    assert_eq!((front.config, front.register), ([0x1c6, 0x11, 0, 0], Some(0x3f7)));
    assert_eq!(of("cpu_clk_unhalted.thread").place, CounterPlace::Fixed(1));
    assert_eq!(of("cpu_clk_unhalted.thread").config, [0x3c, 0, 0, 0]);
    assert_eq!(of("topdown.slots").config, [0x400, 0, 0, 0]);
    let loads = CounterPlace::General { counters: 0xf, takes: 1 };
    assert_eq!(of("mem_inst_retired.all_loads").place, loads);
    assert!(events.iter().any(|e| e.caveats.iter().any(|text| text.contains("deprecated"))));
    let skylake = perfmon("skylake-x", "perfmon");
    let errata = |e: &&Encoded| e.caveats.iter().any(|text| text.contains("SKL091, SKL044"));
    assert_eq!(skylake.iter().filter(errata).count(), 4);
    let any = skylake.iter().find(|e| e.name == "cpu_clk_unhalted.thread_any").unwrap();
    assert_eq!(any.config, [0x20_003c, 0, 0, 0]);
    Ok(())
}

fn steppings() -> Result<(), Failed> {
    let there = unpacked("perfmon");
    let lists = |cpu: &str| {
        let events = Events::of(Target::named(cpu).unwrap().with_folder(Some(there.path())));
        let listed = events.of_source(Source::Perfmon);
        let whys: Vec<String> = listed.missing.iter().map(|missing| missing.why.clone()).collect();
        (listed.events.len(), whys.join("; "))
    };
    assert_eq!(lists("GenuineIntel-6-55-4").0, 470);
    let (count, why) = lists("cascade-lake");
    assert_eq!(count, 0);
    assert!(why.contains("/CLX/events/cascadelakex_core.json` is listed but missing"), "{why}");
    let (count, why) = lists("GenuineIntel-6-55");
    assert_eq!(count, 470);
    assert!(why.contains("steppings of GenuineIntel-6-55 differ"), "{why}");
    let (count, why) = lists("GenuineIntel-6-FF-1");
    assert_eq!(count, 0);
    assert!(why.contains("has no list for GenuineIntel-6-FF-1"), "{why}");
    Ok(())
}

fn broken() -> Result<(), Failed> {
    let there = TempDir::new()?;
    let why = |there: &Path| {
        let events = Events::of(Target::named("spr").unwrap().with_folder(Some(there)));
        let listed = events.of_source(Source::Perfmon);
        let whys: Vec<String> = listed.missing.iter().map(|missing| missing.why.clone()).collect();
        (listed.events.len(), whys.join("; "))
    };
    let (_, text) = why(&there.path().join("nowhere"));
    assert!(text.contains("No such file") || text.contains("no such file"), "{text}");
    assert!(why(there.path()).1.contains("mapfile.csv"));
    let map = "Family-model,Version,Filename,EventType\nGenuineIntel-6-8F,V1,/a.json,core\n";
    fs::write(there.path().join("mapfile.csv"), map)?;
    let list = there.path().join("a.json");
    for (text, expected) in [
        ("{", "is no JSON"),
        ("{}", "has no list `Events`"),
        (r#"[{"EventName":"A","EventCode":7}]"#, "event `A`"),
        (r#"[{"EventName":"A","EventCode":"x"}]"#, "`x` is no number"),
        (r#"[{"EventName":"A","EventCode":"0x100","Counter":"0"}]"#, "does not fit"),
        (r#"[{"EventName":"A","EventCode":"1","Counter":"many"}]"#, "no counters are `many`"),
    ] {
        fs::write(&list, text)?;
        let (count, why) = why(there.path());
        assert!(count == 0 && why.contains(expected), "{text}: {why}");
    }
    fs::write(&list, r#"[{"EventName":"A","EventCode":"x"},{"EventName":"B","EventCode":"1"}]"#)?;
    assert_eq!(why(there.path()).0, 1, "one that is wrong does not hide the others");
    Ok(())
}
