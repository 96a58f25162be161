//! Why an attempt was refused, and what helps: the error number and the settings around it.

use std::io;
use std::sync::OnceLock;

use model::{Obstacle, Unavailable};
use sys::errno::{
    E2BIG, EACCES, EINVAL, EIO, EMFILE, ENODEV, ENOENT, ENOMEM, ENOSYS, ENXIO, EOPNOTSUPP, EPERM,
};
use sys::perf_open::{Modes, Scope};

use crate::facts::fact_cache::Survey;
use crate::facts::{self, Architecture, Cpuinfo, Ground, ON_THE_HOST};
use crate::parse::{first_number, value_of};
use crate::permissions::Question;
use crate::pmu::{self, USER_ACCESS_SWITCH};
use crate::ports::{Machine, Tree, Wanted};

/// What an error number is understood by.
pub(crate) struct Surroundings<'a> {
    pub(crate) tree: &'a dyn Tree,
    pub(crate) ground: Ground,
}

/// Where the kernel keeps how much it lets plain users count.
pub(crate) const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";

impl Surroundings<'_> {
    /// Those of the machine that this process runs on.
    pub(crate) fn here(tree: &dyn Tree) -> Surroundings<'_> {
        static GROUND: OnceLock<Ground> = OnceLock::new();
        let ground = || Survey::new(&Machine::real()).ground();
        Surroundings { tree, ground: *GROUND.get_or_init(ground) }
    }

    pub(crate) fn is_guest(&self) -> bool {
        self.ground != Ground::Machine
    }

    fn is_of(&self, architecture: Architecture) -> bool {
        let cpuinfo = self.tree.read("/proc/cpuinfo").unwrap_or_default();
        Cpuinfo::parse(&cpuinfo).architecture() == Some(architecture)
    }

    /// Whether the effective user is root, as far as the kernel says who that is.
    fn is_root(&self) -> bool {
        let status = self.tree.read("/proc/self/status").unwrap_or_default();
        value_of(&status, "Uid").and_then(|ids| ids.split_whitespace().nth(1)) == Some("0")
    }

    pub(crate) fn there(&self, path: &str) -> bool {
        self.tree.read(path).is_ok() || self.tree.list(path).is_ok()
    }

    fn number(&self, path: &str) -> Option<f64> {
        first_number(path, &self.tree.read(path).ok()?).ok()
    }

    /// Whether a filter of system calls stands between this process and the kernel.
    ///
    /// # Source
    /// proc_pid_status(5): `Seccomp`, 2 is `SECCOMP_MODE_FILTER`.
    pub(crate) fn filtered(&self) -> bool {
        let status = self.tree.read("/proc/self/status").unwrap_or_default();
        value_of(&status, "Seccomp") == Some("2")
    }

    /// Whether this process is in a user namespace: its root is nobody to the machine.
    ///
    /// # Source
    /// user_namespaces(7): the first namespace maps all 2^32 - 1 users to themselves.
    pub(crate) fn in_user_namespace(&self) -> bool {
        let Ok(map) = self.tree.read("/proc/self/uid_map") else { return false };
        map.split_whitespace().ne(["0", "0", "4294967295"])
    }

    pub(crate) fn in_container(&self) -> bool {
        facts::is_contained(self.tree)
    }

    /// Whether this process holds a capability, by its number, towards the machine.
    pub(crate) fn holds(&self, capability: u32) -> bool {
        let status = self.tree.read("/proc/self/status").unwrap_or_default();
        let held = value_of(&status, "CapEff").and_then(|mask| u64::from_str_radix(mask, 16).ok());
        held.is_some_and(|mask| mask >> capability & 1 == 1) && !self.in_user_namespace()
    }
}

/// What helps where the kernel's own files are not shown.
pub(crate) const MOUNT_PROC: &str = "`sudo mount -t proc proc /proc`";

/// How a capability is given to the program for good.
pub(crate) fn setcap(capabilities: &str) -> String {
    format!("`sudo setcap {capabilities}+ep \"$(command -v cpudyno)\"`")
}

/// Why the kernel answered so, who stands in the way, and what helps.
pub(crate) fn refusal(
    question: Question,
    error: &io::Error,
    here: &Surroundings<'_>,
) -> Unavailable {
    let answer = sys::errno::name(error);
    let mut unavailable = match question {
        Question::CpuDmaLatency => cpu_dma_latency(&answer, code(error), here),
        Question::IsstInterface => isst(&answer, code(error), here),
        Question::MsrDevice => msr(&answer, code(error), here),
        Question::PerfUser | Question::PerfKernel | Question::PerfSystemWide => {
            perf(question, &answer, code(error), here)
        }
        Question::PerfCyclesUser | Question::Rdpmc => pmu(question, &answer, error, here),
        Question::PerfUncore | Question::PerfEnergy => uncore(question, &answer, error, here),
        Question::HugePage => huge_page(&answer, code(error), here),
        Question::MemoryLock => memory_lock(&answer, here),
        Question::Affinity => affinity(&answer, here),
        Question::RealTime => real_time(&answer, here),
    };
    unavailable.what = question.name().into();
    unavailable
}

