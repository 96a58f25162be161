//! Files below a folder: `/` for the machine that this process runs on, any other one for
//! `--root`.
//!
//! Whatever lies there, reading ends: only regular files are opened, so that no pipe can keep us
//! waiting, and both texts and lists of names have a longest size. Below a folder other than `/`,
//! links lead to where they would lead if the folder were the root; none leads out of it.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use model::{Obstacle, Reading, Unavailable};
use simulated::files::missing;

use crate::ports::Tree;

/// The longest text that is read. `/proc/cpuinfo` of 8,192 CPUs has 12 MiB.
pub const TEXT_BYTES_MAX: u64 = 32 << 20;

/// The most names in a folder. The kernel knows at most 8,192 CPUs.
const NAMES_MAX: usize = 65_536;

/// The most links on one path, as in the kernel (path_resolution(7)).
const LINKS_MAX: usize = 40;

/// The file systems in which a kernel shows itself, each with what is always in it, and its kind: where
/// one of them is not mounted, no file that is missing there says anything of the kernel.
const KERNELS_OWN: [(&str, &str, &str); 2] =
    [("/sys/", "/sys/devices", "sysfs"), ("/proc/", "/proc/self", "proc")];

fn not_mounted(path: &str, root: &str, kind: &str) -> Unavailable {
    let root = root.trim_end_matches('/');
    let why = format!("`{root}` is not mounted, or not shown to this process");
    Unavailable::new(Obstacle::Permission, format!("`{path}`"), why)
        .with_remedy(format!("`sudo mount -t {kind} {kind} {root}`"))
}

/// Files below a folder.
pub(crate) struct Folder {
    root: Option<Root>,
    /// Whether a running kernel shows its files here, where it shows any.
    live: bool,
}

/// A folder whose links are resolved within it.
struct Root {
    path: PathBuf,
    /// Folders that were resolved: by the path asked for, where they are below the root.
    folders: Mutex<HashMap<PathBuf, PathBuf>>,
}

impl Folder {
    /// The files of the machine that this process runs on.
    pub(crate) fn real() -> Folder {
        Folder { root: None, live: true }
    }

    /// The files below a folder.
    pub(crate) fn below(path: PathBuf) -> Folder {
        Folder { root: Some(Root { path, folders: Mutex::default() }), live: false }
    }

    /// The same, as those of a running machine.
    #[cfg(test)]
    pub(crate) fn live_below(path: PathBuf) -> Folder {
        Folder { live: true, ..Folder::below(path) }
    }

    /// What is said of a path that did not open.
    fn refused(&self, path: &str, error: &io::Error) -> Unavailable {
        let is_absent =
            matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
        let unmounted = || {
            let (root, shown, kind) =
                KERNELS_OWN.iter().find(|(root, ..)| path.starts_with(root))?;
            let is_shown = self.locate(shown).is_ok_and(|place| place.exists());
            (!is_shown).then(|| not_mounted(path, root, kind))
        };
        let unmounted = if self.live && is_absent { unmounted() } else { None };
        unmounted.unwrap_or_else(|| refusal(path, error))
    }

    /// Where a path of the machine lies on this one.
    pub(crate) fn locate(&self, path: &str) -> io::Result<PathBuf> {
        match &self.root {
            None => Ok(PathBuf::from(path)),
            Some(root) => Ok(root.path.join(root.resolve(Path::new(path))?)),
        }
    }
}

impl Tree for Folder {
    fn read(&self, path: &str) -> Reading<String> {
        let bytes = self.bytes(path)?;
        Ok(String::from_utf8_lossy(&bytes).trim_end_matches('\n').into())
    }

    fn bytes(&self, path: &str) -> Reading<Vec<u8>> {
        let place = self.locate(path).and_then(|place| contents(&place));
        place.map_err(|error| self.refused(path, &error))
    }

    fn list(&self, path: &str) -> Reading<Vec<String>> {
        let names = self
            .locate(path)
            .and_then(|place| names(&place))
            .map_err(|e| self.refused(path, &e))?;
        let mut names: Vec<String> =
            names.into_iter().map(|name| name.to_string_lossy().into_owned()).collect();
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }
}

