//! Who goes before whom.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

#[path = "model/world.rs"]
mod world;

use claude_pipeline::{domain::*, scheduler::*};
use world::*;

#[test]
fn one_job_does_not_wait_behind_a_hundred_of_another_tenant() {
    let mut world = World::new(published());
    world.submit_all((1..=100).map(|number| by("a", small(Priority::Critical, number))));
    let burst = world.released().len();
    assert!(burst < 50, "a little is left to others: {burst}");
    world.pass(secs(20));
    world.clear();
    world.submit(by("b", small(Priority::Critical, 200)));
    assert_eq!(world.released(), [200], "at once");
}

#[test]
fn tenants_with_a_backlog_take_turns() {
    let mut world = World::new(Config { slots: 1, ..one_a_second() });
    let of = |tenant, numbers: std::ops::RangeInclusive<u64>| {
        numbers.map(move |number| by(tenant, small(Priority::Standard, number)))
    };
    world.submit_all(of("a", 101..=120).chain(of("b", 201..=220)).chain(of("c", 301..=320)));
    let order = drain(&mut world, 30);
    for tenant in [1, 2, 3] {
        let served = order.iter().filter(|number| **number / 100 == tenant).count();
        assert_eq!(served, 10, "tenant {tenant} of {order:?}");
    }
}

#[test]
fn a_pro_tenant_has_three_turns_for_one_of_a_free_one() {
    let mut world = World::new(Config { slots: 1, ..one_a_second() });
    let pro =
        |number| Submission { plan: Plan::Pro, ..by("pro", small(Priority::Standard, number)) };
    world.submit_all((101..=180).map(pro));
    world.submit_all((201..=280).map(|number| by("free", small(Priority::Standard, number))));
    let order = drain(&mut world, 80);
    let pro = order.iter().filter(|number| **number < 200).count();
    assert!((59..=61).contains(&pro), "{pro} of 80");
}

#[test]
fn a_weight_of_its_own_counts_more_than_the_plan() {
    for (weight, expected) in [(2, 57..=63), (8, 78..=82)] {
        let mut world = World::new(Config { slots: 1, ..one_a_second() });
        let own = Submission { weight: Some(weight), ..small(Priority::Standard, 0) };
        let heavy = |number| by("own", Submission { job: id(number), ..own.clone() });
        world.submit_all((101..=200).map(heavy));
        world.submit_all((201..=300).map(|number| by("free", small(Priority::Standard, number))));
        let order = drain(&mut world, 90);
        let own = order.iter().filter(|number| **number <= 200).count();
        assert!(expected.contains(&own), "weight {weight}: {own} of 90");
    }
}

#[test]
fn large_jobs_cost_their_tenant_turns() {
    let mut world = World::new(Config { slots: 1, ..one_a_second() });
    let large = |number| Submission { estimate: usage(3_000, 0), ..job(number) };
    world.submit_all((101..=140).map(|number| by("large", large(number))));
    world.submit_all((201..=280).map(|number| by("small", small(Priority::Standard, number))));
    let order = drain(&mut world, 60);
    let large = order.iter().filter(|number| **number < 200).count();
    assert!((14..=17).contains(&large), "a quarter of the jobs, half of the tokens: {large}");
}

#[test]
fn an_estimate_that_was_wrong_is_set_right_for_the_tenant_too() {
    let mut world = World::new(Config { slots: 1, ..one_a_second() });
    world.submit_all((101..=160).map(|number| by("honest", small(Priority::Standard, number))));
    world.submit_all((201..=260).map(|number| by("sly", small(Priority::Standard, number))));
    let mut count = [0, 0];
    for _ in 0..60 {
        let number = *world.released().last().unwrap();
        let sly = number > 200;
        count[usize::from(sly)] += 1;
        let used = usage(if sly { 3_000 } else { 1_000 }, 0);
        world.settle(number, Outcome::Completed { usage: used });
        world.pass(secs(3));
    }
    assert!(count[0] > 2 * count[1], "{count:?}");
}

