//! How much memory this process may still use without anybody being killed for it.

use model::{Obstacle, Pages, Reading, Unavailable};

use crate::facts::cgroup;
use crate::facts::{self, HUGE_PAGES, MEMINFO};
use crate::parse::{value_of, whole_number};
use crate::ports::Machine;

const NODE: &str = "/sys/devices/system/node";

/// Memory that this process may still use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Room {
    /// What is left under the tightest limit, in bytes.
    pub bytes: u64,
    /// What of it should stay free, in bytes.
    pub reserve: u64,
    /// The tightest limit, in words: `available memory of the machine`.
    pub limited_by: String,
    /// Whether addresses are what is limited: then stacks of threads count that nobody touches.
    pub of_addresses: bool,
}

impl Room {
    /// At least this much stays free, and a twentieth of what is left: whoever takes the last page
    /// has the kernel kill somebody, its estimate of what is available is no better, and page
    /// tables and stacks grow with what is used.
    pub const RESERVE_BYTES_MIN: u64 = 64 << 20;

    fn new(bytes: u64, limited_by: impl Into<String>) -> Room {
        let reserve = (bytes / 20).max(Room::RESERVE_BYTES_MIN);
        Room { bytes, reserve, limited_by: limited_by.into(), of_addresses: false }
    }

    /// Pages that are set aside are for whoever asks first, and asking for too many is refused: no
    /// reserve is needed.
    fn set_aside(bytes: u64, limited_by: String) -> Room {
        Room { bytes, reserve: 0, limited_by, of_addresses: false }
    }

    /// How many bytes may be touched.
    pub fn usable(&self) -> u64 {
        self.bytes.saturating_sub(self.reserve)
    }
}

/// How much memory in such pages this process may still use: the least of what the machine has
/// left and of what each limit leaves.
///
/// # Source
/// proc_meminfo(5), proc_pid_limits(5), getrlimit(2); the kernel's
/// `Documentation/admin-guide/cgroup-v2.rst`, `cgroup-v1/memory.rst`, `mm/hugetlbpage.rst` and
/// `Documentation/mm/overcommit-accounting.rst`.
pub fn room(machine: &Machine, pages: Pages) -> Reading<Room> {
    if let Some(page_bytes) = pages.reserved_bytes() {
        let free = free_huge_pages(machine, page_bytes)?;
        let limited_by = format!("free {} of the machine", pages.title());
        let free = Room::set_aside(free.saturating_mul(page_bytes), limited_by);
        let groups = cgroup::huge_pages_left(machine, page_bytes)?.into_iter();
        return Ok(groups
            .map(|left| Room::set_aside(left.bytes, left.limited_by))
            .fold(free, tighter_of));
    }
    let groups = cgroup::memory_left(machine)?;
    let groups = groups.into_iter().map(|left| Room::new(left.bytes, left.limited_by));
    let process = PROCESS_LIMITS.iter().filter_map(|limit| left_to_process(machine, limit));
    let tighter = groups.chain(left_to_commit(machine)).chain(process);
    Ok(tighter.fold(available(machine)?, tighter_of))
}

/// As [`room`], for memory that is bound to one node.
pub fn room_on_node(machine: &Machine, pages: Pages, node: u32) -> Reading<Room> {
    let folder = format!("{NODE}/node{node}");
    if let Some(page_bytes) = pages.reserved_bytes() {
        let path = format!("{folder}/hugepages/{}/free_hugepages", folder_of(page_bytes));
        let free = whole_number(&path, &machine.tree.read(&path)?)?;
        let limited_by = format!("free {} of node {node}", pages.title());
        let on_node = Room::set_aside(free.saturating_mul(page_bytes), limited_by);
        return Ok(tighter_of(room(machine, pages)?, on_node));
    }
    let path = format!("{folder}/meminfo");
    let meminfo = machine.tree.read(&path)?;
    // `Node 0 MemFree:  123 kB`
    let prefix = format!("Node {node} ");
    let lines = meminfo.lines().map(|line| line.strip_prefix(&prefix).unwrap_or(line));
    let meminfo = lines.collect::<Vec<_>>().join("\n");
    let free = kibibytes(&path, &meminfo, "MemFree")?;
    // Pages of files that nobody used for a while are as good as free.
    let reclaimable = kibibytes(&path, &meminfo, "Inactive(file)").unwrap_or(0);
    let on_node =
        Room::new(free.saturating_add(reclaimable), format!("free memory of node {node}"));
    Ok(tighter_of(room(machine, pages)?, on_node))
}

fn tighter_of(a: Room, b: Room) -> Room {
    if b.bytes < a.bytes { b } else { a }
}

/// A line `key:  123 kB`, in bytes.
fn kibibytes(path: &str, text: &str, key: &str) -> Reading<u64> {
    let value = value_of(text, key).ok_or_else(|| {
        let why = format!("`{path}` has no line `{key}`");
        Unavailable::new(Obstacle::Hardware, format!("`{path}`"), why)
    })?;
    Ok(whole_number(path, value)?.saturating_mul(1024))
}

