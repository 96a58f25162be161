//! What areas let be compared: one workload each.

use model::record::{PageKind, Presentation};

use super::{cores, memory, openmp, pause, turbo, wake};
use crate::run::Request;
use crate::run::arm_env::ArmEnv;
use crate::run::single::Subject;
use rig::placement::Choice;
use rig::signals;

/// All of them.
pub static SUBJECTS: &[Subject] = &[
    Subject {
        id: "turbo",
        quantity: "clock",
        doc: "clock with all chosen CPUs active",
        heeds: &["cpus", "threads"],
        request: |own| {
            let stream = kernels::streams::find("scalar_iadd").into_iter().collect();
            let options = turbo::TurboOptions {
                threads_min: own.threads,
                threads_max: own.threads,
                cpus: choice(own),
                ..turbo::TurboOptions::about(turbo::Tests::Streams(stream))
            };
            options.request(Vec::new(), LOOK)
        },
        is_it: |_| true,
    },
    Subject {
        id: "memory",
        quantity: "bandwidth",
        doc: "bandwidth of TRIAD with all threads",
        heeds: &["cpus", "threads", "pages"],
        request: |own| {
            let usual = memory::MemoryOptions::about(memory::Question::Bandwidth);
            let kernels =
                kernels::memory::TABLE.iter().copied().filter(|kernel| kernel.id == "triad");
            let options = memory::MemoryOptions {
                kernels: Some(kernels.collect()),
                threads: own.threads,
                pages: own.pages,
                cpus: choice(own),
                ..usual
            };
            options.request(Vec::new(), LOOK)
        },
        is_it: |_| true,
    },
    Subject {
        id: "memory latency",
        quantity: "latency",
        doc: "latency of memory, one chain",
        heeds: &["cpus", "pages"],
        request: |own| chase(memory::Question::Latency, own),
        is_it: |cell| {
            let is = |key: &str, value: &str| cell.parameters.get(key).is_some_and(|v| v == value);
            is("level", "memory") && is("chains", "1") && is("walk", "random")
        },
    },
    Subject {
        id: "memory cache",
        quantity: "latency",
        doc: "latency of the last cache, one chain",
        heeds: &["cpus", "pages"],
        request: |own| chase(memory::Question::Latency, own),
        is_it: |cell| {
            let of = |key: &str| cell.parameters.get(key).map_or("", String::as_str);
            of("level").starts_with('L') && of("chains") == "1" && of("walk") != "random"
        },
    },
    Subject {
        id: "memory stride",
        quantity: "latency",
        doc: "latency of memory where each line follows the one below it, one chain",
        heeds: &["cpus", "pages"],
        request: |own| chase(memory::Question::Stride, own),
        is_it: |_| true,
    },
    Subject {
        id: "cores",
        quantity: "latency",
        doc: "compare-and-swap between the first two cores",
        heeds: &["cpus"],
        request: |own| {
            let options = cores::CoresOptions {
                messages: None,
                home: cores::Home::First,
                budget: None,
                cpus: choice(own),
            };
            options.request(Vec::new(), LOOK)
        },
        is_it: |_| true,
    },
    Subject {
        id: "pause",
        quantity: "time_per_op",
        doc: "time of a pause",
        heeds: &["cpus"],
        request: |own| pause::request(None, choice(own), None, Vec::new(), LOOK),
        is_it: |_| true,
    },
    Subject {
        id: "wake",
        quantity: "round_trip",
        doc: "round trip of two threads that wake each other",
        heeds: &["cpus", "wake"],
        request: |own| {
            let method = own.wake.or_else(|| signals::find("futex"));
            let options = wake::WakeOptions {
                methods: method.map(|method| vec![method]),
                cpus: own.cpus.clone(),
                ..wake::WakeOptions::about(wake::Question::Signals)
            };
            options.request(Vec::new(), LOOK)
        },
        is_it: |cell| cell.cpus().len() > 1,
    },
    Subject {
        id: "openmp",
        quantity: "region_cost",
        doc: "cost of a parallel region",
        heeds: &["cpus", "threads", "env"],
        request: |own| {
            let options = openmp::OpenmpOptions {
                runtimes: runtimes(own),
                threads: own.threads.map(|threads| vec![threads]),
                variables: Some(own.variables.clone()),
                cpus: choice(own),
                ..openmp::OpenmpOptions::usual()
            };
            options.request(Vec::new(), LOOK)
        },
        is_it: |cell| cell.cpus().len() > 1,
    },
];

/// Nothing is printed.
const LOOK: Presentation = Presentation::of(PageKind::Ab);

fn chase(question: memory::Question, own: &ArmEnv) -> Request {
    let usual = memory::MemoryOptions::about(question);
    // Each type of core would have cells of its own.
    let cpus = Choice { at_most: Some(1), ..choice(own) };
    let options = memory::MemoryOptions { pages: own.pages, cpus, ..usual };
    options.request(Vec::new(), LOOK)
}

fn choice(own: &ArmEnv) -> Choice {
    Choice::usual(own.cpus.clone())
}

/// The subject of that name; a hyphen stands for a space.
pub fn find(name: &str) -> Option<&'static Subject> {
    let name = name.replace('-', " ");
    SUBJECTS.iter().find(|subject| subject.id == name)
}

/// The runtimes that know the variables of both arms.
fn runtimes(own: &ArmEnv) -> Option<Vec<String>> {
    let any = |prefix: &str| own.known_variables().any(|name| name.starts_with(prefix));
    let names: &[&str] = match (any("KMP_"), any("GOMP_")) {
        (true, _) => &["libomp", "libiomp5"],
        (_, true) => &["libgomp"],
        _ => return None,
    };
    Some(names.iter().map(|&name| name.to_owned()).collect())
}
