//! The original STREAM benchmark, as somebody else wrote it: fetched or read, compiled, executed, and
//! its report understood.
//!
//! Three programs that are not ours run here: `curl`, a C compiler and the benchmark. Each is the
//! leader of a group of processes, has a time limit and a limit for what it prints, and is killed with
//! its group when the run is interrupted. All files are in one temporary folder, which is removed
//! however the run ends.

mod child;
mod compile;
mod error;
mod execute;
mod report;
mod source;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use model::CpuId;

pub use error::{Error, Quote};
pub use report::{Function, Rate, Report, Validation};
pub use source::{Sha256, Sha256Error, StreamSource};

use child::Children;
use rig::executor::Stop;

/// What is compiled, and how it is executed.
#[derive(Debug, Clone)]
pub struct StreamRequest {
    /// Where the source is.
    pub source: StreamSource,
    /// What the source must be, to the bit.
    pub sha256: Option<Sha256>,
    /// The compiler's name or path; otherwise the first of gcc, cc, clang that is there.
    pub compiler: Option<String>,
    /// One thread is pinned to each, in this order.
    pub cpus: Vec<CpuId>,
    /// Elements of each of the three arrays, 8 bytes each. That they fit into memory is for the
    /// caller to see to.
    pub array_elements: u64,
    /// How often each function is executed; the first time is not in the report.
    pub repetitions: u32,
    /// How long the benchmark itself may take.
    pub time_limit: Duration,
    /// What it finds around it.
    pub surroundings: BuildEnvironment,
}

/// Where programs are found and files are made.
#[derive(Debug, Clone)]
pub struct BuildEnvironment {
    /// Folders of programs, as in `PATH`.
    pub search_path: OsString,
    /// Where the temporary folder is made.
    pub temporary: PathBuf,
}

impl BuildEnvironment {
    /// Those of this process.
    pub fn of_process() -> BuildEnvironment {
        let search_path = std::env::var_os("PATH").unwrap_or_default();
        BuildEnvironment { search_path, temporary: std::env::temp_dir() }
    }
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Original {
    /// What the source is, to the bit.
    pub sha256: Sha256,
    /// What the benchmark calls its revision, such as `5.10`: as it printed it, or else as its source
    /// has it.
    pub revision: Option<String>,
    /// The first line of what the compiler says of itself.
    pub compiler: String,
    /// What it was told.
    pub flags: Vec<String>,
    /// What the benchmark printed.
    pub report: Report,
    /// What it wrote to standard error; an OpenMP runtime complains there.
    pub remarks: Quote,
}

/// Arrays of the benchmark.
const ARRAYS: u64 = 3;
/// Bytes of an element, unless its source is changed.
const ELEMENT_BYTES: u64 = 8;

impl StreamRequest {
    /// Bytes of the three arrays together.
    pub fn total_bytes(&self) -> Option<u64> {
        self.array_elements.checked_mul(ARRAYS * ELEMENT_BYTES)
    }

    fn check(&self) -> Result<(), Error> {
        let refuse = |why: &str| Err(Error::Request { why: why.to_owned() });
        let mut cpus = self.cpus.clone();
        cpus.sort_unstable();
        cpus.dedup();
        if self.cpus.is_empty() {
            refuse("there is no CPU to run it on")
        } else if cpus.len() != self.cpus.len() {
            refuse("a CPU is named twice")
        } else if self.array_elements == 0 {
            refuse("arrays of 0 elements hold nothing")
        } else if self.total_bytes().is_none_or(|bytes| i64::try_from(bytes).is_err()) {
            refuse("no memory holds arrays of that length")
        } else if self.repetitions < 2 {
            refuse("it takes at least 2 repetitions, because the first is not counted")
        } else {
            Ok(())
        }
    }
}

/// What can be known of it before anything is compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// What the source is, to the bit; none where it has to be fetched.
    pub sha256: Option<Sha256>,
    /// What it calls its revision.
    pub revision: Option<String>,
    /// The first line of what the compiler says of itself.
    pub compiler: String,
    /// What it will be told.
    pub flags: Vec<String>,
}

/// Looks whether it could be compiled, without compiling or fetching anything.
pub fn check(request: &StreamRequest, stop: &Stop) -> Result<Checked, Error> {
    request.check()?;
    let folder = folder(request)?;
    let search_path = &request.surroundings.search_path;
    let children = Children { folder: folder.path(), search_path, stop };
    let text = match &request.source {
        StreamSource::Url(url) => {
            source::curl(url, &children)?;
            None
        }
        StreamSource::File(_) => {
            let text = source::Text::read(&request.source, &children)?;
            text.check(request.sha256)?;
            Some(text)
        }
    };
    let compiler = compile::Compiler::find(request.compiler.as_deref(), &children)?;
    Ok(Checked {
        sha256: text.as_ref().map(source::Text::sha256),
        revision: text.as_ref().and_then(source::Text::revision),
        compiler: compiler.version,
        flags: compile::flags(request),
    })
}

/// The temporary folder, which goes when it is dropped.
fn folder(request: &StreamRequest) -> Result<tempfile::TempDir, Error> {
    let temporary = &request.surroundings.temporary;
    let folder = tempfile::Builder::new().prefix("cpudyno-").tempdir_in(temporary);
    folder.map_err(|source| Error::Temporary { folder: temporary.display().to_string(), source })
}

/// Compiles and executes it. `progress` is told what is about to be done.
pub fn run(
    request: &StreamRequest,
    stop: &Stop,
    progress: &mut dyn FnMut(&str),
) -> Result<Original, Error> {
    request.check()?;
    let folder = folder(request)?;
    let search_path = &request.surroundings.search_path;
    let children = Children { folder: folder.path(), search_path, stop };
    if let StreamSource::Url(url) = &request.source {
        progress(&format!("fetching {url}"));
    }
    let text = source::Text::read(&request.source, &children)?;
    text.check(request.sha256)?;
    let compiler = compile::Compiler::find(request.compiler.as_deref(), &children)?;
    progress(&format!("compiling with {}", compiler.name));
    let flags = compile::flags(request);
    let program = compiler.compile(&text, &flags, &children)?;
    let threads = request.cpus.len();
    let plural = if threads == 1 { "" } else { "s" };
    progress(&format!("executing it with {threads} thread{plural}"));
    let (report, remarks) = execute::execute(&program, request, &children)?;
    Ok(Original {
        sha256: text.sha256(),
        revision: report.revision.clone().or_else(|| text.revision()),
        compiler: compiler.version,
        flags,
        report,
        remarks,
    })
}
