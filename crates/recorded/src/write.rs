//! A machine as a capture.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use machine::facts::online;
use machine::permissions::Question;
use machine::ports::{Machine, Tree};
use model::record::Tool;
use model::{CpuId, CpuSet, Obstacle, Reading, Unavailable};
use simulated::files::{digits_of, missing};
use sys::cpuid::Leaf;

use crate::captured_paths::{self, Keep, Pattern};
use crate::folded::{self, fold};
use crate::numbers::Numbers;
use crate::scrub::{self, GroupNames};
use crate::text::{Answer, PLACE, Reason, name, value};
use crate::{END, FIRST_LINE, cpuid, registers};

/// Everything that the tables of this module name, as this machine answers it.
pub fn capture(machine: &Machine) -> String {
    let mut out = format!("{FIRST_LINE}\n");
    let mut tree = walk(machine);
    // Read once: some kernels interrupt every CPU to make it.
    let cpuinfo = match machine.tree.read(CPUINFO) {
        Ok(text) => Some(scrubbed_cpuinfo(&text)),
        Err(reason) => {
            if reason != missing(CPUINFO) {
                tree.insert(CPUINFO.to_owned(), Answer::Refused(Reason::of(&reason, CPUINFO)));
            }
            None
        }
    };
    write_header(&mut out, machine, cpuinfo.as_deref());
    out.push_str("\n[walked]\n");
    for row in captured_paths::TABLE {
        let _ = writeln!(out, "{}", row.pattern);
    }
    out.push_str("\n[tree]\n");
    write_tree(&mut out, &tree);
    out.push_str("\n[cpuinfo]\n");
    write_cpuinfo(&mut out, cpuinfo.as_deref());
    let cpus: CpuSet = online(machine).iter().take(CPUS_MAX).collect();
    out.push_str("\n[cpuid]\n");
    write_cpuid(&mut out, machine, &cpus);
    out.push_str("\n[msr]\n");
    write_registers(&mut out, machine, &cpus);
    out.push_str("\n[permits]\n");
    for question in Question::ALL {
        let answer = answer(machine.permits.ask(*question), "");
        let _ = writeln!(out, "{} {}", question.name(), answer.line());
    }
    let _ = writeln!(out, "\n{END}");
    out
}

/// The most CPUs that are asked one by one: the kernel's own limit.
const CPUS_MAX: usize = 8192;

pub(crate) const CPUINFO: &str = "/proc/cpuinfo";

fn answer(reading: Reading<String>, asked: &str) -> Answer {
    match reading {
        Ok(text) => Answer::Text(text),
        Err(reason) => Answer::Refused(Reason::of(&reason, asked)),
    }
}

fn write_header(out: &mut String, machine: &Machine, cpuinfo: Option<&str>) {
    let mut line = |key: &str, answer: Answer| {
        let _ = writeln!(out, "{key} {}", answer.line());
    };
    let text = |text: String| Answer::Text(text);
    if let Some(model) = &machine.simulated {
        line("simulated", text(format!("{} (SIMULATED: there is no such machine)", model.name)));
    }
    line("captured", text(machine.host.now_utc()));
    let tool = Tool::this();
    line("by", text(format!("{} {}", tool.name, tool.version)));
    if let Some(architecture) = architecture(machine, cpuinfo) {
        line("architecture", text(architecture));
    }
    if let Ok(release) = machine.tree.read("/proc/sys/kernel/osrelease") {
        line("kernel", text(release));
    }
    let microcode = cpuinfo.and_then(|text| machine::parse::value_of(text, "microcode"));
    if let Some(microcode) = microcode {
        line("microcode", text(microcode.to_owned()));
    }
    line("user", text(if machine.host.is_root() { "root" } else { "plain user" }.to_owned()));
    line("affinity", answer(machine.host.affinity().map(|cpus| cpus.to_string()), ""));
}

/// As the machine itself says, so that a capture of a capture says the same.
fn architecture(machine: &Machine, cpuinfo: Option<&str>) -> Option<String> {
    if let Ok(name) = machine.tree.read("/proc/sys/kernel/arch") {
        return Some(name);
    }
    let says = |key: &str| cpuinfo.is_some_and(|text| text.contains(key));
    if machine.cpuid.leaf(0, 0).is_some() || says("GenuineIntel") || says("AuthenticAMD") {
        Some("x86_64".to_owned())
    } else {
        says("CPU implementer").then(|| "arm".to_owned())
    }
}

