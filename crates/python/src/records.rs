//! Records for Python: read, shown, and their numbers as plain values.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use cpudyno::memory::Kernels;
use cpudyno::pause::InstructionLatency;
use cpudyno::{CpuSet, Row, Value};
use model::record::{Presentation, Samples, Series};
use pyo3::prelude::*;
use views::text::Layout;

use crate::errors::{failed, guarded, unavailable};

/// A record, which nothing changes.
#[pyclass(frozen, module = "cpudyno._native")]
pub(crate) struct Record(Arc<cpudyno::Record>);

impl From<cpudyno::Record> for Record {
    fn from(record: cpudyno::Record) -> Record {
        Record(Arc::new(record))
    }
}

/// Unit, median, ends of its interval, smallest and largest sample, number of samples, whether all was disturbed, and
/// how it is written.
type Numbers = (&'static str, f64, Option<[f64; 2]>, f64, f64, u64, bool, String);

/// Numbers, or the exception that says why there are none.
#[derive(IntoPyObject)]
pub(crate) enum Said {
    Value(Numbers),
    Reason(PyErr),
}

impl From<&Result<Value, model::Unavailable>> for Said {
    fn from(reading: &Result<Value, model::Unavailable>) -> Said {
        match reading {
            Ok(value) => Said::Value((
                value.unit().symbol(),
                value.median(),
                value.interval(),
                value.minimum(),
                value.maximum(),
                value.samples(),
                value.is_doubtful(),
                value.to_string(),
            )),
            Err(reason) => Said::Reason(unavailable(reason)),
        }
    }
}

/// Area, workload, quantity, parameters, CPUs, and the number.
type RowTuple = (String, String, String, BTreeMap<String, String>, Vec<u32>, Said);

/// CPUs, their type of core, elements, the order of threads, and each kernel.
type KernelsTuple = (Vec<u32>, Option<String>, u64, Option<String>, Vec<(String, Said)>);

/// Instruction, type of core, CPUs, cycles and seconds.
type PauseTuple = (String, Option<String>, Vec<u32>, Said, Said);

fn numbers(cpus: &CpuSet) -> Vec<u32> {
    cpus.iter().map(|cpu| cpu.0).collect()
}

fn row(row: Row) -> RowTuple {
    let cpus = numbers(&row.cpus);
    (row.area, row.workload, row.quantity, row.parameters, cpus, Said::from(&row.value))
}

#[pymethods]
impl Record {
    /// The record of a text. `ValueError`: it is none.
    #[staticmethod]
    fn from_json(py: Python<'_>, text: &str) -> PyResult<Record> {
        let read = || guarded(|| Ok(cpudyno::record::from_json(text)));
        Ok(py.detach(read)?.map_err(failed)?.into())
    }

    /// The record in a file, or on a page.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Record> {
        let read = || guarded(|| Ok(cpudyno::record::open(&path)));
        Ok(py.detach(read)?.map_err(failed)?.into())
    }

    /// Writes it as JSON; the file is whole, or is not changed.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let record = self.0.clone();
        py.detach(|| guarded(|| Ok(cpudyno::record::save(&record, &path))))?.map_err(failed)
    }

    fn json(&self) -> PyResult<String> {
        guarded(|| cpudyno::record::json(&self.0).map_err(failed))
    }

    fn csv(&self) -> PyResult<String> {
        guarded(|| cpudyno::record::csv(&self.0).map_err(failed))
    }

    fn text(&self, width: Option<u16>, verbose: bool) -> PyResult<String> {
        guarded(|| {
            let presentation = self.presentation(width, verbose);
            let page = cpudyno::record::page(&self.0, presentation).top();
            let page = if presentation.verbosity == 0 { page.without_notes() } else { page };
            let Presentation { width, colour, .. } = presentation;
            Ok(views::text::render(&page, Layout { width, colour }))
        })
    }

    fn markdown(&self) -> PyResult<String> {
        guarded(|| Ok(cpudyno::record::markdown(&self.0)))
    }

    /// The page with plots; with the record hanging on it, or small.
    fn html(&self, with_record: bool) -> PyResult<String> {
        guarded(|| {
            let page = || cpudyno::record::page(&self.0, self.presentation(None, false));
            let record = with_record.then_some(&*self.0);
            views::html::render(page, record).map_err(|error| failed(error.into()))
        })
    }

    /// Every result, each of all its CPUs together.
    fn rows(&self) -> PyResult<Vec<RowTuple>> {
        guarded(|| Ok(cpudyno::record::rows(&self.0).into_iter().map(row).collect()))
    }

    /// The kernels of memory by what they were measured with, fewer threads first.
    fn kernels(&self, write_allocate: bool) -> PyResult<Vec<KernelsTuple>> {
        let told = |kernels: Kernels| {
            let found = |name: &str| {
                let found =
                    if write_allocate { kernels.moved(name) } else { kernels.bandwidth(name) };
                (name.to_owned(), Said::from(&found))
            };
            let found = kernels.names().into_iter().map(found).collect();
            (numbers(&kernels.cpus), kernels.core_type, kernels.elements, kernels.order, found)
        };
        guarded(|| Ok(cpudyno::memory::kernels(&self.0).into_iter().map(told).collect()))
    }

    /// The instructions of waiting, by type of core.
    fn pauses(&self) -> PyResult<Vec<PauseTuple>> {
        let told = |it: InstructionLatency| {
            let (cycles, time) = (Said::from(&it.cycles), Said::from(&it.time));
            (it.instruction, it.core_type, numbers(&it.cpus), cycles, time)
        };
        guarded(|| Ok(cpudyno::pause::instructions(&self.0).into_iter().map(told).collect()))
    }

    /// The samples of a series by block; of packed ones (`True`), all as one.
    fn samples(&self, series: usize) -> PyResult<Option<(bool, Vec<Vec<f64>>)>> {
        let samples = self.0.series.get(series).and_then(Series::samples);
        guarded(|| {
            Ok(samples.map(|samples| match samples {
                Samples::Plain(blocks) => (false, blocks.clone()),
                Samples::Packed { .. } => (true, vec![samples.all()]),
            }))
        })
    }
}

