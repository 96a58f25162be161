//! Which runtimes there are: asked of a child each, because loading one changes a process.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use machine::Machine;
use model::{CpuId, Obstacle, Unavailable};
use simulated::Openmp;

use rig::child::{self, ChildAnswer, ChildWork, RuntimeInfo};
use rig::executor::Stop;
use rig::executor::threads::nobody;
use rig::regions::{RuntimeKind, Team, Waiting, environment};

/// A family of runtimes.
pub(super) struct RuntimeFamily {
    /// The workload.
    pub(super) id: &'static str,
    kind: RuntimeKind,
    /// What the loader is asked for.
    names: &'static [&'static str],
    /// Its name below `/usr/lib/llvm-*/lib`, where Debian puts those that the loader does not find.
    in_llvm: Option<&'static str>,
    remedy: &'static str,
}

impl RuntimeFamily {
    /// This machine has none.
    fn is_missing(&self, why: String) -> Unavailable {
        Unavailable::new(Obstacle::Permission, self.id, why).with_remedy(self.remedy)
    }
}

pub(super) static FAMILIES: &[RuntimeFamily] = &[
    RuntimeFamily {
        id: "libgomp",
        kind: RuntimeKind::Gomp,
        names: &["libgomp.so.1"],
        in_llvm: None,
        remedy: "apt-get install libgomp1",
    },
    RuntimeFamily {
        id: "libomp",
        kind: RuntimeKind::Kmpc,
        names: &["libomp.so.5", "libomp.so"],
        in_llvm: Some("libomp.so.5"),
        remedy: "apt-get install libomp-dev, or libomp5-19 and the like for the library alone",
    },
    RuntimeFamily {
        id: "libiomp5",
        kind: RuntimeKind::Kmpc,
        names: &["libiomp5.so"],
        in_llvm: Some("libiomp5.so"),
        remedy: "it comes with Intel's compilers; Debian's libomp-dev has LLVM's runtime by that name",
    },
];

/// A runtime.
#[derive(Debug, Clone)]
pub(super) struct FoundRuntime {
    /// Order of its workload within the area.
    pub(super) order: usize,
    /// The workload.
    pub(super) id: &'static str,
    pub(super) kind: RuntimeKind,
    pub(super) team: Team,
    /// What is known of it.
    pub(super) parameters: BTreeMap<String, String>,
}

