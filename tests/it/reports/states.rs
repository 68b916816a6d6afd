//! The page of a report in the states that an organizer sees. With `KEEP_PAGES`, they are kept as those of [`super::page`].
//!
//! `TICKETING_REPORTED_ORDERS` is the number of orders of the event that has many, by default 300.

use ticketing::allocation::{CreateAllocation, ImportTickets, ImportedTicket};
use ticketing::door::GetEventArrivals;
use ticketing::event::{CancelEventOrders, Event, EventStatus};
use ticketing::order::PaymentChoice;
use ticketing::payment::{ManualMethod, PaymentMode};
use ticketing::ticket_type::TicketType;
use ticketing::{Amount, Timestamp};

use super::page::{assert_says, keep, path, show, with_url};
use crate::common::door::let_in;
use crate::common::http::{Response, Server};
use crate::common::long_runs::repetitions;
use crate::common::random::Random;
use crate::common::*;

const LANGUAGES: [&str; 6] = ["en", "de", "fr", "es", "it", "nl"];

/// Keeps the page of an event in six languages, and returns the English one.
fn pages(fixture: Fixture, event: &Event, name: &str) -> Response {
    let report = path(&fixture, event);
    let server = Server::of(fixture);
    let mut reader = server.client_with("");
    for language in LANGUAGES {
        keep(&format!("{name}-{language}"), &show(&mut reader, &report, language));
    }
    show(&mut reader, &report, "en")
}

fn new_fixture() -> Fixture {
    Fixture::with_gateway(with_url)
}

fn concert(fixture: &Fixture) -> Event {
    fixture.event_with(|new| {
        new.title = "Summer Night with the Philharmonic".to_owned();
        new.timezone = Some("Europe/Berlin".to_owned());
        new.location = Some("Open-air stage in the Botanical Garden, Berlin".to_owned());
    })
}

fn seats(fixture: &Fixture, event: &Event, name: &str, price: Amount, quantity: i64) -> TicketType {
    fixture.ticket_type_with(event, |new| {
        new.name = name.to_owned();
        new.price = price;
        new.quantity = quantity;
    })
}

/// Orders of as many tickets each, which were paid at the box office.
fn sell(fixture: &Fixture, ticket_type: &TicketType, orders: i64, tickets: i64) {
    for _ in 0..orders {
        let order = new_order(ticket_type.event_id, ticket_type.id, tickets).payment(PaymentChoice::Paid);
        fixture.service.create_order(&fixture.caller, order).expect("an order");
    }
}

#[test]
fn nothing_is_sold_yet() {
    let fixture = new_fixture();
    let event = concert(&fixture);
    let report = path(&fixture, &event);
    let without_types = Server::of(fixture);
    let page = show(&mut without_types.client_with(""), &report, "en");
    keep("no-types", &page);
    assert_says(&page, &["Sold of 0 0 Reserved 0 Left 0 Revenue €0.00", "There are no orders yet."]);

    let fixture = new_fixture();
    let event = concert(&fixture);
    seats(&fixture, &event, "Parterre", eur(4500), 1200);
    seats(&fixture, &event, "Balcony", eur(2900), 900);
    let page = pages(fixture, &event, "no-sales");
    assert_says(&page, &["Sold of 2,100 0 Reserved 0 Left 2,100 Revenue €0.00", "There are no orders yet."]);
}

#[test]
fn one_ticket_is_sold() {
    let fixture = new_fixture();
    let event = concert(&fixture);
    fixture.paid_order(&seats(&fixture, &event, "Parterre", eur(4500), 1200), 1);
    let page = pages(fixture, &event, "one-sale");
    assert_says(&page, &["Today: 1. A week ago until 14:00: 0.", "1 June 2026 1 1 1 €45.00 €0.00"]);
}

