use model::ticks::Ticks;
use model::{CpuId, Hertz, Obstacle, Seconds};
use simulated::{Fault, Model, names};

use crate::facts;
use crate::instruments::aperf_mperf::{Counts, CycleCounters, calibrate_mperf};
use crate::instruments::traffic::{Carried, TrafficCounters};
use crate::permissions::Question;
use crate::ports::Machine;

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
    let Some(simulated::Error::Unknown { suggestion, known, .. }) =
        Machine::named("sim:2s-56").err()
    else {
        panic!("another error");
    };
    assert_eq!(suggestion, Some("2s-56c"));
    assert_eq!(
        known,
        "sim:1c, sim:4c, sim:laptop, sim:faulty, sim:hybrid, sim:container, sim:2s-28c, sim:2s-56c, sim:guide, sim:icelake, \
         sim:sapphire, sim:sapphire-dimm, sim:sapphire-locked, sim:granite, sim:epyc, sim:quota, sim:sierra, sim:vm-2c"
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
    let text = include_str!("../../../simulated/src/machines/1c.toml");
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
        ("[noise]", "[costs]\nruler = { licence = \"L9\" }\n[noise]", "costs.ruler"),
        ("like = \"small\"", "like = \"nobody\"", "`like`"),
        ("steal_share = 0.0", "steal_share = 1.5", "noise.steal_share"),
        ("faults = []", "faults = [\"no-luck\"]", "no-luck"),
        ("seed = 1", "seed = 1\nstarted = \"soon\"", "started"),
        ("packages = 1", "packages = 1\noffline = \"0\"", "topology.offline"),
        ("packages = 1", "packages = 1\noffline = \"1\"", "topology.offline"),
        ("[noise]", "[[kind]]\nname = \"P\"\ncores = 2\n[noise]", "`kind`"),
        ("packages = 1", "packages = 1\nmemory_only_nodes = 65", "topology.memory_only_nodes"),
        ("l2_bytes", "cores_per_l2 = 3\nl2_bytes", "caches.cores_per_l2"),
        ("l2_bytes", "cores_per_l3 = 0\nl2_bytes", "caches.cores_per_l3"),
        ("faults = []", "faults = []\nlevel_hz = 1e6", "`level_hz`"),
        ("lines_in_flight = 8.0", "lines_in_flight = 0.0", "`memory`"),
        (
            "lines_in_flight = 8.0",
            "lines_in_flight = 8.0\ncontrollers = { channels = 0, idle_read = 0.0, idle_written = 0.0 }",
            "1..=64 channels",
        ),
        ("isa = [", "product = \"Server\"\nisa = [", "identity.product"),
    ] {
        let error = error(from, to);
        assert!(error.contains("`x.toml`") && error.contains(key), "{error}");
    }
}

