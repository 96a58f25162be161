//! Cores that are allowed less than others, on simulated machines: their clocks, and what took them, are their own.

use machine::Machine;
use measure::areas::turbo::{Tests, TurboOptions};
use model::Seconds;
use model::page::Block;
use model::record::{ClockAccount, Record, Series};
use report::claim::Verdict;
use rig::placement::Choice;
use simulated::{Model, Writer};

use super::heat::sustained;
use super::limits::{explained, machine, set_each, step, why};
use crate::common::{assert_near, measured, of, streams};

/// Lets some cores have no more than so many kilohertz.
fn cap(model: &Model, cpus: impl Iterator<Item = u32>, kilohertz: impl Fn(u32) -> u32) {
    let writer = Writer::new(model);
    for cpu in cpus {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_max_freq");
        writer.write(&path, &kilohertz(cpu).to_string()).unwrap();
    }
}

/// What some cores may have at most is a step of theirs, whatever the median over all of them.
#[test]
fn a_limit_of_some_cores_is_a_step_of_theirs_alone() {
    let record = why(&machine("2s-56c", |model| {
        cap(model, (56..112).chain(168..224), |_| 2_000_000);
    }));
    let accounts = &record.clock.as_ref().unwrap().accounts;
    let all = accounts.iter().filter(|it| it.workload == "scalar_iadd" && it.active.len() == 112);
    let all: Vec<&ClockAccount> = all.collect();
    let [free, limited] = all[..] else { panic!("{all:#?}") };
    assert_eq!(limited.moment.as_deref(), Some("CPUs 56-111"));
    assert_near(step(limited, "kernel").hertz, 1.8e9, 1e-6, "3.8 to 2.0 GHz");
    assert_eq!(free.moment.as_deref(), Some("CPUs 0-55"));
    assert!(free.steps.iter().all(|it| it.id != "kernel"), "{free:#?}");
    for account in all {
        explained(account);
        assert!(account.refuted.is_empty(), "{account:#?}");
    }
    let page = report::areas::turbo::page(&record, 0, 200);
    let rows = |caption: &str| -> Vec<Vec<String>> {
        let tables = page.blocks.iter().filter_map(|block| match block {
            Block::Table(table) if table.caption.starts_with(caption) => Some(&table.rows),
            _ => None,
        });
        let cells = |row: &Vec<model::page::Text>| row.iter().map(|it| it.text.clone()).collect();
        tables.flatten().map(cells).collect()
    };
    // What each may have, and had: none of them is said to be slow.
    let promised = rows("Promised and measured clock");
    for (cores, of_promised) in
        [("112, CPUs 0-55", "3000 3800 3000"), ("112, CPUs 56-111", "3000 2000 2000")]
    {
        let row = promised.iter().find(|row| row[0] == cores).unwrap();
        let near = |of: &str, to: &str| {
            (of.parse::<f64>().unwrap() / to.parse::<f64>().unwrap() - 1.0).abs()
        };
        let expected: Vec<&str> = of_promised.split(' ').collect();
        for (cell, expected) in std::iter::zip(&row[1..4], expected) {
            assert!(near(cell, expected) < 0.005, "{row:?}");
        }
    }
    let claims = report::sheet::claims::claims(&record);
    let claim = claims.iter().find(|it| it.what == "turbo, 1 to 112 cores").unwrap();
    let Verdict::Differs(how) = &claim.verdict else { panic!("{claim:?}") };
    assert!(how.ends_with(" with 112 active, CPUs 56-111 (2000 of 3000 MHz)"), "{how}");
    assert!(claim.cause.as_ref().unwrap().starts_with("limit of the kernel took"), "{claim:?}");
    assert!(claim.measured.ends_with(" to 3000 MHz"), "{claim:?}");
}

/// Each core has a limit of its own: a page shows some of that, and says how much more there is.
#[test]
fn many_limits_make_no_endless_page() {
    let record = why(&machine("2s-28c", |model| {
        cap(model, model.cpus().map(|cpu| cpu.0), |cpu| 1_000_000 + 10_000 * cpu);
    }));
    let accounts = record.clock.as_ref().unwrap().accounts.len();
    assert!(accounts > 100, "{accounts}");
    let page = report::areas::turbo::page(&record, 0, 200);
    let table = |caption: &str| {
        let mut blocks = page.blocks.iter();
        let found = blocks.find_map(|block| match block {
            Block::Table(table) if table.caption.starts_with(caption) => Some(table),
            _ => None,
        });
        found.unwrap_or_else(|| panic!("no table {caption}"))
    };
    let shown = table("Advertised clock to delivered clock");
    assert_eq!(shown.columns.len(), 1 + 16);
    let note = format!("{} more accounts are in the record", accounts - 16);
    assert!(shown.legend.contains(&note), "{:?}", shown.legend);
    let promised = table("Promised and measured clock");
    let all = promised.rows.iter().filter(|row| row[0].text.starts_with("56,")).count();
    assert_eq!(all, 8);
    let note = "48 more groups of CPUs with limits of their own are in the record";
    assert!(promised.legend.iter().any(|it| it == note), "{:?}", promised.legend);
}

