//! Counters: opening, reading, passes.
