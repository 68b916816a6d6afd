//! The newest id in the database, after which new ids continue.

use super::Transaction;
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
