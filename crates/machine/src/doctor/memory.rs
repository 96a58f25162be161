//! Pages: huge ones, transparent ones, locked ones.

use model::{Obstacle, Reading};

use super::{Survey, not_permitted, said_elsewhere};
use crate::facts;
use crate::facts::cgroup;
use crate::facts::fact_table::{FactRow, row, text};
use crate::parse::{bytes, first_number};
use crate::permissions::Question;
use crate::ports::Machine;

#[rustfmt::skip]
pub(super) const ROWS: &[FactRow] = &[
    row("huge_pages", "Huge pages of 2 MiB", |s| huge_pages(s).map(text)),
    row("huge_pages.1gib", "Huge pages of 1 GiB", |s| gigantic_pages(s).map(text)),
    row("thp", "Transparent huge pages", |s| transparent_huge_pages(s).map(text)),
    row("memory_lock", "Locked memory", |s| s.permits.ask(Question::MemoryLock).map(text)),
];

/// # Source
/// `Documentation/admin-guide/mm/hugetlbpage.rst`: one folder for each size.
fn pool(kilobytes: u32) -> String {
    format!("/sys/kernel/mm/hugepages/hugepages-{kilobytes}kB")
}

/// Free and reserved pages of a size.
fn free_of(machine: &Machine, kilobytes: u32) -> Reading<(f64, f64)> {
    let number = |file| {
        let path = format!("{}/{file}", pool(kilobytes));
        first_number(&path, &machine.tree.read(&path)?)
    };
    Ok((number("free_hugepages")?, number("nr_hugepages")?))
}

fn huge_pages(survey: &Survey<'_>) -> Reading<String> {
    const PAGE_BYTES: u64 = 2 << 20;
    let answer = survey.permits.ask(Question::HugePage);
    let groups = cgroup::huge_pages_left(survey, PAGE_BYTES).unwrap_or_default();
    let tightest = groups.into_iter().min_by_key(|left| left.bytes);
    let answer = match (answer, &tightest) {
        (Err(reason), Some(left)) if left.bytes < PAGE_BYTES => {
            let why = format!("{}: {} leaves no page", reason.why, left.limited_by);
            let remedy =
                "raise that limit on the host; in Kubernetes, give the pod `hugepages-2Mi`";
            return Err(not_permitted(why, remedy));
        }
        (answer, _) => answer?,
    };
    let Ok((free, reserved)) = free_of(survey, 2048) else { return Ok(answer) };
    Ok(match tightest {
        Some(left) => {
            let bytes = bytes(left.bytes as f64);
            format!("{free} of {reserved} free; {} leaves {bytes}", left.limited_by)
        }
        None => format!("{free} of {reserved} free"),
    })
}

fn gigantic_pages(survey: &Survey<'_>) -> Reading<String> {
    const KILOBYTES: u32 = 1 << 20;
    survey.sysfs()?;
    let pool = pool(KILOBYTES);
    let Ok((free, reserved)) = free_of(survey, KILOBYTES) else {
        let why = format!("there is no `{pool}`: CPU and kernel have no pages of this size");
        return Err(facts::no_file(survey, &why, &pool));
    };
    if free > 0.0 {
        return Ok(format!("{free} of {reserved} free"));
    }
    let why = if reserved > 0.0 {
        format!("all {reserved} are in use")
    } else {
        "none is reserved".into()
    };
    let remedy = format!(
        "`echo {} | sudo tee {pool}/nr_hugepages`; where memory is too scattered, boot with \
         `hugepagesz=1G hugepages=1`",
        reserved + 1.0
    );
    Err(not_permitted(why, remedy))
}

pub(crate) fn transparent_huge_pages(survey: &Survey<'_>) -> Reading<String> {
    let mode = said_elsewhere(survey, "thp.enabled").map_err(|reason| match reason.obstacle {
        Obstacle::Hardware if !survey.is_copied() => not_permitted(
            "the kernel was built without transparent huge pages",
            "boot a kernel with CONFIG_TRANSPARENT_HUGEPAGE",
        ),
        _ => reason,
    })?;
    if mode == "never" {
        return Err(not_permitted(
            "the kernel is set to `never`",
            "`echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled`",
        ));
    }
    Ok(mode)
}
