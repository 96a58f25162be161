//! The kernel's links from CPUs to their frequency policies, where a copy of its files has lost them.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use model::{CpuId, Reading};

use crate::ports::Tree;

const CPU: &str = "/sys/devices/system/cpu";

/// Files of a machine that was copied: what is not there below `cpuN/cpufreq` is looked for in the
/// folder of the policy that it would lead to.
///
/// # Source
/// Linux, `Documentation/admin-guide/pm/cpufreq.rst`: `cpuX/cpufreq` is a link to `policyX`.
pub struct Linked<T> {
    tree: T,
    policies: OnceLock<BTreeMap<CpuId, String>>,
}

impl<T: Tree> Linked<T> {
    /// Those files, with the links.
    pub fn new(tree: T) -> Linked<T> {
        Linked { tree, policies: OnceLock::new() }
    }

    /// Where a path leads through such a link; `None`: it does not.
    fn followed(&self, path: &str) -> Option<String> {
        let (cpu, rest) = path.strip_prefix(CPU)?.strip_prefix("/cpu")?.split_once("/cpufreq")?;
        let cpu = CpuId(cpu.parse().ok()?);
        let is_whole = rest.is_empty() || rest.starts_with('/');
        let policy = self.policies.get_or_init(|| policies(&self.tree)).get(&cpu)?;
        is_whole.then(|| format!("{policy}{rest}"))
    }
}

/// The folder of each CPU's policy.
fn policies(tree: &dyn Tree) -> BTreeMap<CpuId, String> {
    let mut policies = BTreeMap::new();
    for name in tree.list(&format!("{CPU}/cpufreq")).unwrap_or_default() {
        let Some(Ok(number)) = name.strip_prefix("policy").map(str::parse) else { continue };
        let folder = format!("{CPU}/cpufreq/{name}");
        let members = tree.read(&format!("{folder}/affected_cpus")).unwrap_or_default();
        let members = members.split_whitespace().filter_map(|cpu| cpu.parse().ok());
        for cpu in std::iter::once(number).chain(members) {
            policies.insert(CpuId(cpu), folder.clone());
        }
    }
    policies
}

impl<T: Tree> Tree for Linked<T> {
    fn read(&self, path: &str) -> Reading<String> {
        let followed = || self.tree.read(&self.followed(path)?).ok();
        self.tree.read(path).or_else(|reason| followed().ok_or(reason))
    }

    fn list(&self, path: &str) -> Reading<Vec<String>> {
        let followed = || self.tree.list(&self.followed(path)?).ok();
        self.tree.list(path).or_else(|reason| followed().ok_or(reason))
    }
}

#[cfg(test)]
mod tests {
    use simulated::Files;

    use super::*;

    fn tree(texts: &[(&str, &str)]) -> Linked<Files> {
        let mut files = Files::default();
        for (path, text) in texts {
            files.put(format!("{CPU}/{path}"), *text);
        }
        Linked::new(files)
    }

    #[test]
    fn what_a_cpu_has_not_is_that_of_its_policy() {
        let tree = tree(&[
            ("cpufreq/policy0/affected_cpus", "0 1"),
            ("cpufreq/policy0/scaling_governor", "powersave"),
            ("cpufreq/policy4/scaling_governor", "performance"),
            ("cpu4/cpufreq/scaling_governor", "schedutil"),
        ]);
        let governor = |cpu| tree.read(&format!("{CPU}/cpu{cpu}/cpufreq/scaling_governor"));
        assert_eq!(governor(0).as_deref(), Ok("powersave"));
        assert_eq!(governor(1).as_deref(), Ok("powersave"));
        assert_eq!(governor(4).as_deref(), Ok("schedutil"), "its own file counts");
        assert!(governor(2).is_err(), "no policy has it");
        let names = tree.list(&format!("{CPU}/cpu1/cpufreq")).unwrap();
        assert_eq!(names, ["affected_cpus", "scaling_governor"]);
        let missing = tree.read(&format!("{CPU}/cpu0/cpufreq/boost")).unwrap_err();
        assert!(missing.why.contains("/cpu0/cpufreq/boost"), "{missing:?}");
    }

    #[test]
    fn nothing_else_leads_anywhere() {
        let tree = tree(&[("cpufreq/policy0/affected_cpus", "x 0"), ("cpufreq/policyX/y", "1")]);
        for path in ["cpu0/cpufreqs", "cpux/cpufreq/y", "cpu0/topology/y", "cpu/cpufreq/y"] {
            assert!(tree.read(&format!("{CPU}/{path}")).is_err(), "{path}");
        }
    }
}
