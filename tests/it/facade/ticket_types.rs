//! Ticket types: defaults, status, sale window, quantity, limit per order, deletion and price.

use ticketing::Amount;
use ticketing::error::Reason;
use ticketing::order::{CreateOrder, NewOrderItem};
use ticketing::ticket_type::{CreateTicketType, TicketType, TicketTypeStatus, UpdateTicketType};

use crate::common::*;

#[test]
fn omitted_fields_of_a_ticket_type_have_defaults() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let new = CreateTicketType::new("Seat", eur(1250), 100);
    let ticket_type = fixture.service.create_ticket_type(&fixture.caller, event.id, new).expect("a type");
    let expected = from_json::<TicketType>(json!({
        "id": ticket_type.id,
        "name": "Seat",
        "description": null,
        "price": eur(1250),
        "quantity": 100,
        "sold": 0,
        "available": 100,
        "saleState": "ON_SALE",
        "eventId": event.id,
        "status": TicketTypeStatus::OnSale,
        "displayRemaining": false,
        "validFrom": null,
        "validUntil": null,
        "allowedDates": [],
        "validityDays": null,
        "validityHours": null,
        "accessAreas": [],
        "maxPerOrder": 10,
        "saleStartDate": null,
        "saleEndDate": null,
        "sortOrder": 0,
        "ticketText": null,
        "ticketLogo": null,
        "reference": null,
        "metadata": {},
        "createdAt": at(NOW),
        "updatedAt": at(NOW),
        "revision": ticket_type.revision
    }));
    assert_eq!(ticket_type, expected);
    assert_eq!(fixture.service.get_ticket_type(&fixture.caller, ticket_type.id).expect("the type"), expected);
}

#[test]
fn all_fields_of_a_ticket_type_are_stored() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type_with(&event, |new| {
        *new = CreateTicketType::new("Balcony", eur(2501), 7)
            .description("High up")
            .status(TicketTypeStatus::DisplayAsUnavailable)
            .display_remaining(true)
            .validity_days(2)
            .validity_hours(30)
            .access_areas(["hall", "bar"])
            .max_per_order(100)
            .sort_order(-3)
            .ticket_text("No dogs")
            .ticket_logo("https://example.com/logo.png")
            .valid_from(at("2026-07-01T00:00Z"))
            .valid_until(at("2026-07-02T00:00Z"))
            .allowed_dates([at("2026-07-01T12:00Z"), at("2026-07-02T12:00Z")])
            .sale_start_date(at("2026-06-01T00:00Z"))
            .sale_end_date(at("2026-06-30T00:00Z"));
    });
    let expected = from_json::<TicketType>(json!({
        "id": ticket_type.id,
        "name": "Balcony",
        "description": "High up",
        "price": eur(2501),
        "quantity": 7,
        "sold": 0,
        "available": 7,
        "saleState": "CLOSED",
        "eventId": event.id,
        "status": TicketTypeStatus::DisplayAsUnavailable,
        "displayRemaining": true,
        "validFrom": at("2026-07-01T00:00Z"),
        "validUntil": at("2026-07-02T00:00Z"),
        "allowedDates": [at("2026-07-01T12:00Z"), at("2026-07-02T12:00Z")],
        "validityDays": 2,
        "validityHours": 30,
        "accessAreas": ["hall", "bar"],
        "maxPerOrder": 100,
        "saleStartDate": at("2026-06-01T00:00Z"),
        "saleEndDate": at("2026-06-30T00:00Z"),
        "sortOrder": -3,
        "ticketText": "No dogs",
        "ticketLogo": "https://example.com/logo.png",
        "reference": null,
        "metadata": {},
        "createdAt": at(NOW),
        "updatedAt": at(NOW),
        "revision": ticket_type.revision
    }));
    assert_eq!(ticket_type, expected);
    // An update of one field leaves all others unchanged.
    let renamed = UpdateTicketType::default().name("Gallery");
    let renamed = fixture.service.update_ticket_type(&fixture.caller, ticket_type.id, renamed).expect("a name");
    assert_eq!(renamed, with!(expected, name = "Gallery".to_owned(), revision = ticket_type.revision + 1));
}

#[test]
fn every_status_may_follow_every_other() {
    let fixture = Fixture::new();
    let event = fixture.event();
    for from in TicketTypeStatus::ALL {
        for to in TicketTypeStatus::ALL {
            let ticket_type = fixture.ticket_type_with(&event, |new| new.status = Some(*from));
            let changes = UpdateTicketType::default().status(*to);
            let moved = fixture.service.update_ticket_type(&fixture.caller, ticket_type.id, changes).expect("allowed");
            assert_eq!(moved.status, *to, "{from} to {to}");
        }
    }
}

#[test]
fn only_types_on_sale_can_be_ordered_but_all_can_be_issued() {
    let fixture = Fixture::new();
    let event = fixture.event();
    for status in TicketTypeStatus::ALL {
        let ticket_type = fixture.ticket_type_with(&event, |new| new.status = Some(*status));
        match status {
            TicketTypeStatus::OnSale => drop(fixture.order(&ticket_type, 1)),
            _ => assert_eq!(reason(fixture.try_order(&ticket_type, 1)), Reason::TicketTypeNotOnSale, "{status}"),
        }
        assert_eq!(fixture.issue(&ticket_type, 1).len(), 1, "{status}");
    }
}

