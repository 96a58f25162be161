//! A record as JSON has it: no type of the program is used to read it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::stats::{interval, median, numbers, quantile};

/// A record, with its series laid open.
pub(crate) struct Record {
    pub(crate) value: Value,
    pub(crate) series: Vec<Series>,
}

/// One series.
pub(crate) struct Series {
    pub(crate) area: String,
    pub(crate) workload: String,
    pub(crate) quantity: String,
    pub(crate) unit: String,
    pub(crate) cpu: u64,
    pub(crate) active: String,
    pub(crate) cpus: Vec<u64>,
    pub(crate) class: Option<String>,
    pub(crate) parameters: BTreeMap<String, String>,
    /// In the order of measuring where they are not packed; none where there is a reason instead.
    pub(crate) samples: Vec<f64>,
    /// Medians of blocks that have samples, by number of block.
    pub(crate) blocks: Vec<(u64, f64)>,
    /// What the record says itself.
    pub(crate) summary: Value,
    pub(crate) unavailable: Option<Value>,
    pub(crate) disturbance: Value,
}

/// The samples of several series together.
pub(crate) struct Pool {
    pub(crate) samples: Vec<f64>,
    pub(crate) medians: Vec<f64>,
    pub(crate) class: Option<String>,
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub(crate) fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

/// The items of an array; nothing of what is none.
pub(crate) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

impl Record {
    pub(crate) fn of(value: Value) -> Record {
        let series = items(&value["series"]).iter().map(Series::of).collect();
        Record { value, series }
    }

    /// The series of an area and quantity, with numbers or without.
    pub(crate) fn of_quantity<'a>(
        &'a self,
        area: &'a str,
        quantity: &'a str,
    ) -> impl Iterator<Item = &'a Series> {
        self.series.iter().filter(move |it| it.area == area && it.quantity == quantity)
    }

    pub(crate) fn plan(&self) -> &Value {
        &self.value["run"]["plan"]
    }

    /// The planned workload of that name.
    pub(crate) fn planned(&self, id: &str) -> &Value {
        let mut all = items(&self.plan()["workloads"]).iter();
        all.find(|it| it["id"] == *id).unwrap_or(&Value::Null)
    }

    /// A fact, or a condition as it was first.
    pub(crate) fn fact(&self, id: &str) -> Option<&Value> {
        let facts = items(&self.value["machine"]["facts"]);
        let mut all = facts.iter().chain(items(&self.value["conditions"]["before"]));
        all.find(|it| it["id"] == *id)
    }

    /// A condition after the run: what grew meanwhile.
    pub(crate) fn after(&self, id: &str) -> Option<&Value> {
        let mut all = items(&self.value["conditions"]["after"]).iter();
        all.find(|it| it["id"] == *id).map(|it| &it["value"])
    }

    /// How much a counter of the kernel grew.
    pub(crate) fn grown(&self, id: &str) -> Option<f64> {
        self.after(id)?["value"].as_f64()
    }

    /// The clock's account, or nothing.
    pub(crate) fn clock(&self) -> &Value {
        &self.value["clock"]
    }

    /// Package and core of a CPU.
    pub(crate) fn place(&self, cpu: u64) -> Option<(u64, u64)> {
        let mut all = items(&self.value["machine"]["topology"]["cpus"]).iter();
        let of = all.find(|it| it["cpu"] == cpu)?;
        Some((of["package"].as_u64()?, of["core"].as_u64()?))
    }
}

/// The class of placement with most samples of all; of equals the last one. Classes are never pooled.
pub(crate) fn class_with_most<'a>(cell: &[&'a Series]) -> Option<&'a Option<String>> {
    let mut best: Option<(usize, &Option<String>)> = None;
    for one in cell {
        let of_class = cell.iter().filter(|it| it.class == one.class);
        let count = of_class.map(|it| it.samples.len()).sum();
        if best.is_none_or(|(most, _)| count >= most) {
            best = Some((count, &one.class));
        }
    }
    best.map(|(_, class)| class)
}

/// Of series that only the class of placement tells apart the one with most samples; of equals the last one.
pub(crate) fn of_one_class<'a>(all: impl Iterator<Item = &'a Series>) -> Vec<&'a Series> {
    let mut kept: Vec<&Series> = Vec::new();
    for one in all {
        let is_same = |it: &&mut &Series| {
            (&it.area, &it.workload, &it.quantity) == (&one.area, &one.workload, &one.quantity)
                && (&it.active, &it.parameters) == (&one.active, &one.parameters)
        };
        match kept.iter_mut().find(is_same) {
            Some(known) if one.samples.len() >= known.samples.len() => *known = one,
            Some(_) => {}
            None => kept.push(one),
        }
    }
    kept
}

