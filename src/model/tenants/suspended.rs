//! The organizations that a process knows to be suspended.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use crate::model::values::id::OrganizationId;

/// The organizations that this process knows to be suspended. A service shares the set with its callers, so that they
/// notice a suspension without a query.
///
/// Writes do not rely on it: their transaction reads from the database whether the organization is suspended.
#[derive(Clone, Default)]
pub(crate) struct SuspendedOrganizations(Arc<RwLock<HashSet<OrganizationId>>>);

impl SuspendedOrganizations {
    pub(crate) fn contains(&self, organization: OrganizationId) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).contains(&organization)
    }

    /// Remembers that these organizations are suspended, and no others.
    pub(crate) fn replace(&self, organizations: HashSet<OrganizationId>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = organizations;
    }

    /// Remembers what the database says about an organization.
    pub(crate) fn set(&self, organization: OrganizationId, suspended: bool) {
        if self.contains(organization) == suspended {
            return;
        }
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if suspended {
            known.insert(organization);
        } else {
            known.remove(&organization);
        }
    }
}

/// Two callers do not differ by what their services know.
impl PartialEq for SuspendedOrganizations {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for SuspendedOrganizations {}

impl fmt::Debug for SuspendedOrganizations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SuspendedOrganizations").finish_non_exhaustive()
    }
}
