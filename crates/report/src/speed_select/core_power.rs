//! Priorities of cores: switches, classes, who is in which.

use model::page::{Block, Table, Text, Tone};
use model::record::{CorePowerSwitches, PowerDomain, ServiceClass};
use model::{CpuId, CpuSet, Known};

use super::parts::{DomainGroup, NONE, PageBuilder, groups, list, mhz, name, picture};

/// Whether cores have priorities.
pub(super) fn switches(told: &mut PageBuilder<'_>) -> Vec<Block> {
    let mut rows = Vec::new();
    let mut disagree = Vec::new();
    for group in groups(told.run) {
        let Some(of) = &group.first().core_power else { continue };
        for reading in [&of.supported, &of.enabled, &of.classes_enabled] {
            if let Known::No { unavailable } = reading {
                told.lacking(unavailable, group.name.clone());
            }
        }
        if let Known::No { unavailable } = &of.priority {
            told.absent(unavailable, &group.name);
        }
        if of.enabled.value() != of.classes_enabled.value() {
            disagree.push(group.name.clone());
        }
        let words = |reading: &Known<bool>, yes: &str, no: &str| match reading {
            Known::Yes(true) => Text::toned(yes, Tone::Strong),
            Known::Yes(false) => no.into(),
            Known::No { .. } => Text::toned("not told", Tone::Faint),
        };
        rows.push(vec![
            group.name.as_str().into(),
            words(&of.supported, "supported", "not supported"),
            words(&of.enabled, "on", "off"),
            words(&of.classes_enabled, "on", "off"),
            of.priority.value().map_or(NONE, String::as_str).into(),
        ]);
    }
    let mut blocks = vec![
        Table::of("")
            .label("where")
            .left("core-power")
            .left("heeded by firmware")
            .left("classes")
            .left("priority")
            .rows(rows)
            .legend(["ordered: class 0 is throttled last; proportional: power is shared by weight"])
            .into(),
    ];
    if !disagree.is_empty() {
        let text = format!(
            "The two switches of {} disagree: classes count only where both are on.",
            disagree.join("; ")
        );
        blocks.push(Block::Paragraph(Text::toned(text, Tone::Warning)));
    }
    blocks
}

/// The classes.
pub(super) fn classes(told: &mut PageBuilder<'_>) -> Vec<Block> {
    let mut blocks = Vec::new();
    let asked = told.run.question.class;
    for group in groups(told.run) {
        blocks.push(Block::Heading(group.name.clone()));
        let mut rows = Vec::new();
        for class in &group.first().classes {
            match class {
                Known::Yes(class) if asked.is_none_or(|asked| asked == class.number) => {
                    rows.push(row(class));
                }
                Known::Yes(_) => {}
                Known::No { unavailable } => {
                    told.lacking(unavailable, format!("classes of {}", group.name));
                }
            }
        }
        if rows.is_empty() {
            blocks.push(Block::Paragraph("No class is told; why stands below.".into()));
            continue;
        }
        blocks.push(
            Table::of("Classes, MHz")
                .label("class")
                .right("min")
                .right("max")
                .right("weight")
                .right("EPP")
                .right("desired")
                .rows(rows)
                .into(),
        );
        blocks.extend(in_force(&group));
    }
    blocks
}

fn row(class: &ServiceClass) -> Vec<Text> {
    let frequency = |hertz: Option<model::Hertz>| hertz.map_or_else(|| NONE.to_owned(), mhz);
    vec![
        Text::toned(class.number.to_string(), Tone::Strong),
        class.lowest_hertz.map_or_else(|| "no limit".to_owned(), mhz).into(),
        class.highest_hertz.map_or_else(|| "no limit".to_owned(), mhz).into(),
        class.weight.to_string().into(),
        class.energy_preference.map_or_else(|| NONE.to_owned(), |it| it.to_string()).into(),
        frequency(class.desired_hertz).into(),
    ]
}

/// Classes and who is in them are kept while they are not heeded, and count from the moment they are.
fn in_force(group: &DomainGroup<'_>) -> Option<Block> {
    let is_off = |of: &CorePowerSwitches| {
        [&of.enabled, &of.classes_enabled].iter().any(|it| it.value() == Some(&false))
    };
    let of = group.first().core_power.as_ref().filter(|of| is_off(of));
    of.map(|_| {
        let text = "core-power is off: nobody heeds them now, and all of them hold once it is on.";
        Block::Paragraph(Text::toned(text, Tone::Warning))
    })
}

/// Who is in which class.
pub(super) fn associations(told: &mut PageBuilder<'_>) -> Vec<Block> {
    let mut blocks = Vec::new();
    for group in groups(told.run) {
        if group.first().associations.is_empty() {
            continue;
        }
        blocks.push(Block::Heading(group.name.clone()));
        let domain = group.first();
        for association in &domain.associations {
            if let Known::No { unavailable } = &association.class {
                told.lacking(unavailable, format!("classes of CPUs of {}", group.name));
            }
        }
        let numbers: Vec<u32> = domain.associations.iter().map(|it| it.core).collect();
        let sign = |core: u32| {
            let class = domain.associations.iter().find(|it| it.core == core);
            let class = class.and_then(|it| it.class.value());
            class.and_then(|class| char::from_digit((*class).into(), 10)).unwrap_or('?')
        };
        let line = format!(
            "class of each core, {}: {}",
            list(numbers.iter().copied()),
            picture(&numbers, sign)
        );
        blocks.push(Block::Paragraph(line.into()));
        let rows = group.domains.iter().flat_map(|domain| of_domain(told, domain));
        blocks.push(
            Table::of("")
                .label("where")
                .label("class")
                .left("cores")
                .left("CPUs")
                .rows(rows)
                .into(),
        );
        blocks.extend(in_force(&group));
    }
    blocks
}

fn of_domain(told: &PageBuilder<'_>, domain: &PowerDomain) -> Vec<Vec<Text>> {
    let row = |class: u8| {
        let members: Vec<_> =
            domain.associations.iter().filter(|it| it.class.value() == Some(&class)).collect();
        let cpus: CpuSet = members.iter().flat_map(|it| it.cpus.iter()).collect();
        let cores: CpuSet = members.iter().map(|it| CpuId(it.core)).collect();
        (!members.is_empty()).then(|| {
            vec![
                name(told.run, &[domain]).into(),
                Text::toned(class.to_string(), Tone::Strong),
                cores.to_string().into(),
                cpus.to_string().into(),
            ]
        })
    };
    (0..model::record::CLASSES).filter_map(row).collect()
}
