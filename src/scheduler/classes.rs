//! All model classes, ordered by when a job of theirs may go.
//!
//! A class without tokens or with a closed gate stands in a calendar instead
//! of in the way of the others. Between classes whose turn it is the most
//! urgent job goes first, with the same floors as within a class, and among
//! equals the class that was served longest ago.
use super::{
    Config, PerPriority, Policy, Wake,
    budget::Budget,
    class::{Class, Known, Standing},
    few::Few,
    floors::{Floors, Shares},
    keys::ClassKey,
};
use crate::domain::{ModelClass, Priority, Timestamp};
use slab::Slab;

/// The classes in use. An idle one of which nothing was learned is forgotten.
#[derive(Debug, Default)]
pub(super) struct Classes {
    pub(super) table: Slab<Class>,
    names: Few<ModelClass, ClassKey>,
    /// By rank, last release, and the order of the next job.
    ready: Few<(Priority, u64, u64), ClassKey>,
    blocked: Few<(Timestamp, ClassKey), ()>,
    /// Those whose standing is not known.
    stale: Vec<ClassKey>,
    pub(super) floors: Floors,
    /// How many jobs were released.
    pub(super) served: u64,
    /// Before this moment, nobody knows what was used.
    pub(super) unknown_before: Option<Timestamp>,
}

impl Classes {
    /// The class of this name, new if need be.
    pub(super) fn key(&mut self, name: &ModelClass, config: &Config, now: Timestamp) -> ClassKey {
        if let Some(known) = self.names.get(name) {
            return *known;
        }
        if self.names.len() >= MOST_CLASSES && name.as_str() != OTHERS {
            return self.key(&ModelClass::of(OTHERS), config, now);
        }
        let budget = match self.unknown_before {
            None => Budget::full(config, now),
            Some(then) => Budget::empty(config, then),
        };
        self.open(Class::new(name.clone(), &Known::new(budget), now))
    }

    /// Takes a class in.
    pub(super) fn open(&mut self, class: Class) -> ClassKey {
        self.served = self.served.max(class.known.served);
        let name = class.name.clone();
        let key = ClassKey(self.table.insert(class));
        self.names.insert(name, key);
        self.touch(key);
        key
    }

    pub(super) fn get(&self, key: ClassKey) -> Option<&Class> {
        self.table.get(key.0)
    }

    pub(super) fn get_mut(&mut self, key: ClassKey) -> Option<&mut Class> {
        self.table.get_mut(key.0)
    }

    /// The classes by name.
    pub(super) fn by_name(&self) -> impl Iterator<Item = (&ModelClass, ClassKey, &Class)> {
        self.names.iter().filter_map(|(name, key)| Some((name, *key, self.get(*key)?)))
    }

    /// Notes that a class may stand elsewhere from now on: to be called after
    /// every change of its lanes, its budget or its gate.
    pub(super) fn touch(&mut self, key: ClassKey) {
        if let Some(class) = self.table.get_mut(key.0)
            && !std::mem::replace(&mut class.stale, true)
        {
            self.stale.push(key);
        }
    }

    /// All classes may stand elsewhere from now on.
    pub(super) fn touch_all(&mut self) {
        let keys: Vec<_> = self.table.iter().map(|(key, _)| ClassKey(key)).collect();
        for key in keys {
            self.touch(key);
        }
    }

    /// The next class whose standing is to be found out.
    pub(super) fn next_stale(&mut self) -> Option<ClassKey> {
        self.stale.pop()
    }

    pub(super) fn any_stale(&self) -> bool {
        !self.stale.is_empty()
    }

    /// What was found out at another time may be so no more.
    pub(super) fn doubt_ready(&mut self, now: Timestamp) {
        let old = |key: &ClassKey| self.get(*key).is_some_and(|class| class.stood != now);
        let ready: Vec<_> = self.ready.values().copied().filter(old).collect();
        for key in ready {
            self.touch(key);
        }
    }

    /// Notes where a class stands.
    pub(super) fn stand(&mut self, key: ClassKey, standing: Standing, now: Timestamp) {
        let Some(class) = self.table.get_mut(key.0) else {
            return;
        };
        class.stale = false;
        class.stood = now;
        let served = class.known.served;
        let former = std::mem::replace(&mut class.standing, standing);
        self.leave(key, former, served);
        match standing {
            Standing::Quiet => {}
            Standing::Ready(next) => self.ready.insert((next.rank, served, next.order), key),
            Standing::Blocked { until, .. } => self.blocked.insert((until, key), ()),
        }
    }

