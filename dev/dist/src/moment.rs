//! The moment that files of a release bear, so that their bytes are the same whenever they are built.

use std::process::Command;

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

/// As mail and Debian's changelogs have it: `Sat, 28 Nov 2026 21:49:19 +0000`.
pub(super) fn of_mail(seconds: u64) -> anyhow::Result<String> {
    dated(seconds, "-R")
}

/// As OCI and RFC 3339 have it: `2026-11-28T21:49:19+00:00`.
pub(super) fn of_internet(seconds: u64) -> anyhow::Result<String> {
    Ok(dated(seconds, "-Iseconds")?.replace("+00:00", "Z"))
}

fn dated(seconds: u64, form: &str) -> anyhow::Result<String> {
    let mut date = Command::new("date");
    date.args(["-u", form, "-d", &format!("@{seconds}")]).env("LC_ALL", "C");
    let shown = date.output().context("cannot run date")?;
    Ok(String::from_utf8_lossy(&shown.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_dates_in_utc() {
        assert_eq!(of_mail(1_795_902_462).unwrap(), "Sat, 28 Nov 2026 21:47:42 +0000");
        assert_eq!(of_internet(1_795_902_462).unwrap(), "2026-11-28T21:47:42Z");
    }
}