/// Clocks moved by more than a limit takes: nothing is refuted, and what took it is named all the same.
#[test]
fn what_drift_hides_has_its_cause() {
    let machine = Machine::from({
        let mut model = Model::named("laptop").unwrap();
        model.noise.drift_amplitude = 0.15;
        model.noise.drift_period_seconds = 0.2;
        set_each(&model, "scaling_max_freq", "4500000");
        model
    });
    let claims = report::sheet::claims::claims(&why(&machine));
    let claim = claims.iter().find(|it| it.what == "clock of one core").unwrap();
    let Verdict::CannotTell(why) = &claim.verdict else { panic!("{claim:?}") };
    assert!(why.contains("without any payload; limit of the kernel took"), "{why}");
}

/// Half of the cores may have 1 GHz: a clock over all of them is that of none.
#[test]
fn cores_with_limits_of_their_own_have_clocks_of_their_own() {
    let record = sustained("laptop", 30.0, |model| {
        cap(model, 2..4, |_| 1_000_000);
    });
    let clock = |group: &str| {
        let is = |series: &&Series, key: &str, value: &str| {
            series.parameters.get(key).is_some_and(|it| it == value)
        };
        let mine =
            |series: &&Series| is(series, "stream", "scalar_iadd") && is(series, "cpus", group);
        of(&record, "soak_clock").find(mine).unwrap().samples().unwrap().all()
    };
    // PL1 leaves 24 W at 3 W for each GHz, of which the capped ones take 6.
    assert_near(*clock("0-1").last().unwrap(), 3e9, 0.005, "what the capped ones leave");
    for hertz in clock("2-3") {
        assert_near(hertz, 1e9, 0.005, "as allowed");
    }
    let accounts = &record.clock.as_ref().unwrap().accounts;
    let last = |group: &str| {
        let moment = format!("last window, CPUs {group}");
        let is = |it: &&ClockAccount| {
            it.workload == "scalar_iadd" && it.moment.as_deref() == Some(&moment)
        };
        let found = accounts.iter().find(is).unwrap_or_else(|| panic!("{accounts:#?}"));
        found.steps.iter().map(|it| it.id.as_str()).collect::<Vec<_>>()
    };
    assert!(last("2-3").starts_with(&["kernel"]) && !last("2-3").contains(&"pl1"));
    assert!(last("0-1").contains(&"pl1"), "{:?}", last("0-1"));
    let drops = record.findings.iter().filter(|it| it.id == "turbo.clock-drops");
    let abouts: Vec<&str> = drops.map(|it| it.about.as_str()).collect();
    assert!(abouts.contains(&"scalar_iadd on all cores: CPUs 0-1"), "{abouts:?}");
    assert!(!abouts.contains(&"scalar_iadd on all cores: CPUs 2-3"), "{abouts:?}");
}

/// Some packages with turbo-freq on: four chosen cores in each, all others in that class, and the turbo limits open.
fn with_turbo_freq(name: &str, packages: &[u32], class: u64) -> Machine {
    machine(name, |model| {
        let firmware = model.speed_select.as_mut().unwrap();
        for package in packages {
            let mut hold = |what: &str, value| {
                firmware.came_with.insert(format!("{package}.0/{what}").parse().unwrap(), value);
            };
            hold("priorities", 2);
            hold("core-power", 1);
            hold("features", 2);
            hold("msr/1ad", u64::MAX);
            for module in 0..64 {
                hold(&format!("association/{module}"), if module < 4 { 0 } else { class });
            }
        }
    })
}

fn asked(machine: &Machine, tests: Tests, cpus: &str) -> Record {
    let cpus = Choice::usual(Some(cpus.parse().unwrap()));
    measured(machine, TurboOptions { tests, cpus, ..streams(&[]) })
}

