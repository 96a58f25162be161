//! PMUs as the kernel describes them: their number, the CPUs that read them, their events by name and
//! the bits that an event is made of.
//!
//! # Source
//! Linux, `Documentation/ABI/testing/sysfs-bus-event_source-devices`, `-events` and `-format`.

use model::{CpuId, CpuSet, Obstacle, Reading, Unavailable};
use sys::perf_open::{Attributes, USER_ACCESS};

use crate::parse::{or_empty, whole_number};
use crate::ports::Tree;

/// Where the kernel describes the PMUs that it knows.
pub(crate) const PMUS: &str = "/sys/bus/event_source/devices";

/// The names of all PMUs, sorted.
///
/// # Error
/// Where the kernel describes none.
pub fn names(tree: &dyn Tree) -> Reading<Vec<String>> {
    tree.list(PMUS)
}

/// Whether a PMU is one of cores.
pub fn is_of_cores(name: &str) -> bool {
    name == "cpu" || ["cpu_", "armv", "apple_"].iter().any(|start| name.starts_with(start))
}

/// Whether it is one of cores of Arm's architecture, whose events have the architecture's numbers.
pub fn is_of_arm(name: &str) -> bool {
    name.starts_with("armv")
}

/// The PMUs of the cores that the kernel describes: several where there are several kinds of cores.
pub fn of_cores(tree: &dyn Tree) -> Vec<String> {
    names(tree).unwrap_or_default().into_iter().filter(|name| is_of_cores(name)).collect()
}

/// A PMU, whose files are read when they are asked for.
#[derive(Clone, Copy)]
pub struct Pmu<'a> {
    tree: &'a dyn Tree,
    name: &'a str,
}

/// What an event is to perf_event_open(2): `config`, `config1`, `config2` and `config3`.
pub type Config = [u64; 4];

/// An event that a PMU has a name for.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedEvent {
    /// What it is to the kernel.
    pub config: Config,
    /// What a count is multiplied with to get a number in that unit; none: the kernel does not say.
    pub scale: Option<f64>,
    /// The unit, in the kernel's words, such as `MiB` or `Joules`.
    pub unit: Option<String>,
}

