//! Creation, update and deletion of events.

use crate::error::{Error, Reason, Result};
use crate::form::request::Request;
use crate::model::sale::event::{
    CreateEvent, Event, EventFields, EventSettings, EventSettingsFields, EventStatus, UpdateEvent,
};
use crate::model::tenants::caller::ConditionalCaller;
use crate::model::values::id::{EventId, OrganizationId};
use crate::rules::{checked, event as rules};
use crate::sales::each_row::{EachRow, each_row};
use crate::store::sale::events::OverEvent;
use crate::store::sale::{discounts, event_cancellations, events};
use crate::store::tenants::{api_keys, organizations};
use crate::store::tickets::scan_log;
use crate::store::work::{self, KeyedWork};
use crate::store::{LockedEvent, Transaction};

/// Creates an event. Its currency and time zone default to those of the organization.
pub(crate) fn create(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    request: &Request<CreateEvent>,
) -> Result<Event> {
    let organization = organizations::get(tx, organization)?;
    let fields = EventFields::create(request.body.clone(), &organization);
    let fields = rules::check(fields, request.errors.clone())?;
    events::insert(tx, organization.id, &fields)
}

/// Updates an event. If it is cancelled, the caller cancels its pending orders in transactions of their own.
pub(crate) fn update(
    tx: &LockedEvent<'_>,
    call: &ConditionalCaller,
    id: EventId,
    request: &Request<UpdateEvent>,
) -> Result<Event> {
    let organization = call.caller.organization;
    let current = events::get(tx, organization, id)?;
    call.check_revision(current.revision)?;

    let (fields, errors) = EventFields::update(&current, request);
    let fields = rules::check(fields, errors)?;
    // The query may read many orders, and only a change of the status depends on it.
    let is_in_use = fields.status != current.status && events::has_live_orders_or_tickets(tx, id)?;
    rules::check_transition(current.status, fields.status, fields.over_at(), tx.now(), is_in_use)?;
    if fields.currency != current.currency && events::has_amounts(tx, id)? {
        let currency = &current.currency;
        let detail = format!("the currency cannot change: orders, prices or discounts of the event are in {currency}");
        return Err(Error::conflict(Reason::InUse, detail));
    }

    events::update(tx, &current, &fields)?;
    if fields.status == EventStatus::Cancelled && current.status != EventStatus::Cancelled {
        events::set_cancelled(tx, id)?;
        let cancel_orders = KeyedWork {
            kind: event_cancellations::KIND,
            key: id.raw(),
            organization,
            event: Some(id),
            body: "",
            // The caller cancels them. If it does not finish, maintenance does.
            due_at: tx.now().saturating_add(event_cancellations::CLAIM),
        };
        work::set(tx, &cancel_orders)?;
    }
    events::get(tx, organization, id)
}

pub(crate) fn update_settings(
    tx: &LockedEvent<'_>,
    call: &ConditionalCaller,
    id: EventId,
    request: &Request<EventSettings>,
) -> Result<Event> {
    let current = events::get(tx, call.caller.organization, id)?;
    call.check_revision(current.revision)?;
    let (settings, errors) = EventSettingsFields::update(&current, request);
    let settings = checked(settings, errors)?;
    events::update_settings(tx, &current, &settings)?;
    events::get(tx, call.caller.organization, id)
}

/// Deletes an event with its ticket types, discounts, keys and log of scans, or a batch of them if it has many. Returns whether
/// the event is deleted: if not, this is to be called again with `is_first` false. Meanwhile the event is not on sale.
/// An event with orders or tickets cannot be deleted.
pub(crate) fn delete(tx: &LockedEvent<'_>, call: &ConditionalCaller, id: EventId, is_first: bool) -> Result<bool> {
    let organization = call.caller.organization;
    match events::get(tx, organization, id) {
        Ok(current) if is_first => call.check_revision(current.revision)?,
        // Another call has deleted the rest.
        Err(Error::NotFound(_)) if !is_first => return Ok(true),
        found => drop(found?),
    }
    events::require_unused(tx, id)?;
    if !discounts::delete_batch_of_event(tx, id)? || !scan_log::delete_batch_of_event(tx, id)? {
        events::withdraw(tx, id)?;
        return Ok(false);
    }
    api_keys::delete_of_event(tx, id)?;
    events::delete(tx, organization, id).map(|()| true)
}

/// Sets these events to EXPIRED, those that are over and on sale.
pub(crate) fn expire_all(tx: &Transaction<'_>, over: &[OverEvent]) -> Result<EachRow<OverEvent>> {
    each_row(tx, over, |event| event.id, |tx, event| events::expire(tx, event.id))
}
