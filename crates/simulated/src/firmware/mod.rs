//! Speed Select of a simulated machine: the firmware, and the driver in front of it.
//!
//! The firmware is a model with a state. It enforces the rules of the real one (a locked level stays, a
//! new level switches its features off, what a level does not support cannot be switched on), and what is
//! set stays in the state of the machine. The driver takes the same bytes as the kernel's, so that who
//! intercepts the ioctls of a program can serve it, too.

mod mailbox;
mod state;
#[cfg(test)]
mod tests;
mod tpmi;

use model::CpuId;
use sys::errno::{EACCES, EBUSY, EINTR, EINVAL, EIO, ENOENT, ENOTTY, ENXIO, EPERM, ETIMEDOUT};
use sys::isst::Request;
use sys::isst::layout::Layout;
use sys::isst::structures::{CpuMap, MailboxCommand, MmioCommand, MsrCommand, PlatformInfo};

pub(crate) use self::state::Firmware;
use crate::description::Model;
pub use crate::description::speed_select::{BaseFreq, Level, SpeedSelect, TurboFreq};
use crate::faults::Fault;
pub use crate::faults::{FirmwareFault, Harm};
pub use crate::state::Held;
use crate::state::{At, FirmwareItem};
use crate::tpmi::{COMMANDS_MAX, call};

/// The driver of a simulated machine.
pub struct SimulatedIsst(Model);

/// Processors that have no registers in memory: their classes are behind the mailbox.
const WITHOUT_MMIO: u32 = 0x55;
/// Ice Lake: fewer cores than its successors.
const ICE_LAKE: [u32; 2] = [0x6a, 0x6c];

/// Registers that may be asked for: turbo limits, level control, the CPU's place.
const MSRS: &[u64] = &[0x1ad, 0x1ae, 0x1af, 0x64b, 0x54];

fn code(harm: Harm) -> i32 {
    match harm {
        Harm::Busy => EBUSY,
        Harm::TimesOut => ETIMEDOUT,
        Harm::Interrupted => EINTR,
        Harm::Refused => ENXIO,
        Harm::NotPermitted => EPERM,
        // Of a call that sets nothing, it is a failure like any other.
        Harm::IoError | Harm::DoesNotStick => EIO,
    }
}

impl SimulatedIsst {
    /// That of a machine.
    pub fn new(model: &Model) -> SimulatedIsst {
        SimulatedIsst(model.clone())
    }

    /// The machine that it is of.
    pub fn model(&self) -> &Model {
        &self.0
    }

    /// Whether the device can be opened; else the error number.
    pub fn opens(&self) -> Result<(), i32> {
        match &self.0.speed_select {
            None => Err(ENOENT),
            Some(_) if self.0.has(Fault::PlainUser) => Err(EACCES),
            Some(_) => Ok(()),
        }
    }

    /// One ioctl: what it returns, or its error number. The argument is as long as the request says.
    pub fn call(&self, request: Request, argument: &mut [u8]) -> Result<u32, i32> {
        let firmware = Firmware::of(&self.0).ok_or(ENOTTY)?;
        let older = firmware.is.interface == 1;
        match request.number {
            0 => {
                firmware.platform().to_bytes(argument);
                Ok(0)
            }
            1 => batch(request, argument, |map| firmware.map(map)),
            2 if older && firmware.has_mmio() => {
                batch(request, argument, |command| firmware.mmio(command))
            }
            3 if older => batch(request, argument, |command| firmware.command(command)),
            4 if firmware.is.interface > 0 => {
                batch(request, argument, |command| firmware.msr(command))
            }
            5.. if firmware.is.interface > 1 => call(&firmware, request.number, argument),
            _ => Err(ENOTTY),
        }
    }
}