impl Record {
    fn presentation(&self, width: Option<u16>, verbose: bool) -> Presentation {
        let stored = self.0.run.presentation;
        Presentation {
            width: width.unwrap_or(stored.width),
            colour: false,
            verbosity: stored.verbosity.max(u8::from(verbose)),
            ..stored
        }
    }

    pub(crate) fn record(&self) -> &cpudyno::Record {
        &self.0
    }
}

/// Records side by side, by their names: the comparison as JSON, and as the command prints it.
#[pyfunction]
pub(crate) fn compare(records: Vec<(String, Py<Record>)>) -> PyResult<(String, String)> {
    guarded(|| {
        let named = records.iter().map(|(name, record)| (name.as_str(), record.get().record()));
        let comparison = cpudyno::compare(named);
        let json = serde_json::to_string(&comparison);
        let json = json.map_err(|error| crate::errors::bug(&error.to_string()))?;
        Ok((json, cpudyno::fleet::comparison_text(&comparison)))
    })
}

/// The newest records of a folder: machine and digest as JSON, files that are none with the reason, the survey as JSON
/// and as the command prints it.
type Fleet = (Vec<(String, String)>, Vec<(PathBuf, String)>, String, String);

/// Reads a folder of records.
#[pyfunction]
pub(crate) fn fleet(py: Python<'_>, folder: PathBuf) -> PyResult<Fleet> {
    let json = |error: serde_json::Error| crate::errors::bug(&error.to_string());
    let read = || {
        let fleet = match cpudyno::fleet::read(&folder) {
            Ok(fleet) => fleet,
            Err(error) => return Ok(Err(error)),
        };
        let machine = |(name, digest): (&String, _)| {
            Ok((name.clone(), serde_json::to_string(digest).map_err(json)?))
        };
        let machines = fleet.machines.iter().map(machine).collect::<PyResult<_>>()?;
        let survey = serde_json::to_string(&fleet.survey()).map_err(json)?;
        Ok(Ok((machines, fleet.left_out.clone(), survey, fleet.text())))
    };
    py.detach(|| guarded(read))?.map_err(failed)
}
