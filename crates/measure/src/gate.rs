//! Bounds on results: how they are typed, and what is measured for them.
//!
//! What came of it, `fleet::gate` says.

use kernels::StreamRow;
use kernels::streams::{SHEET, TABLE};
use model::areas::turbo::{HEAVY, LIGHT};
use model::areas::{self, Quantity};
use model::name::did_you_mean;
use model::record::{Bound, BoundKind, Presentation};
use model::{CpuSet, Seconds, Unit};

use crate::areas::AREAS;
use crate::run::area::{Area, Names};
use crate::run::plan::Cell;
use crate::run::{AreaRequest, Request};
use crate::sheet;

/// Why a text is no bound, and what helps.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{why}")]
pub struct NoBound {
    /// Why.
    pub why: String,
    /// What helps.
    pub hint: String,
}

/// What can be bounded of an area.
struct Named {
    area: &'static str,
    /// Quantities, the usual one first.
    quantities: Vec<&'static str>,
    names: Names,
}

/// Areas of which something can be bounded.
fn named() -> impl Iterator<Item = Named> {
    let named = AREAS.iter().map(|area| Named {
        area: area.id,
        quantities: areas::judged(area.id).map(|quantity| quantity.id).collect(),
        names: (area.names)(),
    });
    named.filter(|named| !named.names.workloads.is_empty())
}

impl Named {
    /// Everything that may stand behind the name of the area.
    fn words(&self) -> impl Iterator<Item = &'static str> {
        let short = self.names.short.iter().map(|(short, ..)| *short);
        self.quantities.iter().copied().chain(short).chain(self.names.workloads.iter().copied())
    }

    /// The quantity of a workload that is meant where none is named.
    fn usual(&self, workload: Option<&str>) -> Option<&'static str> {
        let meant = self.names.meant.iter().find(|(of, _)| Some(*of) == workload);
        meant.map(|(_, quantity)| *quantity).or_else(|| self.quantities.first().copied())
    }
}

/// Every name of a result that can be bounded: `memory.triad`, `memory.bandwidth`.
pub fn names() -> Vec<String> {
    let of = |named: Named| {
        named.words().map(|word| format!("{}.{word}", named.area)).collect::<Vec<_>>()
    };
    named().flat_map(of).collect()
}

/// What a bound looks like.
const FORM: &str =
    "a bound is AREA.RESULT=VALUE, such as memory.triad=80GB/s or turbo.clock@2=2.4GHz";

/// Reads `memory.triad=80GB/s`, `turbo.avx512_fma.clock@28=2.1GHz`.
pub fn read(text: &str, kind: BoundKind) -> Result<Bound, NoBound> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| NoBound { why: "it has no value".to_owned(), hint: FORM.to_owned() })?;
    let (name, value) = (name.trim(), value.trim());
    let bound = unlimited(name, kind)?;
    let limit = in_base_units(value, bound.unit).map_err(|why| {
        let path = name.split('@').next().unwrap_or(name);
        NoBound { why, hint: such_as(path, bound.unit) }
    })?;
    Ok(Bound { limit, ..bound })
}

/// Whether there is such a result.
pub fn is_name(name: &str) -> bool {
    unlimited(name, BoundKind::Min).is_ok()
}

/// The bound of that name, with no limit yet.
fn unlimited(name: &str, kind: BoundKind) -> Result<Bound, NoBound> {
    let form = |why: String| NoBound { why, hint: FORM.to_owned() };
    let (path, cores) = match name.split_once('@') {
        None => (name, None),
        Some((path, cores)) => match cores.parse::<usize>() {
            Ok(cores) if cores > 0 => (path, Some(cores)),
            _ => return Err(form(format!("`{cores}` is no number of cores"))),
        },
    };
    let mut words = path.split('.');
    let area = words.next().unwrap_or_default();
    let Some(named) = named().find(|named| named.area == area) else {
        return Err(unknown(path));
    };
    let (mut workload, mut quantity) = (None, None);
    for word in words {
        if let Some(known) = named.quantities.iter().find(|known| **known == word)
            && quantity.is_none()
        {
            quantity = Some(*known);
        } else if let Some((_, of, its)) = named.names.short.iter().find(|row| row.0 == word)
            && workload.is_none()
            && quantity.is_none()
        {
            (workload, quantity) = (Some((*of).to_owned()), Some(*its));
        } else if named.names.workloads.contains(&word) && workload.is_none() {
            workload = Some(word.to_owned());
        } else {
            return Err(unknown(path));
        }
    }
    if workload.is_none() && quantity.is_none() {
        return Err(unknown(path));
    }
    let quantity = quantity.or_else(|| named.usual(workload.as_deref()));
    let known = quantity.and_then(|quantity| areas::quantity(named.area, quantity));
    let Quantity { id: quantity, unit, .. } = *known.ok_or_else(|| unknown(path))?;
    let (name, area) = (name.to_owned(), named.area);
    Ok(Bound { name, kind, limit: 0.0, unit, area, quantity, workload, cores, is_needed: true })
}

