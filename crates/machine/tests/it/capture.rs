//! Captures: a replayed machine answers as the captured one did, nobody is named, and a broken
//! capture says where.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::rc::Rc;
use std::sync::Arc;

use machine::permissions::{Permits, Question};
use machine::{Cpuid, Files, KnownHost, Machine, Msr, Tree};
use model::record::Fact;
use model::{CpuId, Obstacle, Reading, Unavailable};
use recorded::{capture, parse};
use simulated::files::digits_of;
use sys::cpuid::Leaf;

fn replayed(machine: &Machine) -> (String, Machine) {
    let text = capture(machine);
    let machine = parse("test", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    (text, machine)
}

/// The first lines that are not the same.
fn first_difference<'a>(a: &'a str, b: &'a str) -> Option<(&'a str, &'a str)> {
    let pairs = a.split('\n').zip(b.split('\n').chain([""]));
    pairs.into_iter().find(|(a, b)| a != b).or((a.len() != b.len()).then_some(("", "longer")))
}

/// What may change between two readings.
const VOLATILE: &[&str] =
    &["load", "temperature", "memory.available", "memory.free", "memory.swapped"];

fn steady(facts: Vec<Fact>) -> Vec<Fact> {
    facts.into_iter().filter(|fact| !VOLATILE.contains(&fact.id.as_str())).collect()
}

/// Facts, topology, capabilities and conditions are those that were captured.
fn assert_same(captured: &Machine, replayed: &Machine) {
    let (then, now) = (machine::facts::machine(captured), machine::facts::machine(replayed));
    for (then, now) in steady(then.facts).into_iter().zip(steady(now.facts)) {
        assert_eq!(then, now);
    }
    assert_eq!(then.topology, now.topology);
    for read in [machine::doctor::capabilities, machine::conditions::read] {
        for (then, now) in steady(read(captured)).into_iter().zip(steady(read(replayed))) {
            assert_eq!(then, now);
        }
    }
}

#[test]
fn this_machine_is_replayed() {
    let real = Machine::real();
    let (text, machine) = replayed(&real);
    assert_same(&real, &machine);
    assert_eq!(first_difference(&capture(&machine), &text), None);
    let elsewhere = machine.elsewhere.unwrap();
    assert!(elsewhere.starts_with("a capture, taken 20"), "{elsewhere}");
    assert!(elsewhere.ends_with(concat!("by cpudyno ", env!("CARGO_PKG_VERSION"))), "{elsewhere}");
}

#[test]
fn simulated_machines_are_replayed_and_say_so() {
    for name in simulated::names() {
        let simulated = Machine::named(&format!("sim:{name}")).unwrap();
        let (text, machine) = replayed(&simulated);
        assert!(text.lines().nth(1).unwrap().contains("SIMULATED"), "{text}");
        assert!(machine.elsewhere.as_ref().unwrap().contains("SIMULATED"));
        assert_same(&simulated, &machine);
        assert_eq!(first_difference(&capture(&machine), &text), None);
        assert_eq!(machine.host.now_utc(), simulated.host.now_utc());
    }
}

/// Notes which paths are asked for and answered.
struct Noted {
    tree: Box<dyn Tree>,
    paths: Rc<RefCell<BTreeSet<String>>>,
}

impl Noted {
    fn note<T>(&self, path: &str, answer: Reading<T>) -> Reading<T> {
        if answer.is_ok() {
            self.paths.borrow_mut().insert(path.to_owned());
        }
        answer
    }
}

impl Tree for Noted {
    fn read(&self, path: &str) -> Reading<String> {
        self.note(path, self.tree.read(path))
    }

    fn list(&self, path: &str) -> Reading<Vec<String>> {
        self.note(path, self.tree.list(path))
    }
}

