//! Why not faster? The way from the advertised clock to the delivered one, in steps.
//!
//! Limits that state a clock (the kernel's, that of the active cores, that of Speed Select, that of a licence)
//! apply one after the other, each taking what is left above it. Limits that state none (power, temperature,
//! current, PROCHOT) explain what is left below them, together, where the hardware says that they held. Where
//! none of them is seen, and heavy instructions are slower than light ones on the same cores, that much is
//! measured; it is called a licence only where every other reason was asked for and denied. Time that is
//! lost beside the clock comes last. The rest is unexplained, and says so.

use model::record::BOOST;
use std::collections::BTreeSet;

use model::record::{
    AccountStep, AdvertisedClock, AllowedClock, ClockAccount, FactValue, LimitReason, LimitSwitch,
    PerformanceLevel, PowerDomain, PowerTerm, Record, RefutedLimit,
};
use model::stats::mean;
use model::{CpuId, CpuSet, Known, Obstacle, Unavailable, in_order};

use super::super::{interference, sustained, transitions};
use super::clocked::{Clocked, Lighter, LimitEvidence};
use super::read::{WorkloadRow, grown, number, rows_alike};
use super::time_lost::{CountedShares, Lost};
use super::{published_licences, read};
use model::areas::turbo::promise;
use model::areas::turbo::speed_select::{Selected, Stated};
use model::licence::Licence;

/// Where Intel's CPUs say what lowers a clock, power among it, each core and each package.
pub(in crate::areas) const STATUS: [&str; 2] = ["MSR 19Ch", "MSR 1B1h"];

/// Limits within which a clock is promised, by the ids that registers of reasons have here: power, current and heat.
pub(in crate::areas) const WITHIN: [&str; 12] = [
    "pl1",
    "pl2",
    "power",
    "core-power",
    "current",
    "vr-current",
    "thermal",
    "average-thermal",
    "vr-thermal",
    "critical-temperature",
    "prochot",
    "cross-domain",
];

const LICENCE: &str = "licence of the instructions";
pub(in crate::areas) const ACTIVE_CORES: &str = "limit of the active cores";

/// Less of a clock than this is what two looks at it differ by.
pub(in crate::areas) const SAME: f64 = 0.005;

/// Accounts of the clocks that a run asked for: of the lightest and the heaviest stream that has one, with the
/// fewest and the most active cores of each type, and of each stream of a mix; of a run without streams the clocks of
/// its questions.
pub fn accounts(record: &Record) -> Vec<ClockAccount> {
    let rows = rows_alike(record);
    let with_clock = rows.iter().filter(|row| row.median("clock").is_some());
    let (mixed, plain): (Vec<&WorkloadRow<'_>>, Vec<&WorkloadRow<'_>>) =
        with_clock.partition(|row| row.is_mix());
    // What others of a mix execute beside a stream is no measure of it.
    let mixed = mixed.into_iter().filter_map(|row| Clocked::of_row(row, None));
    let mut all: Vec<Clocked<'_>> = mixed.collect();
    for of_type in plain.chunk_by(|a, b| a.core_type() == b.core_type()) {
        let counts = of_type.iter().map(|row| row.active.len());
        let (Some(least), Some(most)) = (counts.clone().min(), counts.max()) else { continue };
        let mut ends = vec![least, most];
        ends.dedup();
        for count in ends {
            let cell: Vec<&WorkloadRow<'_>> =
                of_type.iter().copied().filter(|row| row.active.len() == count).collect();
            for cpus in in_order(cell.iter().map(|row| row.cpus.as_ref())) {
                let part = cell.iter().copied().filter(|row| row.cpus.as_ref() == cpus);
                all.extend(light_and_heavy(&part.collect::<Vec<_>>()));
            }
        }
    }
    if rows.is_empty() {
        all.extend(sustained::clocked(record));
        all.extend(transitions::clocked(record));
        all.extend(interference::clocked(record));
    }
    all.into_iter().map(|of| Descent::of(record, of).account()).collect()
}

