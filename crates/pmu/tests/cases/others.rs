//! libpfm4 as a source, beside what it computed elsewhere.

use libtest_mimic::Failed;
use pmu::events::{Error, Events, Listed, Source, Target};

use super::lists::computed;
use super::{Case, Need, none};

pub(super) const CASES: &[Case] = &[
    ("libpfm4_computes_here_what_it_computed_elsewhere", Need::Both, same),
    ("libpfm4_says_whom_it_does_not_know", Need::Libpfm, unknown),
    ("libpfm4_reads_its_own_spelling", Need::Libpfm, spelling),
    ("a_pattern_counts_an_event_once", Need::Libpfm, aliases),
];

fn same() -> Result<(), Failed> {
    for (cpu, file) in [
        ("skylake-x", "skx.csv"),
        ("sapphire-rapids", "spr.csv"),
        ("zen3", "amd64_fam19h_zen3.csv"),
    ] {
        let events = Events::of(Target::named(cpu).unwrap());
        let Listed { events: ours, missing } = events.of_source(Source::Libpfm);
        let theirs = computed(file);
        let differs = |(name, config): (&String, &[u64; 4])| {
            let here = ours.iter().find(|event| event.name == *name).map(|event| event.config);
            let what = format!("event `{name}` of libpfm");
            let is_refused = here.is_none() && missing.iter().any(|reason| reason.what == what);
            (here != Some(*config) && !is_refused)
                .then(|| format!("{name}: {here:x?}, there {config:x?}"))
        };
        none(&theirs.iter().filter_map(differs).collect::<Vec<_>>())?;
        assert!(ours.len() + missing.len() >= theirs.len());
    }
    Ok(())
}

fn unknown() -> Result<(), Failed> {
    let library = sys::pfm::Pfm::load().unwrap();
    // Debian's is 4.13, which knows none of them.
    for cpu in ["emerald-rapids", "granite-rapids", "zen5"] {
        let events = Events::of(Target::named(cpu).unwrap());
        let listed = events.of_source(Source::Libpfm);
        if library.version() == (4, 13) {
            let why = &listed.missing[0].why;
            assert!(listed.events.is_empty() && why.contains("does not know"), "{cpu}: {why}");
        } else {
            assert!(listed.events.is_empty() != listed.missing.is_empty(), "{cpu}");
        }
        // What our own table has is there all the same.
        assert!(
            events
                .resolve(if cpu == "zen5" { "ex_ret_brn" } else { "mem_load_retired.l1_hit" })
                .is_ok()
        );
    }
    Ok(())
}

/// libpfm4 calls the same codes `mem_load_uops_retired.*`, too.
fn aliases() -> Result<(), Failed> {
    let events = Events::of(Target::named("skylake-x").unwrap());
    let found = events.resolve("mem_load_.*retired.l._hit").unwrap();
    let names: Vec<&str> = found.iter().map(|event| event.name.as_str()).collect();
    let hits = ["mem_load_retired.l1_hit", "mem_load_retired.l2_hit", "mem_load_retired.l3_hit"];
    assert_eq!(names, hits);
    // Under its own name it is there.
    assert!(events.resolve("mem_load_uops_retired.l1_hit").is_ok());
    Ok(())
}

fn spelling() -> Result<(), Failed> {
    let events = Events::of(Target::named("sapphire-rapids").unwrap());
    let one = |name: &str| events.resolve(name).map(|found| found[0].config);
    let latency = one("spr::MEM_TRANS_RETIRED:LOAD_LATENCY:ldlat=100");
    assert_eq!(latency, Ok([0x1cd, 100, 0, 0]));
    assert_eq!(one("FP_ARITH_INST_RETIRED:512B_PACKED_DOUBLE:c=1"), Ok([0x100_40c7, 0, 0, 0]));
    assert!(matches!(one("spr::NOTHING"), Err(Error::Encoding { .. })));
    assert!(matches!(one("skx::INST_RETIRED:ANY"), Err(Error::Encoding { .. })));
    assert!(matches!(one("nothing:at_all"), Err(Error::Unknown { .. })));
    Ok(())
}
