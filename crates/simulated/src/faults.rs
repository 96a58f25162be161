//! What can go wrong with a simulated machine.

use model::CpuSet;
use serde::{Deserialize, Serialize};

/// A fault that was put in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// The MSR device is missing, as in most guests.
    NoMsr,
    /// The kernel offers no cpufreq.
    NoCpufreq,
    /// Every core reports a thermal throttle every second.
    ThermalThrottle,
    /// The first DIMM of each package has ten corrected errors a second.
    MemoryErrors,
    /// APERF and MPERF stand still.
    AperfStuck,
    /// APERF and MPERF begin again at zero, 50 ms after the start.
    AperfWraps,
    /// APERF runs backwards.
    AperfBackwards,
    /// The registers of APERF and MPERF can be read for 50 ms, and fail from then on.
    AperfEio,
    /// The counters of the memory controllers, of 48 bits, begin again at zero soon after the start.
    ControllersWrap,
    /// Those counters see every second line.
    ControllersSeeHalf,
    /// Those counters read zero, whatever happens.
    ControllersReadZero,
    /// Those counters stand still from 50 ms after the start on.
    ControllersStandStill,
    /// Somebody else has those counters half of the time, for 0.1 s, 1.2 s after the start.
    ControllersTaken,
    /// The last CPU goes offline 50 ms after the start: threads cannot be pinned to it any more.
    CpuLost,
    /// Whoever waits for a signal is never woken.
    SignalsHang,
    /// In the last 0.3 s of each second somebody uses the siblings of all cores.
    SiblingsBusyAtTimes,
    /// The same from 1 s after the start on, and for ever.
    SiblingsBusyLater,
    /// Whoever asks is a plain user: nothing can be set.
    PlainUser,
    /// The files of the kernel are mounted read-only, as in containers.
    ReadOnlyFiles,
    /// This process runs in a container of Docker.
    Container,
    /// What is set is taken, and changes nothing.
    SettingsDoNotStick,
    /// The driver takes `boost`, keeps it, and heeds it not.
    IgnoresBoost,
    /// What is set is kept, and the hardware heeds none of it.
    IgnoresSettings,
    /// Somebody else has the counters of the cores for a fifth of the time.
    PmuMultiplexes,
    /// The host lets every second group of counters miss three tenths, and nothing says so.
    PmuHostShares,
    /// Somebody takes those counters away for good, after they were used twice.
    PmuTaken,
    /// Those counters count, and read zero.
    PmuReadsZero,
    /// Those that are not fixed count half as much again.
    PmuMiscounts,
    /// Those counters begin again at zero soon after they were opened.
    PmuWraps,
    /// Those counters run backwards.
    PmuFalls,
    /// The energy counters stand still.
    EnergyStandsStill,
    /// The energy counters of the first two packages are exchanged.
    EnergySwapped,
    /// The energy counters count the energy of all packages, each of them.
    EnergyOfAll,
    /// The energy counters count sixteen times as much as is drawn.
    EnergyScaled,
    /// They count a sixteenth of it.
    EnergyShrunk,
}

/// CPUs that compute something wrong now and then.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrongAnswers {
    /// Which CPUs.
    pub cpus: CpuSet,
    /// Under which stream or memory kernel, by its id; `reference`: the portable computation.
    pub workload: String,
    /// Once in so many ops, on average.
    pub one_in: f64,
    /// Where its package is at least so warm, in degrees Celsius; absent: always.
    pub from_celsius: Option<f64>,
    /// The bit of the answer that is flipped, counted from the lowest.
    pub bit: u8,
}

impl WrongAnswers {
    pub(crate) fn is_sound(&self) -> bool {
        self.one_in.is_finite() && self.one_in >= 1.0 && self.bit < 64
    }

    /// How likely so many ops have a wrong answer.
    pub fn probability(&self, ops: f64) -> f64 {
        -(-ops / self.one_in).exp_m1()
    }
}

/// What goes wrong. A process counts its own calls.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FirmwareFault {
    /// Which call: `7f/12` of the mailbox, `mmio`, `msr`, `map`, or `tpmi/16`, the number of its ioctl.
    pub on: String,
    /// What becomes of it.
    pub does: Harm,
    /// How often; absent: always.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// How many such calls go well before: in the midst of a batch, the driver stops there and says how
    /// far it came.
    #[serde(default)]
    pub after: u32,
}

/// What becomes of a call. Of interfaces 2 and 3 the driver answers ENOTTY, whatever the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Harm {
    /// The mailbox stays busy.
    Busy,
    /// Input and output fail.
    IoError,
    /// The firmware does not answer in time.
    TimesOut,
    /// A signal comes.
    Interrupted,
    /// The firmware says no.
    Refused,
    /// The caller lacks a capability.
    NotPermitted,
    /// What is set is taken, and stays as it was.
    DoesNotStick,
}
