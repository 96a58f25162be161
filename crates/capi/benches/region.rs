//! What entering and leaving a region costs, as C calls it; beside likwid's markers, where likwid is installed.
//! `cargo bench -p cpudyno-capi`. It judges nothing: times depend on the machine.
#![expect(clippy::print_stdout, reason = "it is a program for developers")]

use std::ffi::{CStr, CString};
use std::path::Path;
use std::process::Command;
use std::ptr;
use std::time::Instant;

use cpudyno_c::{
    CdRegions, CdStatus, cd_error_text, cd_region, cd_region_start, cd_region_stop,
    cd_regions_close, cd_regions_json, cd_regions_open, cd_string_free,
};

/// Pairs of a batch, and batches, as in `likwid.c`: the quickest batch is told, with the middle one.
const PAIRS: u32 = 20_000;
const BATCHES: usize = 15;

/// What likwid's markers are measured with, in its words and in ours.
const OF_LIKWID: (&str, &str) = (
    "INSTR_RETIRED_ANY:FIXC0,CPU_CLK_UNHALTED_CORE:FIXC1,CPU_CLK_UNHALTED_REF:FIXC2",
    "instructions,cycles,ref-cycles",
);

fn main() {
    ours("page-faults");
    ours("page-faults,task-clock");
    let ours = ours(OF_LIKWID.1);
    match likwid() {
        Ok(nanoseconds) => {
            println!("a pair of likwid's markers, {}: {nanoseconds:.1} ns", OF_LIKWID.0);
            println!("ours take {:.2} times as long", ours / nanoseconds);
        }
        Err(why) => println!("likwid's markers: {why}"),
    }
}

/// The nanoseconds of a start and a stop.
fn ours(events: &str) -> f64 {
    let (mut regions, mut region): (CdRegions, u32) = (0, 0);
    let names = CString::new(events).expect("BUG: no zero in it");
    // SAFETY: the pointers are null or of values that live here.
    done(unsafe { cd_regions_open(ptr::null(), names.as_ptr(), &raw mut regions) });
    // SAFETY: as above.
    done(unsafe { cd_region(regions, c"region".as_ptr(), &raw mut region) });
    let mut batches: Vec<f64> = (0..BATCHES)
        .map(|_| {
            let begun = Instant::now();
            for _ in 0..PAIRS {
                done(cd_region_start(regions, region));
                done(cd_region_stop(regions, region));
            }
            begun.elapsed().as_secs_f64() * 1e9 / f64::from(PAIRS)
        })
        .collect();
    batches.sort_by(f64::total_cmp);
    println!(
        "a start and a stop, {events}: {:.1} ns (middle of {BATCHES}: {:.1})",
        batches[0],
        batches[BATCHES / 2]
    );
    println!("  {}", ways(regions));
    done(cd_regions_close(regions));
    batches[0]
}

/// How the counters were read, or why not.
fn ways(regions: CdRegions) -> String {
    let mut text = ptr::null_mut();
    // SAFETY: the pointer is of a value that lives here.
    done(unsafe { cd_regions_json(regions, &raw mut text) });
    // SAFETY: a string that the library gave ends with a zero.
    let json = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    // SAFETY: as above.
    done(unsafe { cd_string_free(&raw mut text) });
    let report: serde_json::Value = serde_json::from_str(&json).expect("BUG: it is JSON");
    let events = report["regions"][0]["total"]["events"].as_array().cloned().unwrap_or_default();
    let way = |event: &serde_json::Value| {
        let why = &event["count"]["unavailable"]["why"];
        let words = event["way"].as_str().or(why.as_str()).unwrap_or("by several ways");
        format!("{}: {words}", event["event"].as_str().unwrap_or("?"))
    };
    events.iter().map(way).collect::<Vec<_>>().join("; ")
}

/// The nanoseconds of likwid's pair.
fn likwid() -> Result<f64, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/likwid.c");
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let program = folder.path().join("likwid");
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-o"]).arg(&program).arg(source).arg("-llikwid");
    let output = compiler.output().map_err(|error| format!("cc: {error}"))?;
    if !output.status.success() {
        return Err("likwid.c does not compile; Debian calls it `likwid`".to_owned());
    }
    let mut perfctr = Command::new("likwid-perfctr");
    perfctr.args(["-C", "0", "-m", "-g", OF_LIKWID.0]).arg(&program);
    let output = perfctr.output().map_err(|error| format!("likwid-perfctr: {error}"))?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let told = said.lines().find_map(|line| line.strip_prefix("ns of a pair: ")?.parse().ok());
    // Without rights or on a CPU that it does not know, its markers return at once, and that is no time of theirs.
    let refused = said.lines().find(|line| line.contains("ERROR") || line.contains("Cannot"));
    match (told, refused) {
        (_, Some(why)) => Err(why.to_owned()),
        (Some(nanoseconds), None) => Ok(nanoseconds),
        (None, None) => Err(said.lines().last().unwrap_or("it says nothing").to_owned()),
    }
}

fn done(status: CdStatus) {
    if status != CdStatus::CdOk {
        // SAFETY: the text ends with a zero, and stays until the next failure.
        let text = unsafe { CStr::from_ptr(cd_error_text()) };
        panic!("BUG: {}", text.to_string_lossy());
    }
}
