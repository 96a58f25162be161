//! Containers and other views: quotas, CPUs that are not shown, files of another process.

use model::record::FactValue;
use model::{Known, Unavailable};
use proptest::prelude::*;
use simulated::Files;

use super::{machine_of, said};
use crate::facts::cgroup;
use crate::ports::Machine;
use crate::{conditions, facts};

fn files(texts: &[(&str, &str)]) -> Files {
    let mut files = Files::default();
    for (path, text) in texts {
        files.put(*path, *text);
    }
    files
}

/// A process in the group `/a/b/c` of version 2, whose groups say this of their quota, outermost first.
fn in_groups(quotas: &[(&str, &str)], cpus: &str) -> Machine {
    let mut files = files(&[
        ("/sys/devices/system/cpu/online", cpus),
        ("/proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw"),
        ("/proc/self/cgroup", "0::/a/b/c"),
        ("/sys/fs/cgroup/a/b/c/cgroup.controllers", ""),
    ]);
    for (group, text) in quotas {
        files.put(format!("/sys/fs/cgroup/{group}/cpu.max"), *text);
    }
    machine_of(files, cpus)
}

fn quota(machine: &Machine) -> String {
    said(&conditions::read(machine), "cgroup.quota")
}

#[test]
fn the_tightest_quota_counts_and_its_group_is_told() {
    let of = |quotas: &[(&str, &str)]| quota(&in_groups(quotas, "0-15"));
    assert_eq!(of(&[]), "none");
    assert_eq!(of(&[("a/b/c", "max 100000")]), "none");
    let above = "6 CPUs (600000 of 100000 us, cpu.max of the control group 2 above its own)";
    assert_eq!(of(&[("a", "600000 100000"), ("a/b", "max 100000")]), above);
    assert_eq!(of(&[("a", "600000 100000"), ("a/b/c", "900000 100000")]), above);
    let own = "0.5 CPU (25000 of 50000 us, cpu.max of its control group)";
    assert_eq!(of(&[("a", "600000 100000"), ("a/b/c", "25000 50000")]), own);
    // The kernel takes one number, too, and leaves the period as it is.
    let short = "3 CPUs (300000 of 100000 us, cpu.max of the control group above its own)";
    assert_eq!(of(&[("a/b", "300000")]), short);
    assert!(of(&[("a", "1000 1000000")]).starts_with("0.001 CPU ("));
}

#[test]
fn no_hierarchy_of_groups_is_no_limit() {
    const MOUNTS: (&str, &str) = ("/proc/self/mountinfo", "22 1 0:20 / /sys rw - sysfs sysfs rw");
    let said = |machine: &Machine| {
        let (facts, now) = (facts::machine(machine).facts, conditions::read(machine));
        ["cgroup.version", "memory.limit"].map(|id| said(&facts, id))
            == ["none", "none"].map(String::from)
            && said(&now, "cgroup.quota") == "none"
    };
    for groups in ["", "0::/", "4:cpu:/\n0::/"] {
        let none = machine_of(files(&[MOUNTS, ("/proc/self/cgroup", groups)]), "0");
        assert_eq!(quota(&none), "none", "{groups}");
        assert!(!groups.is_empty() || said(&none));
        assert!(cgroup::throttles(&none).is_ok_and(|throttles| throttles.count == 0.0));
    }
    assert!(said(&machine_of(files(&[MOUNTS]), "0")), "a kernel without groups");
    // Where groups are kept out of sight, nobody knows.
    let unseen = [MOUNTS, ("/proc/self/cgroup", "0::/x"), ("/.dockerenv", "")];
    for (first, last) in [(0, 2), (1, 3)] {
        assert!(cgroup::quota(&machine_of(files(&unseen[first..last]), "0")).is_err());
    }
    let contained = [MOUNTS, ("/proc/self/cgroup", "0::/"), ("/.dockerenv", "")];
    assert!(cgroup::quota(&machine_of(files(&contained), "0")).is_err());
}

