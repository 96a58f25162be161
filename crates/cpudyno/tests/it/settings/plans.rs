//! Plans: several settings under one name, from a file or built in.

use std::fs;

use super::Sim;
use crate::common::{Finished, finish};
use model::record::{ChangeOutcome, Record};

impl Sim {
    /// Writes a plan into the folder of the machine, and says how it is asked for.
    fn plan(&self, name: &str, text: &str) -> String {
        let file = self.folder.path().join(name);
        fs::write(&file, text).unwrap();
        format!("@{}", file.display())
    }

    fn refused(&self, args: &[&str]) -> Finished {
        let refused = finish(self.command(args));
        assert!(refused.code != Some(0) && refused.stdout.is_empty(), "{args:?}: {refused:?}");
        refused
    }
}

const BALANCED: &str =
    "# Lines of any length.\n\ngovernor=powersave\nepb=6   # in the middle\nepb@3=9\n? boost=off\n";

#[test]
fn a_plan_is_set_as_a_whole_and_undone_as_a_whole() {
    let sim = Sim::new("2s-56c");
    let before = sim.all();
    let plan = sim.plan("my.plan", BALANCED);
    let done = finish(sim.command(&["set", &plan, "thp=never", "--no-proof"]));
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(
        done.stderr.contains("my.plan:6: boost=off is left out: cannot set `boost`"),
        "{done:?}"
    );
    assert_eq!(
        (sim.values("governor"), sim.values("thp")),
        (vec!["powersave".into()], vec!["never".into()])
    );
    assert_eq!(sim.values("epb"), ["6", "9"]);
    sim.done(&["undo"]);
    assert_eq!(sim.all(), before);
}

#[test]
fn a_dry_run_says_where_each_setting_stands() {
    let sim = Sim::new("2s-56c");
    let plan = sim.plan("my.plan", BALANCED);
    let told = |args: &[&str]| {
        let settings = sim.record(&[args, &["--dry-run"]].concat()).settings.unwrap();
        assert!(
            settings.changes.iter().all(|it| it.outcome != ChangeOutcome::Done),
            "{settings:?}"
        );
        settings.remarks
    };
    let lines = told(&["set", &plan, "epb=0"]);
    for end in [
        "my.plan:3: governor=powersave",
        "my.plan:4: epb=6 gives way to what the command says",
        "my.plan:5: epb@3=9",
    ] {
        assert!(lines.iter().any(|line| line.ends_with(end)), "{end}: {lines:?}");
    }
    let done = finish(sim.command(&["set", &plan, "epb=0", "--no-proof"]));
    assert!(done.stderr.contains("epb=6 gives way to what the command says"), "{done:?}");
    sim.done(&["undo"]);
    let lines = told(&["set", "@latency"]);
    let why = lines.iter().find(|line| line.starts_with("@latency: epb=0: ")).unwrap();
    assert!(why.contains("(Linux, Documentation/admin-guide/pm/intel_epb.rst)"), "{why}");
    let quiet = finish(sim.command(&["quiet", "@latency", "--dry-run", "--", "true"]));
    assert!(quiet.stderr.contains("@latency: epb=0: "), "{quiet:?}");
}

#[test]
fn a_bad_line_is_named_with_its_file() {
    let sim = Sim::new("2s-56c");
    for (line, code, error, hint) in [
        (
            "governer=performance",
            2,
            "cannot set `governer`: there is no such",
            "did you mean `governor`?",
        ),
        ("governor", 2, "cannot read `governor`: a setting looks like", "`cpudyno settings`"),
        ("thp=allways", 2, "cannot set `thp` to `allways`", "`cpudyno settings`"),
        ("boost=off", 3, "cannot set `boost`: there is no", "write `no_turbo`"),
        ("env.X=1", 2, "cannot set `env.X`", "only an arm of `cpudyno ab` has it"),
        ("@latency", 2, "cannot read `@latency`", "`cpudyno settings`"),
    ] {
        let plan = sim.plan("bad.plan", &format!("epb=0\n{line}\n"));
        for command in [&["set", &plan, "--no-proof"][..], &["ab", "--a", &plan, "--area", "turbo"]]
        {
            if command[0] == "ab" && line.starts_with("env.") {
                continue;
            }
            let refused = sim.refused(command);
            let said = &refused.stderr;
            assert!(said.contains(&format!("bad.plan:2: {error}")), "{line}: {said}");
            assert!(said.contains(hint), "{line}: {said}");
            assert_eq!(refused.code, Some(code), "{line}: {said}");
        }
    }
    assert_eq!(sim.values("epb"), ["0"]);
    let empty = sim.refused(&["set", &sim.plan("empty.plan", "# nothing\n")]);
    assert!(empty.stderr.contains("has no setting"), "{}", empty.stderr);
    let unknown = sim.refused(&["set", "@latncy"]);
    assert!(unknown.stderr.contains("did you mean `@latency`?"), "{}", unknown.stderr);
    let unknown = sim.refused(&["set", "@no-such.plan"]);
    assert!(unknown.stderr.contains("`cpudyno settings --plans`"), "{}", unknown.stderr);
}

