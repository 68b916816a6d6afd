//! The sales of an event over time, with figures computed by hand.

use ticketing::Amount;
use ticketing::event::{Event, EventSales, GetEventSales, SalesInterval, SalesItem};
use ticketing::payment::{ManualMethod, MarkRefunded, PaymentMode, RefundMethod};
use ticketing::ticket::CheckInTicket;

use crate::common::*;

fn sales(fixture: &Fixture, event: &Event, request: GetEventSales) -> EventSales {
    fixture.service.get_event_sales(&fixture.caller, event.id, request).expect("sales")
}

/// The beginnings of the items, with orders, tickets, revenue, refunds and issued tickets.
fn rows(items: &[SalesItem]) -> Vec<(String, i64, i64, Amount, Amount, i64)> {
    let row = |item: &SalesItem| {
        (item.from.to_string()[..16].to_owned(), item.orders, item.tickets, item.revenue, item.refunded, item.issued)
    };
    items.iter().map(row).collect()
}

fn row(
    from: &str,
    orders: i64,
    tickets: i64,
    revenue: i64,
    refunded: i64,
    issued: i64,
) -> (String, i64, i64, Amount, Amount, i64) {
    (from.to_owned(), orders, tickets, eur(revenue), eur(refunded), issued)
}

#[test]
fn cancelled_tickets_count_on_the_day_of_their_cancellation_whatever_happens_to_them_later() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let seat = fixture.ticket_type(&event, 1250, 100);
    let (service, caller) = (&fixture.service, &fixture.caller);
    let cancelled = |items: Vec<SalesItem>| -> Vec<(String, i64)> {
        let any = items.into_iter().filter(|item| item.cancelled > 0);
        any.map(|item| (item.from.to_string()[..10].to_owned(), item.cancelled)).collect()
    };
    let days = || cancelled(sales(&fixture, &event, GetEventSales::new()).items);
    let (whole, part) = (fixture.paid_order(&seat, 3), fixture.paid_order(&seat, 2));
    let issued = fixture.issue(&seat, 2);
    assert_eq!(days(), []);
    fixture.set_clock("2026-06-03T12:00:00Z");
    service.cancel_order(caller, whole.id).expect("cancelled");
    let single = part.tickets().next().expect("a ticket");
    service.cancel_ticket(caller, single.id).expect("cancelled");
    fixture.set_clock("2026-06-05T12:00:00Z");
    service.cancel_ticket(caller, issued[0].id).expect("cancelled");
    let expected = [("2026-06-03".to_owned(), 4), ("2026-06-05".to_owned(), 1)];
    assert_eq!(days(), expected);
    fixture.set_clock("2026-06-09T12:00:00Z");
    let _ = service.check_in_ticket(caller, CheckInTicket::new(single.code.clone()));
    assert_eq!(days(), expected);
    // An earlier version has recorded only when orders were cancelled.
    fixture.database().run("UPDATE tickets SET cancelled_at = NULL WHERE order_id IS NOT NULL");
    assert_eq!(days()[0], ("2026-06-03".to_owned(), 3));
}

#[test]
fn orders_that_an_earlier_version_has_stored_count_with_their_tickets() {
    let fixture = Fixture::new();
    let event = fixture.event();
    fixture.paid_order(&fixture.ticket_type(&event, 1250, 100), 3);
    let before = sales(&fixture, &event, GetEventSales::new());
    fixture.database().run("UPDATE orders SET ordered_seats = NULL");
    assert_eq!(sales(&fixture, &event, GetEventSales::new()), before);
    assert_eq!(before.items[0].tickets, 3);
}

