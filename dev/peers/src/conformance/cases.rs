//! Which calls are compared: commands by machines, versions, formats and states.

use sst::compat::{TOOLS, Tool};

/// A call.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) tool: &'static Tool,
    pub(super) machine: &'static str,
    pub(super) state: &'static State,
    pub(super) words: &'static str,
    pub(super) json: bool,
}

/// What was set on a machine before, or goes wrong on it.
#[derive(Debug)]
pub(super) struct State {
    pub(super) name: &'static str,
    /// On which machines.
    machines: &'static [&'static str],
    /// The file that keeps it.
    pub(super) file: &'static str,
    /// Which calls.
    words: &'static [&'static [&'static str]],
}

/// Every reading command, with the options that it has.
const READING: &[&str] = &[
    "--info",
    "--version",
    "perf-profile info",
    "perf-profile info -l 0",
    "perf-profile info --level 1",
    "-c 0,1 perf-profile info -l 0",
    "perf-profile get-config-levels",
    "perf-profile get-config-version",
    "perf-profile get-config-enabled",
    "perf-profile get-config-current-level",
    "perf-profile get-lock-status",
    "core-power info",
    "core-power get-config -c 0",
    "core-power get-config --clos 2",
    "-c 0-3 core-power get-assoc",
    "base-freq info -l 0",
    "base-freq info -l 1",
    "-c 1 base-freq info -l 0",
    "turbo-freq info -l 0",
    "turbo-freq info -l 1",
    "turbo-freq info -l 0 -b 1 -r sse",
    "turbo-freq info -l 0 -r avx512",
    "turbo-mode get-trl",
    "-c 1 turbo-mode get-trl",
    "-o results perf-profile get-config-levels",
    "--out=results core-power info",
    "-o results -c 0,1 perf-profile get-lock-status",
];

/// What is wrong, or nearly.
const EDGES: &[&str] = &[
    "perf-profile info -l 9",
    "perf-profile info -l x",
    "perf-profile info -z",
    "perf-profile get-config-levels and more",
    "perf-profile nonsense",
    "nonsense info",
    "perf-profile",
    "core-power get-config",
    "core-power get-config -c 4",
    "core-power get-assoc",
    "base-freq info",
    "base-freq info -l 9",
    "turbo-freq info",
    "turbo-freq info -l 0 -b 7",
    "turbo-freq info -l 0 -b x",
    "turbo-freq info -l 0 -r foo",
    "-c 3..5 core-power info",
    "-c 0 -c 14 --cpu=15 perf-profile get-lock-status",
    "-c 900 perf-profile get-lock-status",
    "-c x perf-profile get-lock-status",
    "-c 5-3 perf-profile get-lock-status",
    "-f xml perf-profile get-lock-status",
    "-d -c 0 perf-profile get-lock-status",
    "-r 5 perf-profile get-lock-status",
    "-o results perf-profile info -l 9",
    "-info",
    "--form text --info",
    "--help",
    "perf-profile --help",
    "perf-profile info --help",
];

/// The commands whose answers depend on what was set.
const OF_STATE: &[&str] = &[
    "--info",
    "perf-profile info",
    "perf-profile get-config-current-level",
    "core-power info",
    "core-power get-config -c 1",
    "core-power get-config -c 2",
    "-c 2-6 core-power get-assoc",
    "base-freq info -l 0",
    "turbo-freq info -l 0",
];

/// Every command that changes something, with the options that it has.
const CHANGING: &[&str] = &[
    "perf-profile set-config-level -l 1",
    "-c 0 perf-profile set-config-level -l 1",
    "-c 0,1 perf-profile set-config-level -l 1",
    "perf-profile set-config-level -l 1 -o",
    "-c 1 perf-profile set-config-level -l 1 -o",
    "perf-profile set-config-level -l 0",
    "perf-profile set-config-level -l 9",
    "perf-profile set-config-level",
    "core-power enable",
    "core-power enable -p 1",
    "-c 0 core-power enable --priority 1",
    "core-power disable",
    "core-power disable -p 1",
    "core-power config -c 0",
    "core-power config -c 1 -n 2000 -m 3000 -w 5",
    "-c 0 core-power config --clos 2 --weight 3",
    "core-power config -c 4",
    "core-power config -c 1 -n 200",
    "core-power config -c 1 -n 3000 -m 2000",
    "-c 10 core-power assoc -c 3",
    "-c 0-3 core-power assoc -c 1",
    "core-power assoc -c 3",
    "base-freq enable",
    "base-freq enable -a",
    "-c 0 base-freq enable -a",
    "base-freq disable",
    "base-freq disable -a",
    "-c 2,3 turbo-freq enable -a",
    "-c 2 turbo-freq enable",
    "-c 0 turbo-freq enable -a",
    "turbo-freq enable",
    "turbo-freq enable -a",
    "turbo-freq enable -t 0x1d1d1d1d1d1d1d1d",
    "-c 2 turbo-freq enable -a -t 0x1d1d1d1d1d1d1d1d",
    "turbo-freq disable",
    "turbo-freq disable -a",
    "turbo-freq disable -t 0x1d1d1d1d1d1d1d1d",
    "turbo-mode enable",
    "turbo-mode disable",
    "turbo-mode set-trl -t 0x1d1d1d1d1d1d1d1d",
    "-c 0 turbo-mode set-trl -t 0x1d1d1d1d1d1d1d1d",
    "turbo-mode set-trl",
    "-o results core-power enable",
    "--out results -c 0 core-power config -c 2 -w 3",
    "-o results perf-profile set-config-level -l 9",
];