/// The clocks of the lightest and the heaviest stream of a cell.
fn light_and_heavy<'a>(cell: &[&'a WorkloadRow<'a>]) -> Vec<Clocked<'a>> {
    let lightest = light(cell);
    let mut chosen: Vec<&WorkloadRow<'_>> = lightest.into_iter().chain(heavy(cell)).collect();
    chosen.dedup_by_key(|row| row.workload);
    chosen.into_iter().filter_map(|row| Clocked::of_row(row, lightest)).collect()
}

fn light<'a, 'r>(cell: &[&'a WorkloadRow<'r>]) -> Option<&'a WorkloadRow<'r>> {
    let named = cell.iter().find(|row| row.workload == super::LIGHT);
    named.or(cell.first()).copied()
}

fn heavy<'a, 'r>(cell: &[&'a WorkloadRow<'r>]) -> Option<&'a WorkloadRow<'r>> {
    let named = |id: &&str| cell.iter().find(|row| row.workload == *id);
    super::HEAVY.iter().find_map(named).or(cell.last()).copied()
}

/// The clock that firmware promises a stream on these cores: by its licence where a table states that, by the
/// number of active cores where it needs none, and no more than their priorities leave them.
pub(in crate::areas) fn promised(record: &Record, row: &WorkloadRow<'_>) -> Option<f64> {
    let cpu = row.own().iter().next()?;
    let licence = record.run.plan.licence(row.workload);
    let firmware = Selected::of(record.speed_select.as_ref(), cpu);
    let by_licence = firmware.and_then(|it| {
        let active =
            promise::cores(&record.machine.topology, &row.active.intersection(&it.domain.cpus));
        it.by_licence(licence, active)
    });
    let by_class = firmware.and_then(|it| it.by_class());
    let by_count = promise::turbo_hertz(record, row.own(), row.active);
    let stated = match licence {
        Licence::Plain => by_licence.into_iter().chain(by_class),
        _ => Some(by_licence?).into_iter().chain(by_class),
    };
    let by_count = by_count.filter(|_| licence == Licence::Plain);
    stated.map(|(hertz, _)| hertz).chain(by_count).reduce(f64::min)
}

/// An account in the making.
struct Descent<'a> {
    record: &'a Record,
    of: Clocked<'a>,
    cpu: CpuId,
    /// The clock that is left after the steps so far.
    left: f64,
    /// The clock by the chain.
    clock: f64,
    steps: Vec<AccountStep>,
    refuted: Vec<RefutedLimit>,
}

