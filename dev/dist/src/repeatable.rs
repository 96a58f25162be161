//! Builds whose bytes depend on the sources and the tools alone: not on the folder, the user, or the time.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use xtask::cargo::{self, TOOLS};

use super::moment;

/// A command at the repository's root that builds in a folder.
pub(super) fn command(line: &str, folder: &Path) -> anyhow::Result<Command> {
    let mut command = cargo::command(line);
    command
        .env("CARGO_TARGET_DIR", folder)
        .env("CARGO_INCREMENTAL", "0")
        // It comes before all other places that flags of rustc can stand in.
        .env("CARGO_ENCODED_RUSTFLAGS", remapped(folder)?)
        .env("CARGO_ZIGBUILD_ZIG_PATH", cargo::root().join(TOOLS).join("ziglang/zig"))
        .env(moment::VARIABLE, moment::seconds()?.to_string());
    Ok(command)
}

/// Flags of rustc after which messages of programs name no folder of this machine. Cargo leaves them out of
/// the hashes that become names of symbols.
fn remapped(folder: &Path) -> anyhow::Result<OsString> {
    // Of several that fit a path the last one counts.
    let all = [(cargo::root(), "/cpudyno"), (folder.to_owned(), "/target"), (home()?, "/cargo")];
    let mut flags = OsString::new();
    for (path, name) in all {
        if !flags.is_empty() {
            flags.push("\u{1f}");
        }
        flags.push("--remap-path-prefix=");
        flags.push(path);
        flags.push(format!("={name}"));
    }
    Ok(flags)
}

/// Where cargo keeps the sources of dependencies.
pub(super) fn home() -> anyhow::Result<PathBuf> {
    let named = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let by_default = || std::env::home_dir().map(|home| home.join(".cargo"));
    named
        .or_else(by_default)
        .context("cannot find cargo's folder: neither CARGO_HOME nor HOME is set")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_folder_of_this_machine_is_left_in_messages() {
        let flags = remapped(Path::new("/a/target")).unwrap().into_string().unwrap();
        let flags: Vec<_> = flags.split('\u{1f}').collect();
        assert_eq!(flags[0], format!("--remap-path-prefix={}=/cpudyno", cargo::root().display()));
        assert_eq!(flags[1], "--remap-path-prefix=/a/target=/target");
        assert!(flags[2].ends_with("=/cargo"), "{}", flags[2]);
    }
}
