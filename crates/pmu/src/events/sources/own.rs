//! Our own table: what CPUID announces, and well-known events of each family.

use super::{EventSource, Listed, no_more};
use crate::events::cpu::Maker;
use crate::events::encoded::{CounterPlace, Encoded, EventScope, Source};
use crate::events::fields;
use crate::events::table::{EventRow, Family, Table};
use crate::events::target::{CoreTypePmu, Target};

pub(super) const ROW: EventSource = EventSource {
    source: Source::Own,
    name: "own",
    doc: "architectural events of CPUID, and well-known ones of each family of CPUs",
    all,
    find: no_more,
};

fn all(target: &Target<'_>) -> Listed {
    let mut listed = Listed::default();
    for core in &target.cores {
        listed.events.extend(of_core(core).map(|(row, place)| encoded(target, core, row, place)));
    }
    listed
}

/// The rows of a core with their counters: fixed ones, architectural ones, those of the family.
fn of_core(core: &CoreTypePmu) -> impl Iterator<Item = (&'static EventRow, CounterPlace)> {
    let table = Table::builtin();
    let family = core.family;
    let sets = table.set.iter().filter(move |set| family.is_some_and(|it| set.of.contains(&it.id)));
    let mut rows: Vec<&EventRow> = sets.flat_map(|set| &set.events).collect();
    // Names that belong together may stand in several sets.
    rows.sort_by_key(|row| &row.name);
    let is_intel = core.maker() == Maker::Intel;
    let fixed = table.fixed.events.iter().enumerate().filter_map(move |(number, row)| {
        let number = number as u32;
        (is_intel && core.has_fixed(number) == Some(true))
            .then_some((row, CounterPlace::Fixed(number)))
    });
    // What a family calls otherwise, or counts on other counters, has one name here.
    let is_renamed =
        |row: &EventRow| rows.iter().any(|it| it.fields == row.fields || it.name == row.name);
    let architectural: Vec<_> = (0..)
        .zip(&table.architectural.events)
        .filter(|(bit, row)| is_intel && is_announced(core, *bit) && !is_renamed(row))
        .map(|(_, row)| (row, general(core, row)))
        .collect();
    let of_family = rows.into_iter().map(|row| (row, general(core, row)));
    fixed.chain(architectural).chain(of_family)
}

/// # Source
/// Intel SDM volume 2A, CPUID 0Ah: EAX\[31:24\] is the number of bits of EBX that mean something; an event
/// whose bit is set is not there.
fn is_announced(core: &CoreTypePmu, bit: u32) -> bool {
    match (core.announced, core.family) {
        (Some(leaf), _) => bit < leaf.eax >> 24 && leaf.ebx >> bit & 1 == 0,
        (None, Some(family)) => bit < family.announced,
        (None, None) => false,
    }
}

fn general(core: &CoreTypePmu, row: &EventRow) -> CounterPlace {
    // Arm's counter of cycles counts nothing else. Linux gives it number 31.
    if core.maker() == Maker::Arm && row.name == "cpu_cycles" {
        return CounterPlace::Fixed(31);
    }
    if row.takes == 0 {
        return CounterPlace::SHARE;
    }
    let count = |family: &Family| family.general;
    let announced = core.announced.map(|leaf| leaf.eax >> 8 & 0xff);
    let some = row.counters.as_deref().and_then(fields::counters);
    let all = announced.or(core.family.map(count)).map(|count| (1 << count.min(63)) - 1);
    CounterPlace::General { counters: some.or(all).unwrap_or(u64::MAX), takes: row.takes }
}

fn encoded(
    target: &Target<'_>,
    core: &CoreTypePmu,
    row: &EventRow,
    place: CounterPlace,
) -> Encoded {
    let config = row.fields.config(core.maker());
    Encoded {
        name: target.name(core, &row.name),
        pmu: Some(core.pmu.clone()),
        kind: core.kind.as_ref().ok().copied(),
        config: config.expect("BUG: a test encodes every row"),
        by_mode: true,
        modes: None,
        scope: EventScope::Thread,
        place,
        register: None,
        source: Source::Own,
        description: Some(row.doc.clone()),
        caveats: Vec::from_iter(
            (place == CounterPlace::SHARE).then(|| CounterPlace::WITH_SLOTS.to_owned()),
        ),
    }
}
