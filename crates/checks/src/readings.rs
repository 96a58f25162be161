//! What checks read: facts and conditions by their id, and what is drawn from several of them.

use model::record::{FactValue, Record};
use model::{Known, Obstacle, Reading, Unavailable, Unit};

/// Draws a reading from a record.
type Draw = fn(&Record) -> Reading<FactValue>;

/// What is drawn from a record, under an id of its own.
#[rustfmt::skip]
const DRAWN: &[(&str, Draw)] = &[
    ("place", place),
    ("cpus.usable_share", usable_share),
];

/// The fact, condition or drawn reading of that id.
pub(crate) fn read(record: &Record, id: &str) -> Reading<FactValue> {
    if let Some((_, draw)) = DRAWN.iter().find(|(drawn, _)| *drawn == id) {
        return draw(record);
    }
    let Some(fact) = record.fact(id) else {
        let why = format!("the record has no fact `{id}`");
        return Err(Unavailable::new(Obstacle::Cpudyno, id, why));
    };
    match &fact.value {
        Known::Yes(value) => Ok(value.clone()),
        Known::No { unavailable } => Err(unavailable.clone()),
    }
}

/// Whether an absence means that the machine has no such thing.
pub(crate) fn is_not_there(reason: &Unavailable) -> bool {
    reason.obstacle == Obstacle::Hardware
}

/// `guest` or `bare metal`.
fn place(record: &Record) -> Reading<FactValue> {
    read(record, "platform.virtualisation")?;
    let place = if record.is_guest() { "guest" } else { "bare metal" };
    Ok(FactValue::Text(place.to_owned()))
}

/// Which share of the online CPUs this process may use.
fn usable_share(record: &Record) -> Reading<FactValue> {
    let text = read(record, "cpus.usable")?;
    let FactValue::Text(text) = &text else { return Ok(text) };
    let share = text.split_once(" of ").and_then(|(usable, online)| {
        let (usable, online): (f64, f64) = (usable.parse().ok()?, online.parse().ok()?);
        (online > 0.0).then(|| usable / online)
    });
    let why = || format!("`{text}` counts no usable CPUs");
    let value = share.ok_or_else(|| Unavailable::new(Obstacle::Cpudyno, "usable CPUs", why()))?;
    Ok(FactValue::Number { value, unit: Unit::One })
}