impl Root {
    /// The path below the root that remains when all links are followed; without a leading `/`.
    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        let mut links = 0;
        self.resolve_counted(path, &mut links)
    }

    fn resolve_counted(&self, path: &Path, links: &mut usize) -> io::Result<PathBuf> {
        let mut resolved = PathBuf::new();
        for component in path.components() {
            match component {
                // Above the root is the root.
                Component::ParentDir => drop(resolved.pop()),
                Component::Normal(name) => {
                    let next = resolved.join(name);
                    resolved = self.follow(next, links)?;
                }
                Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
            }
        }
        Ok(resolved)
    }

    /// What is known stays right if a thread dies beside it.
    fn known(&self) -> MutexGuard<'_, HashMap<PathBuf, PathBuf>> {
        self.folders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `path` itself, or where it leads if it is a link. Everything above it is resolved.
    fn follow(&self, path: PathBuf, links: &mut usize) -> io::Result<PathBuf> {
        if let Some(known) = self.known().get(&path) {
            return Ok(known.clone());
        }
        let place = self.path.join(&path);
        let kind = fs::symlink_metadata(&place)?.file_type();
        let resolved = if kind.is_symlink() {
            *links += 1;
            if *links > LINKS_MAX {
                return Err(io::Error::other("its symbolic links form a loop"));
            }
            let target = fs::read_link(&place)?;
            let from = if target.is_absolute() { Path::new("") } else { above(&path) };
            self.resolve_counted(&from.join(strip(&target)), links)?
        } else {
            path.clone()
        };
        // Files are asked for once; folders again and again.
        if !kind.is_file() {
            self.known().insert(path, resolved.clone());
        }
        Ok(resolved)
    }
}

