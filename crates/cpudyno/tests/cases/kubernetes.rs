//! Manifests, that of `cpudyno fleet plan --kubernetes` and those of `contrib/`: the published schema of Kubernetes allows
//! them.
//!
//! Where the schemas or Debian's `python3-yaml` and `python3-jsonschema` are not installed, the cases are shown as
//! ignored; `CPUDYNO_NEEDS_KUBERNETES=1`, which the project's check sets, makes them fail there.

use std::fs;
use std::path::Path;

use crate::common::{Finished, cpudyno, finish, program};
use crate::contrib::contrib;
use libtest_mimic::{Failed, Trial};
use serde_json::Value;

/// That of Debian, whose packages others have not.
const PYTHON: &str = "/usr/bin/python3";

/// The package of schemas, as the project's check installs it.
const SCHEMAS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../target/tools/kubernetes_validate/kubernetes-json-schema/v1.37.0-local-strict"
);

/// Holds a manifest against the schema of its kind, where nothing else is allowed; prints it as JSON. The schema
/// refers to others by addresses of the network, which lie beside it.
const VALIDATE: &str = "\
import json, sys, yaml
from jsonschema import Draft7Validator, RefResolver
folder, file = sys.argv[1:]
manifest = yaml.safe_load(open(file))
kind = manifest['kind'] + '/' + manifest['apiVersion']
schema = json.load(open(folder + '/' + kind.lower().replace('/', '-') + '.json'))
load = lambda url: json.load(open(folder + '/' + url.rsplit('/', 1)[1]))
resolver = RefResolver.from_schema(schema, handlers={'https': load, 'file': load})
errors = list(Draft7Validator(schema, resolver=resolver).iter_errors(manifest))
for error in errors:
    print('/'.join(map(str, error.absolute_path)), error.message, file=sys.stderr)
print(json.dumps(manifest))
sys.exit(9 if errors else 0)
";

pub(crate) fn trials() -> Vec<Trial> {
    let is_needed = std::env::var_os("CPUDYNO_NEEDS_KUBERNETES").is_some();
    let probe = program(PYTHON).args(["-c", "import yaml, jsonschema"]).output();
    let lacking = if !Path::new(SCHEMAS).is_dir() {
        Some("its schemas are not there")
    } else if !probe.is_ok_and(|done| done.status.success()) {
        Some("`import yaml, jsonschema` fails")
    } else {
        None
    };
    let lacking = lacking.filter(|_| !is_needed);
    let trial = |name: &str, case: fn() -> Result<(), Failed>| {
        let name = lacking.map_or_else(|| name.to_owned(), |why| format!("{name}: {why}"));
        Trial::test(format!("kubernetes::{name}"), case).with_ignored_flag(lacking.is_some())
    };
    vec![
        trial("manifests_are_what_the_schema_allows", manifests),
        trial("a_manifest_with_a_wrong_word_is_none", wrong_words),
        trial("the_daemon_set_measures_its_node_and_writes_where_others_read", daemon_set),
    ]
}

fn plan(more: &[&str]) -> String {
    let plan = ["fleet", "plan", "--kubernetes"];
    finish(cpudyno(&[&plan[..], more].concat())).success()
}

fn validated(text: &str) -> Result<Finished, Failed> {
    let file = tempfile::NamedTempFile::new()?;
    fs::write(file.path(), text)?;
    let mut python = program(PYTHON);
    python.args(["-W", "ignore", "-c", VALIDATE, SCHEMAS]).arg(file.path());
    Ok(finish(python))
}

