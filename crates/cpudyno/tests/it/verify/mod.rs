//! `verify`: exit codes, pages, the gate; and a real fault, put into a register of a running loop.

#[cfg(target_arch = "x86_64")]
mod injected;

use crate::common::{cpudyno, finish};
use model::record::Record;

fn verify(args: &[&str]) -> crate::common::Finished {
    finish(cpudyno(&[&["verify"], args].concat()))
}

fn record(text: &str) -> Record {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_wrong_answer_is_exit_1_and_a_serious_finding() {
    let faulty = verify(&["--machine", "sim:faulty"]);
    assert_eq!(faulty.code, Some(1), "{}", faulty.stderr);
    assert!(faulty.stdout.contains("CPU 2 computes wrong"), "{}", faulty.stdout);
    assert!(faulty.stdout.contains("[serious] CPU 2"), "{}", faulty.stdout);
    let right = verify(&["--machine", "sim:laptop", "--budget", "20s"]);
    assert_eq!(right.code, Some(0), "{}", right.stderr);
    assert!(right.stdout.contains("No wrong answer in"), "{}", right.stdout);
}

#[test]
fn show_prints_what_the_run_printed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("verify.json");
    let file = file.to_str().unwrap();
    let run = verify(&["--machine", "sim:faulty", "--json", file, "--width", "120"]);
    assert_eq!(finish(cpudyno(&["show", file, "--width", "120"])).success(), run.stdout);
}

#[test]
fn the_gate_fails_by_a_wrong_answer_and_says_which() {
    let gate = |machine: &str| {
        finish(cpudyno(&["gate", "--verify", "30s", "--budget", "10s", "--machine", machine]))
    };
    let faulty = gate("sim:faulty");
    assert_eq!(faulty.code, Some(1), "{} {}", faulty.stdout, faulty.stderr);
    assert!(faulty.stdout.contains("FAIL: CPU 2 computes wrong"), "{}", faulty.stdout);
    let right = gate("sim:laptop");
    assert!(!right.stdout.contains("computes wrong"), "{}", right.stdout);
}

#[test]
fn this_machine_computes_right() {
    let arguments = ["--budget", "1s", "--json", "-", "--cpus"];
    let cpu = sys::affinity::current().unwrap().iter().next().unwrap().to_string();
    let run = verify(&[&arguments[..], &[&cpu]].concat());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let run = record(&run.stdout).verify.unwrap();
    assert!(run.wrong.is_empty(), "{:?}", run.wrong);
    assert!(run.cpus[0].calls > 0 && run.references > 0);
}

#[test]
fn what_cannot_be_compared_is_refused_in_words() {
    for (args, why) in [
        (&["--streams", "avx512_fmaa"][..], "did you mean `avx512_fma`?"),
        (&["--minutes", "0"], "expected minutes from 0.1 to 1440"),
        (&["--format", "csv"], "no table of samples"),
        (&["--cpus", "4095"], "cannot use CPU 4095"),
    ] {
        let refused = verify(args);
        assert!(matches!(refused.code, Some(2 | 3)), "{args:?}: {:?}", refused.code);
        assert!(refused.stderr.contains(why), "{args:?}: {}", refused.stderr);
    }
}

#[test]
fn the_fleet_names_the_machine_that_computes_wrong_and_keeps_its_results() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (sheet, faulty, right) =
        (file("n1.json"), file("n1_20260101T000000Z.json"), file("n2.json"));
    let base = ["--machine", "sim:faulty", "--budget"];
    finish(cpudyno(&[&["sheet"], &base[..], &["5s", "--json", &sheet]].concat())).success();
    verify(&[&base[..], &["60s", "--json", &faulty]].concat());
    verify(&["--machine", "sim:laptop", "--budget", "5s", "--json", &right]);
    let place = folder.path().display().to_string();
    let told = finish(cpudyno(&["fleet", &place])).stdout;
    assert!(told.contains("n1 computes wrong: CPU 2"), "{told}");
    assert!(!told.contains("n2 computes wrong"), "{told}");
    let bad = finish(cpudyno(&["fleet", &place, "--bad"])).stdout;
    assert_eq!(bad, "n1\n");
    assert_eq!(finish(cpudyno(&["fleet", &place, "--fail-on", "slower:50%"])).code, Some(1));
}