#[test]
fn arms_have_the_names_of_their_plans_and_the_record_what_they_set() {
    let sim = Sim::new("4c");
    let before = sim.all();
    let plan = sim.plan("balanced.plan", "governor=powersave\nresume_latency=100\ncpus=0\n");
    let file = sim.folder.path().join("r.json");
    let arms = ["ab", "--a", &plan, "--b", "@latency", "--b", "cpus=1", "--area", "turbo"];
    let more = ["--budget", "2s", "--no-proof", "--json", file.to_str().unwrap()];
    let ended = finish(sim.command(&[&arms[..], &more].concat()));
    let record: Record = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let run = record.comparison.unwrap();
    assert_eq!(
        (run.a, run.b),
        (vec!["@balanced.plan".into()], vec!["@latency".to_owned(), "cpus=1".into()])
    );
    assert!(!run.quads.is_empty());
    let lines = record.settings.unwrap().remarks;
    for part in [
        "balanced.plan:2: resume_latency=100",
        "balanced.plan:3: cpus=0",
        "@latency: epb=0 is left out",
    ] {
        assert!(lines.iter().any(|line| line.contains(part)), "{part}: {lines:?}");
    }
    let words = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("A @balanced.plan ") && words.contains("B @latency, cpus=1 "),
        "{words}"
    );
    assert!(words.contains("What the plans set"), "{words}");
    assert_eq!(sim.all(), before);
}

#[test]
fn what_was_saved_is_what_is_there_and_brings_it_back() {
    for name in ["4c", "2s-56c", "epyc", "hybrid", "laptop", "vm-2c"] {
        let sim = Sim::new(name);
        let file = sim.folder.path().join("saved.plan");
        sim.done(&["settings", "--save", file.to_str().unwrap()]);
        let again = sim.record(&["set", &format!("@{}", file.display()), "--dry-run"]);
        let changes = again.settings.unwrap().changes;
        let is_so = |it: &&model::record::SettingChange| it.outcome == ChangeOutcome::Already;
        assert_eq!(changes.iter().find(|it| !is_so(it)), None, "{name}");
    }
    let sim = Sim::new("2s-56c");
    let (file, before) = (sim.folder.path().join("saved.plan"), sim.all());
    let file = file.to_str().unwrap();
    let others = ["epb@3=15", "max_freq@0-3=1.8GHz", "uncore_max=1.6GHz", "resume_latency@3=n/a"];
    sim.done(&[&["set", "--no-proof", "idle.C6=off"], &others[..]].concat());
    let changed = sim.all();
    sim.done(&["settings", "--save", file]);
    sim.done(&["undo"]);
    sim.done(&["set", &format!("@{file}"), "--no-proof"]);
    assert_eq!(sim.all(), changed);
    sim.done(&["undo"]);
    assert_eq!(sim.all(), before);
    // Only those that were asked for.
    sim.done(&["settings", "epb", "--save", file]);
    let text = fs::read_to_string(file).unwrap();
    assert_eq!(text.lines().skip(1).collect::<Vec<_>>(), ["epb=0"], "{text}");
}

#[test]
fn built_in_plans_are_listed_and_go_without_what_a_machine_lacks() {
    let list = Sim::new("4c").done(&["settings", "--plans"]);
    for name in ["latency", "throughput", "efficient"] {
        assert!(list.contains(&format!("@{name}: ")), "{list}");
        for machine in ["4c", "2s-56c", "epyc", "hybrid", "laptop"] {
            let sim = Sim::new(machine);
            let before = sim.all();
            let done = finish(sim.command(&["set", &format!("@{name}"), "--no-proof"]));
            assert_eq!(done.code, Some(0), "{machine}: {done:?}");
            sim.done(&["undo"]);
            assert_eq!(sim.all(), before, "{machine}");
        }
    }
    // Where nothing is left, that is no success.
    let nothing = finish(Sim::new("vm-2c").command(&["set", "@efficient"]));
    assert_eq!(nothing.code, Some(3), "{nothing:?}");
    assert!(nothing.stderr.contains("@efficient: epb=8 is left out: "), "{nothing:?}");
}
