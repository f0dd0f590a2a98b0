//! The jobs of one scenario and seed, made before anything runs: every policy
//! meets the same ones.
use super::{
    figure::Check,
    scenario::Scenario,
    source::{Arrival, Size, Source, Who},
    stream::{Stream, fnv1a64},
};
use crate::domain::Priority;

/// One job.
#[derive(Clone, Debug)]
pub struct Job {
    /// Its place by arrival, from 0.
    pub index: usize,
    /// Whose, by number.
    pub tenant: usize,
    /// How urgent.
    pub tier: Priority,
    /// When it arrives, in seconds.
    pub arrival: f64,
    /// Input tokens.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// The most it might have produced.
    pub max_tokens: u64,
    /// Seconds from admission to the first token.
    pub ttft: f64,
    /// Seconds from admission to the end.
    pub service: f64,
    /// Its size in characters, as the client sees it.
    pub chars: u64,
}

/// One tenant.
#[derive(Clone, Debug)]
pub struct Tenant {
    /// Its name.
    pub name: String,
    /// Its share.
    pub weight: f64,
}

/// All jobs of a run, by arrival.
#[derive(Clone, Debug)]
pub struct Workload {
    /// The seed that made it.
    pub seed: u64,
    /// Whose jobs there are.
    pub tenants: Vec<Tenant>,
    /// The jobs.
    pub jobs: Vec<Job>,
}

impl Workload {
    /// Makes the jobs of a scenario.
    #[must_use]
    pub fn generate(scenario: &Scenario, seed: u64) -> Self {
        let tenants = tenants(scenario);
        let mut jobs = Vec::new();
        for (number, source) in scenario.sources.iter().enumerate() {
            for (index, tenant) in tenants.iter().enumerate() {
                if source.tenants.include(&tenant.name) {
                    let stream = Stream::named(&format!("{seed}|{number}|{}", tenant.name));
                    let mut maker = Maker { scenario, source, tenant: index, stream, jobs };
                    maker.arrive();
                    jobs = maker.jobs;
                }
            }
        }
        jobs.sort_by(|a, b| a.arrival.total_cmp(&b.arrival));
        for (index, job) in jobs.iter_mut().enumerate() {
            job.index = index;
        }
        Self { seed, tenants, jobs }
    }

    /// What the jobs add up to.
    #[must_use]
    pub fn check(&self) -> Check {
        let lines: Vec<String> = self.jobs.iter().map(line).collect();
        Check {
            seed: self.seed,
            jobs: self.jobs.len(),
            in_tok: self.jobs.iter().map(|job| job.input).sum(),
            out_tok: self.jobs.iter().map(|job| job.output).sum(),
            fnv1a64: format!("{:016x}", fnv1a64(&lines.join(";"))),
        }
    }

    /// The number of the tenant of this name.
    #[must_use]
    pub fn tenant(&self, name: &str) -> Option<usize> {
        self.tenants.iter().position(|tenant| tenant.name == name)
    }

    /// The share of a tenant.
    #[must_use]
    pub fn weight(&self, tenant: usize) -> f64 {
        self.tenants.get(tenant).map_or(1.0, |tenant| tenant.weight)
    }
}

/// The number of a priority, the most urgent 0.
#[must_use]
pub const fn tier_number(tier: Priority) -> usize {
    match tier {
        Priority::Critical => 0,
        Priority::Standard => 1,
        Priority::Batch => 2,
    }
}

impl Who {
    fn include(&self, name: &str) -> bool {
        match self {
            Self::Named(names) => names.iter().any(|known| known == name),
            Self::All(_) => true,
        }
    }
}

fn tenants(scenario: &Scenario) -> Vec<Tenant> {
    let mut tenants = Vec::new();
    for spec in &scenario.tenants {
        let tenant = |name| Tenant { name, weight: spec.weight };
        match spec.count {
            None => tenants.push(tenant(spec.name.clone())),
            Some(count) => {
                tenants.extend((0..count).map(|n| tenant(format!("{}{n}", spec.name))));
            }
        }
    }
    tenants
}

