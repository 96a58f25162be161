//! How memory is populated: by firmware's tables, which root may read, else by what EDAC shows to everybody.

use std::collections::BTreeSet;

use firmware::{Channel, MemoryTable, Population};
use model::page::si;
use model::record::{FactValue, MemoryChannel, channels_in_brief};
use model::{AS_ROOT, Obstacle, Reading, Unavailable, Unit};
use simulated::files::missing;

use super::edac::Edac;
use super::platform::{ON_THE_HOST, hidden_from_guest, is_contained, no_file};
use crate::facts::fact_cache::Survey;
use crate::facts::fact_table::{FactRow, number, row, text};

#[rustfmt::skip]
pub(super) const ROWS: &[FactRow] = &[
    row("memory.dimms", "DIMMs", |s| either(s, |it| Ok(it.text()), |edac| Some(edac.text()))),
    row("memory.slots_empty", "Empty memory slots", slots_empty),
    row("memory.channels", "Memory channels", channels),
    row("memory.speed", "Memory speed", |s| rate(s, population(s, |it| Ok(it.configured())))),
    row("memory.speed_rated", "Rated memory speed", |s| rate(s, population(s, |it| Ok(it.rated())))),
    row("memory.ecc", "Memory error correction", correction),
    row("memory.disputed", "Disputed memory", |s| disputed(s).map(text)),
];

/// The structures of SMBIOS.
///
/// # Source
/// The kernel's `Documentation/ABI/testing/sysfs-firmware-dmi-tables`.
const TABLES: &str = "/sys/firmware/dmi/tables/DMI";

/// What SMBIOS says of this machine's slots.
pub(crate) fn memory_table(survey: &Survey<'_>) -> Reading<MemoryTable> {
    // What its table describes is what the hypervisor lends.
    if survey.is_guest() {
        return Err(hidden_from_guest(survey, "DIMMs"));
    }
    let bytes = survey.tree.bytes(TABLES).map_err(|reason| match reason {
        _ if reason != missing(TABLES) => reason,
        _ if is_contained(survey.tree.as_ref()) => {
            let why = "the container hides firmware's tables";
            Unavailable::new(Obstacle::Permission, "DIMMs", why).with_remedy(ON_THE_HOST)
        }
        _ => no_file(survey, "firmware has no SMBIOS, or the kernel does not show it", TABLES),
    })?;
    let table = MemoryTable::parse(&bytes);
    match Population::of(&table) {
        None => {
            let why = format!("`{TABLES}` lists no memory device");
            Err(Unavailable::new(Obstacle::Hardware, "DIMMs", why))
        }
        Some(population) if population.is_invented() => {
            let why = "a hypervisor says here what it lends, and nothing of the slots below it";
            Err(Unavailable::new(Obstacle::Permission, "DIMMs", why).with_remedy(ON_THE_HOST))
        }
        Some(_) => Ok(table),
    }
}

/// What SMBIOS says, else EDAC, else why SMBIOS does not.
fn either(
    survey: &Survey<'_>,
    by_firmware: impl Fn(&Population<'_>) -> Reading<String>,
    by_edac: impl Fn(&Edac) -> Option<String>,
) -> Reading<FactValue> {
    let reason = match population(survey, &by_firmware) {
        Ok(said) => return Ok(text(said)),
        Err(reason) => reason,
    };
    survey.edac().ok().and_then(by_edac).map(text).ok_or(reason)
}

fn population<T>(survey: &Survey<'_>, say: impl Fn(&Population<'_>) -> Reading<T>) -> Reading<T> {
    let table = survey.memory_table()?;
    say(&Population::of(table).ok_or_else(|| unsaid("slots"))?)
}

fn unsaid(what: &str) -> Unavailable {
    Unavailable::new(Obstacle::Hardware, what, format!("firmware does not say it of its {what}"))
}

fn slots_empty(survey: &Survey<'_>) -> Reading<FactValue> {
    population(survey, |it| Ok(number(it.empty_slots() as f64, Unit::Count)))
        .map_err(|reason| beside_edac(survey, reason))
}

fn rate(survey: &Survey<'_>, transfers: Reading<Option<u64>>) -> Reading<FactValue> {
    let transfers = transfers.map_err(|reason| beside_edac(survey, reason))?;
    let transfers = transfers.ok_or_else(|| unsaid("devices"))?;
    Ok(number(transfers as f64, Unit::TransferPerSecond))
}

/// Where EDAC is there, too: it says neither.
fn beside_edac(survey: &Survey<'_>, mut reason: Unavailable) -> Unavailable {
    if survey.edac().is_ok() && reason.remedy.as_deref() == Some(AS_ROOT) {
        reason
            .why
            .push_str(", and EDAC says neither which slots are empty nor what filled ones run at");
    }
    reason
}

/// The channels, as far as firmware's names of slots say which there are.
pub(crate) fn memory_channels(survey: &Survey<'_>) -> Reading<Vec<MemoryChannel>> {
    let topology = survey.topology();
    let packages: BTreeSet<u32> = topology.cpus.iter().map(|place| place.package).collect();
    population(survey, |it| {
        let channels = firmware::channels(it.devices(), packages.len());
        let channels =
            channels.map_err(|why| Unavailable::new(Obstacle::Hardware, "channels", why))?;
        Ok(channels.iter().map(|channel| recorded(channel, &packages)).collect())
    })
}

fn recorded(channel: &Channel<'_>, packages: &BTreeSet<u32>) -> MemoryChannel {
    let package = |index: u32| packages.iter().nth(index as usize).copied();
    MemoryChannel {
        package: channel.package.and_then(package),
        name: channel.name.to_owned(),
        slots: channel.devices.len() as u32,
        filled: channel.filled() as u32,
        width_bits: channel.width_bits(),
        transfers_per_second: channel.configured().map(|rate| rate as f64),
        rated_per_second: channel.rated().map(|rate| rate as f64),
    }
}

fn channels(survey: &Survey<'_>) -> Reading<FactValue> {
    let reason = match survey.memory_channels() {
        Ok(channels) => return Ok(text(channels_in_brief(channels))),
        Err(reason) => reason,
    };
    survey.edac().ok().and_then(Edac::channels).map(text).ok_or(reason)
}

fn correction(survey: &Survey<'_>) -> Reading<FactValue> {
    let by_firmware = || {
        let corrections = survey.memory_table()?.corrections();
        let names: Vec<&str> = corrections.iter().filter_map(|it| it.name()).collect();
        if names.is_empty() { Err(unsaid("arrays")) } else { Ok(names.join(", ")) }
    };
    let reason = match by_firmware() {
        Ok(said) => return Ok(text(said)),
        Err(reason) => reason,
    };
    let mode = survey.edac().ok().map(Edac::mode).filter(|mode| !mode.is_empty());
    mode.map(text).ok_or(reason)
}

/// Where EDAC has other memory than firmware lists; `none` also where one of them says nothing of its size.
fn disputed(survey: &Survey<'_>) -> Reading<String> {
    let (listed, slots) = population(survey, |it| Ok((it.bytes(), it.text())))?;
    let edac = survey.edac()?;
    Ok(match listed {
        Some(listed) if listed != edac.bytes() => format!(
            "firmware lists {slots}, and EDAC {} with {} together",
            edac.count(),
            si::format(edac.bytes() as f64, Unit::Byte)
        ),
        _ => "none".to_owned(),
    })
}
