//! Which rows an export has: the ranges of indexes, and the conditions, of its statements.
//!
//! All that they name are numbers, so they are part of the text of a statement. A cursor of PostgreSQL has no
//! parameters.

use crate::environment::first_of;
use crate::error::{Error, Result};
use crate::model::operation::export::Export;
use crate::model::values::id::{EventId, OrganizationId};
use crate::model::values::timestamp::Timestamp;
use crate::store::Transaction;
use crate::store::sale::events;

/// What the rows have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct Selection {
    pub(super) organization: OrganizationId,
    pub(super) event: Option<EventId>,
    pub(super) from: Option<Timestamp>,
    pub(super) before: Option<Timestamp>,
    pub(super) now: Timestamp,
}

/// The statements of an export.
pub(super) struct Statements {
    /// Select the rows in the order of the file, one after another.
    pub(super) rows: Vec<String>,
    /// What follows FROM in the statements that count them.
    pub(super) counted: Vec<String>,
}

impl Statements {
    /// The statement that counts the rows.
    pub(super) fn count(&self) -> String {
        count(self.counted.iter().map(|from| format!("(SELECT COUNT(*) FROM {from})")))
    }

    /// The statement that counts the rows, but not many more than this number.
    pub(super) fn count_up_to(&self, number: u64) -> String {
        count(self.counted.iter().map(|from| {
            format!("(SELECT COUNT(*) FROM (SELECT 1 AS counted FROM {from} LIMIT {number}) AS first_rows)")
        }))
    }
}

fn count(parts: impl Iterator<Item = String>) -> String {
    format!("SELECT {} AS number", parts.collect::<Vec<_>>().join(" + "))
}

impl Selection {
    /// The selection of a request that passed its checks. Fails if the organization has no such event.
    pub(super) fn new(tx: &Transaction<'_>, organization: OrganizationId, request: &Export) -> Result<Self> {
        if let Some(event) = request.event_id
            && !events::exists(tx, organization, event)?
        {
            return Err(Error::field("eventId", "must be an event of this organization"));
        }
        let Export { event_id: event, from, before, .. } = *request;
        Ok(Self { organization, event, from, before, now: tx.now() })
    }

    /// The condition for the time in `column`.
    pub(super) fn dates(&self, column: &str) -> String {
        let from = self.from.map(|from| format!(" AND {column} >= {}", from.millis()));
        let before = self.before.map(|before| format!(" AND {column} < {}", before.millis()));
        from.unwrap_or_default() + &before.unwrap_or_default()
    }

    /// The range of an index of the organization and the id, for the rows of these dates. No id is `below` or more.
    pub(super) fn ids(&self, table: &str, below: Option<i64>) -> String {
        let organization = self.organization.raw();
        // An id begins with the time of its row, or with a later one.
        let first = self.from.map_or(0, first_of);
        let below = below.map(|below| format!(" AND {table}.id < {below}"));
        let below = below.unwrap_or_default();
        format!("{table}.organization_id = {organization} AND {table}.id >= {first}{below}")
    }
}
