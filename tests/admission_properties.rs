//! Whatever happens in whatever order, the house is never over its bound, and
//! empty in the end; a naive count of jobs and places agrees at every step.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]
#[path = "model/house.rs"]
mod house;
#[path = "model/world.rs"]
mod world;

use claude_pipeline::domain::*;
use claude_pipeline::scheduler::*;
use house::Naive;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use world::{World, by, completed, id, job, secs, tenant_of};

/// One thing that happens. Numbers are taken modulo what there is.
#[derive(Clone, Debug)]
enum Step {
    /// A request comes, or asks for more.
    Knock {
        request: u64,
        jobs: u32,
        /// So many on top, if there are.
        ahead: u32,
    },
    /// A request stores its jobs, and they take their places.
    Submit {
        request: u64,
    },
    /// The job in whose name the places are held comes.
    Named {
        request: u64,
    },
    /// A request's jobs come by the sweep: its door died.
    Sweep {
        request: u64,
    },
    /// A request comes to nothing.
    GiveBack {
        request: u64,
    },
    /// An attempt ends: well, or it is to be tried again.
    Settle {
        job: u64,
        well: bool,
    },
    /// An owner ends a job.
    Cancel {
        job: u64,
    },
    /// The object dies, and comes back with what it had written.
    Restart,
    Wait {
        seconds: u64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let request = 0..12_u64;
    prop_oneof![
        5 => (request.clone(), 1..8_u32, 0..9_u32).prop_map(|(request, jobs, ahead)| Step::Knock { request, jobs, ahead }),
        4 => request.clone().prop_map(|request| Step::Submit { request }),
        2 => request.clone().prop_map(|request| Step::Named { request }),
        1 => request.clone().prop_map(|request| Step::Sweep { request }),
        2 => request.prop_map(|request| Step::GiveBack { request }),
        4 => (0..64_u64, prop::bool::weighted(0.8)).prop_map(|(job, well)| Step::Settle { job, well }),
        2 => (0..64_u64).prop_map(|job| Step::Cancel { job }),
        1 => Just(Step::Restart),
        2 => (0..400_u64).prop_map(|seconds| Step::Wait { seconds }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 150,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(
            "proptest-regressions/admission.txt",
        ))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_place_is_lost_and_none_is_given_twice(
        steps in prop::collection::vec(step(), 1..120),
        share in prop::sample::select(vec![30_u32, 50, 100]),
    ) {
        let rules = AdmissionRules { capacity: 20, share_percent: share, ..Default::default() };
        let demotion = DemotionRules { daily_input: Tokens::ZERO, ..Default::default() };
        let config = Config { admission: rules, slots: 4, demotion, ..Config::default() };
        let (mut world, mut naive) = (World::new(config), Naive::default());
        for step in steps {
            take(&mut world, &mut naive, &rules, &step);
            lapse(&world, &mut naive);
            world.scheduler.see(world.now);
            world.scheduler.assert_consistent();
            prop_assert_eq!(world.scheduler.depth(), naive.depth(), "after {:?}", step);
        }
        empty(&mut world);
        prop_assert_eq!(world.scheduler.depth(), 0);
        let left: Vec<_> = world.rows.keys().collect();
        prop_assert!(left.is_empty(), "{left:?}");
    }
}

fn take(world: &mut World, naive: &mut Naive, rules: &AdmissionRules, step: &Step) {
    match *step {
        Step::Knock { request, jobs, ahead } => {
            knock(world, naive, rules, (request, jobs, ahead));
        }
        Step::Submit { request } => {
            if let Some((tenant, jobs, _)) = naive.holds.remove(&request) {
                world.scheduler.vacate(&tenant_of(tenant), hold(request));
                submit(world, naive, tenant, jobs);
            }
        }
        Step::Named { request } => {
            if naive.holds.remove(&request).is_some() {
                world.submit(by(tenant(request), job(1_000_000 + request)));
                naive.jobs.insert(1_000_000 + request, tenant(request));
            }
        }
        Step::Sweep { request } => {
            let room = u64::from(rules.capacity).saturating_sub(naive.depth());
            if let Some((tenant, jobs, _)) = naive.holds.get(&request).copied() {
                submit(world, naive, tenant, jobs.min(room));
            }
        }
        Step::GiveBack { request } => give_back(world, naive, request),
        Step::Settle { job, well } => {
            let running: Vec<_> = world.scheduler.under_way().map(|(job, ..)| job).collect();
            if let Some(job) = pick(&running, job) {
                let outcome = if well { completed() } else { world::transient(None) };
                world.settle(world::number(job), outcome);
            }
        }
        Step::Cancel { job } => {
            let jobs: Vec<_> = naive.jobs.keys().copied().collect();
            pick(&jobs, job).map(|job| world.cancel(job));
        }
        Step::Restart => restart(world, naive),
        Step::Wait { seconds } => world.pass(secs(seconds)),
    }
}

fn give_back(world: &mut World, naive: &mut Naive, request: u64) {
    world.scheduler.vacate(&tenant_of(tenant(request)), hold(request));
    naive.holds.remove(&request);
    world.turn();
}

/// Nobody remembers then who was sent away.
fn restart(world: &mut World, naive: &mut Naive) {
    world.restart();
    naive.line.clear();
}

fn knock(world: &mut World, naive: &mut Naive, rules: &AdmissionRules, wish: (u64, u32, u32)) {
    let (request, jobs, more) = wish;
    let (tenant, ahead) = (tenant(request), jobs + more);
    let wish =
        Wish { tenant: tenant_of(tenant), hold: hold(request), jobs, ahead, per_minute: None };
    naive.line.retain(|stander| stander.until > world.now);
    let admission = world.scheduler.admit(&wish, world.now, Entropy(request));
    let (jobs, ahead) = (u64::from(jobs), u64::from(ahead));
    let fits = naive.fits(rules, tenant, request, jobs);
    assert_eq!(admission.refused.is_none(), fits, "{request} {jobs}: {admission:?}");
    if fits {
        let before = naive.holds.get(&request).map_or(0, |(_, jobs, _)| *jobs);
        let places = before.max(naive.places(rules, (tenant, request), (jobs, ahead)));
        assert_eq!(u64::from(admission.places), places, "{jobs} to {ahead}");
        naive.let_in(tenant, request, places, world.now + secs(600));
    }
    let retry_after = admission.refused.and_then(|refusal| refusal.retry_after);
    if let Some(wait) = retry_after {
        let until = world.now + wait + wait.scaled(1, 4).max(secs(2));
        naive.stand(rules, (tenant, request), jobs, until);
    }
    // Anything that is written takes the hold along.
    world.turn();
}

fn submit(world: &mut World, naive: &mut Naive, tenant: &'static str, jobs: u64) {
    for _ in 0..jobs {
        naive.next_job += 1;
        naive.jobs.insert(naive.next_job, tenant);
        world.submit(by(tenant, job(naive.next_job)));
    }
}

fn pick<T: Copy>(from: &[T], number: u64) -> Option<T> {
    from.get(usize::try_from(number).unwrap() % from.len().max(1)).copied()
}

/// Jobs that have ended are gone, and holds that nobody came back to.
fn lapse(world: &World, naive: &mut Naive) {
    naive.jobs.retain(|job, _| world.scheduler.knows(id(*job)));
    naive.holds.retain(|_, (.., until)| *until > world.now);
}

/// Every attempt ends well, and nobody comes any more.
fn empty(world: &mut World) {
    for _ in 0..400 {
        let running: Vec<_> = world.scheduler.under_way().map(|(job, ..)| job).collect();
        for job in running {
            world.settle(world::number(job), completed());
        }
        world.pass(secs(30));
    }
}

fn tenant(request: u64) -> &'static str {
    ["acme", "bolt", "cog"][usize::try_from(request % 3).unwrap()]
}

fn hold(request: u64) -> JobId {
    id(1_000_000 + request)
}
