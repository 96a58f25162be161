//! What memory is made of, as the kernel says once it is there.

use std::fmt;
use std::ops::Range;

use model::{Obstacle, Pages, Reading, Unavailable};

use crate::doctor;
use crate::facts::fact_cache::Survey;
use crate::parse::{bytes, value_of, whole_number};
use crate::ports::Machine;

const SMAPS: &str = "/proc/self/smaps";

/// The pages behind a range of addresses: what of it is there, by kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Backing {
    /// The largest part first; what nobody touched is in none.
    pub parts: Vec<BackingPart>,
}

/// Memory in pages of one kind and size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackingPart {
    /// How the pages came about.
    pub kind: BackingKind,
    /// Bytes of a page; `None` of transparent ones, where the kernel is too old to say it.
    pub page_bytes: Option<u64>,
    /// Bytes of memory in such pages.
    pub bytes: u64,
}

/// How pages came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BackingKind {
    /// Base pages. Where the kernel joins a few of them into a larger one that is no huge page, it
    /// counts them here.
    Base,
    /// The kernel made huge pages of them.
    Transparent,
    /// They were set aside.
    Reserved,
}

impl Backing {
    /// Bytes that are there.
    pub fn resident(&self) -> u64 {
        self.parts.iter().fold(0, |sum, part| sum.saturating_add(part.bytes))
    }

    /// How much of what is there came in these pages, from 0 to 1; `None`: nothing is there.
    pub fn share_of(&self, pages: Pages) -> Option<f64> {
        let is_meant = |part: &&BackingPart| match pages {
            Pages::Base => part.kind == BackingKind::Base,
            Pages::Transparent => part.kind == BackingKind::Transparent,
            Pages::Huge2M | Pages::Huge1G => {
                part.kind == BackingKind::Reserved && part.page_bytes == pages.reserved_bytes()
            }
        };
        let meant: u64 = self.parts.iter().filter(is_meant).map(|part| part.bytes).sum();
        let resident = self.resident();
        (resident > 0).then(|| meant as f64 / resident as f64)
    }

    fn add(&mut self, kind: BackingKind, page_bytes: Option<u64>, bytes: u64) {
        let like = |part: &&mut BackingPart| (part.kind, part.page_bytes) == (kind, page_bytes);
        match self.parts.iter_mut().find(like) {
            Some(part) => part.bytes = part.bytes.saturating_add(bytes),
            None if bytes > 0 => self.parts.push(BackingPart { kind, page_bytes, bytes }),
            None => {}
        }
    }
}

/// `2 MiB pages (transparent), 98 %; 4 KiB pages, 2 %`
impl fmt::Display for Backing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let resident = self.resident() as f64;
        if self.parts.is_empty() {
            return f.write_str("no pages yet");
        }
        for (index, part) in self.parts.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            let size = part.page_bytes.map_or("huge".into(), |size| bytes(size as f64));
            let kind = match part.kind {
                BackingKind::Base => "",
                BackingKind::Transparent => " (transparent)",
                BackingKind::Reserved => " (reserved)",
            };
            let percent = share_words(part.bytes as f64 / resident);
            write!(f, "{separator}{size} pages{kind}, {percent} %")?;
        }
        Ok(())
    }
}

/// Whole percent; what is not quite all or not quite nothing is not called so.
fn share_words(share: f64) -> String {
    match share * 100.0 {
        percent if percent > 99.0 && percent < 100.0 => ">99".into(),
        percent if percent < 1.0 => "<1".into(),
        percent => format!("{percent:.0}"),
    }
}

/// The pages behind a range of addresses of this process.
///
/// The kernel counts by mapping: one that lies in the range in part counts as a whole.
///
/// # Source
/// proc_pid_smaps(5); the kernel's `Documentation/filesystems/proc.rst`.
pub fn backing(machine: &Machine, range: &Range<usize>) -> Reading<Backing> {
    let huge = "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size";
    let huge = machine.tree.read(huge).ok().and_then(|text| whole_number(huge, &text).ok());
    parse(&machine.tree.read(SMAPS)?, range, huge)
}

/// A mapping in smaps: a line of addresses, and the lines after it.
struct SmapsEntry<'a> {
    addresses: Range<usize>,
    lines: Vec<&'a str>,
}

