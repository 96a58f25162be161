//! Of completions, in real shells that look where packages put them.

use std::process::Command;

use anyhow::bail;

use xtask::cargo;

use super::{Ground, said};

/// What is typed before the key, and a word that must be among what the shell offers.
const LINES: [(&str, &str); 4] = [
    ("cpudyno she", "sheet"),
    ("cpudyno turbo --test sca", "scalar_iadd"),
    ("cpudyno sheet --machine sim:2", "sim:2s-28c"),
    ("cpudyno sheet --bud", "--budget"),
];

/// Presses the key in a shell on a terminal.
const SCRIPT: &str = "dev/dist/scripts/complete.py";

pub(super) fn completes(ground: &Ground, shell: &str) -> anyhow::Result<()> {
    let tree = &ground.ours()?.tree;
    for (line, wanted) in LINES {
        let mut offer = Command::new("/usr/bin/python3");
        offer.arg(cargo::root().join(SCRIPT)).args([shell, line]);
        offer.arg(tree.common.join("usr/share")).arg(tree.debian.join("usr/share"));
        let offered = said(&mut offer)?;
        if !offered.split_whitespace().any(|word| word == wanted) {
            bail!("{shell}: `{line}` and the key offer `{offered}`, and not {wanted}");
        }
    }
    Ok(())
}
