//! Counting, and answers about events.

mod answers;
mod counting;
