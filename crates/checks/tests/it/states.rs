//! What is not known is never a pass, and nothing that files say makes a check panic.

use checks::State;
use model::record::{Fact, FactValue, Record};
use model::{Finding, Known, Obstacle, Severity, Unavailable, Unit};

use crate::rows::{blank, say, state};

fn hide(record: &mut Record, id: &str, obstacle: Obstacle) {
    let unavailable = Unavailable::new(obstacle, id, "hidden").with_remedy("look elsewhere");
    let value = Known::No { unavailable };
    record.machine.facts.push(Fact { id: id.to_owned(), label: id.to_owned(), value });
}

#[test]
fn a_record_without_facts_passes_nothing() {
    for checked in checks::of(&blank()) {
        let is_open = matches!(checked.state, State::Unknown(_) | State::DoesNotApply);
        assert!(is_open, "{}: {:?}", checked.check.id, checked.state);
    }
}

#[test]
fn what_is_hidden_is_unknown_with_its_own_reason_and_remedy() {
    let mut record = blank();
    hide(&mut record, "thp.enabled", Obstacle::Permission);
    let State::Unknown(reason) = state(&record, "thp") else { panic!("known") };
    assert_eq!((reason.why.as_str(), reason.remedy.as_deref()), ("hidden", Some("look elsewhere")));
    // Nobody can set what is not there.
    let mut record = blank();
    hide(&mut record, "thp.enabled", Obstacle::Hardware);
    assert_eq!(state(&record, "thp"), State::DoesNotApply);
    // A clock source has every kernel.
    hide(&mut record, "clocksource", Obstacle::Hardware);
    assert!(matches!(state(&record, "clock-source"), State::Unknown(_)));
}

#[test]
fn a_check_of_another_place_does_not_apply() {
    let mut record = blank();
    say(&mut record, "cpufreq.driver", "intel_pstate");
    say(&mut record, "cpufreq.governor", "powersave");
    assert_eq!(state(&record, "governor"), State::DoesNotApply, "there it is another algorithm");
    // Where nobody knows the driver, nobody knows what the governor means.
    let mut record = blank();
    hide(&mut record, "cpufreq.driver", Obstacle::Permission);
    say(&mut record, "cpufreq.governor", "powersave");
    assert!(matches!(state(&record, "governor"), State::Unknown(_)));
}

#[test]
fn cpus_that_did_not_answer_are_no_pass() {
    let mut record = blank();
    say(&mut record, "cpufreq.driver", "acpi-cpufreq");
    say(&mut record, "cpufreq.governor", "performance (4), unreadable (4)");
    assert!(matches!(state(&record, "governor"), State::Unknown(_)));
    record.machine.facts.pop();
    say(&mut record, "cpufreq.governor", "powersave (4), unreadable (4)");
    assert!(matches!(state(&record, "governor"), State::Differs { .. }));
}

#[test]
fn hostile_texts_and_numbers_are_judged_or_unknown() {
    let texts = [
        "",
        " ",
        "(",
        ")",
        " (",
        " ()",
        "1 of 0",
        "NaN",
        "inf",
        "-1",
        "1e999",
        " to ",
        "a to b GHz",
        "P: ; E: ",
        ": ",
        "; ",
        ", ",
        "none reserved",
        "8 x ",
        "8 x 1 YiB (9 free)",
        "9-1",
        "\u{1b}[31m",
        "ééé (4), é (x)",
        "0 of 18446744073709551616",
        "99999999999999999999999",
        "(null)",
        "|",
        " | ",
    ];
    let ids = checks::table().iter().flat_map(|check| {
        let conditions = check.only.iter().map(|condition| condition.fact.clone());
        conditions.chain([check.reads.clone()])
    });
    let mut ids: Vec<String> = ids.collect();
    ids.extend(
        ["cpu.max_frequency", "memory.total", "cpus.usable", "memory.channels"].map(str::to_owned),
    );
    for text in texts {
        let mut record = blank();
        for id in &ids {
            say(&mut record, id, text);
        }
        assert_eq!(checks::of(&record).len(), checks::table().len(), "{text}");
    }
    for value in [f64::NAN, f64::INFINITY, -0.0, f64::MIN, f64::MAX] {
        let mut record = blank();
        for id in &ids {
            let value = Known::Yes(FactValue::Number { value, unit: Unit::One });
            record.machine.facts.push(Fact { id: id.clone(), label: id.clone(), value });
        }
        for checked in checks::of(&record) {
            let _ = checks::finding(&checked);
            let is_pass = checked.state == State::AsExpected && value.is_nan();
            let reads_words = matches!(
                checked.check.expect,
                checks::Expectation::NoneOf(_) | checks::Expectation::Lacks(_)
            );
            assert!(!is_pass || reads_words, "{}", checked.check.id);
        }
    }
}

#[test]
fn a_run_is_told_what_is_more_than_a_note_and_not_said_already() {
    let mut record = blank();
    say(&mut record, "cgroup.quota", "2 CPUs (200000 of 100000 us, cpu.max of its control group)");
    say(&mut record, "cpus.usable", "8 of 8");
    say(&mut record, "smt.control", "off");
    let ids = |told: &[&Finding]| -> Vec<String> {
        checks::findings(&record, told).into_iter().map(|finding| finding.id).collect()
    };
    assert_eq!(ids(&[]), ["check.quota"], "SMT is a note");
    let measured = Finding::warning("disturbance.cgroup-throttle", "2 CPUs", "stopped");
    assert_eq!(ids(&[&measured]), [""; 0]);
    let finding = checks::findings(&record, &[]).remove(0);
    assert_eq!(finding.severity, Severity::Warning);
    assert_eq!(finding.gain.as_deref(), Some("75 % of the time of 8 CPUs"));
}
