//! Accounts of records made by hand, in MHz.

use model::Hertz;
use model::record::{
    CalibratedRate, ClockRecord, Fact, Instrument, InstrumentState, LimitState, ToldCell,
};

use super::*;
use crate::testing::{blank, near, place, power_limit, say, series, turbo};
use model::Unit;

const LIGHT: &str = "scalar_iadd";
const HEAVY: &str = "avx512_fma_t";

fn account(record: &Record, stream: &str) -> ClockAccount {
    accounts(record).into_iter().find(|it| it.workload == stream).unwrap()
}

/// In MHz, to a kHz.
fn in_mhz(hertz: f64) -> f64 {
    (hertz / 1e3).round() / 1e3
}

/// Compares the steps of an account and its unexplained rest, in MHz.
#[track_caller]
fn is(account: &ClockAccount, steps: &[(&str, f64)], unexplained: f64) {
    let found: Vec<(&str, f64)> =
        account.steps.iter().map(|step| (step.id.as_str(), in_mhz(step.hertz))).collect();
    assert_eq!((found, in_mhz(account.unexplained.unwrap())), (steps.to_vec(), unexplained));
}

/// The limits of the clock that hardware and kernel state.
fn limits(record: &mut Record) -> &mut ClockRecord {
    record.clock.get_or_insert_default()
}

fn allowed(cpus: &str, mhz: f64, source: &str) -> AllowedClock {
    AllowedClock { cpus: cpus.parse().unwrap(), hertz: mhz * 1e6, source: source.to_owned() }
}

fn number_of(id: &str, value: f64, unit: Unit) -> Fact {
    let value = Known::Yes(FactValue::Number { value, unit });
    Fact { id: id.to_owned(), label: id.to_owned(), value }
}

/// A reason that came up in the log of the package during the run.
fn reason(id: &str) -> LimitReason {
    LimitReason {
        id: id.to_owned(),
        label: id.to_owned(),
        cpus: "0".parse().unwrap(),
        of_cores: false,
        source: String::new(),
        before: LimitState::default(),
        after: LimitState { active: false, logged: true },
        spared: Vec::new(),
        met: Vec::new(),
    }
}

/// A quantity of a counter while the light stream ran on one core, and the rate of MPERF, in hertz.
fn counted(record: &mut Record, quantity: &str, value: f64) {
    record.series.push(series(["turbo", LIGHT, quantity], "0", &[], &[&[value]]));
    let rate =
        CalibratedRate { hertz: Hertz(2e9), chosen: "CPUID".to_owned(), sources: Vec::new() };
    record.instruments = vec![Instrument {
        id: "aperf_mperf".to_owned(),
        source: String::new(),
        measures: String::new(),
        state: InstrumentState::Used {
            unit: Unit::Hertz,
            resolution: 1.0,
            own_cost_seconds: 1e-7,
            rate: Some(rate),
        },
    }];
}

#[test]
fn active_cores_limit_takes_the_difference_to_one_core() {
    // Promised: 3,500 to one, 3,300 to two. 3,500 - 200 = 3,300, and 10 are unexplained.
    is(&account(&turbo(&[(LIGHT, "0-1", 3290.0)]), LIGHT), &[("active-cores", 200.0)], 10.0);
    // 3,300 - 3,310: more than the limit.
    is(&account(&turbo(&[(LIGHT, "0-1", 3310.0)]), LIGHT), &[("active-cores", 200.0)], -10.0);
}

#[test]
fn active_cores_count_in_the_package_that_has_most_of_them() {
    let mut record = turbo(&[(LIGHT, "0-2", 3300.0)]);
    // Three in one package have the 3,000 of up to four, which 3,300 refute: 10 % above them.
    let one = account(&record, LIGHT);
    is(&one, &[], 200.0);
    near(one.refuted[0].hertz, 3000e6);
    // Two and one: 3,300.
    record.machine.topology.cpus.clear();
    place(&mut record, &["0-1", "2-3"]);
    is(&account(&record, LIGHT), &[("active-cores", 200.0)], 0.0);
}

