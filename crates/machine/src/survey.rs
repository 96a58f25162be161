//! A machine under survey: what several facts need is read once.
//!
//! Nothing is kept between two surveys, so that what is read before and after a run may differ.

use std::cell::OnceCell;
use std::ops::Deref;

use model::record::Topology;

use crate::facts::{self, Policy};
use crate::ports::{Machine, Reading};

/// A machine, and what was read of it so far.
pub(crate) struct Survey<'a> {
    machine: &'a Machine,
    cpuinfo: OnceCell<Reading<String>>,
    topology: OnceCell<Topology>,
    policies: OnceCell<Vec<Policy>>,
}

impl<'a> Survey<'a> {
    pub(crate) fn new(machine: &'a Machine) -> Survey<'a> {
        Survey {
            machine,
            cpuinfo: OnceCell::new(),
            topology: OnceCell::new(),
            policies: OnceCell::new(),
        }
    }

    /// `/proc/cpuinfo`: some kernels interrupt every CPU to make it.
    pub(crate) fn cpuinfo(&self) -> Reading<&str> {
        let text = self.cpuinfo.get_or_init(|| self.machine.tree.read("/proc/cpuinfo"));
        text.as_deref().map_err(Clone::clone)
    }

    /// Who sits where.
    pub(crate) fn topology(&self) -> &Topology {
        self.topology.get_or_init(|| facts::topology_of(self))
    }

    /// The kernel's frequency policies, ascending by their first CPU.
    pub(crate) fn policies(&self) -> &[Policy] {
        self.policies.get_or_init(|| facts::policies(self))
    }
}

impl Deref for Survey<'_> {
    type Target = Machine;

    fn deref(&self) -> &Machine {
        self.machine
    }
}
