//! Operations on events.

use super::operation::{Operation, Route, operation};
use crate::enums::scope::Scope::{EventsRead, EventsWrite, OrdersRead, OrdersWrite, PaymentsWrite};
use crate::error::Reason::{EventNotCancelled, InUse, InvalidTransition, SlugTaken};
use crate::model::sale::cancellation_run::CancelEventOrders;
use crate::model::sale::event::{CreateEvent, EventSettings, ListEvents, UpdateEvent};
use crate::model::sale::event_sales::GetEventSales;
use crate::model::tickets::arrivals::GetEventArrivals;

pub(super) fn operations() -> Vec<Operation> {
    vec![
        operation!(list, list_events::<ListEvents>(caller), "/events", EventsRead).docs("List events", "Newest first."),
        operation!(create, create_event::<CreateEvent>(keyed), "/events", EventsWrite, |event| &event.id)
            .docs("Create an event", "The event is DRAFTED unless the request sets another status.")
            .conflicts(&[SlugTaken]),
        operation!(get_with_etag, get_event(caller, id), "/events/{eventId}", EventsRead).docs("Get an event", ""),
        operation!(update, update_event::<UpdateEvent>(conditional, id), "/events/{eventId}", EventsWrite)
            .docs(
                "Update an event",
                "Absent fields keep their value. Setting the status to CANCELLED also cancels the event's pending \
                 orders.",
            )
            .conflicts(&[SlugTaken, InvalidTransition, InUse]),
        operation!(
            update,
            update_event_settings::<EventSettings>(conditional, id),
            "/events/{eventId}/settings",
            EventsWrite
        )
        .docs(
            "Update an event's settings",
            "Settings do not affect the sale of tickets. Absent fields keep their value.",
        ),
        operation!(record, record_page_view(caller, id), "/events/{eventId}/page-views", EventsRead).docs(
            "Record a page view",
            "Every call adds one to the event's `pageViews`, which show it about a second later.",
        ),
        operation!(delete, delete_event(conditional, id), "/events/{eventId}", EventsWrite)
            .docs(
                "Delete an event",
                "Also deletes its ticket types and discounts. An event with orders or tickets cannot be deleted.",
            )
            .conflicts(&[InUse]),
        Operation::start::<CancelEventOrders, _>(
            Route::new("cancel_event_orders", "/events/{eventId}/cancel-orders", OrdersWrite),
            |call, request| call.service.cancel_event_orders(call.keyed, call.id(), request),
            |run| run.already_running,
        )
        .also_requires(PaymentsWrite)
        .docs(
            "Cancel an event's orders",
            "Cancels all COMPLETED orders of a CANCELLED event in the background, and refunds them, each as *Cancel an \
             order* does. Returns 202 and the run that does it. If one is in progress already, that one is returned with \
             200. After it, a new run finds the orders that could not be cancelled.",
        )
        .conflicts(&[EventNotCancelled]),
        operation!(get, get_cancellation_run(caller, id), "/events/{eventId}/cancel-orders", OrdersRead).docs(
            "Get the cancellation of an event's orders",
            "The newest run: how many orders are cancelled, and how many of their refunds are due, done, or to be made \
             manually. 404 if there was none.",
        ),
        operation!(get, get_event_summary(caller, id), "/events/{eventId}/summary", EventsRead)
            .docs("Get an event's summary", "Sales and check-in figures, all read at the same instant."),
        operation!(list, get_event_sales::<GetEventSales>(caller, id), "/events/{eventId}/sales", EventsRead).docs(
            "Get an event's sales over time",
            "Orders, tickets, revenue, refunds and issued tickets by day or hour in the time zone of the event, all read at \
             the same instant. An order counts when it was completed, also if it is cancelled later; its refunds count \
             when the money went back.",
        ),
        operation!(list, get_event_arrivals::<GetEventArrivals>(caller, id), "/events/{eventId}/arrivals", EventsRead)
            .docs(
                "Get an event's arrivals",
                "Admissions, departures and refused scans by five minutes and gate, and how many tickets are inside, \
                 expected and missing, all read at the same instant.",
            ),
        operation!(ensure, create_report_link(keyed, id), "/events/{eventId}/report-link", EventsRead, |link| link.created)
            .docs(
                "Create the link to an event's report",
                "A page that shows how the event sells and fills, without names, codes and orders. Until the link is \
                 revoked, the same one is returned (200). It works until 30 days after the end of the event.",
            ),
        operation!(delete, revoke_report_link(caller, id), "/events/{eventId}/report-link", EventsWrite).docs(
            "Revoke the link to an event's report",
            "It is answered with 404 from the next request on. The next link is another one. Without a link, nothing \
             changes.",
        ),
    ]
}