#[test]
fn orders_count_on_the_day_of_their_completion_and_refunds_on_that_of_their_movement() {
    let fixture = Fixture::new();
    let event = fixture.event_with(|new| new.timezone = Some("Europe/Berlin".to_owned()));
    let seat = fixture.ticket_type(&event, 1250, 100);
    let other = fixture.new_ticket_type(500, 10);
    let (service, caller) = (&fixture.service, &fixture.caller);
    assert_eq!(sales(&fixture, &event, GetEventSales::new()).items, []);

    // In Berlin it is 23:59 on 1 June: ordered on this day, paid on the next.
    fixture.set_clock("2026-06-01T21:59:00Z");
    let paid_later = fixture.order(&seat, 2);
    let paid = fixture.paid_order(&seat, 3);
    fixture.paid_order(&other, 4);
    fixture.order(&seat, 7);
    fixture.set_clock("2026-06-01T22:00:00Z");
    service.mark_order_paid(caller, paid_later.id, ManualMethod::Cash).expect("pending");
    fixture.issue(&seat, 5);
    // Cancelled on 3 June and refunded by the gateway; refunded in cash on 4 June.
    fixture.set_clock("2026-06-03T12:00:00Z");
    service.cancel_order(caller, paid.id).expect("completed");
    service.run_maintenance().expect("a run");
    service.cancel_order(caller, paid_later.id).expect("completed");
    fixture.set_clock("2026-06-04T12:00:00Z");
    service.mark_order_refunded(caller, paid_later.id, MarkRefunded::all(RefundMethod::Cash)).expect("owed");

    let found = sales(&fixture, &event, GetEventSales::new());
    assert_eq!(
        (found.as_of, &*found.currency, found.interval),
        (at("2026-06-04T12:00:00Z"), "EUR", SalesInterval::Day)
    );
    let expected = [
        row("2026-05-31T22:00", 1, 3, 3750, 0, 0),
        row("2026-06-01T22:00", 1, 2, 2500, 0, 5),
        row("2026-06-02T22:00", 0, 0, 0, 3750, 0),
        row("2026-06-03T22:00", 0, 0, 0, 2500, 0),
    ];
    assert_eq!(rows(&found.items), expected);
    assert!(found.items.iter().all(|item| item.mode == PaymentMode::Live));
    assert_eq!(found.items[0].until, at("2026-06-01T22:00:00Z"));

    let hours = sales(&fixture, &event, GetEventSales::new().interval(SalesInterval::Hour));
    let expected = [
        row("2026-06-01T21:00", 1, 3, 3750, 0, 0),
        row("2026-06-01T22:00", 1, 2, 2500, 0, 5),
        row("2026-06-03T12:00", 0, 0, 0, 3750, 0),
        row("2026-06-04T12:00", 0, 0, 0, 2500, 0),
    ];
    assert_eq!(rows(&hours.items), expected);

    let summary = service.get_event_summary(caller, event.id).expect("a summary");
    assert_eq!(summary.gross_revenue, eur(6250));
    assert_eq!((summary.refunded_total, summary.manually_refunded_total), (eur(3750), eur(2500)));
}

#[test]
fn from_and_before_select_exact_instants_within_an_interval() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let seat = fixture.ticket_type(&event, 100, 100);
    for minute in 0..3 {
        fixture.set_clock(&format!("2026-06-01T12:0{minute}:00Z"));
        fixture.paid_order(&seat, 1);
    }
    let between = GetEventSales::new().from(at("2026-06-01T12:01:00Z")).before(at("2026-06-01T12:02:00Z"));
    assert_eq!(rows(&sales(&fixture, &event, between).items), [row("2026-06-01T00:00", 1, 1, 100, 0, 0)]);
    let backwards = GetEventSales::new().from(at("2026-06-01T12:01:00Z")).before(at("2026-06-01T12:01:00Z"));
    assert_eq!(paths(fixture.service.get_event_sales(&fixture.caller, event.id, backwards)), ["before"]);
}

