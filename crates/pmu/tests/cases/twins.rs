//! Codes that are another event's, or nobody's.

use std::collections::HashMap;
use std::fs;

use libtest_mimic::Failed;
use pmu::events::{CounterPlace, Encoded, Events, Source, Table, Target};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tempfile::TempDir;

use super::{Case, Need, none};

pub(super) const CASES: &[Case] = &[
    ("slots_by_reason_are_the_makers_and_not_the_slots", Need::Nothing, slots_by_reason),
    ("event_0_is_of_fixed_counters_alone", Need::Nothing, event_0),
    ("libpfm4_is_not_believed_where_its_code_is_another_counters", Need::Libpfm, libpfm),
    ("one_code_under_two_names_is_told", Need::Nothing, twins),
    ("unit_masks_of_16_bits_are_whole", Need::Nothing, wide),
    ("what_users_ask_for_first_is_in_our_table", Need::Nothing, asked_for),
    ("no_list_makes_event_0_an_event_of_intel", Need::Nothing, bent),
];

fn of(cpu: &str) -> Events<'static> {
    Events::of(Target::named(cpu).unwrap())
}

fn one(events: &Events<'_>, name: &str) -> Encoded {
    events.resolve(name).unwrap_or_else(|error| panic!("{name}: {error}")).remove(0)
}

fn slots_by_reason() -> Result<(), Failed> {
    for cpu in
        ["spr", "emr", "gnr", "alder-lake-p", "meteor-lake-p", "arrow-lake-p", "panther-lake-p"]
    {
        let events = of(cpu);
        let plain = |name: &str| one(&events, name).config;
        assert_eq!(plain("topdown.slots"), [0x400, 0, 0, 0], "{cpu}");
        assert_eq!(plain("topdown.slots_p"), [0x1a4, 0, 0, 0], "{cpu}");
        assert_eq!(plain("topdown.backend_bound_slots"), [0x2a4, 0, 0, 0], "{cpu}");
        assert_eq!(plain("topdown.bad_spec_slots"), [0x4a4, 0, 0, 0], "{cpu}");
        assert_eq!(plain("topdown.br_mispredict_slots"), [0x8a4, 0, 0, 0], "{cpu}");
        assert_eq!(plain("topdown.memory_bound_slots"), [0x10a4, 0, 0, 0], "{cpu}");
        let share = one(&events, "perf_metrics.memory_bound");
        assert_eq!((share.config[0], share.place), (0x8700, CounterPlace::SHARE), "{cpu}");
        assert!(share.caveats[0].contains("`slots`"));
    }
    let older = of("icx");
    assert_eq!(one(&older, "topdown.backend_bound_slots").config[0], 0x2a4);
    assert_eq!(one(&older, "perf_metrics.retiring").config[0], 0x8000);
    assert!(older.of_source(Source::Own).events.iter().all(|it| it.config[0] != 0x8700));
    // No core of Skylake has slots.
    assert!(of("skx").resolve("perf_metrics.retiring").is_err());
    Ok(())
}

fn event_0() -> Result<(), Failed> {
    let events = of("sapphire-rapids");
    for code in ["r800", "0x1000", "cpu/event=0,umask=0x10/", "cpu/event=0/", "cpu/config=0x8800/"]
    {
        let why = events.resolve(code).unwrap_err().to_string();
        assert!(why.contains("event 0 means only fixed counters"), "{code}: {why}");
    }
    for code in ["r300", "r400", "cpu/event=0,umask=0x80/", "0x18000c0"] {
        assert!(events.resolve(code).is_ok(), "{code}");
    }
    assert!(of("skylake").resolve("r400").is_err(), "it has three fixed counters");
    // Of a hybrid, the cores that have the counter.
    let both = of("alder-lake").resolve("r400").unwrap();
    assert_eq!(both.iter().map(|it| it.pmu.as_deref()).collect::<Vec<_>>(), [Some("cpu_core")]);
    // AMD has event 0, and so has a CPU that nobody knows.
    assert!(of("zen3").resolve("cpu/event=0,umask=8/").is_ok());
    Ok(())
}

fn libpfm() -> Result<(), Failed> {
    for (cpu, wrong) in [
        ("sapphire-rapids", &["backend_bound", "bad_spec", "br_mispredict", "memory_bound"][..]),
        ("ice-lake-sp", &["backend_bound", "br_mispredict"]),
    ] {
        let events = of(cpu);
        let listed = events.of_source(Source::Libpfm);
        for name in wrong {
            let name = format!("topdown.{name}_slots");
            assert!(listed.events.iter().all(|event| event.name != name), "{cpu}: {name}");
            let what = format!("event `{name}` of libpfm");
            assert!(listed.missing.iter().any(|it| it.what == what), "{cpu}: {name}");
        }
        assert!(listed.events.iter().any(|event| event.name == "topdown.slots"));
        assert!(listed.events.iter().any(|event| event.name == "unhalted_reference_cycles"));
    }
    let why = of("spr").resolve("spr::TOPDOWN:BAD_SPEC_SLOTS").unwrap_err().to_string();
    assert!(why.contains("its code 0x400 is that of `topdown.slots`"), "{why}");
    Ok(())
}

