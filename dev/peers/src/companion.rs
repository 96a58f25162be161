//! A C program of our own that stays beside a benchmark and answers one line for each request.

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, bail};

/// What compiles them.
const COMPILER: &str = "gcc";

/// Compiles a source, named from the repository's root.
pub(crate) fn compile(source: &str, options: &str, binary: &Path) -> anyhow::Result<()> {
    compile_by(COMPILER, options, &xtask::cargo::root().join(source), binary)
}

/// The same by another compiler.
pub(crate) fn compile_by(
    compiler: &str,
    options: &str,
    source: &Path,
    binary: &Path,
) -> anyhow::Result<()> {
    let line = format!("{compiler} {options} {}", source.display());
    let status =
        Command::new(compiler).args(options.split(' ')).arg(source).arg("-o").arg(binary).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => bail!("`{line}` failed ({status})\nhint: its messages stand above"),
        Err(error) if error.kind() == ErrorKind::NotFound => bail!(
            "cannot compile `{}`: there is no `{compiler}`\n\
             hint: apt-get install -y --no-install-recommends gcc libc6-dev",
            source.display()
        ),
        Err(error) => Err(error).with_context(|| format!("cannot run `{line}`")),
    }
}

/// The program at work.
pub(crate) struct Companion {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Companion {
    /// Starts it. It may run where this thread may.
    pub(crate) fn start(binary: &Path, arguments: &[String]) -> anyhow::Result<Companion> {
        let mut child = Command::new(binary)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot run the C program")?;
        let requests = child.stdin.take().context("BUG: no pipe to the C program")?;
        let answers = child.stdout.take().context("BUG: no pipe from the C program")?;
        Ok(Companion { child, requests, answers: BufReader::new(answers) })
    }

    /// One line of its output.
    pub(crate) fn answer(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        let bytes = self.answers.read_line(&mut line).context("cannot read from the C program")?;
        if bytes == 0 {
            let status = self.child.wait().context("cannot wait for the C program")?;
            bail!("the C program ended without an answer ({status})");
        }
        Ok(line.trim_end().to_owned())
    }

    /// Its answer to a request.
    pub(crate) fn ask(&mut self, request: &str) -> anyhow::Result<String> {
        writeln!(self.requests, "{request}").context("cannot write to the C program")?;
        self.answer()
    }

    /// Ends it.
    pub(crate) fn stop(self) -> anyhow::Result<()> {
        let Companion { mut child, requests, .. } = self;
        drop(requests);
        let status = child.wait().context("cannot wait for the C program")?;
        if !status.success() {
            bail!("the C program failed ({status})");
        }
        Ok(())
    }
}
