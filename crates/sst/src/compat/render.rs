//! From a snapshot to what the reference tool shows of it. A pure function.

use model::{CpuId, CpuSet, Obstacle, Reading};

use super::Tool;
use super::args::Query;
use super::layout::{CompatOutput, Node, OutputEntry};
use crate::model::{
    BaseFreq, Class, CorePower, Domain, Feature, Features, Level, Megahertz, Modules, On,
    PerLicence, Properties, Snapshot, TurboFreq,
};
use crate::read::offline;

/// What is shown, and how.
pub(super) struct RenderContext<'a> {
    pub(super) tool: &'a Tool,
    pub(super) snapshot: &'a Snapshot,
    /// How many words of 32 bits a mask of CPUs has.
    pub(super) words: usize,
}

/// Where something is shown: a power domain, and the CPU through which it is asked.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) domain: &'a Domain,
    pub(super) cpu: Option<CpuId>,
}

/// What a command shows.
type Shows = fn(&RenderContext<'_>, &Query, At<'_>, &mut CompatOutput);

/// Which of these functions shows which command.
const SHOWS: &[(&str, Shows)] = &[
    ("perf-profile info", profile_info),
    ("perf-profile get-config-levels", profile_fact),
    ("perf-profile get-config-version", profile_fact),
    ("perf-profile get-config-enabled", profile_fact),
    ("perf-profile get-config-current-level", profile_fact),
    ("perf-profile get-lock-status", profile_fact),
    ("core-power info", core_power),
    ("core-power get-config", class),
    ("core-power get-assoc", association),
    ("base-freq info", base_freq_info),
    ("turbo-freq info", turbo_freq_info),
];

/// What is shown of a snapshot.
pub(super) fn page(seen: &RenderContext<'_>, query: &Query) -> CompatOutput {
    let words = query.command.words;
    let show = SHOWS.iter().find(|(known, _)| *known == words);
    let (_, show) = show.unwrap_or_else(|| panic!("BUG: nothing shows `{words}`"));
    let mut shown = CompatOutput::default();
    for at in places(seen.snapshot, query.cpus.as_ref()) {
        show(seen, query, at, &mut shown);
        if shown.is_over {
            return shown;
        }
    }
    for reason in &seen.snapshot.missing {
        shown.fail(format!("Failed to get {}: {}", reason.what, reason.why));
    }
    // Those that are offline are left out there as well.
    for lost in seen.snapshot.unplaced.iter().filter(|lost| lost.reason.why != offline().why) {
        shown.fail(format!("Failed to get the place of CPUs {}: {}", lost.cpus, lost.reason.why));
    }
    shown
}

/// Each power domain; where CPUs were named, each of them, be it in the same domain as another.
pub(super) fn places<'a>(snapshot: &'a Snapshot, cpus: Option<&CpuSet>) -> Vec<At<'a>> {
    let domains = snapshot.domains.iter();
    let Some(cpus) = cpus else {
        return domains.map(|domain| At { domain, cpu: domain.first() }).collect();
    };
    let of = |cpu: CpuId| {
        let mut domains = snapshot.domains.iter();
        let domain = domains.find(|domain| domain.online().contains(cpu))?;
        Some(At { domain, cpu: Some(cpu) })
    };
    cpus.iter().filter_map(of).collect()
}

