//! The clocks that are claimed, and the rate of work that theory allows, beside what was measured.

use model::areas::turbo::HEAVY;
use model::in_order;
use model::page::tally;
use model::record::{AccountStep, ClockAccount, Record, THERMAL_THROTTLES};
use model::{CpuSet, Unit};

use super::super::published::{self, Figures};
use super::super::sustained;
use super::AREA;
use super::clock_account::{self, SAME};
use super::read;
use super::read::{Pooled, WorkloadRow, core_types, mhz, pooled_of, rows, summary};
use crate::band::{self, Band};
use crate::claim::{Claim, Verdict, said};
use crate::figure::KeyFigure;
use model::areas::turbo::promise;
use model::areas::turbo::speed_select::Selected;
use model::licence::Licence;

/// A clock is as claimed up to this share: turbo limits are multiples of 100 MHz, and clocks jitter.
pub(super) const AS_CLAIMED: f64 = 0.01;

/// The stream that no licence slows down.
const LIGHT: &str = "scalar_iadd";

/// What tells where clock is lost.
const WHY: &str = "cpudyno turbo --why";

/// The clock of one core, and the turbo limits by active cores.
pub(super) fn claims(record: &Record) -> Vec<Claim> {
    one_core(record).into_iter().chain(turbo_limits(record)).collect()
}

fn one_core(record: &Record) -> Option<Claim> {
    let accounts = &record.clock.as_ref()?.accounts;
    let account = accounts.iter().find(|it| it.active.len() == 1)?;
    let measured = format!("{} MHz ({})", mhz(account.clock), account.workload);
    let whose = account.core_type.as_ref().map_or(String::new(), |kind| format!(", {kind}"));
    let what = format!("clock of one core{whose}");
    let claimed = said(&account.advertised, |it| format!("{} MHz", mhz(it.hertz)));
    let by = account.advertised.value().map_or(String::new(), |it| it.source.clone());
    let cause = account.advertised.value().and_then(|it| taken_below(account, it.hertz));
    let reason = cause.clone();
    let claim = |claimed, verdict, short| Claim {
        what,
        claimed,
        by,
        measured,
        verdict,
        finding: None,
        short,
        cause,
        command: WHY,
    };
    Some(match claimed {
        Err(why) => {
            let verdict = Verdict::CannotTell(why);
            claim("-".to_owned(), verdict, None)
        }
        Ok(claimed) => {
            let off = account.clock / account.advertised.value()?.hertz - 1.0;
            let held = limits_of(account).or_else(|| heat(record));
            let verdict = verdict(record, &account.active, off, "", [reason, held]);
            let limit = promise::turbo_hertz(record, &account.active, &account.active);
            claim(
                claimed,
                verdict,
                short_by(off, if limit.is_some() { OF_LIMITS } else { OF_KERNEL }),
            )
        }
    })
}

/// A clock beside the one that is promised.
struct Judged<'a> {
    row: &'a WorkloadRow<'a>,
    promised: f64,
    clock: f64,
}

impl Judged<'_> {
    fn off(&self) -> f64 {
        self.clock / self.promised - 1.0
    }
}

/// Each number of active cores that has a limit, in one line for each type of core.
fn turbo_limits(record: &Record) -> Vec<Claim> {
    let rows = read::rows_alike(record);
    let light: Vec<&WorkloadRow<'_>> = rows.iter().filter(|row| row.workload == LIGHT).collect();
    let kinds = in_order(light.iter().map(|row| row.core_type()));
    let of_type = |kind: Option<&str>| {
        let mine = light.iter().copied().filter(|row| row.core_type() == kind);
        turbo_limits_of(record, kind, mine)
    };
    kinds.into_iter().filter_map(of_type).collect()
}

