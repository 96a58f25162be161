//! Who else uses the machine: CPUs that are busy with something that is not this run.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use machine::Machine;
use machine::cpu_load::{self, BusySnapshot, Others};
use model::record::{BUSY_CPUS, Fact, FactValue, NONE_BUSY};
use model::{CpuId, CpuSet, Finding, Unavailable};

/// CPUs that others used for at least this share of the time.
const SHARE_MIN: f64 = 0.5;

/// A CPU that others use.
struct Neighbour {
    cpu: CpuId,
    share: f64,
    /// The process that uses it, where that could be found out.
    process: Option<String>,
}

/// A stretch of time in which this process used no CPU, or only some of them, and those that this thread was on.
pub(super) struct Watch {
    busy: Result<BusySnapshot, Unavailable>,
    /// For how long this thread was on a CPU until then.
    own: Duration,
}

/// For how long this thread was on CPUs so far; on which ones nobody counts.
fn own() -> Duration {
    sys::thread::cpu_time().unwrap_or_default()
}

impl Watch {
    pub(super) fn begin(machine: &Machine) -> Watch {
        Watch { busy: BusySnapshot::read(machine), own: own() }
    }

    /// Waits until the kernel has counted enough to tell who is busy; a simulated machine counts its own time.
    pub(super) fn wait(&self, machine: &Machine) {
        if let (Ok(earlier), None) = (&self.busy, &machine.simulated) {
            std::thread::sleep(BusySnapshot::TELLING.saturating_sub(earlier.at().elapsed()));
        }
    }

    /// The CPUs that were busy since, but for those that this run used itself.
    pub(super) fn end(self, machine: &Machine, used: &CpuSet) -> Fact {
        let neighbours = self.busy.and_then(|earlier| {
            let now = BusySnapshot::read(machine)?;
            let passed = now.at().saturating_duration_since(earlier.at()).as_secs_f64();
            let own = own().saturating_sub(self.own).as_secs_f64() / passed.max(f64::MIN_POSITIVE);
            let own = if machine.simulated.is_none() { own } else { 0.0 };
            let (told, untold): (Vec<_>, Vec<_>) =
                now.telling_since(&earlier).into_values().partition(Result::is_ok);
            // Nobody is known to be busy, or not to be; on a simulated machine there is nobody else.
            let is_untold = told.is_empty() && machine.simulated.is_none();
            if let Some(Err(reason)) = untold.into_iter().next().filter(|_| is_untold) {
                return Err(reason);
            }
            let busy = told
                .into_iter()
                .flatten()
                .filter(|busy| busy.share - own >= SHARE_MIN && !used.contains(busy.cpu));
            let busy: Vec<(CpuId, f64)> = busy.map(|busy| (busy.cpu, busy.share)).collect();
            let named: Vec<CpuId> = busy.iter().take(NAMED_MAX).map(|(cpu, _)| *cpu).collect();
            let mut culprits = match named.as_slice() {
                [] => BTreeMap::new(),
                named => cpu_load::culprits(machine, named),
            };
            let of = |(cpu, share)| Neighbour { cpu, share, process: culprits.remove(&cpu) };
            Ok(busy.into_iter().map(of).collect::<Vec<_>>())
        });
        let text = neighbours.map(|neighbours| FactValue::Text(words(&neighbours)));
        Fact { id: BUSY_CPUS.to_owned(), label: "Other busy CPUs".to_owned(), value: text.into() }
    }
}

/// More are not named.
const NAMED_MAX: usize = 8;

fn words(neighbours: &[Neighbour]) -> String {
    if neighbours.is_empty() {
        return NONE_BUSY.to_owned();
    }
    let word = |neighbour: &Neighbour| {
        let process = neighbour.process.as_ref();
        // This one is not among them.
        let another = |name: &str| if name == "cpudyno" { "another " } else { "" };
        let process =
            process.map_or(String::new(), |name| format!(" by {}`{name}`", another(name)));
        format!("CPU {} ({:.0} %{process})", neighbour.cpu, neighbour.share * 100.0)
    };
    let more = neighbours.len().saturating_sub(NAMED_MAX);
    let mut words: Vec<String> = neighbours.iter().take(NAMED_MAX).map(word).collect();
    words.extend((more > 0).then(|| format!("and {more} more")));
    words.join(", ")
}

/// Other processes that use CPUs while this one does, the same ones or others.
pub(crate) struct OtherLoad(Option<(Others, Instant)>);

/// The kernel counts a process's time in steps of 10 ms: of less time than this nobody knows who used how much.
pub(crate) const TELLING: Duration = Duration::from_millis(200);

impl OtherLoad {
    /// From now on. A simulated machine has none.
    pub(crate) fn watch(machine: &Machine) -> OtherLoad {
        let now = || (Others::scan(machine), Instant::now());
        OtherLoad(machine.simulated.is_none().then(now))
    }

    /// Those that used much since, those on these CPUs first; and which share of these CPUs they used.
    pub(crate) fn told(self, machine: &Machine, cpus: &CpuSet) -> (Option<Finding>, f64) {
        /// Of one CPU. A desktop and its services use less.
        const CORES_MIN: f64 = 0.1;
        const NAMED_MAX: usize = 4;
        let Some((earlier, _)) = self.0.filter(|(_, begun)| begun.elapsed() >= TELLING) else {
            return (None, 0.0);
        };
        let mut others = Others::scan(machine).since(&earlier);
        others.sort_by_key(|other| !cpus.contains(other.cpu));
        let here = others.iter().filter(|other| cpus.contains(other.cpu));
        let share = here.map(|other| other.cores).sum::<f64>() / cpus.len().max(1) as f64;
        let share = share.min(1.0);
        let named: Vec<String> = others
            .iter()
            .filter(|other| other.cores >= CORES_MIN)
            .take(NAMED_MAX)
            .map(|other| {
                let (name, cpu) = (&other.name, other.cpu);
                format!("`{name}` used {:.0} % of a CPU (last CPU {cpu})", other.cores * 100.0)
            })
            .collect();
        let finding = (!named.is_empty()).then(|| {
            Finding::warning("run.rivals", "other work", format!("meanwhile {}", named.join(", ")))
                .remedy("stop it, or use other CPUs".to_owned())
        });
        (finding, share)
    }
}
