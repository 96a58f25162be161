use model::record::Fact;
use model::{CpuId, CpuSet, Seconds};
use simulated::Files;
use simulated::{Fault, Model};

use super::{check_absences, machine_of, said, simulated};
use crate::disturbances::{findings, read, throttles};
use crate::ports::Machine;

/// The difference after `seconds` on a machine.
fn difference(machine: &Machine, cpus: &CpuSet, seconds: f64) -> Vec<Fact> {
    let before = read(machine, cpus);
    if let Some(model) = &machine.simulated {
        model.elapsed.advance(Seconds(seconds));
    }
    read(machine, cpus).since(&before)
}

#[test]
fn steal_that_was_put_in_is_counted_and_said() {
    let (machine, cpus) = (simulated("vm-2c"), "0-1".parse().unwrap());
    let difference = difference(&machine, &cpus, 10.0);
    assert_eq!(said(&difference, "disturbance.steal"), "0.4 s");
    assert_eq!(said(&difference, "disturbance.interrupts"), "5000 count");
    let findings = findings(&difference, 10.0, 2);
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].id, "disturbance.steal");
    assert!(findings[0].text.contains("2.0 % of the CPU time (0.40 s of 20.0 s)"), "{findings:?}");
}

#[test]
fn heat_that_was_put_in_is_said() {
    let mut model = Model::named("1c").unwrap();
    model.faults.push(Fault::ThermalThrottle);
    let (machine, cpus) = (Machine::from(model), "0".parse().unwrap());
    let findings = findings(&difference(&machine, &cpus, 3.0), 3.0, 1);
    assert_eq!(findings.len(), 1);
    assert!(findings[0].text.contains("heat throttled cores or packages 3 times"), "{findings:?}");
}

#[test]
fn a_quiet_machine_has_no_findings() {
    let (machine, cpus) = (simulated("2s-56c"), "0-223".parse().unwrap());
    let difference = difference(&machine, &cpus, 30.0);
    check_absences(&difference);
    assert_eq!(findings(&difference, 30.0, 224), []);
}

#[test]
fn quotas_that_stop_us_are_said() {
    let at = |throttled: u32| {
        let mut files = Files::default();
        files.put("/proc/self/cgroup", "0::/");
        let stat = format!("nr_throttled {throttled}\nthrottled_usec {throttled}00000");
        files.put("/sys/fs/cgroup/cpu.stat", &stat);
        read(&machine_of(files, "0"), &"0".parse().unwrap())
    };
    let difference = at(7).since(&at(2));
    check_absences(&difference);
    let findings = findings(&difference, 1.0, 1);
    assert_eq!(findings.len(), 1);
    assert!(findings[0].text.contains("5 times, 0.50 s"), "{findings:?}");
    assert_eq!(said(&at(1).since(&at(2)), "disturbance.cgroup_throttles"), "unavailable");
}

#[test]
fn what_anybody_wanted_is_counted_with_what_was_taken_from_it() {
    let at = |ticks: u32| {
        let mut files = Files::default();
        let of_all = "cpu  1 1 1 1 1 1 1 1 0 0";
        let stat =
            format!("{of_all}\ncpu0 {ticks} 10 20 500 300 1 2 7 0 0\ncpu1 9 9 9 9 9 9 9 9 0 0");
        files.put("/proc/stat", &stat);
        read(&machine_of(files, "0-1"), &"0".parse().unwrap())
    };
    assert_eq!(said(&at(200).since(&at(60)), "disturbance.wanted"), "1.4 s");
    assert_eq!(said(&at(200).since(&at(60)), "disturbance.steal"), "0 s");
}

#[test]
fn the_real_machine_counts() {
    let machine = Machine::real();
    let cpus = machine.host.affinity().unwrap();
    let difference = difference(&machine, &cpus, 0.0);
    check_absences(&difference);
    assert_ne!(said(&difference, "disturbance.steal"), "unavailable");
}

#[test]
fn throttles_are_told_apart_by_cpu() {
    let cpus: CpuSet = "0-1".parse().unwrap();
    let mut files = Files::default();
    for (cpu, core, package) in [(0, 3, 5), (1, 0, 5)] {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}/thermal_throttle");
        files.put(format!("{folder}/core_throttle_count"), &core);
        files.put(format!("{folder}/package_throttle_count"), &package);
    }
    let counts = throttles(&machine_of(files, "0-1"), &cpus).unwrap();
    assert_eq!(counts.into_iter().collect::<Vec<_>>(), [(CpuId(0), 8), (CpuId(1), 5)]);
    let reason = throttles(&simulated("vm-2c"), &cpus).unwrap_err();
    assert!(reason.why.contains("counts no thermal throttling"), "{reason:?}");
}
