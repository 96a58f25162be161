//! What simulated and captured machines are told.

use std::path::Path;

use checks::{Checked, State};
use machine::Machine;
use model::record::{PageKind, Presentation};
use simulated::Model;

fn all_on(machine: &Machine) -> Vec<Checked> {
    let record = machine::describe(machine, Vec::new(), Presentation::of(PageKind::Doctor));
    checks::of(&record)
}

fn all_of(name: &str) -> Vec<Checked> {
    let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/machines");
    let machine: Machine = if name.starts_with("sim:") {
        recorded::named(name).unwrap()
    } else {
        recorded::open(&captures.join(name).with_extension("capture")).unwrap()
    };
    all_on(&machine)
}

fn differing(all: &[Checked]) -> Vec<&str> {
    let differs = |checked: &&Checked| matches!(checked.state, State::Differs { .. });
    all.iter().filter(differs).map(|checked| checked.check.id.as_str()).collect()
}

/// A machine, and what differs on it.
const MACHINES: &[(&str, &[&str])] = &[
    ("sim:1c", &[]),
    ("sim:4c", &["deep-sleep"]),
    ("sim:laptop", &[]),
    ("sim:faulty", &[]),
    ("sim:hybrid", &["deep-sleep"]),
    ("sim:container", &["deep-sleep"]),
    ("sim:2s-28c", &["deep-sleep"]),
    ("sim:2s-56c", &["deep-sleep"]),
    ("sim:guide", &["deep-sleep"]),
    ("sim:icelake", &["deep-sleep"]),
    ("sim:sapphire", &["deep-sleep"]),
    ("sim:sapphire-locked", &["deep-sleep", "memory-speed"]),
    ("sim:sapphire-dimm", &["deep-sleep", "memory-channels"]),
    ("sim:granite", &["deep-sleep"]),
    ("sim:epyc", &[]),
    ("sim:sierra", &["deep-sleep"]),
    ("sim:quota", &["quota"]),
    ("sim:vm-2c", &[]),
    ("amd", &["governor-follows-load", "driver-amd", "deep-sleep", "smt"]),
    ("arm", &["governor-follows-load", "deep-sleep", "preemption"]),
    (
        "offline",
        &["governor-follows-load", "boost", "idle-disabled", "cpus-offline", "cpus-parameter"],
    ),
    ("snc", &["idle-parameters", "deep-sleep", "smt"]),
    ("vm", &["quota", "cpuset", "guest-halts", "memory-limit"]),
];

#[test]
fn machines_are_told_what_differs_and_nothing_else() {
    for (name, expected) in MACHINES {
        assert_eq!(differing(&all_of(name)), *expected, "{name}");
    }
    let told = |name: &&str| {
        MACHINES.iter().any(|(machine, _)| machine.strip_prefix("sim:") == Some(name))
    };
    let untold: Vec<&str> = simulated::names().filter(|name| !told(name)).collect();
    assert!(untold.is_empty(), "{untold:?}");
}

/// A fault of a machine, and the check that names it.
type Fault = (fn(&mut Model), &'static str);

const FAULTS: &[Fault] = &[
    (|model| model.prochot_hz = Some(0.8e9), "prochot"),
    (|model| model.nmi_watchdog = true, "nmi-watchdog"),
    (|model| model.topology.isolated = "1-2".parse().unwrap(), "isolated-ticks"),
    (|model| model.identity.command_line = Some("mem=4G".to_owned()), "memory-parameter"),
    (|model| model.identity.command_line = Some("idle=poll".to_owned()), "idle-parameters"),
    (|model| model.identity.command_line = Some("init_on_alloc=1".to_owned()), "page-clearing"),
    (|model| model.identity.kernel_version = Some("#1 SMP PREEMPT_RT".to_owned()), "preemption"),
    (
        |model| {
            model.vulnerabilities.insert("mds".into(), "Mitigation: Clear CPU buffers".into());
        },
        "mitigations",
    ),
    (
        |model| {
            let (page_bytes, reserved, free) = (1 << 30, 8, 8);
            model.huge_pages = vec![simulated::HugePages { page_bytes, reserved, free }];
        },
        "huge-pages-unused",
    ),
];

#[test]
fn a_fault_of_a_machine_is_named() {
    let root = |change: fn(&mut Model)| {
        let mut model = Model::named("laptop").unwrap();
        model.faults.retain(|fault| *fault != simulated::Fault::PlainUser);
        change(&mut model);
        all_on(&Machine::from(model))
    };
    assert_eq!(differing(&root(|_| {})), [""; 0]);
    for (change, named) in FAULTS {
        assert_eq!(differing(&root(*change)), [*named]);
    }
    let mut epyc = Model::named("epyc").unwrap();
    epyc.prochot_hz = Some(0.8e9);
    assert_eq!(differing(&all_on(&Machine::from(epyc))), ["p-state-limit"]);
}

#[test]
fn what_a_guest_is_not_shown_is_unknown_and_says_where_to_look() {
    let all = all_of("sim:vm-2c");
    for id in ["governor", "epp", "boost", "clock-limit", "deep-sleep"] {
        let checked = all.iter().find(|checked| checked.check.id == id).unwrap();
        let State::Unknown(reason) = &checked.state else { panic!("{id}: {:?}", checked.state) };
        assert_eq!(reason.why, "the hypervisor does not show it to this guest", "{id}");
        assert!(reason.remedy.is_some(), "{id}");
    }
    for id in ["prochot", "memory-channels", "idle-driver"] {
        let checked = all.iter().find(|checked| checked.check.id == id).unwrap();
        assert_eq!(checked.state, State::DoesNotApply, "{id}");
    }
}
