//! Areas: families of workloads with their own questions. One folder each, one line here.

pub(crate) mod contained;
pub mod cores;
pub mod memory;
pub mod openmp;
pub mod pause;
pub mod pmu;
pub mod sst;
pub mod subjects;
pub mod top;
pub mod turbo;
pub mod wait;
pub mod wake;

pub use self::contained::Contained;
use crate::run::area::Area;

/// All areas, in the order of the sheet.
pub static AREAS: &[&dyn Area] = &[
    &Contained(&turbo::Turbo),
    &Contained(&memory::Memory),
    &Contained(&cores::Cores),
    &Contained(&pause::Pause),
    &Contained(&wake::Wake),
    &Contained(&openmp::Openmp),
    &Contained(&wait::Wait),
    &Contained(&pmu::Pmu),
    &Contained(&sst::Sst),
    &Contained(&top::Top),
];
