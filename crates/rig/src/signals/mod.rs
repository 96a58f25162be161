//! Ways in which one thread signals another: one row each.

mod condvar;
mod eventfd;
mod futex;
mod pipe;
mod signal;
mod socketpair;
mod spin;
mod spin_futex;
mod watched;

use std::io;
use std::sync::atomic::AtomicU32;

use machine::Machine;
use model::name::did_you_mean;
use model::{Obstacle, Unavailable};

use crate::exchange::{Channel, Side};

/// A way to signal.
pub struct Method {
    /// Its id.
    pub id: &'static str,
    /// What it is, for users.
    pub doc: &'static str,
    /// What a thread does until it is signalled.
    pub waits: Waits,
    /// An instruction that it needs.
    pub needs: Option<Needs>,
    /// Makes one.
    pub open: fn() -> io::Result<Box<dyn Channel>>,
}

/// What a thread does until it is signalled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    /// It lets the kernel have the CPU.
    Sleeping,
    /// It keeps the CPU.
    Polling,
    /// It keeps the CPU for a while, and then lets the kernel have it.
    Both,
}

impl Waits {
    /// The word in tables.
    pub const fn word(self) -> &'static str {
        match self {
            Waits::Sleeping => model::areas::wake::SLEEPS,
            Waits::Polling => "spins",
            Waits::Both => "spins, then sleeps",
        }
    }
}

/// Instructions that not every CPU has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// UMONITOR, UMWAIT, TPAUSE.
    WaitPkg,
    /// MONITORX, MWAITX.
    MonitorX,
}

impl Needs {
    const fn name(self) -> &'static str {
        match self {
            Needs::WaitPkg => "waitpkg",
            Needs::MonitorX => "monitorx",
        }
    }

    /// # Source
    /// Intel SDM volume 2A and AMD64 APM volume 3, CPUID.
    fn is_announced(self, machine: &Machine) -> bool {
        let (leaf, bit) = match self {
            Needs::WaitPkg => (7, 5),
            Needs::MonitorX => (0x8000_0001, 29),
        };
        machine.cpuid.leaf(leaf, 0).is_some_and(|leaf| leaf.ecx >> bit & 1 == 1)
    }
}

/// All of them, those that sleep first.
pub static TABLE: &[&Method] = &[
    &futex::FUTEX,
    &condvar::CONDVAR,
    &eventfd::EVENTFD,
    &pipe::PIPE,
    &socketpair::SOCKETPAIR,
    &signal::SIGNAL,
    &spin_futex::SPIN_FUTEX,
    &spin::SPIN,
    &watched::SPIN_PAUSE,
    &watched::TPAUSE,
    &watched::UMWAIT,
    &watched::MWAITX,
];

/// The one of that id.
pub fn find(id: &str) -> Option<&'static Method> {
    TABLE.iter().copied().find(|method| method.id == id)
}

/// The known id that is most like this word.
pub fn near(word: &str) -> Option<&'static str> {
    did_you_mean(word, TABLE.iter().map(|method| method.id))
}

impl Method {
    /// Its place in the table.
    pub fn order(&self) -> usize {
        TABLE.iter().position(|method| method.id == self.id).unwrap_or(TABLE.len())
    }

    /// Why this machine has none.
    pub fn missing(&self, machine: &Machine) -> Option<Unavailable> {
        if let Some(model) = &machine.simulated {
            let why = format!("sim:{} has no cost for it", model.name);
            let known = model.signals.contains_key(self.id);
            return (!known).then(|| Unavailable::new(Obstacle::Hardware, self.id, why));
        }
        let lacks = self.needs.filter(|needs| !needs.is_announced(machine))?;
        let why = format!("the CPU lacks {}, or its hypervisor hides it", lacks.name());
        Some(Unavailable::new(Obstacle::Hardware, self.id, why))
    }
}

/// A word in a cache line of its own (two, because the adjacent line may be fetched with it).
#[repr(align(128))]
#[derive(Default)]
struct Word(AtomicU32);

/// One for each side to wait at.
#[derive(Default)]
struct Words([Word; 2]);

impl Words {
    /// Where that side waits.
    #[inline(always)]
    fn of(&self, side: Side) -> &AtomicU32 {
        match side {
            Side::First => &self.0[0].0,
            Side::Second => &self.0[1].0,
        }
    }
}

/// Reads all of these bytes, which as a rule is one call.
#[inline(always)]
fn read_whole(mut from: impl io::Read, bytes: &mut [u8]) -> io::Result<()> {
    match from.read(bytes) {
        Ok(count) if count == bytes.len() => Ok(()),
        Ok(count) => from.read_exact(&mut bytes[count..]),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => from.read_exact(bytes),
        Err(error) => Err(error),
    }
}

/// Writes all of these bytes, which as a rule is one call.
#[inline(always)]
fn write_whole(mut to: impl io::Write, bytes: &[u8]) -> io::Result<()> {
    match to.write(bytes) {
        Ok(count) if count == bytes.len() => Ok(()),
        Ok(count) => to.write_all(&bytes[count..]),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => to.write_all(bytes),
        Err(error) => Err(error),
    }
}

/// Either of two, by side.
#[inline(always)]
fn of<T>(pair: &[T; 2], side: Side) -> &T {
    match side {
        Side::First => &pair[0],
        Side::Second => &pair[1],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_distinct() {
        let mut ids: Vec<&str> = TABLE.iter().map(|method| method.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), TABLE.len());
        assert!(TABLE.iter().all(|method| method.doc.ends_with('.')));
    }
}
