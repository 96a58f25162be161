//! What is missing or strange has its reason, and is in nobody's way.

use std::collections::BTreeMap;

use machine::isst::{Message, RecordedIsst, Refusal};
use machine::{Isst, Machine, Tree};
use model::{Obstacle, Reading};
use sys::errno::{EACCES, ENODEV, EPERM};

use super::bent::{Bend, bent};
use super::{GUIDE, all, command, described, mhz, read, simulated};
use crate::change::{What, Wish, planned};
use crate::error::Error;
use crate::model::{Domain, DomainKind, Feature, Snapshot};
use crate::read::{Levels, Wanted};

const GRANITE: &str = include_str!("../../../simulated/src/machines/granite.toml");

fn broken(text: &str, fault: &str) -> Machine {
    described(&format!("{text}\n[[speed_select.fault]]\n{fault}\n"))
}

fn kinds(snapshot: &Snapshot) -> Vec<DomainKind> {
    snapshot.domains.iter().map(Domain::kind).collect()
}

#[test]
fn a_package_whose_power_domains_are_not_listed_is_named() {
    let half = broken(GRANITE, "on = \"tpmi/5\"\ndoes = \"refused\"\nafter = 1");
    let snapshot = read(&half, &command("core-power info")).unwrap();
    assert!(snapshot.domains.iter().all(|domain| domain.package == 0));
    let [missing] = snapshot.missing.as_slice() else { panic!("{snapshot:?}") };
    assert_eq!(missing.what, "power domains of package 1");
    let [lost] = snapshot.unplaced.as_slice() else { panic!("{snapshot:?}") };
    assert_eq!((lost.cpus.to_string().as_str(), &lost.reason.why), ("32-63,96-127", &missing.why));
    let none = read(&broken(GRANITE, "on = \"tpmi/5\"\ndoes = \"refused\""), &all());
    let Err(Error::Unavailable(reason)) = none else { panic!("{none:?}") };
    assert!(reason.why.contains("lists no power domains"), "{reason:?}");
}

/// The register of CPU 5 cannot be read: the driver says all ones.
fn without_cpu_5(message: &mut Message, answer: Result<u32, Refusal>) -> Result<u32, Refusal> {
    if message.request().number == 1 {
        let entries = message.argument()[4..].chunks_exact_mut(8);
        for entry in entries.filter(|entry| entry[..4] == [5, 0, 0, 0]) {
            entry[4..].fill(0xff);
        }
    }
    answer
}

#[test]
fn cpus_that_cannot_be_placed_are_named_with_the_reason() {
    for name in ["guide", "granite"] {
        let machine = || bent(simulated(name), without_cpu_5);
        let some = |cpus: &str| {
            let wanted = Wanted { cpus: Some(cpus.parse().unwrap()), ..command("core-power info") };
            read(&machine(), &wanted)
        };
        // Whoever names CPUs wants all of them.
        for cpus in ["5", "5,6"] {
            let Err(Error::Unplaced { cpus, reason }) = some(cpus) else { panic!("{cpus}") };
            assert_eq!(cpus.to_string(), "5");
            assert!(reason.why.contains("could not read the registers"), "{reason:?}");
        }
        assert_eq!(some("6").unwrap().domains.len(), 1);
        let whole = read(&machine(), &command("core-power info")).unwrap();
        assert_eq!(whole.unplaced.len(), 1);
    }
    // It may be in any power domain, those without CPUs among them.
    let snapshot = read(&bent(simulated("granite"), without_cpu_5), &command("core-power info"));
    assert_eq!(kinds(&snapshot.unwrap())[3], DomainKind::Unknown);
}

#[test]
fn domains_for_io_are_those_where_no_cpu_can_be() {
    let (compute, io) = (DomainKind::Compute, DomainKind::Io);
    let snapshot = read(&simulated("granite"), &command("core-power get-config")).unwrap();
    assert_eq!(kinds(&snapshot)[..5], [compute, compute, compute, io, io]);
    // A CPU that was never online may be anywhere.
    let text = GRANITE.replace("threads_per_core = 2", "threads_per_core = 2\noffline = \"40\"");
    let snapshot = read(&described(&text), &command("core-power get-config")).unwrap();
    assert_eq!(kinds(&snapshot)[3..5], [DomainKind::Unknown, DomainKind::Unknown]);
    // The cores of levels tell it all the same.
    let snapshot = read(&described(&text), &command("perf-profile info")).unwrap();
    assert_eq!(kinds(&snapshot)[3..5], [io, io]);
}

