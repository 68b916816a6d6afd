//! Filters of lists by time, discount, ticket type and event, and the iterator over all pages.

use std::time::Duration;

use ticketing::error::ResourceKind;
use ticketing::event::ListEvents;
use ticketing::id::{OrderId, TicketId};
use ticketing::order::{CreateOrder, ListOrders, NewOrderItem, OrderStatus, PaymentChoice, PaymentMethod};
use ticketing::page;
use ticketing::payment::ListRefunds;
use ticketing::payment::ManualMethod;
use ticketing::ticket::{CheckInTicket, ListTickets};
use ticketing::{Error, Result, Timestamp};

use crate::common::*;

const MINUTE: Duration = Duration::from_mins(1);

/// The ids of all orders that a list finds, newest first. The pages have two items.
fn orders(fixture: &Fixture, request: &ListOrders) -> Vec<OrderId> {
    let mut found = Vec::new();
    let mut request = request.clone().limit(2);
    loop {
        let page = fixture.service.list_orders(&fixture.caller, request.clone()).expect("a page");
        found.extend(page.data.iter().map(|order| order.id));
        let Some(cursor) = page.next_cursor else { return found };
        request = request.after(cursor);
    }
}

fn tickets(fixture: &Fixture, request: &ListTickets) -> Vec<TicketId> {
    let page = fixture.service.list_tickets(&fixture.caller, request.clone()).expect("a page");
    page.data.iter().map(|ticket| ticket.id).collect()
}

#[test]
fn orders_are_found_by_the_time_of_their_completion() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 100);
    let created: Vec<_> = (0..5).map(|_| fixture.order(&ticket_type, 1).id).collect();
    // Completed in another order than created, at 12:01, 12:02, 12:03 and 12:04. The last one is never paid.
    for index in [2, 0, 3, 1] {
        fixture.clock.advance(MINUTE);
        fixture.service.payment_completed(&fixture.caller, created[index]).expect("a payment");
    }
    let all = ListOrders::default();
    let (from, before) = (at("2026-06-01T12:02:00Z"), at("2026-06-01T12:04:00Z"));
    assert_eq!(orders(&fixture, &all.clone().completed_from(from)), [created[3], created[1], created[0]]);
    assert_eq!(orders(&fixture, &all.clone().completed_before(before)), [created[3], created[2], created[0]]);
    let between = all.clone().completed_from(from).completed_before(before);
    assert_eq!(orders(&fixture, &between), [created[3], created[0]]);
    // A free order is completed when it is created. A cancelled one was completed.
    let free = fixture.order(&fixture.ticket_type(&fixture.event(), 0, 1), 1).id;
    fixture.service.cancel_order(&fixture.caller, created[1]).expect("a cancellation");
    assert_eq!(orders(&fixture, &all.clone().completed_from(before)), [free, created[1]]);
    // With other filters.
    let event = ticket_type.event_id;
    assert_eq!(orders(&fixture, &between.clone().event(event)), [created[3], created[0]]);
    assert_eq!(orders(&fixture, &all.clone().completed_from(before).event(event)), [created[1]]);
    assert_eq!(orders(&fixture, &between.customer_email("ada@example.com")), [created[3], created[0]]);
    let other = fixture.other_organization();
    let others = fixture.service.list_orders(&other, all.completed_from(at("2020-01-01T00:00:00Z"))).expect("a page");
    assert_eq!(others.data, []);
}

