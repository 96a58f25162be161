//! How tests interrupt a command.

use std::process::Child;

use crate::common::{finish, program};

/// Sends a signal, such as `INT`.
pub(crate) fn send(child: &Child, signal: &str) {
    let mut kill = program("sh");
    kill.args(["-c", &format!("kill -s {signal} {}", child.id())]);
    finish(kill).success();
}