/// A list of one CPU.
fn listed(cpu: &str, numbers: &str, list: &str) -> (TempDir, Events<'static>) {
    let there = TempDir::new().unwrap();
    let map = format!("Family-model,Version,Filename,EventType\n{numbers},V1,/a.json,core\n");
    fs::write(there.path().join("mapfile.csv"), map).unwrap();
    fs::write(there.path().join("a.json"), list).unwrap();
    let target = Target::named(cpu).unwrap().with_folder(Some(there.path()));
    (there, Events::of(target))
}

fn twins() -> Result<(), Failed> {
    let (_there, events) = listed(
        "GenuineIntel-6-FD-1",
        "GenuineIntel-6-FD",
        r#"[{"EventName":"A.B","EventCode":"0xD1","UMask":"0x02","Counter":"0-3"},
            {"EventName":"A.C","EventCode":"0xD1","UMask":"0x02","Counter":"0-3"},
            {"EventName":"A.D","EventCode":"0xD1","UMask":"0x04","Counter":"0-3"}]"#,
    );
    let caveats = |name: &str| one(&events, name).caveats.concat();
    assert_eq!(caveats("a.b"), "Its code is that of `a.c`, too.");
    assert_eq!(caveats("a.c"), "Its code is that of `a.b`, too.");
    assert_eq!(caveats("a.d"), "");
    // A list that says two things of one name says nothing.
    let (_there, events) = listed(
        "GenuineIntel-6-FD-1",
        "GenuineIntel-6-FD",
        r#"[{"EventName":"A.B","EventCode":"0xD1"},{"EventName":"A.B","EventCode":"0xD2"}]"#,
    );
    let listed = events.of_source(Source::Perfmon);
    assert!(listed.events.is_empty());
    assert!(listed.missing[0].why.contains("two codes for each, as for `a.b`"));
    Ok(())
}

fn wide() -> Result<(), Failed> {
    let events = of("arrow-lake-p");
    assert_eq!(one(&events, "br_inst_retired.cond").config[0], 0x100_0000_11c4);
    assert_eq!(one(&of("panther-lake-e"), "l2_request.miss").config[0], 0x100_0000_7f24);
    let (_there, events) = listed(
        "GenuineIntel-6-BD-1",
        "GenuineIntel-6-BD",
        r#"[{"EventName":"A.B","EventCode":"0xc4","UMask":"0x11","UMaskExt":"0x01","Counter":"0"},
            {"EventName":"A.C","EventCode":"0xc4","UMask":"0x11","UMaskExt":"0x100"}]"#,
    );
    assert_eq!(one(&events, "a.b").config[0], 0x100_0000_11c4);
    let missing = &events.of_source(Source::Perfmon).missing;
    assert!(missing.iter().any(|it| it.why.contains("does not fit")), "{missing:?}");
    Ok(())
}

// By maker: what people count before they know what they look for.

const INTEL: &[&str] = &[
    "inst_retired.any",
    "br_misp_retired.all_branches",
    "longest_lat_cache.miss",
    "l2_rqsts.all_demand_data_rd",
    "l2_lines_in.all",
    "dtlb_load_misses.walk_active",
    "dtlb_store_misses.walk_completed",
    "itlb_misses.walk_active",
    "ld_blocks.store_forward",
    "machine_clears.memory_ordering",
    "idq.dsb_uops",
    "idq.mite_uops",
    "mem_inst_retired.split_stores",
    "exe_activity.bound_on_stores",
    "offcore_requests.demand_data_rd",
    "uops_executed.thread",
];
const BRIDGES: &[&str] = &[
    "inst_retired.any",
    "br_inst_retired.all_branches",
    "br_misp_retired.all_branches",
    "longest_lat_cache.miss",
    "l1d.replacement",
    "l2_rqsts.all_demand_data_rd",
    "l2_lines_in.all",
    "dtlb_load_misses.walk_duration",
    "dtlb_store_misses.walk_completed",
    "itlb_misses.walk_duration",
    "ld_blocks.store_forward",
    "machine_clears.memory_ordering",
    "idq.dsb_uops",
    "idq.mite_uops",
    "mem_uops_retired.split_stores",
    "mem_load_uops_retired.l1_hit",
    "offcore_requests.demand_data_rd",
    "resource_stalls.any",
    "uops_issued.any",
];
const NEHALEM: &[&str] = &[
    "inst_retired.any",
    "br_inst_retired.all_branches",
    "longest_lat_cache.miss",
    "l1d.repl",
    "l2_rqsts.miss",
    "dtlb_misses.any",
    "itlb_misses.any",
    "mem_load_retired.llc_miss",
    "resource_stalls.any",
    "ssex_uops_retired.packed_double",
    "uops_issued.any",
];
const ATOM: &[&str] = &[
    "inst_retired.any",
    "br_misp_retired.all_branches",
    "longest_lat_cache.miss",
    "icache.misses",
    "mem_uops_retired.all_loads",
    "br_misp_retired.jcc",
];
const EFFICIENT: &[&str] = &[
    "inst_retired.any",
    "br_misp_retired.all_branches",
    "longest_lat_cache.miss",
    "icache.misses",
    "mem_uops_retired.split_stores",
    "ld_blocks.address_alias",
    "br_misp_retired.cond_taken",
];
const AMD: &[&str] = &["ex_ret_instr", "ex_ret_brn_misp", "ic_cache_fill_sys", "ls_stlf"];
const BULLDOZER: &[&str] =
    &["retired_instructions", "data_cache_misses.all", "l2_cache_miss.all", "retired_sse_ops.all"];