#[test]
fn limits_of_kernel_and_requests_each_take_what_is_left_above_them() {
    let mut record = turbo(&[(LIGHT, "0", 3090.0)]);
    limits(&mut record).allowed =
        vec![allowed("0", 3100.0, "MSR 774h"), allowed("0-3", 3200.0, promise::BY_KERNEL)];
    // 3,500 - 300 = 3,200; 3,200 - 100 = 3,100; 10 are left.
    is(&account(&record, LIGHT), &[("kernel", 300.0), ("hwp", 100.0)], 10.0);
}

#[test]
fn limit_exceeded_by_the_core_in_any_cell_is_refuted() {
    let mut record = turbo(&[(LIGHT, "0", 3300.0), (LIGHT, "0-1", 2790.0)]);
    limits(&mut record).allowed = vec![allowed("0-3", 2800.0, promise::BY_KERNEL)];
    let accounts = accounts(&record);
    // 3,300 is more than 2,800 + 2 %. Two cores leave 3,300 - 2,790 unexplained, too.
    is(&accounts[0], &[], 200.0);
    is(&accounts[1], &[("active-cores", 200.0)], 510.0);
    for account in &accounts {
        let refuted = &account.refuted[0];
        near(refuted.hertz, 2800e6);
        near(refuted.clock, 3300e6);
    }
}

#[test]
fn core_limit_takes_the_difference_to_the_best_core() {
    let mut record = turbo(&[(LIGHT, "0", 3390.0)]);
    limits(&mut record).highest =
        vec![allowed("0", 3400.0, "CPPC"), allowed("1-3", 3600.0, "CPPC")];
    // 3,500 - 3,400; 3,400 - 3,390.
    is(&account(&record, LIGHT), &[("core", 100.0)], 10.0);
}

#[test]
fn boost_off_takes_all_above_the_base() {
    let mut record = Record { series: turbo(&[(LIGHT, "0", 2400.0)]).series, ..blank() };
    say(&mut record, "cpufreq.boost", "off");
    for id in ["cpu.base_frequency", "cpu.max_frequency"] {
        record.machine.facts.push(number_of(id, 2.4e9, Unit::Hertz));
    }
    // Without boost the kernel calls the base the highest clock.
    is(&account(&record, LIGHT), &[], 0.0);
    limits(&mut record).boosted = vec![allowed("0-3", 3600.0, "CPPC")];
    // 3,600 - 2,400.
    is(&account(&record, LIGHT), &[("boost", 1200.0)], 0.0);
}

#[test]
fn heavy_code_takes_no_more_than_other_limits_leave() {
    let mut record = turbo(&[(LIGHT, "0-1", 3350.0), (HEAVY, "0-1", 3000.0)]);
    // Light code is 350 faster, and 50 of them are above the 3,300 of two cores.
    let steps = |id| [("active-cores", 200.0), (id, 300.0)];
    is(&account(&record, HEAVY), &steps("heavier"), 0.0);
    // It is a licence only where registers deny all other reasons.
    limits(&mut record).asked = STATUS.map(str::to_owned).to_vec();
    is(&account(&record, HEAVY), &steps("licence"), 0.0);
    say(&mut record, "cpu.vendor", "AuthenticAMD");
    is(&account(&record, HEAVY), &steps("heavier"), 0.0);
}

#[test]
fn licence_takes_the_difference_to_published_clocks() {
    let mut record = Record { series: turbo(&[(HEAVY, "0", 3480.0)]).series, ..blank() };
    place(&mut record, &["0-3"]);
    say(&mut record, "cpu.brand", "Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz");
    record.machine.facts.push(number_of("cpu.max_frequency", 3.7e9, Unit::Hertz));
    // data/licences.toml: one core has 3,700 and under heavy 512-bit code 3,500.
    is(&account(&record, HEAVY), &[("licence", 200.0)], 20.0);
}

