//! Changes of Speed Select on simulated machines.

mod here;
mod kills;
mod wishes;
