//! `CLOCK_MONOTONIC_RAW` as an instrument.

use model::Unit;
use model::record::{CalibratedRate, Instrument, InstrumentState};
use sys::clock::MonotonicRaw;

use super::gauge::gauge;

/// It counts in nanoseconds, whatever it steps in.
pub(super) const HERTZ: f64 = 1e9;

pub(super) fn instrument(clock: MonotonicRaw, rate: Option<CalibratedRate>) -> Instrument {
    let gauge = gauge(clock);
    Instrument {
        id: "monotonic_raw".into(),
        source: "clock_gettime(CLOCK_MONOTONIC_RAW)".into(),
        measures: "time, not slewed by NTP".into(),
        state: InstrumentState::Used {
            unit: Unit::Second,
            resolution: gauge.step_ticks as f64 / HERTZ,
            own_cost_seconds: gauge.cost_ticks / HERTZ,
            rate,
        },
    }
}
