//! libpfm4, where it is installed. It knows CPUs that are not this one.

use model::{Obstacle, Unavailable};
use sys::openmp::NotLoaded;
use sys::pfm::{self, Pfm};

use super::{EventSource, FoundEvents, Listed};
use crate::events::encoded::{CounterPlace, Encoded, EventScope, Source};
use crate::events::error::Error;
use crate::events::target::{CoreTypePmu, Target};
use crate::events::zero;

pub(super) const ROW: EventSource = EventSource {
    source: Source::Libpfm,
    name: "libpfm",
    doc: "libpfm4, an independent library (MIT), loaded where it is installed",
    all,
    find,
};

/// The library, or why it cannot be asked.
fn library() -> Result<&'static Pfm, Unavailable> {
    if sys::library::IS_STATIC {
        return Err(Unavailable::in_static_build("libpfm4"));
    }
    Pfm::load().map_err(|error| {
        let why = match error {
            NotLoaded::Refused(why) => why,
            NotLoaded::NoRuntime => "it lacks functions of libpfm4".to_owned(),
        };
        Unavailable::new(Obstacle::Cpudyno, "libpfm4", why)
            .with_remedy("`sudo apt-get install libpfm4`, or the package of your distribution")
    })
}

fn all(target: &Target<'_>) -> Listed {
    let library = match library() {
        Ok(library) => library,
        Err(reason) => return Listed::nothing(reason),
    };
    let mut listed = Listed::default();
    for core in &target.cores {
        match pmu_of(target, library, core) {
            Ok(pmu) => of_pmu(target, core, library, &pmu, &mut listed),
            Err(reason) => listed.missing.push(reason),
        }
    }
    listed
}

/// What the library calls a type of cores.
fn pmu_of(
    target: &Target<'_>,
    library: &Pfm,
    core: &CoreTypePmu,
) -> Result<pfm::PfmPmu, Unavailable> {
    let pmus = library.pmus();
    let named = |name: &String| pmus.iter().find(|pmu| pmu.name == *name).cloned();
    let found = match core.family {
        Some(family) => family.libpfm.iter().find_map(named),
        // What it finds present is the CPU that this process runs on, whatever machine is asked
        // about.
        None if target.is_this_machine() => {
            pmus.iter().find(|pmu| pmu.is_present && pmu.is_of_cores).cloned()
        }
        None => None,
    };
    let (major, minor) = library.version();
    let what = format!("events of libpfm4 {major}.{minor}");
    let pmu = found.ok_or_else(|| {
        let why = match (core.family, &core.cpu) {
            (Some(family), _) => format!("this version does not know {}", family.title),
            (None, Some(cpu)) => format!("this version does not know {cpu}"),
            (None, None) => "it does not know this CPU".to_owned(),
        };
        let remedy = "a later version of libpfm4, or `cpudyno pmu events update` and its folder";
        Unavailable::new(Obstacle::Cpudyno, &*what, why).with_remedy(remedy)
    })?;
    if !pmu.is_present && !library.encodes_inactive() {
        let why = format!("it encodes for other CPUs only with {}=1", pfm::ENCODE_INACTIVE);
        let remedy = format!("set {}=1 before the program starts", pfm::ENCODE_INACTIVE);
        return Err(Unavailable::new(Obstacle::Permission, what, why).with_remedy(remedy));
    }
    Ok(pmu)
}

