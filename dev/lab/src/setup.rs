//! What a guest boots: kernel, libraries and small tools from packages, the product as cargo builds it.
//!
//! Packages of either architecture come through an apt with lists and state of its own and are only unpacked: the
//! machine gains neither a package nor a foreign architecture.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use crate::initramfs::{Modules, Tree};
use crate::machine::{Arch, Release};

/// What guests need beside the kernel: a shell and its tools, a way to become a plain user, and the libraries of
/// the product and of what its workers load.
const PACKAGES: &[&str] =
    &["busybox-static", "util-linux", "libc6", "libgcc-s1", "libgomp1", "libcap-ng0"];

const LIBRARIES: &[&str] = &[
    "libc.so.6",
    "libm.so.6",
    "libdl.so.2",
    "libpthread.so.0",
    "librt.so.1",
    "libgcc_s.so.1",
    "libgomp.so.1",
    "libcap-ng.so.0",
];

/// Drivers that are loaded at the start: those of the folder that is shared with the host.
const EARLY: &[&str] = &["virtio_pci", "9pnet_virtio", "9p"];
/// Drivers that tasks load.
const LATER: &[&str] = &["msr", "cpuid", "cppc_cpufreq", "arm_dsu_pmu", "virtio_balloon"];

const INIT: &str = include_str!("../guest/init.sh");

/// What QEMU is given to boot.
pub(crate) struct System {
    pub(crate) kernel: PathBuf,
    pub(crate) initramfs: PathBuf,
    /// What starts the kernel where a machine asks for it.
    pub(crate) firmware: Option<PathBuf>,
}

/// The folder of everything that the lab makes.
pub(crate) fn folder() -> PathBuf {
    xtask::cargo::root().join("target/lab")
}

/// Makes what guests of that architecture boot, or finds it made.
pub(crate) fn system(arch: Arch, release: Release, build: bool) -> anyhow::Result<System> {
    let mut folder = folder().join(arch.name());
    if release == Release::Backports {
        folder.push("backports");
    }
    let product = product(arch, build)?;
    let root = folder.join("root");
    let kernel = packages(arch, release, &folder, &root)?;
    let release = kernel.trim_start_matches("linux-image-");
    let initramfs = folder.join("initramfs");
    let tree = tree(arch, &root, release, &product)?;
    fs::write(&initramfs, tree.archive())
        .with_context(|| format!("cannot write `{}`", initramfs.display()))?;
    let firmware = arch.firmware().map(|(_, file)| root.join(file));
    Ok(System { kernel: root.join(format!("boot/vmlinuz-{release}")), initramfs, firmware })
}

/// Builds the product, unless it shall be taken as it is, and says where it is.
fn product(arch: Arch, build: bool) -> anyhow::Result<PathBuf> {
    let mut line = "cargo build --release --locked --package cpudyno".to_owned();
    let mut path = xtask::cargo::root().join("target");
    let mut linker = None;
    if std::env::consts::ARCH != arch.name() {
        let target = format!("{}-unknown-linux-gnu", arch.name());
        let _ = write!(line, " --target {target}");
        path.push(&target);
        let variable = format!("CARGO_TARGET_{}_LINKER", target.replace('-', "_").to_uppercase());
        linker = Some((variable, format!("{}-linux-gnu-gcc", arch.name())));
    }
    let path = path.join("release/cpudyno");
    if !build {
        return Ok(path);
    }
    println!("$ {line}");
    let mut command = xtask::cargo::command(&line);
    command.env("CARGO_TARGET_DIR", xtask::cargo::root().join("target"));
    let linker = linker.filter(|(variable, _)| std::env::var_os(variable).is_none());
    let status = command.envs(linker).status().with_context(|| format!("cannot run `{line}`"))?;
    if !status.success() {
        bail!(
            "cannot build what {} machines boot: `{line}` failed\nhint: its errors stand above",
            arch.name()
        );
    }
    Ok(path)
}