/// In Berlin, clocks are put back on 25 October 2026 at 01:00 UTC, and forward on 29 March 2026.
#[test]
fn a_day_has_all_its_hours_when_clocks_are_changed() {
    for (start, hours, zone_day) in
        [("2026-10-24T22:00:00Z", 25, "2026-10-25"), ("2026-03-28T23:00:00Z", 23, "2026-03-29")]
    {
        let fixture = Fixture::new();
        fixture.set_clock("2026-01-02T00:00:00Z");
        let event = fixture.event_with(|new| {
            new.timezone = Some("Europe/Berlin".to_owned());
            new.start_date = at("2026-12-01T00:00:00Z");
            new.end_date = None;
        });
        let seat = fixture.ticket_type(&event, 100, 100);
        // One order in the hour before the day, one in each of its hours, and one in the hour after it.
        fixture.clock.set(at(start));
        let half = std::time::Duration::from_mins(30);
        let first = at(start).millis() - half.as_millis() as i64;
        for hour in 0..hours + 2 {
            fixture.clock.set(ticketing::Timestamp::from_millis(first + hour * 3_600_000).expect("in range"));
            fixture.paid_order(&seat, 1);
        }
        let days = sales(&fixture, &event, GetEventSales::new());
        let orders: Vec<_> = days.items.iter().map(|item| item.orders).collect();
        assert_eq!(orders, [1, hours, 1]);
        let day = ticketing::Timestamp::day(zone_day, "Europe/Berlin").expect("a day");
        assert_eq!((days.items[1].from, days.items[1].until), (day.start, day.end));
        let by_hour = sales(&fixture, &event, GetEventSales::new().interval(SalesInterval::Hour)).items;
        assert_eq!(by_hour.len() as i64, hours + 2);
        assert!(by_hour.iter().all(|item| item.orders == 1 && item.until.millis() - item.from.millis() == 3_600_000));
    }
}

#[test]
fn money_of_tests_stands_apart_and_what_cost_nothing_is_live() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let seat = fixture.ticket_type(&event, 1250, 100);
    let free = fixture.ticket_type(&event, 0, 100);
    let test = fixture.gateway.clone().named("trial", PaymentMode::Test);
    let trial = fixture.second_service_with(|builder| builder.payment_gateway(test));
    fixture.paid_order(&seat, 2);
    fixture.order(&free, 3);
    let order = trial.create_order(&fixture.caller, new_order(event.id, seat.id, 4)).expect("an order").order;
    trial.payment_completed(&fixture.caller, order.id).expect("a payment");
    let refund = ticketing::payment::RefundOrder::of_amount(eur(500));
    trial.refund_order(&fixture.caller_with_new_key(), order.id, refund).expect("a refund");
    trial.run_maintenance().expect("a run");
    let items = sales(&fixture, &event, GetEventSales::new()).items;
    let expected = [row("2026-06-01T00:00", 2, 5, 2500, 0, 0), row("2026-06-01T00:00", 1, 4, 5000, 500, 0)];
    assert_eq!(rows(&items), expected);
    assert_eq!((items[0].mode, items[1].mode), (PaymentMode::Live, PaymentMode::Test));
}

#[test]
fn cancelled_and_checked_in_tickets_stay_sold() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let seat = fixture.ticket_type(&event, 1250, 100);
    let order = fixture.paid_order(&seat, 3);
    let tickets: Vec<_> = order.tickets().collect();
    fixture.service.cancel_ticket(&fixture.caller, tickets[0].id).expect("valid");
    fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(&tickets[1].code)).expect("valid");
    let items = sales(&fixture, &event, GetEventSales::new()).items;
    assert_eq!(rows(&items), [row("2026-06-01T00:00", 1, 3, 3750, 0, 0)]);
}

#[test]
fn more_than_a_thousand_items_are_refused_with_the_field_that_selects_fewer() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let seat = fixture.ticket_type(&event, 0, 10_000);
    for hour in 0..1001 {
        fixture.clock.set(ticketing::Timestamp::from_millis(at(NOW).millis() - hour * 3_600_000).expect("in range"));
        fixture.order(&seat, 1);
    }
    fixture.clock.set(at(NOW));
    let hours = || GetEventSales::new().interval(SalesInterval::Hour);
    assert_eq!(paths(fixture.service.get_event_sales(&fixture.caller, event.id, hours())), ["from"]);
    let first = ticketing::Timestamp::from_millis(at(NOW).millis() - 999 * 3_600_000).expect("in range");
    assert_eq!(sales(&fixture, &event, hours().from(first)).items.len(), 1000);
}
