//! The program for each target.

use std::path::PathBuf;

use anyhow::bail;

use xtask::cargo;

use super::{WORK, inspected, repeatable};

/// What a program is built for.
pub(super) struct Target {
    /// Its name in the names of files.
    pub(super) name: &'static str,
    /// Its name for rustc.
    pub(super) triple: &'static str,
    /// Whether it loads libraries: the OpenMP runtimes and libpfm4.
    pub(super) loads: bool,
}

/// The oldest glibc that programs which load libraries start with: of 2012, as in manylinux_2_17.
pub(super) const GLIBC: &str = "2.17";

/// The profile of what is released.
pub(super) const PROFILE: &str = "dist";

/// Every target.
const TARGETS: &[Target] = &[
    Target { name: "x86_64-linux", triple: "x86_64-unknown-linux-gnu", loads: true },
    Target { name: "aarch64-linux", triple: "aarch64-unknown-linux-gnu", loads: true },
    Target { name: "x86_64-linux-musl", triple: "x86_64-unknown-linux-musl", loads: false },
    Target { name: "aarch64-linux-musl", triple: "aarch64-unknown-linux-musl", loads: false },
];

impl Target {
    /// Whether its program runs on this machine.
    pub(super) fn runs_here(&self) -> bool {
        self.name.starts_with(std::env::consts::ARCH)
    }

    /// Its name for zig, which links for the oldest glibc.
    pub(super) fn of_zig(&self) -> String {
        if self.loads { format!("{}.{GLIBC}", self.triple) } else { self.triple.to_owned() }
    }
}

/// What few have a use for, and two cores need minutes for: it is built where everything is asked for, or this one.
const SELDOM: &str = "aarch64-linux-musl";

/// Which of them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// This machine's.
    Quick,
    /// What most have a use for.
    Usual,
    /// Every one.
    All,
}

/// Those that are built, or one of them by its name.
pub(super) fn targets(extent: Extent, only: Option<&str>) -> anyhow::Result<Vec<&'static Target>> {
    let ours = |target: &Target| match extent {
        Extent::Quick => target.loads && target.runs_here(),
        Extent::Usual => only.is_some() || target.name != SELDOM,
        Extent::All => true,
    };
    let named = |target: &Target| only.is_none_or(|name| name == target.name);
    let all: Vec<_> = TARGETS.iter().filter(|target| ours(target) && named(target)).collect();
    if all.is_empty() {
        let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
        bail!("no such target: `{}`\nhint: there are {}", only.unwrap_or("?"), names.join(", "));
    }
    Ok(all)
}

/// Builds the programs, and says where they lie.
pub(super) fn built(targets: &[&'static Target], quick: bool) -> anyhow::Result<Vec<PathBuf>> {
    if quick {
        cargo::done(&mut cargo::command("cargo build --release --locked"), "the program")?;
        return Ok(vec![cargo::root().join("target/release/cpudyno")]);
    }
    programs(targets, &[])
}

/// Builds the program for each target, with these arguments of cargo, and inspects it. Cargo builds for all targets at
/// once: what takes longest, to optimise a program as one piece, keeps one CPU busy.
pub(super) fn programs(targets: &[&'static Target], with: &[&str]) -> anyhow::Result<Vec<PathBuf>> {
    let line = "cargo auditable zigbuild --quiet --locked --package cpudyno --bin cpudyno";
    let folder = cargo::root().join(WORK).join("target");
    let mut command = repeatable::command(line, &folder)?;
    command.args(["--profile", PROFILE]).args(with);
    for target in targets {
        command.args(["--target", &target.of_zig()]);
    }
    cargo::done(&mut command, "the programs")?;
    let inspected = |target: &&'static Target| {
        let program = folder.join(target.triple).join(PROFILE).join("cpudyno");
        inspected::program(&program, target).map(|()| program)
    };
    targets.iter().map(inspected).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_had_by_their_names() {
        assert_eq!(targets(Extent::All, None).unwrap().len(), TARGETS.len());
        assert_eq!(targets(Extent::Usual, None).unwrap().len(), TARGETS.len() - 1);
        for target in TARGETS {
            let [only] = targets(Extent::Usual, Some(target.name)).unwrap()[..] else { panic!() };
            assert_eq!(only.name, target.name);
        }
        let error = targets(Extent::Usual, Some("m68k-linux")).err().unwrap().to_string();
        assert!(error.contains("m68k-linux") && error.contains("x86_64-linux-musl"), "{error}");
    }

    #[test]
    fn the_quick_one_is_of_this_machine() {
        let [only] = targets(Extent::Quick, None).unwrap()[..] else { panic!() };
        assert!(only.loads && only.runs_here());
    }
}