/// The runtimes of this machine, and why others are missing.
pub(super) fn runtimes(
    machine: &Machine,
    cpus: &[CpuId],
    is_asked: impl Fn(&str) -> bool,
) -> (Vec<FoundRuntime>, Vec<(&'static str, Unavailable)>) {
    let mut scout = Scout { machine, cpus, found: Vec::new(), paths: Vec::new() };
    let look = |(order, family): (usize, &RuntimeFamily)| {
        scout.family(order, family).err().map(|reason| (family.id, reason))
    };
    let absent = FAMILIES.iter().enumerate().filter(|(_, family)| is_asked(family.id));
    let absent = absent.filter_map(look).collect();
    (scout.found, absent)
}

struct Scout<'a> {
    machine: &'a Machine,
    cpus: &'a [CpuId],
    found: Vec<FoundRuntime>,
    /// Files that were found already: one file may have several names.
    paths: Vec<(String, &'static str)>,
}

impl Scout<'_> {
    fn family(&mut self, order: usize, family: &RuntimeFamily) -> Result<(), Unavailable> {
        let missing = |why: String| Err(Unavailable::new(Obstacle::Permission, family.id, why));
        if self.machine.elsewhere.is_some() {
            return missing("the OpenMP runtimes of another machine are unknown here".to_owned());
        }
        if let Some(model) = &self.machine.simulated {
            // Nothing stands for a second one of its kind there.
            return match model.openmp {
                Some(openmp) if family.id != "libiomp5" => {
                    self.found.push(simulated(order, family, &openmp));
                    Ok(())
                }
                _ => missing("it is not installed on this machine".to_owned()),
            };
        }
        if sys::library::IS_STATIC {
            return Err(Unavailable::in_static_build(family.id));
        }
        let Some(program) = &self.machine.worker else { return Err(nobody()) };
        let (mut why, mut is_another) = (None, None);
        let before = self.found.len();
        for name in self.names(family) {
            match self.look(program, family, &name) {
                Ok((seen, shown)) => match self.paths.iter().find(|(path, _)| *path == seen.path) {
                    Some((_, known)) if *known == family.id => {}
                    Some((_, known)) => is_another = Some(*known),
                    None => self.keep(order, family, &seen, &shown),
                },
                // That it cannot be told says more than that another name is not there.
                Err(reason) if reason.obstacle == Obstacle::Measurement => why = Some(reason),
                Err(reason) => why = why.or(Some(reason)),
            }
        }
        match (self.found.len() > before, is_another, why) {
            (true, ..) => Ok(()),
            (false, Some(known), _) => {
                Err(family.is_missing(format!("on this machine, it is another name of {known}")))
            }
            (false, None, Some(why)) => Err(why),
            (false, None, None) => Err(family.is_missing("it was not found".to_owned())),
        }
    }

    /// What may be such a runtime: as the loader finds it, and where it does not look.
    fn names(&self, family: &RuntimeFamily) -> Vec<String> {
        let mut names: Vec<String> = family.names.iter().map(|&name| name.to_owned()).collect();
        let folders = self.machine.tree.list("/usr/lib").unwrap_or_default();
        let folders = folders.iter().filter(|folder| folder.starts_with("llvm-"));
        let of = |folder: &String| {
            let path = format!("/usr/lib/{folder}/lib/{}", family.in_llvm?);
            Path::new(&path).exists().then_some(path)
        };
        names.extend(folders.filter_map(of));
        names
    }

    /// What a library is, and what it shows of its settings.
    fn look(
        &self,
        program: &Path,
        family: &RuntimeFamily,
        name: &str,
    ) -> Result<(RuntimeInfo, RuntimeSettings), Unavailable> {
        /// It is loaded, and does nothing.
        const LIMIT: Duration = Duration::from_secs(10);
        let mut variables = environment(self.cpus, Waiting::Default);
        variables.push(("OMP_DISPLAY_ENV", "verbose".to_owned()));
        variables.push(("KMP_VERSION", "1".to_owned()));
        let work = ChildWork::Look(name.to_owned());
        // Where the child fails, the library may be there.
        let unknown = |why: String| Unavailable::new(Obstacle::Measurement, family.id, why);
        match child::ask(program, work, &variables, LIMIT, &Stop::default()) {
            Ok(answered) => match answered.answer {
                ChildAnswer::Library(seen) => Ok((seen, RuntimeSettings::of(&answered.said))),
                ChildAnswer::NotFound(why) | ChildAnswer::Cannot(why) => {
                    Err(family.is_missing(why))
                }
                ChildAnswer::Regions(_) => {
                    Err(unknown("the child process gave an unexpected answer".to_owned()))
                }
            },
            Err(failed) => Err(unknown(format!("cannot look at {name}: {failed}"))),
        }
    }

    fn keep(
        &mut self,
        order: usize,
        family: &RuntimeFamily,
        seen: &RuntimeInfo,
        shown: &RuntimeSettings,
    ) {
        self.paths.push((seen.path.clone(), family.id));
        let mut parameters = BTreeMap::from([("library".to_owned(), nameless(&seen.path))]);
        let rows = [
            ("openmp", shown.get("_OPENMP").map(str::to_owned)),
            ("version", shown.version.clone().or_else(|| interface(&seen.path))),
            ("default", default(seen, shown)),
        ];
        let known = rows.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?)));
        parameters.extend(known);
        self.found.push(FoundRuntime {
            order,
            id: family.id,
            kind: if seen.kmpc { RuntimeKind::Kmpc } else { RuntimeKind::Gomp },
            team: Team::Library(seen.path.clone()),
            parameters,
        });
    }
}

