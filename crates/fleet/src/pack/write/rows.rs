//! Runs as rows of both tables, column by column.

use model::areas::result_name;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, FloatType};
use parquet::data_type::{Int32Type, Int64Type};
use parquet::errors::Result;

use super::super::ledger::{PackNames, PackedResult, PackedRun};
use super::RowGroup;
use crate::survey::ResultColumn;

/// All results of one sort lie together, in the order of runs.
pub(super) fn results(
    group: &mut RowGroup<'_>,
    runs: &[PackedRun],
    names: &PackNames,
) -> Result<()> {
    let mut cells: Vec<(u32, PackedResult)> = Vec::new();
    for (run, it) in (0..).zip(runs) {
        cells.extend(it.results.iter().map(|result| (run, *result)));
    }
    cells.sort_unstable_by_key(|(run, cell)| (cell.result, *run));
    let texts = Texts(names.texts.all().iter().map(|text| bytes(text)).collect());
    let columns = names.results.all();
    let of_run = |of: &dyn Fn(&PackedRun) -> ByteArray| runs.iter().map(of).collect::<Vec<_>>();
    let of_result = |of: &dyn Fn(&ResultColumn) -> Option<ByteArray>| {
        columns.iter().map(of).collect::<Vec<_>>()
    };
    let by_run = |group: &mut RowGroup<'_>, texts: &[ByteArray]| {
        let row = |it: &(u32, PackedResult)| Some(texts[it.0 as usize].clone());
        column::<ByteArrayType>(group, cells.iter().map(row))
    };
    let by_result = |group: &mut RowGroup<'_>, texts: &[Option<ByteArray>]| {
        let row = |it: &(u32, PackedResult)| texts[it.1.result as usize].clone();
        column::<ByteArrayType>(group, cells.iter().map(row))
    };
    let interval =
        |end: usize| cells.iter().map(move |(_, cell)| cell.interval.map(|ends| ends[end]));

    by_run(group, &of_run(&|run| bytes(&run.host)))?;
    column::<Int64Type>(group, cells.iter().map(|it| runs[it.0 as usize].time))?;
    by_run(group, &of_run(&|run| texts.of(run.kind)))?;
    by_result(group, &of_result(&|it| Some(bytes(&it.what.area))))?;
    by_result(group, &of_result(&|it| Some(bytes(&result_name(&it.what)))))?;
    by_result(group, &of_result(&|it| Some(bytes(it.unit.symbol()))))?;
    let active = |it: &(u32, PackedResult)| columns[it.1.result as usize].what.active as i32;
    column::<Int32Type>(group, cells.iter().map(|it| Some(active(it))))?;
    column::<DoubleType>(group, cells.iter().map(|it| Some(it.1.value)))?;
    column::<FloatType>(group, interval(0))?;
    column::<FloatType>(group, interval(1))?;
    column::<Int32Type>(group, cells.iter().map(|it| Some(it.1.blocks as i32)))?;
    by_run(group, &of_run(&|run| texts.of(run.quality)))?;
    by_result(group, &of_result(&|it| it.better.map(|better| bytes(&word(better)))))?;
    by_result(group, &of_result(&|it| Some(bytes(&it.what.workload))))?;
    by_result(group, &of_result(&|it| Some(bytes(&it.what.quantity))))?;
    by_result(group, &of_result(&|it| Some(bytes(&parameters(it)))))?;
    by_result(group, &of_result(&|it| it.what.cpus.as_deref().map(bytes)))
}

/// All that is said of a fact lies together, in the order of runs.
pub(super) fn facts(group: &mut RowGroup<'_>, runs: &[PackedRun], names: &PackNames) -> Result<()> {
    let mut said: Vec<(u32, u32, Option<u32>)> = Vec::new();
    for (run, it) in (0..).zip(runs) {
        said.extend(it.facts.iter().map(|(fact, text)| (*fact, run, *text)));
    }
    said.sort_unstable_by_key(|(fact, run, _)| (*fact, *run));
    let texts = Texts(names.texts.all().iter().map(|text| bytes(text)).collect());
    let hosts: Vec<ByteArray> = runs.iter().map(|run| bytes(&run.host)).collect();
    let facts = |part: usize| names.facts.all().iter().map(move |fact| bytes(&fact[part]));
    let by_fact = |group: &mut RowGroup<'_>, texts: &[ByteArray]| {
        column::<ByteArrayType>(group, said.iter().map(|it| Some(texts[it.0 as usize].clone())))
    };
    column::<ByteArrayType>(group, said.iter().map(|it| Some(hosts[it.1 as usize].clone())))?;
    column::<Int64Type>(group, said.iter().map(|it| runs[it.1 as usize].time))?;
    by_fact(group, &facts(0).collect::<Vec<_>>())?;
    column::<ByteArrayType>(group, said.iter().map(|it| it.2.map(|text| texts.of(text))))?;
    by_fact(group, &facts(1).collect::<Vec<_>>())
}

struct Texts(Vec<ByteArray>);

impl Texts {
    fn of(&self, number: u32) -> ByteArray {
        self.0[number as usize].clone()
    }
}

/// Writes the next column.
fn column<T: DataType>(
    group: &mut RowGroup<'_>,
    mut rows: impl Iterator<Item = Option<T::T>>,
) -> Result<()> {
    const TOGETHER: usize = 1 << 16;
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let mut column = group.next_column()?.expect("BUG: rows have the columns of the schema");
    let writer = column.typed::<T>();
    let is_optional = writer.get_descriptor().max_def_level() > 0;
    loop {
        values.clear();
        levels.clear();
        for row in rows.by_ref().take(TOGETHER) {
            levels.push(i16::from(row.is_some()));
            values.extend(row);
        }
        if levels.is_empty() {
            return column.close();
        }
        writer.write_batch(&values, is_optional.then_some(&levels[..]), None)?;
    }
}

fn bytes(text: &str) -> ByteArray {
    ByteArray::from(text)
}

/// What JSON calls it.
fn word(of: impl serde::Serialize) -> String {
    let value = serde_json::to_value(of).ok();
    value.as_ref().and_then(|value| value.as_str()).unwrap_or_default().to_owned()
}

fn parameters(column: &ResultColumn) -> String {
    serde_json::to_string(&column.what.parameters).expect("BUG: texts are JSON")
}
