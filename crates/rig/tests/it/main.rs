//! The rig, with real threads.

mod patience;
mod threads;
