//! What happened to a thread, as the kernel counts it.

use model::record::{Instrument, InstrumentState};
use model::{Obstacle, Unavailable, Unit};

pub(super) fn instrument() -> Instrument {
    let state = match own_cost_seconds() {
        Ok(own_cost_seconds) => InstrumentState::Used {
            unit: Unit::Count,
            resolution: 1.0,
            own_cost_seconds,
            rate: None,
        },
        Err(error) => {
            let why = format!("getrusage answered `{error}`");
            let unavailable = Unavailable::new(Obstacle::Permission, "thread usage", why);
            InstrumentState::Unavailable { unavailable }
        }
    };
    Instrument {
        id: "thread_usage".into(),
        source: "getrusage(RUSAGE_THREAD)".into(),
        measures: "context switches and page faults of a thread".into(),
        state,
    }
}

fn own_cost_seconds() -> std::io::Result<f64> {
    const CALLS: u32 = 256;
    let begin = sys::clock::monotonic_raw();
    for _ in 0..CALLS {
        std::hint::black_box(sys::thread::usage()?);
    }
    Ok((sys::clock::monotonic_raw().saturating_sub(begin) / CALLS).as_secs_f64())
}
