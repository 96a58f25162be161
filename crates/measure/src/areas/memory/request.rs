//! What `cpudyno memory` measures, question by question.

use kernels::memory::MemoryKernel;
use model::page::tally;
use model::record::{ByteCount, Presentation};
use model::{Obstacle, Pages, Seconds, Unavailable};

use super::questions::{LINE, QuestionContext, RING_MAX, SMALLEST, miss};
use super::size::Length;
use super::{CHASE, MEMORY, cells};
use crate::run::plan::{Planning, Proposal};
use crate::run::{Error, Request, Span};
use rig::placement::{Choice, Refusal};

/// What is asked of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// How much the kernels move, on one CPU and on all.
    Bandwidth,
    /// How that grows with the number of threads.
    Scaling,
    /// Where caches end: bandwidth and latency by the size of what is used.
    Sweep,
    /// How much the kernels move where arrays are 1, 2, ... times as large as the caches.
    Factors(u32),
    /// How long one pointer takes, in caches and memory, in small and huge pages, in parallel.
    Latency,
    /// How long one takes in memory where each line follows the one below it.
    Stride,
    /// How long it takes while others move data.
    Loaded,
    /// From each node to each.
    Numa,
}

impl Question {
    /// The word for it in the parameter `question`.
    pub const fn word(self) -> &'static str {
        match self {
            Question::Bandwidth => "bandwidth",
            Question::Scaling => "scaling",
            Question::Sweep => "sweep",
            Question::Factors(_) => "factors",
            Question::Latency => "latency",
            Question::Stride => "stride",
            Question::Loaded => "loaded",
            Question::Numa => "numa",
        }
    }

    /// The time that it takes if nobody says.
    const fn time(self) -> Seconds {
        Seconds(match self {
            Question::Bandwidth | Question::Stride => 8.5,
            Question::Factors(_) | Question::Numa => 10.0,
            Question::Latency | Question::Loaded => 12.0,
            Question::Sweep => 17.0,
            // Two sockets have several orders of many CPUs; few CPUs are through in less.
            Question::Scaling => 30.0,
        })
    }
}

/// What was asked for.
#[derive(Debug, Clone)]
pub struct MemoryOptions {
    /// The question.
    pub question: Question,
    /// The kernels; the four of STREAM if nobody says.
    pub kernels: Option<Vec<&'static MemoryKernel>>,
    /// The variant of all kernels; none: the best, and the best with ordinary stores.
    pub variant: Option<String>,
    /// The number of threads; none: one, and all.
    pub threads: Option<usize>,
    /// Of scaling: every number of threads, and not only as many as fit into the time.
    pub every_count: bool,
    /// The length of each array; none: four times the caches in use.
    pub length: Option<Length>,
    /// The pages; none: transparent huge ones where the kernel has them.
    pub pages: Option<Pages>,
    /// How bytes are counted on the page.
    pub bytes: ByteCount,
    /// Time to measure.
    pub budget: Option<Seconds>,
    /// Which CPUs, in which order.
    pub cpus: Choice,
}

impl MemoryOptions {
    /// The question, and everything else as usual.
    pub fn about(question: Question) -> MemoryOptions {
        MemoryOptions {
            question,
            kernels: None,
            variant: None,
            threads: None,
            every_count: false,
            length: None,
            pages: None,
            bytes: ByteCount::USUAL,
            budget: None,
            cpus: Choice::usual(None),
        }
    }

    /// The run that answers it.
    pub fn request(self, command: Vec<String>, presentation: Presentation) -> Request {
        let (span, cpus) = (Span::All(self.time()), self.cpus.clone());
        let bytes = Some(self.bytes);
        let proposal = move |plan: &Planning<'_>| self.proposal(plan);
        Request { cpus, bytes, ..Request::of(&MEMORY, span, proposal, command, presentation) }
    }

    fn proposal(&self, plan: &Planning<'_>) -> Result<Proposal, Error> {
        let mut proposal = self.scope(plan, 1.0)?.proposal()?;
        cells::asked(&mut proposal.cells, self.question.word());
        cells::counted(&mut proposal.cells, plan.topology());
        Ok(proposal)
    }

