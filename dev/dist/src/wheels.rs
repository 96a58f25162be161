//! The wheel of the Python package for each target that loads libraries: Python itself is loaded by glibc.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context, anyhow, ensure};

use xtask::maturin::{self, COMMAND, SMALLER};

use super::binaries::{self, GLIBC, PROFILE, Target};
use super::repeatable;

/// Builds them into a folder.
pub(super) fn built(targets: &[&'static Target], folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let targets: Vec<_> = targets.iter().copied().filter(|target| target.loads).collect();
    // The command lies in one place while it is packed.
    let packing = Mutex::new(());
    binaries::side_by_side(&targets, |target, jobs| {
        let program = binaries::program(target, jobs, &[COMMAND.as_slice(), &SMALLER].concat())?;
        let _packing = packing.lock().map_err(|_| anyhow!("BUG: packing a wheel panicked"))?;
        let wheel = packed(&program, target)?;
        let name = wheel.file_name().context("BUG: a wheel without a name")?;
        let path = folder.join(name);
        fs::copy(&wheel, &path).with_context(|| format!("cannot copy `{}`", wheel.display()))?;
        Ok(path)
    })
}

/// Packs it; its name says what it is installed on.
fn packed(program: &Path, target: &Target) -> anyhow::Result<PathBuf> {
    let tag = tag(target);
    let built = target.folder();
    let mut command = repeatable::command(&maturin::line(), &built)?;
    command.args([
        "--profile",
        PROFILE,
        "--target",
        target.triple,
        "--zig",
        "--compatibility",
        "manylinux2014",
    ]);
    command.args(SMALLER);
    let wheel = maturin::packed(program, command, &built.with_file_name("wheel"))?;
    let name = wheel.file_name().unwrap_or_default().to_string_lossy().into_owned();
    ensure!(
        name.contains(&tag) && name.contains("-abi3-"),
        "the wheel `{name}` is not of `{tag}` and abi3"
    );
    Ok(wheel)
}

/// What names of wheels say of a target: PEP 600.
fn tag(target: &Target) -> String {
    let (architecture, _) = target.triple.split_once('-').unwrap_or((target.triple, ""));
    format!("manylinux_{}_{architecture}", GLIBC.replace('.', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wheels_say_which_glibc_they_start_with() {
        let [target] = binaries::targets(false, Some("aarch64-linux")).unwrap()[..] else {
            panic!()
        };
        assert_eq!(tag(target), "manylinux_2_17_aarch64");
    }
}
