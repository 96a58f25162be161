//! What `cpudyno memory` measures, question by question.

use std::collections::BTreeMap;

use kernels::memory::chase::{CHAINS_MAX, Walk};
use kernels::memory::{MemoryKernel, TABLE, find};
use machine::instruments::clock::RateChoice;
use model::record::{ByteCount, ByteUnit, Presentation};
use model::{CpuId, Obstacle, Pages, Seconds, Unavailable};

use super::super::{Cell, Planning, Wishes};
use super::cells::{self, Arrays, Chase, Effort, Which};
use super::size::{self, Fit, Length};
use super::{CHASE, Memory, classic};
use crate::rig::job::Manner;
use crate::rig::placement::{Choice, Order, Refusal};
use crate::rig::traffic::Begin;
use crate::run::{Asked, Error, Request, Span};

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
            Question::Loaded => "loaded",
            Question::Numa => "numa",
        }
    }

    /// The time that it takes if nobody says.
    const fn time(self) -> Seconds {
        Seconds(match self {
            Question::Bandwidth => 8.5,
            Question::Scaling | Question::Factors(_) | Question::Numa => 10.0,
            Question::Latency | Question::Loaded => 12.0,
            Question::Sweep => 17.0,
        })
    }
}

/// What was asked for.
#[derive(Debug, Clone)]
pub struct Options {
    /// The question.
    pub question: Question,
    /// The kernels; the four of STREAM if nobody says.
    pub kernels: Option<Vec<&'static MemoryKernel>>,
    /// The variant of all kernels; none: the best, and the best with ordinary stores.
    pub variant: Option<String>,
    /// The number of threads; none: one, and all.
    pub threads: Option<usize>,
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

impl Options {
    /// The run that answers it.
    pub fn request(self, command: Vec<String>, presentation: Presentation) -> Request {
        Request {
            span: Span::All(self.budget.unwrap_or(self.question.time())),
            cpus: self.cpus.clone(),
            streams: Vec::new(),
            manner: Manner::USUAL,
            rate: RateChoice::Best,
            remark: None,
            bytes: Some(self.bytes),
            ask: Box::new(move |plan| {
                Ok(vec![Asked { area: &Memory, wishes: self.wishes(plan)? }])
            }),
            command,
            presentation,
        }
    }