impl<'a> Pmu<'a> {
    /// The PMU of that name, whether or not there is one.
    pub fn new(tree: &'a dyn Tree, name: &'a str) -> Pmu<'a> {
        Pmu { tree, name }
    }

    /// Its name.
    pub fn name(&self) -> &'a str {
        self.name
    }

    fn path(&self, file: &str) -> String {
        format!("{PMUS}/{}/{file}", self.name)
    }

    fn read(&self, file: &str) -> Reading<String> {
        self.tree.read(&self.path(file))
    }

    fn broken(&self, file: &str, why: &str) -> Unavailable {
        let path = self.path(file);
        Unavailable::new(Obstacle::Cpudyno, format!("`{path}`"), format!("`{path}` {why}"))
    }

    /// Its number, which an event names it by.
    pub fn kind(&self) -> Reading<u32> {
        let kind = whole_number(&self.path("type"), &self.read("type")?)?;
        u32::try_from(kind).map_err(|_| self.broken("type", &format!("is {kind}: too large")))
    }

    /// The CPUs on which its events are opened: one for each instance that they count on together.
    pub fn cpus(&self) -> Reading<Vec<CpuId>> {
        let text = self.read("cpumask")?;
        let cpus: Option<CpuSet> = text.trim().parse().ok();
        let cpus: Vec<CpuId> = cpus.iter().flat_map(CpuSet::iter).collect();
        if cpus.is_empty() {
            return Err(self.broken("cpumask", &format!("names no CPUs but `{}`", start(&text))));
        }
        Ok(cpus)
    }

    /// The first of the CPUs that it is of, where it is of some of them only: cores of one type.
    pub fn first_cpu(&self) -> Option<CpuId> {
        self.read("cpus").ok()?.trim().parse::<CpuSet>().ok()?.iter().next()
    }

    /// Whether it is one of Arm's architecture that has no event of that number: the kernel opens such an
    /// event all the same, and it counts nothing.
    ///
    /// # Source
    /// Linux `drivers/perf/arm_pmuv3.c`, `armv8pmu_event_attr_is_visible`: the folder names the common
    /// events whose bit is set in PMCEID; kernels since 4.4 know those up to 30h, and all of those that are
    /// as young as the term `rdpmc` (5.17).
    pub fn lacks(&self, number: u64) -> bool {
        // The last common event that every kernel has a name for, and the end of common events.
        const ALWAYS_NAMED: u64 = 0x30;
        const COMMON: u64 = 0x40;
        if !is_of_arm(self.name) || number >= COMMON {
            return false;
        }
        let names = self.events().unwrap_or_default();
        let numbers = names.iter().filter_map(|name| self.event(name).ok());
        let named: Vec<u64> =
            numbers.map(|event| event.config[0]).filter(|number| *number < COMMON).collect();
        let are_all_known = || self.terms().is_ok_and(|terms| terms.iter().any(|it| it == "rdpmc"));
        let is_known = number <= ALWAYS_NAMED || are_all_known();
        !named.is_empty() && !named.contains(&number) && is_known
    }

    /// The names of its terms, such as `event` and `umask`.
    ///
    /// # Error
    /// Where they may not be read.
    pub fn terms(&self) -> Reading<Vec<String>> {
        let folder = self.path("format");
        or_empty(&folder, self.tree.list(&folder))
    }

    /// The names of its events; none where it names none.
    ///
    /// # Error
    /// Where they may not be read.
    pub fn events(&self) -> Reading<Vec<String>> {
        const BESIDE: [&str; 4] = [".scale", ".unit", ".snapshot", ".per-pkg"];
        let folder = self.path("events");
        let mut names = or_empty(&folder, self.tree.list(&folder))?;
        names.retain(|name| !BESIDE.iter().any(|ending| name.ends_with(ending)));
        Ok(names)
    }

    /// An event that it has a name for.
    pub fn event(&self, name: &str) -> Reading<NamedEvent> {
        let file = format!("events/{name}");
        let config = self.encode(&self.read(&file)?)?;
        let beside = |ending: &str| {
            let text = self.read(&format!("{file}.{ending}")).ok()?;
            Some(text.trim().to_owned()).filter(|text| !text.is_empty())
        };
        let scale = match beside("scale") {
            None => None,
            Some(text) => {
                let scale = text.parse::<f64>().ok().filter(|s| s.is_finite() && *s > 0.0);
                let why = || format!("is no factor but `{}`", start(&text));
                Some(scale.ok_or_else(|| self.broken(&format!("{file}.scale"), &why()))?)
            }
        };
        Ok(NamedEvent { config, scale, unit: beside("unit") })
    }

    /// What terms such as `event=0x04,umask=0x03` stand for, by the PMU's own formats. A term without
    /// a value is 1.
    ///
    /// # Error
    /// Where it has no such term, or a value does not fit.
    pub fn encode(&self, terms: &str) -> Reading<Config> {
        let mut config = Config::default();
        for term in terms.trim().split(',').map(str::trim) {
            let (name, value) = term.split_once('=').unwrap_or((term, "1"));
            let refused = |why: String| {
                let what = format!("event `{}` of `{}`", start(terms), self.name);
                Unavailable::new(Obstacle::Cpudyno, what, why)
            };
            let number = number(value).ok_or_else(|| {
                refused(format!("`{}` has no number but `{}`", start(name), start(value)))
            })?;
            let format = match Word::of(name) {
                Some(word) => Format { word, ranges: vec![[0, 63]] },
                None => self.format(name)?,
            };
            format.put(&mut config, number).ok_or_else(|| {
                refused(format!("{number:#x} does not fit into the bits of `{}`", start(name)))
            })?;
        }
        Ok(config)
    }

    fn format(&self, term: &str) -> Reading<Format> {
        let file = format!("format/{term}");
        if term.is_empty() || term.contains('/') {
            return Err(self.broken("format", &format!("has no term `{}`", start(term))));
        }
        let text = self.read(&file)?;
        let why = || format!("names no bits but `{}`", start(&text));
        Format::parse(&text).ok_or_else(|| self.broken(&file, &why()))
    }
}

/// What is shown of a text that is not what it should be.
fn start(text: &str) -> String {
    text.trim().chars().take(40).collect()
}

/// A number, in hexadecimal where it says so.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// One of the words of a [`Config`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Word(usize);

impl Word {
    fn of(name: &str) -> Option<Word> {
        const NAMES: [&str; 4] = ["config", "config1", "config2", "config3"];
        NAMES.iter().position(|known| *known == name).map(Word)
    }
}

/// The bits that a term is kept in: `config:0-7`, or `config:8-15,32-55`, the lowest first.
#[derive(Debug, PartialEq, Eq)]
struct Format {
    word: Word,
    /// First and last bit of each range.
    ranges: Vec<[u32; 2]>,
}

