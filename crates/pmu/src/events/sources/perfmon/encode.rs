//! From an entry of a list to what perf_event_open(2) takes.

use machine::pmu::{Config, Pmu};
use model::{Obstacle, Unavailable};

use super::super::{Listed, kernel};
use super::json::{JsonEvent, flag, number};
use crate::events::cpu::Maker;
use crate::events::encoded::{CounterPlace, Encoded, EventScope, Source};
use crate::events::fields::{Fields, counters};
use crate::events::target::{CoreTypePmu, Target};

/// Appends the event, or why it is not one.
pub(super) fn event(
    target: &Target<'_>,
    core: &CoreTypePmu,
    event: &JsonEvent,
    listed: &mut Listed,
) {
    let name = event.name.as_deref().unwrap_or_default().to_ascii_lowercase();
    let of_type = event.core_type();
    if of_type.is_some() && core.of_type.is_some() && of_type != core.of_type {
        return;
    }
    let is_of_unit = |unit: &&str| !unit.eq_ignore_ascii_case("cpu") && of_type.is_none();
    let unit = event.unit.as_deref().filter(is_of_unit);
    let encoded = match unit {
        None => of_core(target, core, event, &name).map(|event| vec![event]),
        Some(unit) => of_unit(target, core, event, &name, unit),
    };
    match encoded {
        Ok(events) => listed.events.extend(events),
        Err(why) => {
            let what = format!("event `{name}` of perfmon");
            listed.missing.push(Unavailable::new(Obstacle::Cpudyno, what, why));
        }
    }
}

fn fields(event: &JsonEvent) -> Result<Fields, String> {
    Ok(Fields {
        event: number(event.code.as_ref())?,
        umask: number(event.umask.as_ref())?,
        cmask: number(event.counter_mask.as_ref())?,
        edge: flag(event.edge_detect.as_ref()),
        inv: flag(event.invert.as_ref()),
        any: flag(event.any_thread.as_ref()),
    })
}

fn of_core(
    target: &Target<'_>,
    core: &CoreTypePmu,
    event: &JsonEvent,
    name: &str,
) -> Result<Encoded, String> {
    let alone = event.counter_alone.as_ref().or(event.counter.as_ref()).map(String::as_str);
    let maker = core.maker();
    let mut written = fields(event)?;
    let more = number(event.umask_ext.as_ref())?;
    if more > 0xff {
        return Err("a field does not fit into its bits".to_owned());
    }
    written.umask |= more << 8;
    let mut place = place(maker, alone, written)?;
    let mut fields = written;
    if let CounterPlace::Fixed(counter) = place {
        fields = as_linux_knows_it(counter, name, fields)?;
        // Conditions are for general counters.
        if fields.any || fields.edge || fields.inv || fields.cmask > 0 {
            place = CounterPlace::General { counters: u64::MAX, takes: 1 };
        }
    }
    let config = fields.config(maker).ok_or("a field does not fit into its bits")?;
    let register = number(event.msr_index.as_ref())?;
    let value = number(event.msr_value.as_ref())?;
    let register = (register > 0).then_some(register as u32);
    let value = if register.is_some() { value } else { 0 };
    Ok(Encoded {
        kind: core.kind.as_ref().ok().copied(),
        config: [config[0], value, 0, 0],
        place,
        register,
        caveats: caveats(event, register),
        ..plain(event, target.name(core, name), core.pmu.clone())
    })
}

fn plain(event: &JsonEvent, name: String, pmu: String) -> Encoded {
    let description = event.brief_description.as_ref().or(event.public_description.as_ref());
    Encoded {
        name,
        pmu: Some(pmu),
        kind: None,
        config: Config::default(),
        by_mode: true,
        modes: None,
        scope: EventScope::Thread,
        place: CounterPlace::General { counters: u64::MAX, takes: 1 },
        register: None,
        source: Source::Perfmon,
        description: description.map(|text| text.trim().to_owned()),
        caveats: caveats(event, None),
    }
}

/// A fixed counter's event by the code for which Linux takes that counter: the lists name events of code
/// 0, of which older kernels know only those of unit masks 3 and 4.
///
/// # Source
/// Linux `arch/x86/events/intel/core.c`, the tables of constraints.
fn as_linux_knows_it(counter: u32, name: &str, written: Fields) -> Result<Fields, String> {
    let (event, umask) = match counter {
        // The precise one has its own code, which kernels know where the list has it.
        0 if name.ends_with(".prec_dist") => (written.event, written.umask),
        0 => (0xc0, 0),
        1 => (0x3c, 0),
        2 => (0, 3),
        3 => (0, 4),
        // Of version 6 of architectural monitoring: shares of the slots, each with a counter.
        4 => (0x73, 0),
        5 => (0x9c, 1),
        6 => (0xc2, 2),
        _ => return Err(format!("no code is known for fixed counter {counter}")),
    };
    Ok(Fields { event, umask, ..written })
}

/// `0,1,2,3`, `Fixed counter 0`; and what only one maker's counters do.
fn place(maker: Maker, counter: Option<&str>, fields: Fields) -> Result<CounterPlace, String> {
    let Some(text) = counter.filter(|_| maker != Maker::Amd) else {
        // Floating point operations of AMD come in greater numbers than one counter can add.
        let is_pair = maker == Maker::Amd && fields.event == 0x03;
        let (counters, takes) = if is_pair { (0b10101, 2) } else { (u64::MAX, 1) };
        return Ok(CounterPlace::General { counters, takes });
    };
    if let Some(number) = text.to_ascii_lowercase().strip_prefix("fixed counter ") {
        let number = number.trim().parse().map_err(|_| format!("no counter is `{text}`"))?;
        return Ok(CounterPlace::Fixed(number));
    }
    let counters = counters(text).ok_or_else(|| format!("no counters are `{text}`"))?;
    Ok(CounterPlace::General { counters, takes: 1 })
}

