//! Creation, update and deletion of discounts, and the validation of a discount code for a basket.

use super::references::{TicketTypeReference, UNKNOWN_EVENT, check_ticket_types};
use crate::error::{FieldErrors, Result};
use crate::form::change::Change;
use crate::form::request::Request;
use crate::model::caller::ConditionalCaller;
use crate::model::currency::Decimals;
use crate::model::discount::{
    BasketItem, CreateDiscount, CurrentDiscount, Discount, DiscountFields, DiscountValidationResponse, UpdateDiscount,
    ValidateDiscount,
};
use crate::model::id::{DiscountId, EventId, OrganizationId, TicketTypeId};
use crate::rules::count_limit::{AUTOMATIC_DISCOUNTS, is_enabled_automatic};
use crate::rules::discount as rules;
use crate::store::{Transaction, discounts, events};

/// Creates a discount of an event.
pub(crate) fn create(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    request: &Request<CreateDiscount>,
) -> Result<Discount> {
    let event = request.body.event_id;
    tx.lock_event(event)?;
    let mut errors = request.errors.clone();
    let ticket_types = request.body.applicable_ticket_types.as_deref().unwrap_or_default();
    let decimals = check_references(tx, organization, event, applicable_types(ticket_types), &mut errors)?;
    let fields = DiscountFields::create(request.body.clone());
    let fields = rules::check(fields, decimals, errors)?;
    if is_enabled_automatic(&fields) {
        check_room_for_automatic(tx, event)?;
    }
    discounts::insert(tx, organization, event, &fields)
}

/// Updates a discount.
pub(crate) fn update(
    tx: &Transaction<'_>,
    call: &ConditionalCaller,
    id: DiscountId,
    request: &Request<UpdateDiscount>,
) -> Result<Discount> {
    tx.lock_event(id)?;
    let organization = call.caller.organization;
    let current = CurrentDiscount::from(discounts::get(tx, organization, id)?);
    call.check_revision(current.revision)?;

    let mut errors = request.errors.clone();
    request.body.forgive_unchanged(&current, &mut errors);
    // If the list stays as it is, it may contain ticket types that were deleted.
    let changed_types = match &request.body.applicable_ticket_types {
        Change::Set(types) => applicable_types(types),
        Change::Keep => Vec::new(),
    };
    let decimals = check_references(tx, organization, current.event_id, changed_types, &mut errors)?;
    let (event, counts_already) = (current.event_id, current.auto_apply && current.is_active);
    let fields = DiscountFields::update(&current, request.body.clone());
    let fields = rules::check(fields, decimals, errors)?;
    if is_enabled_automatic(&fields) && !counts_already {
        check_room_for_automatic(tx, event)?;
    }
    discounts::update(tx, organization, id, &fields)?;
    discounts::get(tx, organization, id)
}

/// Checks that one more automatic discount of an event may be enabled.
fn check_room_for_automatic(tx: &Transaction<'_>, event: EventId) -> Result<()> {
    AUTOMATIC_DISCOUNTS.check_room(discounts::has_at_least_automatic(tx, event, AUTOMATIC_DISCOUNTS.most)?)
}

/// Deletes a discount. A discount that an order ever used cannot be deleted.
pub(crate) fn delete(tx: &Transaction<'_>, call: &ConditionalCaller, id: DiscountId) -> Result<()> {
    tx.lock_event(id)?;
    let current = discounts::get(tx, call.caller.organization, id)?;
    call.check_revision(current.revision)?;
    discounts::delete(tx, call.caller.organization, id)
}

/// Decides whether a discount code applies to a basket. Claims no use of the discount.
pub(crate) fn validate(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    request: &Request<ValidateDiscount>,
) -> Result<DiscountValidationResponse> {
    let mut errors = request.errors.clone();
    let types = basket_types(&request.body.ticket_items);
    let decimals = check_references(tx, organization, request.body.event_id, types, &mut errors)?;
    let basket = rules::check_basket(request.body.clone(), decimals, errors)?;
    let discount = discounts::by_code(tx, organization, basket.event, &basket.code)?;
    Ok(rules::validate(discount, &basket, tx.now()))
}

/// Adds an error for each reference of a request to an event or ticket type that does not exist. Returns the decimals
/// of the event's currency. If there is no such event, returns the highest number of decimals, so that amounts can be
/// checked nevertheless.
fn check_references(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    event: EventId,
    ticket_types: Vec<TicketTypeReference>,
    errors: &mut FieldErrors,
) -> Result<Decimals> {
    let Some(decimals) = events::decimals(tx, organization, event)? else {
        errors.add("eventId", UNKNOWN_EVENT);
        return Ok(Decimals::MAX);
    };
    check_ticket_types(tx, event, ticket_types, errors)?;
    Ok(decimals)
}

fn applicable_types(ids: &[TicketTypeId]) -> Vec<TicketTypeReference> {
    let path = |index| format!("applicableTicketTypes[{index}]");
    ids.iter().enumerate().map(|(index, id)| TicketTypeReference { path: path(index), id: *id }).collect()
}

fn basket_types(items: &[BasketItem]) -> Vec<TicketTypeReference> {
    let path = |index| format!("ticketItems[{index}].ticketId");
    let items = items.iter().enumerate();
    items.map(|(index, item)| TicketTypeReference { path: path(index), id: item.ticket_type_id }).collect()
}
