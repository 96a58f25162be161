//! Checks of configuration: settings that people lose weeks on, as rows of `data/checks.toml`, held against the facts
//! of a record.
//!
//! A row says which fact it reads, what is expected of it and where; why that matters, what mends it, and who says so.
//! What a difference costs is taken from the numbers of the same record, or it is unknown.

#![forbid(unsafe_code)]

mod cost;
mod expectation;
mod readings;
mod table;

use model::record::{FactValue, Record};
use model::{Finding, Known, Severity, Unavailable};

pub use self::expectation::{Condition, Expectation};
pub use self::table::{Check, table};

use self::expectation::Verdict;

/// What a check says of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// The fact is what is expected.
    AsExpected,
    /// It is not.
    Differs {
        /// What the fact says.
        found: String,
        /// What is expected, in words.
        expected: String,
    },
    /// The fact is not known, or where the check holds.
    Unknown(Unavailable),
    /// The check is of other machines.
    DoesNotApply,
}

/// A check, held against a record.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// The row.
    pub check: &'static Check,
    /// What it says.
    pub state: State,
    /// What the difference costs, as measured in this record; otherwise which command would tell.
    pub cost: Known<String>,
}

/// The names of the costs that records can tell.
pub fn costs() -> impl Iterator<Item = &'static str> {
    cost::COSTS.iter().map(|(name, _)| *name)
}

/// Every check, in the order of the table.
pub fn of(record: &Record) -> Vec<Checked> {
    table().iter().map(|check| checked(check, record)).collect()
}

fn checked(check: &'static Check, record: &Record) -> Checked {
    let state = state(check, record);
    let cost = match &state {
        State::Differs { .. } => cost::of(check, record),
        _ => cost::unknown(check),
    };
    Checked { check, state, cost }
}

fn state(check: &Check, record: &Record) -> State {
    let mut unknown = None;
    for condition in &check.only {
        match readings::read(record, &condition.fact) {
            Ok(value) => match condition.is.judge(&value, record) {
                Verdict::Holds => {}
                Verdict::Fails => return State::DoesNotApply,
                Verdict::Unknown(reason) => unknown = Some(reason),
            },
            Err(reason) if !readings::is_not_there(&reason) => unknown = unknown.or(Some(reason)),
            Err(_) if condition.is.is_negative() => {}
            Err(_) => return State::DoesNotApply,
        }
    }
    let value = match readings::read(record, &check.reads) {
        Err(reason) if check.optional && readings::is_not_there(&reason) => {
            return State::DoesNotApply;
        }
        Err(reason) => return State::Unknown(reason),
        Ok(value) => value,
    };
    match (check.expect.judge(&value, record), unknown) {
        // Wherever it holds, this is as it should be.
        (Verdict::Holds, _) => State::AsExpected,
        (Verdict::Unknown(reason), _) | (Verdict::Fails, Some(reason)) => State::Unknown(reason),
        (Verdict::Fails, None) => State::Differs {
            found: check.expect.found(&value),
            expected: expected(check, &value, record),
        },
    }
}

fn expected(check: &Check, value: &FactValue, record: &Record) -> String {
    let in_words = || check.expect.words(value, record);
    check.expected.clone().unwrap_or_else(in_words)
}

/// What a run is to be told of: what differs, is more than a note, and stands in none of these findings already.
pub fn findings(record: &Record, told: &[&Finding]) -> Vec<Finding> {
    let is_told = |check: &Check| told.iter().any(|it| check.found_by.contains(&it.id));
    let weighty = |it: &Checked| it.check.weight > Severity::Note && !is_told(it.check);
    of(record).iter().filter(|it| weighty(it)).filter_map(finding).collect()
}

/// What differs, as a remark; `None` of every other state.
pub fn finding(checked: &Checked) -> Option<Finding> {
    let State::Differs { found, expected } = &checked.state else { return None };
    let check = checked.check;
    let text = format!("{found}, expected {expected}: {}", check.why);
    let finding =
        Finding::new(check.weight, format!("check.{}", check.id), check.about.as_str(), text);
    Some(finding.remedy(check.mend.clone()).gain(checked.cost.value().cloned()))
}
