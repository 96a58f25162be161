//! Packages of Debian and of Fedora, of one tree.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::{Value, json};

use xtask::{cargo, files};

use super::binaries::Target;
use super::elf::{self, Needs};
use super::tree::{self, Tree};
use super::{MAINTAINER, RELEASE, VERSION, debian, moment};

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

/// What both are.
const CONFIG: &str = "packaging/nfpm.yaml";

/// What it does, in a line.
const SUMMARY: &str = "measures what the CPUs of a machine really do";

/// And in some more.
const DESCRIPTION: &str = "packaging/description.txt";

/// The description as a form has it: Debian's begins with the line, and has no empty ones.
fn description(form: Form) -> anyhow::Result<String> {
    let text = fs::read_to_string(cargo::root().join(DESCRIPTION))
        .with_context(|| format!("no {DESCRIPTION}"))?;
    let text = text.trim_end();
    Ok(match form {
        Form::Deb => format!("{SUMMARY}\n{}", text.replace("\n\n", "\n.\n")),
        Form::Rpm => text.to_owned(),
    })
}

/// Makes a package in a folder; how it is described lies in another.
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
    let mut nfpm = cargo::command("nfpm package --packager");
    nfpm.arg(form.word()).arg("--config").arg(config(form, tree)?).arg("--target").arg(&file);
    nfpm.envs([("VERSION", VERSION), ("RELEASE", RELEASE), ("MAINTAINER", MAINTAINER)]);
    nfpm.env("ARCH", debian).env("HOMEPAGE", env!("CARGO_PKG_REPOSITORY"));
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

/// Writes the whole description beside the tree: a file that lies there stands in it by its path.
fn config(form: Form, tree: &Tree) -> anyhow::Result<PathBuf> {
    let place = tree.common.with_file_name(format!("{}.yaml", form.word()));
    let changes = tree.common.with_file_name("changes.yaml");
    let mut text =
        fs::read_to_string(cargo::root().join(CONFIG)).context("no packaging/nfpm.yaml")?;
    let mut contents = BTreeMap::new();
    let own = match form {
        Form::Deb => &tree.debian,
        Form::Rpm => &tree.others,
    };
    for folder in [&tree.common, own] {
        listed(form, folder, folder, &mut contents)?;
    }
    let contents: Vec<_> = contents.into_values().collect();
    // JSON is YAML, too.
    let mut more = json!({
        "contents": contents,
        "license": env!("CARGO_PKG_LICENSE"),
        "description": description(form)?,
    });
    if form == Form::Rpm {
        tree::written(&changes, changelog()?.to_string().as_bytes())?;
        more["changelog"] = changes.display().to_string().into();
    }
    for (name, value) in more.as_object().into_iter().flatten() {
        writeln!(text, "{name}: {value}")?;
    }
    tree::written(&place, text.as_bytes())?;
    Ok(place)
}

/// Describes the files below a folder of a tree, and the folders that are the package's own, by their places.
fn listed(
    form: Form,
    folder: &Path,
    tree: &Path,
    contents: &mut BTreeMap<PathBuf, Value>,
) -> anyhow::Result<()> {
    for file in files::files(folder)? {
        let place = file.strip_prefix(tree)?;
        let destination = Path::new("/").join(place);
        if !file.is_dir() {
            // Not as the tree's, which is the umask of whoever builds.
            let is_run = place.starts_with("usr/bin");
            let mode = if is_run { 0o755 } else { 0o644 };
            let kind = kind(form, place);
            let row = json!({
                "src": file, "dst": destination, "type": kind, "file_info": { "mode": mode }
            });
            contents.insert(destination, row);
            continue;
        }
        if place.iter().any(|name| name == "cpudyno") {
            let row = json!({
                "dst": destination, "type": "dir", "file_info": { "mode": 0o755 }
            });
            contents.insert(destination, row);
        }
        listed(form, &file, tree, contents)?;
    }
    Ok(())
}

/// What a file is to nfpm: only rpm tells apart what is read.
fn kind(form: Form, place: &Path) -> &'static str {
    let is_below = |folders: &[&str]| folders.iter().any(|folder| place.starts_with(folder));
    match form {
        Form::Rpm if is_below(&[tree::LICENCES]) => "license",
        Form::Rpm if is_below(&[tree::DOCUMENTATION, tree::MANUAL]) => "doc",
        Form::Rpm | Form::Deb => "file",
    }
}

/// The changes of this version, as nfpm reads them.
fn changelog() -> anyhow::Result<Value> {
    let text = fs::read_to_string(cargo::root().join("CHANGELOG.md")).context("no CHANGELOG.md")?;
    let changes = debian::newest(&text).into_iter().map(|change| json!({ "note": change }));
    Ok(json!([{
        "semver": format!("{VERSION}-{RELEASE}"),
        "date": moment::of_internet(moment::seconds()?)?,
        "packager": MAINTAINER,
        "changes": changes.collect::<Vec<_>>(),
    }]))
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
