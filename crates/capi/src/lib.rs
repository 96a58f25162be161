//! cpudyno for programs in C, and in whatever calls C: one header, `include/cpudyno.h`, and one shared library.
//!
//! Every function answers a [`CdStatus`]; values come through pointers, which are written on success alone. A
//! panic becomes [`CdStatus::CdErrorBug`]. Handles are numbers that are looked up, so that an old one is an error
//! and nothing worse. `docs/guide/c.md` says what may be called from where.
//!
//! | module | holds |
//! |---|---|
//! | `border`, `status` | what every call passes: panics, pointers; how calls end |
//! | `last_error` | the text of a thread's last error, without allocation |
//! | `library` | what all threads share, and what a fork does to it |
//! | `text` | strings that callers own |
//! | `regions`, `thread` | regions for counters; those of a thread |
//! | `measure` | what the library in Rust measures |

mod border;
mod last_error;
mod library;
mod measure;
mod regions;
mod status;
mod text;
mod thread;
mod version;

pub use self::last_error::{
    cd_error_remedy, cd_error_status, cd_error_text, cd_error_what, cd_error_why,
};
pub use self::measure::{CdBandwidth, CdValue, cd_measure_json, cd_memory_bandwidth, cd_stop};
pub use self::regions::{
    CD_ALL_THREADS, CdRegions, cd_region, cd_region_calls, cd_region_count, cd_region_reset,
    cd_region_seconds, cd_region_start, cd_region_stop, cd_regions_close, cd_regions_json,
    cd_regions_loop, cd_regions_open, cd_regions_text, cd_regions_thread, cd_regions_threads,
};
pub use self::status::CdStatus;
pub use self::text::cd_string_free;
pub use self::version::{CD_ABI_VERSION, cd_abi_version, cd_schema, cd_version};
