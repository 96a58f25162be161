//! Room for memory and what it is made of: files in, bytes and words out.

use model::{Obstacle, Pages, Reading};
use simulated::Files;

use super::{machine_of, simulated};
use crate::memory::transparent_huge_pages;
use crate::memory::{Backing, Room, backing, free_huge_pages, room, room_on_node};
use crate::ports::Machine;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// 8 GiB available of 16, and these files.
fn machine(texts: &[(&str, &str)]) -> Machine {
    let mut files = Files::default();
    files.put(
        "/proc/meminfo",
        "MemTotal:       16777216 kB\nMemFree:         1048576 kB\nMemAvailable:    8388608 kB\n\
         CommitLimit:     8388608 kB\nCommitted_AS:    4194304 kB",
    );
    for (path, text) in texts {
        files.put(*path, *text);
    }
    machine_of(files, "0")
}

fn base(texts: &[(&str, &str)]) -> (u64, String) {
    let room = room(&machine(texts), Pages::Base).unwrap();
    (room.bytes, room.limited_by)
}

#[test]
fn a_machine_without_limits_has_what_is_available() {
    let room = room(&machine(&[]), Pages::Transparent).unwrap();
    assert_eq!(room.bytes, 8 * GIB);
    assert_eq!(room.limited_by, "available memory of the machine");
    assert_eq!(room.reserve, 8 * GIB / 20);
    assert_eq!(room.usable(), 8 * GIB - 8 * GIB / 20);
}

#[test]
fn the_reserve_is_never_small_and_never_more_than_there_is() {
    let of = |kibibytes: u64| {
        let text = format!("MemAvailable: {kibibytes} kB");
        room(&machine(&[("/proc/meminfo", &text)]), Pages::Base).unwrap()
    };
    assert_eq!(of(100 * KIB).usable(), 36 * MIB);
    assert_eq!(of(64 * KIB).usable(), 0);
    assert_eq!(of(1).usable(), 0);
}

#[test]
fn kernels_that_estimate_nothing_have_what_is_free() {
    let old = [("/proc/meminfo", "MemTotal: 16777216 kB\nMemFree: 1048576 kB")];
    assert_eq!(base(&old), (GIB, "free memory of the machine".into()));
    let none = machine(&[("/proc/meminfo", "MemTotal: 16777216 kB")]);
    assert!(room(&none, Pages::Base).unwrap_err().why.contains("no line `MemFree`"));
    let nonsense = machine(&[("/proc/meminfo", "MemAvailable: -5 kB")]);
    assert!(room(&nonsense, Pages::Base).is_err());
}

#[test]
fn what_no_node_has_is_not_available() {
    let node = |node: u32| format!("/sys/devices/system/node/node{node}/meminfo");
    let (first, second) = (node(0), node(1));
    let of = |here: &str, there: &str| base(&[(&first, here), (&second, there)]).0;
    let half = "Node 0 MemTotal:  8388608 kB\nNode 0 MemFree: 5 kB";
    assert_eq!(of(half, "Node 1 MemTotal:  8388608 kB"), 8 * GIB);
    assert_eq!(of(half, "Node 1 MemTotal:  5242880 kB"), 5 * GIB, "a balloon holds 3 GiB");
    assert_eq!(of(half, "Node 1 MemTotal: 99999999 kB"), 8 * GIB);
    assert_eq!(of(half, ""), 8 * GIB, "one of them does not say it");
}

