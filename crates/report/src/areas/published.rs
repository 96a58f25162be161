//! What others found instructions to cost, beside what was measured.

use std::sync::LazyLock;

use model::record::{PlannedWorkload, Record};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::band::{self, Band};

/// The table, as `data/README.md` describes it.
static SETS: LazyLock<Vec<Set<Figure>>> =
    LazyLock::new(|| read(include_str!("../../../../data/instruction-latency.toml")));

/// The sets of a table, which a test reads.
pub(crate) fn read<F: DeserializeOwned>(table: &str) -> Vec<Set<F>> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct FigureTable<F> {
        set: Vec<Set<F>>,
    }
    let table: FigureTable<F> = toml::from_str(table).expect("BUG: a test reads the table");
    table.set
}

/// What one source says of one core.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Set<F> {
    of: Vec<String>,
    cpu: Option<String>,
    remark: Option<String>,
    source: String,
    version: String,
    place: String,
    method: Method,
    pub(crate) figures: Vec<F>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Method {
    Measured,
    Model,
    Database,
}

/// What it says of one instruction, in core cycles per op. Its encoding is for readers of the file:
/// figures of all encodings are accepted.
#[derive(Debug, Deserialize)]
struct Figure {
    mnemonic: String,
    bits: Option<u32>,
    latency: Option<f64>,
    reciprocal: Option<f64>,
}

/// Which figure a stream is held against, by its kind in the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// A chain: the latency.
    Latency,
    /// Several chains: the reciprocal throughput.
    Throughput,
    /// Instructions that wait on purpose: their duration. It differs between CPUs of one
    /// microarchitecture and between guest and host, so that no finding rests on it.
    Spin,
}

impl Bound {
    fn of(kind: &str) -> Option<Bound> {
        match kind {
            "latency" => Some(Bound::Latency),
            "throughput" => Some(Bound::Throughput),
            "spin" => Some(Bound::Spin),
            _ => None,
        }
    }

    fn figure(self, figure: &Figure) -> Option<f64> {
        match self {
            Bound::Latency => figure.latency,
            Bound::Throughput | Bound::Spin => figure.reciprocal,
        }
    }

    /// Up to this share a measured number equals a known one. Sources round latencies to a
    /// hundredth or a tenth of a cycle, and throughputs suffer from whatever else a core does.
    fn tolerance(self) -> f64 {
        match self {
            Bound::Latency => 0.02,
            Bound::Throughput | Bound::Spin => 0.05,
        }
    }
}

/// What the comparison says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FigureVerdict {
    /// It equals a known figure, within 2 % (latency) or 5 % (throughput).
    Equal,
    /// It differs from every known figure by more than that.
    Differs,
    /// It differs, and is not known well enough to say so: its interval reaches a known figure.
    Unsure,
    /// Nothing is known of this instruction on this core.
    Unknown,
}

impl FigureVerdict {
    /// The word for it in tables.
    pub fn word(self) -> &'static str {
        match self {
            FigureVerdict::Equal => "equal",
            FigureVerdict::Differs => "differs",
            FigureVerdict::Unsure => "cannot tell",
            FigureVerdict::Unknown => "unknown",
        }
    }
}

/// A stream with one active core beside what others found.
#[derive(Debug)]
pub struct Comparison<'a> {
    /// The stream.
    pub stream: &'a str,
    /// The type of its core, where the machine has several.
    pub core_type: Option<&'a str>,
    /// Which figure it is held against; none where there is none for such a stream.
    pub bound: Option<Bound>,
    /// Median, in core cycles per op.
    pub measured: f64,
    /// How far that may be off, as a share of it.
    pub uncertainty: f64,
    /// Figures of that core.
    pub figures: Figures,
}

