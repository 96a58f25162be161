//! `cpudyno pmu events update`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use machine::Machine;
use pmu::events::{Maker, lists};

use super::{kept, target};
use crate::args::PmuUpdateArgs;
use crate::failure::{Failure, code};
use crate::output;

/// The file that says which lists are of which CPU.
const MAP: &str = "mapfile.csv";

pub(super) fn run(machine: &Machine, args: &PmuUpdateArgs) -> Result<ExitCode, Failure> {
    let target = target(machine, &args.cpu)?;
    let cpu = target.cpu().map_err(|reason| {
        Failure::new(code::NOT_HERE, format!("cannot tell which CPU this is: {}", reason.why))
            .hint("name it: --cpu skylake-x")
    })?;
    if cpu.maker() != Maker::Intel {
        let why = format!("cannot fetch lists for {cpu}: perfmon has those of Intel's CPUs");
        return Err(Failure::new(code::NOT_HERE, why).hint(
            "copy the lists of tools/perf/pmu-events of Linux, or of ARM-software/data, and name \
             them: --event-dir DIR",
        ));
    }
    let folder = args.cpu.event_dir.clone().or_else(kept).ok_or_else(|| {
        Failure::new(code::NOT_HERE, "cannot keep lists: there is no HOME")
            .hint("name a folder: --event-dir DIR")
    })?;
    let map = fetch(&args.from, MAP, &folder)?;
    let text = fs::read_to_string(&map).map_err(|error| unwritable(&map, &error))?;
    let lists = lists(&text, cpu);
    if lists.is_empty() {
        let why = format!("cannot fetch lists for {cpu}: `{MAP}` names none");
        return Err(Failure::new(code::NOT_HERE, why)
            .hint("the kernel's own names and libpfm4 are left: `cpudyno pmu list`"));
    }
    for list in &lists {
        fetch(&args.from, list.trim_start_matches('/'), &folder)?;
    }
    let count = lists.len();
    output::data(&format!("{count} lists of {cpu} in `{}`\n", folder.display()))?;
    Ok(ExitCode::SUCCESS)
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    let why = sys::errno::words(error);
    Failure::new(code::NOT_HERE, format!("cannot write `{}`: {why}", path.display()))
        .hint("name another folder: --event-dir DIR")
}

/// A file below that address, into the same place below the folder, whole or not at all.
fn fetch(from: &str, file: &str, folder: &Path) -> Result<PathBuf, Failure> {
    // The list of lists is somebody else's.
    let is_below = file.split('/').all(|part| !part.is_empty() && part != ".." && part != ".");
    if !is_below {
        return Err(Failure::new(code::NOT_HERE, format!("cannot fetch `{file}`: no such path")));
    }
    let path = folder.join(file);
    let parent = path.parent().unwrap_or(folder);
    fs::create_dir_all(parent).map_err(|error| unwritable(parent, &error))?;
    let part =
        tempfile::NamedTempFile::new_in(parent).map_err(|error| unwritable(parent, &error))?;
    let url = format!("{}/{file}", from.trim_end_matches('/'));
    let said = Command::new("curl")
        .args(["--fail", "--location", "--silent", "--show-error", "--max-time", "60", "--output"])
        .arg(part.path())
        .arg(&url)
        .stdin(Stdio::null())
        .output();
    let by_hand = || {
        let (to, url) = (path.display(), url.replace('\'', "'\\''"));
        format!("fetch it elsewhere: curl --fail --location --create-dirs --output {to} '{url}'")
    };
    let why = match said {
        Ok(output) if output.status.success() => {
            return match part.persist(&path) {
                Ok(_) => Ok(path),
                Err(error) => Err(unwritable(&path, &error.error)),
            };
        }
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => format!("cannot run `curl`: {}", sys::errno::words(&error)),
    };
    Err(Failure::new(code::NOT_HERE, format!("cannot fetch `{url}`: {why}")).hint(by_hand()))
}