impl SmapsEntry<'_> {
    fn bytes(&self, key: &str) -> Option<u64> {
        let size = self.lines.iter().find_map(|line| value_of(line, key))?;
        whole_number(SMAPS, size).ok()?.checked_mul(1024)
    }

    fn needed(&self, key: &str) -> Reading<u64> {
        self.bytes(key).ok_or_else(|| {
            let why = format!("`{SMAPS}` has no line `{key}` with a size");
            unknown(Obstacle::Permission, why)
        })
    }
}

fn unknown(obstacle: Obstacle, why: String) -> Unavailable {
    Unavailable::new(obstacle, "pages behind memory", why)
}

/// `7f5e00000000-7f5e00200000 rw-p 00000000 00:00 0`
fn addresses(line: &str) -> Option<Range<usize>> {
    let (start, end) = line.split(' ').next()?.split_once('-')?;
    let number = |text| usize::from_str_radix(text, 16).ok();
    Some(number(start)?..number(end)?)
}

fn entries(smaps: &str) -> Vec<SmapsEntry<'_>> {
    let mut entries: Vec<SmapsEntry<'_>> = Vec::new();
    for line in smaps.lines() {
        if let Some(addresses) = addresses(line) {
            entries.push(SmapsEntry { addresses, lines: Vec::new() });
        } else if let Some(entry) = entries.last_mut() {
            entry.lines.push(line);
        }
    }
    entries
}

fn parse(smaps: &str, range: &Range<usize>, huge_bytes: Option<u64>) -> Reading<Backing> {
    let mut backing = Backing::default();
    let mut found = false;
    for entry in entries(smaps) {
        if entry.addresses.end <= range.start || range.end <= entry.addresses.start {
            continue;
        }
        found = true;
        let page_bytes = Some(entry.needed("KernelPageSize")?);
        let resident = entry.needed("Rss")?;
        let transparent = entry.needed("AnonHugePages")?.min(resident);
        // Reserved pages are no part of the resident ones.
        let reserved = ["Private_Hugetlb", "Shared_Hugetlb"].map(|key| entry.bytes(key));
        let reserved = reserved.into_iter().flatten().fold(0, u64::saturating_add);
        backing.add(BackingKind::Base, page_bytes, resident - transparent);
        backing.add(BackingKind::Transparent, huge_bytes, transparent);
        backing.add(BackingKind::Reserved, page_bytes, reserved);
    }
    if !found {
        let why = format!("`{SMAPS}` has no mapping at {:#x}-{:#x}", range.start, range.end);
        return Err(unknown(Obstacle::Cpudyno, why));
    }
    backing.parts.sort_by_key(|part| std::cmp::Reverse(part.bytes));
    Ok(backing)
}