/// A new fact that reads a new file needs a row in the table of what is captured.
#[test]
fn whatever_is_read_is_captured() {
    let paths = Rc::new(RefCell::new(BTreeSet::new()));
    let noted = |machine: Machine| {
        let tree = Box::new(Noted { tree: machine.tree, paths: Rc::clone(&paths) });
        let machine = Machine { tree, ..machine };
        machine::facts::machine(&machine);
        machine::conditions::read(&machine);
        machine::doctor::capabilities(&machine);
    };
    noted(Machine::real());
    noted(server(4));
    for name in simulated::names() {
        noted(Machine::named(&format!("sim:{name}")).unwrap());
    }
    let (_, empty) = replayed(&somewhere(Files::default()));
    // A mask repeats the list beside it, which is captured.
    let is_mask = |path: &str| {
        ["_map", "cpumap", "_cpus", "_siblings"].iter().any(|end| path.ends_with(end))
            && !path.contains("/cpufreq/")
    };
    let is_whole = |path: &&String| !path.starts_with("/sys/fs/cgroup/") && !is_mask(path);
    for path in paths.borrow().iter().filter(is_whole) {
        let why = empty.tree.read(path).unwrap_err().why;
        assert!(why.contains("there is no"), "{path}: {why}");
    }
}

/// A machine of these files.
fn somewhere(files: Files) -> Machine {
    Machine {
        tree: Box::new(files),
        cpuid: Box::new(Registers),
        msr: Arc::new(Registers),
        isst: Arc::new(machine::isst::NoIsst::not_recorded("it was not recorded")),
        permits: Box::new(Registers),
        perf: Box::new(machine::perf::Elsewhere("a machine of a test".to_owned())),
        host: Box::new(somebody()),
        elsewhere: None,
        simulated: None,
        worker: None,
    }
}

/// Answers that depend on the CPU, and refusals of each kind.
struct Registers;

impl Cpuid for Registers {
    fn leaf(&self, leaf: u32, subleaf: u32) -> Option<Leaf> {
        self.leaf_of(CpuId(0), leaf, subleaf)
    }

    fn leaf_of(&self, cpu: CpuId, leaf: u32, subleaf: u32) -> Option<Leaf> {
        let answer = |eax, ecx| Some(Leaf { eax, ebx: leaf, ecx, edx: cpu.0 });
        match (leaf, subleaf) {
            (0, 0) => answer(0xb, 0),
            (1..=0xa, _) => answer(u32::from(subleaf < 3), 0),
            (0xb, 0..2) => answer(1, 0x100),
            (0xb, _) => answer(0, 0),
            _ => None,
        }
    }

    fn xcr0(&self) -> Option<u64> {
        Some(0xe7)
    }
}

impl Msr for Registers {
    fn read(&self, cpu: CpuId, register: u32) -> Reading<u64> {
        let what = format!("register {register:#x}");
        match register {
            0xce => Ok(0x8080_838f_3012_2000),
            0xe8 => Ok(u64::from(cpu.0)),
            0x1a2 => Err(Unavailable::new(
                Obstacle::Permission,
                what,
                format!("`/dev/cpu/{cpu}/msr` may not be read"),
            )),
            _ => Err(Unavailable::new(Obstacle::Hardware, what, "no such register")),
        }
    }
}

impl Permits for Registers {
    fn ask(&self, question: Question) -> Reading<String> {
        match question {
            Question::CpuDmaLatency => Ok("opened = and closed".to_owned()),
            _ => Err(Unavailable::new(Obstacle::Permission, question.name(), "it -> {} is shut")
                .with_remedy("open it ")),
        }
    }
}

/// Root, on two CPUs.
fn somebody() -> KnownHost {
    KnownHost {
        now_utc: "2026-01-02T03:04:05Z".to_owned(),
        run_id: "0123456789ab".to_owned(),
        seed: 1,
        affinity: Ok("0-1".parse().unwrap()),
        is_root: true,
    }
}

const CPU: &str = "/sys/devices/system/cpu";

