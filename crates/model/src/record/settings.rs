//! Settings of a machine in a record: as they are, as they were changed, and what that was seen to do.

use serde::{Deserialize, Serialize};

use crate::{Known, Unavailable};

/// Settings, and changes of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Settings {
    /// As they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listed: Vec<Setting>,
    /// What was written, or was about to be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<SettingChange>,
    /// What the changes were seen to do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proofs: Vec<Proof>,
    /// What to know beside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// A setting with one value, and everybody who has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Setting {
    /// Its name.
    pub id: String,
    /// What it does.
    pub doc: String,
    /// Whose it is: `machine`, `CPUs 0-55`; absent: there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// What it is set to, in the words in which it is set.
    pub value: Known<String>,
    /// What it takes; absent: there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takes: Option<String>,
    /// Why it cannot be set here; absent: it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed: Option<Unavailable>,
    /// Who honours it here, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// How it is shown that the machine obeys.
    pub proof: String,
}

/// Whose settings belong to no machine.
pub const ARM: &str = "an arm of `cpudyno ab`";

/// What `/dev/cpu_dma_latency` holds where nobody set a limit, in microseconds.
///
/// # Source
/// `include/linux/pm_qos.h`, PM_QOS_CPU_LATENCY_DEFAULT_VALUE.
pub const NO_LATENCY_LIMIT_US: u64 = 2_000_000_000;

/// A setting that was changed, or put back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SettingChange {
    /// Its name.
    pub id: String,
    /// What was written to.
    pub object: String,
    /// What was there before, as the kernel writes it.
    pub former: String,
    /// What was to be there.
    pub wanted: String,
    /// What came of it.
    pub outcome: ChangeOutcome,
}

/// What came of a change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ChangeOutcome {
    /// Nothing was written: only the plan was asked for.
    Planned,
    /// It was so already.
    Already,
    /// It was written and read back.
    Done,
    /// Somebody else changed it meanwhile: it was left alone.
    Foreign,
    /// It could not be written.
    Failed {
        /// What the machine answered.
        why: String,
    },
}

/// Whether the machine obeys a setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Proof {
    /// The setting.
    pub id: String,
    /// The load under which it was looked at.
    pub load: String,
    /// The answer.
    pub answer: ProofAnswer,
    /// What was seen, in words with numbers and units; or why nothing can be seen.
    pub seen: String,
    /// What to know before anything is concluded from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caveat: Option<String>,
}

/// Whether the machine obeys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ProofAnswer {
    /// What was measured changed as it should.
    Obeyed,
    /// It should have changed, and did not.
    NotObeyed,
    /// Nothing that can be measured here would tell.
    NotObservable,
}