fn manifests() -> Result<(), Failed> {
    let image = ["--image", "registry.example:5000/cpudyno@sha256:\"12\""];
    let named = ["--hosts", "n[1-3]", "--to", "/srv/it's \"here\": #1"];
    let any = ["--hosts", "500", "--claim", "records", "--", "--streams", "scalar_iadd"];
    let read = |more: &[&str]| -> Result<Value, Failed> {
        Ok(serde_json::from_str(&validated(&plan(&[&image[..], more].concat()))?.success())?)
    };
    let named = read(&named)?;
    assert_eq!(named["kind"], "Job");
    let pod = |manifest: &Value| manifest["spec"]["template"]["spec"].clone();
    let nodes = &pod(&named)["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        ["nodeSelectorTerms"][0]["matchExpressions"][0];
    assert_eq!(nodes["values"], serde_json::json!(["n1", "n2", "n3"]));
    assert_eq!(pod(&named)["volumes"][0]["hostPath"]["path"], "/srv/it's \"here\": #1");
    let any = read(&any)?;
    assert_eq!(any["spec"]["completions"], 500);
    assert_eq!(pod(&any)["affinity"]["nodeAffinity"], Value::Null);
    assert_eq!(pod(&any)["volumes"][0]["persistentVolumeClaim"]["claimName"], "records");
    let words = ["cpudyno", "sheet", "--budget", "30s", "--stagger", "60s"];
    let words = [&words[..], &["--streams", "scalar_iadd", "--json", "/records/"]].concat();
    assert_eq!(pod(&any)["containers"][0]["command"], serde_json::json!(words));
    for manifest in [named, any] {
        let pod = pod(&manifest);
        let container = &pod["containers"][0];
        assert_eq!(container["image"], image[1]);
        // One pod to a node, whichever run it is of.
        let apart = &pod["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
            [0];
        assert_eq!(apart["topologyKey"], "kubernetes.io/hostname");
        let labels = &manifest["spec"]["template"]["metadata"]["labels"];
        assert_eq!(&apart["labelSelector"]["matchLabels"], labels);
        assert_eq!(manifest["spec"]["completionMode"], "Indexed");
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
        assert_eq!(container["securityContext"]["allowPrivilegeEscalation"], false);
        assert_eq!(container["securityContext"]["capabilities"]["drop"][0], "ALL");
        assert_eq!(container["resources"]["limits"], Value::Null);
    }
    Ok(())
}

fn wrong_words() -> Result<(), Failed> {
    let text = plan(&["--image", "i", "--hosts", "3", "--claim", "records"]);
    for (right, wrong) in [
        ("completions:", "complitions:"),
        ("restartPolicy: Never", "restartPolicy: [Never]"),
        ("drop: [ALL]", "drop: ALL"),
        ("fieldRef:", "fieldReference:"),
    ] {
        assert!(text.contains(right), "{right}");
        let done = validated(&text.replace(right, wrong))?;
        assert_eq!(done.code, Some(9), "{wrong}: {done:?}");
    }
    Ok(())
}

fn daemon_set() -> Result<(), Failed> {
    let text = fs::read_to_string(contrib("kubernetes/daemonset.yaml"))?;
    let manifest: Value = serde_json::from_str(&validated(&text)?.success())?;
    assert_eq!(manifest["kind"], "DaemonSet");
    let template = &manifest["spec"]["template"];
    let labels = &template["metadata"]["labels"];
    assert_eq!(&manifest["spec"]["selector"]["matchLabels"], labels);
    let pod = &template["spec"];
    let container = &pod["containers"][0];
    assert_eq!(container["resources"]["limits"], Value::Null, "it would be measured");
    assert_eq!(container["securityContext"]["capabilities"]["drop"][0], "ALL");
    let mounted = |path: &str| {
        let mounts = container["volumeMounts"].as_array().unwrap().iter();
        let name = &mounts.clone().find(|mount| mount["mountPath"] == path).unwrap()["name"];
        let volumes = pod["volumes"].as_array().unwrap().iter();
        let volume = volumes.clone().find(|volume| &volume["name"] == name).unwrap();
        volume["hostPath"]["path"].as_str().unwrap().to_owned()
    };
    assert_eq!(mounted("/features.d"), "/etc/kubernetes/node-feature-discovery/features.d");
    assert!(mounted("/textfile").starts_with('/'));
    // Its line is one that the program takes.
    let script = container["command"][2].as_str().ok_or("a script")?;
    let line = script.lines().find(|line| line.contains("cpudyno gate")).ok_or("a call")?;
    let (line, _) = line.split_once(" &").ok_or("it is waited for")?;
    let folder = tempfile::tempdir()?;
    for name in ["/textfile", "/features.d"] {
        fs::create_dir(folder.path().join(&name[1..]))?;
    }
    let line = line.replace(" /", &format!(" {}/", folder.path().display()));
    let args: Vec<&str> = line.split_whitespace().skip(1).collect();
    let without: Vec<&str> =
        args.iter().copied().filter(|word| !["--stagger", "10m"].contains(word)).collect();
    assert_eq!(without.len() + 2, args.len());
    let done = finish(cpudyno(&[&without[..], &["--machine", "sim:4c"]].concat()));
    assert!(done.code == Some(0) && done.stdout.starts_with('{'), "{done:?}");
    for file in ["textfile/cpudyno.prom", "features.d/cpudyno"] {
        assert!(folder.path().join(file).is_file(), "{file}");
    }
    Ok(())
}
