//! Why the clock is not higher, and how long it lasts, on simulated machines: limits that were put in come out
//! by name and in megahertz.

use std::sync::Arc;

use crate::common::{assert_near, measured, of, streams};
use bench::areas::turbo::{Options, Tests};
use bench::rig::placement::Choice;
use machine::Machine;
use machine::ports::{Msr, Reading, Tree};
use machine::simulated::{Fault, Model, SlowCores, Writer};
use model::page::Block;
use model::record::{AccountStep, ClockAccount, PowerTerm, Record, Series};
use model::{CpuId, Known};

pub(super) fn machine(name: &str, change: impl FnOnce(&mut Model)) -> Machine {
    let mut model = Model::named(name).unwrap();
    model.noise.drift_amplitude = 0.0;
    change(&mut model);
    Machine::from(model)
}

/// Writes a file of each CPU's cpufreq.
pub(super) fn set_each(model: &Model, file: &str, text: &str) {
    let writer = Writer::new(model);
    for cpu in model.cpus() {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/{file}");
        writer.write(&path, text).unwrap();
    }
}

/// Writes registers of each CPU.
fn set_registers(model: &Model, registers: &[(u32, u64)]) {
    let writer = Writer::new(model);
    for cpu in model.cpus() {
        for (register, value) in registers {
            writer.write_register(cpu, *register, *value).unwrap();
        }
    }
}

/// Registers of a machine, some of which hold something else on all CPUs.
struct Rewritten(Arc<dyn Msr>, Vec<(u32, u64)>);

impl Msr for Rewritten {
    fn read(&self, cpu: CpuId, register: u32) -> Reading<u64> {
        let other = self.1.iter().find(|(address, _)| *address == register);
        other.map_or_else(|| self.0.read(cpu, register), |(_, value)| Ok(*value))
    }
}

/// Registers of a machine that gives its CPUs other highest levels.
struct Ranked(Arc<dyn Msr>, fn(CpuId) -> u64);

impl Msr for Ranked {
    fn read(&self, cpu: CpuId, register: u32) -> Reading<u64> {
        let value = self.0.read(cpu, register)?;
        Ok(if register == 0x771 { value & !0xff | (self.1)(cpu) } else { value })
    }
}

fn rewritten(machine: Machine, registers: &[(u32, u64)]) -> Machine {
    let msr = Arc::new(Rewritten(machine.msr, registers.to_vec()));
    Machine { msr, ..machine }
}

/// Files of a machine, those that end so holding something else.
struct Overlaid(Box<dyn Tree>, &'static str, String);

impl Tree for Overlaid {
    fn read(&self, path: &str) -> Reading<String> {
        if path.ends_with(self.1) { Ok(self.2.clone()) } else { self.0.read(path) }
    }

    fn list(&self, path: &str) -> Reading<Vec<String>> {
        self.0.list(path)
    }
}

pub(super) fn why(machine: &Machine) -> Record {
    measured(machine, Options { tests: Tests::Why, ..streams(&[]) })
}

/// The account of a stream on so many cores.
#[track_caller]
fn account<'a>(record: &'a Record, stream: &str, cores: usize) -> &'a ClockAccount {
    let accounts = &record.clock.as_ref().unwrap().accounts;
    let found = accounts.iter().find(|it| it.workload == stream && it.active.len() == cores);
    let account = found.unwrap_or_else(|| panic!("no account of {stream} on {cores} cores"));
    if let (Known::Yes(advertised), Some(rest)) = (&account.advertised, account.unexplained) {
        let lost: f64 = account.steps.iter().map(|step| step.hertz).sum();
        let sum = advertised.hertz - lost - rest;
        assert_near(sum, account.delivered, 1e-9, "the steps add up to the distance");
    }
    account
}

#[track_caller]
pub(super) fn step<'a>(account: &'a ClockAccount, id: &str) -> &'a AccountStep {
    let found = account.steps.iter().find(|step| step.id == id);
    found.unwrap_or_else(|| panic!("no step {id} in {:#?}", account.steps))
}

#[track_caller]
pub(super) fn explained(account: &ClockAccount) {
    let rest = account.unexplained.unwrap() / account.clock;
    assert!(rest.abs() < 0.005, "{:.3} % unexplained: {:#?}", rest * 100.0, account.steps);
}

