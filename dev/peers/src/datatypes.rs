//! Does each datatype compute as much as in a C program by the method of cpufp: one instruction, on as many
//! registers as there are?
//!
//! `turns` compares. The C program counts the operations of an instruction, and cpudyno has no part in that.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use kernels::streams;
use model::CpuId;

use crate::turns::{self, Compared, Loops, Outcome, QUADS, pin};
use crate::{EXIT_CANNOT, EXIT_NO, companion, table};

/// The C program, from the repository's root.
const SOURCE: &str = "benchmarks/datatypes/peak.c";
/// What it is told.
const OPTIONS: &str = if cfg!(target_arch = "x86_64") {
    "-O2 -Wall -Wextra -Werror -masm=intel"
} else {
    "-O2 -Wall -Wextra -Werror"
};
/// A stream is fast enough where the interval of its ratio reaches this.
const RATIO_MIN: f64 = 0.99;

/// A datatype and a width: what both call the kernel that computes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PeakRow {
    datatype: &'static str,
    width: &'static str,
    /// In the C program.
    kernel: &'static str,
    stream: &'static str,
}

const fn row(
    datatype: &'static str,
    width: &'static str,
    kernel: &'static str,
    stream: &'static str,
) -> PeakRow {
    PeakRow { datatype, width, kernel, stream }
}

/// Those of this architecture.
const ROWS: &[PeakRow] = if cfg!(target_arch = "aarch64") { ARM } else { X86 };

#[rustfmt::skip]
const X86: &[PeakRow] = &[
    row("FP64", "128 SSE2", "f64_add_sse2", "sse2_add_t"),
    row("FP64", "scalar", "f64_fma_scalar", "scalar_fma_t"),
    row("FP64", "128", "f64_fma_128", "avx128_fma_t"),
    row("FP64", "256", "f64_fma_256", "avx256_fma_t"),
    row("FP64", "512", "f64_fma_512", "avx512_fma_t"),
    row("FP32", "scalar", "f32_fma_scalar", "scalar_fma32_t"),
    row("FP32", "128", "f32_fma_128", "avx128_fma32_t"),
    row("FP32", "256", "f32_fma_256", "avx256_fma32_t"),
    row("FP32", "512", "f32_fma_512", "avx512_fma32_t"),
    row("FP16", "128", "f16_fma_128", "avx128_fp16_t"),
    row("FP16", "256", "f16_fma_256", "avx256_fp16_t"),
    row("FP16", "512", "f16_fma_512", "avx512_fp16_t"),
    row("FP16", "tile", "f16_tile", "amx_fp16_t"),
    row("BF16", "128", "bf16_dot_128", "avx128_bf16_t"),
    row("BF16", "256", "bf16_dot_256", "avx256_bf16_t"),
    row("BF16", "512", "bf16_dot_512", "avx512_bf16_t"),
    row("BF16", "tile", "bf16_tile", "amx_bf16_t"),
    row("INT16", "128 VEX", "i16_dot_vex_128", "avx128_vnni16_vex_t"),
    row("INT16", "256 VEX", "i16_dot_vex_256", "avx256_vnni16_vex_t"),
    row("INT16", "128", "i16_dot_128", "avx128_vnni16_t"),
    row("INT16", "256", "i16_dot_256", "avx256_vnni16_t"),
    row("INT16", "512", "i16_dot_512", "avx512_vnni16_t"),
    row("INT16", "128 mixed", "i16u16_dot_128", "avx128_vnni_int16_t"),
    row("INT16", "256 mixed", "i16u16_dot_256", "avx256_vnni_int16_t"),
    row("INT8", "128 VEX", "u8i8_dot_vex_128", "avx128_vnni_vex_t"),
    row("INT8", "256 VEX", "u8i8_dot_vex_256", "avx256_vnni_vex_t"),
    row("INT8", "128", "u8i8_dot_128", "avx128_vnni_t"),
    row("INT8", "256", "u8i8_dot_256", "avx256_vnni_t"),
    row("INT8", "512", "u8i8_dot_512", "avx512_vnni_t"),
    row("INT8", "128 signed", "i8_dot_128", "avx128_vnni_int8_t"),
    row("INT8", "256 signed", "i8_dot_256", "avx256_vnni_int8_t"),
    row("INT8", "tile", "i8_tile", "amx_int8_t"),
];

