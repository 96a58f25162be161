//! The files of a machine of 2,048 CPUs, written below a folder: what `cpudyno info --root` reads
//! in a benchmark.
//!
//! Files of equal content are links to one file, so that a quarter of a million of them take
//! seconds and a few megabytes.

use std::collections::HashMap;
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::Context;

const PACKAGES: u32 = 16;
const CORES_PER_PACKAGE: u32 = 64;
const THREADS: u32 = 2;
const CORES_PER_L3: u32 = 8;
const CORES: u32 = PACKAGES * CORES_PER_PACKAGE;
/// CPUs of the machine.
pub(crate) const CPUS: u32 = CORES * THREADS;

/// What was written.
pub(crate) struct Written {
    /// Files, however many of them share their content.
    pub(crate) files: usize,
    /// Bytes of `/proc/cpuinfo`.
    pub(crate) cpuinfo_bytes: usize,
}

/// Writes the machine below `root`.
pub(crate) fn write(root: &Path) -> anyhow::Result<Written> {
    let mut writer = Writer { root, originals: HashMap::new(), files: 0 };
    for cpu in 0..CPUS {
        topology(&mut writer, cpu)?;
        caches(&mut writer, cpu)?;
        frequency(&mut writer, cpu)?;
        idle(&mut writer, cpu)?;
    }
    for node in 0..PACKAGES {
        nodes(&mut writer, node)?;
    }
    let cpuinfo = cpuinfo();
    platform(&mut writer, &cpuinfo)?;
    Ok(Written { files: writer.files, cpuinfo_bytes: cpuinfo.len() })
}

struct Writer<'a> {
    root: &'a Path,
    /// One file of each content, and how many links it has.
    originals: HashMap<String, (PathBuf, u32)>,
    files: usize,
}

impl Writer<'_> {
    /// Puts files into a folder, made first.
    fn put(&mut self, folder: &str, files: &[(&str, String)]) -> anyhow::Result<()> {
        /// ext4 stops at 65,000 links to one file.
        const LINKS_MAX: u32 = 60_000;
        let folder = self.root.join(folder);
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make `{}`", folder.display()))?;
        for (name, text) in files {
            let path = folder.join(name);
            self.files += 1;
            if let Some((original, links)) = self.originals.get_mut(text)
                && *links < LINKS_MAX
                && fs::hard_link(&*original, &path).is_ok()
            {
                *links += 1;
                continue;
            }
            fs::write(&path, format!("{text}\n"))
                .with_context(|| format!("cannot write `{}`", path.display()))?;
            self.originals.insert(text.clone(), (path, 1));
        }
        Ok(())
    }
}

const CPU: &str = "sys/devices/system/cpu";

fn core_of(cpu: u32) -> u32 {
    cpu % CORES
}

/// The CPUs of some cores in a row: their first threads, and their second ones.
fn cpus_of(first: u32, cores: u32) -> String {
    let second = first + CORES;
    if cores == 1 {
        return format!("{first},{second}");
    }
    format!("{first}-{},{second}-{}", first + cores - 1, second + cores - 1)
}

fn topology(writer: &mut Writer<'_>, cpu: u32) -> anyhow::Result<()> {
    let core = core_of(cpu);
    let package = core / CORES_PER_PACKAGE;
    let siblings = cpus_of(core, 1);
    let of_package = cpus_of(package * CORES_PER_PACKAGE, CORES_PER_PACKAGE);
    let files = [
        ("physical_package_id", package.to_string()),
        ("die_id", "0".to_owned()),
        ("cluster_id", "65535".to_owned()),
        ("core_id", (core % CORES_PER_PACKAGE).to_string()),
        ("core_cpus_list", siblings.clone()),
        ("thread_siblings_list", siblings.clone()),
        ("cluster_cpus_list", siblings),
        ("die_cpus_list", of_package.clone()),
        ("package_cpus_list", of_package.clone()),
        ("core_siblings_list", of_package),
    ];
    writer.put(&format!("{CPU}/cpu{cpu}/topology"), &files)?;
    writer.put(&format!("{CPU}/cpu{cpu}"), &[("online", "1".to_owned())])?;
    let counts =
        [("core_throttle_count", "0".to_owned()), ("package_throttle_count", "0".to_owned())];
    writer.put(&format!("{CPU}/cpu{cpu}/thermal_throttle"), &counts)
}

