//! The page of a report: what it shows, to whom, and at what size. With the variable `KEEP_PAGES`, pages stay in that folder as
//! files of HTML: `.ci/pages/run` opens them in a browser.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use ticketing::event::{Event, UpdateEvent};
use ticketing::payment::PaymentMode;
use ticketing::ticket::CheckInTicket;
use ticketing::ticket_type::TicketType;
use ticketing::{Builder, Timestamp};

use crate::common::door::{let_in, let_out};
use crate::common::http::{Client, Response, Server};
use crate::common::long_runs::repetitions;
use crate::common::random::Random;
use crate::common::*;

const URL: &str = "https://tickets.example.com";
const GZIP: &str = "Accept-Encoding: gzip";

pub fn with_url(builder: Builder) -> Builder {
    builder.public_url(URL)
}

/// The path of the report of an event, from its link.
pub fn path(fixture: &Fixture, event: &Event) -> String {
    let link = fixture.service.create_report_link(&fixture.caller, event.id).expect("a link");
    link.url.expose().strip_prefix(URL).expect("the public URL").to_owned()
}

pub fn keep(name: &str, page: &Response) {
    if let Some(folder) = std::env::var_os("KEEP_PAGES") {
        std::fs::write(Path::new(&folder).join(format!("report-{name}.html")), page.text()).expect("written");
    }
}

pub fn show(client: &mut Client, path: &str, language: &str) -> Response {
    client.send("GET", path, &[&format!("Accept-Language: {language}")], b"").expect(200)
}