impl RenderContext<'_> {
    /// Whether each power domain with CPUs is a die of its own.
    fn dies_are_domains(&self) -> bool {
        let compute = self.snapshot.domains.iter().filter(|domain| !domain.cpus.is_empty());
        let dies = compute.clone().filter_map(|domain| domain.die).max();
        dies == compute.map(|domain| domain.number).max()
    }

    fn die(&self, domain: &Domain) -> u32 {
        if self.snapshot.platform.api_version == 1 || !domain.cpus.is_empty() {
            return domain.die.unwrap_or(0);
        }
        if self.dies_are_domains() {
            return domain.number;
        }
        let beside = self.snapshot.domains.iter().filter(|it| it.package == domain.package);
        beside.filter_map(|it| it.die).min().unwrap_or(0)
    }

    fn place(&self, at: At<'_>) -> Vec<String> {
        let mut place =
            vec![format!("package-{}", at.domain.package), format!("die-{}", self.die(at.domain))];
        if self.snapshot.platform.api_version > 1 {
            place.push(format!("powerdomain-{}", at.domain.number));
        }
        place.push(at.cpu.map_or_else(|| "cpu-None".to_owned(), |cpu| format!("cpu-{cpu}")));
        place
    }

    pub(super) fn put(&self, shown: &mut CompatOutput, at: At<'_>, parts: Vec<Node>) {
        shown.entries.push(OutputEntry::Place(self.place(at), parts));
    }

    fn mask(&self, cpus: &CpuSet) -> String {
        const WORD: usize = 32;
        let word = |word: usize| {
            let bits = cpus.iter().filter_map(|cpu| (cpu.0 as usize).checked_sub(word * WORD));
            let bits = bits.filter(|bit| *bit < WORD).fold(0u32, |bits, bit| bits | 1 << bit);
            format!("{bits:08x}")
        };
        (0..self.words).rev().map(word).collect::<Vec<_>>().join(",")
    }
}

fn list(cpus: &CpuSet) -> String {
    let numbers: Vec<String> = cpus.iter().map(|cpu| cpu.to_string()).collect();
    if numbers.is_empty() { "none".to_owned() } else { numbers.join(",") }
}

/// Zero stands for none there.
fn mhz(frequency: Option<Megahertz>) -> u32 {
    frequency.map_or(0, |frequency| frequency.0)
}

fn profile_fact(seen: &RenderContext<'_>, query: &Query, at: At<'_>, shown: &mut CompatOutput) {
    let Some(Ok(profiles)) = &at.domain.profiles else {
        shown.fail("get_tdp_* failed");
        return;
    };
    let words = query.command.words;
    let (title, value) = match words.split(' ').next_back().unwrap_or(words) {
        title @ "get-config-levels" => (title, profiles.highest.to_string()),
        title @ "get-config-version" => match &profiles.revision {
            Ok(revision) => (title, revision.to_string()),
            Err(_) => return shown.fail("get_tdp_* failed"),
        },
        title @ "get-config-enabled" => {
            (title, if profiles.dynamic { "enabled" } else { "disabled" }.to_owned())
        }
        // Its title has another stroke than the command.
        "get-config-current-level" => ("get-config-current_level", profiles.current.to_string()),
        title => (title, if profiles.locked { "locked" } else { "unlocked" }.to_owned()),
    };
    seen.put(shown, at, vec![Node::leaf(title, &value)]);
}

fn core_power(seen: &RenderContext<'_>, _: &Query, at: At<'_>, shown: &mut CompatOutput) {
    let Some(CorePower {
        supported: Ok(supported),
        enabled: Ok(enabled),
        classes_enabled: Ok(classes),
        priority: Ok(priority),
    }) = &at.domain.core_power
    else {
        shown.fail("isst_clos_get_info failed");
        return;
    };
    let on = |on: bool| if on { "enabled" } else { "disabled" };
    let parts = vec![
        Node::leaf("support-status", &if *supported { "supported" } else { "unsupported" }),
        Node::leaf("enable-status", &on(*enabled)),
        Node::leaf("clos-enable-status", &on(*classes)),
        Node::leaf("priority-type", &priority.word()),
    ];
    seen.put(shown, at, vec![Node::section("core-power", parts)]);
}

fn class(seen: &RenderContext<'_>, query: &Query, at: At<'_>, shown: &mut CompatOutput) {
    let number = query.class.unwrap_or(0);
    let mut classes = at.domain.classes.iter().flatten().flatten();
    let Some(Class { number, energy_preference, weight, lowest, highest, desired }) =
        classes.find(|class| class.number == number)
    else {
        shown.fail("isst_pm_get_clos failed");
        return;
    };
    let highest = highest.map_or_else(|| "Max Turbo frequency".to_owned(), |mhz| mhz.to_string());
    let parts = vec![
        Node::leaf("clos", &number),
        Node::leaf("epp", &energy_preference.unwrap_or(0)),
        Node::leaf("clos-proportional-priority", &weight),
        Node::leaf("clos-min", &lowest),
        Node::leaf("clos-max", &highest),
        Node::leaf("clos-desired", &desired.unwrap_or(Megahertz(0))),
    ];
    seen.put(shown, at, vec![Node::section("core-power", parts)]);
}

