//! Pages beside a naive model, while jobs are added and change.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]
#[path = "lists_world/mod.rs"]
mod lists_world;
#[path = "store_world/mod.rs"]
mod store_world;

use claude_pipeline::domain::{BatchId, JobId, JobStatus, Priority};
use claude_pipeline::pipeline::list;
use claude_pipeline::pipeline::store::{self, Listed, NewJob, NewJobs};
use futures_executor::block_on;
use lists_world::{Stores, body, caller, ids, made_at, moment, new_batch, query};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// A job, as the model has it.
#[derive(Clone, Debug)]
struct Known {
    id: JobId,
    second: u64,
    status: JobStatus,
    priority: Priority,
    user: Option<&'static str>,
    batch: Option<BatchId>,
}

impl Known {
    fn place(&self) -> Listed<JobId> {
        Listed { at: moment(self.second), id: self.id }
    }
}

/// What is asked for.
#[derive(Clone, Debug)]
struct Asked {
    status: Option<JobStatus>,
    priority: Option<Priority>,
    user: Option<&'static str>,
    batch: bool,
    after: Option<u64>,
    before: Option<u64>,
    limit: usize,
}

/// What happens between two pages.
#[derive(Clone, Debug)]
enum Step {
    Add(Seed),
    Change(prop::sample::Index, JobStatus),
}

/// A job to be made at this second.
#[derive(Clone, Debug)]
struct Seed {
    second: u64,
    /// So long it was on its way: its id is as much older.
    upload: u64,
    priority: Priority,
    user: Option<&'static str>,
    batch: bool,
}

struct World {
    stores: Stores,
    batch: BatchId,
    jobs: Vec<Known>,
}

impl World {
    fn new(seeds: &[(Seed, JobStatus)]) -> Self {
        let stores = Stores::new();
        let batch = new_batch(0, "acme", Priority::Batch, 100);
        stores.store.run(store::insert(NewJobs { batch: Some(&batch), jobs: &[], key: None }));
        let mut world = Self { stores, batch: batch.batch_id, jobs: Vec::new() };
        for (seed, status) in seeds {
            world.add(seed);
            world.change(world.jobs.len() - 1, *status);
        }
        world
    }

    fn add(&mut self, seed: &Seed) {
        let number = self.jobs.len() as u64 + 1;
        let batch = seed.batch.then_some(self.batch);
        let job = NewJob {
            batch_id: batch,
            batch_index: batch.and(u32::try_from(number).ok()),
            priority: seed.priority,
            user_id: seed.user.map(str::to_owned),
            created_at: moment(seed.second),
            ..made_at(seed.second.saturating_sub(seed.upload), number)
        };
        self.stores.insert(std::slice::from_ref(&job));
        let Seed { second, priority, user, .. } = *seed;
        let (id, status) = (job.job_id, JobStatus::Pending);
        self.jobs.push(Known { id, second, status, priority, user, batch });
    }

    /// Jobs that have ended stay as they are.
    fn change(&mut self, at: usize, status: JobStatus) {
        let job = &mut self.jobs[at];
        if !job.status.ended() && job.status != status {
            job.status = status;
            self.stores.set_status(job.id, status);
        }
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Add(seed) => self.add(seed),
            Step::Change(_, _) if self.jobs.is_empty() => {}
            Step::Change(at, status) => self.change(at.index(self.jobs.len()), *status),
        }
    }

    /// What fits, the newest first.
    fn fitting(&self, asked: &Asked) -> Vec<Listed<JobId>> {
        let fits = |job: &&Known| {
            asked.status.is_none_or(|status| status == job.status)
                && asked.priority.is_none_or(|priority| priority == job.priority)
                && asked.user.is_none_or(|user| job.user == Some(user))
                && (!asked.batch || job.batch.is_some())
                && asked.after.is_none_or(|after| job.second >= after)
                && asked.before.is_none_or(|before| job.second < before)
        };
        let mut found: Vec<_> = self.jobs.iter().filter(fits).map(Known::place).collect();
        found.sort_unstable_by(|a, b| b.cmp(a));
        found
    }

    fn page(
        &self,
        asked: &Asked,
        cursor: Option<Listed<JobId>>,
    ) -> (Vec<Listed<JobId>>, Option<Listed<JobId>>) {
        let mut words = vec![format!("limit={}", asked.limit)];
        words.extend(asked.status.map(|status| format!("status={}", status.as_str())));
        words.extend(asked.priority.map(|priority| format!("priority={priority}")));
        words.extend(asked.user.map(|user| format!("userId={user}")));
        words.extend(asked.batch.then(|| format!("batch={}", self.batch)));
        words.extend(asked.after.map(|after| format!("createdAfter={}", moment(after))));
        words.extend(asked.before.map(|before| format!("createdBefore={}", moment(before))));
        words.extend(cursor.map(|cursor| format!("cursor={cursor}")));
        let said =
            body(block_on(list::jobs(&self.stores, &caller("acme"), &query(&words.join("&")))));
        let of = |id: &String| self.jobs.iter().find(|job| job.id.to_string() == *id).unwrap();
        let page = ids(&said, "jobs", "jobId").iter().map(|id| of(id).place()).collect();
        (page, said["nextCursor"].as_str().map(|cursor| cursor.parse().unwrap()))
    }
}