#[test]
fn every_priority_gets_its_share_while_all_wait() {
    let mut world = World::new(Config { slots: 1_000, ..one_a_second() });
    for (priority, first) in
        [(Priority::Critical, 0), (Priority::Standard, 2_000), (Priority::Batch, 4_000)]
    {
        world.submit_all((first + 1..=first + 900).map(|number| small(priority, number)));
    }
    world.pass(secs(200));
    world.clear();
    world.pass(secs(400));
    let released = world.released();
    let share = |low: u64| {
        let count = released.iter().filter(|number| (low..low + 2_000).contains(*number)).count();
        count * 100 / released.len()
    };
    assert_eq!(released.len(), 400);
    assert_eq!([share(0), share(2_000), share(4_000)], [70, 25, 5]);
}

#[test]
fn critical_jobs_go_first_as_long_as_they_are_within_their_share() {
    let mut world = World::new(one_a_second());
    world.submit_all((1..=300).map(|number| of(Priority::Standard, number)));
    world.pass(secs(10));
    for number in 1_001..=1_020 {
        world.clear();
        world.submit(of(Priority::Critical, number));
        world.pass(secs(2));
        assert_eq!(world.released()[0], number, "of {:?}", world.released());
    }
}

#[test]
fn lower_priorities_leave_a_little_of_each_bucket() {
    let mut world = World::new(published());
    world.submit_all((1..=60).map(|number| small(Priority::Batch, number)));
    let left = |percent: u64| 50 * (100 - percent) / 100;
    assert_eq!(world.released().len() as u64, left(8 + 8 + 3));
    world.submit_all((101..=160).map(|number| small(Priority::Standard, number)));
    assert_eq!(world.released().len() as u64, left(8 + 3));
    world.submit_all((201..=260).map(|number| small(Priority::Critical, number)));
    assert_eq!(world.released().len() as u64, left(3));
}

#[test]
fn no_tenant_holds_every_slot() {
    let mut world = World::new(Config { slots: 4, ..Config::default() });
    world.submit_all((1..=9).map(|number| by("a", job(number))));
    assert_eq!(world.released(), [1, 2, 3]);
    assert_eq!(world.waits_for(4).unwrap().reason, Reason::Slot);
    world.submit(by("b", job(10)));
    assert_eq!(world.released(), [1, 2, 3, 10]);
    world.settle(10, completed());
    world.submit(by("a", of(Priority::Critical, 11)));
    assert_eq!(world.released(), [1, 2, 3, 10, 11], "but for something more urgent of its own");
}

#[test]
fn others_flow_around_a_large_job_and_then_make_way_for_it() {
    let mut world = World::new(published());
    let large = |number| Submission { estimate: usage(30_000, 0), ..job(number) };
    world.submit_all((1..=3).map(|number| by("large", large(number))));
    assert_eq!(world.released(), [1]);
    for number in 100..=400 {
        world.submit(by("small", small(Priority::Standard, number)));
        world.pass(secs(1));
    }
    let at = |number| {
        world.log.iter().find_map(|(at, effect)| match effect {
            Effect::Release(release) if release.job == id(number) => Some(world.since_start(*at)),
            Effect::Release(_) | Effect::DeadLetter { .. } | Effect::Reconcile { .. } => None,
        })
    };
    assert!(at(120).unwrap() < secs(60), "small jobs do not wait for large ones");
    assert!(at(2).unwrap() < secs(240), "{:?}", at(2));
}

#[test]
fn large_jobs_of_one_tenant_get_no_more_than_its_share() {
    let mut world = World::new(published());
    let large = |number| Submission { estimate: usage(20_000, 0), ..job(number) };
    world.submit_all((1..=40).map(|number| by("large", large(number))));
    let used = backlog(&mut world, Priority::Standard, 4, 1_200);
    let share = used[0] * 100 / (used[0] + used[1]);
    assert!((10..=25).contains(&share), "a fifth is its share: {share} %");
}

#[test]
fn a_large_batch_job_is_not_starved_by_more_urgent_ones() {
    let mut world = World::new(published());
    let large = |number| Submission { estimate: usage(20_000, 0), ..of(Priority::Batch, number) };
    world.submit_all((1..=9).map(|number| by("large", large(number))));
    let used = backlog(&mut world, Priority::Critical, 4, 2_400);
    let share = used[0] * 100 / (used[0] + used[1]);
    assert!((4..=12).contains(&share), "5 of 75 is its priority's share: {share} %");
}

