//! Lists: order, filters and their combinations, pages and cursors.

use std::collections::HashSet;
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ticketing::Result;
use ticketing::discount::{Discount, ListDiscounts};
use ticketing::event::{Event, EventStatus, ListEvents};
use ticketing::id::{EventId, Id, Kind, OrderId, TicketId, TicketTypeId};
use ticketing::order::{CreateOrder, ListOrders, NewCustomer, OrderStatus, OrderSummary};
use ticketing::page::{Page, PageRequest};
use ticketing::request::Request;
use ticketing::ticket::{CheckInTicket, ListTickets, TicketStatus};
use ticketing::ticket_type::{ListTicketTypes, TicketType, TicketTypeStatus, UpdateTicketType};

use crate::common::*;

/// Reads a list page by page. Asserts that every page but the last is full and has a cursor.
fn walk<T, K: Kind>(
    limit: i64,
    id: fn(&T) -> Id<K>,
    mut page: impl FnMut(PageRequest<Id<K>>) -> Result<Page<T, Id<K>>>,
) -> Vec<T> {
    let mut request = PageRequest::first(limit);
    let mut all = Vec::new();
    loop {
        let Page { data, next_cursor, .. } = page(request.clone()).expect("a page");
        let full = i64::try_from(data.len()).expect("few") == limit;
        let last = data.last().map(id);
        all.extend(data);
        let Some(cursor) = next_cursor else { return all };
        assert!(full, "only the last page is not full");
        assert_eq!(Some(cursor), last, "the cursor is the id of the last item");
        request = request.after(cursor);
    }
}

fn events(fixture: &Fixture, request: ListEvents) -> Vec<EventId> {
    let list = |page| fixture.service.list_events(&fixture.caller, request.clone().page(page));
    walk(100, |event: &Event| event.id, list).iter().map(|event| event.id).collect()
}

/// The values of a filter: none, and each of the values.
fn choices<T: Clone>(values: &[T]) -> Vec<Option<T>> {
    std::iter::once(None).chain(values.iter().cloned().map(Some)).collect()
}

