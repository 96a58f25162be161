//! The published schema is that of the types. `cargo xtask generate` rewrites it.

use std::path::Path;

#[test]
fn the_schema_is_that_of_the_types() {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/record.schema.json");
    let expected = serde_json::to_string_pretty(&model::record::schema()).unwrap() + "\n";
    if std::env::var_os("UPDATE_GENERATED").is_some_and(|value| value == "1") {
        std::fs::write(&file, &expected).unwrap();
        return;
    }
    let current = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(current == expected, "{} is stale: run `cargo xtask generate`", file.display());
}