/// Keeps small jobs of some tenants waiting, and says what the large ones and
/// the small ones used.
fn backlog(world: &mut World, priority: Priority, tenants: u64, seconds: u64) -> [u64; 2] {
    let (mut used, mut next, mut waiting) = ([0, 0], 1_000, 0);
    for _ in 0..seconds / 10 {
        let missing = 15 * tenants - waiting;
        world.submit_all((next..next + missing).map(|number| {
            let of = Submission { estimate: usage(1_000, 0), ..small(priority, number) };
            by(&format!("t{}", number % tenants), of)
        }));
        (next, waiting) = (next + missing, waiting + missing);
        world.pass(secs(10));
        for number in world.released() {
            let input = if number < 1_000 { 20_000 } else { 1_000 };
            used[usize::from(number >= 1_000)] += input;
            waiting -= u64::from(number >= 1_000);
            world.settle(number, Outcome::Completed { usage: usage(input, 0) });
        }
        world.clear();
    }
    used
}

#[test]
fn what_is_selected_by_lot_still_starves_nobody() {
    let order = Ordering { policy: Policy::Draw { critical_percent: 90 }, ..one_a_second().order };
    let mut world = World::new(Config { slots: 1, order, ..one_a_second() });
    for (priority, first) in
        [(Priority::Critical, 0), (Priority::Standard, 2_000), (Priority::Batch, 4_000)]
    {
        world.submit_all((first + 1..=first + 900).map(|number| small(priority, number)));
    }
    let order = drain(&mut world, 600);
    let count = |low: u64| order.iter().filter(|it| (low..low + 2_000).contains(*it)).count();
    assert!((510..=570).contains(&count(0)), "9 of 10: {}", count(0));
    assert!(count(2_000) > 3 * count(4_000) && count(4_000) > 3, "{}", count(4_000));
}

#[test]
fn a_hundred_thousand_tenants_are_forgotten_when_idle() {
    let mut world = World::new(Config { slots: 200_000, limits: vast(), ..without_headroom() });
    for number in 1..=100_000 {
        let submission = by(&format!("t{number}"), job(number));
        world.scheduler.submit(submission, world.now);
    }
    world.scheduler.dispatch(world.now);
    while let Some(effect) = world.scheduler.poll_effect() {
        if let Effect::Release(Release { job, lease, .. }) = effect {
            let outcome = Outcome::Completed { usage: usage(1, 1) };
            let settlement = Settlement { job, lease, outcome, limits: None };
            world.scheduler.settle(settlement, world.now, Entropy(0));
        }
    }
    assert_eq!(rows_of_tenants(&mut world), 100_000);
    world.now = world.now + secs(2 * 86_400);
    world.scheduler.dispatch(world.now);
    assert_eq!(rows_of_tenants(&mut world), 0);
}

/// Settles one job after the other, each as estimated.
fn drain(world: &mut World, jobs: usize) -> Vec<u64> {
    while world.released().len() <= jobs {
        let number = *world.released().last().unwrap();
        let row = world.rows[&format!("job/{}", id(number))].clone();
        let input = if row.contains("\"input\":3000") { 3_000 } else { 1_000 };
        world.settle(number, Outcome::Completed { usage: usage(input, 0) });
        world.pass(secs(5));
    }
    world.released()[..jobs].to_vec()
}

/// How many tenants are known, by what was stored.
fn rows_of_tenants(world: &mut World) -> usize {
    while let Some(change) = world.scheduler.poll_change() {
        match change {
            Change::Put(row) => world.rows.insert(row.key(), String::new()),
            Change::Delete(key) => world.rows.remove(&key),
        };
    }
    world.rows.keys().filter(|key| key.starts_with("tenant/")).count()
}

/// A job that costs one request, neither more nor less.
fn small(priority: Priority, number: u64) -> Submission {
    Submission { priority, estimate: usage(500, 0), ..job(number) }
}

/// The entry tier of the API, without slack.
fn published() -> Config {
    Config {
        slots: 1_000,
        limits: Limits { requests: 50, input: 40_000, output: 8_000 },
        slack: Span::ZERO,
        ..Config::default()
    }
}

fn vast() -> Limits {
    Limits { requests: 100_000_000, input: 1_000_000_000, output: 1_000_000_000 }
}