fn association(seen: &RenderContext<'_>, _: &Query, at: At<'_>, shown: &mut CompatOutput) {
    let mut all = at.domain.associations.iter().flatten();
    let Some((_, Ok(class))) = all.find(|(cpu, _)| Some(*cpu) == at.cpu) else {
        shown.fail("isst_clos_get_assoc_status failed");
        return;
    };
    seen.put(shown, at, vec![Node::section("get-assoc", vec![Node::leaf("clos", &class)])]);
}

/// A level of a power domain, as the titles see it.
struct LevelSeen<'a> {
    seen: &'a RenderContext<'a>,
    domain: &'a Domain,
    features: Features,
    properties: &'a Properties,
    /// Its CPUs.
    cpus: CpuSet,
}

/// Which versions have a title.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Since {
    Ever,
    PowerDomains,
    Before,
}

/// A title of a level, and its value where it is shown.
type Title = (&'static str, Since, fn(&LevelSeen<'_>) -> Option<String>);

/// The titles of a level, in their order.
const TITLES: &[Title] = &[
    ("cpu-count", Since::Ever, |it| if_any(it.domain.cpus.len())),
    ("enable-cpu-count", Since::Ever, |it| if_any(it.cpus.len())),
    ("enable-cpu-mask", Since::Ever, |it| if_any(it.cpus.len()).map(|_| it.seen.mask(&it.cpus))),
    ("enable-cpu-list", Since::Ever, |it| if_any(it.cpus.len()).map(|_| list(&it.cpus))),
    ("thermal-design-power-ratio", Since::Ever, |it| {
        it.properties.tdp_ratio.as_ref().ok().map(u8::to_string)
    }),
    ("base-frequency(MHz)", Since::Ever, |it| {
        let ratio = it.properties.tdp_ratio.as_ref().ok().copied();
        // Zero only where the firmware says zero.
        let is_told = ratio.is_some() || it.properties.base.is_ok();
        let by_ratio = ratio.and_then(Megahertz::of_ratio);
        is_told.then(|| mhz(it.base("sse").or(by_ratio)).to_string())
    }),
    ("base-frequency-avx2(MHz)", Since::Ever, |it| number(it.base("avx2"))),
    ("base-frequency-avx512(MHz)", Since::Ever, |it| number(it.base("avx512"))),
    ("uncore-frequency-min(MHz)", Since::Ever, |it| number(it.fabric()?.lowest)),
    ("uncore-frequency-max(MHz)", Since::Ever, |it| number(it.fabric()?.highest)),
    ("base-frequency-amx(MHz)", Since::PowerDomains, |it| number(it.base("amx"))),
    ("uncore-frequency-base(MHz)", Since::PowerDomains, |it| number(it.fabric()?.guaranteed)),
    ("max-mem-frequency(MHz)", Since::PowerDomains, |it| it.memory()),
    ("mem-frequency(MHz)", Since::Before, |it| it.memory()),
    ("cooling_type", Since::PowerDomains, |it| {
        it.properties.cooling.as_ref().ok().map(u8::to_string)
    }),
    ("speed-select-turbo-freq", Since::Ever, |it| Some(it.features.turbo_freq.word().to_owned())),
    ("speed-select-base-freq", Since::Ever, |it| Some(it.features.base_freq.word().to_owned())),
    ("speed-select-core-power", Since::Ever, |it| it.core_power()),
    ("thermal-design-power(W)", Since::Ever, |it| {
        it.properties.tdp.as_ref().ok().map(|watts| watts.0.to_string())
    }),
    ("tjunction-max(C)", Since::Ever, |it| {
        it.properties.temperature.as_ref().ok().map(|celsius| celsius.0.to_string())
    }),
];