#[test]
fn bins_and_licences_are_named_with_their_megahertz() {
    let record = why(&machine("2s-56c", |_| {}));
    let alone = account(&record, "scalar_iadd", 1);
    assert_near(alone.advertised.value().unwrap().hertz, 3.8e9, 1e-9, "one core");
    explained(alone);
    let heavy = account(&record, "avx512_fma_t", 112);
    assert_near(step(heavy, "active-cores").hertz, 0.8e9, 1e-9, "3.8 to 3.0 GHz");
    assert_near(step(heavy, "licence").hertz, 0.8e9, 0.01, "3.0 to 2.2 GHz");
    explained(heavy);
}

/// Heavy code is slower, and nobody can be asked why: that much is measured, and its cause is not.
#[test]
fn a_lower_clock_alone_is_no_licence() {
    let record = why(&machine("2s-56c", |model| model.faults.push(Fault::NoMsr)));
    let heavy = account(&record, "avx512_fma_t", 112);
    assert!(heavy.steps.iter().all(|step| step.id != "licence"), "{:#?}", heavy.steps);
    let slower = step(heavy, "heavier");
    assert_near(slower.hertz, 0.8e9, 0.01, "3.0 to 2.2 GHz");
    assert!(slower.label.contains("cause not known"), "{slower:?}");
    assert!(slower.evidence.contains("the driver is not loaded"), "{slower:?}");
    // What took the clock of all cores from that of one is not known either.
    assert_near(heavy.unexplained.unwrap(), 0.8e9, 0.01, "3.8 to 3.0 GHz");
}

/// The log of a power limit that came up with all cores at work says nothing of one core before that.
#[test]
fn a_limit_of_one_cell_is_not_pinned_on_others() {
    // Turbo limits of 4.9 and 4.5 GHz, 200 MHz above what the cores do, and a kernel that allows as much.
    let machine = rewritten(machine("laptop", |_| {}), &[(0x1ad, 0x2d31)]);
    let tree = Box::new(Overlaid(machine.tree, "scaling_max_freq", "4900000".to_owned()));
    let record = why(&Machine { tree, ..machine });
    let alone = account(&record, "scalar_iadd", 1);
    assert!(alone.steps.iter().all(|step| !step.id.contains("pl2")), "{:#?}", alone.steps);
    assert_near(alone.unexplained.unwrap(), 0.2e9, 0.02, "4.9 to 4.7 GHz");
    let all = account(&record, "scalar_iadd", 4);
    assert!(all.steps.iter().any(|step| step.id.contains("pl2")), "{:#?}", all.steps);
}

/// PROCHOT is asserted when every cell has been through its first block, after which all was well.
#[test]
fn a_limit_that_comes_up_after_the_first_block_is_named() {
    let whole = why(&machine("2s-56c", |_| {})).run.seconds;
    let record = why(&machine("2s-56c", |model| {
        model.prochot_hz = Some(1.0e9);
        model.prochot_from_seconds = 0.4 * whole;
    }));
    let prochot = record.clock.as_ref().unwrap().reasons.iter().find(|it| it.id == "prochot");
    assert!(prochot.is_some_and(|it| !it.before.logged && it.held()), "{prochot:?}");
    for (stream, cores) in [("scalar_iadd", 1), ("avx512_fma_t", 1), ("avx512_fma_t", 112)] {
        let account = account(&record, stream, cores);
        assert_near(account.clock, 1.0e9, 0.005, stream);
        assert!(step(account, "prochot").evidence.contains("in force at the end"));
        explained(account);
    }
}

/// Registers of a machine, one of which holds something else on one CPU.
pub(super) struct OfOne(pub(super) Arc<dyn Msr>, pub(super) CpuId, pub(super) u32, pub(super) u64);

impl Msr for OfOne {
    fn read(&self, cpu: CpuId, register: u32) -> Reading<u64> {
        if (cpu, register) == (self.1, self.2) { Ok(self.3) } else { self.0.read(cpu, register) }
    }
}

/// A core that is hot says nothing of the others of its package.
#[test]
fn a_reason_of_one_core_is_no_reason_of_another() {
    let machine = rewritten(machine("laptop", |_| {}), &[(0x1ad, 0x2d31)]);
    let tree = Box::new(Overlaid(machine.tree, "scaling_max_freq", "4900000".to_owned()));
    // Temperature, in force and logged, on the third core.
    let msr = Arc::new(OfOne(machine.msr, CpuId(2), 0x19c, 0b11));
    let record = why(&Machine { tree, msr, ..machine });
    let alone = account(&record, "scalar_iadd", 1);
    assert!(alone.steps.iter().all(|step| !step.id.contains("thermal")), "{:#?}", alone.steps);
    assert_near(alone.unexplained.unwrap(), 0.2e9, 0.02, "4.9 to 4.7 GHz");
    let all = account(&record, "scalar_iadd", 4);
    assert!(all.steps.iter().any(|step| step.id.contains("thermal")), "{:#?}", all.steps);
}

