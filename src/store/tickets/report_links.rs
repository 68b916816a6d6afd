//! The links to the reports of events. An event has at most one that is valid.

use crate::error::Result;
use crate::model::values::id::EventId;
#[cfg(feature = "server")]
use crate::model::values::id::OrganizationId;
#[cfg(feature = "server")]
use crate::model::values::timestamp::Timestamp;
use crate::store::Transaction;
#[cfg(feature = "server")]
use crate::store::columns::row_struct;

const CREATE: &str = "INSERT INTO report_links (event_id, version, created_at) VALUES (?1, 0, ?2)
    ON CONFLICT (event_id) DO UPDATE SET version = report_links.version + 1, created_at = ?2, revoked_at = NULL
        WHERE report_links.revoked_at IS NOT NULL";
const VERSION: &str = "SELECT event_id, version FROM report_links WHERE event_id = ?1";
const REVOKE: &str = "UPDATE report_links SET revoked_at = ?2 WHERE event_id = ?1 AND revoked_at IS NULL";
#[cfg(feature = "server")]
const FIND: &str = "SELECT l.event_id AS id, l.version, e.organization_id, e.over_at
    FROM report_links l JOIN events e ON e.id = l.event_id JOIN organizations g ON g.id = e.organization_id
    WHERE l.event_id = ?1 AND l.revoked_at IS NULL AND g.suspended_at IS NULL";

/// Makes the link of an event valid. Returns its version, and whether it was not valid before.
pub(crate) fn create(tx: &Transaction<'_>, event: EventId) -> Result<(i64, bool)> {
    let created = tx.execute_counted(CREATE, &[event.into(), tx.now().into()])? > 0;
    let version = tx.query_opt(VERSION, &[event.into()], |row| row.get("version"))?;
    Ok((version.unwrap_or_default(), created))
}

/// Revokes the link of an event, if it is valid.
pub(crate) fn revoke(tx: &Transaction<'_>, event: EventId) -> Result<()> {
    tx.execute(REVOKE, &[event.into(), tx.now().into()])
}

#[cfg(feature = "server")]
row_struct! {
    /// The event of a link that is not revoked.
    pub(crate) struct ReportedEvent(row) {
        pub(crate) version: i64,
        pub(crate) organization: OrganizationId => organization_id,
        pub(crate) over_at: Timestamp,
    }
}

/// Looks up the link of an event of any organization that is not suspended.
#[cfg(feature = "server")]
pub(crate) fn find(tx: &Transaction<'_>, event: EventId) -> Result<Option<ReportedEvent>> {
    tx.query_opt(FIND, &[event.into()], ReportedEvent::read)
}
