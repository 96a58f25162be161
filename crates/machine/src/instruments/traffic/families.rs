//! Which PMUs are those of memory controllers, and which of their events count reads and writes.

use std::io;

use model::{Obstacle, Unavailable};

use super::{Counter, WHAT, Way};
use crate::attempts::{Surroundings, refusal};
use crate::permits::Question;
use crate::pmu::{self, Pmu};
use crate::ports::Reading;

/// PMUs of one kind: how they are called, and their events.
struct Family {
    /// Their name, up to a number.
    name: &'static str,
    read: Of,
    written: Of,
}

/// An event.
enum Of {
    /// The one that the kernel has this name for, or those of sub-channels.
    Named(&'static str),
    /// The kernel has no name for it: its terms, and the name that its maker has.
    Terms(&'static str, &'static str),
}

/// What a count stands for where the kernel does not say: one burst to or from memory, a line.
const BURST: f64 = 64.0;

/// The first that is there is used: some servers count the same twice.
///
/// # Source
/// Linux, `arch/x86/events/intel/uncore_snbep.c` and `uncore_snb.c` (`cas_count_*`, on Granite Rapids
/// with `_sch0` and `_sch1`; `data_*`) and `arch/x86/events/amd/uncore.c` (`rdwrmask`); AMD, processor
/// programming references since family 19h, `UMC_PERF_CTL`, and `tools/perf/pmu-events/arch/x86/amdzen4`
/// (`umc_cas_cmd.rd`, `.wr`). The free-running events `read` and `write` of servers are left out: older
/// kernels have a wrong scale for them, and `cas_count_*` are there, too.
const FAMILIES: &[Family] = &[
    Family {
        name: "uncore_imc",
        read: Of::Named("cas_count_read"),
        written: Of::Named("cas_count_write"),
    },
    Family {
        name: "uncore_imc_free_running",
        read: Of::Named("data_read"),
        written: Of::Named("data_write"),
    },
    Family { name: "uncore_imc", read: Of::Named("data_reads"), written: Of::Named("data_writes") },
    Family {
        name: "amd_umc",
        read: Of::Terms("event=0x0a,rdwrmask=0x1", "umc_cas_cmd.rd"),
        written: Of::Terms("event=0x0a,rdwrmask=0x2", "umc_cas_cmd.wr"),
    },
];

/// PMUs that see memory traffic, too, and why this version does not read them.
const UNKNOWN: &[(&str, &str)] = &[
    ("uncore_imc", "the kernel has no names for its events of reads and writes"),
    ("amd_df", "its events of memory channels differ from one family of CPUs to the next"),
    ("arm_cmn", "its events belong to nodes of a mesh whose layout the kernel does not describe"),
    ("hisi_", "its events differ from one chip to the next"),
    ("nvidia_scf", "its events count traffic of a fabric, not of memory alone"),
];

/// All counters of the memory controllers, or why there are none.
pub(super) fn counters(here: &Surroundings<'_>) -> Reading<Vec<Counter>> {
    let names = pmu::names(here.tree).unwrap_or_default();
    for family in FAMILIES {
        let of_family = names.iter().filter(|name| is_of(name, family.name));
        let pmus: Vec<Pmu<'_>> = of_family
            .map(|name| Pmu::new(here.tree, name))
            .filter(|pmu| !family.read.events(*pmu).is_empty())
            .collect();
        if !pmus.is_empty() {
            let mut counters = Vec::new();
            for pmu in pmus {
                add(&mut counters, pmu, family).map_err(|reason| {
                    let why = format!("`{}`: {}", pmu.name(), reason.why);
                    Unavailable { what: WHAT.into(), why, ..reason }
                })?;
            }
            return Ok(counters);
        }
    }
    let unknown = UNKNOWN.iter().find_map(|(start, why)| {
        let name = names.iter().find(|name| name.starts_with(start))?;
        let why = format!("this version does not read the PMU `{name}`: {why}");
        Some(Unavailable::new(Obstacle::Cpudyno, WHAT, why))
    });
    Err(unknown.unwrap_or_else(|| {
        let reason = refusal(Question::PerfUncore, &io::ErrorKind::NotFound.into(), here);
        Unavailable { what: WHAT.into(), ..reason }
    }))
}

/// Whether that is the name of a family, or that with a number.
fn is_of(name: &str, family: &str) -> bool {
    let Some(rest) = name.strip_prefix(family) else { return false };
    let number = rest.strip_prefix('_').unwrap_or_default();
    rest.is_empty() || (!number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()))
}

