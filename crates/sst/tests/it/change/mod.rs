//! Changes of Speed Select on simulated machines.

mod asleep;
mod here;
mod kills;
mod limits;
mod plans;
mod wishes;