fn line(job: &Job) -> String {
    let tier = tier_number(job.tier);
    let moment = (1_000.0 * job.arrival).floor();
    format!("{},{tier},{},{},{moment}", job.tenant, job.input, job.output)
}

/// Makes the jobs of one tenant from one source.
struct Maker<'a> {
    scenario: &'a Scenario,
    source: &'a Source,
    tenant: usize,
    stream: Stream,
    jobs: Vec<Job>,
}

impl Maker<'_> {
    fn arrive(&mut self) {
        match self.source.arrival {
            Arrival::Poisson { rate_per_s, start_s, end_s } => {
                self.batches(rate_per_s, 1, (start_s, end_s));
            }
            Arrival::Batches { rate_per_s, count, start_s, end_s } => {
                self.batches(rate_per_s, count, (start_s, end_s));
            }
            Arrival::Once { lo_s, hi_s } => {
                let at = lo_s + (hi_s - lo_s) * self.stream.uniform();
                self.job(at);
            }
            Arrival::Burst { ref at_s, count, spread_s } => {
                for at in at_s {
                    for _ in 0..count {
                        let late = spread_s * self.stream.uniform();
                        self.job(at + late);
                    }
                }
            }
            Arrival::Onoff { rate_per_s, on_s, off_s, end_s } => {
                let mut at = self.stream.exponential(off_s);
                while at < end_s {
                    let until = at + self.stream.exponential(on_s);
                    self.batches(rate_per_s, 1, (at, until.min(end_s)));
                    at = until + self.stream.exponential(off_s);
                }
            }
        }
    }

    fn batches(&mut self, rate: f64, count: u32, (start, end): (f64, f64)) {
        let mut at = start + self.stream.exponential(1.0 / rate);
        while at < end {
            for _ in 0..count {
                self.job(at);
            }
            at += self.stream.exponential(1.0 / rate);
        }
    }

    fn job(&mut self, arrival: f64) {
        let latency = &self.scenario.latency;
        let input = tokens(self.source.in_tok.draw(&mut self.stream));
        let output = tokens(self.source.out_tok.draw(&mut self.stream)).min(self.source.max_tokens);
        let noise = self.stream.lognormal(1.0, latency.sigma);
        let misjudged = self.stream.lognormal(1.0, self.scenario.estimates.in_sigma);
        let ttft = (latency.base_s + input as f64 / latency.prefill_tok_s) * noise;
        self.jobs.push(Job {
            index: 0,
            tenant: self.tenant,
            tier: self.source.tier,
            arrival,
            input,
            output,
            max_tokens: self.source.max_tokens,
            ttft,
            service: ttft + output as f64 / latency.decode_tok_s * noise,
            chars: tokens(4.0 * input as f64 * misjudged),
        });
    }
}

impl Size {
    fn draw(&self, stream: &mut Stream) -> f64 {
        match self {
            Self::Lognormal { mean, sigma, min, max } => {
                clip(stream.lognormal(*mean, *sigma), *min, *max)
            }
            Self::Mix { parts, min, max } => {
                let drawn = stream.uniform();
                let mut sum = 0.0;
                let part = parts.iter().find(|part| {
                    sum += part.p;
                    drawn < sum
                });
                let size = part.or(parts.last()).map_or(1.0, |part| part.d.draw(stream));
                clip(size, *min, *max)
            }
        }
    }
}

fn clip(size: f64, min: Option<f64>, max: Option<f64>) -> f64 {
    size.max(min.unwrap_or(0.0)).min(max.unwrap_or(f64::INFINITY))
}

/// Rounded half up, and at least 1.
fn tokens(size: f64) -> u64 {
    ((size + 0.5).floor() as u64).max(1)
}