/// What a runtime that does not name its version offers: the greatest version of its symbols.
///
/// # Source
/// GCC, `libgomp/libgomp.map`: `GOMP_4.0`, `GOMP_5.0.1` and so on, one for each set of calls.
fn interface(path: &str) -> Option<String> {
    const PREFIX: &[u8] = b"GOMP_";
    let bytes = std::fs::read(path).ok()?;
    let version = |at: usize| {
        let text = bytes.get(at + PREFIX.len()..)?.split(|byte| *byte == 0).next()?;
        let numbers = std::str::from_utf8(text).ok()?.split('.').map(str::parse::<u32>);
        let numbers: Vec<u32> = numbers.collect::<Result<_, _>>().ok()?;
        (numbers.len() > 1).then_some(numbers)
    };
    let places = bytes.windows(PREFIX.len()).enumerate();
    let found = places.filter(|(_, bytes)| *bytes == PREFIX).filter_map(|(at, _)| version(at));
    let words: Vec<String> = found.max()?.iter().map(u32::to_string).collect();
    Some(format!("symbols to GOMP_{}", words.join(".")))
}

/// A path that names nobody: of files outside of the system's folders only the last part.
fn nameless(path: &str) -> String {
    let is_system = ["/usr/", "/lib", "/opt/"].iter().any(|folder| path.starts_with(folder));
    let last = path.rsplit('/').next().unwrap_or(path);
    if is_system { path.to_owned() } else { last.to_owned() }
}

fn simulated(order: usize, family: &RuntimeFamily, model: &Openmp) -> FoundRuntime {
    let library = format!("SIMULATED {}", family.id);
    let default = match family.kind {
        RuntimeKind::Kmpc => format!("KMP_BLOCKTIME={}", model.kmp_block_time_ms),
        RuntimeKind::Gomp | RuntimeKind::Own => format!("GOMP_SPINCOUNT={}", model.gomp_spin_count),
    };
    let parameters =
        [("library", library.clone()), ("version", "SIMULATED".to_owned()), ("default", default)];
    FoundRuntime {
        order,
        id: family.id,
        kind: family.kind,
        team: Team::Library(library),
        parameters: parameters.map(|(name, text)| (name.to_owned(), text)).into(),
    }
}

