//! Speed Select of a machine that was recorded: registers of power domains, and those of CPUs, which say where
//! they are.
//!
//! # Source
//! Linux, drivers/platform/x86/intel/speed_select_if/isst_if_common.c: the number of a CPU within the hardware is the
//! lower half of `MSR_PM_LOGICAL_ID` (54h); Documentation/ABI/testing/debugfs-tpmi: who is shown registers.

use std::sync::Arc;

use model::{CpuId, Obstacle, Reading, Unavailable};
use simulated::tpmi::{self, COMMANDS_MAX};
use sys::errno::{EINVAL, ENOTTY};
use sys::isst::layout::Layout;
use sys::isst::structures::{CpuMap, MsrCommand, PlatformInfo};

use super::registers::TpmiRegisters;
use super::{Message, Refusal};
use crate::ports::{Isst, IsstDevice, Msr, Tree};

/// What helps where something was not recorded.
pub(super) const CAPTURE_AS_ROOT: &str =
    "capture it as root on the machine itself: `sudo cpudyno capture FILE`";

/// Which power domain, module and thread a CPU is.
const PM_LOGICAL_ID: u32 = 0x54;

/// What answers as the driver of such a machine would, but takes nothing.
pub struct RecordedIsst {
    tree: Box<dyn Tree + Send + Sync>,
    msr: Arc<dyn Msr>,
}

impl RecordedIsst {
    /// That of these files and registers, which are read when it is opened.
    pub fn new(tree: impl Tree + Send + Sync + 'static, msr: Arc<dyn Msr>) -> RecordedIsst {
        RecordedIsst { tree: Box::new(tree), msr }
    }
}

impl Isst for RecordedIsst {
    fn open(&self) -> Reading<Box<dyn IsstDevice + '_>> {
        let registers = TpmiRegisters::read(&*self.tree)?;
        Ok(Box::new(OpenRecording { registers, msr: &*self.msr }))
    }
}

struct OpenRecording<'a> {
    registers: TpmiRegisters,
    msr: &'a dyn Msr,
}

impl OpenRecording<'_> {
    /// Each entry by a register of its CPU, up to the first that is not known: the driver stops there, too.
    fn each<T: Layout>(
        message: &mut Message,
        answer: impl Fn(T) -> Result<T, Refusal>,
    ) -> Result<u32, Refusal> {
        let header = message.request().header_bytes;
        let mut done = 0;
        for entry in message.argument()[header..].chunks_exact_mut(T::BYTES) {
            match answer(T::from_bytes(entry)) {
                Ok(answered) => answered.to_bytes(entry),
                Err(refusal) if done == 0 => return Err(refusal),
                Err(_) => break,
            }
            done += 1;
        }
        Ok(done)
    }

    fn place(&self, of: CpuMap) -> Result<CpuMap, Refusal> {
        let place = self.msr.read(CpuId(of.logical), PM_LOGICAL_ID).map_err(|_| {
            not_recorded(
                "register 54h, which says in which power domain a CPU is, was not recorded",
            )
        })?;
        Ok(CpuMap { physical: place as u32, ..of })
    }

    fn register(&self, of: MsrCommand) -> Result<MsrCommand, Refusal> {
        let number = u32::try_from(of.msr).ok().filter(|_| of.write == 0);
        let number = number.ok_or(Refusal::Errno(EINVAL))?;
        let data = self.msr.read(CpuId(of.cpu), number);
        let data =
            data.map_err(|_| not_recorded(&format!("register {number:x}h was not recorded")))?;
        Ok(MsrCommand { data, ..of })
    }
}

fn not_recorded(why: &str) -> Refusal {
    let reason = Unavailable::new(Obstacle::Cpudyno, "Speed Select", why);
    Refusal::Unavailable(reason.with_remedy(CAPTURE_AS_ROOT))
}

impl IsstDevice for OpenRecording<'_> {
    fn call(&self, message: &mut Message) -> Result<u32, Refusal> {
        match message.request().number {
            // No version of a driver: there is none.
            0 => {
                let commands_max = COMMANDS_MAX as u16;
                let info = PlatformInfo { api_version: 3, commands_max, ..Default::default() };
                info.to_bytes(message.argument());
                Ok(0)
            }
            1 => Self::each(message, |it| self.place(it)),
            2 | 3 => Err(Refusal::Errno(ENOTTY)),
            4 => Self::each(message, |it| self.register(it)),
            number => {
                tpmi::call(&self.registers, number, message.argument()).map_err(Refusal::Errno)
            }
        }
    }
}
