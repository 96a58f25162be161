use model::{CpuSet, Unavailable};

/// Why there is no snapshot.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// This machine has no Speed Select, or does not show it.
    #[error("cannot read Speed Select: {}", .0.why)]
    Unavailable(Unavailable),
    /// CPUs were named that this machine has not.
    #[error("cannot use {}: online are {online}", .cpus.named())]
    Cpus {
        /// Which ones.
        cpus: CpuSet,
        /// Those to choose from.
        online: CpuSet,
    },
    /// CPUs were named of which it is not known where they are.
    #[error("cannot use {}: {}", .cpus.named(), .reason.why)]
    Unplaced {
        /// Which ones.
        cpus: CpuSet,
        /// Why that is not known.
        reason: Unavailable,
    },
    /// A level was named that no power domain has.
    #[error("cannot describe level {level} of {place}: there {has}")]
    Level {
        /// Which one.
        level: u8,
        /// The power domain that was asked.
        place: String,
        /// Which ones there are: `are levels 0, 3, 4`.
        has: String,
    },
}

impl Error {
    /// Whether it is a right that is missing.
    pub fn is_right(&self) -> bool {
        // What opens devices and what asks them both name the error number of the kernel.
        let of = |reason: &Unavailable| {
            ["EPERM", "EACCES"].iter().any(|number| reason.why.contains(number))
        };
        match self {
            Error::Unavailable(reason) | Error::Unplaced { reason, .. } => of(reason),
            Error::Cpus { .. } | Error::Level { .. } => false,
        }
    }
}