/// Whether a cell may give it a number.
fn needs(bound: &Bound, area: &str, cell: &Cell) -> bool {
    bound.may_be(area, &cell.parameters)
        && cell.workloads().iter().any(|workload| bound.is_of(workload.id))
}

fn unknown(path: &str) -> NoBound {
    let names = names();
    let near = did_you_mean(path, names.iter().map(String::as_str));
    let areas: Vec<&str> = named().map(|named| named.area).collect();
    let hint = near.map_or_else(
        || format!("{FORM}; areas: {}", areas.join(", ")),
        |near| format!("did you mean `{near}`?"),
    );
    NoBound { why: format!("there is no result `{path}`"), hint }
}

/// Units that numbers of a unit may be typed in, and what one of them is.
fn units(unit: Unit) -> &'static [(&'static str, f64)] {
    match unit {
        Unit::Hertz => &[("GHz", 1e9), ("MHz", 1e6), ("kHz", 1e3), ("Hz", 1.0)],
        Unit::Second | Unit::SecondPerOp => {
            &[("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)]
        }
        Unit::BytePerSecond => &[
            ("GB/s", 1e9),
            ("MB/s", 1e6),
            ("kB/s", 1e3),
            ("TB/s", 1e12),
            ("GiB/s", 1_073_741_824.0),
            ("MiB/s", 1_048_576.0),
            ("KiB/s", 1024.0),
            ("B/s", 1.0),
        ],
        Unit::Cycle | Unit::CyclePerOp => {
            &[("cycles", 1.0), ("cycle", 1.0), ("cycles/op", 1.0), ("cycle/op", 1.0)]
        }
        _ => &[("", 1.0)],
    }
}

/// `80GB/s` as 8e10.
fn in_base_units(text: &str, unit: Unit) -> Result<f64, String> {
    let is_number = |end: &usize| {
        text.is_char_boundary(*end)
            && text.starts_with(|c: char| c.is_ascii_digit() || c == '.')
            && text[..*end].parse::<f64>().is_ok()
    };
    let end = (1..=text.len()).rev().find(is_number);
    let Some(end) = end else { return Err(format!("`{text}` is no number with a unit")) };
    let (number, typed) = (text[..end].parse::<f64>().unwrap_or_default(), text[end..].trim());
    let row = units(unit).iter().find(|(symbol, _)| *symbol == typed);
    let Some((_, scale)) = row else {
        return Err(if typed.is_empty() {
            format!("`{text}` has no unit")
        } else {
            format!("`{typed}` is no unit of it")
        });
    };
    match number * scale {
        value if !value.is_finite() => Err(format!("`{text}` is larger than any number can be")),
        value if value > 0.0 => Ok(value),
        _ => Err(format!("`{text}` is not above zero")),
    }
}

fn such_as(path: &str, unit: Unit) -> String {
    let symbols: Vec<&str> = units(unit).iter().map(|(symbol, _)| *symbol).collect();
    let value = match unit {
        Unit::Hertz => "2.4GHz",
        Unit::Second | Unit::SecondPerOp => "120ns",
        Unit::BytePerSecond => "80GB/s",
        _ => "4cycles",
    };
    format!("such as {path}={value}; units: {}", symbols.join(", "))
}

/// What is measured.
#[derive(Debug, Clone)]
pub enum Wanted {
    /// All that a sheet has.
    Sheet,
    /// What figures and claims are known of, alone: the most telling where there is little time.
    Known,
    /// What these bounds need.
    Bounds(Vec<Bound>),
}

/// Workloads that are held against what is known of a machine anyway; of other areas nothing is measured then.
const KNOWN: &[(&str, &[&str])] = &[
    (areas::turbo::AREA, &[LIGHT, HEAVY[0], HEAVY[1], HEAVY[2]]),
    (areas::memory::AREA, &[areas::memory::ALONE]),
    (areas::cores::AREA, &[]),
    (areas::wake::AREA, &["futex"]),
];

impl Wanted {
    fn has_area(&self, area: &str) -> bool {
        match self {
            Wanted::Sheet => true,
            Wanted::Known => KNOWN.iter().any(|(known, _)| *known == area),
            Wanted::Bounds(bounds) => bounds.iter().any(|bound| bound.area == area),
        }
    }

    fn has_cell(&self, area: &str, cell: &Cell) -> bool {
        let is_of = |words: &[&str]| {
            words.is_empty() || cell.workloads().iter().any(|workload| words.contains(&workload.id))
        };
        match self {
            Wanted::Sheet => true,
            Wanted::Known => KNOWN.iter().any(|(known, words)| *known == area && is_of(words)),
            Wanted::Bounds(bounds) => bounds.iter().any(|bound| needs(bound, area, cell)),
        }
    }

    /// Streams that only a bound names are no part of the sheet.
    fn extra_streams(&self) -> Vec<&'static StreamRow> {
        let Wanted::Bounds(bounds) = self else { return Vec::new() };
        let is_named = |row: &&&'static StreamRow| {
            bounds.iter().any(|bound| {
                bound.area == areas::turbo::AREA && bound.workload.as_deref() == Some(row.id)
            })
        };
        let is_new = |row: &&&StreamRow| !SHEET.iter().any(|known| known.id == row.id);
        TABLE.iter().filter(is_named).filter(is_new).copied().collect()
    }
}

