//! `cpudyno compare`: simulated machines beside one another.

use std::path::Path;

use crate::common::{cpudyno, finish};
use serde_json::Value;

/// A record of that machine's clocks.
fn measured(machine: &str, folder: &Path, name: &str) -> String {
    let file = folder.join(name).to_str().unwrap().to_owned();
    let args = ["turbo", "--machine", machine, "--test", "scalar_iadd", "--num-cpus", "1"];
    // It may say that settings are still changed.
    let done = finish(cpudyno(&[&args[..], &["--json", &file]].concat()));
    assert_eq!(done.code, Some(0), "{done:?}");
    file
}

/// The simulated machine, and the same with boost switched off.
fn with_and_without_boost(folder: &Path) -> [String; 2] {
    let state = folder.join("state").to_str().unwrap().to_owned();
    let machine = format!("sim:4c@{state}");
    let journal = folder.join("journal");
    let mut set = cpudyno(&["set", "no_turbo=on", "--machine", &machine]);
    set.env("CPUDYNO_STATE", &journal);
    let set = finish(set);
    assert_eq!(set.code, Some(0), "{set:?}");
    [measured("sim:4c", folder, "on.json"), measured(&machine, folder, "off.json")]
}

#[test]
fn one_setting_is_named_first_and_so_is_what_it_changes() {
    let folder = tempfile::tempdir().unwrap();
    let [on, off] = with_and_without_boost(folder.path());
    let json = finish(cpudyno(&["compare", &on, &off, "--json", "-"])).success();
    let found: Value = serde_json::from_str(&json).unwrap();
    let names = [&found["records"][0]["name"], &found["records"][1]["name"]];
    assert_eq!(names, [on.as_str(), off.as_str()]);
    assert_eq!(found["records"][0]["simulated"], "4c");
    assert_eq!(found["settings"][0]["id"], "cpufreq.boost");
    assert_eq!(found["settings"][0]["values"], serde_json::json!(["on", "off"]));
    let worst = &found["results"][0];
    assert_eq!(
        (&worst["area"], &worst["beside"][0]["verdict"]),
        (&"turbo".into(), &"worse".into())
    );
    let causes = found["causes"].as_array().unwrap();
    let boost = causes.iter().find(|cause| cause["setting"] == found["settings"][0]["label"]);
    assert_eq!(boost.unwrap()["area"], "turbo", "{causes:?}");

    let text = finish(cpudyno(&["compare", &on, &off])).success();
    let place = |word: &str| text.find(word).unwrap_or_else(|| panic!("no `{word}` in\n{text}"));
    assert!(place("Settings that differ") < place("Results that differ"));
    assert!(place("Results that differ") < place("Likely causes"));
    assert!(text.contains("SIMULATED"), "{text}");
}

#[test]
fn a_matrix_of_another_program_is_held_against_a_record() {
    let folder = tempfile::tempdir().unwrap();
    let [record, matrix] = ["record.json", "matrix.csv"]
        .map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    let cores = ["cores", "--machine", "sim:4c", "--messages", "cas", "--json", &record];
    finish(cpudyno(&cores)).success();
    std::fs::write(&matrix, ",,,\n50,,,\n50,50,,\n50,50,100,\n").unwrap();
    let json = finish(cpudyno(&["compare", &record, &matrix, "--json", "-"])).success();
    let found: Value = serde_json::from_str(&json).unwrap();
    let results = found["results"].as_array().unwrap();
    assert_eq!(results.len(), 6, "{json}");
    let ratio = |cpus: &str| {
        let result = results.iter().find(|result| result["cpus"] == cpus).unwrap();
        let beside = &result["beside"][0];
        assert_eq!(beside["verdict"], "cannot-tell");
        beside["ratio"].as_f64().unwrap()
    };
    assert!((ratio("2-3") / ratio("0-1") - 2.0).abs() < 0.1, "{json}");
}

#[test]
fn a_script_learns_it_by_the_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let [on, off] = with_and_without_boost(folder.path());
    let slower = ["--fail-on", "slower:1%"];
    let failed = finish(cpudyno(&[&["compare", &on, &off], &slower[..]].concat()));
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert!(failed.stderr.contains("worse by more than 1 %"), "{failed:?}");
    finish(cpudyno(&[&["compare", &off, &on], &slower[..]].concat())).success();
    let huge = ["--fail-on", "slower:900%"];
    finish(cpudyno(&[&["compare", &on, &off], &huge[..]].concat())).success();
}