#[test]
fn remedies_of_limits_are_those_of_this_version_of_groups() {
    let of = |id: &str, machine: &Machine| {
        let all = crate::doctor::capabilities(machine);
        let row = all.into_iter().find(|fact| fact.id == id).unwrap();
        match row.value {
            Known::No { unavailable } => unavailable.remedy.unwrap_or_default(),
            Known::Yes(value) => panic!("{id}: {value:?}"),
        }
    };
    let second = || in_groups(&[("a", "100000 100000")], "0-3");
    assert!(of("cpus.quota", &second()).contains("systemd-run"));
    let first = |more: &[(&str, &str)]| {
        let mut files = files(more);
        files.put("/sys/devices/system/cpu/online", "0-3");
        files.put("/proc/self/cgroup", "3:cpuset:/a\n2:cpu:/a");
        let mount = |name: &str| {
            format!("30 24 0:26 / /sys/fs/cgroup/{name} rw - cgroup {name} rw,{name}\n")
        };
        files.put("/proc/self/mountinfo", &(mount("cpu") + &mount("cpuset")));
        files.put("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "100000");
        files.put("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000");
        files.put("/sys/fs/cgroup/cpuset/a/cpuset.cpus", "1-2");
        machine_of(files, "1-2")
    };
    let told = |id| of(id, &first(&[]));
    assert!(
        told("cpus.quota").contains("cpu.cfs_quota_us") && !told("cpus.quota").contains("systemd")
    );
    assert!(told("cpus").contains("cpuset.cpus") && !told("cpus").contains("AllowedCPUs"));
    let docker = first(&[("/.dockerenv", "")]);
    assert!(
        of("cpus", &docker).contains("docker run") && of("cpus.quota", &docker).contains("--cpus")
    );
}

#[test]
fn what_is_no_quota_is_not_none() {
    for text in ["", "x", "3e5 100000", "nan 100000", "-1 100000", "0 100000", "999 100000"] {
        let machine = in_groups(&[("a", text), ("a/b", "max 100000")], "0-3");
        let reason = cgroup::quota(&machine).unwrap_err();
        let start = "`cpu.max` of the control group 2 above its own says `";
        assert!(reason.why.starts_with(start), "{text}: {reason:?}");
    }
    for text in ["100000 0", "100000 999", "100000 1000001", "100000 x", "100000 100000 1"] {
        assert!(cgroup::quota(&in_groups(&[("a", text)], "0-3")).is_err(), "{text}");
    }
    // A group of which nothing is shown is no group without a quota.
    let nowhere = files(&[("/proc/self/cgroup", "0::/x/y"), ("/sys/fs/cgroup/z/cpu.max", "max")]);
    assert!(cgroup::quota(&machine_of(nowhere, "0")).is_err());
}

#[test]
fn a_quota_above_the_cpus_limits_nothing() {
    let machine = in_groups(&[("a", "1600000 100000")], "0-7");
    assert!(quota(&machine).ends_with("), and no limit to 8 usable CPUs"), "{}", quota(&machine));
    let endless = in_groups(&[("a", "18446744073709551615 1000")], "0-7");
    assert!(quota(&endless).contains("no limit to 8 usable CPUs"));
    let beyond = in_groups(&[("a", "18446744073709551616 1000")], "0-7");
    assert_eq!(quota(&beyond), "unavailable");
    let capability = |machine: &Machine| {
        let all = crate::doctor::capabilities(machine);
        let row = all.into_iter().find(|fact| fact.id == "cpus.quota").unwrap();
        row.value.value().is_some()
    };
    assert!(capability(&machine));
    assert!(!capability(&in_groups(&[("a", "700000 100000")], "0-7")));
}

proptest! {
    /// Whatever the groups say: where all of it is a quota, the least is told; else none is.
    #[test]
    fn bent_quotas_are_told_or_unknown(
        texts in prop::collection::vec(
            prop_oneof![
                Just("max 100000".to_owned()),
                (1_000_u64..9_000_000, 1_000_u64..1_000_000).prop_map(|(q, p)| format!("{q} {p}")),
                "[-0-9a-z .]{0,12}",
            ],
            3,
        )
    ) {
        let groups: Vec<(&str, &str)> =
            ["a", "a/b", "a/b/c"].into_iter().zip(texts.iter().map(String::as_str)).collect();
        let told = cgroup::quota(&in_groups(&groups, "0-7"));
        let alone = groups.iter().map(|group| cgroup::quota(&in_groups(&[*group], "0-7")));
        match alone.collect::<Result<Vec<_>, _>>() {
            Err(_) => prop_assert!(told.is_err()),
            Ok(alone) => {
                let cpus = alone.iter().flatten().map(|quota| quota.cpus());
                prop_assert_eq!(told.unwrap().map(cgroup::Quota::cpus), cpus.reduce(f64::min));
            }
        }
    }
}

const CPU: &str = "/sys/devices/system/cpu";

/// Four CPUs on two nodes, of which a container shows two.
fn view(more: &[(&str, &str)]) -> Files {
    let mut files = files(more);
    files.put(format!("{CPU}/online"), "0-1");
    files.put(format!("{CPU}/present"), "0-3");
    files.put("/sys/devices/system/node/online", "0-1");
    files.put("/sys/devices/system/node/node0/cpulist", "0-1");
    files.put("/sys/devices/system/node/node1/cpulist", "2-3");
    files
}

#[test]
fn cpus_that_a_container_hides_are_not_off() {
    let of = |more: &[(&str, &str)]| {
        let machine = machine_of(view(more), "0-1");
        let facts = facts::machine(&machine);
        let said = |id| said(&facts.facts, id);
        (said("cpu.offline"), said("cpu.not_shown"), facts.topology)
    };
    let offline = format!("{CPU}/offline");
    let (off, hidden, topology) = of(&[(&offline, "")]);
    assert_eq!((off.as_str(), hidden.as_str()), ("none", "2-3"));
    assert_eq!(topology.nodes[1].not_shown.to_string(), "2-3");
    let (off, hidden, topology) = of(&[(&offline, "2-3")]);
    assert_eq!((off.as_str(), hidden.as_str()), ("2-3", "none"));
    assert!(topology.nodes[1].not_shown.is_empty());
    // Without that list, by the switch of each CPU, or by what only containers have.
    let (first, second) = (format!("{CPU}/cpu2/online"), format!("{CPU}/cpu3/online"));
    let (off, hidden, _) = of(&[(&first, "0"), (&second, "1")]);
    assert_eq!((off.as_str(), hidden.as_str()), ("2", "3"));
    let (off, hidden, _) = of(&[("/run/systemd/container", "lxc")]);
    assert_eq!((off.as_str(), hidden.as_str()), ("none", "2-3"));
    let (off, hidden, _) = of(&[]);
    assert_eq!((off.as_str(), hidden.as_str()), ("2-3", "none"));
}

#[test]
fn nodes_beyond_a_view_are_not_empty() {
    let files = view(&[(&format!("{CPU}/offline"), "")]);
    let machine = machine_of(files, "0-1");
    assert_eq!(said(&facts::machine(&machine).facts, "memory.nodes"), "2 nodes");
    let presentation = model::record::Presentation {
        width: 80,
        ..model::record::Presentation::of(model::record::PageKind::Info)
    };
    let record = crate::describe(&machine, Vec::new(), presentation);
    let page = format!("{:?}", report::info(&record, 0));
    assert!(page.contains("CPUs 2-3 (not shown here)"), "{page}");
    assert!(page.contains("not shown: CPUs 2-3"), "{page}");
}

/// Who is not shown may work on the same core.
#[test]
fn siblings_that_a_container_hides_are_named() {
    let of = |off: &str, siblings: [&str; 2]| {
        let mut files = view(&[(&format!("{CPU}/offline"), off)]);
        for (cpu, siblings) in siblings.iter().enumerate() {
            let folder = format!("{CPU}/cpu{cpu}/topology");
            files.put(format!("{folder}/physical_package_id"), "0");
            files.put(format!("{folder}/core_id"), &cpu.to_string());
            files.put(format!("{folder}/core_cpus_list"), siblings);
        }
        said(&facts::machine(&machine_of(files, "0-1")).facts, "cpu.cores")
    };
    let hidden = "1 package, 2 cores, 2 CPUs (siblings are not shown: CPUs 2-3)";
    assert_eq!(of("", ["0,2", "1,3"]), hidden);
    assert_eq!(of("", ["0", "1"]), "1 package, 2 cores, 2 CPUs (no SMT)");
    assert_eq!(of("", ["0-1", "0-1"]), "1 package, 1 core, 2 CPUs (SMT 2)");
    let off = "1 package, 2 cores, 2 CPUs (no SMT)";
    assert_eq!(of("2-3", ["0,2", "1,3"]), off, "who is off shares nothing now");
}

/// Parts that the kernel makes of a node have all of its CPUs, and contradict nothing.
#[test]
fn emulated_nodes_have_the_cpus_of_their_node() {
    let of = |command_line: &str| {
        let mut files = view(&[("/proc/cmdline", command_line)]);
        files.put("/sys/devices/system/node/node1/cpulist", "0-1");
        let machine = machine_of(files, "0-1");
        let survey = crate::facts::fact_cache::Survey::new(&machine);
        let (topology, findings) = facts::topology_of(&survey);
        let contradict = model::contradictions::of(&facts::machine(&machine), &[]);
        let nodes = topology.nodes.iter().map(|node| node.cpus.to_string()).collect::<Vec<_>>();
        (nodes, topology.cpus[0].node, findings.len() + contradict.len())
    };
    let both = vec!["0-1".to_owned(), "0-1".to_owned()];
    assert_eq!(of("console=tty1 numa=fake=2 numa_policy=interleave"), (both, Some(0), 0));
    let first = vec!["0-1".to_owned(), String::new()];
    assert_eq!(of("console=tty1"), (first, Some(0), 1));
}

#[test]
fn one_detector_of_containers() {
    let of = |path: &str, text: &str| facts::container(&files(&[(path, text)])).unwrap_or_default();
    let group = |path: &str| of("/proc/self/cgroup", path);
    assert_eq!(group("0::/kubepods.slice/pod1.slice/x.scope"), "a Kubernetes pod");
    assert_eq!(group("4:cpu:/docker/0f\n0::/"), "a Docker container");
    assert_eq!(group("0::/system.slice/docker-0f.scope"), "a Docker container");
    assert_eq!(group("0::/system.slice/docker.service"), "", "the engine itself");
    assert_eq!(group("0::/system.slice/containerd.service"), "");
    assert_eq!(group("0::/user.slice/user-1000.slice"), "");
    let lxcfs = "101 99 0:47 /proc/stat /proc/stat rw - fuse.lxcfs lxcfs rw";
    assert_eq!(of("/proc/self/mountinfo", lxcfs), "an LXC container");
    let host = "40 22 0:47 / /var/lib/lxcfs rw - fuse.lxcfs lxcfs rw";
    assert_eq!(of("/proc/self/mountinfo", host), "");
}

#[test]
fn files_below_a_folder_are_those_of_their_process() {
    let of = |status: &str| {
        let folder = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put("sys/devices/system/cpu/online", "0-7\n");
        put("proc/self/status", status);
        (Machine::rooted(folder.path()).unwrap(), folder)
    };
    let (machine, _folder) = of("Uid:\t1000\t1000\t1000\t1000\nCpus_allowed_list:\t2-3\n");
    assert_eq!(facts::topology(&machine).usable.to_string(), "2-3");
    assert_eq!(said(&conditions::read(&machine), "cpus.usable"), "2 of 8");
    assert_eq!(said(&conditions::read(&machine), "user"), "plain user");
    assert!(of("Uid:\t1000\t0\t0\t0\n").0.host.is_root());
    for silent in ["", "Cpus_allowed_list:\t\n", "Cpus_allowed_list:\tx\n"] {
        let (machine, _folder) = of(silent);
        assert_eq!(said(&conditions::read(&machine), "cpus.usable"), "unavailable");
    }
    // No kernel keeps a process on CPUs that are off: a list of a container's own counts them from 0.
    let (machine, _folder) = of("Cpus_allowed_list:\t8-9\n");
    assert_eq!(facts::topology(&machine).usable.to_string(), "8-9");
    let (_, findings) = facts::topology_of(&crate::facts::fact_cache::Survey::new(&machine));
    assert!(findings.iter().any(|it| it.text.contains("lists CPUs 0-7")), "{findings:?}");
    // A file that was not copied proves nothing.
    let (machine, _folder) = of("");
    let facts = crate::doctor::capabilities(&machine);
    let huge = facts.iter().find(|fact| fact.id == "thp").unwrap();
    assert!(!format!("{huge:?}").contains("built without"), "{huge:?}");
}

fn capability(machine: &Machine, id: &str) -> Result<String, Unavailable> {
    let all = crate::doctor::capabilities(machine);
    let row = all.into_iter().find(|fact| fact.id == id).unwrap();
    match row.value {
        Known::No { unavailable } => Err(unavailable),
        Known::Yes(FactValue::Text(text)) => Ok(text),
        Known::Yes(number) => panic!("{id}: {number:?}"),
    }
}

/// `isolcpus=2` keeps CPU 2 out of the affinity that processes inherit: it is there for who asks for it.
#[test]
fn isolated_cpus_are_not_missing() {
    let machine = |isolated: &str| {
        let isolated = (format!("{CPU}/isolated"), isolated.to_owned());
        let online = (format!("{CPU}/online"), "0-3".to_owned());
        let all = [isolated, online];
        let texts: Vec<(&str, &str)> = all.iter().map(|(p, t)| (p.as_str(), t.as_str())).collect();
        machine_of(files(&texts), "0-1,3")
    };
    let told = capability(&machine("2"), "cpus").unwrap();
    assert!(told.starts_with("all but CPU 2, which is isolated"), "{told}");
    assert!(facts::can_be_pinned_to(&machine("2"), &"2".parse().unwrap()));
    assert!(!facts::can_be_pinned_to(&machine("2"), &"2,4".parse().unwrap()), "4 is not online");
    // Another CPU is missing: nobody is advised to load the isolated one.
    let other = capability(&machine("1"), "cpus").unwrap_err();
    assert_eq!(other.remedy.as_deref(), Some("`taskset -c 0,2-3 cpudyno ...`"));
    // A cpuset that lacks it is no affinity.
    let mut cpuset = files(&[("/proc/self/mountinfo", "30 24 0:26 / /cg rw - cgroup2 cgroup2 rw")]);
    for (path, text) in [
        ("/proc/self/cgroup", "0::/a"),
        ("/cg/a/cpuset.cpus.effective", "0-1,3"),
        ("/sys/devices/system/cpu/isolated", "2"),
        ("/sys/devices/system/cpu/online", "0-3"),
    ] {
        cpuset.put(path, text);
    }
    let cpuset = machine_of(cpuset, "0-1,3");
    assert!(!facts::can_be_pinned_to(&cpuset, &"2".parse().unwrap()));
    assert!(capability(&cpuset, "cpus").unwrap_err().why.contains("its cpuset has no more"));
}

#[test]
fn what_a_group_of_version_2_takes_it_gives_back() {
    let machine = |kind: &str| {
        let mount = format!("30 24 0:26 / /cg rw - {kind} {kind} rw,cpuset");
        machine_of(
            files(&[
                ("/proc/self/mountinfo", &mount),
                ("/proc/17/cgroup", if kind == "cgroup2" { "0::/a" } else { "1:cpuset:/a" }),
                ("/cg/a/cpuset.cpus.effective", "2-3"),
                ("/cg/a/cpuset.cpus", "2-3"),
            ]),
            "0-3",
        )
    };
    assert_eq!(cgroup::restored_cpuset(&machine("cgroup2"), "17"), "2-3".parse().ok());
    assert_eq!(cgroup::restored_cpuset(&machine("cgroup"), "17"), None);
    assert_eq!(cgroup::restored_cpuset(&machine("cgroup2"), "18"), None);
}
