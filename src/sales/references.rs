//! Checks of the events and ticket types that a request refers to.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::error::{FieldErrors, Result};
use crate::model::id::{EventId, TicketTypeId};
use crate::store::{Transaction, ticket_types};

pub(super) const UNKNOWN_EVENT: &str = "must be an event of this organization";
pub(super) const UNKNOWN_TICKET_TYPE: &str = "must be a ticket type of this event";

/// A field of a request that refers to a ticket type.
#[derive(Debug, Clone)]
pub(super) struct TicketTypeReference {
    /// The JSON path of the field.
    pub(super) path: String,
    pub(super) id: TicketTypeId,
}

/// Adds an error for each reference to something that is not a ticket type of the event. Looks up each id once.
pub(super) fn check_ticket_types(
    tx: &Transaction<'_>,
    event: EventId,
    references: Vec<TicketTypeReference>,
    errors: &mut FieldErrors,
) -> Result<()> {
    let mut known_ids: BTreeMap<TicketTypeId, bool> = BTreeMap::new();
    for TicketTypeReference { path, id } in references {
        let is_known = match known_ids.entry(id) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => *new.insert(ticket_types::exists_in_event(tx, event, id)?),
        };
        errors.check(is_known, path, UNKNOWN_TICKET_TYPE);
    }
    Ok(())
}
