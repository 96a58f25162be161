//! `cpudyno fleet plan`: a job for whom schedules machines, as a text.

use std::process::ExitCode;

use fleet::hostlist;

use crate::args::{AskedHosts, PlanArgs};
use crate::failure::Failure;
use crate::output;

pub(super) fn run(args: &PlanArgs) -> Result<ExitCode, Failure> {
    let plan = Plan::new(args);
    let text = if args.kubernetes {
        plan.manifest()?
    } else if args.clush {
        plan.clush()?
    } else {
        plan.slurm()
    };
    output::data(&text)?;
    Ok(ExitCode::SUCCESS)
}

struct Plan<'a> {
    args: &'a PlanArgs,
    hosts: usize,
    /// How long a machine takes at most, in seconds, with time to start and to write.
    limit: u64,
    /// The command that measures, without the file.
    command: Vec<String>,
}

impl Plan<'_> {
    fn new(args: &PlanArgs) -> Plan<'_> {
        /// Fewer machines start at once without being noticed.
        const MANY: usize = 100;
        /// Loading the program, and writing a record over a network.
        const AROUND: u64 = 120;
        let hosts = match &args.hosts {
            AskedHosts::Named(names) => names.len(),
            AskedHosts::Any(count) => *count,
        };
        let usual = (hosts > MANY).then_some(60.0);
        let stagger = args.stagger.map(|it| it.as_secs_f64()).or(usual);
        let mut command = vec![args.program.clone(), "sheet".to_owned()];
        command.extend(["--budget".to_owned(), format!("{}s", args.budget.0)]);
        if let Some(stagger) = stagger {
            command.extend(["--stagger".to_owned(), format!("{stagger}s")]);
        }
        command.extend(args.sheet.iter().cloned());
        let limit = (args.budget.0 + stagger.unwrap_or(0.0)).ceil() as u64 + AROUND;
        Plan { args, hosts, limit, command }
    }

    fn line(&self) -> String {
        self.command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }

    fn slurm(&self) -> String {
        let nodes = match &self.args.hosts {
            AskedHosts::Named(names) => format!("\n#SBATCH --nodelist={}", hostlist::told(names)),
            AskedHosts::Any(_) => String::new(),
        };
        let Plan { hosts, limit, .. } = self;
        let (hours, minutes, seconds) = (limit / 3600, limit / 60 % 60, limit % 60);
        let (records, line) = (quoted(&self.args.to), self.line());
        // A node that fails, or a rank that is killed, must not end the others: --no-kill, --kill-on-bad-exit=0, --wait=0.
        format!(
            "#!/bin/bash
# One data sheet of each node, as a record in one folder. Submit it with sbatch.
# Which are slow, and why: cpudyno fleet {records} --expect FILE
#SBATCH --job-name=cpudyno
#SBATCH --nodes={hosts}{nodes}
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --mem=0
#SBATCH --no-kill
#SBATCH --time={hours:02}:{minutes:02}:{seconds:02}
records={records}
mkdir -p \"$records\" || exit
# Reports are in the records; what goes wrong is said in the file of the job.
srun --ntasks-per-node=1 --mem=0 --cpu-bind=none --no-kill --kill-on-bad-exit=0 --wait=0 \\
    {line} --json \"$records/\" > /dev/null
"
        )
    }

    fn clush(&self) -> Result<String, Failure> {
        /// Connections at once.
        const FANOUT: usize = 512;
        let AskedHosts::Named(names) = &self.args.hosts else {
            return Err(Failure::usage("--clush reaches machines by their names, not by a number")
                .hint("name them: --hosts n[01-64]"));
        };
        let (names, fanout) = (quoted(&hostlist::told(names)), self.hosts.min(FANOUT));
        let (records, line) = (quoted(&self.args.to), self.line());
        let folder = quoted(&format!("{}/", self.args.to));
        let there = quoted(&format!("mkdir -p {records} && {line} --json {folder} > /dev/null"));
        Ok(format!(
            "#!/bin/bash
# One data sheet of each machine, as a record in one folder that all of them see. Run it where clush is.
# Which are slow, and why: cpudyno fleet {records} --expect FILE
clush -w {names} -f {fanout} -S \\
    {there}
"
        ))
    }

    /// # Source
    /// Kubernetes: batch/v1 Job, completionMode and backoffLimitPerIndex (stable since 1.33); Pod Security Standards,
    /// "Restricted", which forbids volumes of the node: a claim obeys it wholly.
    fn manifest(&self) -> Result<String, Failure> {
        /// A node may fetch the image first, in seconds: that is of the pod's time.
        const FETCHING: u64 = 900;
        /// The folder within the pod.
        const RECORDS: &str = "/records/";
        let volume = match (&self.args.claim, &self.args.to) {
            (Some(claim), _) => {
                format!("persistentVolumeClaim: {{claimName: {}}}", json(claim))
            }
            (None, to) if to.starts_with('/') => {
                format!("hostPath: {{path: {}, type: Directory}}", json(to))
            }
            _ => {
                return Err(Failure::usage("--to is no path from the root, which a node has")
                    .hint("name a folder that user 65534 may write to: --to /shared/records; or --claim NAME"));
            }
        };
        let nodes = match &self.args.hosts {
            AskedHosts::Named(names) => {
                let names: Vec<String> = names.iter().map(|name| json(name)).collect();
                NODES.replace("@names", &names.join(", "))
            }
            AskedHosts::Any(_) => String::new(),
        };
        let end = ["--json".to_owned(), RECORDS.to_owned()];
        let words: Vec<String> = self.command.iter().chain(&end).map(|word| json(word)).collect();
        // Texts of users last: they may hold what looks like a placeholder.
        Ok(MANIFEST
            .replace("@hosts", &self.hosts.to_string())
            .replace("@limit", &(self.limit + FETCHING).to_string())
            .replace("@nodes\n", &nodes)
            .replace("@volume", &volume)
            .replace("@image", &json(self.args.image.as_deref().unwrap_or_default()))
            .replace("@command", &words.join(", ")))
    }
}

