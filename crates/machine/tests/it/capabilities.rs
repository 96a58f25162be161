//! What can be tried is told, each with what its absence costs.

#[test]
fn every_capability_says_what_it_is_good_for() {
    let about: Vec<&str> = report::capabilities().collect();
    let mut ids: Vec<&str> = machine::doctor::ids().collect();
    assert_eq!(about.len(), ids.len());
    ids.retain(|id| !about.contains(id));
    assert!(ids.is_empty(), "{ids:?}");
}
