//! Measurements end with a page and a record, keep to their time, and invent nobody beside them.

use super::{Judge, everything, fact};
use crate::replies::Reply;

/// How far beyond its budget a run may go: a tenth, or a second.
const BEYOND_PART: f64 = 1.1;
const BEYOND_SECONDS: f64 = 1.0;
/// What an emulator needs to start a program, to read a machine before the time begins, and to print a page.
const AROUND_SECONDS: f64 = 3.0;

/// Kernels have work of their own, in an emulator for long.
const OF_KERNELS: [&str; 3] = ["by `kworker", "by `rcu_", "by `ksoftirqd"];

/// Short ones of each kind.
pub(crate) fn judge(judge: &mut Judge<'_>) {
    for kind in ["pause", "memory", "latency"] {
        judge.ends(&format!("measure-{kind}"), &[0]);
    }
    let usable = judge.machine.online().without(&judge.machine.isolated()).len();
    // It was asked for two CPUs.
    judge.ends("measure-turbo", if usable > 1 { &[0] } else { &[2] });
    // They need two CPUs.
    let codes: &[i32] = if usable > 1 { &[0] } else { &[0, 3] };
    for kind in ["cores", "wake", "openmp"] {
        judge.ends(&format!("measure-{kind}"), codes);
    }
    judge.ends("measure-user", &[0, 3]);
}

/// The sheet, and the sheet from what it left.
pub(crate) fn sheet(judge: &mut Judge<'_>) {
    for label in ["sheet", "sheet-shown", "sheet-html", "sheet-from-html", "sheet-user"] {
        judge.ends(label, &[0]);
    }
    let record = judge.noted_record("sheet-record");
    let series = record["series"].as_array().map_or(0, Vec::len);
    judge.holds("sheet-record", "series", "at least one", series, series > 0);
    let Some(live) = judge.reply("sheet") else { return };
    for label in ["sheet-shown", "sheet-from-html"] {
        let Some(shown) = judge.reply(label) else { continue };
        let (live, shown) = (&live.output, &shown.output);
        let differs = live.lines().zip(shown.lines()).find(|(live, shown)| live != shown);
        let said = differs.map_or("the same, line by line", |(_, shown)| shown);
        judge.holds(label, "page", "that of the run, byte by byte", said, live == shown);
    }
}

/// Where there are no more CPUs than the host has.
pub(crate) fn budgets(judge: &mut Judge<'_>) {
    for kind in
        ["top", "cores", "wake", "openmp", "memory", "sheet", "pause-1", "pause-2", "pause-3"]
    {
        judge.ends(&format!("budget-{kind}"), &[0]);
    }
}

/// Where there are more CPUs than the host has: what any page promises of its time is judged with every page.
pub(crate) fn rounds(judge: &mut Judge<'_>) {
    let asked = judge.replies.asked.keys();
    let turns: Vec<String> = asked.filter(|label| label.starts_with("rounds-")).cloned().collect();
    judge.holds("machine", "rounds", "at least one", turns.len(), !turns.is_empty());
    for label in turns {
        judge.ends(&label, &[0]);
        let noted = judge.note(&label).to_owned();
        judge.equal(&label, "record", &"whole".to_owned(), &noted);
        // Whether there are numbers is up to the host: in 2 s an emulator does what others do in 0.1 s.
        let page = judge.reply(&label).map_or_else(String::new, |reply| reply.output);
        let (said, right) = (page.lines().next().unwrap_or_default(), page.contains("Quality: "));
        judge.holds(&label, "page", "a page that says how far it can be trusted", said, right);
    }
}

/// What files usually say is missing: that is said, and measured is all the same.
pub(crate) fn bare(judge: &mut Judge<'_>) {
    for label in [
        "bare-sys-info",
        "bare-sys-doctor",
        "bare-sys-settings",
        "bare-proc-info",
        "bare-proc-doctor",
    ] {
        judge.ends(label, &[0]);
        // One folder is missing, not ten options of the kernel.
        judge.never_says(label, "CONFIG_");
    }
    for label in ["bare-shm-turbo", "bare-sys-turbo", "bare-sys-sheet", "bare-proc-turbo"] {
        judge.ends(label, &[0, 3]);
    }
    judge.ends("bare-sys-set", &[3, 4]);
}

