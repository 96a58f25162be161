//! Intel Speed Select as the driver of the kernel shows it: one device, and a structure per ioctl.
//!
//! [`sys::isst::structures`] are what the ioctls carry; [`MailboxQuestion`] is what older generations are asked. A
//! [`Message`] is one ioctl on its way. Only questions can be made outside of this folder, so that who was
//! handed an [`IsstDevice`] changes nothing; what changes is [`settable`], and takes a
//! [`Setter`](settable::Setter). What stands behind the device is the kernel's driver, a
//! simulated one, or registers that somebody has written down.

mod mailbox;
pub(crate) mod real;
mod recorded;
mod registers;
pub mod settable;

use model::{CpuId, Obstacle, Reading, Unavailable};
use serde::{Deserialize, Serialize};
use sys::isst::layout::Layout;
use sys::isst::structures::{
    BaseFreqInfo, ClosAssoc, ClosAssocHeader, ClosParam, CorePowerState, CpuMap, CpuMask,
    FabricInfo, InstanceCount, MailboxCommand, MmioCommand, MsrCommand, PerfLevelInfo, PerfLevels,
    PlatformInfo, TurboFreqInfo,
};

pub use self::mailbox::{AboutLevel, Half, HalfOfLevel, LicenceOfLevel, MailboxQuestion};
pub use self::recorded::RecordedIsst;
use crate::ports::{Isst, IsstDevice};
pub use crate::ports::{Message, Refusal};

/// Where the device is.
pub const DEVICE: &str = "/dev/isst_interface";

/// A power domain, as the newer generation addresses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DomainAddress {
    /// The package.
    pub package: u8,
    /// The power domain within it.
    pub domain: u8,
}