#[test]
fn every_combination_of_event_filters_finds_the_matching_events() {
    let fixture = Fixture::new();
    let mut all = Vec::new();
    for status in EventStatus::ALL {
        for is_public in [true, false] {
            for (title, days) in [("Jazz", 0), ("Night of Jazz", 1), ("Opera", 2)] {
                let start = at(EVENT_START).saturating_add(Duration::from_hours(24 * days));
                all.push(fixture.event_with(|new| {
                    new.title = title.to_owned();
                    new.status = Some(*status);
                    new.is_public = Some(is_public);
                    new.start_date = start;
                    new.end_date = None;
                }));
            }
        }
    }
    // This event has ended, but that is not stored yet.
    all.push(fixture.event_with(|new| {
        new.start_date = at("2026-05-01T00:00Z");
        new.end_date = None;
    }));
    assert_eq!(all.last().map(|event| event.status), Some(EventStatus::Expired));
    all.reverse();
    let starts = [at(EVENT_START), at("2026-07-02T18:00Z")];
    for status in choices(EventStatus::ALL) {
        for is_public in choices(&[true, false]) {
            for q in choices(&["jazz".to_owned(), "event-".to_owned(), "nothing".to_owned()]) {
                for starts_from in choices(&starts) {
                    for starts_before in choices(&starts) {
                        let mut request = ListEvents::default();
                        request.status = status;
                        request.is_public = is_public;
                        request.q.clone_from(&q);
                        request.starts_from = starts_from;
                        request.starts_before = starts_before;
                        let matches = |event: &&Event| {
                            status.is_none_or(|status| event.status == status)
                                && is_public.is_none_or(|is_public| event.is_public == is_public)
                                && request
                                    .q
                                    .as_ref()
                                    .is_none_or(|q| event.title.to_lowercase().contains(q) || event.slug.contains(q))
                                && starts_from.is_none_or(|from| event.start_date >= from)
                                && starts_before.is_none_or(|before| event.start_date < before)
                        };
                        let expected: Vec<_> = all.iter().filter(matches).map(|event| event.id).collect();
                        assert_eq!(events(&fixture, request.clone()), expected, "{request:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_search_has_no_wildcards_and_ignores_case() {
    let fixture = Fixture::new();
    let found = |q: &str| events(&fixture, ListEvents::default().q(q));
    for (title, finds, misses) in [
        ("100% Jazz", &["100%", "0% j", "%"][..], &["10%", "100_"][..]),
        ("snake_case", &["e_c", "_"], &["snake-case"]),
        ("Wow! Great", &["wow!", "! g"], &["!!"]),
        ("Back\\slash", &["k\\s", "\\"], &["\\\\"]),
        ("It's \"quoted\"", &["it's", "\"QUOTED\""], &["its"]),
        ("ÄÖÜ ÉCOLE", &["äöü", "école", "ÄÖÜ É"], &["aou"]),
        ("пРИВЕТ", &["Привет", "ПРИ"], &["privet"]),
        ("Cafe\u{301} Straße", &["café", "CAFÉ S", "STRASSE", "ｃａｆé", " straße\u{a0}"], &["cafés"]),
        ("ΣΟΦΟΣΑΝΗΡ", &["σοφοσ", "ΣΟΦΟΣ", "σοφος", "ανηρ"], &["σοφα"]),
    ] {
        let event = fixture.event_with(|new| new.title = title.to_owned());
        for q in finds {
            assert_eq!(found(q), [event.id], "{q} in {title}");
        }
        for q in misses {
            assert_eq!(found(q), [], "{q} not in {title}");
        }
        fixture.service.delete_event(&fixture.caller, event.id).expect("unused");
    }
    let event = fixture.event_with(|new| new.slug = "winter-tale".to_owned());
    assert_eq!(found("R-TaL"), [event.id], "the slug is searched, too");
    assert_eq!(found(""), [event.id], "every text contains the empty text");
}

fn orders(fixture: &Fixture, request: ListOrders) -> Vec<OrderId> {
    let list = |page| fixture.service.list_orders(&fixture.caller, request.clone().page(page));
    walk(7, |order: &OrderSummary| order.id, list).iter().map(|order| order.id).collect()
}

#[test]
fn every_combination_of_order_and_ticket_filters_finds_the_matching_ones() {
    let fixture = Fixture::new();
    let types: Vec<_> = (0..2)
        .map(|_| fixture.event())
        .flat_map(|event| [0, 1].map(|_| fixture.ticket_type(&event, 100, 100)))
        .collect();
    let emails = ["ada@example.com", "Bob@example.com"];
    let mut created = Vec::new();
    for round in 0..4 {
        for ticket_type in &types {
            for email in emails {
                let request = CreateOrder::new(ticket_type.event_id, NewCustomer::new("X", email), ticket_type.id, 1);
                let order = fixture.service.create_order(&fixture.caller, request).expect("an order").order.id;
                match round {
                    0 => {}
                    1 => drop(fixture.service.payment_completed(&fixture.caller, order).expect("paid")),
                    2 => drop(fixture.service.cancel_order(&fixture.caller, order).expect("cancelled")),
                    _ => {
                        let order = fixture.service.payment_completed(&fixture.caller, order).expect("paid");
                        let code = &order.items[0].issued_tickets[0].code;
                        fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(code)).expect("checked in");
                    }
                }
                created.push(order);
            }
        }
        // The holds of each round expire: those orders read as EXPIRED before that is stored.
        fixture.clock.advance(HOLD);
    }
    for issued in fixture.issue(&types[0], 2) {
        fixture.service.cancel_ticket(&fixture.caller, issued.id).expect("cancelled");
    }
    let all: Vec<_> = created.iter().rev().map(|id| fixture.read_order(*id)).collect();
    let instants = [at("2026-06-01T12:30Z"), at("2026-06-01T13:00Z")];
    let event_ids = [types[0].event_id, types[2].event_id];
    let filter_emails = ["ADA@example.COM", "bob@EXAMPLE.com", "nobody@example.com"].map(str::to_owned);
    for event_id in choices(&event_ids) {
        for status in choices(OrderStatus::ALL) {
            for customer_email in choices(&filter_emails) {
                for created_from in choices(&instants) {
                    for created_before in choices(&instants) {
                        let mut request = ListOrders::default();
                        request.event_id = event_id;
                        request.status = status;
                        request.customer_email.clone_from(&customer_email);
                        request.created_from = created_from;
                        request.created_before = created_before;
                        let expected: Vec<_> = all
                            .iter()
                            .filter(|order| {
                                event_id.is_none_or(|event| order.event_id == event)
                                    && status.is_none_or(|status| order.status == status)
                                    && customer_email
                                        .as_ref()
                                        .is_none_or(|email| order.customer.email.to_lowercase() == email.to_lowercase())
                                    && created_from.is_none_or(|from| order.created_at >= from)
                                    && created_before.is_none_or(|before| order.created_at < before)
                            })
                            .map(|order| order.id)
                            .collect();
                        assert_eq!(orders(&fixture, request.clone()), expected, "{request:?}");
                    }
                }
            }
        }
    }

    let list = |request: &ListTickets, limit| {
        let list = |page| fixture.service.list_tickets(&fixture.caller, request.clone().page(page));
        walk(limit, |ticket: &ticketing::ticket::IssuedTicket| ticket.id, list)
    };
    let every = list(&ListTickets::default(), 3);
    assert_eq!(every.len(), 2 * types.len() * emails.len() + 2);
    assert!(every.is_sorted_by(|first, next| first.id > next.id), "newest first");
    let order_of: std::collections::HashMap<TicketId, OrderId> =
        all.iter().flat_map(|order| order.tickets().map(|ticket| (ticket.id, order.id))).collect();
    let type_ids: Vec<_> = types.iter().map(|ticket_type| ticket_type.id).collect();
    let with_tickets = [all[0].id, all.last().expect("many").id];
    for event_id in choices(&event_ids) {
        for ticket_type_id in choices(&type_ids) {
            for order_id in choices(&with_tickets) {
                for status in choices(TicketStatus::ALL) {
                    for customer_email in choices(&filter_emails) {
                        let mut request = ListTickets::default();
                        request.event_id = event_id;
                        request.ticket_type_id = ticket_type_id;
                        request.order_id = order_id;
                        request.status = status;
                        request.customer_email = customer_email;
                        let expected: Vec<_> = every
                            .iter()
                            .filter(|ticket| {
                                let email = ticket.customer.as_ref().map(|customer| customer.email.to_lowercase());
                                event_id.is_none_or(|event| ticket.ticket_type.event_id == event)
                                    && ticket_type_id.is_none_or(|id| ticket.ticket_type_id == id)
                                    && order_id.is_none_or(|order| order_of.get(&ticket.id) == Some(&order))
                                    && status.is_none_or(|status| ticket.status == status)
                                    && request
                                        .customer_email
                                        .as_ref()
                                        .is_none_or(|wanted| email == Some(wanted.to_lowercase()))
                            })
                            .cloned()
                            .collect();
                        assert_eq!(list(&request, 5), expected, "{request:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn every_combination_of_discount_filters_finds_the_matching_ones() {
    let fixture = Fixture::new();
    let events = [fixture.event(), fixture.event()];
    let mut all = Vec::new();
    for number in 0..12_usize {
        for event in &events {
            let new = percent_off(event, ["One", "ONE more", "Zwölf"][number % 3], 10);
            let code = if number < 3 { new.code.clone() } else { format!("{}{number}", new.code) };
            all.push(fixture.discount(new.code(code).is_active(number % 2 == 0)));
        }
    }
    all.reverse();
    let nowhere: EventId = "event_0000000000001".parse().expect("an id");
    let codes = ["one", "ZWÖLF", "one more3", "ONE MORE4", "on"].map(str::to_owned);
    for event_id in choices(&[events[0].id, events[1].id, nowhere]) {
        for code in choices(&codes) {
            for is_active in choices(&[true, false]) {
                let matches = |discount: &&Discount| {
                    event_id.is_none_or(|event| discount.event_id == event)
                        && code.as_ref().is_none_or(|code| discount.code.to_lowercase() == code.to_lowercase())
                        && is_active.is_none_or(|is_active| discount.is_active == is_active)
                };
                let expected: Vec<_> = all.iter().filter(matches).cloned().collect();
                let mut request = ListDiscounts::default();
                request.event_id = event_id;
                request.code.clone_from(&code);
                request.is_active = is_active;
                for limit in [1, 5, 100] {
                    let list = |page| fixture.service.list_discounts(&fixture.caller, request.clone().page(page));
                    assert_eq!(walk(limit, |discount: &Discount| discount.id, list), expected, "{request:?}");
                }
            }
        }
    }
    // A cursor is valid while its item exists, even if the item no longer matches the filter.
    let after = |discount: &Discount| {
        let page = PageRequest::first(1).after(discount.id);
        fixture.service.list_discounts(&fixture.caller, ListDiscounts::default().page(page).is_active(true))
    };
    let position = all.iter().position(|discount| !discount.is_active).expect("one is not");
    let next = all[position..].iter().find(|discount| discount.is_active).expect("one is");
    assert_eq!(after(&all[position]).expect("a page").data[0].id, next.id);
    fixture.service.delete_discount(&fixture.caller, all[position].id).expect("an unused discount");
    assert_eq!(paths(after(&all[position])), ["cursor"]);
}

#[test]
fn ticket_types_are_listed_by_sort_order_and_then_by_creation() {
    let fixture = Fixture::new();
    let event = fixture.event();
    fixture.ticket_type(&fixture.event(), 100, 1);
    let orders = [3, -1, 0, 3, i64::MIN, 0, i64::MAX, -1];
    let mut types: Vec<_> = orders
        .iter()
        .enumerate()
        .map(|(index, sort_order)| {
            fixture.ticket_type_with(&event, |new| {
                new.sort_order = Some(*sort_order);
                new.status = Some(TicketTypeStatus::ALL[index % 4]);
            })
        })
        .collect();
    // The sort is stable, so that it keeps the order of creation.
    types.sort_by_key(|ticket_type| ticket_type.sort_order);
    for status in choices(TicketTypeStatus::ALL) {
        for limit in 1..=9 {
            let list = |page| {
                let mut request = ListTicketTypes::default().page(page);
                request.status = status;
                fixture.service.list_ticket_types(&fixture.caller, event.id, request)
            };
            let found = walk(limit, |ticket_type: &TicketType| ticket_type.id, list);
            let expected: Vec<_> =
                types.iter().filter(|ticket_type| status.is_none_or(|is| ticket_type.status == is)).cloned().collect();
            assert_eq!(found, expected, "{status:?} by {limit}");
        }
    }
}

#[test]
fn a_page_has_25_items_by_default_and_a_cursor_if_more_follow() {
    let fixture = Fixture::new();
    let mut created: Vec<_> = (0..30).map(|_| fixture.event().id).collect();
    created.reverse();
    let first = fixture.service.list_events(&fixture.caller, ListEvents::default()).expect("a page");
    assert_eq!((first.data.len(), first.next_cursor), (25, Some(created[24])));
    for limit in [1, 2, 3, 5, 6, 7, 10, 15, 29, 30, 31, 100] {
        let list = |page| fixture.service.list_events(&fixture.caller, ListEvents::default().page(page));
        let found: Vec<_> = walk(limit, |event: &Event| event.id, list).iter().map(|event| event.id).collect();
        assert_eq!(found, created, "{limit}");
    }
    let page = |limit| fixture.service.list_events(&fixture.caller, ListEvents::default().limit(limit));
    assert_eq!(page(30).expect("a page").next_cursor, None, "exactly the last");
    assert_eq!(page(29).expect("a page").next_cursor, Some(created[28]));
    let empty = fixture.service.list_events(&fixture.other_organization(), ListEvents::default()).expect("a page");
    assert_eq!((empty.data.len(), empty.next_cursor), (0, None));
}

#[test]
fn a_cursor_that_is_not_an_item_of_the_organization_is_refused() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 0, 10);
    let order = fixture.order(&ticket_type, 1);
    let ticket = order.items[0].issued_tickets[0].id;
    let other = fixture.other_organization();
    let deleted = fixture.event();
    let deleted_type = fixture.ticket_type(&event, 0, 1);
    fixture.service.delete_event(&fixture.caller, deleted.id).expect("unused");
    fixture.service.delete_ticket_type(&fixture.caller, deleted_type.id).expect("unused");

    fn refused<T: Debug>(result: Result<T>, what: &str) {
        assert_eq!(paths(result), ["cursor"], "{what}");
    }
    let after_event = |id: EventId| ListEvents::default().after(id);
    let after_order = |id: OrderId| ListOrders::default().after(id);
    let after_ticket = |id: TicketId| ListTickets::default().after(id);
    let after_type = |id: TicketTypeId| ListTicketTypes::default().after(id);

    fixture.service.list_events(&fixture.caller, after_event(event.id)).expect("an item of the caller");
    refused(fixture.service.list_events(&other, after_event(event.id)), "an event of another organization");
    refused(fixture.service.list_events(&fixture.caller, after_event(deleted.id)), "a deleted event");
    refused(
        fixture.service.list_events(&fixture.caller, after_event("event_0000000000001".parse().expect("an id"))),
        "an unknown event",
    );
    fixture.service.list_orders(&fixture.caller, after_order(order.id)).expect("an item of the caller");
    refused(fixture.service.list_orders(&other, after_order(order.id)), "an order of another organization");
    refused(
        fixture.service.list_orders(&fixture.caller, after_order("order_0000000000001".parse().expect("an id"))),
        "an unknown order",
    );
    fixture.service.list_tickets(&fixture.caller, after_ticket(ticket)).expect("an item of the caller");
    refused(fixture.service.list_tickets(&other, after_ticket(ticket)), "a ticket of another organization");
    let own = fixture.service.create_event(&other, new_event(|_| {})).expect("an event");
    fixture
        .service
        .list_ticket_types(&fixture.caller, event.id, after_type(ticket_type.id))
        .expect("an item of the caller");
    refused(
        fixture.service.list_ticket_types(&other, own.id, after_type(ticket_type.id)),
        "a ticket type of another organization",
    );
    refused(
        fixture.service.list_ticket_types(&fixture.caller, event.id, after_type(deleted_type.id)),
        "a deleted type",
    );

    // As text: an id of another kind, and a text that is not an id.
    for text in [order.id.to_string(), "x".to_owned(), "event_".to_owned(), event.id.to_string().to_lowercase()] {
        let request = Request::<ListEvents>::from_query([("cursor".to_owned(), text.clone())]);
        refused(request.into_inner().and_then(|request| fixture.service.list_events(&fixture.caller, request)), &text);
    }
    // A cursor is refused even if no item matches the filter.
    let mut without_match = after_order("order_0000000000001".parse().expect("an id"));
    without_match.customer_email = Some("nobody@example.com".to_owned());
    refused(fixture.service.list_orders(&fixture.caller, without_match), "an unknown customer");
}

#[test]
fn a_cursor_stays_valid_when_its_item_no_longer_matches_the_filter() {
    let fixture = Fixture::new();
    let created: Vec<_> = (0..3).map(|_| fixture.event().id).collect();
    let published = |page| ListEvents::default().status(EventStatus::Published).page(page);
    let first = fixture.service.list_events(&fixture.caller, published(PageRequest::first(1))).expect("a page");
    assert_eq!(first.next_cursor, Some(created[2]));
    fixture.set_event_status(created[2], EventStatus::Cancelled).expect("cancelled");
    let rest = fixture
        .service
        .list_events(&fixture.caller, published(PageRequest::first(5).after(created[2])))
        .expect("a page");
    assert_eq!(rest.data.iter().map(|event| event.id).collect::<Vec<_>>(), [created[1], created[0]]);
}

#[test]
fn existing_items_are_seen_exactly_once_while_others_are_added() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type_with(&fixture.event(), |new| {
        new.price = eur(0);
        new.quantity = 100_000;
    });
    let second = fixture.second_service();
    let before: HashSet<_> = (0..40).map(|_| fixture.order(&ticket_type, 1).id).collect();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for service in [&fixture.service, &second] {
            let done = &done;
            let ticket_type = &ticket_type;
            let caller = &fixture.caller;
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    let request = CreateOrder::new(ticket_type.event_id, new_customer(), ticket_type.id, 1);
                    service.create_order(caller, request).expect("an order");
                }
            });
        }
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for _ in 0..5 {
                let list = |page| fixture.service.list_orders(&fixture.caller, ListOrders::default().page(page));
                let seen: Vec<_> =
                    walk(3, |order: &OrderSummary| order.id, list).iter().map(|order| order.id).collect();
                let distinct: HashSet<_> = seen.iter().copied().collect();
                assert_eq!(distinct.len(), seen.len(), "nothing twice");
                assert!(before.is_subset(&distinct), "nothing left out");
            }
        }));
        done.store(true, Ordering::Relaxed);
        result.expect("the walk");
    });
}

