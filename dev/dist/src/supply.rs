//! What programs consist of: the bill of materials, and the licences of all dependencies.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};

use xtask::cargo;

use super::{WORK, inspected, moment, source};

/// The bill of materials: <https://cyclonedx.org/docs/1.5/json/>.
const BILL: &str = concat!("cpudyno-", env!("CARGO_PKG_VERSION"), ".cdx.json");

/// The licences.
pub(super) const LICENCES: &str = "THIRD-PARTY-LICENSES.txt";

/// What the tools are asked about: the program, as it is released.
const MANIFEST: &str = "crates/cpudyno/Cargo.toml";

/// Both, written into a folder: of a program, and of the others alike.
pub(super) fn written(program: &Path, folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    Ok(vec![bill(program, folder)?, licences(folder)?])
}

/// Writes the bill of materials into a folder.
fn bill(program: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    let work = cargo::root().join(WORK);
    // The tool writes a file beside each manifest of the workspace.
    let source = source::unpacked(&work.join("bill"))?;
    let line = "cargo cyclonedx --quiet --format json --spec-version 1.5 --no-build-deps \
                --target x86_64-unknown-linux-gnu --override-filename bill --manifest-path";
    let mut command = cargo::command(line);
    command.arg(source.join(MANIFEST)).env(moment::VARIABLE, moment::seconds()?.to_string());
    cargo::done(&mut command, "the bill of materials")?;
    let path = source.join(MANIFEST).with_file_name("bill.json");
    let text = fs::read_to_string(&path).with_context(|| format!("no `{}`", path.display()))?;
    // Names of our own crates begin with the folder that they lie in.
    let text = text.replace(&format!("{}/", source.display()), "/cpudyno/");
    is_bill(&text, &inspected::dependencies(program)?)?;
    let bill = folder.join(BILL);
    fs::write(&bill, text).with_context(|| format!("cannot write `{}`", bill.display()))?;
    Ok(bill)
}

/// It says of each part which one it is and under which licence, and leaves out none that the program lists.
fn is_bill(text: &str, listed: &[String]) -> anyhow::Result<()> {
    let bill: serde_json::Value = serde_json::from_str(text).context("the bill is no JSON")?;
    ensure!(
        bill["bomFormat"] == "CycloneDX",
        "the bill of materials is none: {}",
        bill["bomFormat"]
    );
    let parts = bill["components"].as_array().context("the bill of materials has no components")?;
    ensure!(!parts.is_empty(), "the bill of materials is empty");
    for part in parts {
        let is_told = |key: &str| part[key].as_str().is_some_and(|text| !text.is_empty());
        let is_licensed = part["licenses"].as_array().is_some_and(|all| !all.is_empty());
        ensure!(
            ["name", "version", "purl"].into_iter().all(is_told) && is_licensed,
            "the bill of materials lacks name, version, address or licence of {part}"
        );
    }
    let has = |name: &String| parts.iter().any(|part| part["name"] == **name);
    let whole = bill["metadata"]["component"]["name"].as_str();
    let left_out = listed.iter().find(|name| !has(name) && whole != Some(name));
    if let Some(name) = left_out {
        bail!("the bill of materials leaves out {name}, which the program lists");
    }
    Ok(())
}

/// Writes the licences of all that is compiled into the program, into a folder.
fn licences(folder: &Path) -> anyhow::Result<PathBuf> {
    let path = folder.join(LICENCES);
    licences_of(MANIFEST, &path)?;
    Ok(path)
}

/// Writes the licences of all that is compiled into a crate.
pub(super) fn licences_of(manifest: &str, path: &Path) -> anyhow::Result<()> {
    let line = "cargo about generate --locked --offline --fail --config packaging/about.toml \
                packaging/licences.hbs --manifest-path";
    let mut command = cargo::command(line);
    command.arg(manifest).arg("--output-file").arg(path);
    cargo::done(&mut command, "the list of licences")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_bill_names_each_part_and_its_licence() {
        let bill = |part: &str| {
            let whole = r#""metadata": {"component": {"name": "whole"}}"#;
            format!(r#"{{"bomFormat": "CycloneDX", {whole}, "components": [{part}]}}"#)
        };
        let listed = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let part =
            r#"{"name": "a", "version": "1.0.0", "purl": "pkg:cargo/a@1.0.0", "licenses": [{}]}"#;
        is_bill(&bill(part), &listed(&["a", "whole"])).unwrap();
        let error = is_bill(&bill(part), &listed(&["a", "b"])).unwrap_err().to_string();
        assert!(error.contains("leaves out b,"), "{error}");
        let (unlicensed, unnumbered) = (part.replace("[{}]", "[]"), part.replace("1.0.0", ""));
        for wrong in [String::new(), bill(""), bill(&unlicensed), bill(&unnumbered)] {
            assert!(is_bill(&wrong, &[]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn licences_that_are_gathered_are_those_that_are_allowed() {
        let read = |file: &str| -> toml::Table {
            fs::read_to_string(cargo::root().join(file)).unwrap().parse().unwrap()
        };
        let set = |list: &toml::Value| -> BTreeSet<String> {
            let list = list.as_array().unwrap();
            list.iter().map(|id| id.as_str().unwrap().to_owned()).collect()
        };
        let (about, deny) = (read("packaging/about.toml"), read("deny.toml"));
        assert_eq!(set(&about["accepted"]), set(&deny["licenses"]["allow"]));
    }
}
