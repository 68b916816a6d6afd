//! Operations on events.

use super::operation::Operation;
use crate::enums::scope::Scope::{EventsRead, EventsWrite};
use crate::error::Reason::{InUse, InvalidTransition, SlugTaken};
use crate::form::request::Request;
use crate::model::sale::event::{CreateEvent, EventSettings, ListEvents, UpdateEvent};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::list("list_events", "/events", EventsRead, |call, request: ListEvents| {
            call.service.list_events(call.caller, request)
        })
        .docs("List events", "Newest first."),
        Operation::create(
            "create_event",
            "/events",
            EventsWrite,
            |call, request: Request<CreateEvent>| call.service.create_event(call.keyed, request),
            |event| format!("events/{}", event.id),
        )
        .docs("Create an event", "The event is DRAFTED unless the request sets another status.")
        .conflicts(&[SlugTaken]),
        Operation::get_with_etag("get_event", "/events/{eventId}", EventsRead, |call| {
            call.service.get_event(call.caller, call.id())
        })
        .docs("Get an event", ""),
        Operation::update("update_event", "/events/{eventId}", EventsWrite, |call, changes: Request<UpdateEvent>| {
            call.service.update_event(call.conditional, call.id(), changes)
        })
        .docs(
            "Update an event",
            "Absent fields keep their value. Setting the status to CANCELLED also cancels the event's pending orders.",
        )
        .conflicts(&[SlugTaken, InvalidTransition, InUse]),
        Operation::update(
            "update_event_settings",
            "/events/{eventId}/settings",
            EventsWrite,
            |call, settings: Request<EventSettings>| {
                call.service.update_event_settings(call.conditional, call.id(), settings)
            },
        )
        .docs(
            "Update an event's settings",
            "Settings do not affect the sale of tickets. Absent fields keep their value.",
        ),
        Operation::record("record_page_view", "/events/{eventId}/page-views", EventsRead, |call| {
            call.service.record_page_view(call.caller, call.id())
        })
        .docs(
            "Record a page view",
            "Every call adds one to the event's `pageViews`, which show it about a second later.",
        ),
        Operation::delete("delete_event", "/events/{eventId}", EventsWrite, |call| {
            call.service.delete_event(call.conditional, call.id())
        })
        .docs(
            "Delete an event",
            "Also deletes its ticket types and discounts. An event with orders or tickets cannot be deleted.",
        )
        .conflicts(&[InUse]),
        Operation::get("get_event_summary", "/events/{eventId}/summary", EventsRead, |call| {
            call.service.get_event_summary(call.caller, call.id())
        })
        .docs("Get an event's summary", "Sales and check-in figures, all read at the same instant."),
    ]
}