#[test]
fn orders_tell_how_and_when_they_were_paid_and_are_found_by_it() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let (seat, free) = (fixture.ticket_type(&event, 1250, 100), fixture.ticket_type(&event, 0, 100));
    let pending = fixture.order(&seat, 1).id;
    let by_gateway = fixture.order(&seat, 1).id;
    let by_hand = fixture.order(&seat, 1).id;
    let cancelled_unpaid = fixture.order(&seat, 1).id;
    let free = fixture.order(&free, 1).id;
    let dinars = fixture.event_with(|new| new.currency = Some("KWD".to_owned()));
    let dinars = fixture.ticket_type_with(&dinars, |new| new.price = amount(4000, 3));
    let sale = new_order(dinars.event_id, dinars.id, 1).payment(PaymentChoice::Paid);
    let at_the_till = fixture.service.create_order(&fixture.caller, sale).expect("sold").order.id;
    fixture.clock.advance(MINUTE);
    fixture.service.payment_completed(&fixture.caller, by_gateway).expect("a payment");
    fixture.clock.advance(MINUTE);
    fixture.service.mark_order_paid(&fixture.caller, by_hand, ManualMethod::Cash).expect("a payment");
    fixture.service.cancel_order(&fixture.caller, by_hand).expect("a cancellation");
    fixture.service.cancel_order(&fixture.caller, cancelled_unpaid).expect("a cancellation");

    let page = fixture.service.list_orders(&fixture.caller, ListOrders::default()).expect("a page").data;
    let told: Vec<_> = page
        .iter()
        .map(|order| (order.id, order.payment_method, order.completed_at, order.currency.as_str()))
        .collect();
    let (noon, first, second) = (at(NOW), at("2026-06-01T12:01:00Z"), at("2026-06-01T12:02:00Z"));
    assert_eq!(
        told,
        [
            (at_the_till, Some(PaymentMethod::Manual), Some(noon), "KWD"),
            (free, Some(PaymentMethod::Free), Some(noon), "EUR"),
            (cancelled_unpaid, None, None, "EUR"),
            (by_hand, Some(PaymentMethod::Manual), Some(second), "EUR"),
            (by_gateway, Some(PaymentMethod::Gateway), Some(first), "EUR"),
            (pending, None, None, "EUR"),
        ]
    );
    for order in &page {
        let details = fixture.service.get_order_details(&fixture.caller, order.id).expect("the details");
        assert_eq!((details.payment_method, details.completed_at), (order.payment_method, order.completed_at));
    }

    let paid = |method| ListOrders::default().payment_method(method);
    assert_eq!(orders(&fixture, &paid(PaymentMethod::Manual)), [at_the_till, by_hand]);
    assert_eq!(orders(&fixture, &paid(PaymentMethod::Gateway)), [by_gateway]);
    assert_eq!(orders(&fixture, &paid(PaymentMethod::Free)), [free]);
    // With other filters.
    let manual = || paid(PaymentMethod::Manual);
    assert_eq!(orders(&fixture, &manual().event(event.id)), [by_hand]);
    assert_eq!(orders(&fixture, &manual().status(OrderStatus::Completed)), [at_the_till]);
    assert_eq!(orders(&fixture, &manual().status(OrderStatus::Pending)), []);
    assert_eq!(orders(&fixture, &manual().completed_from(first)), [by_hand]);
    assert_eq!(orders(&fixture, &manual().completed_before(first)), [at_the_till]);
    assert_eq!(orders(&fixture, &manual().ticket_type(seat.id)), [by_hand]);
    assert_eq!(orders(&fixture, &manual().customer_email("ada@example.com")), [at_the_till, by_hand]);
    assert_eq!(orders(&fixture, &manual().reference("none")), []);
    assert_eq!(orders(&fixture, &manual().updated_from(second)), [by_hand]);
    let of_others = fixture.service.list_orders(&fixture.other_organization(), manual()).expect("a page");
    assert_eq!(of_others.data, []);
}

#[test]
fn orders_are_found_by_the_time_of_their_last_change() {
    let fixture = Fixture::without_gateway();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 100);
    let first = fixture.order(&ticket_type, 1).id;
    let second = fixture.order(&ticket_type, 1).id;
    let third = fixture.order(&ticket_type, 1).id;
    fixture.set_clock("2026-06-01T12:10:00Z");
    fixture.service.mark_order_paid(&fixture.caller, first, ManualMethod::Cash).expect("a payment");
    fixture.set_clock("2026-06-01T12:20:00Z");
    fixture.service.cancel_order(&fixture.caller, second).expect("a cancellation");
    let since = |text| orders(&fixture, &ListOrders::default().updated_from(at(text)));
    let before = |text| orders(&fixture, &ListOrders::default().updated_before(at(text)));
    assert_eq!(since("2026-06-01T12:10:00Z"), [second, first]);
    assert_eq!(since("2026-06-01T12:10:00.001Z"), [second]);
    assert_eq!(before("2026-06-01T12:20:00Z"), [third, first]);
    // The hold of the third ended at 12:30: it counts as changed then, whether that is stored or not.
    fixture.set_clock("2026-06-01T12:40:00Z");
    for _ in 0..2 {
        assert_eq!(since("2026-06-01T12:30:00Z"), [third]);
        assert_eq!(before("2026-06-01T12:30:00Z"), [second, first]);
        assert_eq!(fixture.read_order(third).updated_at, at("2026-06-01T12:30:00Z"));
        fixture.service.run_maintenance().expect("maintenance");
    }
}