/// Unpacks the packages below `root` and says which kernel is among them.
fn packages(arch: Arch, release: Release, folder: &Path, root: &Path) -> anyhow::Result<String> {
    let done = folder.join("unpacked");
    let names = PACKAGES.iter().copied().chain(arch.firmware().map(|(package, _)| package));
    let wanted = names.collect::<Vec<_>>().join(" ");
    let unpacked = fs::read_to_string(&done).unwrap_or_default();
    if let Some((kernel, packages)) = unpacked.split_once('\n')
        && packages == wanted
    {
        return Ok(kernel.to_owned());
    }
    let apt = Apt { arch, folder: folder.join("apt") };
    apt.update()?;
    if release == Release::Backports {
        apt.add_backports()?;
        apt.update()?;
    }
    let kernel = apt.kernel(release)?;
    let archives = folder.join("packages");
    for old in [&archives, &root.to_path_buf()] {
        if old.exists() {
            fs::remove_dir_all(old).with_context(|| format!("cannot empty `{}`", old.display()))?;
        }
        fs::create_dir_all(old).with_context(|| format!("cannot make `{}`", old.display()))?;
    }
    let mut download = apt.command("apt-get");
    download.arg("download").arg(&kernel).args(wanted.split(' ')).current_dir(&archives);
    run(&mut download, "fetch the guests' packages")?;
    for archive in fs::read_dir(&archives).context("cannot list the packages")? {
        let mut unpack = Command::new("dpkg-deb");
        run(unpack.arg("-x").arg(archive?.path()).arg(root), "unpack a guest's package")?;
    }
    fs::write(&done, format!("{kernel}\n{wanted}"))
        .with_context(|| format!("cannot write `{}`", done.display()))?;
    Ok(kernel)
}

/// An apt that knows nothing of this machine but where packages come from.
struct Apt {
    arch: Arch,
    folder: PathBuf,
}

impl Apt {
    fn command(&self, program: &str) -> Command {
        let folder = self.folder.display();
        let arch = self.arch.debian();
        let mut command = Command::new(program);
        for option in [
            format!("APT::Architecture={arch}"),
            format!("APT::Architectures={arch}"),
            format!("Dir::State::lists={folder}/lists"),
            format!("Dir::State::status={folder}/status"),
            format!("Dir::Cache={folder}/cache"),
            // The user of apt's sandbox need not be able to enter this folder.
            "APT::Sandbox::User=root".to_owned(),
            "Acquire::Languages=none".to_owned(),
        ] {
            command.arg("-o").arg(option);
        }
        let sources = self.sources();
        if sources.exists() {
            command.arg("-o").arg(format!("Dir::Etc::sourcelist={}", sources.display()));
        }
        command.arg("--quiet");
        command
    }

    /// This machine's sources of packages and one more, where one was added.
    fn sources(&self) -> PathBuf {
        self.folder.join("sources.list")
    }

    fn update(&self) -> anyhow::Result<()> {
        for folder in ["lists/partial", "cache/archives/partial"] {
            let folder = self.folder.join(folder);
            fs::create_dir_all(&folder)
                .with_context(|| format!("cannot make `{}`", folder.display()))?;
        }
        fs::write(self.folder.join("status"), "").context("cannot begin a state for apt")?;
        run(self.command("apt-get").arg("update"), "fetch lists of packages")
    }

    /// Lets packages come from the backports of this release, too, where the release itself comes from.
    fn add_backports(&self) -> anyhow::Result<()> {
        const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
        let release = fs::read_to_string("/etc/os-release").context("cannot read the release")?;
        let name = release.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
        let name =
            name.context("`/etc/os-release` names no release\nhint: kernels are Debian's")?;
        let from = self.asked(
            "apt-get",
            &["indextargets", "--format", "$(RELEASE) $(REPO_URI)", "Created-By: Packages"],
        )?;
        let of_name = |line: &str| Some(line.strip_prefix(name)?.strip_prefix(' ')?.to_owned());
        let place = from.lines().find_map(of_name).with_context(|| {
            format!("no source of apt is of `{name}`\nhint: `apt-get indextargets` lists them")
        })?;
        let known = fs::read_to_string("/etc/apt/sources.list").unwrap_or_default();
        let source = format!("{known}\ndeb [signed-by={KEYS}] {place} {name}-backports main\n");
        fs::write(self.sources(), source).context("cannot write a source of apt")
    }

