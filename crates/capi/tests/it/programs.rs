//! Programs in C, compiled with every warning and run: they end with 0 where all is as they expect.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The library as it is installed, in a folder of its own.
struct Installed(tempfile::TempDir);

impl Installed {
    fn new() -> Installed {
        let folder = tempfile::tempdir().unwrap();
        // Cargo builds it next to what tests it.
        let test = std::env::current_exe().unwrap();
        let library = test.parent().unwrap().join("libcpudyno_c.so");
        assert!(library.exists(), "{}", library.display());
        for name in ["libcpudyno.so", "libcpudyno.so.0"] {
            symlink(&library, folder.path().join(name)).unwrap();
        }
        Installed(folder)
    }

    /// Compiles a program, and answers where it lies.
    fn compiled(&self, source: &Path) -> PathBuf {
        let program = self.0.path().join(source.file_stem().unwrap());
        let mut compiler = Command::new("cc");
        compiler.args(["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1", "-g"]);
        compiler.args(["-D_GNU_SOURCE", "-pthread"]).arg("-I").arg(root().join("include"));
        compiler.arg(source).arg("-o").arg(&program).arg("-L").arg(self.0.path());
        compiler.arg("-lcpudyno").arg(format!("-Wl,-rpath,{}", self.0.path().display()));
        let output = compiler.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{compiler:?}\n{said}");
        program
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// What a program of the tests, or an example, prints.
fn run(source: &str) -> String {
    let installed = Installed::new();
    let program = installed.compiled(&root().join(source));
    // What hangs is ended: locks are among what is tested.
    let output = Command::new("timeout").arg("60").arg(program).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{source}: {said}");
    assert_eq!(said, "", "{source}: a library prints nothing");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn what_makes_no_sense_is_an_error_and_changes_nothing() {
    run("tests/it/programs/bad_input.c");
}

#[test]
fn threads_count_for_themselves() {
    run("tests/it/programs/threads.c");
}

#[test]
fn signal_handlers_may_enter_and_leave_regions() {
    run("tests/it/programs/signals.c");
}

#[test]
fn a_child_counts_for_itself() {
    run("tests/it/programs/forks.c");
}

#[test]
fn the_library_can_be_loaded_and_unloaded() {
    run("tests/it/programs/loads.c");
}

#[test]
fn what_the_library_in_rust_measures_can_be_asked_for() {
    run("tests/it/programs/measures.c");
}

#[test]
fn examples_are_short_and_run() {
    for (example, printed) in EXAMPLES {
        let path = Path::new("examples").join(example);
        let lines = fs::read_to_string(root().join(&path)).unwrap().lines().count();
        assert!(lines <= 40, "{example}: {lines} lines");
        let found = run(path.to_str().unwrap());
        assert!(found.contains(printed), "{example}:\n{found}");
    }
}

/// The examples in C, and what stands in their output on any machine.
const EXAMPLES: &[(&str, &str)] = &[("regions.c", "region `inner`: 100 calls")];
