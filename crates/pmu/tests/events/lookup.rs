//! Names, patterns and codes, on simulated machines, captures and CPUs that are not here.

use std::path::Path;

use libtest_mimic::Failed;
use machine::Machine;
use pmu::events::{Encoded, Error, Events, Modes, Place, Scope, Source, Target};

use super::{Case, Need};

pub(super) const CASES: &[Case] = &[
    ("the_patterns_of_the_seed_find_their_events", Need::Nothing, patterns),
    ("what_means_nothing_is_an_error_with_near_names", Need::Nothing, unknown),
    ("codes_are_what_they_say", Need::Nothing, codes),
    ("modifiers_choose_modes", Need::Nothing, modifiers),
    ("fixed_counters_come_first", Need::Nothing, order),
    ("the_kernel_names_events_of_a_capture", Need::Nothing, captured),
    ("a_captured_hybrid_has_one_event_for_each_type_of_core", Need::Nothing, hybrid),
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
    Machine::named(&folder.join(name).display().to_string()).unwrap()
}

fn patterns() -> Result<(), Failed> {
    let events = skylake();
    let found = events.resolve("retired.*all_branches$").unwrap();
    assert_eq!(
        names(&found)[..2],
        ["br_misp_retired.all_branches", "br_inst_retired.all_branches"]
            .map(|_| "")
            .iter()
            .zip(names(&found))
            .map(|(_, n)| n)
            .collect::<Vec<_>>()[..2]
    );
    for name in ["br_inst_retired.all_branches", "br_misp_retired.all_branches"] {
        assert!(names(&found).contains(&name), "{found:?}");
    }
    let found = events.resolve("MEM_LOAD_RETIRED.L._HIT|nothing").unwrap();
    let hits = ["mem_load_retired.l1_hit", "mem_load_retired.l2_hit", "mem_load_retired.l3_hit"];
    assert_eq!(names(&found), hits);
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
    assert!(
        text.starts_with("cannot find events by `nothing.*at_all`: it fits none of "),
        "{text}"
    );
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

fn order() -> Result<(), Failed> {
    let events = skylake();
    let asked = ["mem_load_retired.l1_hit", "ref-cycles", "page-faults", "cycles", "instructions"];
    let found = events.resolve_all(asked).unwrap();
    let expected =
        ["instructions", "cycles", "ref-cycles", "mem_load_retired.l1_hit", "page-faults"];
    assert_eq!(names(&found), expected);
    assert_eq!(found[0].place, Place::Fixed(0));
    assert_eq!(found[4].place, Place::Software);
    Ok(())
}

fn captured() -> Result<(), Failed> {
    let machine = capture("granite-rapids.capture");
    let events = Events::of(Target::of(&machine));
    let one = |name: &str| events.resolve(name).unwrap().remove(0);
    let loads = one("mem_load_retired.l1_hit");
    assert_eq!((loads.kind, loads.source), (Some(4), Source::Own));
    assert_eq!(one("cycles").kind, Some(0));
    assert_eq!(one("page-faults").kind, Some(1));
    let of_msr = one("msr/tsc/");
    assert!(!of_msr.by_mode && of_msr.scope == Scope::Thread && of_msr.place == Place::Software);
    let why = events.resolve("msr/tcs/").unwrap_err().to_string();
    assert!(why.contains("did you mean `msr/tsc/`?"), "{why}");
    let why = events.resolve("nobody/event=1/").unwrap_err().to_string();
    assert!(why.contains("the kernel has no PMU `nobody`; it has "), "{why}");
    Ok(())
}

fn hybrid() -> Result<(), Failed> {
    let machine = capture("hybrid.capture");
    let events = Events::of(Target::of(&machine));
    let found = events.resolve("cycles").unwrap();
    assert_eq!(names(&found), ["cpu_atom/cycles/", "cpu_core/cycles/"]);
    for event in &found {
        let kind = events.target().cores().find(|(pmu, _)| event.pmu.as_deref() == Some(*pmu));
        let kind = u64::from(kind.unwrap().1.unwrap());
        assert_eq!((event.kind, event.config[0]), (Some(0), kind << 32));
    }
    let found = events.resolve("br_inst_retired.cond").unwrap();
    assert_eq!(found.len(), 2);
    assert_ne!(found[0].config, found[1].config);
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
