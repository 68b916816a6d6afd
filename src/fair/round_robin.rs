//! A two-level queue: groups take turns, and so do the items of each group. A group with a thousand items is served no
//! more often than one with a single item.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// Items of type `T` in groups that are identified by a `G`, for example by the id of their organization.
#[derive(Debug)]
pub(crate) struct RoundRobin<G, T> {
    /// The groups that have items, each once, in the order in which they are served.
    groups: VecDeque<G>,
    items: HashMap<G, VecDeque<T>>,
}

impl<G, T> Default for RoundRobin<G, T> {
    fn default() -> Self {
        Self { groups: VecDeque::new(), items: HashMap::new() }
    }
}

impl<G: Copy + Eq + Hash, T> RoundRobin<G, T> {
    /// Adds an item behind the others of its group.
    pub(crate) fn push(&mut self, group: G, item: T) {
        let items = self.items.entry(group).or_default();
        if items.is_empty() {
            self.groups.push_back(group);
        }
        items.push_back(item);
    }

    /// Removes and returns the next item. Its group moves behind all others.
    pub(crate) fn pop(&mut self) -> Option<T> {
        self.pop_if(|_| true)
    }

    /// Like [`pop`](Self::pop), but passes over groups that may not be served now: they keep their positions.
    pub(crate) fn pop_if(&mut self, may_be_served: impl FnMut(G) -> bool) -> Option<T> {
        let position = self.groups.iter().copied().position(may_be_served)?;
        let group = self.groups.remove(position)?;
        let items = self.items.get_mut(&group)?;
        let item = items.pop_front();
        if items.is_empty() {
            self.items.remove(&group);
        } else {
            self.groups.push_back(group);
        }
        item
    }

    /// Removes an item from any position.
    pub(crate) fn remove(&mut self, group: G, item: &T)
    where
        T: PartialEq,
    {
        let Some(items) = self.items.get_mut(&group) else { return };
        items.retain(|other| other != item);
        if items.is_empty() {
            self.items.remove(&group);
            self.groups.retain(|other| *other != group);
        }
    }

    pub(crate) fn len_of(&self, group: G) -> usize {
        self.items.get(&group).map_or(0, VecDeque::len)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// All items, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.items.values().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pop_all(round_robin: &mut RoundRobin<char, i32>) -> Vec<i32> {
        std::iter::from_fn(|| round_robin.pop()).collect()
    }

    #[test]
    fn groups_take_turns_and_so_do_the_items_of_each() {
        let mut round_robin = RoundRobin::default();
        for (group, item) in [('a', 11), ('a', 12), ('a', 13), ('b', 21), ('c', 31), ('c', 32)] {
            round_robin.push(group, item);
        }
        assert_eq!(round_robin.iter().count(), 6);
        assert_eq!(pop_all(&mut round_robin), [11, 21, 31, 12, 32, 13]);
        assert!(round_robin.is_empty());
    }

    #[test]
    fn a_group_that_may_not_be_served_keeps_its_position() {
        let mut round_robin = RoundRobin::default();
        for (group, item) in [('a', 11), ('b', 21), ('b', 22), ('c', 31)] {
            round_robin.push(group, item);
        }
        assert_eq!(round_robin.pop_if(|group| group != 'a'), Some(21));
        assert_eq!(round_robin.pop_if(|_| false), None);
        assert_eq!(pop_all(&mut round_robin), [11, 31, 22]);
        assert_eq!(round_robin.len_of('a'), 0);
    }

    #[test]
    fn removing_the_last_item_removes_its_group() {
        let mut round_robin = RoundRobin::default();
        for (group, item) in [('a', 11), ('b', 21), ('b', 22)] {
            round_robin.push(group, item);
        }
        round_robin.remove('a', &11);
        round_robin.remove('b', &21);
        round_robin.remove('c', &31);
        round_robin.push('a', 12);
        assert_eq!(pop_all(&mut round_robin), [22, 12]);
    }
}