#[test]
fn groups_of_version_2_leave_what_they_and_those_above_do_not_use() {
    let (own, above) = ("/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a");
    let file = |folder: &str, name: &str| format!("{folder}/{name}");
    let (max, current, stat) =
        (file(own, "memory.max"), file(own, "memory.current"), file(own, "memory.stat"));
    let (high, above_max, above_current) =
        (file(own, "memory.high"), file(above, "memory.max"), file(above, "memory.current"));
    let group = ("/proc/self/cgroup", "0::/a/b");
    let mut texts = vec![group, (&max, "max"), (&current, "1073741824")];
    assert_eq!(base(&texts).0, 8 * GIB, "no limit");

    texts[1] = (&max, "3221225472");
    assert_eq!(base(&texts), (2 * GIB, "`memory.max` of its control group".into()));
    texts.push((&stat, "anon 5\ninactive_file 536870912\nactive_file 7"));
    assert_eq!(base(&texts).0, 2 * GIB + 512 * MIB, "files that nobody used are dropped");

    texts.push((&high, "2147483648"));
    assert_eq!(base(&texts), (GIB + 512 * MIB, "`memory.high` of its control group".into()));

    texts.extend([(above_max.as_str(), "1073741824"), (&above_current, "1073741000")]);
    assert_eq!(base(&texts), (824, "`memory.max` of the control group above its own".into()));
    texts.push((&above_current, "2073741824"));
    assert_eq!(base(&texts).0, 0, "more than is allowed is in use");
}

#[test]
fn groups_of_version_1_leave_what_they_do_not_use() {
    let mounts = "31 23 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory";
    let folder = "/sys/fs/cgroup/memory/x";
    let (limit, usage, stat) = (
        format!("{folder}/memory.limit_in_bytes"),
        format!("{folder}/memory.usage_in_bytes"),
        format!("{folder}/memory.stat"),
    );
    let groups = [("/proc/self/mountinfo", mounts), ("/proc/self/cgroup", "4:memory:/x\n0::/")];
    let of = |limited: &str, stated: &str| {
        let own = [(limit.as_str(), limited), (&usage, "1073741824"), (&stat, stated)];
        base(&[groups.as_slice(), &own].concat())
    };
    let words = "`memory.limit_in_bytes` of its control group";
    let stated = "inactive_file 1\ntotal_inactive_file 1048576";
    assert_eq!(of("2147483648", stated), (GIB + MIB, words.into()));
    assert_eq!(of("2147483648", ""), (GIB, words.into()));
    assert_eq!(of("9223372036854771712", stated).0, 8 * GIB);
}

#[test]
fn a_limit_whose_use_is_unknown_is_no_room() {
    let texts = [("/proc/self/cgroup", "0::/a"), ("/sys/fs/cgroup/a/memory.max", "1073741824")];
    let why = room(&machine(&texts), Pages::Base).unwrap_err().why;
    assert!(why.contains("/sys/fs/cgroup/a/memory.current"), "{why}");
}

#[test]
fn limits_of_the_process_and_of_promises_count() {
    let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                  Max data size             unlimited            unlimited            bytes     \n\
                  Max address space         2147483648           unlimited            bytes     ";
    let status = ("/proc/self/status", "VmSize:\t 1048576 kB\nVmData:\t    1024 kB");
    let of = |limits: &str| base(&[("/proc/self/limits", limits), status]);
    assert_eq!(of(limits), (GIB, "address space of the process (`ulimit -v`)".into()));
    assert_eq!(of("Max data size 2097152 2097152 bytes").0, MIB);
    assert_eq!(of("Max address space unlimited unlimited bytes").0, 8 * GIB);
    assert_eq!(base(&[("/proc/sys/vm/overcommit_memory", "2")]).0, 4 * GIB);
    assert_eq!(base(&[("/proc/sys/vm/overcommit_memory", "0")]).0, 8 * GIB);
}

#[test]
fn pages_that_are_set_aside_are_neither_used_nor_promised() {
    let folder = "/sys/kernel/mm/hugepages/hugepages-2048kB";
    let of = |reserved: &str, free: &str, promised: &str| -> Reading<Room> {
        let file = |name: &str| format!("{folder}/{name}");
        let (all, left, taken) =
            (file("nr_hugepages"), file("free_hugepages"), file("resv_hugepages"));
        room(&machine(&[(&all, reserved), (&left, free), (&taken, promised)]), Pages::Huge2M)
    };
    let room = of("512", "100", "20").unwrap();
    assert_eq!((room.bytes, room.usable()), (80 * 2 * MIB, 80 * 2 * MIB));
    assert_eq!(room.limited_by, "free reserved pages of 2 MiB of the machine");
    let used = of("512", "20", "20").unwrap_err();
    assert_eq!(used.why, "all 512 pages of 2048 KiB are in use");
    let none = of("0", "0", "0").unwrap_err();
    assert_eq!(
        (none.obstacle, none.why.as_str()),
        (Obstacle::Permission, "no pages of 2048 KiB are set aside")
    );
    assert!(none.remedy.unwrap().contains("hugepages-2048kB/nr_hugepages"));
    let other = free_huge_pages(&machine(&[]), GIB).unwrap_err();
    assert_eq!(other.obstacle, Obstacle::Hardware);
}

