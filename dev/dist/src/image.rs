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
    let (mut manifests, mut of_docker) = (Vec::new(), Vec::new());
    for (target, tree) in targets {
        let parts = of_target(target, tree, &mut contents)?;
        manifests.push(parts.manifest);
        of_docker.push(parts.of_docker);
    }
    // Docker before 25 reads this list, and no index; it knows one architecture.
    of_docker.truncate(1);
    contents.add_bytes(Value::from(of_docker).to_string().into_bytes(), Path::new("manifest.json"));
    // Who pulls an image of several architectures takes the list of them by its name.
    let mut named = match manifests.as_slice() {
        [one] => one.clone(),
        several => blob(&mut contents, INDEX, index(several).to_string().into_bytes()),
    };
    named["annotations"] = json!({ "org.opencontainers.image.ref.name": VERSION });
    let layout = json!({ "imageLayoutVersion": LAYOUT });
    contents.add_bytes(layout.to_string().into_bytes(), Path::new("oci-layout"));
    contents.add_bytes(index(&[named]).to_string().into_bytes(), Path::new("index.json"));
    let file = folder.join(format!("cpudyno-{VERSION}-oci.tar"));
    tree::written(&file, &contents.tar()?)?;
    Ok(file)
}

/// What names the parts of one target's image.
struct Parts {
    /// As a list of manifests does.
    manifest: Value,
    /// As Docker's own archives do.
    of_docker: Value,
}

/// Adds the parts of one target's image.
fn of_target(target: &Target, tree: &Tree, contents: &mut Contents) -> anyhow::Result<Parts> {
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
    let path = |blob: &Value| json!(blob_path(blob["digest"].as_str().unwrap_or_default()));
    let of_docker = json!({
        "Config": path(&config),
        "RepoTags": [format!("cpudyno:{VERSION}")],
        "Layers": [path(&layer)],
    });
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": config,
        "layers": [layer],
    });
    let mut manifest = blob(contents, MANIFEST, manifest.to_string().into_bytes());
    manifest["platform"] = json!({ "architecture": architecture, "os": "linux" });
    Ok(Parts { manifest, of_docker })
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
    let digest = format!("sha256:{}", sha256(&bytes));
    let described = json!({ "mediaType": kind, "digest": digest, "size": bytes.len() });
    contents.add_bytes(bytes, &blob_path(&digest));
    described
}

/// Where it lies.
fn blob_path(digest: &str) -> PathBuf {
    Path::new("blobs").join(digest.replace(':', "/"))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    const X86: Target =
        Target { name: "x86_64-linux-musl", triple: "x86_64-unknown-linux-musl", loads: false };
    const ARM: Target =
        Target { name: "aarch64-linux-musl", triple: "aarch64-unknown-linux-musl", loads: false };

    fn json_of(file: &Path, path: &Path) -> Value {
        let mut archive = tar::Archive::new(std::fs::File::open(file).unwrap());
        let mut entries = archive.entries().unwrap().map(Result::unwrap);
        let mut entry = entries.find(|entry| entry.path().unwrap() == path).unwrap();
        let mut text = String::new();
        entry.read_to_string(&mut text).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn an_image_of_two_architectures_is_one_list_of_them() {
        let folder = tempfile::tempdir().unwrap();
        let below = |name: &str| folder.path().join(name);
        let tree =
            Tree { common: below("common"), debian: below("debian"), others: below("others") };
        tree::written(&tree.common.join("usr/bin/cpudyno"), b"program").unwrap();
        tree::written(&tree.others.join(tree::LICENCES).join("LICENSE"), b"licence").unwrap();
        let file = made(&[(&X86, &tree), (&ARM, &tree)], folder.path()).unwrap();
        let index = json_of(&file, Path::new("index.json"));
        assert_eq!(index["manifests"].as_array().unwrap().len(), 1);
        assert_eq!(index["manifests"][0]["mediaType"], INDEX);
        let digest = index["manifests"][0]["digest"].as_str().unwrap();
        let list = json_of(&file, &blob_path(digest));
        for (manifest, architecture) in [(0, "amd64"), (1, "arm64")] {
            let manifest = &list["manifests"][manifest];
            assert_eq!(manifest["platform"]["architecture"], architecture);
            let manifest = json_of(&file, &blob_path(manifest["digest"].as_str().unwrap()));
            let config = manifest["config"]["digest"].as_str().unwrap();
            let config = json_of(&file, &blob_path(config));
            assert_eq!(config["architecture"], architecture);
            assert_eq!(config["config"]["User"], USER);
        }
        let first = std::fs::read(&file).unwrap();
        assert_eq!(
            first,
            std::fs::read(made(&[(&X86, &tree), (&ARM, &tree)], folder.path()).unwrap()).unwrap()
        );
    }
}