/// What the kernel could hand out without swapping; where it is too old to estimate that, what
/// nobody uses.
///
/// Guests were seen that count what their balloon holds as available (MemTotal 23.5 GiB), although
/// their nodes do not have it (14.5 GiB): it is not, before the host gives it back.
fn available(machine: &Machine) -> Reading<Room> {
    let meminfo = machine.tree.read(MEMINFO)?;
    let bytes = |key| kibibytes(MEMINFO, &meminfo, key);
    let total = bytes("MemTotal").ok();
    let elsewhere = total.zip(total_of_nodes(machine)).map(|(all, here)| all.saturating_sub(here));
    let room = |bytes: u64, words| Room::new(bytes.saturating_sub(elsewhere.unwrap_or(0)), words);
    bytes("MemAvailable")
        .map(|bytes| room(bytes, "available memory of the machine"))
        .or_else(|_| Ok(room(bytes("MemFree")?, "free memory of the machine")))
}

/// The memory of all nodes; `None` where they do not all say it.
fn total_of_nodes(machine: &Machine) -> Option<u64> {
    let names = machine.tree.list(NODE).ok()?;
    let is_node = |name: &&String| {
        name.strip_prefix("node").is_some_and(|number| number.parse::<u32>().is_ok())
    };
    let mut nodes = names.iter().filter(is_node).peekable();
    nodes.peek()?;
    nodes.try_fold(0_u64, |sum, name| {
        let meminfo = machine.tree.read(&format!("{NODE}/{name}/meminfo")).ok()?;
        let total = meminfo.lines().find_map(|line| line.split_once("MemTotal:"))?.1;
        sum.checked_add(whole_number("", total).ok()?.checked_mul(1024)?)
    })
}

/// What may still be promised, where the kernel promises no more than it has.
fn left_to_commit(machine: &Machine) -> Option<Room> {
    let never_more = machine.tree.read("/proc/sys/vm/overcommit_memory").ok()?.trim() == "2";
    let meminfo = machine.tree.read(MEMINFO).ok().filter(|_| never_more)?;
    let bytes = |key| kibibytes(MEMINFO, &meminfo, key).ok();
    let left = bytes("CommitLimit")?.saturating_sub(bytes("Committed_AS")?);
    Some(Room::new(left, "commit limit (`vm.overcommit_memory=2`)"))
}

/// A limit of the process.
struct ProcessLimit {
    /// Its line in `/proc/self/limits`.
    limit: &'static str,
    /// The line of `/proc/self/status` that says what of it is used.
    used: &'static str,
    words: &'static str,
}

const PROCESS_LIMITS: &[ProcessLimit] = &[
    ProcessLimit {
        limit: "Max address space",
        used: "VmSize",
        words: "address space of the process (`ulimit -v`)",
    },
    ProcessLimit {
        limit: "Max data size",
        used: "VmData",
        words: "data of the process (`ulimit -d`)",
    },
];

/// What a limit leaves; `None` where it is `unlimited`.
fn left_to_process(machine: &Machine, limit: &ProcessLimit) -> Option<Room> {
    let limits = machine.tree.read("/proc/self/limits").ok()?;
    let bytes = whole_number("", value_of(&limits, limit.limit)?).ok()?;
    let status = machine.tree.read("/proc/self/status").ok()?;
    let used = kibibytes("", &status, limit.used).ok()?;
    let room = Room::new(bytes.saturating_sub(used), limit.words);
    Some(Room { of_addresses: true, ..room })
}

fn folder_of(page_bytes: u64) -> String {
    format!("hugepages-{}kB", page_bytes / 1024)
}

/// How many pages of this size are set aside, and neither used nor promised to anybody.
pub fn free_huge_pages(machine: &Machine, page_bytes: u64) -> Reading<u64> {
    let pools = facts::huge_page_pools(machine)?;
    let pool = pools.iter().find(|pool| pool.page_bytes == page_bytes).ok_or_else(|| {
        let why = format!("CPU and kernel have no pages of {} KiB", page_bytes / 1024);
        Unavailable::new(Obstacle::Hardware, "reserved huge pages", why)
    })?;
    let free = pool.free.saturating_sub(pool.promised);
    if free > 0 {
        return Ok(free);
    }
    let why = match pool.pages {
        0 => format!("no pages of {} KiB are set aside", page_bytes / 1024),
        pages => format!("all {pages} pages of {} KiB are in use", page_bytes / 1024),
    };
    let refused = Unavailable::new(Obstacle::Permission, "reserved huge pages", why);
    Err(refused.with_remedy(set_aside_pages("N", page_bytes)))
}

/// The command that sets so many pages of this size aside.
pub fn set_aside(page_bytes: u64, pages: u64) -> String {
    set_aside_pages(&pages.to_string(), page_bytes)
}

fn set_aside_pages(pages: &str, page_bytes: u64) -> String {
    format!("`echo {pages} | sudo tee {HUGE_PAGES}/{}/nr_hugepages`", folder_of(page_bytes))
}
