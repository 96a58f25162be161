//! Which PMUs are those of memory controllers, and which of their events count reads and writes.

use std::io;

use model::page::tally;
use model::{Obstacle, Reading, Unavailable};

use super::{ControllerEvent, WHAT, Way};
use crate::parse::or_empty;
use crate::parse::value_of;
use crate::permissions::Question;
use crate::pmu::{self, PMUS, Pmu};
use crate::ports::Tree;
use crate::probes::{Surroundings, load_uncore, refusal};

/// PMUs of one kind: how they are called, and their events.
struct PmuFamily {
    /// Their name, up to a number.
    name: &'static str,
    /// The CPUs that it is true of, as models of Intel's family 6; none: all.
    models: &'static [u32],
    read: EventNames,
    written: EventNames,
    /// What a count stands for where the kernel does not say: a burst to or from memory, in bytes.
    burst: f64,
}

/// Events that are summed.
enum EventNames {
    /// The one that the kernel has this name for, or those of sub-channels.
    Named(&'static str),
    /// Those of these terms, each with the name that its maker has: the kernel has none, or gives it to
    /// a part of them.
    Terms(&'static [(&'static str, &'static str)]),
}

/// CPUs whose channels have two schedulers each, as the kernel tells them apart.
///
/// # Source
/// Linux, `arch/x86/events/intel/uncore.c`, `gnr_uncore_init`, and `intel-family.h`: Granite Rapids and
/// Granite Rapids-D, Sierra Forest, Grand Ridge, Clearwater Forest.
const TWO_SCHEDULERS: &[u32] = &[0xad, 0xae, 0xaf, 0xb6, 0xdd];

/// Sapphire and Emerald Rapids.
const ONE_SCHEDULER: &[u32] = &[0x8f, 0xcf];

/// A burst of DDR4 and DDR5 is a line.
const LINE: f64 = 64.0;

/// The first that is there is used: some servers count the same twice.
///
/// # Source
/// Linux, `arch/x86/events/intel/uncore_snbep.c` and `uncore_snb.c` (`cas_count_*`, `data_*`) and
/// `arch/x86/events/amd/uncore.c` (`rdwrmask`); AMD, processor programming references since family 19h,
/// `UMC_PERF_CTL`, and `tools/perf/pmu-events/arch/x86/amdzen4` (`umc_cas_cmd.rd`, `.wr`).
///
/// Where channels have two schedulers, kernels before commit 6a8a48644c4b have `cas_count_*` for the
/// first one alone, later ones `_sch0` and `_sch1`; before Linux 6.4 (743767d6f6b8) the kernel has no
/// names at all for Sapphire and Emerald Rapids. The free-running events `read` and `write` of servers
/// are left out: older kernels have a wrong scale for them, and `cas_count_*` are there, too.
const FAMILIES: &[PmuFamily] = &[
    PmuFamily {
        name: "uncore_imc",
        models: TWO_SCHEDULERS,
        read: EventNames::Terms(&[
            ("event=0x05,umask=0xcf", "unc_m_cas_count_sch0.rd"),
            ("event=0x06,umask=0xcf", "unc_m_cas_count_sch1.rd"),
        ]),
        written: EventNames::Terms(&[
            ("event=0x05,umask=0xf0", "unc_m_cas_count_sch0.wr"),
            ("event=0x06,umask=0xf0", "unc_m_cas_count_sch1.wr"),
        ]),
        burst: LINE,
    },
    PmuFamily {
        name: "uncore_imc",
        models: &[],
        read: EventNames::Named("cas_count_read"),
        written: EventNames::Named("cas_count_write"),
        burst: LINE,
    },
    PmuFamily {
        name: "uncore_imc",
        models: ONE_SCHEDULER,
        read: EventNames::Terms(&[("event=0x05,umask=0xcf", "unc_m_cas_count.rd")]),
        written: EventNames::Terms(&[("event=0x05,umask=0xf0", "unc_m_cas_count.wr")]),
        burst: LINE,
    },
    PmuFamily {
        name: "uncore_imc_free_running",
        models: &[],
        read: EventNames::Named("data_read"),
        written: EventNames::Named("data_write"),
        burst: LINE,
    },
    PmuFamily {
        name: "uncore_imc",
        models: &[],
        read: EventNames::Named("data_reads"),
        written: EventNames::Named("data_writes"),
        burst: LINE,
    },
    PmuFamily {
        name: "amd_umc",
        models: &[],
        read: EventNames::Terms(&[("event=0x0a,rdwrmask=0x1", "umc_cas_cmd.rd")]),
        written: EventNames::Terms(&[("event=0x0a,rdwrmask=0x2", "umc_cas_cmd.wr")]),
        burst: LINE,
    },
];

/// Memory beside that of the families: where it is there, theirs is not all. (Xeon Max.)
const OTHER_MEMORY: &str = "uncore_hbm";

/// PMUs that see memory traffic, too, and why this version does not read them.
const UNKNOWN: &[(&str, &str)] = &[
    ("uncore_imc", "the kernel has no names for its events of reads and writes"),
    ("amd_df", "its events of memory channels differ from one family of CPUs to the next"),
    ("arm_cmn", "its events belong to nodes of a mesh whose layout the kernel does not describe"),
    ("arm_dmc620", UNCHECKED),
    ("uncore_dmc", UNCHECKED),
    ("mrvl_ddr_pmu", UNCHECKED),
    ("ali_drw", UNCHECKED),
    ("ampere_mcu", UNCHECKED),
    ("hisi_", "its events differ from one chip to the next"),
    ("nvidia_scf", "its events count traffic of a fabric, not of memory alone"),
];

/// Controllers of Arm's servers.
const UNCHECKED: &str = "its counts have not been compared with what a program reads and writes";

/// What helps who wants to see a PMU that is not read.
const BY_HAND: &str = "`perf list` has its events, and `perf stat -a` counts them";

/// All counters of the memory controllers, or why there are none.
pub(super) fn counters(here: &Surroundings<'_>) -> Reading<Vec<ControllerEvent>> {
    let whole = |reason| Unavailable { what: WHAT.into(), ..reason };
    let names = or_empty(PMUS, pmu::names(here.tree)).map_err(whole)?;
    if let Some(name) = names.iter().find(|name| is_of(name, OTHER_MEMORY)) {
        let why = format!(
            "there is a PMU `{name}`: memory in the package (HBM) has controllers of its own. This \
             version does not read them, and the counts of DDR alone are incomplete"
        );
        return Err(Unavailable::new(Obstacle::Cpudyno, WHAT, why).with_remedy(BY_HAND));
    }
    let cpu = CpuModel::of(here.tree);
    for family in FAMILIES.iter().filter(|family| family.fits(cpu.as_ref())) {
        let of_family = names.iter().filter(|name| is_of(name, family.name));
        let pmus: Vec<Pmu<'_>> = of_family.map(|name| Pmu::new(here.tree, name)).collect();
        let counters = family.counters(&pmus).map_err(whole)?;
        if !counters.is_empty() {
            return Ok(counters);
        }
    }
    Err(absent(here, &names, cpu.as_ref()))
}

/// Why there are none, where no family fits.
fn absent(here: &Surroundings<'_>, names: &[String], cpu: Option<&CpuModel>) -> Unavailable {
    for (start, why) in UNKNOWN {
        let Some(name) = names.iter().find(|name| name.starts_with(start)) else { continue };
        if *start == "amd_df" && cpu.is_some_and(CpuModel::has_amd_umc) {
            let why = format!(
                "this kernel has `{name}` but not `amd_umc`, the PMU of this CPU's memory \
                 controllers, which Linux has since 6.7"
            );
            let reason = Unavailable::new(Obstacle::Permission, WHAT, why);
            return reason.with_remedy("boot Linux 6.7 or newer");
        }
        let why = format!("this version does not read the PMU `{name}`: {why}");
        return Unavailable::new(Obstacle::Cpudyno, WHAT, why).with_remedy(BY_HAND);
    }
    if names.is_empty() || here.is_guest() {
        let reason = refusal(Question::PerfUncore, &io::ErrorKind::NotFound.into(), here);
        return Unavailable { what: WHAT.into(), ..reason };
    }
    let why = format!(
        "none of {} is one of a memory controller that this version knows",
        tally(names.len(), "PMU")
    );
    Unavailable::new(Obstacle::Cpudyno, WHAT, why).with_remedy(load_uncore(here))
}

/// The first CPU, as the kernel says.
struct CpuModel {
    vendor: String,
    family: u32,
    model: u32,
}

impl CpuModel {
    fn of(tree: &dyn Tree) -> Option<CpuModel> {
        let text = tree.read("/proc/cpuinfo").ok()?;
        let number = |key| value_of(&text, key)?.parse().ok();
        let vendor = value_of(&text, "vendor_id")?.to_owned();
        Some(CpuModel { vendor, family: number("cpu family")?, model: number("model")? })
    }

    /// # Source
    /// AMD, processor programming references: Zen 4 and Zen 5 count by PerfMonV2 (CPUID 8000_0022h), of
    /// which the memory controllers are a part; Zen 3, of the same family as Zen 4, does not.
    fn has_amd_umc(&self) -> bool {
        let zen_4 = matches!(self.model, 0x10..=0x1f | 0x60..=0x7f | 0xa0..=0xaf);
        self.vendor == "AuthenticAMD" && (self.family == 0x1a || (self.family == 0x19 && zen_4))
    }
}

/// Whether that is the name of a family, or that with a number.
fn is_of(name: &str, family: &str) -> bool {
    let Some(rest) = name.strip_prefix(family) else { return false };
    let number = rest.strip_prefix('_').unwrap_or_default();
    rest.is_empty() || (!number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()))
}

impl PmuFamily {
    fn fits(&self, cpu: Option<&CpuModel>) -> bool {
        let is_model = |cpu: &CpuModel| {
            cpu.vendor == "GenuineIntel" && cpu.family == 6 && self.models.contains(&cpu.model)
        };
        self.models.is_empty() || cpu.is_some_and(is_model)
    }