/// The series with most samples.
pub(crate) fn with_most<'a>(series: impl Iterator<Item = &'a Series>) -> Option<&'a Series> {
    series.max_by_key(|it| it.samples.len())
}

impl Series {
    fn of(value: &Value) -> Series {
        let (samples, blocks) = samples(&value["samples"]);
        let words = |(key, value): (&String, &Value)| (key.clone(), text(value).to_owned());
        let parameters = value["parameters"].as_object();
        Series {
            area: text(&value["area"]).to_owned(),
            workload: text(&value["workload"]).to_owned(),
            quantity: text(&value["quantity"]).to_owned(),
            unit: text(&value["unit"]).to_owned(),
            cpu: value["cpu"].as_u64().expect("the CPU of a series"),
            active: text(&value["active"]).to_owned(),
            cpus: numbers(text(&value["active"])),
            class: value["placement_class"].as_str().map(str::to_owned),
            parameters: parameters.into_iter().flatten().map(words).collect(),
            samples,
            blocks,
            summary: value["summary"].clone(),
            unavailable: value.get("unavailable").cloned(),
            disturbance: value["disturbance"].clone(),
        }
    }

    pub(crate) fn has(&self) -> bool {
        !self.samples.is_empty()
    }

    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.get(name).map(String::as_str)
    }

    pub(crate) fn median(&self) -> Option<f64> {
        median(&self.samples)
    }

    pub(crate) fn q(&self, q: f64) -> Option<f64> {
        quantile(&self.samples, q)
    }

    pub(crate) fn medians(&self) -> Vec<f64> {
        self.blocks.iter().map(|(_, median)| *median).collect()
    }

    pub(crate) fn interval(&self) -> Option<[f64; 2]> {
        let ([low, high], median) = interval(&self.medians()).zip(self.median())?;
        Some([low.min(median), high.max(median)])
    }

    /// The farther end of the interval, relative to the median.
    pub(crate) fn uncertainty(&self) -> Option<f64> {
        uncertainty(self.median()?, self.interval()?)
    }
}

/// The `±` of a number.
pub(crate) fn uncertainty(median: f64, [low, high]: [f64; 2]) -> Option<f64> {
    (median > 0.0).then(|| (high - median).max(median - low).max(0.0) / median)
}

/// The middle of a bin, computed with the decimals that the step is written with.
fn middle_of_bin(step: &Value) -> impl Fn(i64) -> f64 {
    let text = format!("{:e}", number(step));
    let (digits, exponent) = text.split_once('e').expect("an exponent");
    let after_point = digits.split_once('.').map_or(0, |(_, after)| after.len()) as i32;
    let digits: i64 = digits.replace('.', "").parse().expect("digits");
    let exponent = exponent.parse::<i32>().expect("a whole exponent") - after_point;
    move |bin| {
        format!("{}e{exponent}", i128::from(bin) * i128::from(digits)).parse().expect("a number")
    }
}

fn samples(value: &Value) -> (Vec<f64>, Vec<(u64, f64)>) {
    if let Some(blocks) = value.as_array() {
        let blocks = blocks.iter().map(|block| items(block).iter().map(number).collect());
        let blocks: Vec<Vec<f64>> = blocks.collect();
        let medians = (0..).zip(&blocks).filter_map(|(number, it)| Some((number, median(it)?)));
        let medians = medians.collect();
        return (blocks.concat(), medians);
    }
    if value.is_null() {
        return (Vec::new(), Vec::new());
    }
    let middle = middle_of_bin(&value["step"]);
    let mut all = Vec::new();
    for run in items(&value["packed"]) {
        let whole: Vec<i64> =
            items(run).iter().map(|it| it.as_i64().expect("a whole number")).collect();
        for (bin, count) in (whole[0]..).zip(&whole[1..]) {
            all.extend(std::iter::repeat_n(middle(bin), *count as usize));
        }
    }
    let of = |it: &Value| (it[0].as_u64().expect("a number of a block"), number(&it[1]));
    (all, items(&value["block_medians"]).iter().map(of).collect())
}