/// Whether less is asked for than the hardware has is not known, and the page says so.
#[test]
fn a_request_that_cannot_be_read_has_its_reason() {
    let record = why(&machine("2s-56c", |model| model.faults.push(Fault::NoMsr)));
    let unread = &record.clock.as_ref().unwrap().unread;
    let asked = unread.iter().find(|it| it.what.contains("HWP")).unwrap();
    assert!(asked.why.contains("the driver is not loaded"), "{asked:?}");
    let page = format!("{:?}", bench::areas::turbo::page(&record, 0, 200));
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
fn of_amd(registers: &[(u32, u64)]) -> Record {
    why(&machine("epyc", |model| set_registers(model, registers)))
}

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

/// A clock above a limit refutes it: it takes nothing, and those below it are as they are without it.
#[test]
fn a_limit_that_the_clock_refutes_is_no_step() {
    let of = |limit: &'static str| {
        why(&machine("laptop", |model| {
            model.faults.push(Fault::IgnoresSettings);
            set_each(model, "scaling_max_freq", limit);
        }))
    };
    let (refuted, usual) = (of("2500000"), of("4700000"));
    for (stream, cores) in [("scalar_iadd", 1), ("scalar_iadd", 4), ("avx512_fma_t", 4)] {
        let account = account(&refuted, stream, cores);
        assert!(account.steps.iter().all(|step| step.id != "kernel"), "{:#?}", account.steps);
        let steps = |of: &ClockAccount| of.steps.iter().map(|it| it.id.clone()).collect::<Vec<_>>();
        assert_eq!(
            steps(account),
            steps(self::account(&usual, stream, cores)),
            "{stream} on {cores}"
        );
        explained(account);
    }
    let said = says(&refuted, "not obeyed");
    let line = "limit of the kernel: scaling_max_freq 2500 MHz: not obeyed: the clock is 470";
    assert!(said.len() == 1 && said[0].starts_with(line), "{said:?}");
    assert_eq!(says(&usual, "not obeyed"), [""; 0]);
}

/// Levels by core, boost and its driver, as they are; turbo limits and limits of power that only firmware knows.
#[test]
fn a_server_of_amd_says_what_its_interfaces_give() {
    let record = of_amd(&[]);
    let clock = record.clock.as_ref().unwrap();
    let levels: Vec<(String, u32, &str)> = clock
        .levels
        .iter()
        .map(|it| (it.cpus.to_string(), it.highest, it.source.as_str()))
        .collect();
    let expected =
        [("0-7".to_owned(), 185, "ACPI `_CPC`"), ("8-15".to_owned(), 175, "ACPI `_CPC`")];
    assert_eq!(levels, expected);
    for (cpu, hertz) in [(0, 3.7e9), (7, 3.7e9), (8, 3.5e9), (15, 3.5e9)] {
        let mut alone = of(&record, "core_clock");
        let series = alone.find(|series| series.cpu == CpuId(cpu)).unwrap();
        assert_near(series.summary().unwrap().median, hertz, 0.004, "a core alone");
    }
    let page = text(&record);
    let verdict = "firmware favours the cores of level 185 (ACPI `_CPC`), as measured, too: +5.7 %";
    assert!(page.contains(verdict), "{page}");
    assert!(page.contains("core performance boost: on (MSR C0010015h bit 25)"), "{page}");
    let unread = |what: &str| clock.unread.iter().find(|it| it.what.contains(what));
    for what in ["power limits", "limit of the active cores"] {
        assert!(unread(what).unwrap().why.contains("AMD"), "{:?}", clock.unread);
    }
    // How many cores are active is no limit that anything here states.
    let all = account(&record, "scalar_iadd", 16);
    assert!(all.steps.iter().all(|step| step.id != "kernel"), "{:?}", all.steps);
    assert_near(all.unexplained.unwrap(), 0.3e9, 0.02, "3.7 to 3.4 GHz");
    assert_near(
        step(account(&record, "avx512_fma_t", 16), "heavier").hertz,
        0.3e9,
        0.02,
        "to 3.1 GHz",
    );
    let heavier = step(account(&record, "avx512_fma_t", 16), "heavier");
    let why = "licence, power or current: CPUs of AMD state no reasons";
    assert!(heavier.evidence.ends_with(why), "{heavier:?}");
}