/// The text of a page, with ordinary spaces and without tags.
fn text(page: &Response) -> String {
    let mut text = String::new();
    let mut is_tag = false;
    for character in page.text().split_once("<body>").expect("a body").1.replace('\u{A0}', " ").chars() {
        match character {
            '<' => is_tag = true,
            '>' => (is_tag, _) = (false, text.push(' ')),
            other if !is_tag => text.push(other),
            _ => {}
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[track_caller]
pub fn assert_says(page: &Response, says: &[&str]) {
    let text = text(page);
    for wanted in says {
        assert!(text.contains(wanted), "{wanted} is not in:\n{text}");
    }
}

/// An event with six weeks of sales, two discounts, affiliates, refunds, a test, and issued tickets.
fn festival(fixture: &Fixture, days: u64) -> (Event, Vec<TicketType>) {
    let caller = &fixture.caller;
    let event = fixture.event_with(|new| {
        new.title = "Summer Night with the Philharmonic".to_owned();
        new.timezone = Some("Europe/Berlin".to_owned());
        new.location = Some("Open-air stage in the Botanical Garden, Berlin".to_owned());
    });
    let types = [("Parterre", 4500, 1200), ("Balcony", 2900, 900), ("Child", 0, 900)].map(|(name, price, quantity)| {
        fixture.ticket_type_with(&event, |new| {
            new.name = name.to_owned();
            new.price = eur(price);
            new.quantity = quantity;
        })
    });
    fixture.discount(percent_off(&event, "EARLY", 10));
    fixture.discount(percent_off(&event, "FRIENDS", 20));
    let test = fixture.gateway.clone().named("trial", PaymentMode::Test);
    let trial = fixture.second_service_with(|builder| builder.payment_gateway(test));
    let mut random = Random::new(1);
    let start = at(NOW).millis();
    for day in 0..days {
        // Many at the beginning and at the end.
        let busy = if day < 4 || day + 5 > days { 14 } else { 1 + random.below(5) };
        for _ in 0..busy {
            let minutes = i64::try_from(random.below(1440)).expect("few");
            let time = start - i64::try_from(days - 1 - day).expect("few") * 86_400_000 - 43_200_000 + minutes * 60_000;
            fixture.clock.set(Timestamp::from_millis(time.min(start)).expect("in range"));
            let ticket_type = random.pick(&[&types[0], &types[0], &types[1], &types[1], &types[2]]);
            let quantity = 1 + i64::try_from(random.below(4)).expect("few");
            let mut request = new_order(event.id, ticket_type.id, quantity);
            request.discount_code = random.one_in(4).then(|| random.pick(&["EARLY", "FRIENDS"]).to_owned());
            request.affiliate_code =
                random.one_in(4).then(|| random.pick(&["poster", "radio", "newsletter"]).to_owned());
            let service = if random.one_in(40) { &trial } else { &fixture.service };
            let order = service.create_order(caller, request).expect("an order").order;
            if !order.total.is_zero() && !random.one_in(15) {
                service.payment_completed(caller, order.id).expect("a payment");
                if random.one_in(12) {
                    service.cancel_order(caller, order.id).expect("cancelled");
                }
            }
        }
    }
    fixture.set_clock(NOW);
    fixture.issue(&types[1], 10);
    (event, types.into())
}

#[test]
fn the_page_shows_the_figures_of_the_event() {
    let fixture = Fixture::with_gateway(with_url);
    let event = fixture.event_with(|new| new.timezone = Some("Europe/Berlin".to_owned()));
    let seat = fixture.ticket_type(&event, 1250, 100);
    fixture.discount(percent_off(&event, "EARLY", 10));
    // On Monday a week before at 14:00 and 14:01 local time, and today at 14:00.
    fixture.set_clock("2026-05-25T12:00:00Z");
    fixture.paid_order(&seat, 3);
    fixture.set_clock("2026-05-25T12:00:00.001Z");
    fixture.paid_order(&seat, 4);
    fixture.set_clock(NOW);
    let mut discounted = new_order(event.id, seat.id, 2);
    discounted.discount_code = Some("early".to_owned());
    discounted.affiliate_code = Some("radio <b>".to_owned());
    let order = fixture.service.create_order(&fixture.caller, discounted).expect("an order").order;
    fixture.service.payment_completed(&fixture.caller, order.id).expect("a payment");
    fixture.order(&seat, 5);
    fixture.issue(&seat, 6);
    let refunded = fixture.paid_order(&seat, 1);
    fixture.service.cancel_order(&fixture.caller, refunded.id).expect("cancelled");
    let report = path(&fixture, &event);
    let server = Server::of(fixture);
    let mut reader = server.client_with("");
    let page = show(&mut reader, &report, "en");
    assert_says(
        &page,
        &[
            "As of Monday, 1 June 2026, 14:00",
            // 3 + 4 + 2 + 6 of 100, and one that was cancelled; 7 + 1 seats cost 12.50, and two 11.25.
            "Sold of 100 15 Reserved 5 Left 80 Issued without an order 6 Cancelled 1 Revenue €122.50 Refunded €12.50",
            "Today: 3. A week ago until 14:00: 3.",
            "1 June 2026 2 3 10 €35.00 €12.50",
            "25 May 2026 2 7 7 €87.50 €0.00",
            "Sold 15 · Reserved 5 · Left 80 (of 100)",
            "EARLY 1 2 €22.50",
            "radio &#60;b&#62; 1 2 €22.50",
        ],
    );
    assert!(!text(&page).contains("Arrivals"), "only on the day");
    for name in ["cache-control", "refresh", "x-robots-tag", "referrer-policy", "x-content-type-options"] {
        let expected = match name {
            "cache-control" => "no-store",
            "refresh" => "60",
            "x-robots-tag" => "noindex",
            "referrer-policy" => "no-referrer",
            _ => "nosniff",
        };
        assert_eq!(page.header(name), Some(expected), "{name}");
    }
    let private = ["Ada", "ada@example.com", &order.id.to_string(), "/orders/", "/tickets/"].map(str::to_owned);
    for private in private {
        assert!(!page.text().contains(&private), "{private}");
    }
}

#[test]
fn figures_are_read_again_after_a_minute() {
    let fixture = Fixture::with_gateway(with_url);
    let event = fixture.event();
    let seat = fixture.ticket_type(&event, 1250, 100);
    let (report, clock) = (path(&fixture, &event), fixture.clock.clone());
    let (service, caller) = (fixture.service.clone(), fixture.caller.clone());
    let server = Server::of(fixture);
    let mut reader = server.client_with("");
    assert_says(&show(&mut reader, &report, "en"), &["Sold of 100 0", "There are no orders yet."]);
    service.issue_tickets(&caller, ticketing::ticket::IssueTickets::new(seat.id, new_customer(), 2)).expect("tickets");
    assert_says(&show(&mut reader, &report, "en"), &["Sold of 100 0"]);
    clock.advance(Duration::from_secs(60));
    assert_says(&show(&mut reader, &report, "en"), &["Sold of 100 2"]);
}

#[test]
fn a_link_is_the_same_until_it_is_revoked_and_then_another_one() {
    let fixture = Fixture::with_gateway(with_url);
    let event = fixture.event();
    let server = Server::of(fixture);
    let (mut organizer, mut reader) = (server.client(), server.client_with(""));
    let link = format!("/v1/events/{}/report-link", event.id);
    let first = organizer.post_empty(&link).expect(201).json();
    assert_eq!(first["expiresAt"], "2026-07-31T22:00:00.000Z", "30 days after the end");
    assert_eq!(first["created"], true);
    let again = organizer.post_empty(&link).expect(200).json();
    assert_eq!((&again["url"], &again["created"]), (&first["url"], &json!(false)));
    let path_of = |link: &serde_json::Value| link["url"].as_str().expect("a URL")[URL.len()..].to_owned();
    show(&mut reader, &path_of(&first), "en");
    organizer.delete(&link).expect(204);
    organizer.delete(&link).expect(204);
    reader.get(&path_of(&first)).expect(404);
    let second = organizer.post_empty(&link).expect(201).json();
    assert_ne!(second["url"], first["url"]);
    show(&mut reader, &path_of(&second), "en");
    reader.get(&path_of(&first)).expect(404);
}

/// Tokens that differ from this one in one to eight digits, or in all behind the event.
fn changed_tokens(token: &str, count: usize) -> impl Iterator<Item = String> {
    const DIGITS: &[u8] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let mut random = Random::new(1);
    let changed = move |_| {
        let mut changed = token.as_bytes().to_vec();
        let digits = if random.one_in(4) { 13..changed.len() } else { 0..changed.len() };
        let changes = if random.one_in(2) { 1 } else { 1 + random.below(8) };
        for _ in 0..changes {
            changed[digits.start + random.below(digits.len())] = random.pick(DIGITS);
        }
        String::from_utf8(changed).expect("ASCII")
    };
    (0..count).map(changed).filter(move |changed| changed != token)
}

#[test]
fn mutated_tokens_of_reports_lead_nowhere() {
    let fixture = Fixture::with_gateway(with_url);
    let tokens = [fixture.event(), fixture.event()].map(|event| path(&fixture, &event)["/reports/".len()..].to_owned());
    let rounds = usize::try_from(repetitions("TICKETING_MUTATED_TOKENS", 20_000)).expect("a number");
    let exchanged = format!("{}{}", &tokens[0][..13], &tokens[1][13..]);
    let clock = fixture.clock.clone();
    let server = Server::of(fixture);
    let mut reader = server.client_with("");
    for token in std::iter::once(exchanged).chain(changed_tokens(&tokens[0], rounds / 10)) {
        let answer = reader.get(&format!("/reports/{token}"));
        assert!(answer.status == 404 && !tokens.contains(&token), "{token}");
        // Clients that guess are slowed down.
        clock.advance(Duration::from_secs(6));
    }
    for token in tokens {
        show(&mut reader, &format!("/reports/{token}"), "en");
    }
}

#[test]
fn every_link_that_does_not_work_has_the_same_answer() {
    let fixture = Fixture::with_gateway(with_url);
    let (event, other) = (fixture.event(), fixture.event());
    let (right, revoked) = (path(&fixture, &event), path(&fixture, &other));
    fixture.service.revoke_report_link(&fixture.caller, other.id).expect("revoked");
    let (service, organization, clock) =
        (fixture.service.clone(), fixture.caller.organization(), fixture.clock.clone());
    let server = Server::of(fixture);
    let mut reader = server.client_with("");
    let token = right.strip_prefix("/reports/").expect("a token").to_owned();
    let unlinked = format!("{}{}", &revoked["/reports/".len()..][..13], &token[13..]);
    let mut wrong = vec![
        revoked,
        format!("/reports/{unlinked}"),
        "/reports/0".to_owned(),
        format!("/reports/{}", token.to_lowercase()),
    ];
    wrong.extend(changed_tokens(&token, 20).map(|changed| format!("/reports/{changed}")));
    let expected = reader.get(&format!("/reports/{}", "0".repeat(39))).expect(404);
    for path in wrong {
        let answer = reader.get(&path).expect(404);
        assert_eq!(answer.body, expected.body, "{path}");
    }
    show(&mut reader, &right, "en");
    // Of a suspended organization, and 30 days after the end.
    service.suspend_organization(organization).expect("suspended");
    assert_eq!(reader.get(&right).expect(404).body, expected.body);
    service.resume_organization(organization).expect("resumed");
    clock.set(at("2026-07-31T21:59:59.999Z"));
    show(&mut reader, &right, "en");
    clock.set(at("2026-07-31T22:00:00Z"));
    assert_eq!(reader.get(&right).expect(404).body, expected.body);
    // The link ends with the event as it is then.
    let later = UpdateEvent::default().end_date(at("2026-07-02T22:00:00Z"));
    service.update_event(&service.act_for(organization).expect("a caller"), event.id, later).expect("updated");
    show(&mut reader, &right, "en");
}

#[test]
fn the_largest_page_is_small_in_all_languages() {
    let fixture = Fixture::with_gateway(with_url);
    let (event, types) = festival(&fixture, 119);
    for number in 0..30 {
        let mut request = new_order(event.id, types[1].id, 1);
        request.affiliate_code = Some(format!("affiliate-{number}"));
        let order = fixture.service.create_order(&fixture.caller, request).expect("an order").order;
        fixture.service.payment_completed(&fixture.caller, order.id).expect("a payment");
    }
    let report = path(&fixture, &event);
    let server = Server::of(fixture);
    let mut reader = server.client_with("");
    for (language, says) in [
        ("en", "Tickets sold by day"),
        ("en-US", "June 1, 2026"),
        ("de", "Verkaufte Tickets je Tag"),
        ("fr", "Billets vendus par jour"),
        ("es", "Entradas vendidas por día"),
        ("it", "Biglietti venduti al giorno"),
        ("nl", "Verkochte tickets per dag"),
    ] {
        let page = show(&mut reader, &report, language);
        assert_says(&page, &[says]);
        keep(&format!("sales-{language}"), &page);
        let compressed = reader.send("GET", &report, &[GZIP, &format!("Accept-Language: {language}")], b"").expect(200);
        assert!(compressed.body.len() < 25_000, "{language}: {} bytes", compressed.body.len());
    }
    // A language in the link comes before those of the browser.
    assert_says(&show(&mut reader, &format!("{report}?lang=it"), "de"), &["Biglietti venduti al giorno"]);
}

/// 120 days with today, and one more. 2 February 2026 is a Monday.
#[test]
fn sales_of_more_than_120_days_are_shown_by_weeks() {
    for (first, says) in [
        ("2026-02-02T12:00:00Z", &["Tickets sold by day"][..]),
        (
            "2026-02-01T12:00:00Z",
            &[
                "Tickets sold by week",
                "From Orders Tickets Sum Revenue Refunded 1 February 2026 1 1 1",
                "2 February 2026 2 2 3",
                "1 June 2026 1 1 4",
            ],
        ),
    ] {
        let fixture = Fixture::with_gateway(with_url);
        let event = fixture.event();
        let seat = fixture.ticket_type(&event, 1250, 100);
        for time in [first, "2026-02-02T12:00:00Z", "2026-02-08T23:59:59Z", NOW] {
            fixture.set_clock(time);
            fixture.paid_order(&seat, 1);
        }
        let report = path(&fixture, &event);
        let server = Server::of(fixture);
        let page = show(&mut server.client_with(""), &report, "en");
        assert_says(&page, says);
        keep(&format!("from-{first}").replace(':', "-"), &page);
    }
}

#[test]
fn on_the_day_the_page_shows_arrivals_by_gate() {
    let fixture = Fixture::with_gateway(with_url);
    let (event, types) = festival(&fixture, 20);
    let key = |name: &str| {
        let key =
            ticketing::organization::CreateApiKey::new(name).scopes([ticketing::organization::Scope::TicketsCheckIn]);
        let created =
            fixture.service.create_api_key(fixture.caller.organization(), key.event(event.id)).expect("a key");
        fixture.service.authenticate(&created.key).expect("valid")
    };
    let gates = [key("Main entrance"), key("North gate"), key("Stage door & bar")];
    let codes: Vec<_> = (0..25).flat_map(|_| fixture.issue(&types[0], 10)).map(|ticket| ticket.code).collect();
    let mut random = Random::new(2);
    let start = event.start_date.millis() - 90 * 60_000;
    for (number, code) in (1..).zip(&codes[..220]) {
        // Most come shortly before the start.
        let minutes = 30 + random.below(40) + random.below(30) + random.below(20);
        let scanned = Timestamp::from_millis(start + i64::try_from(minutes).expect("few") * 60_000)
            .expect("in range")
            .to_string();
        fixture.clock.set(at(&scanned));
        let gate = random.pick(&[&gates[0], &gates[0], &gates[0], &gates[1], &gates[1], &gates[2]]);
        fixture.report(gate, "Phone", [let_in(number, code, &scanned)]);
        if random.one_in(15) {
            fixture.report(gate, "Phone", [let_in(1000 + number, code, &scanned)]);
        }
        if random.one_in(30) {
            fixture.report(gate, "Phone", [let_in(2000 + number, "00000000000000000000", &scanned)]);
        }
        if random.one_in(20) {
            fixture.report(gate, "Phone", [let_out(3000 + number, code, &scanned)]);
        }
    }
    fixture.clock.set(Timestamp::from_millis(start + 140 * 60_000).expect("in range"));
    fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(&codes[220])).expect("valid");
    let summary = fixture.service.get_event_summary(&fixture.caller, event.id).expect("a summary");
    let report = path(&fixture, &event);
    let server = Server::of(fixture);
    let mut reader = server.client_with("");
    for language in ["en", "de"] {
        keep(&format!("arrivals-{language}"), &show(&mut reader, &report, language));
    }
    let page = show(&mut reader, &report, "en");
    let expected = summary.tickets_issued - summary.tickets_cancelled;
    assert_says(
        &page,
        &[
            "Arrivals in 5 minutes",
            &format!("Inside now {} Expected {expected} Still missing {}", summary.tickets_checked_in, expected - 221),
            "Main entrance",
            "Stage door &#38; bar",
            "Without a gate 1 0 0",
            "Already checked in",
            "Unknown code",
        ],
    );
}

#[test]
fn without_a_door_link_and_on_other_days_there_are_no_arrivals() {
    for (has_gate, time, is_shown) in [
        (true, "2026-07-01T11:59:59Z", false),
        (true, "2026-07-01T12:00:00Z", true),
        (false, "2026-07-01T12:00:00Z", false),
        (true, "2026-07-02T22:00:00Z", false),
    ] {
        let fixture = Fixture::with_gateway(with_url);
        let event = fixture.event();
        if has_gate {
            fixture.gate(&event);
        }
        fixture.set_clock(time);
        let report = path(&fixture, &event);
        let server = Server::of(fixture);
        let page = show(&mut server.client_with(""), &report, "en");
        assert_eq!(text(&page).contains("Arrivals"), is_shown, "{time} {has_gate}");
    }
}

#[test]
fn a_link_needs_a_public_url() {
    let fixture = Fixture::new();
    let event = fixture.event();
    assert_eq!(paths(fixture.service.create_report_link(&fixture.caller, event.id)), ["public_url"]);
}
