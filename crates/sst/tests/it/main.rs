//! Speed Select on simulated machines, and on recorded ones.

mod change;
mod guide;
mod recorded;
