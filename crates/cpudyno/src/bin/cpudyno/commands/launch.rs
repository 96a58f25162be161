//! Who started this process on many hosts, as environment variables say it, and what this host is called there.

use std::env::var;
use std::fs;

use model::Known;
use model::record::{Fact, FactValue};

/// A launcher: its name, and the variables that it sets; empty where it has none.
struct Launcher {
    name: &'static str,
    /// Only it sets this, where its other variables are set by others, too.
    mark: &'static str,
    rank: &'static str,
    ranks: &'static str,
    job: &'static str,
    nodes: &'static str,
    node_list: &'static str,
}

/// The one that started this process itself comes first: `mpirun` within a job of Slurm gives the rank, and Slurm
/// says the rest.
///
/// # Source
/// mpirun(1) of Open MPI 4; flux-environment(7); srun(1), "OUTPUT ENVIRONMENT VARIABLES"; Kubernetes,
/// "Indexed Job for Parallel Processing"; HPE PALS, mpiexec(1); PMIx standard 4, 7.2; PMI-1 of MPICH (Hydra).
const LAUNCHERS: &[Launcher] = &[
    Launcher {
        name: "Open MPI",
        mark: "",
        rank: "OMPI_COMM_WORLD_RANK",
        ranks: "OMPI_COMM_WORLD_SIZE",
        job: "",
        nodes: "",
        node_list: "",
    },
    // Of MPICH and Intel MPI. Its proxies may be started by srun, which gives each process the rank of the proxy; srun
    // with a plugin for PMI gives its own rank both names.
    Launcher {
        name: "Hydra",
        mark: "MPI_LOCALRANKID",
        rank: "PMI_RANK",
        ranks: "PMI_SIZE",
        job: "",
        nodes: "",
        node_list: "",
    },
    Launcher {
        name: "Flux",
        mark: "",
        rank: "FLUX_TASK_RANK",
        ranks: "FLUX_JOB_SIZE",
        job: "FLUX_JOB_ID",
        nodes: "FLUX_JOB_NNODES",
        node_list: "",
    },
    Launcher {
        name: "Kubernetes",
        mark: "",
        rank: "JOB_COMPLETION_INDEX",
        ranks: "",
        job: "",
        nodes: "",
        node_list: "",
    },
    Launcher {
        name: "PALS",
        mark: "",
        rank: "PALS_RANKID",
        ranks: "",
        job: "PBS_JOBID",
        nodes: "",
        node_list: "",
    },
    Launcher {
        name: "Slurm",
        mark: "",
        rank: "SLURM_PROCID",
        ranks: "SLURM_NTASKS",
        job: "SLURM_JOB_ID",
        nodes: "SLURM_NNODES",
        node_list: "SLURM_JOB_NODELIST",
    },
    Launcher {
        name: "PMIx",
        mark: "",
        rank: "PMIX_RANK",
        ranks: "",
        job: "",
        nodes: "",
        node_list: "",
    },
    Launcher {
        name: "PMI",
        mark: "",
        rank: "PMI_RANK",
        ranks: "PMI_SIZE",
        job: "",
        nodes: "",
        node_list: "",
    },
];

/// What is known of the launcher: nothing where there is none.
pub(super) fn facts(names_hosts: bool) -> Vec<Fact> {
    facts_of(|name| var(name).ok().filter(|text| !text.is_empty()), names_hosts)
}

