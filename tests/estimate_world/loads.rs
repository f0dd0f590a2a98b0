//! The workloads, each from a seed.
use super::{
    Load,
    maker::{Kind, Maker, WARM},
};
use claude_pipeline::{domain::*, scheduler::*};

pub(crate) fn one_tenant(seed: u64) -> Load {
    let mut maker = Maker::new(seed);
    maker.backlog(250, &Kind::of("acme", Priority::Standard));
    maker.load(&tier())
}

/// Each fourth tenant on the pro plan, of backlogs that differ by thirty times.
pub(crate) fn many_tenants(seed: u64) -> Load {
    let mut maker = Maker::new(seed);
    for number in 0..16 {
        let plan = if number % 4 == 0 { Plan::Pro } else { Plan::Free };
        let kind = Kind { plan, ..Kind::of(&format!("t{number}"), Priority::Standard) };
        let jobs = maker.draw(1, 30);
        maker.backlog(jobs, &kind);
    }
    maker.load(&tier())
}

/// Tenants whose jobs differ in size by ten times.
pub(crate) fn large_and_small(seed: u64) -> Load {
    let mut maker = Maker::new(seed);
    for number in 0..6 {
        let size = 300 << (number % 4);
        let of = Kind::of(&format!("t{number}"), Priority::Standard);
        maker.backlog(30, &Kind { input: (size, size * 3 / 2), ..of });
    }
    maker.load(&tier())
}

/// A backlog of each priority, while critical jobs come that take two fifths.
pub(crate) fn urgent_arrivals(seed: u64) -> Load {
    let mut maker = Maker::new(seed);
    maker.stream((0, 60), 4_000, &Kind::of("urgent", Priority::Critical));
    for (tenant, priority) in [("a", Priority::Standard), ("b", Priority::Batch)] {
        let kind = Kind::of(tenant, priority);
        (0..60).for_each(|_| maker.add(60_000, &kind));
    }
    maker.stream((60, 600), 4_000, &Kind::of("urgent", Priority::Critical));
    maker.load(&tier())
}

/// A backlog of each priority at once.
pub(crate) fn three_backlogs(seed: u64) -> Load {
    let mut maker = Maker::new(seed);
    for (tenant, priority) in
        [("a", Priority::Standard), ("b", Priority::Batch), ("c", Priority::Critical)]
    {
        maker.backlog(120, &Kind::of(tenant, priority));
    }
    maker.load(&tier())
}

pub(crate) fn few_slots(seed: u64) -> Load {
    let mut maker = Maker::new(seed);
    for tenant in ["a", "b", "c"] {
        let slow = Kind { takes: (14_000, 26_000), ..Kind::of(tenant, Priority::Standard) };
        maker.backlog(20, &slow);
    }
    maker.load(&Config { slots: 4, ..vast() })
}

/// The last slot is never its own.
pub(crate) fn few_slots_one_tenant(seed: u64) -> Load {
    let mut maker = Maker::new(seed);
    let slow = Kind { takes: (14_000, 26_000), ..Kind::of("acme", Priority::Standard) };
    maker.backlog(30, &slow);
    maker.load(&Config { slots: 3, ..vast() })
}

/// Two model classes, one of quick calls and one of slow ones.
pub(crate) fn slots_shared(seed: u64) -> Load {
    let mut maker = Maker::new(seed);
    for (class, takes) in
        [("claude-haiku-4-5", (4_000, 8_000)), ("claude-opus-5", (15_000, 25_000))]
    {
        for tenant in ["a", "b"] {
            let of = Kind::of(tenant, Priority::Standard);
            maker.backlog(25, &Kind { class, takes, ..of });
        }
    }
    maker.load(&Config { slots: 5, ..vast() })
}

/// Calls of very different length: most short, some ten times as long.
pub(crate) fn uneven_calls(seed: u64) -> Load {
    let mut maker = Maker::new(seed);
    maker.has_learned(&Kind::of("", Priority::Standard));
    for number in 0..190 {
        let power = maker.draw(0, 100);
        let takes = 4_000 + power * power * 4;
        let tenant = format!("t{}", maker.draw(0, 4));
        let kind = Kind { takes: (takes, takes), ..Kind::of(&tenant, Priority::Standard) };
        if number < 20 { maker.put(number * 3_000, &kind) } else { maker.add(0, &kind) }
    }
    maker.load(&Config { slots: 6, ..vast() })
}

pub(crate) fn request_bound(seed: u64) -> Load {
    let mut maker = Maker::new(seed);
    for tenant in ["a", "b", "c"] {
        let tiny =
            Kind { input: (50, 150), output: (1, 20), ..Kind::of(tenant, Priority::Standard) };
        maker.backlog(60, &tiny);
    }
    maker.load(&tier())
}

/// Five jobs of three quarters of a bucket, while small ones of others take
/// half of what flows in.
pub(crate) fn giants(seed: u64) -> Load {
    let mut maker = Maker::new(seed);
    maker.backlog(30, &Kind::of("small", Priority::Standard));
    let giant = Kind { input: (29_000, 31_000), ..Kind::of("large", Priority::Standard) };
    maker.backlog(5, &giant);
    maker.stream((0, 400), 3_000, &Kind::of("small", Priority::Standard));
    maker.load(&tier())
}

/// The same, while others always have more than can be served.
pub(crate) fn giants_in_a_crowd(seed: u64) -> Load {
    let mut maker = Maker::new(seed);
    for tenant in ["a", "b", "c"] {
        maker.backlog(100, &Kind::of(tenant, Priority::Standard));
    }
    let giant = Kind { input: (29_000, 31_000), ..Kind::of("large", Priority::Standard) };
    maker.backlog(2, &giant);
    maker.load(&tier())
}

/// A 429 closes the gate for at least ten seconds. What is said before cannot
/// know of it.
pub(crate) fn gate_closed(seed: u64) -> Load {
    let mut maker = Maker::new(seed);
    maker.backlog(60, &Kind::of("acme", Priority::Standard));
    maker.stream((0, 60), 1_000, &Kind::of("other", Priority::Standard));
    let load = maker.load(&Config { slots: 6, ..vast() });
    Load { refusing: WARM + 8_000..WARM + 8_600, begins: WARM + 8_800, ..load }
}

/// `big` has used up its day: its standard jobs are served as batch, beside
/// others that take half of what flows in.
pub(crate) fn demoted(seed: u64) -> Load {
    let mut maker = Maker::new(seed);
    let big = Kind::of("big", Priority::Standard);
    (0..50).for_each(|number| maker.put(number * 1_000, &big));
    maker.backlog(100, &big);
    let demotion = DemotionRules { daily_input: Tokens::new(25_000), ..DemotionRules::default() };
    maker.crowd(Priority::Standard, 3_000);
    maker.load(&Config { demotion, ..tier() })
}

/// A backlog of one tenant, while others that have none take half of what flows
/// in.
pub(crate) fn light_tenants(seed: u64) -> Load {
    let mut maker = Maker::new(seed);
    maker.backlog(100, &Kind::of("big", Priority::Standard));
    maker.crowd(Priority::Standard, 3_000);
    maker.load(&tier())
}

/// The entry tier of the API.
fn tier() -> Config {
    let demotion = DemotionRules { daily_input: Tokens::ZERO, ..DemotionRules::default() };
    let limits = Limits { requests: 50, input: 40_000, output: 8_000 };
    Config { limits, demotion, ..Config::default() }
}

/// Limits that nobody reaches.
fn vast() -> Config {
    let limits = Limits { requests: 100_000, input: 100_000_000, output: 100_000_000 };
    Config { limits, ..tier() }
}
