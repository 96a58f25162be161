//! Recipes for Spack, Nix and conda, which build from the source archive: `packaging/recipes/` with version and hash.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use xtask::cargo;

use super::{Artefact, VERSION, sums};

/// Where the recipes are, from the root.
const RECIPES: &str = "packaging/recipes";

/// A recipe, and where its system looks for it, from `recipes/` of what is offered.
const PLACES: [(&str, &str); 3] = [
    ("package.py", "spack/packages/cpudyno/package.py"),
    ("package.nix", "nix/package.nix"),
    ("recipe.yaml", "conda/recipe.yaml"),
];

/// Files that are copied beside them as they are, with their text.
const REPOSITORY: (&str, &str) = ("spack/repo.yaml", "repo:\n  namespace: cpudyno\n");

/// Writes them for a source archive.
pub(super) fn written(source: &Path, dist: &Path) -> anyhow::Result<Vec<Artefact>> {
    let root = cargo::root();
    let hash = sums::sha256(&fs::read(source).context("there is no source archive")?);
    let folder = dist.join("recipes");
    let mut files: Vec<(PathBuf, String)> = Vec::new();
    for (recipe, place) in PLACES {
        let text = fs::read_to_string(root.join(RECIPES).join(recipe))
            .with_context(|| format!("no {RECIPES}/{recipe}"))?;
        files.push((folder.join(place), filled(&text, &hash)));
    }
    let (place, text) = REPOSITORY;
    files.push((folder.join(place), text.to_owned()));
    // Nix reads it before it unpacks the archive.
    files.push((folder.join("nix/Cargo.lock"), fs::read_to_string(root.join("Cargo.lock"))?));
    for (path, text) in &files {
        fs::create_dir_all(path.parent().unwrap_or(&folder))?;
        fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(files.into_iter().map(|(path, _)| Artefact { path, most_bytes: None }).collect())
}

/// The recipe of this release.
fn filled(text: &str, hash: &str) -> String {
    let values = [
        ("@VERSION@", VERSION),
        ("@SHA256@", hash),
        ("@HOMEPAGE@", env!("CARGO_PKG_REPOSITORY")),
        ("@RUST@", env!("CARGO_PKG_RUST_VERSION")),
    ];
    values.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn recipes_name_version_and_hash_and_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source.tar.gz");
        fs::write(&source, "source").unwrap();
        let files = written(&source, folder.path()).unwrap();
        assert_eq!(files.len(), PLACES.len() + 2);
        let hash = sums::sha256(b"source");
        for (recipe, place) in PLACES {
            let path = folder.path().join("recipes").join(place);
            let text = fs::read_to_string(&path).unwrap();
            assert!(text.contains(VERSION) && text.contains(&hash), "{text}");
            assert!(!text.contains('@') || recipe == "package.py", "{text}");
            let read = match path.extension().and_then(|end| end.to_str()) {
                Some("py") => "compile(text, 'package.py', 'exec')",
                Some("yaml") => "__import__('yaml').safe_load(text)['package']['name']",
                _ => {
                    let errors = rnix::Root::parse(&text).errors().to_vec();
                    assert!(errors.is_empty(), "{place}: {errors:?}\n{text}");
                    continue;
                }
            };
            let program = format!("import sys; text = open(sys.argv[1]).read(); {read}");
            let done = Command::new("/usr/bin/python3")
                .args(["-c", &program])
                .arg(&path)
                .output()
                .unwrap();
            assert!(done.status.success(), "{place}: {}", String::from_utf8_lossy(&done.stderr));
        }
        let python =
            fs::read_to_string(folder.path().join("recipes/spack/packages/cpudyno/package.py"));
        assert!(python.unwrap().contains("depends_on(\"rust@1."));
    }
}