/// The run that gives what is wanted.
pub fn request(
    budget: Seconds,
    cpus: Option<CpuSet>,
    wanted: Wanted,
    command: Vec<String>,
    presentation: Presentation,
) -> Request {
    let whole = sheet::request(budget, cpus, None, command, presentation);
    if matches!(wanted, Wanted::Sheet) {
        return whole;
    }
    let mut streams = whole.streams;
    streams.extend(wanted.extra_streams());
    Request {
        streams,
        ask: Box::new(move |plan| {
            let asked = |area: &&'static Area| {
                let mut proposal = area.proposal(plan);
                proposal.cells.retain(|cell| wanted.has_cell(area.id, cell));
                AreaRequest { area, proposal }
            };
            Ok(AREAS.iter().filter(|area| wanted.has_area(area.id)).map(asked).collect())
        }),
        ..whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(text: &str) -> Result<(Unit, f64), String> {
        let bound = read(text, BoundKind::Min);
        bound.map(|bound| (bound.unit, bound.limit)).map_err(|error| error.to_string())
    }

    #[test]
    fn bounds_have_names_and_units_of_the_project() {
        assert_eq!(limit("memory.triad=80GB/s"), Ok((Unit::BytePerSecond, 80e9)));
        let why = |text| limit(text).unwrap_err();
        assert!(why("memory.triad=1e400GB/s").contains("larger than any number can be"));
        assert!(why("memory.triad=0GB/s").contains("is not above zero"));
        assert_eq!(limit("memory.bandwidth=1GiB/s"), Ok((Unit::BytePerSecond, 1_073_741_824.0)));
        assert_eq!(limit("turbo.avx256_fma@2=2.5 GHz"), Ok((Unit::Hertz, 2.5e9)));
        let Ok((Unit::Second, latency)) = limit("wake.latency=50us") else { panic!() };
        assert!((latency - 50e-6).abs() < 1e-12);
        let of = |name: &str| read(name, BoundKind::Max).map(|bound| bound.quantity);
        assert_eq!(of("wake.latency=50us"), Ok("time_per_signal"));
        assert_eq!(of("wake.futex.round_trip=50us"), Ok("round_trip"));
        for bad in [
            "memory.triad",
            "memory.triad=80",
            "memory.triad=80GHz",
            "memory.triad=fast",
            "memory.triad=0GB/s",
            "memory.triad=infGB/s",
            "memory.triad@0=1GB/s",
            "memory=1GB/s",
            "memory.triadd=1GB/s",
            "memory.triad.copy=1GB/s",
            "memroy.triad=1GB/s",
            "=",
            "",
        ] {
            assert!(limit(bad).is_err(), "{bad}");
        }
        let hint = read("memory.triadd=1GB/s", BoundKind::Min).unwrap_err().hint;
        assert!(hint.contains("`memory.triad`"), "{hint}");
    }

    #[test]
    fn every_name_is_a_result_that_is_judged() {
        for Named { area, quantities, names } in named() {
            assert!(!quantities.is_empty(), "{area}");
            let short = names.short.iter().map(|(_, workload, quantity)| (workload, quantity));
            for (workload, quantity) in names.meant.iter().map(|(of, what)| (of, what)).chain(short)
            {
                assert!(names.workloads.contains(workload), "{area} {workload}");
                assert!(quantities.contains(quantity), "{area} {quantity}");
            }
        }
        assert!(names().len() > 50);
    }
}
