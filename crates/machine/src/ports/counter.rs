//! A counter that somebody wants, and one that is open.
//!
//! A reading goes through [`Reader`], whose kind is fixed at opening: no port is asked, nothing is allocated.

use std::io;

use simulated::SimulatedCounter;
use sys::perf_open::{Attributes, Count, Counter, Scope};
use sys::perf_page::UserCounter;

/// A counter that somebody wants.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// What it counts, in the words of tables and refusals.
    pub name: &'a str,
    /// What it is opened with.
    pub attributes: Attributes,
    /// Whose events are counted.
    pub scope: Scope,
    /// Whether it may be read from its page, by instruction. The shares of Intel's slots may not: what
    /// their register holds is no count.
    pub by_page: bool,
}

impl<'a> Wanted<'a> {
    /// Events of the calling thread, read in the quickest way that there is.
    pub fn of_this_thread(name: &'a str, attributes: Attributes) -> Wanted<'a> {
        Wanted { name, attributes, scope: Scope::ThisThread, by_page: true }
    }
}

/// An open counter. How it is read was decided when it was opened.
#[derive(Debug)]
pub enum Reader {
    /// By instruction, from the page that the kernel shares; by system call for as long as it has no
    /// place on the hardware.
    Rdpmc(UserCounter),
    /// By read(2).
    Syscall(Counter),
    /// From the model of a simulated machine.
    Simulated(SimulatedCounter),
}

/// Which way a reading went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// By instruction.
    Rdpmc,
    /// By system call.
    Syscall,
    /// From a model.
    Simulated,
}

impl Way {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Way::Rdpmc if cfg!(target_arch = "aarch64") => "mrs",
            Way::Rdpmc => "rdpmc",
            Way::Syscall => "read(2)",
            Way::Simulated => "simulated",
        }
    }
}

/// A reading of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// What it has counted since it was opened.
    pub value: u64,
    /// For how long it had no place on the hardware although it was to count, in nanoseconds: two
    /// readings between which this grows do not tell what happened between them.
    pub waited_ns: u64,
    /// How it was read.
    pub way: Way,
}

impl Sample {
    fn of(count: Count, way: Way) -> Sample {
        let waited_ns = count.enabled_ns.saturating_sub(count.running_ns);
        Sample { value: count.value, waited_ns, way }
    }
}

impl Reader {
    /// What it says now. No allocation; no system call where it is read by instruction.
    ///
    /// # Error
    /// The end of the file where a pinned counter lost its place.
    #[inline]
    pub fn read(&self) -> io::Result<Sample> {
        match self {
            Reader::Rdpmc(counter) => match counter.read() {
                Some(count) => Ok(Sample::of(count, Way::Rdpmc)),
                None => counter.counter().read().map(|count| Sample::of(count, Way::Syscall)),
            },
            Reader::Syscall(counter) => counter.read().map(|count| Sample::of(count, Way::Syscall)),
            Reader::Simulated(counter) => {
                counter.read().map(|count| Sample::of(count, Way::Simulated))
            }
        }
    }

    /// The count with its times, by system call whatever the way: the answer after a run.
    ///
    /// # Error
    /// As [`Reader::read`].
    pub fn count(&self) -> io::Result<Count> {
        match self {
            Reader::Rdpmc(counter) => counter.counter().read(),
            Reader::Syscall(counter) => counter.read(),
            Reader::Simulated(counter) => counter.read(),
        }
    }

    /// Lets it and the group that it leads count.
    ///
    /// # Error
    /// Where the kernel does not.
    pub fn start_group(&self) -> io::Result<()> {
        match self {
            Reader::Rdpmc(counter) => counter.counter().start_group(),
            Reader::Syscall(counter) => counter.start_group(),
            Reader::Simulated(counter) => {
                counter.start_group();
                Ok(())
            }
        }
    }

    /// The way by which it is read as a rule.
    pub fn way(&self) -> Way {
        match self {
            Reader::Rdpmc(_) => Way::Rdpmc,
            Reader::Syscall(_) => Way::Syscall,
            Reader::Simulated(_) => Way::Simulated,
        }
    }
}
