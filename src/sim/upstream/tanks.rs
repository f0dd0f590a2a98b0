//! The API's own three buckets of a model class: what it really lets through.
use crate::domain::{Limits, Span, Timestamp, Tokens, Usage};

/// Requests, input tokens, output tokens.
#[derive(Debug)]
pub(super) struct Tanks {
    at: Timestamp,
    requests: Tank,
    input: Tank,
    output: Tank,
}

/// In units of a token's 60,000th, so that a limit of `n` a minute brings `n`
/// units a millisecond.
#[derive(Debug)]
struct Tank {
    name: &'static str,
    limit: i64,
    level: i64,
}

impl Tanks {
    pub(super) fn full(limits: Limits, at: Timestamp) -> Self {
        let tank = |name, limit| {
            let limit = signed(limit);
            Tank { name, limit, level: limit * UNIT }
        };
        Self {
            at,
            requests: tank("requests", limits.requests),
            input: tank("input-tokens", limits.input),
            output: tank("output-tokens", limits.output),
        }
    }

    pub(super) fn refill(&mut self, limits: Limits, now: Timestamp) {
        let elapsed = signed(now.since(self.at).as_millis()).min(UNIT);
        self.at = now;
        let limits = [limits.requests, limits.input, limits.output];
        for (tank, limit) in self.all_mut().into_iter().zip(limits) {
            tank.limit = signed(limit);
            tank.level = (tank.level + tank.limit * elapsed).min(tank.limit * UNIT);
        }
    }

    /// Takes what a call uses, or says how long it is until it could.
    pub(super) fn take(&mut self, usage: Usage, _now: Timestamp) -> Result<(), Span> {
        let (input, output) = (signed(usage.input.get()), signed(usage.output.get()));
        // Output is counted as it is produced: a call is let in on any.
        let wait = self.requests.wait(1).max(self.input.wait(input)).max(self.output.wait(1));
        if wait > Span::ZERO {
            return Err(wait);
        }
        for (tank, used) in self.all_mut().into_iter().zip([1, input, output]) {
            tank.level -= used * UNIT;
        }
        Ok(())
    }

    /// The truth, as the API tells it.
    pub(super) fn headers(&self) -> Vec<(String, String)> {
        let all = [&self.requests, &self.input, &self.output];
        all.into_iter().flat_map(|tank| tank.headers(self.at)).collect()
    }

    fn all_mut(&mut self) -> [&mut Tank; 3] {
        [&mut self.requests, &mut self.input, &mut self.output]
    }
}

impl Tank {
    /// How long until `need` is there; one that never fits waits for a full one.
    fn wait(&self, need: i64) -> Span {
        let need = need.min(self.limit) * UNIT;
        let missing = need.saturating_sub(self.level).max(0).unsigned_abs();
        Span::from_millis(missing.div_ceil(self.limit.max(1).unsigned_abs()))
    }

    fn headers(&self, now: Timestamp) -> [(String, String); 3] {
        let left = (self.level / UNIT).max(0).unsigned_abs();
        let rounded = if self.name == "requests" { left } else { (left + 500) / 1_000 * 1_000 };
        let missing = (self.limit * UNIT).saturating_sub(self.level).max(0).unsigned_abs();
        let full = now + Span::from_millis(missing / self.limit.max(1).unsigned_abs());
        let name = |what: &str| format!("anthropic-ratelimit-{}-{what}", self.name);
        [
            (name("limit"), self.limit.to_string()),
            (name("remaining"), Tokens::new(rounded).get().to_string()),
            (name("reset"), full.to_string()),
        ]
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

const UNIT: i64 = 60_000;
