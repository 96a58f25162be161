//! Tidy CSV: one line per sample, so that any table program can group and plot.

use model::record::{Outcome, Record, Samples, Series};

use crate::{Error, visible};

const HEADER: [&str; 13] = [
    "area",
    "workload",
    "quantity",
    "unit",
    "cpu",
    "active",
    "placement_class",
    "parameters",
    "block",
    "sample",
    "value",
    "unavailable",
    "simulated",
];

/// The samples of a record, one line each; blocks and samples count from 0. Packed samples are
/// rounded and in ascending order, and their block is empty: packing does not keep it. A series
/// without numbers gives one line with the reason. The last column names the simulated machine, and is
/// empty where something was measured.
pub fn render(record: &Record) -> Result<String, Error> {
    let bytes = write(record).map_err(Error::Csv)?;
    Ok(String::from_utf8(bytes).expect("BUG: CSV written from strings is not UTF-8"))
}

fn write(record: &Record) -> Result<Vec<u8>, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(HEADER)?;
    let machine = record.run.simulated.as_ref().map(|name| format!("SIMULATED {name}"));
    let simulated = visible::text(machine.as_deref().unwrap_or_default());
    for series in &record.series {
        let head = head(series);
        let mut line = |tail: [&str; 4]| {
            let head = head.iter().map(String::as_str);
            writer.write_record(head.chain(tail).chain([&*simulated]))
        };
        match &series.outcome {
            Outcome::Unavailable { unavailable } => {
                let why = visible::text(&format!("{}: {}", unavailable.what, unavailable.why));
                line(["", "", "", &why])?;
            }
            Outcome::Measured { samples: Samples::Plain(blocks), .. } => {
                for (block, values) in blocks.iter().enumerate() {
                    for (sample, value) in values.iter().enumerate() {
                        line([&block.to_string(), &sample.to_string(), &exact(*value), ""])?;
                    }
                }
            }
            Outcome::Measured { samples: packed @ Samples::Packed { .. }, .. } => {
                for (sample, value) in packed.all().iter().enumerate() {
                    line(["", &sample.to_string(), &exact(*value), ""])?;
                }
            }
        }
    }
    writer.into_inner().map_err(|error| error.into_error().into())
}

/// The shortest text that reads back as the same number.
fn exact(value: f64) -> String {
    format!("{value:?}")
}

/// The columns that all lines of a series share.
fn head(series: &Series) -> [String; 8] {
    let parameters: Vec<String> =
        series.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
    [
        visible::text(&series.area),
        visible::text(&series.workload),
        visible::text(&series.quantity),
        series.unit.symbol().into(),
        series.cpu.to_string(),
        series.active.to_string(),
        visible::text(series.placement_class.as_deref().unwrap_or_default()),
        visible::text(&parameters.join(";")),
    ]
}
