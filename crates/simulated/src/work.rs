//! What runs on a simulated machine: the work of others while nobody measures, and what jobs did. APERF, MPERF
//! and energy count it.

use model::{CpuId, Reading, Seconds};

use crate::description::{Model, Power};
use crate::faults::{Fault, WrongAnswers};
use crate::files::Files;
use crate::state::{Busy, Drawn};

impl Model {
    /// Lets time pass, in which its work is done.
    pub fn work(&self, duration: Seconds) {
        let online = self.online();
        let mut log = self.worked.log();
        for cpu in online.iter() {
            let share = self.share_of(cpu);
            let busy = log.cpus.entry(cpu).or_default();
            busy.seconds += share * duration.0;
            busy.cycles += share * duration.0 * self.clock_at_work(cpu);
            self.idle_in_all(cpu, Seconds((1.0 - share) * duration.0));
            self.happen_on(cpu, duration, Seconds(share * duration.0));
        }
        if let Some(power) = self.power {
            for package in 0..self.topology.packages {
                let watts = self.watts(power, package);
                let drawn = log.packages.entry(package).or_default();
                let now = self.elapsed.seconds();
                drawn.package_joules += drawn.idled(power.idle_watts, now) + watts * duration.0;
                drawn.since = Some(now + duration);
                drawn.average = watts;
                drawn.dram_joules += power.dram_watts * duration.0;
                drawn.watts = watts;
            }
        }
        drop(log);
        self.elapsed.advance(duration);
    }

    /// Lets time pass until then, in which jobs had CPUs do this. Who is kept busy beside them does light work all
    /// the time.
    pub fn worked_until(&self, end: Seconds, jobs: &[(CpuId, Busy)]) {
        let duration = end - self.elapsed.seconds();
        let at_work: Vec<CpuId> = jobs.iter().map(|(cpu, _)| *cpu).collect();
        let beside = self.occupied.cpus();
        let beside = beside.iter().map(|cpu| {
            let cycles = duration.0 * self.hz_at_work(cpu, 0, &at_work);
            (cpu, Busy { seconds: duration.0, cycles })
        });
        let beside: Vec<(CpuId, Busy)> = beside.collect();
        let mut log = self.worked.log();
        for (cpu, did) in beside.iter().chain(jobs) {
            let busy = log.cpus.entry(*cpu).or_default();
            busy.seconds += did.seconds;
            busy.cycles += did.cycles;
        }
        drop(log);
        self.elapsed.advance(duration);
    }

    /// The share of time in which a CPU is busy.
    fn share_of(&self, cpu: CpuId) -> f64 {
        self.work.iter().find(|work| work.cpus.contains(cpu)).map_or(0.0, |work| work.share)
    }

    /// Cores of a package that have work.
    fn cores_at_work(&self, package: u32) -> u32 {
        let at_work = |cpu: &CpuId| self.package_of(*cpu) == package && self.share_of(*cpu) > 0.0;
        let online = self.online();
        let at_work = online.iter().filter(at_work);
        let mut cores: Vec<u32> = at_work.map(|cpu| self.claimed_core_of(cpu)).collect();
        cores.sort_unstable();
        cores.dedup();
        cores.len() as u32
    }

    /// The clock of a CPU while it is busy, in hertz: its work is of the lightest kind.
    pub(crate) fn clock_at_work(&self, cpu: CpuId) -> f64 {
        let active = self.cores_at_work(self.package_of(cpu));
        self.bin_hz(0, active.max(1)).min(self.ceiling_hz(cpu))
    }

    fn watts(&self, power: Power, package: u32) -> f64 {
        let online = self.online();
        let of_package = online.iter().filter(|&cpu| self.package_of(cpu) == package);
        let busy: f64 =
            of_package.map(|cpu| self.share_of(cpu) * self.clock_at_work(cpu) / 1e9).sum();
        power.idle_watts + power.core_watts_per_ghz * busy
    }

    /// What APERF and MPERF of a CPU say.
    pub fn counts_of_work(&self, cpu: CpuId) -> Reading<[u64; 2]> {
        let Busy { seconds, cycles } = self.busy(cpu);
        self.cycle_counters()?.counts(self.elapsed.seconds(), cycles, Seconds(seconds))
    }

    pub(crate) fn busy(&self, cpu: CpuId) -> Busy {
        self.worked.log().cpus.get(&cpu).copied().unwrap_or_default()
    }