impl Format {
    fn parse(text: &str) -> Option<Format> {
        let (word, ranges) = text.trim().split_once(':')?;
        let range = |range: &str| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let range = [first.parse().ok()?, last.parse().ok()?];
            (range[0] <= range[1] && range[1] < u64::BITS).then_some(range)
        };
        let ranges = ranges.split(',').map(range).collect::<Option<_>>()?;
        Some(Format { word: Word::of(word)?, ranges })
    }

    /// Puts a number there; none where it has more bits.
    fn put(&self, config: &mut Config, mut number: u64) -> Option<()> {
        for [first, last] in &self.ranges {
            let width = last - first + 1;
            let mask = u64::MAX >> (u64::BITS - width);
            config[self.word.0] |= (number & mask) << first;
            number = number.checked_shr(width).unwrap_or(0);
        }
        (number == 0).then_some(())
    }
}

/// The switch of user access on Arm; elsewhere it is not there, or means something else.
pub(crate) const USER_ACCESS_SWITCH: &str = "/proc/sys/kernel/perf_user_access";

/// The same event, asked for such that its counter may be read by instruction: none where nothing has to be
/// asked for, or asking is in vain.
pub(crate) fn user_access(tree: &dyn Tree, attributes: &Attributes) -> Option<Attributes> {
    /// `PERF_TYPE_SOFTWARE`.
    const SOFTWARE: u32 = 1;
    let [config, config1, config2, config3] = attributes.config;
    let is_free = attributes.kind != SOFTWARE && config1 == 0;
    let is_on = || tree.read(USER_ACCESS_SWITCH).is_ok_and(|value| value.trim() == "1");
    let is_arm = || of_cores(tree).iter().any(|name| is_of_arm(name));
    let config = [config, USER_ACCESS, config2, config3];
    (is_free && is_on() && is_arm()).then_some(Attributes { config, ..*attributes })
}

#[cfg(test)]
mod tests {
    use simulated::Files;
    use sys::perf_open::Event;

    use super::*;

    fn files(texts: &[(&str, &str)]) -> Files {
        let mut files = Files::default();
        for (file, text) in texts {
            files.put(format!("{PMUS}/it/{file}"), text);
        }
        files
    }

    /// As Intel's server uncore, with a term in two ranges and one in another word.
    fn server() -> Files {
        files(&[
            ("type", "12"),
            ("cpumask", "0,56"),
            ("format/event", "config:0-7"),
            ("format/umask", "config:8-15,32-55"),
            ("format/edge", "config:18"),
            ("format/filter", "config1:0-31"),
            ("format/whole", "config2:0-63"),
            ("events/cas_count_read", "event=0x04,umask=0x03\n"),
            ("events/cas_count_read.scale", "6.103515625e-5\n"),
            ("events/cas_count_read.unit", "MiB\n"),
            ("events/clockticks", "event=0xff,umask=0x00"),
        ])
    }

    #[test]
    fn a_pmu_says_its_number_its_cpus_and_its_events() {
        let files = server();
        let pmu = Pmu::new(&files, "it");
        assert_eq!(names(&files).unwrap(), ["it"]);
        assert_eq!(pmu.kind().unwrap(), 12);
        assert_eq!(pmu.cpus().unwrap(), [CpuId(0), CpuId(56)]);
        assert_eq!(pmu.events().unwrap(), ["cas_count_read", "clockticks"]);
        let event = pmu.event("cas_count_read").unwrap();
        assert_eq!(event.config, [0x304, 0, 0, 0]);
        assert_eq!(event.scale, Some(64.0 / f64::from(1 << 20)));
        assert_eq!(event.unit.as_deref(), Some("MiB"));
        let plain = NamedEvent { config: [0xff, 0, 0, 0], scale: None, unit: None };
        assert_eq!(pmu.event("clockticks").unwrap(), plain);
    }

    #[test]
    fn terms_are_put_where_the_formats_say() {
        let files = server();
        let encode = |terms: &str| Pmu::new(&files, "it").encode(terms).unwrap();
        assert_eq!(encode("umask=0x1234,event=0x05"), [0x12_0000_3405, 0, 0, 0]);
        assert_eq!(encode("edge,event=5,filter=0x10"), [0x4_0005, 0x10, 0, 0]);
        assert_eq!(encode("whole=0xffffffffffffffff"), [0, 0, u64::MAX, 0]);
        assert_eq!(encode("config=0x304,config3=7"), [0x304, 0, 0, 7]);
    }

