//! Why the clock is not higher, and how long it lasts, on simulated machines: limits that were put in come out
//! by name and in megahertz.

mod ranking;
mod requests;
mod taken;

use std::sync::Arc;

use machine::Machine;
use machine::ports::{Msr, Tree};
use measure::areas::turbo::{Tests, TurboOptions};
use model::page::Block;
use model::record::{AccountStep, ClockAccount, PowerTerm, Record, Series};
use model::{CpuId, Known, Reading};
use rig::placement::Choice;
use simulated::{Fault, Model, SlowCores, Writer};

use crate::common::{assert_near, measured, of, streams};

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
    measured(machine, TurboOptions { tests: Tests::Why, ..streams(&[]) })
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

fn of_amd(registers: &[(u32, u64)]) -> Record {
    why(&machine("epyc", |model| set_registers(model, registers)))
}

fn text(record: &Record) -> String {
    let page = report::areas::turbo::page(record, 0, 100);
    format!("{:?}", page.blocks)
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
    let page = report::areas::turbo::page(&record, 0, 200);
    let tables = page.blocks.iter().filter_map(|block| match block {
        model::page::Block::Table(table) => Some(table),
        _ => None,
    });
    let promised =
        tables.into_iter().find(|it| it.caption.starts_with("Promised and measured")).unwrap();
    let column = promised.columns.iter().position(|(name, _)| name == "kernel allows").unwrap();
    assert_eq!(promised.rows[0][column].text, "2500");
    assert_near(step(account(&record, "scalar_iadd", 1), "kernel").hertz, 1.3e9, 1e-6, "kernel");
}

/// Bins of every licence, and those of turbo-freq, stand beside what was measured.
#[test]
fn what_each_licence_is_promised_is_shown() {
    let record = why(&machine("sapphire", |_| {}));
    let page = report::areas::turbo::page(&record, 0, 200);
    let table = page.blocks.into_iter().find_map(|block| match block {
        model::page::Block::Table(it) if it.caption.starts_with("Promised clock by licence") => {
            Some(it)
        }
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
    let record = measured(&machine, TurboOptions { tests: Tests::Why, cpus, ..streams(&[]) });
    let alone = account(&record, "avx512_fma_t", 1);
    explained(alone);
    let chosen = step(alone, "licence");
    assert!(chosen.evidence.contains("lets 4 chosen have 3300 MHz (avx512)"), "{chosen:?}");
    let all = account(&record, "scalar_iadd", 20);
    assert!(step(all, "sst").evidence.contains("turbo-freq clips class 3 to 2600 MHz"));
    explained(all);
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
    let page = report::areas::turbo::page(record, 0, 100);
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
    let page = report::areas::turbo::page(&record, 0, 100);
    let plots: Vec<&model::page::Bars> = page
        .blocks
        .iter()
        .filter_map(|block| match block {
            Block::Bars(bars) if bars.caption.starts_with("Steps from the advertised clock") => {
                Some(bars)
            }
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
