//! Arms that are measured in turns: what a comparison of two and a sweep over many have in common. Each has settings
//! that come and go with it.

mod busy;
mod command;
mod companion;
pub(crate) mod interference;
mod runner;
mod watch;

pub use command::Metric;
pub(crate) use companion::ControlChain;
pub(crate) use runner::{ArmRunner, CommandRuns, Stopped, difference};

use levers::plan::Change;
use machine::Machine;
use model::record::Proof;
use model::{CpuSet, Seconds};

use crate::run::arm_env::ArmEnv;
use crate::run::single::Subject;

/// What is measured.
pub enum AbSubject {
    /// A workload of an area, and its quantity where it is not the usual one.
    Area(&'static Subject, Option<String>),
    /// A command.
    Command(Vec<String>, Metric),
}

/// What can be seen of the machine whenever an arm was set, beside clocks.
pub type ArmLook = fn(&Machine) -> Vec<Proof>;

/// One of those that take turns.
#[derive(Clone, Copy)]
pub(crate) struct Arm<'c> {
    /// What it is called where it fails.
    pub(crate) name: &'c str,
    /// How it runs.
    pub(crate) own: &'c ArmEnv,
    /// What is set on the machine for it, whatever is there already.
    pub(crate) changes: &'c [Change],
    /// CPUs that are kept busy meanwhile; none: no other ones.
    pub(crate) busy: &'c CpuSet,
}

/// What is measured in turns, and how.
pub(crate) struct Turns<'c> {
    /// Who takes turns; the first of them is the one whose way to move data all others share.
    pub(crate) arms: Vec<Arm<'c>>,
    /// What is measured.
    pub(crate) what: &'c AbSubject,
    /// The time for all of it.
    pub(crate) budget: Seconds,
    /// Whether the clocks of measured and busy CPUs are looked at around each measurement.
    pub(crate) watches_clocks: bool,
    /// Whether the same work is measured after each measurement, which takes a calibration first.
    pub(crate) has_control_chain: bool,
    /// What is looked at whenever settings of an arm were made; none: nothing.
    pub(crate) look: Option<ArmLook>,
}