#[test]
fn an_order_that_has_just_expired_after_a_long_hold_is_found_by_that_time() {
    let fixture = Fixture::with(|builder| builder.order_hold(Duration::from_hours(5)));
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 100);
    let expired = fixture.order(&ticket_type, 1).id;
    fixture.set_clock("2026-06-01T17:10:00Z");
    let since = |text| orders(&fixture, &ListOrders::default().updated_from(at(text)));
    for _ in 0..2 {
        assert_eq!(since("2026-06-01T17:00:00Z"), [expired]);
        assert_eq!(since("2026-06-01T17:00:00.001Z"), []);
        fixture.service.run_maintenance().expect("maintenance");
    }
}

#[test]
fn orders_are_found_by_their_discount() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1000, 100);
    let early = fixture.discount(percent_off(&event, "EARLY", 10));
    let late = fixture.discount(percent_off(&event, "LATE", 20));
    fixture.order(&ticket_type, 1);
    let first = fixture.order_with_code(&ticket_type, 1, "EARLY").id;
    let second = fixture.order_with_code(&ticket_type, 1, "early").id;
    let third = fixture.order_with_code(&ticket_type, 1, "LATE").id;
    fixture.service.cancel_order(&fixture.caller, first).expect("a cancellation");
    assert_eq!(orders(&fixture, &ListOrders::default().discount(early.id)), [second, first]);
    assert_eq!(orders(&fixture, &ListOrders::default().discount(late.id)), [third]);
    let unknown = ListOrders::default().discount("discount_0000000000001".parse().expect("an id"));
    assert_eq!(orders(&fixture, &unknown), []);
    let other = fixture.other_organization();
    let of_others = fixture.service.list_orders(&other, ListOrders::default().discount(early.id)).expect("a page");
    assert_eq!(of_others.data, []);
}

#[test]
fn orders_are_found_by_the_ticket_types_in_them() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let seat = fixture.ticket_type(&event, 1000, 100);
    let lounge = fixture.ticket_type(&event, 5000, 100);
    let seats = fixture.order(&seat, 2).id;
    let mut both = CreateOrder::new(event.id, new_customer(), seat.id, 1);
    both.items.push(NewOrderItem::new(lounge.id, 1));
    let both = fixture.service.create_order(&fixture.caller, both).expect("an order").order.id;
    let lounges = fixture.order(&lounge, 1).id;
    assert_eq!(orders(&fixture, &ListOrders::default().ticket_type(seat.id)), [both, seats]);
    assert_eq!(orders(&fixture, &ListOrders::default().ticket_type(lounge.id)), [lounges, both]);
    let elsewhere = fixture.event();
    assert_eq!(orders(&fixture, &ListOrders::default().ticket_type(seat.id).event(elsewhere.id)), []);
    let other = fixture.other_organization();
    let of_others = fixture.service.list_orders(&other, ListOrders::default().ticket_type(seat.id)).expect("a page");
    assert_eq!(of_others.data, []);
}