/// The same of Speed Select, where its device does not open.
pub(crate) fn no_speed_select(error: &io::Error, here: &Surroundings<'_>) -> Unavailable {
    Unavailable { what: "Speed Select".into(), ..refusal(Question::IsstInterface, error, here) }
}

fn code(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or_default()
}

fn not_permitted(why: impl Into<String>, remedy: impl Into<String>) -> Unavailable {
    Unavailable::new(Obstacle::Permission, "", why).with_remedy(remedy)
}

fn by_filter(call: &str, answer: &str, capability: &str) -> Unavailable {
    let why = format!("a seccomp filter refuses `{call}` ({answer})");
    let remedy = format!(
        "run outside of the sandbox; in a container: `docker run --security-opt \
         seccomp=unconfined --cap-add {capability}` (podman takes the same)"
    );
    not_permitted(why, remedy)
}

/// A device that is there and does not open.
fn device(path: &str, answer: &str, capability: &str, here: &Surroundings<'_>) -> Unavailable {
    let why = format!("opening `{path}` answered {answer}");
    if here.in_user_namespace() {
        let why = format!("{why}: root of a user namespace has no rights outside of it");
        return not_permitted(why, "run as root outside of this namespace (a rootless container?)");
    }
    if answer == "EPERM" && here.in_container() {
        let why = format!("{why}: the container's device rules or capabilities refuse it");
        let remedy = format!("`docker run --device {path} --cap-add {capability}`");
        return not_permitted(why, remedy);
    }
    if here.is_root() {
        return not_permitted(format!("{why}, though root asks: a security module"), LOOK_WHO);
    }
    not_permitted(format!("{why}: it is root's"), "run as root: `sudo cpudyno ...`")
}

/// Who refused is told nowhere else.
const LOOK_WHO: &str = "look for the refusal in `sudo dmesg` or `sudo ausearch -m avc`";

fn cpu_dma_latency(answer: &str, code: i32, here: &Surroundings<'_>) -> Unavailable {
    let path = "/dev/cpu_dma_latency";
    match code {
        ENOENT if here.in_container() => not_permitted(
            format!("there is no `{path}` in this container"),
            format!("`docker run --device {path}`"),
        ),
        ENOENT => not_permitted(
            format!("there is no `{path}`: the kernel was built without CPU_IDLE"),
            "boot a kernel with CONFIG_CPU_IDLE",
        ),
        _ if here.in_user_namespace() || here.in_container() => {
            device(path, answer, "SYS_ADMIN", here)
        }
        _ if here.is_root() => device(path, answer, "SYS_ADMIN", here),
        _ => not_permitted(
            format!("opening `{path}` answered {answer}: it is root's"),
            format!("run as root, or `sudo setfacl -m u:$USER:rw {path}` until the next boot"),
        ),
    }
}

fn isst(answer: &str, code: i32, here: &Surroundings<'_>) -> Unavailable {
    let path = "/dev/isst_interface";
    if matches!(code, ENODEV | ENXIO) {
        let why = format!("opening `{path}` answered {answer}: its driver comes or goes");
        return not_permitted(why, "try again");
    }
    if code != ENOENT {
        return device(path, answer, "SYS_RAWIO", here);
    }
    let cpuinfo = here.tree.read("/proc/cpuinfo").unwrap_or_default();
    if !cpuinfo.lines().any(|line| line.starts_with("model name") && line.contains("Xeon")) {
        let why = format!("there is no `{path}`: only Xeon CPUs have Speed Select");
        return Unavailable::new(Obstacle::Hardware, "", why);
    }
    if here.is_guest() {
        let why = format!("there is no `{path}`: hypervisors pass Speed Select to no guest");
        return not_permitted(why, ON_THE_HOST);
    }
    not_permitted(
        format!("there is no `{path}`: no driver of Speed Select is loaded"),
        "`sudo modprobe -a isst_if_mbox_pci isst_if_mbox_msr isst_if_mmio isst_tpmi`; where all of \
         them answer `No such device`, this CPU has none",
    )
}

