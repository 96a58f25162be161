//! Names, patterns and codes, on simulated machines, captures and CPUs that are not here.

use std::fs;
use std::path::Path;

use libtest_mimic::Failed;
use machine::Machine;
use model::record::FactValue;
use pmu::events::{CounterPlace, Encoded, Error, EventScope, Events, Modes, Source, Target};
use tempfile::TempDir;

use super::{Case, Need};

pub(super) const CASES: &[Case] = &[
    ("the_patterns_of_the_seed_find_their_events", Need::Nothing, patterns),
    ("what_means_nothing_is_an_error_with_near_names", Need::Nothing, unknown),
    ("codes_are_what_they_say", Need::Nothing, codes),
    ("modifiers_choose_modes", Need::Nothing, modifiers),
    ("fixed_counters_come_first", Need::Nothing, order),
    ("what_info_calls_a_cpu_is_a_name_of_it", Need::Nothing, called),
    ("the_kernel_describes_pmus_and_their_events", Need::Nothing, described),
    ("a_hybrid_has_one_event_for_each_type_of_core", Need::Nothing, hybrid),
    ("without_a_pmu_there_are_the_kernels_own_counters_and_reasons", Need::Nothing, guest),
];

fn names(events: &[Encoded]) -> Vec<&str> {
    events.iter().map(|event| event.name.as_str()).collect()
}

fn skylake() -> Events<'static> {
    Events::of(Target::named("skylake-x").unwrap())
}

fn capture(name: &str) -> Machine {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/machines");
    recorded::named(&folder.join(name).display().to_string()).unwrap()
}