#[rustfmt::skip]
const ARM: &[PeakRow] = &[
    row("FP64", "scalar", "f64_fma_scalar", "scalar_fma_t"),
    row("FP64", "NEON", "f64_fma_neon", "neon_fma_t"),
    row("FP64", "SVE", "f64_fma_sve", "sve_fma_t"),
    row("FP32", "scalar", "f32_fma_scalar", "scalar_fma32_t"),
    row("FP32", "NEON", "f32_fma_neon", "neon_fma32_t"),
    row("FP32", "SVE", "f32_fma_sve", "sve_fma32_t"),
    row("FP16", "NEON", "f16_fma_neon", "neon_fp16_t"),
    row("FP16", "SVE", "f16_fma_sve", "sve_fp16_t"),
    row("BF16", "NEON", "bf16_dot_neon", "neon_bf16_t"),
    row("BF16", "SVE", "bf16_dot_sve", "sve_bf16_t"),
    row("BF16", "NEON matrix", "bf16_matrix_neon", "neon_bfmmla_t"),
    row("BF16", "SVE matrix", "bf16_matrix_sve", "sve_bfmmla_t"),
    row("INT8", "NEON", "i8_dot_neon", "neon_dot_t"),
    row("INT8", "SVE", "i8_dot_sve", "sve_dot_t"),
    row("INT8", "NEON matrix", "i8_matrix_neon", "neon_i8mm_t"),
    row("INT8", "SVE matrix", "i8_matrix_sve", "sve_i8mm_t"),
];

/// Compares every datatype that both know and that can run here.
pub(crate) fn run(cpu: Option<CpuId>) -> anyhow::Result<ExitCode> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    println!("{}", crate::load());
    let cpu = pin(cpu)?;
    // Where that fails, tiles are listed as what they are: not there, or not permitted.
    let _ = sys::tiles::request();
    let mut loops = start(folder.path())?;
    println!("comparing {} datatypes and widths on CPU {cpu}", ROWS.len());
    let results = ROWS.iter().map(|row| Ok((*row, compare(*row, &mut loops)?)));
    let results = results.collect::<anyhow::Result<Vec<_>>>()?;
    loops.stop()?;
    println!("\n{}", describe(&results));
    Ok(ExitCode::from(exit_code(&results)))
}

/// The C program, compiled and started.
fn start(folder: &Path) -> anyhow::Result<Loops> {
    let binary = folder.join("peak");
    companion::compile(SOURCE, OPTIONS, &binary)?;
    Loops::start(&binary, &["serve".to_owned()])
}

/// What came of a row.
#[derive(Debug)]
enum PeakOutcome {
    /// With the operations of an instruction.
    Compared(Compared, u64),
    NotCompared(String),
}

fn compare(row: PeakRow, loops: &mut Loops) -> anyhow::Result<PeakOutcome> {
    let not = |why: &str| Ok(PeakOutcome::NotCompared(why.to_owned()));
    let Some(index) = loops.index(row.kernel) else {
        return not("not executable here");
    };
    let Some(stream) = streams::find(row.stream) else {
        return not("cpudyno has no such stream");
    };
    let one = &loops.list[index];
    let operations = one.operations_per_iteration.context("the C program counts no operations")?;
    let per_instruction = operations / one.ops_per_iteration;
    Ok(match turns::compare(stream, loops, index)? {
        Outcome::Compared(compared) => PeakOutcome::Compared(compared, per_instruction),
        Outcome::Lacking(why) => PeakOutcome::NotCompared(why),
    })
}

fn holds(compared: &Compared) -> bool {
    compared.interval[1] >= RATIO_MIN
}

/// A refuted claim weighs more than one that could not be measured.
fn exit_code(results: &[(PeakRow, PeakOutcome)]) -> u8 {
    match compared(results).map(|(_, compared, _)| holds(compared)).reduce(|all, one| all && one) {
        Some(true) => 0,
        Some(false) => EXIT_NO,
        None => EXIT_CANNOT,
    }
}

fn compared(results: &[(PeakRow, PeakOutcome)]) -> impl Iterator<Item = (PeakRow, &Compared, u64)> {
    results.iter().filter_map(|(row, outcome)| match outcome {
        PeakOutcome::Compared(compared, operations) => Some((*row, compared, *operations)),
        PeakOutcome::NotCompared(_) => None,
    })
}