/// # Source
/// `arch/x86/kernel/msr.c`: opening needs CAP_SYS_RAWIO (EPERM), an announced MSR (EIO) and a CPU
/// that is online (ENXIO); lockdown refuses writing only.
fn msr(answer: &str, code: i32, here: &Surroundings<'_>) -> Unavailable {
    let path = "/dev/cpu/*/msr";
    match code {
        ENOENT => no_msr_device(here),
        ENXIO | EIO => {
            let why = format!("opening `{path}` answered {answer}: this CPU has no such registers");
            Unavailable::new(Obstacle::Hardware, "", why)
        }
        EPERM if !here.in_user_namespace() && !here.holds(CAP_SYS_RAWIO) => {
            let why = format!("opening `{path}` answered EPERM: CAP_SYS_RAWIO is missing");
            let remedy = if here.in_container() {
                "`docker run --cap-add SYS_RAWIO --device /dev/cpu/0/msr`, one device per CPU"
                    .into()
            } else if here.is_root() {
                "start it with that capability: whoever started this process took it away".into()
            } else {
                format!("run as root, or {}", setcap("cap_sys_rawio"))
            };
            not_permitted(why, remedy)
        }
        _ => device(path, answer, "SYS_RAWIO", here),
    }
}

const CAP_SYS_RAWIO: u32 = 17;

/// The device is missing: what helps depends on where the driver is.
pub(crate) fn no_msr_device(here: &Surroundings<'_>) -> Unavailable {
    let why = "there is no `/dev/cpu/*/msr`";
    if here.there("/proc/cpuinfo") && !here.is_of(Architecture::X86) {
        let why = format!("{why}: only x86 has such registers");
        return Unavailable::new(Obstacle::Hardware, "", why);
    }
    if here.there("/sys/module/msr") {
        return not_permitted(
            format!("{why}, though the driver is loaded: this container shows no devices"),
            "`docker run --device /dev/cpu/0/msr --cap-add SYS_RAWIO`, one device per CPU",
        );
    }
    if !here.there("/proc/cpuinfo") {
        let why = format!("{why}, and without /proc the reason is unknown");
        return not_permitted(why, MOUNT_PROC);
    }
    if !here.there("/proc/modules") {
        return not_permitted(
            format!("{why}: the kernel was built without the driver, and loads no modules"),
            "boot a kernel with CONFIG_X86_MSR",
        );
    }
    let release = here.tree.read("/proc/sys/kernel/osrelease").unwrap_or_default();
    let folder = format!("/lib/modules/{}/kernel/arch/x86/kernel", release.trim());
    let files = here.tree.list(&folder).unwrap_or_default();
    if files.iter().any(|file| file.starts_with("msr.ko")) {
        return not_permitted(format!("{why}: the driver is not loaded"), "`sudo modprobe msr`");
    }
    if here.in_container() {
        return not_permitted(
            format!("{why} in this container"),
            "on the host `sudo modprobe msr`, then `docker run --device /dev/cpu/0/msr --cap-add \
             SYS_RAWIO`, one device per CPU",
        );
    }
    not_permitted(
        format!("{why}: the driver is not loaded, and `{folder}` has no `msr.ko`"),
        "`sudo modprobe msr`; where that finds no module, install the package with the kernel's \
         extra modules",
    )
}

/// # Source
/// `kernel/events/core.c` and `Documentation/admin-guide/sysctl/kernel.rst`, perf_event_paranoid:
/// without CAP_PERFMON (before Linux 5.8: CAP_SYS_ADMIN) above 0 not whole CPUs, above 1 not the
/// kernel; EACCES. Filters of containers say EPERM.
fn perf(question: Question, answer: &str, code: i32, here: &Surroundings<'_>) -> Unavailable {
    let paranoid = here.number(PARANOID);
    if paranoid.is_none() && !here.there("/proc/sys/kernel") {
        let why = format!("`perf_event_open` answered {answer}");
        return not_permitted(why, "mount /proc, or run as root");
    }
    if code == ENOSYS && paranoid.is_none() {
        return not_permitted(
            "the kernel was built without perf events (ENOSYS)",
            "boot a kernel with CONFIG_PERF_EVENTS",
        );
    }
    if here.filtered() && (code == ENOSYS || code == EPERM) {
        return by_filter("perf_event_open", answer, "PERFMON");
    }
    if code != EACCES && code != EPERM {
        let why = format!("`perf_event_open` answered {answer}, which this version cannot explain");
        return Unavailable::new(Obstacle::Cpudyno, "", why);
    }
    let allowed = match question {
        Question::PerfSystemWide | Question::PerfUncore | Question::PerfEnergy => 0,
        Question::PerfKernel => 1,
        _ => 2,
    };
    match paranoid {
        Some(level) if level > f64::from(allowed) => too_paranoid(level, allowed, answer, here),
        _ => {
            let filter = here.filtered() || here.in_container();
            let who = if filter { "seccomp or the container" } else { "a security module" };
            let why = format!(
                "`perf_event_open` answered {answer}, but not because of \
                 `kernel.perf_event_paranoid`: {who}"
            );
            not_permitted(why, LOOK_WHO)
        }
    }
}