/// A server with two threads per core, the second half of the CPUs being the second threads.
fn server(cpus: u32) -> Machine {
    let mut files = Files::default();
    let mut cpuinfo = String::new();
    files.put(format!("{CPU}/online"), &format!("0-{}", cpus - 1));
    for cpu in 0..cpus {
        let core = cpu % (cpus / 2);
        let siblings = format!("{core},{}", core + cpus / 2);
        let put = |files: &mut Files, file: &str, text: &str| {
            files.put(format!("{CPU}/cpu{cpu}/{file}"), text);
        };
        for (file, text) in [
            ("topology/physical_package_id", u32::from(core >= cpus / 4).to_string()),
            ("topology/core_id", core.to_string()),
            ("topology/core_cpus_list", siblings.clone()),
            ("topology/thread_siblings_list", siblings.clone()),
            ("topology/package_cpus_list", format!("0-{}", cpus - 1)),
        ] {
            put(&mut files, file, &text);
        }
        for index in 0..4 {
            put(&mut files, &format!("cache/index{index}/level"), &index.max(1).to_string());
            put(&mut files, &format!("cache/index{index}/id"), &core.to_string());
            put(&mut files, &format!("cache/index{index}/size"), "48K");
            put(&mut files, &format!("cache/index{index}/shared_cpu_list"), &siblings);
        }
        for (file, text) in [("affected_cpus", cpu), ("related_cpus", cpu), ("scaling_max_freq", 1)]
        {
            put(&mut files, &format!("cpufreq/{file}"), &text.to_string());
            files.put(format!("{CPU}/cpufreq/policy{cpu}/{file}"), &text);
        }
        put(&mut files, "acpi_cppc/highest_perf", &(200 + cpu % 7).to_string());
        for state in 0..4 {
            put(&mut files, &format!("cpuidle/state{state}/name"), &format!("C{state}"));
            put(&mut files, &format!("cpuidle/state{state}/latency"), "1");
        }
        let _ = write!(
            cpuinfo,
            "processor\t: {cpu}\nmodel name\t: Server {{}}\ncpu MHz\t\t: {}.000\ncore id\t\t: \
             {core}\napicid\t\t: {}\nflags\t\t: fpu\npower management:\n\n",
            2000 + cpu * 37 % 400,
            cpu * 2,
        );
    }
    files.put("/proc/cpuinfo", cpuinfo.trim_end_matches('\n'));
    somewhere(files)
}

#[test]
fn every_port_answers_as_it_did() {
    let captured = server(8);
    let (text, machine) = replayed(&captured);
    assert_same(&captured, &machine);
    assert_eq!(first_difference(&capture(&machine), &text), None);
    for cpu in (0..8).map(CpuId) {
        for (leaf, subleaf) in
            [(0, 0), (1, 0), (4, 2), (4, 3), (7, 1), (0xb, 1), (0xb, 2), (0xd, 1)]
        {
            let ask = |machine: &Machine| machine.cpuid.leaf_of(cpu, leaf, subleaf);
            assert_eq!(ask(&machine), ask(&captured), "{leaf:#x}.{subleaf}");
        }
        for register in [0xce, 0xe7, 0xe8, 0x1a2] {
            let ask = |machine: &Machine| machine.msr.read(cpu, register);
            assert_eq!(ask(&machine), ask(&captured));
        }
    }
    assert_eq!(machine.cpuid.leaf(1, 0), captured.cpuid.leaf(1, 0));
    assert_eq!(machine.cpuid.leaf(1, 7), captured.cpuid.leaf(1, 0));
    assert_eq!(machine.cpuid.xcr0(), Some(0xe7));
    for question in Question::ALL {
        assert_eq!(machine.permits.ask(*question), captured.permits.ask(*question));
    }
    assert_eq!(machine.host.affinity().unwrap().to_string(), "0-1");
    assert!(machine.host.is_root());
    let read = |machine: &Machine| machine.tree.read("/proc/cpuinfo");
    assert_eq!(read(&machine), read(&captured));
    for folder in [CPU.to_owned(), format!("{CPU}/cpu3"), format!("{CPU}/cpu3/cache/index2")] {
        assert_eq!(machine.tree.list(&folder), captured.tree.list(&folder));
    }
}

#[test]
fn what_was_not_looked_for_is_not_said_to_be_absent() {
    let (text, machine) = replayed(&server(2));
    let absent = machine.tree.read("/sys/devices/system/cpu/smt/control").unwrap_err();
    assert_eq!(absent.obstacle, Obstacle::Hardware);
    assert_eq!(absent.why, "there is no `/sys/devices/system/cpu/smt/control` here");
    let never = machine.tree.read("/etc/hostname").unwrap_err();
    assert_eq!(never.obstacle, Obstacle::Cpudyno);
    assert_eq!(
        (never.why.as_str(), never.remedy),
        ("the capture does not hold `/etc/hostname`", None)
    );
    let older = text.replace("/sys/devices/system/cpu/smt/{active,control}\n", "");
    let older = parse("older", &older).unwrap();
    let unasked = older.tree.read("/sys/devices/system/cpu/smt/control").unwrap_err();
    assert_eq!(unasked.obstacle, Obstacle::Cpudyno);
    assert!(unasked.remedy.unwrap().contains("cpudyno capture FILE"));
    let register = machine.msr.read(CpuId(0), 0x4f).unwrap_err();
    assert_eq!((register.obstacle, register.remedy), (Obstacle::Cpudyno, None));
    assert!(machine.msr.read(CpuId(9), 0xce).unwrap_err().why.ends_with("0xce of CPU 9"));
    assert!(machine.tree.read("/sys/devices/system/cpu").unwrap_err().why.ends_with("is a folder"));
}