/// Whether the kernel makes huge pages where it is asked to: its setting (`always`, `madvise`), or
/// why it makes none.
///
/// # Source
/// The kernel's `Documentation/admin-guide/mm/transhuge.rst`; prctl(2), `PR_SET_THP_DISABLE`.
pub fn transparent_huge_pages(machine: &Machine) -> Reading<String> {
    let what = "transparent huge pages";
    let mode = doctor::transparent_huge_pages(&Survey::new(machine)).map_err(|mut reason| {
        reason.what = what.into();
        reason
    })?;
    let status = machine.tree.read("/proc/self/status").unwrap_or_default();
    if value_of(&status, "THP_enabled") == Some("0") {
        let why =
            "the program that started this process switched them off for it (PR_SET_THP_DISABLE)";
        return Err(Unavailable::new(Obstacle::Permission, what, why));
    }
    Ok(mode)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mapping as the kernel writes it, sizes in KiB: its pages, Rss, AnonHugePages, Private_Hugetlb.
    fn entry(addresses: &str, [page, rss, huge, reserved]: [u64; 4]) -> String {
        format!(
            "{addresses} rw-p 00000000 00:00 0 \n\
             Size:              16384 kB\nKernelPageSize:    {page:>8} kB\n\
             MMUPageSize:       {page:>8} kB\nRss:               {rss:>8} kB\n\
             Pss:               {rss:>8} kB\nAnonymous:         {rss:>8} kB\n\
             AnonHugePages:     {huge:>8} kB\nShared_Hugetlb:           0 kB\n\
             Private_Hugetlb:   {reserved:>8} kB\nTHPeligible:    1\nVmFlags: rd wr mr mw me ac sd hg\n"
        )
    }

    const HUGE: Option<u64> = Some(2 << 20);

    fn say(smaps: &str, range: Range<usize>) -> String {
        parse(smaps, &range, HUGE).map_or_else(|reason| reason.why, |backing| backing.to_string())
    }

    #[test]
    fn huge_pages_are_told_from_base_pages() {
        let smaps = entry("7f5e00000000-7f5e01000000", [4, 16384, 14336, 0]);
        let range = 0x7f5e_0000_0000..0x7f5e_0100_0000;
        let backing = parse(&smaps, &range, HUGE).unwrap();
        assert_eq!(backing.to_string(), "2 MiB pages (transparent), 88 %; 4 KiB pages, 12 %");
        assert_eq!(backing.resident(), 16 << 20);
        assert_eq!(backing.share_of(Pages::Transparent), Some(0.875));
        assert_eq!(backing.share_of(Pages::Base), Some(0.125));
        assert_eq!(backing.share_of(Pages::Huge2M), Some(0.0));
        let old = parse(&smaps, &range, None).unwrap();
        assert_eq!(old.to_string(), "huge pages (transparent), 88 %; 4 KiB pages, 12 %");
    }

    #[test]
    fn reserved_pages_are_no_resident_ones() {
        let smaps = entry("10000000-20000000", [2048, 0, 0, 16384]);
        let backing = parse(&smaps, &(0x1000_0000..0x2000_0000), HUGE).unwrap();
        assert_eq!(backing.to_string(), "2 MiB pages (reserved), 100 %");
        assert_eq!(backing.share_of(Pages::Huge2M), Some(1.0));
        assert_eq!(backing.share_of(Pages::Huge1G), Some(0.0));
        assert_eq!(backing.share_of(Pages::Transparent), Some(0.0));
    }

    #[test]
    fn mappings_in_the_range_are_summed_and_others_left_out() {
        let smaps = entry("1000-3000", [4, 8, 0, 0])
            + &entry("3000-5000", [4, 8, 0, 0])
            + &entry("5000-7000", [64, 128, 0, 0])
            + &entry("9000-a000", [4, 999, 0, 0]);
        assert_eq!(parse(&smaps, &(0x2fff..0x5000), HUGE).unwrap().resident(), 16 << 10);
        assert_eq!(say(&smaps, 0x3000..0x6000), "64 KiB pages, 94 %; 4 KiB pages, 6 %");
        assert_eq!(
            say(&smaps, 0x7000..0x9000),
            "`/proc/self/smaps` has no mapping at 0x7000-0x9000"
        );
    }

    #[test]
    fn nearly_all_is_not_all() {
        let smaps = entry("1000-2000", [4, 16384, 16380, 0]);
        let words = say(&smaps, 0x1000..0x2000);
        assert_eq!(words, "2 MiB pages (transparent), >99 %; 4 KiB pages, <1 %");
    }

    #[test]
    fn untouched_memory_is_in_no_pages() {
        let smaps = entry("1000-2000", [4, 0, 0, 0]);
        let backing = parse(&smaps, &(0x1000..0x2000), HUGE).unwrap();
        assert_eq!(backing.to_string(), "no pages yet");
        assert_eq!(backing.share_of(Pages::Base), None);
    }

    #[test]
    fn what_the_kernel_leaves_out_is_a_reason() {
        for key in ["KernelPageSize", "Rss", "AnonHugePages"] {
            let smaps = entry("1000-2000", [4, 8, 0, 0]).replace(&format!("{key}:"), "Other:");
            assert_eq!(
                say(&smaps, 0x1000..0x2000),
                format!("`/proc/self/smaps` has no line `{key}` with a size")
            );
        }
        assert!(say("", 0..1).contains("no mapping"));
        assert!(say("-\n-1-2\nzz-1 x\n\n", 0..1).contains("no mapping"));
        assert!(say("0-1000 rw-p", 0..1).contains("no line"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_is_too_strange(
            text in "(([0-9a-f]{1,17}-[0-9a-f]{1,17} x?|KernelPageSize: 4 kB|Rss: [0-9]{1,21} kB|\
                AnonHugePages: [0-9]{1,21} kB|Private_Hugetlb: [0-9]{1,21} kB|\\PC{0,9})\n){0,20}",
        ) {
            if let Ok(backing) = parse(&text, &(0..usize::MAX), HUGE) {
                let _ = backing.to_string();
            }
        }
    }
}
