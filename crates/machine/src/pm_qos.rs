//! A limit of the time that CPUs may take to leave idle states, for as long as somebody holds it.
//!
//! It is a request to the kernel and no setting: the kernel forgets it when the file is closed, also
//! when this process is killed.
//!
//! # Source
//! Linux, `Documentation/power/pm_qos_interface.rst`, `include/linux/pm_qos.h`.

use std::fs::File;
use std::io::{Read, Write};

use model::record::NO_LATENCY_LIMIT_US;
use model::{Obstacle, Reading, Seconds, Unavailable};
use simulated::{LatencyRequest, Model};

use crate::permissions::Question;
use crate::ports::Machine;

const DEVICE: &str = "/dev/cpu_dma_latency";

/// The limit that holds now, in microseconds, whoever asked for it.
pub fn effective(machine: &Machine) -> Reading<u64> {
    let unknown = |obstacle, why| Unavailable::new(obstacle, "limit of exit latency", why);
    if machine.elsewhere.is_some() {
        let why =
            "this limit exists only on the running machine, while a program requests it".to_owned();
        return Err(unknown(Obstacle::Permission, why));
    }
    machine.permits.ask(Question::CpuDmaLatency)?;
    if let Some(model) = &machine.simulated {
        let limit = model.idled.limit().map(|limit| (limit.0 * 1e6).round() as u64);
        return Ok(limit.unwrap_or(NO_LATENCY_LIMIT_US));
    }
    let mut bytes = [0; 4];
    let read = File::open(DEVICE).and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|error| {
        unknown(Obstacle::Permission, format!("`{DEVICE}`: {}", sys::errno::words(&error)))
    })?;
    Ok(u64::from(u32::from_ne_bytes(bytes)))
}

/// The right to ask for limits.
pub struct LatencyLimits(Option<Box<Model>>);

/// A limit that is held until this is dropped.
pub struct LatencyLimit(#[expect(dead_code, reason = "held until it is dropped")] HeldLimit);

enum HeldLimit {
    File { _open: File },
    Simulated { _request: LatencyRequest },
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
            let request = model.idled.request(latency);
            return Ok(LatencyLimit(HeldLimit::Simulated { _request: request }));
        }
        let microseconds = (latency.0 * 1e6).round() as i32;
        let hold = || {
            let mut file = File::options().write(true).open(DEVICE)?;
            file.write_all(&microseconds.to_ne_bytes())?;
            Ok(LatencyLimit(HeldLimit::File { _open: file }))
        };
        hold().map_err(|error: std::io::Error| {
            let why = format!("`{DEVICE}`: {}", sys::errno::words(&error));
            Unavailable::new(Obstacle::Permission, "limit of exit latency", why)
        })
    }
}
