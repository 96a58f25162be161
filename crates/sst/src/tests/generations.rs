//! What is asked of which generation, ioctl by ioctl.

use machine::Machine;
use model::CpuId;
use simulated::Model;
use simulated::firmware::SimulatedIsst;
use sys::isst::REQUESTS;

use super::{GUIDE, all, command, mhz, read};
use crate::model::{DomainKind, Priority, Snapshot};
use crate::read::Wanted;
use crate::trace::Calls;

const GRANITE: &str = include_str!("../../../simulated/src/machines/granite.toml");

/// Two packages; domains 0 and 1 with four modules of two threads, 2 and 3 for I/O.
fn system_b() -> Model {
    let text = GRANITE
        .replace("cores_per_package = 32", "cores_per_package = 8")
        .replace("modules = [11, 11, 10]", "modules = [4, 4]")
        .replace("cores = \"1-2,5,8\"", "cores = \"0-1\"")
        .replace("high_mhz = 2400", "high_mhz = 3000")
        .replace("low_mhz = 2000", "low_mhz = 2400");
    Model::parse("b.toml", &text).unwrap()
}

/// The guide's system with a processor whose classes are behind the mailbox.
fn skylake_server() -> Model {
    Model::parse("x.toml", &GUIDE.replace("model = 106", "model = 85")).unwrap()
}

/// A structure is written to the driver, as its bytes.
fn set(model: &Model, number: usize, bytes: &[u8]) {
    let mut argument = bytes.to_vec();
    SimulatedIsst::new(model).call(REQUESTS[number], &mut argument).unwrap();
}

fn asked(machine: &mut Machine, wanted: &Wanted) -> (Snapshot, Vec<String>) {
    let calls = Calls::of(machine);
    let snapshot = crate::read(machine, wanted).unwrap();
    (snapshot, calls.lines())
}

fn of(cpus: &str, words: &str) -> Wanted {
    Wanted { cpus: Some(cpus.parse().unwrap()), ..command(words) }
}

#[test]
fn power_domains_are_those_of_the_golden_vectors() {
    let mut machine = Machine::from(system_b());
    let (snapshot, lines) = asked(&mut machine, &all());
    for cpu in 0..32u32 {
        let (domain, module, thread) = (cpu % 8 / 4, cpu % 4, cpu / 16);
        let number = domain << 11 | module << 3 | thread;
        let place = format!("CPU {cpu}: {number:#x}");
        let mut told = lines.iter().flat_map(|line| line.trim().split(", "));
        assert!(told.any(|it| it == place), "{place} is missing: {lines:#?}");
    }
    assert!(lines.contains(&"instances [00 04 0f] = 0".to_owned()), "{lines:#?}");
    assert!(lines.contains(&"instances [01 04 0f] = 0".to_owned()), "{lines:#?}");
    let kinds: Vec<DomainKind> = snapshot.domains.iter().map(super::Domain::kind).collect();
    let package = [DomainKind::Compute, DomainKind::Compute, DomainKind::Io, DomainKind::Io];
    assert_eq!(kinds, [package, package].concat());
    let first = &snapshot.domains[0];
    let profiles = first.profiles.as_ref().unwrap().as_ref().unwrap();
    assert_eq!((profiles.mask, profiles.highest), (3, 1));
    let split = profiles.level(0).unwrap().base_freq.as_ref().unwrap().as_ref().unwrap();
    assert_eq!((split.modules.0, mhz(split.high), mhz(split.low)), (3, 3000, 2400));
    assert_eq!(first.cpus_of(split.modules).to_string(), "0-1,16-17");
    // CPU 5 is a thread of core 1 of domain 1, as CPU 21 is.
    let second = &snapshot.domains[1];
    let members: Vec<(u32, u32)> = second.cpus.iter().map(|it| (it.cpu.0, it.module)).collect();
    assert!(members.contains(&(5, 1)) && members.contains(&(21, 1)), "{members:?}");
}