fn number(frequency: Option<Megahertz>) -> Option<String> {
    frequency.map(|frequency| frequency.0.to_string())
}

/// What a domain without CPUs has none of.
fn if_any(count: usize) -> Option<String> {
    (count > 0).then(|| count.to_string())
}

impl LevelSeen<'_> {
    fn base(&self, name: &str) -> Option<Megahertz> {
        let base = self.properties.base.as_ref().ok()?;
        base.iter().find(|base| base.licence.name == name)?.frequency
    }

    fn fabric(&self) -> Option<crate::model::Fabric> {
        self.properties.fabrics.as_ref().ok()?.first().copied()
    }

    fn memory(&self) -> Option<String> {
        self.properties.memory.as_ref().ok().map(|mhz| mhz.0.to_string())
    }

    fn core_power(&self) -> Option<String> {
        let it = self.domain.core_power.as_ref()?;
        let (supported, on) = (it.supported.as_ref().ok()?, it.enabled.as_ref().ok()?);
        Some(Feature::of(*supported, *on).word().to_owned())
    }

    fn titles(&self) -> impl Iterator<Item = Node> {
        let newer = self.seen.tool.newer_titles;
        let has = move |since: Since| match since {
            Since::Ever => true,
            Since::PowerDomains => newer,
            Since::Before => !newer,
        };
        let titles = TITLES.iter().filter(move |(_, since, _)| has(*since));
        titles.filter_map(|(title, _, value)| Some(Node::leaf(*title, &value(self)?)))
    }

    fn turbo(&self) -> impl Iterator<Item = Node> {
        let cores = self.properties.bucket_cores.as_ref().ok().copied();
        self.properties.turbo.iter().filter_map(move |turbo| {
            let limits = turbo.limits.as_ref().ok().filter(|limits| limits[0].is_some())?;
            let name = self.seen.tool.licence(turbo.licence)?;
            let cores = cores?;
            let buckets = cores.iter().zip(limits).enumerate().map(|(place, (cores, limit))| {
                let parts = vec![
                    Node::leaf("core-count", &cores),
                    Node::leaf("max-turbo-frequency(MHz)", &mhz(*limit)),
                ];
                Node::section(format!("bucket-{place}"), parts)
            });
            let title = format!("turbo-ratio-limits-{name}");
            Some(Node::section(title, buckets.collect()))
        })
    }
}

fn profile_info(seen: &RenderContext<'_>, query: &Query, at: At<'_>, shown: &mut CompatOutput) {
    let cpu = at.cpu.map_or_else(|| "-1".to_owned(), |cpu| cpu.to_string());
    let failed = format!("Failed to get perf-profile info on cpu {cpu}");
    let Some(Ok(profiles)) = &at.domain.profiles else {
        shown.fail(failed);
        return;
    };
    if let Some(level) = query.level.filter(|level| profiles.level(*level).is_none()) {
        if level > profiles.highest {
            shown.fail("Invalid level");
            shown.fail(failed);
            shown.is_over = true;
        } else {
            let why = "Invalid level, Can't get TDP control information at specified levels";
            shown.entries.push(OutputEntry::Information(format!("{why} on cpu {cpu}")));
            shown.failed = true;
        }
        return;
    }
    if !profiles.dynamic {
        let only = "perf-profile feature is not supported, just base-config level 0 is valid";
        shown.entries.push(OutputEntry::Information(only.to_owned()));
    }
    let on = profiles.on;
    let levels: Vec<Node> =
        profiles.levels.iter().filter_map(|level| level_info(seen, at.domain, level, on)).collect();
    if levels.is_empty() {
        shown.fail(failed);
    } else {
        seen.put(shown, at, levels);
    }
    for level in &profiles.levels {
        for what in unread(at.domain, level) {
            shown.fail(format!("Failed to get {what} of level {} on cpu {cpu}", level.number));
        }
    }
}

