//! Which files of a folder are of a CPU.

use std::path::{Path, PathBuf};

use regex_lite::Regex;

use crate::events::cpu::CpuModel;
use crate::events::table::CoreType;

/// A folder of event lists.
pub(super) struct Folder {
    path: PathBuf,
    /// Paths below it, sorted: `SPR/events/sapphirerapids_core.json`.
    files: Vec<String>,
    map: Vec<MapfileLine>,
}

/// A line of `mapfile.csv`.
struct MapfileLine {
    /// Which CPUs: an expression.
    cpus: String,
    /// The file, or of Linux the folder, of the list.
    name: String,
    /// Of which part of the CPU: core, uncore, ...
    part: String,
    /// 0x20 for efficient cores, 0x40 for performance cores; and the role tells some apart.
    core: Option<CoreType>,
}

/// The lists of a CPU.
#[derive(Debug, Default, PartialEq)]
pub(super) struct FoundLists {
    pub(super) lists: Vec<PathBuf>,
    pub(super) remarks: Vec<String>,
}

/// The parts whose lists hold events that this program can encode.
const PARTS: &[&str] =
    &["core", "hybridcore", "offcore", "fp_arith_inst", "uncore", "uncore experimental"];

/// How deep lists lie: `SPR/events/x.json`.
const DEPTH: u32 = 3;

/// The paths of a CPU's lists that `mapfile.csv`, whose text this is, names: of both types of core.
pub fn lists(map: &str, cpu: &CpuModel) -> Vec<String> {
    let map = map.lines().skip(1).filter_map(MapfileLine::parse).collect();
    let folder = Folder { path: PathBuf::new(), files: Vec::new(), map };
    let (lines, _) = folder.lines(&cpu.to_string(), cpu.has_stepping());
    let wanted = lines.into_iter().filter(|line| PARTS.contains(&line.part.as_str()));
    wanted.map(|line| line.name.clone()).collect()
}

impl Folder {
    pub(super) fn open(path: &Path) -> Result<Folder, String> {
        let mut files = Vec::new();
        collect(path, "", DEPTH, &mut files).map_err(|error| sys::errno::words(&error))?;
        files.sort();
        let map = match std::fs::read_to_string(path.join("mapfile.csv")) {
            Ok(text) => text.lines().skip(1).filter_map(MapfileLine::parse).collect(),
            Err(_) if files.iter().any(|file| is_json(file)) => Vec::new(),
            Err(error) => {
                return Err(format!("cannot read `mapfile.csv`: {}", sys::errno::words(&error)));
            }
        };
        Ok(Folder { path: path.to_owned(), files, map })
    }

    /// The lists of a CPU, or of one type of its cores.
    pub(super) fn lists(&self, cpu: &CpuModel, core: Option<CoreType>) -> FoundLists {
        if let Some(id) = cpu.arm_id() {
            return FoundLists { lists: self.of_arm(&id), remarks: Vec::new() };
        }
        let (lines, remark) = self.lines(&cpu.to_string(), cpu.has_stepping());
        let mut found = FoundLists { lists: Vec::new(), remarks: Vec::from_iter(remark) };
        for line in lines {
            let of_core = core.is_none() || line.core.is_none() || line.core == core;
            if !of_core || !PARTS.contains(&line.part.as_str()) {
                continue;
            }
            let files = self.files_of(line);
            if files.is_empty() {
                found.remarks.push(format!("`{}` is listed but missing", line.name));
            }
            found.lists.extend(files.into_iter().map(|file| self.path.join(file)));
        }
        found.lists.dedup();
        found
    }

    /// The types of cores that the map gives a CPU.
    pub(super) fn core_types(&self, cpu: &CpuModel) -> Vec<CoreType> {
        let (lines, _) = self.lines(&cpu.to_string(), cpu.has_stepping());
        lines.iter().filter_map(|line| line.core).collect()
    }

