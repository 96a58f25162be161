//! Filled slots and memory errors, as the kernel's EDAC drivers show them to everybody.
//!
//! # Source
//! The kernel's `Documentation/ABI/testing/sysfs-devices-edac` and `Documentation/admin-guide/RAS/main.rst`: slots that are
//! empty have no folder, and a controller without a filled slot may have none; drivers of AMD list ranks instead of DIMMs.

use std::collections::{BTreeMap, BTreeSet};

use model::growth::Places;
use model::page::{si, tally};
use model::{Obstacle, Reading, Unavailable, Unit};

use crate::facts::fact_cache::Survey;
use crate::facts::hidden_from_guest;
use crate::parse::{first_number, or_empty};
use crate::ports::Machine;

const CONTROLLERS: &str = "/sys/devices/system/edac/mc";

/// What a controller says of the memory behind it.
#[derive(Debug, Clone)]
pub(crate) struct Edac {
    modules: Vec<Module>,
    /// How many channels its controllers have, where all of them say it.
    channels: Option<usize>,
}

/// A DIMM, or a rank of one.
#[derive(Debug, Clone)]
struct Module {
    /// Its controller, and its channel there.
    channel: Option<(String, u32)>,
    bytes: u64,
    kind: String,
    mode: String,
    is_rank: bool,
}

/// Folders below one that begin so and end in a number.
fn numbered(machine: &Machine, folder: &str, starts: &[&str]) -> Reading<Vec<String>> {
    let mut names = or_empty(folder, machine.tree.list(folder))?;
    let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit());
    names.retain(|name| starts.iter().any(|it| name.strip_prefix(it).is_some_and(is_number)));
    Ok(names)
}

/// The controllers' folders.
fn controllers(machine: &Machine) -> Reading<Vec<String>> {
    let names = numbered(machine, CONTROLLERS, &["mc"])?;
    if names.is_empty() {
        let why = "no EDAC driver of the kernel knows these memory controllers, or none is loaded";
        return Err(Unavailable::new(Obstacle::Hardware, "EDAC", why));
    }
    Ok(names.iter().map(|name| format!("{CONTROLLERS}/{name}")).collect())
}

fn modules_of(machine: &Machine, controller: &str) -> Reading<Vec<String>> {
    let names = numbered(machine, controller, &["dimm", "rank"])?;
    Ok(names.iter().map(|name| format!("{controller}/{name}")).collect())
}

/// The number behind a word: `channel 1 slot 0`.
fn after(text: &str, word: &str) -> Option<u32> {
    let mut words = text.split_whitespace().skip_while(|it| *it != word);
    words.nth(1)?.parse().ok()
}

pub(crate) fn edac(survey: &Survey<'_>) -> Reading<Edac> {
    let machine: &Machine = survey;
    let (mut modules, mut channels) = (Vec::new(), Some(0));
    for controller in controllers(machine)? {
        for path in modules_of(machine, &controller)? {
            modules.push(module(machine, &controller, &path)?);
        }
        let last = machine.tree.read(&format!("{controller}/max_location")).ok();
        let last = last.and_then(|last| after(&last, "channel"));
        channels = channels.zip(last).map(|(sum, last): (usize, u32)| sum + last as usize + 1);
    }
    if modules.is_empty() {
        let why = "the kernel's EDAC driver lists no memory behind its controllers";
        return Err(Unavailable::new(Obstacle::Hardware, "EDAC", why));
    }
    Ok(Edac { modules, channels })
}

fn module(machine: &Machine, controller: &str, path: &str) -> Reading<Module> {
    /// More than 52 bits of an address reach.
    const MEBIBYTES_MAX: f64 = (1_u64 << 32) as f64;
    let size = format!("{path}/size");
    let mebibytes = first_number(&size, &machine.tree.read(&size)?)?.clamp(0.0, MEBIBYTES_MAX);
    let text = |file: &str| machine.tree.read(&format!("{path}/{file}")).unwrap_or_default();
    let channel = after(&text("dimm_location"), "channel");
    Ok(Module {
        channel: channel.map(|channel| (controller.to_owned(), channel)),
        bytes: (mebibytes as u64) << 20,
        kind: text("dimm_mem_type"),
        mode: text("dimm_edac_mode"),
        is_rank: path.rsplit('/').next().is_some_and(|name| name.starts_with("rank")),
    })
}

