//! What CPUs do, on simulated machines and on files that were made up.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use model::{CpuId, CpuSet, Obstacle, Reading, Seconds, Unavailable};
use simulated::{Fault, Files, Model};

use super::machine_of;
use crate::activity::{Activity, Interval, Scope};
use crate::ports::{Machine, Msr, Tree};

fn watched(model: Model, cpus: &str, seconds: f64) -> (Vec<(String, Scope)>, Interval) {
    let machine: Machine = model.into();
    let cpus: CpuSet = cpus.parse().unwrap();
    let mut activity = Activity::open(&machine, Some(&cpus)).unwrap();
    assert_eq!(activity.look(), None, "one look is no interval");
    activity.wait(Seconds(seconds));
    let interval = activity.look().unwrap();
    let columns = activity.columns().iter().map(|c| (c.header.to_string(), c.scope)).collect();
    (columns, interval)
}

/// The values of a column.
fn of(watched: &(Vec<(String, Scope)>, Interval), header: &str) -> Vec<Option<f64>> {
    let index = watched.0.iter().position(|(name, _)| name == header);
    let index = index.unwrap_or_else(|| panic!("no {header} in {:?}", watched.0));
    watched.1.values[index].iter().map(|value| value.as_ref().ok().copied()).collect()
}

fn near(value: Option<f64>, expected: f64) {
    let value = value.expect("there is a number");
    assert!((value / expected - 1.0).abs() < 1e-3, "{value} instead of {expected}");
}

#[test]
fn what_is_worked_on_a_simulated_machine_is_seen() {
    // CPUs 0 to 7 are busy for 75 % of the time, 56 and 57 for 20 %; 3 GHz where up to 8 cores work.
    let model = Model::named("2s-56c").unwrap();
    let (few, most) = (model.bin_hz(0, 2), model.bin_hz(0, 8));
    let seen = watched(model, "0,9,56", 2.0);
    near(of(&seen, "Busy%")[0], 0.75);
    near(of(&seen, "Bzy_MHz")[0], most);
    near(of(&seen, "Avg_MHz")[0], 0.75 * most);
    near(of(&seen, "Busy%")[2], 0.20);
    near(of(&seen, "Bzy_MHz")[2], few);
    // Who never ran was busy for no time, which is a number, and has no clock.
    assert_eq!((of(&seen, "Busy%")[1], of(&seen, "Bzy_MHz")[1]), (Some(0.0), None));
    near(of(&seen, "TSC_MHz")[1], 2.0e9);
    // 250 a second, by the kernel's timer; firmware is quiet.
    assert_eq!(of(&seen, "IRQ"), [Some(500.0); 3]);
    assert_eq!(of(&seen, "SMI"), [Some(0.0); 3]);
    near(of(&seen, "C6%")[0], 0.25);
    near(of(&seen, "C6%")[1], 1.0);
    // 62 W, and 1.4 W for each GHz of eight cores at 75 %.
    near(of(&seen, "PkgWatt")[0], 62.0 + 1.4 * 8.0 * 0.75 * most / 1e9);
    near(of(&seen, "RAMWatt")[1], 14.0);
    near(of(&seen, "PkgTmp")[0], 45.0 + 0.1 * 1.4 * 8.0 * 0.75 * most / 1e9);
}

#[test]
fn smis_that_were_put_in_are_counted_where_the_processor_counts_them() {
    let mut model = Model::named("2s-28c").unwrap();
    model.noise.smis_per_second = 3.0;
    assert_eq!(of(&watched(model, "0,29", 4.0), "SMI"), [Some(12.0); 2]);
    let why = |name: &str, faults: &[Fault]| {
        let mut model = Model::named(name).unwrap();
        model.faults.extend_from_slice(faults);
        let machine: Machine = model.into();
        let activity = Activity::open(&machine, None).unwrap();
        let missing = activity.missing().iter().find(|missing| missing.header == "SMI").cloned();
        missing.expect("SMI is missing").reason.why
    };
    assert!(why("epyc", &[]).contains("only CPUs of Intel"), "{}", why("epyc", &[]));
    assert!(why("vm-2c", &[]).contains("hypervisor"), "{}", why("vm-2c", &[]));
    let refused = why("2s-28c", &[Fault::NoMsr]);
    assert!(refused.contains("/dev/cpu/*/msr"), "{refused}");
}