/// Somebody asserts PROCHOT: the P-state that is allowed now says so, without a log.
#[test]
fn a_lower_state_on_amd_is_named() {
    let record = why(&machine("epyc", |model| model.prochot_hz = Some(1.5e9)));
    let account = account(&record, "scalar_iadd", 1);
    assert_near(account.clock, 1.5e9, 0.005, "as slow as PROCHOT lets it be");
    let limit = step(account, "p-state-limit");
    assert_near(limit.hertz, 2.2e9, 0.01, "what it takes");
    explained(account);
}

/// What the hardware could do is not what the kernel allows.
#[test]
fn the_limit_of_the_kernel_stands_beside_what_was_measured() {
    let record = why(&machine("2s-56c", |model| set_each(model, "scaling_max_freq", "2500000")));
    let page = bench::areas::turbo::page(&record, 0, 200);
    let tables = page.blocks.iter().filter_map(|block| match block {
        model::page::Block::Table(table) => Some(table),
        _ => None,
    });
    let promised = tables.into_iter().find(|it| it.caption.starts_with("promised")).unwrap();
    let column = promised.columns.iter().position(|(name, _)| name == "kernel allows").unwrap();
    assert_eq!(promised.rows[0][column].text, "2500");
    assert_near(step(account(&record, "scalar_iadd", 1), "kernel").hertz, 1.3e9, 1e-6, "kernel");
}

/// Bins of every licence, and those of turbo-freq, stand beside what was measured.
#[test]
fn what_each_licence_is_promised_is_shown() {
    let record = why(&machine("sapphire", |_| {}));
    let page = bench::areas::turbo::page(&record, 0, 200);
    let table = page.blocks.into_iter().find_map(|block| match block {
        model::page::Block::Table(it) if it.caption.starts_with("promised by licence") => Some(it),
        _ => None,
    });
    let table = table.unwrap();
    let names: Vec<&str> = table.columns.iter().map(|(name, _)| name.as_str()).collect();
    assert!(names.starts_with(&["active cores", "sse", "avx2", "avx512"]), "{names:?}");
    let row = |label: &str| {
        let found = table.rows.iter().find(|row| row[0].text == label);
        let found = found.unwrap_or_else(|| panic!("no {label}: {:?}", table.rows));
        found[1..4].iter().map(|cell| cell.text.parse().unwrap()).collect::<Vec<f64>>()
    };
    assert_eq!(row("up to 8"), [3800.0, 3500.0, 3200.0]);
    assert_eq!(row("turbo-freq, others")[0].to_bits(), 2600f64.to_bits());
    assert!(table.rows.iter().any(|row| row[0].text.starts_with("turbo-freq, chosen cores")));
}

#[test]
fn power_limits_are_named() {
    let record = why(&machine("laptop", |_| {}));
    let clock = record.clock.as_ref().unwrap();
    let limit = |term| clock.power.iter().find(|it| it.term == term).unwrap();
    assert_eq!(limit(PowerTerm::Long).watts, Some(28.0));
    assert_eq!(limit(PowerTerm::Short).watts, Some(52.0));
    let light = account(&record, "scalar_iadd", 4);
    let power = light.steps.iter().find(|step| step.id.starts_with("pl")).unwrap();
    assert!(power.label.contains("PL2 52 W"), "{power:?}");
    // (52 - 4) W by 4 cores of 3 W a GHz each.
    assert_near(power.hertz, 0.3e9, 0.02, "4.3 to 4.0 GHz");
    explained(light);
}

/// PROCHOT was asserted from outside before the run and after it: its log says nothing, its state does.
#[test]
fn an_external_prochot_is_named() {
    let record = why(&machine("2s-56c", |model| model.prochot_hz = Some(0.8e9)));
    let account = account(&record, "scalar_iadd", 1);
    let step = step(account, "prochot");
    assert_near(step.hertz, 3.0e9, 0.005, "3.8 to 0.8 GHz");
    assert!(step.evidence.contains("before and after"), "{step:?}");
    explained(account);
}

#[test]
fn two_limits_at_once_are_both_named() {
    let record = why(&machine("laptop", |model| {
        model.prochot_hz = Some(3.9e9);
        model.power.as_mut().unwrap().heavier = 1.0;
    }));
    for (stream, cores) in [("scalar_iadd", 4), ("avx512_fma_t", 4)] {
        let account = account(&record, stream, cores);
        let both = account.steps.iter().find(|step| step.id.contains('+')).unwrap();
        assert!(both.id.contains("prochot") && both.id.contains("pl2"), "{both:?}");
        assert!(both.label.ends_with("together"), "{both:?}");
        explained(account);
    }
}

