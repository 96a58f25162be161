//! Calling cargo, and other programs.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

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

/// Runs a command that has to succeed; what it makes is named if it does not.
///
/// # Errors
/// If it cannot be run, or fails.
pub fn done(command: &mut Command, what: &str) -> anyhow::Result<()> {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let line = words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ");
    let status = command.status().with_context(|| format!("cannot run `{line}`"))?;
    ensure!(
        status.success(),
        "cannot make {what}: `{line}` failed ({status})\n\
         hint: its messages stand above; `--install` of `cargo xtask check` and `dist` installs what they need"
    );
    Ok(())
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
