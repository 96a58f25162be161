//! Registers of real machines below `../shared/fixtures`, and what they mean by another decoder.
//!
//! The recordings are other people's: they are read where they lie and are no part of this
//! repository. Without them every case is shown as ignored. Each is unpacked and read as with `--root`, and the
//! snapshot is compared with `sst/MACHINE.sst.json`, value by value.

use model::Reading;
use std::collections::BTreeMap;

use libtest_mimic::{Failed, Trial};
use machine::Machine;
use serde_json::{Value, json};
use sst::model::{
    Bucket, Class, Domain, DomainKind, Feature, Level, Megahertz, PerLicence, Profiles,
};
use sst::{Levels, Part, Wanted};

use crate::unpacked::{self, Unpacked};

pub(crate) fn trials() -> Vec<Trial> {
    let trials = ["gnr0", "srf8"].map(|name| {
        let here = unpacked::are_here();
        let check = move || compare(name).map_err(Failed::from);
        Trial::test(format!("recorded::registers::{name}"), check).with_ignored_flag(!here)
    });
    trials.into()
}

fn compare(name: &'static str) -> Result<(), String> {
    let unpacked = Unpacked::of(name);
    let machine = Machine::rooted(&unpacked.root()).map_err(|error| error.to_string())?;
    let parts = vec![
        Part::Properties,
        Part::BaseFreq,
        Part::TurboFreq,
        Part::CorePower,
        Part::Classes,
        Part::Associations,
    ];
    let wanted = Wanted { levels: Levels::All, parts, cpus: None };
    let snapshot = sst::read(&machine, &wanted).map_err(|error| error.to_string())?;
    let expected = unpacked::decoded(name);
    let mut compared = 0;
    let mut differences = Vec::new();
    for package in expected["packages"].as_array().ok_or("no packages")? {
        for (number, instance) in package["instances"].as_object().ok_or("no instances")? {
            let of = |domain: &&Domain| {
                json!(domain.package) == package["package"] && domain.number.to_string() == *number
            };
            let domain = snapshot.domains.iter().find(of);
            if domain.is_some() != (instance["valid"] == true) {
                differences.push(format!("{}.{number}: valid", package["package"]));
            }
            let Some(domain) = domain else { continue };
            for (what, ours, theirs) in values(domain, instance) {
                compared += 1;
                if ours != theirs {
                    let at = format!("{}.{number} {what}", package["package"]);
                    differences.push(format!("{at}: ours {ours}, recorded {theirs}"));
                }
            }
        }
    }
    let online: usize = snapshot.domains.iter().map(|domain| domain.cpus.len()).sum();
    if json!(online) != expected["logical_cpus"] {
        differences.push(format!("{online} CPUs have places"));
    }
    if compared < 100 {
        differences.push(format!("only {compared} values were compared"));
    }
    if differences.is_empty() { Ok(()) } else { Err(differences.join("\n")) }
}

/// What is compared, ours, and the other decoder's.
type Compared = (String, Value, Value);

fn values(domain: &Domain, instance: &Value) -> Vec<Compared> {
    let profiles = domain.profiles.as_ref().expect("asked").as_ref().expect("answered");
    let mut values = Vec::new();
    let mut put = |what: &str, ours: Value, theirs: &Value| {
        values.push((what.to_owned(), ours, theirs.clone()));
    };
    let pp = &instance["pp"];
    put("revision", json!(profiles.revision.as_ref().ok()), &pp["feature_revision"]);
    put("levels", json!(profiles.mask), &pp["level_enable_mask"]);
    put("current", json!(profiles.current), &pp["current_level"]);
    put("locked", json!(profiles.locked), &pp["locked"]);
    let on = profiles.on.expect("said with the levels");
    put("bf on", json!(on.base_freq), &pp["bf_enabled"]);
    put("tf on", json!(on.turbo_freq), &pp["tf_enabled"]);
    let core_power = domain.core_power.as_ref().expect("asked");
    let supported = core_power.supported.as_ref().expect("answered");
    put("core-power", json!(supported), &instance["sst_cp_supported"]);
    if *supported {
        let cp = &instance["cp"];
        put("enabled", json!(core_power.enabled.as_ref().expect("answered")), &cp["enabled"]);
        let priority = core_power.priority.as_ref().expect("answered").word();
        put("priority", json!(priority), &cp["priority_type"]);
        let class = |class: &Reading<Class>| {
            let class = class.as_ref().expect("answered");
            json!({
                "proportional_priority": class.weight,
                "min_mhz": class.lowest.0,
                "max_mhz": class.highest.map_or(25_500, |mhz| mhz.0),
            })
        };
        let classes: Vec<Value> = domain.classes.iter().flatten().map(class).collect();
        put("classes", json!(classes), &cp["clos"]);
        let all_zero = cp["assoc_raw"] == json!(vec!["0x0"; 4]);
        let zero = domain.associations.iter().flatten().all(|(_, class)| *class == Ok(0));
        put("associations", json!(zero), &json!(all_zero));
    }
    for (number, level) in instance["levels"].as_object().expect("levels") {
        values.extend(of_level(domain, profiles, number, level));
    }
    values
}

