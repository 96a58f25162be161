//! Running the command as a user does: arguments in, exit code and output out.

use std::ffi::OsStr;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Whatever takes longer hangs, and is killed.
const PATIENCE: Duration = Duration::from_mins(2);

/// The command with its arguments.
pub(crate) fn cpudyno(args: &[&str]) -> Command {
    let mut command = program(env!("CARGO_BIN_EXE_cpudyno"));
    command.args(args);
    command
}

/// Any program: without input, terminal, or the user's taste, and with its output collected. Tests run beside each
/// other, and none judges a time: they take no lock.
pub(crate) fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env_remove("NO_COLOR").env_remove("COLUMNS").env("CPUDYNO_LOCK", "off");
    command
}

/// Runs a command to its end.
pub(crate) fn finish(command: Command) -> Finished {
    Running::start(command).finish()
}

/// A child whose output is being collected.
pub(crate) struct Running {
    /// The child.
    pub(crate) child: Child,
    stdout: Option<JoinHandle<String>>,
    stderr: Option<JoinHandle<String>>,
}

impl Running {
    /// Starts a command. What does not go to a pipe is not collected.
    pub(crate) fn start(mut command: Command) -> Running {
        Running::of(command.spawn().unwrap())
    }

    /// Collects what is left of a child's output.
    pub(crate) fn of(mut child: Child) -> Running {
        let stdout = child.stdout.take().map(collect);
        let stderr = child.stderr.take().map(collect);
        Running { child, stdout, stderr }
    }

    /// Waits for the child's end.
    pub(crate) fn finish(mut self) -> Finished {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if begun.elapsed() > PATIENCE {
                self.child.kill().unwrap();
                panic!("killed: it ran for more than {PATIENCE:?}");
            }
            thread::sleep(Duration::from_millis(5));
        };
        let text = |reader: Option<JoinHandle<String>>| {
            reader.map(|reader| reader.join().unwrap()).unwrap_or_default()
        };
        Finished { code: status.code(), stdout: text(self.stdout), stderr: text(self.stderr) }
    }
}

fn collect(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).unwrap();
        String::from_utf8(bytes).expect("all that is printed is UTF-8")
    })
}

/// How a command ended, and what it printed.
#[derive(Debug)]
pub(crate) struct Finished {
    /// The exit code; none when a signal ended it.
    pub(crate) code: Option<i32>,
    /// What it printed for programs.
    pub(crate) stdout: String,
    /// What it printed for people.
    pub(crate) stderr: String,
}

impl Finished {
    /// What was printed by a command that must have succeeded in silence.
    pub(crate) fn success(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""), "{}", self.stdout);
        self.stdout
    }
}
