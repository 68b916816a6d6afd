//! Changes of ticket types that depend on what was sold, or that decide whether the event is sold out.

use super::holds;
use crate::error::{Error, FieldErrors, Reason, Result};
use crate::form::request::Request;
use crate::model::caller::Caller;
use crate::model::id::{EventId, OrganizationId, TicketTypeId};
use crate::model::ticket_type::{CreateTicketType, TicketType, UpdateTicketType};
use crate::rules::money::decimals;
use crate::rules::ticket_type::{self as rules, TicketTypeFields};
use crate::store::{Transaction, events, ticket_types};

/// Creates a ticket type. The seats of a new type can open the sale of a sold-out event again.
pub(crate) fn create(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    event: EventId,
    request: &Request<CreateTicketType>,
) -> Result<TicketType> {
    tx.lock_event(event)?;
    let event = events::get(tx, organization, event)?;
    let fields = TicketTypeFields::create(request.body.clone());
    let fields = rules::check(fields, decimals_of(&event.currency)?, request.errors.clone())?;
    let id = ticket_types::insert(tx, organization, event.id, &fields)?;
    events::reopen_if_first_unsold(tx, event.id, fields.quantity)?;
    ticket_types::get(tx, organization, id)
}

/// Updates a ticket type. Its quantity cannot fall below what is sold and reserved.
pub(crate) fn update(
    tx: &Transaction<'_>,
    caller: &Caller,
    id: TicketTypeId,
    changes: UpdateTicketType,
    errors: FieldErrors,
) -> Result<TicketType> {
    tx.lock_event(id)?;
    let organization = caller.organization;
    let current = ticket_types::get(tx, organization, id)?;
    caller.check_revision(current.revision)?;
    let event = events::get(tx, organization, current.event_id)?;
    let fields = rules::check(TicketTypeFields::update(&current, changes), decimals_of(&event.currency)?, errors)?;
    let added = fields.quantity - current.quantity;
    if added < 0 {
        // The seats of expired holds are free, and may be taken away.
        holds::expire_of_event(tx, current.event_id)?;
    }
    if !ticket_types::update(tx, organization, &current, &fields)? {
        let detail = format!("a quantity of {} is less than what is sold or reserved", fields.quantity);
        return Err(Error::conflict(Reason::QuantityBelowSold, detail));
    }
    if added > 0 {
        events::reopen_if_first_unsold(tx, current.event_id, added)?;
    }
    ticket_types::get(tx, organization, id)
}

fn decimals_of(currency: &str) -> Result<u8> {
    decimals(currency).ok_or_else(|| Error::Internal(format!("unknown currency {currency}")))
}
