//! The part of the driver that serves the newer generation, whatever stands behind it.
//!
//! # Source
//! Linux, drivers/platform/x86/intel/speed_select_if: `isst_tpmi_core.c`, and `isst_if_common.c`, which
//! answers ENOTTY whatever the reason was.

use sys::errno::ENOTTY;

use sys::isst::layout::Layout;
use sys::isst::structures::{
    BaseFreqInfo, ClosAssoc, ClosAssocHeader, ClosParam, CorePowerState, CpuMask, FabricInfo,
    InstanceCount, PerfLevelInfo, PerfLevels, PerfSetFeature, PerfSetLevel, TurboFreqInfo,
};

/// What fills or takes the structures; `false`: it refuses.
pub trait Tpmi {
    /// How many of a thing there are.
    fn instances(&self, of: &mut InstanceCount) -> bool;
    /// Whether cores have classes, or sets it.
    fn core_power(&self, of: &mut CorePowerState) -> bool;
    /// What a class means, or sets it.
    fn class(&self, of: &mut ClosParam) -> bool;
    /// The class of a core, or sets it.
    fn association(&self, of: &mut ClosAssoc, set: bool) -> bool;
    /// The levels of a power domain.
    fn levels(&self, of: &mut PerfLevels) -> bool;
    /// Chooses a level.
    fn set_level(&self, to: PerfSetLevel) -> bool;
    /// Switches features on and off.
    fn set_feature(&self, to: PerfSetFeature) -> bool;
    /// What a level is.
    fn level(&self, of: &mut PerfLevelInfo) -> bool;
    /// The cores of a level.
    fn cores(&self, of: &mut CpuMask) -> bool;
    /// What the feature base-freq is at a level.
    fn base_freq(&self, of: &mut BaseFreqInfo) -> bool;
    /// The cores that it prefers.
    fn base_freq_cores(&self, of: &mut CpuMask) -> bool;
    /// What the feature turbo-freq is at a level.
    fn turbo_freq(&self, of: &mut TurboFreqInfo) -> bool;
    /// The clocks of what lies outside of the cores.
    fn fabrics(&self, of: &mut FabricInfo) -> bool;
}

/// How many entries one ioctl may have.
pub const COMMANDS_MAX: usize = 64;

/// One ioctl: what it returns, or its error number.
pub fn call(from: &dyn Tpmi, number: u8, argument: &mut [u8]) -> Result<u32, i32> {
    match number {
        5 => with(argument, |it| from.instances(it)),
        6 => with(argument, |it| from.core_power(it)),
        7 => with(argument, |it| from.class(it)),
        8 => associations(from, argument),
        9 => with(argument, |it| from.levels(it)),
        10 => with(argument, |it: &mut PerfSetLevel| from.set_level(*it)),
        11 => with(argument, |it: &mut PerfSetFeature| from.set_feature(*it)),
        12 => with(argument, |it| from.level(it)),
        13 => with(argument, |it: &mut CpuMask| it.punit_cpu_map == 1 && from.cores(it)),
        14 => with(argument, |it| from.base_freq(it)),
        15 => with(argument, |it: &mut CpuMask| it.punit_cpu_map == 1 && from.base_freq_cores(it)),
        16 => with(argument, |it| from.turbo_freq(it)),
        17 => with(argument, |it| from.fabrics(it)),
        _ => Err(ENOTTY),
    }
}

fn with<T: Layout>(argument: &mut [u8], fill: impl FnOnce(&mut T) -> bool) -> Result<u32, i32> {
    let mut content = T::from_bytes(argument);
    if !fill(&mut content) {
        return Err(ENOTTY);
    }
    content.to_bytes(argument);
    Ok(0)
}

/// Entries before the one that fails stay applied.
fn associations(from: &dyn Tpmi, argument: &mut [u8]) -> Result<u32, i32> {
    let header = ClosAssocHeader::from_bytes(argument);
    let count = usize::from(header.count);
    if !(1..=COMMANDS_MAX).contains(&count) || header.punit_cpu_map != 1 {
        return Err(ENOTTY);
    }
    for entry in argument[ClosAssocHeader::BYTES..].chunks_exact_mut(ClosAssoc::BYTES).take(count) {
        with(entry, |it| from.association(it, header.set == 1))?;
    }
    Ok(0)
}
