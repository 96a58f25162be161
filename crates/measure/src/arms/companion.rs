//! The same work after each measurement, whatever is compared: what the machine itself did meanwhile.

use machine::Machine;
use machine::instruments::clock::{self, RateChoice};
use model::CpuId;
use model::record::BesideRun;
use model::stats::paired::Quad;

use rig::calibration;
use rig::executor::{Executor, RunError, Stop};
use rig::job::Tools;
use rig::streams;

use crate::run;

/// A fixed chain of multiplies on one CPU.
pub(crate) struct ControlChain {
    pub(crate) cpu: CpuId,
    /// What executes it, where nothing else here can.
    own: Option<(Box<dyn Executor>, Tools)>,
    /// Its seconds in the slots of the quads.
    pub(crate) quads: Vec<Quad>,
}

impl ControlChain {
    /// By what executes the measurements.
    pub(crate) fn shared(cpu: CpuId) -> ControlChain {
        ControlChain { cpu, own: None, quads: Vec::new() }
    }

    /// Where a command is measured. None where no thread of this process can be timed.
    pub(crate) fn alone(machine: &Machine, cpu: CpuId, stop: &Stop) -> Option<ControlChain> {
        run::refuse_elsewhere(machine).ok()?;
        let stamps = clock::calibrate_by(machine, RateChoice::Best).ok()?;
        let executor = run::executor(machine, &stamps, None, stop).ok()?;
        let tools = streams::tools(machine).ok()?;
        Some(ControlChain { cpu, own: Some((executor, tools)), quads: Vec::new() })
    }

    /// Once, where nothing else executes it.
    pub(crate) fn multiply(&mut self) -> Result<Option<f64>, RunError> {
        let Some((executor, tools)) = &mut self.own else { return Ok(None) };
        calibration::multiply(&mut **executor, tools, self.cpu)
    }

    /// What is kept of it.
    pub(crate) fn told(&self) -> Option<BesideRun> {
        (!self.quads.is_empty()).then(|| BesideRun {
            subject: "a fixed chain of multiplies".to_owned(),
            cpu: self.cpu,
            quads: self.quads.clone(),
        })
    }
}