    fn wishes(&self, plan: &Planning<'_>) -> Result<Wishes, Error> {
        crate::streams::moves_data(plan.machine)?;
        let chosen = plan.placement.cpus.len();
        if let Some(asked) = self.threads.filter(|asked| *asked > chosen) {
            return Err(Refusal::TooMany { asked, chosen }.into());
        }
        let pages = self.pages.unwrap_or_else(|| usual_pages(plan));
        let scope = Scope { plan, pages, options: self };
        let mut wishes = match self.question {
            Question::Bandwidth => scope.bandwidth()?,
            Question::Scaling => scope.scaling()?,
            Question::Sweep => scope.sweep(STEPS_PER_OCTAVE)?,
            Question::Factors(most) => scope.factors(most)?,
            Question::Latency => scope.latency()?,
            Question::Loaded => scope.loaded(PAUSES)?,
            Question::Numa => scope.numa()?,
        };
        cells::asked(&mut wishes.cells, self.question.word());
        Ok(wishes)
    }
}

/// What the data sheet asks: the four kernels, latencies by size, and a little of loaded latency.
pub(super) fn in_brief(plan: &Planning<'_>) -> Wishes {
    let options = |question| Options {
        question,
        kernels: None,
        variant: None,
        threads: None,
        length: None,
        pages: None,
        bytes: ByteCount { write_allocate: true, unit: ByteUnit::Giga },
        budget: None,
        cpus: Choice::usual(None),
    };
    let mut wishes = Wishes::default();
    for question in [Question::Bandwidth, Question::Sweep, Question::Loaded] {
        let options = options(question);
        let scope = Scope { plan, pages: usual_pages(plan), options: &options };
        let asked = crate::streams::moves_data(plan.machine).map_err(Error::from).and_then(|()| {
            match question {
                Question::Bandwidth => scope.briefly(),
                Question::Sweep => scope.sweep(STEPS_IN_BRIEF),
                _ => scope.loaded(PAUSES_IN_BRIEF),
            }
        });
        match asked {
            Ok(mut asked) => {
                cells::asked(&mut asked.cells, question.word());
                wishes.cells.append(&mut asked.cells);
                wishes.absent.append(&mut asked.absent);
            }
            Err(error) => {
                let reason = match error {
                    Error::Unavailable(reason) | Error::Asked(reason) => reason,
                    other => Unavailable::new(Obstacle::Measurement, "memory", other.to_string()),
                };
                let workload = if question == Question::Bandwidth { "copy" } else { CHASE };
                wishes.absent.push((workload, reason));
            }
        }
    }
    wishes
}

/// Points of a sweep each time that the size doubles.
const STEPS_PER_OCTAVE: u32 = 3;
const STEPS_IN_BRIEF: u32 = 1;

/// Pauses of loads after each 16 KiB or so, in microseconds: from all that they can to nearly nothing.
const PAUSES: &[f64] = &[0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0];
const PAUSES_IN_BRIEF: &[f64] = &[0.0, 4.0];

/// Sizes of sweeps begin here.
const SMALLEST: u64 = 4096;

/// Transparent huge pages, unless the kernel never gives them.
fn usual_pages(plan: &Planning<'_>) -> Pages {
    let given = machine::memory::transparent_huge_pages(plan.machine).is_ok();
    if given || plan.machine.simulated.is_some() { Pages::Transparent } else { Pages::Base }
}

/// A question, on a machine.
struct Scope<'a> {
    plan: &'a Planning<'a>,
    pages: Pages,
    options: &'a Options,
}

