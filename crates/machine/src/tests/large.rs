//! A machine of 2,048 CPUs: how often which file is read.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use model::Reading;
use model::record::{PageKind, Presentation};
use simulated::Model;

use crate::ports::{Machine, Tree};

type Counts = Rc<RefCell<BTreeMap<String, usize>>>;

/// A tree that counts what is read from it.
struct Counting {
    tree: Box<dyn Tree>,
    reads: Counts,
}

impl Tree for Counting {
    fn read(&self, path: &str) -> Reading<String> {
        *self.reads.borrow_mut().entry(path.to_owned()).or_default() += 1;
        self.tree.read(path)
    }

    fn list(&self, path: &str) -> Reading<Vec<String>> {
        *self.reads.borrow_mut().entry(format!("{path}/")).or_default() += 1;
        self.tree.list(path)
    }
}

/// 16 packages of 64 cores with two threads each.
fn large() -> (Machine, Counts) {
    let text = include_str!("../../../simulated/src/machines/2s-56c.toml")
        .replace("packages = 2", "packages = 16")
        .replace("cores_per_package = 56", "cores_per_package = 64");
    let machine = Machine::from(Model::parse("large.toml", &text).unwrap());
    let reads = Counts::default();
    let tree = Box::new(Counting { tree: machine.tree, reads: Rc::clone(&reads) });
    // What holds for files shall hold for machines that are read, not made.
    (Machine { tree, simulated: None, ..machine }, reads)
}

#[test]
fn what_is_long_is_read_seldom() {
    let (machine, reads) = large();
    let presentation = Presentation { width: 80, ..Presentation::of(PageKind::Info) };
    let record = crate::describe(&machine, Vec::new(), presentation);
    assert_eq!(record.machine.topology.online.len(), 2048);
    let reads = reads.borrow();
    let of = |path: &str| reads.get(path).copied().unwrap_or(0);
    // Facts, conditions and capabilities are three surveys.
    let cpuinfo = of("/proc/cpuinfo");
    assert!((1..=3).contains(&cpuinfo), "`/proc/cpuinfo` is read {cpuinfo} times");
    assert!(of("/boot/config-6.1.0-simulated") <= 3);
    // A few dozen small files describe a CPU; nothing may be read for each pair of CPUs.
    let all: usize = reads.values().sum();
    assert!(all < 100 * 2048, "{all} reads");
    let (path, times) = reads.iter().max_by_key(|(_, times)| **times).unwrap();
    assert!(*times <= 50, "`{path}` is read {times} times");
}
