//! Options of a measurement as one JSON object: what is not known is an error with a hint.

use cpudyno::{CpuSet, Seconds};
use model::name::did_you_mean;
use serde_json::{Map, Value};

use crate::status::{CallError, CdStatus};

/// The longest that a measurement may be asked to take, as of the command.
const BUDGET_MAX: f64 = 3600.0;

/// The options of a call, taken one after the other; those that nobody took are an error.
pub(crate) struct Options {
    left: Map<String, Value>,
    /// The names that were asked for.
    known: Vec<&'static str>,
}

/// An argument that makes no sense.
pub(crate) fn senseless(why: impl Into<String>) -> CallError {
    CallError::Worded(CdStatus::CdErrorArgument, why.into())
}

/// What a word may have been meant for, as the end of an error.
pub(crate) fn meant<'a>(word: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    if let Some(near) = did_you_mean(word, known.clone()) {
        return format!("\nhint: did you mean `{near}`?");
    }
    let known: Vec<&str> = known.into_iter().collect();
    format!("\nhint: known are {}", known.join(", "))
}

impl Options {
    /// Reads them; none are those of an empty object.
    pub(crate) fn read(text: Option<&str>) -> Result<Options, CallError> {
        let left = match text.map(str::trim).filter(|text| !text.is_empty()) {
            None => Map::new(),
            Some(text) => match serde_json::from_str(text) {
                Ok(Value::Object(left)) => left,
                Ok(_) => return Err(senseless("options are no object\nhint: {\"threads\": 4}")),
                Err(error) => return Err(senseless(format!("options are no JSON: {error}"))),
            },
        };
        Ok(Options { left, known: Vec::new() })
    }

    fn take(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        self.left.remove(name)
    }

    /// A text.
    pub(crate) fn text(&mut self, name: &'static str) -> Result<Option<String>, CallError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(senseless(format!("`{name}` is no text: {other}"))),
        }
    }

    /// CPUs, such as "0-3,8".
    pub(crate) fn cpus(&mut self, name: &'static str) -> Result<Option<CpuSet>, CallError> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        let cpus = text.parse().map_err(|error| senseless(format!("`{name}`: {error}")))?;
        Ok(Some(cpus))
    }

    /// A time in seconds, more than none and no longer than an hour.
    pub(crate) fn seconds(&mut self, name: &'static str) -> Result<Option<Seconds>, CallError> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let seconds = value.as_f64();
        let seconds =
            seconds.ok_or_else(|| senseless(format!("`{name}` is no number: {value}")))?;
        as_budget(name, seconds).map(Some)
    }

    /// A number of things.
    pub(crate) fn count(&mut self, name: &'static str) -> Result<Option<usize>, CallError> {
        self.take(name).map(|value| count(name, &value)).transpose()
    }

    /// Several numbers.
    pub(crate) fn counts(&mut self, name: &'static str) -> Result<Option<Vec<usize>>, CallError> {
        let list = self.list(name)?;
        list.map(|list| list.iter().map(|value| count(name, value)).collect()).transpose()
    }

    /// Several texts.
    pub(crate) fn texts(&mut self, name: &'static str) -> Result<Option<Vec<String>>, CallError> {
        let text = |value: Value| match value {
            Value::String(text) => Ok(text),
            other => Err(senseless(format!("`{name}` holds what is no text: {other}"))),
        };
        self.list(name)?.map(|list| list.into_iter().map(text).collect()).transpose()
    }

    /// Several rows of a table, by their names.
    pub(crate) fn rows<T>(
        &mut self,
        name: &'static str,
        table: &[&'static T],
        id: impl Fn(&T) -> &'static str,
    ) -> Result<Option<Vec<&'static T>>, CallError> {
        let row = |wanted: &String| {
            table.iter().copied().find(|row| id(row) == wanted).ok_or_else(|| {
                let known: Vec<&str> = table.iter().map(|row| id(row)).collect();
                senseless(format!("`{name}` has no `{wanted}`{}", meant(wanted, known)))
            })
        };
        self.texts(name)?.map(|wanted| wanted.iter().map(row).collect()).transpose()
    }

    /// One of a few words; without it the first.
    pub(crate) fn word(
        &mut self,
        name: &'static str,
        known: &[&'static str],
    ) -> Result<&'static str, CallError> {
        let Some(wanted) = self.text(name)? else { return Ok(known[0]) };
        known.iter().copied().find(|word| *word == wanted).ok_or_else(|| {
            senseless(format!(
                "`{name}` is not `{wanted}`{}",
                meant(&wanted, known.iter().copied())
            ))
        })
    }

    fn list(&mut self, name: &'static str) -> Result<Option<Vec<Value>>, CallError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Array(list)) => Ok(Some(list)),
            Some(other) => Err(senseless(format!("`{name}` is no list: {other}"))),
        }
    }

    /// That nothing is left.
    pub(crate) fn all_taken(&self, area: &str) -> Result<(), CallError> {
        match self.left.keys().next() {
            None => Ok(()),
            Some(name) => Err(senseless(format!(
                "`{name}` is no option of {area}{}",
                meant(name, self.known.iter().copied())
            ))),
        }
    }
}

/// Seconds that a measurement may take.
pub(crate) fn as_budget(name: &str, seconds: f64) -> Result<Seconds, CallError> {
    if seconds > 0.0 && seconds <= BUDGET_MAX {
        return Ok(Seconds(seconds));
    }
    Err(senseless(format!("`{name}` is {seconds} s: it is more than 0 and at most {BUDGET_MAX} s")))
}

fn count(name: &str, value: &Value) -> Result<usize, CallError> {
    let number = value.as_u64().and_then(|number| usize::try_from(number).ok());
    number
        .filter(|number| *number > 0)
        .ok_or_else(|| senseless(format!("`{name}` is no number from 1 on: {value}")))
}
