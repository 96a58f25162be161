//! Which answers the simulated machine gives.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};

use libc::c_int;
use machine::Machine;
use simulated::firmware::SimulatedIsst;
use simulated::{Model, Writer};
#[cfg(target_arch = "x86_64")]
use sys::cpuid::Leaf;
use sys::errno::{EINVAL, EIO, ENOENT, EROFS};
use sys::isst::Request;

/// The most bytes that a structure may have: 64 entries of the longest kind.
pub(crate) const BYTES_MAX: usize = 4096;

/// The machine that is served.
pub(crate) struct Served {
    machine: Machine,
    isst: SimulatedIsst,
    writer: Writer,
    /// For what the program keeps.
    folder: PathBuf,
    /// A line for each ioctl; where the folder is not there, nobody counts.
    ioctls: Option<File>,
}

/// What is opened instead.
pub(crate) enum Opened {
    /// A file of the simulated machine, at its beginning.
    Content(File),
    /// One that is written to, and its path.
    Setting(File, String),
    /// Another file.
    Other(PathBuf),
}

thread_local! {
    static SERVED: Option<Served> = Served::new();
    /// The descriptors of files of the machine that are open to be written, and their paths.
    static SETTINGS: RefCell<HashMap<c_int, String>> = RefCell::default();
}

/// Notes that a descriptor is that of a file of the machine.
pub(crate) fn note_setting(descriptor: c_int, path: String) {
    let _ = SETTINGS.try_with(|all| all.borrow_mut().insert(descriptor, path));
}

/// Forgets it.
pub(crate) fn forget_setting(descriptor: c_int) {
    let _ = SETTINGS.try_with(|all| all.try_borrow_mut().map(|mut all| all.remove(&descriptor)));
}

/// Writes a text to a file of the machine, as its kernel takes it; `None`: it is another file.
pub(crate) fn set(descriptor: c_int, text: &[u8]) -> Option<Result<(), i32>> {
    let path = SETTINGS.try_with(|all| all.try_borrow().ok()?.get(&descriptor).cloned());
    let path = path.ok().flatten()?;
    with(|served| {
        let text = std::str::from_utf8(text).map_err(|_| EINVAL)?;
        // The kernel takes one end of a line, and nothing behind it.
        let text = text.strip_suffix('\n').unwrap_or(text);
        let written = served.writer.write(&path, text);
        written.map_err(|error| error.raw_os_error().unwrap_or(EIO))
    })
}

/// The first words of paths that are the machine's, and not this one's.
const OURS: [&str; 3] = ["/sys/", "/proc/cpuinfo", "/dev/cpu/"];
/// What the program keeps between two runs.
const KEPT: [&str; 1] = ["/var/run/isst_cpu_topology.dat"];

/// What becomes of a path of the machine; `None`: it is not one, or nothing is served.
pub(crate) fn served<T>(path: &Path, answer: impl FnOnce(&Served) -> T) -> Option<T> {
    let path = path.to_str()?;
    let is_ours = path == machine::isst::DEVICE
        || OURS.iter().chain(&KEPT).any(|prefix| path.starts_with(prefix));
    if is_ours { with(answer) } else { None }
}

/// `None`: nothing is served, or not yet.
fn with<T>(answer: impl FnOnce(&Served) -> T) -> Option<T> {
    SERVED.try_with(|served| served.as_ref().map(answer)).ok().flatten()
}

/// Whether anything is served.
pub(crate) fn is_on() -> bool {
    with(|_| ()).is_some()
}

/// Whether the program is root on that machine.
pub(crate) fn is_root() -> Option<bool> {
    with(|served| served.isst.opens() != Err(sys::errno::EACCES))
}

/// CPUID of that machine.
#[cfg(target_arch = "x86_64")]
pub(crate) fn leaves() -> Option<[(u32, Leaf); 3]> {
    const NONE: Leaf = Leaf { eax: 0, ebx: 0, ecx: 0, edx: 0 };
    with(|served| [0, 1, 6].map(|leaf| (leaf, served.machine.cpuid.leaf(leaf, 0).unwrap_or(NONE))))
}

/// One ioctl of the driver.
pub(crate) fn call(request: Request, argument: &mut [u8]) -> Result<u32, i32> {
    with(|served| {
        served.note(request);
        served.isst.call(request, argument)
    })
    .unwrap_or(Err(EIO))
}

impl Served {
    /// What the environment names; a machine that is not there serves nothing.
    fn new() -> Option<Served> {
        let name = std::env::var("CPUDYNO_SHIM_MACHINE").ok()?;
        let folder = PathBuf::from(std::env::var_os("CPUDYNO_SHIM_FOLDER")?);
        let model = Model::named(name.strip_prefix("sim:")?).ok()?;
        let ioctls = File::options().append(true).create(true).open(folder.join("ioctls")).ok();
        let (isst, writer) = (SimulatedIsst::new(&model), Writer::new(&model));
        Some(Served { isst, writer, machine: model.into(), folder, ioctls })
    }

    fn note(&self, request: Request) {
        if let Some(mut file) = self.ioctls.as_ref() {
            let _ = writeln!(file, "{}", request.number);
        }
    }

    /// Where a path of the program's own lies.
    fn kept(&self, path: &str) -> Option<PathBuf> {
        KEPT.contains(&path).then(|| self.folder.join(path.replace('/', "-").trim_matches('-')))
    }

    pub(crate) fn open(&self, path: &Path, access: c_int) -> Result<Opened, i32> {
        let path = path.to_str().ok_or(ENOENT)?;
        if path == machine::isst::DEVICE {
            return self.isst.opens().map(|()| Opened::Other("/dev/null".into()));
        }
        if let Some(path) = self.kept(path) {
            return Ok(Opened::Other(path));
        }
        let text = self.machine.tree.read(path).map_err(|_| ENOENT)?;
        if access != libc::O_RDONLY {
            let permitted = self.writer.permits(path);
            permitted.map_err(|error| error.raw_os_error().unwrap_or(EROFS))?;
            let file = content("").map_err(|_| EIO)?;
            return Ok(Opened::Setting(file, path.to_owned()));
        }
        content(&text).map(Opened::Content).map_err(|_| EIO)
    }

    /// A folder with entries of the same names. That of a CPU is only looked for, and there are many:
    /// another one stands for it.
    pub(crate) fn list(&self, path: &Path) -> Result<PathBuf, i32> {
        let path = path.to_str().ok_or(ENOENT)?;
        let names = self.machine.tree.list(path).unwrap_or_default();
        if names.is_empty() {
            return Err(ENOENT);
        }
        let cpu = path.strip_prefix("/sys/devices/system/cpu/cpu");
        if cpu.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit())) {
            return Ok(self.folder.clone());
        }
        let folder = self.folder.join("listed");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).map_err(|_| EIO)?;
        let made = names.iter().try_for_each(|name| File::create(folder.join(name)).map(drop));
        made.map(|()| folder).map_err(|_| EIO)
    }

    /// What may be removed instead of this path.
    pub(crate) fn removable(&self, path: &Path) -> Result<PathBuf, i32> {
        path.to_str().and_then(|path| self.kept(path)).ok_or(EROFS)
    }
}

/// A file without a name, as the kernel ends its own.
fn content(text: &str) -> std::io::Result<File> {
    let mut file = crate::next::nameless()?;
    writeln!(file, "{text}")?;
    file.rewind()?;
    Ok(file)
}
