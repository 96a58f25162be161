//! What neighbours of a simulated machine cost each other.

use model::CpuId;

use crate::description::Model;

/// What all neighbours of a CPU leave it.
#[derive(Debug, Clone, Copy)]
pub struct Left {
    /// Of the clock.
    pub clock: f64,
    /// Of ops per cycle.
    pub ops: f64,
    /// Of bandwidth.
    pub bandwidth: f64,
    /// How much longer pointers take.
    pub latency: f64,
}

impl Model {
    /// What neighbours leave a CPU, each of them a CPU and the workload that runs there. Of several with one
    /// workload in one place, as many as a tax is of cost all of it, and fewer their share, each as much as another.
    pub fn left_by(&self, cpu: CpuId, neighbours: &[(CpuId, &str)]) -> Left {
        let mut left = Left { clock: 1.0, ops: 1.0, bandwidth: 1.0, latency: 1.0 };
        for tax in &self.tax {
            let costs = |(other, id): &(CpuId, &str)| {
                let same_core = self.core_of(*other) == self.core_of(cpu);
                let same_package = self.package_of(*other) == self.package_of(cpu);
                *id == tax.by && same_package && same_core == tax.sibling && *other != cpu
            };
            let count = neighbours.iter().filter(|it| costs(it)).count() as f64;
            if count > 0.0 {
                let share = (count / f64::from(tax.neighbours)).min(1.0);
                left.clock *= tax.clock.powf(share);
                left.ops *= tax.ops.powf(share);
                left.bandwidth *= tax.bandwidth.powf(share);
                left.latency *= tax.latency.powf(share);
            }
        }
        left
    }
}