fn above(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

fn strip(target: &Path) -> &Path {
    target.strip_prefix("/").unwrap_or(target)
}

/// The bytes of a regular file, where they are not too many.
pub fn contents(place: &Path) -> io::Result<Vec<u8>> {
    let kind = fs::metadata(place)?;
    if kind.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    if !kind.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut bytes = Vec::new();
    File::open(place)?.take(TEXT_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > TEXT_BYTES_MAX {
        return Err(io::Error::other("it is longer than 32 MiB"));
    }
    Ok(bytes)
}

fn names(place: &Path) -> io::Result<Vec<OsString>> {
    let entries = fs::read_dir(place)?.take(NAMES_MAX + 1);
    let names = entries.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?;
    if names.len() > NAMES_MAX {
        return Err(io::Error::other("it holds more than 65536 names"));
    }
    Ok(names)
}

fn refusal(path: &str, error: &io::Error) -> Unavailable {
    let what = format!("`{path}`");
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => missing(path),
        io::ErrorKind::PermissionDenied => {
            let why = format!("this user may not read `{path}`");
            Unavailable::new(Obstacle::Permission, what, why).with_remedy("run as root")
        }
        io::ErrorKind::IsADirectory => {
            Unavailable::new(Obstacle::Hardware, what, format!("`{path}` is a folder"))
        }
        _ => {
            let why = format!("reading `{path}` failed: {error}");
            Unavailable::new(Obstacle::Hardware, what, why)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use model::Known;
    use simulated::Files;

    use super::*;
    use crate::ports::Machine;

    fn tree() -> (tempfile::TempDir, Folder) {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("root");
        fs::create_dir_all(below.join("sys/cpu0")).unwrap();
        fs::write(below.join("sys/cpu0/online"), "1\n").unwrap();
        fs::write(folder.path().join("secret"), "outside").unwrap();
        let tree = Folder::below(below);
        (folder, tree)
    }

    #[test]
    fn links_stay_below_the_folder() {
        let (folder, tree) = tree();
        let link = |target: &str, name: &str| {
            symlink(target, folder.path().join("root").join(name)).unwrap();
        };
        link("/sys/cpu0", "absolute");
        link("../../../../sys/cpu0/online", "sys/upwards");
        link("../secret", "secret");
        link(folder.path().join("secret").to_str().unwrap(), "sys/secret");
        link("absolute", "twice");
        assert_eq!(tree.read("/absolute/online").as_deref(), Ok("1"));
        assert_eq!(tree.read("/sys/upwards").as_deref(), Ok("1"));
        assert_eq!(tree.read("/twice/../cpu0/online").as_deref(), Ok("1"));
        assert_eq!(tree.list("/twice").unwrap(), ["online"]);
        for path in ["/secret", "/sys/secret", "/../secret", "/sys/../../secret"] {
            assert!(tree.read(path).is_err(), "{path}");
        }
    }

    #[test]
    fn circles_end_with_a_reason() {
        let (folder, tree) = tree();
        let root = folder.path().join("root");
        symlink("b", root.join("a")).unwrap();
        symlink("a", root.join("b")).unwrap();
        symlink("deeper/deeper", root.join("deeper")).unwrap();
        symlink(".", root.join("sys/here")).unwrap();
        for path in ["/a", "/a/file", "/deeper"] {
            let reason = tree.read(path).unwrap_err();
            assert!(reason.why.ends_with("form a loop"), "{reason:?}");
            assert!(tree.list(path).is_err());
        }
        assert_eq!(tree.read("/sys/here/here/here/cpu0/online").as_deref(), Ok("1"));
    }

    #[test]
    fn only_regular_files_of_a_bounded_size_are_read() {
        let (folder, tree) = tree();
        let root = folder.path().join("root");
        let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
        symlink("/dev/zero", root.join("zero")).unwrap();
        let long = File::create(root.join("long")).unwrap();
        long.set_len(TEXT_BYTES_MAX + 1).unwrap();
        fs::write(root.join("latin1"), b"caf\xe9\n").unwrap();
        let why = |path: &str| tree.read(path).unwrap_err().why;
        assert_eq!(why("/socket"), "reading `/socket` failed: it is no regular file");
        assert_eq!(why("/zero"), "there is no `/zero` here");
        assert_eq!(why("/long"), "reading `/long` failed: it is longer than 32 MiB");
        assert_eq!(why("/sys"), "`/sys` is a folder");
        assert!(tree.read("/sys/\0").is_err());
        assert_eq!(tree.read("/latin1").as_deref(), Ok("caf\u{fffd}"));
    }

    #[test]
    fn devices_of_the_real_machine_are_not_read_either() {
        let real = Folder::real();
        assert_eq!(real.read("/dev/zero").unwrap_err().obstacle, Obstacle::Hardware);
        assert!(real.read("/proc/self/status").is_ok());
        assert!(real.list("/proc/self").unwrap().contains(&"status".to_owned()));
    }

    #[test]
    fn where_the_kernel_shows_nothing_no_file_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let path = || folder.path().to_owned();
        let told = |tree: &Folder, path: &str| tree.read(path).unwrap_err();
        let copied = told(&Folder::below(path()), "/sys/kernel/mm/x");
        assert_eq!(copied, missing("/sys/kernel/mm/x"));
        let live = Folder::live_below(path());
        for (file, remedy) in [
            ("/sys/kernel/mm/x", "`sudo mount -t sysfs sysfs /sys`"),
            ("/proc/cpuinfo", "`sudo mount -t proc proc /proc`"),
        ] {
            let reason = told(&live, file);
            assert_eq!(reason.obstacle, Obstacle::Permission, "{reason:?}");
            assert_eq!(reason.remedy.as_deref(), Some(remedy));
        }
        assert_eq!(told(&live, "/etc/x"), missing("/etc/x"));
        fs::create_dir_all(folder.path().join("sys/devices")).unwrap();
        assert_eq!(told(&live, "/sys/kernel/mm/x"), missing("/sys/kernel/mm/x"));
    }

    /// What a machine says of itself whose `/sys` is not mounted: no option of the kernel is to blame.
    #[test]
    fn without_sys_no_option_of_the_kernel_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("proc/self")).unwrap();
        fs::write(folder.path().join("proc/cpuinfo"), "cpu family : 6\nflags : fpu\n").unwrap();
        for (file, text) in [
            ("sys/kernel/nmi_watchdog", "0"),
            ("sys/kernel/numa_balancing", "0"),
            ("sys/kernel/sched_itmt_enabled", "0"),
            ("sys/kernel/sched_schedstats", "0"),
            ("sys/vm/nr_hugepages", "0"),
            ("sys/vm/swappiness", "60"),
            ("sys/vm/zone_reclaim_mode", "0"),
            ("modules", ""),
        ] {
            let path = folder.path().join("proc").join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let tree = Box::new(Folder::live_below(folder.path().to_owned()));
        let machine = Machine { tree, ..crate::tests::machine_of(Files::default(), "0") };
        let facts = crate::facts::machine(&machine).facts;
        let all = facts.into_iter().chain(crate::conditions::read(&machine));
        for fact in all.chain(crate::doctor::capabilities(&machine)) {
            let Known::No { unavailable } = &fact.value else { continue };
            let told = format!("{} {:?}", unavailable.why, unavailable.remedy);
            assert!(!told.contains("built without") && !told.contains("CONFIG_"), "{fact:?}");
        }
    }
}
