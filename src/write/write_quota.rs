//! The quota of bytes that an organization may write per minute, so that one API key cannot fill the disk of all.
//!
//! Only callers with an API key are counted and refused: others are the program itself. Bytes are counted in the memory
//! of this process, when they are written, in fixed windows of the monotonic clock. So a window may end above the
//! quota, by what was in progress when it was reached.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use crate::environment::Locked;
use crate::error::{Error, Result};
use crate::model::values::id::OrganizationId;

/// The length of a window.
const WINDOW: Duration = Duration::from_mins(1);

/// From this number of organizations on, expired windows are removed.
const MANY_ORGANIZATIONS: usize = 1024;

/// The bytes that were written by the callers of each organization.
#[derive(Debug)]
pub(crate) struct WriteQuota {
    bytes_per_minute: u64,
    windows: Mutex<HashMap<OrganizationId, Window>>,
}

#[derive(Debug, Clone, Copy)]
struct Window {
    started_at: Duration,
    bytes: u64,
}

impl Window {
    /// How long it lasts from now on; `None` if it is over.
    fn remaining(self, now: Duration) -> Option<Duration> {
        WINDOW.checked_sub(now.saturating_sub(self.started_at)).filter(|remaining| !remaining.is_zero())
    }
}

impl WriteQuota {
    pub(crate) fn new(bytes_per_minute: u64) -> Self {
        Self { bytes_per_minute, windows: Mutex::default() }
    }

    /// Fails if the organization has used up its quota. `now` is the monotonic time.
    pub(crate) fn check(&self, organization: OrganizationId, now: Duration) -> Result<()> {
        let windows = self.windows.locked();
        let used_up = windows.get(&organization).filter(|window| window.bytes >= self.bytes_per_minute);
        match used_up.and_then(|window| window.remaining(now)) {
            None => Ok(()),
            Some(retry_after) => {
                Err(Error::WriteQuotaExceeded { bytes_per_minute: self.bytes_per_minute, retry_after })
            }
        }
    }

    /// Counts what the organization has written.
    pub(crate) fn add(&self, organization: OrganizationId, bytes: u64, now: Duration) {
        let mut windows = self.windows.locked();
        if windows.len() >= MANY_ORGANIZATIONS && !windows.contains_key(&organization) {
            windows.retain(|_, window| window.remaining(now).is_some());
        }
        let window = windows.entry(organization).or_insert(Window { started_at: now, bytes: 0 });
        if window.remaining(now).is_none() {
            *window = Window { started_at: now, bytes: 0 };
        }
        window.bytes = window.bytes.saturating_add(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_that_are_over_are_removed() {
        let quota = WriteQuota::new(100);
        for organization in 0..2000 {
            quota.add(OrganizationId::from_raw(organization), 1, Duration::from_secs(organization.unsigned_abs()));
        }
        assert!(quota.windows.lock().unwrap().len() <= MANY_ORGANIZATIONS);
    }
}