/// Questions, one ioctl each. Where several are asked at once, the answer may be shorter than the
/// question: the driver stops at the first one that fails, and says how many did not.
impl dyn IsstDevice + '_ {
    fn ask<T: Layout>(&self, number: u8, question: &T) -> Result<T, Refusal> {
        let mut message = Message::single(number, question);
        self.call(&mut message)?;
        Ok(T::from_bytes(&message.argument))
    }

    fn ask_all<T: Layout>(&self, number: u8, questions: &[T]) -> Result<Vec<T>, Refusal> {
        let mut message = Message::list(number, questions);
        let answered = self.call(&mut message)?;
        Ok(message.entries().take(answered as usize).collect())
    }

    /// What the driver is.
    pub fn platform(&self) -> Result<PlatformInfo, Refusal> {
        self.ask(0, &PlatformInfo::default())
    }

    /// The numbers of CPUs within the hardware.
    pub fn physical(&self, cpus: &[CpuId]) -> Result<Vec<u32>, Refusal> {
        let map = |cpu: &CpuId| CpuMap { logical: cpu.0, physical: 0 };
        let answers = self.ask_all(1, &cpus.iter().map(map).collect::<Vec<_>>())?;
        Ok(answers.into_iter().map(|answer| answer.physical).collect())
    }

    /// Registers in memory, each through a CPU of its package.
    pub fn mmio(&self, registers: &[(CpuId, u32)]) -> Result<Vec<u32>, Refusal> {
        let command = |&(cpu, register): &(CpuId, u32)| MmioCommand {
            write: 0,
            cpu: cpu.0,
            register,
            value: 0,
        };
        let answers = self.ask_all(2, &registers.iter().map(command).collect::<Vec<_>>())?;
        Ok(answers.into_iter().map(|answer| answer.value).collect())
    }

    /// Questions to mailboxes, each through a CPU of its package.
    pub fn mailbox(&self, questions: &[(CpuId, MailboxQuestion)]) -> Result<Vec<u32>, Refusal> {
        let command = |(cpu, question): &(CpuId, MailboxQuestion)| question.to(cpu.0);
        let answers: Vec<MailboxCommand> =
            self.ask_all(3, &questions.iter().map(command).collect::<Vec<_>>())?;
        Ok(answers.into_iter().map(|answer| answer.response).collect())
    }

    /// Model-specific registers.
    pub fn msr(&self, registers: &[(CpuId, u32)]) -> Result<Vec<u64>, Refusal> {
        let command = |&(cpu, register): &(CpuId, u32)| MsrCommand {
            write: 0,
            cpu: cpu.0,
            msr: register.into(),
            data: 0,
        };
        let answers = self.ask_all(4, &registers.iter().map(command).collect::<Vec<_>>())?;
        Ok(answers.into_iter().map(|answer| answer.data).collect())
    }

    /// The power domains of a package.
    pub fn instances(&self, package: u8) -> Result<InstanceCount, Refusal> {
        self.ask(5, &InstanceCount { socket: package, ..Default::default() })
    }

    /// Whether cores have priorities.
    pub fn core_power(&self, at: DomainAddress) -> Result<CorePowerState, Refusal> {
        let (socket, domain) = (at.package, at.domain);
        self.ask(6, &CorePowerState { socket, domain, ..Default::default() })
    }

    /// A class.
    pub fn class(&self, at: DomainAddress, clos: u8) -> Result<ClosParam, Refusal> {
        let (socket, domain) = (at.package, at.domain);
        self.ask(7, &ClosParam { socket, domain, clos, ..Default::default() })
    }

    /// The classes of cores. All of them, or none: this ioctl counts not how far it came.
    pub fn associations(&self, cores: &[(DomainAddress, u16)]) -> Result<Vec<u16>, Refusal> {
        let entry = |&(at, core): &(DomainAddress, u16)| ClosAssoc {
            socket: at.package,
            domain: at.domain,
            core,
            clos: 0,
        };
        let mut message = Message::list(8, &cores.iter().map(entry).collect::<Vec<_>>());
        let count = cores.len() as u16;
        ClosAssocHeader { count, set: 0, punit_cpu_map: 1 }.to_bytes(&mut message.argument);
        self.call(&mut message)?;
        Ok(message.entries::<ClosAssoc>().map(|entry| entry.clos).collect())
    }

    /// The performance levels of a power domain.
    pub fn levels(&self, at: DomainAddress) -> Result<PerfLevels, Refusal> {
        let (socket, domain) = (at.package, at.domain);
        self.ask(9, &PerfLevels { socket, domain, ..Default::default() })
    }

    /// A level.
    pub fn level(&self, at: DomainAddress, level: u8) -> Result<PerfLevelInfo, Refusal> {
        let (socket, domain, level) = (at.package, at.domain, level.into());
        self.ask(12, &PerfLevelInfo { socket, domain, level, ..Default::default() })
    }

    /// The cores that a level allows, a bit each.
    pub fn cores(&self, at: DomainAddress, level: u8) -> Result<u64, Refusal> {
        self.ask(13, &mask_of(at, level)).map(|answer| answer.mask)
    }

    /// Base frequencies of a level.
    pub fn base_freq(&self, at: DomainAddress, level: u8) -> Result<BaseFreqInfo, Refusal> {
        let (socket, domain, level) = (at.package, at.domain, level.into());
        self.ask(14, &BaseFreqInfo { socket, domain, level, ..Default::default() })
    }

    /// The cores with the higher one, a bit each.
    pub fn base_freq_cores(&self, at: DomainAddress, level: u8) -> Result<u64, Refusal> {
        self.ask(15, &mask_of(at, level)).map(|answer| answer.mask)
    }

    /// Turbo frequencies of a level.
    pub fn turbo_freq(&self, at: DomainAddress, level: u8) -> Result<TurboFreqInfo, Refusal> {
        let (socket, domain, level) = (at.package, at.domain, level.into());
        self.ask(16, &TurboFreqInfo { socket, domain, level, ..Default::default() })
    }

    /// The fabrics of a level; older drivers and hardware know but one, and refuse.
    pub fn fabrics(&self, at: DomainAddress, level: u8) -> Result<FabricInfo, Refusal> {
        let (socket, domain, level) = (at.package, at.domain, level.into());
        self.ask(17, &FabricInfo { socket, domain, level, ..Default::default() })
    }
}

fn mask_of(at: DomainAddress, level: u8) -> CpuMask {
    CpuMask { socket: at.package, domain: at.domain, level, punit_cpu_map: 1, mask: 0 }
}

/// A device that is not there, for this reason.
#[derive(Debug, Clone)]
pub struct NoIsst(pub Unavailable);

impl NoIsst {
    /// Of a recording that does not hold its answers.
    pub fn not_recorded(why: &str) -> NoIsst {
        NoIsst(Unavailable::new(Obstacle::Cpudyno, "Speed Select", why))
    }
}

impl Isst for NoIsst {
    fn open(&self) -> Reading<Box<dyn IsstDevice + '_>> {
        Err(self.0.clone())
    }
}
