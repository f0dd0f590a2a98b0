//! The scheduler against a model of it, over any order of steps: the same
//! effects, and the laws. A failing run is shrunk, printed, and kept in
//! `proptest-regressions/`.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod model;
#[path = "model/world.rs"]
mod world;

use claude_pipeline::{domain::*, scheduler::*};
use model::{Entry, Model};
use proptest::{prelude::*, test_runner::FileFailurePersistence};
use std::collections::BTreeMap;
use world::{World, id, on, usage};

#[derive(Clone, Debug)]
enum Step {
    Submit {
        number: u64,
        priority: Priority,
        model: usize,
        tokens: (u64, u64),
        attempts: u32,
    },
    Settle {
        pick: usize,
        outcome: Outcome,
        limits: Option<RateLimits>,
        chance: u64,
    },
    SettleStale {
        pick: usize,
        outcome: Outcome,
    },
    Cancel {
        number: u64,
    },
    Pass {
        millis: u64,
    },
    /// To the next deadline, once just before it.
    Sleep,
    Rewind {
        millis: u64,
    },
    Restart,
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct("proptest-regressions/scheduler.txt"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn it_does_what_the_model_does(steps in prop::collection::vec(step(told()), 0..120)) {
        let mut trial = Trial::new();
        for step in steps {
            trial.take(step);
        }
        trial.finish();
    }

    #[test]
    fn it_stays_within_the_limits(steps in prop::collection::vec(step(untold()), 0..120)) {
        let mut trial = Trial::new();
        for step in steps {
            trial.take(step);
        }
        trial.finish();
        assert_within_limits(&trial.model.ledger);
    }
}

/// The scheduler on its stage, and the model beside it.
struct Trial {
    world: World,
    model: Model,
    leased: BTreeMap<JobId, u32>,
}

impl Trial {
    fn new() -> Self {
        let world = World::new(config());
        Self { model: Model::new(config(), world.now), world, leased: BTreeMap::new() }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Submit { number, priority, model, tokens: (input, output), attempts } => {
                let submission = Submission {
                    priority,
                    estimate: usage(input, output),
                    attempts,
                    ..on(MODELS[model], number)
                };
                self.model.submit(submission.clone());
                self.world.scheduler.submit(submission, self.world.now);
            }
            Step::Settle { pick, outcome, limits, chance } => {
                self.settle(pick, 0, outcome, limits, chance);
            }
            Step::SettleStale { pick, outcome } => self.settle(pick, 1, outcome, None, 0),
            Step::Cancel { number } => {
                self.model.cancel(id(number));
                self.world.scheduler.cancel(id(number), self.world.now);
            }
            Step::Pass { millis } => self.world.now = self.world.now + Span::from_millis(millis),
            Step::Sleep => return self.sleep(),
            Step::Rewind { millis } => {
                let now = self.world.now.as_millis().saturating_sub(millis);
                self.world.now = Timestamp::from_millis(now);
            }
            Step::Restart => self.world.restart(),
        }
        self.compare();
    }

    fn settle(
        &mut self,
        pick: usize,
        off: u32,
        outcome: Outcome,
        limits: Option<RateLimits>,
        chance: u64,
    ) {
        let running: Vec<_> = self.leased.iter().collect();
        let Some(&(&job, &lease)) = running.get(pick % running.len().max(1)) else {
            return;
        };
        let settlement = Settlement { job, lease: lease + off, outcome, limits };
        self.model.settle(&settlement, Entropy(chance));
        let verdict = self.world.scheduler.settle(settlement, self.world.now, Entropy(chance));
        assert_eq!(verdict.is_some(), off == 0, "only the present lease can be settled");
        if off == 0 {
            self.leased.remove(&job);
        }
    }

    /// Nothing happens before the deadline.
    fn sleep(&mut self) {
        let Some((at, _)) = self.world.scheduler.next_deadline() else {
            return;
        };
        if at > self.world.now {
            self.world.now = Timestamp::from_millis(at.as_millis() - 1);
            self.compare();
            assert!(self.world.log.is_empty(), "something happened before its time");
            self.world.now = at;
        }
        self.compare();
    }

    /// Both do what they can now: it must be the same.
    fn compare(&mut self) {
        self.world.clear();
        self.world.turn();
        self.model.see(self.world.now);
        self.model.dispatch();
        let effects: Vec<_> = self.world.log.iter().map(|(_, effect)| *effect).collect();
        assert_eq!(effects, std::mem::take(&mut self.model.effects));
        for effect in effects {
            if let Effect::Release(release) = effect {
                let twice = self.leased.insert(release.job, release.lease);
                assert_eq!(twice, None, "leased twice");
            }
        }
        assert!(self.leased.len() <= config().slots as usize);
        assert_eq!(self.world.rows.len(), self.model.jobs.len(), "a job was lost, or kept");
    }