fn mhz(frequency: Option<Megahertz>) -> u32 {
    frequency.map_or(0, |frequency| frequency.0)
}

fn list(limits: &[PerLicence]) -> Vec<u32> {
    limits.iter().map(|limit| mhz(limit.frequency)).collect()
}

fn of_level(domain: &Domain, profiles: &Profiles, number: &str, theirs: &Value) -> Vec<Compared> {
    let mut values = Vec::new();
    let mut put = |what: &str, ours: Value, theirs: &Value| {
        values.push((format!("level {number} {what}"), ours, theirs.clone()));
    };
    let level = profiles.level(number.parse().expect("a number")).expect("it is there");
    let ours = level.properties.as_ref().expect("asked");
    let base: BTreeMap<&str, u32> =
        ours.base.iter().flatten().map(|base| (base.licence.name, mhz(base.frequency))).collect();
    put("base", json!(base), &theirs["base_mhz"]);
    put("tdp", json!(ours.tdp.as_ref().map_or(0.0, |watts| f64::from(watts.0))), &theirs["tdp_w"]);
    let celsius = ours.temperature.as_ref().map_or(0, |celsius| celsius.0);
    put("temperature", json!(celsius), &theirs["t_prochot_c"]);
    put("memory", json!(ours.memory.as_ref().map_or(0, |mhz| mhz.0)), &theirs["max_memory_mts"]);
    put("cooling", json!(ours.cooling.as_ref().expect("answered")), &theirs["cooling_type"]);
    let modules = *ours.modules.as_ref().expect("answered");
    put("modules", json!(format!("{:#x}", modules.0)), &theirs["resolved_core_mask"]);
    put("count", json!(modules.count()), &theirs["resolved_core_count"]);
    // The CPUs that are online have the modules that the level allows.
    put("online", json!(domain.modules()), &json!(modules));
    let is_io = modules.count() == 0;
    put("kind", json!(domain.kind() == DomainKind::Io), &json!(is_io));
    let turbo = ours.turbo.iter().filter_map(|turbo| {
        let limits = turbo.limits.as_ref().expect("answered").map(mhz);
        limits.iter().any(|mhz| *mhz > 0).then(|| (turbo.licence.number.to_string(), limits))
    });
    let turbo: BTreeMap<String, [u32; 8]> = turbo.collect();
    put("turbo", json!(turbo), &theirs["turbo_mhz_by_trl_level"]);
    let cores = ours.bucket_cores.as_ref().expect("answered");
    put("groups", json!(cores), &theirs["turbo_active_core_counts"]);
    let fabric = ours.fabrics.as_ref().expect("answered")[0];
    let fabric = [fabric.highest, fabric.guaranteed, fabric.lowest].map(mhz);
    put("fabric", json!(fabric), &theirs["fabric_p0_p1_pm_mhz"]);
    values.extend(of_features(level, number, theirs));
    values
}

fn of_features(level: &Level, number: &str, theirs: &Value) -> Vec<Compared> {
    let mut values = Vec::new();
    let mut put = |what: &str, ours: Value, theirs: &Value| {
        values.push((format!("level {number} {what}"), ours, theirs.clone()));
    };
    let features = level.features.as_ref().expect("answered");
    let supported = |feature: Feature| json!(feature != Feature::Unsupported);
    let (bf, tf) = (&theirs["bf"], &theirs["tf"]);
    put("bf", supported(features.base_freq), &bf["supported"]);
    put("tf", supported(features.turbo_freq), &tf["supported"]);
    if let Some(Ok(ours)) = &level.base_freq {
        put("bf high", json!(mhz(ours.high)), &bf["high_priority_base_mhz"]);
        put("bf low", json!(mhz(ours.low)), &bf["low_priority_base_mhz"]);
        let celsius = ours.temperature.as_ref().expect("answered").0;
        put("bf temperature", json!(celsius), &bf["t_prochot_c"]);
        put("bf tdp", json!(f64::from(ours.tdp.as_ref().expect("answered").0)), &bf["tdp_w"]);
        let modules = format!("{:#x}", ours.modules.0);
        put("bf modules", json!(modules), &bf["high_priority_core_mask"]);
    }
    if let Some(Ok(ours)) = &level.turbo_freq {
        let clips = list(&ours.clips);
        put("tf clips", json!(clips), &tf["low_priority_clip_mhz_by_trl_level"]);
        let bucket = |bucket: &Bucket| {
            json!({
                "high_priority_core_count": bucket.cores,
                "max_mhz_by_trl_level": list(&bucket.limits),
            })
        };
        let buckets: Vec<Value> = ours.buckets.iter().map(bucket).collect();
        put("tf groups", json!(buckets), &tf["buckets"]);
    }
    values
}
