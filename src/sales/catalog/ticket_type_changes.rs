//! Creation, update and deletion of ticket types.

use super::hold_releases::ReleaseLimit;
use super::inventory;
use crate::error::{Error, Reason, Result};
use crate::form::request::Request;
use crate::model::sale::ticket_type::{CreateTicketType, TicketType, TicketTypeFields, UpdateTicketType};
use crate::model::tenants::caller::ConditionalCaller;
use crate::model::values::id::{EventId, OrganizationId, TicketTypeId};
use crate::rules::count_limit::TICKET_TYPES;
use crate::rules::money::amount_limits::decimals_of_stored;
use crate::rules::ticket_type as rules;
use crate::store::LockedEvent;
use crate::store::sale::seat_counts::Seats;
use crate::store::sale::{events, ticket_types};

/// Creates a ticket type. Its seats put a `SOLD_OUT` event without unsold seats on sale again.
pub(crate) fn create(
    tx: &LockedEvent<'_>,
    organization: OrganizationId,
    event: EventId,
    request: &Request<CreateTicketType>,
) -> Result<TicketType> {
    let event = events::get(tx, organization, event)?;
    let fields = TicketTypeFields::create(request.body.clone());
    let fields = rules::check(fields, decimals_of_stored(&event.currency)?, request.errors.clone())?;
    TICKET_TYPES.check_room(ticket_types::has_at_least_in_event(tx, event.id, TICKET_TYPES.most)?)?;
    let id = ticket_types::insert(tx, organization, event.id, &fields)?;
    events::reopen_if_first_unsold(tx, event.id, fields.quantity)?;
    ticket_types::get(tx, organization, id)
}

/// Updates a ticket type. Its quantity cannot fall below the number of sold and reserved seats.
pub(crate) fn update(
    tx: &LockedEvent<'_>,
    call: &ConditionalCaller,
    id: TicketTypeId,
    request: &Request<UpdateTicketType>,
    release_limit: &ReleaseLimit,
) -> Result<TicketType> {
    let organization = call.caller.organization;
    let current = ticket_types::get(tx, organization, id)?;
    call.check_revision(current.revision)?;
    let event = events::get(tx, organization, current.event_id)?;

    let (fields, errors) = TicketTypeFields::update(&current, request);
    let fields = rules::check(fields, decimals_of_stored(&event.currency)?, errors)?;
    let added = fields.quantity - current.quantity;
    if added < 0 {
        // The quantity may fall by the available seats, also by those of expired holds.
        inventory::make_available(tx, Seats::uncounted(event.id, id, -added), release_limit)?;
    }

    if !ticket_types::update(tx, organization, &current, &fields)? {
        let detail = format!("the quantity {} is lower than the number of sold and reserved seats", fields.quantity);
        return Err(Error::conflict(Reason::QuantityBelowSold, detail));
    }
    if added > 0 {
        events::reopen_if_first_unsold(tx, event.id, added)?;
    }
    ticket_types::get(tx, organization, id)
}

/// Deletes a ticket type. A type that was ever ordered or issued cannot be deleted.
pub(crate) fn delete(tx: &LockedEvent<'_>, call: &ConditionalCaller, id: TicketTypeId) -> Result<()> {
    let current = ticket_types::get(tx, call.caller.organization, id)?;
    call.check_revision(current.revision)?;
    ticket_types::delete(tx, call.caller.organization, id)
}