fn turbo_limits_of<'a>(
    record: &Record,
    kind: Option<&str>,
    light: impl Iterator<Item = &'a WorkloadRow<'a>>,
) -> Option<Claim> {
    let judged = |row| {
        let (clock, promised) =
            (WorkloadRow::median(row, "clock")?, clock_account::promised(record, row)?);
        Some(Judged { row, promised, clock })
    };
    let told: Vec<Judged<'_>> = light.filter_map(judged).collect();
    let first = told.first()?;
    // Of groups of CPUs with limits of their own, the one that comes furthest.
    let count = |it: &Judged<'_>| it.row.active.len();
    let most = told.iter().map(count).max()?;
    let of_most = told.iter().filter(|it| count(it) == most);
    let last = of_most.max_by(|a, b| a.clock.total_cmp(&b.clock))?;
    let worst = told.iter().max_by(|a, b| a.off().abs().total_cmp(&b.off().abs()))?;
    let range = |of: fn(&Judged<'_>) -> f64| {
        let mut ends = vec![mhz(of(first)), mhz(of(last))];
        ends.dedup();
        format!("{} MHz", ends.join(" to "))
    };
    let whose = worst.row.cpus.as_ref().map_or(String::new(), |it| format!(", {}", it.named()));
    let account = account_of(record, worst.row);
    let cause = account.and_then(|it| taken_below(it, worst.promised));
    // Without registers, watts at a limit under the same stream on all cores say as much.
    let by_watts = || sustained::light_at_limit(record).filter(|_| count(worst) == most);
    let held = account.and_then(limits_of).or_else(by_watts).or_else(|| heat(record));
    let clocks = format!("{} of {} MHz", mhz(worst.clock), mhz(worst.promised));
    let of_what = format!(" with {} active{whose} ({clocks})", count(worst));
    let verdict = verdict(record, worst.row.own(), worst.off(), &of_what, [cause.clone(), held]);
    Some(Claim {
        what: {
            let whose = kind.map_or(String::new(), |kind| format!(", {kind}"));
            format!("turbo, {} to {most} cores{whose}", count(first))
        },
        claimed: range(|it| it.promised),
        by: promised_by(record, worst).to_owned(),
        measured: range(|it| it.clock),
        verdict,
        finding: None,
        // Counts of cores between have no account of their own.
        short: short_by(worst.off(), OF_LIMITS)
            .filter(|_| account.is_some() || !is_limited(record)),
        cause,
        command: WHY,
    })
}

/// Who promises a clock: the priorities of Speed Select, else the registers of these CPUs, else firmware's tables.
fn promised_by<'a>(record: &'a Record, judged: &Judged<'_>) -> &'a str {
    let own = judged.row.own().iter().next();
    let firmware = own.and_then(|cpu| Selected::of(record.speed_select.as_ref(), cpu));
    let by_priority = firmware.and_then(|it| it.by_priority(Licence::Plain));
    if by_priority.is_some_and(|(hertz, _)| hertz <= judged.promised) {
        return "Speed Select";
    }
    let limit = own.and_then(|cpu| promise::limit_of(record, cpu));
    limit.map_or("firmware", |limit| limit.source.as_str())
}

/// Turbo limits are multiples of 100 MHz: a machine that misses them by more has less than was bought.
const OF_LIMITS: f64 = 0.03;
/// What the kernel calls the highest clock is often a little too high, as on AMD, where it is computed.
const OF_KERNEL: f64 = 0.10;

/// The share that is missing, where a clock is so far below what is promised.
fn short_by(off: f64, tolerance: f64) -> Option<f64> {
    (off < -tolerance).then_some(-off)
}

/// What to say of a clock of these CPUs that is so far off, of what took it, and of the limits that held it; no more
/// than half of what their clocks moved by anyway says nothing, whatever was seen to take it.
fn verdict(
    record: &Record,
    cpus: &CpuSet,
    off: f64,
    of_what: &str,
    [cause, held]: [Option<String>; 2],
) -> Verdict {
    let moved = read::quiet_drift(record, cpus).map_or(0.0, |[low, high]| high / low - 1.0);
    let how = format!("{:+.1} %{of_what}", off * 100.0);
    if off.abs() <= AS_CLAIMED {
        Verdict::AsClaimed
    } else if off.abs() <= moved / 2.0 {
        let moved = moved * 100.0;
        let cause = cause.map_or(String::new(), |cause| format!("; {cause}"));
        let moved = format!("while clocks moved by {moved:.1} % without any payload");
        Verdict::CannotTell(format!("{how}, {moved}{cause}"))
    } else if let Some(limit) = held.filter(|_| off < 0.0) {
        Verdict::Held(format!("{how}, held by {limit}"))
    } else {
        Verdict::Differs(how)
    }
}

