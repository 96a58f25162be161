//! Answers of real threads, some of which are made to compute with a wrong constant.

use std::sync::Arc;

use kernels::Data;
use kernels::patterns::{OPS_MAX, Pattern};
use kernels::streams::find;
use machine::Machine;
use model::{CpuId, Hertz, Rate, Seconds};
use rig::checking::{CheckedWork, Checking, KEPT, RawChecked};
use rig::executor::threads::Threads;
use rig::executor::{Executor, Stop};
use rig::streams;
use sys::clock::MonotonicRaw;

fn compared(work: CheckedWork, expected: Option<u64>) -> Vec<RawChecked> {
    let cpus: Vec<CpuId> = sys::affinity::current().unwrap().iter().take(2).collect();
    let rate = Rate::new(Hertz(1e9));
    let mut executor = Threads::new(MonotonicRaw::new().unwrap(), rate, None, Stop::default());
    let job = Checking { cpus: cpus.clone(), work, expected, time: Seconds(2e-3), calls_max: None };
    let raw = executor.compare(&job).unwrap();
    assert!(raw.iter().map(|it| it.cpu).eq(cpus));
    assert!(raw.iter().all(|it| it.calls > 0));
    raw
}

/// A stream that computes with one pattern, and the answer that it has with another.
fn stream(id: &str, computes: Pattern, expects: Pattern) -> Vec<RawChecked> {
    let row = find(id).unwrap();
    let load = streams::load(&Machine::real(), row, Data::Toggling).unwrap();
    let iterations = row.iterations_of(OPS_MAX);
    let expected = row.expected(iterations, &expects.operands());
    let operands = Arc::new(computes.operands());
    compared(CheckedWork::Stream { load, row, operands, iterations }, Some(expected))
}

#[test]
fn right_answers_are_right_and_a_wrong_constant_is_found_on_every_cpu() {
    for id in ["scalar_iadd"] {
        let right = stream(id, Pattern::Random(7), Pattern::Random(7));
        assert!(right.iter().all(|it| it.wrong == 0 && it.first.is_empty()), "{right:?}");
        let wrong = stream(id, Pattern::Random(8), Pattern::Random(7));
        for it in wrong {
            assert_eq!((it.wrong, it.first.len()), (it.calls, KEPT.min(it.calls as usize)));
            let first = it.first[0];
            assert!(first.got == it.answer && first.got != first.expected && first.call == 0);
        }
    }
}

#[test]
fn who_asks_for_an_answer_gets_the_reference() {
    let row = find("scalar_iadd").unwrap();
    let operands = Arc::new(Pattern::WalkingOne(40).operands());
    let expected = row.expected(9, &operands);
    let raw = compared(CheckedWork::Reference { row, operands, iterations: 9 }, None);
    assert!(raw.iter().all(|it| it.answer == expected && it.calls == 1 && it.wrong == 0));
}

#[test]
fn every_way_to_move_data_leaves_the_right_numbers() {
    for kernel in kernels::memory::TABLE {
        for transfer in streams::transfers(&Machine::real(), kernel, kernel.variants).flatten() {
            for length in [1 << 12, (1 << 15) + 3] {
                let raw = compared(CheckedWork::Memory { transfer, length, trips: 3 }, None);
                assert!(raw.iter().all(|it| it.wrong == 0), "{} {raw:?}", transfer.variant.id);
            }
        }
    }
}
