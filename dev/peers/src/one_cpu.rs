//! What measures on one CPU of this machine: threads, tools, and the ruler of that CPU.

use anyhow::{anyhow, bail};
use machine::Machine;
use machine::instruments::clock::{self, StampSource};
use model::CpuId;
use rig::executor::Stop;
use rig::executor::threads::Threads;
use rig::job::Tools;
use rig::ruler::Ruler;
use rig::{calibration, streams};
use sys::clock::Tsc;

use crate::because;

/// The first CPU that this process may use.
pub(crate) struct OneCpu {
    pub(crate) executor: Threads<Tsc>,
    pub(crate) tools: Tools,
    pub(crate) cpu: CpuId,
    pub(crate) ruler: Ruler,
}

impl OneCpu {
    pub(crate) fn of(machine: &Machine) -> anyhow::Result<OneCpu> {
        let stamp = clock::calibrate(machine).map_err(|reason| because(&reason))?;
        let StampSource::Tsc(probe) = stamp.source else {
            bail!("cannot take stamps here: there is no invariant TSC");
        };
        let mut executor = Threads::new(probe, stamp.rate, None, Stop::default());
        let tools = streams::tools(machine).map_err(|reason| because(&reason))?;
        let usable = machine.host.affinity().map_err(|reason| because(&reason))?;
        let cpu = usable.iter().next().ok_or_else(|| anyhow!("this process may use no CPU"))?;
        let mut rulers = calibration::calibrate(&mut executor, &tools, &[cpu])?;
        let ruler = rulers.remove(&cpu).ok_or_else(|| anyhow!("BUG: a CPU without a ruler"))?;
        let ruler = ruler.map_err(|reason| because(&reason))?;
        Ok(OneCpu { executor, tools, cpu, ruler })
    }
}
