//! Where counted work lies on the roofline of another record.

use model::record::{Counts, CountsRun, Record, Roofline, RooflineSpot};
use model::{Datatype, Known, Obstacle, Unavailable};
use pmu::counting::Spec;

use super::super::show;
use crate::args::RooflineOfRecord;
use crate::failure::Failure;

/// The metric that counts bytes.
const READ: &str = "memory-read";

/// How the work's operations and bytes are known.
pub(super) enum Work {
    /// By its code.
    Kernel(Spec),
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
type Told = Result<(f64, &'static str), Unavailable>;

impl Work {
    /// The metrics that tell what nobody stated.
    pub(super) fn metrics(&self) -> Vec<String> {
        let Work::Command { datatype, operations, bytes } = self else { return Vec::new() };
        let counted = operations.is_none().then(|| operations_of(*datatype)).flatten();
        let read = bytes.is_none().then_some(READ);
        counted.into_iter().chain(read).map(str::to_owned).collect()
    }

    /// The datatype, the operations and the bytes of what was counted.
    fn told(&self, counts: &Counts) -> Result<(Datatype, [(f64, &'static str); 2]), Unavailable> {
        match self {
            Work::Kernel(spec) => {
                let none = || absent(format!("`{}` does no operations that it knows", spec.name()));
                let (datatype, each) = spec.operations().ok_or_else(none)?;
                let unit = |name: &str| {
                    let found = counts.units.iter().find(|unit| unit.name == name);
                    found.map(|unit| unit.number as f64)
                };
                let units = counts.units.first().map(|unit| unit.number as f64);
                let none = || absent(format!("`{}` moves no data", spec.name()));
                let (units, bytes) = units.zip(unit("byte")).ok_or_else(none)?;
                const CODE: &str = "by its code";
                Ok((datatype, [(units * each, CODE), (bytes, CODE)]))
            }
            Work::Command { datatype, operations, bytes } => {
                let counted = operations_of(*datatype);
                let operations = told(*operations, counted, counts, "--operations")?;
                let bytes = told(*bytes, Some(READ), counts, "--bytes")?;
                Ok((*datatype, [operations, bytes]))
            }
        }
    }
}

/// The metric that counts operations of a datatype.
fn operations_of(datatype: Datatype) -> Option<&'static str> {
    match datatype {
        Datatype::Fp64 => Some("fp64-operations"),
        Datatype::Fp32 => Some("fp32-operations"),
        Datatype::Fp16 | Datatype::Bf16 | Datatype::Int16 | Datatype::Int8 => None,
    }
}

fn absent(why: String) -> Unavailable {
    Unavailable::new(Obstacle::Measurement, "place on the roofline", why)
}

/// What is stated, else what a metric of the table says.
fn told(stated: Option<f64>, metric: Option<&str>, counts: &Counts, option: &str) -> Told {
    if let Some(stated) = stated {
        return Ok((stated, "stated"));
    }
    let remedy = format!("state it: {option} NUMBER");
    let find = |id: &str| counts.metrics.iter().find(|metric| metric.id == id);
    match metric.and_then(find).map(|metric| &metric.value) {
        Some(Known::Yes(value)) if *value > 0.0 => Ok((*value, "counted")),
        Some(Known::No { unavailable }) => {
            let what = "place on the roofline".to_owned();
            Err(Unavailable { what, ..unavailable.clone() }.with_remedy(remedy))
        }
        Some(Known::Yes(_)) => Err(absent("none was counted".to_owned()).with_remedy(remedy)),
        None => Err(absent("no event of this CPU counts it".to_owned()).with_remedy(remedy)),
    }
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

/// Places each table on the roofline of as many CPUs as were busy.
pub(super) fn place(run: &mut CountsRun, rooflines: Vec<Roofline>, work: &Work) {
    if rooflines.is_empty() {
        return;
    }
    for counts in &mut run.tables {
        counts.spot = Some(spot(counts, &rooflines, work).into());
    }
    run.rooflines = rooflines;
}

fn spot(counts: &Counts, rooflines: &[Roofline], work: &Work) -> Result<RooflineSpot, Unavailable> {
    /// A second CPU that is busy for so little is none.
    const HARDLY: f64 = 0.1;
    let (datatype, [operations, bytes]) = work.told(counts)?;
    let nanoseconds = |event: &str| {
        let row = counts.events.iter().find(|row| row.event == event)?;
        row.count.value().map(|count| *count as f64)
    };
    let busy = nanoseconds("task-clock").filter(|time| *time > 0.0);
    let time = nanoseconds("elapsed").or(busy).filter(|time| *time > 0.0);
    let time = time.ok_or_else(|| absent("its time was not counted".to_owned()))?;
    let cpus = busy.map_or(1.0, |busy| busy / time);
    let enough = rooflines.iter().find(|it| it.cpus as f64 + HARDLY >= cpus);
    let roofline = enough.or(rooflines.last());
    let roofline = roofline.ok_or_else(|| absent("there is no roofline".to_owned()))?;
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
        by: [operations.1.to_owned(), bytes.1.to_owned()],
    })
}

#[cfg(test)]
mod tests {
    use model::record::{CountedBy, EventCount, MetricValue, RooflineLevel, RooflinePeak};

    use super::*;

    fn roofline(cpus: u64) -> Roofline {
        let (operations_per_second, is_doubtful) = (cpus as f64 * 50e9, false);
        let peak = RooflinePeak { datatype: Datatype::Fp64, operations_per_second, is_doubtful };
        let level = RooflineLevel { name: "memory, triad".to_owned(), bytes_per_second: 10e9 };
        Roofline { cpus, peaks: vec![peak], levels: vec![level] }
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
            |operations, bytes| Work::Command { datatype: Datatype::Fp64, operations, bytes };
        let rooflines = [roofline(1), roofline(8)];
        let of = |busy, work: &Work, metrics: &[(&str, Known<f64>)]| {
            spot(&counted(busy, metrics), &rooflines, work)
        };
        let stated = work(Some(2e9), Some(8e9));
        assert!(stated.metrics().is_empty());
        let one = of(1_000_000_000, &stated, &[]).unwrap();
        assert_eq!((one.cpus, one.seconds, one.intensity()), (1, 1.0, 0.25));
        for busy in [3_900_000_000, 40_000_000_000] {
            assert_eq!(of(busy, &stated, &[]).unwrap().cpus, 8);
        }
        // What nobody states is counted; of what cannot be, the reason names the option.
        let partly = work(None, Some(8e9));
        assert_eq!(partly.metrics(), ["fp64-operations"]);
        let found = of(1_000_000_000, &partly, &[("fp64-operations", Known::Yes(4e9))]).unwrap();
        assert_eq!((found.operations, found.by), (4e9, ["counted", "stated"].map(str::to_owned)));
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
        let of = |name: &str| {
            let work = Work::Kernel(Spec::named(name).unwrap());
            spot(&counts, &[roofline(1)], &work)
        };
        let triad = of("triad").unwrap();
        assert_eq!((triad.operations, triad.bytes), (2000.0, 24_000.0));
        assert!(of("copy").unwrap_err().why.contains("does no operations"));
        counts.units.truncate(1);
        let stream =
            spot(&counts, &[roofline(1)], &Work::Kernel(Spec::named("avx256_fma_t").unwrap()));
        assert!(stream.unwrap_err().why.contains("moves no data"));
    }
}
