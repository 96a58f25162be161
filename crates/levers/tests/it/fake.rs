//! Files that are laid out like a kernel's, and kernels that take what is written there.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use levers::ask::SettingSpec;
use levers::journal::JournalDir;
use levers::plan::Plan;
use levers::port::KernelPort;
use levers::rows::LeverPlace;
use levers::{Error, Lever, Levers, Object, Others, Session, undo};
use machine::{Cpuid, Machine};
use model::CpuId;
use sys::cpuid::Leaf;
use tempfile::TempDir;

/// A machine of four CPUs, two of them under one policy.
pub(crate) fn files() -> BTreeMap<String, String> {
    const CPU: &str = "sys/devices/system/cpu";
    let mut files = BTreeMap::new();
    let mut put = |path: String, text: &str| drop(files.insert(path, format!("{text}\n")));
    put(format!("{CPU}/present"), "0-3");
    put(format!("{CPU}/online"), "0-3");
    for cpu in 0..4 {
        let folder = format!("{CPU}/cpu{cpu}");
        let group = if cpu < 2 { "0 1".to_owned() } else { cpu.to_string() };
        put(format!("{folder}/cpufreq/affected_cpus"), &group);
        put(format!("{folder}/cpufreq/scaling_driver"), "intel_pstate");
        put(format!("{folder}/cpufreq/scaling_governor"), "powersave");
        put(format!("{folder}/cpufreq/scaling_available_governors"), "performance powersave");
        put(format!("{folder}/cpufreq/energy_performance_preference"), "balance_performance");
        let preferences = "performance balance_performance balance_power power";
        put(format!("{folder}/cpufreq/energy_performance_available_preferences"), preferences);
        put(format!("{folder}/power/pm_qos_resume_latency_us"), "0");
        put(format!("{folder}/cpufreq/scaling_min_freq"), "800000");
        put(format!("{folder}/cpufreq/scaling_max_freq"), "3800000");
        put(format!("{folder}/power/energy_perf_bias"), "6");
        put(format!("{folder}/topology/core_cpus_list"), &cpu.to_string());
        for (state, name) in ["POLL", "C1", "C6"].iter().enumerate() {
            put(format!("{folder}/cpuidle/state{state}/name"), name);
            put(format!("{folder}/cpuidle/state{state}/disable"), "0");
        }
        if cpu > 0 {
            put(format!("{folder}/online"), "1");
        }
    }
    put(format!("{CPU}/intel_pstate/no_turbo"), "0");
    put(format!("{CPU}/intel_pstate/min_perf_pct"), "90");
    put(format!("{CPU}/cpufreq/boost"), "1");
    let die = format!("{CPU}/intel_uncore_frequency/package_00_die_00");
    put(format!("{die}/min_freq_khz"), "800000");
    put(format!("{die}/max_freq_khz"), "2400000");
    put("sys/firmware/acpi/platform_profile".into(), "balanced");
    put("sys/firmware/acpi/platform_profile_choices".into(), "quiet balanced performance");
    put("sys/kernel/mm/transparent_hugepage/defrag".into(), "always defer [madvise] never");
    put("proc/sys/vm/nr_hugepages".into(), "4");
    for (node, pages) in [(0, "3"), (1, "1")] {
        let pool = format!("sys/devices/system/node/node{node}/hugepages/hugepages-2048kB");
        put(format!("{pool}/nr_hugepages"), pages);
    }
    put("proc/meminfo".into(), "MemAvailable: 20480 kB\nHugePages_Total: 4\nHugepagesize: 2048 kB");
    put(format!("{CPU}/smt/control"), "on");
    put("sys/kernel/mm/transparent_hugepage/enabled".into(), "always [madvise] never");
    put("proc/sys/kernel/numa_balancing".into(), "1");
    put("proc/sys/kernel/random/boot_id".into(), "the-first");
    // Whoever runs the tests: this is a plain user.
    put("proc/self/status".into(), "Uid:\t1000\t1000\t1000\t1000");
    files
}

pub(crate) struct Fake {
    pub(crate) folder: TempDir,
}

