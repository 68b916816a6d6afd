//! The limit of notifications that an organization may have waiting for its webhook endpoints, so that one organization
//! cannot queue hours of work and gigabytes of rows.
//!
//! The waiting notifications are in the store. This process counts them again every few seconds while requests of the
//! organization ask for it, and adds what it has queued since: so an order costs no count.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use crate::environment::Locked;
use crate::error::{Error, Result};
use crate::model::values::id::OrganizationId;

/// How old a count may be. Another process may have queued notifications since, and this one has sent some.
const MAX_AGE: Duration = Duration::from_secs(10);

/// How old a count may be if the limit seems to be reached.
const MAX_AGE_AT_LIMIT: Duration = Duration::from_secs(1);

/// When a refused client should ask again.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// From this number of organizations on, old counts are removed.
const MANY_ORGANIZATIONS: usize = 1024;

#[derive(Debug)]
pub(crate) struct BacklogLimit {
    most: u64,
    backlogs: Mutex<HashMap<OrganizationId, KnownBacklog>>,
}

/// What this process knows about the waiting notifications of an organization.
#[derive(Debug, Clone, Copy)]
struct KnownBacklog {
    counted_at: Duration,
    counted: u64,
    /// What this process has queued since.
    queued: u64,
}

impl KnownBacklog {
    fn waiting(self) -> u64 {
        self.counted.saturating_add(self.queued)
    }

    fn is_current(self, most: u64, now: Duration) -> bool {
        let max_age = if self.waiting() < most { MAX_AGE } else { MAX_AGE_AT_LIMIT };
        now.saturating_sub(self.counted_at) < max_age
    }
}

impl BacklogLimit {
    pub(crate) fn new(most: u64) -> Self {
        Self { most, backlogs: Mutex::default() }
    }

    /// Fails if too many notifications of the organization are waiting. `now` is the monotonic time. `count` returns
    /// how many are waiting, and stops counting at the limit, which it gets.
    pub(crate) fn check(
        &self,
        organization: OrganizationId,
        now: Duration,
        count: impl FnOnce(u64) -> Result<u64>,
    ) -> Result<()> {
        let known = self.with(|backlogs| match backlogs.get(&organization) {
            Some(known) if known.is_current(self.most, now) => Some(*known),
            before => {
                // Others rely on the earlier count until this one is done, instead of counting too. What is queued from
                // now on is counted twice if the count sees it, and once if not.
                let counted = before.map_or(0, |known| known.waiting());
                if backlogs.len() >= MANY_ORGANIZATIONS {
                    backlogs.retain(|_, known| known.is_current(self.most, now));
                }
                backlogs.insert(organization, KnownBacklog { counted_at: now, counted, queued: 0 });
                None
            }
        });
        let waiting = match known {
            Some(known) => known.waiting(),
            None => {
                let counted = count(self.most)?;
                self.with(|backlogs| {
                    backlogs.get_mut(&organization).map_or(counted, |known| {
                        known.counted = counted;
                        known.waiting()
                    })
                })
            }
        };
        if waiting < self.most {
            return Ok(());
        }
        Err(Error::WebhookBacklogExceeded { most: self.most, retry_after: RETRY_AFTER })
    }

    /// Counts notifications that the organization has queued.
    pub(crate) fn add(&self, organization: OrganizationId, queued: u64) {
        self.with(|backlogs| {
            if let Some(known) = backlogs.get_mut(&organization) {
                known.queued = known.queued.saturating_add(queued);
            }
        });
    }

    fn with<T>(&self, work: impl FnOnce(&mut HashMap<OrganizationId, KnownBacklog>) -> T) -> T {
        work(&mut self.backlogs.locked())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Unavailable;

    const ONE: OrganizationId = OrganizationId::from_raw(1);

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// Whether the organization may queue more, and whether the waiting notifications, which are as many as this, were
    /// counted.
    fn check(limit: &BacklogLimit, now: u64, waiting: u64) -> (bool, bool) {
        let mut counted = false;
        let count = |most: u64| {
            counted = true;
            Ok(waiting.min(most))
        };
        let result = limit.check(ONE, seconds(now), count);
        if let Err(error) = &result {
            assert_eq!(*error, Error::WebhookBacklogExceeded { most: 100, retry_after: RETRY_AFTER });
        }
        (result.is_ok(), counted)
    }

    #[test]
    fn notifications_are_counted_every_ten_seconds_and_those_queued_since_are_added() {
        let limit = BacklogLimit::new(100);
        assert_eq!(check(&limit, 0, 50), (true, true));
        assert_eq!(check(&limit, 9, 1000), (true, false));
        limit.add(ONE, 49);
        assert_eq!(check(&limit, 9, 1000), (true, false));
        assert_eq!(check(&limit, 10, 99), (true, true));
        limit.add(OrganizationId::from_raw(2), 1);
        assert_eq!(check(&limit, 10, 1000), (true, false));
        limit.add(ONE, 1);
        assert_eq!(check(&limit, 10, 1000), (false, false), "they were counted within the last second");
    }

    #[test]
    fn at_the_limit_they_are_counted_each_second_until_fewer_are_waiting() {
        let limit = BacklogLimit::new(100);
        assert_eq!(check(&limit, 0, 100), (false, true));
        assert_eq!(check(&limit, 0, 0), (false, false));
        assert_eq!(check(&limit, 1, 5000), (false, true));
        assert_eq!(check(&limit, 2, 99), (true, true));
        assert_eq!(check(&limit, 3, 5000), (true, false));
    }

    #[test]
    fn a_count_that_fails_refuses_only_its_own_request() {
        let limit = BacklogLimit::new(100);
        let failed = limit.check(ONE, seconds(0), |_| Err(Error::Unavailable(Unavailable::Busy)));
        assert_eq!(failed, Err(Error::Unavailable(Unavailable::Busy)));
        assert_eq!(check(&limit, 0, 1000), (true, false));
        assert_eq!(check(&limit, 10, 1000), (false, true));
    }

    #[test]
    fn counts_of_many_organizations_are_removed_when_they_are_old() {
        let limit = BacklogLimit::new(100);
        for organization in 0..20_000 {
            let now = seconds(organization / 100);
            let organization = OrganizationId::from_raw(i64::try_from(organization).unwrap());
            limit.check(organization, now, |_| Ok(0)).unwrap();
        }
        assert!(limit.with(|backlogs| backlogs.len()) <= MANY_ORGANIZATIONS);
    }
}
