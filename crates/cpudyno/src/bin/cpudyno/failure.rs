//! Why the command failed, as people and scripts read it.

use model::CpuSet;

/// Exit codes, as documented in `cpudyno --help`.
pub(crate) mod code {
    /// Done, and the answer is no.
    pub(crate) const NO: u8 = 1;
    /// Wrong arguments.
    pub(crate) const USAGE: u8 = 2;
    /// Cannot be measured or decided here.
    pub(crate) const NOT_HERE: u8 = 3;
    /// Refused: rights, locks, safety.
    pub(crate) const REFUSED: u8 = 4;
    /// Our bug.
    pub(crate) const BUG: u8 = 70;
}

/// One line for people, a hint with the command that helps, a code for scripts.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The exit code.
    pub(crate) code: u8,
    /// What failed on which object, lower case. May be empty when everything is said already.
    pub(crate) message: String,
    /// What helps.
    pub(crate) hint: Option<String>,
}

impl Failure {
    /// A failure without a hint.
    pub(crate) fn new(code: u8, message: impl Into<String>) -> Self {
        Failure { code, message: message.into(), hint: None }
    }

    /// Adds what helps.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Wrong arguments.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Failure::new(code::USAGE, message)
    }

    /// CPUs that an option names and that are not online: said alike wherever CPUs need not be usable.
    pub(crate) fn not_online(gone: &CpuSet, online: &CpuSet, option: &str) -> Self {
        Failure::usage(format!("cannot use {}: online are {online}", gone.named()))
            .hint(format!("choose among {option} {online}"))
    }
}