#[test]
fn refunds_are_found_by_their_event() {
    let fixture = Fixture::new();
    let types = [0, 1].map(|_| fixture.ticket_type(&fixture.event(), 1250, 10));
    let refunded = [0, 1, 0].map(|index| {
        let order = fixture.paid_order(&types[index], 1).id;
        fixture.service.cancel_order(&fixture.caller, order).expect("a cancellation");
        order
    });
    let of_event = |event| {
        let request = ListRefunds::default().event(event);
        let page = fixture.service.list_refunds(&fixture.caller, request).expect("a page");
        page.data.iter().map(|refund| refund.order_id).collect::<Vec<_>>()
    };
    assert_eq!(of_event(types[0].event_id), [refunded[2], refunded[0]]);
    assert_eq!(of_event(types[1].event_id), [refunded[1]]);
    let of_order = |order| {
        let request = ListRefunds::default().order(order);
        let page = fixture.service.list_refunds(&fixture.caller, request).expect("a page");
        page.data.iter().map(|refund| refund.order_id).collect::<Vec<_>>()
    };
    assert_eq!(of_order(refunded[1]), [refunded[1]]);
    assert_eq!(of_order(fixture.order(&types[0], 1).id), []);
    assert_eq!(of_event(fixture.event().id), []);
}

#[test]
fn a_gateway_learns_whose_payment_it_refunds() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let order = fixture.paid_order(&ticket_type, 1).id;
    fixture.service.cancel_order(&fixture.caller, order).expect("a cancellation");
    let refunds = fixture.gateway.refunds();
    assert_eq!(refunds.len(), 1);
    assert_eq!(refunds[0].organization_id, fixture.caller.organization());
    assert_eq!(refunds[0].event_id, ticket_type.event_id);
    assert_eq!(refunds[0].order_id, order);
}

#[test]
fn tickets_are_found_by_the_time_of_their_first_scan() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 0, 100);
    let issued = fixture.issue(&ticket_type, 4);
    let scan = |index: usize| {
        fixture.clock.advance(MINUTE);
        fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(&issued[index].code))
    };
    // At 12:01, 12:02 and 12:03; the second scan of the first, at 12:04, is refused and changes nothing.
    scan(2).expect("admitted");
    scan(0).expect("admitted");
    scan(1).expect("admitted");
    scan(2).expect_err("checked in already");
    let all = ListTickets::default();
    let from = at("2026-06-01T12:02:00Z");
    let mut late = [issued[0].id, issued[1].id];
    late.sort_unstable_by(|one, other| other.cmp(one));
    assert_eq!(tickets(&fixture, &all.clone().first_scan_from(from)), late);
    assert_eq!(tickets(&fixture, &all.clone().first_scan_before(from)), [issued[2].id]);
    let one = all.clone().first_scan_from(from).first_scan_before(at("2026-06-01T12:03:00Z"));
    assert_eq!(tickets(&fixture, &one), [issued[0].id]);
    assert_eq!(tickets(&fixture, &one.event(ticket_type.event_id)), [issued[0].id]);
}

#[test]
fn many_tickets_are_found_by_the_time_of_their_first_scan_in_the_same_order() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 0, 10_000);
    let issued = fixture.issue(&ticket_type, 1).remove(0);
    fixture.skip_final_check();
    // 6,000 tickets: those with higher ids were scanned earlier, one each second until 12:00.
    fixture.database().execute(
        "INSERT INTO tickets (id, organization_id, event_id, ticket_type_id, customer_id, customer_name, code, status,
            check_in_at, first_scan_at, last_scan_at, scan_count, created_at, updated_at)
        WITH RECURSIVE n (i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < 6000)
        SELECT id + i, organization_id, event_id, ticket_type_id, customer_id, customer_name,
            SUBSTR('00000000000000000000' || i, LENGTH(CAST(i AS TEXT)) + 1), 'CHECKED_IN', ?2 - i * 1000, ?2 - i * 1000, ?2, 1, ?2, ?2
        FROM tickets, n WHERE tickets.id = ?1",
        [database::stored_id(issued.id), at(NOW).millis()],
    );
    let raw = |request: ListTickets| {
        let found = tickets(&fixture, &request);
        found.into_iter().map(|id| database::stored_id(id) - database::stored_id(issued.id)).collect::<Vec<_>>()
    };
    let seconds_before =
        |seconds: i64| Timestamp::from_millis(at(NOW).millis() - seconds * 1000).expect("in the range");
    let page = ListTickets::default().limit(3);
    assert_eq!(raw(page.clone().first_scan_from(seconds_before(6000))), [6000, 5999, 5998]);
    assert_eq!(raw(page.clone().first_scan_from(seconds_before(5500))), [5500, 5499, 5498]);
    assert_eq!(raw(page.clone().first_scan_from(seconds_before(10))), [10, 9, 8]);
    assert_eq!(raw(page.clone().first_scan_before(seconds_before(5998))), [6000, 5999]);
    assert_eq!(raw(page.first_scan_before(seconds_before(0))), [6000, 5999, 5998]);
}

