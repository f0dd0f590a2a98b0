//! A naive count of the jobs and places there are, and of who stands in line.
use claude_pipeline::domain::*;
use claude_pipeline::scheduler::*;
use std::collections::BTreeMap;

/// What there is, counted by hand.
#[derive(Default)]
pub(crate) struct Naive {
    /// By request: whose, how many places, until when.
    pub(crate) holds: BTreeMap<u64, (&'static str, u64, Timestamp)>,
    /// By job: whose.
    pub(crate) jobs: BTreeMap<u64, &'static str>,
    pub(crate) next_job: u64,
    /// Who was refused and is to come back, in the order they came.
    pub(crate) line: Vec<Stander>,
}

#[derive(Clone, Debug)]
pub(crate) struct Stander {
    pub(crate) tenant: &'static str,
    pub(crate) jobs: u64,
    pub(crate) held: u64,
    pub(crate) room: u64,
    pub(crate) until: Timestamp,
}

impl Naive {
    pub(crate) fn depth(&self) -> u64 {
        self.jobs.len() as u64 + self.holds.values().map(|(_, jobs, _)| jobs).sum::<u64>()
    }

    pub(crate) fn theirs(&self, tenant: &str) -> u64 {
        let jobs = self.jobs.values().filter(|of| **of == tenant).count() as u64;
        let holds = self.holds.values().filter(|(of, ..)| *of == tenant);
        jobs + holds.map(|(_, jobs, _)| jobs).sum::<u64>()
    }

    pub(crate) fn fits(
        &self,
        rules: &AdmissionRules,
        tenant: &str,
        request: u64,
        jobs: u64,
    ) -> bool {
        let known = self.holds.get(&request).map(|(_, jobs, _)| *jobs);
        let (more, theirs) = (jobs.saturating_sub(known.unwrap_or(0)), self.theirs(tenant));
        if known.is_some() {
            return all_fit(rules, self.depth(), theirs, more);
        }
        let kept = self.kept_from(rules, tenant, theirs);
        let depth = self.depth() + kept;
        let in_line = self.line.iter().any(|stander| stander.tenant == tenant);
        // Who has nothing and is first may have what it might have alone.
        let at_once = in_line && theirs == 0 && kept == 0 && jobs <= most_at_once(rules);
        let fits = all_fit(rules, depth, theirs, more)
            || (at_once && depth + more <= u64::from(rules.capacity));
        depth * 10 < u64::from(rules.capacity) * 9 && fits
    }

    /// How many places a request is given that asks for these, and may have
    /// more: as many as it was refused with before, those ahead, or these.
    pub(crate) fn places(
        &self,
        rules: &AdmissionRules,
        (tenant, request): (&'static str, u64),
        (jobs, ahead): (u64, u64),
    ) -> u64 {
        let stander = self.line.iter().find(|stander| stander.tenant == tenant);
        let known = self.holds.contains_key(&request);
        let before = stander.filter(|_| !known).map_or(0, |stander| stander.jobs);
        let mut better = [before.max(ahead), ahead].into_iter().filter(|_| ahead > jobs);
        let fits =
            |jobs: &u64| *jobs <= most_at_once(rules) && self.fits(rules, tenant, request, *jobs);
        better.find(fits).unwrap_or(jobs)
    }

    /// What those before a tenant need who had no more than it has.
    pub(crate) fn kept_from(&self, rules: &AdmissionRules, tenant: &str, held: u64) -> u64 {
        let before = self.line.iter().take_while(|stander| stander.tenant != tenant);
        let kept = before.filter(|stander| stander.held <= held).map(|stander| stander.room);
        kept.sum::<u64>().min(u64::from(rules.capacity) / 2)
    }

    /// A request is given so many places.
    pub(crate) fn let_in(
        &mut self,
        tenant: &'static str,
        request: u64,
        jobs: u64,
        until: Timestamp,
    ) {
        self.holds.insert(request, (tenant, jobs, until));
        let held = self.theirs(tenant);
        self.line.retain(|stander| stander.tenant != tenant || stander.jobs > jobs);
        if let Some(stander) = self.line.iter_mut().find(|stander| stander.tenant == tenant) {
            stander.held = held;
        }
    }

    /// A refused tenant stands in line, if there is a depth, its own jobs at
    /// least, at which its wish would be granted.
    pub(crate) fn stand(
        &mut self,
        rules: &AdmissionRules,
        (tenant, request): (&'static str, u64),
        jobs: u64,
        until: Timestamp,
    ) {
        let own = self.holds.get(&request).map(|(_, jobs, _)| *jobs);
        let (held, saturated) = (self.theirs(tenant), u64::from(rules.capacity) * 9 / 10);
        // One that was on its way may have as many again.
        let more = if own.is_some() { most_at_once(rules).min(jobs * 2) } else { jobs };
        let held = held - own.unwrap_or(0);
        let fits = |depth: &u64| match held {
            0 => depth + more <= u64::from(rules.capacity),
            _ => all_fit(rules, *depth, held, more),
        };
        let deepest = (held..saturated).rev().find(fits);
        let Some(deepest) = deepest else { return };
        let room = saturated - deepest;
        let claim = Stander { tenant, jobs: more, held, room, until };
        match self.line.iter_mut().find(|stander| stander.tenant == tenant) {
            None => self.line.push(claim),
            Some(known) => {
                let until = known.until.max(until);
                let larger = if more >= known.jobs { claim } else { known.clone() };
                *known = Stander { until, ..larger };
            }
        }
    }
}

fn most_at_once(rules: &AdmissionRules) -> u64 {
    (u64::from(rules.capacity) * u64::from(rules.share_percent)).div_ceil(100)
}

/// Jobs come one by one: each finds room, or none of them is let in.
fn all_fit(rules: &AdmissionRules, depth: u64, held: u64, more: u64) -> bool {
    let (capacity, share) = (u64::from(rules.capacity), u64::from(rules.share_percent));
    (0..more).all(|before| {
        let (depth, theirs) = (depth + before, held + before);
        depth < capacity && theirs * (100 - share) < (capacity - depth) * share
    })
}
