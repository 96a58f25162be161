//! A machine under survey: what several facts need is read once.
//!
//! Nothing is kept between two surveys, so that what is read before and after a run may differ.

use std::cell::OnceCell;
use std::ops::Deref;

use firmware::MemoryTable;
use model::record::{IdleState, MemoryChannel, Topology, TurboLimit};
use model::{Finding, Obstacle, Reading};

use crate::facts::{
    self, Architecture, Claimed, Cpuinfo, Edac, Ground, HighestLevels, IdleSwitches, Policies,
};
use crate::ports::Machine;

/// A machine, and what was read of it so far.
pub(crate) struct Survey<'a> {
    machine: &'a Machine,
    cpuinfo: OnceCell<Reading<Cpuinfo>>,
    topology: OnceCell<(Topology, Vec<Finding>)>,
    policies: OnceCell<Policies>,
    claimed_clocks: OnceCell<Claimed>,
    turbo_limits: OnceCell<Reading<Vec<TurboLimit>>>,
    idle_states: OnceCell<Reading<Vec<IdleState>>>,
    highest_levels: OnceCell<Reading<HighestLevels>>,
    idle_switches: OnceCell<IdleSwitches>,
    ground: OnceCell<Ground>,
    drivers: OnceCell<Reading<String>>,
    memory_table: OnceCell<Reading<MemoryTable>>,
    memory_channels: OnceCell<Reading<Vec<MemoryChannel>>>,
    edac: OnceCell<Reading<Edac>>,
}

impl<'a> Survey<'a> {
    pub(crate) fn new(machine: &'a Machine) -> Survey<'a> {
        Survey {
            machine,
            cpuinfo: OnceCell::new(),
            topology: OnceCell::new(),
            policies: OnceCell::new(),
            claimed_clocks: OnceCell::new(),
            turbo_limits: OnceCell::new(),
            idle_states: OnceCell::new(),
            highest_levels: OnceCell::new(),
            idle_switches: OnceCell::new(),
            ground: OnceCell::new(),
            drivers: OnceCell::new(),
            memory_table: OnceCell::new(),
            memory_channels: OnceCell::new(),
            edac: OnceCell::new(),
        }
    }

    /// `/proc/cpuinfo`: some kernels interrupt every CPU to make it.
    pub(crate) fn cpuinfo(&self) -> Reading<&Cpuinfo> {
        let read = || Ok(Cpuinfo::parse(&self.machine.tree.read("/proc/cpuinfo")?));
        self.cpuinfo.get_or_init(read).as_ref().map_err(Clone::clone)
    }

    /// The architecture of the CPUs, where CPUID or `/proc/cpuinfo` shows it.
    pub(crate) fn architecture(&self) -> Option<Architecture> {
        if self.machine.cpuid.leaf(0, 0).is_some() {
            return Some(Architecture::X86);
        }
        self.cpuinfo().ok()?.architecture()
    }

    /// Whether a hypervisor is known to be below, and keeps the machine; an absence of signs is no
    /// proof.
    pub(crate) fn is_guest(&self) -> bool {
        self.ground() != Ground::Machine
    }

    /// Whether the kernel shows its devices at all: where not, that is why a file is missing, and no
    /// option of the kernel.
    pub(crate) fn sysfs(&self) -> Reading<()> {
        match self.machine.tree.list("/sys/devices") {
            Err(reason) if reason.obstacle == Obstacle::Permission => Err(reason),
            _ => Ok(()),
        }
    }

    /// What the kernel runs on.
    pub(crate) fn ground(&self) -> Ground {
        *self.ground.get_or_init(|| facts::ground(self))
    }

    /// Who sits where.
    pub(crate) fn topology(&self) -> &Topology {
        &self.topology.get_or_init(|| facts::topology_of(self)).0
    }

    /// Where the files that say it contradict each other.
    pub(crate) fn disputed_places(&self) -> &[Finding] {
        &self.topology.get_or_init(|| facts::topology_of(self)).1
    }

    /// The kernel's frequency policies.
    pub(crate) fn policies(&self) -> &Policies {
        self.policies.get_or_init(|| facts::policies(self))
    }

    /// The highest clock of each CPU that the kernel claims, as far as nothing refutes it.
    pub(crate) fn claimed_clocks(&self) -> &Claimed {
        self.claimed_clocks.get_or_init(|| facts::claimed(self))
    }

    /// The highest frequencies by number of active cores.
    pub(crate) fn turbo_limits(&self) -> Reading<&[TurboLimit]> {
        let limits = self.turbo_limits.get_or_init(|| facts::turbo_limits(self));
        limits.as_deref().map_err(Clone::clone)
    }

    /// The idle states of all CPUs, the shallowest first.
    pub(crate) fn idle_states(&self) -> Reading<&[IdleState]> {
        let states = self.idle_states.get_or_init(|| facts::idle_states(self));
        states.as_deref().map_err(Clone::clone)
    }

    /// Who switched which idle states off: a file for each state and CPU.
    pub(crate) fn idle_switches(&self) -> &IdleSwitches {
        self.idle_switches.get_or_init(|| facts::idle_switches(self))
    }

    /// The frequency drivers of all policies, folded.
    pub(crate) fn frequency_drivers(&self) -> Reading<String> {
        self.drivers.get_or_init(|| facts::frequency::drivers(self)).clone()
    }

    /// What SMBIOS says of this machine's slots.
    pub(crate) fn memory_table(&self) -> Reading<&MemoryTable> {
        let table = self.memory_table.get_or_init(|| facts::memory_table(self));
        table.as_ref().map_err(Clone::clone)
    }

    /// Channels of memory.
    pub(crate) fn memory_channels(&self) -> Reading<&[MemoryChannel]> {
        let channels = self.memory_channels.get_or_init(|| facts::memory_channels(self));
        channels.as_deref().map_err(Clone::clone)
    }

    /// What EDAC drivers say of filled slots.
    pub(crate) fn edac(&self) -> Reading<&Edac> {
        self.edac.get_or_init(|| facts::edac(self)).as_ref().map_err(Clone::clone)
    }

    /// The highest performance level of every online CPU, as firmware states it.
    pub(crate) fn highest_levels(&self) -> Reading<&HighestLevels> {
        let levels = self.highest_levels.get_or_init(|| facts::highest_levels(self));
        levels.as_ref().map_err(Clone::clone)
    }
}

impl Deref for Survey<'_> {
    type Target = Machine;

    fn deref(&self) -> &Machine {
        self.machine
    }
}
