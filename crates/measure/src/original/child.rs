//! Programs of others, under supervision.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rig::executor::Stop;

use super::error::Error;

/// What a program may print: a report of STREAM has 2 KiB, its source 20.
const OUTPUT_BYTES_MAX: u64 = 1 << 20;
/// Longest time between two looks at a child. A look takes microseconds, which the benchmark does not
/// notice at this distance.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How programs are started here.
#[derive(Clone, Copy)]
pub(super) struct Children<'a> {
    /// Where they run and leave their files.
    pub(super) folder: &'a Path,
    /// Where programs are found.
    pub(super) search_path: &'a OsStr,
    /// Ends them.
    pub(super) stop: &'a Stop,
}

/// A program that has ended.
pub(super) struct Finished {
    pub(super) status: ExitStatus,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: String,
}

impl Children<'_> {
    /// The program of that name. Relative folders of the search path would be other ones in the
    /// folder where it runs.
    pub(super) fn find(&self, name: &str) -> Option<PathBuf> {
        let folders = std::env::split_paths(self.search_path).filter(|folder| folder.is_absolute());
        folders.map(|folder| folder.join(name)).find(|path| is_program(path))
    }

    /// A command of that program, in the folder, with messages in English and numbers with points.
    pub(super) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.folder).env("PATH", self.search_path).env("LC_ALL", "C");
        command
    }

    /// Executes it to its end. Its output goes to files without a name: with pipes, somebody would
    /// have to read them while the benchmark runs.
    pub(super) fn finish(
        &self,
        mut command: Command,
        name: &str,
        limit: Duration,
    ) -> Result<Finished, Error> {
        let file = || tempfile::tempfile_in(self.folder).map_err(in_folder);
        let outputs = [file()?, file()?];
        for (output, name) in outputs.iter().zip([Command::stdout, Command::stderr]) {
            name(&mut command, Stdio::from(output.try_clone().map_err(in_folder)?));
        }
        if self.stop.asked() {
            return Err(Error::Interrupted);
        }
        // Whoever ends this process at once leaves no benchmark running.
        sys::process::die_with_parent(&mut command);
        let begun = Instant::now();
        let child = command.stdin(Stdio::null()).process_group(0).spawn();
        let started = |source| Error::NotStarted { program: name.to_owned(), source };
        let group = ChildGroup(child.map_err(started)?);
        let mut pause = Duration::from_millis(1);
        while !sys::process::has_ended(&group.0).map_err(started)? {
            let printed = outputs.iter().map(|file| file.metadata().map_or(0, |it| it.len()));
            if self.stop.asked() {
                return Err(Error::Interrupted);
            }
            if printed.max() > Some(OUTPUT_BYTES_MAX) {
                return Err(too_much(name));
            }
            if begun.elapsed() > limit {
                return Err(Error::TookTooLong { program: name.to_owned(), limit });
            }
            std::thread::sleep(pause);
            pause = LOOK_EVERY.min(pause * 2);
        }
        let status = group.end().map_err(started)?;
        let [stdout, stderr] = outputs.map(|file| read(file, name));
        let stderr = String::from_utf8_lossy(&stderr?).into_owned();
        Ok(Finished { status, stdout: stdout?, stderr })
    }
}

/// Whether this process may execute it.
pub(super) fn is_program(path: &Path) -> bool {
    let executable = |of: std::fs::Metadata| of.is_file() && of.permissions().mode() & 0o111 != 0;
    path.metadata().is_ok_and(executable)
}

pub(super) fn in_folder(source: io::Error) -> Error {
    Error::TemporaryFile { source }
}

fn too_much(name: &str) -> Error {
    Error::PrintedTooMuch { program: name.to_owned(), limit_bytes: OUTPUT_BYTES_MAX }
}

/// What a program has printed.
fn read(mut file: File, name: &str) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    file.rewind().map_err(in_folder)?;
    file.take(OUTPUT_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(in_folder)?;
    if bytes.len() as u64 > OUTPUT_BYTES_MAX { Err(too_much(name)) } else { Ok(bytes) }
}

/// A child and all that it started. They are killed when this goes.
struct ChildGroup(Child);

impl ChildGroup {
    /// How the child ended. What it left running is killed.
    fn end(mut self) -> io::Result<ExitStatus> {
        sys::process::kill_group(&self.0)?;
        self.0.wait()
    }
}

impl Drop for ChildGroup {
    fn drop(&mut self) {
        // A child that was waited for has led its last group.
        if let Ok(None) | Err(_) = self.0.try_wait() {
            drop(sys::process::kill_group(&self.0));
            drop(self.0.wait());
        }
    }
}
