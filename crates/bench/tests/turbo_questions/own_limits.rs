//! Cores that are allowed less than others, on simulated machines: their clocks, and what took them, are their own.

use super::common::{assert_near, of};
use super::heat::sustained;
use super::limits::{explained, machine, set_each, step, why};
use bench::sheet::claims::Verdict;
use machine::Machine;
use machine::simulated::{Model, Writer};
use model::page::Block;
use model::record::{ClockAccount, Series};

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
    let page = bench::areas::turbo::page(&record, 0, 200);
    let rows = |caption: &str| -> Vec<Vec<String>> {
        let tables = page.blocks.iter().filter_map(|block| match block {
            Block::Table(table) if table.caption.starts_with(caption) => Some(&table.rows),
            _ => None,
        });
        let cells = |row: &Vec<model::page::Text>| row.iter().map(|it| it.text.clone()).collect();
        tables.flatten().map(cells).collect()
    };
    // What each may have, and had: none of them is said to be slow.
    let promised = rows("promised and measured clock");
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
    let claims = bench::sheet::claims::claims(&record);
    let claim = claims.iter().find(|it| it.what == "turbo, 1 to 112 cores").unwrap();
    let Verdict::Differs(how) = &claim.verdict else { panic!("{claim:?}") };
    assert!(how.ends_with(" with 112 active, CPUs 56-111"), "{how}");
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
    let page = bench::areas::turbo::page(&record, 0, 200);
    let table = |caption: &str| {
        let mut blocks = page.blocks.iter();
        let found = blocks.find_map(|block| match block {
            Block::Table(table) if table.caption.starts_with(caption) => Some(table),
            _ => None,
        });
        found.unwrap_or_else(|| panic!("no table {caption}"))
    };
    let shown = table("from the advertised clock");
    assert_eq!(shown.columns.len(), 1 + 16);
    let note = format!("{} more accounts are in the record", accounts - 16);
    assert!(shown.notes.contains(&note), "{:?}", shown.notes);
    let promised = table("promised and measured clock");
    let all = promised.rows.iter().filter(|row| row[0].text.starts_with("56,")).count();
    assert_eq!(all, 8);
    let note = "48 more groups of CPUs with limits of their own are in the record";
    assert!(promised.notes.iter().any(|it| it == note), "{:?}", promised.notes);
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
    let claims = bench::sheet::claims::claims(&why(&machine));
    let claim = claims.iter().find(|it| it.what == "clock of one core").unwrap();
    let Verdict::NotTold(why) = &claim.verdict else { panic!("{claim:?}") };
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
