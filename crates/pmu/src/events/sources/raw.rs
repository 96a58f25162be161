//! What the user encoded: `0x1c2`, `r1c2`, `cpu/event=0xc2,umask=1/`.

use machine::pmu::Pmu;

use super::{EventSource, FoundEvents, Listed, kernel};
use crate::events::encoded::{CounterPlace, Encoded, EventScope, Source};
use crate::events::error::Error;
use crate::events::fields::Fields;
use crate::events::target::{CoreTypePmu, Target};
use crate::events::zero;

pub(super) const ROW: EventSource = EventSource {
    source: Source::Raw,
    name: "raw",
    doc: "codes: 0x1c2, r1c2, cpu/event=0xc2,umask=1/",
    all: |_| Listed::default(),
    find,
};

fn find(target: &Target<'_>, name: &str) -> FoundEvents {
    if let Some((pmu, rest)) = name.split_once('/') {
        let terms = rest.strip_suffix('/')?;
        return Some(in_pmu(target, name, pmu, terms));
    }
    let digits = match name.strip_prefix("0x").or_else(|| name.strip_prefix("0X")) {
        Some(digits) => digits,
        None => name.strip_prefix('r').filter(|rest| rest.len() >= 2)?,
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let Ok(code) = u64::from_str_radix(digits, 16) else {
        return Some(Err(refused(name, "a code has at most 16 hexadecimal digits".to_owned())));
    };
    // Of a hybrid's types of cores, one may have a fixed counter and another not.
    let (able, whys): (Vec<_>, Vec<_>) = target
        .cores
        .iter()
        .map(|core| (core, zero::refused(core, None, code)))
        .partition(|(_, why)| why.is_none());
    if let ([], [(_, Some(why)), ..]) = (able.as_slice(), whys.as_slice()) {
        return Some(Err(refused(name, why.clone())));
    }
    let of = |(core, _): &(&CoreTypePmu, _)| of_core(target, core, name, [code, 0, 0, 0]);
    Some(Ok(able.iter().map(of).collect()))
}

fn refused(name: &str, why: String) -> Error {
    Error::Encoding { name: name.to_owned(), why }
}

fn of_core(target: &Target<'_>, core: &CoreTypePmu, name: &str, config: [u64; 4]) -> Encoded {
    let has_pmu = name.contains('/');
    Encoded {
        name: if has_pmu { name.to_owned() } else { target.name(core, name) },
        pmu: Some(core.pmu.clone()),
        kind: core.kind.as_ref().ok().copied(),
        config,
        by_mode: true,
        modes: None,
        scope: EventScope::Thread,
        place: CounterPlace::General { counters: u64::MAX, takes: 1 },
        register: register(config),
        source: Source::Raw,
        description: None,
        caveats: Vec::new(),
    }
}

/// What `config1` is for, where it is used: which register that is, nobody says.
fn register(config: [u64; 4]) -> Option<u32> {
    /// The kernel's tables of extra registers begin with this one.
    const OFFCORE_RESPONSE: u32 = 0x1a6;
    (config[1] != 0).then_some(OFFCORE_RESPONSE)
}

/// `PMU/EVENT/` or `PMU/TERM=VALUE,.../`, for every PMU of that name: `uncore_imc` is all of its instances.
fn in_pmu(target: &Target<'_>, name: &str, pmu: &str, terms: &str) -> Result<Vec<Encoded>, Error> {
    let core = target.cores.iter().find(|core| core.pmu == pmu);
    let checked = |event: Encoded| {
        let is_code = terms.contains('=');
        let why = core.filter(|_| is_code).and_then(|it| zero::refused(it, None, event.config[0]));
        why.map_or(Ok(event), |why| Err(refused(name, why)))
    };
    if let Some(tree) = target.tree() {
        let pmus = kernel::instances(tree, pmu);
        if !pmus.is_empty() {
            let one = |pmu: &String| {
                let event = kernel::in_pmu(target, Pmu::new(tree, pmu), terms);
                event.map_err(|reason| refused(name, reason.why)).and_then(checked)
            };
            return pmus.iter().map(one).collect();
        }
    }
    let core = core.ok_or_else(|| {
        let why = match target.machine {
            Some(_) => format!("the kernel has no PMU `{pmu}`"),
            None => format!("only PMUs of cores are known of that CPU, and `{pmu}` is none"),
        };
        let all = target.tree().and_then(|tree| machine::pmu::names(tree).ok());
        let all =
            all.filter(|all| !all.is_empty()).map(|all| format!("; it has {}", all.join(", ")));
        refused(name, format!("{why}{}", all.unwrap_or_default()))
    })?;
    let config = by_known_terms(core, terms).map_err(|why| refused(name, why))?;
    checked(of_core(target, core, name, config)).map(|event| vec![event])
}

/// Terms of a core's PMU whose formats cannot be read: those that all kernels have.
fn by_known_terms(core: &CoreTypePmu, terms: &str) -> Result<[u64; 4], String> {
    let (mut fields, mut words) = (Fields::default(), [0; 4]);
    for term in terms.split(',') {
        let (key, value) = term.split_once('=').unwrap_or((term, "1"));
        let number = match value.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => value.parse().ok(),
        };
        let number = number.ok_or_else(|| format!("`{key}` needs a number, not `{value}`"))?;
        match key.trim() {
            "event" => fields.event = number,
            "umask" => fields.umask = number,
            "cmask" => fields.cmask = number,
            "edge" => fields.edge = number != 0,
            "inv" => fields.inv = number != 0,
            "any" => fields.any = number != 0,
            "config" => words[0] = number,
            "config1" | "offcore_rsp" | "ldlat" | "frontend" => words[1] = number,
            "config2" => words[2] = number,
            other => return Err(format!("`{other}` is no term of `{}`", core.pmu)),
        }
    }
    let config = fields.config(core.maker()).ok_or("a value does not fit into its bits")?;
    Ok([config[0] | words[0], words[1], words[2], 0])
}
