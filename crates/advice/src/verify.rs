//! The page of `cpudyno verify`: whether every core computes right, what is wrong, and what of that was looked at.

use std::collections::BTreeSet;

use model::page::{Block, Page, Table, Text, Tone, si, tally};
use model::record::{Record, VerifiedCpu, VerifiedWorkload, VerifyRun, WrongAnswer, WrongAnswers};
use model::{CpuSet, Known, Unavailable, Unit};
use report::parts::{self, ops};

use crate::frame::ending;

/// What came of the comparison.
pub fn page(record: &Record, verbosity: u8) -> Page {
    let Some(run) = &record.verify else { return Page::default() };
    let text = match &record.run.simulated {
        Some(name) => {
            format!("SIMULATED answers of CPUs: machine sim:{name}, nothing was measured")
        }
        None => "Does every core compute right?".to_owned(),
    };
    let (tool, time) = (&record.tool, si::run_length(run.seconds));
    let subtitle = format!("{} {}, {}, {time}", tool.name, tool.version, record.run.started);
    let mut blocks = vec![Block::Title { text, subtitle }];
    blocks.extend(answer(run).into_iter().map(Block::Paragraph));
    if !run.wrong.is_empty() {
        blocks.push(wrong(run));
        blocks.push(Block::List(run.wrong.iter().map(|it| described(it).into()).collect()));
    }
    blocks.push(Block::Heading("What was compared".to_owned()));
    blocks.push(Block::List(coverage(record, run)));
    blocks.push(cpus(run));
    if verbosity > 0 {
        blocks.push(workloads(run));
    }
    blocks.extend(ending(record, verbosity));
    Page { blocks }
}

/// The fewest ops that a CPU was compared in: what is said of all of them.
fn least(run: &VerifyRun) -> u64 {
    run.cpus.iter().map(|cpu| cpu.ops).min().unwrap_or(0)
}

/// The answer in two sentences.
pub fn answer(run: &VerifyRun) -> Vec<Text> {
    let all = run.all();
    let time = si::run_length(run.seconds);
    if run.cpus.iter().all(|cpu| cpu.calls == 0) {
        return vec![Text::toned("Cannot tell: nothing was compared.", Tone::Warning)];
    }
    let faulty = run.faulty();
    let mut told = Vec::new();
    if !faulty.is_empty() {
        let computes = if faulty.len() == 1 { "computes" } else { "compute" };
        let text = format!("CPU {faulty} {computes} wrong: {}.", briefly(run, &faulty));
        told.push(Text::toned(text, Tone::Serious));
    }
    let everywhere: BTreeSet<&str> =
        run.wrong.iter().filter(|it| it.is_everywhere()).map(|it| &*it.workload).collect();
    if !everywhere.is_empty() {
        let names = everywhere.into_iter().collect::<Vec<_>>().join(", ");
        let text = format!(
            "{names}: wrong on every CPU that tried: cpudyno, or what emulates the CPU, is wrong, and not a core."
        );
        told.push(Text::toned(text, Tone::Serious));
    }
    let count = ops(least(run));
    if run.wrong.is_empty() {
        let on = if all.len() == 1 {
            format!("on CPU {all}")
        } else {
            format!("on each of {} CPUs ({all})", all.len())
        };
        let text = format!("No wrong answer in {count} checked ops {on}, in {time}.");
        told.push(Text::toned(text, Tone::Good));
        told.extend(bound(least(run)).map(Text::from));
    } else {
        let right = all.difference(&run.wrong.iter().map(|it| it.cpu).collect());
        if !right.is_empty() {
            told.push(format!("CPU {right}: no wrong answer in {count} checked ops each.").into());
        }
    }
    told
}

/// What no fault in so many ops leaves possible.
///
/// # Source
/// Hanley, Lippman-Hand: If nothing goes wrong, is everything all right? JAMA 249 (1983), the rule of three.
fn bound(count: u64) -> Option<String> {
    (count > 0).then(|| {
        let rate = 3.0 / count as f64;
        format!("That leaves a fault rate below {rate:.1e} per op of these (95 %, of what is compared here alone).")
    })
}

