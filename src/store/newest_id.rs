//! The newest id in the database, after which new ids continue, and the ids of old rows: an id contains the time of its
//! creation.

use std::time::Duration;

use super::Transaction;
use crate::environment::first_of;
use crate::error::Result;

// Each of these is a look-up at the end of a table.
const NEWEST: &str = "SELECT MAX(id) AS id FROM (SELECT MAX(id) AS id FROM organizations
    UNION ALL SELECT MAX(id) AS id FROM events UNION ALL SELECT MAX(id) AS id FROM ticket_types
    UNION ALL SELECT MAX(id) AS id FROM customers UNION ALL SELECT MAX(id) AS id FROM orders
    UNION ALL SELECT MAX(id) AS id FROM tickets UNION ALL SELECT MAX(id) AS id FROM discounts
    UNION ALL SELECT MAX(id) AS id FROM webhook_endpoints UNION ALL SELECT MAX(id) AS id FROM webhook_outbox
    UNION ALL SELECT MAX(id) AS id FROM webhook_notifications
    UNION ALL SELECT MAX(id) AS id FROM webhook_deliveries
    UNION ALL SELECT MAX(id) AS id FROM work UNION ALL SELECT MAX(id) AS id FROM scans
    UNION ALL SELECT MAX(id) AS id FROM mails) AS newest";

/// Returns the greatest id of all tables; `None` if they are empty.
pub(super) fn newest_id(tx: &Transaction<'_>) -> Result<Option<i64>> {
    Ok(tx.query_opt(NEWEST, &[], |row| row.get("id"))?.flatten())
}

/// Returns the smallest id of a row that is kept, if rows are kept for this time.
pub(super) fn first_kept(tx: &Transaction<'_>, kept: Duration) -> i64 {
    match tx.now().checked_sub(kept) {
        Some(limit) => first_of(limit.saturating_add(Duration::from_millis(1))),
        None => 0,
    }
}
