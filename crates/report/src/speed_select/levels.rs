//! Performance levels, and who gets which clock at each of them.

use model::page::{Align, Block, Table, Text, Tone};
use model::record::{
    BaseFrequencies, CoreStep, FabricFrequencies, FeatureState, LevelProperties, LicenceSteps,
    PerformanceLevel, PerformanceProfiles, PowerDomain, TurboFrequencies,
};
use model::{Hertz, Known, Unavailable};

use super::parts::{
    DomainGroup, NONE, PageBuilder, core_numbers, cpus, groups, is_online, list, merged, mhz, name,
    picture, span,
};

/// Everything that belongs to levels.
pub(super) fn blocks(told: &mut PageBuilder<'_>) -> Vec<Block> {
    let mut blocks = Vec::new();
    for group in groups(told.run) {
        blocks.push(Block::Heading(group.name.clone()));
        let Some(profiles) = group.profiles(told) else { continue };
        blocks.push(Block::Paragraph(standing(profiles)));
        let levels = &profiles.levels;
        if levels.is_empty() {
            blocks.push(Block::Paragraph("It has no such level.".into()));
            continue;
        }
        if !group.first().cores.is_empty() {
            blocks.push(clocks(group.first(), levels, profiles.current));
            blocks.push(who(told, &group));
        }
        blocks.push(overview(told, levels, profiles.current));
        blocks.extend(turbo(levels));
        blocks.extend(base_freq(told, levels));
        blocks.extend(turbo_freq(told, levels, None));
    }
    blocks
}

/// The level at present, and whether it may be another one.
pub(super) fn standing(profiles: &PerformanceProfiles) -> Text {
    let current = profiles.current;
    let there = match profiles.there.as_slice() {
        [] => "the firmware lists none".to_owned(),
        [only] => format!("level {only} is the only one"),
        several => format!("there are levels {}", list(several.iter().map(|it| (*it).into()))),
    };
    let by_register = matches!(profiles.locked_by_register, Some(Known::Yes(true)));
    let not_told = matches!(profiles.locked_by_register, Some(Known::No { .. }));
    let (may, tone) = if profiles.locked {
        ("locked until the next reset", Tone::Warning)
    } else if by_register {
        ("locked for the operating system (register 64Bh)", Tone::Warning)
    } else if !profiles.can_change {
        ("fixed: levels cannot be changed while the machine runs", Tone::Warning)
    } else if not_told {
        ("not locked by firmware; register 64Bh cannot be read", Tone::Plain)
    } else {
        ("not locked", Tone::Plain)
    };
    Text::toned(format!("Level {current} at present, {may}; {there}."), tone)
}

/// A column of the table of levels.
struct LevelColumn<'a> {
    header: String,
    align: Align,
    /// What a level lacks where there is no cell.
    name: &'static str,
    cells: Vec<Result<String, &'a Unavailable>>,
}

impl LevelColumn<'_> {
    fn is_empty(&self) -> bool {
        self.cells.iter().all(|cell| cell.as_ref().map_or(true, |text| text == NONE))
    }
}

fn column<'a, T: 'a>(
    levels: &'a [PerformanceLevel],
    header: impl Into<String>,
    name: &'static str,
    pick: impl Fn(&'a LevelProperties) -> &'a Known<T>,
    show: impl Fn(&'a T) -> Option<String>,
) -> LevelColumn<'a> {
    let properties = levels.iter().filter_map(|level| level.properties.as_ref());
    let cell = |it: &'a LevelProperties| match pick(it) {
        Known::Yes(value) => Ok(show(value).unwrap_or_else(|| NONE.to_owned())),
        Known::No { unavailable } => Err(unavailable),
    };
    let (header, cells) = (header.into(), properties.map(cell).collect());
    LevelColumn { header, align: Align::Right, name, cells }
}

/// Licences in the order of the first level that has them.
fn licences<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut known: Vec<&str> = Vec::new();
    for name in names {
        if !known.contains(&name) {
            known.push(name);
        }
    }
    known
}