#[test]
fn interrupts_are_all_lines_of_a_cpus_column() {
    let (files, machine) = two_packages();
    let table = |network: u32, timer: u32| {
        format!("  CPU0 CPU1\n 27: 3 {network} PCI-MSI eth0\nLOC: 100 {timer} Timer\nERR: 4\n")
    };
    files.put("/proc/interrupts", &table(5, 200));
    let seen =
        |later: &str| values(&files, &machine, "IRQ", &[("/proc/interrupts", later)]).unwrap().1;
    assert_eq!(seen(&table(9, 260)), [Ok(0.0), Ok(64.0)]);
    // One that fell is no number, nor is a sum without a line that came up.
    assert!(seen(&table(8, 300))[1].clone().unwrap_err().contains("fell from 9 to 8"));
    let grown = table(8, 300).replace("LOC", " 28: 1 0 new\nLOC");
    assert!(seen(&grown)[0].clone().unwrap_err().contains("came or went"));
}

#[test]
fn settings_change_what_is_seen() {
    let model = Model::named("2s-56c").unwrap();
    let path = "/sys/devices/system/cpu/intel_pstate/no_turbo";
    simulated::Writer::new(&model).write(path, "1").unwrap();
    let base = model.clock.tsc_hz;
    near(of(&watched(model, "0", 1.0), "Bzy_MHz")[0], base);
}

#[test]
fn a_guest_has_what_the_kernel_counts_and_reasons_for_the_rest() {
    let machine: Machine = Model::named("vm-2c").unwrap().into();
    let mut activity = Activity::open(&machine, None).unwrap();
    let names: Vec<&str> = activity.columns().iter().map(|c| c.header.as_ref()).collect();
    assert_eq!(names, ["TSC_MHz", "Busy%", "Steal%", "IRQ"]);
    let reason = |header: &str| {
        let missing = activity.missing().iter().find(|missing| missing.header == header);
        missing.map(|missing| missing.reason.why.clone()).unwrap_or_default()
    };
    assert!(reason("Bzy_MHz").contains("/dev/cpu/*/msr"), "{}", reason("Bzy_MHz"));
    assert!(reason("PkgWatt").contains("hypervisor"), "{}", reason("PkgWatt"));
    activity.look();
    activity.wait(Seconds(10.0));
    let seen = activity.look().unwrap();
    let steal = machine.simulated.as_ref().unwrap().noise.steal_share;
    let value = seen.values[2][0].clone().unwrap();
    assert!((value - steal).abs() < 0.002, "{value} instead of {steal}");
}

#[test]
fn only_what_was_asked_for_is_read() {
    let machine: Machine = Model::named("2s-56c").unwrap().into();
    let mut activity = Activity::open(&machine, None).unwrap();
    activity.only(&["Bzy_MHz".to_owned()]);
    let names: Vec<&str> = activity.columns().iter().map(|c| c.header.as_ref()).collect();
    assert_eq!(names, ["Avg_MHz", "Busy%", "Bzy_MHz"]);
    assert!(activity.missing().is_empty());
    activity.look();
    activity.wait(Seconds(1.0));
    assert_eq!(activity.look().unwrap().values.len(), 3);
}

#[test]
fn who_is_not_there_cannot_be_watched() {
    let machine: Machine = Model::named("4c").unwrap().into();
    let cpus: CpuSet = [CpuId(0), CpuId(99)].into_iter().collect();
    let reason = Activity::open(&machine, Some(&cpus)).err().unwrap();
    assert!(reason.why.contains("CPUs 99 are not online"), "{reason:?}");
}

/// This machine, whatever it has: columns are there or have a reason, and shares are shares.
#[test]
fn the_machine_at_hand_answers() {
    let machine = Machine::real();
    let mut activity = Activity::open(&machine, None).unwrap();
    activity.look();
    std::thread::sleep(Duration::from_millis(50));
    let seen = activity.look().unwrap();
    assert!(seen.seconds.0 >= 0.05, "{:?}", seen.seconds);
    for (column, values) in activity.columns().iter().zip(&seen.values) {
        assert_eq!(values.len(), activity.carriers(column.scope).len(), "{}", column.header);
        for value in values.iter().flatten() {
            assert!(value.is_finite() && *value >= 0.0, "{}: {value}", column.header);
            let is_share = column.unit == model::Unit::One;
            assert!(!is_share || *value <= 1.0, "{}: {value}", column.header);
        }
    }
    assert!(activity.missing().iter().all(|missing| !missing.reason.why.is_empty()));
}