/// # Source
/// `Documentation/admin-guide/sysctl/kernel.rst` up to 2; the patches "security,perf: Allow further
/// restriction of perf_event_open" of Debian, where 3 is the default, and Ubuntu, where 4 is. Other
/// kernels take what is above 2 for 2.
fn too_paranoid(level: f64, allowed: i32, answer: &str, here: &Surroundings<'_>) -> Unavailable {
    let lets = match level {
        3.0.. => "with which kernels of Debian and Ubuntu let plain users count nothing at all",
        2.0.. => "which lets plain users count at most user mode of own threads",
        _ => "which lets plain users count only own threads",
    };
    let mut why = format!(
        "`perf_event_open` answered {answer}: `kernel.perf_event_paranoid` is {level}, {lets}"
    );
    let sysctl = format!("`sudo sysctl kernel.perf_event_paranoid={allowed}`");
    let remedy = if here.in_user_namespace() {
        why += "; root of a user namespace counts as one";
        format!("{sysctl} on the host")
    } else if here.in_container() {
        format!("{sysctl} on the host, or `docker run --cap-add PERFMON`, or {SETCAP_PERFMON}")
    } else {
        format!("{sysctl}, or {SETCAP_PERFMON}")
    };
    not_permitted(why, remedy)
}

const SETCAP_PERFMON: &str = "`sudo setcap cap_perfmon+ep \"$(command -v cpudyno)\"`";

/// Each counter of each CPU is an open file.
const MORE_FILES: &str = "`ulimit -n 4096`, or fewer events";

/// What helps where a counter of everybody on a CPU was refused.
pub(crate) fn for_everybody(error: &io::Error) -> &'static str {
    match code(error) {
        EMFILE => MORE_FILES,
        _ => "run as root, or `sudo sysctl kernel.perf_event_paranoid=0`",
    }
}

/// Why a counter cannot be had, and what helps.
pub(crate) fn counter_refused(
    wanted: &Wanted<'_>,
    error: &io::Error,
    here: &Surroundings<'_>,
) -> Unavailable {
    /// `PERF_TYPE_SOFTWARE`, and the first number that the kernel gives to a PMU which it finds.
    const SOFTWARE: u32 = 1;
    const DYNAMIC: u32 = 6;
    let Wanted { name, attributes, scope, .. } = wanted;
    let answer = sys::errno::name(error);
    let answered = |why: &str| format!("`perf_event_open` answered {answer}: {why}");
    let (kind, modes) = (attributes.kind, in_modes(attributes.modes));
    let mut unavailable = match code(error) {
        EINVAL => Unavailable::new(
            Obstacle::Hardware,
            "",
            answered(&format!(
                "PMU {kind} cannot count {:#x} {modes}, or not together with the other events of \
                 its group",
                attributes.config[0]
            )),
        ),
        E2BIG => not_permitted(
            answered("this kernel knows no `config3`, which the event needs"),
            "boot Linux 6.3 or later",
        ),
        EMFILE => not_permitted(answered("this process has too many files open"), MORE_FILES),
        ENOENT | ENODEV | EOPNOTSUPP | ENXIO if kind >= DYNAMIC || kind == SOFTWARE => {
            let why = answered("the kernel has no such event, or no such PMU");
            Unavailable::new(Obstacle::Hardware, "", why)
        }
        ENOENT | ENODEV | EOPNOTSUPP | ENXIO => pmu(Question::PerfCyclesUser, &answer, error, here),
        code => {
            let question = match (scope, attributes.modes) {
                (Scope::Everybody(_), _) => Question::PerfSystemWide,
                (_, Modes::User) => Question::PerfUser,
                _ => Question::PerfKernel,
            };
            perf(question, &answer, code, here)
        }
    };
    (*name).clone_into(&mut unavailable.what);
    unavailable
}

