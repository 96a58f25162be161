//! The lists as they are written.

use serde::Deserialize;
use serde_json::Value;

use crate::events::table::CoreType;

/// An event of a list, in the words of the list.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase", expecting = "struct Event")]
pub(super) struct JsonEvent {
    #[serde(rename = "EventName")]
    pub(super) name: Option<String>,
    /// Numbers in hexadecimal with `0x`, in decimal without; two where two codes will do.
    #[serde(rename = "EventCode")]
    pub(super) code: Option<String>,
    #[serde(rename = "UMask")]
    pub(super) umask: Option<String>,
    #[serde(rename = "UMaskExt")]
    pub(super) umask_ext: Option<String>,
    pub(super) counter_mask: Option<String>,
    pub(super) invert: Option<String>,
    pub(super) edge_detect: Option<String>,
    pub(super) any_thread: Option<String>,
    pub(super) counter: Option<String>,
    /// Which counters there are where one thread has the core for itself.
    #[serde(rename = "CounterHTOff")]
    pub(super) counter_alone: Option<String>,
    #[serde(rename = "MSRIndex")]
    pub(super) msr_index: Option<String>,
    #[serde(rename = "MSRValue")]
    pub(super) msr_value: Option<String>,
    pub(super) taken_alone: Option<String>,
    pub(super) errata: Option<String>,
    pub(super) deprecated: Option<String>,
    pub(super) unit: Option<String>,
    pub(super) port_mask: Option<String>,
    #[serde(rename = "FCMask")]
    pub(super) fc_mask: Option<String>,
    #[serde(rename = "FILTER_VALUE")]
    pub(super) filter_value: Option<String>,
    pub(super) counter_type: Option<String>,
    pub(super) brief_description: Option<String>,
    pub(super) public_description: Option<String>,
    /// Of Arm's lists, where all is otherwise.
    #[serde(rename = "name")]
    arm_name: Option<String>,
    #[serde(rename = "code")]
    arm_code: Option<u64>,
    #[serde(rename = "description")]
    arm_description: Option<String>,
}

impl JsonEvent {
    fn whole(mut self) -> JsonEvent {
        self.name = self.name.or(self.arm_name.take());
        self.code = self.code.or(self.arm_code.map(|code| code.to_string()));
        self.public_description = self.public_description.or(self.arm_description.take());
        self
    }

    /// The type of cores that it is of, where the list says so by the name of their PMU.
    pub(super) fn core_type(&self) -> Option<CoreType> {
        CoreType::of_pmu(&self.unit.as_deref()?.to_ascii_lowercase())
    }
}

/// The events of a list: an array, or an object that has one. Entries without an event's name are
/// formulas.
pub(super) fn parse(text: &str) -> Result<Vec<JsonEvent>, String> {
    let whole: Value = serde_json::from_str(text)
        .map_err(|error| format!("is no JSON of events: {}", model::json::refusal(&error)))?;
    let events = match whole {
        Value::Array(events) => events,
        Value::Object(mut object) => {
            let events = object.remove("Events").or_else(|| object.remove("events"));
            match events {
                Some(Value::Array(events)) => events,
                _ => return Err("has no list `Events`".to_owned()),
            }
        }
        _ => return Err("is no list of events".to_owned()),
    };
    let parse = |(place, event): (usize, Value)| {
        let name = ["EventName", "name"].iter().find_map(|key| event.get(key)?.as_str());
        let what = name.map_or_else(|| format!("entry {place}"), |name| format!("event `{name}`"));
        serde_json::from_value(event)
            .map(JsonEvent::whole)
            .map_err(|error| format!("{what}: {error}"))
    };
    let events: Vec<JsonEvent> =
        events.into_iter().enumerate().map(parse).collect::<Result<_, _>>()?;
    Ok(events.into_iter().filter(|event| event.name.is_some()).collect())
}

/// `0x2A`, `12`; of two codes, `0x2A,0x2B`, the first: the kernel chooses the other one where the first
/// is taken.
pub(super) fn number(text: Option<&String>) -> Result<u64, String> {
    let text = text.map(String::as_str).unwrap_or_default();
    let first = text.split(',').next().unwrap_or_default().trim();
    let parsed = match first.strip_prefix("0x").or_else(|| first.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None if first.is_empty() => Some(0),
        None => first.parse().ok(),
    };
    parsed.ok_or_else(|| format!("`{text}` is no number"))
}

/// `1` is yes.
pub(super) fn flag(text: Option<&String>) -> bool {
    text.is_some_and(|text| text.trim() == "1")
}