fn facts_of(said: impl Fn(&str) -> Option<String>, names_hosts: bool) -> Vec<Fact> {
    let starts = |launcher: &&Launcher| {
        let is_marked = launcher.mark.is_empty() || said(launcher.mark).is_some();
        is_marked && said(launcher.rank).or_else(|| said(launcher.job)).is_some()
    };
    let found: Vec<&Launcher> = LAUNCHERS.iter().filter(starts).collect();
    let Some(first) = found.first() else { return Vec::new() };
    let any =
        |variable: fn(&Launcher) -> &'static str| found.iter().find_map(|it| said(variable(it)));
    let node_list = any(|it| it.node_list).filter(|_| names_hosts);
    let told = [
        ("launch.launcher", "Launcher", Some(first.name.to_owned())),
        ("launch.job", "Job", any(|it| it.job)),
        ("launch.rank", "Rank", any(|it| it.rank)),
        ("launch.ranks", "Ranks", any(|it| it.ranks)),
        ("launch.nodes", "Nodes of the job", any(|it| it.nodes)),
        ("launch.node_list", "List of nodes", node_list),
    ];
    let fact = |(id, label, text): (&str, &str, Option<String>)| {
        let value = Known::Yes(FactValue::Text(text?));
        Some(Fact { id: id.to_owned(), label: label.to_owned(), value })
    };
    told.into_iter().filter_map(fact).collect()
}

/// What this host is called by whom has many of them: a container has a name of its own, and a node of Slurm may
/// have another one than its host.
pub(super) fn host() -> String {
    let text = |file: &str| fs::read_to_string(file).unwrap_or_default();
    let kernel = text("/proc/sys/kernel/hostname");
    host_of(|name| var(name).ok(), kernel.trim(), || hashed(text("/etc/machine-id").trim()))
}

fn host_of(
    said: impl Fn(&str) -> Option<String>,
    kernel: &str,
    machine: impl FnOnce() -> Option<String>,
) -> String {
    /// The first is set by whoever knows better, such as a manifest of Kubernetes.
    const NAMES: [&str; 2] = ["CPUDYNO_HOST", "SLURMD_NODENAME"];
    /// What hosts are called that nobody named; the last is the kernel's own.
    const ANYBODY: [&str; 4] = ["", "localhost", "localhost.localdomain", "(none)"];
    if let Some(name) = NAMES.iter().find_map(|name| said(name).filter(|text| !text.is_empty())) {
        return as_file(name.trim());
    }
    let machine = Some(kernel).filter(|name| ANYBODY.contains(name)).and_then(|_| machine());
    machine.map_or_else(|| as_file(kernel), |machine| format!("localhost-{machine}"))
}

/// Tells machines apart without naming one: the beginning of what `systemd-id128 machine-id --app-specific=` prints
/// for this application. None where there is no id, as in many containers.
///
/// # Source
/// machine-id(5): the id itself is confidential, and is hashed with a key of the application;
/// `sd_id128_get_machine_app_specific(3)`: by HMAC-SHA256.
fn hashed(id: &str) -> Option<String> {
    /// e38add28-e5f1-4e90-a9db-5a7a28e49718
    const APPLICATION: u128 = 0xe38a_dd28_e5f1_4e90_a9db_5a7a_28e4_9718;
    let is_id = id.len() == 32 && id.bytes().all(|it| it.is_ascii_hexdigit());
    let id = u128::from_str_radix(id, 16).ok().filter(|_| is_id)?;
    let [a, b, c, d, ..] = hmac_sha256::HMAC::mac(APPLICATION.to_be_bytes(), id.to_be_bytes());
    Some(format!("{:08x}", u32::from_be_bytes([a, b, c, d])))
}

