//! The page of `cpudyno threads`: the answer, the table, lines to paste; the curves where they are asked for.

use std::collections::BTreeMap;

use model::page::{Block, Lines, Mark, Page, Remark, Scale, Table, Text, Tone, si, tally};
use model::record::{BUSY_CPUS, NONE_BUSY, Record, SweepRun};
use model::stats::paired::{ArmStanding, Ranked};
use model::{Known, Unavailable, Unit};
use report::parts;

use super::{
    Advice, Curve, Curves, Proposal, Quota, SiblingGain, Work, advice, choice, curve, in_words,
    left, lines,
};

/// Its page; a verbosity of 1 and more adds the curves, and every fact, condition and instrument.
pub fn page(record: &Record, verbosity: u8) -> Page {
    let advice = advice(record);
    let text = match &record.run.simulated {
        Some(name) => {
            format!("SIMULATED numbers of threads: machine sim:{name}, nothing was measured")
        }
        None => "How many threads, and on which CPUs".to_owned(),
    };
    let mut blocks = vec![Block::Title { text, subtitle: parts::subtitle(record) }];
    let answer = answer(record, &advice);
    if !answer.is_empty() {
        blocks.push(Block::List(answer.into_iter().map(Text::from).collect()));
    }
    if let Some(run) = &record.sweep {
        blocks.push(Block::Heading(format!("`{}`, by number of threads", run.subject)));
        blocks.extend(crate::sweep::found(run));
        blocks.push(Block::List(by_command(&advice, run)));
        blocks.push(Block::List(crate::sweep::noise(record, run)));
        blocks.extend(failed(run));
        blocks.push(Block::Heading("What this machine has".to_owned()));
    }
    let record = &without_own_siblings(record);
    blocks.push(parts::quality(record));
    blocks.push(Block::Box(in_brief(record, &advice)));
    blocks.extend(table(&advice));
    let (to_paste, note) = lines::lines(&advice, &record.machine.topology);
    if !to_paste.is_empty() {
        blocks.push(Block::Heading("To paste".to_owned()));
        let texts = to_paste.into_iter().map(|(label, line)| (label, line.into()));
        blocks.push(Block::Groups(vec![texts.collect()]));
        blocks.extend(note.map(|note| Block::Paragraph(note.into())));
    }
    if verbosity > 0 {
        blocks.extend(curves(record, &advice));
    }
    blocks.push(Block::Heading("Findings".to_owned()));
    blocks.push(parts::findings(record));
    blocks.extend(missing(&advice));
    if verbosity > 0 {
        blocks.extend(parts::how(record));
        blocks.extend(parts::details(record));
    }
    Page { blocks }
}

/// Values that could not be measured.
fn failed(run: &SweepRun) -> Option<Block> {
    let failed: Vec<Remark> = run.failures.iter().map(crate::ab::failure).collect();
    (!failed.is_empty()).then_some(Block::Remarks(failed))
}

/// Which kinds of work have the command's best number, or one that is as good.
fn by_command(advice: &Advice, run: &SweepRun) -> Vec<Text> {
    let Known::Yes(ranking) = &run.ranking else { return Vec::new() };
    let like: Vec<String> = advice
        .proposals
        .iter()
        .filter(|it| {
            let is_its = |arm: &&Ranked| {
                run.arms.get(arm.arm).is_some_and(|arm| arm.number == Some(it.threads as f64))
            };
            let standing = ranking.arms.iter().find(is_its).map(|arm| arm.standing);
            matches!(standing, Some(ArmStanding::Best | ArmStanding::Within))
        })
        .map(|it| format!("{} ({})", it.work.words(), it.threads))
        .collect();
    if like.is_empty() {
        return vec!["No kind of work that was measured here proposes one of these numbers".into()];
    }
    vec![format!("That is what is proposed for {}", like.join("; ")).into()]
}

/// The record without the remark that cores were shared, where teams were to share them.
fn without_own_siblings(record: &Record) -> Record {
    let mut record = record.clone();
    if curve::has_siblings(&record.machine.topology, &record.run.plan.cpus) {
        record.findings.retain(|finding| finding.id != "run.contended");
    }
    record
}

