//! Why not faster? The way from the advertised clock to the delivered one, in steps.
//!
//! Limits that state a clock (the kernel's, that of the active cores, that of Speed Select, that of a licence)
//! apply one after the other, each taking what is left above it. Limits that state none (power, temperature,
//! current, PROCHOT) explain what is left below them, together, where the hardware says that they held. What
//! is lost beside the clock (halts, the hypervisor, a quota) comes last. The rest is unexplained, and says so.

use kernels::StreamRow;
use machine::pages::parts::fact;
use model::record::{
    AccountStep, AdvertisedClock, ClockAccount, FactValue, FeatureState, LicenceFrequency,
    LimitReason, PerformanceLevel, PowerDomain, PowerTerm, Record,
};
use model::{CpuId, CpuSet, Known, Obstacle, Unavailable};

use super::promise;
use super::read::{Row, rows};
use crate::run::findings::lost_share;

/// The lightest stream: what a licence costs is told against it.
const LIGHT: &str = "scalar_iadd";

/// The heaviest streams, the first one that was measured counts.
const HEAVY: [&str; 3] = ["avx512_fma_t", "avx256_fma_t", "avx128_fma_t"];

/// The streams that the question is asked with: those that the machine lacks are left out.
pub(super) fn streams() -> Vec<&'static StreamRow> {
    let ids = std::iter::once(LIGHT).chain(HEAVY.into_iter().rev());
    ids.filter_map(|id| kernels::streams::TABLE.iter().find(|row| row.id == id)).copied().collect()
}

/// Less of a clock than this is what two looks at it differ by.
const SAME: f64 = 0.005;

/// Accounts of the lightest and the heaviest stream that has a clock, with the fewest and the most active
/// cores of each type.
pub(crate) fn accounts(record: &Record) -> Vec<ClockAccount> {
    let rows = rows(record);
    let clocked = |row: &&Row<'_>| row.median("clock").is_some() && !row.is_mix();
    let with_clock: Vec<&Row<'_>> = rows.iter().filter(clocked).collect();
    let mut accounts = Vec::new();
    for of_type in with_clock.chunk_by(|a, b| a.core_type() == b.core_type()) {
        let counts = of_type.iter().map(|row| row.active.len());
        let (Some(least), Some(most)) = (counts.clone().min(), counts.max()) else { continue };
        let mut ends = vec![least, most];
        ends.dedup();
        for count in ends {
            let cell: Vec<&Row<'_>> =
                of_type.iter().copied().filter(|row| row.active.len() == count).collect();
            let mut chosen: Vec<&Row<'_>> = light(&cell).into_iter().chain(heavy(&cell)).collect();
            chosen.dedup_by_key(|row| row.workload);
            let account = |row: &&Row<'_>| Descent::of(record, row, light(&cell)).account();
            accounts.extend(chosen.iter().filter_map(account));
        }
    }
    accounts
}

fn light<'a, 'r>(cell: &[&'a Row<'r>]) -> Option<&'a Row<'r>> {
    let named = cell.iter().find(|row| row.workload == LIGHT);
    named.or(cell.first()).copied()
}

fn heavy<'a, 'r>(cell: &[&'a Row<'r>]) -> Option<&'a Row<'r>> {
    let named = |id: &&str| cell.iter().find(|row| row.workload == *id);
    HEAVY.iter().find_map(named).or(cell.last()).copied()
}

/// An account in the making.
struct Descent<'a> {
    record: &'a Record,
    row: &'a Row<'a>,
    /// The lightest stream on the same cores.
    light: Option<&'a Row<'a>>,
    cpu: CpuId,
    /// The clock that is left after the steps so far.
    left: f64,
    /// The clock by the chain.
    clock: f64,
    steps: Vec<AccountStep>,
}