impl<'a> Descent<'a> {
    fn of(record: &'a Record, of: Clocked<'a>) -> Descent<'a> {
        let clock = of.clock;
        let first = of.cpus.first().map_or(CpuId(0), |(cpu, _)| *cpu);
        // Where cores have priorities, one of those that have the median clock stands for all.
        let off = |(_, hertz): &&(CpuId, f64)| (hertz - clock).abs();
        let nearest = of.cpus.iter().min_by(|a, b| off(a).total_cmp(&off(b))).map(|(cpu, _)| *cpu);
        let cpu = nearest.filter(|_| level_of(record, first).is_some()).unwrap_or(first);
        let (steps, refuted) = (Vec::new(), Vec::new());
        Descent { record, of, cpu, left: f64::NAN, clock, steps, refuted }
    }

    fn account(mut self) -> ClockAccount {
        let mut advertised = advertised(self.record, self.cpu, self.of.core_type);
        // What chosen cores are promised is more than what the turbo limit says of one.
        let chosen = self.firmware().filter(|it| it.chosen().is_some());
        let promised = chosen.and_then(|it| it.by_priority(Licence::Plain));
        if let (Ok(advertised), Some((hertz, evidence))) = (&mut advertised, promised)
            && hertz > advertised.hertz
        {
            *advertised = AdvertisedClock { hertz, source: format!("Speed Select: {evidence}") };
        }
        if let Ok(advertised) = &advertised {
            self.left = advertised.hertz;
            self.stated();
            self.licence();
            self.neighbours();
            self.reasons();
        }
        let unexplained = advertised.is_ok().then_some(self.left - self.clock);
        let delivered = self.lost();
        ClockAccount {
            workload: self.of.stream.to_owned(),
            moment: self.of.moment.clone(),
            core_type: self.of.core_type.map(str::to_owned),
            own: self.of.own(),
            active: self.of.active,
            cpu: self.cpu,
            advertised: Known::from(advertised),
            clock: self.clock,
            delivered,
            steps: self.steps,
            refuted: self.refuted,
            unexplained,
        }
    }

    fn step(&mut self, id: &str, label: &str, hertz: f64, evidence: String) {
        self.left -= hertz;
        let (id, label) = (id.to_owned(), label.to_owned());
        self.steps.push(AccountStep { id, label, hertz, evidence });
    }

    /// A limit of this stream on so many cores takes what is left above it, unless its clock is above it, too.
    fn cap(&mut self, id: &str, label: &str, hertz: f64, evidence: String) {
        self.cap_unless(self.clock, id, label, hertz, evidence);
    }

    /// A limit of this core, whatever it executes: unless any of its clocks is above that.
    fn cap_core(&mut self, id: &str, label: &str, hertz: f64, evidence: String) {
        let clocks = self.record.series_of(super::AREA, "clock");
        let own = clocks.filter(|series| series.cpu == self.cpu);
        let medians = own.filter_map(|series| Some(series.summary()?.median));
        let fastest = medians.fold(self.clock, f64::max);
        self.cap_unless(fastest, id, label, hertz, evidence);
    }

    fn cap_unless(&mut self, clock: f64, id: &str, label: &str, hertz: f64, evidence: String) {
        /// Beyond this a clock is no more as a limit says, whatever clocks drift by.
        const OBEYED: f64 = 1.02;
        if clock > hertz * OBEYED {
            if self.refuted.iter().any(|it| it.evidence == evidence) {
                return;
            }
            let (id, label) = (id.to_owned(), label.to_owned());
            self.refuted.push(RefutedLimit { id, label, hertz, clock, evidence });
        } else if hertz < self.left {
            self.step(id, label, self.left - hertz, evidence);
        }
    }

    /// Limits that state a clock.
    fn stated(&mut self) {
        let record = self.record;
        let base = record.fact("cpu.base_frequency").and_then(number);
        let boost = record.text("cpufreq.boost");
        if let (Some("off"), Some(base)) = (boost, base) {
            self.cap_core("boost", "boost is off", base, format!("boost: off; base {}", mhz(base)));
        }
        // Firmware may have switched it off where the kernel has no file for it.
        let switches = record.clock.iter().flat_map(|clock| &clock.switches);
        let is_off = |it: &&LimitSwitch| it.label == BOOST && !it.on && it.cpus.contains(self.cpu);
        if let (Some(switch), Some(base)) = (switches.into_iter().find(is_off), base) {
            let evidence = format!("{BOOST}: off ({}); base {}", switch.source, mhz(base));
            self.cap_core("boost", "boost is off", base, evidence);
        }
        if let Some((own, evidence)) = self.of_this_core() {
            self.cap_core("core", "limit of this core", own, evidence);
        }
        let own = CpuSet::from_iter([self.cpu]);
        let allowed = promise::limiting(record.clock.as_ref(), &own);
        let of_kernel =
            |it: &&AllowedClock| [promise::BY_KERNEL, promise::BY_SHARE].contains(&&*it.source);
        if let Some(least) = least(allowed.clone().filter(of_kernel)) {
            let evidence = format!("{} {}", least.source, mhz(least.hertz));
            self.cap_core("kernel", "limit of the kernel", least.hertz, evidence);
        }
        // Governors that choose one clock hold it, whatever is to be done.
        let of_governor = |it: &&AllowedClock| it.source.starts_with(promise::BY_GOVERNOR);
        if let Some(least) = least(allowed.clone().filter(of_governor)) {
            let evidence = format!("{} {}", least.source, mhz(least.hertz));
            self.cap_core("governor", "clock of the governor", least.hertz, evidence);
        }
        if let Some(least) = least(allowed.filter(|it| !of_kernel(it) && !of_governor(it))) {
            let evidence = format!("{} {}", least.source, mhz(least.hertz));
            self.cap_core("hwp", "request to the hardware", least.hertz, evidence);
        }
        let count = promise::counted(record, self.cpu, &self.of.active);
        if let Some(bin) = promise::turbo_hertz_of(record, self.cpu, count) {
            let source = limit_source(record, self.cpu);
            let is_chosen = self.firmware().is_some_and(|it| it.chosen().is_some());
            let what = if is_chosen { "chosen" } else { "active" };
            let evidence = format!("{} with {count} {what} in a package ({source})", mhz(bin));
            self.cap("active-cores", ACTIVE_CORES, bin, evidence);
        } else if let Some((bin, source)) = self.stated_by_others(Licence::Plain) {
            let evidence = format!("{} with {count} active in a package, {source}", mhz(bin));
            self.cap("active-cores", ACTIVE_CORES, bin, evidence);
        }
        // What a licence takes of that is a step of its own.
        if let Some((hertz, evidence)) =
            self.firmware().and_then(|it| it.by_priority(Licence::Plain))
        {
            self.cap("sst", "Speed Select", hertz, evidence);
        }
    }

    /// What firmware said of this CPU.
    fn firmware(&self) -> Option<Selected<'a>> {
        Selected::of(self.record.speed_select.as_ref(), self.cpu)
    }

    /// How far this core comes at all, where others of its type come further.
    fn of_this_core(&self) -> Option<(f64, String)> {
        let topology = &self.record.machine.topology;
        let kind = |cpu: CpuId| topology.place(cpu).and_then(|place| place.kind.as_deref());
        let is_alike = |it: &&AllowedClock| it.cpus.iter().any(|cpu| kind(cpu) == kind(self.cpu));
        let highest = &self.record.clock.as_ref()?.highest;
        let own = highest.iter().find(|it| it.cpus.contains(self.cpu))?;
        let best = highest.iter().filter(is_alike).max_by(|a, b| a.hertz.total_cmp(&b.hertz))?;
        let further = format!("CPUs {} come to {}", best.cpus, mhz(best.hertz));
        let evidence = format!("{} {}; {further}", own.source, mhz(own.hertz));
        (own.hertz < best.hertz).then_some((own.hertz, evidence))
    }

    /// What heavy instructions cost: by the table of their licence, else as measured against the lightest
    /// stream, where no other limit is seen. That it is a licence then follows only where none can be hidden.
    fn licence(&mut self) {
        if let Some((hertz, evidence)) = self.by_licence() {
            self.cap("licence", LICENCE, hertz, evidence);
            return;
        }
        let own = self.record.run.plan.licence(self.of.stream);
        if let Some((hertz, source)) = self.stated_by_others(own).filter(|_| own != Licence::Plain)
        {
            let evidence = format!("{} for instructions like these, {source}", mhz(hertz));
            self.cap("licence", LICENCE, hertz, evidence);
            return;
        }
        let Some(light) = self.slower().filter(|_| !self.is_limited()) else { return };
        let clock = self.own_clock();
        let lost = (light.hertz - clock).min(self.left - clock).max(0.0);
        let measured = format!("measured: {}", light.said());
        match self.hidden() {
            None => {
                let evidence = format!("{measured}; no other reason came up");
                self.step("licence", LICENCE, lost, evidence);
            }
            Some(why) => {
                let label = format!("slower than {}, cause not known", light.name);
                let evidence = format!("{measured}; licence, power or current: {why}");
                self.step("heavier", &label, lost, evidence);
            }
        }
    }

    /// What the others execute costs more than their being active: their licences, power and current, seen as what it
    /// takes from this one.
    fn neighbours(&mut self) {
        let lost = (self.own_clock() - self.clock).min(self.left - self.clock);
        if lost > SAME * self.clock && !self.is_limited() {
            let merely_active = mhz(self.own_clock());
            let evidence = format!("measured: {merely_active} where they execute scalar code");
            self.step("neighbours", "what the neighbours execute", lost, evidence);
        }
    }

    /// The clock without what its neighbours execute.
    fn own_clock(&self) -> f64 {
        self.of.beside_scalar.unwrap_or(self.clock)
    }

    /// What ran at a higher clock on the same cores.
    fn slower(&self) -> Option<Lighter<'a>> {
        self.of.lighter.filter(|it| it.hertz > self.own_clock() * (1.0 + SAME))
    }

    /// Whether a limit that states no clock was seen.
    fn is_limited(&self) -> bool {
        match &self.of.seen {
            Some(seen) => !seen.is_empty(),
            None => self.held().next().is_some(),
        }
    }

    /// Why a limit that states no clock may have held without being seen; none: it could not.
    fn hidden(&self) -> Option<String> {
        let Some(clock) = &self.record.clock else { return Some("nothing was asked".to_owned()) };
        let vendor = self.record.text("cpu.vendor");
        if vendor.is_some_and(|vendor| ["AuthenticAMD", "HygonGenuine"].contains(&vendor)) {
            return Some("CPUs of AMD state no reasons".to_owned());
        }
        if let Some(silent) = STATUS.iter().find(|it| !clock.asked.iter().any(|asked| asked == *it))
        {
            let unread = clock.unread.iter().find(|it| it.what.contains("reasons"));
            let why = unread.map_or("this CPU has no such register", |it| it.why.as_str());
            return Some(format!("{silent} does not tell, {why}"));
        }
        if let Some(unread) = clock.unread.iter().find(|it| it.what.contains("reasons")) {
            return Some(unread.why.clone());
        }
        let ours = |reason: &&LimitReason| reason.is_cause() && self.concerns(reason);
        for reason in clock.reasons.iter().filter(ours) {
            let (label, source) = (&reason.label, &reason.source);
            if reason.before.logged {
                let silent = "was logged before the run, so that its log tells nothing";
                return Some(format!("{label} {silent} ({source})"));
            }
            if self.of.seen.is_some() && reason.held() {
                let silent = "came up in this run, after which its log tells nothing";
                return Some(format!("{label} {silent} ({source})"));
            }
            if let Some(untold) = self.untold(reason) {
                let silent = "came up in other cells, and its log tells nothing of";
                return Some(format!("{label} {silent} {untold} blocks after that ({source})"));
            }
        }
        None
    }

    /// Of how many blocks of this cell nobody knows whether a reason held there, which came up elsewhere meanwhile;
    /// none: of none, or the clock was as low before that.
    fn untold(&self, reason: &LimitReason) -> Option<u64> {
        if !reason.held() {
            return None;
        }
        let told = reason.spared_in(self.of.workload, &self.of.active)?;
        let before = self.of.row?.median_of_first("clock", told.clear);
        let was_higher = before.is_none_or(|hertz| hertz > self.clock * (1.0 + SAME));
        (told.untold > 0 && was_higher).then_some(told.untold)
    }

    /// What firmware's tables state of the licence of this stream.
    fn by_licence(&self) -> Option<Stated> {
        let firmware = self.firmware()?;
        let here = self.of.active.intersection(&firmware.domain.cpus);
        let active = promise::cores(&self.record.machine.topology, &here);
        firmware.by_licence(self.record.run.plan.licence(self.of.stream), active)
    }

    /// What others state of this CPU, where firmware does not tell: no limit of a machine that is faster.
    fn stated_by_others(&self, licence: Licence) -> Option<(f64, String)> {
        let cpu = published_licences::PublishedCpu::of(self.record)?;
        let active = promise::busiest(&self.record.machine.topology, &self.of.active);
        let hertz = cpu.hertz(licence, active).filter(|it| self.clock <= it * (1.0 + SAME))?;
        Some((hertz, format!("as others state of this CPU ({})", cpu.source)))
    }

    /// The reasons that held on these CPUs, or in their packages, while they executed this stream, as far as
    /// is known.
    fn held(&self) -> impl Iterator<Item = &'a LimitReason> {
        let reasons = self.record.clock.iter().flat_map(|clock| &clock.reasons);
        reasons.filter(move |reason| {
            let here = reason.held_in(self.of.workload, &self.of.active);
            here && reason.is_cause() && self.concerns(reason)
        })
    }

    /// Whether a reason is one of these cores, or of their packages.
    fn concerns(&self, reason: &LimitReason) -> bool {
        let topology = &self.record.machine.topology;
        let domain = |cpu| {
            let place = topology.place(cpu)?;
            Some((place.package, reason.of_cores.then_some(place.core)))
        };
        let mut domains = self.of.active.iter().map(domain);
        domains.any(|ours| reason.cpus.iter().any(|cpu| domain(cpu) == ours))
    }

    /// Limits that state no clock explain what is left, together.
    fn reasons(&mut self) {
        let mut seen = match &self.of.seen {
            Some(seen) => seen.clone(),
            None => self.held().map(|it| self.seen(it)).collect(),
        };
        // A register that says `power` is no news beside one that says which limit.
        if seen.iter().any(|it| it.id.starts_with("pl")) {
            seen.retain(|it| it.id != "power");
        }
        let rest = self.left - self.clock;
        if seen.is_empty() || rest <= SAME * self.clock {
            return;
        }
        let mut evidence: Vec<String> = seen.iter().map(|it| it.evidence.clone()).collect();
        evidence.dedup();
        let mut known = BTreeSet::new();
        seen.retain(|it| known.insert(it.id.clone()));
        if let Some(light) = self.slower().filter(|_| self.by_licence().is_none()) {
            let of = light.in_short();
            evidence.push(format!("a licence may be part of it, no table states its clock: {of}"));
        }
        let [ids, labels] =
            [|it: &LimitEvidence| it.id.clone(), |it: &LimitEvidence| it.label.clone()]
                .map(|of| seen.iter().map(of));
        let (ids, labels): (Vec<String>, Vec<String>) = (ids.collect(), labels.collect());
        let together = if ids.len() > 1 { ", together" } else { "" };
        let label = format!("{}{together}", labels.join(" and "));
        self.step(&ids.join("+"), &label, rest, evidence.join("; "));
    }

    /// A reason that held.
    fn seen(&self, reason: &LimitReason) -> LimitEvidence {
        let evidence = format!("{} ({})", self.told(reason), reason.source);
        LimitEvidence { id: reason.id.clone(), label: self.label(reason), evidence }
    }

    /// When a reason held, and what tells that it did so here.
    fn told(&self, reason: &LimitReason) -> String {
        let when = match (reason.before.active, reason.after.active) {
            (true, true) => "in force before and after",
            (true, false) => "in force before",
            (false, true) => "in force at the end",
            (false, false) => "logged during the run",
        };
        let (workload, active) = (self.of.workload, &self.of.active);
        let is_known = reason.met.iter().any(|cell| cell.is(workload, active));
        let others = if is_known || reason.met.is_empty() || reason.before.active {
            ""
        } else {
            ", before the first block of this cell, of which its log tells nothing"
        };
        format!("{}: {when}{others}", reason.label)
    }

    /// A reason with its limit, where that is known.
    fn label(&self, reason: &LimitReason) -> String {
        let term = match reason.id.as_str() {
            "pl1" => Some(PowerTerm::Long),
            "pl2" => Some(PowerTerm::Short),
            _ => None,
        };
        let limits = self.record.clock.iter().flat_map(|clock| &clock.power);
        let mut said: Vec<String> = limits
            .filter(|limit| term.map_or(reason.id == "power", |term| limit.term == term))
            .filter_map(|limit| Some(format!("{} {:.0} W", limit.term.word(), limit.watts?)))
            .collect();
        said.dedup();
        match (term, said.as_slice()) {
            (_, []) => reason.label.clone(),
            (Some(_), _) => said.join(", "),
            (None, _) => format!("{} ({})", reason.label, said.join(", ")),
        }
    }

    /// The time that is lost beside the clock; what is left then.
    fn lost(&mut self) -> f64 {
        /// Less than this is what timers take.
        const LEAST: f64 = 1e-4;
        let (record, clock) = (self.record, self.clock);
        let run = &record.run;
        let counted = self.counted();
        let Lost { quota, halted, steal, taken } = counted.lost();
        let percent = |share: f64| format!("{:.2} %", share * 100.0);
        let of_quota = grown(record, THROTTLED).map_or(String::new(), |seconds| {
            let busy = self.busy_seconds();
            format!("{seconds:.2} s beside {busy:.1} s of work in {:.1} s of the run", run.seconds)
        });
        let of_halts = match &self.of.halted {
            Some((_, evidence)) => evidence.clone(),
            None => {
                format!("MPERF counted {} less than time", percent(counted.halted.unwrap_or(0.0)))
            }
        };
        let of_gaps =
            self.gaps().map_or(String::new(), |(share, how)| format!("{how}, {}", percent(share)));
        let of_steal = grown(record, STEAL).map_or(String::new(), |seconds| {
            format!(
                "the kernel counts {seconds:.2} s beside {:.1} s of work",
                self.wanted_seconds()
            )
        });
        // A host need not say what it takes.
        let others = if record.is_guest() { "threads, hypervisor" } else { "threads" };
        let taken_by = format!("taken away (interrupts, other {others})");
        let steps = [
            ("quota", "quota of the control group", quota, of_quota),
            ("halted", "halted", halted, of_halts),
            ("steal", "taken by the hypervisor", steal, of_steal),
            ("taken", &taken_by, taken, of_gaps),
        ];
        let mut delivered = clock;
        for (id, label, share, evidence) in steps {
            if share >= LEAST {
                let hertz = clock * share;
                delivered -= hertz;
                let (id, label) = (id.to_owned(), label.to_owned());
                self.steps.push(AccountStep { id, label, hertz, evidence });
            }
        }
        delivered
    }

    /// Seconds of work of all CPUs together; where nobody noted them, those of CPUs that worked all the time.
    fn busy_seconds(&self) -> f64 {
        let run = &self.record.run;
        let noted = self.record.clock.as_ref().and_then(|clock| clock.busy_seconds);
        noted.unwrap_or(run.seconds * run.plan.cpus.len() as f64)
    }

    /// The same, with the work of others on these CPUs: a hypervisor takes from that, too.
    fn wanted_seconds(&self) -> f64 {
        self.busy_seconds().max(grown(self.record, WANTED).unwrap_or(0.0))
    }

    /// The share of time that gaps took, and how they were seen: each stream polls for a moment alone, so that all of them
    /// together tell of each.
    fn gaps(&self) -> Option<(f64, &'static str)> {
        let own = self.of.gaps.filter(|_| self.of.row.is_none());
        own.or_else(|| {
            let streams = self.record.series_of(super::AREA, "clock");
            let shares: Vec<f64> = streams.filter_map(|it| it.disturbance.lost_share).collect();
            Some((mean(&shares)?, "gaps in polling while streams ran"))
        })
    }

    /// What is known of lost time: MPERF of this stream on these cores, all else of the whole run.
    fn counted(&self) -> CountedShares {
        /// Clocks by the chain and by counters differ by as much anyway.
        const NOISE: f64 = 0.01;
        let record = self.record;
        let rate = super::page::mperf_hertz(record);
        let by_phase = self.of.halted.as_ref().map(|(share, _)| *share);
        let by_mperf = rate
            .zip(self.of.row.and_then(|row| row.median("mperf_rate")))
            .map(|(rate, of)| 1.0 - of / rate);
        let unhalted = rate
            .zip(self.of.row.and_then(|row| row.median("aperf_per_mperf")))
            .map(|(rate, of)| rate * of);
        let in_clock = unhalted.map(|hertz| 1.0 - self.clock / hertz);
        // All CPUs that wanted to work: those that were idle lost nothing.
        let time = self.busy_seconds();
        let counted = |id| grown(record, id).filter(|it| *it > 0.0 && time > 0.0);
        let [throttled, stolen] = [THROTTLED, STEAL].map(counted);
        CountedShares {
            // Those were seen without the payload that the core halts for.
            gaps: self.gaps().map(|(share, _)| share + by_phase.unwrap_or(0.0)),
            halted: by_phase.or(by_mperf).filter(|share| *share >= 1e-3),
            quota: throttled.map(|seconds| seconds / (seconds + time)),
            steal: stolen.map(|seconds| seconds / self.wanted_seconds()),
            in_clock: in_clock.filter(|share| *share >= NOISE),
        }
    }
}