/// What faulty CPUs compute wrong, the first of it.
fn briefly(run: &VerifyRun, faulty: &CpuSet) -> String {
    let mut own = run.wrong.iter().filter(|it| faulty.contains(it.cpu) && !it.is_everywhere());
    let Some(first) = own.next() else { return String::new() };
    let rest = own.count();
    let more = if rest == 0 { String::new() } else { format!("; and {rest} more") };
    let WrongAnswers { wrong, calls, workload, .. } = first;
    format!("{wrong} of {} of `{workload}`{more}", tally(*calls as usize, "call"))
}

/// One row a CPU and a workload.
fn wrong(run: &VerifyRun) -> Block {
    let row = |it: &WrongAnswers| -> Vec<Text> {
        let first = it.examples.first();
        let known = |value: Option<&Known<f64>>, unit: Unit| {
            value
                .and_then(Known::value)
                .map_or("unknown".to_owned(), |value| si::format(*value, unit))
        };
        let one_in = if it.ops > 0 {
            format!("1 in {:.1e} ops", it.ops as f64 / it.wrong as f64)
        } else {
            String::new()
        };
        let cells = [
            it.cpu.to_string(),
            format!("{}/{}", it.package, it.core),
            it.workload.clone(),
            it.wrong.to_string(),
            it.calls.to_string(),
            one_in,
            first.map_or(String::new(), bits),
            known(first.map(|it| &it.clock), Unit::Hertz),
            known(first.map(|it| &it.celsius), Unit::Celsius),
        ];
        cells.map(Text::from).to_vec()
    };
    Table::of("Wrong answers by CPU and workload")
        .right("CPU")
        .right("package/core")
        .left("workload")
        .right("wrong")
        .right("calls")
        .right("at least")
        .left("flipped")
        .right("clock")
        .right("temperature")
        .rows(run.wrong.iter().map(row))
        .into()
}

fn bits(answer: &WrongAnswer) -> String {
    match &answer.flipped[..] {
        [bit] => format!("bit {bit}"),
        several => tally(several.len(), "bit"),
    }
}

/// The first wrong answer of a row as it was, and whether it came again.
fn described(it: &WrongAnswers) -> String {
    let Some(first) = it.examples.first() else { return String::new() };
    let WrongAnswer { operands, iterations, expected, got, index, .. } = first;
    let place = index.map_or(String::new(), |index| format!(" at a[{index}]"));
    let alone = match (it.wrong_alone, it.wrong) {
        (0, _) => ", all of them while other CPUs worked",
        (alone, all) if alone == all => ", all of them while other CPUs idled",
        _ => "",
    };
    let again = |[wrong, calls]: [u64; 2]| format!("{wrong} of {calls}");
    let elsewhere: Vec<String> = it
        .again
        .elsewhere
        .iter()
        .map(|it| format!("CPU {}: {}", it.cpu, again(it.wrong)))
        .collect();
    let elsewhere =
        if elsewhere.is_empty() { "no other CPU tried".to_owned() } else { elsewhere.join(", ") };
    format!(
        "CPU {}, `{}`: {operands}, {iterations} iterations{place}: expected {expected}, got {got}{alone}. The same call again: {} here; {elsewhere}",
        it.cpu,
        it.workload,
        again(it.again.here)
    )
}

/// What was looked at, how, and what was not.
fn coverage(record: &Record, run: &VerifyRun) -> Vec<Text> {
    let mut lines = of_streams(run);
    lines.extend(of_memory(run));
    lines.push(match &run.celsius {
        Known::Yes([low, high]) => format!("Temperature: {low:.0} to {high:.0} °C"),
        Known::No { unavailable: Unavailable { why, .. } } => {
            format!("Temperature: unknown ({why})")
        }
    });
    let not = "other instructions, other loads and stores, branches, addresses, what caches and memory correct by \
               themselves, other clocks and voltages";
    lines.push(format!("Not compared: {not}"));
    lines.extend(left_out(run));
    let is_early = run.ended != "the time was over";
    lines.extend(is_early.then(|| format!("It ended because {}", run.ended)));
    lines.extend(parts::runs_on(record).map(|text| format!("Runs on: {text}")));
    lines.into_iter().map(Text::from).collect()
}