#[test]
fn levels_that_cannot_be_chosen_are_read_all_the_same() {
    fn disabled(message: &mut Message, answer: Result<u32, Refusal>) -> Result<u32, Refusal> {
        if message.request().number == 9 {
            message.argument()[8] = 0;
        }
        answer
    }
    let machine = bent(simulated("granite"), disabled);
    let snapshot = read(&machine, &command("perf-profile info")).unwrap();
    let profiles = snapshot.domains[0].profiles.as_ref().unwrap().as_ref().unwrap();
    assert!(!profiles.dynamic);
    assert_eq!(profiles.levels.len(), 2);
}

#[test]
fn a_power_domain_without_the_level_is_in_nobodys_way() {
    fn level_0_alone(message: &mut Message, answer: Result<u32, Refusal>) -> Result<u32, Refusal> {
        if message.request().number == 9 && message.argument()[1] == 3 {
            message.argument()[4] = 1;
        }
        answer
    }
    let machine = bent(simulated("granite"), level_0_alone);
    let wanted = Wanted { levels: Levels::Only(1), ..command("perf-profile info") };
    let snapshot = read(&machine, &wanted).unwrap();
    let levels = |domain: usize| {
        snapshot.domains[domain].profiles.as_ref().unwrap().as_ref().unwrap().levels.len()
    };
    assert_eq!((levels(0), levels(3), levels(4)), (1, 0, 1));
}

#[test]
fn holes_are_known_whichever_levels_are_asked_for() {
    let machine = simulated("sapphire");
    for levels in [Levels::Summary, Levels::Current, Levels::Only(3), Levels::All] {
        let wanted = Wanted { levels, ..command("perf-profile info") };
        let snapshot = read(&machine, &wanted).unwrap();
        let profiles = snapshot.domains[0].profiles.as_ref().unwrap().as_ref().unwrap();
        assert_eq!(profiles.numbers().collect::<Vec<_>>(), [0, 3, 4], "{levels:?}");
    }
}

#[test]
fn refusals_have_words() {
    const CAPABILITY: &str = "`sudo` gives it to users, `--cap-add SYS_ADMIN` to containers";
    const ROOT: &str = "run as root";
    const AGAIN: &str = "try again";
    fn refuse(code: i32) -> Refusal {
        Refusal::Errno(code)
    }
    let bends: [(Bend, &str, &str); 3] = [
        (
            |m, a| if m.request().number == 3 { Err(refuse(EPERM)) } else { a },
            "SYS_ADMIN",
            CAPABILITY,
        ),
        (|m, a| if m.request().number == 3 { Err(refuse(EACCES)) } else { a }, "this user", ROOT),
        (|m, a| if m.request().number == 3 { Err(refuse(ENODEV)) } else { a }, "or removed", AGAIN),
    ];
    for (bend, word, helps) in bends {
        let machine = bent(simulated("guide"), bend);
        let snapshot = read(&machine, &command("perf-profile get-config-levels")).unwrap();
        let reason = snapshot.domains[0].profiles.as_ref().unwrap().as_ref().unwrap_err();
        assert_eq!(reason.obstacle, Obstacle::Permission, "{reason:?}");
        assert!(reason.why.contains(word), "{reason:?}");
        assert_eq!(reason.remedy.as_deref(), Some(helps), "{reason:?}");
    }
}

#[test]
fn the_register_that_locks_levels_is_read() {
    let lock = |name: &str| {
        let snapshot = read(&simulated(name), &command("perf-profile get-lock-status")).unwrap();
        let profiles = snapshot.domains[0].profiles.clone().unwrap().unwrap();
        (profiles.locked, profiles.locked_by_register)
    };
    assert_eq!(lock("sapphire-locked"), (true, Some(Ok(true))));
    assert_eq!(lock("guide"), (false, Some(Ok(false))));
    assert_eq!(lock("sierra"), (true, None));
}

#[test]
fn uncore_frequencies_are_asked_the_older_way_where_the_newer_fails() {
    // Both packages answer whether they know the newer question; then it fails, and again when asked alone.
    let machine = broken(GUIDE, "on = \"7f/0c\"\ndoes = \"refused\"\nafter = 2\ntimes = 2");
    let snapshot = read(&machine, &command("perf-profile info")).unwrap();
    let profiles = snapshot.domains[0].profiles.as_ref().unwrap().as_ref().unwrap();
    let fabric = |level: usize| {
        let fabric =
            profiles.levels[level].properties.as_ref().unwrap().fabrics.clone().unwrap()[0];
        [fabric.lowest, fabric.guaranteed, fabric.highest].map(mhz)
    };
    assert_eq!((fabric(0), fabric(1)), ([0, 1400, 2400], [800, 1400, 2400]));
}