fn caveats(event: &JsonEvent, register: Option<u32>) -> Vec<String> {
    let mut caveats = Vec::new();
    let errata = event.errata.as_deref().map(str::trim);
    if let Some(errata) = errata.filter(|text| !["", "null", "0"].contains(text)) {
        caveats.push(format!("It has errata: {errata}."));
    }
    if flag(event.deprecated.as_ref()) {
        caveats.push("Its maker has deprecated it.".to_owned());
    }
    if flag(event.taken_alone.as_ref()) && register.is_none() {
        caveats.push("Its maker wants it counted without other events.".to_owned());
    }
    caveats
}

/// What Linux calls the PMU of a unit outside of the cores.
///
/// # Source
/// Linux `tools/perf/pmu-events/jevents.py`, and the names of PMUs in `arch/x86/events`.
fn pmu_of(unit: &str) -> String {
    let known = [
        ("cbo", "uncore_cbox"),
        ("ha", "uncore_ha"),
        ("sbo", "uncore_sbox"),
        ("qpi ll", "uncore_qpi"),
        ("upi ll", "uncore_upi"),
        ("imc", "uncore_imc"),
        ("arb", "uncore_arb"),
        ("l3pmc", "amd_l3"),
        ("dfpmc", "amd_df"),
        ("umcpmc", "amd_umc"),
    ];
    let unit = unit.to_ascii_lowercase();
    let name = known.iter().find(|(name, _)| *name == unit).map(|(_, pmu)| (*pmu).to_owned());
    name.unwrap_or_else(|| format!("uncore_{}", unit.replace(' ', "_")))
}

/// An event of a unit outside of the cores: one for each instance of its PMU, or one that cannot be
/// counted here.
fn of_unit(
    target: &Target<'_>,
    core: &CoreTypePmu,
    event: &JsonEvent,
    name: &str,
    unit: &str,
) -> Result<Vec<Encoded>, String> {
    let mut pmu = pmu_of(unit);
    if event.counter_type.as_deref() == Some("FREERUN") {
        pmu += "_free_running";
    }
    let config = unit_config(core, event, &pmu)?;
    let place = match counters(event.counter.as_deref().unwrap_or_default()) {
        Some(counters) => CounterPlace::General { counters, takes: 1 },
        None => CounterPlace::General { counters: u64::MAX, takes: 1 },
    };
    let found = Encoded {
        config,
        by_mode: false,
        scope: EventScope::Shared,
        place,
        ..plain(event, name.to_owned(), pmu.clone())
    };
    let Some(tree) = target.tree() else { return Ok(vec![found]) };
    let instances = kernel::instances(tree, &pmu);
    if instances.is_empty() {
        return Ok(vec![found]);
    }
    Ok(instances
        .into_iter()
        .map(|pmu| Encoded {
            name: format!("{pmu}/{name}/"),
            kind: Pmu::new(tree, &pmu).kind().ok(),
            pmu: Some(pmu),
            ..found.clone()
        })
        .collect())
}

/// # Source
/// Linux `arch/x86/events/intel/uncore_snbep.c`: event in bits 7:0, unit mask in 15:8 and, of the caches'
/// agents from Ice Lake on, in 55:32; edge 18, invert 23, threshold in 31:24. Of the stacks of input and
/// output: channels in 47:36 and flow control in 50:48, on Skylake in 43:36 and 46:44. Filters are in
/// `config1`. `arch/x86/events/amd/uncore.c`: the data fabric has more of the event in 35:32 and 60:59,
/// as PERF_CTL of the northbridge has.
fn unit_config(core: &CoreTypePmu, event: &JsonEvent, pmu: &str) -> Result<Config, String> {
    let does_not_fit = || "a field does not fit into its bits".to_owned();
    let written = fields(event)?;
    // Where units have more of the unit mask than 8 bits, lists have it as its extension.
    if written.umask > 0xff {
        return Err(does_not_fit());
    }
    let mut config = if core.maker() == Maker::Amd {
        let Fields { event, umask, .. } = written;
        if event > 0x3fff {
            return Err(does_not_fit());
        }
        let high = event >> 8 & 0xf | (event >> 12 & 0x3) << 27;
        (event & 0xff) | umask << 8 | high << 32
    } else {
        written.config(Maker::Intel).ok_or_else(does_not_fit)?[0]
    };
    let more = number(event.umask_ext.as_ref())?;
    let (ports, flow) = (number(event.port_mask.as_ref())?, number(event.fc_mask.as_ref())?);
    if more > 0xff_ffff || ports > 0xfff || flow > 7 {
        return Err(does_not_fit());
    }
    if pmu.starts_with("uncore_iio") {
        let is_skylake = core.family.is_some_and(|family| family.id == "skylake-x");
        config |= ports << 36 | flow << if is_skylake { 44 } else { 48 };
    } else {
        config |= more << 32;
    }
    Ok([config, number(event.filter_value.as_ref())?, 0, 0])
}
