//! What the kernel, neighbours, quotas and hypervisors take, beside what limits the clock.

use super::*;

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