    /// Every job ends, once attempts are answered.
    fn finish(&mut self) {
        for _ in 0..2_000 {
            if self.model.jobs.is_empty() {
                break;
            }
            if self.leased.is_empty() {
                self.sleep();
            } else {
                let usage = usage(10, 10);
                self.settle(0, 0, Outcome::Completed { usage }, None, 0);
                self.compare();
            }
        }
        assert!(self.world.rows.is_empty(), "a job waits for ever");
        assert_eq!(self.world.scheduler.next_deadline(), None);
    }
}

/// Law 5: in no window more than its refill and one burst, unless a single
/// call is larger than that.
fn assert_within_limits(ledger: &[Entry]) {
    let Limits { requests, input, output } = config().limits;
    for (first, begin) in ledger.iter().enumerate() {
        let (mut sum, mut oversize) = ([0; 3], [0; 3]);
        for entry in ledger[first..].iter().filter(|entry| entry.class == begin.class) {
            for (bucket, limit) in [requests, input, output].into_iter().enumerate() {
                sum[bucket] += entry.charged[bucket];
                oversize[bucket] =
                    entry.reserved[bucket].saturating_sub(limit).max(oversize[bucket]);
                let refill = limit * (entry.at - begin.at) / 60_000;
                assert!(
                    sum[bucket] <= refill + limit + oversize[bucket],
                    "bucket {bucket} overrun"
                );
            }
        }
    }
}

fn config() -> Config {
    Config {
        slots: 3,
        limits: Limits { requests: 20, input: 10_000, output: 5_000 },
        free_throttles: 3,
        ..Config::default()
    }
}

fn step(limits: BoxedStrategy<Option<RateLimits>>) -> impl Strategy<Value = Step> {
    let priority = prop::sample::select(Priority::ALL.to_vec());
    let tokens = prop_oneof![9 => (0..2_000_u64, 0..2_000_u64), 1 => (0..40_000_u64, 0..u64::MAX)];
    let submit =
        (0..60_u64, priority, 0..MODELS.len(), tokens, prop_oneof![9 => 0..2_u32, 1 => 0..6_u32]);
    prop_oneof![
        6 => submit.prop_map(|(number, priority, model, tokens, attempts)| {
            Step::Submit { number, priority, model, tokens, attempts }
        }),
        6 => (any::<usize>(), outcome(), limits, any::<u64>()).prop_map(
            |(pick, outcome, limits, chance)| Step::Settle { pick, outcome, limits, chance }),
        1 => (any::<usize>(), outcome()).prop_map(|(pick, outcome)| Step::SettleStale { pick, outcome }),
        1 => (0..60_u64).prop_map(|number| Step::Cancel { number }),
        2 => prop_oneof![0..3_000_u64, 0..90_000_u64, 0..90_000_000_u64].prop_map(|millis| Step::Pass { millis }),
        3 => Just(Step::Sleep),
        1 => prop_oneof![0..10_000_u64, 0..9_000_000_u64].prop_map(|millis| Step::Rewind { millis }),
        1 => Just(Step::Restart),
    ]
}

fn outcome() -> impl Strategy<Value = Outcome> {
    let wish = || prop::option::of(prop_oneof![0..60_u64, 0..100_000_u64]);
    prop_oneof![
        6 => (0..3_000_u64, 0..3_000_u64).prop_map(|(input, output)| Outcome::Completed { usage: usage(input, output) }),
        1 => Just(world::permanent()),
        3 => wish().prop_map(world::transient),
        3 => wish().prop_map(world::throttled),
        1 => prop::sample::select(vec![AccountFault::Credentials, AccountFault::SpendLimit]).prop_map(world::account),
        2 => prop::sample::select(vec![Outcome::NotStarted, Outcome::Lost, Outcome::AlreadyEnded]),
    ]
}

/// The upstream says something of its limits now and then.
fn told() -> BoxedStrategy<Option<RateLimits>> {
    let level = |limits: std::ops::Range<u64>| {
        let most = limits.end;
        prop::option::of((limits, 0..most).prop_map(|(limit, remaining)| BucketLevel {
            limit,
            remaining,
            reset: None,
        }))
    };
    let limits = (level(0..40), level(0..20_000), level(0..10_000));
    let limits =
        limits.prop_map(|(requests, input, output)| RateLimits { requests, input, output });
    prop::option::weighted(0.3, limits).boxed()
}

fn untold() -> BoxedStrategy<Option<RateLimits>> {
    Just(None).boxed()
}

const MODELS: [&str; 3] = ["claude-sonnet-4-6", "claude-opus-5", "claude-haiku-4-5"];