    /// How long it may take.
    pub(super) fn time(&self) -> Seconds {
        /// A sweep takes so long where there are hundreds of CPUs.
        const EVERY_COUNT: Seconds = Seconds(300.0);
        let usual = if self.every_count { EVERY_COUNT } else { self.question.time() };
        self.budget.unwrap_or(usual)
    }

    /// The question on that machine, where it may take that part of free memory.
    pub(super) fn scope<'a>(
        &'a self,
        plan: &'a Planning<'a>,
        part: f64,
    ) -> Result<QuestionContext<'a>, Error> {
        rig::streams::moves_data(plan.machine)?;
        self.check(plan.placement.cpus.len())?;
        let pages = self.pages.unwrap_or_else(|| usual_pages(plan));
        Ok(QuestionContext { plan, pages, options: self, part })
    }

    /// What goes together, with so many CPUs.
    fn check(&self, chosen: usize) -> Result<(), Error> {
        match self.threads {
            Some(0) => return Err(Refusal::Nobody.into()),
            Some(asked) if asked > chosen => return Err(Refusal::TooMany { asked, chosen }.into()),
            _ => {}
        }
        let refused = |what: String, why: String, remedy: String| {
            let reason = Unavailable::new(Obstacle::Measurement, what, why);
            Err(Error::Asked(reason.with_remedy(remedy)))
        };
        if let Some((option, why)) = self.ignored() {
            let what = format!("{} with `{option}`", self.question.word());
            return refused(what, why.to_owned(), format!("leave `{option}` out"));
        }
        self.length.map_or(Ok(()), |length| self.check_length(length.elements(), chosen))
    }

    /// That arrays of so many elements can be made as they were asked for.
    fn check_length(&self, elements: u64, chosen: usize) -> Result<(), Error> {
        let threads = self.threads.unwrap_or(chosen);
        let (least, most, why) = match self.question {
            Question::Sweep | Question::Latency | Question::Stride => {
                (SMALLEST / 8, RING_MAX / 8, "one page".to_owned())
            }
            _ => (
                LINE / 8 * threads as u64,
                Length::ELEMENTS_MAX,
                format!("a cache line for each of {}", tally(threads, "thread")),
            ),
        };
        let refuse = |why: String, remedy: String| {
            let what = format!("arrays of {elements} elements");
            let reason = Unavailable::new(Obstacle::Measurement, what, why);
            Err(Error::Asked(reason.with_remedy(remedy)))
        };
        if elements < least {
            let why = format!("at least {least} are needed ({why})");
            return refuse(why, format!("ask for more: --length {least}"));
        }
        if elements > most {
            let why = format!("arrays may have {least} to {most} elements");
            return refuse(why, format!("ask for less: --length {most}"));
        }
        Ok(())
    }

    /// An option that was given and that this question cannot heed, and why.
    fn ignored(&self) -> Option<(&'static str, &'static str)> {
        let question = self.question;
        let follows = matches!(question, Question::Latency | Question::Stride);
        let is_alone = follows || question == Question::Sweep;
        let is_chase = follows || question == Question::Loaded;
        let several = self.threads.is_some_and(|threads| threads > 1);
        let is_numa = question == Question::Numa;
        let is_factors = matches!(question, Question::Factors(_));
        let rows = [
            (is_alone && several, "--threads", "one CPU is measured: `--cpus` says which"),
            (
                is_numa && self.threads.is_some(),
                "--threads",
                "all CPUs of a node take part: `--cpus` chooses among them",
            ),
            (is_chase && self.kernels.is_some(), "--kernels", "what is measured follows pointers"),
            (is_chase && self.variant.is_some(), "--variant", "what is measured follows pointers"),
            (
                is_factors && self.length.is_some(),
                "--length",
                "`--factors` says how long arrays are",
            ),
        ];
        rows.into_iter().find(|(given, ..)| *given).map(|(_, option, why)| (option, why))
    }
}

/// What a key asks: latencies by size, and what one core reads of memory.
pub(super) fn in_key(plan: &Planning<'_>) -> Proposal {
    let options = MemoryOptions::about(Question::Sweep);
    let scope = QuestionContext { plan, pages: usual_pages(plan), options: &options, part: 1.0 };
    let data = rig::streams::moves_data(plan.machine).map_err(Error::from);
    let asked = data.and_then(|()| scope.in_key());
    match asked {
        Ok(mut asked) => {
            cells::asked(&mut asked.cells, Question::Sweep.word());
            asked
        }
        Err(error) => Proposal::without(CHASE, reason(error)),
    }
}

