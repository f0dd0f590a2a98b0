//! The places of a request: asked for before anything is stored, taken by its
//! jobs, or given back.
use super::accept::Acceptor;
use super::caller::Caller;
use super::ports::{Admitted, Vacated};
use super::problem::Problem;
use super::retry::patiently;
use super::settings::Settings;
use super::upload::MAX_FILES;
use crate::domain::JobId;
use crate::scheduler::{Quota, Wish};
use serde_json::value::RawValue;

/// Places that a request has.
pub struct Places<'a, P> {
    ports: &'a P,
    wish: Wish,
    quota: Option<Quota>,
    demotion: Option<Box<RawValue>>,
}

/// Room for the files of a form, however many come.
pub trait Room {
    /// Sees to it that there is room for so many.
    ///
    /// # Errors
    ///
    /// 429, 413 or 503.
    fn at_least(&mut self, files: u32) -> impl Future<Output = Result<(), Problem>>;
}

impl<'a, P: Acceptor> Places<'a, P> {
    /// Asks for a place for one job.
    ///
    /// # Errors
    ///
    /// 429 or 413 that says which limit was met, 503 if the scheduler does not
    /// answer. Nothing was stored then.
    pub async fn for_job(
        ports: &'a P,
        settings: &Settings,
        caller: &Caller,
        hold: JobId,
    ) -> Result<Self, Problem> {
        Self::ask(ports, settings, (caller, hold), 1).await
    }

    /// Asks for the first places of a form.
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn for_form(
        ports: &'a P,
        settings: &Settings,
        caller: &Caller,
        hold: JobId,
    ) -> Result<Self, Problem> {
        Self::ask(ports, settings, (caller, hold), ahead_of(1)).await
    }

    async fn ask(
        ports: &'a P,
        settings: &Settings,
        (caller, hold): (&Caller, JobId),
        ahead: u32,
    ) -> Result<Self, Problem> {
        let per_minute = settings.per_minute(&caller.tenant);
        let tenant = caller.tenant.tenant_id.clone();
        let wish = Wish { tenant, hold, jobs: 1, ahead: 1, per_minute };
        let mut places = Self { ports, wish, quota: None, demotion: None };
        places.grow(1, ahead).await?;
        Ok(places)
    }

    /// What is left of the tenant's rate.
    #[must_use]
    pub const fn quota(&self) -> Option<Quota> {
        self.quota
    }

    /// The tenant's demotion, as JSON.
    #[must_use]
    pub fn demotion(&self) -> Option<Box<RawValue>> {
        self.demotion.clone()
    }

    /// Gives them back: the request came to nothing. If that fails they end by
    /// themselves.
    pub async fn give_back(&self) {
        let places = Vacated { tenant: self.wish.tenant.clone(), hold: self.wish.hold };
        let _ = patiently(self.ports, async || self.ports.vacate(places.clone()).await).await;
    }

    async fn grow(&mut self, jobs: u32, ahead: u32) -> Result<(), Problem> {
        let wish = Wish { jobs, ahead, ..self.wish.clone() };
        let asked = patiently(self.ports, async || self.ports.admit(wish.clone()).await).await;
        let Admitted { refused, places, quota, demotion } = asked?;
        if let Some(refusal) = refused {
            return Err(Problem::limited(refusal, quota));
        }
        (self.wish.jobs, self.quota, self.demotion) = (places, quota, demotion);
        Ok(())
    }
}

impl<P: Acceptor> Room for Places<'_, P> {
    async fn at_least(&mut self, files: u32) -> Result<(), Problem> {
        if files <= self.wish.jobs {
            return Ok(());
        }
        self.grow(files, ahead_of(files)).await
    }
}

/// Nobody knows how many files a form has before its end. Places are asked for
/// ahead, four times as many each time, and given as long as there are.
fn ahead_of(files: u32) -> u32 {
    let most = u32::try_from(MAX_FILES).unwrap_or(u32::MAX);
    files.saturating_mul(4).min(most).max(files)
}