/// The PMU of the cores: where there is one, the event is what it lacks.
fn pmu(
    question: Question,
    answer: &str,
    error: &io::Error,
    here: &Surroundings<'_>,
) -> Unavailable {
    if error.kind() == io::ErrorKind::Unsupported && error.raw_os_error().is_none() {
        return rdpmc_off(here);
    }
    if ![ENOENT, ENODEV, EOPNOTSUPP, ENXIO].contains(&code(error)) {
        return perf(question, answer, code(error), here);
    }
    let answered = |why: &str| format!("`perf_event_open` answered {answer}: {why}");
    if let [name, others @ ..] = pmu::of_cores(here.tree).as_slice() {
        let why = match others {
            [] => format!("PMU `{name}` has no such event"),
            _ => "no PMU of the cores has such an event".to_owned(),
        };
        return Unavailable::new(Obstacle::Hardware, "", answered(&why));
    }
    if here.is_of(Architecture::Arm) {
        let why = answered("the kernel found no PMU of the cores");
        return Unavailable::new(Obstacle::Hardware, "", why).with_remedy(
            "in a guest: give it a PMU on the host (QEMU: `pmu=on` behind the model of `-cpu`); else \
             see `sudo dmesg | grep -i perfevents`: firmware has to describe it",
        );
    }
    if here.ground == Ground::Emulator && here.is_of(Architecture::X86) {
        return not_permitted(
            answered("QEMU emulates CPUs without counters here"),
            "have QEMU use KVM (`-accel kvm -cpu host,pmu=on`), where its host has it",
        );
    }
    if here.is_guest() {
        return not_permitted(
            answered("the hypervisor shows this guest no PMU"),
            "give the guest a PMU on the host (QEMU: `-cpu host,pmu=on`; libvirt: `<pmu \
             state='on'/>`; cloud: a metal or whole-socket size)",
        );
    }
    Unavailable::new(Obstacle::Hardware, "", answered("the kernel found no PMU of the cores"))
        .with_remedy("see `sudo dmesg | grep -i 'performance events'`")
}

/// # Source
/// `arch/x86/events/core.c`, attribute `rdpmc`; `Documentation/arch/arm64/perf.rst`,
/// `kernel.perf_user_access`, since Linux 5.17.
fn rdpmc_off(here: &Surroundings<'_>) -> Unavailable {
    match here.number(USER_ACCESS_SWITCH) {
        Some(0.0) => {
            let why = "the kernel lets no thread read counters (`kernel.perf_user_access` is 0)";
            return not_permitted(why, "`sudo sysctl kernel.perf_user_access=1`");
        }
        Some(value) => {
            let why = format!(
                "the event's page says that a thread may not read its counter by instruction, though \
                 `kernel.perf_user_access` is {value}"
            );
            return Unavailable::new(Obstacle::Hardware, "", why);
        }
        None if here.is_of(Architecture::Arm) => {
            let why = "this kernel has no switch that lets threads read counters \
                       (`kernel.perf_user_access`)";
            return not_permitted(why, "boot Linux 5.17 or later");
        }
        None => {}
    }
    not_permitted(
        "the event's page says that a thread may not read its counter by instruction",
        "`echo 1 | sudo tee /sys/bus/event_source/devices/cpu/rdpmc`",
    )
}

/// How the kernel gets the driver of PMUs outside of the cores.
pub(crate) fn load_uncore(here: &Surroundings<'_>) -> String {
    let cpuinfo = here.tree.read("/proc/cpuinfo").unwrap_or_default();
    let module = match value_of(&cpuinfo, "vendor_id") {
        Some("GenuineIntel") => "intel_uncore",
        Some("AuthenticAMD" | "HygonGenuine") => "amd_uncore",
        _ => {
            return "load the driver of this chip's PMUs: `grep _PMU= /boot/config-$(uname -r)` lists \
                    those that the kernel has"
                .to_owned();
        }
    };
    format!("`sudo modprobe {module}`; where that answers `No such device`, this CPU has none")
}

/// The PMUs outside of the cores: memory controllers, caches, power.
fn uncore(
    question: Question,
    answer: &str,
    error: &io::Error,
    here: &Surroundings<'_>,
) -> Unavailable {
    let energy = question == Question::PerfEnergy;
    let subject = if energy { "energy counter" } else { "PMU outside of the cores" };
    let absent = error.kind() == io::ErrorKind::NotFound;
    if let (true, Err(reason)) = (absent, here.tree.list("/sys/devices"))
        && reason.obstacle == Obstacle::Permission
    {
        return reason;
    }
    if absent && here.is_guest() {
        let why = format!("the hypervisor shows this guest no {subject}");
        return not_permitted(why, ON_THE_HOST);
    }
    if absent {
        let why = format!("the kernel found no {subject}");
        if energy && here.there("/proc/cpuinfo") && !here.is_of(Architecture::X86) {
            return Unavailable::new(Obstacle::Hardware, "", why);
        }
        let remedy = if energy {
            "`sudo modprobe -a rapl intel_rapl_msr`; where both answer `No such device`, this CPU \
             has none"
                .to_owned()
        } else {
            load_uncore(here)
        };
        return Unavailable::new(Obstacle::Hardware, "", why).with_remedy(remedy);
    }
    if [EINVAL, EOPNOTSUPP].contains(&code(error)) || error.raw_os_error().is_none() {
        let why = format!("the {subject} did not take the event that was tried ({answer})");
        return Unavailable::new(Obstacle::Cpudyno, "", why);
    }
    perf(question, answer, code(error), here)
}

