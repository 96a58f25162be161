//! Levers on files that are laid out like a kernel's: written, read back, killed between any two writes,
//! and undone by another process.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use levers::ask::Asked;
use levers::journal::Shelf;
use levers::plan::Plan;
use levers::port::Kernel;
use levers::{Error, Lever, Levers, Object, Others, Session, undo};
use machine::{Cpuid, Machine, Msr, MsrFolder, Reading};
use model::record::{PageKind, Presentation, Record, Settings};
use model::{CpuId, Obstacle, Unavailable};
use msr_fuse::{Mounted, Registers};
use sys::cpuid::Leaf;
use tempfile::TempDir;

/// A machine of four CPUs, two of them under one policy.
fn files() -> BTreeMap<String, String> {
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
    files
}

struct Fake {
    folder: TempDir,
}

impl Fake {
    fn new() -> Fake {
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

    fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    fn machine(&self) -> Machine {
        Machine::rooted(&self.root()).unwrap()
    }

    fn kernel(&self) -> Box<dyn Levers> {
        kernel(&self.root())
    }

    fn shelf(&self) -> Shelf {
        Shelf::new(self.state(), &self.machine())
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap().trim().to_owned()
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.root().join(path), text).unwrap();
    }

    /// What differs from the files that the machine came with.
    fn changed(&self) -> Vec<String> {
        let differs = |(path, text): (String, String)| {
            let now = self.read(&path);
            (now != text.trim()).then(|| format!("{path}: {now}"))
        };
        files().into_iter().filter_map(differs).collect()
    }

    fn undo(&self) -> levers::Undone {
        self.undo_with(Others::Spare)
    }

    fn undo_with(&self, others: Others) -> levers::Undone {
        undo(&self.machine(), self.kernel(), &self.shelf(), others, "test").unwrap()
    }
}

/// A kernel that marks the chosen word of the list, as the kernel does, and takes the preference along
/// with the governor.
struct Marking {
    kernel: Kernel,
    root: PathBuf,
}

