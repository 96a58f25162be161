//! Areas: families of workloads with their own questions. One folder each, one line here.

pub mod cores;
pub mod datatypes;
pub mod energy;
pub mod interference;
pub mod jitter;
pub mod memory;
pub mod openmp;
pub mod pause;
pub mod pmu;
pub mod preferred_cores;
pub mod sst;
pub mod subjects;
pub mod sustained;
pub mod top;
pub mod transitions;
pub mod turbo;
pub mod wait;
pub mod wake;

use crate::run::area::Area;

/// All areas, in the order of the sheet.
pub static AREAS: &[&Area] = &[
    &turbo::TURBO,
    &transitions::TRANSITIONS,
    &sustained::SUSTAINED,
    &preferred_cores::PREFERRED_CORES,
    &interference::INTERFERENCE,
    &memory::MEMORY,
    &cores::CORES,
    &pause::PAUSE,
    &wake::WAKE,
    &openmp::OPENMP,
    &datatypes::DATATYPES,
    &jitter::JITTER,
    &wait::WAIT,
    &pmu::PMU,
    &energy::ENERGY,
    &sst::SST,
    &top::TOP,
];
