//! Known answers: what events count of work of which the machine code says what it executes.
//!
//! The work is executed n times and 2n times, and the difference counts, so that nothing which happens
//! once is in the answer. How far an answer may be off is said by row, with the reason: what is retired
//! is exact, what is speculated is not, and a cache does not keep what the books say.

use kernels::{memory, streams};
use machine::{Machine, perf};
use model::record::{AnswerFound, Counts, EventCount, KnownAnswer};
use model::{CpuId, Known, Obstacle, Reading, Unavailable, stats};

use super::counted_kernels::{self, Kernel, KernelCounts, Spec, Under, key};
use super::plan::of_another_kind;
use super::{CountingPlan, Session, needs_counter};
use crate::events::{Encoded, Events, plain};

/// Work whose counts are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerWork {
    Loop,
    Coin,
    /// A chain of additions.
    Adds,
    /// Fused multiply-adds by this stream.
    Fused(&'static str),
    /// Writing an array.
    Writes,
    /// A walk through lines that a cache holds, from 0 on.
    Cache(usize),
    /// A walk through lines that no cache holds.
    Memory,
    Touch,
    Sleep,
    Move,
}

/// In the order in which they are executed.
const WORK: &[AnswerWork] = &[
    AnswerWork::Loop,
    AnswerWork::Coin,
    AnswerWork::Adds,
    AnswerWork::Fused("avx128_fma"),
    AnswerWork::Fused("avx256_fma"),
    AnswerWork::Fused("avx512_fma"),
    AnswerWork::Writes,
    AnswerWork::Cache(0),
    AnswerWork::Cache(1),
    AnswerWork::Cache(2),
    AnswerWork::Memory,
    AnswerWork::Touch,
    AnswerWork::Sleep,
    AnswerWork::Move,
];

/// What an event should count.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Expect {
    /// As often as the work has it, by its name there.
    Key(&'static str),
    /// So often in each unit.
    Each(f64),
    /// The ticks of the time stamp counter.
    Ticks,
    /// The nanoseconds that the thread was on a CPU, by its clock.
    ThreadTime,
}

/// An answer: events of which each counts the same, by the names that families of CPUs have for it.
struct AnswerRow {
    of: AnswerWork,
    expect: Expect,
    events: &'static [&'static str],
    /// The share by which less is right.
    less: f64,
    /// The share by which more is right.
    more: f64,
    why: &'static str,
}

const EXACT: f64 = 0.001;
const RETIRED: &str = "retired events are counted exactly; each interrupt may add one or two";

/// A row of something that is counted when it retires.
const fn retired(of: AnswerWork, expect: Expect, events: &'static [&'static str]) -> AnswerRow {
    AnswerRow { of, expect, events, less: EXACT, more: EXACT, why: RETIRED }
}

const SWAP: &str =
    "a cache that does not evict its oldest line keeps a few lines that the test expects evicted";
const SHARED: &str =
    "other programs use this cache, too: lines that they evict come from further away";

