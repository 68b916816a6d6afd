//! How organizations share scarce resources, so that one that wants a lot delays no other.
//!
//! A [`Semaphore`] limits how much is done at the same time, and a [`RoundRobin`] orders what waits. [`InUse`] is a limit
//! that is the same for each key, whether others use much or little.
//!
//! There is no fixed share: an organization gets another permit while it has fewer than are free. Alone, it gets half
//! of all. Two that want as many as they can get have a third each, three a quarter, and as much is always left for the
//! next one. This is the dynamic threshold that switches use to share a buffer (A. K. Choudhury and E. L. Hahne,
//! "Dynamic queue length thresholds for shared-memory packet switches", 1998).

mod in_use;
mod round_robin;
mod semaphore;
mod sync;
#[cfg(test)]
mod tests;
mod usage;

pub(crate) use in_use::{InUse, InUseGuard};
pub(crate) use round_robin::RoundRobin;
pub(crate) use semaphore::{Limits, Permit, Semaphore, is_fair};
pub(crate) use usage::Usage;

use crate::model::values::id::OrganizationId;

/// For whom a permit is: an organization, or the program itself. `None` also stands for all organizations that are not
/// known yet: together they count as one.
pub(crate) type Tenant = Option<OrganizationId>;

#[cfg(test)]
pub(crate) fn tenant(number: i64) -> Tenant {
    OrganizationId::from_raw(number).into()
}