fn columns(levels: &[PerformanceLevel], verbosity: u8) -> Vec<LevelColumn<'_>> {
    let mut columns = vec![column(
        levels,
        "cores",
        "cores of levels",
        |it| &it.allowed,
        |allowed| Some(allowed.cores.len().to_string()),
    )];
    let bases = levels.iter().filter_map(|level| level.properties.as_ref()?.base.value());
    for licence in licences(bases.flatten().map(|it| it.licence.as_str())) {
        columns.push(column(
            levels,
            licence,
            "base frequencies",
            |it| &it.base,
            move |base| Some(mhz(base.iter().find(|it| it.licence == licence)?.hertz)),
        ));
    }
    let watts = |watts: &u32| Some(format!("{watts} W"));
    let celsius = |celsius: &u32| Some(format!("{celsius} °C"));
    columns.push(column(levels, "TDP", "thermal design power", |it| &it.tdp_watts, watts));
    columns.push(column(
        levels,
        "Tj max",
        "highest temperature",
        |it| &it.highest_celsius,
        celsius,
    ));
    for (place, header) in ["uncore", "uncore 1"].into_iter().enumerate() {
        let show = move |all: &Vec<FabricFrequencies>| all.get(place).map(fabric);
        columns.push(column(levels, header, "uncore frequencies", |it| &it.fabrics, show));
    }
    columns.push(column(
        levels,
        "memory",
        "rate of memory",
        |it| &it.memory_transfers,
        |rate| Some(format!("{} MT/s", mhz(*rate))),
    ));
    columns.push(column(
        levels,
        "cooling",
        "cooling",
        |it| &it.cooling,
        |kind| Some(format!("type {kind}")),
    ));
    if verbosity > 0 {
        columns.push(column(
            levels,
            "package",
            "power of the package",
            |it| &it.package_watts,
            |[least, most]| Some(format!("{least}-{most} W")),
        ));
    }
    columns
}

/// What a level has, or not, beside its numbers.
type Feature = (&'static str, fn(&PerformanceLevel) -> &Known<FeatureState>);

const FEATURES: [Feature; 2] = [
    ("base-freq", |level| &level.base_freq_state),
    ("turbo-freq", |level| &level.turbo_freq_state),
];

/// From the lowest to the highest, with the one that is guaranteed between; `?` for what is not told.
fn fabric(it: &FabricFrequencies) -> String {
    let each = [it.lowest_hertz, it.base_hertz, it.highest_hertz];
    each.map(|hertz| hertz.map_or_else(|| "?".to_owned(), mhz)).join("-")
}

fn overview<'a>(told: &mut PageBuilder<'a>, levels: &'a [PerformanceLevel], current: u8) -> Block {
    let mut columns = columns(levels, told.verbosity);
    columns.retain(|column| {
        for reason in column.cells.iter().filter_map(|cell| cell.as_ref().err()) {
            told.absent(reason, column.name);
        }
        !column.is_empty()
    });
    let features: Vec<Feature> = FEATURES
        .into_iter()
        .filter(|(_, state)| {
            let is_not = |level| state(level).value() == Some(&FeatureState::Unsupported);
            !levels.iter().all(is_not)
        })
        .collect();
    let row = |(place, level): (usize, &'a PerformanceLevel)| {
        let mut cells = vec![level_name(level.number, current)];
        cells.extend(features.iter().map(|(_, of)| state(of(level))));
        cells.extend(columns.iter().map(|column| {
            let cell = column.cells.get(place).and_then(|cell| cell.as_ref().ok());
            cell.map_or_else(|| NONE.into(), |text| text.as_str().into())
        }));
        cells
    };
    for level in levels {
        for state in [&level.base_freq_state, &level.turbo_freq_state] {
            if let Known::No { unavailable } = state {
                told.lacking(unavailable, "what levels support".to_owned());
            }
        }
    }
    let caption = "levels: base frequency by instructions, uncore from lowest over guaranteed to \
                   highest, MHz";
    Table::of(caption)
        .label("level")
        .columns(features.iter().map(|(name, _)| (*name, Align::Left)))
        .columns(columns.iter().map(|column| (column.header.as_str(), column.align)))
        .rows(levels.iter().enumerate().map(row))
        .legend(present(levels, current))
        .into()
}

/// What the mark means, where it is used.
fn present(levels: &[PerformanceLevel], current: u8) -> Vec<String> {
    let used = levels.len() > 1 && levels.iter().any(|level| level.number == current);
    used.then(|| "*: the level at present".to_owned()).into_iter().collect()
}

fn level_name(number: u8, current: u8) -> Text {
    if number == current {
        Text::toned(format!("{number} *"), Tone::Strong)
    } else {
        Text::from(number.to_string())
    }
}

/// Whether a feature is on, in a word.
pub(super) fn state(state: &Known<FeatureState>) -> Text {
    match state {
        Known::Yes(FeatureState::Unsupported) => Text::toned(NONE, Tone::Faint),
        Known::Yes(FeatureState::Disabled) => "off".into(),
        Known::Yes(FeatureState::Enabled) => Text::toned("on", Tone::Strong),
        Known::No { .. } => Text::toned("not told", Tone::Faint),
    }
}

