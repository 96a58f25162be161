//! Registers that were recorded: read as the driver would tell them, and nothing made of what is not there.

mod made_up;

use std::sync::LazyLock;

use machine::Machine;
use model::record::{PageKind, Presentation, SpeedSelectQuestion};
use proptest::prelude::*;
use sst::change::{What, Wish};
use sst::model::{Domain, DomainKind};
use sst::{Error, Levels, Part, Snapshot, Wanted};

use self::made_up::{LEVELS, PP, compute, dump, lay, registers};

fn all() -> Wanted {
    use Part::{Associations, BaseFreq, Classes, CorePower, Properties, TurboFreq};
    let parts = vec![Properties, BaseFreq, TurboFreq, CorePower, Classes, Associations];
    Wanted { levels: Levels::All, parts, cpus: None }
}

fn rooted(has_places: bool) -> (tempfile::TempDir, Machine) {
    let folder = tempfile::tempdir().unwrap();
    lay(folder.path(), has_places);
    let machine = Machine::rooted(folder.path()).unwrap();
    (folder, machine)
}

fn levels(domain: &Domain) -> Vec<u8> {
    let profiles = domain.profiles.as_ref().unwrap().as_ref().unwrap();
    profiles.levels.iter().map(|level| level.number).collect()
}

/// What `made_up` says, field by field.
fn check(snapshot: &Snapshot) {
    let [cores, io] = snapshot.domains.as_slice() else { panic!("{snapshot:?}") };
    assert_eq!((snapshot.backend, levels(cores), levels(io)), ("tpmi", vec![0, 1], vec![0]));
    assert_eq!((cores.kind(), io.kind()), (DomainKind::Compute, DomainKind::Io));
    for (level, (base, watts, modules)) in LEVELS.into_iter().enumerate() {
        let profiles = cores.profiles.as_ref().unwrap().as_ref().unwrap();
        let properties = profiles.levels[level].properties.as_ref().unwrap();
        let first = properties.base.as_ref().unwrap()[0].frequency.unwrap();
        assert_eq!(u64::from(first.0), base * 100);
        assert_eq!(u64::from(properties.tdp.as_ref().unwrap().0), watts);
        assert_eq!(properties.modules.as_ref().unwrap().0, modules);
        let has = |is: bool| is == (level == 0);
        assert!(has(profiles.levels[level].base_freq.as_ref().unwrap().is_ok()));
        assert!(has(profiles.levels[level].turbo_freq.as_ref().unwrap().is_ok()));
    }
    assert_eq!(cores.core_power.as_ref().unwrap().enabled, Ok(true));
    assert_eq!(io.core_power.as_ref().unwrap().supported, Ok(false));
}

#[test]
fn files_below_a_folder_and_their_capture_say_the_same() {
    let (_folder, machine) = rooted(true);
    let there = sst::read(&machine, &all()).unwrap();
    check(&there);
    let [cores, _] = there.domains.as_slice() else { unreachable!() };
    let classes = cores.associations.as_ref().unwrap().iter();
    let classes: Vec<(u32, u8)> =
        classes.map(|(cpu, class)| (cpu.0, *class.as_ref().unwrap())).collect();
    assert_eq!(classes, [(0, 0), (1, 1), (2, 2), (3, 3)]);
    assert!(there.unplaced.is_empty() && there.missing.is_empty(), "{there:?}");
    let text = recorded::capture(&machine);
    let captured = recorded::parse("test", &text).unwrap();
    assert_eq!(sst::read(&captured, &all()).unwrap(), there, "{text}");
    assert_eq!(recorded::capture(&captured), text);
}

/// Levels are told, and of no CPU that it is in them; and nothing is planned for CPUs that may be anywhere.
#[test]
fn without_their_own_registers_cpus_have_no_place() {
    let (_folder, machine) = rooted(false);
    let snapshot = sst::read(&machine, &all()).unwrap();
    check(&snapshot);
    assert!(snapshot.domains.iter().all(|domain| domain.cpus.is_empty()), "{snapshot:?}");
    let [lost] = snapshot.unplaced.as_slice() else { panic!("{snapshot:?}") };
    assert_eq!(lost.cpus.to_string(), "0-3");
    assert!(lost.reason.why.starts_with("register 54h, which says in which"), "{lost:?}");
    assert!(lost.reason.remedy.as_ref().unwrap().contains("sudo cpudyno capture"), "{lost:?}");
    let named = Wanted { cpus: Some("1".parse().unwrap()), ..all() };
    assert!(matches!(sst::read(&machine, &named), Err(Error::Unplaced { .. })));
    let what = What::Level { level: 1, with_cpus: false };
    let refused = sst::change::expected(&machine, &Wish { what, cpus: None, lenient: false });
    assert!(refused.unwrap_err().to_string().contains("register 54h"));
}

