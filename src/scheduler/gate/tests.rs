use super::*;

const LOW: Entropy = Entropy(0);
const HIGH: Entropy = Entropy(u64::MAX);

#[test]
fn the_wait_is_never_shorter_than_asked_for() {
    let asked = Some(Span::from_secs(10));
    assert_eq!(Gate::OPEN.wait(asked, LOW), Span::from_secs(10));
    assert_eq!(Gate::OPEN.wait(asked, HIGH), Span::from_millis(14_400));
}

#[test]
fn without_a_plausible_wish_it_doubles_from_a_second_to_a_minute() {
    let waits = |retry_after| {
        let mut gate = Gate::OPEN;
        let mut waits = Vec::new();
        for _ in 0..8 {
            gate.release(job(1));
            let wait = gate.wait(retry_after, LOW);
            waits.push(wait.as_secs_rounded_up());
            gate.refuse(job(1), wait, at(0));
        }
        waits
    };
    let doubling = vec![1, 2, 4, 8, 16, 32, 60, 60];
    assert_eq!(waits(None), doubling);
    assert_eq!(waits(Some(Span::ZERO)), doubling);
    assert_eq!(waits(Some(Span::from_secs(86_400))), doubling);
}

#[test]
fn only_the_probe_opens_it() {
    let mut gate = Gate::OPEN;
    gate.refuse(job(1), Span::from_secs(1), at(0));
    gate.answer(job(2), Evidence::Passed, (0, 4), at(500));
    assert_eq!(gate.opens_at(0), Some(at(1_000)));
    gate.release(job(3));
    gate.answer(job(2), Evidence::Passed, (0, 4), at(1_500));
    assert_eq!(gate.opens_at(0), None);
    gate.answer(job(3), Evidence::Passed, (0, 4), at(1_600));
    assert_eq!(gate, Gate::OPEN, "four may go: all slots");
}

#[test]
fn an_unclear_probe_is_repeated_at_once() {
    let mut gate = Gate::OPEN;
    gate.refuse(job(1), Span::from_secs(1), at(0));
    gate.release(job(1));
    gate.answer(job(1), Evidence::Unclear, (0, 4), at(2_000));
    assert_eq!(gate.opens_at(0), Some(at(2_000)));
}

#[test]
fn late_refusals_prolong_the_wait_but_do_not_double_it() {
    let mut gate = Gate::OPEN;
    for late in 1..=5 {
        gate.refuse(job(late), Span::from_secs(late), at(0));
    }
    assert_eq!(gate.opens_at(0), Some(at(5_000)));
    assert_eq!(gate.wait(None, LOW), Span::from_secs(1));
}

fn job(number: u64) -> JobId {
    JobId::new(at(number), [LOW, LOW])
}

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

#[test]
fn three_faults_in_a_row_close_it_but_not_those_of_one_job() {
    let mut gate = Gate::OPEN;
    let fault = |gate: &mut Gate, of| gate.fault(job(of), Span::from_secs(1), 3, at(0));
    for _ in 0..9 {
        fault(&mut gate, 1);
    }
    fault(&mut gate, 2);
    fault(&mut gate, 1);
    assert_eq!(gate.opens_at(0), Some(at(0)));
    fault(&mut gate, 3);
    assert_eq!(gate.opens_at(0), Some(at(1_000)));
}

#[test]
fn an_answer_in_between_means_it_is_not_down() {
    let mut gate = Gate::OPEN;
    for number in 1..=9 {
        gate.fault(job(number), Span::from_secs(1), 3, at(0));
        gate.answer(job(100), Evidence::Passed, (0, 4), at(0));
    }
    assert_eq!(gate, Gate::OPEN);
}

#[test]
fn after_an_outage_each_answer_lets_one_more_go() {
    let mut gate = Gate::ramp(2, 4);
    assert_eq!(gate.opens_at(1), Some(at(0)));
    assert_eq!(gate.opens_at(2), None);
    gate.answer(job(1), Evidence::Passed, (0, 4), at(0));
    assert_eq!(gate.opens_at(2), Some(at(0)));
    gate.answer(job(2), Evidence::Passed, (0, 4), at(0));
    assert_eq!(gate, Gate::OPEN, "all four slots");
}

#[test]
fn probes_are_patient_for_a_minute_and_rarer_after_that() {
    let wait = |refusals| Gate::Probing { job: job(1), refusals }.outage(None, LOW);
    let waits = [1, 30, 31, 33, 34, 1_000].map(wait).map(Span::as_secs_rounded_up);
    assert_eq!(waits, [2, 2, 4, 16, 30, 30]);
    assert_eq!(Gate::OPEN.outage(None, HIGH), Span::from_millis(1_300));
    assert_eq!(Gate::OPEN.outage(Some(Span::from_secs(9)), LOW), Span::from_secs(9));
}

#[test]
fn one_fault_does_not_end_a_ramp() {
    let mut gate = Gate::ramp(2, 9);
    let fault = |gate: &mut Gate, of| gate.fault(job(of), Span::from_secs(1), 3, at(0));
    fault(&mut gate, 1);
    fault(&mut gate, 2);
    gate.answer(job(3), Evidence::Passed, (0, 9), at(0));
    fault(&mut gate, 4);
    fault(&mut gate, 5);
    assert_eq!(gate.opens_at(2), Some(at(0)), "three may go");
    fault(&mut gate, 6);
    assert_eq!(gate.opens_at(2), Some(at(1_000)));
}
