//! What was set.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::CpuId;
use serde::{Deserialize, Serialize};

use super::Held;
use crate::error::Error;
use crate::faults::{Fault, FirmwareFault};

/// What was set; clones share it, and so do processes through a file.
#[derive(Debug, Clone, Default)]
pub struct Settings(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    set: Set,
    /// Where it is kept between processes.
    file: Option<PathBuf>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Set {
    pub(crate) files: BTreeMap<String, String>,
    /// By CPU and register: `0:0x1a4`.
    pub(crate) registers: BTreeMap<String, u64>,
    /// Faults that the machine has beside those of its description.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    faults: Vec<Fault>,
    /// Those of its Speed Select.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    firmware_faults: Vec<FirmwareFault>,
    /// What the firmware holds, by power domain: `0.1/level`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    firmware: BTreeMap<Held, u64>,
}

impl Settings {
    /// What is kept in a file; a file that is not there keeps nothing.
    pub(crate) fn open(file: PathBuf) -> Result<Settings, Error> {
        let broken = |why: String| Error::Broken { file: file.display().to_string(), why };
        let set = match std::fs::read_to_string(&file) {
            Ok(text) => {
                serde_json::from_str(&text).map_err(|error| broken(model::json::refusal(&error)))?
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Set::default(),
            Err(error) => return Err(broken(sys::errno::words(&error))),
        };
        Ok(Settings(Arc::new(Mutex::new(Kept { set, file: Some(file) }))))
    }

    /// Where it is kept between processes.
    pub fn file(&self) -> Option<PathBuf> {
        self.kept().file.clone()
    }

    /// The faults that the file puts in.
    pub(crate) fn faults(&self) -> Vec<Fault> {
        self.kept().set.faults.clone()
    }

    /// The faults of Speed Select that the file puts in.
    pub(crate) fn firmware_faults(&self) -> Vec<FirmwareFault> {
        self.kept().set.firmware_faults.clone()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // Every change is whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nothing was set.
    pub(crate) fn is_empty(&self) -> bool {
        let set = &self.kept().set;
        set.files.is_empty() && set.registers.is_empty()
    }

    pub(crate) fn firmware(&self, held: Held) -> Option<u64> {
        self.kept().set.firmware.get(&held).copied()
    }

    /// What the firmware holds from now on; none: as it came.
    pub(crate) fn set_firmware(&self, held: Held, value: Option<u64>) -> io::Result<()> {
        self.change(|set| match value {
            Some(value) => {
                set.firmware.insert(held, value);
            }
            None => {
                set.firmware.remove(&held);
            }
        })
    }

    pub(crate) fn text(&self, path: &str) -> Option<String> {
        self.kept().set.files.get(path).cloned()
    }

    pub(crate) fn register(&self, cpu: CpuId, register: u32) -> Option<u64> {
        self.kept().set.registers.get(&key(cpu, register)).copied()
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut Set)) -> io::Result<()> {
        let mut kept = self.kept();
        change(&mut kept.set);
        let Some(file) = &kept.file else { return Ok(()) };
        // The old state or the new one, whenever the process is killed.
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.map_or_else(|| PathBuf::from("."), PathBuf::from);
        let mut next = tempfile::NamedTempFile::new_in(folder)?;
        // At once: a write for each token takes longer than all the rest.
        next.write_all(&serde_json::to_vec(&kept.set)?)?;
        next.persist(file).map_err(|error| error.error)?;
        Ok(())
    }
}

pub(crate) fn key(cpu: CpuId, register: u32) -> String {
    format!("{cpu}:{register:#x}")
}

/// The preferences of the energy, in the order of their values.
pub(crate) const PREFERENCES: &str = "default performance balance_performance balance_power power";

/// The governors of intel_pstate in active mode.
pub(crate) const GOVERNORS: &str = "performance powersave";
