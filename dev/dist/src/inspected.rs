//! What is read from a program once it is built: that it starts where it is promised to, and says what it consists of.

use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail, ensure};
use flate2::read::ZlibDecoder;

use xtask::cargo;

use super::binaries::{GLIBC, Target};
use super::elf::{self, Version, readelf};
use super::repeatable;

/// The section that `cargo auditable` leaves in programs: JSON, packed by zlib.
const DEPENDENCIES: &str = ".dep-v0";

/// Inspects the program for a target.
pub(super) fn program(program: &Path, target: &Target) -> anyhow::Result<()> {
    if target.loads {
        is_old_enough(&elf::needs(program)?, &program.display().to_string())?;
    } else {
        is_static(program)?;
    }
    is_of_nowhere(program)?;
    let names = dependencies(program)?;
    ensure!(
        names.iter().any(|name| name == "cpudyno") && names.len() > 1,
        "`{}` does not list what it consists of: {names:?}",
        program.display()
    );
    if target.runs_here() {
        starts(program)?;
    }
    Ok(())
}

/// No symbol of a glibc that is newer than the oldest one.
pub(super) fn is_old_enough(needs: &elf::Needs, program: &str) -> anyhow::Result<()> {
    let oldest = Version::of(GLIBC).context("BUG: the oldest glibc is no version")?;
    for (library, interfaces) in needs {
        match interfaces.get("GLIBC") {
            Some(version) if *version > oldest => bail!(
                "`{program}` needs GLIBC_{version} of {library}, and is promised to start with {GLIBC}\n\
                 hint: `objdump --dynamic-syms {program} | grep GLIBC_{version}` names the functions"
            ),
            _ => {}
        }
    }
    Ok(())
}

/// Neither a loader nor a library is asked for.
fn is_static(program: &Path) -> anyhow::Result<()> {
    let shown = readelf(&["--program-headers", "--dynamic"], program)?;
    let asked = shown.lines().find(|line| line.contains("INTERP") || line.contains("(NEEDED)"));
    match asked {
        None => Ok(()),
        Some(line) => bail!("`{}` is not static: {}", program.display(), line.trim()),
    }
}

/// No path of sources is of this machine: another one would build other bytes.
fn is_of_nowhere(program: &Path) -> anyhow::Result<()> {
    let bytes = fs::read(program).with_context(|| format!("no `{}`", program.display()))?;
    for folder in [cargo::root().join("crates/"), repeatable::home()?.join("registry/")] {
        let folder = folder.as_os_str().as_bytes();
        ensure!(
            !bytes.windows(folder.len()).any(|part| part == folder),
            "`{}` names the folder {} of this machine",
            program.display(),
            String::from_utf8_lossy(folder)
        );
    }
    Ok(())
}

/// The names of the packages that are in a program, by its own list.
pub(super) fn dependencies(program: &Path) -> anyhow::Result<Vec<String>> {
    let shown = readelf(&["--section-headers"], program)?;
    let (offset, size) = place(&shown, DEPENDENCIES).with_context(|| {
        format!(
            "`{}` has no section {DEPENDENCIES}: it was built without `cargo auditable`",
            program.display()
        )
    })?;
    let bytes = fs::read(program).with_context(|| format!("no `{}`", program.display()))?;
    let packed = bytes.get(offset..).and_then(|rest| rest.get(..size));
    let packed = packed.context("a section ends after its file")?;
    let mut text = String::new();
    ZlibDecoder::new(packed)
        .read_to_string(&mut text)
        .context("a list of dependencies is damaged")?;
    let list: serde_json::Value = serde_json::from_str(&text)?;
    let packages = list["packages"].as_array().context("a list of dependencies has no packages")?;
    // Those that only built it are said to be so.
    let inside = packages.iter().filter(|package| package["kind"] != "build");
    Ok(inside.filter_map(|package| Some(package["name"].as_str()?.to_owned())).collect())
}

/// Where a section lies in its file, and its size, in bytes.
fn place(shown: &str, section: &str) -> Option<(usize, usize)> {
    let line = shown.lines().find(|line| line.split_whitespace().any(|word| word == section))?;
    let (_, columns) = line.split_once(section)?;
    // Type, address, offset, size.
    let mut columns = columns.split_whitespace().skip(2);
    let mut next = || usize::from_str_radix(columns.next()?, 16).ok();
    Some((next()?, next()?))
}

/// It says its version.
fn starts(program: &Path) -> anyhow::Result<()> {
    let shown = Command::new(program).arg("--version").output();
    let shown = shown.with_context(|| format!("cannot start `{}`", program.display()))?;
    let said = String::from_utf8_lossy(&shown.stdout);
    ensure!(
        shown.status.success() && said.contains(env!("CARGO_PKG_VERSION")),
        "`{} --version` says `{}` ({})",
        program.display(),
        said.trim(),
        shown.status
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(version: &str) -> elf::Needs {
        let interfaces = [("GLIBC".to_owned(), Version::of(version).unwrap())];
        [("libc.so.6".to_owned(), interfaces.into())].into()
    }

    #[test]
    fn a_program_that_needs_a_newer_glibc_is_refused() {
        is_old_enough(&needs("2.17"), "a").unwrap();
        is_old_enough(&needs("2.2.5"), "a").unwrap();
        let error = is_old_enough(&needs("2.34"), "a").unwrap_err().to_string();
        assert!(error.contains("GLIBC_2.34 of libc.so.6"), "{error}");
    }

    #[test]
    fn a_section_is_found_by_its_name() {
        let shown = "  [27] .bss      NOBITS   0000000000120000 11f24d 000100 00  WA  0   0 16\n\
                     \x20 [28] .dep-v0  PROGBITS 0000000000000000 11f24d 0001c3 00      0   0  1\n";
        assert_eq!(place(shown, DEPENDENCIES), Some((0x11_f24d, 0x1c3)));
        assert_eq!(place(shown, ".dep"), None);
    }

    #[test]
    fn a_program_that_any_build_makes_is_refused() {
        let ours = std::env::current_exe().unwrap();
        let error = dependencies(&ours).unwrap_err().to_string();
        assert!(error.contains("cargo auditable"), "{error}");
        let error = is_of_nowhere(&ours).unwrap_err().to_string();
        assert!(error.contains("of this machine"), "{error}");
        let error = is_static(&ours).unwrap_err().to_string();
        assert!(error.contains("is not static"), "{error}");
    }
}
