use model::{CpuId, Seconds};

use crate::error::Error;
use crate::ports::Machine;
use crate::simulated::{self, Model, names};

#[test]
fn every_simulated_machine_can_be_had_by_its_name() {
    for name in names() {
        let model = Model::named(name).unwrap();
        assert_eq!(model.name, name);
        for cost in ["null", "witness", "ruler", "contention"] {
            assert!(model.cycles_per_op(cost).is_some(), "{name}: {cost}");
        }
    }
}

#[test]
fn strangers_are_told_what_is_known() {
    let error = |name| Machine::named(name).err().unwrap().to_string();
    assert_eq!(error("sim:2s-56"), "cannot find simulated machine `2s-56`");
    let Some(Error::UnknownSimulation { suggestion, known, .. }) =
        Machine::named("sim:2s-56").err()
    else {
        panic!("another error");
    };
    assert_eq!(suggestion, Some("2s-56c"));
    assert_eq!(known, "sim:1c, sim:2s-56c, sim:vm-2c");
    let missing = error("spr.capture");
    assert!(
        missing.starts_with("cannot read machine `spr.capture`: there is no such file"),
        "{missing}"
    );
}

#[test]
fn bins_costs_and_distances_are_what_was_put_in() {
    let model = Model::named("2s-56c").unwrap();
    let licence = model.licence_of("avx512_fma").unwrap();
    assert_eq!(model.licence[licence].name, "L2");
    let bins: Vec<f64> = [1, 2, 3, 56, 99].map(|n| model.bin_hz(licence, n) / 1e9).into();
    assert_eq!(bins, [3.4, 3.4, 3.1, 2.2, 2.2]);
    assert_eq!(model.cycles_per_op("avx512_fma"), Some(4.0));
    assert_eq!(model.cycles_per_op("unknown"), None);
    let distance = |a, b| model.distance(CpuId(a), CpuId(b));
    assert_eq!(distance(0, 112), Seconds(12e-9));
    assert_eq!(distance(0, 1), Seconds(55e-9));
    assert_eq!(distance(0, 56), Seconds(120e-9));
    let small = Model::named("1c").unwrap();
    assert_eq!(small.licence_of("avx512_fma"), None);
}

#[test]
fn a_guest_may_share_a_core_in_secret() {
    let model = Model::named("vm-2c").unwrap();
    assert_eq!(model.core_of(CpuId(0)), model.core_of(CpuId(1)));
    assert_ne!(model.claimed_core_of(CpuId(0)), model.claimed_core_of(CpuId(1)));
    assert_eq!(model.distance(CpuId(0), CpuId(1)), Seconds(12e-9));
}

#[test]
fn broken_descriptions_name_file_and_key() {
    let text = include_str!("../simulated/machines/1c.toml");
    let error = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        Model::parse("x.toml", &text.replacen(from, to, 1)).unwrap_err().to_string()
    };
    for (from, to, key) in [
        ("tsc_hz = 1.2e9", "tsc_hz = -1.0", "clock.tsc_hz"),
        ("SIMULATED 1 x 1 core", "Genuine 1 x 1 core", "identity.brand"),
        ("packages = 1", "packages = 0", "topology.packages"),
        ("packages = 1", "packages = 1\ncolour = 1", "colour"),
        ("bins = [[1, 2.4e9]]", "bins = []", "licence.L0.bins"),
        ("cycles = 3.0, licence = \"L0\"", "cycles = 3.0, licence = \"L9\"", "costs.ruler"),
        ("steal_share = 0.0", "steal_share = 1.5", "noise.steal_share"),
        ("faults = []", "faults = [\"no-luck\"]", "no-luck"),
        ("started = \"2026", "started = \"soon", "started"),
        ("packages = 1", "packages = 1\noffline = \"0\"", "topology.offline"),
        ("packages = 1", "packages = 1\noffline = \"1\"", "topology.offline"),
        ("packages = 1", "packages = 1\nefficient_cores_per_package = 1", "efficient_cores"),
        ("l2_bytes", "cores_per_l2 = 3\nl2_bytes", "caches.cores_per_l2"),
        ("isa = [", "product = \"Server\"\nisa = [", "identity.product"),
    ] {
        let error = error(from, to);
        assert!(error.contains("`x.toml`") && error.contains(key), "{error}");
    }
}

#[test]
fn what_is_new_in_a_description_is_answered() {
    let text = include_str!("../simulated/machines/1c.toml")
        .replace("cores_per_package = 1", "cores_per_package = 4\nefficient_cores_per_package = 2")
        .replace("packages = 1", "packages = 1\noffline = \"3\"\nisolated = \"2\"")
        .replace("l2_bytes", "cores_per_l2 = 2\nline_bytes = 64\nl2_bytes");
    let machine = simulated::machine(Model::parse("x.toml", &text).unwrap());
    let cpu = "/sys/devices/system/cpu";
    let read = |path: &str| machine.tree.read(path).unwrap();
    assert_eq!(read(&format!("{cpu}/online")), "0-2");
    assert_eq!(read(&format!("{cpu}/present")), "0-3");
    assert_eq!(read(&format!("{cpu}/isolated")), "2");
    assert_eq!(read("/sys/devices/cpu_core/cpus"), "0-1");
    assert_eq!(read("/sys/devices/cpu_atom/cpus"), "2");
    assert_eq!(read(&format!("{cpu}/cpu1/cache/index1/shared_cpu_list")), "0-1");
    assert_eq!(read(&format!("{cpu}/cpu2/cache/index1/shared_cpu_list")), "2");
    assert_eq!(read(&format!("{cpu}/cpu2/cache/index1/coherency_line_size")), "64");
    let kind = |cpu| machine.cpuid.leaf_of(CpuId(cpu), 0x1a, 0).unwrap().eax >> 24;
    assert_eq!([kind(0), kind(2)], [0x40, 0x20]);
    assert_eq!(machine.cpuid.leaf(1, 0).unwrap().eax, 0x621);
    assert!(machine.msr.read(CpuId(0), 0xce).is_err());
}

#[test]
fn registers_hold_what_licences_and_description_say() {
    let machine = Machine::named("sim:2s-56c").unwrap();
    let read = |register| machine.msr.read(CpuId(0), register).unwrap();
    assert_eq!(read(0x1ad).to_le_bytes(), [38, 37, 35, 33, 31, 30, 0, 0]);
    assert_eq!(read(0x1ae).to_le_bytes(), [2, 8, 16, 32, 48, 56, 0, 0]);
    assert_eq!(read(0xce).to_le_bytes(), [0, 20, 0, 0, 0, 8, 0, 0]);
    assert_eq!(read(0x771).to_le_bytes(), [38, 20, 11, 8, 0, 0, 0, 0]);
    assert_eq!(read(0x620).to_le_bytes(), [25, 8, 0, 0, 0, 0, 0, 0]);
    assert!(machine.msr.read(CpuId(0), 0x10).is_err());
    assert!(machine.msr.read(CpuId(224), 0xce).is_err());
    let guest = Machine::named("sim:vm-2c").unwrap();
    let reason = guest.msr.read(CpuId(0), 0xce).unwrap_err();
    assert!(reason.remedy.unwrap().contains("modprobe"));
}