const NODES: &str = "        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
            - matchExpressions:
              - {key: kubernetes.io/hostname, operator: In, values: [@names]}
";

const MANIFEST: &str = "\
# One data sheet of each node, as a record in one folder. Submit it with: kubectl create -f FILE
apiVersion: batch/v1
kind: Job
metadata:
  generateName: cpudyno-
  labels: {app.kubernetes.io/name: cpudyno}
spec:
  completionMode: Indexed
  completions: @hosts
  parallelism: @hosts
  # A node that fails does not end the others.
  backoffLimitPerIndex: 0
  maxFailedIndexes: @hosts
  template:
    metadata:
      labels: {app.kubernetes.io/name: cpudyno}
    spec:
      restartPolicy: Never
      activeDeadlineSeconds: @limit
      automountServiceAccountToken: false
      enableServiceLinks: false
      affinity:
        # One to a node, also of another run.
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - topologyKey: kubernetes.io/hostname
            labelSelector:
              matchLabels: {app.kubernetes.io/name: cpudyno}
            namespaceSelector: {}
@nodes
      securityContext:
        runAsNonRoot: true
        runAsUser: 65534
        runAsGroup: 65534
        fsGroup: 65534
        seccompProfile: {type: RuntimeDefault}
      containers:
      - name: cpudyno
        image: @image
        command: [@command]
        env:
        # Records are named by node, not by pod.
        - name: CPUDYNO_HOST
          valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
        # A limit of CPU time would be measured: requests only.
        resources:
          requests: {cpu: \"1\", memory: 1Gi}
        securityContext:
          allowPrivilegeEscalation: false
          readOnlyRootFilesystem: true
          capabilities: {drop: [ALL]}
        volumeMounts:
        - {name: records, mountPath: /records}
        - {name: tmp, mountPath: /tmp}
      volumes:
      - name: records
        @volume
      - name: tmp
        emptyDir: {}
";

/// A word of a shell.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-._/:=,+@%".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A text of JSON, which is one of YAML, too.
fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_reach_a_program_as_they_are() {
        assert_eq!(quoted("a/b-c_1.json"), "a/b-c_1.json");
        assert_eq!(quoted("n[1-8]"), "'n[1-8]'");
        assert_eq!(quoted("it's $(here)"), r"'it'\''s $(here)'");
        assert_eq!(quoted(""), "''");
    }
}
