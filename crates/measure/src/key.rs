//! What a machine is by behaviour, and how it is today: one core's instructions, caches and memory, a line from core to
//! core, and what takes CPUs away.
//!
//! `fleet::key` says what of a record that is.

use kernels::StreamRow;
use kernels::streams::TABLE;
use model::record::Presentation;
use model::{CpuSet, Seconds};

use crate::areas::cores::{self, CORES};
use crate::areas::jitter::{self, JITTER};
use crate::areas::memory::{self, MEMORY};
use crate::areas::pause::{self, PAUSE};
use crate::areas::turbo::{self, TURBO};
use crate::run::plan::Planning;
use crate::run::{AreaRequest, Request, Span};
use rig::placement::Choice;

/// How long it takes if nobody says.
pub const TIME: Seconds = Seconds(3.0);

/// Chains whose latencies tell cores apart, and the light stream that shows the clock. Streams of several chains tell
/// as much, and are slower where something else uses the core.
const STREAMS: &[&str] = &[
    "pause_only",
    "scalar_iadd",
    "sse2_add",
    "sse2_imul",
    "avx128_iadd",
    "avx256_vshift",
    "avx256_fma",
    "avx512_iadd",
    "avx512_vpermd",
    "avx512_fma",
    "avx256_ifma",
    "neon_iadd",
    "neon_fma",
    "sve_fma",
];

/// A key holds cycles against cycles to 8 % (`fleet::key`): a sibling that takes 3 % makes no other machine, and hides
/// most chains from the usual tolerance.
const TOLERANCE: f64 = 0.03;

/// What a machine lets be read is a part of what it is.
const ACCESS: &[&str] = &["pmu", "msr"];

/// The run: as many blocks as there is time for; one at least, for which others of the machine may double the time.
pub fn request(
    time: Seconds,
    cpus: Option<CpuSet>,
    command: Vec<String>,
    presentation: Presentation,
) -> Request {
    let streams: Vec<&'static StreamRow> =
        TABLE.iter().copied().filter(|row| STREAMS.contains(&row.id)).collect();
    let ask = move |plan: &Planning<'_>| {
        Ok(vec![
            AreaRequest { area: &TURBO, proposal: turbo::on(plan, &[1]) },
            AreaRequest { area: &MEMORY, proposal: memory::in_key(plan) },
            AreaRequest { area: &CORES, proposal: cores::in_key(plan) },
            AreaRequest { area: &PAUSE, proposal: pause::on(plan, &plan.placement.cpus[..1]) },
            AreaRequest { area: &JITTER, proposal: jitter::in_key(plan) },
        ])
    };
    Request {
        patience: time,
        cpus: Choice::usual(cpus),
        streams,
        witness_tolerance: TOLERANCE,
        remark: Some(format!("a core counts as shared from {} % on", TOLERANCE * 100.0)),
        capabilities: ACCESS,
        ..Request::new(Span::All(time), ask, command, presentation)
    }
}