/// The name as part of a file's.
fn as_file(name: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-._".contains(letter);
    let mut text: String = name.chars().map(|it| if plain(it) { it } else { '-' }).collect();
    text.truncate(100);
    // What begins with a dot is hidden.
    match text.trim_start_matches('.') {
        "" => "host".to_owned(),
        text => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(variables: &[(&str, &str)], names_hosts: bool) -> Vec<String> {
        let said = |name: &str| {
            let found = variables.iter().find(|it| it.0 == name);
            found.map(|it| it.1.to_owned())
        };
        let text = |fact: Fact| match fact.value {
            Known::Yes(FactValue::Text(text)) => format!("{}={text}", &fact.id["launch.".len()..]),
            _ => fact.id,
        };
        facts_of(said, names_hosts).into_iter().map(text).collect()
    }

    #[test]
    fn no_launcher_is_no_fact_and_hosts_are_named_on_request() {
        assert!(told(&[("HOME", "/root")], true).is_empty());
        let slurm = [
            ("SLURM_JOB_ID", "7"),
            ("SLURM_PROCID", "3"),
            ("SLURM_NNODES", "8"),
            ("SLURM_JOB_NODELIST", "n[1-8]"),
        ];
        let expected = ["launcher=Slurm", "job=7", "rank=3", "nodes=8"];
        assert_eq!(told(&slurm, false), expected);
        assert_eq!(told(&slurm, true), [&expected[..], &["node_list=n[1-8]"]].concat());
    }

    #[test]
    fn who_gives_the_rank_is_the_launcher_and_the_job_is_that_of_who_schedules() {
        let both = [("OMPI_COMM_WORLD_RANK", "5"), ("SLURM_PROCID", "0"), ("SLURM_JOB_ID", "7")];
        assert_eq!(told(&both, false), ["launcher=Open MPI", "job=7", "rank=5"]);
        let pmi = [("PMI_RANK", "1"), ("PMI_SIZE", "4")];
        assert_eq!(told(&pmi, false), ["launcher=PMI", "rank=1", "ranks=4"]);
        for launcher in LAUNCHERS {
            let name = format!("launcher={}", launcher.name);
            let mut variables = vec![(launcher.rank, "0"), (launcher.mark, "1")];
            variables.retain(|it| !it.0.is_empty());
            assert_eq!(told(&variables, true), [name.as_str(), "rank=0"]);
        }
    }

    #[test]
    fn a_rank_is_that_of_the_process_and_not_of_the_proxy_that_started_it() {
        let slurm = [
            ("SLURM_PROCID", "1"),
            ("SLURM_NTASKS", "2"),
            ("SLURM_JOB_ID", "7"),
            ("SLURM_NNODES", "2"),
        ];
        let hydra = [("PMI_RANK", "5"), ("PMI_SIZE", "8"), ("MPI_LOCALRANKID", "1")];
        let expected = ["launcher=Hydra", "job=7", "rank=5", "ranks=8", "nodes=2"];
        assert_eq!(told(&[&slurm[..], &hydra].concat(), false), expected);
        // srun --mpi=pmi2: no other launcher has a part in it.
        let both = [&slurm[..], &[("PMI_RANK", "1"), ("PMI_SIZE", "2")]].concat();
        let expected = ["launcher=Slurm", "job=7", "rank=1", "ranks=2", "nodes=2"];
        assert_eq!(told(&both, false), expected);
    }

    #[test]
    fn hosts_that_nobody_named_are_told_apart_by_their_machine() {
        const ID: &str = "0123456789abcdef0123456789abcdef";
        // systemd-id128 of systemd 252 says so.
        assert_eq!(hashed(ID).as_deref(), Some("ed28f899"));
        for no_id in ["", "uninitialized", &ID[1..], "+123456789abcdef0123456789abcdef0"] {
            assert_eq!(hashed(no_id), None, "{no_id}");
        }
        let host = |said: &[&str; 2], kernel: &str, id: &str| {
            let names = ["CPUDYNO_HOST", "SLURMD_NODENAME"];
            let said = |name: &str| Some(said[names.iter().position(|it| *it == name)?].to_owned());
            host_of(said, kernel, || hashed(id))
        };
        for nobody in ["localhost", "localhost.localdomain", "", "(none)"] {
            let named = host(&["", ""], nobody, ID);
            assert_eq!(named, "localhost-ed28f899", "{nobody}");
            assert_eq!(host(&["", "n4"], nobody, ID), "n4");
            assert_eq!(host(&["k7", "n4"], nobody, ID), "k7");
        }
        assert_eq!(host(&["", ""], "localhost", ""), "localhost");
        assert_eq!(host(&["", ""], "", ""), "host");
        assert_eq!(host(&["", ""], "r1.example", ID), "r1.example");
    }

    #[test]
    fn a_name_of_a_host_is_one_of_a_file() {
        assert_eq!(as_file("n1.example.org"), "n1.example.org");
        assert_eq!(as_file("../../etc/x y"), "-..-etc-x-y");
        assert_eq!(as_file(""), "host");
        assert_eq!(as_file("ü"), "-");
    }
}
