//! A limit of the time that CPUs may take to leave idle states, for as long as somebody holds it.
//!
//! It is a request to the kernel and no setting: the kernel forgets it when the file is closed, also
//! when this process is killed.
//!
//! # Source
//! Linux, `Documentation/power/pm_qos_interface.rst`.

use std::fs::File;
use std::io::Write;

use model::{Obstacle, Seconds, Unavailable};

use crate::permits::Question;
use crate::ports::{Machine, Reading};
use crate::simulated::Model;

const DEVICE: &str = "/dev/cpu_dma_latency";

/// The right to ask for limits.
pub struct LatencyLimits(Option<Box<Model>>);

/// A limit that is held until this is dropped.
pub struct LatencyLimit(Held);

enum Held {
    File { _open: File },
    Simulated(Box<Model>),
}

impl LatencyLimits {
    /// The right, or why there is none.
    pub fn of(machine: &Machine) -> Reading<LatencyLimits> {
        machine.permits.ask(Question::CpuDmaLatency)?;
        Ok(LatencyLimits(machine.simulated.clone().map(Box::new)))
    }

    /// Lets no CPU enter a state that takes longer to leave.
    pub fn hold(&self, latency: Seconds) -> Reading<LatencyLimit> {
        if let Some(model) = &self.0 {
            model.idled.limit(Some(latency));
            return Ok(LatencyLimit(Held::Simulated(model.clone())));
        }
        let microseconds = (latency.0 * 1e6).round() as i32;
        let hold = || {
            let mut file = File::options().write(true).open(DEVICE)?;
            file.write_all(&microseconds.to_ne_bytes())?;
            Ok(LatencyLimit(Held::File { _open: file }))
        };
        hold().map_err(|error: std::io::Error| {
            let why = format!("`{DEVICE}`: {}", sys::errno::words(&error));
            Unavailable::new(Obstacle::Permission, "limit of exit latency", why)
        })
    }
}

impl Drop for LatencyLimit {
    fn drop(&mut self) {
        match &self.0 {
            Held::File { .. } => {}
            Held::Simulated(model) => model.idled.limit(None),
        }
    }
}
