//! What the kernel does with memory.
//!
//! # Source
//! Linux, Documentation/admin-guide/mm/{transhuge,hugetlbpage}.rst,
//! Documentation/admin-guide/sysctl/kernel.rst.

use super::{Lever, LeverPlace, Proof, Scope, Values, honoured};

pub(super) static LEVERS: &[Lever] = &[
    Lever {
        id: "thp",
        doc: "Where the kernel uses huge pages by itself.",
        scope: Scope::Machine,
        place: LeverPlace::File("/sys/kernel/mm/transparent_hugepage/enabled"),
        values: Values::Bracketed,
        rule: honoured,
        followers: &[],
        proof: Proof::HugePages,
        loses: None,
        moves_power: false,
    },
    Lever {
        id: "thp_defrag",
        doc: "Whether the kernel makes room for huge pages when a page is first touched.",
        scope: Scope::Machine,
        place: LeverPlace::File("/sys/kernel/mm/transparent_hugepage/defrag"),
        values: Values::Bracketed,
        rule: honoured,
        followers: &[],
        proof: Proof::Unobservable("it shows only where memory is fragmented"),
        loses: None,
        moves_power: false,
    },
    Lever {
        id: "huge_pages",
        doc: "How many huge pages of the default size are set aside.",
        scope: Scope::Machine,
        place: LeverPlace::File("/proc/sys/vm/nr_hugepages"),
        values: Values::Number { min: 0, max: 1 << 30, unit: "" },
        rule: honoured,
        // Where they are is decided anew.
        followers: &[
            "/sys/devices/system/node/node{node}/hugepages/hugepages-{huge}kB/nr_hugepages",
        ],
        proof: Proof::Unobservable(
            "reading it back counts them: the kernel sets aside what it can",
        ),
        loses: None,
        moves_power: false,
    },
    Lever {
        id: "numa_balancing",
        doc: "Whether the kernel moves pages to the node that uses them.",
        scope: Scope::Machine,
        place: LeverPlace::File("/proc/sys/kernel/numa_balancing"),
        values: Values::Number { min: 0, max: 3, unit: "" },
        rule: honoured,
        followers: &[],
        proof: Proof::Unobservable("its effect takes minutes of a program on several nodes"),
        loses: None,
        moves_power: false,
    },
];
