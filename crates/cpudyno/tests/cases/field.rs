//! What people reported of machines that are not here, replayed as files below `../shared/fixtures/field`, and one
//! small machine for each kind of fault, in `field-kinds`: what is said of them, and what is not.
//!
//! The files are other people's: they are read where they lie and are no part of this repository. Without them every
//! case is shown as ignored.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use libtest_mimic::{Failed, Trial};

/// A command about one machine.
struct Case {
    /// The folder or file of the machine, below `fixtures`.
    of: &'static str,
    /// What is called; `{}` stands for `--root` or `--machine` with the machine.
    command: &'static str,
    /// What it prints, blanks and ends of lines aside.
    says: &'static [&'static str],
    /// What it must not print.
    never: &'static [&'static str],
    /// The exit status.
    status: i32,
}

const fn case(
    of: &'static str,
    command: &'static str,
    says: &'static [&'static str],
    never: &'static [&'static str],
) -> Case {
    Case { of, command, says, never, status: 0 }
}

const CASES: &[Case] = &[
    // Clusters of two kinds; the package is number 36; capacities ripple.
    case(
        "field/01-gb10-two-kinds/input/gb10.capture",
        "info {}",
        &[
            "1 package, 20 cores: 10 Cortex-A725, 10 Cortex-X925",
            "Cortex-A725 0-4,10-14",
            "Cortex-X925 5-9,15-19",
        ],
        &["capacity", "37 packages"],
    ),
    case(
        "field/01-gb10-two-kinds/input/gb10.capture",
        "turbo --dry-run {}",
        &["0-19: every usable CPU", "Cortex-A725 1, 2, 4, 8, 10; Cortex-X925 1, 2, 4, 8, 10"],
        &[],
    ),
    // One kind whose clocks and capacities differ by per cents.
    case(
        "field/02-grace-one-kind/input/grace.capture",
        "info {}",
        &[
            "2 packages, 144 cores, 144 CPUs (no SMT)",
            "Arm Neoverse-V2",
            "highest 3.32 to 3.38 GHz",
        ],
        &["144 cores:", "capacity", "(86)", "Favoured cores"],
    ),
    case(
        "field/02-grace-one-kind/input/grace.capture",
        "turbo --dry-run {}",
        &["0-143: every usable CPU", "1, 2, 4, 8, 16, 32, 64, 72, 144"],
        &["Neoverse-V2 1"],
    ),
    // Clocks that the kernel made of ranks.
    case(
        "field/03-threadripper-claimed-max/input/tr7975wx.capture",
        "info {}",
        &["base 4.000 GHz", "highest 5.352 GHz", "claims 5.52 to 7.93 GHz of CPUs 16-31,48-63"],
        &["highest 6.48", "7.77"],
    ),
    case(
        "field/03-threadripper-claimed-max/input/tr7975wx.capture",
        "turbo --dry-run {}",
        &["0-31: one CPU of each core", "1, 2, 4, 8, 16, 32"],
        &["P 1", "E 1"],
    ),
    // Groups of active cores in bytes.
    case(
        "field/05-xeon-8480-turbo-table/input/xeon-8480.capture",
        "info {}",
        &[
            "highest 3.800 GHz",
            "3.8 GHz to 28 cores, 3.6 GHz to 34, 3.4 GHz to 40, 3.2 GHz to 44, 3.1 GHz to 50, 3 GHz to 56",
        ],
        &["highest 2.0"],
    ),
    // Reasons for a lower clock in force, and logged.
    case(
        "field/06-limit-reasons-64f/input/i5-8500.capture",
        "info -v {}",
        &[
            "turbo limit of the active cores",
            "in force now, and logged",
            "turbo transition attenuation",
            "logged only",
            "MSR 64Fh bits 12, 28",
            "65 °C below its limit",
        ],
        &["PROCHOT (external", "throttled"],
    ),
    // Two sources of power limits: the least one binds.
    case(
        "field/07-mmio-power-limit-wins/input/a-i9-13980hx",
        "info {}",
        &[
            "PL1 45 W over 27.98 s (intel-rapl-mmio:0; 175 W by intel-rapl:0 does not bind)",
            "PL2 90 W",
        ],
        &["PL1 175 W"],
    ),
    // A policy that somebody capped, whose files lie in `policyN`.
    case(
        "field/08-policy-capped-at-400mhz/input/root",
        "info {}",
        &["highest 4.463 GHz", "Held down", "cpudyno set max_freq=4463MHz"],
        &["hardware limit"],
    ),
    case(
        "field/08-policy-capped-at-400mhz/input/root",
        "settings max_freq governor epp boost {}",
        &["CPUs 0-15", "400MHz", "powersave"],
        &[],
    ),
    case(
        "field/08-policy-capped-at-400mhz/input/root",
        "set max_freq=4463MHz --dry-run {}",
        &["400000", "4463000"],
        &["cannot set"],
    ),
    // Core numbers that begin anew in each cluster.
    case(
        "field/10-snapdragon-x-same-core-ids/input/root",
        "info {}",
        &["1 package, 12 cores, 12 CPUs (no SMT)", "12 MiB, one per 4 CPUs, 3 in all"],
        &["SMT 3", " L3 "],
    ),
    case(
        "field/10-snapdragon-x-same-core-ids/input/root",
        "cores --dry-run {}",
        &["0-11: every usable CPU", "18 same-cache, 48 other-cache"],
        &[],
    ),
    // Caches that only some CPUs describe.
    case(
        "field/11-cix-sky1-cache-holes/input/cix-sky1.capture",
        "info {}",
        &[
            "12 cores: 8 Cortex-A720, 4 Cortex-A520; 12 CPUs",
            "512 KiB, one per CPU, 8 in all",
            "12 MiB, one for 12 CPUs",
        ],
        &["0 KiB, one", "512 KiB, one per CPU, 12"],
    ),
    case(
        "field/11-cix-sky1-cache-holes/input/cix-sky1.capture",
        "memory sweep --cpus 2 --dry-run {}",
        &["memory"],
        &[],
    ),
    // Cores and packages numbered -1, and vectors of a draft.
    case(
        "field/13-th1520-core-id-minus-one/input/root",
        "info {}",
        &[
            "1 package, 4 cores, 4 CPUs (no SMT)",
            "64 KiB, line 64 B",
            "1 MiB, line 64 B",
            "rv64imafdcvsu (v: draft 0.7.1)",
        ],
        &[" -1", "4294967295", "acpi-cpufreq"],
    ),
    case("field/13-th1520-core-id-minus-one/input/root", "memory --dry-run {}", &["memory"], &[]),
    // CPUs that are off, and a node of memory alone.
    case(
        "field/14-fx1000-assistant-cores/input/fx1000.capture",
        "info {}",
        &[
            "48 of 50 usable, off: CPUs 2-11",
            "1 package, 50 cores, 50 CPUs (no SMT)",
            "Node 4 CPUs 12-23, 7.2 GiB",
        ],
        &["60 usable"],
    ),
    case(
        "field/14-fx1000-assistant-cores/input/fx1000.capture",
        "cores --dry-run {}",
        &["12-59"],
        &[],
    ),
    case(
        "field/14-fx1000-assistant-cores/input/fx1000.capture",
        "memory numa --dry-run {}",
        &["12-59: every CPU that this process may use (48 of 50)", "nodes 4-7 to 0-7"],
        &["nodes 0-"],
    ),
    // Eight nodes without anything, for parts of a GPU.
    case(
        "field/15-gh200-empty-nodes/input/gh200.capture",
        "info {}",
        &["1 package, 72 cores, 72 CPUs (no SMT)", "CPUs 0-71, 480 GiB"],
        &["9 packages", "8 CPUs"],
    ),
    case(
        "field/15-gh200-empty-nodes/input/gh200.capture",
        "memory numa --dry-run {}",
        &["0-71: every usable CPU", "nodes 0 to 0"],
        &["to 0-"],
    ),
    // Nodes of CPUs alone.
    case(
        "field/16-nodes-without-memory/input/tr3960x-nps4.capture",
        "info {}",
        &["1 package, 24 cores, 48 CPUs (SMT 2)", "CPUs 0-5,24-29, no memory", "62.8 GiB"],
        &["2 nodes"],
    ),
    case(
        "field/16-nodes-without-memory/input/tr3960x-nps4.capture",
        "memory numa --dry-run {}",
        &["nodes 0-3 to 1-2"],
        &["to 0-3"],
    ),
    // A quota of a group further up.
    case(
        "field/18-quota-in-a-parent-group/input/root",
        "info {}",
        &["16 of 16 usable", "quota 8 CPUs (800000 of 100000 us, cpu.max of the control group 2"],
        &["12 CPUs"],
    ),
    case(
        "field/18-quota-in-a-parent-group/input/root",
        "doctor {}",
        &["the time of 8", "a Kubernetes pod"],
        &[],
    ),
    case(
        "field/18-quota-in-a-parent-group/input/root",
        "turbo --dry-run {}",
        &[
            "cpu.max of the control group 2 above its own): more",
            "than 8 threads at once are stopped",
        ],
        &[],
    ),
    // Lists that were never made.
    case(
        "field/19-isolated-reads-null/input/a-isolated",
        "info -v {}",
        &["Isolated CPUs none"],
        &["(null)", "isolated:"],
    ),
    case("field/19-isolated-reads-null/input/b-nohz-full", "info -v {}", &[], &["(null)"]),
    // One thread of 256 is off.
    case(
        "field/25-one-thread-of-256-offline/input/epyc-7742.capture",
        "info {}",
        &["2 packages, 128 cores, 255 CPUs (SMT 2; 1 core with 1 thread)", "off: CPU 255"],
        &["no SMT"],
    ),
    case(
        "field/25-one-thread-of-256-offline/input/epyc-7742.capture",
        "set governor=performance --dry-run {}",
        &["cpu{0-254}/cpufreq/", "CPU 255 is off", "cpudyno set online@255=on"],
        &["cpu255/cpufreq"],
    ),
    case(
        "field/25-one-thread-of-256-offline/input/epyc-7742.capture",
        "set min_freq=2.25GHz --dry-run {}",
        &["cpu{0-254}/cpufreq/scaling_min_freq", "CPU 255 is off"],
        &["cpu255/cpufreq"],
    ),
    // Two of eight P cores reach more, and no E core is favoured.
    case(
        "field/26-favoured-cores-are-not-all-p-cores/input/i9-13900kf.capture",
        "info {}",
        &["8 P, 16 E", "CPUs 8-11 (5.8 GHz, other P 5.5 GHz"],
        &[],
    ),
    case(
        "field/26-favoured-cores-are-not-all-p-cores/input/i9-13900kf-no-pmu.capture",
        "info {}",
        &["CPUs 8-11 (5.8 GHz, others of CPUs 0-15 5.5 GHz"],
        &[],
    ),
    case("field-kinds/modules.capture", "info -v {}", &["3 GHz to 4 cores, 2.8 GHz to 8"], &[]),
    case("field-kinds/collision.capture", "info -v {}", &["0; 1; 2-3", "3 in all"], &[]),
    case(
        "field-kinds/hidden-bit.capture",
        "info -v {}",
        &["QEMU or KVM (by the DMI table; CPUID hides it)"],
        &["none (bare metal)"],
    ),
    case("field-kinds/root-partition.capture", "info -v {}", &["Hyper-V, its root partition"], &[]),
    case(
        "field-kinds/vbox",
        "info -v {}",
        &["VirtualBox (by a PCI device"],
        &["none (bare metal)"],
    ),
    case("field-kinds/family7.capture", "info -v {}", &["7/59/2"], &[]),
    case("field-kinds/loongarch", "info -v {}", &["Loongson-3A6000"], &[]),
    case(
        "field-kinds/s390",
        "info -v {}",
        &[
            "IBM zEC12, machine type 2827",
            "48 MiB, 12 ways, line 256 B",
            "PR/SM, a logical partition",
        ],
        &["acpi-cpufreq"],
    ),
    case("field-kinds/ppc", "info -v {}", &["PowerVM", "POWER8"], &["acpi-cpufreq"]),
    case("field-kinds/sparc", "info -v {}", &["TI UltraSparc IIIi", "L1d 64 KiB, L2 1 MiB"], &[]),
    case("field-kinds/cmdline", "info -v {}", &[], &["boot without"]),
    case(
        "field-kinds/two-nodes.capture",
        "info -v {}",
        &["5 MiB", "one per 2 CPUs, 2 in all"],
        &[],
    ),
    case(
        "field-kinds/list-against-mask",
        "info -v {}",
        &["2 MiB, one for 2 CPUs", "lists and masks differ"],
        &[],
    ),
    case(
        "field-kinds/favoured.capture",
        "info -v {}",
        &["none: all P have 60, all E have 35"],
        &["all have 60"],
    ),
    case("field-kinds/cut.capture", "info -v {}", &["9 to 12 not known (1AEh: "], &[]),
    case(
        "field-kinds/cg-only",
        "info -v {}",
        &["3 CPUs (300000 of 100000 us, cpu.max of its control group)"],
        &[],
    ),
    case(
        "field-kinds/cg-bad",
        "info -v {}",
        &["3e5x 100000", "which is no quota"],
        &["quota none"],
    ),
    case(
        "field-kinds/evmix",
        "pmu list --cpu GenuineIntel-6-FE --event-dir EVENTS --source perfmon br_inst",
        &["cpu_core/br_inst_retired.cond/", "0x11c4", "cpu_atom/br_inst_retired.cond/", "0x7ec4"],
        &[],
    ),
    Case {
        status: 2,
        ..case(
            "field/16-nodes-without-memory/input/tr3960x-nps4.capture",
            "cores --home 0 --dry-run {}",
            &["memory may come from nodes 1, 2"],
            &[],
        )
    },
];

