//! The compiler: which one, and what it is told.

use std::path::PathBuf;
use std::time::Duration;

use super::StreamRequest;
use super::child::{self, Children};
use super::error::{Error, Quote};
use super::source::Text;

/// Compilers, the first that is there is taken.
const USUAL: &[&str] = &["gcc", "cc", "clang"];
/// The benchmark compiles in a second.
const LIMIT: Duration = Duration::from_mins(2);
/// Above it, code of the small model cannot reach all static arrays (System V ABI for x86-64, 3.5.1).
const SMALL_MODEL_BYTES_MAX: u64 = 1 << 31;

/// A C compiler.
pub(super) struct Compiler {
    /// As people call it.
    pub(super) name: String,
    /// The first line of what it says of itself.
    pub(super) version: String,
    program: PathBuf,
}

impl Compiler {
    /// The one that was asked for, or the first of the usual ones.
    pub(super) fn find(asked: Option<&str>, children: &Children<'_>) -> Result<Compiler, Error> {
        let (name, program) = match asked {
            Some(name) => (name, named(name, children)?),
            None => usual(children)?,
        };
        let mut command = children.command(&program);
        command.arg("--version");
        let finished = children.finish(command, name, LIMIT)?;
        let printed = Quote::of(&String::from_utf8_lossy(&finished.stdout));
        let version = printed.lines().first().filter(|_| finished.status.success());
        let version = version.cloned().ok_or_else(|| Error::Compiler {
            name: name.to_owned(),
            why: format!("it does not answer `--version` ({})", finished.status),
        })?;
        Ok(Compiler { name: name.to_owned(), version, program })
    }

    /// Compiles the source, and tells where the program is.
    pub(super) fn compile(
        &self,
        source: &Text,
        flags: &[String],
        children: &Children<'_>,
    ) -> Result<PathBuf, Error> {
        // A copy: what is compiled is what was read, and looked at.
        std::fs::write(children.folder.join("stream.c"), &source.bytes)
            .map_err(child::in_folder)?;
        let mut command = children.command(&self.program);
        // It must not leave files elsewhere when it is killed.
        command.env("TMPDIR", children.folder).args(flags).args(["stream.c", "-o", "stream"]);
        let finished = children.finish(command, &self.name, LIMIT)?;
        let program = children.folder.join("stream");
        if finished.status.success() && child::is_program(&program) {
            return Ok(program);
        }
        Err(Error::NotCompiled {
            origin: source.origin.clone(),
            compiler: self.name.clone(),
            status: finished.status.to_string(),
            messages: Quote::of(&finished.stderr),
        })
    }
}

/// The first of the usual ones that is there.
fn usual(children: &Children<'_>) -> Result<(&'static str, PathBuf), Error> {
    let found = USUAL.iter().find_map(|name| Some((*name, children.find(name)?)));
    found.ok_or_else(|| Error::NoCompiler { looked_for: USUAL.join(", ") })
}

/// The compiler of that name, or at that path.
fn named(name: &str, children: &Children<'_>) -> Result<PathBuf, Error> {
    let fail = |why: &str| Error::Compiler { name: name.to_owned(), why: why.to_owned() };
    if !name.contains('/') {
        return children.find(name).ok_or_else(|| fail("there is no such program"));
    }
    let path = std::path::absolute(name).map_err(|_| fail("it is no path"))?;
    match path.metadata() {
        Err(error) => Err(fail(&sys::errno::words(&error))),
        Ok(_) if !child::is_program(&path) => Err(fail("it is no program")),
        Ok(_) => Ok(path),
    }
}

/// What the compiler is told. OpenMP is there for one thread as well, because its runtime pins it.
pub(super) fn flags(request: &StreamRequest) -> Vec<String> {
    let large = request.total_bytes().is_none_or(|bytes| bytes > SMALL_MODEL_BYTES_MAX);
    let model = (cfg!(target_arch = "x86_64") && large).then(|| "-mcmodel=medium".to_owned());
    let always = ["-O3", "-march=native", "-fopenmp"].map(str::to_owned);
    let sizes = [
        format!("-DSTREAM_ARRAY_SIZE={}", request.array_elements),
        format!("-DNTIMES={}", request.repetitions),
    ];
    always.into_iter().chain(model).chain(sizes).collect()
}