/// All of them.
static ROWS: &[AnswerRow] = &[
    retired(
        AnswerWork::Loop,
        Expect::Key(key::INSTRUCTIONS),
        &["instructions", "inst_retired.any", "inst_retired.any_p", "ex_ret_instr", "inst_retired"],
    ),
    retired(
        AnswerWork::Loop,
        Expect::Key(key::BRANCHES),
        &["branches", "br_inst_retired.all_branches", "ex_ret_brn", "br_retired"],
    ),
    retired(
        AnswerWork::Loop,
        Expect::Key(key::TAKEN),
        &["br_inst_retired.near_taken", "br_inst_retired.cond_taken", "ex_ret_brn_tkn"],
    ),
    retired(AnswerWork::Loop, Expect::Key(key::CONDITIONAL), &["br_inst_retired.cond"]),
    AnswerRow {
        of: AnswerWork::Loop,
        expect: Expect::ThreadTime,
        events: &["task-clock", "cpu-clock"],
        less: 0.05,
        more: 0.05,
        why: "it is compared with the thread's own clock, which is read a moment earlier or later",
    },
    AnswerRow {
        of: AnswerWork::Loop,
        expect: Expect::Ticks,
        events: &["msr/tsc/"],
        less: 0.05,
        more: 0.05,
        why: "the instruction reads the same counter a moment earlier or later; not tested where \
              the thread left its CPU, because the event does not count then",
    },
    AnswerRow {
        of: AnswerWork::Coin,
        expect: Expect::Key(key::MISSES),
        events: &[
            "branch-misses",
            "br_misp_retired.all_branches",
            "br_misp_retired.cond",
            "ex_ret_brn_misp",
            "br_mis_pred_retired",
        ],
        less: 0.1,
        more: 0.1,
        why: "a coin cannot be predicted: half of the tosses are mispredicted, within chance",
    },
    AnswerRow {
        of: AnswerWork::Adds,
        expect: Expect::Each(1.0),
        events: &[
            "cycles",
            "cpu_clk_unhalted.thread",
            "cpu_clk_unhalted.thread_p",
            "ls_not_halted_cyc",
            "cpu_cycles",
        ],
        less: 0.02,
        more: 0.1,
        why: "each addition takes one cycle after the one before it; a busy sibling delays some",
    },
    AnswerRow {
        of: AnswerWork::Adds,
        expect: Expect::Ticks,
        events: &["ref-cycles", "cpu_clk_unhalted.ref_tsc"],
        less: 0.1,
        more: 0.03,
        why: "it counts like the time stamp counter, but not while the kernel runs on the CPU; not \
              tested where the thread left its CPU",
    },
    retired(
        AnswerWork::Fused("avx128_fma"),
        Expect::Key(key::FLOPS_128),
        &["fp_arith_inst_retired.128b_packed_double"],
    ),
    retired(
        AnswerWork::Fused("avx256_fma"),
        Expect::Key(key::FLOPS_256),
        &["fp_arith_inst_retired.256b_packed_double"],
    ),
    retired(
        AnswerWork::Fused("avx512_fma"),
        Expect::Key(key::FLOPS_512),
        &["fp_arith_inst_retired.512b_packed_double"],
    ),
    // AMD counts every number of a vector.
    retired(AnswerWork::Fused("avx256_fma"), Expect::Each(8.0), &["fp_ret_sse_avx_ops.all"]),
    AnswerRow {
        of: AnswerWork::Writes,
        expect: Expect::Key(key::STORES),
        events: &["mem_inst_retired.all_stores", "mem_uops_retired.all_stores"],
        less: 0.005,
        more: 0.02,
        why: RETIRED,
    },
    AnswerRow {
        of: AnswerWork::Writes,
        expect: Expect::Key(key::STORES),
        events: &["ls_dispatch.store_dispatch"],
        less: 0.005,
        more: 0.1,
        why: "stores are counted when they are dispatched, also those that never retire",
    },
    AnswerRow {
        of: AnswerWork::Cache(0),
        expect: Expect::Key(key::LOADS),
        events: &["mem_inst_retired.all_loads", "mem_uops_retired.all_loads"],
        less: 0.005,
        more: 0.02,
        why: RETIRED,
    },
    AnswerRow {
        of: AnswerWork::Cache(0),
        expect: Expect::Each(1.0),
        events: &["ls_dispatch.ld_dispatch"],
        less: 0.005,
        more: 0.1,
        why: "loads are counted when they are dispatched, also those that never retire",
    },
    AnswerRow {
        of: AnswerWork::Cache(0),
        expect: Expect::Key(key::LOADS),
        events: &["mem_load_retired.l1_hit", "mem_load_uops_retired.l1_hit"],
        less: 0.1,
        more: 0.02,
        why: "interrupts displace lines; the loop's own counter is in memory, and always hits",
    },
    AnswerRow {
        of: AnswerWork::Cache(1),
        expect: Expect::Each(1.0),
        events: &[
            "mem_load_retired.l1_miss",
            "mem_load_uops_retired.l1_miss",
            "mem_load_retired.l2_hit",
            "mem_load_uops_retired.l2_hit",
            "ls_dmnd_fills_from_sys.local_l2",
            "ls_dmnd_fills_from_sys.lcl_l2",
            "ls_refills_from_sys.ls_mabresp_lcl_l2",
            "l1d_cache_refill",
        ],
        less: 0.25,
        more: 0.1,
        why: SWAP,
    },
    AnswerRow {
        of: AnswerWork::Cache(2),
        expect: Expect::Each(1.0),
        events: &[
            "mem_load_retired.l2_miss",
            "mem_load_uops_retired.l2_miss",
            "l2_cache_req_stat.ls_rd_blk_c",
            "l2d_cache_refill",
        ],
        less: 0.25,
        more: 0.1,
        why: SWAP,
    },
    AnswerRow {
        of: AnswerWork::Cache(2),
        expect: Expect::Each(1.0),
        events: &[
            "mem_load_retired.l3_hit",
            "mem_load_uops_retired.l3_hit",
            "ls_dmnd_fills_from_sys.local_ccx",
            "ls_dmnd_fills_from_sys.int_cache",
            "ls_refills_from_sys.ls_mabresp_lcl_cache",
        ],
        less: 0.4,
        more: 0.1,
        why: SHARED,
    },
    AnswerRow {
        of: AnswerWork::Memory,
        expect: Expect::Each(1.0),
        events: &[
            "mem_load_retired.l3_miss",
            "mem_load_uops_retired.l3_miss",
            "mem_load_uops_retired.dram_hit",
            "ls_dmnd_fills_from_sys.dram_io_near",
            "ls_dmnd_fills_from_sys.mem_io_local",
            "ls_refills_from_sys.ls_mabresp_lcl_dram",
            "ll_cache_miss_rd",
        ],
        less: 0.25,
        more: 0.1,
        why: "all lines were flushed from the caches before; a prefetcher may have fetched a few, \
              and memory of another node is not counted",
    },
    AnswerRow {
        of: AnswerWork::Touch,
        expect: Expect::Key(key::FAULTS),
        events: &["page-faults", "minor-faults"],
        less: EXACT,
        more: 0.02,
        why: "each new page is one fault; page tables may need a few",
    },
    AnswerRow {
        of: AnswerWork::Sleep,
        expect: Expect::Key(key::SWITCHES),
        events: &["context-switches"],
        less: 0.02,
        more: 0.5,
        why: "each sleep gives the CPU away once; others may take it in between",
    },
    AnswerRow {
        of: AnswerWork::Move,
        expect: Expect::Key(key::MIGRATIONS),
        events: &["cpu-migrations"],
        less: EXACT,
        more: EXACT,
        why: "each move is one migration, and the thread may run nowhere else meanwhile",
    },
];

