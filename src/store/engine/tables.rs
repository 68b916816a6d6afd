//! What an engine needs of the tables: it is handed in, because the engine knows none of them.

use super::lock::EventKey;
use super::transaction::Transaction;
use crate::environment::Environment;
use crate::error::Result;
use crate::model::values::id::{EventId, OrganizationId};

/// The reads of tables for an engine.
#[derive(Clone, Copy)]
pub(in crate::store) struct Tables {
    /// The greatest id of all tables; `None` if they are empty.
    pub(in crate::store) newest_id: fn(&Transaction<'_>) -> Result<Option<i64>>,
    /// The environment of the open database, with the secret of its links.
    pub(in crate::store) open_links: fn(&Transaction<'_>) -> Result<Environment>,
    /// Reads one row, to find out whether the database answers.
    pub(in crate::store) any_row: fn(&Transaction<'_>) -> Result<bool>,
    /// The event that a key names, and whose it is; `None` if there is no such event.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "SQLite has one queue for all events"))]
    pub(in crate::store) event_owner: fn(&Transaction<'_>, EventKey) -> Result<Option<EventOwner>>,
}

/// An event and its organization. Neither an event nor an order, ticket type, ticket or discount ever gets another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventOwner {
    pub(crate) event: EventId,
    pub(crate) organization: OrganizationId,
}
