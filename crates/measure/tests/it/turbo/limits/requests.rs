//! Requests to the hardware, and boost that is off, as steps of the account.

use super::*;

/// Whether less is asked for than the hardware has is not known, and the page says so.
#[test]
fn a_request_that_cannot_be_read_has_its_reason() {
    let record = why(&machine("2s-56c", |model| model.faults.push(Fault::NoMsr)));
    let unread = &record.clock.as_ref().unwrap().unread;
    let asked = unread.iter().find(|it| it.what.contains("HWP")).unwrap();
    assert!(asked.why.contains("the driver is not loaded"), "{asked:?}");
    let page = format!("{:?}", report::areas::turbo::page(&record, 0, 200));
    assert!(page.contains("not known: request to the hardware (HWP)"), "{page}");
    // Nor is what more active cores cost, of which the step has no clock.
    let of_cores = "not known: limit of the active cores, there is no `/dev/cpu/*/msr`: the driver is not loaded";
    assert!(page.contains(of_cores), "{page}");
}

/// A request for a level that is no ratio, as those of hybrids are, has no clock; and that is said.
#[test]
fn a_request_in_levels_without_clocks_has_its_reason() {
    let unread = |request: u64| {
        let levels = machine("laptop", |_| {});
        let record = why(&rewritten(levels, &[(0x771, 0x401_1540), (0x774, request)]));
        record.clock.unwrap().unread
    };
    let found = unread(0x1908);
    let asked = found.iter().find(|it| it.what.contains("HWP")).unwrap();
    assert!(asked.why.starts_with("CPU 0 may choose level 25 of 64 at most"), "{asked:?}");
    let all = unread(0x4008);
    assert!(all.iter().all(|it| !it.what.contains("HWP")), "no less than all: {all:?}");
}

/// Levels of favoured cores alone are ratios of the limit of one core: what these may have stands beside the others.
#[test]
fn a_cpu_whose_levels_are_no_ratios_hides_no_request_of_others() {
    let asked = |levels: fn(CpuId) -> u64| {
        let machine = rewritten(machine("laptop", |_| {}), &[(0x774, 0x2808)]);
        let msr = Arc::new(Ranked(machine.msr, levels));
        let clock = why(&Machine { msr, ..machine }).clock.unwrap();
        let allowed = clock.allowed.iter().filter(|it| it.source.contains("774h"));
        let allowed: Vec<_> = allowed.map(|it| (it.cpus.to_string(), it.hertz)).collect();
        (allowed, clock.unread.into_iter().find(|it| it.what.contains("HWP")))
    };
    let (allowed, reason) = asked(|cpu| if [1, 3].contains(&cpu.0) { 47 } else { 46 });
    let [(cpus, hertz)] = allowed.as_slice() else { panic!("{allowed:?}, {reason:?}") };
    assert_eq!((cpus.as_str(), reason), ("1,3", None));
    assert_near(*hertz, 4.0e9, 1e-9, "level 40 of 47");
    let (allowed, reason) = asked(|_| 46);
    assert_eq!(allowed, []);
    let why = reason.unwrap().why;
    assert!(why.starts_with("CPU 0 may choose level 40 of 46 at most"), "{why}");
}

/// The hardware is asked for 2.5 GHz at most, which the kernel's files do not show.
#[test]
fn a_request_to_the_hardware_is_a_step() {
    let record = why(&machine("2s-56c", |model| set_registers(model, &[(0x774, 0x1908)])));
    let account = account(&record, "scalar_iadd", 1);
    let asked = step(account, "hwp");
    assert_near(asked.hertz, 1.3e9, 1e-6, "3.8 to 2.5 GHz");
    assert!(asked.evidence.contains("774h"), "{asked:?}");
    explained(account);
}

/// A server of AMD, some of whose registers were written.
#[test]
fn a_request_to_the_hardware_of_amd_is_a_step() {
    // Levels 185 at most, 120 nominal, which is 2.4 GHz; 100 are asked for.
    let record = of_amd(&[(0xc001_02b3, 0x64)]);
    let account = account(&record, "scalar_iadd", 1);
    let asked = step(account, "hwp");
    assert_near(asked.hertz, 1.7e9, 1e-6, "3.7 to 2.0 GHz");
    assert!(asked.evidence.contains("CPPC request (MSR C00102B3h) 2000 MHz"), "{asked:?}");
    explained(account);
    // Asked for nothing less than the highest level, and switched off.
    for registers in
        [[(0xc001_02b1, 1), (0xc001_02b3, 0xb9)], [(0xc001_02b1, 0), (0xc001_02b3, 0x64)]]
    {
        let record = of_amd(&registers);
        let steps = &self::account(&record, "scalar_iadd", 1).steps;
        assert!(steps.iter().all(|step| step.id != "hwp"), "{steps:?}");
    }
}

