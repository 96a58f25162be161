//! Every system call, device and raw instruction that is not a kernel under test, behind safe
//! functions. Together with `kernels` the only place where `unsafe` may stand (invariant I8).
//!
//! Functions here answer with `io::Error` or `None` and know nothing of records, findings or policy:
//! turning an error into a reason with a remedy is the business of `machine`.

pub mod adjtimex;
pub mod affinity;
pub mod clock;
pub mod condvar;
pub mod cpuid;
pub mod errno;
pub mod event;
pub mod file;
pub mod futex;
pub mod host;
pub mod isst;
pub mod library;
pub mod memory;
pub mod openmp;
pub mod perf_open;
pub mod perf_page;
pub mod pfm;
pub mod process;
pub mod rdpru;
pub mod scheduler;
pub mod signal;
pub mod thread;
pub mod tiles;
pub mod timer;