/// Logs that were set before a run are no evidence of it.
#[test]
fn an_old_log_explains_nothing() {
    let first = machine("laptop", |_| {});
    why(&first);
    let relieved = {
        let mut model = first.simulated.clone().unwrap();
        model.power.as_mut().unwrap().short_term_watts = Some(500.0);
        model.power.as_mut().unwrap().long_term_watts = Some(500.0);
        Machine::from(model)
    };
    let record = why(&relieved);
    let clock = record.clock.as_ref().unwrap();
    assert!(clock.reasons.iter().any(|reason| reason.id == "pl2" && reason.before.logged));
    assert!(clock.reasons.iter().all(|reason| !reason.held()), "{:#?}", clock.reasons);
    let light = account(&record, "scalar_iadd", 4);
    assert!(light.steps.iter().all(|step| !step.id.starts_with("pl")), "{:#?}", light.steps);
    // The log is set, so that it cannot deny that power held: that heavy code is slower has no cause.
    let heavy = account(&record, "avx512_fma_t", 4);
    assert!(heavy.steps.iter().all(|step| step.id != "licence"), "{:#?}", heavy.steps);
    assert!(step(heavy, "heavier").evidence.contains("logged before the run"));
}

#[test]
fn a_clip_of_speed_select_is_named() {
    let record = why(&machine("sapphire", |model| {
        let firmware = model.speed_select.as_mut().unwrap();
        // Priorities on, turbo frequencies of two kinds on, all cores of package 0 in class 3.
        firmware.came_with.insert("0.0/priorities".parse().unwrap(), 2);
        firmware.came_with.insert("0.0/core-power".parse().unwrap(), 1);
        firmware.came_with.insert("0.0/features".parse().unwrap(), 2);
        for module in 0..56 {
            firmware.came_with.insert(format!("0.0/association/{module}").parse().unwrap(), 3);
        }
    }));
    let account = account(&record, "scalar_iadd", 1);
    let clip = step(account, "sst");
    assert_near(clip.hertz, 1.2e9, 1e-6, "3.8 to 2.6 GHz");
    assert!(clip.evidence.contains("turbo-freq clips class 3 to 2600 MHz"), "{clip:?}");
    explained(account);
}

/// Four chosen cores and sixteen others: each kind has its own limit, whatever registers say of active cores.
#[test]
fn chosen_cores_have_the_limits_of_turbo_freq() {
    let machine = machine("sapphire", |model| {
        let firmware = model.speed_select.as_mut().unwrap();
        firmware.came_with.insert("0.0/priorities".parse().unwrap(), 2);
        firmware.came_with.insert("0.0/core-power".parse().unwrap(), 1);
        firmware.came_with.insert("0.0/features".parse().unwrap(), 2);
        for module in 0..56 {
            let class = if module < 4 { 0 } else { 3 };
            firmware.came_with.insert(format!("0.0/association/{module}").parse().unwrap(), class);
        }
    });
    let cpus = Choice::usual(Some("0-19".parse().unwrap()));
    let record = measured(&machine, Options { tests: Tests::Why, cpus, ..streams(&[]) });
    let alone = account(&record, "avx512_fma_t", 1);
    explained(alone);
    let chosen = step(alone, "licence");
    assert!(chosen.evidence.contains("lets 4 chosen have 3300 MHz (avx512)"), "{chosen:?}");
    let all = account(&record, "scalar_iadd", 20);
    assert!(step(all, "sst").evidence.contains("turbo-freq clips class 3 to 2600 MHz"));
    explained(all);
}

#[test]
fn what_the_kernel_and_others_take_is_told_apart() {
    let record = why(&machine("2s-56c", |model| model.noise.steal_share = 0.02));
    let account = account(&record, "scalar_iadd", 1);
    let stolen = step(account, "steal");
    assert_near(stolen.hertz / account.clock, 0.02, 0.2, "the hypervisor took two per cent");
    assert!(account.delivered < account.clock);
}

/// Interrupts of a machine of its own are no hypervisor's.
#[test]
fn bare_metal_has_no_hypervisor() {
    let record = why(&machine("2s-56c", |model| model.noise.interrupt_seconds = 100e-6));
    let account = account(&record, "scalar_iadd", 1);
    assert_eq!(step(account, "taken").label, "taken away (interrupts, other threads)");
    assert!(account.steps.iter().all(|step| step.id != "steal"), "{:?}", account.steps);
}

