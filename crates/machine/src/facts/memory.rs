//! How much memory there is, and what is set aside or withheld.

use model::{Obstacle, Reading, Unavailable, Unit};

use super::platform::{no_file, not_offered};
use crate::facts::cgroup;
use crate::facts::fact_table::{FactRow, number, row, text};
use crate::parse::{bytes, first_number, value_of};
use crate::ports::Machine;

#[rustfmt::skip]
pub(super) const ROWS: &[FactRow] = &[
    row("memory.total", "Memory", |s| Ok(number(total(s)?, Unit::Byte))),
    row("memory.limit", "Memory limit", |s| limit(s).map(text)),
    row("memory.huge_pages", "Huge pages", |s| huge_pages(s).map(text)),
];

pub(crate) const MEMINFO: &str = "/proc/meminfo";
pub(crate) const HUGE_PAGES: &str = "/sys/kernel/mm/hugepages";

/// More than 52 bits of a physical address reach.
pub(super) const MEMORY_BYTES_MAX: u64 = 1 << 52;

/// A line of `/proc/meminfo`, in bytes.
pub(super) fn meminfo_bytes(meminfo: &str, key: &str) -> Reading<f64> {
    let why = || not_offered(&format!("`{MEMINFO}` has no line `{key}`"), MEMINFO);
    let kibibytes = value_of(meminfo, key).ok_or_else(why)?;
    let bytes = first_number(MEMINFO, kibibytes)? * 1024.0;
    if (0.0..=MEMORY_BYTES_MAX as f64).contains(&bytes) {
        return Ok(bytes);
    }
    let why = format!("`{MEMINFO}` says `{key}: {kibibytes}`, which no machine has");
    Err(Unavailable::new(Obstacle::Cpudyno, "memory", why))
}

fn total(machine: &Machine) -> Reading<f64> {
    meminfo_bytes(&machine.tree.read(MEMINFO)?, "MemTotal")
}

/// What the control groups leave to this process.
fn limit(machine: &Machine) -> Reading<String> {
    Ok(cgroup::memory_limit(machine)?.map_or_else(|| "none".into(), bytes))
}

/// A pool of pages of one size.
pub(crate) struct Pool {
    pub(crate) page_bytes: u64,
    pub(crate) pages: u64,
    pub(crate) free: u64,
    /// Of the free ones: what somebody has mapped and not touched yet.
    pub(crate) promised: u64,
}

impl Pool {
    fn describe(&self) -> String {
        format!("{} x {} ({} free)", self.pages, bytes(self.page_bytes as f64), self.free)
    }
}

/// The pools of pages that are set aside, ascending by size.
///
/// # Source
/// The kernel's `Documentation/admin-guide/mm/hugetlbpage.rst`: one folder per size, and the
/// default size in `/proc/meminfo`, where there are no folders.
pub(crate) fn huge_page_pools(machine: &Machine) -> Reading<Vec<Pool>> {
    let mut pools = match machine.tree.list(HUGE_PAGES) {
        Ok(folders) => folders.iter().filter_map(|folder| pool(machine, folder)).collect(),
        Err(refused) if refused.obstacle == Obstacle::Permission => return Err(refused),
        Err(_) => Vec::from_iter(default_pool(machine)),
    };
    if pools.is_empty() {
        let why = "the kernel was built without huge pages, or hides them";
        return Err(no_file(machine, why, HUGE_PAGES));
    }
    pools.sort_by_key(|pool| pool.page_bytes);
    Ok(pools)
}

/// Pages that are set aside, by size.
fn huge_pages(machine: &Machine) -> Reading<String> {
    let pools = huge_page_pools(machine)?;
    let reserved: Vec<String> =
        pools.iter().filter(|pool| pool.pages > 0).map(Pool::describe).collect();
    if reserved.is_empty() {
        let sizes: Vec<String> = pools.iter().map(|pool| bytes(pool.page_bytes as f64)).collect();
        return Ok(format!("none reserved of {}", sizes.join(", ")));
    }
    Ok(reserved.join(", "))
}

/// `hugepages-2048kB`.
fn pool(machine: &Machine, folder: &str) -> Option<Pool> {
    let kibibytes = folder.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse::<u64>().ok()?;
    let pages = |file: &str| -> Option<u64> {
        machine.tree.read(&format!("{HUGE_PAGES}/{folder}/{file}")).ok()?.trim().parse().ok()
    };
    Some(Pool {
        page_bytes: kibibytes.checked_mul(1024)?,
        pages: pages("nr_hugepages")?,
        free: pages("free_hugepages")?,
        promised: pages("resv_hugepages").unwrap_or(0),
    })
}

fn default_pool(machine: &Machine) -> Option<Pool> {
    let meminfo = machine.tree.read(MEMINFO).ok()?;
    let pages = |key| value_of(&meminfo, key)?.parse::<u64>().ok();
    Some(Pool {
        page_bytes: meminfo_bytes(&meminfo, "Hugepagesize").ok()? as u64,
        pages: pages("HugePages_Total")?,
        free: pages("HugePages_Free")?,
        promised: pages("HugePages_Rsvd").unwrap_or(0),
    })
}
