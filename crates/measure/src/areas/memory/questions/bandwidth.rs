//! How much kernels move: on one CPU and on all, on ever more, and over arrays of several lengths.

use std::collections::BTreeSet;

use kernels::memory::{MemoryKernel, find};
use model::{CpuId, Seconds};

use super::super::cells::{Effort, Which};
use super::super::size;
use super::super::{ALONE, TEAMS};
use super::{QuestionContext, Thinning, limit, part_of, some_cells};
use crate::run::Error;
use crate::run::plan::{Cell, Proposal};
use rig::placement::{Choice, Order};

/// Where there is no room for all, others compare by these.
const ASKED_FOR: [&str; 2] = [ALONE, "triad"];

const EFFORT: Effort = Effort { repetitions: 2, target: Seconds(2e-3) };

impl QuestionContext<'_> {
    pub(super) fn bandwidth(&self) -> Result<Proposal, Error> {
        let choices = match &self.options.variant {
            Some(name) => vec![Which::Named(name.clone())],
            None => vec![Which::Any, Which::Ordinary],
        };
        self.of_groups(&self.kernels(), &self.groups(), &choices)
    }

    /// For the sheet: the best on all cores, then on one, the kernels that people ask for first; and one kernel on
    /// numbers of cores between.
    pub(super) fn bandwidth_in_brief(&self) -> Result<Proposal, Error> {
        let groups = self.groups();
        let (ends, others) = match groups.as_slice() {
            [first, others @ .., all] => (vec![all.clone(), first.clone()], others),
            only => (only.to_vec(), &[][..]),
        };
        let mut proposal = self.of_groups(&self.kernels(), &ends, &[Which::Widest])?;
        let rank = |cell: &Cell| {
            let id = cell.workloads().first().map(|workload| workload.id);
            ASKED_FOR.iter().position(|known| Some(*known) == id).unwrap_or(ASKED_FOR.len())
        };
        proposal.cells.sort_by_key(rank);
        let between = self.between().into_iter().map(|count| self.cpus()[..count].to_vec());
        // Of further types of cores one kernel is measured, too.
        let groups: Vec<Vec<CpuId>> = others.iter().cloned().chain(between).collect();
        if let Some(kernel) = find(ALONE).filter(|_| !groups.is_empty()) {
            proposal.cells.extend(self.of_groups(&[kernel], &groups, &[Which::Widest])?.cells);
        }
        Ok(proposal)
    }

    /// Powers of two, and each whole package, between one CPU and all.
    fn between(&self) -> Vec<usize> {
        let (all, topology) = (self.cpus(), self.plan.topology());
        let package = |cpu: &CpuId| topology.place(*cpu).map(|place| place.package);
        let ends = (1..all.len()).filter(|&at| package(&all[at - 1]) != package(&all[at]));
        let doubled = std::iter::successors(Some(2), |count| Some(count * 2));
        let doubled = doubled.take_while(|count| *count < all.len());
        let counts: BTreeSet<usize> = doubled.chain(ends).filter(|count| *count > 1).collect();
        counts.into_iter().collect()
    }

    /// One thread on each type of core and threads on all CPUs, or as many as asked for.
    fn groups(&self) -> Vec<Vec<CpuId>> {
        let all = self.cpus();
        match self.options.threads {
            Some(asked) => vec![all[..asked].to_vec()],
            None if all.len() == 1 => vec![all.to_vec()],
            None => {
                let alone = self.of_each_type().into_iter().map(|cpu| vec![cpu]);
                alone.chain([all.to_vec()]).collect()
            }
        }
    }

    /// One kernel on each of these teams, the best of the widest variants.
    pub(in super::super) fn of_teams(&self, teams: &[Vec<CpuId>]) -> Result<Proposal, Error> {
        let kernels: Vec<_> = find(TEAMS).into_iter().collect();
        self.of_groups(&kernels, teams, &[Which::Widest])
    }

    fn of_groups(
        &self,
        kernels: &[&'static MemoryKernel],
        groups: &[Vec<CpuId>],
        choices: &[Which],
    ) -> Result<Proposal, Error> {
        let groups: Vec<&[CpuId]> = groups.iter().map(Vec::as_slice).collect();
        let (arrays, fit) = self.fitted(kernels, &groups)?;
        let mut proposal = Proposal::default();
        for cpus in groups {
            let elements = self.each(cpus, fit.share);
            for (index, which) in choices.iter().enumerate() {
                // What stores nothing has no second table: it would be the first one again.
                let kernels: Vec<_> =
                    kernels.iter().copied().filter(|k| index == 0 || k.writes > 0).collect();
                self.on(&mut proposal, (which, &kernels), &arrays, (cpus, elements), EFFORT);
            }
        }
        limit(&mut proposal.cells, &fit);
        some_cells(proposal)
    }

    pub(super) fn scaling(&self) -> Result<Proposal, Error> {
        if self.options.every_count {
            return self.scaling_at(&Thinning::NONE);
        }
        self.in_time(|thinning| self.scaling_at(thinning))
    }

    fn scaling_at(&self, thinning: &Thinning) -> Result<Proposal, Error> {
        let kernels = self.kernels();
        let orders = self.orders(self.asked_cpus().len());
        let groups: Vec<(&str, &[CpuId])> = orders
            .iter()
            .flat_map(|(word, cpus)| {
                let counts = thinning.numbers(cpus.len() as u64);
                counts.into_iter().map(|count| (word.as_str(), &cpus[..count as usize]))
            })
            .collect();
        let cpus: Vec<&[CpuId]> = groups.iter().map(|(_, cpus)| *cpus).collect();
        let (arrays, fit) = self.fitted(&kernels, &cpus)?;
        let which = self.which_or(Which::Widest);
        let mut proposal = Proposal::default();
        for (word, cpus) in groups {
            let begun = proposal.cells.len();
            let elements = self.each(cpus, fit.share);
            self.on(&mut proposal, (&which, &kernels), &arrays, (cpus, elements), EFFORT);
            for cell in &mut proposal.cells[begun..] {
                cell.parameters.insert("order".to_owned(), word.to_owned());
            }
        }
        limit(&mut proposal.cells, &fit);
        some_cells(proposal)
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
                if !cpus.is_empty() {
                    orders.push((format!("node {}", node.id), cpus));
                }
            }
        }
        orders
    }

    /// Arrays of once to so many times the caches, on as many threads as asked for or all.
    pub(super) fn factors(&self, most: u32) -> Result<Proposal, Error> {
        let (kernels, cpus) = (self.kernels(), self.asked_cpus());
        let caches = size::caches(self.plan.topology(), cpus);
        let each = |factor: u64, share: f64| part_of(caches * factor / 8, cpus.len(), share);
        let reserve = |share: f64| {
            let mut arrays = self.arrays(&kernels);
            arrays.reserve(cpus, each(most.into(), share));
            arrays
        };
        let fit = self.fit(|share| reserve(share).stores())?;
        if let Some(limit) = fit.limit {
            let fitting = (f64::from(most) * fit.share) as u32;
            let remedy = match fitting {
                0 => "use fewer CPUs".to_owned(),
                fitting => format!("ask for less: --factors {fitting}"),
            };
            return Err(limit.refuse(&format!("arrays of {most} times the caches"), remedy));
        }
        let (arrays, which) = (reserve(1.0), self.which_or(Which::WidestOrdinary));
        self.in_time(|thinning| {
            let mut proposal = Proposal::default();
            for factor in thinning.numbers(most.into()) {
                let begun = proposal.cells.len();
                let elements = each(factor, 1.0);
                self.on(&mut proposal, (&which, &kernels), &arrays, (cpus, elements), EFFORT);
                for cell in &mut proposal.cells[begun..] {
                    cell.parameters.insert("factor".to_owned(), factor.to_string());
                }
            }
            some_cells(proposal)
        })
    }
}