    /// The counters of all its PMUs; none where no PMU has its event of reads.
    fn counters(&self, pmus: &[Pmu<'_>]) -> Reading<Vec<ControllerEvent>> {
        let mut counters = Vec::new();
        let mut is_there = false;
        for pmu in pmus {
            is_there |= !self.read.names(*pmu)?.is_empty();
        }
        for pmu in pmus.iter().filter(|_| is_there) {
            self.add(&mut counters, *pmu).map_err(|reason| {
                let why = format!("`{}`: {}", pmu.name(), reason.why);
                Unavailable { why, ..reason }
            })?;
        }
        Ok(counters)
    }

    /// The counters of one PMU. One that lacks what others have would be left out of every sum.
    fn add(&self, counters: &mut Vec<ControllerEvent>, pmu: Pmu<'_>) -> Reading<()> {
        let (kind, cpus) = (pmu.kind()?, pmu.cpus()?);
        for (way, of) in [(Way::Read, &self.read), (Way::Written, &self.written)] {
            for event in of.names(pmu)? {
                let (config, bytes) = of.resolve(pmu, &event, self.burst)?;
                counters.extend(cpus.iter().map(|&cpu| ControllerEvent {
                    pmu: pmu.name().to_owned(),
                    event: event.clone(),
                    kind,
                    config,
                    cpu,
                    way,
                    bytes,
                }));
            }
            if !counters.iter().any(|counter| counter.pmu == pmu.name() && counter.way == way) {
                let why = format!("it has no event `{}`", of.word());
                return Err(Unavailable::new(Obstacle::Cpudyno, WHAT, why));
            }
        }
        Ok(())
    }
}

impl EventNames {
    /// What it is called: of several, the first.
    fn word(&self) -> &'static str {
        match self {
            EventNames::Named(name) => name,
            EventNames::Terms(all) => all.first().map_or("", |(_, name)| name),
        }
    }