impl Case {
    fn path(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures").join(self.of)
    }

    /// `field/01: info`.
    fn name(&self) -> String {
        let of = self.of.split("/input/").collect::<Vec<_>>();
        let which = if of.len() > 1 { self.of.replace("/input/", "/") } else { self.of.to_owned() };
        let words = self.command.split(" {}").next().unwrap_or(self.command);
        format!("field::{which}::{}", words.replace(' ', "_"))
    }

    fn run(&self) -> Output {
        let path = self.path();
        let words = self.command.split(' ').flat_map(|word| match word {
            "{}" if path.is_dir() => vec!["--root".into(), path.clone()],
            "{}" => vec!["--machine".into(), path.clone()],
            "EVENTS" => vec![path.clone()],
            word => vec![PathBuf::from(word)],
        });
        let mut command = Command::new(env!("CARGO_BIN_EXE_cpudyno"));
        command.args(words).env("COLUMNS", "100").output().expect("the program starts")
    }

    fn check(&self) -> Result<(), Failed> {
        let output = self.run();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        let joined = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let lacking: Vec<_> = self.says.iter().filter(|part| !joined.contains(**part)).collect();
        let wrong: Vec<_> = self.never.iter().filter(|part| joined.contains(**part)).collect();
        if lacking.is_empty() && wrong.is_empty() && output.status.code() == Some(self.status) {
            return Ok(());
        }
        let ended = output.status;
        Err(format!("lacks {lacking:?}, has {wrong:?}, ended with {ended}:\n{said}").into())
    }
}

pub(crate) fn trials() -> Vec<Trial> {
    let trial = |case: &'static Case| {
        let here = case.path().exists();
        Trial::test(case.name(), || case.check()).with_ignored_flag(!here)
    };
    CASES.iter().map(trial).collect()
}
