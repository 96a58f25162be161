//! Where counted work lies on the roofline of another record.

use model::record::{Counts, CountsRun, MetricValue, Record, Roofline, RooflineSpot};
use model::{Datatype, Known, Obstacle, Unavailable};
use pmu::counting::Core;
use pmu::metrics::Metric;

use super::super::show;
use crate::args::RooflineOfRecord;
use crate::failure::Failure;

/// The metric that counts bytes.
const READ: &str = "memory-read";
/// That which counts operations of all precisions.
const ALL_PRECISIONS: &str = "fp-operations";

/// How the work's operations and bytes are known.
pub(super) enum PlacedWork {
    /// By its code: of a kernel, the datatype and the operations in a unit, where it has any.
    Kernel(Option<(Datatype, f64)>),
    /// By counters, but for what is stated.
    Command {
        /// What its operations are of.
        datatype: Datatype,
        /// How many of them, where that is stated.
        operations: Option<f64>,
        /// How many bytes it moves, where that is stated.
        bytes: Option<f64>,
    },
}

/// An amount, and who says so.
type ToldAmount = (f64, &'static str);

impl PlacedWork {
    /// The metrics that tell what nobody stated, as far as these cores count it.
    pub(super) fn metrics(&self, cores: &[Core]) -> Vec<String> {
        let PlacedWork::Command { datatype, operations, bytes } = self else { return Vec::new() };
        let counted = operations.is_none().then(|| operations_of(*datatype)).into_iter().flatten();
        let read = bytes.is_none().then_some(READ);
        let can = |id: &&str| {
            let metric = Metric::find(id);
            metric.is_some_and(|metric| cores.iter().any(|core| core.events(metric).is_ok()))
        };
        counted.chain(read).filter(can).map(str::to_owned).collect()
    }

    /// The datatype, the operations and the bytes of what was counted.
    fn told(&self, counts: &Counts) -> Result<(Datatype, [ToldAmount; 2]), Unavailable> {
        const CODE: &str = "by its code";
        match self {
            PlacedWork::Kernel(operations) => {
                let none = || absent("this kernel does no operations that are known".to_owned());
                let (datatype, each) = operations.ok_or_else(none)?;
                let units = counts.units.first();
                let bytes = counts.units.iter().find(|unit| unit.name == "byte");
                let none = || absent("this kernel moves no data".to_owned());
                let (units, bytes) = units.zip(bytes).ok_or_else(none)?;
                let operations = units.number as f64 * each;
                Ok((datatype, [(operations, CODE), (bytes.number as f64, CODE)]))
            }
            PlacedWork::Command { datatype, operations, bytes } => {
                let counted = operations_of(*datatype);
                let operations = told(*operations, &counted, counts, "--operations")?;
                let bytes = told(*bytes, &[READ], counts, "--bytes")?;
                Ok((*datatype, [operations, bytes]))
            }
        }
    }
}

/// The metrics that count operations of a datatype, the more exact first.
fn operations_of(datatype: Datatype) -> Vec<&'static str> {
    match datatype {
        Datatype::Fp64 => vec!["fp64-operations", ALL_PRECISIONS],
        Datatype::Fp32 => vec!["fp32-operations", ALL_PRECISIONS],
        Datatype::Fp16 | Datatype::Bf16 | Datatype::Int16 | Datatype::Int8 => Vec::new(),
    }
}

fn absent(why: String) -> Unavailable {
    Unavailable::new(Obstacle::Measurement, "place on the roofline", why)
}

/// What is stated, else what the first of these metrics says that the table has.
fn told(
    stated: Option<f64>,
    metrics: &[&str],
    counts: &Counts,
    option: &str,
) -> Result<ToldAmount, Unavailable> {
    if let Some(stated) = stated {
        return Ok((stated, "stated"));
    }
    let refused = |reason: Unavailable| {
        let what = "place on the roofline".to_owned();
        Unavailable { what, ..reason }.with_remedy(format!("state it: {option} NUMBER"))
    };
    let none = || absent("no event of this CPU counts it".to_owned());
    for id in metrics {
        // Each type of core has its own: `cpu_core/ID/`.
        let is_its = |metric: &&MetricValue| {
            metric.id == *id || metric.id.trim_end_matches('/').ends_with(&format!("/{id}"))
        };
        let all: Vec<_> = counts.metrics.iter().filter(is_its).collect();
        if all.is_empty() {
            continue;
        }
        let mut sum = 0.0;
        for metric in all {
            match &metric.value {
                Known::Yes(value) => sum += value,
                Known::No { unavailable } => return Err(refused(unavailable.clone())),
            }
        }
        let by = if *id == ALL_PRECISIONS { "counted, of all precisions" } else { "counted" };
        let none = || absent("none was counted".to_owned());
        return (sum > 0.0).then_some((sum, by)).ok_or_else(none).map_err(refused);
    }
    Err(refused(none()))
}

