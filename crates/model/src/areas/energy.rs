//! Energy counters under a known load: what each package's says while one package after the other works.

use super::{NEITHER, Quantity};
use crate::Unit;
use crate::record::Series;

/// Its id.
pub const AREA: &str = "energy";
/// Its workload.
pub const WORKLOAD: &str = "package load";
/// The parameter that names the package that works, or [`NOBODY`].
pub const LOADED: &str = "loaded";
/// The word for no package at work.
pub const NOBODY: &str = "none";
/// The word for all packages at work on one stream, which is the workload then.
pub const EVERYBODY: &str = "all";
/// The parameter that names the package whose counter it is.
pub const PACKAGE: &str = "package";
/// What a counter says.
pub const POWER: &str = "package_power";
/// How busy the CPUs of a package were.
pub const BUSY: &str = "package_busy";

/// What its numbers mean, in the order of a record.
pub static QUANTITIES: &[Quantity] = &[
    Quantity::new(
        POWER,
        "power by the energy counter of a package",
        Unit::Watt,
        NEITHER,
        "What the counter grew by over the time, look by look; 0 where it stood still.",
    )
    .in_order(),
    Quantity::new(
        BUSY,
        "share of time that the CPUs of a package were busy",
        Unit::One,
        NEITHER,
        "Mean over its CPUs by the kernel's account, in steps of 10 ms.",
    )
    .in_order(),
];

/// What a series without numbers is called.
pub(super) fn name_of(series: &Series) -> Option<String> {
    let package = series.parameters.get(PACKAGE)?;
    let loaded = series.parameters.get(LOADED)?;
    if loaded == EVERYBODY {
        return Some(format!("power of package {package} under {}", series.workload));
    }
    Some(format!("energy counter of package {package}, at work: {loaded}"))
}
