//! What the kernel lets this process do: asked by trying, never by reasoning from settings.

use model::Reading;

/// A question that only an attempt answers. No attempt changes the machine: what is opened is
/// closed, what is mapped is unmapped, and only a thread that ends at once asks for a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// May `/dev/cpu_dma_latency` be opened for writing? Nothing is written, so no latency is
    /// asked for.
    ///
    /// # Source
    /// `Documentation/power/pm_qos_interface.rst`: the file requests what is written to it, for as
    /// long as it is open.
    CpuDmaLatency,
    /// May `/dev/isst_interface` be opened?
    IsstInterface,
    /// May the register device of the first usable CPU be opened?
    MsrDevice,
    /// Does `perf_event_open` open a counter of the kernel's own for this thread, user mode only?
    PerfUser,
    /// The same with what the kernel does for this thread?
    PerfKernel,
    /// The same for everybody on the first usable CPU?
    PerfSystemWide,
    /// Does it open cycles of this thread, user mode only?
    PerfCyclesUser,
    /// Does it open a counter of a PMU outside of the cores?
    PerfUncore,
    /// Does it open the energy of the package?
    PerfEnergy,
    /// May a thread read its counter of cycles by instruction?
    Rdpmc,
    /// Can one page of 2 MiB be mapped?
    HugePage,
    /// Can a page be locked in memory?
    MemoryLock,
    /// May a thread choose among the CPUs that it has?
    Affinity,
    /// May a thread ask for real-time scheduling?
    RealTime,
}

impl Question {
    /// All of them, in the order of captures.
    pub const ALL: &[Question] = &[
        Question::CpuDmaLatency,
        Question::IsstInterface,
        Question::MsrDevice,
        Question::PerfUser,
        Question::PerfKernel,
        Question::PerfSystemWide,
        Question::PerfCyclesUser,
        Question::PerfUncore,
        Question::PerfEnergy,
        Question::Rdpmc,
        Question::HugePage,
        Question::MemoryLock,
        Question::Affinity,
        Question::RealTime,
    ];

    /// Its name in captures.
    pub fn name(self) -> &'static str {
        match self {
            Question::CpuDmaLatency => "open-write /dev/cpu_dma_latency",
            Question::IsstInterface => "open-read /dev/isst_interface",
            Question::MsrDevice => "open-read /dev/cpu/*/msr",
            Question::PerfUser => "perf cpu-clock:u",
            Question::PerfKernel => "perf cpu-clock",
            Question::PerfSystemWide => "perf cpu-clock of everybody",
            Question::PerfCyclesUser => "perf cycles:u",
            Question::PerfUncore => "perf uncore",
            Question::PerfEnergy => "perf energy",
            Question::Rdpmc => "rdpmc",
            Question::HugePage => "map one huge page",
            Question::MemoryLock => "lock memory",
            Question::Affinity => "set affinity",
            Question::RealTime => "real-time scheduling",
        }
    }
}

/// Who is asked.
pub trait Permits {
    /// The answer in words (such as what was found), or why not.
    fn ask(&self, question: Question) -> Reading<String>;
}