/// The guide's own.
const OF_GUIDE: &[&str] = &[
    "perf-profile set-config-level -l 4 -o",
    "-c 14 perf-profile set-config-level -l 4 -o",
    "core-power config -c 1 -n 2000 -m 3000 -w 5 -e 2",
    "-c 12,13 turbo-freq enable -a",
    "-c 0-9 turbo-freq enable -a",
];

/// What depends on what is on.
const WHILE_ON: &[&str] = &[
    "core-power disable",
    "core-power disable -p 1",
    "core-power enable",
    "base-freq disable",
    "base-freq disable -a",
    "turbo-freq disable",
    "turbo-freq disable -a",
    "turbo-freq disable -t 0x1d1d1d1d1d1d1d1d",
    "base-freq enable -a",
    "-c 2 turbo-freq enable -a",
    "perf-profile set-config-level -l 1",
];

/// What gives classes to all cores of a power domain.
const WHILE_OFF: &[&str] = &["-c 2 turbo-freq enable -a", "-c 2 base-freq enable -a"];

/// What limits of the clock have a part in.
const OF_CLOCKS: &[&str] = &[
    "perf-profile set-config-level -l 1",
    "perf-profile set-config-level -l 1 -o",
    "base-freq enable",
    "base-freq enable -a",
    "base-freq disable -a",
    "-c 2 turbo-freq enable -a",
    "turbo-freq enable",
    "turbo-freq disable -a",
    "turbo-mode enable",
    "turbo-mode disable",
];

/// The words of every command that changes something.
const CHANGES: &[&str] = &[
    "perf-profile set-config-level",
    "core-power enable",
    "core-power disable",
    "core-power config",
    "core-power assoc",
    "base-freq enable",
    "base-freq disable",
    "turbo-freq enable",
    "turbo-freq disable",
    "turbo-mode enable",
    "turbo-mode disable",
    "turbo-mode set-trl",
];

const OLDER: &[&str] = &["guide", "icelake", "sapphire", "sapphire-locked"];
const CHANGED: &[&str] = &["guide", "sapphire-locked", "granite", "sierra"];
const ALL: &[&str] = &["guide", "icelake", "sapphire", "sapphire-locked", "granite", "sierra"];