/// Of many records those have columns that differ, wherever they stand.
#[test]
fn the_odd_one_out_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let [on, off] = with_and_without_boost(folder.path());
    let odd = [&[on.as_str(); 9][..], &[&off, &on]].concat();
    let compare = [&["compare"], &odd[..]].concat();
    let text = finish(cpudyno(&compare)).success();
    let boost = |line: &str| line.starts_with("Boost ") && line.ends_with(" off");
    assert!(text.lines().any(boost), "{text}");
    let whose: Vec<&str> = text.lines().filter(|line| line.contains("J/A")).collect();
    assert!(whose.len() == 1 && !text.contains("K/A"), "{text}");
    assert!(text.contains("J beside A, 2 results: 1 worse"), "{text}");
    let rest = "5 further records without a column: none differs from A";
    assert!(text.contains(rest), "{text}");
    let failed = finish(cpudyno(&[&compare[..], &["--fail-on", "slower:1%"]].concat()));
    assert!(failed.stderr.contains(&format!("in `{off}`")), "{failed:?}");
}

/// A record with something else in it.
fn changed(file: &str, folder: &Path, name: &str, change: impl Fn(&mut Value)) -> String {
    let mut record: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    change(&mut record);
    let to = folder.join(name).to_str().unwrap().to_owned();
    std::fs::write(&to, record.to_string()).unwrap();
    to
}

/// Of many records those that were never compared are not said to be alike.
#[test]
fn a_record_without_results_is_told_wherever_it_stands() {
    let folder = tempfile::tempdir().unwrap();
    let [on, off] = with_and_without_boost(folder.path());
    let none = changed(&on, folder.path(), "none.json", |record| {
        record["series"] = serde_json::json!([]);
    });
    let [on, off, none] = [&on, &off, &none].map(String::as_str);
    let compared = |files: &[&str]| finish(cpudyno(&[&["compare"], files].concat())).success();
    let alike = compared(&[&[on; 7][..], &[none]].concat());
    assert!(alike.contains("H has no result in common with A"), "{alike}");
    let told = |text: &str, words: &str| {
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        assert!(lines.join(" ").contains(words), "no `{words}` in\n{text}");
    };
    // Records that differ take all columns.
    let odd = compared(&[&[on][..], &[off; 6], &[none, on]].concat());
    told(&odd, "3 further records without a column: 1 has no result in common with A: ");
    told(&odd, "none.json; 1 differs from A, in no more results than those that have one; ");
    told(&odd, "; 1 does not differ from A with certainty; `--json FILE` has all.");
    let first = compared(&[&[none][..], &[on; 7]].concat());
    told(&first, "A has no result in common with another of these records");
    told(&first, "2 further records without a column: 2 have no result in common with A: ");
}

#[test]
fn a_setting_that_differs_without_a_column_is_told_with_its_record() {
    let folder = tempfile::tempdir().unwrap();
    let [on, off] = with_and_without_boost(folder.path());
    let saving = changed(&on, folder.path(), "saving.json", |record| {
        for when in ["before", "after"] {
            let facts = record["conditions"][when].as_array_mut().unwrap();
            let governor = facts.iter_mut().find(|fact| fact["id"] == "cpufreq.governor");
            governor.unwrap()["value"] = "powersave".into();
        }
    });
    let [on, off, saving] = [&on, &off, &saving].map(String::as_str);
    let text = finish(cpudyno(&[&["compare", on][..], &[off; 5], &[saving]].concat())).success();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    assert!(lines.join(" ").contains(" without a column: powersave in /"), "{text}");
    // What only that record has changed is no cause of what differs in others.
    let (_, causes) = text.split_once("Likely causes").unwrap();
    assert!(causes.contains("oost") && !causes.contains("overnor"), "{causes}");
}

#[test]
fn records_without_results_are_no_green_light() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("info.json").to_str().unwrap().to_owned();
    finish(cpudyno(&["info", "--machine", "sim:4c", "--json", &file])).success();
    let compared = finish(cpudyno(&["compare", &file, &file, "--fail-on", "slower:5%"]));
    assert_eq!(compared.code, Some(3), "{compared:?}");
    assert!(compared.stderr.contains("no result of it has a verdict"), "{compared:?}");
    assert!(compared.stdout.contains("A has no result in common"), "{compared:?}");
}