/// What an event should count in the loop, by iteration.
pub(super) struct OfLoop {
    pub(super) per_iteration: f64,
    pub(super) less: f64,
    pub(super) more: f64,
}

/// What is known of an event in the loop; none: nothing.
pub(super) fn of_the_loop(event: &Encoded) -> Option<OfLoop> {
    let name = plain(event);
    let row = ROWS.iter().find(|row| row.of == AnswerWork::Loop && row.events.contains(&name))?;
    let Expect::Key(name) = row.expect else { return None };
    let per_iteration = counted_kernels::of_loop().into_iter().find(|it| it.0 == name)?.1;
    Some(OfLoop { per_iteration, less: row.less, more: row.more })
}

impl AnswerWork {
    /// What is executed.
    fn spec(self, machine: &Machine, cpu: CpuId) -> Reading<Spec> {
        match self {
            AnswerWork::Loop => Ok(Spec::Loop),
            AnswerWork::Coin => Ok(Spec::Coin),
            AnswerWork::Adds => stream("scalar_iadd"),
            AnswerWork::Fused(id) => stream(id),
            AnswerWork::Writes => match memory::find("store") {
                Some(kernel) => Ok(Spec::Memory(kernel, WRITTEN)),
                None => Err(nothing("store")),
            },
            AnswerWork::Cache(level) => {
                within(level, &counted_kernels::caches(machine, cpu)).map(Spec::Chase)
            }
            AnswerWork::Memory => Ok(Spec::Chase(DROPPED)),
            AnswerWork::Touch => Ok(Spec::Touch),
            AnswerWork::Sleep => Ok(Spec::Sleep),
            AnswerWork::Move => Ok(Spec::Move),
        }
    }