/// One sign for each core, and what those that have it may be clocked at.
pub(super) fn clocks(domain: &PowerDomain, levels: &[PerformanceLevel], current: u8) -> Block {
    let numbers = core_numbers(domain, levels);
    let row = |level: &PerformanceLevel| {
        let properties = level.properties.as_ref();
        let allowed = properties.and_then(|it| it.allowed.value());
        let split = level.base_freq.as_ref().and_then(Known::value);
        let sign = |core: u32| {
            let core_id = model::CpuId(core);
            if allowed.is_none() {
                '?'
            } else if allowed.is_some_and(|it| !it.cores.contains(core_id)) {
                '.'
            } else if !is_online(domain, core) {
                '-'
            } else if split.is_some_and(|it| it.chosen.cores.contains(core_id)) {
                '#'
            } else {
                'o'
            }
        };
        let turbo = properties
            .and_then(|it| it.turbo.value()?.iter().find(|it| is_plain(&it.licence)))
            .and_then(|it| span(it.steps.iter().filter_map(|step| step.hertz)));
        let chosen = level.turbo_freq.as_ref().and_then(Known::value);
        vec![
            level_name(level.number, current),
            picture(&numbers, sign).into(),
            properties.and_then(plain_base).map_or_else(|| NONE.to_owned(), mhz).into(),
            when_on(&level.base_freq_state, level.base_freq.is_some(), split.map(split_bases)),
            turbo.unwrap_or_else(|| NONE.to_owned()).into(),
            when_on(
                &level.turbo_freq_state,
                level.turbo_freq.is_some(),
                chosen.and_then(split_turbo),
            ),
        ]
    };
    let rows: Vec<Vec<Text>> = levels.iter().map(row).collect();
    let legend = signs(&rows);
    Table::of("Clock by core and level, MHz")
        .label("level")
        .left(format!("cores {}", list(numbers.iter().copied())))
        .right("base")
        .left("with base-freq")
        .right("turbo")
        .left("with turbo-freq")
        .rows(rows)
        .legend(legend)
        .into()
}

/// Whether it is the licence of instructions that need none.
fn is_plain(licence: &str) -> bool {
    ["sse", "level-0"].contains(&licence)
}

/// The base frequency of plain instructions; where the firmware gives none, what the thermal design power
/// stands for.
fn plain_base(it: &LevelProperties) -> Option<Hertz> {
    let given = it.base.value().and_then(|all| all.iter().find(|it| is_plain(&it.licence)));
    let by_ratio =
        || it.tdp_ratio.value().filter(|ratio| **ratio > 0).map(|it| Hertz(f64::from(*it) * 1e8));
    given.map(|it| it.hertz).or_else(by_ratio)
}

/// What the signs mean that are there.
fn signs(rows: &[Vec<Text>]) -> Vec<String> {
    const SIGNS: [(char, &str); 5] = [
        ('o', "o: the level allows the core"),
        ('#', "#: so it does, and base-freq raises its base"),
        ('.', ".: the level wants it offline"),
        ('-', "-: the level allows it, and none of its CPUs is online"),
        ('?', "?: it was not told whether the level allows it"),
    ];
    let is_there = |sign: char| rows.iter().any(|row| row[1].text.contains(sign));
    let used = SIGNS.iter().filter(|(sign, _)| is_there(*sign));
    vec![used.map(|(_, text)| *text).collect::<Vec<_>>().join("; ")]
}

/// A feature's frequencies, strong while it is on.
fn when_on(state: &Known<FeatureState>, was_asked: bool, text: Option<String>) -> Text {
    match (state, text) {
        (Known::Yes(FeatureState::Enabled), Some(text)) => Text::toned(text, Tone::Strong),
        (_, Some(text)) => text.into(),
        (Known::Yes(FeatureState::Unsupported), None) => NONE.into(),
        (_, None) if !was_asked => NONE.into(),
        (_, None) => Text::toned("not told", Tone::Faint),
    }
}

fn split_bases(it: &BaseFrequencies) -> String {
    let [high, low] =
        [it.high_hertz, it.low_hertz].map(|hertz| hertz.map_or_else(|| "?".to_owned(), mhz));
    format!("# {high}, o {low}")
}