/// What others found of an instruction on a core, in core cycles per op; each with the set that holds
/// it.
#[derive(Debug)]
pub struct Figures(Vec<(f64, &'static Set<Figure>)>);

/// Units for an instruction.
#[derive(Debug, Clone)]
pub(crate) struct Units {
    /// Instructions in a cycle.
    pub(crate) count: f64,
    /// Whether others found another number in such a core.
    pub(crate) is_one_of_several: bool,
    /// Who says so.
    pub(crate) sources: Vec<String>,
}

impl Figures {
    /// Those of a workload of a record, on a type of core, whether or not it was measured.
    ///
    /// # Source
    /// `data/instruction-latency.toml`, whose sets name theirs.
    pub fn in_record(record: &Record, workload: &str, core_type: Option<&str>) -> Option<Figures> {
        let planned = record.run.plan.workload(workload)?;
        Some(Figures::of(planned, core(record, core_type).as_deref()))
    }

    fn of(planned: &PlannedWorkload, core: Option<&str>) -> Figures {
        let bound = Bound::of(&planned.kind);
        let same = |figure: &&Figure| {
            planned.mnemonic.as_ref() == Some(&figure.mnemonic) && planned.width_bits == figure.bits
        };
        let known = |set: &'static Set<Figure>| {
            let of_stream = set.figures.iter().filter(same);
            of_stream.filter_map(move |figure| Some((bound?.figure(figure)?, set)))
        };
        Figures(SETS.iter().filter(|set| set.is_of(core)).flat_map(known).collect())
    }

    /// The least of them: all units at work.
    pub fn least(&self) -> Option<f64> {
        self.0.iter().map(|(cycles, _)| *cycles).reduce(f64::min)
    }

    /// How many of them a core can begin in a cycle, or one in how many, and who says so: of several counts the one
    /// nearest to what was measured, as CPUs of one core may have fewer units than others. What is near a whole number is
    /// one, as others measured it, too.
    pub(crate) fn units(&self, per_cycle: f64) -> Option<Units> {
        let count = |cycles: f64| {
            if cycles < 1.0 { (1.0 / cycles).round() } else { 1.0 / cycles.round() }
        };
        let off = |count: f64| (count / per_cycle).ln().abs();
        let all = self.0.iter().map(|(cycles, _)| count(*cycles));
        let nearest = all.min_by(|a, b| off(*a).total_cmp(&off(*b)))?;
        let same = |cycles: f64| (count(cycles) / nearest - 1.0).abs() < 1e-9;
        let its = self.0.iter().filter(|(cycles, _)| same(*cycles));
        let said = its.clone().map(|(_, set)| match set.method {
            Method::Model => format!("{} (a model)", set.source),
            Method::Measured | Method::Database => set.source.clone(),
        });
        let is_one_of_several = its.count() < self.0.len();
        Some(Units { count: nearest, is_one_of_several, sources: said.collect() })
    }

    /// The one nearest to what was measured.
    pub fn nearest(&self, measured: f64) -> Option<f64> {
        let off = |known: f64| (measured / known - 1.0).abs();
        self.0.iter().map(|(cycles, _)| *cycles).min_by(|a, b| off(*a).total_cmp(&off(*b)))
    }

    /// Each once, in core cycles per op; a dash where there are none.
    pub fn words(&self) -> String {
        distinct(self.0.iter().map(|(cycles, _)| cycles.to_string()), " / ")
    }

    /// Who found them, each once; a dash where there is nobody.
    pub fn sources(&self) -> String {
        distinct(self.0.iter().map(|(_, set)| set.source.clone()), ", ")
    }
}

impl<'a> Comparison<'a> {
    /// A workload of a record on a type of core, beside what others found on such a core.
    pub fn in_record(
        record: &'a Record,
        workload: &str,
        core_type: Option<&'a str>,
        cycles_per_op: f64,
        uncertainty: f64,
    ) -> Option<Comparison<'a>> {
        let planned = record.run.plan.workload(workload)?;
        let core = core(record, core_type);
        let of = Comparison::of(planned, core.as_deref(), cycles_per_op);
        Some(Comparison { core_type, uncertainty, ..of })
    }

    fn of(planned: &'a PlannedWorkload, core: Option<&str>, measured: f64) -> Comparison<'a> {
        let (bound, figures) = (Bound::of(&planned.kind), Figures::of(planned, core));
        let (stream, core_type, uncertainty) = (&planned.id, None, 0.0);
        Comparison { stream, core_type, bound, measured, uncertainty, figures }
    }

    /// Whether any known figure is near enough.
    pub fn verdict(&self) -> FigureVerdict {
        let Some(bound) = self.bound.filter(|_| !self.figures.0.is_empty()) else {
            return FigureVerdict::Unknown;
        };
        let near = |uncertainty: f64| {
            let [low, high] = [1.0 - uncertainty, 1.0 + uncertainty].map(|end| end * self.measured);
            let [less, more] = [1.0 - bound.tolerance(), 1.0 + bound.tolerance()];
            self.figures.0.iter().any(|(known, _)| low <= known * more && high >= known * less)
        };
        if near(0.0) {
            FigureVerdict::Equal
        } else if near(self.uncertainty) {
            FigureVerdict::Unsure
        } else {
            FigureVerdict::Differs
        }
    }

    /// The same as a line of what is normal, where anything is known.
    pub(crate) fn band(&self) -> Option<Band> {
        let verdict = match self.verdict() {
            FigureVerdict::Unknown => return None,
            FigureVerdict::Equal => band::BandVerdict::Normal,
            FigureVerdict::Unsure | FigureVerdict::Differs if self.bound == Some(Bound::Spin) => {
                band::BandVerdict::CannotTell("it differs from guest to guest".to_owned())
            }
            FigureVerdict::Unsure => {
                let share = self.uncertainty * 100.0;
                band::BandVerdict::CannotTell(format!("it is known to {share:.1} % only"))
            }
            FigureVerdict::Differs => {
                band::BandVerdict::Outside("another core than it says, or shared units".to_owned())
            }
        };
        let on = self.core_type.map_or(String::new(), |kind| format!(" on {kind}"));
        let nearest = self.figures.nearest(self.measured)?;
        let tolerance = self.bound?.tolerance();
        Some(Band {
            what: format!("{}{on}", self.stream),
            expected: format!("{} cycles", self.figures.words()),
            source: format!("cycles expected: {}", self.figures.sources()),
            measured: format!("{:.3} cycles", self.measured),
            position: format!("{:+.1} %", (self.measured / nearest - 1.0) * 100.0),
            verdict,
            normal: [1.0 - tolerance, 1.0 + tolerance].map(|end| end * nearest / self.measured),
            missing: (self.measured > nearest).then(|| nearest / self.measured),
            remedy: "see which core it says it is, and who shares it: `cpudyno info`",
        })
    }
}

/// Each text once, in the order of their appearance; a dash for none.
pub(crate) fn distinct(texts: impl Iterator<Item = String>, between: &str) -> String {
    let mut seen: Vec<String> = Vec::new();
    for text in texts {
        if !seen.contains(&text) {
            seen.push(text);
        }
    }
    if seen.is_empty() { "-".to_owned() } else { seen.join(between) }
}

/// The name of a core in the table: the microarchitecture, and the type where there are several.
pub(crate) fn core(record: &Record, core_type: Option<&str>) -> Option<String> {
    let name = record.text("cpu.microarchitecture")?;
    Some(core_type.map_or(name.to_owned(), |core_type| format!("{name} {core_type}")))
}

/// Where these figures come from, a line for each set.
pub fn citations<'a>(figures: impl IntoIterator<Item = &'a Figures>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (_, set) in figures.into_iter().flat_map(|figures| &figures.0) {
        let line = set.citation();
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

impl<F> Set<F> {
    /// Whether it says anything of that core.
    pub(crate) fn is_of(&self, core: Option<&str>) -> bool {
        self.of.iter().any(|name| Some(name.as_str()) == core)
    }

    /// Where its figures come from, in a line.
    pub(crate) fn citation(&self) -> String {
        let how = match self.method {
            Method::Measured => "measured",
            Method::Model => "a model, not measured",
            Method::Database => "a database",
        };
        let of = self.cpu.iter().chain(&self.remark).map(|text| format!(", {text}"));
        let of: String = of.collect();
        format!("{} {}, {}: {how}{of}", self.source, self.version, self.place)
    }
}

#[cfg(test)]
mod tests {
    use kernels::streams::TABLE;
    use model::microarchitecture::{CpuNumbers, numbers};

    use super::*;

    #[test]
    fn every_row_has_a_source_and_a_number_that_a_stream_can_have() {
        assert!(SETS.len() >= 28, "{}", SETS.len());
        for set in SETS.iter() {
            for text in [&set.source, &set.version, &set.place] {
                assert!(!text.trim().is_empty(), "{set:?}");
            }
            assert!(!set.of.is_empty() && !set.figures.is_empty(), "{set:?}");
            for figure in &set.figures {
                let numbers = [figure.latency, figure.reciprocal];
                assert!(numbers.iter().any(Option::is_some), "{figure:?}");
                assert!(numbers.iter().flatten().all(|cycles| *cycles > 0.0), "{figure:?}");
            }
        }
    }

    fn is_of_arm(set: &Set<Figure>) -> bool {
        let is = |name: &String| matches!(numbers(name), Some(CpuNumbers::Arm { .. }));
        set.of.iter().any(is)
    }

    #[test]
    fn every_row_is_an_instruction_of_a_stream() {
        let here = SETS.iter().filter(|set| is_of_arm(set) == cfg!(target_arch = "aarch64"));
        for figure in here.flat_map(|set| &set.figures) {
            let has_width = figure.bits.is_some();
            let fits = TABLE.iter().any(|row| {
                row.mnemonic == figure.mnemonic && row.width_bits.is_some() == has_width
            });
            assert!(fits, "no stream executes {figure:?}");
            assert!(matches!(figure.bits, None | Some(128 | 256 | 512)), "{figure:?}");
        }
    }

    #[test]
    fn every_set_is_of_cores_that_have_a_name() {
        for name in SETS.iter().flat_map(|set| &set.of) {
            let of_a_type = [" P", " E"].iter().find_map(|of_type| name.strip_suffix(of_type));
            assert!(numbers(of_a_type.unwrap_or(name)).is_some(), "no core is called {name}");
        }
    }

    fn stream(mnemonic: &str, width_bits: u32, kind: &str) -> PlannedWorkload {
        PlannedWorkload {
            licence: None,
            id: "it".to_owned(),
            title: String::new(),
            kind: kind.to_owned(),
            width_bits: Some(width_bits),
            mnemonic: Some(mnemonic.to_owned()),
            ops_per_iteration: 100,
            datatype: None,
            operations_per_op: None,
        }
    }

    fn verdict(planned: &PlannedWorkload, core: &str, measured: f64) -> FigureVerdict {
        Comparison::of(planned, Some(core), measured).verdict()
    }

    #[test]
    fn two_per_cent_of_a_latency_and_five_of_a_throughput_are_equal() {
        let chain = stream("vfmadd132pd", 256, "latency");
        assert_eq!(verdict(&chain, "Cascade Lake", 4.07), FigureVerdict::Equal);
        assert_eq!(verdict(&chain, "Cascade Lake", 4.09), FigureVerdict::Differs);
        assert_eq!(verdict(&chain, "Cascade Lake", 3.91), FigureVerdict::Differs);
        let chains = stream("vfmadd132pd", 256, "throughput");
        assert_eq!(verdict(&chains, "Cascade Lake", 0.52), FigureVerdict::Equal);
        assert_eq!(verdict(&chains, "Cascade Lake", 0.53), FigureVerdict::Differs);
    }

    #[test]
    fn what_is_not_known_well_differs_from_nothing_within_reach() {
        let chain = stream("vfmadd132pd", 256, "latency");
        let off_by = |measured, uncertainty| {
            let of = Comparison::of(&chain, Some("Cascade Lake"), measured);
            Comparison { uncertainty, ..of }.verdict()
        };
        assert_eq!(off_by(4.2, 0.06), FigureVerdict::Unsure);
        assert_eq!(off_by(3.8, 0.06), FigureVerdict::Unsure);
        assert_eq!(off_by(4.2, 0.01), FigureVerdict::Differs);
        assert_eq!(off_by(4.05, 0.5), FigureVerdict::Equal);
        let band =
            Comparison { uncertainty: 0.06, ..Comparison::of(&chain, Some("Cascade Lake"), 4.2) };
        let told = band.band().unwrap().verdict;
        assert_eq!(told, band::BandVerdict::CannotTell("it is known to 6.0 % only".to_owned()));
    }

    #[test]
    fn any_known_figure_will_do() {
        let chain = stream("vpaddq", 512, "latency");
        for cycles in [1.10, 2.00] {
            assert_eq!(verdict(&chain, "Zen 5", cycles), FigureVerdict::Equal);
        }
        assert_eq!(verdict(&chain, "Zen 5", 1.5), FigureVerdict::Differs);
        let comparison = Comparison::of(&chain, Some("Zen 5"), 1.5);
        assert_eq!(
            (&*comparison.figures.words(), &*comparison.figures.sources()),
            ("1.1 / 2", "InstLatx64, cpudyno")
        );
    }

    #[test]
    fn what_nobody_measured_is_unknown() {
        let chain = stream("vpaddq", 512, "latency");
        assert_eq!(verdict(&chain, "SIMULATED wide core", 7.0), FigureVerdict::Unknown);
        assert_eq!(verdict(&chain, "Haswell", 7.0), FigureVerdict::Unknown);
        assert_eq!(
            verdict(&stream("add", 512, "latency"), "Cascade Lake", 7.0),
            FigureVerdict::Unknown
        );
        assert_eq!(
            verdict(&stream("vpaddq", 512, "rename"), "Cascade Lake", 7.0),
            FigureVerdict::Unknown
        );
        let nameless = PlannedWorkload { mnemonic: None, ..chain };
        assert_eq!(verdict(&nameless, "Cascade Lake", 7.0), FigureVerdict::Unknown);
        assert_eq!(Figures::of(&nameless, None).words(), "-");
    }
}