fn of_streams(run: &VerifyRun) -> Vec<String> {
    let all: Vec<&VerifiedWorkload> = run.workloads.iter().filter(|it| !it.moves_memory).collect();
    let streams: Vec<&VerifiedWorkload> = all.iter().copied().filter(|it| it.calls > 0).collect();
    if all.is_empty() {
        return Vec::new();
    }
    let instructions: BTreeSet<&str> = streams.iter().map(|it| &*it.instruction).collect();
    let isa: BTreeSet<&str> = streams.iter().flat_map(|it| &it.isa).map(String::as_str).collect();
    let confirmed = streams.iter().filter(|it| it.second_form.is_some()).count();
    let listed = |words: BTreeSet<&str>| words.into_iter().collect::<Vec<_>>().join(", ");
    let count = tally(instructions.len(), "instruction");
    let by = if run.cpus.len() == 1 { "by this CPU, as it is the only one" } else { "by two CPUs" };
    let cpus = run.all();
    let short = |of: fn(&VerifiedWorkload) -> &CpuSet| {
        streams.iter().filter(|it| !cpus.difference(of(it)).is_empty()).count()
    };
    let mut lines = vec![
        format!("{} of {} streams, {count}: {}", streams.len(), all.len(), listed(instructions)),
        format!("Instruction sets: {}", listed(isa)),
        format!("Operands: {} (seed {})", run.patterns.join(", "), run.seed),
        format!(
            "Right answers: {} references, computed one op at a time {by}; another instruction or width confirms those of {confirmed} streams",
            run.references
        ),
    ];
    let (alone, together) = (short(|it| &it.alone), short(|it| &it.together));
    let is_short = cpus.len() > 1 && alone > 0;
    lines.extend(is_short.then(|| format!("No time to run alone on every CPU: {alone} streams")));
    lines.extend((together > 0).then(|| format!("No time to run on all CPUs: {together} streams")));
    lines
}

fn of_memory(run: &VerifyRun) -> Option<String> {
    let memory = || run.workloads.iter().filter(|it| it.moves_memory && it.calls > 0);
    let names: Vec<&str> = memory().map(|it| &*it.id).collect();
    let ways = tally(memory().map(|it| it.ways.len()).sum(), "way");
    let kernels = tally(names.len(), "memory kernel");
    let names = names.join(", ");
    (!names.is_empty()).then(|| format!("{kernels} in {ways}, each number compared: {names}"))
}

fn left_out(run: &VerifyRun) -> Option<String> {
    let first = run.left_out.first()?;
    Some(format!("{} not executed here, such as {}: {}", run.left_out.len(), first.what, first.why))
}

fn cpus(run: &VerifyRun) -> Block {
    let row = |it: &VerifiedCpu| -> Vec<Text> {
        let clock = match &it.clock {
            Known::Yes([low, high]) if low >= high => si::format(*low, Unit::Hertz),
            Known::Yes([low, high]) => {
                format!("{} to {}", si::format(*low, Unit::Hertz), si::format(*high, Unit::Hertz))
            }
            Known::No { .. } => "unknown".to_owned(),
        };
        let wrong: u64 =
            run.wrong.iter().filter(|wrong| wrong.cpu == it.cpu).map(|it| it.wrong).sum();
        let wrong = match wrong {
            0 => Text::from("0"),
            some => Text::toned(some.to_string(), Tone::Serious),
        };
        let place = format!("{}/{}", it.package, it.core);
        let counts =
            [it.cpu.to_string(), place, ops(it.calls), ops(it.ops), ops(it.numbers), clock];
        counts.map(Text::from).into_iter().chain([wrong]).collect()
    };
    Table::of("Compared on each CPU")
        .right("CPU")
        .right("package/core")
        .right("answers")
        .right("ops")
        .right("numbers in memory")
        .right("clock")
        .right("wrong")
        .rows(run.cpus.iter().map(row))
        .into()
}

fn workloads(run: &VerifyRun) -> Block {
    let row = |it: &VerifiedWorkload| -> Vec<Text> {
        let form = it.second_form.clone().unwrap_or_else(|| "none".to_owned());
        let cells = [
            it.id.clone(),
            it.instruction.clone(),
            ops(it.calls),
            ops(it.ops),
            it.alone.to_string(),
            it.together.to_string(),
            form,
        ];
        cells.map(Text::from).to_vec()
    };
    Table::of("Streams and memory kernels")
        .left("workload")
        .left("instruction")
        .right("answers")
        .right("ops")
        .left("alone on")
        .left("together on")
        .left("second form")
        .rows(run.workloads.iter().map(row))
        .into()
}