#[test]
fn groups_of_chosen_cores_end_where_they_make_no_sense() {
    fn leftover(message: &mut Message, answer: Result<u32, Refusal>) -> Result<u32, Refusal> {
        if message.request().number == 16 {
            // The fourth group is no larger than the third.
            message.argument()[28] = 7;
            message.argument()[44..46].copy_from_slice(&3600u16.to_le_bytes());
        }
        answer
    }
    fn fourth(message: &mut Message, answer: Result<u32, Refusal>) -> Result<u32, Refusal> {
        if message.request().number == 16 {
            message.argument()[28] = 30;
            message.argument()[44..46].copy_from_slice(&3600u16.to_le_bytes());
        }
        answer
    }
    let groups = |bend: Bend| {
        let snapshot =
            read(&bent(simulated("granite"), bend), &command("turbo-freq info")).unwrap();
        let profiles = snapshot.domains[0].profiles.clone().unwrap().unwrap();
        let of = profiles.level(0).unwrap().turbo_freq.clone().unwrap().unwrap();
        of.buckets.iter().map(|bucket| bucket.cores).collect::<Vec<_>>()
    };
    assert_eq!(groups(leftover), [8, 16, 24]);
    assert_eq!(groups(fourth), [8, 16, 24, 30]);
}

/// Files with other base frequencies.
struct Bases {
    tree: Box<dyn Tree>,
    kilohertz: BTreeMap<String, String>,
}

impl Tree for Bases {
    fn read(&self, path: &str) -> Reading<String> {
        self.kilohertz.get(path).cloned().map_or_else(|| self.tree.read(path), Ok)
    }

    fn list(&self, path: &str) -> Reading<Vec<String>> {
        self.tree.list(path)
    }
}

fn cascade_lake_n(brand: &str) -> Machine {
    with_bases(brand, "2800000")
}

/// Some cores have that base frequency in kHz.
fn with_bases(brand: &str, raised: &str) -> Machine {
    let (before, _) = GUIDE.split_once("[speed_select]").unwrap();
    let (_, after) = GUIDE.split_once("\n[clock]\n").unwrap();
    let text = format!("{before}\n[clock]\n{after}")
        .replace("model = 106", "model = 85")
        .replace("stepping = 6", "stepping = 7")
        .replace("SIMULATED 2 x 14 cores", brand);
    let machine = described(&text);
    let base = |cpu: u32| {
        let high = [5, 6, 8, 13].contains(&(cpu % 14));
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/base_frequency");
        (path, (if high { raised } else { "2100000" }).to_owned())
    };
    let kilohertz = (0..56).map(base).collect();
    Machine { tree: Box::new(Bases { tree: machine.tree, kilohertz }), ..machine }
}

#[test]
fn cascade_lake_n_is_known_by_its_base_frequencies() {
    let machine = cascade_lake_n("SIMULATED Xeon Gold 6252N CPU @ 2.30GHz");
    let snapshot = read(&machine, &command("base-freq info")).unwrap();
    assert_eq!((snapshot.backend, snapshot.domains.len()), ("cpufreq", 2));
    let domain = &snapshot.domains[0];
    let profiles = domain.profiles.as_ref().unwrap().as_ref().unwrap();
    let level = profiles.level(0).unwrap();
    assert_eq!(level.features.as_ref().unwrap().base_freq, Feature::Enabled);
    let split = level.base_freq.as_ref().unwrap().as_ref().unwrap();
    assert_eq!((mhz(split.high), mhz(split.low)), (2800, 2100));
    assert_eq!(domain.cpus_of(split.modules).to_string(), "5-6,8,13,33-34,36,41");
    let snapshot = read(&machine, &command("perf-profile info")).unwrap();
    let profiles = snapshot.domains[1].profiles.as_ref().unwrap().as_ref().unwrap();
    let properties = profiles.level(0).unwrap().properties.as_ref().unwrap();
    assert_eq!(properties.tdp_ratio, Ok(23));
    let level = Wanted { levels: Levels::Only(1), ..command("base-freq info") };
    assert!(matches!(read(&machine, &level), Err(Error::Level { level: 1, .. })));
    // Where the setup leaves all alike, nobody is raised.
    let alike = with_bases("SIMULATED Xeon Gold 6252N CPU @ 2.30GHz", "2100000");
    let snapshot = read(&alike, &command("base-freq info")).unwrap();
    let profiles = snapshot.domains[0].profiles.as_ref().unwrap().as_ref().unwrap();
    let level = profiles.level(0).unwrap();
    assert_eq!(level.features.as_ref().unwrap().base_freq, Feature::Disabled);
    assert_eq!(level.base_freq.as_ref().unwrap().as_ref().unwrap().modules.count(), 0);
    // Others of that model have no such thing.
    let other =
        read(&cascade_lake_n("SIMULATED Xeon Gold 6252 CPU @ 2.30GHz"), &command("base-freq info"));
    assert!(matches!(other, Err(Error::Unavailable(_))), "{other:?}");
}