/// The longest file that is taken over, beside `/proc/cpuinfo`.
const FILE_BYTES_MAX: usize = 64 << 10;

/// What was found by path; folders end in a slash.
struct Walk<'a> {
    tree: &'a dyn Tree,
    names: GroupNames,
    answers: BTreeMap<String, Answer>,
    /// The names in folders that can be listed.
    lists: HashMap<String, Option<Vec<String>>>,
}

fn walk(machine: &Machine) -> BTreeMap<String, Answer> {
    let tree = machine.tree.as_ref();
    let groups = tree.read("/proc/self/cgroup").unwrap_or_default();
    let names = GroupNames::of(&groups);
    let mut walk = Walk { tree, names, answers: BTreeMap::new(), lists: HashMap::new() };
    for row in captured_paths::TABLE {
        match row.keep {
            Keep::Group => walk.groups(row.pattern, &groups),
            keep => {
                let pattern = Pattern::parse(row.pattern).expect("BUG: a test reads the table");
                let components = pattern.components();
                walk.below("", components, keep);
            }
        }
    }
    walk.note_empty_folders();
    walk.answers
}

impl Walk<'_> {
    fn below(&mut self, folder: &str, components: &[Vec<String>], keep: Keep) {
        let Some((alternatives, rest)) = components.split_first() else { return };
        for component in alternatives {
            if captured_paths::is_wild(component) || (rest.is_empty() && matches!(keep, Keep::Name))
            {
                for name in self.names(folder, component) {
                    self.step(format!("{folder}/{name}"), rest, keep);
                }
            } else {
                self.step(format!("{folder}/{component}"), rest, keep);
            }
        }
    }

    fn step(&mut self, path: String, rest: &[Vec<String>], keep: Keep) {
        if !rest.is_empty() {
            return self.below(&path, rest, keep);
        }
        match keep {
            Keep::Text(scrub) => self.file(path.clone(), &path, |text, _| scrub(text)),
            Keep::Bytes(scrub) => self.binary(&path, scrub),
            Keep::Named(scrub) => self.file(path.clone(), &path, scrub),
            Keep::Name | Keep::Group => {
                self.answers.entry(path).or_insert(Answer::Noted);
            }
        }
    }

    /// The names in a folder that fit a component.
    fn names(&mut self, folder: &str, component: &str) -> Vec<String> {
        if !self.lists.contains_key(folder) {
            let path = if folder.is_empty() { "/" } else { folder };
            let names = self.tree.list(path);
            if let Err(reason) = &names
                && *reason != missing(path)
            {
                let refused = Answer::Refused(Reason::of(reason, path));
                self.answers.insert(format!("{folder}/"), refused);
            }
            self.lists.insert(folder.to_owned(), names.ok());
        }
        let names = self.lists.get(folder).into_iter().flatten().flatten();
        names.filter(|name| captured_paths::fits(component, name)).cloned().collect()
    }

    /// A file, under the path that it has in captures.
    fn file(&mut self, shown: String, path: &str, scrub: impl Fn(&str, &mut GroupNames) -> String) {
        if path == CPUINFO || self.answers.contains_key(&shown) {
            return;
        }
        let text = self.tree.read(path).map(|text| scrub(&text, &mut self.names));
        self.keep(shown, path, text);
    }

    fn binary(&mut self, path: &str, scrub: impl Fn(&[u8]) -> Vec<u8>) {
        let text = self.tree.bytes(path).map(|bytes| digits_of(&scrub(&bytes)));
        self.keep(path.to_owned(), path, text);
    }

    fn keep(&mut self, shown: String, path: &str, text: Reading<String>) {
        let answer = match text {
            Err(reason) if reason == missing(path) => return,
            Err(reason) => Answer::Refused(Reason::of(&reason, path)),
            Ok(text) => {
                if text.len() > FILE_BYTES_MAX {
                    let why = "it is longer than the 64 KiB that captures take over";
                    let long = Unavailable::new(Obstacle::Cpudyno, "", why);
                    Answer::Refused(Reason::of(&long, ""))
                } else {
                    Answer::Text(text)
                }
            }
        };
        self.answers.insert(shown, answer);
    }

    /// Files of the groups that limit this process: its own, and those above it, wherever their
    /// hierarchies are mounted.
    fn groups(&mut self, pattern: &str, groups: &str) {
        const MOUNT: &str = "/sys/fs/cgroup";
        let Some(files) = pattern.strip_prefix("/sys/fs/cgroup/**/").and_then(Pattern::of_names)
        else {
            return;
        };
        let mountinfo = self.tree.read("/proc/self/mountinfo").unwrap_or_default();
        for (controllers, path) in scrub::hierarchies(groups) {
            let of = |name: &str| controllers.split(',').any(|of| !of.is_empty() && of == name);
            for mount in scrub::group_mounts(&mountinfo) {
                let fits = match mount.kind {
                    "cgroup2" => controllers.is_empty(),
                    "cpuset" => of("cpuset"),
                    _ => mount.options.split(',').any(of),
                };
                let path = path.strip_prefix(mount.root.trim_end_matches('/'));
                if fits {
                    self.group_and_above(mount.point, path.unwrap_or_default(), &files);
                }
            }
            // Where every distribution mounts them; a folder may have the names of all controllers.
            let names = controllers.split(',').chain([controllers]);
            for name in names.filter(|name| !name.is_empty()) {
                self.group_and_above(&format!("{MOUNT}/{name}"), path, &files);
            }
            if controllers.is_empty() {
                self.group_and_above(MOUNT, path, &files);
            }
        }
    }

    fn group_and_above(&mut self, mount: &str, path: &str, files: &[String]) {
        let Ok(found) = self.tree.list(mount) else { return };
        self.lists.insert(mount.to_owned(), Some(found));
        let outside = path.split('/').any(|name| name == "..");
        let mut group = if outside { "" } else { path.trim_end_matches('/') };
        loop {
            let shown = self.names.plain(group);
            for file in files {
                let path = format!("{mount}{group}/{file}");
                self.file(format!("{mount}{shown}/{file}"), &path, |text, _| text.to_owned());
            }
            match group.rfind('/') {
                Some(end) => group = &group[..end],
                None => break,
            }
        }
    }

    /// Folders that are there and hold nothing that is captured.
    fn note_empty_folders(&mut self) {
        let listed = self.lists.iter().filter(|(_, names)| names.is_some());
        let mut folders: Vec<String> = listed.map(|(folder, _)| format!("{folder}/")).collect();
        // The inner ones first: a folder that holds an empty one is not empty.
        folders.sort_unstable_by(|a, b| b.cmp(a));
        for folder in folders {
            let next = self.answers.range(folder.clone()..).next();
            if next.is_none_or(|(path, _)| !path.starts_with(&folder)) {
                self.answers.insert(folder, Answer::Noted);
            }
        }
    }
}