const CORTEX: &[&str] = &["inst_retired", "br_mis_pred", "l1d_cache_refill", "l2d_cache"];
const ARM: &[&str] = &["l1d_cache_rd", "l2d_tlb_refill", "mem_access_rd", "stall_backend"];

fn asked_for() -> Result<(), Failed> {
    let mut lacking = Vec::new();
    for family in &Table::builtin().family {
        let names = match family.id.as_str() {
            id if id.starts_with("zen") => AMD,
            "family-15h" => BULLDOZER,
            id if id.starts_with("neoverse") => ARM,
            id if id.starts_with("cortex") => CORTEX,
            "nehalem" | "westmere" => NEHALEM,
            "silvermont" | "knights-landing" | "goldmont" | "goldmont-plus" | "tremont" => ATOM,
            id if id.contains("bridge") || id.contains("well") => BRIDGES,
            _ if family.announced == 7 && family.fixed == 3 && family.libpfm.is_empty() => {
                EFFICIENT
            }
            "alder-lake-e" => EFFICIENT,
            _ => INTEL,
        };
        let events = of(&family.id);
        let own = &events.of_source(Source::Own).events;
        let lacks = |name: &&&str| !own.iter().any(|event| event.name == **name);
        lacking.extend(names.iter().filter(lacks).map(|name| format!("{}: {name}", family.id)));
    }
    none(&lacking)
}

/// Whatever a list says of an event of Intel's, its code is not one of event 0, but of a fixed counter,
/// and no name has two codes.
fn bent() -> Result<(), Failed> {
    let code = prop_oneof![Just("0x00".to_owned()), Just("0xA4".to_owned()), "0x[0-9a-f]{1,2}"];
    let umask = "0x[0-9a-f]{1,2}";
    let counter = prop_oneof![
        Just("0,1,2,3".to_owned()),
        (0..9_u32).prop_map(|number| format!("Fixed counter {number}")),
    ];
    let event = ("[AB]\\.[A-D]", code, umask, counter);
    let list = prop::collection::vec(event, 1..12);
    let config = Config { failure_persistence: None, cases: 300, ..Config::default() };
    TestRunner::new(config)
        .run(&list, |list| {
            let entries: Vec<serde_json::Value> = list
                .iter()
                .map(|(name, code, umask, counter)| {
                    serde_json::json!({
                        "EventName": name, "EventCode": code, "UMask": umask, "Counter": counter,
                    })
                })
                .collect();
            let text = serde_json::Value::Array(entries).to_string();
            let (_there, events) = listed("spr", "GenuineIntel-6-8F", &text);
            let found = &events.of_source(Source::Perfmon).events;
            let mut codes = HashMap::new();
            for event in found {
                let umask = event.config[0] >> 8 & 0xff;
                let is_fixed = (1..=4).contains(&umask) || (0x80..=0x87).contains(&umask);
                prop_assert!(event.config[0] & 0xff != 0 || is_fixed, "{event:?}");
                prop_assert_eq!(codes.insert(&event.name, event.config), None);
            }
            let is_twin = |one: &Encoded, other: &Encoded| {
                let of = |it: &Encoded| (it.config, it.register, it.place);
                one.name != other.name && of(one) == of(other)
            };
            for event in found {
                let has_twin = found.iter().any(|other| is_twin(event, other));
                let says = event.caveats.iter().any(|text| text.contains("Its code is that of"));
                prop_assert_eq!(has_twin, says, "{:?}", event);
            }
            Ok(())
        })
        .map_err(|error| error.to_string().into())
}