impl Scope<'_> {
    fn cpus(&self) -> &[CpuId] {
        &self.plan.placement.cpus
    }

    fn kernels(&self) -> Vec<&'static MemoryKernel> {
        self.options.kernels.clone().unwrap_or_else(classic)
    }

    fn arrays(&self, kernels: &[&'static MemoryKernel]) -> Arrays {
        Arrays {
            count: cells::arrays_of(kernels),
            pages: self.pages,
            node: None,
            room: BTreeMap::new(),
        }
    }

    /// Elements of each array over so many threads: as asked for, or by the rule.
    fn elements(&self, cpus: &[CpuId]) -> u64 {
        match self.options.length {
            Some(length) => length.elements(),
            None => size::rule(self.plan, cpus),
        }
    }

    /// One thread and all, or as many as asked for.
    fn counts(&self) -> Vec<usize> {
        let all = self.cpus().len();
        match self.options.threads {
            Some(asked) => vec![asked],
            None if all == 1 => vec![1],
            None => vec![1, all],
        }
    }

    /// Room for these numbers of threads, shrunk to what there is; and what shrank it.
    fn fitted(
        &self,
        kernels: &[&'static MemoryKernel],
        groups: &[&[CpuId]],
    ) -> Result<(Arrays, Fit), Error> {
        let reserve = |share: f64| {
            let mut arrays = self.arrays(kernels);
            for cpus in groups {
                arrays.reserve(cpus, self.each(cpus, share));
            }
            arrays
        };
        let arrays = reserve(1.0);
        let fit = size::fit(self.plan, &arrays.stores()).map_err(Error::Unavailable)?;
        if fit.limited_by.is_some() && self.options.length.is_some() {
            return Err(self.too_large(&arrays, &fit));
        }
        let arrays = if fit.share < 1.0 { reserve(fit.share) } else { arrays };
        Ok((arrays, fit))
    }

    /// Elements of each thread.
    fn each(&self, cpus: &[CpuId], share: f64) -> u64 {
        ((self.elements(cpus) as f64 * share) as u64 / cpus.len() as u64).max(1)
    }

    fn too_large(&self, arrays: &Arrays, fit: &Fit) -> Error {
        let bytes: u64 = arrays.stores().iter().map(|store| store.bytes).sum();
        let mebibytes = |bytes: f64| bytes / f64::from(1 << 20);
        let why = format!(
            "arrays of {} elements need {:.0} MiB in all, and there is room for {:.0} MiB ({})",
            self.elements(&self.cpus()[..1]),
            mebibytes(bytes as f64),
            mebibytes(bytes as f64 * fit.share),
            fit.limited_by.as_deref().unwrap_or("memory")
        );
        let most = (self.elements(&self.cpus()[..1]) as f64 * fit.share) as u64;
        let remedy = format!("ask for less: --length {most}");
        let reason = Unavailable::new(Obstacle::Measurement, "memory of that size", why);
        Error::Asked(reason.with_remedy(remedy))
    }

    /// The cells of kernels on so many threads.
    fn on(
        &self,
        wishes: &mut Wishes,
        which: &Which,
        kernels: &[&'static MemoryKernel],
        (arrays, fit): (&Arrays, &Fit),
        cpus: &[CpuId],
        effort: Effort,
    ) {
        for &kernel in kernels {
            match which.transfers(self.plan, kernel) {
                Ok(transfers) => {
                    let elements = self.each(cpus, fit.share);
                    let ways = (which, transfers.as_slice());
                    let mut cell = cells::trips(kernel, ways, cpus, arrays, elements, effort);
                    let limit = fit.limited_by.clone().map(|by| ("limited_by".to_owned(), by));
                    cell.parameters.extend(limit);
                    wishes.cells.push(cell);
                }
                Err(reason) => wishes.absent.push((kernel.id, reason)),
            }
        }
    }

    /// Which variants are measured: the best and the best with ordinary stores, or the one asked for.
    fn choices(&self) -> Vec<Which> {
        match &self.options.variant {
            Some(name) => vec![Which::Named(name.clone())],
            None => vec![Which::Any, Which::Ordinary],
        }
    }

    fn bandwidth(&self) -> Result<Wishes, Error> {
        self.of_counts(&self.counts(), &self.choices())
    }

    /// For the sheet: the best on all cores, then on one.
    fn briefly(&self) -> Result<Wishes, Error> {
        let mut counts = self.counts();
        counts.reverse();
        self.of_counts(&counts, &[Which::Widest])
    }

    fn of_counts(&self, counts: &[usize], choices: &[Which]) -> Result<Wishes, Error> {
        let kernels = self.kernels();
        let groups: Vec<&[CpuId]> = counts.iter().map(|&count| &self.cpus()[..count]).collect();
        let (arrays, fit) = self.fitted(&kernels, &groups)?;
        let effort = Effort { repetitions: 2, target: Seconds(2e-3) };
        let mut wishes = Wishes::default();
        for cpus in groups {
            for which in choices {
                self.on(&mut wishes, which, &kernels, (&arrays, &fit), cpus, effort);
            }
        }
        some_cells(wishes)
    }

    /// Numbers of threads: all up to eight, then ever sparser.
    fn scaling_counts(all: usize) -> Vec<usize> {
        let mut counts: Vec<usize> = (1..=all.min(8)).collect();
        while let Some(&last) = counts.last().filter(|last| **last < all) {
            counts.push((last + (last / 4).max(1)).min(all));
        }
        counts
    }

    fn scaling(&self) -> Result<Wishes, Error> {
        let most = self.options.threads.unwrap_or(self.cpus().len());
        let kernels = self.kernels();
        let orders = self.orders(most);
        let groups: Vec<&[CpuId]> = orders
            .iter()
            .flat_map(|(_, cpus)| {
                Self::scaling_counts(cpus.len()).into_iter().map(move |count| &cpus[..count])
            })
            .collect();
        let (arrays, fit) = self.fitted(&kernels, &groups)?;
        let effort = Effort { repetitions: 2, target: Seconds(2e-3) };
        let which = self.options.variant.clone().map_or(Which::Widest, Which::Named);
        let mut wishes = Wishes::default();
        for (word, cpus) in &orders {
            for count in Self::scaling_counts(cpus.len()) {
                let mut of_count = Wishes::default();
                let cpus = &cpus[..count];
                self.on(&mut of_count, &which, &kernels, (&arrays, &fit), cpus, effort);
                for cell in &mut of_count.cells {
                    cell.parameters.insert("order".to_owned(), word.clone());
                }
                wishes.cells.append(&mut of_count.cells);
                wishes.absent = of_count.absent;
            }
        }
        some_cells(wishes)
    }

    /// Compact and spread, where they differ; and each node by itself, where there are several.
    fn orders(&self, most: usize) -> Vec<(String, Vec<CpuId>)> {
        let topology = self.plan.topology();
        let place = |order| {
            let cpus = Some(self.cpus().iter().copied().collect());
            let choice = Choice { cpus, siblings: true, order, at_most: Some(most) };
            choice.place(topology).map(|placement| placement.cpus).unwrap_or_default()
        };
        let mut orders = vec![("compact".to_owned(), place(Order::Compact))];
        let spread = place(Order::Spread);
        if spread != orders[0].1 {
            orders.push(("spread".to_owned(), spread));
        }
        let with_cpus = || topology.nodes.iter().filter(|node| !node.cpus.is_empty());
        if with_cpus().count() > 1 && most == self.cpus().len() {
            for node in with_cpus() {
                let cpus: Vec<CpuId> =
                    self.cpus().iter().copied().filter(|cpu| node.cpus.contains(*cpu)).collect();
                if !cpus.is_empty() && cpus[..] != orders[0].1[..cpus.len()] {
                    orders.push((format!("node {}", node.id), cpus));
                }
            }
        }
        orders
    }

    /// Sizes from 4 KiB to four times the caches.
    fn sizes(&self, per_octave: u32) -> Vec<u64> {
        let largest = match self.options.length {
            Some(length) => length.elements() * 8,
            None => size::TIMES_CACHES * size::caches(self.plan.topology(), &self.cpus()[..1]),
        };
        let steps = (largest as f64 / SMALLEST as f64).log2() * f64::from(per_octave);
        let mut sizes: Vec<u64> = (0..=steps.ceil().max(0.0) as u32)
            .map(|step| {
                let size = SMALLEST as f64 * (f64::from(step) / f64::from(per_octave)).exp2();
                // Whole lines, and no more than asked for.
                (size as u64 / 64 * 64).clamp(SMALLEST, largest.max(SMALLEST))
            })
            .collect();
        sizes.dedup();
        sizes
    }

    fn sweep(&self, per_octave: u32) -> Result<Wishes, Error> {
        let cpu = self.cpus()[0];
        let sizes = self.sizes(per_octave);
        let kernels: Vec<&'static MemoryKernel> = match &self.options.kernels {
            Some(kernels) => kernels.clone(),
            None => find("load").into_iter().collect(),
        };
        let largest = sizes.last().copied().unwrap_or(SMALLEST);
        let ring = cells::ring(largest, self.pages, None);
        let mut arrays = self.arrays(&kernels);
        arrays.reserve(&[cpu], largest / 8);
        let mut stores = arrays.stores();
        stores.push(ring);
        let fit = size::fit(self.plan, &stores).map_err(Error::Unavailable)?;
        if fit.limited_by.is_some() && self.options.length.is_some() {
            return Err(self.too_large(&arrays, &fit));
        }
        let most = (largest as f64 * fit.share) as u64;
        let which = self.options.variant.clone().map_or(Which::WidestOrdinary, Which::Named);
        let mut fitting = self.arrays(&kernels);
        fitting.reserve(&[cpu], most.min(largest) / 8);
        let ring = cells::ring(most.min(largest), self.pages, None);
        let beyond = size::beyond_caches(self.plan);
        let effort = Effort { repetitions: 3, target: Seconds(0.7e-3) };
        let mut wishes = Wishes::default();
        // The farthest points first: what does not fit into a budget leaves a gap in the middle.
        for bytes in outside_in(sizes.into_iter().filter(|bytes| *bytes <= most)) {
            let begin = if bytes > beyond { Begin::Cold } else { Begin::Lap };
            let chase = Chase { cpu, store: ring, bytes, walk: Walk::Random, chains: 1, begin };
            wishes.cells.push(chase.cell(effort));
            for &kernel in &kernels {
                match which.transfers(self.plan, kernel) {
                    Ok(ways) => {
                        let elements = (bytes / 8 / u64::from(kernel.arrays)).max(1);
                        let ways = (&which, ways.as_slice());
                        let cell = cells::trips(kernel, ways, &[cpu], &fitting, elements, effort);
                        wishes.cells.push(cell);
                    }
                    Err(reason) => wishes.absent.push((kernel.id, reason)),
                }
            }
        }
        wishes.absent.dedup_by_key(|absent| absent.0);
        limit(&mut wishes.cells, &fit);
        some_cells(wishes)
    }

    /// Arrays of once to so many times the caches, on as many threads as asked for or all.
    fn factors(&self, most: u32) -> Result<Wishes, Error> {
        let count = self.options.threads.unwrap_or(self.cpus().len());
        let (kernels, cpus) = (self.kernels(), &self.cpus()[..count]);
        let caches = size::caches(self.plan.topology(), cpus);
        let each = |factor: u32| (caches * u64::from(factor) / 8 / count as u64).max(1);
        let mut arrays = self.arrays(&kernels);
        arrays.reserve(cpus, each(most));
        let fit = size::fit(self.plan, &arrays.stores()).map_err(Error::Unavailable)?;
        if fit.limited_by.is_some() {
            return Err(self.too_large(&arrays, &fit));
        }
        let which = self.options.variant.clone().map_or(Which::WidestOrdinary, Which::Named);
        let effort = Effort { repetitions: 2, target: Seconds(2e-3) };
        let mut wishes = Wishes::default();
        for factor in 1..=most {
            for &kernel in &kernels {
                let ways = which.transfers(self.plan, kernel).map_err(Error::Unavailable)?;
                let ways = (&which, ways.as_slice());
                let mut cell = cells::trips(kernel, ways, cpus, &arrays, each(factor), effort);
                cell.parameters.insert("factor".to_owned(), factor.to_string());
                wishes.cells.push(cell);
            }
        }
        Ok(wishes)
    }

    /// Sizes that lie within each cache, and one that lies in memory, by what the machine says.
    fn levels(&self) -> Vec<(String, u64)> {
        let cpu = self.cpus()[0];
        let mut levels: Vec<(String, u64)> = self
            .plan
            .topology()
            .caches
            .iter()
            .filter(|cache| cache.kind != model::record::CacheKind::Instruction)
            .filter(|cache| cache.instances.iter().any(|cpus| cpus.contains(cpu)))
            .filter_map(|cache| Some((format!("L{}", cache.level), cache.bytes? / 2 / 64 * 64)))
            .filter(|(_, bytes)| *bytes >= SMALLEST)
            .collect();
        let largest = match self.options.length {
            Some(length) => length.elements() * 8 / 64 * 64,
            None => size::TIMES_CACHES * size::caches(self.plan.topology(), &[cpu]),
        };
        levels.retain(|(_, bytes)| *bytes < largest);
        levels.push(("memory".to_owned(), largest.max(SMALLEST)));
        levels
    }

    fn latency(&self) -> Result<Wishes, Error> {
        let cpu = self.cpus()[0];
        let levels = self.levels();
        let largest = levels.iter().map(|(_, bytes)| *bytes).max().unwrap_or(SMALLEST);
        let kinds: Vec<Pages> = match self.options.pages {
            Some(pages) => vec![pages],
            None if self.pages == Pages::Base => vec![Pages::Base],
            None => vec![Pages::Base, self.pages],
        };
        let stores: Vec<_> = kinds.iter().map(|&p| cells::ring(largest, p, None)).collect();
        let fit = size::fit(self.plan, &stores).map_err(Error::Unavailable)?;
        if fit.limited_by.is_some() && self.options.length.is_some() {
            return Err(self.too_large(&self.arrays(&[]), &fit));
        }
        let fitted = |bytes: u64| ((bytes as f64 * fit.share) as u64 / 64 * 64).max(SMALLEST);
        let effort = Effort { repetitions: 3, target: Seconds(2e-3) };
        let beyond = size::beyond_caches(self.plan);
        let mut wishes = Wishes::default();
        for store in stores {
            let store = crate::rig::traffic::Store { bytes: fitted(store.bytes), ..store };
            for (name, bytes) in &levels {
                let bytes = fitted(*bytes).min(store.bytes);
                let begin = if bytes > beyond { Begin::Cold } else { Begin::Lap };
                let last = bytes == store.bytes;
                let mut ways = vec![(Walk::Random, 1), (Walk::LOCAL, 1)];
                if last && store.pages == self.pages {
                    ways.extend((2..=CHAINS_MAX).map(|chains| (Walk::Random, chains)));
                }
                for (walk, chains) in ways {
                    let chase = Chase { cpu, store, bytes, walk, chains, begin };
                    let mut cell = chase.cell(effort);
                    cell.parameters.insert("level".to_owned(), name.clone());
                    wishes.cells.push(cell);
                }
            }
        }
        limit(&mut wishes.cells, &fit);
        some_cells(wishes)
    }

    /// One CPU follows pointers, the others move data with ever longer pauses.
    fn loaded(&self, pauses: &[f64]) -> Result<Wishes, Error> {
        let count = self.options.threads.unwrap_or(self.cpus().len());
        let [first, others @ ..] = &self.cpus()[..count] else {
            return Err(Refusal::Nobody.into());
        };
        if others.is_empty() {
            let why = "it needs a CPU that follows pointers and one more that moves data";
            let reason = Unavailable::new(Obstacle::Hardware, "loaded latency", why);
            return Err(Error::Unavailable(reason.with_remedy("use more CPUs: --cpus 0-1")));
        }
        let mixes = mixes(self.plan)?;
        let kernels: Vec<&'static MemoryKernel> =
            mixes.iter().map(|(_, transfer)| transfer.kernel).collect();
        let bytes = size::beyond_caches(self.plan);
        let ring = cells::ring(bytes, self.pages, None);
        let mut arrays = self.arrays(&kernels);
        arrays.reserve(others, size::rule(self.plan, &self.cpus()[..count]) / others.len() as u64);
        let mut stores = arrays.stores();
        stores.push(ring);
        let fit = size::fit(self.plan, &stores).map_err(Error::Unavailable)?;
        let mut fitting = self.arrays(&kernels);
        let each =
            size::rule(self.plan, &self.cpus()[..count]) as f64 * fit.share / others.len() as f64;
        fitting.reserve(others, each as u64);
        let bytes = (bytes as f64 * fit.share) as u64 / 64 * 64;
        let store = cells::ring(bytes, self.pages, None);
        let begin = Begin::Cold;
        let chase = Chase { cpu: *first, store, bytes, walk: Walk::Random, chains: 1, begin };
        let effort = Effort { repetitions: 3, target: Seconds(2e-3) };
        let mut wishes = Wishes::default();
        wishes.cells.push(chase.cell(effort));
        for &pause in pauses {
            for (name, transfer) in &mixes {
                let load = |&cpu| cells::load(cpu, &fitting, *transfer, Seconds(pause * 1e-6));
                let mut more = cells::of_transfer(transfer);
                more.extend([
                    ("mix".to_owned(), (*name).to_owned()),
                    ("pause_us".to_owned(), pause.to_string()),
                    ("beside".to_owned(), transfer.kernel.id.to_owned()),
                ]);
                wishes.cells.push(chase.with(others.iter().map(load).collect(), more, effort));
            }
        }
        limit(&mut wishes.cells, &fit);
        Ok(wishes)
    }

    /// From the CPUs of each node to the memory of each.
    fn numa(&self) -> Result<Wishes, Error> {
        let topology = self.plan.topology();
        if topology.nodes.is_empty() {
            let why = "the kernel knows no memory nodes";
            return Err(Unavailable::new(Obstacle::Hardware, "memory nodes", why).into());
        }
        let load: Vec<&'static MemoryKernel> = find("load").into_iter().collect();
        let effort = Effort { repetitions: 3, target: Seconds(2e-3) };
        let mut wishes = Wishes::default();
        for from in &topology.nodes {
            let cpus: Vec<CpuId> =
                self.cpus().iter().copied().filter(|cpu| from.cpus.contains(*cpu)).collect();
            let Some(&first) = cpus.first() else { continue };
            let bytes = size::beyond_caches(self.plan);
            let caches = size::caches(topology, &cpus);
            for to in &topology.nodes {
                let mut arrays = self.arrays(&load);
                arrays.node = Some(to.id);
                arrays.reserve(&cpus, size::TIMES_CACHES * caches / 8 / cpus.len() as u64);
                let store = cells::ring(bytes, self.pages, Some(to.id));
                let begin = Begin::Cold;
                let chase =
                    Chase { cpu: first, store, bytes, walk: Walk::Random, chains: 1, begin };
                let mut cells = vec![chase.cell(effort)];
                let which = Which::WidestOrdinary;
                for &kernel in &load {
                    let ways = which.transfers(self.plan, kernel).map_err(Error::Unavailable)?;
                    let elements = arrays.room[&first];
                    let ways = (&which, ways.as_slice());
                    cells.push(cells::trips(kernel, ways, &cpus, &arrays, elements, effort));
                }
                for mut cell in cells {
                    cell.parameters.insert("from_node".to_owned(), from.id.to_string());
                    cell.parameters.insert("to_node".to_owned(), to.id.to_string());
                    wishes.cells.push(cell);
                }
            }
        }
        some_cells(wishes)
    }
}

/// Says of cells what their size was limited by.
fn limit(cells: &mut [Cell], fit: &Fit) {
    if let Some(by) = &fit.limited_by {
        for cell in cells {
            cell.parameters.insert("limited_by".to_owned(), by.clone());
        }
    }
}

/// What loads move: by the bytes that really cross the bus, reads to writes.
fn mixes(plan: &Planning<'_>) -> Result<Vec<(&'static str, crate::rig::traffic::Transfer)>, Error> {
    const MIXES: &[(&str, &str, Which)] = &[
        ("read only", "load", Which::WidestOrdinary),
        ("2 reads, 1 write", "copy", Which::WidestOrdinary),
        ("1 read, 1 write", "update", Which::WidestOrdinary),
        ("1 read, 1 non-temporal write", "copy", Which::WidestNonTemporal),
    ];
    let mut known = Vec::new();
    for (name, id, which) in MIXES {
        let kernel = TABLE.iter().copied().find(|kernel| kernel.id == *id);
        let Some(kernel) = kernel else { continue };
        let ways = which.transfers(plan, kernel).map_err(Error::Unavailable)?;
        known.extend(ways.first().map(|transfer| (*name, *transfer)));
    }
    Ok(known)
}

/// First, last, second, last but one, ...
fn outside_in<T>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut left: std::collections::VecDeque<T> = items.collect();
    let mut ordered = Vec::with_capacity(left.len());
    while let Some(item) = left.pop_front() {
        ordered.push(item);
        ordered.extend(left.pop_back());
    }
    ordered
}

/// The wishes, if there is anything to measure; else why there is not.
fn some_cells(wishes: Wishes) -> Result<Wishes, Error> {
    match (wishes.cells.is_empty(), wishes.absent.first()) {
        (true, Some((_, reason))) => Err(Error::Asked(reason.clone())),
        _ => Ok(wishes),
    }
}
