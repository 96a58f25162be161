//! Lines to paste: a team as programs and systems take it.

use model::page::tally;
use model::record::Topology;
use model::{CpuId, CpuSet};

use super::{Advice, Proposal, Work};

/// What it is for, and the line; what to know of them.
pub(super) fn lines(
    advice: &Advice,
    topology: &Topology,
) -> (Vec<(String, String)>, Option<String>) {
    let mut lines = Vec::new();
    let compute = advice.of(Work::Vector);
    let moving = advice.of(Work::Bandwidth);
    let steps = advice.proposals.iter().find(|it| matches!(it.work, Work::Steps(_)));
    let split = advice.of(Work::EqualParts).or(compute);
    if let Some(it) = compute {
        lines.push(("compute", format!("taskset -c {} PROGRAM", it.cpus)));
    }
    if let Some(it) = split {
        lines.push(("compute, OpenMP", format!("{} PROGRAM", openmp(it))));
        lines.push(("compute, GCC's runtime", format!("{} PROGRAM", gomp(it))));
    }
    if let Some(it) = moving {
        lines.push(("bandwidth", format!("{} PROGRAM", numactl(it, topology))));
        lines.push(("bandwidth, OpenMP", format!("{} PROGRAM", openmp(it))));
    }
    if let Some(it) = steps.filter(|it| Some(it.threads) != split.map(|it| it.threads)) {
        lines.push(("barriers, OpenMP", format!("{} PROGRAM", openmp(it))));
    }
    if let (Some(compute), Some(moving)) = (compute, moving) {
        lines.push(("llama.cpp", format!("-t {} -tb {}", moving.threads, compute.threads)));
    }
    if let Some(it) = compute {
        let pays = "cpudyno threads -- PROGRAM -t {n}".to_owned();
        lines.push(("does it pay?", pays));
        let waiting = advice.of(Work::Scalar).unwrap_or(it);
        lines.push(("make, ninja, pytest", format!("-j {0}, -j {0}, -n {0}", waiting.threads)));
    }
    let (pod, note) = compute.map_or((None, None), |it| pod(it, topology));
    lines.extend(pod.map(|line| ("Kubernetes", line)));
    (lines.into_iter().map(|(label, line)| (label.to_owned(), line)).collect(), note)
}

/// What a pod asks for, where a node can have so much, and what to know of it.
///
/// # Source
/// Kubernetes, "Control CPU Management Policies on the Node": a CPU is a logical one, the static policy gives whole cores
/// first, and it wants a part of the node's CPUs reserved.
fn pod(team: &Proposal, topology: &Topology) -> (Option<String>, Option<String>) {
    let core = |cpu: CpuId| {
        let place = topology.place(cpu);
        place.map_or_else(|| CpuSet::from_iter([cpu]), |place| place.siblings.clone())
    };
    let whole: CpuSet = team.cpus.iter().flat_map(|cpu| core(cpu).as_slice().to_vec()).collect();
    let (cpus, threads) = (whole.len(), team.threads);
    if cpus >= topology.online.len() {
        let note = format!(
            "Kubernetes: the team takes the cores of {}, all that are online. A node usually keeps some for \
             itself (allocatable is below capacity), and a pod that requests more than that stays pending.",
            tally(cpus, "CPU")
        );
        return (None, Some(note));
    }
    let note = format!(
        "Kubernetes counts SMT siblings as CPUs, and its static policy packs them: {} are whole cores for {}, and \
             siblings stay idle.",
        tally(cpus, "CPU"),
        tally(threads, "thread")
    );
    let line = format!("resources: {{requests: {{cpu: {cpus}}}, limits: {{cpu: {cpus}}}}}");
    (Some(line), (cpus > threads).then_some(note))
}

impl Proposal {
    /// Variables that let an OpenMP runtime have one thread on each of its CPUs.
    pub fn openmp(&self) -> [(&'static str, String); 3] {
        let place = |(first, count): (u32, u32)| match count {
            1 => format!("{{{first}}}"),
            _ => format!("{{{first}}}:{count}"),
        };
        let places: Vec<String> = runs(&self.cpus).into_iter().map(place).collect();
        [
            ("OMP_NUM_THREADS", self.threads.to_string()),
            ("OMP_PLACES", places.join(",")),
            ("OMP_PROC_BIND", "close".to_owned()),
        ]
    }
}

/// The same as it is typed.
fn openmp(proposal: &Proposal) -> String {
    let [(threads, count), (places, list), (bind, close)] = proposal.openmp();
    format!("{threads}={count} {places}=\"{list}\" {bind}={close}")
}

/// The same for GCC's runtime: the list alone sets no number of threads.
fn gomp(proposal: &Proposal) -> String {
    let list = proposal.cpus.to_string().replace(',', " ");
    format!("OMP_NUM_THREADS={} GOMP_CPU_AFFINITY=\"{list}\"", proposal.threads)
}

/// Memory of the nodes that the CPUs are in, each thread's own first.
fn numactl(proposal: &Proposal, topology: &Topology) -> String {
    let used = topology.nodes.iter().filter(|it| !it.cpus.intersection(&proposal.cpus).is_empty());
    let nodes: Vec<String> = used.map(|node| node.id.to_string()).collect();
    let memory = match nodes.as_slice() {
        [] | [_] => "--localalloc".to_owned(),
        nodes => format!("--interleave={}", nodes.join(",")),
    };
    format!("numactl --physcpubind={} {memory}", proposal.cpus)
}

/// Runs of CPUs whose numbers follow each other: the first, and how many.
fn runs(cpus: &CpuSet) -> Vec<(u32, u32)> {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for cpu in cpus.iter() {
        match runs.last_mut() {
            Some((first, count)) if *first + *count == cpu.0 => *count += 1,
            _ => runs.push((cpu.0, 1)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_one_thread_each() {
        let cpus: CpuSet = "0-3,8,10-11".parse().unwrap();
        assert_eq!(runs(&cpus), [(0, 4), (8, 1), (10, 2)]);
        let of = Proposal { work: Work::Vector, threads: 7, cpus, speedup: 7.0, of_most: 1.0 };
        let said = "OMP_NUM_THREADS=7 OMP_PLACES=\"{0}:4,{8},{10}:2\" OMP_PROC_BIND=close";
        assert_eq!(openmp(&of), said);
        assert_eq!(gomp(&of), "OMP_NUM_THREADS=7 GOMP_CPU_AFFINITY=\"0-3 8 10-11\"");
    }
}
