//! Trees and captures that no kernel would make: huge numbers, empty files, circles, bytes that are
//! no text, contradictions. Every fact has a value or a reason; nothing panics, hangs, eats memory.
//!
//! The same inputs are searched without end by the targets in `fuzz/`.

pub mod anything;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use anything::{PATHS, machine_of, survey};
use machine::{Files, Machine};
use model::{CpuId, Obstacle};
use proptest::prelude::*;
use recorded::{capture, parse};
use simulated::files::digits_of;

const CPU: &str = "/sys/devices/system/cpu";

/// Texts that spoil them.
fn spoiled() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "",
        "-1",
        "0",
        "4294967295",
        "0-4294967295",
        "0-65535",
        "0-8191",
        "3-1",
        "1,1,1",
        ",",
        "NaN",
        "inf",
        "1e999",
        "18446744073709551616",
        "9999999999999999999K",
        "-5K",
        "event=0x04,umask=0x03",
        "config:0-63,0-63",
        "config1:63",
        "config:64-0",
        "event=0xffffffffffffffff,umask",
        "K",
        "\0",
        "0::/../../../..",
        "0::/a/../b",
        "1:cpu:/x\n0::",
        "max",
        "max 0",
        "0 0",
        "1 -1",
        "processor : 4294967295\n",
        "processor : 0\n\nprocessor : 0\n\nprocessor : 0",
        "processor 0: version = FF, machine = 99999999999",
        "isa : rv\nuarch : ,\nmvendorid : 0x5b7\nmarchid : 0x0",
        "cache0 : level=0 type=Data size=-1K",
        "CPU implementer : 0xfff\nCPU part : 0x1000",
        "QEMU",
        "flags :\nmodel name",
        "MemTotal: 99999999999999999999 kB",
        "Node 0 MemTotal: x kB",
        "Data",
        "Unified",
        "coretemp",
        "on",
        "notsupported",
        "10 20 30",
        "10 -20 4294967295",
        "TPMI Instance:0\n 00000000: 01010301 00000000 000ff010 00000000 00080c00 00000000 ffffffff ffffffff",
        "channel 4294967295 slot 0",
        "csrow 0 channel -1",
        "1154",
        "TPMI Instance:0\n 00000000: ff000301 00000000\n 00000020: 00000000",
    ]);
    let numbers = "[0-9,:/-]{0,30}";
    let lines = "([a-zA-Z_ ]{0,12}\t?: [0-9a-f.,-]{0,12}\n){0,6}";
    prop_oneof![known.prop_map(str::to_owned), numbers, lines, "\\PC{0,40}"]
}

fn files() -> impl Strategy<Value = Files> {
    let file = (prop::sample::select(PATHS), spoiled());
    prop::collection::vec(file, 0..30).prop_map(|all| {
        let mut files = Files::default();
        for (path, text) in all {
            files.put(path, &text);
        }
        files
    })
}