#[test]
fn a_record_of_something_else_hides_nothing_of_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let [on, off] = with_and_without_boost(folder.path());
    let other = folder.path().join("pause.json").to_str().unwrap().to_owned();
    let pause = ["pause", "--machine", "sim:4c", "--budget", "2s", "--json", &other];
    finish(cpudyno(&pause)).success();
    let two: Value =
        serde_json::from_str(&finish(cpudyno(&["compare", &on, &off, "--json", "-"])).success())
            .unwrap();
    let three = finish(cpudyno(&["compare", &on, &off, &other, "--json", "-"])).success();
    let three: Value = serde_json::from_str(&three).unwrap();
    let rows = |of: &Value| of["results"].as_array().unwrap().clone();
    assert_eq!(rows(&two).len(), rows(&three).len());
    for (two, three) in rows(&two).iter().zip(rows(&three)) {
        assert_eq!((&two["what"], &two["beside"][0]), (&three["what"], &three["beside"][0]));
        assert_eq!((&three["values"][2], &three["beside"][1]), (&Value::Null, &Value::Null));
    }
    let slower = ["--fail-on", "slower:1%"];
    let failed = finish(cpudyno(&[&["compare", &on, &off, &other], &slower[..]].concat()));
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert!(failed.stdout.contains("C has no result in common with A; "), "{failed:?}");
    assert!(failed.stdout.lines().any(|line| line.ends_with('-')), "{failed:?}");
    // Nothing of it is slower, and nothing is known of it either.
    let unknown = finish(cpudyno(&[&["compare", &off, &on, &other], &slower[..]].concat()));
    assert_eq!(unknown.code, Some(3), "{unknown:?}");
    assert!(
        unknown.stderr.contains("what is slower in `") && unknown.stderr.contains("pause.json")
    );
}

#[test]
fn arrays_within_caches_are_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (long, short) = (file("long.json"), file("short.json"));
    let args = ["memory", "--machine", "sim:4c", "--kernels", "triad"];
    finish(cpudyno(&[&args[..], &["--json", &long]].concat())).success();
    finish(cpudyno(&[&args[..], &["--length", "16KiB", "--json", &short]].concat())).success();
    let json = finish(cpudyno(&["compare", &long, &short, "--json", "-"])).success();
    let found: Value = serde_json::from_str(&json).unwrap();
    let rows = found["results"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["area"] != "memory"), "{rows:?}");
    assert!(!found["lonely"].as_array().unwrap().is_empty());
}

#[test]
fn a_record_beside_itself_differs_in_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = measured("sim:4c", folder.path(), "same.json");
    let json = finish(cpudyno(&["compare", &file, &file, "--json", "-"])).success();
    let found: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(found["settings"], serde_json::json!([]));
    assert_eq!(found["causes"], serde_json::json!([]));
    let rows = found["results"].as_array().unwrap();
    assert!(!rows.is_empty());
    for row in rows {
        let verdict = &row["beside"][0]["verdict"];
        assert!(verdict == "same" || verdict == "cannot-tell", "{row}");
    }
}

#[test]
fn what_speed_select_is_set_to_is_a_setting() {
    let folder = tempfile::tempdir().unwrap();
    let machine = format!("sim:icelake@{}", folder.path().join("state").to_str().unwrap());
    let asked = |args: &[&str]| {
        let mut command = cpudyno(&[args, &["--machine", &machine]].concat());
        command.env("CPUDYNO_STATE", folder.path().join("journal"));
        let done = finish(command);
        assert_eq!(done.code, Some(0), "{done:?}");
    };
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (off, on) = (file("off.json"), file("on.json"));
    asked(&["sheet", "--budget", "3s", "--json", &off]);
    asked(&["sst", "core-power", "enable"]);
    asked(&["sheet", "--budget", "3s", "--json", &on]);
    let json = finish(cpudyno(&["compare", &off, &on, "--json", "-"])).success();
    let found: Value = serde_json::from_str(&json).unwrap();
    let settings = found["settings"].as_array().unwrap();
    assert_eq!(settings.len(), 1, "{settings:?}");
    assert_eq!(settings[0]["id"], "sst.core_power");
    assert_eq!(settings[0]["values"], serde_json::json!(["off", "on"]));
    assert_eq!(settings[0]["can_be_chosen"], true);
}

