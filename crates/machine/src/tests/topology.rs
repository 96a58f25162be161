use model::CpuId;

use super::{machine_of, simulated};
use crate::facts;
use crate::files::Files;

const CPU: &str = "/sys/devices/system/cpu";

#[test]
fn a_simulated_server_is_laid_out_as_linux_does() {
    let topology = facts::topology(&simulated("2s-56c"));
    assert_eq!(topology.usable.to_string(), "0-223");
    let place = &topology.cpus[57];
    assert_eq!((place.cpu, place.package, place.core, place.node), (CpuId(57), 1, 1, Some(1)));
    assert_eq!(place.siblings.to_string(), "57,169");
    assert_eq!(place.last_level_cache.to_string(), "56-111,168-223");
}

#[test]
fn a_machine_without_sysfs_has_one_core_per_allowed_cpu() {
    let topology = facts::topology(&machine_of(Files::default(), "2,5"));
    assert_eq!(topology.online.to_string(), "2,5");
    assert_eq!(topology.usable, topology.online);
    for place in &topology.cpus {
        assert_eq!(place.siblings.as_slice(), [place.cpu]);
        assert!(place.last_level_cache.is_empty());
        assert_eq!(place.node, None);
    }
    assert_ne!(topology.cpus[0].core, topology.cpus[1].core);
}

#[test]
fn holes_offline_cpus_and_numbers_above_1023() {
    let mut files = Files::default();
    files.put(format!("{CPU}/online"), "1,3,1500-1501\n");
    for (cpu, core) in [(1, 0), (3, 1), (1500, 700), (1501, 700)] {
        let topology = format!("{CPU}/cpu{cpu}/topology");
        files.put(format!("{topology}/physical_package_id"), if cpu < 1000 { "-1" } else { "1" });
        files.put(format!("{topology}/core_id"), &core);
        let siblings = if cpu < 1000 { cpu.to_string() } else { "1500-1501".into() };
        files.put(format!("{topology}/thread_siblings_list"), &siblings);
    }
    let machine = machine_of(files, "0-1500");
    let topology = facts::topology(&machine);
    assert_eq!(topology.usable.to_string(), "1,3,1500");
    assert_eq!(topology.cpus[0].package, 0);
    assert_eq!(topology.cpus[2].siblings.to_string(), "1500-1501");
    let cores = super::said(&facts::machine(&machine).facts, "cpu.cores");
    assert_eq!(cores, "2 packages, 3 cores, 4 CPUs (SMT 2)");
}

#[test]
fn core_numbers_that_repeat_on_two_dies_become_unique() {
    let mut files = Files::default();
    files.put(format!("{CPU}/online"), "0-1");
    for cpu in 0..2 {
        let topology = format!("{CPU}/cpu{cpu}/topology");
        files.put(format!("{topology}/physical_package_id"), "0");
        files.put(format!("{topology}/core_id"), "0");
        files.put(format!("{topology}/core_cpus_list"), &cpu);
    }
    let topology = facts::topology(&machine_of(files, "0-1"));
    assert_eq!(topology.cpus.iter().map(|place| place.core).collect::<Vec<_>>(), [0, 1]);
}