#[test]
fn what_is_new_in_a_description_is_answered() {
    let text = include_str!("../../../simulated/src/machines/1c.toml")
        .replace("cores_per_package = 1", "cores_per_package = 4")
        .replace(
            "[noise]",
            "[[kind]]\nname = \"P\"\ncores = 2\n[[kind]]\nname = \"E\"\ncores = 2\n[noise]",
        )
        .replace("packages = 1", "packages = 1\noffline = \"3\"\nisolated = \"2\"")
        .replace("threads_per_core = 1", "threads_per_core = 1\nmemory_only_nodes = 1")
        .replace("l2_bytes", "cores_per_l2 = 2\nline_bytes = 64\nl2_bytes");
    let machine = Machine::from(Model::parse("x.toml", &text).unwrap());
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
    let nodes = facts::topology(&machine).nodes;
    let of_node = |index: usize| (nodes[index].cpus.to_string(), nodes[index].memory_bytes);
    assert_eq!(nodes.len(), 2);
    assert_eq!(of_node(0), ("0-2".to_owned(), Some(4 << 30)));
    assert_eq!(of_node(1), (String::new(), Some(4 << 30)));
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

#[test]
fn cycle_counters_are_there_where_the_description_says_so() {
    let counters = CycleCounters::find(&Machine::named("sim:2s-56c").unwrap()).unwrap();
    assert_eq!(counters.source(), "simulated MSR 0xe8 over 0xe7");
    // Nothing was worked there yet.
    assert_eq!(counters.read(CpuId(0)), Ok(Counts { aperf: 0, mperf: 0 }));
    let reason = |name: &str| CycleCounters::find(&Machine::named(name).unwrap()).unwrap_err();
    assert!(reason("sim:1c").why.contains("has no registers that can be read"));
    assert!(reason("sim:vm-2c").remedy.unwrap().contains("modprobe"));
    let mut without = Model::named("2s-56c").unwrap();
    without.registers.as_mut().unwrap().aperf_mperf = false;
    assert!(without.cycle_counters().unwrap_err().why.contains("has no APERF and MPERF"));
}

#[test]
fn faults_of_cycle_counters_show() {
    // A core at 3 GHz that is awake half of the time, read at 0, 60 and 120 ms.
    let readings = |fault: Option<Fault>| {
        let mut model = Model::named("2s-56c").unwrap();
        model.faults.extend(fault);
        let counters = model.cycle_counters().unwrap();
        let at = move |time: f64| {
            let counts = counters.counts(Seconds(time), time / 2.0 * 3e9, Seconds(time / 2.0));
            counts.map(Counts::from)
        };
        [at(0.0), at(0.06), at(0.12)]
    };
    let since = |now: &Counts, then: &Counts| now.since(*then, Ticks::new(120_000_000));
    for fault in [None, Some(Fault::AperfWraps)] {
        let [first, second, third] = readings(fault).map(Result::unwrap);
        for delta in [since(&second, &first).unwrap(), since(&third, &second).unwrap()] {
            assert_eq!((delta.aperf, delta.mperf), (90_000_000, 60_000_000), "{fault:?}");
        }
        assert_eq!(third.mperf < first.mperf, fault.is_some());
    }
    let why = |fault| {
        let [first, second, _] = readings(Some(fault)).map(Result::unwrap);
        since(&second, &first).unwrap_err().why
    };
    assert!(why(Fault::AperfStuck).starts_with("neither APERF nor MPERF moved"));
    assert!(why(Fault::AperfBackwards).starts_with("APERF ran backwards by 90000000"));
    let [first, second, _] = readings(Some(Fault::AperfEio));
    assert!(first.is_ok() && second.unwrap_err().why.contains("Input/output error"));
}

#[test]
fn mperf_of_a_simulated_machine_may_have_a_rate_of_its_own() {
    let mut model = Model::named("2s-56c").unwrap();
    model.registers.as_mut().unwrap().mperf_hz = Some(1.6e9);
    let counters = model.cycle_counters().unwrap();
    let [_, mperf] = counters.counts(Seconds(1.0), 3e9, Seconds(1.0)).unwrap();
    let window = (mperf, Seconds(1.0));
    let found = calibrate_mperf(&[window, window], Some(Hertz(model.clock.tsc_hz))).unwrap();
    assert_eq!(found.rate.hertz, Hertz(1.6e9));
    assert!(found.finding.is_some());
}

/// A machine whose controllers have carried this much, and what they counted of it.
fn counted(change: impl FnOnce(&mut Model), bytes: &[(u32, Carried)]) -> Carried {
    let mut model = Model::named("2s-56c").unwrap();
    // Nobody else moves anything while counters are read.
    let controllers = model.memory.as_mut().and_then(|memory| memory.controllers.as_mut()).unwrap();
    (controllers.idle_read, controllers.idle_written) = (0.0, 0.0);
    change(&mut model);
    let machine = Machine::from(model.clone());
    let counters = TrafficCounters::find(&machine).unwrap();
    let before = counters.read().unwrap();
    for (node, bytes) in bytes {
        model.carry(*node, [bytes.read, bytes.written]);
    }
    counters.read().unwrap().since(&before).unwrap()
}

#[test]
fn memory_controllers_count_what_was_carried() {
    // 64 MiB over eight channels is a whole number of lines in each.
    const BYTES: f64 = 67_108_864.0;
    let carried = |read, written| Carried { read: read * BYTES, written: written * BYTES };
    let both = [(0, carried(3.0, 1.0)), (1, carried(4.0, 0.0))];
    assert_eq!(counted(|_| (), &both), carried(7.0, 1.0));
    let wraps = |model: &mut Model| model.faults.push(Fault::ControllersWrap);
    // More than is left in each of the counters.
    let far = [(1, carried(0.0, 10.0))];
    assert_eq!(counted(wraps, &far), carried(0.0, 10.0));
    let half = |model: &mut Model| model.faults.push(Fault::ControllersSeeHalf);
    assert_eq!(counted(half, &both), carried(3.5, 0.5));
    let zero = |model: &mut Model| model.faults.push(Fault::ControllersReadZero);
    assert_eq!(counted(zero, &both), Carried::default());
    let elsewhere = |model: &mut Model| model.topology.memory_only_nodes = 1;
    assert_eq!(counted(elsewhere, &[(2, carried(1.0, 1.0))]), Carried::default());
}

#[test]
fn memory_controllers_see_what_others_move() {
    let machine = Machine::named("sim:2s-56c").unwrap();
    let counters = TrafficCounters::find(&machine).unwrap();
    for idle in counters.idle().unwrap() {
        // To a line in each channel, within 20 ms.
        assert!((idle.read - 80e6).abs() < 64.0 * 16.0 / 20e-3, "{idle:?}");
        assert!((idle.written - 40e6).abs() < 64.0 * 16.0 / 20e-3, "{idle:?}");
    }
    assert_eq!(
        counters.source(),
        "simulated PMU `uncore_imc_0` and 7 more: cas_count_read, cas_count_write"
    );
}

#[test]
fn counters_that_stand_still_or_are_taken_are_no_numbers() {
    let windows = |fault, begun| {
        let mut model = Model::named("2s-56c").unwrap();
        model.faults.push(fault);
        let counters = TrafficCounters::find(&Machine::from(model.clone())).unwrap();
        model.elapsed.advance(Seconds(begun));
        counters.idle()
    };
    let stands = windows(Fault::ControllersStandStill, 0.04).unwrap_err();
    assert!(stands.why.starts_with("a counter stands still"), "{stands:?}");
    // The last window, or all.
    assert_eq!(windows(Fault::ControllersTaken, 1.11).map(|all| all.len()), Ok(4));
    let taken = windows(Fault::ControllersTaken, 1.2).unwrap_err();
    assert!(taken.why.contains("only 50 % of the time"), "{taken:?}");
}

#[test]
fn a_kernel_that_lets_nobody_count_says_which_sysctl() {
    let mut model = Model::named("2s-56c").unwrap();
    model.perf_event_paranoid = 1;
    let machine = Machine::from(model);
    let reason = TrafficCounters::find(&machine).err().unwrap();
    assert!(reason.why.starts_with("`cas_count_read` of `uncore_imc_0` on CPU 0: "), "{reason:?}");
    assert!(reason.why.contains("EACCES") && reason.why.contains("perf_event_paranoid` is 1"));
    assert!(reason.remedy.unwrap().contains("sudo sysctl kernel.perf_event_paranoid=0"));
    let asked = machine.permits.ask(Question::PerfUncore).unwrap_err();
    assert!(reason.why.ends_with(&asked.why), "doctor says the same: {asked:?}");
}

/// There are counters, or a reason why there are none: most test machines are guests.
#[test]
fn this_machine_counts_its_traffic_or_says_why_not() {
    match TrafficCounters::find(&Machine::real()) {
        Ok(counters) => {
            let (before, after) = (counters.read().unwrap(), counters.read().unwrap());
            // Somebody else may count by the same PMUs meanwhile.
            let why = after.since(&before).err().map(|reason| reason.why);
            assert!(why.is_none_or(|why| !why.is_empty()));
            assert!(counters.gauge().unwrap().step_bytes > 0.0);
        }
        Err(reason) => {
            assert_eq!(reason.what, "measured memory traffic");
            assert!(!reason.why.is_empty(), "{reason:?}");
            let helps = reason.remedy.is_some() || reason.obstacle != Obstacle::Permission;
            assert!(helps, "{reason:?}");
        }
    }
}
