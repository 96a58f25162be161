//! Every run that measures clocks accounts for them, whatever it was asked, on simulated machines.

use super::limits::{explained, machine, step};
use crate::common::{assert_near, measured, stream, streams};
use measure::areas::turbo::{Tests, TurboOptions};
use model::Seconds;
use model::page::{Block, Table};
use model::record::{ClockAccount, Record};
use rig::placement::Choice;

/// A run on the first CPUs of a machine.
fn asked(name: &str, tests: Tests, cpus: &str) -> Record {
    let cpus = Choice::usual(Some(cpus.parse().unwrap()));
    measured(&machine(name, |_| {}), TurboOptions { tests, cpus, ..streams(&[]) })
}

/// Its only account of a stream at a moment, the steps of which add up; it stands on the page, too.
#[track_caller]
fn account<'a>(record: &'a Record, stream: &str, moment: Option<&str>) -> &'a ClockAccount {
    let accounts = &record.clock.as_ref().unwrap().accounts;
    let is = |it: &&ClockAccount| it.workload == stream && it.moment.as_deref() == moment;
    let found: Vec<&ClockAccount> = accounts.iter().filter(is).collect();
    let [account] = found[..] else { panic!("{stream} {moment:?}: {accounts:#?}") };
    let lost: f64 = account.steps.iter().map(|step| step.hertz).sum();
    let sum = account.advertised.value().unwrap().hertz - lost - account.unexplained.unwrap();
    assert_near(sum, account.delivered, 1e-9, "the steps add up to the distance");
    let way = table(record, "Advertised clock to delivered clock, MHz");
    assert_eq!(way.columns.len(), accounts.len() + 1);
    account
}

