//! How tests interrupt a command.

use std::process::Child;

use crate::common::{finish, program};

/// Sends a signal, such as `INT`.
pub(crate) fn send(child: &Child, signal: &str) {
    let mut kill = program("sh");
    kill.args(["-c", &format!("kill -s {signal} {}", child.id())]);
    finish(kill).success();
}

/// Waits until a process that was sent STOP stands still: the signal alone is not yet that.
pub(crate) fn wait_until_stopped(child: &Child) {
    let stat = format!("/proc/{}/stat", child.id());
    // The state comes behind the name, which stands in parentheses.
    let is_stopped = |stat: &str| {
        stat.rsplit(')').next().is_some_and(|it| it.starts_with(" T") || it.starts_with(" Z"))
    };
    while std::fs::read_to_string(&stat).is_ok_and(|stat| !is_stopped(&stat)) {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}
