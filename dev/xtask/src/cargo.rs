//! Calling cargo, and other programs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The repository's root: where the workspace's manifest is.
pub fn root() -> PathBuf {
    // Cargo sets the variable when it runs us; the built-in path may be of another checkout.
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest.ancestors().nth(2).map_or_else(|| manifest.clone(), Path::to_path_buf)
}

/// Where programs are that a check needs and that are no packages of the system, from the root.
pub const TOOLS: &str = "target/tools";

/// A command of words between blanks, at the repository's root; `cargo` is the one that runs us.
pub fn command(line: &str) -> Command {
    let mut words = line.split(' ');
    let program = words.next().unwrap_or_default();
    let ours = std::env::var_os("CARGO").filter(|_| program == "cargo");
    let mut command = Command::new(ours.unwrap_or_else(|| program.into()));
    command.args(words).current_dir(root()).env("PATH", path());
    command
}

/// Where programs are looked for: in the tools' folder, then where the user has them.
fn path() -> OsString {
    let mut path = root().join(TOOLS).join("bin").into_os_string();
    if let Some(users) = std::env::var_os("PATH") {
        path.push(":");
        path.push(users);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_holds_the_workspace() {
        assert!(root().join("dev/xtask/Cargo.toml").is_file());
    }
}