    /// The lines of a CPU. Steppings tell CPUs apart; where none is known, the first that fits is taken.
    fn lines(&self, cpu: &str, has_stepping: bool) -> (Vec<&MapfileLine>, Option<String>) {
        let fits = |expression: &str| {
            let whole = Regex::new(&format!("^(?:{expression})(?:-.*)?$"));
            whole.is_ok_and(|whole| whole.is_match(cpu))
        };
        let lines = self.first_of(fits);
        if !lines.is_empty() || has_stepping {
            return (lines, None);
        }
        let without = |expression: &str| {
            expression.rsplit_once('-').is_some_and(|(without, steppings)| {
                steppings.starts_with('[') && without.matches('-').count() == 2 && fits(without)
            })
        };
        let lines = self.first_of(without);
        let remark = lines.first().map(|line| {
            format!("steppings of {cpu} differ, and none was named: `{}` is assumed", line.cpus)
        });
        (lines, remark)
    }

    /// The lines whose expression is the first that fits, as perf takes them.
    fn first_of(&self, fits: impl Fn(&str) -> bool) -> Vec<&MapfileLine> {
        let Some(first) = self.map.iter().find(|line| fits(&line.cpus)) else { return Vec::new() };
        self.map.iter().filter(|line| line.cpus == first.cpus).collect()
    }

    /// The files of a line: by their path, by their path with `__` in place of `/`, by their name alone,
    /// as pmu-tools calls them, or those of a folder.
    fn files_of(&self, line: &MapfileLine) -> Vec<&str> {
        let path = line.name.trim_start_matches('/');
        let flat = path.replace('/', "__");
        let name = path.rsplit('/').next().unwrap_or(path);
        let of_tools = format!("{}-{}.json", line.cpus, line.part);
        let is_it = |file: &&String| {
            let last = file.rsplit('/').next().unwrap_or(file);
            **file == path || last == flat || last == name || last == of_tools
        };
        if let Some(file) = self.files.iter().find(is_it).filter(|file| is_json(file)) {
            return vec![file];
        }
        let within = |file: &&String| {
            let rest = file.strip_prefix(name).or_else(|| {
                let (_, last) = file.rsplit_once(&format!("/{name}/"))?;
                Some(last)
            });
            let separated = rest.is_some_and(|it| it.starts_with('/') || it.starts_with("__"));
            is_json(file) && (separated || file.contains(&format!("/{name}/")))
        };
        self.files.iter().filter(within).map(String::as_str).collect()
    }

    /// Arm's lists say in themselves which core they are of.
    fn of_arm(&self, id: &str) -> Vec<PathBuf> {
        let says = |file: &&String| {
            let text = std::fs::read_to_string(self.path.join(file)).unwrap_or_default();
            // Before the events.
            text.get(..2000.min(text.len())).is_some_and(|head| head.contains(&format!("\"{id}\"")))
        };
        let lists = self.files.iter().filter(|file| is_json(file)).filter(says);
        // The list of cores names all of them and holds no events.
        lists.filter(|file| !file.ends_with("cpus.json")).map(|file| self.path.join(file)).collect()
    }
}

impl MapfileLine {
    fn parse(line: &str) -> Option<MapfileLine> {
        let mut words = line.split(',').map(str::trim);
        let (cpus, _version) = (words.next()?, words.next()?);
        let (name, part) = (words.next()?, words.next()?);
        let (core, _model) = (words.next().unwrap_or_default(), words.next());
        let core = match (core, words.next().unwrap_or_default()) {
            ("0x20", "LowPower_Atom") => Some(CoreType::LowPower),
            ("0x20", _) => Some(CoreType::Atom),
            ("0x40", _) => Some(CoreType::Core),
            _ => None,
        };
        let is_line = !cpus.is_empty() && !name.is_empty();
        is_line.then(|| MapfileLine {
            cpus: cpus.into(),
            name: name.into(),
            part: part.into(),
            core,
        })
    }
}

fn is_json(file: &str) -> bool {
    Path::new(file).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"))
}

fn collect(root: &Path, below: &str, depth: u32, files: &mut Vec<String>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(root.join(below))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if below.is_empty() { name } else { format!("{below}/{name}") };
        let is_folder = entry.path().is_dir();
        if is_folder && depth > 1 && !path.starts_with('.') {
            collect(root, &path, depth - 1, files)?;
        } else if !is_folder {
            files.push(path);
        }
    }
    Ok(())
}