/// All states, the one of a fresh machine first.
const STATES: &[State] = &[
    State { name: "fresh", machines: ALL, file: "{}", words: &[READING] },
    State { name: "changed", machines: CHANGED, file: "{}", words: &[CHANGING] },
    State { name: "changed as in the guide", machines: &["guide"], file: "{}", words: &[OF_GUIDE] },
    State {
        name: "base-freq on",
        machines: &["guide"],
        file: r#"{"firmware": {"0.0/core-power": 1, "0.0/priorities": 6, "0.0/features": 1}}"#,
        words: &[WHILE_ON],
    },
    State {
        name: "turbo-freq on",
        machines: &["guide"],
        file: r#"{"firmware": {"0.0/core-power": 1, "0.0/priorities": 6, "0.0/features": 2}}"#,
        words: &[WHILE_ON],
    },
    State {
        name: "base-freq on",
        machines: &["granite"],
        file: r#"{"firmware": {"0.0/core-power": 1, "0.0/priorities": 4, "0.0/features": 1}}"#,
        words: &[WHILE_ON],
    },
    State {
        name: "turbo-freq on",
        machines: &["granite"],
        file: r#"{"firmware": {"0.0/core-power": 1, "0.0/priorities": 4, "0.0/features": 2}}"#,
        words: &[WHILE_ON],
    },
    State {
        name: "without turbo",
        machines: &["guide", "granite"],
        file: r#"{"files": {"/sys/devices/system/cpu/intel_pstate/no_turbo": "1"}}"#,
        words: &[OF_CLOCKS],
    },
    State {
        name: "highest clocks set low",
        machines: &["guide", "granite"],
        file: r#"{"files": {"/sys/devices/system/cpu/cpu1/cpufreq/scaling_max_freq": "2000000",
            "/sys/devices/system/cpu/cpu12/cpufreq/scaling_max_freq": "1500000"}}"#,
        words: &[OF_CLOCKS],
    },
    State { name: "edges", machines: &["guide", "granite"], file: "{}", words: &[EDGES] },
    State {
        name: "set",
        machines: &["guide"],
        file: r#"{"firmware": {"0.0/core-power": 1, "0.0/priorities": 6, "0.0/features": 3,
            "0.0/class/1": 1971282, "0.0/class/2": 3940352, "0.0/association/3": 2,
            "0.0/association/5": 1, "1.0/level": 4, "1.0/features": 2}}"#,
        words: &[OF_STATE],
    },
    State {
        name: "set",
        machines: &["granite"],
        file: r#"{"firmware": {"0.0/core-power": 1, "0.0/priorities": 4, "0.0/features": 3,
            "0.0/class/1": 1971280, "0.1/class/2": 3940352, "0.0/association/3": 2,
            "0.0/association/5": 1, "1.0/level": 1, "1.1/features": 1}}"#,
        words: &[OF_STATE],
    },
    State {
        name: "CPUs offline",
        machines: &["guide", "granite"],
        file: r#"{"files": {"/sys/devices/system/cpu/cpu4/online": "0",
            "/sys/devices/system/cpu/cpu5/online": "0",
            "/sys/devices/system/cpu/cpu33/online": "0"}}"#,
        words: &[
            &["-c 2,3,6 core-power get-assoc", "-c 3,4 core-power get-assoc"],
            &["--info", "perf-profile info", "core-power info"],
        ],
    },
    State {
        name: "a core off",
        machines: &["guide"],
        file: r#"{"files": {"/sys/devices/system/cpu/cpu4/online": "0",
            "/sys/devices/system/cpu/cpu32/online": "0"}}"#,
        words: &[WHILE_OFF],
    },
    State {
        name: "a core off",
        machines: &["granite"],
        file: r#"{"files": {"/sys/devices/system/cpu/cpu4/online": "0",
            "/sys/devices/system/cpu/cpu68/online": "0"}}"#,
        words: &[WHILE_OFF],
    },
    State {
        name: "busy twice",
        machines: OLDER,
        file: r#"{"firmware_faults": [{"on": "7f/06", "does": "busy", "times": 2}]}"#,
        words: &[&["perf-profile info -l 0"]],
    },
    State {
        name: "7f/00 fails",
        machines: &["guide"],
        file: r#"{"firmware_faults": [{"on": "7f/00", "does": "io-error"}]}"#,
        words: &[&["perf-profile get-config-levels", "perf-profile get-lock-status"]],
    },
    State {
        name: "94/03 fails",
        machines: &["guide"],
        file: r#"{"firmware_faults": [{"on": "94/03", "does": "times-out"}]}"#,
        words: &[&["--info", "core-power info"]],
    },
    State {
        name: "mmio fails",
        machines: &["guide"],
        file: r#"{"firmware_faults": [{"on": "mmio", "does": "refused"}]}"#,
        words: &[&["core-power get-config -c 0", "-c 0 core-power get-assoc"]],
    },
    State {
        name: "msr fails",
        machines: &["guide"],
        file: r#"{"firmware_faults": [{"on": "msr", "does": "io-error"}]}"#,
        words: &[&["perf-profile info -l 0"]],
    },
    State {
        name: "7f/06 fails",
        machines: &["guide"],
        file: r#"{"firmware_faults": [{"on": "7f/06", "does": "io-error"}]}"#,
        words: &[&["perf-profile info -l 0"]],
    },
    State {
        name: "tpmi/13 fails",
        machines: &["granite"],
        file: r#"{"firmware_faults": [{"on": "tpmi/13", "does": "refused"}]}"#,
        words: &[&["perf-profile info -l 0"]],
    },
    State {
        name: "tpmi/5 fails",
        machines: &["granite"],
        file: r#"{"firmware_faults": [{"on": "tpmi/5", "does": "refused", "after": 1}]}"#,
        words: &[&["core-power info"]],
    },
    State {
        name: "tpmi/9 fails",
        machines: &["granite", "sierra"],
        file: r#"{"firmware_faults": [{"on": "tpmi/9", "does": "refused"}]}"#,
        words: &[&["perf-profile get-config-levels", "perf-profile get-lock-status"]],
    },
    State {
        name: "tpmi/6 fails",
        machines: &["granite"],
        file: r#"{"firmware_faults": [{"on": "tpmi/6", "does": "not-permitted"}]}"#,
        words: &[&["core-power info"]],
    },
];

impl Case {
    /// The arguments, as both are called with.
    pub(super) fn arguments(&self) -> Vec<String> {
        let format: &[&str] = if self.json { &["-f", "json"] } else { &[] };
        format.iter().copied().chain(self.words.split(' ')).map(str::to_owned).collect()
    }

    /// Whether it is a command that changes something.
    pub(super) fn is_change(&self) -> bool {
        CHANGES.iter().any(|words| self.words.contains(words))
    }

    /// Whether the older version of the tool is asked about the newer interface.
    fn is_beyond(&self) -> bool {
        self.tool.newest_interface == 1 && !OLDER.contains(&self.machine)
    }
}

/// All of them.
pub(super) fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for tool in TOOLS {
        for state in STATES {
            for machine in state.machines {
                for words in state.words.iter().copied().flatten() {
                    let case = |json| Case { tool, machine, state, words, json };
                    cases.extend([case(false), case(true)]);
                }
            }
        }
    }
    // One call tells what the older version makes of the newer interface.
    cases.retain(|case| {
        !case.is_beyond() || case.state.name == "fresh" && case.words == "core-power info"
    });
    cases
}
