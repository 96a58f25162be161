//! The clocks that are claimed, and the rate of work that theory allows, beside what was measured.

use model::record::{AccountStep, ClockAccount, Record};

use super::super::known::{self, Figures};
use super::read;
use super::read::{Row, mhz, rows, summary};
use super::why::{self, SAME};
use crate::sheet::claims::{Claim, Verdict, said};
use crate::sheet::normal::{self, Band};

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
    let claim = |claimed, verdict| Claim {
        what,
        claimed,
        by,
        measured,
        verdict,
        finding: None,
        cause: account.advertised.value().and_then(|it| taken_below(account, it.hertz)),
        command: WHY,
    };
    Some(match claimed {
        Err(why) => {
            let verdict = Verdict::NotTold(why);
            claim("-".to_owned(), verdict)
        }
        Ok(claimed) => {
            let off = account.clock / account.advertised.value()?.hertz - 1.0;
            claim(claimed, verdict(record, off, ""))
        }
    })
}

/// Each number of active cores that has a limit, in one line.
fn turbo_limits(record: &Record) -> Option<Claim> {
    let rows = rows(record);
    let light = rows.iter().filter(|row| row.workload == LIGHT);
    let judged = |row: &Row<'_>| {
        let (clock, promised) = (row.median("clock")?, why::promised(record, row)?);
        Some((row.active.len(), promised, clock))
    };
    let told: Vec<(usize, f64, f64)> = light.filter_map(judged).collect();
    let (first, last) = (told.first()?, told.last()?);
    let worst = told.iter().max_by(|a, b| off(a).abs().total_cmp(&off(b).abs()))?;
    let range =
        |of: fn(&(usize, f64, f64)) -> f64| format!("{} to {} MHz", mhz(of(first)), mhz(of(last)));
    let verdict = verdict(record, off(worst), &format!(" with {} active", worst.0));
    Some(Claim {
        what: format!("turbo, {} to {} cores", first.0, last.0),
        claimed: range(|it| it.1),
        by: record
            .machine
            .turbo_limits
            .first()
            .map_or("firmware", |it| it.source.as_str())
            .to_owned(),
        measured: range(|it| it.2),
        verdict,
        finding: None,
        cause: account_of(record, worst.0).and_then(|account| taken_below(account, worst.1)),
        command: WHY,
    })
}

/// What to say of a clock that is so far off; no more than half of what all clocks moved by anyway says nothing.
fn verdict(record: &Record, off: f64, of_what: &str) -> Verdict {
    let moved = read::quiet_drift(record).map_or(0.0, |[low, high]| high / low - 1.0);
    let how = format!("{:+.1} %{of_what}", off * 100.0);
    if off.abs() <= AS_CLAIMED {
        Verdict::AsClaimed
    } else if off.abs() <= moved / 2.0 {
        let moved = moved * 100.0;
        Verdict::NotTold(format!("{how}, while clocks moved by {moved:.1} % without any payload"))
    } else {
        Verdict::Differs(how)
    }
}

/// The account of the light stream with so many cores active.
fn account_of(record: &Record, active: usize) -> Option<&ClockAccount> {
    let accounts = &record.clock.as_ref()?.accounts;
    accounts.iter().find(|it| it.workload == LIGHT && it.active.len() == active)
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

fn off((_, promised, clock): &(usize, f64, f64)) -> f64 {
    clock / promised - 1.0
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
        normal::Verdict::Normal
    } else if share < SHARE_MIN {
        let why = "units are shared with another thread, or time was taken away";
        normal::Verdict::Outside(why.to_owned())
    } else {
        normal::Verdict::Outside("more units than are known of this core".to_owned())
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