/// What others state of a CPU is a limit where firmware does not tell, and none of a machine that is faster.
#[test]
fn clocks_that_others_state_are_named() {
    let of = |heavy: f64| {
        let machine = machine("2s-56c", |model| {
            "SIMULATED Intel Xeon Gold 6154 CPU".clone_into(&mut model.identity.brand);
            model.licence[2].bins = vec![(56, heavy)];
        });
        why(&machine)
    };
    let by_others = |record: &Record| {
        let steps = &account(record, "avx512_fma_t", 1).steps;
        steps.iter().find(|step| step.evidence.contains("laser 25")).cloned()
    };
    let slow = of(3.4e9);
    let stated = by_others(&slow).unwrap();
    assert_eq!(stated.id, "licence");
    assert_near(stated.hertz, 300e6, 0.01, "from 3800 to the 3500 MHz that others state");
    let text = text(&slow);
    assert!(text.contains("as others state of this CPU (laser 25)"), "{text}");
    assert!(text.contains("measured, 1 active"), "{text}");
    assert_eq!(by_others(&of(3.7e9)), None);
}

#[test]
fn a_guest_knows_what_it_lost_and_not_what_it_was_promised() {
    let record = why(&machine("vm-2c", |_| {}));
    let clock = record.clock.as_ref().unwrap();
    assert!(!clock.accounts.is_empty());
    for account in &clock.accounts {
        assert!(matches!(account.advertised, Known::No { .. }), "{account:?}");
        assert_eq!(account.unexplained, None);
        assert!(
            account
                .steps
                .iter()
                .all(|step| ["taken", "halted", "steal"].contains(&step.id.as_str()))
        );
    }
    for what in ["reasons for a lower clock", "power limits", "limit of the active cores"] {
        let unread = clock.unread.iter().find(|it| it.what == what).unwrap();
        assert!(unread.why.contains("hypervisor"), "{clock:?}");
    }
}

#[test]
fn what_a_quota_stops_is_told_apart_from_what_nobody_names() {
    let record = why(&machine("4c", |model| model.noise.quota_share = 0.1));
    for account in &record.clock.as_ref().unwrap().accounts {
        let lost = |id| {
            let step = account.steps.iter().find(|step| step.id == id);
            step.map_or(0.0, |step| step.hertz / account.clock)
        };
        // Of a run of half a second the polls saw a few stops.
        assert!((0.03..0.14).contains(&lost("quota")), "{account:?}");
        assert!(lost("taken") < 0.01, "{account:?}");
    }
    let text = text(&record);
    assert!(text.contains("quota of the control group"), "{text}");
}

/// Blocks in which somebody used a core's sibling are left out; the others tell its clock.
#[test]
fn a_core_that_others_disturb_at_times_has_the_clock_of_its_other_blocks() {
    let record = why(&machine("2s-28c", |model| model.faults = vec![Fault::SiblingsBusyAtTimes]));
    let cores: Vec<&Series> = of(&record, "core_clock").collect();
    assert_eq!(cores.len(), 56);
    let at_times = |core: &&&Series| core.disturbance.contended_blocks > 0;
    let disturbed: Vec<&Series> = cores.iter().filter(at_times).copied().collect();
    assert!(disturbed.iter().any(|core| core.summary().is_some()), "{}", disturbed.len());
    let fastest = cores.iter().filter_map(|core| core.summary()).map(|it| it.median);
    let fastest = fastest.fold(0.0, f64::max);
    for core in disturbed {
        let left = record.run.plan.blocks_done - core.disturbance.contended_blocks;
        match core.summary() {
            Some(summary) => {
                assert_eq!(summary.blocks, left, "CPU {}", core.cpu);
                assert_near(summary.median, fastest, 0.004, "a core alone");
            }
            None => assert!(left <= record.run.plan.blocks_done / 2, "CPU {}", core.cpu),
        }
    }
}

/// Cores that are shared with something busy have no clock, for that reason.
#[test]
fn cores_that_others_disturb_have_that_for_a_reason() {
    let record = why(&machine("2s-56c", |model| model.faults = vec![Fault::SiblingsBusyLater]));
    let without: Vec<&Series> =
        of(&record, "core_clock").filter(|series| series.summary().is_none()).collect();
    assert!(!without.is_empty(), "they are busy before all cores had a turn");
    for series in without {
        let why = crate::common::why(series);
        assert!(why.starts_with("sibling busy: the add chain"), "{why}");
    }
}