#[test]
fn many_orders_are_found_by_the_times_of_their_completion_and_last_change_in_the_same_order() {
    let fixture = Fixture::new();
    let first = fixture.order(&fixture.ticket_type(&fixture.event(), 0, 10_000), 1).id;
    fixture.skip_final_check();
    // 6,000 orders, which were created one hour after another. Those with higher ids were completed and changed
    // earlier, one each second until 12:00 of a later day. Every third is cancelled.
    let noon =
        Timestamp::from_millis(at(NOW).millis() + 365 * 24 * 60 * MINUTE.as_millis() as i64).expect("in the range");
    fixture.clock.advance(noon.duration_since(at(NOW)).expect("later"));
    fixture.database().execute(
        "INSERT INTO orders (id, organization_id, event_id, customer_id, customer_name, status, currency, total,
            completed_at, created_at, updated_at)
        WITH RECURSIVE n (i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < 6000)
        SELECT id + (i * 3600000 << 20), organization_id, event_id, customer_id, customer_name,
            CASE i % 3 WHEN 0 THEN 'CANCELLED' ELSE 'COMPLETED' END, currency, 0, ?2 - i * 1000, created_at + i * 3600000,
            ?2 - i * 1000
        FROM orders, n WHERE orders.id = ?1",
        [database::stored_id(first), noon.millis()],
    );
    let raw = |request: ListOrders| {
        let page = fixture.service.list_orders(&fixture.caller, request.limit(3)).expect("a page");
        let number = |id| (database::stored_id(id) - database::stored_id(first)) >> 20;
        page.data.into_iter().map(|order| number(order.id) / 3_600_000).collect::<Vec<_>>()
    };
    let before = |seconds: i64| Timestamp::from_millis(noon.millis() - seconds * 1000).expect("in the range");
    let all = ListOrders::default();
    for from in [ListOrders::completed_from, ListOrders::updated_from] {
        // More than can be sorted, and fewer.
        assert_eq!(raw(from(all.clone(), before(6000))), [6000, 5999, 5998]);
        assert_eq!(raw(from(all.clone(), before(5500))), [5500, 5499, 5498]);
        assert_eq!(raw(from(all.clone(), before(10))), [10, 9, 8]);
        assert_eq!(raw(from(all.clone(), before(5500)).status(OrderStatus::Cancelled)), [5499, 5496, 5493]);
        assert_eq!(raw(from(all.clone(), before(10)).status(OrderStatus::Cancelled)), [9, 6, 3]);
        assert_eq!(raw(from(all.clone(), before(0))), Vec::<i64>::new());
    }
    assert_eq!(raw(all.clone().completed_before(before(5998))), [6000, 5999, 0]);
    assert_eq!(raw(all.clone().completed_before(before(10))), [6000, 5999, 5998]);
    assert_eq!(raw(all.clone().updated_before(before(5998))), [6000, 5999, 0]);
    assert_eq!(raw(all.clone().updated_before(before(10))), [6000, 5999, 5998]);
    assert_eq!(raw(all.status(OrderStatus::Cancelled)), [6000, 5997, 5994]);
}

