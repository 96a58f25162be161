//! The rig and its areas, on simulated machines and with real threads.

mod ab;
mod common;
mod cores;
mod counters;
mod levers;
mod memory;
mod original;
mod patience;
mod simulation;
mod threads;
mod traffic;
mod turbo;
mod wake;