/// How threads wait if nobody says, as the runtime says it.
fn default(seen: &RuntimeInfo, shown: &RuntimeSettings) -> Option<String> {
    if let Some(ms) = seen.block_time_ms {
        // `INT_MAX` stands for ever there.
        let forever = ms == i32::MAX as u32;
        let time = if forever { "infinite".to_owned() } else { ms.to_string() };
        return Some(format!("KMP_BLOCKTIME={time}"));
    }
    let words = ["GOMP_SPINCOUNT", "OMP_WAIT_POLICY"]
        .into_iter()
        .filter_map(|name| Some(format!("{name}={}", shown.get(name)?)));
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// What a runtime prints with `OMP_DISPLAY_ENV=verbose` and `KMP_VERSION=1`.
struct RuntimeSettings {
    values: BTreeMap<String, String>,
    version: Option<String>,
}

impl RuntimeSettings {
    /// Lines such as `  OMP_DYNAMIC = 'FALSE'` and `  [host] KMP_BLOCKTIME='200'`, and
    /// `LLVM OMP version: 5.0.20140926`.
    fn of(text: &str) -> RuntimeSettings {
        let mut shown = RuntimeSettings { values: BTreeMap::new(), version: None };
        for line in text.lines() {
            if let Some((product, version)) = line.split_once(" version: ") {
                let is_own = product.ends_with("OMP");
                shown.version = shown.version.or(is_own.then(|| format!("{product} {version}")));
            } else if let Some((name, value)) = line.split_once('=') {
                let name = name.trim().trim_start_matches("[host]").trim();
                let value = value.trim().trim_matches('\'');
                shown.values.insert(name.to_owned(), value.to_owned());
            }
        }
        shown
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether there is a library is not known then: nobody is told to install one.
    #[test]
    fn a_child_that_fails_is_no_missing_library() {
        let mut machine = Machine::named("sim:vm-2c").unwrap();
        machine.simulated = None;
        machine.worker = Some("/bin/false".into());
        let (found, absent) = runtimes(&machine, &[CpuId(0)], |id| id == "libgomp");
        assert!(found.is_empty());
        let [("libgomp", reason)] = absent.as_slice() else { panic!("{absent:?}") };
        assert!(reason.why.starts_with("cannot look at libgomp.so.1: it ended"), "{reason:?}");
        assert_eq!((reason.obstacle, &reason.remedy), (Obstacle::Measurement, &None));
    }

    #[test]
    fn settings_are_read_as_both_families_print_them() {
        let gomp = RuntimeSettings::of(
            "\nOPENMP DISPLAY ENVIRONMENT BEGIN\n  _OPENMP = '201511'\n  OMP_WAIT_POLICY = 'PASSIVE'\n  \
             OMP_PLACES = ''\n  GOMP_SPINCOUNT = '300000'\nOPENMP DISPLAY ENVIRONMENT END\n",
        );
        assert_eq!(gomp.get("_OPENMP"), Some("201511"));
        assert_eq!(gomp.get("GOMP_SPINCOUNT"), Some("300000"));
        assert_eq!(gomp.get("OMP_PLACES"), None);
        assert_eq!(gomp.version, None);
        let kmpc = RuntimeSettings::of(
            "LLVM OMP version: 5.0.20140926\nLLVM OMP API version: 5.0 (201611)\n   _OPENMP='201611'\n  \
             [host] KMP_BLOCKTIME='200'\n  [host] OMP_PLACES: value is not defined\n",
        );
        assert_eq!(kmpc.get("_OPENMP"), Some("201611"));
        assert_eq!(kmpc.get("KMP_BLOCKTIME"), Some("200"));
        assert_eq!(kmpc.version.as_deref(), Some("LLVM OMP 5.0.20140926"));
    }

    #[test]
    fn defaults_are_what_the_runtime_says() {
        let seen = |block_time_ms: Option<u32>| RuntimeInfo {
            path: "/usr/lib/x.so".to_owned(),
            kmpc: block_time_ms.is_some(),
            threads_max: 2,
            block_time_ms,
        };
        let nothing = RuntimeSettings::of("");
        assert_eq!(default(&seen(Some(200)), &nothing).as_deref(), Some("KMP_BLOCKTIME=200"));
        let forever = Some(i32::MAX as u32);
        assert_eq!(default(&seen(forever), &nothing).as_deref(), Some("KMP_BLOCKTIME=infinite"));
        assert_eq!(default(&seen(None), &nothing), None);
        let shown = RuntimeSettings::of(" GOMP_SPINCOUNT = '7'\n");
        assert_eq!(default(&seen(None), &shown).as_deref(), Some("GOMP_SPINCOUNT=7"));
    }

    #[test]
    fn the_greatest_version_of_symbols_is_found_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("libgomp.so.1");
        std::fs::write(&path, b"\x7fELF\0GOMP_4.5\0GOMP_5.0.1\0GOMP_5.0\0GOMP_SPINCOUNT\0GOMP_9")
            .unwrap();
        let path = path.to_str().unwrap();
        assert_eq!(interface(path).as_deref(), Some("symbols to GOMP_5.0.1"));
        std::fs::write(path, b"GOMP_SPINCOUNT").unwrap();
        assert_eq!(interface(path), None);
    }

    #[test]
    fn paths_name_nobody() {
        assert_eq!(
            nameless("/usr/lib/llvm-14/lib/libomp.so.5"),
            "/usr/lib/llvm-14/lib/libomp.so.5"
        );
        assert_eq!(nameless("/home/ada/lib/libomp.so"), "libomp.so");
    }
}