#[test]
fn refusals_keep_their_reason() {
    struct Shut(Files);
    impl Tree for Shut {
        fn read(&self, path: &str) -> Reading<String> {
            if path.starts_with("/sys/class/dmi") {
                let why = format!("this user may not read `{path}`");
                return Err(Unavailable::new(Obstacle::Permission, format!("`{path}`"), why)
                    .with_remedy("run as root"));
            }
            self.0.read(path)
        }
        fn list(&self, path: &str) -> Reading<Vec<String>> {
            if path == "/sys/class/hwmon" {
                return Ok(Vec::new());
            }
            if path == "/sys/class/thermal" {
                return Err(Unavailable::new(Obstacle::Permission, format!("`{path}`"), "shut"));
            }
            self.0.list(path)
        }
    }
    let machine = somewhere(Files::default());
    let captured = Machine { tree: Box::new(Shut(Files::default())), ..machine };
    let (text, machine) = replayed(&captured);
    assert_eq!(first_difference(&capture(&machine), &text), None);
    let read = |machine: &Machine| machine.tree.read("/sys/class/dmi/id/bios_version");
    assert_eq!(read(&machine), read(&captured));
    for folder in ["/sys/class/hwmon", "/sys/class/thermal"] {
        assert_eq!(machine.tree.list(folder), captured.tree.list(folder));
    }
    assert!(machine.tree.list("/sys/class/powercap").is_err());
}

#[test]
fn a_large_machine_is_a_small_text() {
    let (text, _) = replayed(&server(512));
    assert!(text.len() < 1_000_000, "{} bytes", text.len());
    assert!(text.contains("/sys/devices/system/cpu/cpu[0-511]/cache/index2/size = 48K\n"));
    assert!(text.contains("/sys/devices/system/cpu/cpu[0-511]/cpufreq/affected_cpus = {}\n"));
}

/// What names people, hosts and single machines, planted wherever a kernel would show it.
const DMI: &str = "/sys/firmware/dmi/tables/DMI";

/// A system with a serial number, a DIMM with one and an asset tag, and what a vendor wrote behind all that the
/// specification has: types 1, 17 and 221 of DSP0134.
fn named_dimm() -> Vec<u8> {
    let mut system = [1, 0x1b, 0, 1, 1, 2, 3, 4].to_vec();
    system.extend(b"4c4c4544-0042-3510\0");
    let mut dimm =
        vec![17, 0x28, 0, 0x11, 0, 0x10, 0xfe, 0xff, 72, 0, 64, 0, 0, 0x40, 9, 0, 1, 2, 0x1a];
    dimm.extend([0x80, 0, 0x75, 0x0b, 3, 4, 5, 6, 2, 0, 0, 0, 0, 0x6a, 0x0a, 0, 0, 0, 0, 0, 0]);
    let of_vendor = [221, 4, 9, 9];
    [
        &system,
        &b"Vendor\0whirlwind\x001\0SN-12345\0\0"[..],
        &dimm,
        &b"P1-DIMMA1\0P0 CHANNEL A\0Maker\0deadbeefcafe\0alice\0PART\0\0"[..],
        &of_vendor,
        &b"whirlwind\0\0"[..],
        &[127, 4, 0xff, 0xfe, 0, 0],
    ]
    .concat()
}