    /// The package of the kernel that is the newest of that release.
    fn kernel(&self, release: Release) -> anyhow::Result<String> {
        let name = format!("linux-image-{}", self.arch.debian());
        let version = match release {
            Release::Stable => String::new(),
            Release::Backports => format!("={}", self.newest(&name)?),
        };
        let text =
            self.asked("apt-cache", &["show", "--no-all-versions", &format!("{name}{version}")])?;
        let depends = text.lines().find_map(|line| line.strip_prefix("Depends: "));
        depends
            .and_then(|all| all.split([',', ' ']).find(|name| name.starts_with("linux-image-")))
            .map(str::to_owned)
            .with_context(|| {
                format!("no package `{name}` names a kernel\nhint: kernels are Debian's")
            })
    }

    /// The highest version of a package, wherever it comes from.
    fn newest(&self, name: &str) -> anyhow::Result<String> {
        let text = self.asked("apt-cache", &["madison", name])?;
        let versions = text.lines().filter_map(|line| line.split('|').nth(1));
        let first = versions.map(str::trim).next();
        first.map(str::to_owned).with_context(|| format!("there is no package `{name}`"))
    }

    /// What such a command answers.
    fn asked(&self, program: &str, arguments: &[&str]) -> anyhow::Result<String> {
        let output = self
            .command(program)
            .args(arguments)
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("cannot run `{program}`"))?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// Runs a command whose output is of interest only where it fails.
fn run(command: &mut Command, what: &str) -> anyhow::Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output =
        command.output().with_context(|| format!("cannot {what}: cannot run `{program}`"))?;
    if !output.status.success() {
        let says = String::from_utf8_lossy(&output.stderr);
        bail!("cannot {what}: `{program}` failed: {}", says.trim());
    }
    Ok(())
}

/// The files of a guest.
fn tree(arch: Arch, root: &Path, release: &str, product: &Path) -> anyhow::Result<Tree> {
    let mut tree = Tree::default();
    for folder in
        ["proc", "sys", "dev", "tmp", "run", "host", "root", "sbin", "var/lib", "usr/sbin"]
    {
        tree.folder(folder);
    }
    tree.script("init", INIT);
    tree.program("bin/busybox", &root.join("bin/busybox"))?;
    tree.program("usr/bin/setpriv", &root.join("usr/bin/setpriv"))?;
    tree.program("usr/local/bin/cpudyno", product)?;
    tree.file("etc/passwd", "root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/tmp:/bin/sh\n");
    tree.file("etc/group", "root:x:0:\nuser:x:1000:\n");
    let triple = format!("{}-linux-gnu", arch.name());
    for library in LIBRARIES {
        let places = [format!("lib/{triple}"), format!("usr/lib/{triple}")];
        let place =
            places.iter().map(|place| root.join(place).join(library)).find(|path| path.exists());
        let place = place.with_context(|| format!("no package holds `{library}`"))?;
        tree.program(&format!("lib/{triple}/{library}"), &place)?;
    }
    // The loader's path is part of every program; in the package it may lead out of its root.
    let (loader, name) = match arch {
        Arch::X86 => ("lib64/ld-linux-x86-64.so.2", "ld-linux-x86-64.so.2"),
        Arch::Arm => ("lib/ld-linux-aarch64.so.1", "ld-linux-aarch64.so.1"),
    };
    tree.program(loader, &root.join(format!("lib/{triple}")).join(name))?;
    let modules = Modules::below(&root.join("lib/modules").join(release))?;
    for (when, names) in [("early", EARLY), ("later", LATER)] {
        let mut order = String::new();
        for (name, content) in modules.with_needs(names)? {
            let path = format!("lib/modules/{name}.ko");
            tree.file(&path, content);
            let _ = writeln!(order, "/{path}");
        }
        tree.file(&format!("lib/modules/{when}"), order);
    }
    Ok(tree)
}
