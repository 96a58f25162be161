//! What `cpudyno top` takes of a CPU when it looks once a second: here, and on 512 CPUs in files laid out
//! like a kernel's.

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use machine::Machine;
use measure::areas::top::{Watch, Watched};
use model::page::Page;
use model::record::{PageKind, Presentation};
use views::text::{Layout, render};

use crate::EXIT_NO;

const CPUS: usize = 512;
const LOOKS: u32 = 20;
/// What the project promises, as shares of one CPU.
const HERE: f64 = 0.002;
const LARGE: f64 = 0.05;

pub(crate) fn run() -> Result<ExitCode> {
    println!("{}", crate::load());
    let here = share(&Machine::real()).context("on this machine")?;
    let memory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())?;
    lay_out(memory.path())?;
    // Its files answer like those of a machine that runs.
    let large = Machine { elsewhere: None, ..Machine::rooted(memory.path())? };
    let large = share(&large).context("on 512 CPUs")?;
    for (name, share, promised) in [("here", here, HERE), ("512 CPUs", large, LARGE)] {
        println!(
            "top once a second, {name}: {:.3} % of one CPU; promised: less than {:.1} %",
            share * 100.0,
            promised * 100.0
        );
    }
    println!(
        "not in these figures: what it costs other CPUs to be woken for their registers (an interrupt each), and counters of the cores"
    );
    let holds = here < HERE && large < LARGE;
    Ok(if holds { ExitCode::SUCCESS } else { ExitCode::from(EXIT_NO) })
}

/// The share of one CPU that looking, and printing what was seen, takes at one look a second.
fn share(machine: &Machine) -> Result<f64> {
    let look = Presentation::of(PageKind::Top);
    let watch = Watch::begin(machine, &Watched::default(), vec!["top".to_owned()], look);
    let mut watch = watch.map_err(|reason| anyhow!("{}: {}", reason.what, reason.why))?;
    let mut printed = 0;
    let begun = on_cpu()?;
    for _ in 0..LOOKS {
        std::thread::sleep(Duration::from_millis(50));
        watch.look();
        watch.forget();
        let page = Page { blocks: vec![report::areas::top::interval(&watch.last(), 0)] };
        printed += render(&page, Layout { width: 100, colour: false }).len();
    }
    ensure!(printed > 0, "nothing was printed");
    Ok((on_cpu()? - begun) / f64::from(LOOKS))
}

/// How long this thread was on a CPU, in seconds.
///
/// # Source
/// Linux, `Documentation/scheduler/sched-stats.rst`: the first number of `schedstat` is in nanoseconds.
fn on_cpu() -> Result<f64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat")
        .context("this kernel does not say how long a thread was on a CPU")?;
    let nanoseconds = text.split(' ').next().unwrap_or_default().parse::<f64>()?;
    Ok(nanoseconds * 1e-9)
}

/// Two packages, two threads a core, four idle states, energy and temperatures.
fn lay_out(root: &Path) -> Result<()> {
    let put = |path: String, text: &str| -> Result<()> {
        let path = root.join(path);
        fs::create_dir_all(path.parent().context("a file lies in a folder")?)?;
        fs::write(path, format!("{text}\n")).context("making the files")
    };
    let cpu = "sys/devices/system/cpu";
    for list in ["online", "present", "possible"] {
        put(format!("{cpu}/{list}"), &format!("0-{}", CPUS - 1))?;
    }
    let cores = CPUS / 2;
    let mut stat = "cpu 1 0 1 1 0 0 0 0 0 0\n".to_owned();
    for number in 0..CPUS {
        let core = number % cores;
        let folder = format!("{cpu}/cpu{number}");
        let package = core / (cores / 2);
        put(format!("{folder}/topology/physical_package_id"), &package.to_string())?;
        put(format!("{folder}/topology/core_id"), &(core % (cores / 2)).to_string())?;
        let siblings = format!("{core},{}", core + cores);
        put(format!("{folder}/topology/core_cpus_list"), &siblings)?;
        for (state, name) in ["POLL", "C1", "C1E", "C6"].into_iter().enumerate() {
            put(format!("{folder}/cpuidle/state{state}/name"), name)?;
            put(format!("{folder}/cpuidle/state{state}/time"), "123456789")?;
        }
        stat.extend(["cpu", &number.to_string(), " 123456 0 2345 6789012 0 0 12 0 0 0\n"]);
    }
    put("proc/stat".to_owned(), &stat)?;
    for package in 0..2 {
        let zone = format!("sys/class/powercap/intel-rapl:{package}");
        for (file, text) in [
            ("name", format!("package-{package}")),
            ("energy_uj", "123456789".to_owned()),
            ("max_energy_range_uj", "262143328850".to_owned()),
        ] {
            put(format!("{zone}/{file}"), &text)?;
        }
        let chip = format!("sys/class/hwmon/hwmon{package}");
        put(format!("{chip}/name"), "coretemp")?;
        put(format!("{chip}/temp1_label"), &format!("Package id {package}"))?;
        put(format!("{chip}/temp1_input"), "45000")?;
        for core in 0..cores / 2 {
            put(format!("{chip}/temp{}_label", core + 2), &format!("Core {core}"))?;
            put(format!("{chip}/temp{}_input", core + 2), "44000")?;
        }
    }
    Ok(())
}