#[test]
fn cascade_lake_n_has_limits_of_the_clock_alone() {
    let machine = cascade_lake_n("SIMULATED Xeon Gold 6252N CPU @ 2.30GHz");
    let levers = levers::port::of(&machine).unwrap();
    let plan = |what| {
        let wish = Wish { what, cpus: Some("0,5".parse().unwrap()), lenient: false };
        planned(&machine, &*levers, &wish, false)
    };
    let enabled = plan(What::BaseFreq { on: true, auto: false }).unwrap();
    let limits = enabled.changes.iter().chain(&enabled.already);
    let limits: Vec<String> = limits.map(|it| format!("{}: {}", it.object, it.wanted)).collect();
    for (cpu, khz) in [(0, 2_100_000), (5, 2_800_000)] {
        for file in ["scaling_max_freq", "scaling_min_freq"] {
            let line = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/{file}: {khz}");
            assert!(limits.contains(&line), "{line}: {limits:?}");
        }
    }
    let refused = plan(What::TurboLimits(1)).unwrap_err().to_string();
    assert!(refused.contains("has no interface of Speed Select"), "{refused}");
}

/// Two packages in debugfs; the registers of the first cannot be read.
struct Dumps;

impl Tree for Dumps {
    fn read(&self, path: &str) -> Reading<String> {
        if path.contains("80:03.1") && path.ends_with("mem_dump") {
            return Ok("TPMI Instance:0\n00000000: 00000001 00000000\n".to_owned());
        }
        Err(model::Unavailable::new(Obstacle::Permission, "registers", "it is root's"))
    }

    fn list(&self, path: &str) -> Reading<Vec<String>> {
        let devices = ["clk", "tpmi-0000:00:03.1", "tpmi-0000:80:03.1", "tpmi-0000:ff:03.1"];
        let names: &[&str] = match path.strip_prefix("/sys/kernel/debug") {
            Some("") => &devices,
            // It has other features.
            Some(other) if other.contains("ff:03.1") => &["tpmi-id-02"],
            _ => &["tpmi-id-05"],
        };
        Ok(names.iter().map(|name| (*name).to_owned()).collect())
    }
}

#[test]
fn a_package_whose_registers_cannot_be_read_keeps_its_number() {
    let recorded = RecordedIsst::new(Dumps, simulated("granite").msr);
    let device = recorded.open().unwrap();
    let valid = |package| device.instances(package).map(|it| it.valid);
    assert_eq!((valid(0), valid(1)), (Ok(0), Ok(1)));
    assert!(valid(2).is_err());
}

/// Devices of two packages, of which the first on the bus is the second.
struct Swapped;

impl Tree for Swapped {
    fn read(&self, path: &str) -> Reading<String> {
        let second = path.contains("00:03.1");
        let words = match (path.contains("tpmi-id-81"), second) {
            (true, true) => "00000002 00000000 00018019 8000001c",
            (true, false) => "00000002 00000000 00000019 8000001c",
            (false, true) => "00000001 00000000",
            (false, false) => "000000ff 00000000",
        };
        Ok(format!("TPMI Instance:0\n00000000: {words}\n"))
    }

    fn list(&self, path: &str) -> Reading<Vec<String>> {
        let names: &[&str] = match path {
            "/sys/kernel/debug" => &["tpmi-0000:00:03.1", "tpmi-0000:80:03.1"],
            _ => &["tpmi-id-05", "tpmi-id-81"],
        };
        Ok(names.iter().map(|name| (*name).to_owned()).collect())
    }
}

#[test]
fn a_device_says_which_package_is_its_own() {
    let recorded = RecordedIsst::new(Swapped, simulated("granite").msr);
    let device = recorded.open().unwrap();
    let valid = |package| device.instances(package).map(|it| it.valid);
    assert_eq!((valid(0), valid(1)), (Ok(0), Ok(1)));
}
