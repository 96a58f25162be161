//! Asking the driver: as much at once as it takes, again where that may help, and reasons for the rest.

use std::cell::Cell;
use std::collections::BTreeMap;

use machine::IsstDevice;
use machine::isst::{MailboxQuestion, Refusal};
use model::{CpuId, Obstacle, Reading, Unavailable};
use sys::errno::{
    EACCES, EAGAIN, EBUSY, EINTR, EINVAL, EIO, ENODEV, ENOTTY, ENXIO, EPERM, ETIMEDOUT,
};

/// How often a question is asked whose answer may be another one next time.
const TRIES: u32 = 3;
/// Error numbers after which it is.
const PASSING: [i32; 4] = [EBUSY, EIO, EINTR, ETIMEDOUT];

const LOAD_OLDER: &str = "`sudo modprobe -a isst_if_mbox_pci isst_if_mbox_msr isst_if_mmio`";

/// The device, with a count of what it was asked.
pub(crate) struct Asker<'a> {
    device: &'a dyn IsstDevice,
    ioctls: Cell<u32>,
    /// How many commands one ioctl takes.
    at_once: Cell<usize>,
}

/// A question that was answered.
pub(crate) type Answers = BTreeMap<(CpuId, MailboxQuestion), Reading<u32>>;

impl<'a> Asker<'a> {
    pub(crate) fn new(device: &'a dyn IsstDevice) -> Asker<'a> {
        Asker { device, ioctls: Cell::new(0), at_once: Cell::new(1) }
    }

    pub(crate) fn ioctls(&self) -> u32 {
        self.ioctls.get()
    }

    /// What the driver takes at once.
    pub(crate) fn limit(&self, commands: u16) {
        self.at_once.set(usize::from(commands).max(1));
    }

    /// A question by itself.
    pub(crate) fn one<T>(
        &self,
        what: &str,
        ask: impl FnOnce(&'a dyn IsstDevice) -> Result<T, Refusal>,
    ) -> Reading<T> {
        self.once(ask).map_err(|refusal| reason(what, refusal))
    }

    /// The same, with the driver's own answer where it refuses.
    pub(crate) fn once<T>(
        &self,
        ask: impl FnOnce(&'a dyn IsstDevice) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        self.ioctls.set(self.ioctls.get() + 1);
        ask(self.device)
    }

    /// Many questions; each has its answer or its reason.
    fn many<Q, A>(
        &self,
        questions: &[Q],
        what: impl Fn(&Q) -> String,
        ask: impl Fn(&'a dyn IsstDevice, &[Q]) -> Result<Vec<A>, Refusal>,
    ) -> Vec<Reading<A>> {
        let mut answers = Vec::with_capacity(questions.len());
        let mut tries = 0;
        while let Some(first) = questions.get(answers.len()) {
            let rest = &questions[answers.len()..];
            let chunk = &rest[..rest.len().min(self.at_once.get())];
            self.ioctls.set(self.ioctls.get() + 1);
            tries += 1;
            let refusal = match ask(self.device, chunk) {
                Ok(some) if !some.is_empty() => {
                    answers.extend(some.into_iter().take(chunk.len()).map(Ok));
                    tries = 0;
                    continue;
                }
                // A driver that says so has not looked at the first one.
                Ok(_) => Refusal::Errno(EINTR),
                Err(refusal) => refusal,
            };
            if PASSING.iter().any(|code| refusal.is(*code)) && tries < TRIES {
                continue;
            }
            tries = 0;
            let nobody = refusal.is(ENOTTY);
            answers.push(Err(reason(&what(first), refusal.clone())));
            if nobody {
                // It is the same for all of them.
                let others = rest[1..].iter();
                answers.extend(others.map(|one| Err(reason(&what(one), refusal.clone()))));
            }
        }
        answers
    }

    /// The numbers of CPUs within the hardware.
    pub(crate) fn physical(&self, cpus: &[CpuId]) -> Vec<Reading<u32>> {
        let what = |cpu: &CpuId| format!("place of CPU {cpu}");
        self.many(cpus, what, <dyn IsstDevice>::physical)
    }

    /// Questions to mailboxes, each through a CPU of its package.
    pub(crate) fn mailbox(&self, questions: &[(CpuId, MailboxQuestion)]) -> Answers {
        let what = |(_, question): &(CpuId, MailboxQuestion)| format!("mailbox {question}");
        let answers = self.many(questions, what, <dyn IsstDevice>::mailbox);
        questions.iter().copied().zip(answers).collect()
    }

    /// Registers in memory.
    pub(crate) fn mmio(&self, registers: &[(CpuId, u32)]) -> Vec<Reading<u32>> {
        let what = |(_, register): &(CpuId, u32)| format!("register {register:#x} in memory");
        self.many(registers, what, <dyn IsstDevice>::mmio)
    }

    /// Model-specific registers.
    pub(crate) fn msr(&self, registers: &[(CpuId, u32)]) -> Vec<Reading<u64>> {
        let what = |(_, register): &(CpuId, u32)| format!("register {register:#x}");
        self.many(registers, what, <dyn IsstDevice>::msr)
    }
}

/// Why a question has no answer.
pub(crate) fn reason(what: &str, refusal: Refusal) -> Unavailable {
    let code = match refusal {
        Refusal::Unavailable(mut unavailable) => {
            what.clone_into(&mut unavailable.what);
            return unavailable;
        }
        Refusal::Errno(code) => code,
    };
    let name = sys::errno::name(&std::io::Error::from_raw_os_error(code));
    let (obstacle, why, remedy) = match code {
        ENOTTY => (
            Obstacle::Permission,
            "the driver's module for this query is not loaded, or the driver refused without a \
             reason",
            Some(LOAD_OLDER),
        ),
        ENXIO => (Obstacle::Hardware, "the firmware refused", None),
        EINVAL => (Obstacle::Permission, "this kernel's driver does not know this query", None),
        EPERM => (
            Obstacle::Permission,
            "the capability SYS_ADMIN is missing",
            // Root of a container need not have it.
            Some("`sudo` gives it to users, `--cap-add SYS_ADMIN` to containers"),
        ),
        EACCES => (Obstacle::Permission, "this user may not query the driver", Some("run as root")),
        ENODEV | EAGAIN => (
            Obstacle::Permission,
            "the driver's module for this query is being loaded or removed",
            Some("try again"),
        ),
        _ if PASSING.contains(&code) => (
            Obstacle::Measurement,
            "the firmware did not answer three queries",
            Some("try again: other programs may be querying it"),
        ),
        _ => (Obstacle::Measurement, "the driver failed", Some("try again")),
    };
    let unavailable = Unavailable::new(obstacle, what, format!("{why} ({name})"));
    match remedy {
        Some(remedy) => unavailable.with_remedy(remedy),
        None => unavailable,
    }
}

/// What the firmware answers with zero.
pub(crate) fn not_given(what: &str) -> Unavailable {
    Unavailable::new(Obstacle::Hardware, what, "the firmware gives none")
}