#[test]
fn reasons_without_a_clock_take_the_rest_together() {
    let mut record = turbo(&[(LIGHT, "0-1", 2800.0)]);
    let reasons = |record: &mut Record, ids: &[&str]| {
        limits(record).reasons = ids.iter().map(|id| reason(id)).collect();
    };
    let steps = |id| [("active-cores", 200.0), (id, 500.0)];
    // 3,300 - 2,800.
    reasons(&mut record, &["pl1", "prochot"]);
    is(&account(&record, LIGHT), &steps("pl1+prochot"), 0.0);
    // `power` is no second reason, and the turbo limit has a step of its own.
    reasons(&mut record, &["power", "turbo-limit", "pl1"]);
    is(&account(&record, LIGHT), &steps("pl1"), 0.0);
    // A log that came up in other cells only explains nothing here.
    let (workload, active) = (LIGHT.to_owned(), "0-1".parse().unwrap());
    limits(&mut record).reasons[2].spared =
        vec![ToldCell { workload, active, clear: 5, untold: 0 }];
    limits(&mut record).reasons.remove(0);
    is(&account(&record, LIGHT), &steps("pl1")[..1], 500.0);
}

#[test]
fn power_limit_is_named_with_its_watts() {
    let mut record = turbo(&[(LIGHT, "0-3", 2500.0)]);
    limits(&mut record).reasons = vec![reason("pl2")];
    let watts = |term, watts| power_limit(0, term, watts);
    limits(&mut record).power = vec![watts(PowerTerm::Long, 45.0), watts(PowerTerm::Short, 64.0)];
    let account = account(&record, LIGHT);
    // 3,500 - 3,000 for four cores; 3,000 - 2,500 at 64 W.
    is(&account, &[("active-cores", 500.0), ("pl2", 500.0)], 0.0);
    let label = &account.steps[1].label;
    assert!(label.contains("64 W") && !label.contains("45 W"), "{label}");
}

#[test]
fn halts_by_mperf_take_their_share_of_the_clock() {
    let mut record = turbo(&[(LIGHT, "0", 3500.0)]);
    // 1.8 of 2.0 GHz: a tenth of the time. 350 of 3,500, and 3,150 are delivered.
    counted(&mut record, "mperf_rate", 1.8e9);
    let one = account(&record, LIGHT);
    is(&one, &[("halted", 350.0)], 0.0);
    near(one.delivered, 3150e6);
    // 2 GHz x 1.9444 = 3,889 MHz while not halted: the clock by the chain has lost that tenth already.
    counted(&mut record, "aperf_per_mperf", 3.5 / 1.8);
    let other = account(&record, LIGHT);
    is(&other, &[], 0.0);
    near(other.delivered, 3500e6);
}

#[test]
fn quota_and_steal_take_their_share_of_wanted_seconds() {
    let mut record = turbo(&[(LIGHT, "0", 3000.0)]);
    limits(&mut record).busy_seconds = Some(8.0);
    let seconds = |id, seconds| number_of(id, seconds, Unit::Second);
    record.conditions.after = vec![seconds(THROTTLED, 2.0)];
    // 2 of 2 + 8 s: a fifth of 3,000.
    let one = account(&record, LIGHT);
    is(&one, &[("quota", 600.0)], 500.0);
    near(one.delivered, 2400e6);
    // 1 of 10 s that all threads wanted: a tenth.
    record.conditions.after = vec![seconds(STEAL, 1.0), seconds(WANTED, 10.0)];
    is(&account(&record, LIGHT), &[("steal", 300.0)], 500.0);
}

#[test]
fn gaps_take_the_mean_share_of_all_streams() {
    let mut record = turbo(&[(LIGHT, "0-1", 3300.0)]);
    for (series, share) in record.series.iter_mut().zip([0.02, 0.04]) {
        series.disturbance.lost_share = Some(share);
    }
    // 3 % of 3,300.
    let account = account(&record, LIGHT);
    is(&account, &[("active-cores", 200.0), ("taken", 99.0)], 0.0);
    near(account.delivered, 3201e6);
}

#[test]
fn promise_of_heavy_code_needs_a_table() {
    let record = turbo(&[(LIGHT, "0", 3500.0), (LIGHT, "0-3", 3000.0), (HEAVY, "0", 3000.0)]);
    let promised = |stream: &str, cores: usize| {
        let rows = rows_alike(&record);
        let mut of = rows.iter().filter(|row| row.workload == stream);
        promised(&record, of.find(|row| row.active.len() == cores).unwrap())
    };
    assert_eq!(promised(LIGHT, 1), Some(3500e6));
    assert_eq!(promised(LIGHT, 4), Some(3000e6));
    // No table states the clock of its licence.
    assert_eq!(promised(HEAVY, 1), None);
}
