use firmware::{Array, Device, ErrorCorrection, FormFactor, MemoryTable, MemoryType, Size};
use model::record::Fact;
use model::{AS_ROOT, Known, Obstacle, Reading, Seconds, Unavailable};
use simulated::files::digits_of;
use simulated::{Fault, Files, Model};

use super::{check_absences, machine_of, said, simulated};
use crate::disturbances::{findings, read};
use crate::facts;
use crate::ports::{Machine, Tree};

const TABLES: &str = "/sys/firmware/dmi/tables/DMI";
const CONTROLLER: &str = "/sys/devices/system/edac/mc/mc0";
const IDS: [&str; 7] = [
    "memory.dimms",
    "memory.slots_empty",
    "memory.channels",
    "memory.speed",
    "memory.speed_rated",
    "memory.ecc",
    "memory.disputed",
];

fn of(machine: &Machine) -> Vec<Fact> {
    let facts = facts::some(machine, &IDS);
    check_absences(&facts);
    facts
}

fn absence<'a>(facts: &'a [Fact], id: &str) -> &'a Unavailable {
    match &facts.iter().find(|fact| fact.id == id).unwrap().value {
        Known::No { unavailable } => unavailable,
        Known::Yes(value) => panic!("{id}: {value:?}"),
    }
}

/// Slots of these names with 16 GiB of DDR4 each, but for the empty ones, which end in `-`.
fn table(names: &[&str]) -> MemoryTable {
    let device = |name: &&str| Device {
        handle: 1,
        array: 0,
        total_width_bits: Some(72),
        data_width_bits: Some(64),
        size: if name.ends_with('-') { Size::Empty } else { Size::Bytes(16 << 30) },
        form_factor: FormFactor(0x09),
        locator: name.trim_end_matches('-').to_owned(),
        bank: String::new(),
        kind: MemoryType::named("DDR4").unwrap(),
        rated: Some(3_200_000_000),
        configured: Some(2_933_000_000),
        ranks: None,
    };
    let correction = ErrorCorrection(5);
    let array = Array { handle: 0, location: 3, usage: 3, correction, devices: 2 };
    MemoryTable { arrays: vec![array], devices: names.iter().map(device).collect() }
}

fn with_table(names: &[&str]) -> Files {
    let mut files = Files::default();
    files.put(TABLES, &digits_of(&table(names).to_bytes()));
    files
}

/// Two DIMMs behind a controller of two channels, of which the second one had an error.
fn put_edac(files: &mut Files, mebibytes: u64, errors: u32) {
    for file in ["ce_noinfo_count", "ue_noinfo_count", "ue_count"] {
        files.put(format!("{CONTROLLER}/{file}"), "0");
    }
    files.put(format!("{CONTROLLER}/ce_count"), &errors);
    files.put(format!("{CONTROLLER}/max_location"), "channel 1 slot 1");
    for (channel, errors) in [(0, 0), (1, errors)] {
        for (file, text) in [
            ("size", mebibytes.to_string()),
            ("dimm_label", format!("P1-DIMM{channel}")),
            ("dimm_location", format!("channel {channel} slot 0")),
            ("dimm_mem_type", "Registered-DDR4".to_owned()),
            ("dimm_edac_mode", "SECDED".to_owned()),
            ("dimm_ce_count", errors.to_string()),
            ("dimm_ue_count", "0".to_owned()),
        ] {
            files.put(format!("{CONTROLLER}/dimm{channel}/{file}"), &text);
        }
    }
}

/// Files of which a plain user may read all but firmware's tables.
struct Plain(Files);

impl Tree for Plain {
    fn read(&self, path: &str) -> Reading<String> {
        if path == TABLES {
            let refused = Unavailable::new(Obstacle::Permission, path, "this user may not read it");
            return Err(refused.with_remedy(AS_ROOT));
        }
        self.0.read(path)
    }

    fn list(&self, path: &str) -> Reading<Vec<String>> {
        self.0.list(path)
    }
}

#[test]
fn servers_say_what_is_in_their_slots() {
    let facts = of(&simulated("sapphire-dimm"));
    assert_eq!(said(&facts, "memory.dimms"), "15 of 16 slots: 15 x 32 GiB DDR5 at 4800 MT/s");
    assert_eq!(said(&facts, "memory.slots_empty"), "1 count");
    assert_eq!(said(&facts, "memory.channels"), "15 of 16 (empty: CPU2_DIMM_C1)");
    assert_eq!(said(&facts, "memory.ecc"), "multi-bit ECC");
    assert_eq!(said(&facts, "memory.disputed"), "none");
    let facts = of(&simulated("sapphire-locked"));
    assert_eq!(said(&facts, "memory.channels"), "8 of 8");
    assert_eq!(said(&facts, "memory.speed"), "4800000000 T/s");
    assert_eq!(said(&facts, "memory.speed_rated"), "5600000000 T/s");
    let facts = of(&simulated("sapphire"));
    assert_eq!(said(&facts, "memory.channels"), "8 of 8 in each package");
    let channels = facts::machine(&simulated("sapphire-dimm")).memory_channels;
    let packages: Vec<Option<u32>> = channels.iter().map(|channel| channel.package).collect();
    assert_eq!(packages, [vec![Some(0); 8], vec![Some(1); 8]].concat());
    assert_eq!((channels[10].filled, channels[10].name.as_str()), (0, "CPU2_DIMM_C1"));
}