/// `any 2: 3200, 6: 3100; others 2600`, of the first licence.
fn split_turbo(it: &TurboFrequencies) -> Option<String> {
    let steps = condensed(&it.chosen.first()?.steps);
    let step = |(cores, hertz): &(String, Option<Hertz>)| {
        format!("{cores}: {}", hertz.map_or_else(|| "?".to_owned(), mhz))
    };
    let steps: Vec<String> = steps.iter().map(step).collect();
    let others = it.others.first().map_or_else(|| "?".to_owned(), |it| mhz(it.hertz));
    Some(format!("any {}; others {others}", steps.join(", ")))
}

/// Steps as ranges of numbers of cores, those with the same limit together.
fn condensed(steps: &[CoreStep]) -> Vec<(String, Option<Hertz>)> {
    let mut all: Vec<(u16, u16, Option<Hertz>)> = Vec::new();
    for (first, last, step) in ranges(steps) {
        match all.last_mut() {
            Some((_, end, hertz)) if *hertz == step.hertz => *end = last,
            _ => all.push((first, last, step.hertz)),
        }
    }
    all.into_iter().map(|(first, last, hertz)| (range(first, last), hertz)).collect()
}

/// From and to how many cores each step goes; those that go no further than the one before say nothing.
fn ranges(steps: &[CoreStep]) -> impl Iterator<Item = (u16, u16, &CoreStep)> {
    let mut before = 0;
    steps.iter().filter_map(move |step| {
        let last = step.cores.filter(|cores| *cores > before)?;
        let first = before + 1;
        before = last;
        Some((first, last, step))
    })
}

/// What stands above a step, and the step; of one of them alone, by its number in the firmware's list.
/// Where it is not known how far they go, they are counted.
fn titled(steps: &[CoreStep], only: Option<usize>) -> Vec<(String, &CoreStep)> {
    if steps.iter().all(|step| step.cores.is_none()) {
        let title = |(place, step)| (format!("group {place}"), step);
        let all = steps.iter().enumerate();
        return all.filter(|(place, _)| only.is_none_or(|it| it == *place)).map(title).collect();
    }
    let Some(only) = only else {
        return ranges(steps).map(|(first, last, step)| (range(first, last), step)).collect();
    };
    let Some((step, last)) = steps.get(only).and_then(|step| Some((step, step.cores?))) else {
        return Vec::new();
    };
    let before = steps[..only].iter().filter_map(|step| step.cores).filter(|cores| *cores < last);
    vec![(range(before.max().unwrap_or(0) + 1, last), step)]
}

fn range(first: u16, last: u16) -> String {
    if first == last { last.to_string() } else { format!("{first}-{last}") }
}

/// Which CPUs that is: of each power domain.
pub(super) fn who(told: &PageBuilder<'_>, group: &DomainGroup<'_>) -> Block {
    let mut rows = Vec::new();
    for domain in &group.domains {
        let place = name(told.run, &[domain]);
        let Some(Known::Yes(profiles)) = &domain.profiles else { continue };
        let cells = |level: &PerformanceLevel| {
            let allowed = level.properties.as_ref().and_then(|it| it.allowed.value());
            let chosen = level.base_freq.as_ref().and_then(|it| Some(&it.value()?.chosen));
            let text = |set: Option<&model::record::ChosenCores>| {
                set.map_or_else(|| NONE.to_owned(), |set| cpus(&set.cpus))
            };
            (level.number, vec![text(allowed), text(chosen)])
        };
        for mut row in merged(profiles.levels.iter().map(cells).collect()) {
            row.insert(0, place.clone().into());
            rows.push(row);
        }
    }
    Table::of("their CPUs, as far as they are online")
        .label("where")
        .label("levels")
        .left("CPUs allowed")
        .left("raised by base-freq (#)")
        .rows(rows)
        .into()
}

/// Tables of turbo limits: one for each way to divide cores into groups.
fn turbo(levels: &[PerformanceLevel]) -> Vec<Block> {
    let rows = levels.iter().filter_map(|level| {
        Some((level.number, level.properties.as_ref()?.turbo.value()?.as_slice()))
    });
    steps_tables(rows, "turbo limits, MHz, by number of active cores", None, |_| Vec::new())
}

/// Cells of levels.
type Rows = Vec<(u8, Vec<String>)>;

