//! A map of at most a few hundred entries, in order: a `Vec`. Every other kind
//! of `BTreeMap` costs the module as much as a feature does.
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
};
use std::{fmt, marker::PhantomData};

#[derive(Clone, Debug)]
pub(super) struct Few<K, V>(Vec<(K, V)>);

impl<K: Ord, V> Few<K, V> {
    /// Takes in an entry, in place of the one of the same key.
    pub(super) fn insert(&mut self, key: K, value: V) {
        match self.find(&key) {
            Ok(at) => {
                if let Some((_, known)) = self.0.get_mut(at) {
                    *known = value;
                }
            }
            Err(at) => self.0.insert(at, (key, value)),
        }
    }

    pub(super) fn get(&self, key: &K) -> Option<&V> {
        self.0.get(self.find(key).ok()?).map(|(_, value)| value)
    }

    pub(super) fn remove(&mut self, key: &K) {
        if let Ok(at) = self.find(key) {
            self.0.remove(at);
        }
    }

    pub(super) fn first(&self) -> Option<&(K, V)> {
        self.0.first()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(K, V)> {
        self.0.iter()
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &V> {
        self.0.iter().map(|(_, value)| value)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn find(&self, key: &K) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| known.cmp(key))
    }
}

impl<K, V> Default for Few<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Serialize, V: Serialize> Serialize for Few<K, V> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

impl<'de, K: Deserialize<'de> + Ord, V: Deserialize<'de>> Deserialize<'de> for Few<K, V> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(Entries(PhantomData))
    }
}

struct Entries<K, V>(PhantomData<(K, V)>);

impl<'de, K: Deserialize<'de> + Ord, V: Deserialize<'de>> Visitor<'de> for Entries<K, V> {
    type Value = Few<K, V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Few<K, V>, A::Error> {
        let mut few = Few::default();
        while let Some((key, value)) = map.next_entry()? {
            few.insert(key, value);
        }
        Ok(few)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn it_is_a_map_in_order(steps: Vec<(bool, u8, u8)>) {
            let mut few = Few::default();
            let mut tree = BTreeMap::new();
            for (put, key, value) in steps {
                if put {
                    few.insert(key % 16, value);
                    tree.insert(key % 16, value);
                } else {
                    few.remove(&(key % 16));
                    tree.remove(&(key % 16));
                }
                prop_assert_eq!(few.get(&(key % 16)), tree.get(&(key % 16)));
                prop_assert!(few.iter().map(|(key, value)| (key, value)).eq(&tree));
                prop_assert!(few.values().eq(tree.values()));
                prop_assert_eq!(few.first().map(|(key, _)| key), tree.keys().next());
                prop_assert_eq!((few.len(), few.is_empty()), (tree.len(), tree.is_empty()));
            }
        }
    }
}