/// The rooflines of a record of such a machine.
///
/// # Errors
/// Where it has none, or is of another CPU.
pub(super) fn read(asked: &RooflineOfRecord, here: &Record) -> Result<Vec<Roofline>, Failure> {
    let Some(file) = &asked.file else { return Ok(Vec::new()) };
    let record = show::read(file)?;
    let [its, ours] = [&record, here].map(|record| record.text("cpu.brand").unwrap_or("unknown"));
    if its != ours || record.run.simulated != here.run.simulated {
        let text = format!("record `{}` is of `{its}`, and this is `{ours}`", file.display());
        return Err(Failure::usage(text).hint("`cpudyno turbo --datatypes --json FILE` here"));
    }
    let found = report::areas::datatypes::rooflines(&record);
    if found.is_empty() {
        return Err(Failure::usage(format!("record `{}` has no roofline", file.display()))
            .hint("`cpudyno turbo --datatypes --json FILE` writes one that has"));
    }
    Ok(found)
}

/// Places each table on the roofline of as many CPUs as were busy; `kind` is the type of the core, where it ran on one.
pub(super) fn place(
    run: &mut CountsRun,
    rooflines: Vec<Roofline>,
    kind: Option<&str>,
    work: &PlacedWork,
) {
    if rooflines.is_empty() {
        return;
    }
    for counts in &mut run.tables {
        counts.spot = Some(spot(counts, &rooflines, kind, work).into());
    }
    run.rooflines = rooflines;
}

fn spot(
    counts: &Counts,
    rooflines: &[Roofline],
    kind: Option<&str>,
    work: &PlacedWork,
) -> Result<RooflineSpot, Unavailable> {
    /// A second CPU that is busy for so little is none.
    const HARDLY: f64 = 0.1;
    let (datatype, [operations, bytes]) = work.told(counts)?;
    let nanoseconds = |event: &str| {
        let row = counts.events.iter().find(|row| row.event == event)?;
        row.count.value().map(|count| *count as f64).filter(|time| *time > 0.0)
    };
    let on_cpus = nanoseconds("task-clock");
    let time = nanoseconds("elapsed").or(on_cpus);
    let time = time.ok_or_else(|| absent("its time was not counted".to_owned()))?;
    let busy = on_cpus.map_or(1.0, |on_cpus| on_cpus / time);
    let enough = rooflines.iter().find(|it| it.cpus as f64 + HARDLY >= busy);
    let most = rooflines.iter().map(|it| it.cpus).max().unwrap_or(0);
    let roofline = enough.ok_or_else(|| {
        let why = format!("it kept {busy:.1} CPUs busy, and the record's roofline is of {most}");
        absent(why).with_remedy("measure all of them: `cpudyno turbo --datatypes --json FILE`")
    })?;
    if let (Some(its), Some(kind)) = (roofline.kind.as_deref(), kind)
        && its != kind
    {
        let why =
            format!("the roofline is of a core of type {its}, and it ran on one of type {kind}");
        return Err(absent(why).with_remedy("choose a CPU of that type: --pin CPU"));
    }
    if !roofline.peaks.iter().any(|peak| peak.datatype == datatype) {
        let why = format!("the roofline has no peak of {}", datatype.name());
        return Err(absent(why));
    }
    Ok(RooflineSpot {
        cpus: roofline.cpus,
        datatype,
        operations: operations.0,
        bytes: bytes.0,
        seconds: time / 1e9,
        busy,
        by: [operations.1.to_owned(), bytes.1.to_owned()],
    })
}

#[cfg(test)]
mod tests {
    use model::record::{CountedBy, EventCount, RooflineLevel, RooflinePeak};
    use pmu::counting::Spec;

    use super::*;

    fn roofline(cpus: u64) -> Roofline {
        let (operations_per_second, is_doubtful) = (cpus as f64 * 50e9, false);
        let peak = RooflinePeak { datatype: Datatype::Fp64, operations_per_second, is_doubtful };
        let level = RooflineLevel { name: "memory, triad".to_owned(), bytes_per_second: 10e9 };
        Roofline { cpus, kind: None, peaks: vec![peak], levels: vec![level] }
    }

