//! What interrupts a simulated CPU that is busy: its timer, its firmware, its hypervisor.

use machine::interrupts::MSR_SMI_COUNT;
use model::areas::jitter::cause;
use model::{CpuId, Seconds};

use super::super::super::job::Around;
use super::super::super::watch::{Gap, Polling, RawPolling};
use super::{AWAY, CpuTimeline, START, Simulated};

/// Watches all CPUs at once.
pub(super) fn watch(sim: &mut Simulated, job: &Polling) -> Vec<RawPolling> {
    let begun = sim.model.elapsed.seconds() + START;
    let mut watched = Vec::with_capacity(job.cpus.len());
    for cpu in &job.cpus {
        let random = sim.random.fork();
        let mut line = CpuTimeline { model: &sim.model, now: begun, random };
        watched.push(one(&mut line, job, *cpu));
    }
    sim.worked(begun + job.time, &job.cpus);
    watched
}

fn one(line: &mut CpuTimeline<'_>, job: &Polling, cpu: CpuId) -> RawPolling {
    let noise = &line.model.noise;
    // Firmware is counted where the register can be read; elsewhere the kernel knows nothing of it.
    let is_counted = line.model.register(cpu, MSR_SMI_COUNT).is_ok();
    let firmware = if is_counted { cause::SMI } else { cause::UNEXPLAINED };
    let sources = [
        (cause::TIMER, noise.interrupts_per_second, noise.interrupt_seconds),
        (firmware, noise.smis_per_second, noise.smi_seconds),
        (cause::UNEXPLAINED, noise.steal_share / AWAY, AWAY),
        (cause::THREAD, noise.quota_share / AWAY, AWAY),
    ];
    let mut gaps = Vec::new();
    for (cause, per_second, length) in sources {
        let expected = per_second * job.time.0;
        let more = line.random.f64() < expected - expected.floor();
        for _ in 0..expected as u64 + u64::from(more) {
            // Most take about as long, and some a half more.
            let length = Seconds(length * (1.0 + line.random.f64() * line.random.f64() / 2.0));
            if length.0 >= job.shortest.0 {
                gaps.push(Gap { length, cause: cause.to_owned() });
            }
        }
    }
    let around = Around { settled: true, ..Around::default() };
    let lost = Seconds(gaps.iter().map(|gap| gap.length.0).sum());
    RawPolling { cpu, watched: job.time, lost, gaps, around }
}