fn caches(writer: &mut Writer<'_>, cpu: u32) -> anyhow::Result<()> {
    // Level, kind, size, ways, sets, and how many cores share one.
    const CACHES: [(u32, &str, &str, u32, u32, u32); 4] = [
        (1, "Data", "48K", 12, 64, 1),
        (1, "Instruction", "32K", 8, 64, 1),
        (2, "Unified", "2048K", 16, 2048, 1),
        (3, "Unified", "32768K", 16, 32768, CORES_PER_L3),
    ];
    for (index, (level, kind, size, ways, sets, cores)) in CACHES.into_iter().enumerate() {
        let first = core_of(cpu) / cores * cores;
        let files = [
            ("level", level.to_string()),
            ("type", kind.to_owned()),
            ("size", size.to_owned()),
            ("coherency_line_size", "64".to_owned()),
            ("ways_of_associativity", ways.to_string()),
            ("number_of_sets", sets.to_string()),
            ("shared_cpu_list", cpus_of(first, cores)),
            ("id", (first / cores).to_string()),
        ];
        writer.put(&format!("{CPU}/cpu{cpu}/cache/index{index}"), &files)?;
    }
    Ok(())
}

fn frequency(writer: &mut Writer<'_>, cpu: u32) -> anyhow::Result<()> {
    let files = [
        ("affected_cpus", cpu.to_string()),
        ("related_cpus", cpu.to_string()),
        ("scaling_driver", "intel_pstate".to_owned()),
        ("scaling_governor", "powersave".to_owned()),
        ("energy_performance_preference", "balance_performance".to_owned()),
        ("base_frequency", "2100000".to_owned()),
        ("cpuinfo_min_freq", "800000".to_owned()),
        ("cpuinfo_max_freq", "3800000".to_owned()),
        ("scaling_min_freq", "800000".to_owned()),
        ("scaling_max_freq", "3800000".to_owned()),
    ];
    writer.put(&format!("{CPU}/cpufreq/policy{cpu}"), &files)?;
    writer.put(&format!("{CPU}/cpu{cpu}/power"), &[("energy_perf_bias", "6".to_owned())])?;
    let link = writer.root.join(format!("{CPU}/cpu{cpu}/cpufreq"));
    symlink(format!("../cpufreq/policy{cpu}"), &link)
        .with_context(|| format!("cannot make `{}`", link.display()))
}

fn idle(writer: &mut Writer<'_>, cpu: u32) -> anyhow::Result<()> {
    const STATES: [(&str, u32, u32); 4] =
        [("POLL", 0, 0), ("C1", 1, 1), ("C1E", 2, 4), ("C6", 290, 800)];
    for (index, (name, latency, residency)) in STATES.into_iter().enumerate() {
        let files = [
            ("name", name.to_owned()),
            ("desc", format!("MWAIT {name}")),
            ("latency", latency.to_string()),
            ("residency", residency.to_string()),
            ("disable", "0".to_owned()),
            ("usage", "1".to_owned()),
            ("time", "1".to_owned()),
        ];
        writer.put(&format!("{CPU}/cpu{cpu}/cpuidle/state{index}"), &files)?;
    }
    Ok(())
}

fn nodes(writer: &mut Writer<'_>, node: u32) -> anyhow::Result<()> {
    let distance = |to| if to == node { "10" } else { "21" };
    let distances: Vec<&str> = (0..PACKAGES).map(distance).collect();
    let files = [
        ("cpulist", cpus_of(node * CORES_PER_PACKAGE, CORES_PER_PACKAGE)),
        ("meminfo", format!("Node {node} MemTotal:       268435456 kB")),
        ("distance", distances.join(" ")),
    ];
    writer.put(&format!("sys/devices/system/node/node{node}"), &files)
}

