//! The files of an installed system: packages, archives and images all hold this tree.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use flate2::{Compression, GzBuilder};

use xtask::cargo;
use xtask::files::{copied, files};

use super::{debian, moment};

/// The files of an installed system, as they lie in its `/`.
pub(super) struct Tree {
    /// What every system has at the same place.
    pub(super) common: PathBuf,
    /// What only Debian has, or has elsewhere.
    pub(super) debian: PathBuf,
    /// What all others have, or have elsewhere: Fedora and SUSE, and prefixes such as `/usr/local`.
    pub(super) others: PathBuf,
}

/// What lies in a tree beside the program, on every architecture.
pub(super) struct Beside {
    /// Pages of the manual and completions, as the program wrote them: see [`pages`].
    pub(super) pages: PathBuf,
    /// The licences of all that the program consists of, where they were gathered.
    pub(super) licences: Option<PathBuf>,
}

/// Where documentation lies.
pub(super) const DOCUMENTATION: &str = "usr/share/doc/cpudyno";

/// Where pages of the manual lie.
pub(super) const MANUAL: &str = "usr/share/man";

/// Where licences lie, but in Debian.
pub(super) const LICENCES: &str = "usr/share/licenses/cpudyno";

/// Where units of systemd lie.
pub(super) const UNITS: &str = "usr/lib/systemd/system";

/// Texts that are read where no network is, with their places to each other, so that their links hold.
const TEXTS: [&str; 11] = [
    "README.md",
    "CHANGELOG.md",
    "BIAS.md",
    "SAFETY.md",
    "contrib",
    "docs/guide",
    "docs/method",
    "docs/reference",
    "docs/speed-select.md",
    "docs/python.ipynb",
    "docs/sheet.png",
];

/// Licences, of which users choose one.
pub(super) const LICENCE_TEXTS: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// Where Debian's shells look for completions that a package brings: each file of `cpudyno pages` and its place.
const DEBIAN_COMPLETIONS: [(&str, &str); 1] =
    [("_cpudyno", "usr/share/zsh/vendor-completions/_cpudyno")];

/// Where all others' do.
const OTHER_COMPLETIONS: [(&str, &str); 1] =
    [("_cpudyno", "usr/share/zsh/site-functions/_cpudyno")];

/// Where everybody's do.
const COMPLETIONS: [(&str, &str); 2] = [
    ("cpudyno.bash", "usr/share/bash-completion/completions/cpudyno"),
    ("cpudyno.fish", "usr/share/fish/vendor_completions.d/cpudyno.fish"),
];

/// Has the program write its pages of the manual and its completions into a folder: `man/`, `completions/`.
pub(super) fn pages(program: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    let pages = folder.join("pages");
    cleared(&pages)?;
    let status = Command::new(program).arg("pages").arg(&pages).status();
    let status = status.with_context(|| format!("cannot run `{}`", program.display()))?;
    if !status.success() {
        bail!("`{} pages {}` failed: {status}", program.display(), pages.display());
    }
    Ok(pages)
}

/// Makes the tree in a folder, of a program and of what lies beside it.
pub(super) fn grown(binary: &Path, beside: &Beside, folder: &Path) -> anyhow::Result<Tree> {
    let below = |name: &str| cleared(&folder.join("tree").join(name));
    let tree =
        Tree { common: below("common")?, debian: below("debian")?, others: below("others")? };
    let root = cargo::root();
    copied(binary, &tree.common.join("usr/bin/cpudyno"))?;
    for text in TEXTS {
        copied(&root.join(text), &tree.common.join(DOCUMENTATION).join(text))?;
    }
    copied(&root.join("packaging/systemd"), &tree.common.join(UNITS))?;
    for licence in LICENCE_TEXTS {
        copied(&root.join(licence), &tree.others.join(LICENCES).join(licence))?;
    }
    if let Some(licences) = &beside.licences {
        let name = licences.file_name().unwrap_or_default();
        copied(licences, &tree.common.join(DOCUMENTATION).join(name))?;
    }
    for page in files(&beside.pages.join("man"))? {
        let name = page.file_name().unwrap_or_default().to_string_lossy();
        let place = tree.common.join(MANUAL).join(format!("man1/{name}.gz"));
        written(&place, &gzipped(&fs::read(&page)?)?)?;
    }
    let completions = beside.pages.join("completions");
    let complete = |tree: &Path, rows: &[(&str, &str)]| {
        rows.iter().try_for_each(|(name, place)| copied(&completions.join(name), &tree.join(place)))
    };
    complete(&tree.common, &COMPLETIONS)?;
    complete(&tree.debian, &DEBIAN_COMPLETIONS)?;
    complete(&tree.others, &OTHER_COMPLETIONS)?;
    debian::files_of(&tree.debian)?;
    let moment = UNIX_EPOCH + Duration::from_secs(moment::seconds()?);
    for folder in [&tree.common, &tree.debian, &tree.others] {
        dated(folder, moment)?;
    }
    Ok(tree)
}

/// Gives all that is below a folder one time.
fn dated(folder: &Path, moment: SystemTime) -> anyhow::Result<()> {
    for file in files(folder)? {
        if file.is_dir() {
            dated(&file, moment)?;
        }
        let dated = fs::File::open(&file).and_then(|file| file.set_modified(moment));
        dated.with_context(|| format!("cannot date `{}`", file.display()))?;
    }
    Ok(())
}

/// Packs bytes as `gzip -n -9` does: without a name and without a time.
pub(super) fn gzipped(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut packer = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    packer.write_all(bytes)?;
    packer.finish()
}

/// Writes a file, and makes its folder.
pub(super) fn written(place: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    if let Some(folder) = place.parent() {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot make `{}`", folder.display()))?;
    }
    fs::write(place, bytes).with_context(|| format!("cannot write `{}`", place.display()))
}

/// The files below a folder, by their paths from there.
pub(super) fn below(folder: &Path) -> anyhow::Result<BTreeSet<PathBuf>> {
    let mut all = BTreeSet::new();
    for file in files(folder)? {
        let name = PathBuf::from(file.file_name().unwrap_or_default());
        if file.is_dir() {
            all.extend(below(&file)?.into_iter().map(|inner| name.join(inner)));
        } else {
            all.insert(name);
        }
    }
    Ok(all)
}

/// Makes a folder that is empty, and says where.
pub(super) fn cleared(folder: &Path) -> anyhow::Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(folder)
            .with_context(|| format!("cannot clear `{}`", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
    Ok(folder.to_owned())
}
