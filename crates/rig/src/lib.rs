//! The rig: pins threads, runs jobs, takes stamps and turns them into samples.
//!
//! It knows no area: what threads execute reaches it as a [`job::Load`], made of kernels in [`streams`], and what
//! the numbers are good for is the areas' business. The parts, in the order in which data flows through
//! them: a [`job`] says what to execute, an [`executor`] executes it and answers stamps, [`reduce`]
//! turns stamps into samples by the [`ruler`], a [`collect::Collector`] gathers samples into series,
//! and [`placement`] and [`schedule`] decide who runs where and when.
#![forbid(unsafe_code)]

pub mod alarm;
pub mod background_load;
pub mod calibration;
pub mod checking;
pub mod child;
pub mod clock_rise;
pub mod collect;
pub mod exchange;
pub mod executor;
pub mod in_loop;
pub mod job;
pub mod line;
pub mod placement;
pub mod protocol;
pub mod reduce;
pub mod regions;
pub mod ruler;
pub mod schedule;
pub mod signals;
mod stop;
pub mod streams;
pub mod timed_answers;
pub mod trace;
pub mod traffic;
pub mod variant_selection;
pub mod verdict;
pub mod watch;