fn huge_page(answer: &str, code: i32, here: &Surroundings<'_>) -> Unavailable {
    let pool = "/proc/sys/vm/nr_hugepages";
    match (code, here.number(pool)) {
        (ENOMEM, Some(0.0)) => not_permitted(
            format!("mapping one answered {answer}: none is reserved"),
            format!("`echo 64 | sudo tee {pool}`, which takes 128 MiB"),
        ),
        (ENOMEM, Some(count)) => not_permitted(
            format!("mapping one answered {answer}: all {count} are in use, or of another size"),
            format!("`echo {} | sudo tee {pool}`", count + 64.0),
        ),
        (_, None) if !here.there("/proc/cpuinfo") => not_permitted(
            format!("mapping one answered {answer}, and no file says how many are reserved"),
            "`mount -t proc proc /proc` as root",
        ),
        (_, None) => not_permitted(
            format!("mapping one answered {answer}: the kernel was built without huge pages"),
            "boot a kernel with CONFIG_HUGETLBFS",
        ),
        _ => not_permitted(
            format!("mapping one answered {answer}"),
            "see `grep Huge /proc/meminfo` for the sizes that the kernel has",
        ),
    }
}

fn memory_lock(answer: &str, here: &Surroundings<'_>) -> Unavailable {
    let why = format!("locking one page answered {answer}");
    if here.in_container() {
        return not_permitted(why, "`docker run --ulimit memlock=-1`");
    }
    not_permitted(why, "`ulimit -l unlimited` as root before the start, or give CAP_IPC_LOCK")
}

fn affinity(answer: &str, here: &Surroundings<'_>) -> Unavailable {
    if here.filtered() {
        return by_filter("sched_setaffinity", answer, "SYS_NICE");
    }
    let why = format!("`sched_setaffinity` to its own CPUs answered {answer}");
    not_permitted(why, "run outside of the sandbox")
}

fn real_time(answer: &str, here: &Surroundings<'_>) -> Unavailable {
    const CAP_SYS_NICE: u32 = 23;
    let why = format!("asking for SCHED_FIFO answered {answer}");
    if here.holds(CAP_SYS_NICE) {
        if here.filtered() {
            return by_filter("sched_setscheduler", answer, "SYS_NICE");
        }
        return not_permitted(
            format!("{why}: the control group has no real-time budget"),
            "`sudo sysctl kernel.sched_rt_runtime_us=-1`, or start outside of the group",
        );
    }
    if here.in_container() && !here.in_user_namespace() {
        return not_permitted(
            format!("{why}: CAP_SYS_NICE is missing"),
            format!("`docker run --cap-add SYS_NICE` as root, or {}", setcap("cap_sys_nice")),
        );
    }
    if here.in_user_namespace() {
        let why = format!("{why}: root of a user namespace has no rights outside of it");
        return not_permitted(why, "run as root outside of this namespace");
    }
    not_permitted(
        format!("{why}: CAP_SYS_NICE is missing, and the limit for real-time priority is 0"),
        format!("run as root, or {}", setcap("cap_sys_nice")),
    )
}

/// The modes of a counter in the words of a refusal.
fn in_modes(modes: Modes) -> &'static str {
    match modes {
        Modes::All => "in all modes",
        Modes::User => "in user mode",
        Modes::Kernel => "in kernel mode",
    }
}

#[cfg(test)]
mod tests {
    use simulated::Files;

    use super::*;

    const MACHINE: Ground = Ground::Machine;
    const GUEST: Ground = Ground::Guest;

    fn explain(
        question: Question,
        code: i32,
        ground: Ground,
        files: &[(&str, &str)],
    ) -> Unavailable {
        let mut tree = Files::default();
        for (path, text) in files {
            tree.put(*path, text);
        }
        let error = io::Error::from_raw_os_error(code);
        refusal(question, &error, &Surroundings { tree: &tree, ground })
    }