    /// The names of its events on a PMU.
    fn names(&self, pmu: Pmu<'_>) -> Reading<Vec<String>> {
        match self {
            EventNames::Terms(all) => Ok(all.iter().map(|(_, name)| (*name).to_owned()).collect()),
            EventNames::Named(name) => {
                let mut events = pmu.events()?;
                events.retain(|event| {
                    let rest = event.strip_prefix(name);
                    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("_sch"))
                });
                Ok(events)
            }
        }
    }

    /// What one of them is to the kernel, and the bytes that a count stands for.
    fn resolve(&self, pmu: Pmu<'_>, event: &str, burst: f64) -> Reading<(u64, f64)> {
        let (config, bytes) = match self {
            EventNames::Terms(all) => {
                let terms = all.iter().find(|(_, name)| *name == event).map_or("", |(it, _)| it);
                (pmu.encode(terms)?, burst)
            }
            EventNames::Named(_) => {
                let named = pmu.event(event)?;
                (named.config, bytes(event, &named, burst)?)
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
fn bytes(event: &str, named: &pmu::NamedEvent, burst: f64) -> Reading<f64> {
    const UNITS: [(&str, f64); 4] = [
        ("Bytes", 1.0),
        ("KiB", 1024.0),
        ("MiB", 1024.0 * 1024.0),
        ("GiB", 1024.0 * 1024.0 * 1024.0),
    ];
    let (scale, unit) = match (named.scale, named.unit.as_deref()) {
        (None, None) => return Ok(burst),
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
    use simulated::Files;

    use super::*;
    use crate::facts::Ground;

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

    fn found(files: &Files, guest: bool) -> Reading<Vec<ControllerEvent>> {
        let ground = if guest { Ground::Guest } else { Ground::Machine };
        counters(&Surroundings { tree: files, ground })
    }

    /// PMU, event, config, CPU and bytes.
    fn rows(files: &Files) -> Vec<(String, u64, u32, f64)> {
        let row = |c: ControllerEvent| {
            (format!("{} {} {:?}", c.pmu, c.event, c.way), c.config, c.cpu.0, c.bytes)
        };
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

    /// What `/proc/cpuinfo` says of the CPU.
    fn cpu(files: &mut Files, vendor: &str, family: u32, model: u32) {
        let text = format!("vendor_id : {vendor}\ncpu family : {family}\nmodel\t: {model}\n");
        files.put("/proc/cpuinfo", &text);
    }

    #[test]
    fn both_schedulers_are_counted_where_the_kernel_names_one() {
        let old = [
            ("cas_count_read", "event=0x05,umask=0xcf"),
            ("cas_count_write", "event=0x05,umask=0xf0"),
        ];
        let configs = |vendor: &str, model| {
            let mut files = Files::default();
            named(&mut files, "uncore_imc_0", &old);
            cpu(&mut files, vendor, 6, model);
            rows(&files).iter().map(|row| row.1).collect::<Vec<u64>>()
        };
        for model in TWO_SCHEDULERS {
            let all = configs("GenuineIntel", *model);
            assert_eq!(all, [0xcf05, 0xcf06, 0xf005, 0xf006], "{model:#x}");
        }
        assert_eq!(configs("GenuineIntel", 0x8f), [0xcf05, 0xf005]);
        assert_eq!(configs("AuthenticAMD", 0xad), [0xcf05, 0xf005]);
    }

    #[test]
    fn servers_without_named_events_are_counted_by_their_terms() {
        let mut files = Files::default();
        for pmu in ["uncore_imc_0", "uncore_imc_1"] {
            put(&mut files, pmu, &[("events/clockticks", "event=0x01")]);
        }
        let reason = found(&files, false).unwrap_err();
        assert!(reason.why.contains("no names for its events"), "{reason:?}");
        for model in ONE_SCHEDULER {
            cpu(&mut files, "GenuineIntel", 6, *model);
            let configs: Vec<u64> = rows(&files).iter().map(|row| row.1).collect();
            assert_eq!(configs, [0xcf05, 0xf005, 0xcf05, 0xf005]);
        }
    }

    #[test]
    fn memory_of_another_kind_beside_it_refuses_both() {
        let mut files = Files::default();
        let events = [("events/cas_count_read", "event=4"), ("events/cas_count_write", "event=5")];
        put(&mut files, "uncore_imc_0", &events);
        assert!(found(&files, false).is_ok());
        put(&mut files, "uncore_hbm_31", &[]);
        let reason = found(&files, false).unwrap_err();
        assert!(reason.why.contains("`uncore_hbm_31`") && reason.why.contains("incomplete"));
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
        for (vendor, module) in [("GenuineIntel", "intel_uncore"), ("AuthenticAMD", "amd_uncore")] {
            let mut bare = Files::default();
            cpu(&mut bare, vendor, 6, 1);
            let reason = found(&bare, false).unwrap_err();
            assert!(reason.why.contains("the kernel found no PMU"), "{reason:?}");
            let remedy = reason.remedy.unwrap();
            assert!(remedy.contains(&format!("modprobe {module}`")), "{remedy}");
            assert_eq!(remedy.matches("modprobe").count(), 1, "{remedy}");
            put(&mut bare, "msr", &[]);
            put(&mut bare, "software", &[]);
            let reason = found(&bare, false).unwrap_err();
            assert!(reason.why.starts_with("none of 2 PMUs is one of a memory controller"));
            assert!(found(&bare, true).unwrap_err().why.contains("the hypervisor shows"));
        }
        for (name, why) in [
            ("amd_df", "differ from one family"),
            ("arm_cmn_0", "nodes of a mesh"),
            ("arm_dmc620_10008c000", "its counts have not been compared"),
            ("uncore_dmc_0", "its counts have not been compared"),
            ("mrvl_ddr_pmu_87e1c0000000", "its counts have not been compared"),
            ("ali_drw_21000", "its counts have not been compared"),
            ("ampere_mcu_0", "its counts have not been compared"),
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
    fn an_old_kernel_lacks_the_controllers_of_zen_4_and_5() {
        for (family, model, is_missing) in
            [(0x19, 0x11, true), (0x1a, 0x02, true), (0x19, 0x01, false), (0x17, 0x31, false)]
        {
            let mut files = Files::default();
            put(&mut files, "amd_df", &[]);
            cpu(&mut files, "AuthenticAMD", family, model);
            let reason = found(&files, false).unwrap_err();
            assert_eq!(reason.why.contains("since 6.7"), is_missing, "{reason:?}");
        }
    }

    /// A machine on which nobody may look for PMUs.
    struct Closed;

    impl Tree for Closed {
        fn read(&self, path: &str) -> Reading<String> {
            self.list(path).map(|_| String::new())
        }

        fn list(&self, path: &str) -> Reading<Vec<String>> {
            Err(Unavailable::new(Obstacle::Permission, "it", format!("nobody may read `{path}`")))
        }
    }

    #[test]
    fn what_may_not_be_read_is_not_taken_for_absent() {
        let here = Surroundings { tree: &Closed, ground: Ground::Machine };
        let reason = counters(&here).unwrap_err();
        assert_eq!((&*reason.what, reason.obstacle), (WHAT, Obstacle::Permission));
        assert!(reason.why.contains("nobody may read"), "{reason:?}");
    }

    #[test]
    fn descriptions_with_holes_say_which_file() {
        let mut files = Files::default();
        put(&mut files, "uncore_imc_0", &[("events/cas_count_read", "event=0x04,umask=0x03")]);
        let half = found(&files, false).unwrap_err();
        assert!(half.why.ends_with("it has no event `cas_count_write`"), "{half:?}");
        let mut uneven = Files::default();
        let events = [("events/cas_count_read", "event=4"), ("events/cas_count_write", "event=5")];
        put(&mut uneven, "uncore_imc_0", &events);
        put(&mut uneven, "uncore_imc_1", &[]);
        let reason = found(&uneven, false).unwrap_err();
        assert_eq!(reason.why, "`uncore_imc_1`: it has no event `cas_count_read`");
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
