//! The rig, with real threads.

mod checking;
mod patience;
mod threads;
