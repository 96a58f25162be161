//! The wheel of the Python package for each target that loads libraries: Python itself is loaded by glibc.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, anyhow, ensure};

use xtask::cargo;
use xtask::files::copied;
use xtask::maturin::{self, COMMAND, PACKAGE};

use super::binaries::{self, GLIBC, PROFILE, Target};
use super::tree::{self, Tree};
use super::{WORK, repeatable, supply};

/// What of a tree goes with the package, whatever the target: pages of the manual, completions, licences.
const SHARED: [&str; 6] =
    ["man", "bash-completion", "fish", "zsh", "licenses", "doc/cpudyno/THIRD-PARTY-LICENSES.txt"];

/// Gathers it in a folder.
pub(super) fn share(tree: &Tree) -> anyhow::Result<PathBuf> {
    let share = tree::cleared(&cargo::root().join(WORK).join("share"))?;
    for name in SHARED {
        for part in [&tree.common, &tree.others] {
            let from = part.join("usr/share").join(name);
            if from.exists() {
                copied(&from, &share.join(name))?;
            }
        }
    }
    let licences = share.join("licenses/cpudyno/THIRD-PARTY-LICENSES-python.txt");
    supply::licences_of(&format!("{PACKAGE}/Cargo.toml"), &licences)?;
    Ok(share)
}

/// Builds them into a folder.
pub(super) fn built(
    targets: &[&'static Target],
    share: &Path,
    folder: &Path,
) -> anyhow::Result<Vec<PathBuf>> {
    let targets: Vec<_> = targets.iter().copied().filter(|target| target.loads).collect();
    let root = cargo::root().join(PACKAGE);
    fs::create_dir_all(root.join("cpudyno.data"))
        .context("cannot make a folder for the command")?;
    // At once: what takes longest, to optimise a piece of code as one, keeps one CPU busy.
    let programs = std::thread::scope(|scope| {
        let libraries: Vec<_> =
            targets.iter().map(|target| scope.spawn(|| compiled(target))).collect();
        let programs = binaries::programs(&targets, &COMMAND);
        for library in libraries {
            library.join().map_err(|_| anyhow!("BUG: compiling a wheel's library panicked"))??;
        }
        programs
    })?;
    let made = |(target, program): (&&Target, &PathBuf)| {
        let made_in = cargo::root().join(WORK).join(target.name).join("wheel");
        let wheel = maturin::packed(program, Some(share), building(target)?, &made_in)?;
        kept(&wheel, target, folder)
    };
    targets.iter().zip(&programs).map(made).collect()
}

/// Compiles its library; the wheel is packed afterwards, for one target at a time: what goes into it lies in one place.
fn compiled(target: &Target) -> anyhow::Result<()> {
    let scrap = cargo::root().join(WORK).join(target.name).join("compiled");
    cargo::done(building(target)?.arg("--out").arg(scrap), "the library of a wheel")
}

/// What builds one, but for where to.
fn building(target: &Target) -> anyhow::Result<Command> {
    // Not where programs are: without the compiler's wrapper of `cargo auditable` all would be compiled anew there,
    // and with it again afterwards.
    let folder = cargo::root().join(WORK).join(target.name).join("package");
    let mut command = repeatable::command(&maturin::line(), &folder)?;
    command.args(["--quiet", "--zig", "--compatibility", "manylinux2014", "--profile", PROFILE]);
    command.args(["--target", target.triple]);
    Ok(command)
}

/// Copies one to where it is offered, if its name says what it can be installed on.
fn kept(wheel: &Path, target: &Target, folder: &Path) -> anyhow::Result<PathBuf> {
    let (tag, name) = (tag(target), wheel.file_name().unwrap_or_default());
    let words = name.to_string_lossy();
    ensure!(
        words.contains(&tag) && words.contains("-abi3-"),
        "the wheel `{words}` is not of `{tag}` and abi3"
    );
    let path = folder.join(name);
    fs::copy(wheel, &path).with_context(|| format!("cannot copy `{}`", wheel.display()))?;
    Ok(path)
}

/// What names of wheels say of a target: PEP 600.
fn tag(target: &Target) -> String {
    let (architecture, _) = target.triple.split_once('-').unwrap_or((target.triple, ""));
    format!("manylinux_{}_{architecture}", GLIBC.replace('.', "_"))
}

#[cfg(test)]
mod tests {
    use super::super::binaries::Extent;
    use super::*;

    #[test]
    fn a_wheel_of_another_system_is_refused() {
        let [target] = binaries::targets(Extent::Usual, Some("x86_64-linux")).unwrap()[..] else {
            panic!()
        };
        let wheel = Path::new("/nowhere/cpudyno-0.2.0-cp39-abi3-manylinux_2_34_x86_64.whl");
        let error = kept(wheel, target, Path::new("/nowhere")).unwrap_err().to_string();
        assert!(error.contains("is not of `manylinux_2_17_x86_64`"), "{error}");
    }

    #[test]
    fn wheels_say_which_glibc_they_start_with() {
        let [target] = binaries::targets(Extent::Usual, Some("aarch64-linux")).unwrap()[..] else {
            panic!()
        };
        assert_eq!(tag(target), "manylinux_2_17_aarch64");
    }
}