/// The kernel's books of the quota: seconds, summed over CPUs.
const THROTTLED: &str = "disturbance.cgroup_throttled";

/// The kernel's books of what the hypervisor took: seconds, summed over CPUs.
const STEAL: &str = "disturbance.steal";

/// The kernel's books of what anybody wanted of these CPUs: seconds, summed over CPUs.
const WANTED: &str = "disturbance.wanted";

/// The lowest of some clocks.
fn least<'a>(clocks: impl Iterator<Item = &'a AllowedClock>) -> Option<&'a AllowedClock> {
    clocks.min_by(|a, b| a.hertz.total_cmp(&b.hertz))
}

/// The clock that is advertised for one core of this type.
pub(in crate::areas) fn advertised(
    record: &Record,
    cpu: CpuId,
    core_type: Option<&str>,
) -> Result<AdvertisedClock, Unavailable> {
    let alone = CpuSet::from_iter([cpu]);
    if let Some(hertz) = promise::turbo_hertz(record, &alone, &alone) {
        let source = format!("turbo limit of one core ({})", limit_source(record, cpu));
        return Ok(AdvertisedClock { hertz, source });
    }
    let claimed = claimed(record, cpu, core_type);
    // While boost is off, what the kernel calls the highest clock is the base.
    let stated = record.clock.iter().flat_map(|clock| &clock.boosted);
    let mut boosted = stated.filter(|it| it.cpus.contains(cpu));
    match boosted.next() {
        Some(it) if claimed.as_ref().map_or(true, |claimed| it.hertz > claimed.hertz) => {
            let source = format!("highest clock with boost, which is off ({})", it.source);
            Ok(AdvertisedClock { hertz: it.hertz, source })
        }
        _ => claimed,
    }
}

