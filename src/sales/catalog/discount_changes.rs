//! Creation, update and deletion of discounts, and the validation of a discount code for a basket.

use super::discount_use::subtract_expired_uses;
use super::hold_releases::{ReleaseLimit, count_uses};
use super::references::{UNKNOWN_EVENT, check_ticket_types};
use crate::error::{FieldErrors, Result};
use crate::form::change::Change;
use crate::form::request::Request;
use crate::model::sale::discount::{
    CreateDiscount, CurrentDiscount, Discount, DiscountFields, DiscountValidationResponse, UpdateDiscount,
    ValidateDiscount,
};
use crate::model::tenants::caller::ConditionalCaller;
use crate::model::values::currency::Decimals;
use crate::model::values::id::{DiscountId, EventId, OrganizationId, TicketTypeId};
use crate::rules::count_limit::{AUTOMATIC_DISCOUNTS, is_enabled_automatic};
use crate::rules::discount as rules;
use crate::rules::money::amount_limits::decimals_of_stored;
use crate::store::sale::{discounts, events};
use crate::store::{LockedEvent, Transaction};

pub(crate) fn create(
    tx: &LockedEvent<'_>,
    organization: OrganizationId,
    request: &Request<CreateDiscount>,
) -> Result<Discount> {
    let event = request.body.event_id;
    let mut errors = request.errors.clone();
    let ticket_types = request.body.applicable_ticket_types.as_deref().unwrap_or_default();
    let decimals = check_references(tx, organization, event, ticket_types, &mut errors)?;
    let fields = DiscountFields::create(request.body.clone());
    let fields = rules::check(fields, decimals, errors)?;
    if is_enabled_automatic(&fields) {
        check_room_for_automatic(tx, event)?;
    }
    discounts::insert(tx, organization, event, &fields)
}

pub(crate) fn update(
    tx: &LockedEvent<'_>,
    call: &ConditionalCaller,
    id: DiscountId,
    request: &Request<UpdateDiscount>,
    release_limit: &ReleaseLimit,
) -> Result<Discount> {
    let organization = call.caller.organization;
    let current = CurrentDiscount::from(discounts::stored(tx, organization, id)?);
    call.check_revision(current.revision)?;

    let (fields, mut errors) = DiscountFields::update(&current, request);
    // If the list stays as it is, it may contain ticket types that were deleted.
    let changed_types = match &request.body.applicable_ticket_types {
        Change::Set(types) => types.as_slice(),
        Change::Keep => &[],
    };
    let decimals = check_references(tx, organization, current.event_id, changed_types, &mut errors)?;
    let fields = rules::check(fields, decimals, errors)?;
    let counts_already = current.auto_apply && current.is_active;
    if is_enabled_automatic(&fields) && !counts_already {
        check_room_for_automatic(tx, current.event_id)?;
    }
    discounts::update(tx, organization, id, &fields)?;
    let mut updated = discounts::stored(tx, organization, id)?;
    updated.used_count -= count_uses(tx, id, i64::MAX, release_limit)?;
    Ok(updated)
}

fn check_room_for_automatic(tx: &Transaction<'_>, event: EventId) -> Result<()> {
    AUTOMATIC_DISCOUNTS.check_room(discounts::has_at_least_automatic(tx, event, AUTOMATIC_DISCOUNTS.most)?)
}

/// Deletes a discount. A discount that an order ever used cannot be deleted.
pub(crate) fn delete(tx: &LockedEvent<'_>, call: &ConditionalCaller, id: DiscountId) -> Result<()> {
    let current = discounts::stored(tx, call.caller.organization, id)?;
    call.check_revision(current.revision)?;
    discounts::delete(tx, call.caller.organization, id)
}

/// Decides whether a discount code applies to a basket. Claims no use of the discount.
pub(crate) fn validate(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    request: &Request<ValidateDiscount>,
    step: &dyn Fn(&str) -> i64,
    least: &dyn Fn(&str) -> i64,
    release_limit: &ReleaseLimit,
) -> Result<DiscountValidationResponse> {
    let body = &request.body;
    let mut errors = request.errors.clone();
    // With the discount comes the currency of its event. Mostly there is one, so that the event is not read.
    let (discount, decimals) = match discounts::by_code(tx, organization, body.event_id, &body.code)? {
        Some(mut discount) => {
            subtract_expired_uses(tx, &mut discount, release_limit)?;
            let decimals = decimals_of_stored(&discount.currency)?;
            (Some(discount), Some(decimals))
        }
        None => (None, event_decimals(tx, organization, body.event_id, &mut errors)?),
    };
    if decimals.is_some() {
        let types = body.ticket_items.iter().map(|item| item.ticket_type_id);
        let path = |index| format!("ticketItems[{index}].ticketId");
        check_ticket_types(tx, body.event_id, types, path, &mut errors)?;
    }
    let basket = rules::check_basket(body, decimals.unwrap_or(Decimals::MAX), errors)?;
    let of_gateway = |limit: &dyn Fn(&str) -> i64| discount.as_ref().map_or(1, |discount| limit(&discount.currency));
    let (step, least) = (of_gateway(step), of_gateway(least));
    Ok(rules::validate(discount, &basket, step, least, tx.now()))
}

/// Adds an error for each reference of a discount to an event or ticket type that does not exist. Returns the decimals
/// of the event's currency. If there is no such event, returns the highest number of decimals, so that amounts can be
/// checked nevertheless.
fn check_references(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    event: EventId,
    applicable_types: &[TicketTypeId],
    errors: &mut FieldErrors,
) -> Result<Decimals> {
    let Some(decimals) = event_decimals(tx, organization, event, errors)? else { return Ok(Decimals::MAX) };
    let path = |index| format!("applicableTicketTypes[{index}]");
    check_ticket_types(tx, event, applicable_types.iter().copied(), path, errors)?;
    Ok(decimals)
}

/// Returns the decimals of the event's currency. Adds an error and returns `None` if there is no such event.
fn event_decimals(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    event: EventId,
    errors: &mut FieldErrors,
) -> Result<Option<Decimals>> {
    let decimals = events::decimals(tx, organization, event)?;
    errors.check(decimals.is_some(), "eventId", UNKNOWN_EVENT);
    Ok(decimals)
}