/// The limits of power, current and heat that were seen to hold a clock, where they took all that is missing: a promised
/// clock is one within them.
fn limits_of(account: &ClockAccount) -> Option<String> {
    let is_limit =
        |step: &&AccountStep| step.id.split('+').any(|id| clock_account::WITHIN.contains(&id));
    let step = account.steps.iter().find(is_limit)?;
    let is_all = account.unexplained.is_some_and(|hertz| hertz <= account.clock * AS_CLAIMED);
    is_all.then(|| format!("{} ({})", step.label, step.evidence))
}

/// Whether a limit of power, current or heat took clock anywhere.
fn is_limited(record: &Record) -> bool {
    let mut accounts = record.clock.iter().flat_map(|clock| &clock.accounts);
    accounts.any(|account| limits_of(account).is_some())
}

/// Heat, where the kernel counted that it throttled cores or packages in this run.
fn heat(record: &Record) -> Option<String> {
    let counts = THERMAL_THROTTLES;
    let counted = counts.iter().filter_map(|id| read::grown(record, id)).fold(0.0, f64::max);
    (counted > 0.0).then(|| format!("heat (the kernel counted {counted:.0} throttles in this run)"))
}

/// The account of the light stream on these cores.
fn account_of<'a>(record: &'a Record, row: &WorkloadRow<'_>) -> Option<&'a ClockAccount> {
    let mut accounts = record.clock.as_ref()?.accounts.iter();
    accounts
        .find(|it| it.workload == LIGHT && it.active == *row.active && row.own().contains(it.cpu))
}

/// The steps of an account that took its clock below what was claimed, with their evidence.
fn taken_below(account: &ClockAccount, claimed: f64) -> Option<String> {
    /// Of time, not of the clock.
    const BESIDE: [&str; 4] = ["quota", "halted", "steal", "taken"];
    let mut left = account.advertised.value()?.hertz;
    let of_clock = account.steps.iter().filter(|step| !BESIDE.contains(&step.id.as_str()));
    let below = of_clock.filter_map(|step| {
        left -= step.hertz;
        let AccountStep { label, hertz, evidence, .. } = step;
        (left < claimed * (1.0 - SAME))
            .then(|| format!("{label} took {} MHz ({evidence})", mhz(*hertz)))
    });
    let below: Vec<String> = below.collect();
    (!below.is_empty()).then(|| below.join(", "))
}

/// Work per second against clock x width x units, and cycles per op against what others found.
pub(super) fn bands(record: &Record) -> Vec<Band> {
    let peak = Peak::of(record).and_then(|peak| peak.band());
    peak.into_iter().chain(instructions(record)).collect()
}

/// Multiply-adds of doubles: what all cores do, of what their units could at the clock that they had.
pub(super) struct Peak {
    stream: &'static str,
    bits: u32,
    cores: usize,
    /// Their clock, in hertz.
    clock: f64,
    /// Floating-point operations a second of all cores.
    flops: f64,
    /// How far the time of an op may be off, as a share.
    uncertainty: Option<f64>,
    known: Option<Figures>,
}

impl Peak {
    pub(super) fn of(record: &Record) -> Option<Peak> {
        let cores = rows(record).iter().map(|row| row.active.len()).max()?;
        let (stream, time) = HEAVY
            .into_iter()
            .find_map(|id| Some((id, summary(record, "time_per_op", id, cores)?)))?;
        let bits = record.run.plan.workload(stream)?.width_bits?;
        Some(Peak {
            stream,
            bits,
            cores,
            clock: summary(record, "clock", stream, cores)?.median,
            flops: Peak::ops(record, stream, cores)? * per_op(bits),
            uncertainty: time.relative_uncertainty(),
            // What a core of one type could do says nothing of another one's.
            known: Figures::in_record(record, stream, None)
                .filter(|_| core_types(record).is_empty()),
        })
    }

