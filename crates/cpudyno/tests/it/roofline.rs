//! Rooflines: watts beside them, and work that is placed on them.

use serde_json::Value;

use crate::common::{Finished, finish};

fn cpudyno(args: &[&str]) -> Finished {
    finish(crate::common::cpudyno(args))
}

#[test]
fn kernels_lie_on_the_roofline_of_such_a_machine_and_of_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (roofline, counts) = (file("roofline.json"), file("counts.json"));
    cpudyno(&["turbo", "--datatypes", "--machine", "sim:4c", "--json", &roofline]).success();
    let placed = |more: &[&str]| {
        let usual = ["pmu", "kernel", "--machine", "sim:4c", "--roofline", &roofline];
        cpudyno(&[&usual, more].concat())
    };
    let page = placed(&["triad", "--json", &counts]).success();
    assert!(page.contains("Roofline of 1 CPU") && page.contains("L1 bounds it"), "{page}");
    let record: Value = serde_json::from_str(&std::fs::read_to_string(&counts).unwrap()).unwrap();
    let spot = &record["counts"]["tables"][0]["spot"];
    let number = |name: &str| spot[name].as_f64().unwrap();
    assert!((number("operations") / number("bytes") - 2.0 / 24.0).abs() < 1e-9, "{spot}");
    // What has no place says why.
    let copy = placed(&["copy"]).success();
    assert!(copy.contains("does no operations that are known"), "{copy}");
    let shown = cpudyno(&["show", &counts]).success();
    assert!(shown.contains("L1 bounds it"), "{shown}");
    for (args, text) in [
        (&["--machine", "sim:epyc", "--roofline", &roofline][..], "is of `"),
        (&["--roofline", &roofline], "is of `"),
        (&["--machine", "sim:4c", "--roofline", &counts], "has no roofline"),
    ] {
        let refused = cpudyno(&[&["pmu", "kernel", "triad"], args].concat());
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.stderr.contains(text), "{refused:?}");
    }
}

#[test]
fn watts_are_those_of_all_packages_under_each_stream() {
    let json = ["turbo", "--datatypes", "--machine", "sim:2s-56c", "--json", "-"];
    let record: Value = serde_json::from_str(&cpudyno(&json).success()).unwrap();
    let series = record["series"].as_array().unwrap();
    let its = |it: &&Value| it["area"] == "energy" && it["workload"] == "avx512_fma_t";
    let packages: Vec<f64> = series
        .iter()
        .filter(its)
        .filter(|it| it["quantity"] == "package_power")
        .map(|it| it["summary"]["median"].as_f64().unwrap())
        .collect();
    assert_eq!(packages.len(), 2, "{packages:?}");
    let page = cpudyno(&["turbo", "--datatypes", "--machine", "sim:2s-56c"]).success();
    let watts = format!("{:.0} W instead of", packages.iter().sum::<f64>());
    assert!(
        page.split_whitespace().collect::<Vec<_>>().join(" ").contains(&watts),
        "{watts} {page}"
    );
    let without = cpudyno(&["turbo", "--datatypes", "--machine", "sim:4c"]).success();
    assert!(!without.contains("per J"), "{without}");
}