#[test]
fn classes_of_power_domains_are_read_where_the_golden_vectors_write_them() {
    let model = system_b();
    // The class of CPU 5, the lowest frequency of class 0, ordered priorities, base frequencies.
    set(&model, 8, &[1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 2, 0]);
    for domain in 0..4 {
        set(&model, 7, &[1, 0, domain, 0, 0xdc, 0x05, 0x9c, 0x63, 0, 0]);
        set(&model, 6, &[1, 0, domain, 1, 0, 1]);
    }
    set(&model, 11, &[0, 0, 1]);
    let mut machine = Machine::from(model);
    let (snapshot, lines) = asked(&mut machine, &of("5", "core-power get-assoc"));
    let [domain] = snapshot.domains.as_slice() else { panic!("{snapshot:?}") };
    assert_eq!((domain.package, domain.number), (0, 1));
    assert_eq!(domain.associations, Some(vec![(CpuId(5), Ok(2))]));
    let end = lines.len() - 2;
    assert_eq!(lines[end..], ["associations of 1 = 0", "  00 01 01 00 02"], "{lines:#?}");
    let snapshot = read(&machine, &all()).unwrap();
    let state = |domain: usize| snapshot.domains[domain].core_power.clone().unwrap();
    assert_eq!((state(0).enabled, state(0).priority), (Ok(true), Ok(Priority::Ordered)));
    assert_eq!(state(4).enabled, Ok(false));
    let class = snapshot.domains[0].classes.as_ref().unwrap()[0].clone().unwrap();
    assert_eq!((class.lowest.0, class.highest), (1500, None));
    let on = |domain: usize| {
        snapshot.domains[domain].profiles.clone().unwrap().unwrap().on.unwrap().base_freq
    };
    assert_eq!((on(0), on(1)), (true, false));
}

#[test]
fn skylake_servers_have_their_classes_behind_the_mailbox() {
    let model = skylake_server();
    // The class of core 3 becomes 2, class 1 what the golden vectors make it.
    let entry = |command: [u8; 4], parameter: u16, request: u32| {
        let mut bytes = vec![1, 0, 0, 0, 0, 0, 0, 0];
        bytes.extend(u32::from(parameter).to_le_bytes());
        bytes.extend(request.to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(command);
        bytes.extend([0; 4]);
        bytes
    };
    set(&model, 3, &entry([0xd0, 0, 0, 0], 0x103, 0x0002_0000));
    set(&model, 3, &entry([0xd0, 0, 1, 0], 0x101, 0x001e_1452));
    let mut machine = Machine::from(model);
    let (snapshot, lines) = asked(&mut machine, &of("3", "core-power get-assoc"));
    assert_eq!(snapshot.domains[0].associations, Some(vec![(CpuId(3), Ok(2))]));
    let end = lines.len() - 2;
    assert_eq!(lines[end..], ["mailbox of 1 = 1", "  CPU 0 d0/00 (3h): 0x00020000"], "{lines:#?}");
    let (snapshot, lines) = asked(&mut machine, &of("3", "core-power get-config"));
    let class = snapshot.domains[0].classes.as_ref().unwrap()[1].clone().unwrap();
    assert_eq!((class.energy_preference, class.weight, class.lowest.0), (Some(2), 5, 2000));
    assert_eq!(mhz(class.highest), 3000);
    assert!(lines.contains(&"  CPU 0 d0/01 (1h): 0x001e1452".to_owned()), "{lines:#?}");
    // Registers in memory are never asked for.
    let (snapshot, lines) = asked(&mut machine, &all());
    assert!(!lines.iter().any(|line| line.starts_with("mmio")), "{lines:#?}");
    let profiles = snapshot.domains[1].profiles.as_ref().unwrap().as_ref().unwrap();
    assert_eq!(profiles.levels.len(), 5);
    // What the code of a memory rate means is not known there.
    assert!(profiles.levels[0].properties.as_ref().unwrap().memory.is_err());
}

/// Where firmware describes no levels, the kernel and registers say what holds.
#[test]
fn skylake_servers_without_levels_say_what_holds() {
    let text =
        GUIDE.replace("model = 106", "model = 85").replace("dynamic = true", "dynamic = false");
    let text = format!("{text}\n[[speed_select.fault]]\non = \"7f/0a\"\ndoes = \"refused\"\n");
    let machine = Machine::from(Model::parse("x.toml", &text).unwrap());
    let snapshot = read(&machine, &command("perf-profile info")).unwrap();
    let profiles = snapshot.domains[0].profiles.as_ref().unwrap().as_ref().unwrap();
    assert!(!profiles.dynamic);
    let properties = profiles.level(0).unwrap().properties.as_ref().unwrap();
    let base = properties.base.as_ref().unwrap();
    assert_eq!(base.iter().map(|it| mhz(it.frequency)).collect::<Vec<_>>(), [2600]);
    let limits = properties.turbo[0].limits.as_ref().unwrap().map(mhz);
    assert_eq!(limits, [3200, 3100, 3100, 3100, 3100, 3100, 3100, 3100]);
}
