//! Every lever: written, read back, refused, undone, and what is said of those that are not there.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use levers::ask::SettingSpec;
use levers::plan::Plan;
use levers::port::KernelPort;
use levers::{Error, Levers, Object, Others, Session, undo};
use machine::{KnownHost, Machine, Msr, MsrFolder};
use model::record::{PageKind, Presentation, Record, Settings};
use model::{CpuId, Known, Obstacle, Reading, Unavailable};
use msr_fuse::{Mounted, Registers};

use crate::fake::{
    Fake, OTHER_BITS, Processor, SAPPHIRE_RAPIDS, asked, changed_registers, on_files, other_value,
    plan, processor_with, sys_einval, with_registers,
};

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
    for lever in on_files() {
        let setting = other_value(lever);
        for meets in [Meets::Takes, Meets::KeepsNot, Meets::Refuses, Meets::Forbids] {
            let fake = Fake::new();
            let machine = with_registers(&fake, processor_with(lever));
            let levers = Box::new(Meeting(fake.kernel(), meets));
            let mut session = Session::open(&machine, levers, &fake.shelf(), "test").unwrap();
            let plan = Plan::new(&machine, session.levers(), &asked(&[setting]), true);
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
                assert!(!fake.shelf().path().exists(), "{setting}: the journal is still there");
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
        let kernel = || Box::new(KernelPort::below(fake.root(), mounted.folder()));
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

/// Under lockdown registers open, and nobody writes them: what helps is no other user.
#[test]
fn a_locked_kernel_is_told_before_anything_is_written() {
    for (file, text) in [
        ("sys/kernel/security/lockdown", "none [integrity] confidentiality\n"),
        ("proc/cmdline", "quiet lockdown=confidentiality\n"),
    ] {
        let fake = Fake::new();
        let machine = with_registers(&fake, SAPPHIRE_RAPIDS);
        let of = |asked: &[&str]| {
            Plan::new(&machine, &*fake.kernel(), &self::asked(asked), false).map(drop)
        };
        assert!(of(&["prefetch.l2=off"]).is_ok());
        let path = fake.root().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        let Err(Error::Rights { why, remedy, .. }) = of(&["thp=never", "prefetch.l2=off"]) else {
            panic!("{file}: it is locked")
        };
        assert!(why.contains("locked down") && why.contains(file), "{why}");
        assert!(remedy.is_some_and(|remedy| !remedy.contains("root")));
        let listed = levers::settings::settings(&machine, Some(&*fake.kernel()));
        let setting = listed.iter().find(|setting| setting.name == "prefetch.l2").unwrap();
        assert!(matches!(&setting.settable, Known::No { unavailable } if unavailable.why == why));
        assert!(of(&["thp=never"]).is_ok());
    }
}

/// Without the driver of registers nobody reads them, and root is told to load it.
#[test]
fn a_missing_driver_is_no_missing_right() {
    struct NoDriver(&'static str);
    impl Msr for NoDriver {
        fn read(&self, _: CpuId, _: u32) -> Reading<u64> {
            let reason = Unavailable::new(Obstacle::Permission, "register", "no driver");
            Err(reason.with_remedy(self.0))
        }
    }
    let fake = Fake::new();
    for (told, expected) in
        [("`sudo modprobe msr`", Some("`sudo modprobe msr`")), ("run as root; or so", None)]
    {
        let cpuid = Box::new(SAPPHIRE_RAPIDS);
        let machine = Machine { cpuid, msr: Arc::new(NoDriver(told)), ..fake.machine() };
        let plan = Plan::new(&machine, &*fake.kernel(), &asked(&["prefetch.l2=off"]), false);
        let Err(Error::Rights { remedy, .. }) = plan else { panic!("{plan:?}") };
        assert_eq!(remedy.as_deref(), expected);
    }
}

/// Who is root, and is refused all the same, has to look elsewhere.
#[test]
fn root_is_not_told_to_be_root() {
    let fake = Fake::new();
    let (cpuid, msr) = (Box::new(SAPPHIRE_RAPIDS), Arc::new(Hidden));
    let machine = Machine { cpuid, msr, ..fake.machine() };
    let theirs = fake.machine().host;
    let host = KnownHost {
        now_utc: theirs.now_utc(),
        run_id: theirs.run_id(),
        seed: theirs.seed(),
        affinity: theirs.affinity(),
        is_root: true,
    };
    let machine = Machine { host: Box::new(host), ..machine };
    let plan = Plan::new(&machine, &*fake.kernel(), &asked(&["prefetch.l2=off"]), false);
    let Err(Error::Rights { remedy: Some(remedy), .. }) = plan else { panic!("{plan:?}") };
    assert!(remedy.contains("to root, too"), "{remedy}");
}

/// Who may write nothing.
struct Locked;

impl Levers for Locked {
    fn permits(&self, _: &Object) -> io::Result<()> {
        Err(io::ErrorKind::PermissionDenied.into())
    }

    fn write(&mut self, object: &Object, _: &str) -> io::Result<()> {
        panic!("nobody may write {object}")
    }
}

#[test]
fn what_is_as_it_should_be_needs_no_right() {
    let fake = Fake::new();
    let plan = |text: &str| Plan::new(&fake.machine(), &Locked, &asked(&[text]), false);
    let plan_of_now = plan("thp=madvise").unwrap();
    assert!(plan_of_now.changes.is_empty() && plan_of_now.already.len() == 1, "{plan_of_now:?}");
    assert!(matches!(plan("thp=never"), Err(Error::Rights { .. })));
}

/// A kernel booted with `nosmt` refuses second threads to everybody, with EPERM.
struct NoSmt(Box<dyn Levers>);

impl Levers for NoSmt {
    fn permits(&self, object: &Object) -> io::Result<()> {
        self.0.permits(object)
    }

    fn write(&mut self, object: &Object, text: &str) -> io::Result<()> {
        let is_online = object.to_string().ends_with("/online") && text == "1";
        if is_online { Err(io::Error::from_raw_os_error(1)) } else { self.0.write(object, text) }
    }
}

#[test]
fn second_threads_under_nosmt_are_no_matter_of_rights() {
    for (control, told) in [("off", "cpudyno set smt=on"), ("forceoff", "nosmt=force")] {
        let fake = Fake::new();
        fake.write("sys/devices/system/cpu/smt/control", control);
        fake.write("sys/devices/system/cpu/cpu3/online", "0");
        let machine = fake.machine();
        let levers = Box::new(NoSmt(fake.kernel()));
        let mut session = Session::open(&machine, levers, &fake.shelf(), "test").unwrap();
        let plan = Plan::new(&machine, session.levers(), &asked(&["online@3=on"]), false).unwrap();
        let error = session.apply(&plan).unwrap_err();
        let Error::Refused { is_right, deciders, .. } = &error.cause else { panic!("{error:?}") };
        assert!(!is_right && deciders.iter().any(|why| why.contains(told)), "{deciders:?}");
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
        let look = Presentation::of(PageKind::Settings);
        let described = machine::describe(machine, Vec::new(), look);
        let settings = Some(Settings { listed, ..Settings::default() });
        format!("{:?}", report::settings::settings(&Record { settings, ..described }, 0))
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
fn wrong_words_are_refused_with_the_right_ones() {
    let fake = Fake::new();
    let parse = |text: &str| text.parse::<SettingSpec>().unwrap_err().to_string();
    assert!(parse("governor").contains("looks like governor=performance"));
    assert!(parse("governer=performance").contains("no such setting"));
    assert!(parse("governor@=performance").starts_with("cannot read"));
    assert!(parse("thp@0=always").contains("no setting of single CPUs"));
    assert!(parse("governor=").contains("the value of `governor` is missing"));
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
    assert!(why("prefetch.l2=off").contains("whether this CPU is one of them is unknown"));
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
    assert!(why.contains("CPU 3 would go offline; threads that are bound there"), "{why}");
    assert!(why.contains("server (19, CPUs 2-3); 1 interrupt is"), "{why}");
    assert!(!why.contains("shell"), "{why}");
    let forced = plan(&fake, &["online@3=off"]).unwrap();
    assert_eq!(forced.changes.len(), 1);
    assert!(Plan::new(&fake.machine(), &*fake.kernel(), &asked(&["online@1=off"]), false).is_ok());
}
