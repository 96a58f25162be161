//! Counting, and answers about events.

mod answers;
mod arm;
mod counting;
mod guide;
mod regions;