fn of_pmu(
    target: &Target<'_>,
    core: &CoreTypePmu,
    library: &Pfm,
    pmu: &pfm::PfmPmu,
    listed: &mut Listed,
) {
    let mut refused = Vec::new();
    for event in library.events(pmu) {
        let whole = [(String::new(), String::new(), event.description.clone())];
        let masks: Vec<(String, String, String)> = event
            .unit_masks
            .iter()
            .map(|mask| {
                let doc = format!("{}: {}", event.description, mask.description);
                (format!(":{}", mask.name), format!(".{}", mask.name), doc)
            })
            .collect();
        let masks = if masks.is_empty() { whole.to_vec() } else { masks };
        for (asked, called, doc) in masks {
            let name = format!("{}{called}", event.name).to_ascii_lowercase();
            match library.encode(&format!("{}::{}{asked}", pmu.name, event.name)) {
                Ok(encoding) => {
                    let name = target.name(core, &name);
                    listed.events.push(encoded(core, name, encoding, Some(doc)));
                }
                Err(why) => refused.push((name, why)),
            }
        }
    }
    if let Some((name, why)) = refused.first() {
        let count = refused.len();
        let why = format!("libpfm4 lists {count} that it does not encode, such as `{name}`: {why}");
        listed.missing.push(Unavailable::new(Obstacle::Cpudyno, "unit masks of libpfm4", why));
    }
}

fn encoded(
    core: &CoreTypePmu,
    name: String,
    encoding: pfm::Encoding,
    description: Option<String>,
) -> Encoded {
    let [config, config1, config2] = encoding.config;
    Encoded {
        name,
        pmu: Some(core.pmu.clone()),
        kind: core.kind.as_ref().ok().copied(),
        config: [config, config1, config2, 0],
        by_mode: true,
        modes: None,
        scope: EventScope::Thread,
        place: match config {
            0x300 => CounterPlace::Fixed(2),
            0x400 => CounterPlace::Fixed(3),
            _ => CounterPlace::General { counters: u64::MAX, takes: 1 },
        },
        register: register(config & 0xff, config1),
        source: Source::Libpfm,
        description,
        caveats: Vec::new(),
    }
}

/// The register that `config1` is for.
///
/// # Source
/// Linux `arch/x86/events/intel/core.c`, the tables of extra registers.
fn register(event: u64, value: u64) -> Option<u32> {
    match event {
        _ if value == 0 => None,
        0xcd => Some(0x3f6),
        0xc6 => Some(0x3f7),
        _ => Some(0x1a6),
    }
}

/// The library's own spelling: `spr::MEM_TRANS_RETIRED:LOAD_LATENCY:ldlat=100`.
fn find(target: &Target<'_>, name: &str) -> FoundEvents {
    if !name.contains(':') {
        return None;
    }
    let refused = |why: String| Err(Error::Encoding { name: name.to_owned(), why });
    let library = match library() {
        Ok(library) => library,
        Err(reason) => return name.contains("::").then(|| refused(reason.why)),
    };
    let has_pmu = name.contains("::");
    let of = |core: &CoreTypePmu| {
        let pmu = pmu_of(target, library, core).ok()?;
        let (text, is_its) = match name.split_once("::") {
            Some((asked, _)) => (name.to_owned(), asked.eq_ignore_ascii_case(&pmu.name)),
            None => (format!("{}::{name}", pmu.name), true),
        };
        let encoding = library.encode(&text);
        let called = target.name(core, &name.to_ascii_lowercase());
        let plain = name.rsplit("::").next().unwrap_or(name).replace(':', ".").to_ascii_lowercase();
        let believed = encoding.and_then(|encoding| {
            let why = zero::refused(core, Some(&plain), encoding.config[0]);
            why.map_or(Ok(encoding), Err)
        });
        is_its.then(|| believed.map(|encoding| encoded(core, called, encoding, None)))
    };
    let found: Vec<Result<Encoded, String>> = target.cores.iter().filter_map(of).collect();
    match found.into_iter().collect::<Result<Vec<Encoded>, String>>() {
        Ok(events) if events.is_empty() && has_pmu => {
            Some(refused("libpfm4 has no such PMU for this CPU".to_owned()))
        }
        Ok(events) if events.is_empty() => None,
        Ok(events) => Some(Ok(events)),
        Err(why) if has_pmu => Some(refused(format!("libpfm4 says: {why}"))),
        Err(_) => None,
    }
}