/// A machine of these PMUs and of an Intel CPU of that model, as files.
fn of_files(model: u32, files: &[(&str, &str)]) -> (TempDir, Machine) {
    let there = TempDir::new().unwrap();
    let put = |path: &str, text: &str| {
        let path = there.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let cpuinfo = format!(
        "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: {model}\n\
         stepping\t: 2\n"
    );
    put("proc/cpuinfo", &cpuinfo);
    for (path, text) in files {
        put(&format!("sys/bus/event_source/devices/{path}"), text);
    }
    let machine = Machine::rooted(there.path()).unwrap();
    (there, machine)
}

fn patterns() -> Result<(), Failed> {
    let events = skylake();
    let found = events.resolve("retired.*all_branches$").unwrap();
    for name in ["br_inst_retired.all_branches", "br_misp_retired.all_branches"] {
        assert!(names(&found).contains(&name), "{found:?}");
    }
    let found = events.resolve("MEM_LOAD_RETIRED.L._HIT|nothing").unwrap();
    let hits = ["mem_load_retired.l1_hit", "mem_load_retired.l2_hit", "mem_load_retired.l3_hit"];
    assert_eq!(names(&found), hits);
    // Snabb's `lib.pmu` asks so on Haswell.
    let haswell = Events::of(Target::named("hsw").unwrap());
    let found = haswell.resolve("retired.*all_branches$").unwrap();
    for name in ["br_inst_retired.all_branches", "br_misp_retired.all_branches"] {
        assert!(names(&found).contains(&name), "{found:?}");
    }
    let found = haswell.resolve("mem_load_uops_retired.l[123]_(hit|miss)").unwrap();
    assert_eq!(found.len(), 6, "{found:?}");
    // Abbreviations and numbers name the same families.
    for (short, long) in
        [("HSW", "GenuineIntel-6-3C"), ("n1", "neoverse-n1"), ("v1", "0x41-0xd40"), ("v2", "grace")]
    {
        let of =
            |name| Events::of(Target::named(name).unwrap()).of_source(Source::Own).events.clone();
        assert!(!of(short).is_empty() && of(short) == of(long), "{short} and {long}");
    }
    Ok(())
}

fn unknown() -> Result<(), Failed> {
    let events = skylake();
    let near = |name: &str| match events.resolve(name) {
        Err(Error::Unknown { near, .. }) => near,
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(near("br_inst_retired.all_branche")[0], "br_inst_retired.all_branches");
    assert_eq!(near("cyclse")[0], "cycles");
    assert!(near("zzzz").is_empty() || near("zzzz").len() <= 3);
    let refused = |name: &str| events.resolve(name).unwrap_err().to_string();
    let text = refused("nothing.*at_all");
    assert!(text.starts_with("cannot find events by `nothing.*at_all`: none of "), "{text}");
    assert!(refused("br_(inst").starts_with("cannot read pattern `br_(inst`: "));
    assert!(refused("cycles:pp").contains("for sampling"));
    for bad in [
        "",
        " ",
        "0x",
        "0xg",
        "r",
        ":u",
        "/",
        "//",
        "cpu//",
        "cpu/=1/",
        "a/b",
        "0x11112222333344445",
    ] {
        assert!(events.resolve(bad).is_err(), "{bad}");
    }
    Ok(())
}

fn codes() -> Result<(), Failed> {
    let events = skylake();
    let config = |name: &str| events.resolve(name).unwrap()[0].config;
    assert_eq!(config("0x1c2"), [0x1c2, 0, 0, 0]);
    assert_eq!(config("r1c2"), [0x1c2, 0, 0, 0]);
    assert_eq!(config("cpu/event=0xc3,umask=1,cmask=1,edge/"), [0x104_01c3, 0, 0, 0]);
    assert_eq!(config("cpu/event=0xcd,umask=1,ldlat=3/"), [0x1cd, 3, 0, 0]);
    let why = events.resolve("cpu/colour=1/").unwrap_err().to_string();
    assert!(why.contains("`colour` is no term of `cpu`"), "{why}");
    assert!(events.resolve("uncore_imc/event=1/").is_err());
    let found = &events.resolve("0x1c2").unwrap()[0];
    assert_eq!((found.source, found.name.as_str()), (Source::Raw, "0x1c2"));
    Ok(())
}

fn modifiers() -> Result<(), Failed> {
    let events = skylake();
    let one = |name: &str| events.resolve(name).unwrap().remove(0);
    assert_eq!((one("cycles").modes, one("cycles").name.as_str()), (None, "cycles"));
    assert_eq!(
        (one("cycles:u").modes, one("cycles:u").name.as_str()),
        (Some(Modes::User), "cycles:u")
    );
    assert_eq!(one("0x1c2:k").modes, Some(Modes::Kernel));
    assert_eq!(one("cpu/event=1/uk").modes, Some(Modes::Both));
    let all = events.resolve_all(["cycles", "cycles:u", "cycles", "cpu-cycles"]).unwrap();
    assert_eq!(names(&all), ["cycles", "cycles:u"]);
    Ok(())
}

/// Names in the rows `CPU` and `Type` of `cpudyno info`, but what makers of x86 CPUs call a product.
fn called() -> Result<(), Failed> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/machines");
    let mut count = 0;
    for file in fs::read_dir(folder)? {
        let path = file?.path();
        let machine = recorded::named(&path.display().to_string()).unwrap();
        let facts = machine::facts::machine(&machine);
        let text = |id: &str| match facts.fact(id)?.value.value()? {
            FactValue::Text(text) => Some(text.clone()),
            FactValue::Number { .. } => None,
        };
        let is_x86 = text("cpu.family_model_stepping").is_some_and(|numbers| numbers.contains('/'));
        let brand = text("cpu.brand").filter(|_| !is_x86);
        let rows = brand.into_iter().chain(text("cpu.microarchitecture"));
        // `Cortex-A55 (4), Cortex-A76 (4)`.
        let names = rows.flat_map(|row| row.split(", ").map(str::to_owned).collect::<Vec<_>>());
        for name in names {
            let name = name.split(" (").next().unwrap_or_default();
            let is_known =
                matches!(Target::named(name), Ok(_) | Err(Error::OtherArchitecture { .. }));
            assert!(is_known, "{}: `{name}`", path.display());
            count += 1;
        }
    }
    assert!(count >= 15, "{count} names");
    Ok(())
}

fn order() -> Result<(), Failed> {
    let events = skylake();
    let asked = ["mem_load_retired.l1_hit", "ref-cycles", "page-faults", "cycles", "instructions"];
    let found = events.resolve_all(asked).unwrap();
    let expected =
        ["instructions", "cycles", "ref-cycles", "mem_load_retired.l1_hit", "page-faults"];
    assert_eq!(names(&found), expected);
    assert_eq!(found[0].place, CounterPlace::Fixed(0));
    assert_eq!(found[4].place, CounterPlace::Software);
    Ok(())
}

fn described() -> Result<(), Failed> {
    let (_there, machine) = of_files(
        0xcf,
        &[
            ("cpu/type", "4\n"),
            ("cpu/format/event", "config:0-7\n"),
            ("cpu/format/umask", "config:8-15\n"),
            ("cpu/format/frontend", "config1:0-23\n"),
            ("cpu/events/slots", "event=0x00,umask=0x4\n"),
            ("cpu/events/cpu-cycles", "event=0x3c\n"),
            ("cpu/events/topdown-retiring", "event=0x00,umask=0x80\n"),
            ("msr/type", "18\n"),
            ("msr/format/event", "config:0-63\n"),
            ("msr/events/tsc", "event=0x00\n"),
            ("uncore_imc_0/type", "20\n"),
            ("uncore_imc_0/cpumask", "0\n"),
            ("uncore_imc_0/format/event", "config:0-7\n"),
            ("uncore_imc_1/type", "21\n"),
            ("uncore_imc_1/cpumask", "0\n"),
            ("uncore_imc_1/format/event", "config:0-7\n"),
        ],
    );
    let events = Events::of(Target::of(&machine));
    let one = |name: &str| events.resolve(name).unwrap().remove(0);
    let loads = one("mem_load_retired.l1_hit");
    assert_eq!((loads.kind, loads.source), (Some(4), Source::Own));
    assert_eq!((one("cycles").kind, one("cpu-cycles").name.as_str()), (Some(0), "cycles"));
    assert_eq!(one("page-faults").kind, Some(1));
    assert_eq!(
        (one("slots").place, one("cpu/slots/").name.as_str()),
        (CounterPlace::Fixed(3), "slots")
    );
    let share = one("topdown-retiring");
    assert_eq!(share.place, CounterPlace::General { counters: 0, takes: 0 });
    assert!(share.caveats[0].contains("`slots`"));
    assert_eq!(one("cpu/event=0xc6,umask=1,frontend=0x11/").config, [0x1c6, 0x11, 0, 0]);
    let of_msr = one("msr/tsc/");
    assert!(
        !of_msr.by_mode
            && of_msr.scope == EventScope::Thread
            && of_msr.place == CounterPlace::Software
    );
    let both = events.resolve("uncore_imc/event=4/").unwrap();
    assert_eq!(names(&both), ["uncore_imc_0/event=4/", "uncore_imc_1/event=4/"]);
    assert!(both.iter().all(|event| event.scope == EventScope::Shared && event.kind.is_some()));
    let why = |name: &str| events.resolve(name).unwrap_err().to_string();
    assert!(why("msr/tcs/").ends_with("`msr` has no event `tcs` but tsc"), "{}", why("msr/tcs/"));
    assert!(why("cpu/slotz/").ends_with("did you mean `cpu/slots/`?"), "{}", why("cpu/slotz/"));
    let text = why("nobody/event=1/");
    assert!(text.contains("the kernel has no PMU `nobody`; it has cpu, msr, "), "{text}");
    assert!(why("msr/tsc/u").contains("cannot be counted by mode"));
    Ok(())
}

fn hybrid() -> Result<(), Failed> {
    let (_there, machine) = of_files(
        0x97,
        &[
            ("cpu_core/type", "4\n"),
            ("cpu_core/cpus", "0-3\n"),
            ("cpu_atom/type", "10\n"),
            ("cpu_atom/cpus", "4-7\n"),
        ],
    );
    let events = Events::of(Target::of(&machine));
    let found = events.resolve("cycles").unwrap();
    assert_eq!(names(&found), ["cpu_atom/cycles/", "cpu_core/cycles/"]);
    assert_eq!(found[0].config, [10 << 32, 0, 0, 0]);
    assert_eq!(found[1].config, [4 << 32, 0, 0, 0]);
    assert!(found.iter().all(|event| event.kind == Some(0)));
    let found = events.resolve("br_inst_retired.cond:u").unwrap();
    let expected = ["cpu_atom/br_inst_retired.cond/u", "cpu_core/br_inst_retired.cond/u"];
    assert_eq!(names(&found), expected);
    assert_eq!([found[0].config[0], found[1].config[0]], [0x7ec4, 0x11c4]);
    assert_eq!([found[0].kind, found[1].kind], [Some(10), Some(4)]);
    let one = events.resolve("cpu_core/br_inst_retired.cond/").unwrap();
    assert_eq!(names(&one), ["cpu_core/br_inst_retired.cond/"]);
    Ok(())
}

fn guest() -> Result<(), Failed> {
    let machine = capture("vm.capture");
    let events = Events::of(Target::of(&machine));
    assert_eq!(events.resolve("task-clock").unwrap()[0].kind, Some(1));
    let cycles = &events.resolve("cycles").unwrap()[0];
    assert_eq!(cycles.kind, None);
    let of_kernel = events.of_source(Source::Kernel);
    let reason = of_kernel.missing.iter().find(|it| it.what == "events of `cpu`");
    assert!(reason.is_some(), "{:?}", of_kernel.missing);
    Ok(())
}
