//! Do stores reach memory as each variant declares? Proved by reading back.
//!
//! After 256 KiB were written, ordinary stores have left them in the cache, so that they are read at
//! its speed; non-temporal ones have driven them out to memory. No counter is needed to tell the two
//! apart.

use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context;
use kernels::memory::{Array, Arrays, MemoryKernel, Mover, Stores, TABLE, Variant};
use machine::Machine;
use model::{CpuId, stats};

use crate::{EXIT_NO, because, table};

/// Of each array: with one that is read beside it, less than half of a second-level cache of 1 MiB.
const BYTES: usize = 256 << 10;
const ELEMENTS: usize = BYTES / size_of::<f64>();
/// Rounds of writing and reading back, of which the median counts.
const ROUNDS: usize = 301;

/// Prints how fast is read back what each variant has written.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let machine = Machine::real();
    let usable = machine.host.affinity().map_err(|reason| because(&reason))?;
    let cpu: CpuId = usable.iter().next().context("this process may use no CPU")?;
    sys::affinity::pin(cpu).with_context(|| format!("cannot pin this thread to CPU {cpu}"))?;
    println!("{}", crate::load());
    println!(
        "\nCPU {cpu}: speed of reading {} KiB right after writing them, over that of reading them again",
        BYTES >> 10
    );
    let reader = reader().context("no variant of `load` runs here")?;
    let mut buffers = Buffers::new();
    let (mut cached, mut passing) = (Vec::new(), Vec::new());
    let mut rows = Vec::new();
    // A third array would leave no room in the cache for what is to be found there.
    for kernel in TABLE.iter().filter(|kernel| kernel.writes > 0 && kernel.arrays <= 2) {
        for variant in kernel.variants {
            let Ok(mover) = Mover::new(kernel, variant) else { continue };
            let [back, again] = buffers.read_back(mover, reader);
            let ratio = back / again;
            match variant.stores {
                Stores::Ordinary => cached.push(ratio),
                Stores::NonTemporal => passing.push(ratio),
                Stores::None | Stores::String => {}
            }
            rows.push(row(kernel, variant, [back, again, ratio]));
        }
    }
    let header = ["kernel", "variant", "stores", "read back", "again", "ratio"];
    println!("{}", table::plain(header, &header[3..], rows));
    let least = cached.into_iter().reduce(f64::min).context("no ordinary store runs here")?;
    let Some(most) = passing.into_iter().reduce(f64::max) else {
        println!("no variant with non-temporal stores runs here");
        return Ok(ExitCode::SUCCESS);
    };
    println!(
        "GB/s. Least after ordinary stores: {least:.2}; most after non-temporal ones: {most:.2}"
    );
    Ok(if most < least { ExitCode::SUCCESS } else { ExitCode::from(EXIT_NO) })
}

fn row(kernel: &MemoryKernel, variant: &Variant, [back, again, ratio]: [f64; 3]) -> [String; 6] {
    [
        kernel.id.to_owned(),
        variant.id.to_owned(),
        variant.stores.word().to_owned(),
        format!("{:.1}", back / 1e9),
        format!("{:.1}", again / 1e9),
        format!("{ratio:.2}"),
    ]
}

/// The widest variant that reads an array as one stream and can run here.
fn reader() -> Option<Mover> {
    let load = kernels::memory::find("load")?;
    let known = load.variants.iter().filter_map(|variant| Mover::new(load, variant).ok());
    known.reduce(|a, b| if b.variant().width_bits > a.variant().width_bits { b } else { a })
}

/// The array that is written and the one that is read.
struct Buffers {
    a: Vec<f64>,
    b: Vec<f64>,
}

impl Buffers {
    fn new() -> Buffers {
        let mut buffers = Buffers { a: vec![0.0; ELEMENTS], b: vec![0.0; ELEMENTS] };
        Array::A.fill(&mut buffers.a, 0);
        Array::B.fill(&mut buffers.b, 0);
        buffers
    }

    /// Bytes per second, by the median: right after a trip of the mover, and once more.
    fn read_back(&mut self, mover: Mover, reader: Mover) -> [f64; 2] {
        let mut seconds = [const { Vec::new() }; 2];
        for _ in 0..ROUNDS {
            let Buffers { a, b } = self;
            // `update` would leave the numbers for which it is exact, and become slow.
            Array::A.fill(a, 0);
            mover.run(&mut Arrays { a, b, c: &[], d: &[] });
            for seconds in &mut seconds {
                let mut read = Arrays { a: &mut [], b: a, c: &[], d: &[] };
                let begun = Instant::now();
                std::hint::black_box(reader.run(&mut read));
                seconds.push(begun.elapsed().as_secs_f64());
            }
        }
        seconds.map(|seconds| BYTES as f64 / stats::median(&seconds).unwrap_or(f64::NAN))
    }
}