/// The rows of a table, and its notes.
fn table(record: &Record, caption: &str) -> (Vec<Vec<String>>, Vec<String>) {
    let page = report::areas::turbo::page(record, 0, 200);
    let found = page.blocks.into_iter().find_map(|block| match block {
        Block::Table(table) if table.caption.starts_with(caption) => Some(table),
        _ => None,
    });
    let found = found.unwrap_or_else(|| panic!("no table {caption}"));
    let cells = |row: Vec<model::page::Text>| row.into_iter().map(|it| it.text).collect();
    (found.rows.into_iter().map(cells).collect(), found.notes)
}

/// A chosen core and a clipped one: a median over both is the clock of none.
#[test]
fn chosen_cores_and_others_have_accounts_of_their_own() {
    let machine = with_turbo_freq("2s-28c", &[0, 1], 3);
    let record = asked(&machine, Tests::Why, "0,5");
    let accounts = &record.clock.as_ref().unwrap().accounts;
    for (cpu, light, heavy) in [("CPU 0", 3.6e9, 3.1e9), ("CPU 5", 2e9, 1.5e9)] {
        for (stream, clock) in [("scalar_iadd", light), ("avx512_fma_t", heavy)] {
            let is = |it: &&ClockAccount| {
                it.workload == stream && it.active.len() == 2 && it.moment.as_deref() == Some(cpu)
            };
            let found = accounts.iter().find(is).unwrap_or_else(|| panic!("{accounts:#?}"));
            assert_near(found.clock, clock, 0.005, cpu);
            assert_near(found.advertised.value().unwrap().hertz, light.max(3.5e9), 1e-9, cpu);
            explained(found);
            let licence =
                found.steps.iter().find(|it| it.id == "licence").map_or(0.0, |it| it.hertz);
            assert!((licence - (light - clock)).abs() < 1.0, "{stream} on {cpu}: {found:#?}");
        }
    }
    // What each is promised, by the firmware.
    let (rows, _) = table(&record, "Promised and measured clock");
    for (cores, promised) in [("2, CPU 0", "3600"), ("2, CPU 5", "2000")] {
        let row = rows.iter().find(|row| row[0] == cores).unwrap_or_else(|| panic!("{rows:?}"));
        assert_eq!(row[1..3], ["-", promised], "{row:?}");
        let share: f64 = row.last().unwrap().trim_end_matches(" %").parse().unwrap();
        assert_near(share, 100.0, 0.005, cores);
    }
}

/// The other package has turbo limits of its own, which are none of these CPUs'.
#[test]
fn limits_of_a_package_that_is_left_alone_are_not_named() {
    let machine = with_turbo_freq("2s-28c", &[0], 3);
    let record = asked(&machine, Tests::Why, "0-7");
    let (_, notes) = table(&record, "Promised and measured clock");
    assert!(notes.iter().all(|it| !it.starts_with("turbo limit")), "{notes:?}");
    let claims = report::sheet::claims::claims(&record);
    let claim = claims.iter().find(|it| it.what.starts_with("turbo, ")).unwrap();
    assert_eq!((claim.by.as_str(), &claim.verdict), ("Speed Select", &Verdict::AsClaimed));
    // Chosen cores are promised the same, however many are active.
    assert_eq!(claim.claimed, "3600 MHz");
    // Of both packages, each has its own.
    let record = asked(&machine, Tests::Why, "0,5,28");
    let (rows, notes) = table(&record, "Promised and measured clock");
    assert!(notes.iter().any(|it| it.starts_with("turbo limit: MSR 1ADh")), "{notes:?}");
    let of = |cores: &str| rows.iter().find(|row| row[0] == cores).map(|row| row[1..3].to_vec());
    assert_eq!(of("3, CPU 28").unwrap(), ["3500", "-"], "{rows:?}");
    assert_eq!(of("3, CPU 5").unwrap(), ["-", "2000"], "{rows:?}");
}

/// Windows over minutes have a clock for each kind of core, too.
#[test]
fn chosen_cores_and_others_are_sustained_apart() {
    let machine = with_turbo_freq("2s-28c", &[0], 3);
    let record = asked(&machine, Tests::Sustain(Seconds(10.0)), "0-7");
    let accounts = &record.clock.as_ref().unwrap().accounts;
    for (moment, clock) in [("CPUs 0-3", 3.6e9), ("CPUs 4-7", 2e9)] {
        let moment = format!("first window, {moment}");
        let is = |it: &&ClockAccount| {
            it.workload == "scalar_iadd" && it.moment.as_deref() == Some(&moment)
        };
        let found = accounts.iter().find(is).unwrap_or_else(|| panic!("{accounts:#?}"));
        assert_near(found.clock, clock, 0.005, &moment);
        explained(found);
    }
}