fn describe(results: &[(PeakRow, PeakOutcome)]) -> String {
    let mut parts = Vec::new();
    let rows: Vec<_> = compared(results).map(cells).collect();
    let count = rows.len();
    if count > 0 {
        let header =
            ["datatype", "width", "stream", "GOP/s", "C GOP/s", "ratio", "its interval", "verdict"];
        let table = table::plain(header, &["GOP/s", "C GOP/s", "ratio"], rows);
        parts.push(format!(
            "Operations a second by those of the C program, median of {QUADS} quads; the interval reaches {RATIO_MIN}\n\
             {table}"
        ));
    }
    let lacking = results.iter().filter_map(|(row, outcome)| match outcome {
        PeakOutcome::NotCompared(why) => {
            Some([row.datatype, row.width, row.stream, why].map(ToOwned::to_owned))
        }
        PeakOutcome::Compared(..) => None,
    });
    let lacking: Vec<_> = lacking.collect();
    if !lacking.is_empty() {
        let table = table::plain(["datatype", "width", "stream", "why"], &[], lacking);
        parts.push(format!("Not compared\n{table}"));
    }
    let slow = compared(results).filter(|(_, compared, _)| !holds(compared)).count();
    parts.push(format!(
        "{} of {count} datatypes and widths compute as much as in the C program",
        count - slow
    ));
    parts.join("\n\n")
}

fn cells((row, compared, operations): (PeakRow, &Compared, u64)) -> [String; 8] {
    let giga = |ops: f64| format!("{:.1}", ops * operations as f64 * 1e-9);
    let [low, high] = compared.interval;
    [
        row.datatype.to_owned(),
        row.width.to_owned(),
        row.stream.to_owned(),
        giga(compared.stream),
        giga(compared.plain),
        format!("{:.4}", compared.ratio),
        format!("{low:.4} - {high:.4}"),
        if holds(compared) { "holds" } else { "FAILS" }.to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::turns::Quad;

    fn result(ratio: f64) -> (PeakRow, PeakOutcome) {
        let quads: Vec<_> = (0..9).map(|_| Quad { stream: ratio * 3e9, plain: 3e9 }).collect();
        (X86[4], PeakOutcome::Compared(Compared::of(&quads).unwrap(), 16))
    }

    fn lacking() -> (PeakRow, PeakOutcome) {
        (X86[12], PeakOutcome::NotCompared("not executable here".to_owned()))
    }

    #[test]
    fn a_hundredth_less_is_as_much_and_more_is_not() {
        let code = |ratio| exit_code(&[result(ratio), lacking()]);
        assert_eq!([code(1.5), code(0.991), code(0.989)], [0, 0, EXIT_NO]);
        assert_eq!(exit_code(&[result(1.0), result(0.9)]), EXIT_NO, "one that is slow decides");
        assert_eq!(exit_code(&[lacking()]), EXIT_CANNOT);
    }

    #[test]
    fn operations_are_those_of_the_c_program() {
        let text = describe(&[result(0.5), lacking()]);
        let line = text.lines().find(|line| line.contains("avx512_fma_t")).unwrap();
        for cell in ["FP64", "24.0", "48.0", "0.5000", "FAILS"] {
            assert!(line.contains(cell), "{line}");
        }
        assert!(text.contains("amx_fp16_t  not executable here"), "{text}");
        assert!(text.contains("0 of 1 datatypes and widths compute as much"), "{text}");
    }

    #[test]
    fn every_row_has_a_kernel_of_the_c_program_and_each_has_a_row() {
        let source = include_str!("../../../benchmarks/datatypes/peak.c");
        let kernels = source.lines().filter_map(|line| {
            let (_, row) = line.trim_start().strip_prefix("ROW(")?.split_once('(')?;
            Some(row.split_once(',')?.0)
        });
        let kernels: BTreeSet<&str> = kernels.collect();
        let rows = X86.iter().chain(ARM);
        assert_eq!(rows.map(|row| row.kernel).collect::<BTreeSet<_>>(), kernels);
        for rows in [X86, ARM] {
            let streams: BTreeSet<_> = rows.iter().map(|row| row.stream).collect();
            assert_eq!(streams.len(), rows.len(), "a stream twice");
        }
    }

    /// The linker of these tests is a C compiler already.
    #[test]
    fn each_kernel_of_the_c_program_that_can_run_here_runs() {
        let folder = tempfile::tempdir().unwrap();
        let mut loops = start(folder.path()).unwrap();
        assert!(!loops.list.is_empty());
        for index in 0..loops.list.len() {
            let one = &loops.list[index];
            assert_eq!(one.operations_per_iteration.unwrap() % one.ops_per_iteration, 0, "{one:?}");
            assert_eq!(loops.run(index, 3, 2).unwrap().len(), 2, "{}", loops.list[index].name);
        }
        loops.stop().unwrap();
    }
}