    /// Multiply-adds a second of all cores, type by type.
    fn ops(record: &Record, stream: &str, cores: usize) -> Option<f64> {
        let kinds = core_types(record);
        if kinds.is_empty() {
            return Some(cores as f64 / summary(record, "time_per_op", stream, cores)?.median);
        }
        let topology = &record.machine.topology;
        let of_kind = |kind: &str| {
            let is_of = |cpu| topology.place(cpu).and_then(|it| it.kind.as_deref()) == Some(kind);
            let active = record
                .series_of(AREA, "time_per_op")
                .find(|series| series.workload == stream && series.active.len() == cores)?;
            let count = active.active.iter().filter(|cpu| is_of(*cpu)).count();
            let cell = (cores, Some(kind));
            match pooled_of(record, "time_per_op", stream, cell)? {
                Pooled::Measured { summary, .. } => Some(count as f64 / summary.median),
                Pooled::Absent(_) => None,
            }
        };
        kinds.into_iter().map(of_kind).sum()
    }

    pub(super) fn figure(&self) -> KeyFigure {
        let name = format!("FP64, {}, {}-bit FMA", tally(self.cores, "core"), self.bits);
        KeyFigure::of(name, self.flops, Unit::FlopPerSecond)
            .known_to(self.uncertainty)
            .within(self.band().as_ref())
    }

    fn band(&self) -> Option<Band> {
        /// A loop of nothing else keeps its units busy.
        const SHARE_MIN: f64 = 0.95;
        const SHARE_MAX: f64 = 1.05;
        let Peak { stream, bits, cores, clock, flops, .. } = self;
        let known = self.known.as_ref()?;
        let units = 1.0 / known.least()?;
        let peak = *cores as f64 * clock * per_op(*bits) * units;
        let share = flops / peak;
        let verdict = if (SHARE_MIN..=SHARE_MAX).contains(&share) {
            band::BandVerdict::Normal
        } else if share < SHARE_MIN {
            let why = "units are shared with another thread, or time was taken away";
            band::BandVerdict::Outside(why.to_owned())
        } else {
            band::BandVerdict::Outside("more units than are known of this core".to_owned())
        };
        Some(Band {
            what: format!("{stream} on {cores} cores"),
            expected: format!("{:.1} GFLOP/s", peak / 1e9),
            source: format!(
                "GFLOP/s expected: {cores} cores x {} MHz x {bits} bit x {units} x 2 ({})",
                mhz(*clock),
                known.sources(),
                units = if units < 1.5 { "1 unit".to_owned() } else { format!("{units:.0} units") }
            ),
            measured: format!("{:.1} GFLOP/s", flops / 1e9),
            position: format!("{:.1} % of it", share * 100.0),
            verdict,
            normal: [SHARE_MIN, SHARE_MAX].map(|end| end / share),
            missing: (share < SHARE_MIN).then_some(SHARE_MIN / share),
            remedy: "look closer: `cpudyno turbo --why`",
        })
    }
}

/// Floating-point operations of a multiply-add of doubles.
fn per_op(bits: u32) -> f64 {
    f64::from(bits) / 64.0 * 2.0
}

/// Streams with one core active.
fn instructions(record: &Record) -> Vec<Band> {
    super::published_costs::compare(record).iter().filter_map(published::Comparison::band).collect()
}

#[cfg(test)]
mod tests {
    use model::record::{AdvertisedClock, ClockRecord};
    use model::{CpuId, Known};

    use super::*;
    use crate::band::BandVerdict;
    use crate::testing::{multiply_adds, near, series, turbo};

    /// The clocks of the light stream, in MHz, with the accounts that a record has of them.
    fn light(clocks: &[(&str, f64)]) -> Record {
        let streams: Vec<(&str, &str, f64)> =
            clocks.iter().map(|(cpus, mhz)| (LIGHT, *cpus, *mhz)).collect();
        let mut record = turbo(&streams);
        let accounts = clock_account::accounts(&record);
        record.clock = Some(ClockRecord { accounts, ..ClockRecord::default() });
        record
    }

    #[test]
    fn clock_of_one_core_is_as_claimed_within_a_hundredth() {
        let verdict = |mhz| one_core(&light(&[("0", mhz)])).unwrap().verdict;
        // A hundredth of 3,500 MHz are 35.
        for mhz in [3466.0, 3534.0] {
            assert_eq!(verdict(mhz), Verdict::AsClaimed, "{mhz}");
        }
        for mhz in [3464.0, 3536.0] {
            assert!(matches!(verdict(mhz), Verdict::Differs(_)), "{mhz}");
        }
    }