impl Edac {
    /// What its modules hold together.
    pub(crate) fn bytes(&self) -> u64 {
        self.modules.iter().fold(0, |sum, module| sum.saturating_add(module.bytes))
    }

    /// `16 DIMMs` or `32 ranks`.
    pub(crate) fn count(&self) -> String {
        let are_ranks = self.modules.iter().any(|module| module.is_rank);
        tally(self.modules.len(), if are_ranks { "rank" } else { "DIMM" })
    }

    /// `16 DIMMs by EDAC: 16 x 32 GiB Registered-DDR5`.
    pub(super) fn text(&self) -> String {
        let mut kinds: BTreeMap<(u64, &str), usize> = BTreeMap::new();
        for module in &self.modules {
            *kinds.entry((module.bytes, &module.kind)).or_default() += 1;
        }
        let kind = |((bytes, kind), count): (&(u64, &str), &usize)| {
            format!("{count} x {} {kind}", si::format(*bytes as f64, Unit::Byte))
        };
        let kinds: Vec<String> = kinds.iter().rev().map(kind).collect();
        format!("{} by EDAC: {}", self.count(), kinds.join("; "))
    }

    /// `16 of 16 by EDAC`: of the controllers that it lists.
    pub(super) fn channels(&self) -> Option<String> {
        let channels: Option<BTreeSet<&(String, u32)>> =
            self.modules.iter().map(|module| module.channel.as_ref()).collect();
        let (filled, all) = (channels?.len(), self.channels?);
        (filled <= all).then(|| format!("{filled} of {all} by EDAC"))
    }

    /// How errors are found and mended, in the driver's words.
    pub(super) fn mode(&self) -> String {
        let modes: BTreeSet<&str> = self.modules.iter().map(|it| it.mode.as_str()).collect();
        let named = modes.into_iter().filter(|mode| !mode.is_empty());
        named.map(|mode| if mode == "None" { "none" } else { mode }).collect::<Vec<_>>().join(", ")
    }
}

/// Errors since the driver was loaded: `ce` are corrected, `ue` are not. A place is a DIMM by the name that the driver or
/// somebody here gave it, or a controller that knows no better.
pub(crate) fn errors(machine: &Machine, kind: &str) -> Reading<Places> {
    let controllers = controllers(machine).map_err(|reason| match reason.obstacle {
        Obstacle::Hardware if crate::facts::is_guest(machine) => {
            hidden_from_guest(machine, "memory errors")
        }
        _ => reason,
    })?;
    let count = |path: String| first_number(&path, &machine.tree.read(&path)?);
    let mut places = Places::new();
    for controller in controllers {
        let name = controller.rsplit('/').next().unwrap_or_default();
        let modules = modules_of(machine, &controller)?;
        let of_module = |path: &String| {
            let label = machine.tree.read(&format!("{path}/dimm_label")).unwrap_or_default();
            let module = path.rsplit('/').next().unwrap_or_default();
            let label = label.trim();
            let place =
                if label.is_empty() { format!("{name} {module}") } else { label.to_owned() };
            Ok((place, count(format!("{path}/dimm_{kind}_count"))?))
        };
        let by_module: Reading<Vec<(String, f64)>> = modules.iter().map(of_module).collect();
        let (mut counts, rest) = match by_module {
            Ok(counts) if !counts.is_empty() => (counts, format!("{kind}_noinfo_count")),
            _ => (Vec::new(), format!("{kind}_count")),
        };
        counts.push((name.to_owned(), count(format!("{controller}/{rest}"))?));
        for (place, count) in counts {
            *places.entry(place).or_default() += count;
        }
    }
    Ok(places)
}