fn status() -> impl Strategy<Value = JobStatus> {
    prop::sample::select(JobStatus::ALL.to_vec())
}

fn priority() -> impl Strategy<Value = Priority> {
    prop::sample::select(Priority::ALL.to_vec())
}

fn user() -> impl Strategy<Value = Option<&'static str>> {
    prop::option::of(prop::sample::select(vec!["ann", "bob"]))
}

/// Half of the time nothing is asked of the rest.
fn perhaps<T: Clone + std::fmt::Debug + 'static>(
    some: impl Strategy<Value = T> + 'static,
) -> impl Strategy<Value = Option<T>> {
    prop::option::weighted(0.4, some)
}

fn seed() -> impl Strategy<Value = Seed> {
    (0_u64..30, 0_u64..9, priority(), user(), prop::bool::weighted(0.3)).prop_map(
        |(second, upload, priority, user, batch)| Seed { second, upload, priority, user, batch },
    )
}

fn asked() -> impl Strategy<Value = Asked> {
    let words =
        (perhaps(status()), perhaps(priority()), perhaps(prop::sample::select(vec!["ann", "bob"])));
    let rest = (prop::bool::weighted(0.2), perhaps(0_u64..30), perhaps(0_u64..30), 1_usize..8);
    (words, rest).prop_map(|((status, priority, user), (batch, after, before, limit))| Asked {
        status,
        priority,
        user,
        batch,
        after,
        before,
        limit,
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        seed().prop_map(Step::Add),
        (any::<prop::sample::Index>(), status()).prop_map(|(at, status)| Step::Change(at, status)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_page_is_what_the_naive_model_says(
        seeds in prop::collection::vec((seed(), status()), 0..40),
        asked in asked(),
    ) {
        let world = World::new(&seeds);
        let (page, next) = world.page(&asked, None);
        let fitting = world.fitting(&asked);
        let cut = &fitting[..fitting.len().min(asked.limit)];
        prop_assert_eq!(&page, cut);
        prop_assert_eq!(next, cut.last().copied().filter(|_| fitting.len() > asked.limit));
    }

    #[test]
    fn every_job_there_from_beginning_to_end_is_told_once(
        seeds in prop::collection::vec((seed(), status()), 0..40),
        asked in asked(),
        meanwhile in prop::collection::vec(prop::collection::vec(step(), 0..4), 50),
    ) {
        let mut world = World::new(&seeds);
        let at_first: BTreeSet<_> = world.fitting(&asked).into_iter().collect();
        let (mut seen, mut cursor) = (Vec::new(), None);
        for steps in &meanwhile {
            let (page, next) = world.page(&asked, cursor);
            let fitting = world.fitting(&asked);
            prop_assert!(page.iter().all(|id| fitting.contains(id)));
            seen.extend(page);
            cursor = next;
            if next.is_none() {
                break;
            }
            for step in steps {
                world.take(step);
            }
        }
        prop_assert!(cursor.is_none() || seen.len() >= 50 * asked.limit);
        prop_assert!(seen.is_sorted_by(|a, b| a > b), "out of order, or twice: {:?}", seen);
        // Statuses never return: what fits at both ends did so all the while.
        let lasting = world.fitting(&asked).into_iter().filter(|id| at_first.contains(id));
        for id in lasting.filter(|id| cursor.is_none_or(|cursor| *id >= cursor)) {
            prop_assert!(seen.contains(&id), "{} was left out", id);
        }
    }
}
