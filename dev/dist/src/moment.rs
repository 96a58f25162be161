//! The moment that files of a release bear, so that their bytes are the same whenever they are built.

use anyhow::{Context, bail};

use xtask::cargo;

/// Where builds that can be repeated say it: <https://reproducible-builds.org/specs/source-date-epoch/>.
pub(super) const VARIABLE: &str = "SOURCE_DATE_EPOCH";

/// Seconds since 1970: those that were asked for, else of the commit.
pub(super) fn seconds() -> anyhow::Result<u64> {
    if let Ok(asked) = std::env::var(VARIABLE) {
        return asked
            .trim()
            .parse()
            .with_context(|| format!("{VARIABLE}={asked} is no number of seconds"));
    }
    let hint = format!("hint: where no commit is known, set {VARIABLE}");
    let shown = cargo::command("git log -1 --format=%ct").output().context("cannot run git")?;
    if !shown.status.success() {
        bail!(
            "git knows no commit here: {}\n{hint}",
            String::from_utf8_lossy(&shown.stderr).trim()
        );
    }
    let text = String::from_utf8_lossy(&shown.stdout).trim().to_owned();
    text.parse().with_context(|| format!("git says `{text}` of the commit's time\n{hint}"))
}
