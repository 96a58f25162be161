//! Energy counters of simulated machines: those that tell the truth, and those that do not.

use machine::Machine;
use measure::areas::energy::ENERGY;
use measure::run::{AreaRequest, Request, Span};
use model::Seconds;
use model::record::Record;
use report::claim::{Claim, Verdict};
use rig::executor::Stop;
use rig::placement::Choice;
use simulated::{Fault, Model};

use crate::common::{LOOK, assert_near, measure};

/// What is measured of the energy counters of a machine with these faults.
fn counted(name: &str, cpus: Option<&str>, change: impl FnOnce(&mut Model)) -> Record {
    let mut model = Model::named(name).unwrap();
    change(&mut model);
    let machine = Machine::from(model);
    let request = Request {
        cpus: Choice::usual(cpus.map(|cpus| cpus.parse().unwrap())),
        streams: kernels::streams::SHEET.to_vec(),
        ..Request::new(
            Span::Budget(Seconds(10.0)),
            |plan| Ok(vec![AreaRequest { area: &ENERGY, proposal: ENERGY.proposal(plan) }]),
            vec!["test".to_owned()],
            LOOK,
        )
    };
    measure(&machine, &request, &Stop::default(), &mut |_| {}).unwrap()
}

fn claims(record: &Record) -> Vec<Claim> {
    let all = report::sheet::claims::claims(record).into_iter();
    all.filter(|claim| claim.what.starts_with("energy")).collect()
}

fn verdicts(name: &str, faults: &[Fault]) -> Vec<Verdict> {
    let record = counted(name, None, |model| model.faults.extend_from_slice(faults));
    claims(&record).into_iter().map(|claim| claim.verdict).collect()
}

#[test]
fn energy_counters_that_follow_their_own_load_are_as_claimed() {
    assert_eq!(verdicts("2s-28c", &[]), [Verdict::AsClaimed, Verdict::AsClaimed]);
    assert_eq!(verdicts("laptop", &[]), [Verdict::AsClaimed]);
    // Its limits of power are 28 and 52 W, and 4 W are drawn idle.
    let record = counted("laptop", None, |_| {});
    let series = |loaded: &str| {
        let mut all = record.series_of("energy", "package_power");
        all.find(|it| it.parameters["loaded"] == loaded).unwrap().summary().unwrap().median
    };
    assert_near(series("none"), 4.0, 0.01, "idle");
    assert_near(series("0"), 52.0, 0.02, "all cores at PL2");
}

#[test]
fn energy_counters_that_stand_still_are_refuted() {
    let found = verdicts("2s-28c", &[Fault::EnergyStandsStill]);
    assert_eq!(found, vec![Verdict::Differs("it stands still".to_owned()); 2]);
}

#[test]
fn swapped_energy_counters_are_refuted_by_the_load_that_raises_them() {
    let found = verdicts("2s-28c", &[Fault::EnergySwapped]);
    for (verdict, other) in std::iter::zip(&found, [1, 0]) {
        let Verdict::Differs(how) = verdict else { panic!("{found:?}") };
        assert!(how.starts_with(&format!("the load of package {other} raises it, by")), "{how}");
    }
    let found = verdicts("2s-28c", &[Fault::EnergyOfAll]);
    for verdict in &found {
        let Verdict::Differs(how) = verdict else { panic!("{found:?}") };
        assert!(how.contains("raises it, too, by"), "{how}");
    }
}

#[test]
fn energy_counters_of_a_wrong_unit_are_refuted_by_the_limit_of_power() {
    let how = |fault| match verdicts("laptop", &[fault]).remove(0) {
        Verdict::Differs(how) => how,
        other => panic!("{other:?}"),
    };
    // 16 times and a sixteenth of 52 W.
    assert_eq!(how(Fault::EnergyScaled), "16 times its limit (PL2 52 W)");
    // A short peak may be far above the limit that lasts, which is what too little is held against.
    assert!(how(Fault::EnergyShrunk).starts_with("12 % of its limit (PL1 28 W) with all cores"));
}

#[test]
fn energy_counters_under_a_few_cores_are_not_judged() {
    let record = counted("2s-28c", Some("0"), |model| {
        model.power.as_mut().unwrap().core_watts_per_ghz = 0.1;
    });
    let claims = claims(&record);
    let why = Verdict::CannotTell("1 of its 28 cores worked".to_owned());
    assert_eq!(claims[0].verdict, why, "{claims:#?}");
}

#[test]
fn machine_without_energy_counters_claims_none() {
    assert_eq!(verdicts("4c", &[]), []);
}
