//! A command that is measured: executed again and again, and timed or asked for a number.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use model::Seconds;
use regex_lite::Regex;
use sys::process::ChildUsage;

use crate::run::arm_env::ArmEnv;
use rig::executor::Stop;

/// What is measured of a command.
#[derive(Debug, Clone)]
pub enum Metric {
    /// The time from its start to its end.
    Wall,
    /// The number that the first group of this expression matches in what it prints, the last time.
    Printed(Regex),
    /// The number at this path of the JSON that it prints: `results.0.mean`.
    Json(Vec<String>),
}

/// Why there is no number.
pub(super) enum Failed {
    /// The user asked to stop.
    Interrupted,
    /// What happened.
    Because(String),
}

/// What came of it.
pub(super) struct Done {
    /// What was measured.
    pub(super) value: f64,
    /// What it used for that.
    pub(super) usage: ChildUsage,
}

/// Where an arm has a number of threads, `{n}` in an argument is that number: many programs take it as an option.
fn counted(word: &str, own: &ArmEnv) -> String {
    match own.threads {
        Some(threads) => word.replace("{n}", &threads.to_string()),
        None => word.to_owned(),
    }
}

/// Executes it once. Who takes longer than `limit` has failed.
pub(super) fn run(
    words: &[String],
    own: &ArmEnv,
    metric: &Metric,
    limit: Seconds,
    stop: &Stop,
) -> Result<Done, Failed> {
    let because = |why: String| Failed::Because(why);
    let mut command = Command::new(&words[0]);
    command
        .args(words[1..].iter().map(|word| counted(word, own)))
        .stdin(Stdio::null())
        .stderr(Stdio::piped());
    command.envs(&own.variables);
    if let Some(threads) = own.threads {
        command.env("OMP_NUM_THREADS", threads.to_string());
    }
    let listens = !matches!(metric, Metric::Wall);
    command.stdout(if listens { Stdio::piped() } else { Stdio::null() });
    // A group of its own: all that it starts can be ended with it.
    command.process_group(0);
    sys::process::die_with_parent(&mut command);
    sys::process::arrange(&mut command, own.cpus.clone(), own.nice);
    let begun = Instant::now();
    let mut child = command.spawn().map_err(|error| {
        because(format!("cannot start `{}`: {}", words[0], sys::errno::words(&error)))
    })?;
    let output = child.stdout.take().map(collect);
    let complaints = child.stderr.take().map(collect);
    // Waited for by a thread that sleeps until then, so that nothing is rounded to a polling interval.
    let (sender, wait) = mpsc::channel();
    let ended = std::thread::scope(|scope| {
        let waited = &child;
        scope.spawn(move || {
            // That it has ended, not what it said: it stays there to be killed by name until then.
            let there = sys::process::wait_until_ended(waited);
            drop(sender.send((begun.elapsed(), there)));
        });
        loop {
            match wait.recv_timeout(Duration::from_millis(50)) {
                Ok((took, Ok(usage))) => return Ok((took.as_secs_f64(), usage)),
                Ok((_, Err(error))) => return Err(because(sys::errno::words(&error))),
                Err(_) if stop.asked() => {
                    drop(sys::process::kill_group(&child));
                    return Err(Failed::Interrupted);
                }
                Err(_) if begun.elapsed().as_secs_f64() > limit.0 => {
                    drop(sys::process::kill_group(&child));
                    let why =
                        format!("`{}` ran longer than the {:.0} s for all", words[0], limit.0);
                    return Err(because(why));
                }
                Err(_) => {}
            }
        }
    });
    // What it left running would disturb the next one.
    drop(sys::process::kill_group(&child));
    let status = child.wait().map_err(|error| because(sys::errno::words(&error)))?;
    let (seconds, usage) = ended?;
    let (output, complaints) = (output.as_ref().map(said), complaints.as_ref().map(said));
    let (output, complaints) = (output.unwrap_or_default(), complaints.unwrap_or_default());
    if !status.success() {
        let last = complaints.lines().rfind(|line| !line.trim().is_empty());
        let last = last.map_or_else(String::new, |line| format!(": {}", line.trim()));
        return Err(because(format!("`{}` ended with {status}{last}", words[0])));
    }
    let value = number(metric, &output, seconds).map_err(because)?;
    Ok(Done { value, usage })
}

/// The most that is kept of what a program prints.
const PRINTED_MAX: u64 = 16 << 20;

fn collect(pipe: impl Read + Send + 'static) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut pipe = pipe.take(PRINTED_MAX);
        let mut part = vec![0; 1 << 16];
        // Who listens may be gone.
        while let Ok(count @ 1..) = pipe.read(&mut part)
            && sender.send(part[..count].to_vec()).is_ok()
        {}
        // What is beyond is read and dropped, so that the program does not wait.
        drop(std::io::copy(pipe.get_mut(), &mut std::io::sink()));
    });
    receiver
}