#[test]
fn each_core_alone_has_a_clock() {
    let record = why(&machine("2s-56c", |_| {}));
    let cores: Vec<&Series> = of(&record, "core_clock").collect();
    assert_eq!(cores.len(), 112);
    for core in cores {
        assert_near(core.summary().unwrap().median, 3.8e9, 0.004, "one core alone");
    }
}

/// CPUs 0 and 2 come less far than CPUs 1 and 3.
fn with_favoured_cores() -> Machine {
    let slow = SlowCores { cpus: "0,2".parse().unwrap(), highest_hz: 4.5e9 };
    machine("laptop", |model| model.slow_cores.push(slow))
}

fn text(record: &Record) -> String {
    let page = bench::areas::turbo::page(record, 0, 100);
    format!("{:?}", page.blocks)
}

#[test]
fn favoured_cores_are_compared_with_the_ranking_of_the_firmware() {
    let record = why(&with_favoured_cores());
    // They differ, and none of them moves.
    assert!(
        record.findings.iter().all(|it| it.id != "turbo.clock-drifts"),
        "{:?}",
        record.findings
    );
    for (cpu, hertz) in [(0, 4.5e9), (1, 4.7e9), (2, 4.5e9), (3, 4.7e9)] {
        let mut alone = of(&record, "core_clock");
        let series = alone.find(|series| series.cpu == CpuId(cpu)).unwrap();
        assert_near(series.summary().unwrap().median, hertz, 0.004, "a core alone");
    }
    let clock = record.clock.as_ref().unwrap();
    let levels: Vec<(String, u32, &str)> = clock
        .levels
        .iter()
        .map(|it| (it.cpus.to_string(), it.highest, it.source.as_str()))
        .collect();
    let expected = [("1,3".to_owned(), 47, "MSR 771h"), ("0,2".to_owned(), 45, "MSR 771h")];
    assert_eq!(levels, expected);
    let text = text(&record);
    let verdict = "firmware favours the cores of level 47 (MSR 771h), as measured, too: +4.4 %";
    assert!(text.contains(verdict), "{text}");
    assert!(
        text.contains("of 4 pairs of cores with different levels 4 lie as it says, 0 the other"),
        "{text}"
    );
    // What this core cannot is no limit that somebody set.
    let account = account(&record, "scalar_iadd", 1);
    assert_eq!(account.cpu, CpuId(0));
    let own = step(account, "core");
    assert_near(own.hertz, 200e6, 0.01, "what CPU 0 lacks");
    assert!(own.evidence.contains("CPUs 1,3 come to 4700 MHz"), "{own:?}");
    assert!(account.steps.iter().all(|step| step.id != "kernel"), "{:?}", account.steps);
    explained(account);
}

/// The levels say the opposite of what the cores do.
#[test]
fn a_ranking_that_is_wrong_is_told() {
    let wrong = |cpu: CpuId| if [0, 2].contains(&cpu.0) { 48 } else { 40 };
    let machine = with_favoured_cores();
    let msr = Arc::new(Ranked(machine.msr, wrong));
    let record = why(&Machine { msr, ..machine });
    let text = text(&record);
    assert!(text.contains("though they are slower as measured: -4.3 %"), "{text}");
    assert!(
        text.contains("of 4 pairs of cores with different levels 0 lie as it says, 4 the other"),
        "{text}"
    );
}

#[test]
fn equal_cores_share_a_rank() {
    let record = why(&machine("laptop", |_| {}));
    let page = bench::areas::turbo::page(&record, 0, 100);
    let table = page.blocks.iter().find_map(|block| match block {
        Block::Table(table) if table.caption.starts_with("each core alone") => Some(table),
        _ => None,
    });
    let table = table.unwrap();
    let ranks: Vec<&str> = table.rows.iter().map(|row| row[0].text.as_str()).collect();
    assert_eq!(ranks, ["1"; 4]);
    assert!(
        table.notes.iter().any(|it| it.contains("all of them level 47 (MSR 771h)")),
        "{table:?}"
    );
}

#[test]
fn without_a_ranking_its_reason_is_told() {
    let record = why(&machine("4c", |_| {}));
    assert!(record.clock.as_ref().unwrap().levels.is_empty());
    let text = text(&record);
    assert!(text.contains("there is no ranking to compare with: "), "{text}");
    // What is not known is called by what it would tell.
    for what in ["reasons for a lower clock", "limit of the active cores", "power limits"] {
        assert!(text.contains(&format!("not known: {what}, ")), "{what}: {text}");
    }
    assert!(!text.contains("not known: registers, "), "{text}");
}

