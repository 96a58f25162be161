//! Sweeps on simulated machines whose best value is known.

use machine::Machine;
use measure::ab::AbSubject;
use measure::areas::subjects;
use measure::run::arm_env::ArmEnv;
use measure::sweep::{self, Sweeping, SweptArm};
use model::record::{PageKind, Presentation, SweepRun, SweptValue};
use model::stats::paired::{ArmStanding, Ranking};
use model::{Known, Seconds};
use rig::executor::Stop;
use simulated::Model;

/// The bandwidth of so many threads each, on a machine of cores of several types.
fn swept(threads: impl Iterator<Item = usize>, change: impl FnOnce(&mut Model)) -> SweepRun {
    let mut model = Model::named("hybrid").unwrap();
    change(&mut model);
    let machine = Machine::from(model);
    let arm = |threads: usize| SweptArm {
        value: SweptValue { text: threads.to_string(), number: Some(threads as f64) },
        own: ArmEnv { threads: Some(threads), ..ArmEnv::default() },
        changes: Vec::new(),
    };
    let what = AbSubject::Area(subjects::find("memory").unwrap(), None);
    let usual = Sweeping::usual("threads".to_owned(), threads.map(arm).collect(), what);
    let sweeping = Sweeping { budget: Seconds(30.0), ..usual };
    let look = Presentation::of(PageKind::Sweep);
    let described = machine::describe(&machine, Vec::new(), look);
    let record =
        sweep::run(&machine, &sweeping, None, described, &Stop::default(), &mut |_| {}).unwrap();
    record.sweep.unwrap()
}

fn ranking(run: &SweepRun) -> &Ranking {
    let Known::Yes(ranking) = &run.ranking else { panic!("{run:?}") };
    ranking
}

#[test]
fn the_knee_of_a_bandwidth_that_ends_is_found_whatever_drifts() {
    // What this machine's memory gives to so many threads, without noise.
    let calm = swept(1..=6, |model| {
        model.noise.relative_sd = 0.0;
        model.noise.drift_amplitude = 0.0;
    });
    let truth = ranking(&calm).knee;
    assert!((1..5).contains(&truth) && ranking(&calm).knee_is_known(), "{calm:?}");
    for seed in 0..10 {
        let run = swept(1..=6, |model| {
            model.seed += seed;
            model.noise.drift_amplitude = 0.1;
            model.noise.drift_period_seconds = 40.0;
        });
        assert!(ranking(&run).knee.abs_diff(truth) <= 1, "{seed}: {run:?}");
        assert_eq!(ranking(&run).arms[0].standing, ArmStanding::Worse, "{seed}");
    }
}

#[test]
fn too_little_time_says_who_was_best_and_that_it_may_be_chance() {
    let machine = Machine::named("sim:hybrid").unwrap();
    let arm = |cpus: &str| SweptArm {
        value: SweptValue { text: cpus.to_owned(), number: None },
        own: ArmEnv { cpus: Some(cpus.parse().unwrap()), ..ArmEnv::default() },
        changes: Vec::new(),
    };
    let what = || AbSubject::Area(subjects::find("turbo").unwrap(), None);
    let arms = || ["0", "8"].map(arm).into_iter().collect::<Vec<_>>();
    let swept = |budget: f64| {
        let usual = Sweeping::usual("cpus".to_owned(), arms(), what());
        let sweeping = Sweeping { budget: Seconds(budget), ..usual };
        let described = machine::describe(&machine, Vec::new(), Presentation::of(PageKind::Sweep));
        sweep::run(&machine, &sweeping, None, described, &Stop::default(), &mut |_| {})
            .unwrap()
            .sweep
            .unwrap()
    };
    let long = swept(60.0);
    assert!(ranking(&long).is_decided(), "{long:?}");
    let block = long.cost.unwrap().seconds;
    let short = swept(block * 3.6);
    assert!((1..8).contains(&short.blocks.len()), "{short:?}");
    assert_eq!(ranking(&short).arms[1].standing, ArmStanding::Unclear);
    assert!(short.ended.contains("give intervals: --budget"), "{}", short.ended);
    let none = swept(block * 0.7);
    let Known::No { unavailable } = &none.ranking else { panic!("{none:?}") };
    assert!(unavailable.why.contains("one block of 2 values"), "{unavailable:?}");
}