/// Why there is nothing of memory.
fn reason(error: Error) -> Unavailable {
    match error {
        Error::Unavailable(reason) | Error::Asked(reason) => reason,
        other => Unavailable::new(Obstacle::Measurement, "memory", other.to_string()),
    }
}

/// Of more nodes the sheet follows no pointers from each to each.
const NODES_MAX: usize = 4;

/// What the data sheet asks: the four kernels, latencies by size, a little of loaded latency, and latency
/// from node to node.
pub(super) fn in_brief(plan: &Planning<'_>) -> Proposal {
    briefly(plan, &[Question::Bandwidth, Question::Sweep, Question::Loaded, Question::Numa])
}

/// What a roofline asks: the kernels, and what is read by size.
pub(super) fn under_roof(plan: &Planning<'_>) -> Proposal {
    briefly(plan, &[Question::Bandwidth, Question::Sweep])
}

fn briefly(plan: &Planning<'_>, questions: &[Question]) -> Proposal {
    let mut proposal = Proposal::default();
    let mut latencies = Vec::new();
    let nodes = plan.topology().usable_nodes().count();
    let is_asked = |it: &Question| *it != Question::Numa || (2..=NODES_MAX).contains(&nodes);
    for question in questions.iter().copied().filter(is_asked) {
        // From node to node the sheet follows pointers, and moves no data.
        let kernels = (question == Question::Numa).then(Vec::new);
        let options = MemoryOptions { kernels, ..MemoryOptions::about(question) };
        let pages = usual_pages(plan);
        let part = 1.0 / questions.len() as f64;
        let scope = QuestionContext { plan, pages, options: &options, part };
        let data = rig::streams::moves_data(plan.machine).map_err(Error::from);
        match data.and_then(|()| scope.briefly()) {
            Ok(mut asked) => {
                cells::asked(&mut asked.cells, question.word());
                if question == Question::Bandwidth {
                    proposal.cells.append(&mut asked.cells);
                } else if question == Question::Sweep && !asked.cells.is_empty() {
                    // What memory itself takes goes before all kernels but the first one, on all cores and on one.
                    let at = 2.min(proposal.cells.len());
                    proposal.cells.insert(at, asked.cells.remove(0));
                    latencies.push(asked.cells);
                } else {
                    latencies.push(asked.cells);
                }
                asked.absent.into_iter().for_each(|(id, why)| miss(&mut proposal, id, why));
            }
            Err(error) => {
                let reason = reason(error);
                let workload = if question == Question::Bandwidth { "copy" } else { CHASE };
                miss(&mut proposal, workload, reason);
            }
        }
    }
    proposal.cells.extend(merged(latencies));
    proposal
}

/// All lists as one, each spread evenly over it, so that a part of it has the same part of each.
fn merged<T>(lists: Vec<Vec<T>>) -> Vec<T> {
    let mut placed = Vec::new();
    for list in lists {
        let count = list.len() as f64;
        let place = |(index, item)| (index as f64 / count, item);
        placed.extend(list.into_iter().enumerate().map(place));
    }
    placed.sort_by(|a, b| a.0.total_cmp(&b.0));
    placed.into_iter().map(|(_, item)| item).collect()
}

/// Transparent huge pages, unless the kernel never gives them.
fn usual_pages(plan: &Planning<'_>) -> Pages {
    let given = machine::memory::transparent_huge_pages(plan.machine).is_ok();
    if given || plan.machine.simulated.is_some() { Pages::Transparent } else { Pages::Base }
}

#[cfg(test)]
mod tests {
    use super::merged;

    #[test]
    fn merged_lists_keep_their_order_and_are_spread() {
        let lists = vec![vec![1, 2, 3, 4, 5, 6], vec![10, 20, 30]];
        assert_eq!(merged(lists), [1, 10, 2, 3, 20, 4, 5, 30, 6]);
        assert_eq!(merged(vec![Vec::new(), vec![1]]), [1]);
        assert!(merged(Vec::<Vec<u8>>::new()).is_empty());
    }
}
