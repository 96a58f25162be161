//! The clocks that are claimed, and the rate of work that theory allows, beside what was measured.

use model::CpuSet;
use model::record::{AccountStep, ClockAccount, Record};

use super::super::known::{self, Figures};
use super::read;
use super::read::{WorkloadRow, mhz, rows, summary};
use super::why::{self, SAME};
use crate::band::{self, Band};
use crate::claim::{Claim, Verdict, said};
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
    let what = "clock of one core".to_owned();
    let claimed = said(&account.advertised, |it| format!("{} MHz", mhz(it.hertz)));
    let by = account.advertised.value().map_or(String::new(), |it| it.source.clone());
    let cause = account.advertised.value().and_then(|it| taken_below(account, it.hertz));
    let reason = cause.clone();
    let claim = |claimed, verdict| Claim {
        what,
        claimed,
        by,
        measured,
        verdict,
        finding: None,
        cause,
        command: WHY,
    };
    Some(match claimed {
        Err(why) => {
            let verdict = Verdict::CannotTell(why);
            claim("-".to_owned(), verdict)
        }
        Ok(claimed) => {
            let off = account.clock / account.advertised.value()?.hertz - 1.0;
            claim(claimed, verdict(record, &account.active, off, "", reason.as_deref()))
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

/// Each number of active cores that has a limit, in one line.
fn turbo_limits(record: &Record) -> Option<Claim> {
    let rows = read::rows_alike(record);
    let light = rows.iter().filter(|row| row.workload == LIGHT);
    let judged = |row| {
        let (clock, promised) = (WorkloadRow::median(row, "clock")?, why::promised(record, row)?);
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
    let cause = account_of(record, worst.row).and_then(|it| taken_below(it, worst.promised));
    let of_what = format!(" with {} active{whose}", count(worst));
    let verdict = verdict(record, worst.row.own(), worst.off(), &of_what, cause.as_deref());
    Some(Claim {
        what: format!("turbo, {} to {most} cores", count(first)),
        claimed: range(|it| it.promised),
        by: promised_by(record, worst).to_owned(),
        measured: range(|it| it.clock),
        verdict,
        finding: None,
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

/// What to say of a clock of these CPUs that is so far off; no more than half of what their clocks moved by anyway
/// says nothing, whatever was seen to take it.
fn verdict(
    record: &Record,
    cpus: &CpuSet,
    off: f64,
    of_what: &str,
    cause: Option<&str>,
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
    } else {
        Verdict::Differs(how)
    }
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
    peak(record).into_iter().chain(instructions(record)).collect()
}

/// Multiply-adds of doubles: what all cores do, of what their units could at the clock that they had.
fn peak(record: &Record) -> Option<Band> {
    /// A loop of nothing else keeps its units busy.
    const SHARE_MIN: f64 = 0.95;
    let most = rows(record).iter().map(|row| row.active.len()).max()?;
    let widest = ["avx512_fma_t", "avx256_fma_t", "avx128_fma_t"];
    let (stream, time) = widest
        .into_iter()
        .find_map(|id| Some((id, summary(record, "time_per_op", id, most)?.median)))?;
    let bits = record.run.plan.workload(stream)?.width_bits?;
    let flops = f64::from(bits) / 64.0 * 2.0;
    let clock = summary(record, "clock", stream, most)?.median;
    let known = Figures::in_record(record, stream, None)?;
    let reciprocal = known.least()?;
    let units = 1.0 / reciprocal;
    let cores = most as f64;
    let (peak, measured) = (cores * clock * flops * units, cores * flops / time);
    let share = measured / peak;
    let verdict = if (SHARE_MIN..=1.0 + (1.0 - SHARE_MIN)).contains(&share) {
        band::BandVerdict::Normal
    } else if share < SHARE_MIN {
        let why = "units are shared with another thread, or time was taken away";
        band::BandVerdict::Outside(why.to_owned())
    } else {
        band::BandVerdict::Outside("more units than are known of this core".to_owned())
    };
    Some(Band {
        what: format!("{stream} on {most} cores"),
        expected: format!("{:.1} GFLOP/s", peak / 1e9),
        source: format!(
            "GFLOP/s expected: {most} cores x {} MHz x {bits} bit x {units} x 2 ({})",
            mhz(clock),
            known.sources(),
            units = if units < 1.5 { "1 unit".to_owned() } else { format!("{units:.0} units") }
        ),
        measured: format!("{:.1} GFLOP/s", measured / 1e9),
        position: format!("{:.1} % of it", share * 100.0),
        verdict,
        missing: (share < SHARE_MIN).then_some(SHARE_MIN / share),
        remedy: "look closer: `cpudyno turbo --why`",
    })
}

/// Streams with one core active.
fn instructions(record: &Record) -> Vec<Band> {
    super::known::compare(record).iter().filter_map(known::Comparison::band).collect()
}