fn write_tree(out: &mut String, tree: &BTreeMap<String, Answer>) {
    let mut templates: BTreeMap<String, BTreeMap<Option<u32>, &Answer>> = BTreeMap::new();
    for (path, answer) in tree {
        let (template, number) = folded::split(path);
        templates.entry(template).or_default().insert(number, answer);
    }
    for (template, answers) in templates {
        let parts: Vec<String> = template.split(PLACE).map(name).collect();
        if let Some(answer) = answers.get(&None) {
            let _ = writeln!(out, "{} {}", parts.join(""), answer.line());
        }
        let is_own = |number: u32, answer: &Answer| match answer {
            Answer::Text(text) => *text == number.to_string(),
            _ => false,
        };
        let numbered = || answers.iter().filter_map(|(number, answer)| Some(((*number)?, *answer)));
        // One alone is chance, such as a line of 64 bytes in the caches of CPU 64.
        let own = numbered().filter(|(number, answer)| is_own(*number, answer)).count() > 1;
        let lines = numbered().map(|(number, answer)| {
            let own = own && is_own(number, answer);
            (number, if own { Answer::OwnNumber.line() } else { answer.line() })
        });
        for (numbers, line) in fold(lines) {
            let _ = writeln!(out, "{} {line}", parts.join(&bracketed(&numbers)));
        }
    }
}

/// One number stands as it is, several in brackets.
fn bracketed(numbers: &Numbers) -> String {
    if numbers.count() == 1 { numbers.to_string() } else { format!("[{numbers}]") }
}

fn scrubbed_cpuinfo(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(scrub::cpuinfo_line).collect();
    lines.join("\n")
}