    /// What it is, in a few words.
    fn title(self) -> String {
        match self {
            AnswerWork::Loop => "a loop".to_owned(),
            AnswerWork::Coin => "a loop with a coin".to_owned(),
            AnswerWork::Adds => "a chain of additions".to_owned(),
            AnswerWork::Fused(id) => id.to_owned(),
            AnswerWork::Writes => "writing an array".to_owned(),
            AnswerWork::Cache(level) => format!("a walk through the L{} cache", level + 1),
            AnswerWork::Memory => "a walk through memory".to_owned(),
            AnswerWork::Touch => "touching new pages".to_owned(),
            AnswerWork::Sleep => "sleeping".to_owned(),
            AnswerWork::Move => "moves between two CPUs".to_owned(),
        }
    }

    /// How many units, and then twice as many.
    fn number(self, kernel: &Kernel<'_>) -> u64 {
        let number = match self {
            AnswerWork::Loop | AnswerWork::Adds | AnswerWork::Fused(_) => 1_000_000,
            AnswerWork::Coin | AnswerWork::Cache(0 | 1) => 200_000,
            AnswerWork::Cache(_) => 100_000,
            AnswerWork::Writes => 1 << 20,
            // Each line once.
            AnswerWork::Memory => kernel.data.map_or(0, |data| data.once / 2),
            AnswerWork::Touch => 2000,
            AnswerWork::Sleep => 40,
            AnswerWork::Move => 100,
        };
        kernel.whole(number)
    }

    fn under(self) -> Under {
        Under { cold: self == AnswerWork::Memory, ..Under::default() }
    }
}

/// An array that stays in the nearest cache.
const WRITTEN: u64 = 16 << 10;
/// Lines enough for the walk through memory.
const DROPPED: u64 = 16 << 20;

fn stream(id: &'static str) -> Reading<Spec> {
    streams::find(id).map(Spec::Stream).ok_or_else(|| nothing(id))
}

fn nothing(what: &str) -> Unavailable {
    Unavailable::new(Obstacle::Cpudyno, what, "there is no such kernel for this architecture")
}

/// Bytes of a ring whose visited lines, which are half of it, lie in that cache and in none before it.
fn within(level: usize, caches: &[u64]) -> Reading<u64> {
    /// So many times as large as the cache before it are the visited lines at least.
    const BEYOND: u64 = 2;
    let title = format!("work for the L{} cache", level + 1);
    let absent = |why: String| Err(Unavailable::new(Obstacle::Hardware, &title, why));
    let Some(&size) = caches.get(level) else {
        return absent("this CPU has no such cache, or does not report its size".to_owned());
    };
    // The lines beside those that are visited may come in as well.
    let bytes = if level == 0 { size } else { size / 2 };
    let before = level.checked_sub(1).map_or(0, |before| caches[before]);
    if bytes / 2 < BEYOND * before {
        return absent(format!(
            "the cache is too small compared with the one before it: {} and {}",
            counted_kernels::size_in_words(size),
            counted_kernels::size_in_words(before)
        ));
    }
    Ok(bytes)
}

