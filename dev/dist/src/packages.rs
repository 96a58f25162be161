//! Packages of Debian and of Fedora, of one tree.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use xtask::cargo;

use super::binaries::Target;
use super::elf::{self, Needs};
use super::tree::Tree;
use super::{MAINTAINER, RELEASE, VERSION, moment};

/// A form of packages.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Deb,
    Rpm,
}

impl Form {
    /// As nfpm calls it, and files end.
    pub(super) fn word(self) -> &'static str {
        match self {
            Form::Deb => "deb",
            Form::Rpm => "rpm",
        }
    }
}

/// Names of architectures: ours, Debian's, Fedora's.
const ARCHITECTURES: [(&str, &str, &str); 2] =
    [("x86_64", "amd64", "x86_64"), ("aarch64", "arm64", "aarch64")];

/// What Debian calls the package that holds a library.
const LIBRARIES: [(&str, &str); 8] = [
    ("libc.so.6", "libc6"),
    ("libm.so.6", "libc6"),
    ("libdl.so.2", "libc6"),
    ("librt.so.1", "libc6"),
    ("libpthread.so.0", "libc6"),
    ("ld-linux-x86-64.so.2", "libc6"),
    ("ld-linux-aarch64.so.1", "libc6"),
    ("libgcc_s.so.1", "libgcc-s1"),
];

/// Makes a package in a folder.
pub(super) fn made(
    form: Form,
    target: &Target,
    tree: &Tree,
    folder: &Path,
) -> anyhow::Result<PathBuf> {
    let ours = target.triple.split('-').next().unwrap_or_default();
    let names = ARCHITECTURES.iter().find(|(name, ..)| *name == ours);
    let (_, debian, fedora) = names.with_context(|| format!("packages have no name of {ours}"))?;
    let file = folder.join(match form {
        Form::Deb => format!("cpudyno_{VERSION}-{RELEASE}_{debian}.deb"),
        Form::Rpm => format!("cpudyno-{VERSION}-{RELEASE}.{fedora}.rpm"),
    });
    let needs = elf::needs(&tree.common.join("usr/bin/cpudyno"))?;
    let below = tree.common.parent().context("BUG: a tree lies nowhere")?;
    let mut nfpm = cargo::command("nfpm package --config packaging/nfpm.yaml --packager");
    nfpm.arg(form.word()).arg("--target").arg(&file);
    nfpm.env("ARCH", debian).env("TREE", below);
    nfpm.envs([("VERSION", VERSION), ("RELEASE", RELEASE), ("MAINTAINER", MAINTAINER)]);
    nfpm.env("HOMEPAGE", env!("CARGO_PKG_REPOSITORY")).env("LICENCE", env!("CARGO_PKG_LICENSE"));
    nfpm.env(moment::VARIABLE, moment::seconds()?.to_string());
    nfpm.env("DEBIAN_DEPENDS", debian_depends(&needs)?).envs(rpm_requires(&needs));
    let done = nfpm.output().context("cannot run nfpm")?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        bail!("nfpm made no {} of {}: {}", form.word(), target.name, said.trim());
    }
    fs::metadata(&file).with_context(|| format!("nfpm left no `{}`", file.display()))?;
    Ok(file)
}

/// Variables of `nfpm.yaml`, the libraries that they are about, and their interfaces.
const REQUIRED: [(&str, &str, &str); 3] = [
    ("RPM_LIBC", "libc.so.6", "GLIBC"),
    ("RPM_LIBM", "libm.so.6", "GLIBC"),
    ("RPM_LIBGCC", "libgcc_s.so.1", "GCC"),
];

/// What Debian's package depends on.
fn debian_depends(needs: &Needs) -> anyhow::Result<String> {
    let mut packages = BTreeSet::new();
    for library in needs.keys() {
        let row = LIBRARIES.iter().find(|(name, _)| name == library);
        let (_, package) =
            row.with_context(|| format!("no package is known that has {library}"))?;
        packages.insert(*package);
    }
    // An interface of the C library bears the version that it came with.
    let newest = needs.values().filter_map(|interfaces| interfaces.get("GLIBC")).max();
    let all = packages.into_iter().map(|package| match newest {
        Some(version) if package == "libc6" => format!("{package} (>= {version})"),
        _ => package.to_owned(),
    });
    Ok(all.collect::<Vec<_>>().join(", "))
}

/// What Fedora's package requires, by variable: interfaces as rpm itself finds them in programs.
fn rpm_requires(needs: &Needs) -> impl Iterator<Item = (&'static str, String)> {
    REQUIRED.iter().map(|(variable, library, interface)| {
        let newest = needs.get(*library).and_then(|interfaces| interfaces.get(*interface));
        let required = newest.map(|version| format!("{library}({interface}_{version})(64bit)"));
        (*variable, required.unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use super::super::elf::Version;
    use super::*;

    fn needs(rows: &[(&str, &str, &str)]) -> Needs {
        let mut needs = Needs::new();
        for (library, interface, version) in rows {
            let version = Version::of(version).unwrap();
            needs.entry((*library).into()).or_default().insert((*interface).into(), version);
        }
        needs
    }

    #[test]
    fn packages_depend_on_what_the_program_needs() {
        let needs = needs(&[
            ("libc.so.6", "GLIBC", "2.9"),
            ("libm.so.6", "GLIBC", "2.17"),
            ("libgcc_s.so.1", "GCC", "4.2.0"),
        ]);
        assert_eq!(debian_depends(&needs).unwrap(), "libc6 (>= 2.17), libgcc-s1");
        let required: Vec<_> = rpm_requires(&needs).map(|(_, required)| required).collect();
        assert_eq!(
            required,
            [
                "libc.so.6(GLIBC_2.9)(64bit)",
                "libm.so.6(GLIBC_2.17)(64bit)",
                "libgcc_s.so.1(GCC_4.2.0)(64bit)",
            ]
        );
    }

    #[test]
    fn a_library_of_no_known_package_is_no_dependency_that_is_left_out() {
        assert!(debian_depends(&needs(&[("libother.so.1", "OTHER", "1")])).is_err());
    }
}