/// Files that change between two looks.
#[derive(Clone, Default)]
pub(super) struct Changing(Arc<Mutex<Files>>);

impl Changing {
    pub(super) fn put(&self, path: &str, text: &str) {
        self.0.lock().unwrap().put(path, text);
    }
}

impl Tree for Changing {
    fn read(&self, path: &str) -> Reading<String> {
        self.0.lock().unwrap().read(path)
    }

    fn list(&self, path: &str) -> Reading<Vec<String>> {
        self.0.lock().unwrap().list(path)
    }
}

const CPU: &str = "/sys/devices/system/cpu";
const POWERCAP: &str = "/sys/class/powercap/intel-rapl:";
const HWMON: &str = "/sys/class/hwmon/hwmon";

/// Two packages of one core each, whose ids of cores are not those of their CPUs.
pub(super) fn two_packages() -> (Changing, Machine) {
    let files = Changing::default();
    files.put(&format!("{CPU}/online"), "0-1");
    for (cpu, core) in [(0, 4), (1, 9)] {
        let topology = format!("{CPU}/cpu{cpu}/topology");
        files.put(&format!("{topology}/physical_package_id"), &cpu.to_string());
        files.put(&format!("{topology}/core_id"), &core.to_string());
        files.put(&format!("{topology}/core_cpus_list"), &cpu.to_string());
    }
    let machine = Machine { tree: Box::new(files.clone()), ..machine_of(Files::default(), "0-1") };
    (files, machine)
}

/// The values of a column on the machine whose files change in between.
fn values(files: &Changing, machine: &Machine, header: &str, change: &[(&str, &str)]) -> Seen {
    let mut activity = Activity::open(machine, None).unwrap();
    let Some(index) = activity.columns().iter().position(|column| column.header == header) else {
        let missing = activity.missing().iter().find(|missing| missing.header == header);
        return Err(missing.expect("a column is read or missing").reason.why.clone());
    };
    activity.look();
    for (path, text) in change {
        files.put(path, text);
    }
    std::thread::sleep(Duration::from_millis(10));
    let seen = activity.look().unwrap();
    let value = |value: &Reading<f64>| value.clone().map_err(|reason| reason.why);
    Ok((seen.seconds.0, seen.values[index].iter().map(value).collect()))
}

type Seen = Result<(f64, Vec<Result<f64, String>>), String>;

#[test]
fn energy_is_counted_over_wraps_and_dies() {
    let (files, machine) = two_packages();
    let missing = values(&files, &machine, "PkgWatt", &[]).unwrap_err();
    assert!(missing.contains("no zone that counts energy"), "{missing}");
    let zone = |zone: &str, name: &str, energy: &str| {
        files.put(&format!("{POWERCAP}{zone}/name"), name);
        files.put(&format!("{POWERCAP}{zone}/max_energy_range_uj"), "1000000000");
        files.put(&format!("{POWERCAP}{zone}/energy_uj"), energy);
    };
    // Package 0 has two dies, the first of which wraps; package 1 has one, and memory.
    zone("0", "package-0-die-0", "999000000");
    zone("1", "package-0-die-1", "0");
    zone("2", "package-1", "1000");
    zone("2:0", "dram", "5");
    zone("2:1", "uncore", "7");
    let energy = |zone: &str| format!("{POWERCAP}{zone}/energy_uj");
    let (first, second, third) = (energy("0"), energy("1"), energy("2"));
    let change = [(first.as_str(), "500000"), (&second, "250000"), (&third, "1001000")];
    let (seconds, watts) = values(&files, &machine, "PkgWatt", &change).unwrap();
    // 1.5 J and 0.25 J; 1 J.
    assert!((watts[0].clone().unwrap() * seconds - 1.75).abs() < 1e-9, "{watts:?}");
    assert!((watts[1].clone().unwrap() * seconds - 1.0).abs() < 1e-9, "{watts:?}");
    let (_, memory) = values(&files, &machine, "RAMWatt", &[]).unwrap();
    assert!(memory[0].clone().unwrap_err().contains("package 0 has no zone `dram`"), "{memory:?}");
    // Whatever is on draws some: what stands still does not count.
    assert!(memory[1].clone().unwrap_err().contains("stood still"), "{memory:?}");
}

