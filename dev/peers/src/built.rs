//! What cargo builds: the product, and the preload library.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, bail};

/// Builds the release binary and says where it is.
pub(crate) fn release_binary() -> anyhow::Result<PathBuf> {
    build("cargo build --release --locked --package cpudyno", "cpudyno")
}

/// Builds the binary as it is packaged and says where it is.
pub(crate) fn packaged_binary() -> anyhow::Result<PathBuf> {
    build("cargo build --profile dist --locked --package cpudyno", "cpudyno")
}

/// Builds the binary as tests use it and says where it is.
pub(crate) fn binary() -> anyhow::Result<PathBuf> {
    build("cargo build --locked --package cpudyno", "cpudyno")
}

/// Builds the preload library and says where it is.
pub(crate) fn shim() -> anyhow::Result<PathBuf> {
    build("cargo build --locked --package cpudyno-isst-shim", "isst_shim")
}

/// The same, as fast as it can be.
pub(crate) fn release_shim() -> anyhow::Result<PathBuf> {
    build("cargo build --release --locked --package cpudyno-isst-shim", "isst_shim")
}

/// Where what a command of cargo builds is: the program of that name, or the library.
fn build(command: &str, target: &str) -> anyhow::Result<PathBuf> {
    let output = xtask::cargo::command(command)
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run `{command}`"))?;
    if !output.status.success() {
        bail!("cannot build `{target}`: `{command}` failed\nhint: its errors stand above");
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    artifact(&messages, target)
        .with_context(|| format!("cannot find `{target}`: `{command}` names no such file"))
}

/// The path of the target in cargo's messages, one JSON object to a line.
fn artifact(messages: &str, target: &str) -> Option<PathBuf> {
    messages.lines().find_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let ours = message["reason"] == "compiler-artifact" && message["target"]["name"] == target;
        let program = message["executable"].as_str();
        let mut files = message["filenames"].as_array().into_iter().flatten();
        let is_library = |name: &&str| Path::new(name).extension().is_some_and(|end| end == "so");
        let library = files.find_map(|file| file.as_str().filter(is_library));
        ours.then(|| program.or(library).map(PathBuf::from))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executable_is_found_among_other_artifacts() {
        let message = |name: &str, executable: Option<&str>| {
            let target = serde_json::json!({ "name": name });
            let reason = "compiler-artifact";
            serde_json::json!({ "reason": reason, "target": target, "executable": executable })
                .to_string()
        };
        let messages = [
            message("clap", None),
            message("cpudyno", None),
            message("cpudyno", Some("/t/cpudyno")),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
        ]
        .join("\n");
        assert_eq!(artifact(&messages, "cpudyno"), Some(PathBuf::from("/t/cpudyno")));
        assert_eq!(artifact("not json\n", "cpudyno"), None);
        let library = r#"{"reason":"compiler-artifact","target":{"name":"shim"},"executable":null,
            "filenames":["/t/libshim.so"]}"#
            .replace('\n', "");
        assert_eq!(artifact(&library, "shim"), Some(PathBuf::from("/t/libshim.so")));
    }
}
