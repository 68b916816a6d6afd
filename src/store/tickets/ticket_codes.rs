//! Look-ups of tickets by the text that was scanned: a code of ours, or one of another seller.
//!
//! No code of another seller can be read as one of ours, so that a look-up is one statement for ours. Codes of ours are
//! unique in the store; those of others are unique among the valid tickets of an event.

use crate::error::{Error, Reason, Result};
use crate::model::values::id::{EventId, OrganizationId, TicketId};
use crate::rules::ticket::is_code;
use crate::store::Transaction;
use crate::store::columns::row_struct;

const OWN: &str = "SELECT id FROM tickets WHERE code = ?1 AND organization_id = ?2";
pub(in crate::store) const IMPORTED_OF_EVENT: &str = "SELECT id, event_id FROM tickets
    WHERE organization_id = ?1 AND imported_code = ?2 AND event_id = ?3 AND status <> 'CANCELLED'";
pub(in crate::store) const CANCELLED_OF_EVENT: &str = "SELECT id, event_id FROM tickets
    WHERE organization_id = ?1 AND imported_code = ?2 AND event_id = ?3 AND status = 'CANCELLED' ORDER BY id DESC LIMIT 1";
pub(in crate::store) const IMPORTED: &str = "SELECT id, event_id FROM tickets
    WHERE organization_id = ?1 AND imported_code = ?2 AND status <> 'CANCELLED' ORDER BY event_id DESC LIMIT 2";
pub(in crate::store) const CANCELLED: &str = "SELECT id, event_id FROM tickets
    WHERE organization_id = ?1 AND imported_code = ?2 AND status = 'CANCELLED' ORDER BY event_id DESC, id DESC LIMIT 1";

row_struct! {
    struct ImportedTicket(row) {
        id: TicketId,
        event: EventId => event_id,
    }
}

/// Finds the ticket with a code, as [`read_code`](crate::rules::ticket::read_code) has read it. Of several tickets with
/// the code of another seller, a valid one comes before a cancelled one, and one of `event` before those of others.
///
/// Fails with the conflict `ambiguous-code` if no event is given and valid tickets of several events have the code.
pub(crate) fn find(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    code: &str,
    event: Option<EventId>,
) -> Result<Option<TicketId>> {
    if is_code(code) {
        return tx.query_opt(OWN, &[code.into(), organization.into()], |row| row.get("id"));
    }
    if let Some(event) = event {
        for sql in [IMPORTED_OF_EVENT, CANCELLED_OF_EVENT] {
            let binds = [organization.into(), code.into(), event.into()];
            if let Some(found) = tx.query_opt(sql, &binds, ImportedTicket::read)? {
                return Ok(Some(found.id));
            }
        }
    }
    let binds = [organization.into(), code.into()];
    let valid = tx.query_all(IMPORTED, &binds, ImportedTicket::read)?;
    match (valid.as_slice(), event) {
        ([one, other], None) if one.event != other.event => {
            let detail = "tickets of several events have this code: eventId says which is meant";
            Err(Error::conflict(Reason::AmbiguousCode, detail))
        }
        ([first, ..], _) => Ok(Some(first.id)),
        ([], _) => Ok(tx.query_opt(CANCELLED, &binds, ImportedTicket::read)?.map(|found| found.id)),
    }
}