#[test]
fn conditions_that_did_not_stay_are_told_as_they_were_after_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let file = measured("sim:4c", folder.path(), "as_it_was.json");
    let mut record: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let after = record["conditions"]["after"].as_array_mut().unwrap();
    let governor = after.iter_mut().find(|fact| fact["id"] == "cpufreq.governor").unwrap();
    governor["value"] = "powersave".into();
    let moved = folder.path().join("moved.json").to_str().unwrap().to_owned();
    std::fs::write(&moved, record.to_string()).unwrap();
    let json = finish(cpudyno(&["compare", &file, &moved, "--json", "-"])).success();
    let found: Value = serde_json::from_str(&json).unwrap();
    let settings = found["settings"].as_array().unwrap();
    assert_eq!(settings.len(), 1, "{settings:?}");
    assert_eq!(settings[0]["id"], "after.cpufreq.governor");
    assert_eq!(settings[0]["values"], serde_json::json!(["performance", "powersave"]));
}

#[test]
fn what_no_record_has_is_not_said_to_be_in_some() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json").to_str().unwrap().to_owned();
    let sheet = ["sheet", "--machine", "sim:container", "--budget", "5s", "--json", &file];
    finish(cpudyno(&sheet)).success();
    let text = finish(cpudyno(&["compare", &file, &file])).success();
    assert!(text.contains("without a number in any record: -v lists them"), "{text}");
    assert!(!text.contains("of some records only"), "{text}");
}

#[test]
fn of_two_machines_the_first_causes_are_listed_and_the_rest_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (small, large) = (file("small.json"), file("large.json"));
    for (machine, file) in [("sim:4c", &small), ("sim:2s-28c", &large)] {
        let args = ["sheet", "--machine", machine, "--cpus", "0-1", "--budget", "20s", "--json"];
        finish(cpudyno(&[&args[..], &[file]].concat())).success();
    }
    let said = |more: &[&str]| {
        let text = finish(cpudyno(&[&["compare", &small, &large], more].concat())).success();
        let (_, causes) = text.split_once("Likely causes\n").unwrap();
        let lines = causes.lines().take_while(|line| !line.is_empty());
        let lines: Vec<String> = lines.filter(|l| l.starts_with("- ")).map(str::to_owned).collect();
        lines
    };
    let (brief, all) = (said(&[]), said(&["-v"]));
    assert_eq!(brief[..5], all[..5]);
    assert_eq!(brief[5..], [format!("- {} more: -v lists them", all.len() - 5)]);
}

#[test]
fn a_page_is_as_good_as_its_record() {
    let folder = tempfile::tempdir().unwrap();
    let json = measured("sim:1c", folder.path(), "r.json");
    let html = folder.path().join("r.html").to_str().unwrap().to_owned();
    let shown = finish(cpudyno(&["show", &json, "--html", &html])).success();
    assert_eq!(finish(cpudyno(&["show", &html])).success(), shown);
    let both = finish(cpudyno(&["compare", &json, &html, "--json", "-"])).success();
    let found: Value = serde_json::from_str(&both).unwrap();
    assert_eq!(found["lonely"], serde_json::json!([]));
}

#[test]
fn what_is_read_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let json = measured("sim:1c", folder.path(), "r.json");
    let record = std::fs::read(&json).unwrap();
    let link = folder.path().join("link.json").to_str().unwrap().to_owned();
    std::fs::hard_link(&json, &link).unwrap();
    let roundabout = format!("{}/./r.json", folder.path().to_str().unwrap());
    for (args, option) in [
        (["compare", &json, &json, "--html", &json], "--html"),
        (["compare", &json, &json, "--json", &roundabout], "--json"),
        (["show", &json, "-v", "--html", &link], "--html"),
        (["show", &json, "-v", "--json", &json], "--json"),
    ] {
        let refused = finish(cpudyno(&args));
        assert_eq!(refused.code, Some(2), "{refused:?}");
        let why = format!("error: `{json}` is read, and {option} would replace it");
        assert!(refused.stderr.contains(&why), "{refused:?}");
        assert!(refused.stderr.contains("hint: name another file"), "{refused:?}");
        assert_eq!(std::fs::read(&json).unwrap(), record);
    }
    let page = folder.path().join("r.html").to_str().unwrap().to_owned();
    finish(cpudyno(&["show", &json, "--html", &page])).success();
    // A page that is there already and is not read may be replaced.
    finish(cpudyno(&["show", &json, "--html", &page])).success();
}