#[test]
fn groups_limit_pages_that_are_set_aside() {
    let pool = "/sys/kernel/mm/hugepages/hugepages-2048kB";
    let (all, free) = (format!("{pool}/nr_hugepages"), format!("{pool}/free_hugepages"));
    let of = |group: &str, files: &[(&str, &str)]| {
        let pool = [("/proc/self/cgroup", group), (&all, "64"), (&free, "64")];
        room(&machine(&[pool.as_slice(), files].concat()), Pages::Huge2M)
    };
    let limited = |files: &[(&str, &str)]| {
        let room = of("0::/pod/a", files).unwrap();
        (room.usable() / MIB, room.limited_by)
    };
    let max = ("/sys/fs/cgroup/pod/hugetlb.2MB.max", "4194304");
    let current = ("/sys/fs/cgroup/pod/hugetlb.2MB.current", "2097152");
    let above = "`hugetlb.2MB.max` of the control group above its own".to_owned();
    assert_eq!(limited(&[max, current]), (2, above.clone()));
    // What may be mapped is limited apart from what may be touched; Kubernetes allows none of either.
    let mapped = [
        ("/sys/fs/cgroup/pod/a/hugetlb.2MB.rsvd.max", "0"),
        ("/sys/fs/cgroup/pod/a/hugetlb.2MB.rsvd.current", "0"),
    ];
    let own = "`hugetlb.2MB.rsvd.max` of its control group".to_owned();
    assert_eq!(limited(&[[max, current], mapped].concat()), (0, own));
    let gigantic = [
        ("/sys/fs/cgroup/pod/a/hugetlb.1GB.max", "0"),
        ("/sys/fs/cgroup/pod/a/hugetlb.1GB.current", "0"),
    ];
    assert_eq!(limited(&[[max, current], gigantic].concat()), (2, above));
    let none = ("/sys/fs/cgroup/pod/hugetlb.2MB.max", "max");
    assert_eq!(limited(&[none]), (128, "free reserved pages of 2 MiB of the machine".to_owned()));
    let unknown = of("0::/pod/a", &[max]).unwrap_err().why;
    assert!(unknown.contains("hugetlb.2MB.current"), "{unknown}");
    let folder = "/sys/fs/cgroup/hugetlb/x";
    let limit = format!("{folder}/hugetlb.2MB.limit_in_bytes");
    let usage = format!("{folder}/hugetlb.2MB.usage_in_bytes");
    let version1 = [(limit.as_str(), "8388608"), (&usage, "2097152")];
    assert_eq!(of("7:hugetlb:/x", &version1).unwrap().usable(), 6 * MIB);
}

#[test]
fn a_node_has_what_is_free_on_it() {
    let meminfo = "Node 1 MemTotal:        4194304 kB\nNode 1 MemFree:         2097152 kB\n\
                   Node 1 Inactive(file):    1024 kB";
    let huge = "/sys/devices/system/node/node1/hugepages/hugepages-2048kB/free_hugepages";
    let pool = "/sys/kernel/mm/hugepages/hugepages-2048kB";
    let (all, free) = (format!("{pool}/nr_hugepages"), format!("{pool}/free_hugepages"));
    let machine = machine(&[
        ("/sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 12582912 kB"),
        ("/sys/devices/system/node/node1/meminfo", meminfo),
        (huge, "3"),
        (&all, "9"),
        (&free, "5"),
    ]);
    let room = room_on_node(&machine, Pages::Base, 1).unwrap();
    assert_eq!((room.bytes, room.limited_by.as_str()), (2 * GIB + MIB, "free memory of node 1"));
    let huge = room_on_node(&machine, Pages::Huge2M, 1).unwrap();
    assert_eq!(huge.bytes, 6 * MIB);
    assert_eq!(huge.limited_by, "free reserved pages of 2 MiB of node 1");
    assert!(room_on_node(&machine, Pages::Base, 2).is_err());
}

