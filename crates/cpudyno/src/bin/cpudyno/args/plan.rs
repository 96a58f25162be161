//! Arguments of `cpudyno fleet plan`.

use std::time::Duration;

use clap::{ArgGroup, Args};
use fleet::hostlist;
use model::Seconds;

use super::BadValue;
use super::common::{budget, time};

/// Print the job that measures all machines.
///
/// It is a script for `sbatch` or the shell, or a manifest for `kubectl create -f -`. Each machine runs
/// `cpudyno sheet` once and writes its record into one folder, which `cpudyno fleet` reads. Nothing is
/// submitted. Words after `--` are further options of `cpudyno sheet`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
#[command(group(ArgGroup::new("scheduler").required(true).args(["slurm", "kubernetes", "clush"])))]
pub(crate) struct PlanArgs {
    /// Print a script for Slurm's sbatch.
    #[arg(long)]
    pub(crate) slurm: bool,

    /// Print an indexed Job of Kubernetes, with one pod to a node.
    #[arg(long, requires = "image")]
    pub(crate) kubernetes: bool,

    /// Print a script for ClusterShell.
    #[arg(long)]
    pub(crate) clush: bool,

    /// Machines, such as n[01-64],login; or how many, such as 64.
    #[arg(long, value_parser = asked_hosts, value_name = "LIST")]
    pub(crate) hosts: AskedHosts,

    /// The folder for records, which all machines see at this path.
    #[arg(long, default_value = "records", value_parser = folder, value_name = "DIR")]
    pub(crate) to: String,

    /// Time limit of each sheet (1s to 1h).
    #[arg(long, default_value = "30s", value_parser = budget, value_name = "TIME")]
    pub(crate) budget: Seconds,

    /// Spread the starts over this time (1s to 24h); by default 60s of more than 100 machines.
    #[arg(long, value_parser = spread, value_name = "TIME")]
    pub(crate) stagger: Option<Duration>,

    /// The program cpudyno on those machines.
    #[arg(long, default_value = "cpudyno", value_parser = word, value_name = "PATH")]
    pub(crate) program: String,

    /// The image that holds cpudyno, for Kubernetes.
    #[arg(long, value_parser = word, value_name = "IMAGE")]
    pub(crate) image: Option<String>,

    /// A claim of a volume for the records, in place of a folder of the nodes, for Kubernetes.
    #[arg(long, requires = "kubernetes", value_parser = word, value_name = "NAME")]
    pub(crate) claim: Option<String>,

    /// Further options of `cpudyno sheet`.
    #[arg(last = true, value_parser = word, value_name = "OPTIONS")]
    pub(crate) sheet: Vec<String>,
}

/// The machines of a job.
#[derive(Debug, Clone)]
pub(crate) enum AskedHosts {
    /// These.
    Named(Vec<String>),
    /// So many of them.
    Any(usize),
}

fn asked_hosts(text: &str) -> Result<AskedHosts, BadValue> {
    const HINT: &str =
        "such as --hosts n[01-64],login, or --hosts 64; `sinfo -h -o %N` lists names";
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        let count = text.parse().ok().filter(|count| (1..=1_000_000).contains(count));
        let refused = || BadValue::new("not 1 to 1000000 machines", HINT);
        return count.map(AskedHosts::Any).ok_or_else(refused);
    }
    hostlist::read(text).map(AskedHosts::Named).map_err(|why| BadValue::new(why, HINT))
}

fn spread(text: &str) -> Result<Duration, BadValue> {
    let seconds = time(text, 24, "give it a number with a unit: --stagger 60s")?;
    Ok(Duration::from_secs_f64(seconds.0))
}

fn folder(text: &str) -> Result<String, BadValue> {
    plain(text, "name a folder that all machines see: --to /shared/records")
}

fn word(text: &str) -> Result<String, BadValue> {
    plain(text, "give it as one line")
}

/// What stands in a script or manifest.
fn plain(text: &str, hint: &str) -> Result<String, BadValue> {
    match text {
        "" => Err(BadValue::new("it is empty", hint)),
        text if text.chars().any(char::is_control) => {
            Err(BadValue::new("it has a line break or another control character", hint))
        }
        text => Ok(text.to_owned()),
    }
}

const EXAMPLES: &str = "\
Examples:
  cpudyno fleet plan --slurm --hosts n[01-64] --to /shared/records | sbatch
  cpudyno fleet plan --slurm --hosts \"$(sinfo -h -t idle -o %N)\" --to /shared/records | sbatch
  cpudyno fleet plan --kubernetes --hosts 64 --image IMAGE --claim records | kubectl create -f -
  cpudyno fleet plan --clush --hosts n[01-64] --to /shared/records | bash
  cpudyno fleet /shared/records --expect hosts.txt";