impl<'a> Descent<'a> {
    fn of(record: &'a Record, row: &'a Row<'a>, light: Option<&'a Row<'a>>) -> Descent<'a> {
        let cpu = row.active.iter().next().unwrap_or(CpuId(0));
        let clock = row.median("clock").unwrap_or(f64::NAN);
        Descent { record, row, light, cpu, left: f64::NAN, clock, steps: Vec::new() }
    }

    fn account(mut self) -> Option<ClockAccount> {
        let advertised = advertised(self.record, self.cpu, self.row.core_type());
        if let Ok(advertised) = &advertised {
            self.left = advertised.hertz;
            self.stated();
            self.licence();
            self.reasons();
        }
        let unexplained = advertised.is_ok().then_some(self.left - self.clock);
        let delivered = self.lost();
        self.clock.is_finite().then(|| ClockAccount {
            workload: self.row.workload.to_owned(),
            core_type: self.row.core_type().map(str::to_owned),
            active: self.row.active.clone(),
            cpu: self.cpu,
            advertised: Known::from(advertised),
            clock: self.clock,
            delivered,
            steps: self.steps,
            unexplained,
        })
    }

    fn step(&mut self, id: &str, label: &str, hertz: f64, evidence: String) {
        self.left -= hertz;
        let (id, label) = (id.to_owned(), label.to_owned());
        self.steps.push(AccountStep { id, label, hertz, evidence });
    }

    /// A limit that states a clock takes what is left above it.
    fn cap(&mut self, id: &str, label: &str, hertz: f64, evidence: String) {
        if hertz < self.left {
            self.step(id, label, self.left - hertz, evidence);
        }
    }

    /// Limits that state a clock.
    fn stated(&mut self) {
        let record = self.record;
        let base = number(record, "cpu.base_frequency");
        let boost = condition(record, "cpufreq.boost");
        if let (Some("off"), Some(base)) = (boost.as_deref(), base) {
            self.cap("boost", "boost is off", base, format!("boost: off; base {}", mhz(base)));
        }
        let allowed = record.clock.iter().flat_map(|clock| &clock.allowed);
        let ours = allowed.filter(|allowed| !allowed.cpus.intersection(self.row.active).is_empty());
        if let Some(least) = ours.min_by(|a, b| a.hertz.total_cmp(&b.hertz)) {
            let governor = condition(record, "cpufreq.governor");
            let governor = governor.map_or(String::new(), |it| format!(", governor {it}"));
            let preference = condition(record, "cpufreq.epp");
            let preference = preference.map_or(String::new(), |it| format!(", preference {it}"));
            let evidence = format!("{} {}{governor}{preference}", least.source, mhz(least.hertz));
            self.cap("kernel", "limit of the kernel", least.hertz, evidence);
        }
        if let Some(bin) = promise::turbo_hertz(record, self.row.active) {
            let count = self.row.active.len();
            let source = limit_source(record, self.cpu);
            let evidence = format!("{} with {count} active ({source})", mhz(bin));
            self.cap("active-cores", "limit of the active cores", bin, evidence);
        }
        if let Some((clip, evidence)) = self.clip() {
            self.cap("sst", "Speed Select", clip, evidence);
        }
    }

    /// What priorities of Speed Select leave this CPU.
    fn clip(&self) -> Option<(f64, String)> {
        /// Classes of low priority, where turbo frequencies are of two kinds.
        const LOW: u8 = 2;
        let (domain, level) = level_of(self.record, self.cpu)?;
        let association = domain.associations.iter().find(|it| it.cpus.contains(self.cpu))?;
        let class = *association.class.value()?;
        let switches = domain.core_power.as_ref();
        let is_on = switches.is_some_and(|it| it.classes_enabled.value() == Some(&true));
        if !is_on {
            return None;
        }
        let of_class = domain.classes.iter().filter_map(Known::value);
        let highest = of_class.filter(|it| it.number == class).find_map(|it| it.highest_hertz);
        let by_class =
            highest.map(|hertz| (hertz.0, format!("class {class} allows {}", mhz(hertz.0))));
        let is_split = level.turbo_freq_state.value() == Some(&FeatureState::Enabled);
        let others = level.turbo_freq.as_ref().and_then(Known::value).map(|it| &it.others[..]);
        let clip = others.filter(|_| is_split && class >= LOW).and_then(|others| {
            let licence = licence_index(self.row.workload);
            let of = |it: &LicenceFrequency| (it.hertz.0, it.licence.clone());
            others.get(licence).or(others.last()).map(of)
        });
        let by_turbo = clip.map(|(hertz, licence)| {
            (hertz, format!("turbo-freq clips class {class} to {} ({licence})", mhz(hertz)))
        });
        by_class.into_iter().chain(by_turbo).min_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// What heavy instructions cost: by the table of their licence, else against the lightest stream, which
    /// tells licence from power only where no limit of power held.
    fn licence(&mut self) {
        const LABEL: &str = "licence of the instructions";
        if let Some((hertz, licence)) = self.licence_bin() {
            let evidence = format!("{} by the table of licence {licence}", mhz(hertz));
            self.cap("licence", LABEL, hertz, evidence);
            return;
        }
        let Some(light) = self.light.filter(|light| light.workload != self.row.workload) else {
            return;
        };
        let Some(hertz) = light.median("clock").filter(|it| *it > self.clock * (1.0 + SAME)) else {
            return;
        };
        if self.held().next().is_none() {
            let evidence =
                format!("measured: {} runs at {} on the same cores", light.workload, mhz(hertz));
            let lost = (hertz - self.clock).min(self.left - self.clock).max(0.0);
            self.step("licence", LABEL, lost, evidence);
        }
    }

    fn licence_bin(&self) -> Option<(f64, String)> {
        let (_, level) = level_of(self.record, self.cpu)?;
        let tables = level.properties.as_ref()?.turbo.value()?;
        let table = tables.get(licence_index(self.row.workload))?;
        let active = self.row.active.len();
        let covers = |cores: Option<u16>| cores.is_none_or(|cores| usize::from(cores) >= active);
        let step = table.steps.iter().find(|step| covers(step.cores)).or(table.steps.last())?;
        Some((step.hertz?.0, table.licence.clone()))
    }

    /// The reasons that held on these CPUs, or in their packages.
    fn held(&self) -> impl Iterator<Item = &'a LimitReason> + use<'a> {
        /// The turbo limit of the active cores is a step of its own, and attenuation belongs to it.
        const TOLD: [&str; 2] = ["turbo-limit", "attenuation"];
        let topology = &self.record.machine.topology;
        let package = |cpu| topology.place(cpu).map(|place| place.package);
        let packages: Vec<Option<u32>> = self.row.active.iter().map(package).collect();
        let reasons = self.record.clock.iter().flat_map(|clock| &clock.reasons);
        reasons.filter(move |reason| {
            let ours = reason.cpus.iter().any(|cpu| packages.contains(&package(cpu)));
            ours && reason.held() && !TOLD.contains(&reason.id.as_str())
        })
    }

    /// Limits that state no clock explain what is left, together.
    fn reasons(&mut self) {
        let (mut ids, mut labels): (Vec<&str>, Vec<String>) = (Vec::new(), Vec::new());
        let mut evidence: Vec<String> = Vec::new();
        let held: Vec<&LimitReason> = self.held().collect();
        // A register that says `power` is no news beside one that says which limit.
        let is_precise = held.iter().any(|reason| reason.id.starts_with("pl"));
        for reason in held.iter().filter(|reason| !(is_precise && reason.id == "power")) {
            if !ids.contains(&reason.id.as_str()) {
                ids.push(&reason.id);
                labels.push(self.label(reason));
            }
            evidence.push(format!("{} ({})", told(reason), reason.source));
        }
        let rest = self.left - self.clock;
        if ids.is_empty() || rest <= SAME * self.clock {
            return;
        }
        let is_light = self.light.is_none_or(|light| light.workload == self.row.workload);
        if !is_light && self.licence_bin().is_none() {
            ids.push("licence");
            labels.push("licence of the instructions".to_owned());
            evidence.push("no table tells the licence's clock from these limits'".to_owned());
        }
        evidence.dedup();
        let together = if ids.len() > 1 { ", together" } else { "" };
        let label = format!("{}{together}", labels.join(" and "));
        self.step(&ids.join("+"), &label, rest, evidence.join("; "));
    }

    /// A reason with its limit, where that is known.
    fn label(&self, reason: &LimitReason) -> String {
        let term = match reason.id.as_str() {
            "pl1" => Some(PowerTerm::Long),
            "pl2" => Some(PowerTerm::Short),
            _ => None,
        };
        let limits = self.record.clock.iter().flat_map(|clock| &clock.power);
        let said: Vec<String> = limits
            .filter(|limit| term.map_or(reason.id == "power", |term| limit.term == term))
            .filter_map(|limit| Some(format!("{} {:.0} W", limit.term.word(), limit.watts?)))
            .collect();
        let mut said = said;
        said.dedup();
        match (term, said.as_slice()) {
            (_, []) => reason.label.clone(),
            (Some(_), _) => said.join(", "),
            (None, _) => format!("{} ({})", reason.label, said.join(", ")),
        }
    }

    /// What is lost beside the clock; what is left then.
    fn lost(&mut self) -> f64 {
        let mut delivered = self.clock;
        let mut lose =
            |steps: &mut Vec<AccountStep>, id: &str, label: &str, share: f64, evidence| {
                let hertz = delivered * share;
                delivered -= hertz;
                let (id, label) = (id.to_owned(), label.to_owned());
                steps.push(AccountStep { id, label, hertz, evidence });
            };
        if let Some((share, evidence)) = halted(self.record, self.row) {
            lose(&mut self.steps, "halted", "halted", share, evidence);
        }
        if let Some(share) = lost_share(self.record).filter(|share| *share >= 1e-4) {
            let steal = disturbance(self.record, "disturbance.steal");
            let steal =
                steal.map_or(String::new(), |it| format!("; the kernel counts {it:.2} s of steal"));
            let evidence = format!("gaps in polling the clock, {:.2} %{steal}", share * 100.0);
            let label = "taken away (interrupts, hypervisor)";
            lose(&mut self.steps, "taken", label, share, evidence);
        }
        let throttled =
            disturbance(self.record, "disturbance.cgroup_throttled").filter(|it| *it > 0.0);
        if let Some(seconds) = throttled {
            let share = (seconds / self.record.run.seconds.max(f64::MIN_POSITIVE)).min(1.0);
            let evidence = format!("{seconds:.2} s of {:.1} s", self.record.run.seconds);
            lose(&mut self.steps, "quota", "quota of the control group", share, evidence);
        }
        delivered
    }
}

/// The share of time that the core was halted while it had work, by MPERF.
fn halted(record: &Record, row: &Row<'_>) -> Option<(f64, String)> {
    let rate = super::page::mperf_hertz(record)?;
    let share = 1.0 - row.median("mperf_rate")? / rate;
    (share >= 1e-3).then(|| (share, format!("MPERF counted {:.2} % less than time", share * 100.0)))
}

fn told(reason: &LimitReason) -> String {
    let when = match (reason.before.active, reason.after.active) {
        (true, true) => "in force before and after",
        (true, false) => "in force before",
        (false, true) => "in force at the end",
        (false, false) => "logged during the run",
    };
    format!("{}: {when}", reason.label)
}

/// The clock that is advertised for one core of this type.
pub(super) fn advertised(
    record: &Record,
    cpu: CpuId,
    core_type: Option<&str>,
) -> Result<AdvertisedClock, Unavailable> {
    let alone = CpuSet::from_iter([cpu]);
    if let Some(hertz) = promise::turbo_hertz(record, &alone) {
        let source = format!("turbo limit of one core ({})", limit_source(record, cpu));
        return Ok(AdvertisedClock { hertz, source });
    }
    let max = fact(record, "cpu.max_frequency");
    match max.map(|max| &max.value) {
        Some(Known::Yes(FactValue::Number { value, .. })) => {
            let source = "highest frequency that the machine claims".to_owned();
            Ok(AdvertisedClock { hertz: *value, source })
        }
        Some(Known::No { unavailable }) => {
            Err(Unavailable { what: "advertised clock".to_owned(), ..unavailable.clone() })
        }
        _ => {
            let kind = core_type.unwrap_or("this");
            let why = format!("the machine claims no clock of {kind} cores alone");
            Err(Unavailable::new(Obstacle::Cpudyno, "advertised clock", why))
        }
    }
}

fn limit_source(record: &Record, cpu: CpuId) -> &str {
    let limits = &record.machine.turbo_limits;
    let limit = limits.iter().find(|limit| limit.cpus.contains(cpu));
    limit.map_or("", |limit| &limit.source)
}

/// The power domain of a CPU and its present level.
pub(super) fn level_of(record: &Record, cpu: CpuId) -> Option<(&PowerDomain, &PerformanceLevel)> {
    let domains = &record.speed_select.as_ref()?.domains;
    let domain = domains.iter().find(|domain| domain.cpus.contains(cpu))?;
    let profiles = domain.profiles.as_ref()?.value()?;
    let level = profiles.levels.iter().find(|level| level.number == profiles.current)?;
    Some((domain, level))
}

/// Which of the licences a stream needs at most, lightest first: Intel's servers have one for plain code, one
/// for heavy 256-bit and light 512-bit code, one for heavy 512-bit code.
pub(super) fn licence_index(workload: &str) -> usize {
    let is_heavy = ["fma", "imul", "vlzcnt"].iter().any(|word| workload.contains(word));
    match workload {
        it if it.starts_with("avx512") => 1 + usize::from(is_heavy && !it.contains("sparse")),
        it if it.starts_with("avx256") => usize::from(is_heavy && !it.contains("sparse")),
        _ => 0,
    }
}

fn number(record: &Record, id: &str) -> Option<f64> {
    match fact(record, id)?.value.value()? {
        FactValue::Number { value, .. } => Some(*value),
        FactValue::Text(_) => None,
    }
}

fn condition(record: &Record, id: &str) -> Option<String> {
    let condition = record.conditions.before.iter().find(|condition| condition.id == id)?;
    match condition.value.value()? {
        FactValue::Text(text) => Some(text.clone()),
        FactValue::Number { .. } => None,
    }
}

fn disturbance(record: &Record, id: &str) -> Option<f64> {
    let fact = record.conditions.after.iter().find(|fact| fact.id == id)?;
    match fact.value.value()? {
        FactValue::Number { value, .. } => Some(*value),
        FactValue::Text(_) => None,
    }
}

fn mhz(hertz: f64) -> String {
    format!("{:.0} MHz", hertz / 1e6)
}
