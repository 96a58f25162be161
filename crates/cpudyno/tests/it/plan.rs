//! Jobs that `cpudyno fleet plan` prints: texts that a shell reads, with no word of the user's changed.

use std::fs;

use crate::common::{cpudyno, finish, program};

fn plan(args: &[&str]) -> String {
    finish(cpudyno(&[&["fleet", "plan"], args].concat())).success()
}

#[test]
fn scripts_are_ones_of_bash_and_words_arrive_as_they_were_given() {
    let folder = tempfile::tempdir().unwrap();
    let records = folder.path().join("it's $(a) folder");
    let (to, program_) = (records.to_str().unwrap(), folder.path().join("my program"));
    // It stands for srun, clush and cpudyno: each word on a line.
    let path = folder.path().join("bin");
    fs::create_dir(&path).unwrap();
    let script = |name: &str, text: &str| {
        use std::os::unix::fs::PermissionsExt;
        let file = path.join(name);
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        file
    };
    script("srun", "#!/bin/bash\nwhile [[ $1 == --* ]]; do shift; done\nexec \"$@\"\n");
    script("clush", "#!/bin/bash\nexec bash -c \"${@: -1}\"\n");
    let told = folder.path().join("told");
    let text = format!("#!/bin/bash\nprintf '%s\\n' \"$@\" > '{}'\n", told.display());
    fs::rename(script("program", &text), &program_).unwrap();
    for launcher in ["--slurm", "--clush"] {
        let hosts =
            ["--hosts", "n[1-8],login", "--to", to, "--program", program_.to_str().unwrap()];
        let more = ["--stagger", "5s", "--", "--reference", "a 'b' \"c\" $d"];
        let text = plan(&[&[launcher][..], &hosts, &more].concat());
        let file = folder.path().join("job.sh");
        fs::write(&file, &text).unwrap();
        let mut read = program("bash");
        read.arg("-n").arg(&file);
        finish(read).success();
        let mut run = program("bash");
        let paths = format!("{}:{}", path.display(), std::env::var("PATH").unwrap());
        run.arg(&file).env("PATH", paths);
        finish(run).success();
        let json = format!("{to}/");
        let words = ["sheet", "--budget", "30s", "--stagger", "5s", "--reference"];
        let words = [&words[..], &["a 'b' \"c\" $d", "--json", &json]].concat();
        assert_eq!(fs::read_to_string(&told).unwrap().lines().collect::<Vec<_>>(), words, "{text}");
        assert!(records.is_dir(), "{text}");
    }
}

#[test]
fn a_job_asks_for_its_nodes_and_its_time() {
    let text = plan(&["--slurm", "--hosts", "n[1-8]\nn9", "--budget", "10m"]);
    for line in [
        "#SBATCH --nodes=9",
        "#SBATCH --nodelist=n[1-9]",
        "#SBATCH --ntasks-per-node=1",
        "#SBATCH --time=00:12:00",
    ] {
        assert!(text.lines().any(|it| it == line), "no `{line}` in\n{text}");
    }
    assert!(!text.contains("--stagger"), "{text}");
    let text = plan(&["--slurm", "--hosts", "1000"]);
    assert!(text.contains("#SBATCH --nodes=1000\n#SBATCH --ntasks"), "{text}");
    assert!(text.contains("#SBATCH --time=00:03:30") && text.contains("--stagger 60s"), "{text}");
}

#[test]
fn what_makes_no_job_is_refused() {
    for (args, said) in [
        (&["--hosts", "8"][..], "<--slurm|--kubernetes|--clush>"),
        (&["--slurm"], "--hosts"),
        (&["--slurm", "--clush", "--hosts", "8"], "cannot be used with"),
        (&["--slurm", "--hosts", "n1;reboot"], "is no name of a machine"),
        (&["--slurm", "--hosts", "n[1-"], "a bracket is not closed"),
        (&["--slurm", "--hosts", "0"], "not 1 to 1000000 machines"),
        (&["--slurm", "--hosts", "8", "--to", "a\nb"], "line break"),
        (&["--clush", "--hosts", "8"], "reaches machines by their names"),
        (&["--kubernetes", "--hosts", "8"], "--image"),
        (&["--kubernetes", "--hosts", "8", "--image", "i"], "no path from the root"),
    ] {
        let done = finish(cpudyno(&[&["fleet", "plan"], args].concat()));
        assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""), "{args:?}: {done:?}");
        assert!(done.stderr.contains(said) && done.stderr.contains("\nhint: "), "{done:?}");
    }
}