/// Holds events against their known answers: those that were asked for, or all that have one. What cannot
/// be counted, or not be executed, has its reason.
pub fn selftest(
    session: &Session<'_>,
    events: &Events<'_>,
    only: Option<&[Encoded]>,
) -> Vec<KnownAnswer> {
    let pmu = perf::core_pmu(session.machine(), session.cpu());
    let mut answers = Vec::new();
    for &of in WORK {
        let rows = ROWS.iter().filter(|row| row.of == of);
        let asked = rows.flat_map(|row| {
            let names = row.events.iter().filter_map(|name| events.resolve(name).ok()).flatten();
            names.map(move |event| AnswerEvent { row, event })
        });
        let is_here = |asked: &AnswerEvent| {
            !needs_counter(&asked.event) || asked.event.pmu.is_none() || asked.event.pmu == pmu
        };
        // By the name that was asked for, where one was.
        let wanted = |asked: AnswerEvent| match only {
            None => Some(asked),
            Some(only) => {
                let event = only.iter().find(|event| event.is_same(&asked.event))?;
                Some(AnswerEvent { event: event.clone(), ..asked })
            }
        };
        let mut found: Vec<AnswerEvent> = Vec::new();
        for asked in asked.filter(is_here).filter_map(wanted) {
            if !found.iter().any(|known| known.event.is_same(&asked.event)) {
                found.push(asked);
            }
        }
        if !found.is_empty() {
            answers.extend(of.answers(session, &found));
        }
    }
    answers
}

/// With those that were asked for and can be counted on this kind of core, but have no known
/// answer.
pub fn with_unknown(
    session: &Session<'_>,
    mut answers: Vec<KnownAnswer>,
    asked: &[Encoded],
) -> Vec<KnownAnswer> {
    let pmu = perf::core_pmu(session.machine(), session.cpu());
    let is_here = |event: &&Encoded| of_another_kind(event, pmu.as_deref()).is_none();
    let is_told = |event: &&Encoded| answers.iter().any(|answer| answer.event == event.name);
    let unknown = |event: &Encoded| KnownAnswer {
        event: event.name.clone(),
        work: "-".to_owned(),
        why: String::new(),
        found: Known::No {
            unavailable: Unavailable::new(
                Obstacle::Cpudyno,
                &event.name,
                "its answer is not known",
            ),
        },
    };
    let rest = asked.iter().filter(is_here).filter(|event| !is_told(event)).map(unknown);
    let rest: Vec<KnownAnswer> = rest.collect();
    answers.extend(rest);
    answers
}

/// An event that is held against a row.
struct AnswerEvent {
    row: &'static AnswerRow,
    event: Encoded,
}

/// How often each is counted; the one in the middle counts.
const TIMES: usize = 3;

impl AnswerWork {
    fn answers(self, session: &Session<'_>, asked: &[AnswerEvent]) -> Vec<KnownAnswer> {
        let opened: Vec<Option<Unavailable>> =
            asked.iter().map(|asked| session.closed(&asked.event)).collect();
        let all = |reason: &Unavailable| {
            let reason = |(asked, closed): (&AnswerEvent, &Option<Unavailable>)| {
                asked.without(closed.clone().unwrap_or_else(|| reason.clone()))
            };
            asked.iter().zip(&opened).map(reason).collect()
        };
        // Whoever may count none of them does no work for it.
        if let Some(reason) = opened.iter().flatten().next()
            && opened.iter().all(Option::is_some)
        {
            return all(reason);
        }
        let events: Vec<Encoded> = asked.iter().map(|asked| asked.event.clone()).collect();
        let plan = session.plan(&events);
        let spec = self.spec(session.machine(), session.cpu());
        let done = spec.and_then(|spec| {
            spec.with(session, |kernel| self.execute(session, kernel, &plan, asked))
        });
        match done.and_then(|answers| answers) {
            Ok(answers) => answers,
            Err(reason) => all(&reason),
        }
    }