impl Fake {
    pub(crate) fn new() -> Fake {
        // In memory, where there is such a place: hundreds of journals are forced to disk here.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let fake = Fake { folder: folder.unwrap() };
        for (path, text) in files() {
            let path = fake.root().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fake
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    pub(crate) fn machine(&self) -> Machine {
        Machine::rooted(&self.root()).unwrap()
    }

    pub(crate) fn kernel(&self) -> Box<dyn Levers> {
        kernel(&self.root())
    }

    pub(crate) fn shelf(&self) -> JournalDir {
        JournalDir::new(self.state(), &self.machine())
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap().trim().to_owned()
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        fs::write(self.root().join(path), text).unwrap();
    }

    /// What differs from the files that the machine came with.
    pub(crate) fn changed(&self) -> Vec<String> {
        let differs = |(path, text): (String, String)| {
            let now = self.read(&path);
            (now != text.trim()).then(|| format!("{path}: {now}"))
        };
        files().into_iter().filter_map(differs).collect()
    }

    pub(crate) fn undo(&self) -> levers::Undone {
        self.undo_with(Others::Spare)
    }

    pub(crate) fn undo_with(&self, others: Others) -> levers::Undone {
        undo(&self.machine(), self.kernel(), &self.shelf(), others, "test").unwrap()
    }
}

/// A kernel that marks the chosen word of the list, as the kernel does, and takes the preference along
/// with the governor.
pub(crate) struct Marking {
    kernel: KernelPort,
    root: PathBuf,
}

pub(crate) fn kernel(root: &Path) -> Box<dyn Levers> {
    let kernel = KernelPort::below(root, root.join("dev/cpu"));
    Box::new(Marking { kernel, root: root.to_owned() })
}

impl Levers for Marking {
    fn permits(&self, object: &Object) -> io::Result<()> {
        self.kernel.permits(object)
    }

    fn is_read_only(&self, path: &str) -> bool {
        self.kernel.is_read_only(path)
    }

    fn write(&mut self, object: &Object, text: &str) -> io::Result<()> {
        let Object::File(path) = object else { return self.kernel.write(object, text) };
        let put =
            |path: &str, text: &str| fs::write(self.root.join(path.trim_start_matches('/')), text);
        if path.contains("transparent_hugepage/") {
            let file = self.root.join(path.trim_start_matches('/'));
            let plain = fs::read_to_string(file)?.replace(['[', ']'], "");
            let marked = |word: &str| if word == text { format!("[{word}]") } else { word.into() };
            let words: Vec<String> = plain.split_whitespace().map(marked).collect();
            return self.kernel.write(object, &words.join(" "));
        }
        self.kernel.write(object, text)?;
        if path.ends_with("no_turbo") && text == "1" {
            put(&path.replace("no_turbo", "min_perf_pct"), "68")?;
        }
        if path.ends_with("cpufreq/boost") {
            let limit = if text == "0" { "2400000" } else { "3700000" };
            // CPU 1 is under the policy of CPU 0.
            for cpu in [0, 2, 3] {
                let path = format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_max_freq");
                put(&path, limit)?;
            }
        }
        if path.ends_with("vm/nr_hugepages") {
            let pages: u64 = text.parse().unwrap();
            for (node, share) in [(0, pages / 2), (1, pages - pages / 2)] {
                let pool = format!("sys/devices/system/node/node{node}/hugepages");
                put(&format!("{pool}/hugepages-2048kB/nr_hugepages"), &share.to_string())?;
            }
        }
        if let Some(folder) = path.strip_suffix("scaling_governor") {
            let preference = match text {
                "performance" => "performance",
                _ => "balance_power",
            };
            let file = self.root.join(folder.trim_start_matches('/'));
            fs::write(file.join("energy_performance_preference"), preference)?;
        }
        Ok(())
    }
}

pub(crate) fn asked(settings: &[&str]) -> Vec<SettingSpec> {
    settings.iter().map(|text| text.parse().unwrap()).collect()
}

pub(crate) fn plan(fake: &Fake, settings: &[&str]) -> Result<Plan, Error> {
    Plan::new(&fake.machine(), &*fake.kernel(), &asked(settings), true)
}

/// A processor as far as levers ask.
#[derive(Clone, Copy)]
pub(crate) enum Processor {
    Intel { model: u32 },
    Amd { prefetch_control: bool },
}

impl Cpuid for Processor {
    fn leaf(&self, leaf: u32, _: u32) -> Option<Leaf> {
        let zero = Leaf { eax: 0, ebx: 0, ecx: 0, edx: 0 };
        let name = |text: &[u8; 12]| {
            let word = |at: usize| u32::from_le_bytes(text[at..at + 4].try_into().unwrap());
            Leaf { eax: 7, ebx: word(0), edx: word(4), ecx: word(8) }
        };
        match (*self, leaf) {
            (Processor::Intel { .. }, 0) => Some(name(b"GenuineIntel")),
            (Processor::Amd { .. }, 0) => Some(name(b"AuthenticAMD")),
            (Processor::Intel { model }, 1) => {
                Some(Leaf { eax: (model >> 4) << 16 | 6 << 8 | (model & 15) << 4, ..zero })
            }
            (Processor::Amd { prefetch_control }, 0x8000_0021) => {
                Some(Leaf { eax: u32::from(prefetch_control) << 13, ..zero })
            }
            _ => None,
        }
    }

    fn leaf_of(&self, _: CpuId, leaf: u32, subleaf: u32) -> Option<Leaf> {
        self.leaf(leaf, subleaf)
    }
}

pub(crate) const SAPPHIRE_RAPIDS: Processor = Processor::Intel { model: 0x8f };

/// A processor that has the lever.
pub(crate) fn processor_with(lever: &Lever) -> Processor {
    let is_amd = lever.doc.contains("(AMD)");
    if is_amd { Processor::Amd { prefetch_control: true } } else { SAPPHIRE_RAPIDS }
}

/// A machine with registers in files of which only two parts are not empty.
pub(crate) fn with_registers(fake: &Fake, processor: Processor) -> Machine {
    for cpu in 0..4 {
        let file = fake.root().join(format!("dev/cpu/{cpu}/msr"));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let file = fs::File::create(file).unwrap();
        for register in [0x1a4, 0xc000_0108] {
            // Other bits stay as they are.
            file.write_all_at(&OTHER_BITS.to_le_bytes(), register).unwrap();
        }
    }
    Machine { cpuid: Box::new(processor), ..fake.machine() }
}

pub(crate) const OTHER_BITS: u64 = 0xffff_0000_0000_0040;

/// Registers that differ from what they came with.
pub(crate) fn changed_registers(fake: &Fake) -> Vec<String> {
    let mut changed = Vec::new();
    for cpu in 0..4 {
        let file = fs::File::open(fake.root().join(format!("dev/cpu/{cpu}/msr"))).unwrap();
        for register in [0x1a4, 0xc000_0108] {
            let mut bytes = [0; 8];
            file.read_exact_at(&mut bytes, register).unwrap();
            let value = u64::from_le_bytes(bytes);
            if value != OTHER_BITS {
                changed.push(format!("{register:#x} of CPU {cpu}: {value:#x}"));
            }
        }
    }
    changed
}

/// Sets, and leaves it so.
pub(crate) fn set(fake: &Fake, settings: &[&str]) {
    let machine = fake.machine();
    let mut session = Session::open(&machine, fake.kernel(), &fake.shelf(), "test").unwrap();
    let plan = Plan::new(&machine, session.levers(), &asked(settings), true).unwrap();
    session.apply(&plan).unwrap();
    session.leave();
}

pub(crate) fn sys_einval() -> io::Error {
    io::Error::from_raw_os_error(sys::errno::EINVAL)
}

/// For each lever, a value that it does not have.
pub(crate) const EVERY: &[(&str, &str)] = &[
    ("governor", "governor=performance"),
    ("epp", "epp=power"),
    ("epb", "epb=0"),
    ("no_turbo", "no_turbo=on"),
    ("boost", "boost=off"),
    ("min_freq", "min_freq=1200MHz"),
    ("max_freq", "max_freq=2.4GHz"),
    ("platform_profile", "platform_profile=performance"),
    ("uncore_min", "uncore_min=1GHz"),
    ("uncore_max", "uncore_max=2GHz"),
    ("resume_latency", "resume_latency=n/a"),
    ("cpu_dma_latency", "cpu_dma_latency=20"),
    ("idle.STATE", "idle.C6=off"),
    ("thp", "thp=always"),
    ("thp_defrag", "thp_defrag=never"),
    ("huge_pages", "huge_pages=8"),
    ("numa_balancing", "numa_balancing=0"),
    ("smt", "smt=off"),
    ("online", "online@3=off"),
    ("prefetch.l2", "prefetch.l2=off"),
    ("prefetch.l2_pair", "prefetch.l2_pair=off"),
    ("prefetch.l1", "prefetch.l1=off"),
    ("prefetch.l1_ip", "prefetch.l1_ip=off"),
    ("prefetch.l1_stream", "prefetch.l1_stream=off"),
    ("prefetch.l1_stride", "prefetch.l1_stride=off"),
    ("prefetch.l1_region", "prefetch.l1_region=off"),
    ("prefetch.l2_stream", "prefetch.l2_stream=off"),
    ("prefetch.up_down", "prefetch.up_down=off"),
];

/// A value for a lever that it does not have.
pub(crate) fn other_value(lever: &Lever) -> &'static str {
    let row = EVERY.iter().find(|(id, _)| *id == lever.id);
    let (_, setting) = row.unwrap_or_else(|| {
        panic!("the lever `{}` is not tested: give it a row in EVERY", lever.id)
    });
    setting
}

/// The levers that the files of a kernel have: what is asked of a device is on no disk.
pub(crate) fn on_files() -> impl Iterator<Item = &'static Lever> {
    Lever::all().filter(|lever| !matches!(lever.place, LeverPlace::Request(_)))
}
