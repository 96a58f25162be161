//! Levers that move power: what they do goes on with the heat that they made or spared.

use levers::Lever;
use machine::Machine;
use model::Seconds;

/// The time constant of the long-term power limit where the machine does not say its own.
///
/// # Source
/// Intel's datasheets of desktop processors recommend 28 s for PL1 Tau. Server firmware often sets less.
const USUAL_TAU: Seconds = Seconds(28.0);

/// Of an exponential approach, 5 % are left after three time constants.
const SETTLED: f64 = 3.0;

/// Fewer quads give no interval.
const QUADS: f64 = 8.0;

/// In quads of random order so many of four measurements come after another arm.
pub(crate) const SWITCHES: f64 = 2.5;

/// The share of quads that compare; the others are controls.
const COMPARED: f64 = 0.75;

/// How long a lever that moves power is held until its heat has settled.
pub(super) fn settles(machine: &Machine, lever: &Lever) -> Option<Seconds> {
    let tau = || tau(machine).unwrap_or(USUAL_TAU);
    lever.moves_power.then(|| Seconds(tau().0 * SETTLED))
}

/// What to know of the effect of a lever that moves power.
pub(super) fn caveat(machine: &Machine, lever: &Lever) -> Option<String> {
    let Seconds(settled) = settles(machine, lever)?;
    let whose = match tau(machine) {
        Some(_) => "of this machine",
        None => "as processors usually have it",
    };
    let minutes = (QUADS * SWITCHES * settled / COMPARED / 60.0).ceil();
    Some(format!(
        "it moves power: an effect held for less than {settled:.0} s (three time constants of the \
         power limit {whose}) may be carried-over heat; `ab` and `sst try` hold it that long with \
         more than --budget {minutes:.0}m"
    ))
}

/// The time constant of the long-term power limit of the first package.
///
/// # Source
/// Linux, Documentation/power/powercap/powercap.rst; drivers/powercap/intel_rapl_common.c names the
/// constraints.
fn tau(machine: &Machine) -> Option<Seconds> {
    const PACKAGE: &str = "/sys/class/powercap/intel-rapl:0";
    let read = |file: &str| machine.tree.read(&format!("{PACKAGE}/{file}")).ok();
    read("constraint_0_name").filter(|name| name.trim() == "long_term")?;
    let microseconds: f64 = read("constraint_0_time_window_us")?.trim().parse().ok()?;
    (microseconds > 0.0).then_some(Seconds(microseconds * 1e-6))
}

#[cfg(test)]
mod tests {
    use machine::Machine;

    use super::*;

    #[test]
    fn heat_is_named_with_the_time_that_the_machine_says() {
        let folder = tempfile::tempdir().unwrap();
        let machine = Machine::rooted(folder.path()).unwrap();
        let (epp, _) = Lever::find("epp").unwrap();
        let usual = caveat(&machine, epp).unwrap();
        assert!(usual.contains("less than 84 s") && usual.contains("--budget 38m"), "{usual}");
        let package = folder.path().join("sys/class/powercap/intel-rapl:0");
        std::fs::create_dir_all(&package).unwrap();
        std::fs::write(package.join("constraint_0_name"), "long_term\n").unwrap();
        std::fs::write(package.join("constraint_0_time_window_us"), "999424\n").unwrap();
        let own = caveat(&machine, epp).unwrap();
        assert!(own.contains("less than 3 s") && own.contains("of this machine"), "{own}");
        let (thp, _) = Lever::find("thp").unwrap();
        assert_eq!(caveat(&machine, thp), None);
    }
}
