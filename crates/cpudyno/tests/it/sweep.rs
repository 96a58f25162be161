//! `sweep`: the best value is found, what fails is told, settings come back.

use crate::common::{cpudyno, finish};
use model::Known;
use model::record::{Record, SweepRun};
use model::stats::paired::{ArmStanding, Ranking};

fn run(args: &[&str]) -> SweepRun {
    let finished = finish(cpudyno(&[&["sweep", "--json", "-", "--no-key"], args].concat()));
    assert!(matches!(finished.code, Some(0 | 3)), "{:?}: {}", finished.code, finished.stderr);
    let record: Record = serde_json::from_str(&finished.stdout).unwrap();
    record.sweep.unwrap()
}

fn ranking(run: &SweepRun) -> &Ranking {
    let Known::Yes(ranking) = &run.ranking else { panic!("{run:?}") };
    ranking
}

/// What a script prints for each number of threads, ranked.
fn printed(values: &str, script: &str) -> SweepRun {
    let metric = ["--metric", "regex:[0-9]+", "--budget", "60s"];
    run(&[&[values][..], &metric, &["--", "sh", "-c", script]].concat())
}

#[test]
fn the_knee_of_a_program_is_the_first_number_that_is_good_enough() {
    let run = printed("threads=1..5", "echo $((1000 / {n} + 200 * ({n} > 3)))");
    // 1000, 500, 333, 450, 400.
    let found = ranking(&run);
    assert_eq!((found.best, found.knee, found.knee_between), (2, 2, [2, 2]));
    assert!(found.is_decided() && found.control.is_some());
    assert_eq!(run.arms[2].text, "3");
}

#[test]
fn a_value_that_fails_is_told_and_the_others_are_ranked() {
    let run = printed("threads=2,4,8", "test {n} -ne 2 && echo {n}");
    assert_eq!(run.failures.len(), 1, "{run:?}");
    assert_eq!(run.failures[0].arm, "2");
    let found = ranking(&run);
    assert_eq!((found.best, found.arms.len()), (1, 2));
    let text = finish(cpudyno(&[
        "sweep",
        "threads=2,4",
        "--no-key",
        "--metric",
        "regex:[0-9]+",
        "--",
        "sh",
        "-c",
        "test {n} -ne 2 && echo 1",
    ]));
    assert_eq!(text.code, Some(3));
    assert!(text.stdout.contains("Cannot tell: 2 fails: `sh` ended with"), "{}", text.stdout);
}

#[test]
fn a_setting_of_a_simulated_machine_is_swept_and_put_back() {
    let folder = tempfile::tempdir().unwrap();
    let machine = format!("sim:2s-28c@{}", folder.path().join("state").display());
    let lever = [
        "max_freq=1.2GHz..2.4GHz:400MHz",
        "--with",
        "cpus=0",
        "--area",
        "turbo",
        "--budget",
        "10s",
    ];
    let run = run(&[&lever[..], &["--machine", &machine]].concat());
    let found = ranking(&run);
    assert_eq!((found.best, found.knee), (3, 3), "{run:?}");
    assert_eq!(found.arms[0].standing, ArmStanding::Worse);
    // Half of the clock.
    let loss = found.arms[0].loss.as_ref().unwrap().centre;
    assert!((loss - 2.0f64.ln()).abs() < 0.01, "{loss}");
    let listed = finish(cpudyno(&["settings", "max_freq", "--machine", &machine])).success();
    assert!(!listed.contains("1.2") && !listed.contains("2.4 GHz"), "{listed}");
}

#[test]
fn energy_ranks_where_it_is_counted() {
    let arguments = ["threads=1,2,4", "--area", "turbo", "--budget", "60s", "--machine"];
    let with = run(&[&arguments[..], &["sim:2s-28c", "--per", "watt"]].concat());
    assert!(with.energy_source.is_some(), "{with:?}");
    assert!(with.blocks.iter().all(|block| block.watts.len() == block.values.len()));
    let guest = ["threads=1,2", "--area", "turbo", "--machine", "sim:vm-2c", "--per", "watt"];
    let guest = [&["sweep", "--no-key"][..], &guest].concat();
    let refused = finish(cpudyno(&guest));
    assert_ne!(refused.code, Some(0));
    assert!(refused.stderr.contains("package energy"), "{}", refused.stderr);
}

#[test]
fn what_is_no_sweep_is_refused_in_words() {
    for (typed, why) in [
        ("threads=4", "1 values; a sweep has 2 to 64"),
        ("threads=9..2", "9..2 does not ascend"),
        ("threads=1..1000:1", "a sweep has 2 to 64"),
        ("thread=1..4", "did you mean `threads`?"),
    ] {
        let refused = finish(cpudyno(&["sweep", typed, "--area", "turbo"]));
        assert_eq!(refused.code, Some(2), "{typed}: {}", refused.stderr);
        assert!(refused.stderr.contains(why), "{typed}: {}", refused.stderr);
    }
}
