//! What a program asks of the system that it is started on.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

/// Each library that a program needs, with the newest version of each of its interfaces, as `GLIBC` and `2.17`.
pub(super) type Needs = BTreeMap<String, BTreeMap<String, Version>>;

/// Numbers between dots.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version(Vec<u32>);

impl Version {
    pub(super) fn of(text: &str) -> Option<Self> {
        let numbers = text.split('.').map(|number| number.parse().ok());
        numbers.collect::<Option<Vec<u32>>>().map(Self)
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let numbers: Vec<_> = self.0.iter().map(u32::to_string).collect();
        f.write_str(&numbers.join("."))
    }
}

/// Reads them from a program, by readelf(1).
pub(super) fn needs(program: &Path) -> anyhow::Result<Needs> {
    Ok(needed(&readelf(&["--version-info"], program)?))
}

/// What readelf(1) shows of a program.
pub(super) fn readelf(what: &[&str], program: &Path) -> anyhow::Result<String> {
    let mut readelf = Command::new("readelf");
    let shown = readelf.arg("--wide").args(what).arg(program).env("LC_ALL", "C").output();
    let shown = shown.context("cannot run readelf")?;
    ensure!(shown.status.success(), "readelf cannot read `{}`", program.display());
    Ok(String::from_utf8_lossy(&shown.stdout).into_owned())
}

/// The section of what is needed: each library, and after it its interfaces.
fn needed(shown: &str) -> Needs {
    let (mut needs, mut library) = (Needs::new(), None);
    let after = |line: &str, word: &str| {
        let (_, rest) = line.split_once(word)?;
        rest.split_whitespace().next().map(str::to_owned)
    };
    let section = shown.lines().skip_while(|line| !line.starts_with("Version needs section"));
    for line in section {
        if let Some(name) = after(line, " File: ") {
            needs.entry(name.clone()).or_default();
            library = Some(name);
        } else if let (Some(name), Some(library)) = (after(line, " Name: "), &library) {
            let Some((interface, version)) = name.rsplit_once('_') else { continue };
            let Some(version) = Version::of(version) else { continue };
            let newest = needs.entry(library.clone()).or_default();
            let newest = newest.entry(interface.to_owned()).or_default();
            *newest = version.max(newest.clone());
        }
    }
    needs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_of_each_interface_is_needed() {
        let needs = needed(
            "Version symbols section '.gnu.version' contains 3 entries:\n  000: 2 (GLIBC_2.34)\n\
             Version needs section '.gnu.version_r' contains 2 entries:\n\
             \x20 000000: Version: 1  File: libgcc_s.so.1  Cnt: 1\n\
             \x20 0x0010:   Name: GCC_4.2.0  Flags: none  Version: 29\n\
             \x20 0x0020: Version: 1  File: libc.so.6  Cnt: 2\n\
             \x20 0x0030:   Name: GLIBC_2.9  Flags: none  Version: 8\n\
             \x20 0x0040:   Name: GLIBC_2.17  Flags: none  Version: 7\n\
             \x20 0x0050:   Name: GLIBC_2.2.5  Flags: none  Version: 7\n",
        );
        assert_eq!(needs.len(), 2);
        assert_eq!(needs["libc.so.6"]["GLIBC"].to_string(), "2.17");
        assert_eq!(needs["libgcc_s.so.1"]["GCC"].to_string(), "4.2.0");
    }
}
