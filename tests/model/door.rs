//! A house with a bound, and those who knock at it.
use crate::world::{World, by, id, job, tenant_of};
use claude_pipeline::domain::*;
use claude_pipeline::scheduler::*;

pub(crate) fn house(capacity: u32, share_percent: u32) -> World {
    let admission = AdmissionRules { capacity, share_percent, ..AdmissionRules::default() };
    World::new(Config { admission, ..Config::default() })
}

pub(crate) fn wish(tenant: &str, number: u64, jobs: u32) -> Wish {
    Wish { tenant: tenant_of(tenant), hold: id(number), jobs, ahead: jobs, per_minute: None }
}

pub(crate) fn knock(world: &mut World, tenant: &str, number: u64, jobs: u32) -> Admission {
    let admission = world.scheduler.admit(&wish(tenant, number, jobs), world.now, Entropy(0));
    world.scheduler.assert_consistent();
    admission
}

/// Knocks, and submits a job in the place.
pub(crate) fn enter(world: &mut World, tenant: &str, number: u64) {
    assert_eq!(knock(world, tenant, number, 1).refused, None);
    let before = world.scheduler.depth();
    world.submit(by(tenant, job(number)));
    assert_eq!(world.scheduler.depth(), before, "it takes the place held in its name");
}