/// Firmware has switched boost off, and the kernel has no file that says so.
#[test]
fn boost_that_firmware_switched_off_is_a_step() {
    let record = of_amd(&[(0xc001_0015, 1 << 25)]);
    let account = account(&record, "scalar_iadd", 1);
    let boost = step(account, "boost");
    assert!(boost.evidence.contains("core performance boost: off (MSR C0010015h"), "{boost:?}");
    let base = account.advertised.value().unwrap().hertz - boost.hertz;
    assert_near(base, 2.4e9, 1e-6, "the base clock");
    explained(account);
}

/// Switches boost off as the kernel's file does it.
fn without_boost(name: &str, file: &str, change: impl FnOnce(&mut Model)) -> Record {
    let (switch, off) = (format!("/sys/devices/system/cpu/{file}"), file.ends_with("no_turbo"));
    why(&machine(name, |model| {
        change(model);
        Writer::new(model).write(&switch, if off { "1" } else { "0" }).unwrap();
    }))
}

/// The way from the clock with boost to the base, in hertz, with what states the former.
#[track_caller]
fn of_boost(record: &Record, [from, to]: [f64; 2], source: &str) {
    let account = account(record, "scalar_iadd", 1);
    let advertised = account.advertised.value().unwrap();
    assert_near(advertised.hertz, from, 1e-6, "with boost");
    assert!(advertised.source.contains(source), "{advertised:?}");
    assert_near(step(account, "boost").hertz, from - to, 1e-6, "what boost gave");
    explained(account);
    let page = text(record);
    assert!(!page.contains("is not stated while it is"), "{page}");
}

/// Drivers that call the base the highest clock while boost is off, and the one that does not.
#[test]
fn boost_that_the_kernel_switched_off_is_a_step() {
    let of_amd = without_boost("epyc", "cpufreq/boost", |_| {});
    let highest = &of_amd.clock.as_ref().unwrap().highest;
    assert!(highest.iter().all(|it| it.hertz <= 2.4e9), "as amd-pstate does: {highest:?}");
    of_boost(&of_amd, [3.7e9, 2.4e9], "amd_pstate_max_freq");
    let page = text(&of_amd);
    let switch =
        "core performance boost: permitted (MSR C0010015h bit 25), and switched off by the kernel";
    assert!(page.contains(switch), "{page}");

    let by_acpi = without_boost("epyc", "cpufreq/boost", |model| {
        model.cpufreq_driver = Some("acpi-cpufreq".to_owned());
    });
    // That driver makes clocks of ranks: what the lowest comes to is known of all.
    of_boost(&by_acpi, [3.5e9, 2.4e9], "the machine's highest frequency");
    let page = text(&by_acpi);
    assert!(page.contains("core performance boost: off (MSR C0010015h bit 25)"), "{page}");

    let of_intel =
        |change: fn(&mut Model)| without_boost("laptop", "intel_pstate/no_turbo", change);
    of_boost(&of_intel(|_| {}), [4.7e9, 2.8e9], "turbo limit of one core (MSR 1ADh");
    let levels = of_intel(|model| {
        model.faults.push(Fault::NoMsr);
        model.level_hz = Some(100e6);
    });
    of_boost(&levels, [4.7e9, 2.8e9], "ACPI `_CPC`: highest level over nominal one");
}

/// Levels of equal cores that differ are a ranking, and no clocks.
#[test]
fn a_ranking_is_no_clock_with_boost() {
    let record = without_boost("laptop", "intel_pstate/no_turbo", |model| {
        model.faults.push(Fault::NoMsr);
        model.level_hz = Some(100e6);
        let slow = SlowCores { cpus: "0,2".parse().unwrap(), highest_hz: 4.5e9 };
        model.slow_cores.push(slow);
    });
    assert_eq!(record.clock.as_ref().unwrap().boosted, []);
}

/// Nobody states the clock with boost while it is off: it is said that it is.
#[test]
fn boost_that_is_off_is_named_where_no_clock_is_stated() {
    let record = without_boost("laptop", "intel_pstate/no_turbo", |model| {
        model.faults.push(Fault::NoMsr);
    });
    let account = account(&record, "scalar_iadd", 1);
    assert_near(account.advertised.value().unwrap().hertz, 2.8e9, 1e-6, "the base");
    let page = text(&record);
    let line = "boost is off: the clock with it, above 2800 MHz, is not stated while it is";
    assert!(page.contains(line), "{page}");
}