/// The highest clock that the machine claims.
fn claimed(
    record: &Record,
    cpu: CpuId,
    core_type: Option<&str>,
) -> Result<AdvertisedClock, Unavailable> {
    let max = record.fact("cpu.max_frequency");
    match max.map(|max| &max.value) {
        Some(Known::Yes(FactValue::Number { value, .. })) => {
            let source = "the machine's highest frequency".to_owned();
            Ok(AdvertisedClock { hertz: *value, source })
        }
        Some(Known::No { unavailable }) => {
            Err(Unavailable { what: "advertised clock".to_owned(), ..unavailable.clone() })
        }
        // Types of cores have clocks of their own, which the fact has in one text.
        _ => of_cpu(record, cpu).ok_or_else(|| {
            let kind = core_type.unwrap_or("this");
            let why = format!("the machine claims no clock of {kind} cores alone");
            Unavailable::new(Obstacle::Cpudyno, "advertised clock", why)
        }),
    }
}

/// What the kernel claims for a CPU.
fn of_cpu(record: &Record, cpu: CpuId) -> Option<AdvertisedClock> {
    let claims = record.clock.iter().flat_map(|clock| &clock.highest);
    let claim = claims.into_iter().find(|claim| claim.cpus.contains(cpu))?;
    let source = format!("the kernel's highest frequency ({})", claim.source);
    Some(AdvertisedClock { hertz: claim.hertz, source })
}

fn limit_source(record: &Record, cpu: CpuId) -> &str {
    promise::limit_of(record, cpu).map_or("", |limit| &limit.source)
}

/// The power domain of a CPU and its present level.
pub(in crate::areas) fn level_of(
    record: &Record,
    cpu: CpuId,
) -> Option<(&PowerDomain, &PerformanceLevel)> {
    let firmware = Selected::of(record.speed_select.as_ref(), cpu)?;
    Some((firmware.domain, firmware.level))
}

fn mhz(hertz: f64) -> String {
    format!("{} MHz", read::mhz(hertz))
}

#[cfg(test)]
mod tests;
