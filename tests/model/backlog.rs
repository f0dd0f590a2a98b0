//! Law 7: who waits gets a share, however much work others have.
use crate::{
    model::{Entry, Place},
    steps::Draw,
    trial::Trial,
    world::{job, usage},
};
use claude_pipeline::{domain::*, scheduler::*};

/// Somebody who never runs out of work.
struct Busy {
    tenant: &'static str,
    plan: Plan,
    priority: Priority,
    /// The inputs of their jobs.
    sizes: std::ops::Range<u64>,
}

#[test]
fn a_priority_gets_its_floor() {
    for policy in [Policy::Bounded, Policy::Weights] {
        let order = Ordering { policy, ..Ordering::default() };
        let config = Config { order, ..config() };
        let busy = [
            busy("acme", Plan::Free, Priority::Critical, 200..1_500),
            busy("bolt", Plan::Free, Priority::Standard, 200..1_500),
            busy("core", Plan::Free, Priority::Batch, 200..1_500),
        ];
        let trial = work(&config, &busy);
        let all = paid(&trial, |_| true);
        for priority in Priority::ALL {
            let theirs = paid(&trial, |entry| entry.rank == priority);
            let floor = all * i128::from(*config.order.weights.get(priority)) / 100;
            // The leads of 72 and 24 seconds, and two jobs.
            let slack = 1_000 * (72 + 24) + 2 * 1_500;
            assert!(theirs >= floor - slack, "{policy:?} {priority}: {theirs} of {all}");
        }
    }
}

#[test]
fn a_tenant_gets_its_share() {
    for quantum in [None, Some(Tokens::new(300)), Some(Tokens::new(2_000))] {
        let order = Ordering { quantum, ..Ordering::default() };
        let config = Config { order, ..config() };
        let busy = [
            busy("acme", Plan::Pro, Priority::Standard, 200..500),
            busy("bolt", Plan::Free, Priority::Standard, 1_000..1_500),
            busy("core", Plan::Free, Priority::Standard, 200..1_500),
        ];
        let trial = work(&config, &busy);
        let all = paid(&trial, |_| true);
        for busy in &busy {
            let theirs = paid(&trial, |entry| entry.tenant.as_str() == busy.tenant);
            let weight = if busy.plan == Plan::Pro { 3 } else { 1 };
            let share = all * weight / 5;
            let quantum = i128::from(quantum.map_or(1_500, Tokens::get));
            let slack = quantum * i128::from(config.order.burst_quanta + 1) + 1_500;
            assert!(theirs >= share - slack, "{}: {theirs} of {all}", busy.tenant);
        }
    }
}

/// What so many minutes bring.
fn work(config: &Config, busy: &[Busy]) -> Trial {
    let (mut trial, mut draw, mut number) = (Trial::new(config), Draw(1), 0);
    for _ in 0..MINUTES * 300 {
        for busy in busy {
            while waiting(&trial, busy) < 80 {
                number += 1;
                let size = busy.sizes.start + draw.below(busy.sizes.end - busy.sizes.start);
                trial.submit(Submission {
                    tenant: TenantId::try_from(busy.tenant.to_owned()).unwrap(),
                    plan: busy.plan,
                    priority: busy.priority,
                    estimate: usage(size, 0),
                    ..job(number)
                });
            }
        }
        trial.compare();
        trial.now = trial.now + Span::from_millis(200);
        for (job, lease) in trial.leased.clone() {
            let at = trial.model.find(job).unwrap();
            let usage = trial.model.jobs[at].submission.estimate;
            trial.settle(job, lease, Outcome::Completed { usage }, None, 0);
        }
        trial.compare();
    }
    let all = paid(&trial, |_| true);
    assert!(all > 60_000 * i128::from(MINUTES), "the class stood idle: {all}");
    trial
}

fn paid(trial: &Trial, by: impl Fn(&Entry) -> bool) -> i128 {
    let theirs = trial.model.ledger.iter().filter(|entry| by(entry));
    theirs.map(|entry| entry.price).sum()
}

fn waiting(trial: &Trial, busy: &Busy) -> usize {
    let theirs = trial.model.jobs.iter().filter(|job| {
        let submission = &job.submission;
        submission.tenant.as_str() == busy.tenant && submission.priority == busy.priority
    });
    theirs.filter(|job| matches!(job.place, Place::Waiting(_))).count()
}

const fn busy(
    tenant: &'static str,
    plan: Plan,
    priority: Priority,
    sizes: std::ops::Range<u64>,
) -> Busy {
    Busy { tenant, plan, priority, sizes }
}

/// A thousand tokens of input a second, and more than enough of all else.
fn config() -> Config {
    Config {
        slots: 1_000,
        limits: Limits { requests: 300, input: 60_000, output: 60_000 },
        demotion: DemotionRules { daily_input: Tokens::ZERO, ..DemotionRules::default() },
        ..Config::default()
    }
}

const MINUTES: u64 = 6;