/// What was printed. Who has left the group of its program may keep the pipe open for ever: it is not
/// waited for.
fn said(pipe: &mpsc::Receiver<Vec<u8>>) -> String {
    const PATIENCE: Duration = Duration::from_secs(1);
    /// Who goes on talking was not asked.
    const LONGEST: Duration = Duration::from_secs(5);
    let (mut bytes, begun) = (Vec::new(), Instant::now());
    while begun.elapsed() < LONGEST
        && let Ok(part) = pipe.recv_timeout(PATIENCE)
    {
        bytes.extend(part);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether its commas stand between thousands.
fn has_thousands(text: &str) -> bool {
    let whole = text.split('.').next().unwrap_or_default();
    whole.split(',').skip(1).all(|group| group.len() == 3)
}

fn number(metric: &Metric, output: &str, seconds: f64) -> Result<f64, String> {
    match metric {
        Metric::Wall => Ok(seconds),
        Metric::Printed(expression) => {
            let found = expression.captures_iter(output).last();
            let text = found.as_ref().and_then(|found| found.get(1).or(found.get(0)));
            let text = text.map(|text| text.as_str().trim()).ok_or_else(|| {
                format!("no output of the command matches `{}`", expression.as_str())
            })?;
            let text = if has_thousands(text) { text.replace(',', "") } else { text.to_owned() };
            text.parse().map_err(|_| format!("the command printed `{text}`, which is no number"))
        }
        Metric::Json(path) => {
            let json: serde_json::Value = serde_json::from_str(output).map_err(|error| {
                let why = model::json::refusal(&error);
                format!("cannot read the command's output as JSON: {why}")
            })?;
            let value = path.iter().try_fold(&json, |value, key| match key.parse::<usize>() {
                Ok(index) if value.is_array() => value.get(index),
                _ => value.get(key),
            });
            let path = path.join(".");
            value
                .and_then(serde_json::Value::as_f64)
                .ok_or_else(|| format!("the command's JSON has no number at `{path}`"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, limit: Seconds) -> Result<f64, String> {
        let words = ["sh", "-c", script].map(str::to_owned);
        let metric = Metric::Printed(Regex::new("[0-9]+").unwrap());
        let done = run(&words, &ArmEnv::default(), &metric, limit, &Stop::default());
        done.map(|done| done.value).map_err(|failed| {
            let Failed::Because(why) = failed else { panic!("nobody interrupted") };
            why
        })
    }

    #[test]
    fn a_number_of_threads_stands_in_the_place_of_its_mark() {
        let arm = ArmEnv { threads: Some(12), ..ArmEnv::default() };
        assert_eq!([counted("-t{n}", &arm), counted("{n}:{n}", &arm)], ["-t12", "12:12"]);
        assert_eq!(counted("{n}", &ArmEnv::default()), "{n}", "nobody said how many");
        let words = ["sh", "-c", "echo $0", "{n}"].map(str::to_owned);
        let metric = Metric::Printed(Regex::new("[0-9]+").unwrap());
        let done = run(&words, &arm, &metric, Seconds(60.0), &Stop::default());
        assert!(done.is_ok_and(|done| (done.value - 12.0).abs() < 1e-9));
    }

    #[test]
    fn who_never_ends_has_failed_and_who_leaves_the_pipe_open_is_not_waited_for() {
        let why = sh("exec sleep 1000", Seconds(0.1)).unwrap_err();
        assert!(why.contains("`sh` ran longer than"), "{why}");
        let left = sh("setsid sleep 1000 & echo $!", Seconds(60.0)).unwrap().to_string();
        assert!(Command::new("kill").arg(left).status().unwrap().success());
    }

    #[test]
    fn numbers_are_found_where_they_are_asked_for() {
        let printed = |expression: &str, output: &str| {
            number(&Metric::Printed(Regex::new(expression).unwrap()), output, 1.0)
        };
        assert_eq!(printed(r"took (\S+) s", "took 3 s\ntook 4.5 s\n"), Ok(4.5));
        assert_eq!(printed(r"[0-9,]+", "12,345 ops"), Ok(12345.0));
        assert_eq!(printed(r"[0-9,.]+", "1,012,345.5 ops"), Ok(1_012_345.5));
        // A decimal comma is no thousand.
        assert!(printed(r"[0-9,]+", "1,5 s").unwrap_err().contains("`1,5`"));
        assert!(printed("x", "y").unwrap_err().contains("matches `x`"));
        assert!(printed("y", "y").unwrap_err().contains("no number"));
        let json = |path: &str, output: &str| {
            let path = path.split('.').map(str::to_owned).collect();
            number(&Metric::Json(path), output, 1.0)
        };
        assert_eq!(json("results.0.mean", r#"{"results": [{"mean": 0.25}]}"#), Ok(0.25));
        assert!(json("results.1", r#"{"results": []}"#).unwrap_err().contains("results.1"));
        assert!(json("a", "{").unwrap_err().contains("ends too early"));
    }
}
