//! What a release is built with, besides what checks need.

use xtask::cargo;
use xtask::needs::{self, Install, Need, Probe};

/// The command that installs all of it.
const INSTALL_COMMAND: &str = "cargo xtask dist --install";

/// What checks need, too.
const SHARED: &[&str] = &["aarch64", "cc", "maturin", "nfpm", "mdbook"];

/// What is needed to pack what cargo builds for this machine.
const QUICK: &[&str] = &["cc", "nfpm", "readelf", "git"];

/// The rest.
const NEEDS: &[Need] = &[
    Need {
        id: "musl",
        purpose: "the standard library for static programs",
        probe: Probe::PrintsFolder(
            "rustc --print target-libdir --target x86_64-unknown-linux-musl",
        ),
        install: Install::RustupTarget("x86_64-unknown-linux-musl"),
    },
    Need {
        id: "musl-aarch64",
        purpose: "the standard library for static programs of the other architecture",
        probe: Probe::PrintsFolder(
            "rustc --print target-libdir --target aarch64-unknown-linux-musl",
        ),
        install: Install::RustupTarget("aarch64-unknown-linux-musl"),
    },
    Need {
        id: "zigbuild",
        purpose: "links programs for an old glibc, and for other architectures",
        probe: Probe::Runs("cargo-zigbuild --version"),
        install: Install::Wheel { package: "cargo-zigbuild", version: "0.24.1" },
    },
    Need {
        id: "zig",
        purpose: "is the linker of that",
        probe: Probe::Runs("target/tools/ziglang/zig version"),
        install: Install::Wheel { package: "ziglang", version: "0.17.1" },
    },
    Need {
        id: "readelf",
        purpose: "reads what programs need of the system that they are started on",
        probe: Probe::Runs("readelf --version"),
        install: Install::Apt("binutils"),
    },
    Need {
        id: "git",
        purpose: "packs the source, and says when it was committed",
        probe: Probe::Runs("git --version"),
        install: Install::Apt("git"),
    },
    Need {
        id: "cargo-auditable",
        purpose: "leaves the list of dependencies in programs",
        probe: Probe::Runs("cargo auditable --version"),
        install: Install::Crate { package: "cargo-auditable", version: "0.7.7", features: "" },
    },
    Need {
        id: "cargo-cyclonedx",
        purpose: "writes the bill of materials",
        probe: Probe::Runs("cargo cyclonedx --version"),
        install: Install::Crate { package: "cargo-cyclonedx", version: "0.5.9", features: "" },
    },
    Need {
        id: "cargo-about",
        purpose: "gathers the licences of dependencies",
        probe: Probe::Runs("cargo about --version"),
        install: Install::Crate { package: "cargo-about", version: "0.9.3", features: "cli" },
    },
];

/// What is missing of it, in words, after it was installed if that is asked for.
pub(super) fn missing(quick: bool, test: bool, install: bool) -> anyhow::Result<Option<String>> {
    let is_wanted = |need: &&Need| {
        let is_built_with = if quick { QUICK.contains(&need.id) } else { is_of_release(need.id) };
        is_built_with || (test && needs::PACKAGES.contains(&need.id))
    };
    let all: Vec<_> = needs::NEEDS.iter().chain(NEEDS).filter(is_wanted).collect();
    let missing = needs::missing(&all, install)?;
    if install {
        // What is built afterwards needs no network.
        cargo::done(
            &mut cargo::command("cargo fetch --locked"),
            "a copy of what programs are made of",
        )?;
    }
    let hint = if install {
        "hint: they were installed just now and still cannot be run; see PATH".to_owned()
    } else {
        format!("hint: run `{INSTALL_COMMAND}`")
    };
    let named = || {
        format!("cannot build a release, tools are missing:\n{}\n{hint}", needs::describe(&missing))
    };
    Ok((!missing.is_empty()).then(named))
}

fn is_of_release(id: &str) -> bool {
    SHARED.contains(&id) || NEEDS.iter().any(|need| need.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_names_of_their_own_and_shared_ones_exist() {
        for need in NEEDS {
            assert!(!need.purpose.is_empty() && !need.probe.command().is_empty(), "{}", need.id);
            assert_eq!(NEEDS.iter().filter(|other| other.id == need.id).count(), 1, "{}", need.id);
            assert!(needs::NEEDS.iter().all(|other| other.id != need.id), "{}", need.id);
        }
        for id in SHARED.iter().chain(needs::PACKAGES) {
            assert!(needs::NEEDS.iter().any(|need| need.id == *id), "{id}");
        }
        for id in QUICK {
            assert!(is_of_release(id), "{id}");
        }
    }
}
