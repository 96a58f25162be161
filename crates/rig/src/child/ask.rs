//! Asking a child.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{ChildAnswer, ChildWork, Order};
use crate::stop::Stop;

/// What the variables of OpenMP runtimes begin with. Those of the user would contradict ours.
const RUNTIMES: &[&str] = &["OMP_", "GOMP_", "KMP_", "LIBOMP_"];
/// Longest time between two looks at a child. A look takes microseconds, which nobody notices at this
/// distance.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// As much as is kept of what a child says.
const SAID_MAX: u64 = 1 << 16;

/// What a child answered, and what it wrote to standard error.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// Its answer.
    pub answer: ChildAnswer,
    /// What else it, or a library in it, had to say.
    pub said: String,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// It could not be started.
    #[error("cannot start {program}: {source}")]
    NotStarted {
        /// The program.
        program: String,
        /// What the kernel answered.
        source: io::Error,
    },
    /// It took longer than it may.
    #[error("it did not end within {} s", limit.as_secs())]
    TookTooLong {
        /// How long it may take.
        limit: Duration,
    },
    /// It ended without an answer.
    #[error("it ended by {status} without an answer{}", quoted(said))]
    Ended {
        /// How it ended.
        status: String,
        /// The last line that it said.
        said: String,
    },
    /// Its answer makes no sense.
    #[error("its answer cannot be read: {why}")]
    Nonsense {
        /// Why it does not.
        why: String,
    },
}

fn quoted(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!(", saying `{said}`") }
}

/// Lets a program do some work as a child with these variables, and ends it where it takes longer than
/// that. The child may run wherever this process may.
pub fn ask(
    program: &Path,
    work: ChildWork,
    variables: &[(&str, String)],
    limit: Duration,
    stop: &Stop,
) -> Result<Answered, Failed> {
    if stop.asked() {
        return Err(Failed::Interrupted);
    }
    let mut command = Command::new(program);
    command.arg("worker").process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for (name, _) in std::env::vars_os() {
        if RUNTIMES.iter().any(|runtime| name.to_string_lossy().starts_with(runtime)) {
            command.env_remove(name);
        }
    }
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    let not_started =
        |source| Failed::NotStarted { program: program.display().to_string(), source };
    let mut group = ProcessGroup(command.spawn().map_err(not_started)?);
    let order = Order { parent: std::process::id(), work };
    let mut line = serde_json::to_string(&order).expect("BUG: an order is numbers and strings");
    line.push('\n');
    if let Some(mut input) = group.0.stdin.take() {
        // Who has ended reads nothing; how it ended is said below.
        drop(input.write_all(line.as_bytes()));
    }
    let begun = Instant::now();
    let mut pause = Duration::from_micros(500);
    while !sys::process::has_ended(&group.0).map_err(not_started)? {
        if stop.asked() {
            return Err(Failed::Interrupted);
        }
        if begun.elapsed() > limit {
            return Err(Failed::TookTooLong { limit });
        }
        std::thread::sleep(pause);
        pause = LOOK_EVERY.min(pause * 2);
    }
    group.answered(not_started)
}

/// A child and all that it started. They are killed when this goes.
struct ProcessGroup(Child);

impl ProcessGroup {
    fn answered(&mut self, not_read: impl Fn(io::Error) -> Failed) -> Result<Answered, Failed> {
        // Whatever it left running would keep the pipes open.
        sys::process::kill_group(&self.0).map_err(&not_read)?;
        let status = self.0.wait().map_err(&not_read)?;
        let (stdout, stderr) = (read(self.0.stdout.take()), read(self.0.stderr.take()));
        let (printed, said) = (stdout.map_err(&not_read)?, stderr.map_err(&not_read)?);
        if !status.success() || printed.is_empty() {
            let last = said.lines().rev().find(|line| !line.trim().is_empty());
            let said = last.unwrap_or_default().trim().to_owned();
            return Err(Failed::Ended { status: status.to_string(), said });
        }
        let answer = serde_json::from_str(&printed);
        let answer = answer.map_err(|error| Failed::Nonsense { why: error.to_string() })?;
        Ok(Answered { answer, said })
    }
}

fn read(pipe: Option<impl Read>) -> io::Result<String> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        pipe.take(SAID_MAX).read_to_end(&mut bytes)?;
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        // A child that was waited for has led its last group.
        if let Ok(None) | Err(_) = self.0.try_wait() {
            drop(sys::process::kill_group(&self.0));
            drop(self.0.wait());
        }
    }
}
