//! What an open database can do: an SQLite file or a PostgreSQL database.

use super::jobs::Job;
use super::lock::EventKey;
use super::readers::Readers;
use super::snapshots::Snapshots;
use super::sqlite::{ClosingResult, Location};
use crate::error::{Result, StoreError};
use crate::fair::Tenant;

/// An open database.
pub(in crate::store) trait Engine: Send + Sync {
    /// Runs a job in a transaction, in the turn of the tenant, and answers it when the transaction is durable or could
    /// not be made. Returns whether it could not because others kept a row locked for too long.
    fn submit(&self, tenant: Tenant, event: Option<JobEvent>, job: Box<dyn Job>) -> bool;

    /// Lets a thread of the engine run a job, and does not wait for it. Returns the job if the engine has no such thread.
    #[cfg(feature = "server")]
    fn queue(&self, _: Tenant, job: Box<dyn Job>) -> Option<Box<dyn Job>> {
        Some(job)
    }

    /// The connections that only read.
    fn readers(&self) -> &Readers;

    /// Opens connections that read large parts of the database in steps.
    fn snapshots(&self) -> Box<dyn Snapshots>;

    /// How many jobs wait for a transaction, or are in one.
    fn waiting(&self) -> usize;

    /// Why the engine has stopped writing. Opening it again starts it again.
    fn stopped(&self) -> Option<&StoreError>;

    /// Whether the last attempt to write failed.
    fn last_write_failed(&self) -> bool;

    /// Fails if the engine has stopped, if the database cannot be read, or if the last attempt to write failed and
    /// another one fails too.
    fn ready(&self) -> Result<()>;

    /// Deletes some of what only the engine needs, and does not need any more.
    fn delete_expired(&self) -> Result<()> {
        Ok(())
    }

    /// Reports the commits of other processes too, from now on, if the database announces them.
    fn listen(&self) {}

    /// Whether a transaction locks the event whose sale it changes. If not, there is only one transaction at a time.
    fn locks_events(&self) -> bool {
        self.file().is_none()
    }

    /// The open database file; `None` if this is a PostgreSQL database.
    fn file(&self) -> Option<&Location> {
        None
    }

    /// How the last checkpoint of a database file ended: filled when the engine is dropped.
    fn closing_result(&self) -> ClosingResult {
        ClosingResult::default()
    }
}

/// The event whose sale a job changes.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "SQLite has one queue for all events"))]
pub(in crate::store) struct JobEvent {
    pub(in crate::store) key: EventKey,
    /// Whether it waits at most half a second for each lock, because it can be done later.
    pub(in crate::store) waits_briefly: bool,
}
