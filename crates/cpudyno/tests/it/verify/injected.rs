//! A debugger that flips a bit of a running loop's register on one CPU.
#![expect(clippy::print_stderr, reason = "a test that cannot be run here says why")]

use std::path::Path;
use std::process::{Command, Stdio};

use model::record::Record;

use crate::common::{cpudyno, finish};

/// The program that flips.
fn compiled(folder: &Path) -> std::path::PathBuf {
    let program = folder.join("flip");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/verify/flip.c");
    let done =
        Command::new("cc").args(["-std=gnu11", "-O1", "-o"]).arg(&program).arg(source).status();
    assert!(done.is_ok_and(|status| status.success()), "cc compiles it");
    program
}

#[test]
fn a_bit_that_a_debugger_flips_on_one_cpu_is_found_there_and_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let flip = compiled(folder.path());
    let usable = sys::affinity::current().unwrap();
    let last = usable.iter().take(2).last().unwrap();
    let cpus: Vec<String> = usable.iter().take(2).map(|cpu| cpu.to_string()).collect();
    let json = folder.path().join("verify.json");
    let mut child = cpudyno(&["verify", "--streams", "sse2_iadd_t,sse2_iadd", "--budget", "4s"]);
    child.args(["--cpus", &cpus.join(",")]).arg("--json").arg(&json);
    let child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let name = format!("cpu {last}");
    let mut flipper = Command::new(flip);
    flipper.args([&child.id().to_string(), &name, "17"]).stdout(Stdio::piped());
    let flipped = flipper.spawn().unwrap().wait_with_output();
    let ended = child.wait_with_output().unwrap();
    let told = String::from_utf8(flipped.unwrap().stdout).unwrap();
    let counts: Vec<u64> = told.split_whitespace().map(|it| it.parse().unwrap()).collect();
    let [flips, refused] = counts[..] else { panic!("{told}") };
    if flips == 0 && refused > 0 {
        eprintln!("ptrace(2) is not permitted here: nothing was flipped");
        return;
    }
    assert!(flips > 0, "the loop was never met");
    assert_eq!(ended.status.code(), Some(1), "{flips} flips");
    let record: Record = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    let wrong = record.verify.unwrap().wrong;
    assert!(!wrong.is_empty() && wrong.iter().all(|it| it.cpu == last), "{wrong:?}");
    assert!(wrong.iter().all(|it| it.workload.starts_with("sse2_iadd")), "{wrong:?}");
    let found: u64 = wrong.iter().map(|it| it.wrong).sum();
    // What it flips while a call is tried again is not counted.
    assert!(found <= flips, "{found} of {flips}");
    assert!(
        finish(cpudyno(&["show", json.to_str().unwrap()])).success().contains("computes wrong")
    );
}
