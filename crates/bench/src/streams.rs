//! Streams as loads, memory kernels as transfers: the one place where kernels meet the rig.

use kernels::memory::{MemoryKernel, Mover, Variant};
use kernels::{Data, Kind, StreamRow, ruler};
use machine::Machine;
use model::{Isa, Obstacle, Unavailable};

use crate::rig::job::{Body, Load, Tools};
use crate::rig::traffic::Transfer;

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
            Body::Simulated
        }
        Some(model) => {
            let why = format!("the simulated machine `{}` has no cost for it", model.name);
            return Err(Unavailable::new(Obstacle::Hardware, row.id, why));
        }
        None if machine.elsewhere.is_some() => allowed_elsewhere(machine, row)?,
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
                match variant.lacking(kernel, |isa| isa == Isa::Sse2 || offered.contains(&isa)) {
                    Some(reason) => return Err(reason),
                    None => None,
                }
            }
        };
        Ok(Transfer { kernel, variant, mover })
    })
}

/// What a machine that is not here says that it executes; `None`: this one, which is asked by the kernels.
fn offered(machine: &Machine) -> Result<Option<Vec<Isa>>, Unavailable> {
    match &machine.simulated {
        Some(model) => {
            moves_data(machine)?;
            Ok(Some(model.identity.isa.clone()))
        }
        None if machine.elsewhere.is_some() => machine::facts::isa(machine).map(Some),
        None => Ok(None),
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
fn allowed_elsewhere(machine: &Machine, row: &StreamRow) -> Result<Body, Unavailable> {
    if row.needs.is_empty() {
        return Ok(Body::Simulated);
    }
    let offered = machine::facts::isa(machine)?;
    row.lacking(|isa| offered.contains(&isa)).map_or(Ok(Body::Simulated), Err)
}

/// Lets a load's kernel prove its answer; a simulated load has none.
pub fn verify(load: &Load) -> Result<(), kernels::WrongAnswer> {
    match load.body {
        Body::Kernel(kernel, _) => {
            kernel.verify()?;
            kernel.in_loop().iter().try_for_each(kernels::InLoop::verify)
        }
        Body::Simulated => Ok(()),
    }
}
