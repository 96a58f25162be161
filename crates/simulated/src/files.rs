//! Files that are held in memory: of simulated machines, captures and tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use model::{Obstacle, Reading, Unavailable};

/// Files by path, held in memory.
#[derive(Debug, Clone, Default)]
pub struct Files(BTreeMap<String, String>);

impl Files {
    /// Puts a file there.
    pub fn put(&mut self, path: impl Into<String>, text: &(impl ToString + ?Sized)) {
        self.0.insert(path.into(), text.to_string());
    }

    /// The text of the file at an absolute path.
    pub fn read(&self, path: &str) -> Reading<String> {
        self.0.get(path).cloned().ok_or_else(|| missing(path))
    }

    /// The names of the entries of a folder, sorted.
    pub fn list(&self, path: &str) -> Reading<Vec<String>> {
        let folder = format!("{}/", path.trim_end_matches('/'));
        let below =
            self.0.range(folder.clone()..).map_while(|(path, _)| path.strip_prefix(&folder));
        let names: BTreeSet<&str> =
            below.map(|rest| rest.split_once('/').map_or(rest, |(name, _)| name)).collect();
        if names.is_empty() {
            return Err(missing(path));
        }
        Ok(names.into_iter().map(String::from).collect())
    }
}

/// What is said of a file or folder that is not there.
pub fn missing(path: &str) -> Unavailable {
    let why = format!("there is no `{path}` here");
    Unavailable::new(Obstacle::Hardware, format!("`{path}`"), why)
}

/// The bytes of a file that holds them as hexadecimal digits.
///
/// # Error
/// It holds something else.
pub fn bytes_of(path: &str, digits: &str) -> Reading<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let byte = |pair: &[u8]| match *pair {
        [high, low] => Some(digit(high)? << 4 | digit(low)?),
        _ => None,
    };
    let bytes: Option<Vec<u8>> = digits.as_bytes().chunks(2).map(byte).collect();
    bytes.ok_or_else(|| {
        let why = format!("`{path}` holds no bytes as hexadecimal digits");
        Unavailable::new(Obstacle::Cpudyno, format!("`{path}`"), why)
    })
}

/// Bytes as such a file holds them.
pub fn digits_of(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The folder of the CPUs.
pub(crate) const CPU: &str = "/sys/devices/system/cpu";

pub(crate) fn kilohertz(hertz: f64) -> String {
    ((hertz / 1e3).round() as u64).to_string()
}

/// Where the kernel describes PMUs.
pub(crate) const PMUS: &str = "/sys/bus/event_source/devices";
