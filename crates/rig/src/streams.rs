//! Streams as loads, memory kernels as transfers: the one place where kernels meet the rig.

use kernels::memory::{MemoryKernel, Mover, Variant};
use kernels::{Data, Kind, StreamRow, Weight, ruler};
use machine::Machine;
use model::licence::Licence;
use model::{Isa, Obstacle, Reading, Unavailable};

use crate::job::{Body, Load, Tools};
use crate::traffic::Transfer;

/// The loads beside the payloads, for this machine.
pub fn tools(machine: &Machine) -> Result<Tools, Unavailable> {
    let load = |row| load(machine, row, Data::Quiet);
    Ok(Tools {
        ruler: load(&ruler::RULER)?,
        witness: load(&ruler::WITNESS)?,
        null: load(&ruler::NULL)?,
        contention: load(&ruler::CONTENTION)?,
    })
}

/// A stream as a load, where this machine can execute it.
pub fn load(machine: &Machine, row: &'static StreamRow, data: Data) -> Result<Load, Unavailable> {
    let mut in_loop_ops = None;
    let body = match &machine.simulated {
        Some(model) if model.cycles_per_op(row.id).is_some() => {
            in_loop_ops = simulated_in_loop(row);
            Body::Simulated(data.operands())
        }
        Some(model) => {
            let why = format!("the simulated machine `{}` has no cost for it", model.name);
            return Err(Unavailable::new(Obstacle::Hardware, row.id, why));
        }
        None if machine.elsewhere.is_some() => {
            allowed_elsewhere(machine, row)?;
            Body::Simulated(data.operands())
        }
        None => {
            if row.needs.contains(&Isa::AmxTile) {
                // Where the kernel refuses, the row says so itself.
                drop(sys::tiles::request());
            }
            let kernel = row.runnable()?;
            if let [small, large] = kernel.in_loop() {
                in_loop_ops = Some([small.ops_per_iteration(), large.ops_per_iteration()]);
            }
            Body::Kernel(kernel, data.operands())
        }
    };
    let saturates = matches!(row.kind, Kind::Throughput | Kind::Rename);
    Ok(Load { id: row.id, ops_per_iteration: row.ops_per_iteration, saturates, in_loop_ops, body })
}

/// Ops beside the ruler on a simulated machine, whose loops have any length: like those of a real one.
fn simulated_in_loop(row: &StreamRow) -> Option<[u64; 2]> {
    match row.kind {
        Kind::Latency if row.beside.is_none() && row.followers.is_empty() => Some([6, 24]),
        Kind::Throughput => Some([10, 40]),
        _ => None,
    }
}

/// Variants of a memory kernel, each where this machine can execute it.
pub fn transfers(
    machine: &Machine,
    kernel: &'static MemoryKernel,
    variants: impl IntoIterator<Item = &'static Variant>,
) -> impl Iterator<Item = Result<Transfer, Unavailable>> {
    let offered = offered(machine);
    variants.into_iter().map(move |variant| {
        let mover = match offered.as_ref().map_err(Clone::clone)? {
            None => Some(Mover::new(kernel, variant)?),
            Some(offered) => {
                let known = offered.as_deref().unwrap_or_default();
                match variant.lacking(kernel, |isa| isa == Isa::Sse2 || known.contains(&isa)) {
                    Some(lacking) => return Err(or_unknown(lacking, offered.as_ref().err())),
                    None => None,
                }
            }
        };
        Ok(Transfer { kernel, variant, mover })
    })
}

/// What a machine that is not here says that it executes, where it says so; `None`: this one, which is asked by the
/// kernels.
fn offered(machine: &Machine) -> Result<Option<Reading<Vec<Isa>>>, Unavailable> {
    match &machine.simulated {
        Some(model) => {
            moves_data(machine)?;
            Ok(Some(Ok(model.identity.isa.clone())))
        }
        None if machine.elsewhere.is_some() => Ok(Some(machine::facts::isa(machine))),
        None => Ok(None),
    }
}

/// Why it is not known what a machine that is not here executes beyond what every one does, where that is so.
pub fn isa_unknown(machine: &Machine) -> Option<Unavailable> {
    offered(machine).ok()??.err().map(|reason| Unavailable { why: not_known(&reason), ..reason })
}