    #[test]
    fn one_answer_has_several_reasons() {
        const X86: (&str, &str) = ("/proc/cpuinfo", "flags : fpu msr");
        const MODULES: (&str, &str) = ("/proc/modules", "");
        const FILTER: (&str, &str) = ("/proc/self/status", "Seccomp:\t2");
        const RELEASE: (&str, &str) = ("/proc/sys/kernel/osrelease", "6.8");
        const DRIVER: (&str, &str) = ("/lib/modules/6.8/kernel/arch/x86/kernel/msr.ko.zst", "");
        const CONTAINER: (&str, &str) = ("/.dockerenv", "");
        let (msr, perf) = (Question::MsrDevice, Question::PerfUser);
        for (question, code, ground, files, why, remedy) in [
            (msr, ENOENT, MACHINE, &[X86, MODULES, RELEASE, DRIVER][..], "not loaded", "modprobe"),
            (msr, ENOENT, MACHINE, &[X86], "loads no modules", "CONFIG_X86_MSR"),
            (msr, ENOENT, MACHINE, &[X86, MODULES, CONTAINER], "container", "on the host"),
            (msr, EPERM, MACHINE, &[X86], "CAP_SYS_RAWIO is missing", "setcap cap_sys_rawio"),
            (msr, EACCES, MACHINE, &[X86], "it is root's", "sudo cpudyno"),
            (perf, ENOSYS, MACHINE, &[RELEASE], "without perf", "CONFIG_PERF_EVENTS"),
            (perf, ENOSYS, MACHINE, &[(PARANOID, "2"), FILTER], "seccomp filter", "unconfined"),
            (perf, EPERM, MACHINE, &[(PARANOID, "-1"), FILTER], "seccomp filter", "unconfined"),
            (perf, EACCES, MACHINE, &[(PARANOID, "4")], "users count nothing", "oid=2"),
            (
                perf,
                EACCES,
                MACHINE,
                &[(PARANOID, "3")],
                "is 3, with which",
                "perf_event_paranoid=2",
            ),
            (Question::PerfKernel, EACCES, MACHINE, &[(PARANOID, "3")], "count nothing", "oid=1"),
            (Question::PerfKernel, EACCES, MACHINE, &[(PARANOID, "2")], "at most user", "oid=1"),
            (perf, EACCES, MACHINE, &[(PARANOID, "3"), CONTAINER], "is 3", "--cap-add PERFMON"),
            (perf, EACCES, MACHINE, &[(PARANOID, "-1")], "a security module", "ausearch"),
            (Question::PerfSystemWide, EACCES, MACHINE, &[(PARANOID, "1")], "own threads", "oid=0"),
            (Question::PerfCyclesUser, ENOENT, GUEST, &[], "hypervisor", "pmu=on"),
            (Question::HugePage, ENOMEM, MACHINE, &[("/proc/sys/vm/nr_hugepages", "8")], "8", "72"),
        ] {
            let reason = explain(question, code, ground, files);
            assert_eq!(reason.obstacle, Obstacle::Permission, "{reason:?}");
            assert!(reason.why.contains(why), "{why}: {reason:?}");
            assert!(reason.remedy.as_deref().is_some_and(|r| r.contains(remedy)), "{reason:?}");
        }
    }

    /// Where the kernel describes a PMU, ENOENT is the answer to an event.
    #[test]
    fn an_event_that_is_not_there_is_not_the_pmu() {
        const ARM: (&str, &str) = ("/proc/cpuinfo", "CPU implementer : 0x41\nFeatures : fp asimd");
        const ONE: (&str, &str) = ("/sys/bus/event_source/devices/armv8_pmuv3/type", "8");
        const OTHER: (&str, &str) = ("/sys/bus/event_source/devices/armv8_cortex_a53/type", "9");
        const X86: (&str, &str) = ("/proc/cpuinfo", "flags : fpu msr");
        for (ground, files, why, remedy) in [
            (MACHINE, &[ARM, ONE][..], "ENOENT: PMU `armv8_pmuv3` has no such event", None),
            (GUEST, &[ARM, ONE], "ENOENT: PMU `armv8_pmuv3` has no such event", None),
            (MACHINE, &[ARM, ONE, OTHER], "no PMU of the cores has such an event", None),
            (MACHINE, &[ARM], "the kernel found no PMU of the cores", Some("perfevents")),
            (GUEST, &[ARM], "the kernel found no PMU of the cores", Some("pmu=on")),
            (MACHINE, &[X86], "the kernel found no PMU of the cores", Some("performance events")),
        ] {
            let reason = explain(Question::PerfCyclesUser, ENOENT, ground, files);
            assert_eq!(reason.obstacle, Obstacle::Hardware, "{reason:?}");
            assert!(reason.why.contains(why), "{why}: {reason:?}");
            let told = reason.remedy.as_deref();
            assert_eq!(told.is_some(), remedy.is_some(), "{reason:?}");
            assert!(told.is_none_or(|told| told.contains(remedy.unwrap())), "{reason:?}");
            let of_x86 = told.is_some_and(|told| told.contains("host,pmu") || told.contains("KVM"));
            assert!(!of_x86, "{reason:?}");
        }
    }