/// Registers of energy, whose counts are set between two looks.
#[derive(Clone, Default)]
struct Counting(Arc<Mutex<BTreeMap<(CpuId, u32), u64>>>);

impl Msr for Counting {
    fn read(&self, cpu: CpuId, register: u32) -> Reading<u64> {
        let found = self.0.lock().unwrap().get(&(cpu, register)).copied();
        found.ok_or_else(|| Unavailable::new(Obstacle::Hardware, "register", "it has no such one"))
    }
}

/// Where the kernel has no zones, registers tell; what begins again is followed, and noted in between.
#[test]
fn energy_is_read_from_registers() {
    let (_, machine) = two_packages();
    let registers = Counting::default();
    let machine = Machine { msr: Arc::new(registers.clone()), ..machine };
    let put = |cpu: u32, register: u32, count: u64| {
        registers.0.lock().unwrap().insert((CpuId(cpu), register), count);
    };
    // A count is 1/2^14 J; the upper half of the register means nothing.
    for cpu in [0, 1] {
        put(cpu, 0x606, 14 << 8);
    }
    put(0, 0x611, 0xffff_c000);
    put(1, 0x611, 5 << 32);
    let mut activity = Activity::open(&machine, None).unwrap();
    let column = activity.columns().iter().position(|it| it.header == "PkgWatt").unwrap();
    assert_eq!(activity.columns()[column].source, "registers of energy");
    activity.look();
    put(0, 0x611, 0x4000);
    activity.note();
    put(0, 0x611, 0x8000);
    put(1, 0x611, 0x2000);
    std::thread::sleep(Duration::from_millis(10));
    let seen = activity.look().unwrap();
    let joules: Vec<f64> =
        seen.values[column].iter().map(|it| it.clone().unwrap() * seen.seconds.0).collect();
    assert!((joules[0] - 3.0).abs() < 1e-3 && (joules[1] - 0.5).abs() < 1e-3, "{joules:?}");
    // Cores that count nothing have no column.
    assert!(activity.missing().iter().any(|missing| missing.header == "CorWatt"));
}

#[test]
fn sensors_belong_to_their_cores_and_packages() {
    let (files, machine) = two_packages();
    let sensor = |chip: u32, number: u32, label: &str, millidegrees: &str| {
        files.put(&format!("{HWMON}{chip}/temp{number}_label"), label);
        files.put(&format!("{HWMON}{chip}/temp{number}_input"), millidegrees);
    };
    files.put(&format!("{HWMON}0/name"), "nvme");
    sensor(0, 1, "Composite", "99000");
    for (chip, package, core) in [(1, 1, 9), (2, 0, 4)] {
        files.put(&format!("{HWMON}{chip}/name"), "coretemp");
        sensor(chip, 1, &format!("Package id {package}"), &format!("{}000", 50 + package));
        sensor(chip, 2, &format!("Core {core}"), &format!("{}000", 40 + package));
    }
    let of = |header: &str| values(&files, &machine, header, &[]).unwrap().1;
    assert_eq!(of("PkgTmp"), [Ok(50.0), Ok(51.0)]);
    assert_eq!(of("CoreTmp"), [Ok(40.0), Ok(41.0)]);
}

#[test]
fn an_amd_sensor_is_its_packages_where_it_lies() {
    let (files, machine) = two_packages();
    for (chip, cpus, degrees) in [(0, "1", "61000"), (1, "0", "62000"), (2, "0-1", "63000")] {
        files.put(&format!("{HWMON}{chip}/name"), "k10temp");
        files.put(&format!("{HWMON}{chip}/device/local_cpulist"), cpus);
        files.put(&format!("{HWMON}{chip}/temp1_label"), "Tctl");
        files.put(&format!("{HWMON}{chip}/temp1_input"), degrees);
    }
    let (_, degrees) = values(&files, &machine, "PkgTmp", &[]).unwrap();
    assert_eq!(degrees, [Ok(62.0), Ok(61.0)]);
}

