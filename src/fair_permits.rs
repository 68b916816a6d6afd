//! Permits that organizations share: one that uses many leaves some to every other, without a fixed share for each.
//!
//! An organization gets another permit only while it has fewer than are free. Alone, it gets half of all. Two that want as
//! many as they can get have a third each, three a quarter, and as much is always left for the next one. This is the
//! dynamic threshold that switches use to share a buffer (A. K. Choudhury and E. L. Hahne, "Dynamic queue length thresholds
//! for shared-memory packet switches", 1998).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::model::id::OrganizationId;

/// The organization that uses a permit. `None` if it is not known: all such uses count as those of one organization.
pub(crate) type Holder = Option<OrganizationId>;

/// Whether a holder that has `own` permits may get another one if all holders have `all` of `most`.
pub(crate) const fn is_fair(own: usize, all: usize, most: usize) -> bool {
    own < most.saturating_sub(all)
}

/// A number of permits.
#[derive(Debug)]
pub(crate) struct FairPermits {
    most: usize,
    used: Mutex<Used>,
}

#[derive(Debug, Default)]
struct Used {
    all: usize,
    by_holder: HashMap<Holder, usize>,
}

/// The right to do something until it is dropped.
#[derive(Debug)]
pub(crate) struct FairPermit {
    permits: Arc<FairPermits>,
    holder: Holder,
}

impl FairPermits {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, used: Mutex::default() })
    }

    /// Returns a permit, or `None` if the holder has as many as are free.
    pub(crate) fn try_acquire(self: &Arc<Self>, holder: Holder) -> Option<FairPermit> {
        let mut used = self.used();
        let own = used.by_holder.get(&holder).copied().unwrap_or_default();
        if !is_fair(own, used.all, self.most) {
            return None;
        }
        used.all += 1;
        used.by_holder.insert(holder, own + 1);
        Some(FairPermit { permits: Arc::clone(self), holder })
    }

    /// How many permits nobody has.
    pub(crate) fn free(&self) -> usize {
        self.most.saturating_sub(self.used().all)
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for FairPermit {
    fn drop(&mut self) {
        let mut used = self.permits.used();
        used.all -= 1;
        if let Some(own) = used.by_holder.get_mut(&self.holder) {
            *own -= 1;
            if *own == 0 {
                used.by_holder.remove(&self.holder);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets these organizations take turns to get a permit until none of them gets another one. Returns how many each has.
    fn fill(permits: &Arc<FairPermits>, organizations: &[i64]) -> (Vec<usize>, Vec<FairPermit>) {
        let mut held = Vec::new();
        let mut counts = vec![0; organizations.len()];
        loop {
            let before = held.len();
            for (organization, count) in organizations.iter().zip(&mut counts) {
                let permit = permits.try_acquire(Some(OrganizationId::from_raw(*organization)));
                *count += usize::from(permit.is_some());
                held.extend(permit);
            }
            if held.len() == before {
                return (counts, held);
            }
        }
    }

    #[test]
    fn alone_an_organization_gets_half_of_the_permits_and_two_get_a_third_each() {
        for (most, organizations, expected) in [
            (128, vec![1], vec![64]),
            (126, vec![1, 2], vec![42, 42]),
            (128, vec![1, 2, 3], vec![32, 32, 32]),
            (1, vec![1], vec![1]),
            (2, vec![1], vec![1]),
            (2, vec![1, 2], vec![1, 1]),
            (3, vec![1], vec![2]),
        ] {
            let permits = FairPermits::new(most);
            assert_eq!(fill(&permits, &organizations).0, expected, "{most}, {organizations:?}");
        }
    }

    #[test]
    fn whoever_uses_as_many_as_it_can_leaves_some_to_each_that_comes_later() {
        let permits = FairPermits::new(128);
        let (heavy, held) = fill(&permits, &[1]);
        let (second, more) = fill(&permits, &[2]);
        let (third, rest) = fill(&permits, &[3]);
        assert_eq!((heavy, second, third), (vec![64], vec![32], vec![16]));
        assert!(permits.try_acquire(None).is_some());
        // What the heavy one gives back is for the others first.
        drop(held);
        assert!(permits.try_acquire(Some(OrganizationId::from_raw(3))).is_some());
        drop((more, rest));
        assert_eq!(permits.free(), 128);
        assert!(permits.used().by_holder.is_empty());
    }
}