#[test]
fn nobody_is_named() {
    const SECRETS: &[&str] = &[
        "whirlwind",
        "alice",
        "4c4c4544-0042-3510",
        "deadbeefcafe",
        "10.20.30.40",
        "fe80::1",
        "02:42:ac:11:00:02",
        "SN-12345",
        "133E1B",
        "7f3a9c",
        "1234567",
    ];
    let mut files = Files::default();
    for (path, text) in [
        (
            "/proc/cmdline",
            "BOOT_IMAGE=/vmlinuz root=UUID=4c4c4544-0042-3510 ip=10.20.30.40::fe80::1:whirlwind \
                           mac=02:42:ac:11:00:02 alice mitigations=off -- --host whirlwind",
        ),
        ("/proc/version", "Linux version 6.8 (alice@whirlwind)"),
        ("/proc/sys/kernel/hostname", "whirlwind"),
        ("/proc/sys/kernel/osrelease", "6.8.0"),
        ("/proc/self/cgroup", "4:memory:/docker/7f3a9c\n0::/user.slice/user-alice.slice/whirlwind"),
        ("/sys/fs/cgroup/user.slice/user-alice.slice/cpu.max", "100000 100000"),
        ("/sys/fs/cgroup/user.slice/user-alice.slice/whirlwind/cpu.max", "50000 100000"),
        ("/sys/fs/cgroup/memory/docker/7f3a9c/memory.limit_in_bytes", "1"),
        ("/proc/self/status", "Name:\talice\nCpus_allowed_list:\t0-1"),
        (
            "/proc/cpuinfo",
            "processor\t: 0\nSerial\t\t: deadbeefcafe\nx: identification = 133E1B, y",
        ),
        ("/sys/class/dmi/id/product_uuid", "4c4c4544-0042-3510"),
        ("/sys/class/dmi/id/product_serial", "SN-12345"),
        ("/sys/class/dmi/id/bios_vendor", "Vendor"),
        ("/sys/devices/system/cpu/cpu0/topology/ppin", "0xdeadbeefcafe"),
        ("/etc/machine-id", "deadbeefcafe"),
        ("/proc/mounts", "alice@whirlwind:/home /home/alice fuse rw 0 0"),
        ("/proc/self/mountinfo", "1 0 8:1 / /home/alice rw - ext4 /dev/alice rw"),
        ("/proc/self/cpuset", "/user.slice/user-alice.slice"),
        ("/proc/self/uid_map", "0 1234567 65536"),
        ("/proc/sysinfo", "LPAR Name: whirlwind\nVM00 Control Program: KVM/Linux"),
        ("/etc/hostname", "whirlwind"),
        ("/boot/config-6.8.0", "CONFIG_DEFAULT_HOSTNAME=\"whirlwind\"\nCONFIG_HZ=1000"),
        ("/run/.containerenv", "name=\"alice\""),
        ("/proc/modules", "msr 16384 0 - Live 0x0000\nalice_driver 1 0 - Live 0x0"),
        (DMI, &digits_of(&named_dimm())),
    ] {
        files.put(path, text);
    }
    let (text, machine) = replayed(&somewhere(files));
    for secret in SECRETS {
        assert!(!text.contains(secret), "`{secret}` is in the capture:\n{text}");
    }
    let table = machine.tree.bytes(DMI).unwrap();
    let strings = String::from_utf8_lossy(&table);
    assert!(strings.contains("P1-DIMMA1") && strings.contains("P0 CHANNEL A"), "{strings}");
    for secret in SECRETS {
        assert!(!strings.contains(secret), "`{secret}` is in the table: {strings}");
    }
    let read = |path: &str| machine.tree.read(path).unwrap();
    assert_eq!(read("/proc/self/cgroup"), "4:memory:/group1/group2\n0::/group3/group4/group5");
    assert_eq!(read("/sys/fs/cgroup/group3/group4/group5/cpu.max"), "50000 100000");
    assert_eq!(read("/sys/fs/cgroup/memory/group1/group2/memory.limit_in_bytes"), "1");
    assert_eq!(read("/boot/config-6.8.0"), "CONFIG_HZ=1000");
    assert_eq!(read("/run/.containerenv"), "");
    assert!(read("/proc/cmdline").ends_with("mac=… … mitigations=off"));
    assert_eq!(first_difference(&capture(&machine), &text), None);
}

/// The capture with a line in a section.
fn with(section: &str, line: &str) -> String {
    let text = capture(&somewhere(Files::default()));
    text.replace(&format!("[{section}]\n"), &format!("[{section}]\n{line}\n"))
}