    fn counted(busy: u64, metrics: &[(&str, Known<f64>)]) -> Counts {
        let row = |event: &str, count| EventCount {
            event: event.to_owned(),
            by: CountedBy::Kernel,
            unit: Some("ns".to_owned()),
            count: Known::Yes(count),
            own: None,
            way: None,
        };
        let metric = |(id, value): &(&str, Known<f64>)| MetricValue {
            id: (*id).to_owned(),
            title: String::new(),
            unit: String::new(),
            parent: None,
            says: None,
            formula: String::new(),
            value: value.clone(),
        };
        Counts {
            events: vec![row("task-clock", busy), row("elapsed", 1_000_000_000)],
            metrics: metrics.iter().map(metric).collect(),
            ..Counts::default()
        }
    }

    #[test]
    fn a_command_lies_on_the_roofline_of_the_cpus_that_it_kept_busy() {
        let work =
            |operations, bytes| PlacedWork::Command { datatype: Datatype::Fp64, operations, bytes };
        let rooflines = [roofline(1), roofline(8)];
        let of = |busy, work: &PlacedWork, metrics: &[(&str, Known<f64>)]| {
            spot(&counted(busy, metrics), &rooflines, None, work)
        };
        let stated = work(Some(2e9), Some(8e9));
        assert!(stated.metrics(&[]).is_empty());
        let one = of(1_000_000_000, &stated, &[]).unwrap();
        assert_eq!((one.cpus, one.seconds, one.intensity()), (1, 1.0, 0.25));
        assert_eq!(of(3_900_000_000, &stated, &[]).unwrap().cpus, 8);
        let more = of(40_000_000_000, &stated, &[]).unwrap_err();
        assert!(more.why.contains("40.0 CPUs busy, and the record's roofline is of 8"), "{more:?}");
        // What nobody states is counted; of what cannot be, the reason names the option.
        let partly = work(None, Some(8e9));
        let simulated = machine::Machine::named("sim:hybrid").unwrap();
        assert_eq!(partly.metrics(&Core::all(&simulated)), ["fp64-operations"]);
        let found = of(1_000_000_000, &partly, &[("fp64-operations", Known::Yes(4e9))]).unwrap();
        assert_eq!((found.operations, found.by), (4e9, ["counted", "stated"].map(str::to_owned)));
        // Of several types of cores each counts its own.
        let kinds = ["cpu_core/fp64-operations/", "cpu_atom/fp64-operations/"];
        let both = kinds.map(|id| (id, Known::Yes(1e9)));
        let found = of(1_000_000_000, &partly, &both).unwrap();
        assert_eq!(found.operations.to_bits(), 2e9_f64.to_bits());
        let all = of(1_000_000_000, &partly, &[(ALL_PRECISIONS, Known::Yes(1e9))]).unwrap();
        assert_eq!(all.by[0], "counted, of all precisions");
        let unavailable = Unavailable::new(Obstacle::Hardware, "it", "there is no PMU");
        let reason = of(1, &partly, &[("fp64-operations", Known::No { unavailable })]).unwrap_err();
        assert_eq!(
            (reason.what.as_str(), reason.why.as_str()),
            ("place on the roofline", "there is no PMU")
        );
        assert!(reason.remedy.unwrap().contains("--operations"));
    }

    #[test]
    fn kernels_know_what_they_do() {
        let mut counts = counted(1_000_000_000, &[]);
        counts.units = vec![model::record::CountedUnit::new("element", 1000)];
        counts.units.push(model::record::CountedUnit::new("byte", 24_000));
        let on = |kind: Option<&str>, name: &str, counts: &Counts| {
            let work = PlacedWork::Kernel(Spec::named(name).unwrap().operations());
            let own = Roofline { kind: Some("P".to_owned()), ..roofline(1) };
            spot(counts, &[own], kind, &work)
        };
        let triad = on(Some("P"), "triad", &counts).unwrap();
        assert_eq!((triad.operations, triad.bytes), (2000.0, 24_000.0));
        assert!(on(Some("E"), "triad", &counts).unwrap_err().why.contains("of type E"));
        assert!(on(None, "copy", &counts).unwrap_err().why.contains("no operations"));
        counts.units.truncate(1);
        let stream = on(None, "avx256_fma_t", &counts).unwrap_err();
        assert!(stream.why.contains("moves no data"), "{stream:?}");
    }
}
