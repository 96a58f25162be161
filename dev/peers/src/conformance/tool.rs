//! The unmodified reference tool: fetched as a package of Debian, unpacked, compiled, executed under our
//! preload library.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use sst::compat::Tool;

use crate::built;

/// Where the tool is in the kernel's sources, and the headers that it includes.
const SOURCES: &str = "tools/power/x86/intel-speed-select";
const HEADERS: [&str; 2] = ["include/uapi/linux/isst_if.h", "include/uapi/linux/thermal.h"];

/// Where Debian has the headers of the library of generic netlink.
const NETLINK_HEADERS: &str = "/usr/include/libnl3";

/// The file that calls name with `-o`.
pub(super) const RESULTS: &str = "results";

/// What is executed.
pub(super) struct Built {
    pub(super) tool: &'static Tool,
    program: PathBuf,
}

/// The preload library.
pub(super) struct Shim(PathBuf);

/// What a program printed, and how it ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) stdout: String,
    pub(super) stderr: String,
    /// What it wrote to the file of `-o`.
    pub(super) file: String,
    pub(super) code: i32,
    /// How many ioctls it took.
    pub(super) ioctls: usize,
    /// What differs afterwards from the machine as it came, a line each: firmware and files.
    pub(super) state: Vec<String>,
}

/// What a state file of a simulated machine holds, a line each.
pub(super) fn state(file: &Path) -> anyhow::Result<Vec<String>> {
    state_of(&std::fs::read_to_string(file).context("the state of the machine is lost")?)
}

/// What such a text holds, a line each.
pub(super) fn state_of(text: &str) -> anyhow::Result<Vec<String>> {
    let all: serde_json::Value = serde_json::from_str(text).context("the state is no JSON")?;
    let lines = |part: &str| {
        let part = all.get(part).and_then(serde_json::Value::as_object);
        let lines = part.into_iter().flatten().map(|(key, value)| format!("{key} = {value}"));
        lines.collect::<Vec<_>>()
    };
    let mut lines: Vec<String> = ["firmware", "files"].into_iter().flat_map(lines).collect();
    lines.sort();
    Ok(lines)
}

impl Shim {
    /// Builds it.
    pub(super) fn build() -> anyhow::Result<Shim> {
        built::shim().map(Shim)
    }

    /// The same, as fast as it can be.
    pub(super) fn build_release() -> anyhow::Result<Shim> {
        built::release_shim().map(Shim)
    }

    /// Beside what cargo builds; it outlasts a change of profile.
    fn folder(&self) -> anyhow::Result<PathBuf> {
        let target =
            self.0.ancestors().nth(2).context("BUG: the library is in no target folder")?;
        Ok(target.join("conformance"))
    }
}

impl Built {
    /// The tool, from an earlier call or from its package.
    pub(super) fn new(shim: &Shim, tool: &'static Tool) -> anyhow::Result<Built> {
        let folder = shim.folder()?.join(tool.kernel);
        let program = folder.join("intel-speed-select");
        if !program.exists() {
            std::fs::create_dir_all(&folder)
                .with_context(|| format!("cannot make `{}`", folder.display()))?;
            let package = format!("linux-source-{}", tool.kernel);
            unpack(&folder, &package)?;
            compile(&folder, &folder.join(&package), &program)?;
        }
        Ok(Built { tool, program })
    }

    /// Calls it on a simulated machine.
    pub(super) fn run(
        &self,
        shim: &Shim,
        machine: &str,
        arguments: &[String],
        folder: &Path,
    ) -> anyhow::Result<Run> {
        let output = Command::new(&self.program)
            .args(arguments)
            .current_dir(folder)
            .env("LD_PRELOAD", &shim.0)
            .env("CPUDYNO_SHIM_MACHINE", machine)
            .env("CPUDYNO_SHIM_FOLDER", folder)
            .env("CPUDYNO_SHIM_CPUID", "1")
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("cannot run `{}`", self.program.display()))?;
        let ioctls = std::fs::read_to_string(folder.join("ioctls")).unwrap_or_default();
        // The name that it was called by is in some of its messages.
        let name = self.program.display().to_string();
        let text =
            |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(&name, "intel-speed-select");
        Ok(Run {
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
            file: std::fs::read_to_string(folder.join(RESULTS)).unwrap_or_default(),
            code: output.status.code().unwrap_or(-1),
            ioctls: ioctls.lines().count(),
            state: state(&folder.join("state")).unwrap_or_default(),
        })
    }
}

/// The few files that are needed of a package with the whole kernel.
fn unpack(folder: &Path, package: &str) -> anyhow::Result<()> {
    println!("fetching {package}: a package of some 150 MB, once");
    quiet(folder, &["apt-get", "download", package])?;
    let is_package = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with(&format!("{package}_"))
    };
    let mut files = std::fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path()));
    let file = files.find(is_package).with_context(|| format!("{package} was not fetched"))?;
    let wanted: Vec<String> = HEADERS
        .iter()
        .map(|header| format!("{package}/{header}"))
        .chain([format!("{package}/{SOURCES}")])
        .collect();
    let script = format!(
        "set -o pipefail; dpkg-deb --fsys-tarfile '{}' | tar -xO ./usr/src/{package}.tar.xz | \
         tar -xJ {}",
        file.display(),
        wanted.join(" ")
    );
    quiet(folder, &["bash", "-c", &script])?;
    std::fs::remove_file(&file).with_context(|| format!("cannot remove `{}`", file.display()))
}

/// By hand: its own way of building needs more of the kernel.
fn compile(folder: &Path, sources: &Path, program: &Path) -> anyhow::Result<()> {
    let includes = folder.join("include/linux");
    std::fs::create_dir_all(&includes)?;
    for header in HEADERS {
        let name = Path::new(header).file_name().context("BUG: a header has a name")?;
        std::fs::copy(sources.join(header), includes.join(name))?;
    }
    let mut files: Vec<String> = std::fs::read_dir(sources.join(SOURCES))?
        .filter_map(|entry| Some(entry.ok()?.path().display().to_string()))
        .filter(|path| Path::new(path).extension().is_some_and(|extension| extension == "c"))
        .collect();
    files.sort();
    let include = format!("-I{}", folder.join("include").display());
    let netlink = format!("-I{NETLINK_HEADERS}");
    let (program, flags) = (program.display().to_string(), ["-O2", "-w", "-D_GNU_SOURCE"]);
    let mut words = vec!["gcc"];
    words.extend(flags);
    words.extend([include.as_str(), &netlink, "-o", &program]);
    words.extend(files.iter().map(String::as_str));
    words.extend(["-lnl-genl-3", "-lnl-3"]);
    quiet(folder, &words)
}

/// Runs a program whose output matters only when it fails.
fn quiet(folder: &Path, words: &[&str]) -> anyhow::Result<()> {
    let output = Command::new(words[0])
        .args(&words[1..])
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run `{}`", words[0]))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.trim().lines().last().unwrap_or("no message").to_owned();
        bail!("`{}` failed: {last}", words[..words.len().min(3)].join(" "));
    }
    Ok(())
}