/// What belongs to a level, and could not be read. What the firmware refuses goes without saying.
fn unread(domain: &Domain, level: &Level) -> Vec<&'static str> {
    fn failed<T>(reading: &Reading<T>) -> bool {
        reading.as_ref().is_err_and(|reason| reason.obstacle != Obstacle::Hardware)
    }
    let Some(it) = level.properties.as_ref().filter(|_| !domain.cpus.is_empty()) else {
        return Vec::new();
    };
    let turbo = failed(&it.bucket_cores) || it.turbo.iter().any(|turbo| failed(&turbo.limits));
    let all = [
        ("features", failed(&level.features)),
        ("CPUs", failed(&it.modules)),
        ("base frequencies", failed(&it.base)),
        ("thermal design power", failed(&it.tdp)),
        ("turbo limits", turbo),
        ("uncore frequencies", failed(&it.fabrics)),
        ("base-freq", level.base_freq.as_ref().is_some_and(failed)),
        ("turbo-freq", level.turbo_freq.as_ref().is_some_and(failed)),
    ];
    all.into_iter().filter(|(_, failed)| *failed).map(|(what, _)| what).collect()
}

fn level_info(
    seen: &RenderContext<'_>,
    domain: &Domain,
    level: &Level,
    on: Option<On>,
) -> Option<Node> {
    let features = *level.features.as_ref().ok()?;
    // What is on at the level at present is said of each level there.
    let features = on.map_or(features, |on| Features {
        turbo_freq: features.turbo_freq.with(on.turbo_freq),
        base_freq: features.base_freq.with(on.base_freq),
    });
    let properties = level.properties.as_ref()?;
    let modules = properties.modules.as_ref().ok().copied().unwrap_or(Modules(0));
    let cpus = domain.cpus_of(modules);
    let it = LevelSeen { seen, domain, features, properties, cpus };
    let mut parts: Vec<Node> = it.titles().chain(it.turbo()).collect();
    if let Some(Ok(base_freq)) = &level.base_freq {
        parts.push(base_freq_part(seen, domain, base_freq));
    }
    if let Some(Ok(turbo_freq)) = &level.turbo_freq {
        parts.push(turbo_freq_part(seen.tool, turbo_freq, &|_| true, &|_| true));
    }
    Some(Node::section(format!("perf-profile-level-{}", level.number), parts))
}

fn base_freq_part(seen: &RenderContext<'_>, domain: &Domain, it: &BaseFreq) -> Node {
    let cpus = domain.cpus_of(it.modules);
    let mut parts = vec![
        Node::leaf("high-priority-base-frequency(MHz)", &mhz(it.high)),
        Node::leaf("high-priority-cpu-mask", &seen.mask(&cpus)),
        Node::leaf("high-priority-cpu-list", &list(&cpus)),
        Node::leaf("low-priority-base-frequency(MHz)", &mhz(it.low)),
    ];
    let rest = [
        ("tjunction-temperature(C)", it.temperature.as_ref().ok().map(|celsius| celsius.0)),
        ("thermal-design-power(W)", it.tdp.as_ref().ok().map(|watts| watts.0)),
    ];
    parts.extend(rest.into_iter().filter_map(|(title, value)| Some(Node::leaf(title, &value?))));
    Node::section("speed-select-base-freq-properties", parts)
}

/// Of the groups and the licences that are wanted; limits of the others are always shown.
fn turbo_freq_part(
    tool: &Tool,
    it: &TurboFreq,
    bucket: &dyn Fn(usize) -> bool,
    licence: &dyn Fn(u8) -> bool,
) -> Node {
    let limits = |who: &str, limits: &[PerLicence], wanted: &dyn Fn(u8) -> bool| {
        let limits = limits.iter().filter(|limit| wanted(limit.licence.number));
        let given =
            limits.filter_map(|limit| Some((tool.licence(limit.licence)?, limit.frequency?)));
        let leaf = |(name, frequency): (&str, Megahertz)| {
            let infix = if name == "sse" { String::new() } else { format!("{name}-") };
            Node::leaf(format!("{who}-priority-max-{infix}frequency(MHz)"), &frequency.0)
        };
        given.map(leaf).collect::<Vec<Node>>()
    };
    let buckets = it.buckets.iter().enumerate().filter(|(place, _)| bucket(*place));
    let mut parts: Vec<Node> = buckets
        .map(|(place, it)| {
            let mut parts = vec![Node::leaf("high-priority-cores-count", &it.cores)];
            parts.extend(limits("high", &it.limits, licence));
            Node::section(format!("bucket-{place}"), parts)
        })
        .collect();
    let clips = limits("low", &it.clips, &|_| true);
    parts.push(Node::section("speed-select-turbo-freq-clip-frequencies", clips));
    Node::section("speed-select-turbo-freq-properties", parts)
}

