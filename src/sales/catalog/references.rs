//! Checks of the events and ticket types that a request refers to.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::error::{FieldErrors, Result};
use crate::model::values::id::{EventId, TicketTypeId};
use crate::store::Transaction;
use crate::store::sale::ticket_types;

pub(in crate::sales) const UNKNOWN_EVENT: &str = "must be an event of this organization";
pub(in crate::sales) const UNKNOWN_TICKET_TYPE: &str = "must be a ticket type of this event";

/// Adds an error for each id that is not one of a ticket type of the event. Looks up each id once. `path` returns the
/// JSON path of the id with an index.
pub(in crate::sales) fn check_ticket_types(
    tx: &Transaction<'_>,
    event: EventId,
    ids: impl IntoIterator<Item = TicketTypeId>,
    path: impl Fn(usize) -> String,
    errors: &mut FieldErrors,
) -> Result<()> {
    let mut known_ids: BTreeMap<TicketTypeId, bool> = BTreeMap::new();
    for (index, id) in ids.into_iter().enumerate() {
        let is_known = match known_ids.entry(id) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => *new.insert(ticket_types::exists_in_event(tx, event, id)?),
        };
        if !is_known {
            errors.add(path(index), UNKNOWN_TICKET_TYPE);
        }
    }
    Ok(())
}
