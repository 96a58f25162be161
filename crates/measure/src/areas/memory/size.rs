//! How large arrays and rings are.

use machine::memory::{Room, room, room_on_node, set_aside};
pub(super) use model::areas::memory::{caches, rule};
use model::{CpuId, Obstacle, Pages, Unavailable};

use crate::run::Error;
use crate::run::plan::Planning;
use rig::executor::STACK_BYTES;
use rig::traffic::Store;

/// The length of each array, over all threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// In elements of 8 bytes.
    Elements(u64),
    /// In bytes.
    Bytes(u64),
}

impl Length {
    /// More than any machine has.
    pub const ELEMENTS_MAX: u64 = (1 << 50) / 8;

    /// Whole elements.
    pub fn elements(self) -> u64 {
        match self {
            Length::Elements(elements) => elements,
            Length::Bytes(bytes) => bytes / 8,
        }
    }
}

/// What larger than this is certainly not in any cache of that CPU, and every base page of it misses.
pub(super) fn beyond_caches(plan: &Planning<'_>, cpu: CpuId) -> u64 {
    2 * caches(plan.topology(), &[cpu])
}

/// Memory that there is room for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fit {
    /// The part of what was wanted that there is room for: 1, or less.
    pub(super) share: f64,
    /// What there is too little of, where it is less.
    pub(super) limit: Option<Limit>,
}

/// Less room than was wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Limit {
    /// What limits it, in words.
    pub(super) by: String,
    /// Bytes that were wanted of it.
    pub(super) wanted: u64,
    /// Bytes that there are.
    pub(super) usable: u64,
}

/// What part of these stores there is room for, where they may take that part of what is free;
/// `stores` says what they are for each part of what is wanted. Pages count as a whole.
pub(super) fn fit(
    plan: &Planning<'_>,
    part: f64,
    stores: impl Fn(f64) -> Vec<Store>,
) -> Result<Fit, Unavailable> {
    let wanted = stores(1.0);
    let pools = pools(plan, part, &wanted)?;
    let scarcest = |stores: &[Store]| {
        let limits = pools.iter().map(|pool| pool.limit(stores)).filter(Limit::is_exceeded);
        limits.max_by(|a, b| a.excess().total_cmp(&b.excess()))
    };
    let Some(limit) = scarcest(&wanted) else {
        return Ok(Fit { share: 1.0, limit: None });
    };
    if let Some(Limit { by, wanted, usable }) = scarcest(&stores(0.0)) {
        let why = format!(
            "{} KiB are needed at least, in whole pages, and there is room for {} KiB ({by})",
            wanted >> 10,
            usable >> 10
        );
        return Err(Unavailable::new(Obstacle::Measurement, "memory", why));
    }
    Ok(Fit { share: largest(|share| scarcest(&stores(share)).is_none()), limit: Some(limit) })
}

/// The largest share for which it holds, where it holds for 0 and not for 1.
fn largest(holds: impl Fn(f64) -> bool) -> f64 {
    const HALVINGS: i32 = 45;
    let mut share = 0.0;
    for halving in 1..=HALVINGS {
        let more = share + 0.5f64.powi(halving);
        if holds(more) {
            share = more;
        }
    }
    share
}

/// Memory that some stores come from: that of the machine, or of a node.
struct Pool {
    pages: Pages,
    node: Option<u32>,
    /// Bytes that may be taken.
    usable: u64,
    limited_by: String,
}

/// The pools of all stores.
fn pools(plan: &Planning<'_>, part: f64, stores: &[Store]) -> Result<Vec<Pool>, Unavailable> {
    let mut pools: Vec<Pool> = Vec::new();
    for store in stores {
        for node in [None, store.node] {
            let is_known =
                |pool: &Pool| pool.node == node && pool.page_bytes() == page_bytes(store.pages);
            if pools.iter().any(is_known) {
                continue;
            }
            let room = match node {
                None => room(plan.machine, store.pages),
                Some(node) => room_on_node(plan.machine, store.pages, node),
            };
            let room = match (room, &plan.machine.elsewhere) {
                (Ok(room), _) => room,
                // A capture says little of free memory, and nothing is touched there.
                (Err(_), Some(_)) => continue,
                (Err(reason), None) => return Err(pages_needed(reason, store.pages, stores)),
            };
            let threads = plan.placement.cpus.len() as u64;
            let stacks = if room.of_addresses { threads * STACK_BYTES as u64 } else { 0 };
            let usable = (room.usable().saturating_sub(stacks) as f64 * part) as u64;
            let Room { limited_by, .. } = room;
            pools.push(Pool { pages: store.pages, node, usable, limited_by });
        }
    }
    Ok(pools)
}

/// A reason with the number of pages that would have to be set aside, where that helps.
fn pages_needed(reason: Unavailable, pages: Pages, stores: &[Store]) -> Unavailable {
    let (Some(bytes), Some(_)) = (pages.reserved_bytes(), &reason.remedy) else { return reason };
    let of_kind = stores.iter().filter(|store| store.pages == pages);
    let needed = of_kind.map(|store| store.bytes.div_ceil(bytes)).fold(0, u64::saturating_add);
    reason.with_remedy(set_aside(bytes, needed))
}

/// What memory comes in as a whole: reserved pages, or parts that may become one huge page.
fn page_bytes(pages: Pages) -> u64 {
    pages.reserved_bytes().unwrap_or(2 << 20)
}

impl Pool {
    fn page_bytes(&self) -> u64 {
        page_bytes(self.pages)
    }

    /// What these stores want of it.
    fn limit(&self, stores: &[Store]) -> Limit {
        let is_ours = |store: &&Store| {
            page_bytes(store.pages) == self.page_bytes()
                && (self.node.is_none() || self.node == store.node)
        };
        let bytes = |store: &Store| store.bytes.next_multiple_of(self.page_bytes());
        let wanted = stores.iter().filter(is_ours).map(bytes).fold(0, u64::saturating_add);
        Limit { by: self.limited_by.clone(), wanted, usable: self.usable }
    }
}

impl Limit {
    /// The refusal of these arrays, with what helps.
    pub(super) fn refuse(&self, arrays: &str, remedy: String) -> Error {
        let why = format!(
            "{arrays} need {} MiB in all, and there is room for {} MiB ({})",
            self.wanted >> 20,
            self.usable >> 20,
            self.by
        );
        let reason = Unavailable::new(Obstacle::Measurement, "memory of that size", why);
        Error::Asked(reason.with_remedy(remedy))
    }

    fn is_exceeded(&self) -> bool {
        self.wanted > self.usable
    }

    fn excess(&self) -> f64 {
        self.wanted as f64 / self.usable.max(1) as f64
    }
}