#[test]
fn orders_are_found_by_the_time_of_their_creation_after_the_clock_was_set_back() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 0, 100);
    let order_at = |time: &str| {
        fixture.set_clock(time);
        fixture.order(&ticket_type, 1).id
    };
    let at_noon = order_at("2026-06-01T12:00:00Z");
    let at_ten = order_at("2026-06-01T10:00:00Z");
    let at_eleven = order_at("2026-06-01T11:00:00Z");
    let at_one = order_at("2026-06-01T13:00:00Z");
    let all = ListOrders::default();
    let before = |time: &str| orders(&fixture, &all.clone().created_before(at(time)));
    assert_eq!(before("2026-06-01T10:00:00Z"), []);
    assert_eq!(before("2026-06-01T10:00:00.001Z"), [at_ten]);
    assert_eq!(before("2026-06-01T12:00:00Z"), [at_eleven, at_ten]);
    assert_eq!(before("2026-06-01T12:00:00.001Z"), [at_eleven, at_ten, at_noon]);
    assert_eq!(before("9999-12-31T23:59:59.999Z"), [at_one, at_eleven, at_ten, at_noon]);
    let from = |time: &str| orders(&fixture, &all.clone().created_from(at(time)));
    assert_eq!(from("2026-06-01T11:00:00Z"), [at_one, at_eleven, at_noon]);
    assert_eq!(from("2026-06-01T12:00:00.001Z"), [at_one]);
    let both = all.clone().created_from(at("2026-06-01T10:30:00Z")).created_before(at("2026-06-01T11:30:00Z"));
    assert_eq!(orders(&fixture, &both), [at_eleven]);
}

#[test]
fn an_event_is_found_by_its_slug() {
    let fixture = Fixture::new();
    let event = fixture.event_with(|new| new.slug = "winter-tale".to_owned());
    let other = fixture.other_organization();
    let others = fixture.service.create_event(&other, new_event(|new| new.slug = "winter-tale".to_owned()));
    assert_eq!(fixture.service.get_event_by_slug(&fixture.caller, "winter-tale").expect("the event"), event);
    assert_eq!(fixture.service.get_event_by_slug(&other, "winter-tale"), others);
    for unknown in ["winter", "Winter-Tale", "winter-tale ", ""] {
        let refused = fixture.service.get_event_by_slug(&fixture.caller, unknown);
        assert_eq!(refused, Err(Error::NotFound(ResourceKind::Event)), "{unknown}");
        // In a list, a text that no event can have as its slug is an error.
        let listed = fixture.service.list_events(&fixture.caller, ListEvents::default().slug(unknown));
        match unknown {
            "winter" => assert_eq!(listed.expect("a page").data, []),
            _ => assert_eq!(listed.expect_err("no slug").fields()[0].path, "slug", "{unknown}"),
        }
    }
    // In a list, together with other filters.
    let filter = ListEvents::default().slug("winter-tale");
    let listed = |filter| fixture.service.list_events(&fixture.caller, filter).expect("a page").data;
    assert_eq!(listed(filter.clone()), std::slice::from_ref(&event));
    assert_eq!(listed(filter.clone().q("tale").is_public(true)), [event]);
    assert_eq!(listed(filter.clone().reference("tour")), []);
    assert_eq!(listed(filter.is_public(false)), []);
}

#[test]
fn all_pages_are_read_one_after_the_other() {
    let fixture = Fixture::new();
    let mut ids: Vec<_> = (0..205).map(|_| fixture.event().id).collect();
    ids.reverse();
    let mut pages = 0;
    let found = page::all(|page| {
        pages += 1;
        fixture.service.list_events(&fixture.caller, ListEvents::default().page(page))
    });
    let found: Vec<_> = found.map(|event| event.expect("an event").id).collect();
    assert!(found == ids, "all of them, newest first");
    assert_eq!(pages, 3);
    // A page is requested when its first item is.
    let mut pages = 0;
    let list = |page| {
        pages += 1;
        fixture.service.list_events(&fixture.caller, ListEvents::default().page(page))
    };
    assert_eq!(page::all(list).take(100).count(), 100);
    assert_eq!(pages, 1);
}

#[test]
fn the_iterator_over_all_pages_ends_after_an_error() {
    let fixture = Fixture::new();
    fixture.event();
    let mut calls = 0;
    let list = |page| {
        calls += 1;
        let mut request = ListEvents::default().page(page);
        request.page.limit = 0;
        fixture.service.list_events(&fixture.caller, request)
    };
    let all: Vec<Result<_>> = page::all(list).collect();
    assert_eq!(all.len(), 1);
    assert!(matches!(&all[0], Err(Error::Validation(_))), "{all:?}");
    assert_eq!(calls, 1);
    assert_eq!(
        page::all(|page| fixture.service.list_orders(&fixture.caller, ListOrders::default().page(page))).count(),
        0
    );
}