fn kernel(root: &Path) -> Box<dyn Levers> {
    let kernel = Kernel::below(root, root.join("dev/cpu"));
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

fn asked(settings: &[&str]) -> Vec<Asked> {
    settings.iter().map(|text| text.parse().unwrap()).collect()
}

fn plan(fake: &Fake, settings: &[&str]) -> Result<Plan, Error> {
    Plan::new(&fake.machine(), &*fake.kernel(), &asked(settings), true)
}

/// A processor as far as levers ask.
#[derive(Clone, Copy)]
enum Processor {
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

    fn xcr0(&self) -> Option<u64> {
        None
    }
}

const SAPPHIRE_RAPIDS: Processor = Processor::Intel { model: 0x8f };

/// A machine with registers in files of which only two parts are not empty.
fn with_registers(fake: &Fake, processor: Processor) -> Machine {
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

const OTHER_BITS: u64 = 0xffff_0000_0000_0040;

/// Registers that differ from what they came with.
fn changed_registers(fake: &Fake) -> Vec<String> {
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

/// For each lever, a value that it does not have.
const EVERY: &[(&str, &str)] = &[
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

/// How a kernel meets a write.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Meets {
    Takes,
    KeepsNot,
    Refuses,
    Forbids,
}

struct Meeting(Box<dyn Levers>, Meets);

impl Levers for Meeting {
    fn permits(&self, object: &Object) -> io::Result<()> {
        match self.1 {
            Meets::Forbids => Err(io::Error::from(io::ErrorKind::PermissionDenied)),
            _ => self.0.permits(object),
        }
    }

    fn write(&mut self, object: &Object, text: &str) -> io::Result<()> {
        match self.1 {
            Meets::Takes => self.0.write(object, text),
            Meets::KeepsNot => Ok(()),
            Meets::Refuses | Meets::Forbids => Err(sys_einval()),
        }
    }
}

#[test]
fn every_lever_is_applied_read_back_refused_and_undone() {
    for lever in Lever::all() {
        let (_, setting) = EVERY.iter().find(|(id, _)| *id == lever.id).unwrap_or_else(|| {
            panic!("the lever `{}` is not tested: give it a row in EVERY", lever.id)
        });
        let is_amd = lever.doc.contains("(AMD)");
        let processor =
            if is_amd { Processor::Amd { prefetch_control: true } } else { SAPPHIRE_RAPIDS };
        for meets in [Meets::Takes, Meets::KeepsNot, Meets::Refuses, Meets::Forbids] {
            let fake = Fake::new();
            let machine = with_registers(&fake, processor);
            let levers = Box::new(Meeting(fake.kernel(), meets));
            let mut session = Session::open(&machine, levers, &fake.shelf(), "test").unwrap();
            let plan = Plan::new(&machine, session.levers(), &asked(&[setting]), false);
            if meets == Meets::Forbids {
                assert!(matches!(plan, Err(Error::Rights { .. })), "{setting}: {plan:?}");
                continue;
            }
            let plan = plan.unwrap();
            assert!(!plan.changes.is_empty(), "{setting}");
            let done = session.apply(&plan);
            let changed = || [fake.changed(), changed_registers(&fake)].concat();
            match (meets, done) {
                (Meets::Takes, Ok(done)) => {
                    assert_eq!(done.len(), plan.changes.len(), "{setting}");
                    assert!(changed().len() >= done.len(), "{setting}: {:?}", changed());
                }
                (Meets::KeepsNot, Err(error)) => {
                    assert!(matches!(error.cause, Error::NotKept { .. }), "{setting}: {error}");
                }
                (Meets::Refuses, Err(error)) => {
                    assert!(matches!(error.cause, Error::Refused { .. }), "{setting}: {error}");
                }
                (_, other) => panic!("{setting}, {meets:?}: {other:?}"),
            }
            session.leave();
            if meets == Meets::Takes {
                let undone =
                    undo(&machine, fake.kernel(), &fake.shelf(), Others::Spare, "test").unwrap();
                assert!(undone.is_complete(), "{setting}: {undone:?}");
                assert!(undone.restored.len() >= plan.changes.len(), "{setting}: {undone:?}");
            }
            assert_eq!(changed(), [] as [&str; 0], "{setting}, {meets:?}");
        }
    }
}

/// Registers that remember, but for the bits that firmware has locked.
#[derive(Clone, Default)]
struct Remembering {
    values: Arc<Mutex<BTreeMap<(CpuId, u32), u64>>>,
    locked: u64,
}

impl Registers for Remembering {
    fn read(&self, cpu: CpuId, register: u32, _: Duration) -> io::Result<u64> {
        Ok(self.values.lock().unwrap().get(&(cpu, register)).copied().unwrap_or(OTHER_BITS))
    }

    fn write(&self, cpu: CpuId, register: u32, value: u64) -> io::Result<()> {
        let before = self.read(cpu, register, Duration::ZERO)?;
        let value = before & self.locked | value & !self.locked;
        self.values.lock().unwrap().insert((cpu, register), value);
        Ok(())
    }
}

#[test]
fn prefetchers_are_switched_in_registers_as_the_kernel_offers_them() {
    let cpus: Vec<CpuId> = (0..4).map(CpuId).collect();
    for locked in [0, 0b10] {
        let registers = Remembering { locked, ..Remembering::default() };
        let Some(mounted) = Mounted::new(&cpus, registers.clone()) else { return };
        let fake = Fake::new();
        let machine = Machine {
            cpuid: Box::new(SAPPHIRE_RAPIDS),
            msr: Arc::new(MsrFolder::new(mounted.folder())),
            ..fake.machine()
        };
        let kernel = || Box::new(Kernel::below(fake.root(), mounted.folder()));
        let mut session = Session::open(&machine, kernel(), &fake.shelf(), "test").unwrap();
        let settings = asked(&["prefetch.l2@1-2=off", "prefetch.l2_pair@1-2=off"]);
        let plan = Plan::new(&machine, session.levers(), &settings, false).unwrap();
        let made = session.apply(&plan);
        let holds = |cpu| registers.read(CpuId(cpu), 0x1a4, Duration::ZERO).unwrap() ^ OTHER_BITS;
        if locked == 0 {
            made.unwrap();
            assert_eq!([0, 1, 2, 3].map(holds), [0, 3, 3, 0]);
        } else {
            assert!(matches!(made.unwrap_err().cause, Error::NotKept { .. }));
            assert_eq!([0, 1, 2, 3].map(holds), [0; 4]);
        }
        session.leave();
        let undone = undo(&machine, kernel(), &fake.shelf(), Others::Spare, "test").unwrap();
        assert!(undone.is_complete(), "{undone:?}");
        assert_eq!([0, 1, 2, 3].map(holds), [0; 4]);
    }
}

#[test]
fn prefetchers_are_switched_only_where_their_bits_are_known() {
    for (processor, setting, is_known) in [
        (SAPPHIRE_RAPIDS, "prefetch.l2=off", true),
        (SAPPHIRE_RAPIDS, "prefetch.l1_stream=off", false),
        // Atoms: Sierra Forest, Clearwater Forest. Before Nehalem: Dunnington.
        (Processor::Intel { model: 0xaf }, "prefetch.l2=off", false),
        (Processor::Intel { model: 0xdd }, "prefetch.l2=off", false),
        (Processor::Intel { model: 0x1d }, "prefetch.l2=off", false),
        (Processor::Amd { prefetch_control: true }, "prefetch.l1_stream=off", true),
        (Processor::Amd { prefetch_control: false }, "prefetch.l1_stream=off", false),
        (Processor::Amd { prefetch_control: true }, "prefetch.l2=off", false),
    ] {
        let fake = Fake::new();
        let machine = with_registers(&fake, processor);
        let plan = Plan::new(&machine, &*fake.kernel(), &asked(&[setting]), false);
        assert_eq!(plan.is_ok(), is_known, "{setting}: {plan:?}");
    }
}

/// Registers that only root may read.
struct Hidden;

impl Msr for Hidden {
    fn read(&self, _: CpuId, register: u32) -> Reading<u64> {
        let what = format!("register {register:#x}");
        let reason = Unavailable::new(Obstacle::Permission, what, "this user may not read it");
        Err(reason.with_remedy("run as root"))
    }
}

#[test]
fn what_only_root_may_read_is_counted_as_what_root_could_set() {
    let fake = Fake::new();
    let machine =
        Machine { cpuid: Box::new(SAPPHIRE_RAPIDS), msr: Arc::new(Hidden), ..fake.machine() };
    let page = |machine: &Machine| {
        let listed = levers::settings::settings(machine, Some(&*fake.kernel()));
        let listed = listed.into_iter().map(Into::into).collect();
        let look =
            Presentation { width: 100, colour: false, verbosity: 0, page: PageKind::Settings };
        let described = machine::describe(machine, Vec::new(), look);
        let settings = Some(Settings { listed, ..Settings::default() });
        format!("{:?}", levers::pages::settings(&Record { settings, ..described }, 0))
    };
    let text = page(&machine);
    assert!(text.contains("With root, 4 more could be set."), "{text}");
    let absent = text.split("Not on this machine").nth(1).unwrap();
    assert!(absent.contains("prefetch.up_down") && !absent.contains("prefetch.l2,"), "{absent}");
    assert!(!page(&fake.machine()).contains("With root"));
}

/// Granite Rapids: a die of clusters, and an entry that writes to all of them.
#[test]
fn an_entry_for_all_clusters_is_no_die_of_its_own() {
    let fake = Fake::new();
    let folder = fake.root().join("sys/devices/system/cpu/intel_uncore_frequency");
    for (entry, khz) in [("uncore00", "2400000"), ("uncore01", "2200000")] {
        fs::create_dir_all(folder.join(entry)).unwrap();
        fs::write(folder.join(entry).join("domain_id"), "0").unwrap();
        fs::write(folder.join(entry).join("max_freq_khz"), khz).unwrap();
    }
    let plan = plan(&fake, &["uncore_max=2GHz"]).unwrap();
    let objects: Vec<String> = plan.changes.iter().map(|c| c.object.to_string()).collect();
    assert!(objects.len() == 2 && objects.iter().all(|o| o.contains("/uncore0")), "{objects:?}");
}

#[test]
fn an_arm_that_is_as_it_is_has_what_follows_as_it_was() {
    let fake = Fake::new();
    let machine = fake.machine();
    let preference =
        || fake.read("sys/devices/system/cpu/cpu3/cpufreq/energy_performance_preference");
    for b in [&[][..], &["governor=powersave"], &["epp=power"]] {
        let asked = [&["governor=performance"][..], b].map(asked);
        let (arms, _) =
            Plan::arms(&machine, &*fake.kernel(), [&asked[0], &asked[1]], false).unwrap();
        let session = Session::open(&machine, fake.kernel(), &fake.shelf(), "test");
        let mut session = session.unwrap();
        let expected = if b == ["epp=power"] { "power" } else { "balance_performance" };
        for _ in 0..3 {
            session.switch(&arms[0]).unwrap();
            assert_eq!(preference(), "performance");
            session.switch(&arms[1]).unwrap();
            // The driver itself leaves `balance_power`.
            assert_eq!(preference(), expected, "{b:?}");
        }
        assert!(session.restore().is_complete());
        assert_eq!(fake.changed(), [] as [&str; 0]);
    }
}

#[test]
fn a_governor_that_is_left_gets_back_how_it_was_tuned() {
    let fake = Fake::new();
    let folder = fake.root().join("sys/devices/system/cpu/cpu2/cpufreq");
    fs::create_dir_all(folder.join("powersave")).unwrap();
    let tunable = folder.join("powersave/sampling_rate");
    fs::write(&tunable, "4000").unwrap();
    fs::write(folder.join("scaling_setspeed"), "<unsupported>").unwrap();
    set(&fake, &["governor@2=performance"]);
    // The kernel makes it anew, with what it thinks best.
    fs::write(&tunable, "10000").unwrap();
    let undone = fake.undo();
    assert!(undone.is_complete(), "{undone:?}");
    assert_eq!(fs::read_to_string(&tunable).unwrap(), "4000");
    assert_eq!(fs::read_to_string(folder.join("scaling_setspeed")).unwrap(), "<unsupported>");
}

#[test]
fn one_lock_holds_for_all_folders() {
    let fake = Fake::new();
    let machine = fake.machine();
    let lock = fake.folder.path().join("lock");
    let shelf = |name: &str| Shelf::new(fake.folder.path().join(name), &machine).with_lock(&lock);
    let _session = Session::open(&machine, fake.kernel(), &shelf("a"), "root's").unwrap();
    let second = Session::open(&machine, fake.kernel(), &shelf("b"), "a user's");
    let error = second.err().unwrap().to_string();
    assert_eq!(error, "cannot change settings: `root's` is changing them");
    // Who may not hold it keeps to his own folder.
    let nowhere = Shelf::new(fake.folder.path().join("c"), &machine).with_lock("/nowhere/lock");
    assert!(Session::open(&machine, fake.kernel(), &nowhere, "test").is_ok());
}

#[test]
fn a_journal_in_use_is_not_of_a_former_boot() {
    let fake = Fake::new();
    set(&fake, &["thp=always"]);
    // A machine of the same name, such as a container's, in the same home.
    let other = fake.machine();
    let session = Session::open(&other, fake.kernel(), &fake.shelf(), "test").unwrap();
    fake.write("proc/sys/kernel/random/boot_id", "the-second");
    assert_eq!(fake.shelf().formers(), []);
    drop(session);
    assert_eq!(fake.shelf().formers().len(), 1);
}

/// Sets, and leaves it so.
fn set(fake: &Fake, settings: &[&str]) {
    let machine = fake.machine();
    let mut session = Session::open(&machine, fake.kernel(), &fake.shelf(), "test").unwrap();
    let plan = Plan::new(&machine, session.levers(), &asked(settings), true).unwrap();
    session.apply(&plan).unwrap();
    session.leave();
}

const ALL: &[&str] = &[
    "governor=performance",
    "epb=0",
    "no_turbo=on",
    "max_freq@2-3=2.4GHz",
    "min_freq@3=1200MHz",
    "idle.C6=off",
    "thp=always",
    "numa_balancing=0",
    "smt=off",
    "online@3=off",
];

#[test]
fn what_is_set_is_there_and_undone_exactly() {
    for setting in ALL {
        let fake = Fake::new();
        set(&fake, &[setting]);
        assert!(!fake.changed().is_empty(), "{setting} changed nothing");
        let undone = fake.undo();
        assert!(undone.is_complete(), "{setting}: {undone:?}");
        assert_eq!(fake.changed(), [] as [&str; 0], "{setting}");
        assert!(!fake.shelf().path().exists(), "{setting}: the journal is still there");
    }
}

#[test]
fn one_write_sets_a_policy_and_its_followers_come_back() {
    let fake = Fake::new();
    let plan = plan(&fake, &["governor=performance"]).unwrap();
    assert_eq!(plan.changes.len(), 3, "CPUs 0 and 1 share one");
    set(&fake, &["governor=performance"]);
    assert_eq!(fake.read("sys/devices/system/cpu/cpu2/cpufreq/scaling_governor"), "performance");
    fake.undo();
    // The driver itself would have left `balance_power`.
    let preference = "sys/devices/system/cpu/cpu2/cpufreq/energy_performance_preference";
    assert_eq!(fake.read(preference), "balance_performance");
    assert_eq!(fake.changed(), [] as [&str; 0]);
}

#[test]
fn a_session_that_ends_puts_back_what_it_found() {
    let fake = Fake::new();
    set(&fake, &["max_freq=3GHz"]);
    let before = fake.changed();
    let machine = fake.machine();
    let mut session = Session::open(&machine, fake.kernel(), &fake.shelf(), "test").unwrap();
    for settings in [["max_freq=2GHz", "thp=always"], ["max_freq=1GHz", "thp=never"]] {
        let plan = Plan::new(&machine, session.levers(), &asked(&settings), false).unwrap();
        session.apply(&plan).unwrap();
    }
    drop(session);
    assert_eq!(fake.changed(), before);
    assert!(fake.undo().is_complete());
    assert_eq!(fake.changed(), [] as [&str; 0]);
}

#[test]
fn what_others_changed_meanwhile_is_left_alone_unless_forced() {
    let fake = Fake::new();
    set(&fake, &["numa_balancing=0", "epb@0=0"]);
    let bias = "sys/devices/system/cpu/cpu0/power/energy_perf_bias";
    fake.write(bias, "15");
    let undone = fake.undo();
    assert_eq!(undone.restored.len(), 1);
    assert_eq!((&*undone.foreign[0].former, &*undone.foreign[0].now), ("6", "15"));
    assert_eq!(fake.read(bias), "15");
    let undone = fake.undo_with(Others::Overwrite);
    assert!(undone.is_complete());
    assert_eq!(fake.changed(), [] as [&str; 0]);
}

/// A kernel that fails in one way, at one object.
struct Faulty {
    kernel: Box<dyn Levers>,
    /// Objects that are taken as they should be, before the one that is not.
    good: usize,
    /// Those that were met.
    met: Vec<Object>,
    /// The text that is put back.
    former: &'static str,
    fault: Fault,
}

/// What becomes of a text: another one, or an error.
type Fault = fn(&str) -> io::Result<String>;

impl Levers for Faulty {
    fn permits(&self, object: &Object) -> io::Result<()> {
        self.kernel.permits(object)
    }

    fn write(&mut self, object: &Object, text: &str) -> io::Result<()> {
        if !self.met.contains(object) {
            self.met.push(object.clone());
        }
        let is_bad = self.met.iter().position(|met| met == object) == Some(self.good);
        if is_bad && text != self.former {
            let text = (self.fault)(text)?;
            return self.kernel.write(object, &text);
        }
        self.kernel.write(object, text)
    }
}

#[test]
fn a_plan_that_fails_in_the_middle_leaves_nothing_behind() {
    let faults: [(&str, Fault); 3] = [
        ("reads `6`", |_| Ok("6".to_owned())),
        ("busy", |_| Err(io::Error::from_raw_os_error(sys::errno::EBUSY))),
        // Rounded, or clamped: a value that nobody asked for.
        ("reads `4`", |_| Ok("4".to_owned())),
    ];
    for (expected, fault) in faults {
        for good in 0..4 {
            let fake = Fake::new();
            let machine = fake.machine();
            let levers =
                Box::new(Faulty { kernel: fake.kernel(), good, met: vec![], former: "6", fault });
            let mut session = Session::open(&machine, levers, &fake.shelf(), "test").unwrap();
            let plan = Plan::new(&machine, session.levers(), &asked(&["epb=0"]), false).unwrap();
            let error = session.apply(&plan).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
            assert!(error.undone.is_complete(), "{error}");
            assert_eq!(fake.changed(), [] as [&str; 0], "after {good} writes");
            let undone = session.restore();
            assert!(undone.is_complete() && undone.restored.is_empty(), "{undone:?}");
            assert_eq!(fake.changed(), [] as [&str; 0]);
            assert!(!fake.shelf().path().exists());
        }
    }
}

#[test]
fn what_could_not_be_taken_back_is_told_and_stays_ours() {
    let fake = Fake::new();
    let machine = fake.machine();
    // It takes nothing but what it makes of it.
    let fault: Fault = |_| Ok("4".to_owned());
    let levers =
        Box::new(Faulty { kernel: fake.kernel(), good: 1, met: vec![], former: "none", fault });
    let mut session = Session::open(&machine, levers, &fake.shelf(), "test").unwrap();
    let plan = Plan::new(&machine, session.levers(), &asked(&["epb=0"]), false).unwrap();
    let error = session.apply(&plan).unwrap_err();
    assert_eq!(error.undone.failed.len(), 1, "{error}");
    assert!(error.to_string().contains("not everything was put back"), "{error}");
    let undone = session.restore();
    assert!(undone.foreign.is_empty() && undone.failed.len() == 1, "{undone:?}");
    assert_eq!(fake.changed().len(), 1);
    // Another process, and a kernel that has come to its senses.
    assert!(fake.undo().is_complete());
    assert_eq!(fake.changed(), [] as [&str; 0]);
}

/// A kernel that rounds what it takes, and is killed before anybody can look.
struct Rounding(Box<dyn Levers>);

impl Levers for Rounding {
    fn permits(&self, object: &Object) -> io::Result<()> {
        self.0.permits(object)
    }

    fn write(&mut self, object: &Object, text: &str) -> io::Result<()> {
        self.0.write(object, if text == "2450000" { "2400000" } else { text })?;
        std::process::abort();
    }
}

#[test]
fn a_value_that_was_rounded_before_the_kill_is_ours() {
    let fake = Fake::new();
    assert!(killed(&fake, "round", 0));
    assert_eq!(fake.changed().len(), 1);
    let undone = fake.undo();
    assert!(undone.is_complete(), "{undone:?}");
    assert_eq!(fake.changed(), [] as [&str; 0]);
    // What was read back is known: another value is somebody else's.
    set(&fake, &["max_freq=2GHz"]);
    fake.write("sys/devices/system/cpu/cpu3/cpufreq/scaling_max_freq", "2400000");
    assert_eq!(fake.undo().foreign.len(), 1);
}

/// A kernel that refuses limits beyond each other.
struct Ordering {
    kernel: Box<dyn Levers>,
    root: PathBuf,
}

impl Levers for Ordering {
    fn permits(&self, object: &Object) -> io::Result<()> {
        self.kernel.permits(object)
    }

    fn write(&mut self, object: &Object, text: &str) -> io::Result<()> {
        let Object::File(path) = object else { return self.kernel.write(object, text) };
        let number = |path: &str| -> u64 {
            let path = self.root.join(path.trim_start_matches('/'));
            fs::read_to_string(path).unwrap().trim().parse().unwrap()
        };
        let khz: u64 = text.parse().unwrap();
        let fits = match path.split_once("_min_") {
            Some((before, after)) => khz <= number(&format!("{before}_max_{after}")),
            None => khz >= number(&path.replace("_max_", "_min_")),
        };
        if fits { self.kernel.write(object, text) } else { Err(sys_einval()) }
    }
}

fn sys_einval() -> io::Error {
    io::Error::from_raw_os_error(sys::errno::EINVAL)
}

#[test]
fn limits_move_together_in_either_order() {
    for settings in [["min_freq=3GHz", "max_freq=3500MHz"], ["max_freq=3500MHz", "min_freq=3GHz"]] {
        let fake = Fake::new();
        for cpu in 0..4 {
            fake.write(
                &format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_max_freq"),
                "2000000",
            );
        }
        let before = fake.changed();
        let machine = fake.machine();
        let levers = Box::new(Ordering { kernel: fake.kernel(), root: fake.root() });
        let mut session = Session::open(&machine, levers, &fake.shelf(), "test").unwrap();
        let plan = Plan::new(&machine, session.levers(), &asked(&settings), false).unwrap();
        session.apply(&plan).unwrap();
        assert_eq!(fake.read("sys/devices/system/cpu/cpu3/cpufreq/scaling_min_freq"), "3000000");
        assert!(session.restore().is_complete());
        assert_eq!(fake.changed(), before);
    }
}

#[test]
fn the_second_one_learns_who_was_first() {
    let fake = Fake::new();
    let machine = fake.machine();
    let _session = Session::open(&machine, fake.kernel(), &fake.shelf(), "set 17").unwrap();
    let second = Session::open(&machine, fake.kernel(), &fake.shelf(), "set 18");
    let error = second.err().unwrap().to_string();
    assert_eq!(error, "cannot change settings: `set 17` is changing them");
    assert!(undo(&machine, fake.kernel(), &fake.shelf(), Others::Spare, "undo").is_err());
}

#[test]
fn a_journal_of_a_former_boot_is_reported_and_not_replayed() {
    let fake = Fake::new();
    set(&fake, &["thp=always"]);
    fake.write("proc/sys/kernel/random/boot_id", "the-second");
    let formers = fake.shelf().formers();
    assert_eq!(formers.len(), 1);
    assert_eq!(formers[0].1, 1, "settings");
    set(&fake, &["numa_balancing=0"]);
    let undone = fake.undo();
    assert_eq!(undone.restored.len(), 1);
    assert_eq!(fake.read("sys/kernel/mm/transparent_hugepage/enabled"), "[always] madvise never");
    fake.shelf().forget_formers(&formers);
    assert_eq!(fake.shelf().formers(), []);
    // That of another machine in the same folder is nobody's business here.
    set(&fake, &["numa_balancing=0"]);
    fs::create_dir_all(fake.root().join("etc")).unwrap();
    fake.write("etc/machine-id", "another");
    fake.write("proc/sys/kernel/random/boot_id", "the-third");
    assert_eq!(fake.shelf().formers(), []);
    assert!(fake.shelf().pending().unwrap().is_none());
}

#[test]
fn a_journal_that_is_none_is_not_guessed_at() {
    let fake = Fake::new();
    set(&fake, &["thp=always"]);
    let path = fake.shelf().path();
    let text = fs::read_to_string(&path).unwrap();
    // Half a line at its end was never acted upon.
    fs::write(&path, format!("{text}{{\"keeps\":{{\"obj")).unwrap();
    assert_eq!(fake.shelf().pending().unwrap().unwrap().kept.len(), 1);
    set(&fake, &["numa_balancing=0"]);
    assert_eq!(fake.shelf().pending().unwrap().unwrap().kept.len(), 2);
    assert!(fake.undo().is_complete());
    assert_eq!(fake.changed(), [] as [&str; 0]);
    for broken in ["{}\n", "nothing\n", "{\"cpudyno_journal\":2,\"machine\":\"x\",\"boot\":null}\n"]
    {
        fs::write(&path, broken).unwrap();
        assert!(matches!(fake.shelf().pending(), Err(Error::Journal { .. })), "{broken}");
    }
}

/// What a killed process was about to do.
const KILL: &str = "CPUDYNO_TEST_KILL";

/// Dies before or after its nth write.
struct Dying {
    kernel: Box<dyn Levers>,
    moments: usize,
}

impl Dying {
    fn moment(&mut self) {
        match self.moments.checked_sub(1) {
            Some(left) => self.moments = left,
            None => std::process::abort(),
        }
    }
}

impl Levers for Dying {
    fn permits(&self, object: &Object) -> io::Result<()> {
        self.kernel.permits(object)
    }

    fn write(&mut self, object: &Object, text: &str) -> io::Result<()> {
        self.moment();
        self.kernel.write(object, text)?;
        self.moment();
        Ok(())
    }
}

/// The process that is killed: this test, called by the next one.
#[test]
fn dies_when_told() {
    let Ok(order) = std::env::var(KILL) else { return };
    let [what, moments, folder]: [&str; 3] =
        order.split(' ').collect::<Vec<_>>().try_into().unwrap();
    let root = Path::new(folder).join("root");
    let machine = Machine::rooted(&root).unwrap();
    let shelf = Shelf::new(Path::new(folder).join("state"), &machine);
    let levers = Box::new(Dying { kernel: kernel(&root), moments: moments.parse().unwrap() });
    if what == "undo" {
        undo(&machine, levers, &shelf, Others::Spare, "test").unwrap();
        return;
    }
    let settings = if what == "round" { &["max_freq@3=2450MHz"] } else { ALL };
    let levers: Box<dyn Levers> =
        if what == "round" { Box::new(Rounding(kernel(&root))) } else { levers };
    let mut session = Session::open(&machine, levers, &shelf, "test").unwrap();
    let plan = Plan::new(&machine, session.levers(), &asked(settings), true).unwrap();
    session.apply(&plan).unwrap();
    session.restore();
}

/// Whether it was killed.
fn killed(fake: &Fake, what: &str, moments: usize) -> bool {
    let order = format!("{what} {moments} {}", fake.folder.path().display());
    let mut command = Command::new(std::env::current_exe().unwrap());
    let command = command.args(["--exact", "dies_when_told", "--nocapture"]).env(KILL, order);
    let output = command.output().unwrap();
    !output.status.success()
}

#[test]
fn killed_between_any_two_writes_it_is_undone_by_another_process() {
    let mut deaths = 0;
    // Of each write, before and after: applying, and putting back.
    for moment in 0.. {
        let fake = Fake::new();
        if !killed(&fake, "set", moment) {
            assert_eq!(fake.changed(), [] as [&str; 0], "nobody died");
            break;
        }
        deaths += 1;
        // The first attempt to undo dies, too.
        killed(&fake, "undo", moment % 7);
        let undone = fake.undo();
        assert!(undone.is_complete(), "killed at {moment}: {undone:?}");
        assert_eq!(fake.changed(), [] as [&str; 0], "killed at {moment}");
    }
    assert!(deaths > 50, "{deaths}");
}

#[test]
fn wrong_words_are_refused_with_the_right_ones() {
    let fake = Fake::new();
    let parse = |text: &str| text.parse::<Asked>().unwrap_err().to_string();
    assert!(parse("governor").contains("looks like governor=performance"));
    assert!(parse("governer=performance").contains("no such setting"));
    assert!(parse("governor@=performance").starts_with("cannot read"));
    assert!(parse("thp@0=always").contains("no setting of single CPUs"));
    assert!(parse("governor=").contains("to be set to?"));
    let why = |text: &str| plan(&fake, &[text]).unwrap_err().to_string();
    assert!(why("governor=perfomance").contains("did you mean `performance`?"));
    assert!(why("epb=16").contains("from 0 to 15"));
    assert!(why("max_freq=2400000").contains("with a unit"));
    assert!(why("idle.C9=off").contains("no idle state C9, but POLL, C1, C6"));
    assert!(why("online@0=off").contains("there is no `/sys/devices/system/cpu/cpu0/online`"));
    assert!(why("epb@9=0").contains("there is no CPU 9"));
    // 20 MiB are left, and four pages are set aside already.
    assert!(why("huge_pages=15").contains("memory for 14 pages of 2048 KiB"));
    fake.write("sys/firmware/acpi/platform_profile", "custom");
    assert!(why("platform_profile=quiet").contains("holds `custom`, which cannot be written back"));
    fake.write("sys/firmware/acpi/platform_profile", "balanced");
    assert!(why("prefetch.l2=off").contains("none of them"));
    assert_eq!(fake.changed(), [] as [&str; 0]);
}

#[test]
fn what_is_bound_to_a_cpu_is_named_before_it_goes() {
    let fake = Fake::new();
    let put = |path: &str, text: &str| {
        let path = fake.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    // The process may run everywhere, one of its threads may not.
    put("proc/17/task/17/status", "Name:\tserver\nCpus_allowed_list:\t0-3\n");
    put("proc/17/task/19/status", "Name:\tserver\nCpus_allowed_list:\t2-3\n");
    put("proc/17/cmdline", "server\0");
    put("proc/18/task/18/status", "Name:\tshell\nCpus_allowed_list:\t0-3\n");
    put("proc/18/cmdline", "sh\0");
    put("proc/irq/5/smp_affinity_list", "3\n");
    // This one has another CPU left, these two come back with theirs.
    put("proc/irq/6/smp_affinity_list", "0,3\n");
    put("proc/irq/7/smp_affinity_list", "3\n");
    put("sys/kernel/irq/7/actions", "nvme0q4\n");
    put("proc/irq/8/smp_affinity_list", "3\n");
    put("proc/irq/8/smp_affinity", "8\n");
    let mask = fake.root().join("proc/irq/8/smp_affinity");
    fs::set_permissions(mask, fs::Permissions::from_mode(0o444)).unwrap();
    let refused = Plan::new(&fake.machine(), &*fake.kernel(), &asked(&["online@3=off"]), false);
    let why = refused.unwrap_err().to_string();
    assert!(why.contains("CPU 3 would go offline; threads are bound there"), "{why}");
    assert!(why.contains("server (19, CPUs 2-3); 1 interrupt is"), "{why}");
    assert!(!why.contains("shell"), "{why}");
    let forced = plan(&fake, &["online@3=off"]).unwrap();
    assert_eq!(forced.changes.len(), 1);
    assert!(Plan::new(&fake.machine(), &*fake.kernel(), &asked(&["online@1=off"]), false).is_ok());
}
