use model::{CpuSet, Unavailable};

/// Why there is no snapshot.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// This machine has no Speed Select, or does not show it.
    #[error("cannot read Speed Select: {}", .0.why)]
    Unavailable(Unavailable),
    /// CPUs were named that are not there.
    #[error("cannot use CPUs {cpus}: {why}")]
    Cpus {
        /// Which ones.
        cpus: CpuSet,
        /// What is wrong with them.
        why: String,
    },
    /// A level was named that is not there.
    #[error(
        "cannot describe level {level} of package {package}, power domain {domain}: there {has}"
    )]
    Level {
        /// Which one.
        level: u8,
        /// The package that was asked.
        package: u32,
        /// The power domain that was asked.
        domain: u32,
        /// Which ones there are: `are levels 0, 3, 4`.
        has: String,
    },
}
