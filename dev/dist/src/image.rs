//! The image for containers: an OCI layout in one file, made of plain archives.
//!
//! It holds the static program, on nothing: that lacks the OpenMP runtimes and libpfm4, and says so. Where only a
//! program was built that loads libraries (`--quick`), they lie in it, so that the same tests can be run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use serde_json::{Value, json};

use xtask::cargo;

use super::archives::Contents;
use super::binaries::Target;
use super::sums::sha256;
use super::tree::{self, Tree};
use super::{VERSION, moment, supply};

/// The most bytes that are promised.
pub(super) const MOST_BYTES: u64 = 25_000_000;

/// Whom it runs as: nobody that a system knows.
pub(super) const USER: &str = "65532:65532";

/// A folder of everybody, where the lock of measurements is.
const EVERYBODY: (&str, u32) = ("tmp", 0o1777);

const LAYOUT: &str = "1.0.0";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// Makes the image of all these targets.
pub(super) fn made(targets: &[(&Target, &Tree)], folder: &Path) -> anyhow::Result<PathBuf> {
    let mut contents = Contents::default();
    let mut manifests = Vec::new();
    for (target, tree) in targets {
        manifests.push(of_target(target, tree, &mut contents)?);
    }
    // Who pulls an image of several architectures takes the list of them by its name.
    let named = match manifests.as_slice() {
        [one] => one.clone(),
        several => blob(&mut contents, INDEX, index(several).to_string().into_bytes()),
    };
    let mut named = named;
    named["annotations"] = json!({ "org.opencontainers.image.ref.name": VERSION });
    let layout = json!({ "imageLayoutVersion": LAYOUT });
    contents.add_bytes(layout.to_string().into_bytes(), Path::new("oci-layout"));
    contents.add_bytes(index(&[named]).to_string().into_bytes(), Path::new("index.json"));
    let file = folder.join(format!("cpudyno-{VERSION}-oci.tar"));
    tree::written(&file, &contents.tar()?)?;
    Ok(file)
}

/// The manifest of one target, and what it names.
fn of_target(target: &Target, tree: &Tree, contents: &mut Contents) -> anyhow::Result<Value> {
    let layer = files(target, tree)?.tar()?;
    let unpacked = format!("sha256:{}", sha256(&layer));
    let layer = blob(contents, LAYER, tree::gzipped(&layer)?);
    let architecture = if target.triple.starts_with("aarch64") { "arm64" } else { "amd64" };
    let created = moment::of_internet(moment::seconds()?)?;
    let config = json!({
        "created": created,
        "architecture": architecture,
        "os": "linux",
        "config": {
            "User": USER,
            "Entrypoint": ["/usr/bin/cpudyno"],
            "WorkingDir": "/",
            "Labels": labels(&created),
        },
        "rootfs": { "type": "layers", "diff_ids": [unpacked] },
        "history": [{ "created": created, "created_by": "cargo xtask dist" }],
    });
    let config = blob(contents, CONFIG, config.to_string().into_bytes());
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": config,
        "layers": [layer],
    });
    let mut manifest = blob(contents, MANIFEST, manifest.to_string().into_bytes());
    manifest["platform"] = json!({ "architecture": architecture, "os": "linux" });
    Ok(manifest)
}

/// What the container sees as `/`.
fn files(target: &Target, tree: &Tree) -> anyhow::Result<Contents> {
    let mut contents = Contents::default();
    let program = Path::new("usr/bin/cpudyno");
    contents.add(&tree.common.join(program), program)?;
    contents.add(&tree.others.join(tree::LICENCES), Path::new(tree::LICENCES))?;
    let gathered = Path::new(tree::DOCUMENTATION).join(supply::LICENCES);
    if tree.common.join(&gathered).exists() {
        contents
            .add(&tree.common.join(&gathered), &Path::new(tree::LICENCES).join(supply::LICENCES))?;
    }
    contents.add_folder(Path::new(EVERYBODY.0), EVERYBODY.1);
    if target.loads {
        for library in libraries(&tree.common.join(program))? {
            contents.add(&library, library.strip_prefix("/").unwrap_or(&library))?;
        }
    }
    Ok(contents)
}

/// The libraries that this machine starts a program with, and what loads them.
fn libraries(program: &Path) -> anyhow::Result<BTreeSet<PathBuf>> {
    let shown = Command::new("ldd").arg(program).output().context("cannot run ldd")?;
    let text = String::from_utf8_lossy(&shown.stdout);
    if !shown.status.success() || text.contains("not found") {
        bail!("libraries of `{}` are not there:\n{text}", program.display());
    }
    let words = text.split_whitespace().filter(|word| word.starts_with('/'));
    Ok(words.map(PathBuf::from).collect())
}

/// What a registry shows of it: <https://specs.opencontainers.org/image-spec/annotations/>.
fn labels(created: &str) -> Value {
    let mut labels = json!({
        "org.opencontainers.image.title": "cpudyno",
        "org.opencontainers.image.description": "Measures what the CPUs of a machine really do",
        "org.opencontainers.image.version": VERSION,
        "org.opencontainers.image.created": created,
        "org.opencontainers.image.licenses": env!("CARGO_PKG_LICENSE"),
        "org.opencontainers.image.source": env!("CARGO_PKG_REPOSITORY"),
    });
    let commit = cargo::command("git rev-parse HEAD").output().ok();
    if let Some(commit) = commit.filter(|shown| shown.status.success()) {
        let commit = String::from_utf8_lossy(&commit.stdout).trim().to_owned();
        labels["org.opencontainers.image.revision"] = commit.into();
    }
    labels
}

fn index(manifests: &[Value]) -> Value {
    json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": manifests })
}

/// Puts bytes where their hash says, and describes them.
fn blob(contents: &mut Contents, kind: &str, bytes: Vec<u8>) -> Value {
    let hash = sha256(&bytes);
    let described =
        json!({ "mediaType": kind, "digest": format!("sha256:{hash}"), "size": bytes.len() });
    contents.add_bytes(bytes, &Path::new("blobs/sha256").join(hash));
    described
}