#[test]
fn a_cpu_that_goes_offline_has_no_numbers_and_the_others_have() {
    let (files, machine) = two_packages();
    let stat = |one: &str, two: &str| format!("cpu 0 0 0 0 0 0 0 0\n{one}\n{two}\n");
    files.put("/proc/stat", &stat("cpu0 10 0 0 90 0 0 0 0", "cpu1 0 0 0 100 0 0 0 0"));
    let later = stat("cpu0 60 0 0 140 0 0 0 0", "cpu1 0 0 0 100 0 0 0 0");
    let (_, busy) = values(&files, &machine, "Busy%", &[("/proc/stat", &later)]).unwrap();
    assert_eq!(busy[0], Ok(0.5));
    // Too short for a step of the kernel's account.
    assert!(busy[1].clone().unwrap_err().contains("in steps of 10 ms"), "{busy:?}");
    let online = format!("{CPU}/online");
    let last = stat("cpu0 90 0 0 150 0 0 0 0", "cpu1 0 0 0 200 0 0 0 0");
    let change = [("/proc/stat", last.as_str()), (&online, "0")];
    let (_, busy) = values(&files, &machine, "Busy%", &change).unwrap();
    assert_eq!(busy[0], Ok(0.75));
    assert_eq!(busy[1].clone().unwrap_err(), "CPU 1 is offline");
}

/// What counters of a CPU say after it came back began anew somewhere in the interval.
#[test]
fn a_cpu_that_comes_back_has_numbers_from_the_next_interval_on() {
    let (files, machine) = two_packages();
    let mut activity = Activity::open(&machine, None).unwrap();
    let column = activity.columns().iter().position(|it| it.header == "TSC_MHz");
    let Some(column) = column else { return }; // There is no such counter on this architecture.
    let online = format!("{CPU}/online");
    let mut seen = |cpus: &str| -> Vec<Result<f64, String>> {
        files.put(&online, cpus);
        std::thread::sleep(Duration::from_millis(2));
        let values = activity.look().map(|seen| seen.values[column].clone()).unwrap_or_default();
        values.into_iter().map(|value| value.map_err(|reason| reason.why)).collect()
    };
    assert!(seen("0-1").is_empty());
    assert!(seen("0")[1].as_ref().is_err_and(|why| why == "CPU 1 is offline"));
    assert!(seen("0-1")[1].as_ref().is_err_and(|why| why.contains("was offline when")));
    assert!(seen("0-1").iter().all(Result::is_ok));
}

/// Residency by registers: a share of the ticks that passed; what falls, or is not there, is no 0
/// %.
#[test]
fn residency_is_read_from_registers() {
    let (_, machine) = two_packages();
    let registers = Counting::default();
    let machine = Machine {
        msr: Arc::new(registers.clone()),
        cpuid: Box::new(super::Vendor("GenuineIntel")),
        ..machine
    };
    let put = |cpu: u32, register: u32, count: u64| {
        registers.0.lock().unwrap().insert((CpuId(cpu), register), count);
    };
    // Both cores have C6, and no other state; one counter will fall.
    put(0, 0x3fd, 1000);
    put(1, 0x3fd, 1 << 40);
    let mut activity = Activity::open(&machine, None).unwrap();
    let column = activity.columns().iter().position(|it| it.header == "CPU%c6");
    if sys::clock::Tsc::invariant().is_none() {
        return assert_eq!(column, None);
    }
    let column = column.unwrap();
    assert_eq!(activity.columns()[column].source, "registers of residency");
    assert!(!activity.columns().iter().any(|it| it.header == "CPU%c3"));
    activity.look();
    put(0, 0x3fd, 1001);
    put(1, 0x3fd, 5);
    std::thread::sleep(Duration::from_millis(2));
    let seen = activity.look().unwrap().values[column].clone();
    let share = seen[0].clone().unwrap();
    assert!(share > 0.0 && share < 1e-3, "{share}");
    assert!(seen[1].clone().unwrap_err().why.contains("the counter fell"), "{seen:?}");
    // More than all of the time is all of it: the clocks are read a moment apart.
    put(0, 0x3fd, 1 << 60);
    registers.0.lock().unwrap().remove(&(CpuId(1), 0x3fd));
    let seen = activity.look().unwrap().values[column].clone();
    assert_eq!(seen[0], Ok(1.0));
    assert!(seen[1].is_err(), "{seen:?}");
}
