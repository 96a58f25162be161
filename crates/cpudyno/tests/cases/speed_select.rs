//! `cpudyno sst --root` on real machines whose registers pepc recorded: every command that reads. What the values
//! mean is compared in `crates/sst/tests/cases/recorded.rs`.
//!
//! The recordings are other people's: they are read where they lie and are no part of this repository. Without them each
//! case is shown as ignored.

use std::path::Path;

use libtest_mimic::{Failed, Trial};
use serde_json::{Value, json};

use crate::common::{cpudyno, finish};
use crate::unpacked::{self, Unpacked};

const COMMANDS: &[&str] = &[
    "info",
    "perf-profile info",
    "perf-profile get-config-levels",
    "perf-profile get-config-version",
    "perf-profile get-config-enabled",
    "perf-profile get-config-current-level",
    "perf-profile get-lock-status",
    "core-power info",
    "core-power get-config",
    "core-power get-assoc",
    "base-freq info",
    "turbo-freq info",
];

pub(crate) fn trials() -> Vec<Trial> {
    let trial = |name| {
        let check = move || compare(name).map_err(Failed::from);
        let trial = Trial::test(format!("speed_select::recorded::{name}"), check);
        trial.with_ignored_flag(!unpacked::are_here())
    };
    ["gnr0", "srf8"].map(trial).into()
}

/// Power domains as package, number, levels and the one at present.
type Domains = Vec<(Value, String, Vec<String>, Value)>;

fn compare(name: &'static str) -> Result<(), String> {
    let unpacked = Unpacked::of(name);
    let decoded = unpacked::decoded(name);
    let theirs = theirs(&decoded);
    for command in COMMANDS {
        let (code, text) = asked(&unpacked.root(), command);
        if code == Some(3) && text.contains("does not support it") {
            let feature = if command.starts_with("base") { "bf" } else { "tf" };
            let levels = decoded["packages"][0]["instances"]["0"]["levels"].as_object();
            let mut levels = levels.ok_or("no levels")?.values();
            if levels.any(|level| level[feature]["supported"] == true) {
                return Err(format!("{command}: {text}"));
            }
            continue;
        }
        let record: Value =
            serde_json::from_str(&text).map_err(|_| format!("{command}: {text}"))?;
        let told = &record["speed_select"];
        let ours = told["domains"].as_array().ok_or("no power domains")?;
        if (ours.len(), told["unplaced"].as_array().map_or(0, Vec::len)) != (theirs.len(), 0) {
            return Err(format!("{command}: {} power domains: {told}", ours.len()));
        }
        if *command == "perf-profile info" && self::ours(ours) != theirs {
            return Err(format!("ours {:?}, recorded {theirs:?}", self::ours(ours)));
        }
    }
    Ok(())
}

fn ours(domains: &[Value]) -> Domains {
    let level = |level: &Value| level["number"].to_string();
    let domain = |it: &Value| {
        let profiles = &it["profiles"];
        let levels = profiles["levels"].as_array().into_iter().flatten().map(level).collect();
        (json!(it["package"]), it["number"].to_string(), levels, profiles["current"].clone())
    };
    domains.iter().map(domain).collect()
}

fn theirs(decoded: &Value) -> Domains {
    let packages = decoded["packages"].as_array().into_iter().flatten();
    let of = |package: &Value| -> Domains {
        let all = package["instances"].as_object().into_iter().flatten();
        let valid = all.filter(|(_, instance)| instance["valid"] == true);
        let domain = |(number, instance): (&String, &Value)| {
            let levels = instance["levels"].as_object().into_iter().flatten();
            let levels = levels.map(|(level, _)| level.clone()).collect();
            let current = instance["pp"]["current_level"].clone();
            (package["package"].clone(), number.clone(), levels, current)
        };
        valid.map(domain).collect()
    };
    packages.flat_map(of).collect()
}

/// The exit code, and the record or the error.
fn asked(root: &Path, command: &str) -> (Option<i32>, String) {
    let root = root.to_str().expect("temporary folders are UTF-8");
    let mut words = vec!["sst", "--root", root, "-f", "json"];
    words.extend(command.split(' '));
    let done = finish(cpudyno(&words));
    let text = if done.code == Some(0) { done.stdout } else { done.stderr };
    (done.code, text)
}