#[test]
fn a_page_that_is_cut_off_is_called_one() {
    let folder = tempfile::tempdir().unwrap();
    let json = measured("sim:1c", folder.path(), "r.json");
    let page = folder.path().join("r.html").to_str().unwrap().to_owned();
    finish(cpudyno(&["show", &json, "--html", &page])).success();
    let whole = std::fs::read(&page).unwrap();
    for cut in [whole.len() / 2, 100] {
        std::fs::write(&page, &whole[..cut]).unwrap();
        for args in [&["show", &page][..], &["compare", &json, &page]] {
            let refused = finish(cpudyno(args));
            assert_eq!(refused.code, Some(2), "{refused:?}");
            let why = format!("cannot read `{page}`: it is a page without a whole record");
            assert!(refused.stderr.contains(&why), "{refused:?}");
            assert!(refused.stderr.contains("cpudyno sheet --html FILE"), "{refused:?}");
        }
    }
}

#[test]
fn a_bandwidth_of_two_modes_has_no_one_number() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (plain, split) = (file("plain.json"), file("split.json"));
    let args = ["memory", "--machine", "sim:4c", "--kernels", "copy", "--json", &plain];
    finish(cpudyno(&args)).success();
    let mut record: Value = serde_json::from_slice(&std::fs::read(&plain).unwrap()).unwrap();
    let of_copy = |it: &&mut Value| it["quantity"] == "bandwidth" && it.get("samples").is_some();
    for series in record["series"].as_array_mut().unwrap().iter_mut().filter(of_copy) {
        let all = series["samples"].as_array_mut().unwrap().iter_mut();
        for (place, sample) in all.flat_map(|block| block.as_array_mut().unwrap()).enumerate() {
            *sample = (sample.as_f64().unwrap() * [1.0, 2.0][place % 2]).into();
        }
    }
    std::fs::write(&split, record.to_string()).unwrap();
    let lonely = |first: &str, second: &str| {
        let json = finish(cpudyno(&["compare", first, second, "--json", "-"])).success();
        let found: Value = serde_json::from_str(&json).unwrap();
        found["lonely"].as_array().unwrap().clone()
    };
    let is_told =
        |it: &Value| it["why"].as_str().is_some_and(|why| why.contains("into groups around"));
    assert!(!lonely(&plain, &plain).iter().any(is_told));
    let found = lonely(&plain, &split);
    assert!(found.iter().any(is_told), "{found:?}");
}

/// What cpudyno itself can set is a setting of the record: none can change results unseen.
#[test]
fn every_lever_is_a_setting_that_differs() {
    /// Values that the machine can have and does not have. The preference is the driver's under this governor.
    const MOVED: [&str; 22] = [
        "governor=powersave",
        "epb=15",
        "no_turbo=on",
        "min_freq=1GHz",
        "max_freq=2GHz",
        "uncore_min=1GHz",
        "uncore_max=1.2GHz",
        "resume_latency=10us",
        "idle.POLL=off",
        "idle.C1=off",
        "idle.C1E=off",
        "idle.C6=off",
        "thp=never",
        "thp_defrag=never",
        "huge_pages=8",
        "numa_balancing=0",
        "smt=off",
        "online@111=off",
        "prefetch.l2=off",
        "prefetch.l2_pair=off",
        "prefetch.l1=off",
        "prefetch.l1_ip=off",
    ];
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let describe = |machine: &str, to: &str| {
        // It reminds of what is still changed.
        let described = finish(cpudyno(&["info", "--machine", machine, "--json", to]));
        assert_eq!(described.code, Some(0), "{described:?}");
    };
    let usual = file("usual.json");
    describe("sim:2s-28c", &usual);
    for moved in MOVED {
        let lever = moved.split(['=', '@']).next().unwrap();
        let machine = format!("sim:2s-28c@{}", file(&format!("{lever}.state")));
        let mut set = cpudyno(&["set", moved, "--machine", &machine]);
        set.env("CPUDYNO_STATE", folder.path().join(format!("{lever}.journal")));
        // Remarks on the lever are no error.
        assert_eq!(finish(set).code, Some(0), "{moved}");
        let after = file(&format!("{lever}.json"));
        describe(&machine, &after);
        let json = finish(cpudyno(&["compare", &usual, &after, "--json", "-"])).success();
        let found: Value = serde_json::from_str(&json).unwrap();
        let settings = found["settings"].as_array().unwrap();
        assert!(!settings.is_empty(), "{moved} is in no record");
    }
    let all = finish(cpudyno(&["settings", "--machine", "sim:2s-28c", "--json", "-"])).success();
    let all: Value = serde_json::from_str(&all).unwrap();
    for setting in all["settings"]["listed"].as_array().unwrap() {
        let name = setting["id"].as_str().unwrap();
        let is_moved = MOVED.iter().any(|moved| moved.split(['=', '@']).next() == Some(name));
        let of_an_arm = setting["of"].as_str().is_some_and(|of| of.starts_with("an arm"));
        let is_left = of_an_arm
            || !setting["value"].is_string()
            || ["epp", "cpu_dma_latency"].contains(&name);
        assert!(is_moved || is_left, "{name} is not tried");
    }
}

