//! All model classes, ordered by when a job of theirs may go.
//!
//! A class without tokens or with a closed gate stands in a calendar instead
//! of in the way of the others.
use super::{
    Config, Wake,
    budget::Budget,
    class::{Class, Standing, Turn},
    job::Job,
};
use crate::domain::{ModelClass, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

/// The classes in use. An idle one of which nothing was learned is forgotten.
#[derive(Debug, Default)]
pub(super) struct Classes {
    known: BTreeMap<ModelClass, Class>,
    ready: BTreeMap<Turn, ModelClass>,
    blocked: BTreeSet<(Timestamp, ModelClass)>,
    idle: BTreeSet<(Timestamp, ModelClass)>,
    /// Before this moment, nobody knows what was used.
    unknown_before: Option<Timestamp>,
}

impl Classes {
    pub(super) fn restore(
        known: BTreeMap<ModelClass, Class>,
        unknown_before: Option<Timestamp>,
    ) -> Self {
        Self { known, unknown_before, ..Self::default() }
    }

    pub(super) const fn unknown_before(&self) -> Option<Timestamp> {
        self.unknown_before
    }

    pub(super) const fn known(&self) -> &BTreeMap<ModelClass, Class> {
        &self.known
    }

    pub(super) const fn known_mut(&mut self) -> &mut BTreeMap<ModelClass, Class> {
        &mut self.known
    }

    /// The class of this name, new if need be.
    pub(super) fn get(&mut self, name: &ModelClass, config: &Config, now: Timestamp) -> &mut Class {
        let unknown_before = self.unknown_before;
        self.known.entry(name.clone()).or_insert_with(|| {
            Class::new(match unknown_before {
                None => Budget::full(config, now),
                Some(then) => Budget::empty(config, then),
            })
        })
    }

    /// Finds out where a class stands, after anything of it has changed.
    pub(super) fn stand(
        &mut self,
        name: &ModelClass,
        head: Option<&Job>,
        config: &Config,
        now: Timestamp,
    ) {
        let Some(class) = self.known.get_mut(name) else {
            return;
        };
        let standing = class.stand(head, config, now);
        let former = std::mem::replace(&mut class.standing, standing);
        if former == standing {
            return;
        }
        match former {
            Standing::Quiet => {}
            Standing::Ready(turn) => drop(self.ready.remove(&turn)),
            Standing::Blocked { until, .. } => drop(self.blocked.remove(&(until, name.clone()))),
            Standing::Idle { full } => drop(self.idle.remove(&(full, name.clone()))),
        }
        match standing {
            Standing::Quiet => {}
            Standing::Ready(turn) => drop(self.ready.insert(turn, name.clone())),
            Standing::Blocked { until, .. } => drop(self.blocked.insert((until, name.clone()))),
            Standing::Idle { full } => drop(self.idle.insert((full, name.clone()))),
        }
    }

    /// Lets the classes go whose time has come.
    pub(super) fn advance(&mut self, now: Timestamp) {
        while let Some((_, name)) = pop_due(&mut self.blocked, now) {
            if let Some(class) = self.known.get_mut(&name)
                && let Standing::Blocked { turn, .. } = class.standing
            {
                class.standing = Standing::Ready(turn);
                self.ready.insert(turn, name);
            }
        }
        while let Some((_, name)) = pop_due(&mut self.idle, now) {
            self.known.remove(&name);
        }
    }

    /// The class whose job goes next.
    pub(super) fn next(&self) -> Option<&ModelClass> {
        self.ready.values().next()
    }

    /// When the next class may go that cannot now.
    pub(super) fn next_blocked(&self) -> Option<(Timestamp, Wake)> {
        let (until, name) = self.blocked.first()?;
        match self.known.get(name)?.standing {
            Standing::Blocked { wake, .. } => Some((*until, wake)),
            Standing::Quiet | Standing::Ready(_) | Standing::Idle { .. } => None,
        }
    }

    /// Each class stands in the one place that its standing names.
    pub(super) fn assert_sound(&self) {
        let (mut ready, mut blocked, mut idle) = (0, 0, 0);
        for (name, class) in &self.known {
            class.budget.assert_sound();
            let found = match class.standing {
                Standing::Quiet => true,
                Standing::Ready(turn) => {
                    ready += 1;
                    self.ready.get(&turn) == Some(name)
                }
                Standing::Blocked { until, .. } => {
                    blocked += 1;
                    self.blocked.contains(&(until, name.clone()))
                }
                Standing::Idle { full } => {
                    idle += 1;
                    self.idle.contains(&(full, name.clone()))
                }
            };
            assert!(found, "{name} is not where it stands");
        }
        let counted = (self.ready.len(), self.blocked.len(), self.idle.len());
        assert_eq!((ready, blocked, idle), counted, "a class stands twice");
    }
}

fn pop_due<T: Ord>(
    calendar: &mut BTreeSet<(Timestamp, T)>,
    now: Timestamp,
) -> Option<(Timestamp, T)> {
    if calendar.first()?.0 <= now { calendar.pop_first() } else { None }
}
