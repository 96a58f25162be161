//! The page, and what of it a record alone decides.

use advice::threads::{Work, advice, page};
use model::record::Outcome;

use crate::exhaustive::{advised, named};

fn text(record: &model::record::Record, verbosity: u8) -> String {
    format!("{:?}", page(record, verbosity))
}

#[test]
fn a_quota_of_a_container_is_told_with_what_it_stops() {
    let (record, advice) = advised(&named("quota"));
    let threads = |work| advice.of(work).unwrap().threads;
    // 7 reach 0.915 of 7.65 CPUs, and 8 all of them.
    assert_eq!((threads(Work::Vector), threads(Work::Scalar)), (8, 8));
    let page = text(&record, 0);
    assert!(page.contains("96 busy threads use it up in 7.969 ms of each 100.0 ms"), "{page}");
    assert!(
        page.contains("8 threads of compute stand still for 4.375 ms of each period"),
        "{page}"
    );
    assert!(page.contains("taskset -c"), "{page}");
    let why = text(&record, 1);
    assert!(!page.contains("Why") && why.contains("Why"));
    assert!(!why.contains("memory gives"), "the quota stops more threads, not memory: {why}");
}

#[test]
fn a_pod_asks_for_whole_cores_where_a_node_can_have_them() {
    let (record, advice) = advised(&named("quota"));
    let compute = advice.of(Work::Vector).unwrap();
    let page = text(&record, 0);
    assert_eq!((compute.threads, record.machine.topology.online.len()), (8, 96));
    assert!(page.contains("{requests: {cpu: 16}, limits: {cpu: 16}}"), "{page}");
    assert!(page.contains("16 CPUs are whole cores for 8 threads"), "{page}");
    // One thread on each of 16 cores takes all 32 CPUs.
    let (record, advice) = advised(&named("epyc"));
    assert_eq!(advice.of(Work::Vector).unwrap().threads, 16);
    let page = text(&record, 0);
    assert!(!page.contains("resources:") && page.contains("the cores of 32 CPUs, all"), "{page}");
}

#[test]
fn why_a_curve_bends_is_said_by_what_siblings_did() {
    let of = |name| text(&advised(&named(name)).0, 1);
    let epyc = of("epyc");
    let gains = "siblings pay for instructions that wait for each other and short steps between barriers; \
                 they add nothing to saturated units and bandwidth.";
    assert!(
        epyc.contains(&format!("Beyond 16 threads some of them share a core: {gains}")),
        "{epyc}"
    );
    assert!(epyc.contains("memory gives at most 5 % more"), "{epyc}");
    let hybrid = of("hybrid");
    assert!(
        hybrid.contains("All cores, E and LP-E among them, do 1.59 times as much as the 4 P cores")
    );
}

#[test]
fn what_was_not_measured_is_missing_with_its_reason() {
    let (mut record, whole) = advised(&named("laptop"));
    assert!(whole.of(Work::Bandwidth).is_some() && whole.missing.is_empty());
    let reason = model::Unavailable::new(model::Obstacle::Measurement, "triad", "no room");
    for series in record.series.iter_mut().filter(|series| series.area == "memory") {
        series.outcome = Outcome::Unavailable { unavailable: reason.clone() };
    }
    let less = advice(&record);
    assert_eq!(less.of(Work::Bandwidth), None);
    let reasons: Vec<_> = less.missing.iter().map(|it| (it.area.as_str(), &it.reason)).collect();
    assert_eq!(reasons, [("memory", &reason)]);
    assert_eq!(less.why_not(Work::Bandwidth), Some(&reason));
    assert_eq!(less.why_not(Work::Vector), None, "streams were measured");
    assert!(text(&record, 0).contains("no room"));
    record.series.clear();
    let none = advice(&record);
    assert!(none.proposals.is_empty() && none.scalar_cores.value().is_none());
    let page = text(&record, 1);
    assert!(page.contains("Not measured") && page.contains("no stream was measured"), "{page}");
    assert!(!page.contains("To paste"), "{page}");
}

#[test]
fn the_advice_is_json_without_null() {
    let (_, advice) = advised(&named("hybrid"));
    let json = serde_json::to_string(&advice).unwrap();
    assert!(
        json.contains("\"work\":\"equal_parts\"") && json.contains("\"step_seconds\""),
        "{json}"
    );
    assert!(json.contains("\"slower_cores\":{\"handed_out\""), "{json}");
}

#[test]
fn equal_parts_beside_other_work_take_no_more_threads_than_long_steps() {
    use model::Known;
    use model::record::{BUSY_CPUS, FactValue, Samples};
    let (mut record, quiet) = advised(&named("laptop"));
    assert_eq!(quiet.of(Work::EqualParts), None);
    // One region in four of every team waits thirty times as long.
    for series in record.series.iter_mut().filter(|it| it.quantity == "loop_time") {
        let median = series.summary().unwrap().median;
        if series.active.len() > 1 {
            let block = vec![median, median, median, median * 31.0];
            let samples = Samples::Plain(vec![block; 5]);
            let summary = samples.summary().unwrap();
            series.outcome = Outcome::Measured { samples, summary };
        }
    }
    let unsaid = advice(&record);
    assert_eq!(unsaid.of(Work::EqualParts), None, "nobody else is busy");
    let alone = "if nobody else used them";
    assert!(!text(&record, 0).contains(alone));
    let busy = FactValue::Text("CPU 0 (95 % by `rustc`), CPU 1 (90 %), CPU 2 (95 %)".to_owned());
    let said =
        &mut record.conditions.before.iter_mut().find(|it| it.id == BUSY_CPUS).unwrap().value;
    *said = Known::Yes(busy);
    let beside = advice(&record);
    let threads = |work| beside.of(work).unwrap().threads;
    assert_eq!(threads(Work::EqualParts), threads(Work::Steps(advice::threads::STEPS[2])));
    assert!(threads(Work::EqualParts) < threads(Work::Vector));
    assert!(text(&record, 0).contains(alone), "{}", text(&record, 0));
    let [less, all] = [&beside, &quiet].map(|it| *it.scalar_cores.value().unwrap());
    assert!(less < all, "{less} {all}");
}