    fn execute(
        self,
        session: &Session<'_>,
        kernel: &mut Kernel<'_>,
        plan: &CountingPlan,
        asked: &[AnswerEvent],
    ) -> Reading<Vec<KnownAnswer>> {
        let number = self.number(kernel);
        let mut pairs = Vec::with_capacity(TIMES);
        for _ in 0..TIMES {
            let once = kernel.count(session, plan, number, self.under())?;
            pairs.push((once, kernel.count(session, plan, 2 * number, self.under())?));
        }
        let answer = |asked: &AnswerEvent| {
            let believed = pairs.iter().filter(|(once, twice)| {
                asked.row.expect != Expect::Ticks || [once, twice].into_iter().all(had_its_cpu)
            });
            let found: Reading<Vec<f64>> =
                believed.map(|(once, twice)| asked.per_unit(plan, once, twice, number)).collect();
            let none = || asked.given_away(pairs.iter().flat_map(|(once, twice)| [once, twice]));
            let median = found.and_then(|found| stats::median(&found).ok_or_else(none));
            asked.answer(kernel, number, median)
        };
        Ok(asked.iter().map(answer).collect())
    }
}

/// Whether the thread was on its CPU all the time: a clock that runs meanwhile can be held against
/// one that runs always.
fn had_its_cpu(counted: &KernelCounts) -> bool {
    const APART: f64 = 0.01;
    counted.on_cpu.is_some_and(|share| (share - 1.0).abs() <= APART)
}

impl AnswerEvent {
    /// What it counted for each unit, or for each tick of its clock.
    fn per_unit(
        &self,
        plan: &CountingPlan,
        once: &KernelCounts,
        twice: &KernelCounts,
        number: u64,
    ) -> Reading<f64> {
        let count = |counted: &KernelCounts| self.count(plan, &counted.counts);
        let more = difference(&self.event.name, count(once)?, count(twice)?)?;
        let by = match self.row.expect {
            Expect::Key(_) | Expect::Each(_) => number,
            Expect::Ticks => {
                let ticks = |counted: &KernelCounts| value(&counted.counts, "tsc");
                difference("tsc", ticks(once)?, ticks(twice)?)?
            }
            Expect::ThreadTime => {
                let time = |counted: &KernelCounts| {
                    let time = counted.thread_time.map(|time| time.as_nanos() as u64);
                    time.ok_or_else(|| self.absent("the thread's own clock cannot be read"))
                };
                difference("time of the thread", time(once)?, time(twice)?)?
            }
        };
        if by == 0 {
            return Err(self.absent("the clock that it is compared with stands still"));
        }
        Ok(more as f64 / by as f64)
    }

    fn count(&self, plan: &CountingPlan, counts: &Counts) -> Reading<u64> {
        // In the plan it may stand under the name of what is in every table.
        value(counts, plan.find(&self.event).map_or(&self.event.name, |event| &event.name))
    }

    /// No pair is believed.
    fn given_away<'c>(&self, counted: impl Iterator<Item = &'c KernelCounts>) -> Unavailable {
        let most = counted.filter_map(|it| it.on_cpu).max_by(f64::total_cmp);
        let why = match most {
            Some(share) => format!(
                "not tested: the thread left its CPU, and ran for at most {:.1} % of a trip",
                100.0 * share
            ),
            None => "not tested: the thread's own clock cannot be read".to_owned(),
        };
        self.absent(&why).with_remedy("test it on a CPU that nobody else uses: --pin CPU")
    }

    fn absent(&self, why: &str) -> Unavailable {
        Unavailable::new(Obstacle::Measurement, &self.event.name, why)
    }

    fn answer(&self, kernel: &Kernel<'_>, number: u64, counted: Reading<f64>) -> KnownAnswer {
        let AnswerRow { expect, less, more, why, .. } = *self.row;
        let expected = match expect {
            Expect::Key(name) => kernel.per_unit(name).unwrap_or(0.0),
            Expect::Each(each) => each,
            Expect::Ticks | Expect::ThreadTime => 1.0,
        };
        let unit = match expect {
            Expect::Ticks => "tick",
            Expect::ThreadTime => "nanosecond",
            _ => kernel.unit,
        };
        let found = counted.map(|counted| AnswerFound {
            unit: unit.to_owned(),
            number,
            expected,
            least: expected * (1.0 - less),
            most: expected * (1.0 + more),
            counted,
        });
        KnownAnswer {
            event: self.event.name.clone(),
            work: kernel.title.clone(),
            why: why.to_owned(),
            found: found.into(),
        }
    }

    /// An answer of work that was not executed.
    fn without(&self, reason: Unavailable) -> KnownAnswer {
        let unavailable = Unavailable { what: self.event.name.clone(), ..reason };
        KnownAnswer {
            event: self.event.name.clone(),
            work: self.row.of.title(),
            why: self.row.why.to_owned(),
            found: Known::No { unavailable },
        }
    }
}

