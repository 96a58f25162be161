//! Areas, on simulated machines and with real threads.

mod ab;
mod answers;
mod common;
mod cores;
mod counters;
mod energy;
mod levers;
mod memory;
mod original;
#[path = "../../../rig/tests/it/patience.rs"]
mod patience;
mod simulation;
mod sweep;
mod traffic;
mod turbo;
mod verify;
mod wake;
