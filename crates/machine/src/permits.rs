//! What the kernel lets this process do: asked by trying, never by reasoning from settings.

use crate::ports::Reading;

/// A question that only an attempt answers. No attempt changes the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// May `/dev/cpu_dma_latency` be opened for writing?
    CpuDmaLatency,
    /// May `/dev/isst_interface` be opened?
    IsstInterface,
    /// Does `perf_event_open` open cycles of this thread, user mode only?
    PerfCyclesUser,
}

impl Question {
    /// All of them, in the order of captures.
    pub const ALL: &[Question] =
        &[Question::CpuDmaLatency, Question::IsstInterface, Question::PerfCyclesUser];

    /// Its name in captures.
    pub fn name(self) -> &'static str {
        match self {
            Question::CpuDmaLatency => "open-write /dev/cpu_dma_latency",
            Question::IsstInterface => "open-read /dev/isst_interface",
            Question::PerfCyclesUser => "perf cycles:u",
        }
    }
}

/// Who is asked.
pub trait Permits {
    /// The answer in words (such as what was found), or why not.
    fn ask(&self, question: Question) -> Reading<String>;
}