#[test]
fn broken_captures_say_where_and_what_was_expected() {
    let good = capture(&server(2));
    let cut = &good[..good.len() / 2];
    let cases = [
        (String::new(), "expected `cpudyno-capture 1`, found ``"),
        ("\u{7f}ELF\0\u{1}".to_owned(), "expected `cpudyno-capture 1`, found `\\u{7f}ELF"),
        (
            good.replace("capture 1", "capture 2"),
            "reads captures of version 1, and this one has version `2`",
        ),
        (good.replace("[end]", ""), "the capture was cut off: expected `[end]`"),
        (cut.to_owned(), "expected"),
        (good.clone() + "more", "expected nothing behind `[end]`"),
        (good.replace("[msr]", "[rsm]"), "expected one of [walked] [tree]"),
        (good.replace("[msr]", "[tree]"), "the section `[tree]` is there twice"),
        (good.replace("captured =", "taken ="), "expected a line `captured = ...`"),
        (good.replace("affinity = 0-1", "affinity = x"), "cannot read `x` in CPU list"),
        (with("tree", "/cpu[0-4294967295]/online = 1"), "expected ascending numbers up to 65535"),
        (with("tree", "/cpu[3-1]/online = 1"), "expected ascending numbers"),
        (with("tree", "/cpu[0-3/online = 1"), "expected numbers in brackets"),
        (with("tree", "/cpu1[0-3]/online = 1"), "expected the brackets at the first number"),
        (with("tree", "/cpu[0-3]/a = 1\n/cpu3/a = 1"), "says again what another one said"),
        (with("tree", "relative = 1"), "expected a path such as"),
        (with("tree", "/proc = \\x"), "expected `\\\\`, `\\n`"),
        (with("tree", "/proc"), "expected `NAME = VALUE`"),
        (with("tree", "/proc = {}"), "stands for the number in the path"),
        (with("walked", "nothing"), "expected a pattern of paths"),
        (with("cpuinfo", "x"), "expected `[NUMBERS] LINE`"),
        (with("cpuinfo", "[5] x"), "found a hole"),
        (with("cpuid", "0x1 = 1 2 3 4"), "expected `0x7.0 [CPUS]"),
        (with("cpuid", "0x1.0 [0] = 1 2 3"), "expected `0x7.0 [CPUS]"),
        (with("msr", "0xce [0] = lots"), "expected `0xce [CPUS]"),
        (with("msr", "0xce [0] = 0x1\n0xce [0-1] = 0x1"), "says again"),
        (with("permits", "perf cycles:u = a"), "is there twice"),
    ];
    for (text, expected) in cases {
        match parse("FILE", &text).map(|_| ()) {
            Err(recorded::Error::Broken { name, line, why }) => {
                assert_eq!(name, "FILE");
                assert!(line >= 1 && why.contains(expected), "line {line}: {why}\n{expected}");
            }
            other => panic!("{expected}: {other:?}"),
        }
    }
}

#[test]
fn a_short_text_is_no_large_machine() {
    let lines: Vec<String> = (0..2000).map(|n| format!("[0-65535] {n:0>100}")).collect();
    let why = parse("FILE", &with("cpuinfo", &lines.join("\n"))).map(|_| ()).unwrap_err();
    assert!(why.to_string().contains("longer than 32 MiB"), "{why}");
    // Folded lines stay folded, however many numbers they claim.
    let folders =
        |i: usize| format!("/sys/devices/system/cpu/x{}cpu[0-65535]/online = 1", "y".repeat(i));
    let lines: Vec<String> = (0..500).map(folders).collect();
    let machine = parse("FILE", &with("tree", &lines.join("\n"))).unwrap();
    let many = machine.tree.list("/sys/devices/system/cpu").unwrap_err();
    assert!(many.why.ends_with("holds more than 65536 names"), "{many:?}");
    machine::facts::machine(&machine);
}

#[test]
fn comments_are_for_people() {
    let (text, _) = replayed(&server(2));
    let annotated = text.replace("[tree]\n", "[tree]\n# seen on a Tuesday\n\n");
    let machine = parse("FILE", &annotated).unwrap();
    assert_eq!(first_difference(&capture(&machine), &text), None);
}
