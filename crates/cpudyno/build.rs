//! Tells the program what it is built from and for: `cpudyno --version -v`.

use std::path::Path;
use std::process::Command;

fn main() {
    let of_cargo = |name: &str| std::env::var(name).unwrap_or_default();
    println!("cargo::rustc-env=CPUDYNO_TARGET={}", of_cargo("TARGET"));
    println!("cargo::rerun-if-env-changed=CPUDYNO_COMMIT");
    println!("cargo::rerun-if-changed=build.rs");
    // Developers' builds would be built again after each commit.
    let commit = match std::env::var("CPUDYNO_COMMIT") {
        Ok(commit) => Some(commit),
        Err(_) if of_cargo("PROFILE") == "release" => head(),
        Err(_) => None,
    };
    if let Some(commit) = commit {
        println!("cargo::rustc-env=CPUDYNO_COMMIT={commit}");
    }
}

/// The commit that is checked out, where this is a clone.
fn head() -> Option<String> {
    let root = Path::new("../..").canonicalize().ok()?;
    let git = |words: &[&str]| {
        let output = Command::new("git").arg("-C").arg(&root).args(words).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    // The sources of a package may lie within a clone of something else.
    let top = git(&["rev-parse", "--show-toplevel"])?;
    if Path::new(&top) != root {
        return None;
    }
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    println!("cargo::rerun-if-changed={}", root.join(log).display());
    git(&["rev-parse", "--short=12", "HEAD"])
}