/// A capture with some of its lines changed, dropped, doubled or cut.
fn spoiled_capture() -> impl Strategy<Value = String> {
    let good = capture(&Machine::named("sim:vm-2c").unwrap());
    let count = good.lines().count();
    let change = (0..count, 0u8..5, spoiled());
    prop::collection::vec(change, 1..4).prop_map(move |changes| {
        let mut lines: Vec<String> = good.lines().map(str::to_owned).collect();
        for (place, how, text) in changes {
            let place = place.min(lines.len().saturating_sub(1));
            let Some(line) = lines.get(place).cloned() else { break };
            let half = line.chars().take(line.chars().count() / 2).collect::<String>();
            match how {
                0 => drop(lines.remove(place)),
                1 => lines.insert(place, line),
                2 => lines[place] = half,
                3 => lines[place] = half + &text,
                _ => lines[place] = line.replace("0-1", &text).replace("= ", &format!("= {text}")),
            }
        }
        lines.join("\n")
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn trees_that_no_kernel_makes(
        files in files(),
        words in prop::collection::vec(any::<u32>(), 0..9),
    ) {
        survey(&machine_of(files, words));
    }

    /// Structures of the types that are read, of any length, with any bytes and strings, as one table.
    #[test]
    fn tables_of_firmware_that_no_vendor_makes(
        structures in prop::collection::vec(
            (16_u8..18, 4_u8..0x60, prop::collection::vec(any::<u8>(), 0x60), "[ -~]{0,40}"),
            0..6,
        ),
    ) {
        let table = structures.iter().flat_map(|(kind, length, body, strings)| {
            let formatted = &body[..usize::from(*length) - 2];
            [&[*kind, *length][..], formatted, strings.replace(' ', "\0").as_bytes(), &[0, 0]].concat()
        });
        let mut files = Files::default();
        files.put("/sys/firmware/dmi/tables/DMI", &digits_of(&table.collect::<Vec<u8>>()));
        files.put("/sys/devices/system/cpu/online", "0-1");
        let machine = machine_of(files, Vec::new());
        survey(&machine);
        survey(&parse("test", &capture(&machine)).unwrap());
    }

    #[test]
    fn captures_of_trees_that_no_kernel_makes(files in files()) {
        let machine = machine_of(files, Vec::new());
        let text = capture(&machine);
        let replayed = parse("test", &text);
        let replayed = replayed.map_err(|error| TestCaseError::fail(error.to_string()))?;
        let again = capture(&replayed);
        let different = again.lines().zip(text.lines()).find(|(a, b)| a != b);
        prop_assert_eq!(different, None);
        prop_assert_eq!(again.len(), text.len());
        survey(&replayed);
    }

    #[test]
    fn captures_that_somebody_edited(text in spoiled_capture()) {
        if let Ok(machine) = parse("test", &text) {
            survey(&machine);
            capture(&machine);
        }
    }

    #[test]
    fn recordings_of_pepc_with_damage(text in "([0-9a-fowr#:|/ -]{0,20}\n){0,20}") {
        machine::pepc::files(&text);
        machine::pepc::registers(&text);
    }

    #[test]
    fn texts_that_are_no_captures(
        text in "(cpudyno-capture 1\n)?(\\[[a-z]{3,6}\\]\n|[/a-z0-9\\[\\],.= !{}-]{0,30}\n){0,20}",
    ) {
        if let Ok(machine) = parse("test", &text) {
            survey(&machine);
        }
    }
}

#[test]
fn lists_of_every_number_there_is() {
    for list in ["0-4294967295", "0-65535", "65535", "99999999999999999999"] {
        let mut files = Files::default();
        for path in [
            "online",
            "possible",
            "cpu0/topology/core_cpus_list",
            "cpu0/cache/index0/shared_cpu_list",
        ] {
            files.put(format!("{CPU}/{path}"), list);
        }
        files.put("/sys/devices/system/node/online", list);
        files.put("/sys/devices/system/node/node0/cpulist", list);
        survey(&machine_of(files, Vec::new()));
    }
}

/// What a folder may hold that no kernel would show.
fn spoil(root: &Path) {
    let cpu = root.join("sys/devices/system/cpu");
    fs::create_dir_all(cpu.join("cpu0/topology")).unwrap();
    fs::create_dir_all(root.join("proc/self")).unwrap();
    fs::create_dir_all(root.join("dev/cpu/0")).unwrap();
    fs::write(cpu.join("online"), b"0-1\xff\xfe").unwrap();
    fs::write(cpu.join("possible"), "").unwrap();
    symlink("cpu1", cpu.join("cpu2")).unwrap();
    symlink("cpu2", cpu.join("cpu1")).unwrap();
    symlink("../cpu0", cpu.join("cpu0/topology/cpu0")).unwrap();
    symlink("/sys/devices/system/cpu/cpu0", cpu.join("cpu3")).unwrap();
    symlink("../../../../../../../../etc/hostname", cpu.join("isolated")).unwrap();
    fs::create_dir(root.join("proc/meminfo")).unwrap();
    fs::write(root.join("proc/cpuinfo"), b"processor\t: 0\nmodel name\t: \xc3\x28\0\n").unwrap();
    // A pipe without a writer would block whoever opens it.
    let pipe = std::process::Command::new("mkfifo").arg(root.join("proc/loadavg")).status();
    assert!(pipe.unwrap().success());
    fs::write(root.join("dev/cpu/0/msr"), "short").unwrap();
}

#[test]
fn folders_that_no_kernel_makes() {
    let folder = tempfile::tempdir().unwrap();
    spoil(folder.path());
    let machine = Machine::rooted(folder.path()).unwrap();
    survey(&machine);
    let elsewhere = machine.elsewhere.as_deref().unwrap();
    assert_eq!(elsewhere, "files below a folder");
    let why = |path: &str| machine.tree.read(path).unwrap_err().why;
    assert!(why("/proc/loadavg").ends_with("it is no regular file"));
    assert!(why(&format!("{CPU}/cpu1/online")).ends_with("form a loop"));
    assert_eq!(why(&format!("{CPU}/isolated")), format!("there is no `{CPU}/isolated` here"));
    assert!(machine.msr.read(CpuId(0), 0xe8).unwrap_err().why.contains("failed to fill"));
    assert_eq!(machine.msr.read(CpuId(1), 0xe8).unwrap_err().obstacle, Obstacle::Hardware);
    let affinity = machine.host.affinity().unwrap_err();
    assert!(affinity.why.contains("only files of this machine are known"), "{affinity:?}");
    let text = capture(&machine);
    assert!(!text.contains(folder.path().to_str().unwrap()), "{text}");
    survey(&parse("test", &text).unwrap());
}

#[test]
fn an_empty_folder_is_a_machine_of_which_nothing_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let machine = Machine::rooted(folder.path()).unwrap();
    survey(&machine);
    let reason = machine.msr.read(CpuId(0), 0xe8).unwrap_err();
    assert_eq!(reason.why, "there are no files of registers below this folder");
    let missing = Machine::rooted(&folder.path().join("missing")).map(|_| ()).unwrap_err();
    assert!(missing.to_string().starts_with("cannot use folder `"), "{missing}");
}