#[test]
fn everything_is_sold() {
    let fixture = new_fixture();
    let event = concert(&fixture);
    let parterre = seats(&fixture, &event, "Parterre", eur(4500), 120);
    let balcony = seats(&fixture, &event, "Balcony", eur(2900), 30);
    fixture.set_clock("2026-05-20T08:00:00Z");
    sell(&fixture, &parterre, 30, 3);
    fixture.set_clock("2026-05-30T08:00:00Z");
    sell(&fixture, &parterre, 10, 3);
    sell(&fixture, &balcony, 15, 2);
    fixture.set_clock(NOW);
    assert_eq!(fixture.event_status(event.id), EventStatus::SoldOut);
    let page = pages(fixture, &event, "sold-out");
    assert_says(
        &page,
        &["Sold of 150 150 Reserved 0 Left 0 Revenue €6,270.00", "Sold 120 · Reserved 0 · Left 0 (of 120)"],
    );
}

#[test]
fn tickets_are_set_aside_and_sold_elsewhere() {
    for has_sales in [false, true] {
        let fixture = new_fixture();
        let event = concert(&fixture);
        let parterre = seats(&fixture, &event, "Parterre", eur(4500), 300);
        let (caller, service) = (&fixture.caller, &fixture.service);
        service.create_allocation(caller, parterre.id, CreateAllocation::new("Guest list", 40)).expect("created");
        service.run_maintenance().expect("a run");
        let codes = (100_000..100_120).map(|code| ImportedTicket::new(code.to_string()));
        service.import_tickets(caller, parterre.id, ImportTickets::new("Box office", codes)).expect("imported");
        service.create_allocation(caller, parterre.id, CreateAllocation::new("Sponsor", 25)).expect("created");
        if has_sales {
            sell(&fixture, &parterre, 1, 4);
        }
        let page = pages(fixture, &event, if has_sales { "guests-and-sales" } else { "guests" });
        let sold = if has_sales { "164 Reserved 25 Left 111" } else { "160 Reserved 25 Left 115" };
        assert_says(&page, &[&format!("Sold of 300 {sold} Issued without an order 40 Sold elsewhere 120")]);
    }
}

#[test]
fn money_is_real_or_of_tests_or_both() {
    for (name, has_live, has_tests) in [("tests", false, true), ("tests-and-real-money", true, true)] {
        let fixture = new_fixture();
        let event = concert(&fixture);
        let parterre = seats(&fixture, &event, "Parterre", eur(4500), 300);
        let test = fixture.gateway.clone().named("trial", PaymentMode::Test);
        let trial = fixture.second_service_with(|builder| builder.payment_gateway(test));
        for (service, is_used, quantity) in [(&trial, has_tests, 3), (&fixture.service, has_live, 2)] {
            for _ in 0..4 * i32::from(is_used) {
                let request = new_order(event.id, parterre.id, quantity);
                let order = service.create_order(&fixture.caller, request).expect("an order").order;
                service.payment_completed(&fixture.caller, order.id).expect("a payment");
            }
        }
        let page = pages(fixture, &event, name);
        let tests = "Tests, no real money Orders 4 Tickets 12 Revenue €540.00 Refunded €0.00";
        let apart = "Charts and codes show real money only.";
        assert_says(&page, &[tests]);
        if has_live {
            assert_says(&page, &["Sold of 300 20 ", "Revenue €360.00", apart]);
        } else {
            assert_says(&page, &["Sold of 300 12 ", "Revenue €0.00"]);
            assert!(!page.text().contains(apart));
        }
    }
}

#[test]
fn the_event_is_over() {
    let fixture = new_fixture();
    let event = concert(&fixture);
    let parterre = seats(&fixture, &event, "Parterre", eur(4500), 300);
    for day in ["2026-06-02", "2026-06-20", "2026-06-29", "2026-06-30", "2026-07-01"] {
        fixture.set_clock(&format!("{day}T10:00:00Z"));
        sell(&fixture, &parterre, 5, 4);
    }
    fixture.gate(&event);
    fixture.set_clock("2026-07-20T10:00:00Z");
    let page = pages(fixture, &event, "over");
    assert_says(&page, &["Sold of 300 100 ", "Today: 0. A week ago until 12:00: 0."]);
    assert!(!page.text().contains("The last 48 hours"));
}