    #[test]
    fn what_a_pmu_of_arm_does_not_name_it_lacks() {
        let lacks = |pmu: &str, texts: &[(&str, &str)], number| {
            let mut files = Files::default();
            files.put(format!("{PMUS}/{pmu}/format/event"), "config:0-15");
            for (file, text) in texts {
                files.put(format!("{PMUS}/{pmu}/{file}"), text);
            }
            Pmu::new(&files, pmu).lacks(number)
        };
        let emulated = &[("events/cpu_cycles", "event=0x011")][..];
        let younger = &[emulated[0], ("format/rdpmc", "config1:1")][..];
        for (pmu, texts, number, expected) in [
            ("armv8_pmuv3", emulated, 0x11, false),
            ("armv8_pmuv3", emulated, 0x08, true),
            ("armv8_pmuv3", emulated, 0x21, true),
            // The kernel may have no name for it.
            ("armv8_pmuv3", emulated, 0x37, false),
            ("armv8_pmuv3", younger, 0x37, true),
            // The maker's own, of which nobody has a list.
            ("armv8_pmuv3", younger, 0x1c2, false),
            ("armv8_pmuv3", &[], 0x08, false),
            ("cpu", emulated, 0x08, false),
        ] {
            assert_eq!(lacks(pmu, texts, number), expected, "{pmu} {texts:?} {number:#x}");
        }
    }

    #[test]
    fn what_is_not_understood_says_where() {
        let files = server();
        let why = |terms: &str| Pmu::new(&files, "it").encode(terms).unwrap_err().why;
        assert_eq!(why("event=0x100"), "0x100 does not fit into the bits of `event`");
        assert_eq!(why("edge=2"), "0x2 does not fit into the bits of `edge`");
        assert_eq!(why("event=?"), "`event` has no number but `?`");
        assert!(why("colour=1").contains("it/format/colour"), "{}", why("colour=1"));
        for strange in ["", "../type", "=1", "event=0x1,"] {
            assert!(!why(strange).is_empty());
        }
        let broken = self::files(&[
            ("type", "many"),
            ("cpumask", "\n"),
            ("format/event", "config:7-0"),
            ("format/umask", "config:60-64"),
            ("format/thread", "config9:0"),
            ("events/energy", "config=0x1"),
            ("events/energy.scale", "a lot"),
        ]);
        let pmu = Pmu::new(&broken, "it");
        assert!(pmu.kind().unwrap_err().why.contains("it/type"));
        assert!(pmu.cpus().unwrap_err().why.contains("it/cpumask"));
        assert!(pmu.event("energy").unwrap_err().why.ends_with("is no factor but `a lot`"));
        for term in ["event", "umask", "thread"] {
            let why = pmu.encode(&format!("{term}=1")).unwrap_err().why;
            assert!(why.contains("names no bits but `config"), "{why}");
        }
        let nobody = Pmu::new(&broken, "nobody");
        assert!(nobody.events().unwrap().is_empty() && nobody.event("x").is_err());
    }

    /// The switch is there on every kernel of Arm since 5.17, and off as a rule.
    #[test]
    fn on_arm_counters_are_read_by_instruction_where_the_switch_is_on() {
        let asked = |pmu: &str, switch: Option<&str>, attributes: Attributes| {
            let mut tree = Files::default();
            tree.put(format!("{PMUS}/{pmu}/type"), "8");
            if let Some(value) = switch {
                tree.put(USER_ACCESS_SWITCH, value);
            }
            user_access(&tree, &attributes).map(|attributes| attributes.config[1])
        };
        let cycles = || Attributes::from(Event::CYCLES_USER);
        assert_eq!(asked("armv8_pmuv3", Some("1\n"), cycles()), Some(0b10));
        assert_eq!(asked("armv8_pmuv3", Some("0\n"), cycles()), None);
        assert_eq!(asked("armv8_pmuv3", None, cycles()), None);
        assert_eq!(asked("cpu", Some("1\n"), cycles()), None);
        assert_eq!(asked("armv8_pmuv3", Some("1"), Event::CPU_CLOCK.into()), None);
        let own = Attributes { config: [0x11, 1, 0, 0], ..cycles() };
        assert_eq!(asked("armv8_pmuv3", Some("1"), own), None, "what was asked for stays");
    }
}
