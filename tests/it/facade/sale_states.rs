//! Whether a ticket type can be ordered now, and how many seats are left: as orders are accepted and refused.

use ticketing::Timestamp;
use ticketing::environment::Clock;
use ticketing::error::Reason;
use ticketing::event::EventStatus;
use ticketing::ticket_type::{ListTicketTypes, SaleState, TicketType, TicketTypeStatus, UpdateTicketType};

use crate::common::*;

/// The event of a ticket type, when it is on sale, its status, and its seats.
struct Case {
    event: EventStatus,
    is_over: bool,
    status: TicketTypeStatus,
    /// When the sale begins and ends, in minutes from now.
    begins: Option<i64>,
    ends: Option<i64>,
    seats_left: bool,
}

const fn fits(
    state: SaleState,
    reason: Option<Reason>,
    status: TicketTypeStatus,
    event: EventStatus,
    over: bool,
) -> bool {
    use SaleState::{Closed, Ended, NotYet, OnSale, SoldOut};
    let expected = match reason {
        None => OnSale,
        Some(Reason::EventNotOnSale) => match event {
            EventStatus::SoldOut if !over => SoldOut,
            EventStatus::Published | EventStatus::SoldOut | EventStatus::Expired => Ended,
            _ => Closed,
        },
        Some(Reason::TicketTypeNotOnSale) if matches!(status, TicketTypeStatus::DisplayAsSoldOut) => SoldOut,
        Some(Reason::TicketTypeNotOnSale) => Closed,
        Some(Reason::SaleNotStarted) => NotYet,
        Some(Reason::SaleEnded) => Ended,
        Some(Reason::SoldOut) => SoldOut,
        Some(_) => return false,
    };
    matches!(
        (state, expected),
        (OnSale, OnSale) | (NotYet, NotYet) | (Ended, Ended) | (SoldOut, SoldOut) | (Closed, Closed)
    )
}

/// A ticket type of a case. Another type of the event has seats, so that the event keeps its status.
fn ticket_type(fixture: &Fixture, case: &Case) -> TicketType {
    let minutes =
        |minutes: i64| Timestamp::from_millis(fixture.clock.now().millis() + 60_000 * minutes).expect("a time");
    let event = fixture.event();
    fixture.ticket_type(&event, 1250, 5);
    let ticket_type = fixture.ticket_type(&event, 1250, 1);
    if !case.seats_left {
        fixture.issue(&ticket_type, 1);
    }
    let mut changes = UpdateTicketType::default().status(case.status);
    if let Some(begins) = case.begins {
        changes = changes.sale_start_date(minutes(begins));
    }
    if let Some(ends) = case.ends {
        changes = changes.sale_end_date(minutes(ends));
    }
    fixture.service.update_ticket_type(&fixture.caller, ticket_type.id, changes).expect("updated");
    // As if the event had begun and ended before.
    let database = fixture.database();
    let over_at = if case.is_over { fixture.clock.now().millis() } else { fixture.clock.now().millis() + 1 };
    database.run(&format!(
        "UPDATE events SET status = '{}', start_at = {over_at}, end_at = {over_at}, over_at = {over_at} WHERE id = {}",
        case.event,
        database::stored_id(event.id)
    ));
    ticket_type
}

#[test]
fn the_state_of_a_ticket_type_is_what_an_order_of_it_says() {
    let fixture = Fixture::without_gateway();
    let mut states = std::collections::BTreeSet::new();
    for event in EventStatus::ALL {
        for status in TicketTypeStatus::ALL {
            for (begins, ends) in
                [(None, None), (Some(0), Some(1)), (Some(1), None), (None, Some(0)), (Some(-2), Some(-1))]
            {
                for (is_over, seats_left) in [(false, true), (false, false), (true, true)] {
                    let case = Case { event: *event, is_over, status: *status, begins, ends, seats_left };
                    let ticket_type = ticket_type(&fixture, &case);
                    let read = fixture.read_ticket_type(ticket_type.id);
                    assert_eq!(read.available, i64::from(seats_left));
                    let listed = fixture.service.list_ticket_types(
                        &fixture.caller,
                        ticket_type.event_id,
                        ListTicketTypes::default(),
                    );
                    assert_eq!(listed.expect("ticket types").data[1], read);
                    let ordered = fixture.try_order(&ticket_type, 1);
                    let refused = ordered.err().map(|error| error.reason().expect("a conflict"));
                    assert!(
                        fits(read.sale_state, refused, *status, *event, is_over),
                        "{event} {status} {begins:?} {ends:?} {is_over} {seats_left}: {}, {refused:?}",
                        read.sale_state
                    );
                    states.insert(read.sale_state);
                }
            }
        }
    }
    assert_eq!(states.len(), SaleState::ALL.len());
}

#[test]
fn available_seats_are_neither_sold_nor_reserved_and_an_expired_hold_reserves_none() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let (seat, other) = (fixture.ticket_type(&event, 1250, 10), fixture.ticket_type(&event, 1250, 2));
    assert_eq!((seat.available, seat.sale_state), (10, SaleState::OnSale));
    fixture.paid_order(&seat, 1);
    fixture.issue(&seat, 2);
    fixture.order(&seat, 4);
    fixture.order(&other, 2);
    let of_service = |service: &ticketing::TicketingService| {
        let listed = service.list_ticket_types(&fixture.caller, event.id, ListTicketTypes::default());
        let listed = listed.expect("ticket types").data;
        for ticket_type in &listed {
            let read = service.get_ticket_type(&fixture.caller, ticket_type.id).expect("a type");
            assert_eq!(read, *ticket_type);
        }
        listed.into_iter().map(|read| (read.available, read.sold, read.sale_state)).collect::<Vec<_>>()
    };
    assert_eq!(of_service(&fixture.service), [(3, 3, SaleState::OnSale), (0, 0, SaleState::SoldOut)]);
    let revision = fixture.read_ticket_type(seat.id).revision;
    assert_eq!(revision, seat.revision);
    // Nobody has released the holds.
    fixture.expire_holds();
    assert_eq!(of_service(&fixture.service), [(7, 3, SaleState::OnSale), (2, 0, SaleState::OnSale)]);
    let summary = fixture.service.get_event_summary(&fixture.caller, event.id).expect("a summary");
    assert_eq!(summary.ticket_types.iter().map(|figures| figures.available).collect::<Vec<_>>(), [7, 2]);
    fixture.service.run_maintenance().expect("a run");
    assert_eq!(of_service(&fixture.service), [(7, 3, SaleState::OnSale), (2, 0, SaleState::OnSale)]);
    // What an update returns is the state after it.
    let updated = fixture.set_quantity(seat.id, 3).expect("updated");
    assert_eq!((updated.available, updated.sale_state), (0, SaleState::SoldOut));
}
