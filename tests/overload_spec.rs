//! Twice the load that can be carried, for minutes, in the simulated world:
//! what is accepted is served in bounded time, what is not is told when to come
//! back, the house is never over its bound, and all is well afterwards.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]
use claude_pipeline::domain::{Origin, Span};
use claude_pipeline::sim::{Fault, Op, Ticket, World};

/// Eight slots of a second each: eight jobs a second can be carried.
const SLOTS: u64 = 8;
const CAPACITY: u64 = 100;
/// What a full house takes to empty, if the ways between the stores add half to
/// a call; and a bit for the last.
const LONGEST: Span = Span::from_secs(CAPACITY * 3 / SLOTS / 2 + 8);
const TENANTS: [&str; 4] = ["acme", "bolt", "cog", "pro-dune"];

#[test]
fn twice_the_load_is_half_refused_and_the_rest_served_in_bounded_time() {
    for seed in 1..=3 {
        let world = house(seed);
        let load = Load::offer(&world, 2 * SLOTS, 180, |_| ());
        load.assert_refusals(&world, 30..=70);
        assert!(load.deepest * 10 >= CAPACITY * 7, "it was loaded: {}", load.deepest);
        finish(&world, seed);
        let longest = longest_wait(&world);
        assert!(longest <= LONGEST.as_millis(), "seed {seed}: an accepted job took {longest} ms");
        load.assert_shares(&world);
    }
}

#[test]
fn half_the_load_is_refused_nothing() {
    let world = house(4);
    let load = Load::offer(&world, SLOTS / 2, 120, |_| ());
    load.assert_refusals(&world, 0..=0);
    finish(&world, 4);
}

#[test]
fn after_an_overload_the_door_is_as_open_as_ever() {
    let world = house(5);
    Load::offer(&world, 3 * SLOTS, 60, |_| ());
    world.run_for(Span::from_secs(30));
    assert_eq!(world.scheduler().depth, 0);
    let load = Load::offer(&world, SLOTS / 2, 60, |_| ());
    load.assert_refusals(&world, 0..=0);
    finish(&world, 5);
}

#[test]
fn an_overload_with_failing_stores_and_dying_doors_leaves_no_place_behind() {
    for seed in 11..=13 {
        let world = house(seed);
        for op in [Op::Sql, Op::Admit, Op::Submit, Op::Settle, Op::Send] {
            world.odds(op, Fault::Undone, 20);
            world.odds(op, Fault::Unreported, 20);
        }
        world.odds(Op::Sql, Fault::DiesAfter, 10);
        world.odds(Op::Submit, Fault::DiesBefore, 10);
        let mischief = |second| match second % 40 {
            13 => drop(world.evict_object()),
            27 => drop(world.crash_consumers()),
            _ => {}
        };
        Load::offer(&world, 2 * SLOTS, 120, mischief);
        world.peace();
        finish(&world, seed);
    }
}

struct Load {
    tickets: Vec<(&'static str, Ticket)>,
    deepest: u64,
}

impl Load {
    /// So many jobs a second for so many seconds, by all tenants in turn.
    fn offer(world: &World, each_second: u64, seconds: u64, each: impl Fn(u64)) -> Self {
        let mut load = Self { tickets: Vec::new(), deepest: 0 };
        for second in 0..seconds {
            for number in 0..each_second {
                let number = second * each_second + number;
                let tenant = TENANTS[usize::try_from(number % 4).unwrap()];
                let prompt = format!("job {number} of {tenant} at {}", world.now());
                let ticket = world.submit(tenant, &prompt, Origin::UserAction);
                load.tickets.push((tenant, ticket));
                world.run_for(Span::from_millis(1_000 / each_second));
            }
            each(second);
            let depth = world.scheduler().depth;
            assert!(depth <= CAPACITY, "{depth} jobs after {second} s");
            load.deepest = load.deepest.max(depth);
        }
        world.run_for(Span::from_secs(5));
        load
    }

    /// How many in a hundred were refused, each with a true word.
    fn assert_refusals(&self, world: &World, percent: std::ops::RangeInclusive<usize>) {
        let refused: Vec<_> =
            self.tickets.iter().filter_map(|(_, ticket)| world.refusal(*ticket)).collect();
        for problem in &refused {
            assert_eq!((problem.status, problem.kind), (429, "queue-saturated"));
            let wait = problem.retry_after.unwrap();
            assert!((Span::from_secs(1)..=Span::from_secs(120)).contains(&wait), "{wait:?}");
        }
        let share = refused.len() * 100 / self.tickets.len();
        assert!(percent.contains(&share), "{share} % refused");
    }

    /// Tenants that offer the same are let in alike, and one that pays for more
    /// is let in more often, as its jobs end sooner.
    fn assert_shares(&self, world: &World) {
        let let_in = TENANTS.map(|tenant| {
            let theirs = self.tickets.iter().filter(|(of, _)| *of == tenant);
            theirs.filter(|(_, ticket)| !world.jobs(*ticket).is_empty()).count()
        });
        let [free @ .., pro] = let_in;
        let (least, most) = (*free.iter().min().unwrap(), *free.iter().max().unwrap());
        assert!(most * 10 <= least * 12 && pro > most, "{let_in:?}");
    }
}

fn house(seed: u64) -> World {
    let capacity = CAPACITY.to_string();
    let slots = SLOTS.to_string();
    let vars = [
        ("QUEUE_CAPACITY", capacity.as_str()),
        ("SLOTS", &slots),
        ("RATE_FREE_PER_MINUTE", "0"),
        ("RATE_PRO_PER_MINUTE", "0"),
        ("LIMIT_REQUESTS_PER_MINUTE", "100_000"),
        ("DAILY_INPUT_TOKENS", "0"),
    ];
    let world = World::with(seed, &vars);
    world.claude_pace(Span::from_millis(900), Span::from_millis(1_100));
    world
}

fn finish(world: &World, seed: u64) {
    let idle = world.run_until_idle(Span::from_secs(6 * 3_600));
    assert!(idle, "seed {seed}: {} are left", world.unfinished());
    world.assert_laws();
}

/// Of the jobs that were accepted, from then to the end, in milliseconds.
fn longest_wait(world: &World) -> u64 {
    let sql = "SELECT max(completed_at - created_at) FROM jobs";
    world.database().look(sql, &[]).unwrap()[0].parse().unwrap()
}
