//! Speed Select on simulated machines.

mod change;
mod guide;
