//! What a power domain's firmware can hold, and how files call it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A power domain: its package, and its number there.
pub(crate) type At = (u32, u32);

/// Something that the firmware of a power domain holds: in files `0.1/level`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Held {
    pub(crate) at: At,
    pub(crate) what: FirmwareItem,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FirmwareItem {
    /// The number of the present level.
    Level,
    /// What of the level is on, a bit each.
    Features,
    /// Whether priorities are heeded.
    CorePower,
    /// How they are heeded.
    Priorities,
    /// The limits and the weight of a class.
    Class(u32),
    /// The class of a module.
    Association(u32),
    /// Register 1ADh.
    TurboLimits,
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (package, domain) = self.at;
        write!(f, "{package}.{domain}/")?;
        match self.what {
            FirmwareItem::Level => f.write_str("level"),
            FirmwareItem::Features => f.write_str("features"),
            FirmwareItem::CorePower => f.write_str("core-power"),
            FirmwareItem::Priorities => f.write_str("priorities"),
            FirmwareItem::Class(class) => write!(f, "class/{class}"),
            FirmwareItem::Association(module) => write!(f, "association/{module}"),
            FirmwareItem::TurboLimits => f.write_str("msr/1ad"),
        }
    }
}

impl FromStr for Held {
    type Err = String;

    fn from_str(text: &str) -> Result<Held, String> {
        let parse = || {
            let (at, what) = text.split_once('/')?;
            let (package, domain) = at.split_once('.')?;
            let number = |prefix: &str| what.strip_prefix(prefix)?.parse().ok();
            let what = match what {
                "level" => FirmwareItem::Level,
                "features" => FirmwareItem::Features,
                "core-power" => FirmwareItem::CorePower,
                "priorities" => FirmwareItem::Priorities,
                "msr/1ad" => FirmwareItem::TurboLimits,
                _ => number("class/")
                    .map(FirmwareItem::Class)
                    .or_else(|| number("association/").map(FirmwareItem::Association))?,
            };
            Some(Held { at: (package.parse().ok()?, domain.parse().ok()?), what })
        };
        parse().ok_or_else(|| format!("no firmware holds `{text}`, expected such as `0.1/level`"))
    }
}

impl TryFrom<String> for Held {
    type Error = String;

    fn try_from(text: String) -> Result<Held, String> {
        text.parse()
    }
}

impl From<Held> for String {
    fn from(held: Held) -> String {
        held.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_read_as_it_is_written() {
        for text in
            ["0.1/level", "0.0/core-power", "1.2/class/3", "0.0/association/55", "1.0/msr/1ad"]
        {
            assert_eq!(text.parse::<Held>().map(|held| held.to_string()).as_deref(), Ok(text));
        }
        for text in ["", "level", "0/level", "0.x/level", "0.0/class", "0.0/class/", "0.0/speed"] {
            assert!(text.parse::<Held>().is_err_and(|error| error.contains(text)), "{text}");
        }
    }
}