fn platform(writer: &mut Writer<'_>, cpuinfo: &str) -> anyhow::Result<()> {
    let all = format!("0-{}", CPUS - 1);
    let lists = [
        ("online", all.clone()),
        ("possible", all.clone()),
        ("present", all.clone()),
        ("offline", String::new()),
        ("isolated", String::new()),
    ];
    writer.put(CPU, &lists)?;
    writer.put(
        &format!("{CPU}/cpuidle"),
        &[("current_driver", "intel_idle".to_owned()), ("current_governor", "menu".to_owned())],
    )?;
    let online = format!("0-{}", PACKAGES - 1);
    writer.put("sys/devices/system/node", &[("online", online)])?;
    writer.put(&format!("{CPU}/smt"), &[("control", "on".to_owned())])?;
    writer.put(
        "proc",
        &[
            ("cpuinfo", cpuinfo.trim_end().to_owned()),
            ("meminfo", "MemTotal:       4294967296 kB".to_owned()),
            ("cmdline", "quiet".to_owned()),
            ("loadavg", "0.00 0.00 0.00 1/100 1".to_owned()),
        ],
    )?;
    writer.put("proc/sys/kernel", &[("osrelease", "6.1.0".to_owned())])
}

fn cpuinfo() -> String {
    // As long as the list of a current server, which is most of the file.
    const FLAGS: &str = "fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 \
        clflush dts acpi mmx fxsr sse sse2 ss ht tm pbe syscall nx pdpe1gb rdtscp lm constant_tsc \
        arch_perfmon pebs bts rep_good nopl xtopology nonstop_tsc cpuid aperfmperf tsc_known_freq \
        pni pclmulqdq dtes64 monitor ds_cpl vmx smx est tm2 ssse3 sdbg fma cx16 xtpr pdcm pcid dca \
        sse4_1 sse4_2 x2apic movbe popcnt tsc_deadline_timer aes xsave avx f16c rdrand lahf_lm abm \
        3dnowprefetch cpuid_fault epb cat_l3 cat_l2 cdp_l3 ssbd mba ibrs ibpb stibp ibrs_enhanced \
        tpr_shadow flexpriority ept vpid fsgsbase tsc_adjust bmi1 avx2 smep bmi2 erms invpcid \
        cqm rdt_a avx512f avx512dq rdseed adx smap avx512ifma clflushopt clwb intel_pt avx512cd \
        avx512bw avx512vl xsaveopt xsavec xgetbv1 xsaves cqm_llc cqm_occup_llc cqm_mbm_total \
        cqm_mbm_local split_lock_detect avx_vnni avx512_bf16 wbnoinvd dtherm ida arat pln pts hwp \
        hwp_act_window hwp_epp avx512vbmi umip pku ospke waitpkg avx512_vbmi2 gfni vaes \
        vpclmulqdq avx512_vnni avx512_bitalg tme avx512_vpopcntdq la57 rdpid bus_lock_detect \
        cldemote movdiri movdir64b enqcmd fsrm md_clear serialize tsxldtrk pconfig arch_lbr ibt \
        amx_bf16 avx512_fp16 amx_tile amx_int8 flush_l1d arch_capabilities";
    (0..CPUS).fold(String::new(), |mut text, cpu| {
        let core = core_of(cpu);
        let (package, core) = (core / CORES_PER_PACKAGE, core % CORES_PER_PACKAGE);
        let _ = write!(
            text,
            "processor\t: {cpu}\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n\
             model name\t: A large machine\nstepping\t: 8\nmicrocode\t: 0x2b000603\n\
             cpu MHz\t\t: 2100.000\nphysical id\t: {package}\nsiblings\t: 128\n\
             core id\t\t: {core}\ncpu cores\t: 64\nflags\t\t: {FLAGS}\n\n",
        );
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_numbered_as_linux_does() {
        assert_eq!(CPUS, 2048);
        assert_eq!(cpus_of(3, 1), "3,1027");
        assert_eq!(cpus_of(8, 8), "8-15,1032-1039");
        assert_eq!(cpuinfo().matches("processor\t:").count(), 2048);
    }

    #[test]
    fn equal_files_share_their_content() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = Writer { root: folder.path(), originals: HashMap::new(), files: 0 };
        for cpu in [0, 1] {
            frequency(&mut writer, cpu).unwrap();
            idle(&mut writer, cpu).unwrap();
        }
        let read = |path: &str| fs::read_to_string(folder.path().join(CPU).join(path)).unwrap();
        assert_eq!(read("cpu1/cpufreq/related_cpus"), "1\n");
        assert_eq!(read("cpu1/cpuidle/state3/name"), "C6\n");
        assert!(writer.originals.len() < writer.files / 2);
    }
}