/// `acpi-cpufreq` lets its governors choose: this one chooses the lowest clock, and keeps it.
#[test]
fn the_clock_of_a_governor_is_a_step() {
    let machine = machine("4c", |model| {
        model.cpufreq_driver = Some("acpi-cpufreq".to_owned());
        for cpu in 0..4 {
            let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq");
            for (file, text) in [("scaling_governor", "powersave"), ("scaling_min_freq", "1200000")]
            {
                Writer::new(model).write(&format!("{folder}/{file}"), text).unwrap();
            }
        }
    });
    let record = why(&machine);
    let account = account(&record, "scalar_iadd", 1);
    assert_near(account.clock, 1.2e9, 0.005, "as slow as the governor says");
    let governor = step(account, "governor");
    assert_near(governor.hertz, 2.4e9, 0.01, "what it takes");
    assert!(
        governor.evidence.contains("governor powersave (scaling_min_freq) 1200 MHz"),
        "{governor:?}"
    );
    explained(account);
}

/// What a page says of this.
fn says(record: &Record, word: &str) -> Vec<String> {
    let lines = |block: Block| match block {
        Block::List(lines) => lines.into_iter().map(|line| line.text).collect(),
        _ => Vec::new(),
    };
    let page = bench::areas::turbo::page(record, 0, 100);
    let lines = page.blocks.into_iter().flat_map(lines);
    lines.filter(|line| line.contains(word)).collect::<Vec<String>>()
}

#[test]
fn one_register_says_so_and_several_say_so() {
    for (name, said) in [("epyc", "MSR C0010061h says so"), ("2s-56c", "MSR 1B1h say so")] {
        let lines = says(&why(&machine(name, |_| {})), "no limit was in force");
        assert!(lines.len() == 1 && lines[0].ends_with(said), "{name}: {lines:?}");
    }
}

/// Preferences cost clock on some machines, and no file says how much: they stand beside what is unexplained.
#[test]
fn what_states_no_clock_is_named() {
    let of = |change: fn(&mut Model)| why(&machine("2s-56c", change));
    let thrifty = |model: &mut Model| {
        for cpu in 0..224 {
            let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq");
            for (file, text) in [
                ("scaling_governor", "powersave"),
                ("energy_performance_preference", "balance_power"),
            ] {
                Writer::new(model).write(&format!("{folder}/{file}"), text).unwrap();
            }
        }
    };
    let explained = says(&of(thrifty), "state no clock");
    assert_eq!(explained, ["governor powersave, preference balance_power: they state no clock"]);
    // Without registers nobody says why all cores are slower than one.
    let open = says(
        &why(&machine("2s-56c", |model| {
            thrifty(model);
            model.faults.push(Fault::NoMsr);
        })),
        "state no clock",
    );
    assert!(open[0].ends_with("and may be part of what is unexplained"), "{open:?}");
    assert_eq!(says(&of(|_| {}), "no clock"), [""; 0], "all is set for performance");
    assert_eq!(says(&why(&machine("vm-2c", |_| {})), "state no clock"), [""; 0], "a guest");
}

/// Each account has its way down: every bar but those of clocks begins where the one before ended.
#[test]
fn every_way_down_is_drawn() {
    let record = why(&machine("2s-56c", |model| model.faults.push(Fault::NoMsr)));
    let page = bench::areas::turbo::page(&record, 0, 100);
    let plots: Vec<&model::page::Bars> = page
        .blocks
        .iter()
        .filter_map(|block| match block {
            Block::Bars(bars) if bars.caption.starts_with("what each step takes") => Some(bars),
            _ => None,
        })
        .collect();
    // More is better of some bars, and less of others.
    assert!(plots.iter().all(|plot| plot.caption.ends_with(", MHz")), "{plots:?}");
    let accounts = &record.clock.as_ref().unwrap().accounts;
    assert_eq!((plots.len(), accounts.len()), (4, 4));
    for (plot, account) in std::iter::zip(plots, accounts) {
        let mut left = 0.0;
        for bar in &plot.bars {
            let from = if bar.from == 0.0 { 0.0 } else { left };
            assert!((bar.from - from).abs() < 1e-9, "{bar:?}");
            left = bar.value;
        }
        assert_near(left, account.delivered / 1e6, 1e-9, "what is left at last");
        let rest = plot.bars.iter().find(|bar| bar.label == "unexplained").unwrap();
        assert_near(rest.from - rest.value, account.unexplained.unwrap() / 1e6, 1e-6, "a bar");
    }
}