/// The counters of one PMU.
fn add(counters: &mut Vec<Counter>, pmu: Pmu<'_>, family: &Family) -> Reading<()> {
    let (kind, cpus) = (pmu.kind()?, pmu.cpus()?);
    for (way, of) in [(Way::Read, &family.read), (Way::Written, &family.written)] {
        let events = of.events(pmu);
        if events.is_empty() {
            let why = "it has an event of reads and none of writes";
            return Err(Unavailable::new(Obstacle::Cpudyno, WHAT, why));
        }
        for event in events {
            let (config, bytes) = of.resolve(pmu, &event)?;
            counters.extend(cpus.iter().map(|&cpu| Counter {
                pmu: pmu.name().to_owned(),
                event: event.clone(),
                kind,
                config,
                cpu,
                way,
                bytes,
            }));
        }
    }
    Ok(())
}

impl Of {
    /// The names of its events on a PMU.
    fn events(&self, pmu: Pmu<'_>) -> Vec<String> {
        match self {
            Of::Terms(_, name) => vec![(*name).to_owned()],
            Of::Named(name) => {
                let mut events = pmu.events();
                events.retain(|event| {
                    let rest = event.strip_prefix(name);
                    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("_sch"))
                });
                events
            }
        }
    }

    /// What one of them is to the kernel, and the bytes that a count stands for.
    fn resolve(&self, pmu: Pmu<'_>, event: &str) -> Reading<(u64, f64)> {
        let (config, bytes) = match self {
            Of::Terms(terms, _) => (pmu.encode(terms)?, BURST),
            Of::Named(_) => {
                let named = pmu.event(event)?;
                (named.config, bytes(event, &named)?)
            }
        };
        let [config, 0, 0, 0] = config else {
            let why = format!("`{event}` needs more than `config`, which this version cannot");
            return Err(Unavailable::new(Obstacle::Cpudyno, WHAT, why));
        };
        Ok((config, bytes))
    }
}