/// Line by line: what stands in the same place of every block, under the numbers of the blocks.
fn write_cpuinfo(out: &mut String, text: Option<&str>) {
    let Some(text) = text else { return };
    let blocks: Vec<Vec<&str>> =
        text.split("\n\n").map(|block| block.split('\n').collect()).collect();
    let longest = blocks.iter().map(Vec::len).max().unwrap_or(0);
    for place in 0..longest {
        let lines = || {
            let lines = blocks.iter().map(|block| block.get(place)).zip(0u32..);
            lines.filter_map(|(line, number)| Some((number, *line?)))
        };
        let own = lines().filter(|(number, line)| ends_in(line, *number).is_some()).count() > 1;
        let texts = lines().map(|(number, line)| match ends_in(line, number).filter(|_| own) {
            Some(before) => (number, format!("{} {{}}", value(before))),
            None => (number, cpuinfo_line(line)),
        });
        for (numbers, line) in fold(texts) {
            let blank = if line.is_empty() { "" } else { " " };
            let _ = writeln!(out, "[{numbers}]{blank}{line}");
        }
    }
}

/// What stands before the number of its own at the end of a line, such as `processor : 12`.
fn ends_in(line: &str, number: u32) -> Option<&str> {
    let (before, last) = line.rsplit_once(' ')?;
    (last == number.to_string()).then_some(before)
}

fn cpuinfo_line(line: &str) -> String {
    match line.strip_suffix("{}") {
        // Not to be taken for the number.
        Some(before) if before.ends_with(' ') => format!("{}\\u{{7b}}}}", value(before)),
        _ => value(line),
    }
}

fn registers_line(leaf: Leaf) -> String {
    let Leaf { eax, ebx, ecx, edx } = leaf;
    format!("= {eax:08x} {ebx:08x} {ecx:08x} {edx:08x}")
}

fn write_cpuid(out: &mut String, machine: &Machine, cpus: &CpuSet) {
    let cpuid = machine.cpuid.as_ref();
    if let Some(xcr0) = cpuid.xcr0() {
        let _ = writeln!(out, "xcr0 = {xcr0:#x}");
    }
    let mut leaves: BTreeMap<(u32, u32), Vec<(u32, String)>> = BTreeMap::new();
    for cpu in cpus.iter() {
        for (leaf, answer) in cpuid::all(|leaf, subleaf| cpuid.leaf_of(cpu, leaf, subleaf)) {
            leaves.entry(leaf).or_default().push((cpu.0, registers_line(answer)));
        }
    }
    if leaves.is_empty() {
        for ((leaf, subleaf), answer) in cpuid::all(|leaf, subleaf| cpuid.leaf(leaf, subleaf)) {
            let _ = writeln!(out, "{leaf:#x}.{subleaf} {}", registers_line(answer));
        }
    }
    for ((leaf, subleaf), answers) in leaves {
        for (numbers, line) in fold(answers) {
            let _ = writeln!(out, "{leaf:#x}.{subleaf} [{numbers}] {line}");
        }
    }
}

/// The device of a CPU's registers, where a reason names it.
pub(crate) fn device(cpu: CpuId) -> String {
    format!("/{cpu}/msr")
}

fn write_registers(out: &mut String, machine: &Machine, cpus: &CpuSet) {
    let numbers: Vec<u32> = registers::TABLE.iter().map(|(number, _)| *number).collect();
    let mut answers: Vec<Vec<(u32, String)>> = vec![Vec::new(); numbers.len()];
    for cpu in cpus.iter() {
        for (register, reading) in answers.iter_mut().zip(machine.msr.read_many(cpu, &numbers)) {
            let value = reading.map(|value| format!("{value:#x}"));
            register.push((cpu.0, answer(value, &device(cpu)).line()));
        }
    }
    // Registers that are refused for one reason on the same CPUs share a line.
    let mut refused: Vec<(String, Vec<String>)> = Vec::new();
    for (register, answers) in numbers.iter().zip(answers) {
        for (cpus, line) in fold(answers) {
            if line.starts_with('=') {
                let _ = writeln!(out, "{register:#x} [{cpus}] {line}");
                continue;
            }
            let line = format!("[{cpus}] {line}");
            match refused.iter_mut().find(|(known, _)| *known == line) {
                Some((_, registers)) => registers.push(format!("{register:#x}")),
                None => refused.push((line, vec![format!("{register:#x}")])),
            }
        }
    }
    for (line, registers) in refused {
        let _ = writeln!(out, "{} {line}", registers.join(","));
    }
}