/// No clock that may be set is measured by.
pub(crate) fn clock(judge: &mut Judge<'_>) {
    for (label, note) in [("clock-ahead", "ahead-record"), ("clock-back", "back-record")] {
        judge.ends(label, &[0]);
        let record = judge.noted_record(note);
        let seconds = record["run"]["seconds"].as_f64().unwrap_or(f64::NAN);
        // Far from the hour, whatever the budget.
        let right = seconds > 0.0 && seconds < 600.0;
        judge.holds(note, "seconds of the run", "more than 0, and no hour", seconds, right);
    }
    for label in ["clock-top", "clock-set"] {
        judge.ends(label, &[0]);
    }
    let said = judge.note("settings-clock").to_owned();
    judge.holds("clock-set", "state afterwards", "[always]", &said, said.contains("[always]"));
}

/// Ten seconds in which nothing ran are named, and no number is made of them.
pub(crate) fn suspend(judge: &mut Judge<'_>) {
    for kind in ["turbo", "memory", "wake", "top"] {
        let label = format!("suspend-{kind}");
        judge.ends(&label, &[0]);
        let record = judge.noted_record(&label);
        // What watches has nothing that an interval without work would make wrong.
        if kind != "top" {
            judge.equal(&label, "standing still", &"told".to_owned(), &standstill(&record));
        }
    }
}

/// Whether a record tells of those ten seconds.
fn standstill(record: &serde_json::Value) -> String {
    let findings = record["findings"].as_array().into_iter().flatten();
    let mut told = findings.filter(|finding| finding["id"] == "run.stood-still");
    let text = told.find_map(|finding| finding["text"].as_str()).unwrap_or_default();
    let seconds = text.strip_prefix("for ").and_then(|rest| rest.split(' ').next());
    let seconds = seconds.and_then(|seconds| seconds.parse::<f64>().ok());
    let is_told = seconds.is_some_and(|seconds| (8.0..15.0).contains(&seconds));
    if is_told { "told".to_owned() } else { format!("`{text}`") }
}

/// Huge pages of one node are told and used there, and their lack is told elsewhere.
pub(crate) fn huge(judge: &mut Judge<'_>) {
    let noted = judge.note("huge-pages").replace('\n', " ");
    judge.equal("kernel", "huge pages by node", &"0 64".to_owned(), &noted);
    let record = judge.record("huge-info-json");
    let said = fact(&record, "memory.huge_pages");
    judge.holds("huge-info-json", "huge pages", "64 x 2 MiB", &said, said.contains("64 x 2 MiB"));
    let record = judge.record("huge-doctor-json");
    let said = fact(&record, "huge_pages");
    judge.holds(
        "huge-doctor-json",
        "huge pages",
        "they are there",
        &said,
        !said.starts_with("unavailable"),
    );
    judge.ends("huge-latency", &[0]);
    for label in ["huge-numa", "huge-numa-all"] {
        judge.ends(label, &[0, 3]);
    }
    judge.ends("huge-set", &[0, 1]);
    let total =
        |note: &str| -> u32 { note.lines().filter_map(|line| line.parse::<u32>().ok()).sum() };
    let set = total(judge.note("huge-pages-set"));
    judge.equal("huge-set", "huge pages", &100, &set);
    judge.ends("huge-undo", &[0]);
    let undone = total(judge.note("huge-pages-undone"));
    judge.equal("huge-undo", "huge pages", &64, &undone);
}

/// Nobody is killed, whatever a control group leaves.
pub(crate) fn oom(judge: &mut Judge<'_>) {
    for mib in [100, 150, 200, 300] {
        for kind in ["sheet", "memory", "latency", "sweep", "turbo"] {
            judge.ends(&format!("oom-{mib}-{kind}"), &[0, 3]);
        }
        let events = judge.note(&format!("oom-{mib}")).to_owned();
        let killed = events.lines().find(|line| line.starts_with("oom_kill ")).unwrap_or_default();
        judge.equal("kernel", format!("killed with {mib} MiB"), &"oom_kill 0", &killed);
    }
}