/// How long the line with the digest is.
fn digest_of(file: &str) -> usize {
    let text = std::fs::read_to_string(file).unwrap();
    let line = text.lines().nth(2).unwrap();
    assert!(line.starts_with("  \"digest\": {"), "{line}");
    line.len()
}

#[test]
fn what_records_are_compared_by_stands_at_their_beginning() {
    let folder = tempfile::tempdir().unwrap();
    let [on, off] = with_and_without_boost(folder.path());
    let compared = |a: &str, b: &str| {
        let text = finish(cpudyno(&["compare", a, b, "--json", "-"])).success();
        let mut found: Value = serde_json::from_str(&text).unwrap();
        found["records"].take();
        found
    };
    let whole = compared(&on, &off);
    let text = std::fs::read_to_string(&off).unwrap();
    let (digest, rest) = text.split_at(text.find("  \"tool\"").unwrap());
    // The rest is not read, and without its digest the record is read whole.
    let nothing = format!("{digest}no JSON}}\n");
    let older = format!("{{\"schema\": \"cpudyno.record/1\",{rest}");
    for (name, text) in [("nothing.json", nothing), ("older.json", older)] {
        let file = folder.path().join(name).to_str().unwrap().to_owned();
        std::fs::write(&file, text).unwrap();
        assert_eq!(compared(&on, &file), whole, "{name}");
    }
    // What is cut off is refused, wherever that is.
    let file = folder.path().join("cut.json").to_str().unwrap().to_owned();
    std::fs::write(&file, &text[..text.len() * 3 / 4]).unwrap();
    let done = finish(cpudyno(&["compare", &on, &file]));
    assert_eq!(done.code, Some(2), "{done:?}");
    assert!(done.stderr.contains("cut off"), "{done:?}");
}

#[test]
fn digests_are_short() {
    let folder = tempfile::tempdir().unwrap();
    for (machine, most) in [("sim:vm-2c", 32 << 10), ("sim:2s-56c", 64 << 10)] {
        for budget in ["10s", "600s"] {
            let file = folder.path().join("sheet.json").to_str().unwrap().to_owned();
            let args = ["sheet", "--machine", machine, "--budget", budget, "--json", &file];
            finish(cpudyno(&args)).success();
            let length = digest_of(&file);
            assert!((10_000..=most).contains(&length), "{machine}, {budget}: {length} bytes");
        }
    }
}

#[test]
fn json_of_two_records_of_counts_has_what_each_counted() {
    let folder = tempfile::tempdir().unwrap();
    let files = ["a.json", "b.json"].map(|name| folder.path().join(name).display().to_string());
    for file in &files {
        let words = ["pmu", "kernel", "loop", "--machine", "sim:4c", "--json", file];
        assert_eq!(finish(cpudyno(&words)).code, Some(0));
    }
    let words = ["compare", &files[0], &files[1], "--format", "json"];
    let text = finish(cpudyno(&words)).success();
    let json: Value = serde_json::from_str(&text).unwrap();
    let counts = json["counts"].as_array().unwrap();
    assert_eq!(counts.len(), 2);
    for of_one in counts {
        let events = of_one["tables"][0]["events"].as_array().unwrap();
        let instructions = events.iter().find(|row| row["event"] == "instructions").unwrap();
        // A million times two, and nine around them.
        assert_eq!(instructions["count"], 2_000_009);
    }
}