fn not_known(reason: &Unavailable) -> String {
    format!("the instruction sets are unknown: {}", reason.why)
}

/// What a machine lacks, or why it is not known whether it does.
fn or_unknown(lacking: Unavailable, unknown: Option<&Unavailable>) -> Unavailable {
    match unknown {
        Some(reason) => {
            Unavailable { what: lacking.what, why: not_known(reason), ..reason.clone() }
        }
        None => lacking,
    }
}

/// Whether data can be moved at all: on a simulated machine, where its memory is described.
pub fn moves_data(machine: &Machine) -> Result<(), Unavailable> {
    match &machine.simulated {
        Some(model) if model.memory.is_none() => {
            let why = format!("the simulated machine `{}` describes no memory", model.name);
            Err(Unavailable::new(Obstacle::Hardware, "memory", why))
        }
        _ => Ok(()),
    }
}

/// On a machine that is not here a stream can be planned, by what that machine says of itself, and
/// not run.
fn allowed_elsewhere(machine: &Machine, row: &StreamRow) -> Result<(), Unavailable> {
    if row.needs.is_empty() {
        return Ok(());
    }
    let offered = machine::facts::isa(machine);
    let known = offered.as_deref().unwrap_or_default();
    let lacking = row.lacking(|isa| known.contains(&isa));
    lacking.map_or(Ok(()), |lacking| Err(or_unknown(lacking, offered.as_ref().err())))
}

/// Lets a load's kernel prove its answer; a simulated load has none.
pub fn verify(load: &Load) -> Result<(), kernels::WrongAnswer> {
    match load.body {
        Body::Kernel(kernel, _) => {
            kernel.verify()?;
            kernel.in_loop().iter().try_for_each(kernels::InLoop::verify)
        }
        Body::Simulated(_) => Ok(()),
    }
}

/// The frequency licence that a stream needs.
pub fn licence(row: &StreamRow) -> Licence {
    match (row.width_bits, row.weight) {
        _ if row.needs.contains(&Isa::AmxTile) => Licence::Tiles,
        (Some(512), Weight::Heavy) => Licence::Heavy512,
        (Some(512), Weight::Light) => Licence::Light512,
        (Some(256), Weight::Heavy) => Licence::Heavy256,
        _ => Licence::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stream_finds_its_row() {
        let of = |id: &str, table: &[&'static str]| {
            *licence(kernels::streams::find(id).unwrap()).row(table).unwrap()
        };
        let named = ["sse", "avx2", "avx512", "amx"];
        let numbered = ["level-0", "level-1", "level-2", "level-3", "level-4"];
        for (id, by_name, by_number) in [
            ("scalar_iadd", "sse", "level-0"),
            ("avx256_iadd_t", "sse", "level-0"),
            ("avx256_fma_t", "avx2", "level-1"),
            ("avx512_iadd_t", "avx2", "level-2"),
            ("avx512_fma_sparse", "avx2", "level-2"),
            ("avx512_fma_t", "avx512", "level-3"),
            ("avx512_bf16_t", "avx512", "level-3"),
            ("avx512_fp16_t", "avx512", "level-3"),
            ("avx512_vnni_t", "avx512", "level-3"),
            ("avx512_ifma", "avx512", "level-3"),
            ("avx256_vnni_vex_t", "avx2", "level-1"),
            ("avx256_merge_sparse", "sse", "level-0"),
            ("avx512_vpermd_t", "avx2", "level-2"),
            ("amx_bf16_t", "amx", "level-4"),
            ("amx_int8", "amx", "level-4"),
        ] {
            assert_eq!((of(id, &named), of(id, &numbered)), (by_name, by_number), "{id}");
        }
        assert_eq!(of("amx_bf16_t", &named[..3]), "avx512", "older CPUs have no tiles");
    }

    #[test]
    fn names_of_streams_say_what_earlier_records_do_not() {
        for row in kernels::streams::TABLE {
            assert_eq!(Licence::by_name(row.id), licence(row), "{}", row.id);
        }
    }
}