/// What could not be measured, and why.
fn missing(advice: &Advice) -> Vec<Block> {
    let remark = |reason: &Unavailable| Remark {
        mark: Text::toned("unavailable", Tone::Faint),
        about: reason.what.clone(),
        text: reason.why.clone(),
        remedy: reason.remedy.clone(),
    };
    let of_areas = advice.missing.iter().map(|it| &it.reason);
    let of_cores = match &advice.scalar_cores {
        Known::No { unavailable } => Some(unavailable),
        Known::Yes(_) => None,
    };
    let mut reasons: Vec<&Unavailable> = Vec::new();
    for reason in of_areas.chain(of_cores) {
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    if reasons.is_empty() {
        return Vec::new();
    }
    let remarks = reasons.into_iter().map(remark).collect();
    vec![Block::Heading("Not measured".to_owned()), Block::Remarks(remarks)]
}

/// The answer in sentences.
fn answer(record: &Record, advice: &Advice) -> Vec<String> {
    let mut sentences = Vec::new();
    let compute = advice.of(Work::Vector);
    sentences.extend(compute.map(|it| {
        let said = used(it, "compute");
        match taken(record, advice).filter(|_| it.threads > 1) {
            Some(taken) => said.trim_end_matches('.').to_owned() + &taken,
            None => said,
        }
    }));
    if let Some(it) = advice.of(Work::EqualParts)
        && compute.is_none_or(|compute| compute.threads != it.threads)
    {
        sentences.push(used(it, "compute that is split into equal parts"));
    }
    if let Some(it) = advice.of(Work::Bandwidth) {
        let part = match it.of_most {
            most if most < 0.995 => format!(", {} of the most", percent(most)),
            _ => String::new(),
        };
        sentences.push(used(it, "memory bandwidth").trim_end_matches('.').to_owned() + &part + ".");
    }
    sentences.extend(steps(advice));
    sentences.extend(advice.quota.map(|quota| of_quota(quota, advice.usable.len())));
    sentences.extend(of_siblings(&advice.siblings));
    sentences.extend(of_types(advice));
    sentences
}

/// `Use 8 threads for compute, on CPUs 0-7: 7.6 times as fast as one.`
fn used(proposal: &Proposal, what: &str) -> String {
    let Proposal { threads, cpus, speedup, .. } = proposal;
    let word = if *threads == 1 { "CPU" } else { "CPUs" };
    let faster = match threads {
        1 => String::new(),
        _ => format!(": {} as fast as one", times(*speedup)),
    };
    format!("Use {} for {what}, on {word} {cpus}{faster}.", tally(*threads, "thread"))
}

/// What others take of a team's speed, where that is much: streams are timed between interruptions.
fn taken(record: &Record, advice: &Advice) -> Option<String> {
    const MUCH: f64 = 0.9;
    let cores = advice.vector_cores.value().or(advice.scalar_cores.value())?;
    (left(record, advice.quota) < MUCH).then(|| {
        format!(
            " if nobody else used them; what others take leaves {cores:.1} effective cores now."
        )
    })
}

/// Numbers of threads by the length of steps, equal ones together.
fn steps(advice: &Advice) -> Option<String> {
    let mut by_threads: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for proposal in &advice.proposals {
        if let Work::Steps(length) = proposal.work {
            by_threads.entry(proposal.threads).or_default().push(in_words(length));
        }
    }
    let each: Vec<String> = by_threads
        .into_iter()
        .map(|(threads, lengths)| {
            format!("{} for steps of {}", tally(threads, "thread"), list(&lengths))
        })
        .collect();
    (!each.is_empty()).then(|| format!("With a barrier after each step use {}.", each.join("; ")))
}

/// `a`, `a and b`, `a, b and c`.
fn list(words: &[String]) -> String {
    match words {
        [before @ .., last] if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        _ => words.concat(),
    }
}

fn of_quota(quota: Quota, usable: usize) -> String {
    let cpus = (quota.cpus * 1e3).round() / 1e3;
    if !quota.binds(usable) {
        return format!("The quota of {cpus} CPUs stops nobody: {usable} may be used.");
    }
    let period = quota.period.0;
    let stall = quota.stall(usable).0;
    format!(
        "The quota leaves the time of {cpus} CPUs: {} use it up in {} of each {}, and stand still for {}.",
        tally(usable, "busy thread"),
        time(period - stall),
        time(period),
        time(stall)
    )
}

/// What they do for each kind of work; steps of one length stand for all of them.
fn by_siblings(gains: &[SiblingGain]) -> Vec<(&'static str, SiblingGain)> {
    let mut told = Vec::new();
    let mut has_steps = false;
    for gain in gains {
        let is_steps = matches!(gain.work, Work::Steps(_));
        let what = match gain.work {
            Work::Vector => "saturated units",
            Work::Scalar => "instructions that wait for each other",
            Work::Bandwidth => "bandwidth",
            Work::Steps(_) if !has_steps => "short steps between barriers",
            Work::Steps(_) | Work::EqualParts => continue,
        };
        has_steps |= is_steps;
        told.push((what, *gain));
    }
    told
}

fn of_siblings(gains: &[SiblingGain]) -> Option<String> {
    let tell = |(what, gain): (&str, SiblingGain)| {
        let word = match gain {
            gain if gain.pays() => "pays",
            gain if gain.costs() => "costs",
            _ => "adds nothing",
        };
        format!("{what} {} ({word})", times(gain.factor))
    };
    let told: Vec<String> = by_siblings(gains).into_iter().map(tell).collect();
    (!told.is_empty())
        .then(|| format!("All SMT siblings over one thread of each core: {}.", told.join(", ")))
}

fn of_types(advice: &Advice) -> Option<String> {
    let slower = advice.slower_cores?;
    let (fast, others) = advice.types.split_first()?;
    let names: Vec<String> = others.iter().map(|it| it.name.clone()).collect();
    let wait = if slower.equal_parts > 1.03 { "" } else { ", which wait for the slowest" };
    (!names.is_empty()).then(|| {
        format!(
            "All cores, {} among them, do {} as much as the {} where work is handed out as threads ask for it, and {} as \
             much where it is split into equal parts{wait}.",
            list(&names),
            times(slower.handed_out),
            tally(fast.cpus.len(), &format!("{} core", fast.name)),
            times(slower.equal_parts)
        )
    })
}

/// What a reader asks first.
fn in_brief(record: &Record, advice: &Advice) -> Vec<(String, Text)> {
    let cores = match (advice.scalar_cores.value(), advice.vector_cores.value()) {
        (Some(scalar), Some(vector)) => {
            Some(format!("{scalar:.1} of scalar work, {vector:.1} of vector work"))
        }
        (Some(scalar), None) => Some(format!("{scalar:.1} of scalar work")),
        _ => None,
    };
    let types: Vec<String> = advice
        .types
        .iter()
        .map(|it| format!("{} {} {:.2}/{:.2}", it.name, it.cpus, it.scalar, it.vector))
        .collect();
    let quota = record.text("cgroup.quota").filter(|text| *text != "none").map(str::to_owned);
    let busy = record.text(BUSY_CPUS).filter(|text| *text != NONE_BUSY).map(str::to_owned);
    let rows = [
        ("CPU", record.text("cpu.brand").map(str::to_owned)),
        ("Usable", Some(format!("CPUs {} ({})", advice.usable, advice.usable.len()))),
        ("Effective cores now", cores),
        ("Quota", quota),
        ("Speed, scalar/vector", (!types.is_empty()).then(|| types.join(", "))),
        ("Other busy CPUs", busy),
    ];
    rows.into_iter()
        .filter_map(|(label, text)| Some((label.to_owned(), Text::from(text?))))
        .collect()
}

fn table(advice: &Advice) -> Option<Block> {
    let row = |it: &Proposal| {
        [
            it.work.words(),
            it.threads.to_string(),
            it.cpus.to_string(),
            format!("{:.2}", it.speedup),
            percent(it.of_most),
        ]
        .map(Text::from)
        .to_vec()
    };
    let stalls = advice.quota.and_then(|quota| {
        let it = advice.of(Work::Vector).filter(|it| quota.binds(it.threads))?;
        let stall = time(quota.stall(it.threads).0);
        let less = quota.without_stall();
        Some(format!(
            "{} of compute stand still for {stall} of each period; {less} never do",
            tally(it.threads, "thread")
        ))
    });
    (!advice.proposals.is_empty()).then(|| {
        Table::of("Threads by kind of work")
            .folded("work")
            .right("threads")
            .folded("CPUs")
            .right("times one")
            .right("of the most")
            .rows(advice.proposals.iter().map(row))
            .legend(stalls)
            .notes([
                "the smallest team that reaches 98 % of the most, of bandwidth 95 %; teams that were not measured \
                 are not proposed",
                "steps: the loop of the area openmp between barriers at which threads spin, scaled to the length",
            ])
            .into()
    })
}

/// The curves over numbers of threads, in times of one thread, with what was chosen.
fn curves(record: &Record, advice: &Advice) -> Vec<Block> {
    let all = Curves::of(record).each();
    let line = |(work, curve, _): &(Work, Curve, f64)| {
        let alone = choice::alone(curve, advice.quota)?;
        let points = curve
            .points
            .iter()
            .map(|point| (point.cpus.len() as f64, choice::reached(point, advice.quota) / alone));
        Some((work.words(), points.collect::<Vec<_>>()))
    };
    let shown = |work: Work| !matches!(work, Work::EqualParts) || !advice.types.is_empty();
    let lines: Vec<_> = all.iter().filter(|(work, ..)| shown(*work)).filter_map(line).collect();
    if lines.is_empty() {
        return Vec::new();
    }
    let mut marks: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    for (work, name) in [(Work::Vector, "compute"), (Work::Bandwidth, "bandwidth")] {
        if let Some(it) = advice.of(work) {
            marks.entry(it.threads).or_default().push(name);
        }
    }
    let mark = |(at, names): (usize, Vec<&str>)| Mark {
        at: at as f64,
        text: format!("{at}: {}", names.join(", ")),
    };
    let plot = Lines {
        caption: "Times one thread, by number of threads".to_owned(),
        x: "threads".to_owned(),
        y: "times one".to_owned(),
        x_scale: Scale::Linear,
        y_scale: Scale::Linear,
        reach: None,
        lines,
        marks: marks.into_iter().map(mark).collect(),
    };
    let why = bends(record, advice);
    let mut blocks = vec![Block::Heading("Why".to_owned()), Block::Lines(plot)];
    if !why.is_empty() {
        blocks.push(Block::List(why.into_iter().map(Text::from).collect()));
    }
    blocks
}

/// Where curves bend, and why.
fn bends(record: &Record, advice: &Advice) -> Vec<String> {
    let usable = advice.usable.len();
    let mut why = Vec::new();
    if let Some(quota) = advice.quota.filter(|quota| quota.binds(usable)) {
        why.push(format!(
            "Beyond {} the quota has every thread stand still for a part of each period: more threads, no more work.",
            tally(quota.without_stall(), "thread")
        ));
    }
    // A quota that stops the next thread hides what memory would give it.
    let is_open = |it: &&Proposal| {
        it.threads < usable && advice.quota.is_none_or(|quota| !quota.binds(it.threads + 1))
    };
    if let Some(it) = advice.of(Work::Bandwidth).filter(is_open) {
        why.push(format!(
            "Beyond {} memory gives at most 5 % more, whoever asks: there {} of the most is reached.",
            tally(it.threads, "thread"),
            percent(it.of_most)
        ));
    }
    let topology = &record.machine.topology;
    let is_first = |cpu: &model::CpuId| curve::is_first(topology, &advice.usable, *cpu);
    let cores = advice.usable.iter().filter(is_first).count();
    if cores < usable {
        why.push(format!(
            "Beyond {} some of them share a core{}.",
            tally(cores, "thread"),
            shared(&advice.siblings)
        ));
    }
    if let Some(fast) = advice.types.first() {
        why.push(format!(
            "Beyond {} further ones run on slower cores.",
            tally(fast.cpus.len(), "thread")
        ));
    }
    why
}

/// `: siblings pay for bandwidth, add nothing to saturated units`, as far as it was measured.
fn shared(gains: &[SiblingGain]) -> String {
    let told = by_siblings(gains);
    let of = |is_so: fn(&SiblingGain) -> bool, words: &str| {
        let names = told.iter().filter(|(_, gain)| is_so(gain)).map(|(what, _)| (*what).to_owned());
        let names: Vec<String> = names.collect();
        (!names.is_empty()).then(|| format!("{words} {}", list(&names)))
    };
    let parts = [
        of(SiblingGain::pays, "pay for"),
        of(|gain| !gain.pays() && !gain.costs(), "add nothing to"),
        of(SiblingGain::costs, "take from"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { String::new() } else { format!(": siblings {}", parts.join("; they ")) }
}

fn times(factor: f64) -> String {
    format!("{factor:.2} times")
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn time(seconds: f64) -> String {
    si::format(seconds, Unit::Second)
}
