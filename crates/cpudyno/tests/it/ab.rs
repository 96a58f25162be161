//! `ab`: differences that are there are found, those that are not are not.

use crate::common::{Running, cpudyno, finish};
use crate::signals;
use model::Known;
use model::record::{AbRun, ProofAnswer, Record};
use model::stats::paired::{Verdict, compare};

fn record(args: &[&str]) -> Record {
    // Whatever follows `--` belongs to the command.
    let finished = finish(cpudyno(&[&args[..1], &["--json", "-"], &args[1..]].concat()));
    assert!(matches!(finished.code, Some(0 | 3)), "{:?}: {}", finished.code, finished.stderr);
    serde_json::from_str(&finished.stdout).unwrap()
}

fn run(args: &[&str]) -> AbRun {
    record(args).comparison.unwrap()
}

fn verdict(run: &AbRun) -> &Verdict {
    match &run.comparison {
        Known::Yes(found) => &found.verdict,
        Known::No { unavailable } => panic!("{unavailable:?}"),
    }
}

#[test]
fn a_setting_of_a_simulated_machine_is_compared_proved_and_put_back() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let machine = format!("sim:2s-56c@{}", state.display());
    let args = ["ab", "--machine", &machine, "--area", "turbo", "--a", "no_turbo=on"];
    let record =
        record(&[&args[..], &["--b", "no_turbo=off", "--a", "cpus=0", "--b", "cpus=0"]].concat());
    let found = record.comparison.unwrap();
    assert_eq!(verdict(&found), &Verdict::Faster);
    let Known::Yes(comparison) = &found.comparison else { panic!() };
    // 3.8 GHz to 2.0 GHz.
    assert!((comparison.ratio.centre.exp() - 1.9).abs() < 0.03, "{comparison:?}");
    let proofs = record.settings.unwrap().proofs;
    assert_eq!(proofs[0].answer, ProofAnswer::Obeyed, "{proofs:?}");
    assert!(found.ended.starts_with("decided at a planned look"), "{}", found.ended);
    let listed = finish(cpudyno(&["settings", "no_turbo", "--machine", &machine])).success();
    assert!(listed.contains("machine  off"), "{listed}");
}

#[test]
fn equal_arms_differ_by_nothing() {
    for area in ["turbo", "memory-latency", "wake", "pause"] {
        let args = ["ab", "--machine", "sim:2s-56c", "--area", area, "--budget", "120s"];
        let found = run(&args);
        let verdict = verdict(&found);
        assert!(!matches!(verdict, Verdict::Faster | Verdict::Slower), "{area}: {found:?}");
    }
}

#[test]
fn waiting_of_a_simulated_runtime_is_compared() {
    let args = ["ab", "--machine", "sim:2s-56c", "--area", "openmp"];
    let arms = ["--a", "env.KMP_BLOCKTIME=0", "--b", "env.KMP_BLOCKTIME=200"];
    let found = run(&[&args[..], &arms].concat());
    assert_eq!(verdict(&found), &Verdict::Faster, "{found:?}");
}

#[test]
fn every_number_follows_from_the_measurements() {
    let args =
        ["ab", "--machine", "sim:2s-56c", "--area", "turbo", "--a", "cpus=0", "--b", "cpus=0"];
    let found = run(&args);
    let again = compare(&found.quads, &found.rules, None).unwrap();
    let Known::Yes(comparison) = &found.comparison else { panic!() };
    assert_eq!((&again.ratio, &again.control), (&comparison.ratio, &comparison.control));
    // One seed, one record.
    assert_eq!(run(&args), found);
}

#[test]
fn show_prints_what_ab_printed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    let file = file.to_str().unwrap();
    for width in ["60", "100"] {
        let args = ["ab", "--machine", "sim:vm-2c", "--area", "turbo", "--width", width];
        let live = finish(cpudyno(&[&args[..], &["--json", file]].concat()));
        assert_eq!(live.stdout, finish(cpudyno(&["show", file])).success());
        let widest = live.stdout.lines().map(|line| line.chars().count()).max();
        assert!(widest <= width.parse().ok(), "{width}: {widest:?} columns");
    }
}

#[test]
fn commands_are_compared_by_time_and_by_what_they_print() {
    // Three times as long: no noise makes that nothing.
    let sleeps = ["--", "sh", "-c", "sleep 0.0$T"];
    let args = ["ab", "--a", "env.T=1", "--b", "env.T=3", "--budget", "20s"];
    // Where others are at work as well, it may not say so.
    let assert_is = |expected: Verdict, found: &AbRun| {
        let is_told = match verdict(found) {
            Verdict::CannotTell(reason) => reason.why.starts_with("other programs used"),
            verdict => *verdict == expected,
        };
        assert!(is_told, "{found:?}");
    };
    assert_is(Verdict::Slower, &run(&[&args[..], &sleeps].concat()));
    let prints = ["--", "sh", "-c", "echo \"{\\\"it\\\": [$T]}\""];
    let json = ["--metric", "json:it.0", "--better", "more"];
    assert_is(Verdict::Faster, &run(&[&args[..], &json, &prints].concat()));
    let regex = ["--metric", r"regex:\[([0-9]+)"];
    assert_is(Verdict::Slower, &run(&[&args[..], &regex, &prints].concat()));
}

#[test]
fn a_command_that_fails_in_one_arm_is_a_result() {
    let args = [
        "ab",
        "--b",
        "env.FAIL=1",
        "--",
        "sh",
        "-c",
        "test -z \"$FAIL\" || { echo no >&2; exit 7; }",
    ];
    let found = run(&args);
    assert_eq!(found.failures[0].arm, "B");
    assert!(found.failures[0].why.contains("exit status: 7: no"), "{:?}", found.failures);
    let text = finish(cpudyno(&args));
    assert_eq!(text.code, Some(3));
    assert!(text.stdout.contains("Cannot tell: B fails: `sh` ended with"), "{}", text.stdout);
}

#[test]
fn who_interrupts_gets_what_was_measured_and_leaves_no_child() {
    let args = ["ab", "--budget", "1h", "--", "sh", "-c", "sleep 0.01; exec sleep 0.013579"];
    let running = Running::start(cpudyno(&args));
    std::thread::sleep(std::time::Duration::from_secs(1));
    signals::send(&running.child, "TERM");
    let ended = running.finish();
    assert_eq!(ended.code, Some(143), "{}", ended.stderr);
    assert!(ended.stdout.contains("It ended because: interrupted"), "{}", ended.stdout);
}