/// Rows of licences by groups of cores, or of one group alone, with what stands behind them.
fn steps_tables<'a>(
    levels: impl Iterator<Item = (u8, &'a [LicenceSteps])>,
    caption: &str,
    only: Option<usize>,
    behind: impl Fn(u8) -> Vec<(&'static str, Vec<(String, String)>)>,
) -> Vec<Block> {
    let mut tables: Vec<(Vec<String>, Rows)> = Vec::new();
    let mut more: Vec<&'static str> = Vec::new();
    for (level, licences) in levels {
        let behind = behind(level);
        for licence in licences {
            let steps = titled(&licence.steps, only);
            let limit = |step: &CoreStep| step.hertz.map_or_else(|| NONE.to_owned(), mhz);
            let mut cells = vec![licence.licence.clone()];
            cells.extend(steps.iter().map(|(_, step)| limit(step)));
            let header: Vec<String> = steps.into_iter().map(|(title, _)| title).collect();
            for (title, of_licence) in &behind {
                if !more.contains(title) {
                    more.push(title);
                }
                let own = of_licence.iter().find(|(name, _)| *name == licence.licence);
                cells.push(own.map_or_else(|| NONE.to_owned(), |(_, text)| text.clone()));
            }
            match tables.iter_mut().find(|(known, _)| *known == header) {
                Some((_, rows)) => rows.push((level, cells)),
                None => tables.push((header, vec![(level, cells)])),
            }
        }
    }
    let block = |(header, rows): (Vec<String>, Rows)| {
        Table::of(caption)
            .label("levels")
            .label("licence")
            .columns(header.into_iter().map(|cores| (cores, Align::Right)))
            .columns(more.iter().map(|title| (*title, Align::Right)))
            .rows(merged(rows))
            .into()
    };
    tables.into_iter().map(block).collect()
}

/// Base frequencies of two kinds of cores, of the levels that have them.
pub(super) fn base_freq<'a>(
    told: &mut PageBuilder<'a>,
    levels: &'a [PerformanceLevel],
) -> Option<Block> {
    let mut rows = Vec::new();
    for level in levels {
        let of = match &level.base_freq {
            Some(Known::Yes(of)) => of,
            Some(Known::No { unavailable }) => {
                told.absent(unavailable, "base-freq");
                continue;
            }
            None => continue,
        };
        let mut cell = |known: &'a Known<u32>, name: &str, unit: &str| match known {
            Known::Yes(value) => format!("{value} {unit}"),
            Known::No { unavailable } => {
                told.absent(unavailable, name);
                NONE.to_owned()
            }
        };
        let watts = cell(&of.tdp_watts, "thermal design power with base-freq", "W");
        let celsius = cell(&of.highest_celsius, "highest temperature with base-freq", "°C");
        let frequency = |hertz: Option<Hertz>| hertz.map_or_else(|| NONE.to_owned(), mhz);
        rows.push(vec![
            Text::toned(level.number.to_string(), Tone::Strong),
            state(&level.base_freq_state),
            of.chosen.cores.len().to_string().into(),
            of.chosen.cores.to_string().into(),
            frequency(of.high_hertz).into(),
            frequency(of.low_hertz).into(),
            watts.into(),
            celsius.into(),
        ]);
    }
    let caption = "base-freq: some cores get a higher base frequency, the others a lower one, MHz";
    (!rows.is_empty()).then(|| {
        Table::of(caption)
            .label("level")
            .left("is")
            .right("cores")
            .left("which")
            .right("raised to")
            .right("others")
            .right("TDP")
            .right("Tj max")
            .rows(rows)
            .into()
    })
}

/// Turbo frequencies of two kinds of cores, of the levels that have them; of one group of chosen cores
/// alone where that is asked.
pub(super) fn turbo_freq<'a>(
    told: &mut PageBuilder<'a>,
    levels: &'a [PerformanceLevel],
    bucket: Option<usize>,
) -> Vec<Block> {
    let licence = told.run.question.licence.as_deref();
    let mut rows: Vec<(u8, Vec<LicenceSteps>)> = Vec::new();
    for level in levels {
        match &level.turbo_freq {
            Some(Known::Yes(of)) => {
                let is_asked = |it: &&LicenceSteps| licence.is_none_or(|name| it.licence == name);
                rows.push((level.number, of.chosen.iter().filter(is_asked).cloned().collect()));
            }
            Some(Known::No { unavailable }) => told.absent(unavailable, "turbo-freq"),
            None => {}
        }
    }
    let behind = |number: u8| {
        let level = levels.iter().find(|level| level.number == number);
        let of = level.and_then(|level| level.turbo_freq.as_ref()?.value());
        let others = of.into_iter().flat_map(|of| &of.others);
        let limits = others.map(|it| (it.licence.clone(), mhz(it.hertz))).collect();
        vec![("others", limits)]
    };
    let caption = "turbo-freq: any few cores, which you choose by their class, get a higher limit; all \
                   others are clipped, MHz, by number of chosen cores";
    let rows = rows.iter().map(|(level, licences)| (*level, licences.as_slice()));
    steps_tables(rows, caption, bucket, behind)
}