    /// What the energy counter of a package has counted, with the faults that were put in.
    fn counted_joules(&self, power: Power, package: u32) -> f64 {
        let of = |package| {
            let drawn = self.drawn(package);
            drawn.package_joules + drawn.idled(power.idle_watts, self.elapsed.seconds())
        };
        let factor = match () {
            () if self.has(Fault::EnergyStandsStill) => 0.0,
            () if self.has(Fault::EnergyScaled) => 16.0,
            () if self.has(Fault::EnergyShrunk) => 1.0 / 16.0,
            () => 1.0,
        };
        let joules = match package {
            _ if self.has(Fault::EnergyOfAll) => (0..self.topology.packages).map(of).sum(),
            0 | 1 if self.has(Fault::EnergySwapped) => of(1 - package),
            own => of(own),
        };
        joules * factor
    }

    /// How warm a package is after what was worked on it last, in degrees Celsius; none: nothing tells what it draws.
    pub(crate) fn celsius(&self, package: u32) -> Option<f64> {
        let power = self.power?;
        let above = (self.drawn(package).watts - power.idle_watts).max(0.0) * 0.1;
        Some(power.idle_celsius + above)
    }

    /// What a CPU computes wrong under a workload, as warm as it is at this moment.
    pub fn wrong_answers(&self, cpu: CpuId, workload: &str) -> Option<&WrongAnswers> {
        let celsius = self.celsius(self.package_of(cpu));
        self.wrong_answers.iter().find(|wrong| {
            let is_warm =
                || wrong.from_celsius.is_none_or(|from| celsius.is_some_and(|it| it >= from));
            wrong.cpus.contains(cpu) && wrong.workload == workload && is_warm()
        })
    }

    pub(crate) fn drawn(&self, package: u32) -> Drawn {
        self.worked.log().packages.get(&package).copied().unwrap_or_default()
    }
}

const POWERCAP: &str = "/sys/class/powercap/intel-rapl:";
pub(crate) const HWMON: &str = "/sys/class/hwmon/hwmon";

/// Energy counters and sensors, where packages say what they draw.
pub(crate) fn put_power(files: &mut Files, model: &Model) {
    let Some(power) = model.power else { return };
    for package in 0..model.topology.packages {
        let zones = [(String::new(), format!("package-{package}")), (":0".into(), "dram".into())];
        for (zone, name) in zones {
            let folder = format!("{POWERCAP}{package}{zone}");
            files.put(format!("{folder}/name"), &name);
            files.put(format!("{folder}/max_energy_range_uj"), &ENERGY_RANGE);
            files.put(format!("{folder}/energy_uj"), "");
        }
        let limit = format!("{POWERCAP}{package}/constraint_0");
        let microseconds = (power.long_term_seconds * 1e6).round() as u64;
        files.put(format!("{limit}_name"), "long_term");
        files.put(format!("{limit}_time_window_us"), &microseconds);
        for (index, watts) in [power.long_term_watts, power.short_term_watts].iter().enumerate() {
            let Some(watts) = watts else { continue };
            let limit = format!("{POWERCAP}{package}/constraint_{index}");
            let name = if index == 0 { "long_term" } else { "short_term" };
            files.put(format!("{limit}_name"), name);
            files.put(format!("{limit}_power_limit_uw"), &((watts * 1e6) as u64));
        }
        let chip = format!("{HWMON}{package}");
        files.put(format!("{chip}/name"), "coretemp");
        files.put(format!("{chip}/temp1_label"), &format!("Package id {package}"));
        files.put(format!("{chip}/temp1_input"), "");
    }
}

/// Where an energy counter begins again, in microjoules.
const ENERGY_RANGE: u64 = 262_143_328_850;

/// What a package drew so far, or how warm it is, where the path asks for that.
pub(crate) fn drawn(model: &Model, path: &str) -> Option<Reading<String>> {
    let power = model.power?;
    if let Some(rest) = path.strip_prefix(POWERCAP) {
        let (zone, _) = rest.split_once('/')?;
        let (package, dram) = zone.split_once(':').map_or((zone, false), |(p, _)| (p, true));
        let package = package.parse().ok()?;
        let joules = if dram {
            model.drawn(package).dram_joules
        } else {
            model.counted_joules(power, package)
        };
        return Some(Ok(((joules * 1e6) as u64 % ENERGY_RANGE).to_string()));
    }
    let (chip, file) = path.strip_prefix(HWMON)?.split_once('/')?;
    let celsius = model.celsius(chip.parse().ok()?)?;
    let is_input = file == "temp1_input";
    is_input.then(|| Ok((celsius * 1e3).round().to_string()))
}