#[test]
fn the_event_does_not_take_place() {
    let fixture = new_fixture();
    let event = concert(&fixture);
    let parterre = seats(&fixture, &event, "Parterre", eur(4500), 300);
    fixture.set_clock("2026-05-20T08:00:00Z");
    for _ in 0..20 {
        fixture.paid_order(&parterre, 2);
    }
    fixture.set_clock(NOW);
    fixture.set_event_status(event.id, EventStatus::Cancelled).expect("cancelled");
    fixture.service.cancel_event_orders(&fixture.caller, event.id, CancelEventOrders::default()).expect("a run");
    fixture.service.run_maintenance().expect("a run");
    let page = pages(fixture, &event, "cancelled");
    assert_says(&page, &["Sold of 300 0 Reserved 0 Left 300 Cancelled 40 Revenue €1,800.00 Refunded €1,800.00"]);
    // In the last 48 hours, nothing was sold, and 40 tickets were cancelled.
    assert_eq!((page.text().matches("<svg viewBox").count(), page.text().matches("<details open>").count()), (2, 1));
}

#[test]
fn the_entrance_has_many_gates_or_nobody_has_come() {
    for (name, guests) in [("arrivals-of-nobody", 0), ("arrivals-at-many-gates", 160)] {
        let fixture = new_fixture();
        let event = concert(&fixture);
        let parterre = seats(&fixture, &event, "Parterre", eur(4500), 400);
        let gate = |name: &str| {
            let key = ticketing::organization::CreateApiKey::new(name)
                .scopes([ticketing::organization::Scope::TicketsCheckIn])
                .event(event.id);
            let key = fixture.service.create_api_key(fixture.caller.organization(), key).expect("a key").key;
            fixture.service.authenticate(&key).expect("valid")
        };
        let gates =
            ["Main entrance", "North gate", "Stage door", "VIP", "South gate, beside the car park", "West", "East"]
                .map(gate);
        sell(&fixture, &parterre, 20, 10);
        let tickets: Vec<_> = {
            let list = |page| {
                let request = ticketing::ticket::ListTickets::new().event(event.id).page(page);
                fixture.service.list_tickets(&fixture.caller, request)
            };
            ticketing::page::all(list).collect::<Result<Vec<_>, _>>().expect("tickets")
        };
        let mut random = Random::new(3);
        let start = event.start_date.millis() - 60 * 60_000;
        for (number, ticket) in (0_u64..).zip(&tickets).take(guests) {
            let scanned = Timestamp::from_millis(start + i64::try_from(random.below(60)).expect("few") * 60_000);
            let scanned = scanned.expect("in range").to_string();
            fixture.clock.set(at(&scanned));
            let gate = &gates[random.below(gates.len()).min(random.below(gates.len()))];
            fixture.report(gate, "Phone", [let_in(number, &ticket.code, &scanned)]);
        }
        fixture.clock.set(event.start_date);
        let page = pages(fixture, &event, name);
        let missing = 200 - guests;
        assert_says(&page, &[&format!("Inside now {guests} Expected 200 Still missing {missing}")]);
        assert_eq!(page.text().contains("Other gates"), guests > 0);
    }
}

#[test]
fn names_are_long_and_codes_are_many() {
    let fixture = new_fixture();
    let long = "Donaudampfschifffahrtsgesellschaftskapitänsmützenabend mit Begleitung";
    let event = fixture.event_with(|new| {
        new.title = format!("{long} und {long}");
        new.timezone = Some("America/Argentina/Buenos_Aires".to_owned());
        new.currency = Some("KWD".to_owned());
    });
    for number in 0..12 {
        let name = if number % 3 == 0 { format!("{long}, {number}") } else { format!("Row {number}") };
        let ticket_type = seats(&fixture, &event, &name, amount(123_456, 3), 50);
        for code in 0..=number {
            let mut order = new_order(event.id, ticket_type.id, 1 + code % 4).payment(PaymentChoice::Paid);
            order.affiliate_code = Some(format!("{}-{number}-{code}", if code == 0 { long } else { "poster" }));
            fixture.service.create_order(&fixture.caller, order).expect("an order");
        }
        fixture.order(&ticket_type, 3);
    }
    let page = pages(fixture, &event, "long-names");
    // 1 + 2 + ... + 12 codes, of which 20 are named.
    assert_says(&page, &["Others (58)", "KWD"]);
}