/// Events whose answers are wrong, each once, with what they counted.
pub fn refused(answers: &[KnownAnswer]) -> Vec<(String, Unavailable)> {
    let mut refused: Vec<(String, Unavailable)> = Vec::new();
    for answer in answers.iter().filter(|answer| answer.is_right() == Some(false)) {
        let Known::Yes(found) = &answer.found else { continue };
        let AnswerFound { unit, expected, least, most, counted, .. } = found;
        let why = format!(
            "its known answer is wrong: {counted:.3} for each {unit} of {}, where {expected:.3} is right \
             ({least:.3} to {most:.3})",
            answer.work
        );
        if !refused.iter().any(|(event, _)| *event == answer.event) {
            let unavailable = Unavailable::new(Obstacle::Hardware, &answer.event, why);
            refused.push((answer.event.clone(), unavailable));
        }
    }
    refused
}

fn value(counts: &Counts, event: &str) -> Reading<u64> {
    let row: Option<&EventCount> = counts.events.iter().find(|row| row.event == event);
    match row.map(|row| &row.count) {
        Some(Known::Yes(count)) => Ok(*count),
        Some(Known::No { unavailable }) => Err(unavailable.clone()),
        None => Err(Unavailable::new(Obstacle::Measurement, event, "it was not counted")),
    }
}

/// What twice the work counted more than once the work, where it counted more.
///
/// # Error
/// Where it counted less.
pub fn difference(what: &str, once: u64, twice: u64) -> Reading<u64> {
    twice.checked_sub(once).ok_or_else(|| {
        let why = format!("twice the work counted less: {once}, then {twice}");
        Unavailable::new(Obstacle::Measurement, what, why)
    })
}

#[cfg(test)]
mod tests {
    use simulated::Model;

    use super::*;
    use crate::events::Target;

    fn counted(on_cpu: Option<f64>) -> KernelCounts {
        KernelCounts { counts: Counts::default(), number: 1, thread_time: None, on_cpu }
    }

    #[test]
    fn who_lost_its_cpu_is_no_witness() {
        for (share, believed) in [
            (Some(1.0), true),
            (Some(0.993), true),
            (Some(0.98), false),
            (Some(1.2), false),
            (None, false),
        ] {
            assert_eq!(had_its_cpu(&counted(share)), believed, "{share:?}");
        }
        let machine: Machine = Model::named("4c").unwrap().into();
        let events = Events::of(Target::of(&machine));
        let event = events.resolve("ref-cycles").unwrap().remove(0);
        let row = ROWS.iter().find(|row| row.events.contains(&"ref-cycles")).unwrap();
        let why = |shares: &[Option<f64>]| {
            let counted: Vec<KernelCounts> = shares.iter().map(|share| counted(*share)).collect();
            AnswerEvent { row, event: event.clone() }.given_away(counted.iter()).why
        };
        assert!(why(&[Some(0.5), Some(0.93)]).contains("ran for at most 93.0 %"));
        assert!(why(&[None]).contains("own clock cannot be read"));
    }

    #[test]
    fn twice_the_work_counts_more_or_says_nothing() {
        assert_eq!(difference("cycles", 10, 25), Ok(15));
        assert!(
            difference("cycles", 25, 10).unwrap_err().why.contains("counted less: 25, then 10")
        );
    }
}
