//! The two generations of the interface: one file and one row each.
//!
//! A row says which interfaces it serves, which power domains there are, and how they are asked.

mod mailbox;
mod tpmi;

use machine::Machine;
use model::{CpuId, Obstacle, Reading, Unavailable};
use sys::isst::structures::PlatformInfo;

use crate::model::{Domain, Profiles};
use crate::processor::Processor;
use crate::query::Asker;
use crate::read::{Levels, Part, Wanted};
use crate::topology::Topology;

/// A generation.
pub struct Backend {
    /// What it is called.
    pub name: &'static str,
    /// What it is.
    pub doc: &'static str,
    /// Whether it serves what the driver says of itself.
    pub matches: fn(&PlatformInfo) -> bool,
    /// The power domains, from the places of CPUs that are online.
    pub(crate) domains: fn(&Context<'_>, &Topology, &[Reading<u32>]) -> FoundDomains,
    /// Asks them.
    pub(crate) fill: fn(&Context<'_>, &mut [Domain]),
}

/// All generations.
pub const TABLE: &[Backend] = &[mailbox::ROW, tpmi::ROW];

/// The newest interface that is known.
const NEWEST: u16 = 3;

/// What every question needs.
pub(crate) struct Context<'a> {
    pub(crate) asker: &'a Asker<'a>,
    pub(crate) platform: PlatformInfo,
    pub(crate) processor: Option<Processor>,
    pub(crate) wanted: &'a Wanted,
    pub(crate) machine: &'a Machine,
    /// Whether a CPU is off.
    pub(crate) has_sleepers: bool,
}

impl Context<'_> {
    /// The cores of a power domain none of whose CPUs is online, where their classes are asked for.
    fn asleep(&self, domain: &Domain) -> Vec<u32> {
        let is_asked = self.has_sleepers && self.wanted.has(Part::Sleeping);
        let asleep = domain.asleep().filter(|_| is_asked);
        asleep.map_or_else(Vec::new, |it| (0..u64::BITS).filter(|n| it.contains(*n)).collect())
    }
}

/// Which power domains there are.
#[derive(Default)]
pub(crate) struct FoundDomains {
    /// Those of which it is known.
    pub(crate) domains: Vec<Domain>,
    /// Why others are not.
    pub(crate) missing: Vec<Unavailable>,
    /// CPUs that are online and in none of them, each with the reason.
    pub(crate) lost: Vec<(CpuId, Unavailable)>,
}

/// The number of a CPU within the hardware, as the driver knows it.
pub(crate) fn physical(reading: &Reading<u32>) -> Reading<u32> {
    let number = reading.clone()?;
    // All ones: nobody could read it.
    if number == u32::MAX {
        let why = "the driver could not read the registers that say where they are";
        return Err(Unavailable::new(Obstacle::Permission, "place of CPUs", why));
    }
    Ok(number)
}

/// The power domain in such a number, of the newer generation.
pub(crate) fn domain_number(physical: u32) -> u32 {
    physical >> 11 & 0x1f
}

/// Why classes need not be asked for: the power domain has no priorities.
pub(crate) fn no_priorities(what: &str) -> Unavailable {
    let why = "cores of this power domain have no priorities (core-power is not supported)";
    Unavailable::new(Obstacle::Hardware, what, why)
}

/// The generation that a driver belongs to.
pub(crate) fn of(platform: PlatformInfo) -> Reading<&'static Backend> {
    if let Some(backend) = TABLE.iter().find(|backend| (backend.matches)(&platform)) {
        return Ok(backend);
    }
    let version = platform.api_version;
    Err(if version > NEWEST {
        let why = format!(
            "the driver's interface {version} is newer than what this version knows, 1 to {NEWEST}"
        );
        Unavailable::new(Obstacle::Cpudyno, "Speed Select", why)
    } else {
        let why = "the driver is there, and no part of it has found its hardware (interface 0)";
        Unavailable::new(Obstacle::Permission, "Speed Select", why).with_remedy(
            "`sudo modprobe -a isst_if_mbox_pci isst_if_mbox_msr isst_if_mmio isst_tpmi`; where all of \
             them answer `No such device`, this CPU has none, or its firmware hides it",
        )
    })
}

/// Which of the levels that there are shall be asked for.
fn chosen(levels: Levels, profiles: &Profiles) -> Vec<u8> {
    profiles
        .numbers()
        .filter(|number| match levels {
            Levels::None | Levels::Summary => false,
            Levels::All => true,
            Levels::Current => *number == profiles.current,
            Levels::Only(level) => *number == level,
        })
        .collect()
}