#[test]
fn a_filter_with_an_unknown_id_finds_nothing() {
    let fixture = Fixture::new();
    fixture.order(&fixture.ticket_type(&fixture.event(), 0, 10), 1);
    let pairs = |name: &str, value: &str| [(name.to_owned(), value.to_owned())];
    for value in ["x", "event_0000000000001", "type_0000000000001", "order_0000000000001"] {
        let request = Request::<ListOrders>::from_query(pairs("eventId", value)).into_inner().expect("a request");
        assert!(fixture.service.list_orders(&fixture.caller, request).expect("a page").data.is_empty(), "{value}");
        for name in ["eventId", "ticketId", "orderId"] {
            let request = Request::<ListTickets>::from_query(pairs(name, value)).into_inner().expect("a request");
            assert!(
                fixture.service.list_tickets(&fixture.caller, request).expect("a page").data.is_empty(),
                "{name} {value}"
            );
        }
    }
}

#[test]
fn ids_sort_by_creation_even_if_the_clock_is_set_back() {
    let fixture = Fixture::new();
    let mut created: Vec<EventId> = Vec::new();
    for hour in [3, 2, 1, 5, 0] {
        fixture.clock.set(at(NOW).saturating_add(Duration::from_hours(hour)));
        created.push(fixture.event().id);
    }
    assert!(created.is_sorted() && created.iter().map(ToString::to_string).is_sorted());
    created.reverse();
    assert_eq!(events(&fixture, ListEvents::default()), created);
}

#[test]
fn a_changed_sort_order_moves_a_ticket_type_in_its_list() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let types: Vec<_> = (0..3).map(|_| fixture.ticket_type(&event, 0, 1).id).collect();
    let last = UpdateTicketType::default().sort_order(9);
    fixture.service.update_ticket_type(&fixture.caller, types[0], last).expect("moved");
    let page =
        fixture.service.list_ticket_types(&fixture.caller, event.id, ListTicketTypes::default()).expect("a page");
    assert_eq!(page.data.iter().map(|ticket_type| ticket_type.id).collect::<Vec<_>>(), [types[1], types[2], types[0]]);
}
