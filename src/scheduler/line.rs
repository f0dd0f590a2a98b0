//! Those who were refused and told to come back: for each tenant one place in
//! line, in the order in which they came.
//!
//! Room is kept for them from those who came later and have as much or more in
//! the house. Else a tenant that asks again and again takes every place that
//! becomes free, and a batch that needs several at once never finds them. Who
//! does not come back in time has left.
use super::keys::TenantKey;
use crate::domain::{Span, Timestamp};

/// See the module. In memory only: after a restart all are asked again.
#[derive(Debug, Default)]
pub(super) struct Line(Vec<Stander>);

/// A tenant in line.
#[derive(Clone, Copy, Debug)]
struct Stander {
    tenant: TenantKey,
    claim: Claim,
    until: Timestamp,
}

/// What a tenant stands for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim {
    /// Jobs of the request that was refused.
    pub(super) jobs: u64,
    /// What it has in the house.
    pub(super) held: u64,
    /// How far below saturation others have to stay for it.
    pub(super) room: u64,
}

impl Line {
    /// Who was to be back by now has left; tells who.
    pub(super) fn pass(&mut self, now: Timestamp) -> Vec<TenantKey> {
        let late = self.0.extract_if(.., |stander| stander.until <= now);
        late.map(|stander| stander.tenant).collect()
    }

    /// Room that is kept from a tenant that has so many jobs.
    pub(super) fn kept_from(&self, tenant: TenantKey, held: u64) -> u64 {
        let before = self.0.iter().take_while(|stander| stander.tenant != tenant);
        let claims = before.map(|stander| stander.claim);
        claims.filter(|claim| claim.held <= held).map(|claim| claim.room).sum()
    }

    /// The jobs of the request that a tenant stands for, if it does.
    pub(super) fn claimed(&self, tenant: TenantKey) -> Option<u64> {
        let known = self.0.iter().find(|stander| stander.tenant == tenant);
        known.map(|stander| stander.claim.jobs)
    }

    /// A request was refused: its tenant stands in line, where it stood if it
    /// did, until `wait` is over and a while longer. Says whether it stands.
    pub(super) fn stand(
        &mut self,
        tenant: TenantKey,
        claim: Claim,
        (now, wait): (Timestamp, Span),
    ) -> bool {
        let until = now + wait + wait.scaled(1, 4).max(LATE);
        if let Some(known) = self.0.iter_mut().find(|stander| stander.tenant == tenant) {
            known.until = known.until.max(until);
            if claim.jobs >= known.claim.jobs {
                known.claim = claim;
            }
            return true;
        }
        let stands = self.0.len() < LONGEST;
        if stands {
            self.0.push(Stander { tenant, claim, until });
        }
        stands
    }

    /// A request was let in, and its tenant has so many jobs now: if it is as
    /// large as the one that was refused, the tenant has what it stood for.
    /// Says whether it still stands.
    pub(super) fn let_in(&mut self, tenant: TenantKey, jobs: u64, held: u64) -> bool {
        self.0.retain(|stander| stander.tenant != tenant || stander.claim.jobs > jobs);
        let known = self.0.iter_mut().find(|stander| stander.tenant == tenant);
        known.map(|stander| stander.claim.held = held).is_some()
    }
}

/// Nobody is to the moment.
const LATE: Span = Span::from_secs(2);
/// The line is read at every knock.
const LONGEST: usize = 1_000;
