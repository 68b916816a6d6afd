//! Operations on issued tickets, including check-in.

use axum::http::StatusCode;

use super::operation::{Operation, operation};
use crate::enums::scope::Scope::{EventsWrite, TicketsCheckIn, TicketsRead, TicketsWrite};
use crate::error::Reason::{
    AlreadyCheckedIn, AmbiguousCode, EventCancelled, EventNotOnSale, LimitReached, NoDoorLink, NoLongerValid,
    NotCheckedIn, NotValidToday, NotYetValid, SoldOut, TicketCancelled, WrongEvent,
};
use crate::model::sale::ticket::{CheckInTicket, FindTicket, IssueTickets, ListTickets};
use crate::model::tenants::door_link::{CreateDoorLink, ListDoorLinks};
use crate::model::tickets::roster::GetRoster;
use crate::model::tickets::scan::{ListScans, UploadScans};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        operation!(list, list_tickets::<ListTickets>(caller), "/tickets", TicketsRead)
            .docs("List issued tickets", "Newest first."),
        operation!(action, issue_tickets::<IssueTickets>(keyed), "/tickets/issue", TicketsWrite)
            .returns(StatusCode::CREATED)
            .docs("Issue tickets without an order", "Takes seats as a sale does. The ticket type may have any status.")
            .conflicts(&[EventCancelled, EventNotOnSale, SoldOut]),
        operation!(action_prepared, check_in_ticket by prepare_check_in::<CheckInTicket>(keyed), "/tickets/check-in", TicketsCheckIn)
            .docs(
                "Check in a ticket",
                "Of two simultaneous scans of a ticket, one is accepted. Refused scans count in `scanCount` too.",
            )
            .conflicts(&[
                AmbiguousCode,
                WrongEvent,
                TicketCancelled,
                EventCancelled,
                NotYetValid,
                NoLongerValid,
                NotValidToday,
                AlreadyCheckedIn,
            ]),
        operation!(action_prepared, check_out_ticket by prepare_check_out::<CheckInTicket>(keyed), "/tickets/check-out", TicketsCheckIn)
            .docs("Check out a ticket", "")
            .conflicts(&[AmbiguousCode, WrongEvent, TicketCancelled, NotCheckedIn]),
        operation!(list, get_roster::<GetRoster>(caller, id), "/events/{eventId}/roster", TicketsCheckIn)
            .docs(
                "Get the roster of an event",
                "For devices at the entrance that decide without a connection: the rules of admission, and the \
                 tickets with a hash in place of each code, and without names. First come all tickets, in parts; \
                 after that, with the `cursor` of the last answer as `since`, what has changed, with the conflicts \
                 of these tickets. The event needs a door link.",
            )
            .conflicts(&[NoDoorLink])
            .compressed(),
        operation!(
            get,
            get_roster_order(caller, id, second_id),
            "/events/{eventId}/roster/orders/{orderId}",
            TicketsCheckIn
        )
        .docs(
            "Get the tickets of an order at the entrance",
            "For holders who have no code to show: the tickets of an order, without names and codes. Each has the proof \
             that a scan of it needs. The key of a door link may look up 60 orders in an hour.",
        )
        .conflicts(&[NoDoorLink])
        .looks_up_order(),
        operation!(action, upload_scans::<UploadScans>(keyed), "/tickets/scans", TicketsCheckIn)
            .docs(
                "Report scans",
                "Adds the scans of a device to the log of its event. Those without a verdict are decided on now. A \
                 scan whose id is in the log already is not added again. All scans of a ticket are judged in the \
                 order in which they happened, whoever reports them when: a later report can change an outcome. A \
                 ticket has at most 200 rows, and an API key adds at most 1,000 of codes that no ticket has: beyond \
                 that, `logFull` is true.",
            )
            .conflicts(&[NoDoorLink]),
        operation!(
            action,
            create_door_link::<CreateDoorLink>(keyed, id),
            "/events/{eventId}/door-links",
            EventsWrite
        )
        .returns(StatusCode::CREATED)
        .docs(
            "Create a door link",
            "A link to the page for check-in at an entrance, with an API key of this event. The response contains the \
             link, which is not shown again. From then on, all scans of the event are logged.",
        )
        .conflicts(&[EventCancelled, LimitReached]),
        operation!(list, list_door_links::<ListDoorLinks>(caller, id), "/events/{eventId}/door-links", EventsWrite)
            .docs("List the door links of an event", "Newest first, with expired and revoked ones."),
        operation!(
            delete,
            revoke_door_link(caller, id, second_id),
            "/events/{eventId}/door-links/{doorLinkId}",
            EventsWrite
        )
        .docs("Revoke a door link", "It is refused from the next request on, and stays in the list."),
        operation!(list, list_scans::<ListScans>(caller, id), "/events/{eventId}/scans", TicketsRead).docs(
            "List the scans of an event",
            "Newest first, with cancelled tickets. The log begins with the first door link.",
        ),
        operation!(list, get_ticket_by_code::<FindTicket>(caller), "/tickets/by-code", TicketsRead)
            .docs("Get the issued ticket with a code", "The code is read as for a check-in. This does not count as a scan.")
            .conflicts(&[AmbiguousCode]),
        operation!(get, get_ticket(caller, id), "/tickets/{issuedTicketId}", TicketsRead)
            .docs("Get an issued ticket", ""),
        operation!(action_on, cancel_ticket(keyed, id), "/tickets/{issuedTicketId}/cancel", TicketsWrite)
            .docs("Cancel an issued ticket", "Its seat can be sold again.")
            .conflicts(&[TicketCancelled]),
    ]
}