/// Whatever is taken away, numbers stand, and what there is now is told.
pub(crate) fn taken(judge: &mut Judge<'_>) {
    for label in ["balloon-memory", "balloon-sheet", "blocks-memory", "blocks-sheet"] {
        judge.ends(label, &[0]);
    }
    let kibibytes = |note: &str| note.trim().parse::<f64>().unwrap_or(f64::NAN);
    for kind in ["balloon", "blocks"] {
        let before = kibibytes(judge.note(&format!("{kind}-before")));
        let after = kibibytes(judge.note(&format!("{kind}-after")));
        judge.holds("kernel", kind, "less than was there", after, after < 0.8 * before);
        let label = format!("{kind}-info-json");
        let said = fact(&judge.record(&label), "memory.total").parse().unwrap_or(f64::NAN) / 1024.0;
        judge.holds(&label, "memory", format!("{after} KiB"), said, (said - after).abs() < 1.0);
    }
    for (group, file, left) in [("max", "hugetlb.2MB.max", 4), ("none", "hugetlb.2MB.max", 0)]
        .into_iter()
        .chain([("mapped", "hugetlb.2MB.rsvd.max", 4)])
    {
        for kind in ["latency", "memory"] {
            let label = format!("huge-{group}-{kind}");
            judge.ends(&label, if left > 0 { &[2] } else { &[3] });
            judge.says(&label, file);
            judge.says(&label, if left > 0 { "--length " } else { "whole pages" });
        }
        judge.ends(&format!("huge-{group}-sheet"), &[0]);
        judge.says(&format!("huge-{group}-doctor"), file);
    }
}

/// What holds of every page of a measurement: nothing else runs in a guest, and time is kept to.
pub(crate) fn of_page(judge: &mut Judge<'_>, label: &str, reply: &Reply) {
    let page = everything(reply);
    if let Some((took, budget)) = page.lines().nth(1).and_then(times) {
        // What was only planned is no promise, and nobody keeps one who is stopped.
        if reply.command.contains("--budget") && !label.starts_with("suspend-") {
            let limit = (budget * BEYOND_PART).max(budget + BEYOND_SECONDS);
            let (expected, said) = (format!("at most {limit:.1} s"), format!("{took} s"));
            judge.holds(label, "budget", expected, said, took <= limit);
            let (limit, took) = (limit + AROUND_SECONDS, reply.seconds);
            let (expected, said) = (format!("at most {limit:.1} s"), format!("{took} s"));
            judge.holds(label, "time from start to end", expected, said, took <= limit);
        }
        let is_other = |line: &&str| {
            line.contains("ran other work") && !OF_KERNELS.iter().any(|name| line.contains(name))
        };
        let busy = page.lines().find(is_other);
        judge.holds(label, "neighbours", "nobody", busy.unwrap_or("nobody"), busy.is_none());
        // Debian's kernels make huge pages wherever they can: `madvise` would be fewer.
        let less = page.lines().find(|line| line.contains("echo madvise"));
        judge.holds(
            label,
            "huge pages",
            "no advice for fewer",
            less.unwrap_or("none"),
            less.is_none(),
        );
    }
}

/// Seconds that a run took, and those that it had: `28.7 s of 8 s`.
fn times(line: &str) -> Option<(f64, f64)> {
    let (before, after) = line.split_once(" s of ")?;
    let took = before.rsplit(' ').next()?.parse().ok()?;
    Some((took, after.split(' ').next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_page_says_how_long_it_took() {
        let line = "cpudyno 0.2.0, 2026-01-01T00:00:00Z, 28.7 s of 8 s, 1 of 30 sweeps";
        assert_eq!(super::times(line), Some((28.7, 8.0)));
        assert_eq!(super::times("cpudyno 0.2.0, nothing was measured"), None);
    }
}