#[test]
fn guests_and_containers_do_not_describe_slots() {
    for (machine, part) in [
        (simulated("vm-2c"), "does not show it to this guest"),
        (simulated("container"), "the container hides"),
        // What QEMU lends, where nothing else shows that it is there.
        (
            {
                let mut lent = table(&["DIMM 0"]);
                lent.devices[0].kind = MemoryType::RAM;
                lent.devices[0].configured = None;
                let mut files = Files::default();
                files.put(TABLES, &digits_of(&lent.to_bytes()));
                machine_of(files, "0")
            },
            "says here what it lends",
        ),
    ] {
        let facts = of(&machine);
        for id in IDS {
            let absence = absence(&facts, id);
            assert!(absence.why.contains(part), "{id}: {absence:?}");
            assert_eq!(absence.obstacle, Obstacle::Permission);
        }
    }
}

#[test]
fn a_plain_user_sees_what_edac_shows() {
    let mut files = with_table(&["DIMM_A1", "DIMM_B1"]);
    let plain = |files: Files| Machine {
        tree: Box::new(Plain(files)),
        ..machine_of(Files::default(), "0")
    };
    let facts = of(&plain(files.clone()));
    for id in IDS {
        assert_eq!(absence(&facts, id).remedy.as_deref(), Some(AS_ROOT), "{id}");
    }
    put_edac(&mut files, 16_384, 0);
    let facts = of(&plain(files));
    assert_eq!(said(&facts, "memory.dimms"), "2 DIMMs by EDAC: 2 x 16 GiB Registered-DDR4");
    assert_eq!(said(&facts, "memory.channels"), "2 of 2 by EDAC");
    assert_eq!(said(&facts, "memory.ecc"), "SECDED");
    let speed = absence(&facts, "memory.speed");
    assert_eq!(speed.remedy.as_deref(), Some(AS_ROOT));
    assert!(speed.why.contains("EDAC says neither"), "{speed:?}");
}

#[test]
fn firmware_and_edac_that_differ_are_both_told() {
    let mut files = with_table(&["DIMM_A1", "DIMM_B1", "DIMM_A2-"]);
    put_edac(&mut files, 16_384, 0);
    assert_eq!(said(&of(&machine_of(files.clone(), "0")), "memory.disputed"), "none");
    put_edac(&mut files, 8_192, 0);
    let machine = machine_of(files, "0");
    let disputed = said(&of(&machine), "memory.disputed");
    let expected = "firmware lists 2 of 3 slots: 2 x 16 GiB DDR4 at 2933 MT/s, rated 3200, and EDAC \
                    2 DIMMs with 16 GiB together";
    assert_eq!(disputed, expected);
    let description = facts::machine(&machine);
    let findings = model::contradictions::of(&description, &[]);
    assert!(findings.iter().any(|it| it.id == "machine.contradiction.dimms"), "{findings:?}");
}

#[test]
fn channels_that_names_do_not_say_are_unknown() {
    let facts = of(&machine_of(with_table(&["A1", "A2", "B1-"]), "0"));
    let dimms = "2 of 3 slots: 2 x 16 GiB DDR4 at 2933 MT/s, rated 3200";
    assert_eq!(said(&facts, "memory.dimms"), dimms);
    assert!(absence(&facts, "memory.channels").why.contains("names no channel"));
    assert_eq!(said(&facts, "memory.slots_empty"), "1 count");
    let mut files = Files::default();
    files.put(TABLES, "no digits");
    assert!(absence(&of(&machine_of(files, "0")), "memory.dimms").why.contains("holds no bytes"));
    let mut files = Files::default();
    files.put(TABLES, "7f04fffe0000");
    assert!(absence(&of(&machine_of(files, "0")), "memory.dimms").why.contains("no memory device"));
}

#[test]
fn memory_errors_during_a_run_name_their_dimm() {
    let at = |errors| {
        let mut files = Files::default();
        put_edac(&mut files, 16_384, errors);
        read(&machine_of(files, "0"), &"0".parse().unwrap())
    };
    let grown = at(5).since(&at(2));
    assert_eq!(said(&grown, "disturbance.memory_errors_corrected"), "3 count");
    assert_eq!(said(&grown, "disturbance.memory_errors_uncorrected"), "0 count");
    let findings = findings(&grown, 1.0, 1);
    let [finding] = &findings[..] else { panic!("{findings:?}") };
    assert_eq!(
        (finding.id.as_str(), finding.about.as_str()),
        ("memory.corrected-errors", "P1-DIMM1")
    );
    assert!(finding.text.starts_with("3 memory errors came up"), "{finding:?}");
    let quiet = at(2).since(&at(2));
    assert!(quiet.iter().all(|fact| fact.id != "disturbance.memory_errors_in"));
}

#[test]
fn memory_errors_that_were_put_in_are_counted() {
    let mut model = Model::named("sapphire").unwrap();
    model.faults.push(Fault::MemoryErrors);
    let (machine, cpus) = (Machine::from(model), "0".parse().unwrap());
    let before = read(&machine, &cpus);
    machine.simulated.as_ref().unwrap().elapsed.advance(Seconds(2.0));
    let findings = findings(&read(&machine, &cpus).since(&before), 2.0, 1);
    let [finding] = &findings[..] else { panic!("{findings:?}") };
    assert!(finding.about.contains("CPU_SrcID#0_MC#0_Chan#0_DIMM#0"), "{finding:?}");
    assert!(
        finding.text.starts_with("40 memory errors"),
        "two packages, ten a second: {finding:?}"
    );
    let condition = |machine: &Machine| said(&crate::conditions::read(machine), "memory.errors");
    assert_eq!(condition(&machine), "40 corrected, 0 uncorrected");
    assert_eq!(condition(&simulated("sapphire")), "none");
}