/// A feature of the level that was named: what of it is shown, or why not.
enum FeatureLookup<'a, T> {
    Here(&'a T),
    /// A power domain without CPUs has none of them.
    NotOfThisDomain,
    Failed,
}

fn feature<'a, T>(
    name: &str,
    query: &Query,
    at: At<'a>,
    shown: &mut CompatOutput,
    pick: impl Fn(&'a Level) -> Option<&'a Reading<T>>,
    of: impl Fn(&Features) -> Feature,
) -> FeatureLookup<'a, T> {
    let number = query.level.unwrap_or(0);
    let failed = format!("Failed to get {name} info at this level {number}");
    let Some(Ok(profiles)) = &at.domain.profiles else {
        return failing(shown, "get_tdp_* failed".to_owned(), failed);
    };
    if number > profiles.highest {
        return failing(shown, format!("Invalid level {number}"), failed);
    }
    // There may be holes between levels.
    let Some(found) = profiles.level(number) else {
        shown.fail(failed);
        return FeatureLookup::Failed;
    };
    let absent = found.features.as_ref().is_ok_and(|it| of(it) == Feature::Unsupported);
    match pick(found) {
        Some(Ok(it)) => FeatureLookup::Here(it),
        _ if absent && at.cpu.is_none() => FeatureLookup::NotOfThisDomain,
        _ if absent => {
            let why = format!("{name} feature is not present at this level {number}");
            failing(shown, why, failed)
        }
        _ => {
            shown.fail(failed);
            FeatureLookup::Failed
        }
    }
}

fn failing<'a, T>(shown: &mut CompatOutput, why: String, failed: String) -> FeatureLookup<'a, T> {
    shown.fail(why);
    shown.fail(failed);
    FeatureLookup::Failed
}

fn base_freq_info(seen: &RenderContext<'_>, query: &Query, at: At<'_>, shown: &mut CompatOutput) {
    let of = |it: &Features| it.base_freq;
    match feature("base-freq", query, at, shown, |level| level.base_freq.as_ref(), of) {
        FeatureLookup::Here(it) => {
            seen.put(shown, at, vec![base_freq_part(seen, at.domain, it)]);
        }
        FeatureLookup::NotOfThisDomain => {}
        FeatureLookup::Failed => shown.is_over = true,
    }
}

fn turbo_freq_info(seen: &RenderContext<'_>, query: &Query, at: At<'_>, shown: &mut CompatOutput) {
    let of = |it: &Features| it.turbo_freq;
    match feature("turbo-freq", query, at, shown, |level| level.turbo_freq.as_ref(), of) {
        FeatureLookup::Here(it) => {
            if query.bucket.is_some_and(|bucket| bucket >= it.buckets.len()) {
                let number = query.level.unwrap_or(0);
                shown.fail("Invalid bucket");
                shown.fail(format!("Failed to get turbo-freq info at this level {number}"));
                shown.is_over = true;
                return;
            }
            let bucket = |place| query.bucket.is_none_or(|bucket| bucket == place);
            let licence = |number| query.licence.is_none_or(|licence| licence == number);
            seen.put(shown, at, vec![turbo_freq_part(seen.tool, it, &bucket, &licence)]);
        }
        FeatureLookup::NotOfThisDomain => {}
        FeatureLookup::Failed => shown.is_over = true,
    }
}
