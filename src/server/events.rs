//! Events over HTTP.

use super::operation::{Answer, Call, Operation};
use super::problem::Problem;
use crate::model::scope::Scope::{EventsRead, EventsWrite};

pub(super) const OPERATIONS: [Operation; 8] = [
    Operation::get("/events", EventsRead, list),
    Operation::post("/events", EventsWrite, create),
    Operation::get("/events/{eventId}", EventsRead, get),
    Operation::patch("/events/{eventId}", EventsWrite, update),
    Operation::patch("/events/{eventId}/settings", EventsWrite, update_settings),
    Operation::act("/events/{eventId}/page-views", EventsRead, record_page_view),
    Operation::delete("/events/{eventId}", EventsWrite, delete),
    Operation::get("/events/{eventId}/summary", EventsRead, summary),
];

fn list(call: &Call<'_>) -> Result<Answer, Problem> {
    Answer::ok(&call.service.list_events(call.caller, call.query()?)?)
}

fn create(call: &Call<'_>) -> Result<Answer, Problem> {
    let event = call.service.create_event(call.caller, call.json()?)?;
    Ok(Answer::created(&event)?.at("events", event.id))
}

fn get(call: &Call<'_>) -> Result<Answer, Problem> {
    Answer::ok(&call.service.get_event(call.caller, call.id()?)?)
}

fn update(call: &Call<'_>) -> Result<Answer, Problem> {
    let changes = call.json()?;
    Answer::ok(&call.service.update_event(call.caller, call.id()?, changes)?)
}

fn update_settings(call: &Call<'_>) -> Result<Answer, Problem> {
    let settings = call.json()?;
    Answer::ok(&call.service.update_event_settings(call.caller, call.id()?, settings)?)
}

fn record_page_view(call: &Call<'_>) -> Result<Answer, Problem> {
    call.service.record_page_view(call.caller, call.id()?)?;
    Ok(Answer::nothing())
}

fn delete(call: &Call<'_>) -> Result<Answer, Problem> {
    call.service.delete_event(call.caller, call.id()?)?;
    Ok(Answer::nothing())
}

fn summary(call: &Call<'_>) -> Result<Answer, Problem> {
    Answer::ok(&call.service.get_event_summary(call.caller, call.id()?)?)
}