#[test]
fn where_no_registers_were_recorded_it_says_why_and_what_helps() {
    let refused = |machine: &Machine| match sst::read(machine, &all()) {
        Err(Error::Unavailable(reason)) => (reason.why, reason.remedy.unwrap()),
        other => panic!("{other:?}"),
    };
    let (folder, machine) = rooted(true);
    let text = recorded::capture(&machine);
    std::fs::remove_dir_all(folder.path().join("sys/kernel")).unwrap();
    let (why, remedy) = refused(&machine);
    assert!(why.contains("`/sys/kernel/debug/tpmi-*/tpmi-id-05/mem_dump`"), "{why}");
    assert!(remedy.contains("sudo cpudyno capture"), "{remedy}");
    // Of a version that did not look for them.
    let older: String = text
        .lines()
        .filter(|line| !line.contains("/sys/kernel/debug/"))
        .fold(String::new(), |text, line| text + line + "\n");
    let (why, remedy) = refused(&recorded::parse("older", &older).unwrap());
    assert!(why.contains("does not hold `/sys/kernel/debug`"), "{why}");
    assert!(remedy.contains("with this version"), "{remedy}");
}

/// A capture of the machine with another text of registers.
fn bent(text: &str) -> Machine {
    let line = |text: &str| text.trim_end_matches('\n').replace('\\', "\\\\").replace('\n', "\\n");
    let capture = WHOLE.replace(&line(&registers()), &line(text));
    recorded::parse("bent", &capture).unwrap()
}

/// No level is told that the registers do not list, whatever else they say; and there are pages of it.
fn told(machine: &Machine, listed: u64) {
    let Ok(snapshot) = sst::read(machine, &all()) else { return };
    for profiles in snapshot.domains.iter().filter_map(|it| it.profiles.as_ref()?.as_ref().ok()) {
        for level in &profiles.levels {
            assert!(listed >> level.number & 1 == 1, "{level:?}");
        }
    }
    for row in sst::COMMANDS {
        let question = SpeedSelectQuestion { command: row.words.to_owned(), ..Default::default() };
        let look = Presentation { width: 80, verbosity: 1, ..Presentation::of(PageKind::Sst) };
        let answered = sst::speed_select(&snapshot, question, Vec::new());
        report::speed_select::page(&sst::record(machine, answered, Vec::new(), look), 1);
    }
}

/// The capture of the whole machine.
static WHOLE: LazyLock<String> = LazyLock::new(|| recorded::capture(&rooted(true).1));

/// The first level of both power domains ends where its registers do.
#[test]
fn what_was_cut_off_is_not_told() {
    let text = registers();
    for end in (0..text.len()).step_by(7) {
        told(&bent(&text[..end]), 0b11);
    }
    let registers = compute();
    let machine = bent(&dump(&[registers[..PP + 8].to_vec()]));
    let snapshot = sst::read(&machine, &all()).unwrap();
    assert!(snapshot.domains[0].profiles.as_ref().unwrap().is_err(), "{snapshot:?}");
}

proptest! {
    #[test]
    fn bent_registers_are_told_as_they_are(
        words in prop::collection::vec((0..compute().len(), 0..64_u32, any::<u64>()), 1..6),
        is_flip in any::<bool>(),
    ) {
        let mut registers = compute();
        for (place, bit, word) in words {
            registers[place] = if is_flip { registers[place] ^ 1 << bit } else { word };
        }
        let levels = registers.get((registers[0] >> 24 & 0xff) as usize).copied().unwrap_or(0);
        told(&bent(&dump(&[registers])), levels >> 12 & 0xff);
    }

    #[test]
    fn texts_with_damage_tell_no_other_levels(place in 0..registers().len(), with in "[ -~\n]{0,4}") {
        let mut text = registers();
        text.replace_range(place..(place + with.len()).min(text.len()), &with);
        if let Ok(snapshot) = sst::read(&bent(&text), &all()) {
            prop_assert!(snapshot.domains.len() <= 16);
        }
        told(&bent(&text), u64::MAX);
    }
}
