//! Events over HTTP.

use super::operation::Operation;
use crate::form::request::Request;
use crate::model::event::{CreateEvent, EventSettings, ListEvents, UpdateEvent};
use crate::model::scope::Scope::{EventsRead, EventsWrite};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::list(("list_events", "/events", EventsRead), |call, request: Request<ListEvents>| {
            call.service.list_events(call.caller, request)
        }),
        Operation::create(
            ("create_event", "/events", EventsWrite),
            |call, request: Request<CreateEvent>| call.service.create_event(call.caller, request),
            |event| format!("events/{}", event.id),
        ),
        Operation::get_revised(("get_event", "/events/{eventId}", EventsRead), |call| {
            call.service.get_event(call.caller, call.id())
        }),
        Operation::update(("update_event", "/events/{eventId}", EventsWrite), |call, changes: Request<UpdateEvent>| {
            call.service.update_event(call.caller, call.id(), changes)
        }),
        Operation::update(
            ("update_event_settings", "/events/{eventId}/settings", EventsWrite),
            |call, settings: Request<EventSettings>| {
                call.service.update_event_settings(call.caller, call.id(), settings)
            },
        ),
        Operation::note(("record_page_view", "/events/{eventId}/page-views", EventsRead), |call| {
            call.service.record_page_view(call.caller, call.id())
        }),
        Operation::delete(("delete_event", "/events/{eventId}", EventsWrite), |call| {
            call.service.delete_event(call.caller, call.id())
        }),
        Operation::get(("get_event_summary", "/events/{eventId}/summary", EventsRead), |call| {
            call.service.get_event_summary(call.caller, call.id())
        }),
    ]
}