    #[test]
    fn a_switch_that_is_on_is_not_told_to_be_off() {
        const SWITCH: &str = USER_ACCESS_SWITCH;
        const ARM: (&str, &str) = ("/proc/cpuinfo", "CPU implementer : 0x41");
        const X86: (&str, &str) = ("/proc/cpuinfo", "flags : fpu msr");
        for (files, why, remedy) in [
            (&[ARM, (SWITCH, "0")][..], "is 0", Some("perf_user_access=1")),
            (&[ARM, (SWITCH, "1")], "though `kernel.perf_user_access` is 1", None),
            (&[ARM], "has no switch", Some("5.17")),
            (&[X86], "the event's page says", Some("cpu/rdpmc")),
        ] {
            let mut tree = Files::default();
            for (path, text) in files {
                tree.put(*path, text);
            }
            let reason = rdpmc_off(&Surroundings { tree: &tree, ground: MACHINE });
            assert!(reason.why.contains(why), "{why}: {reason:?}");
            assert_eq!(reason.remedy.is_some(), remedy.is_some(), "{reason:?}");
            assert!(reason.remedy.is_none_or(|told| told.contains(remedy.unwrap())), "{why}");
        }
    }

    #[test]
    fn what_the_hardware_lacks_is_not_blamed_on_the_kernel() {
        let xeon = ("/proc/cpuinfo", "model name : Intel(R) Xeon(R)");
        let arm = ("/proc/cpuinfo", "Features : fp asimd");
        for (question, files) in [
            (Question::PerfCyclesUser, xeon),
            (Question::MsrDevice, arm),
            (Question::IsstInterface, arm),
        ] {
            let reason = explain(question, ENOENT, MACHINE, &[files]);
            assert_eq!(reason.obstacle, Obstacle::Hardware, "{reason:?}");
        }
        let reason = explain(Question::IsstInterface, ENOENT, MACHINE, &[xeon]);
        assert_eq!(reason.obstacle, Obstacle::Permission, "{reason:?}");
    }

    #[test]
    fn remedies_are_dropped_where_their_precondition_is_denied() {
        const X86: (&str, &str) = ("/proc/cpuinfo", "cpu family : 6\nflags : fpu msr");
        const ARM: (&str, &str) = ("/proc/cpuinfo", "Features : fp\nCPU implementer : 0x41");
        const ROOT: (&str, &str) = ("/proc/self/status", "Uid:\t0\t0\t0\t0");
        const NO_PROC: (&str, &str) = ("/sys/kernel/x", "");
        let (msr, pmu) = (Question::MsrDevice, Question::PerfCyclesUser);
        let (energy, latency) = (Question::PerfEnergy, Question::CpuDmaLatency);
        for (question, code, ground, files, denied, told) in [
            (energy, ENOENT, MACHINE, &[ARM][..], "modprobe", ""),
            (energy, ENOENT, MACHINE, &[X86], "ausearch", "modprobe"),
            (pmu, ENOENT, MACHINE, &[ARM], "performance events", "grep -i perfevents"),
            (pmu, ENOENT, MACHINE, &[X86], "perfevents", "performance events"),
            (pmu, ENOENT, Ground::Emulator, &[X86], "libvirt", "-accel kvm"),
            (pmu, ENOENT, GUEST, &[X86], "-accel", "-cpu host,pmu=on"),
            (msr, EACCES, MACHINE, &[X86, ROOT], "run as root", "ausearch"),
            (msr, EPERM, MACHINE, &[X86, ROOT], "run as root", "that capability"),
            (msr, EACCES, MACHINE, &[X86], "ausearch", "run as root"),
            (latency, EPERM, MACHINE, &[ROOT], "run as root", "ausearch"),
            (msr, ENOENT, MACHINE, &[NO_PROC], "CONFIG_X86_MSR", "mount -t proc"),
        ] {
            let reason = explain(question, code, ground, files);
            let remedy = reason.remedy.clone().unwrap_or_default();
            assert!(!remedy.contains(denied) && remedy.contains(told), "{reason:?}");
        }
    }
}