/// What a count of an event stands for.
fn bytes(event: &str, named: &pmu::NamedEvent) -> Reading<f64> {
    const UNITS: [(&str, f64); 4] = [
        ("Bytes", 1.0),
        ("KiB", 1024.0),
        ("MiB", 1024.0 * 1024.0),
        ("GiB", 1024.0 * 1024.0 * 1024.0),
    ];
    let (scale, unit) = match (named.scale, named.unit.as_deref()) {
        (None, None) => return Ok(BURST),
        (scale, unit) => (scale.unwrap_or(1.0), unit.unwrap_or("")),
    };
    let known = UNITS.iter().find(|(name, _)| *name == unit);
    known.map(|(_, bytes)| scale * bytes).ok_or_else(|| {
        let why = format!("`{event}` is counted in `{unit}`, which this version does not know");
        Unavailable::new(Obstacle::Cpudyno, WHAT, why)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Files;
    use crate::pmu::PMUS;

    /// A PMU of these files, as Intel's have their formats.
    fn put(files: &mut Files, name: &str, texts: &[(&str, &str)]) {
        let usual = [
            ("type", "17"),
            ("cpumask", "0"),
            ("format/event", "config:0-7"),
            ("format/umask", "config:8-15"),
        ];
        for (file, text) in usual.iter().chain(texts) {
            files.put(format!("{PMUS}/{name}/{file}"), text);
        }
    }

    fn named(files: &mut Files, pmu: &str, events: &[(&str, &str)]) {
        for (event, terms) in events {
            let [scale, unit] = ["scale", "unit"].map(|ending| format!("events/{event}.{ending}"));
            let event = format!("events/{event}");
            put(files, pmu, &[(&event, terms), (&scale, "6.103515625e-5"), (&unit, "MiB")]);
        }
    }

    fn found(files: &Files, guest: bool) -> Reading<Vec<Counter>> {
        counters(&Surroundings { tree: files, guest })
    }

    /// PMU, event, config, CPU and bytes.
    fn rows(files: &Files) -> Vec<(String, u64, u32, f64)> {
        let row =
            |c: Counter| (format!("{} {} {:?}", c.pmu, c.event, c.way), c.config, c.cpu.0, c.bytes);
        found(files, false).unwrap().into_iter().map(row).collect()
    }

    fn row(words: &str, config: u64, cpu: u32) -> (String, u64, u32, f64) {
        (words.to_owned(), config, cpu, 64.0)
    }

    #[test]
    fn servers_count_column_accesses_of_every_channel_and_package() {
        let mut files = Files::default();
        // The same traffic once more: it must not be counted twice.
        named(&mut files, "uncore_imc_free_running_0", &[("read", "event=0xff,umask=0x20")]);
        named(&mut files, "uncore_imc_free_running_0", &[("data_read", "event=0xff,umask=0x20")]);
        let events = [
            ("cas_count_read", "event=0x04,umask=0x03"),
            ("cas_count_write", "event=0x04,umask=0x0c"),
        ];
        for channel in ["uncore_imc_0", "uncore_imc_11"] {
            named(&mut files, channel, &events);
            put(&mut files, channel, &[("cpumask", "0,56"), ("events/clockticks", "event=0xff")]);
        }
        let expected: Vec<_> = ["uncore_imc_0", "uncore_imc_11"]
            .iter()
            .flat_map(|pmu| {
                let [read, written] = ["cas_count_read Read", "cas_count_write Written"];
                let of = |words: &str, config, cpu| row(&format!("{pmu} {words}"), config, cpu);
                [
                    of(read, 0x304, 0),
                    of(read, 0x304, 56),
                    of(written, 0xc04, 0),
                    of(written, 0xc04, 56),
                ]
            })
            .collect();
        assert_eq!(rows(&files), expected);
        assert_eq!(found(&files, false).unwrap()[0].kind, 17);
    }

    #[test]
    fn sub_channels_are_all_counted() {
        let mut files = Files::default();
        let events = [
            ("cas_count_read_sch0", "event=0x05,umask=0xcf"),
            ("cas_count_read_sch1", "event=0x06,umask=0xcf"),
            ("cas_count_write_sch0", "event=0x05,umask=0xf0"),
            ("cas_count_write_sch1", "event=0x06,umask=0xf0"),
        ];
        named(&mut files, "uncore_imc_0", &events);
        let configs: Vec<u64> = rows(&files).iter().map(|row| row.1).collect();
        assert_eq!(configs, [0xcf05, 0xcf06, 0xf005, 0xf006]);
    }

    #[test]
    fn clients_have_counters_that_run_all_the_time() {
        let mut new = Files::default();
        let events = [
            ("data_total", "event=0xff,umask=0x10"),
            ("data_read", "event=0xff,umask=0x20"),
            ("data_write", "event=0xff,umask=0x30"),
        ];
        named(&mut new, "uncore_imc_free_running_0", &events);
        // Channels of which the kernel knows no events by name.
        put(&mut new, "uncore_imc_0", &[]);
        let pmu = "uncore_imc_free_running_0";
        let expected = [
            row(&format!("{pmu} data_read Read"), 0x20ff, 0),
            row(&format!("{pmu} data_write Written"), 0x30ff, 0),
        ];
        assert_eq!(rows(&new), expected);
        let mut old = Files::default();
        named(
            &mut old,
            "uncore_imc",
            &[("data_reads", "event=0x01"), ("data_writes", "event=0x02")],
        );
        let expected =
            [row("uncore_imc data_reads Read", 1, 0), row("uncore_imc data_writes Written", 2, 0)];
        assert_eq!(rows(&old), expected);
    }

    #[test]
    fn amds_controllers_are_counted_without_names() {
        let mut files = Files::default();
        for (pmu, cpu) in [("amd_umc_0", "0"), ("amd_umc_1", "64")] {
            put(&mut files, pmu, &[("cpumask", cpu), ("format/rdwrmask", "config:8-9")]);
        }
        let expected = [
            row("amd_umc_0 umc_cas_cmd.rd Read", 0x10a, 0),
            row("amd_umc_0 umc_cas_cmd.wr Written", 0x20a, 0),
            row("amd_umc_1 umc_cas_cmd.rd Read", 0x10a, 64),
            row("amd_umc_1 umc_cas_cmd.wr Written", 0x20a, 64),
        ];
        assert_eq!(rows(&files), expected);
    }

    #[test]
    fn a_count_without_a_scale_is_a_line_and_a_strange_unit_is_refused() {
        let events = [("events/cas_count_read", "event=4"), ("events/cas_count_write", "event=5")];
        let mut files = Files::default();
        put(&mut files, "uncore_imc_3", &events);
        assert!(
            found(&files, false)
                .unwrap()
                .iter()
                .all(|counter| counter.bytes.to_bits() == 64f64.to_bits())
        );
        put(&mut files, "uncore_imc_3", &[("events/cas_count_write.unit", "Joules")]);
        let reason = found(&files, false).unwrap_err();
        assert!(reason.why.starts_with("`uncore_imc_3`: `cas_count_write` is counted in `Joules`"));
        assert_eq!(reason.what, WHAT);
    }

    #[test]
    fn absence_says_who_stands_in_the_way() {
        let nothing = Files::default();
        let guest = found(&nothing, true).unwrap_err();
        assert!(guest.why.contains("the hypervisor shows this guest no PMU"), "{guest:?}");
        let bare = found(&nothing, false).unwrap_err();
        assert!(bare.remedy.unwrap().contains("modprobe intel_uncore"));
        for (name, why) in [
            ("amd_df", "differ from one family"),
            ("arm_cmn_0", "nodes of a mesh"),
            ("hisi_sccl1_ddrc0", "differ from one chip"),
            ("uncore_imc_2", "no names for its events"),
        ] {
            let mut files = Files::default();
            put(&mut files, name, &[]);
            let reason = found(&files, false).unwrap_err();
            assert!(reason.why.contains(name) && reason.why.contains(why), "{reason:?}");
            assert_eq!((reason.obstacle, &*reason.what), (Obstacle::Cpudyno, WHAT));
        }
    }

    #[test]
    fn descriptions_with_holes_say_which_file() {
        let mut files = Files::default();
        put(&mut files, "uncore_imc_0", &[("events/cas_count_read", "event=0x04,umask=0x03")]);
        let half = found(&files, false).unwrap_err();
        assert!(half.why.contains("none of writes"), "{half:?}");
        put(&mut files, "uncore_imc_0", &[("events/cas_count_write", "event=0x04,thresh=1")]);
        let unknown = found(&files, false).unwrap_err();
        assert!(unknown.why.contains("uncore_imc_0/format/thresh"), "{unknown:?}");
        put(&mut files, "uncore_imc_0", &[("events/cas_count_write", "config1=7")]);
        assert!(found(&files, false).unwrap_err().why.contains("needs more than `config`"));
        put(&mut files, "uncore_imc_0", &[("cpumask", "")]);
        assert!(found(&files, false).unwrap_err().why.contains("uncore_imc_0/cpumask"));
    }

    #[test]
    fn names_of_a_family_end_with_a_number() {
        for name in ["uncore_imc", "uncore_imc_0", "uncore_imc_11"] {
            assert!(is_of(name, "uncore_imc"), "{name}");
        }
        for name in ["uncore_imc_", "uncore_imc_free_running_0", "uncore_imcx", "uncore_im"] {
            assert!(!is_of(name, "uncore_imc"), "{name}");
        }
    }
}