fn table(record: &Record, caption: &str) -> Table {
    let page = report::areas::turbo::page(record, 0, 200);
    let found = page.blocks.into_iter().find_map(|block| match block {
        Block::Table(table) if table.caption == caption => Some(table),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("no table {caption}"))
}

/// Each stream of a mix has cores, a licence and a clock of its own.
#[test]
fn each_stream_of_a_mix_has_an_account() {
    let mix = vec![(stream("avx512_fma_t"), 1), (stream("scalar_iadd"), 3)];
    let record = asked("2s-28c", Tests::Spec(mix), "0-3");
    let heavy = account(&record, "avx512_fma_t", None);
    assert_eq!(heavy.own.as_ref().unwrap().to_string(), "0");
    assert_near(step(heavy, "licence").hertz, 0.5e9, 1e-6, "3.4 to 2.9 GHz");
    explained(heavy);
    let light = account(&record, "scalar_iadd", None);
    let own = light.own.as_ref().unwrap();
    assert_eq!((own.to_string().as_str(), light.active.len()), ("1-3", 4));
    assert!(own.contains(light.cpu), "{light:?}");
    assert_near(step(light, "active-cores").hertz, 0.1e9, 1e-6, "3.5 to 3.4 GHz");
    explained(light);
    let way = table(&record, "Advertised clock to delivered clock, MHz");
    let titles: Vec<&str> = way.columns.iter().map(|(title, _)| title.as_str()).collect();
    assert_eq!(titles[1..], ["avx512_fma_t on 1 of 4 cores", "scalar_iadd on 3 of 4 cores"]);
    let promised = table(&record, "Promised clock by licence and active cores, MHz");
    let measured = promised.rows.last().unwrap();
    assert_eq!(measured[0].text, "measured, 4 active");
    let numbers = measured.iter().filter(|cell| cell.text.parse::<f64>().is_ok());
    assert_eq!(numbers.count(), 2, "{measured:?}");
}

/// The first window is at PL2, the last one at PL1, and both say so by their watts.
#[test]
fn heat_accounts_for_its_first_window_and_its_last() {
    let record = asked("laptop", Tests::Sustain(Seconds(30.0)), "0-3");
    for (stream, clocks) in [("avx512_fma_t", [2.222e9, 1.111e9]), ("scalar_iadd", [4.0e9, 2.0e9])]
    {
        let moments = [("first window", "pl2", "PL2 52 W"), ("last window", "pl1", "PL1 28 W")];
        for ((moment, id, label), clock) in std::iter::zip(moments, clocks) {
            let account = account(&record, stream, Some(moment));
            assert_near(account.clock, clock, 0.005, moment);
            assert_near(step(account, "active-cores").hertz, 0.4e9, 1e-6, "4.7 to 4.3 GHz");
            let limit = step(account, id);
            assert_eq!(limit.label, label);
            assert_near(limit.hertz, 4.3e9 - clock, 0.005, label);
            explained(account);
        }
    }
    // Registers log both limits, and the windows have lost their clocks to them.
    let page = format!("{:?}", report::areas::turbo::page(&record, 0, 200));
    assert!(!page.contains("held, though"), "{page}");
}

/// What a quota takes of a window is lost beside its clock.
#[test]
fn heat_accounts_for_time_that_is_taken_away() {
    let machine = machine("4c", |model| model.noise.quota_share = 0.2);
    let tests = Tests::Sustain(Seconds(10.0));
    let record = measured(&machine, TurboOptions { tests, ..streams(&[]) });
    let accounts = &record.clock.as_ref().unwrap().accounts;
    assert_eq!(accounts.len(), 4, "two streams, first and last window");
    for account in accounts {
        assert_near(1.0 - account.delivered / account.clock, 0.2, 0.2, "a fifth");
        assert!(account.steps.iter().any(|it| it.id == "quota"), "{account:#?}");
    }
}

/// The clock that a stream has in its bursts.
#[test]
fn a_trace_accounts_for_the_clock_of_its_bursts() {
    let tests = Tests::Trace(vec![stream("avx512_fma_t")], Seconds(2e-3));
    let record = asked("2s-28c", tests, "0-1");
    let account = account(&record, "avx512_fma_t", Some("in its bursts"));
    assert_near(step(account, "licence").hertz, 0.5e9, 1e-6, "3.5 to 3.0 GHz");
    explained(account);
}

/// A lone victim's clock is the one that its neighbours lower.
#[test]
fn neighbours_account_for_the_clock_of_a_victim_alone() {
    let record = asked("laptop", Tests::Neighbours, "0-1,4");
    let account = account(&record, "scalar_iadd", Some("alone"));
    assert_eq!(account.active.to_string(), "0");
    assert_near(account.clock, 4.7e9, 0.005, "alone");
    explained(account);
}

/// Beside those who cost most of it, what is lost to their being active and what is lost to what they execute are
/// steps of their own.
#[test]
fn neighbours_account_for_the_clocks_of_victims_beside_them() {
    let record = super::neighbours::taxed();
    let moment = Some("beside heavy 512 bit (other cores)");
    for stream in ["scalar_iadd", "avx256_fma_t"] {
        let alone = account(&record, stream, Some("alone"));
        assert_eq!(alone.active.len(), 1);
        let beside = account(&record, stream, moment);
        assert_eq!(beside.active.to_string(), "0-3");
        // Both clocks are medians of blocks apart, and half a per cent of drift was put in.
        assert_near(step(beside, "neighbours").hertz, beside.clock / 9.0, 0.03, stream);
        explained(beside);
    }
    let beside = account(&record, "scalar_iadd", moment);
    assert_near(step(beside, "active-cores").hertz, 0.1e9, 1e-6, "3.8 to 3.7 GHz");
    let heavy = account(&record, "avx256_fma_t", moment);
    assert_near(step(heavy, "licence").hertz, 0.3e9, 0.02, "3.7 to 3.4 GHz with four active");
}

/// Machines with tables of licences deliver what these promise each kind of code.
#[test]
fn licences_of_simulated_servers_are_those_of_their_tables() {
    for name in ["guide", "icelake", "sapphire", "granite"] {
        for heavy in ["avx256_fma_t", "avx512_iadd_t", "avx512_fma_t"] {
            let machine = machine(name, |_| {});
            let cpus = Choice::usual(Some("0-3".parse().unwrap()));
            let record =
                measured(&machine, TurboOptions { cpus, ..streams(&["scalar_iadd", heavy]) });
            let accounts = &record.clock.as_ref().unwrap().accounts;
            let mine: Vec<_> = accounts.iter().filter(|it| it.workload == heavy).collect();
            assert_eq!(mine.len(), 2, "{name}: on one core and on four");
            for account in mine {
                let rest = account.unexplained.unwrap() / account.clock;
                assert!(rest.abs() < 0.005, "{name}: {heavy}: {account:#?}");
            }
        }
    }
}
