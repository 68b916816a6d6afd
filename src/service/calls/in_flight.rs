//! The idempotency keys of the requests that this process is executing.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::model::tenants::idempotency::IdempotencyKey;
use crate::model::values::id::OrganizationId;

/// When a request should be repeated whose key is in flight: most operations take much less.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The keys in flight. Clones share them.
#[derive(Debug, Clone, Default)]
pub(in crate::service) struct InFlightKeys(Arc<Mutex<HashSet<InFlightKey>>>);

/// A key of one organization. The same key of another organization is another key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct InFlightKey {
    organization: OrganizationId,
    key: IdempotencyKey,
}

/// Keeps a key in flight until it is dropped, also by a panic.
#[derive(Debug)]
pub(in crate::service) struct InFlightGuard {
    keys: InFlightKeys,
    key: InFlightKey,
}

impl InFlightKeys {
    /// Adds a key. Fails with [`Error::IdempotencyInProgress`] if it is in flight already.
    pub(in crate::service) fn acquire(
        &self,
        organization: OrganizationId,
        key: &IdempotencyKey,
    ) -> Result<InFlightGuard> {
        let key = InFlightKey { organization, key: key.clone() };
        let added = self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone());
        if !added {
            return Err(Error::IdempotencyInProgress { retry_after: RETRY_AFTER });
        }
        Ok(InFlightGuard { keys: self.clone(), key })
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        self.keys.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}
