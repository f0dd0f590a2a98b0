//! Who was refused and comes back when told.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]
#[path = "model/door.rs"]
mod door;
#[path = "model/world.rs"]
mod world;

use claude_pipeline::domain::*;
use claude_pipeline::scheduler::*;
use door::{enter, house, knock, wish};
use world::{World, by, completed, id, job, tenant_of};

#[test]
fn room_is_kept_for_who_was_refused_and_comes_back() {
    let mut world = house(20, 50);
    fill(&mut world, &["a", "b", "c", "d"]);
    let first = knock(&mut world, "late", 1, 3).refused.unwrap();
    assert!(first.retry_after.is_some());
    eager(&mut world, &["a", "b", "c", "d"], 12);
    assert_eq!(knock(&mut world, "late", 2, 3).refused, None);
}

#[test]
fn a_form_that_was_refused_on_its_way_finds_room_for_twice_as_many() {
    let mut world = house(40, 50);
    fill(&mut world, &["a", "b", "c", "d"]);
    let form = |world: &mut World, number, jobs, ahead| {
        let wish = Wish { ahead, ..wish("late", number, jobs) };
        world.scheduler.admit(&wish, world.now, Entropy(0))
    };
    assert_eq!(form(&mut world, 1, 1, 4).places, 4, "what is to spare is given ahead");
    assert_eq!(form(&mut world, 1, 5, 20).refused.unwrap().limit, Limit::Share);
    world.scheduler.vacate(&tenant_of("late"), id(1));
    eager(&mut world, &["a", "b", "c", "d"], 30);
    assert_eq!(form(&mut world, 2, 1, 4).places, 10);
    assert_eq!(form(&mut world, 2, 10, 40).refused, None, "as many as it comes with");
}

#[test]
fn the_first_in_line_may_have_at_once_what_it_might_have_alone() {
    let mut world = house(20, 50);
    fill(&mut world, &["a", "b", "c", "d"]);
    assert!(knock(&mut world, "late", 1, 10).refused.is_some());
    eager(&mut world, &["a", "b", "c", "d"], 20);
    assert_eq!(knock(&mut world, "late", 2, 10).refused, None);
}

#[test]
fn who_comes_back_in_vain_is_told_to_wait_twice_as_long() {
    let mut world = house(10, 100);
    for number in 1..=9 {
        enter(&mut world, "stuck", number);
    }
    let mut told = Vec::new();
    for number in 10..20 {
        let refused = knock(&mut world, "stuck", number, 1).refused.unwrap();
        told.push(refused.retry_after.unwrap());
        world.pass(*told.last().unwrap());
    }
    assert!(told.windows(2).all(|pair| pair[1] >= pair[0].scaled(2, 1).min(Span::from_secs(60))));
    assert!(told.iter().all(|wait| *wait <= Span::from_secs(75)), "{told:?}");
    world.settle(1, completed());
    assert_eq!(knock(&mut world, "stuck", 21, 1).refused, None);
}

#[test]
fn nothing_is_kept_from_who_has_less() {
    let mut world = house(20, 50);
    fill(&mut world, &["a", "b", "c", "d"]);
    assert!(knock(&mut world, "a", 1, 1).refused.is_some(), "it has four");
    assert_eq!(knock(&mut world, "new", 2, 1).refused, None);
    assert_eq!(knock(&mut world, "new", 3, 1).refused, None);
}

#[test]
fn who_comes_with_less_and_is_let_in_stands_behind_those_who_have_nothing() {
    let mut world = house(40, 50);
    for (tenant, number, jobs) in [("a", 1, 20), ("b", 2, 10)] {
        assert_eq!(knock(&mut world, tenant, number, jobs).refused, None);
    }
    assert!(knock(&mut world, "c", 3, 7).refused.is_some());
    assert_eq!(knock(&mut world, "c", 4, 5).refused, None);
    assert_eq!(knock(&mut world, "new", 5, 1).refused, None);
}

#[test]
fn who_does_not_come_back_in_time_keeps_nobody_out() {
    let mut world = house(20, 100);
    for number in 1..=18 {
        enter(&mut world, "full", number);
    }
    let wait = knock(&mut world, "late", 100, 1).refused.unwrap().retry_after.unwrap();
    world.settle(1, completed());
    let let_in = |world: &mut World, number| knock(world, "full", number, 1).refused.is_none();
    assert!(!let_in(&mut world, 101), "that place is kept");
    world.pass(wait.scaled(5, 4).max(wait.saturating_add(Span::from_secs(2))));
    assert!(let_in(&mut world, 102));
}

#[test]
fn who_stood_in_line_leaves_no_row_behind() {
    let mut world = house(10, 100);
    for number in 1..=8 {
        enter(&mut world, "acme", number);
    }
    let is_stored = |world: &World| world.rows.keys().any(|row| row == "tenant/late");
    assert_eq!(knock(&mut world, "late", 10, 1).refused, None);
    world.turn();
    assert!(is_stored(&world), "a hold is");
    assert!(knock(&mut world, "late", 11, 1).refused.is_some());
    world.scheduler.vacate(&tenant_of("late"), id(10));
    world.turn();
    assert!(!is_stored(&world), "a place in line is not");
}

#[test]
fn a_tenant_that_asks_again_and_again_makes_nobody_else_wait_longer() {
    let mut world = house(20, 100);
    for number in 1..=18 {
        enter(&mut world, "full", number);
    }
    let told = |world: &mut World, tenant: &str, number| {
        knock(world, tenant, number, 1).refused.unwrap().retry_after.unwrap()
    };
    let first = told(&mut world, "eager", 100);
    for number in 101..300 {
        told(&mut world, "eager", number);
    }
    let innocent = told(&mut world, "calm", 999);
    assert!(innocent <= first.scaled(5, 2), "{first:?} {innocent:?}");
}

/// A place becomes free, again and again, and these are eager to have it.
fn eager(world: &mut World, tenants: &[&str], times: u64) {
    for round in 0..times {
        let running: Vec<_> = world.scheduler.under_way().map(|(job, ..)| job).collect();
        world.settle(world::number(running[0]), completed());
        for (at, greedy) in tenants.iter().enumerate() {
            let number = 1_000 + round * 10 + u64::try_from(at).unwrap();
            if knock(world, greedy, number, 1).refused.is_none() {
                world.submit(by(greedy, job(number)));
            }
        }
    }
}

/// Lets these tenants in, in turn, until none gets another place.
fn fill(world: &mut World, tenants: &[&str]) {
    for round in 0..20 {
        for (at, tenant) in tenants.iter().enumerate() {
            let number = 10 + round * 10 + u64::try_from(at).unwrap();
            if knock(world, tenant, number, 1).refused.is_none() {
                world.submit(by(tenant, job(number)));
            }
        }
    }
}
