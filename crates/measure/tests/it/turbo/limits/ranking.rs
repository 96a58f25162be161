//! Favoured cores, and the clock of each core alone.

use super::*;

/// CPUs 0 and 2 come less far than CPUs 1 and 3.
fn with_favoured_cores() -> Machine {
    let slow = SlowCores { cpus: "0,2".parse().unwrap(), highest_hz: 4.5e9 };
    machine("laptop", |model| model.slow_cores.push(slow))
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
    let page = report::areas::turbo::page(&record, 0, 100);
    let table = page.blocks.iter().find_map(|block| match block {
        Block::Table(table) if table.caption.starts_with("Clock of each core alone") => Some(table),
        _ => None,
    });
    let table = table.unwrap();
    let ranks: Vec<&str> = table.rows.iter().map(|row| row[0].text.as_str()).collect();
    assert_eq!(ranks, ["1"; 4]);
    assert!(
        table.legend.iter().any(|it| it.contains("all of them level 47 (MSR 771h)")),
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