#[test]
fn simulated_machines_and_this_one_have_room() {
    let machine = simulated("2s-56c");
    let memory = machine.simulated.as_ref().unwrap().caches.memory_bytes;
    assert_eq!(room(&machine, Pages::Base).unwrap().bytes, memory);
    assert_eq!(room_on_node(&machine, Pages::Base, 1).unwrap().bytes, memory / 2);

    let real = Machine::real();
    let meminfo = real.tree.read("/proc/meminfo").unwrap();
    let total = crate::parse::value_of(&meminfo, "MemTotal").unwrap();
    let total = crate::parse::whole_number("", total).unwrap() * KIB;
    let left = room(&real, Pages::Base).unwrap();
    assert!((1..=total).contains(&left.bytes), "{left:?} of {total}");
}

/// What memory of this process is made of, once it was written.
fn made_of(bytes: usize, pages: Pages) -> (u64, Backing) {
    let mut mapping = sys::memory::Mapping::new(bytes, pages).unwrap();
    mapping.integers_mut().fill(1);
    let range = mapping.address()..mapping.address() + mapping.bytes();
    (mapping.bytes() as u64, backing(&Machine::real(), &range).unwrap())
}

#[test]
fn base_pages_are_no_huge_ones() {
    let (bytes, backing) = made_of(8 << 20, Pages::Base);
    assert_eq!(backing.resident(), bytes, "{backing}");
    assert_eq!(backing.share_of(Pages::Base), Some(1.0), "{backing}");
    let page = backing.parts[0].page_bytes;
    assert_eq!(page, Some(sys::memory::base_page_bytes() as u64));
}

#[test]
fn transparent_pages_are_what_the_kernel_says() {
    let reason = transparent_huge_pages(&Machine::real());
    if sys::memory::Mapping::new(1, Pages::Transparent).is_err() {
        assert!(reason.is_err(), "a kernel without them says so: {reason:?}");
        return;
    }
    let (bytes, backing) = made_of(8 << 20, Pages::Transparent);
    assert_eq!(backing.resident(), bytes, "{backing}");
    let huge = backing.share_of(Pages::Transparent).unwrap();
    // Memory may be too scattered for huge pages; but there are none where they are off.
    assert!(reason.is_ok() || huge == 0.0, "{backing}, but {reason:?}");
}

#[test]
fn memory_that_nobody_touched_is_not_there() {
    let mapping = sys::memory::Mapping::new(1 << 20, Pages::Base).unwrap();
    let range = mapping.address()..mapping.address() + mapping.bytes();
    let backing = backing(&Machine::real(), &range).unwrap();
    assert_eq!(backing.share_of(Pages::Base), None, "{backing}");
}

#[test]
fn why_there_are_no_transparent_huge_pages() {
    let mode = "/sys/kernel/mm/transparent_hugepage/enabled";
    let of = |texts: &[(&str, &str)]| transparent_huge_pages(&machine(texts));
    assert_eq!(of(&[(mode, "always [madvise] never")]).as_deref(), Ok("madvise"));
    let off = of(&[(mode, "always madvise [never]")]).unwrap_err();
    assert_eq!(off.what, "transparent huge pages");
    assert!(off.remedy.unwrap().contains("echo madvise"));
    assert!(of(&[]).unwrap_err().why.contains("was built without"));
    let process = ("/proc/self/status", "THP_enabled:\t0");
    let off = of(&[(mode, "[always] madvise never"), process]).unwrap_err();
    assert!(off.why.contains("PR_SET_THP_DISABLE"), "{off:?}");
}