    #[test]
    fn turbo_limits_are_judged_by_the_count_farthest_off() {
        let verdict = |of_two| {
            let record = light(&[("0", 3500.0), ("0-1", of_two), ("0-3", 3000.0)]);
            turbo_limits(&record).remove(0).verdict
        };
        // A hundredth of the 3,300 MHz of two cores are 33; one core and four have all of theirs.
        assert_eq!(verdict(3268.0), Verdict::AsClaimed);
        assert!(matches!(verdict(3266.0), Verdict::Differs(_)));
    }

    #[test]
    fn clock_off_by_half_the_quiet_drift_is_undecided() {
        let verdict = |mhz| {
            let mut record = light(&[("0", mhz)]);
            let moved: [&[f64]; 2] = [&[3000e6], &[3120e6]];
            record.series.push(series(["rig", "quiet_clock", "quiet_clock"], "0", &[], &moved));
            one_core(&record).unwrap().verdict
        };
        // Quiet clocks moved by 120 of 3,000 MHz, 4 %. Half of that, 2 % of 3,500 MHz, are 70.
        assert!(matches!(verdict(3431.0), Verdict::CannotTell(_)));
        assert!(matches!(verdict(3429.0), Verdict::Differs(_)));
    }

    #[test]
    fn steps_above_a_claimed_clock_and_halts_are_no_cause() {
        let step = |id: &str, mhz: f64| AccountStep {
            id: id.to_owned(),
            label: id.to_owned(),
            hertz: mhz * 1e6,
            evidence: String::new(),
        };
        let mut account = ClockAccount {
            workload: LIGHT.to_owned(),
            moment: None,
            core_type: None,
            active: "0".parse().unwrap(),
            own: None,
            cpu: CpuId(0),
            advertised: Known::Yes(AdvertisedClock { hertz: 3500e6, source: String::new() }),
            clock: 3200e6,
            delivered: 3200e6,
            steps: vec![step("active-cores", 200.0)],
            refuted: Vec::new(),
            unexplained: None,
        };
        // 3,500 - 200 = 3,300 MHz, which is what is claimed.
        assert_eq!(taken_below(&account, 3300e6), None);
        // 3,300 - 100 = 3,200 MHz, which is 3 % below; halts are time, no clock.
        account.steps.extend([step("kernel", 100.0), step("halted", 500.0)]);
        let taken = taken_below(&account, 3300e6).unwrap();
        let has = |mhz: &str| taken.contains(mhz);
        assert!(has("100") && !has("200") && !has("500"), "{taken}");
    }

    #[test]
    fn peak_is_cores_by_doubles_by_two_over_time() {
        let record = multiply_adds(2000.0, &[0.24, 0.25, 0.25, 0.25, 0.26]);
        let peak = Peak::of(&record).unwrap();
        // 2 cores x 512 / 64 doubles x 2 / 0.25 ns = 128 GFLOP/s.
        near(peak.flops, 128e9);
        assert_eq!((peak.cores, peak.bits), (2, 512));
        // 0.24 to 0.26 around 0.25 ns.
        near(peak.uncertainty.unwrap(), 0.04);
    }

    #[test]
    fn peak_at_four_fifths_of_its_units_is_outside_its_band() {
        let band = |nanoseconds| {
            let record = multiply_adds(2000.0, &[nanoseconds; 5]);
            Peak::of(&record).unwrap().band().unwrap()
        };
        // Units: 2 cores x 2 GHz x 8 doubles x 2 x 2 units = 128 GFLOP/s; 2 x 8 x 2 / 0.3125 ns = 102.4, 80 % of that.
        let slow = band(0.3125);
        assert!(matches!(slow.verdict, BandVerdict::Outside(_)));
        // 95 % and 105 % of 128 over 102.4: 1.1875 and 1.3125.
        near(slow.normal[0], 1.1875);
        near(slow.normal[1], 1.3125);
        near(slow.missing.unwrap(), 1.1875);
        // 0.26 ns give 123 GFLOP/s, 96 %; 0.23 ns give 139, 109 %: nothing is missing there.
        assert_eq!(band(0.26).verdict, BandVerdict::Normal);
        assert!(matches!(band(0.23).verdict, BandVerdict::Outside(_)));
        assert_eq!(band(0.23).missing, None);
    }
}