#[test]
fn a_type_can_be_ordered_from_its_sale_start_until_just_before_its_end() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type_with(&fixture.event(), |new| {
        new.sale_start_date = Some(at("2026-06-10T00:00Z"));
        new.sale_end_date = Some(at("2026-06-20T00:00Z"));
    });
    fixture.set_clock("2026-06-09T23:59:59.999Z");
    assert_eq!(reason(fixture.try_order(&ticket_type, 1)), Reason::SaleNotStarted);
    fixture.issue(&ticket_type, 1);
    fixture.set_clock("2026-06-10T00:00Z");
    fixture.order(&ticket_type, 1);
    fixture.set_clock("2026-06-19T23:59:59.999Z");
    fixture.order(&ticket_type, 1);
    fixture.set_clock("2026-06-20T00:00Z");
    assert_eq!(reason(fixture.try_order(&ticket_type, 1)), Reason::SaleEnded);
    fixture.issue(&ticket_type, 1);
}

#[test]
fn the_quantity_cannot_fall_below_the_sold_and_held_seats() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    fixture.paid_order(&ticket_type, 2);
    fixture.issue(&ticket_type, 1);
    fixture.order(&ticket_type, 3);
    assert_eq!(reason(fixture.set_quantity(ticket_type.id, 5)), Reason::QuantityBelowSold);
    assert_eq!(fixture.set_quantity(ticket_type.id, 6).expect("the number of sold and reserved seats").quantity, 6);
    assert_eq!(reason(fixture.try_order(&ticket_type, 1)), Reason::SoldOut);
}

#[test]
fn the_limit_per_order_applies_to_the_sum_of_entries_and_not_to_issuing() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type_with(&event, |new| new.max_per_order = Some(3));
    let order = |quantities: &[i64]| {
        let mut request = CreateOrder::new(event.id, new_customer(), ticket_type.id, 1);
        let entry = |quantity: &i64| NewOrderItem::new(ticket_type.id, *quantity);
        request.items = quantities.iter().map(entry).collect();
        fixture.service.create_order(&fixture.caller, request)
    };
    assert_eq!(reason(order(&[4])), Reason::MaxPerOrderExceeded);
    assert_eq!(reason(order(&[2, 2])), Reason::MaxPerOrderExceeded);
    assert_eq!(reason(order(&[1; 4])), Reason::MaxPerOrderExceeded);
    order(&[1, 2]).expect("three in total");
    order(&[3]).expect("three in one entry");
    assert_eq!(fixture.issue(&ticket_type, 10).len(), 10);
}

#[test]
fn a_type_is_deleted_unless_it_was_ever_ordered_or_issued() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let delete = |ticket_type: &TicketType| fixture.service.delete_ticket_type(&fixture.caller, ticket_type.id);
    let unused = fixture.ticket_type(&event, 1250, 10);
    delete(&unused).expect("unused");
    assert_not_found(delete(&unused));

    let ordered = fixture.ticket_type(&event, 1250, 10);
    let order = fixture.order(&ordered, 1);
    assert_eq!(reason(delete(&ordered)), Reason::InUse, "held");
    fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
    assert_eq!(reason(delete(&ordered)), Reason::InUse, "once ordered");

    let issued = fixture.ticket_type(&event, 1250, 10);
    let ticket = fixture.issue(&issued, 1).remove(0);
    fixture.service.cancel_ticket(&fixture.caller, ticket.id).expect("cancelled");
    assert_eq!(reason(delete(&issued)), Reason::InUse, "once issued");

    // A refused order leaves nothing behind.
    let refused = fixture.ticket_type(&event, 1250, 1);
    assert_eq!(reason(fixture.try_order(&refused, 2)), Reason::SoldOut);
    delete(&refused).expect("unused");
}

#[test]
fn a_price_has_at_most_the_decimals_of_its_currency() {
    let fixture = Fixture::new();
    for (currency, fits, too_fine) in [
        ("JPY", Amount::whole(1500), amount(15_005, 1)),
        ("EUR", Amount::cents(1250), amount(12_501, 3)),
        ("KWD", amount(12_501, 3), amount(125_011, 4)),
    ] {
        let event = fixture.event_with(|new| new.currency = Some(currency.to_owned()));
        let create = |price| {
            let new = CreateTicketType::new("Seat", price, 1);
            fixture.service.create_ticket_type(&fixture.caller, event.id, new)
        };
        let ticket_type = create(fits).expect(currency);
        assert_eq!(ticket_type.price, fits, "{currency}");
        assert_eq!(paths(create(too_fine)), ["price"], "{currency}");
        let changes = UpdateTicketType::default().price(too_fine);
        assert_eq!(
            paths(fixture.service.update_ticket_type(&fixture.caller, ticket_type.id, changes)),
            ["price"],
            "{currency}"
        );
        // Trailing zeros do not count as decimals.
        assert_eq!(create(amount(15_000_000, 6)).expect(currency).price, Amount::whole(15), "{currency}");
    }
}

#[test]
fn an_order_keeps_the_price_at_its_creation() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let order = fixture.order(&ticket_type, 2);
    let changes = UpdateTicketType::default().price(eur(9900));
    fixture.service.update_ticket_type(&fixture.caller, ticket_type.id, changes).expect("a price");
    let paid = fixture.service.payment_completed(&fixture.caller, order.id).expect("paid");
    assert_eq!((paid.total, paid.items[0].price), (eur(2500), eur(1250)));
    assert_eq!(fixture.order(&ticket_type, 2).total, eur(19_800));
}