    /// A job of this class goes: it stands nowhere until it is looked at
    /// again, and behind all others of its kind.
    pub(super) fn serve(&mut self, key: ClassKey) {
        let Some(class) = self.table.get_mut(key.0) else {
            return;
        };
        let former_turn = class.known.served;
        self.served = self.served.saturating_add(1);
        class.known.served = self.served;
        let former = std::mem::take(&mut class.standing);
        self.leave(key, former, former_turn);
        self.touch(key);
    }

    /// Lets the classes go whose time has come.
    pub(super) fn advance(&mut self, now: Timestamp) {
        while let Some(((until, key), ())) = self.blocked.first().copied()
            && until <= now
        {
            self.blocked.remove(&(until, key));
            if let Some(class) = self.table.get_mut(key.0) {
                class.standing = Standing::Quiet;
            }
            self.touch(key);
        }
    }

    /// A class without lanes is forgotten, if nothing was learned of it.
    pub(super) fn forget(&mut self, key: ClassKey, config: &Config, now: Timestamp) {
        if !self.get(key).is_some_and(|class| class.is_blank(config, now)) {
            return;
        }
        let class = self.table.remove(key.0);
        self.leave(key, class.standing, class.known.served);
        self.names.remove(&class.name);
        self.stale.retain(|stale| *stale != key);
    }

    /// The class whose job goes next, and what it is judged by.
    pub(super) fn pick(&mut self, config: &Config) -> Option<(ClassKey, Shares)> {
        let waiting = PerPriority::by(|rank| self.first_of(rank).is_some());
        for rank in Priority::ALL {
            if !waiting.get(rank) {
                self.floors.clear(rank);
            }
        }
        let lead = match config.order.policy {
            Policy::Weights => PerPriority::default(),
            Policy::Bounded | Policy::Draw { .. } => LEAD,
        };
        let shares = Shares { weights: config.order.weights, lead, waiting };
        let places = self.floors.places(&shares);
        let key = places.into_iter().find_map(|place| self.first_of(place.priority))?;
        Some((key, shares))
    }

    /// Whether a class has a job that may go now, as far as is known.
    pub(super) fn any_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// When the next class may go that cannot now.
    pub(super) fn next_blocked(&self) -> Option<(Timestamp, Wake)> {
        let ((until, key), ()) = self.blocked.first()?;
        match self.get(*key)?.standing {
            Standing::Blocked { wake, .. } => Some((*until, wake)),
            Standing::Quiet | Standing::Ready(_) => None,
        }
    }

    fn first_of(&self, rank: Priority) -> Option<ClassKey> {
        let ((first, ..), key) = self.ready.iter().find(|((ready, ..), _)| *ready >= rank)?;
        Some(*key).filter(|_| *first == rank)
    }

    fn leave(&mut self, key: ClassKey, standing: Standing, served: u64) {
        match standing {
            Standing::Quiet => {}
            Standing::Ready(next) => self.ready.remove(&(next.rank, served, next.order)),
            Standing::Blocked { until, .. } => self.blocked.remove(&(until, key)),
        }
    }

    /// Each class stands in the one place that its standing names.
    pub(super) fn assert_sound(&self) {
        let (mut ready, mut blocked) = (0, 0);
        for (name, key, class) in self.by_name() {
            class.known.budget.assert_sound();
            let found = match class.standing {
                Standing::Quiet => true,
                Standing::Ready(next) => {
                    ready += 1;
                    let turn = (next.rank, class.known.served, next.order);
                    self.ready.get(&turn) == Some(&key)
                }
                Standing::Blocked { until, .. } => {
                    blocked += 1;
                    self.blocked.get(&(until, key)).is_some()
                }
            };
            assert!(found, "{name} is not where it stands");
        }
        let counted = (self.ready.len(), self.blocked.len());
        assert_eq!((ready, blocked), counted, "a class stands twice");
    }
}

/// Callers may name any model. Beyond so many, all others share a class.
const MOST_CLASSES: usize = 200;
const OTHERS: &str = "others";

/// What a release costs between classes.
pub(super) const RELEASE: i64 = 1_000;
/// How far a priority may get ahead there: 60 and 20 releases.
const LEAD: PerPriority<u64> = PerPriority { critical: 60_000, standard: 20_000, batch: 0 };