/// Each entry in turn, up to the first that fails: then the count of those before it, or its error.
fn batch<T: Layout>(
    request: Request,
    argument: &mut [u8],
    mut each: impl FnMut(&mut T) -> Result<(), i32>,
) -> Result<u32, i32> {
    let entries = argument.len().saturating_sub(request.header_bytes) / request.entry_bytes;
    let fits = request.bytes(argument).is_some_and(|bytes| bytes <= argument.len());
    if !fits || !(1..=COMMANDS_MAX).contains(&entries) {
        return Err(EINVAL);
    }
    let mut done = 0;
    for entry in argument[request.header_bytes..].chunks_exact_mut(request.entry_bytes) {
        let mut content = T::from_bytes(entry);
        match each(&mut content) {
            Ok(()) => content.to_bytes(entry),
            Err(code) if done == 0 => return Err(code),
            Err(_) => break,
        }
        done += 1;
    }
    Ok(done)
}

impl Firmware<'_> {
    fn platform(&self) -> PlatformInfo {
        let older = self.is.interface == 1;
        PlatformInfo {
            api_version: self.is.interface,
            driver_version: 1,
            commands_max: COMMANDS_MAX as u16,
            mailbox: older.into(),
            mmio: (older && self.has_mmio()).into(),
        }
    }

    fn has_mmio(&self) -> bool {
        self.model.identity.model != WITHOUT_MMIO
    }

    /// A CPU that was never online is not known, which the driver says as zero.
    fn map(&self, map: &mut CpuMap) -> Result<(), i32> {
        self.harmed("map")?;
        let cpu = CpuId(map.logical);
        let physical = self.physical(cpu).ok_or(EINVAL)?;
        let known = !self.model.topology.offline.contains(cpu) || self.model.is_online(cpu);
        map.physical = if known { physical } else { 0 };
        Ok(())
    }

    /// Whether what this call sets is kept, or its error number, where it goes wrong.
    fn harmed(&self, call: &str) -> Result<bool, i32> {
        match self.is.harm(call) {
            None => Ok(true),
            Some(Harm::DoesNotStick) => Ok(false),
            Some(harm) => Err(code(harm)),
        }
    }

    /// The driver finds the way to the hardware when a CPU comes online; of processors whose way is a
    /// register, it must be online still.
    fn domain_of(&self, cpu: u32) -> Result<At, i32> {
        let cpu = CpuId(cpu);
        let was_never_online = self.model.topology.offline.contains(cpu);
        let online = self.model.is_online(cpu);
        let place = self.place(cpu).filter(|_| online || !was_never_online).ok_or(EINVAL)?;
        if !online && !self.has_mmio() {
            return Err(ENXIO);
        }
        Ok((place.package, place.domain))
    }

    fn command(&self, command: &mut MailboxCommand) -> Result<(), i32> {
        let at = self.domain_of(command.cpu)?;
        command.response = self.mailbox(at, command)?;
        Ok(())
    }

    fn mmio(&self, command: &mut MmioCommand) -> Result<(), i32> {
        let at = self.domain_of(command.cpu)?;
        let last = if ICE_LAKE.contains(&self.model.identity.model) { 0xd0 } else { 0x11c };
        if !command.register.is_multiple_of(4) || !(4..=last).contains(&command.register) {
            return Err(EINVAL);
        }
        let sticks = self.harmed("mmio")?;
        if command.write == 0 {
            command.value = self.register(at, command.register);
        } else if sticks {
            self.set_register(at, command.register, command.value)?;
        }
        Ok(())
    }

    fn msr(&self, command: &mut MsrCommand) -> Result<(), i32> {
        let sticks = self.harmed("msr")?;
        let place = self.place(CpuId(command.cpu)).ok_or(EINVAL)?;
        if !MSRS.contains(&command.msr) {
            return Err(EINVAL);
        }
        if !self.model.is_online(CpuId(command.cpu)) {
            return Err(ENXIO);
        }
        let package = place.package;
        match (command.msr, command.write) {
            (0x1ad, 1) if !sticks => {}
            (0x1ad, 1) => {
                self.hold((package, 0), FirmwareItem::TurboLimits, command.data)
                    .map_err(|_| EIO)?;
            }
            (_, 1) => return Err(EIO),
            (0x1ad, _) => command.data = self.turbo_limits(package),
            (0x1ae, _) => command.data = self.turbo_cores(),
            (0x64b, _) => command.data = u64::from(self.is.locked) << 31,
            (0x54, _) => command.data = self.physical(CpuId(command.cpu)).unwrap_or(0).into(),
            _ => command.data = 0,
        }
        Ok(())
    }
}