#[test]
fn one_code_more_than_are_named_is_one_other() {
    let fixture = new_fixture();
    let event = concert(&fixture);
    let parterre = seats(&fixture, &event, "Parterre", eur(4500), 300);
    for code in 0..21 {
        let mut order = new_order(event.id, parterre.id, 1).payment(PaymentChoice::Paid);
        order.affiliate_code = Some(format!("poster-{code}"));
        fixture.service.create_order(&fixture.caller, order).expect("an order");
    }
    assert_says(&pages(fixture, &event, "codes"), &["Others (1) 1 1 €45.00"]);
}

#[test]
fn very_many_orders_are_shown() {
    let orders = i64::try_from(repetitions("TICKETING_REPORTED_ORDERS", 300)).expect("a number");
    let fixture = new_fixture();
    let event = concert(&fixture);
    let quantity = 10 * orders;
    let parterre = seats(&fixture, &event, "Parterre", eur(129_900), quantity);
    let end = at(NOW).millis();
    for order in 0..orders {
        // From slow to fast, over a hundred days.
        let ahead =
            i64::from(100 * 24 * 60) * 60_000 * (orders - 1 - order) / orders * (2 * orders - order) / (2 * orders);
        fixture.clock.set(Timestamp::from_millis(end - ahead).expect("in range"));
        let new = new_order(event.id, parterre.id, 1 + order % 4).payment(PaymentChoice::Paid);
        fixture.service.create_order(&fixture.caller, new.paid(ManualMethod::Cash)).expect("an order");
    }
    fixture.set_clock(NOW);
    let page = pages(fixture, &event, "very-many");
    assert_says(&page, &["Tickets sold by day"]);
}

#[test]
fn an_exhibition_of_five_weeks_shows_the_arrivals_of_the_last_hours_and_all_gates() {
    let fixture = new_fixture();
    let event = fixture.event_with(|new| {
        new.start_date = at("2026-06-02T00:00:00Z");
        new.end_date = Some(at("2026-07-20T00:00:00Z"));
    });
    sell(&fixture, &seats(&fixture, &event, "Day", eur(900), 300), 1, 1);
    fixture.gate(&event);
    // An admission every five minutes: more than an answer with data has.
    let slots = 10_101;
    let sql = format!(
        "INSERT INTO scans (id, organization_id, event_id, kind, scanned_at, received_at, verdict, outcome)
        WITH RECURSIVE slots (slot) AS (SELECT 1 UNION ALL SELECT slot + 1 FROM slots WHERE slot < {slots})
        SELECT slot, {}, {}, 'IN', {start} + CAST(slot AS BIGINT) * 300000, {start}, 'ADMITTED', 'ADMITTED' FROM slots",
        database::stored_id(fixture.caller.organization()),
        database::stored_id(event.id),
        start = event.start_date.millis(),
    );
    fixture.database().run(&sql);
    // There are no tickets for these scans.
    fixture.skip_final_check();
    let answer = fixture.service.get_event_arrivals(&fixture.caller, event.id, GetEventArrivals::new());
    assert_eq!(paths(answer), ["from"]);
    let end = event.start_date.millis() + slots * 300_000;
    fixture.clock.set(Timestamp::from_millis(end).expect("in range"));
    let page = pages(fixture, &event, "exhibition");
    assert_says(&page, &["Arrivals in 5 minutes", "Without a gate 10,101 0 0"]);
    assert_eq!(page.text().matches("h8V").count(), 120 + 1, "ten hours, and one day with a sale");
}
