//! The pages and documents for those who have the link of a ticket or of an order.

use serde_json::{Value, json};
use ticketing::Builder;
use ticketing::documents::TicketDocuments;
use ticketing::environment::ManualClock;
use ticketing::organization::UpdateOrganization;

use crate::common::database::{self, params};
use crate::common::http::{Client, EventOnSale, Response, Server, event_on_sale, order_of};
use crate::common::pixel_logo;
use crate::http::walkthrough::Document;

/// The headers of every response, as far as they are always the same.
const HEADERS: [(&str, &str); 4] = [
    ("cache-control", "no-store"),
    ("referrer-policy", "no-referrer"),
    ("x-robots-tag", "noindex"),
    ("x-content-type-options", "nosniff"),
];

pub fn start() -> Server {
    start_with(|builder| builder)
}

fn start_with(configure: impl FnOnce(Builder) -> Builder) -> Server {
    let documents =
        |builder: Builder| configure(builder.sandbox_gateway().ticket_documents(TicketDocuments::default()));
    Server::with(documents, |_| {})
}

fn path_of(url: &Value) -> String {
    format!("/{}", url.as_str().unwrap().splitn(4, '/').nth(3).unwrap())
}

/// A paid order of two tickets.
pub struct Paid {
    pub order: String,
    /// The path of the order's page.
    pub page: String,
    tickets: Vec<Value>,
}

impl Paid {
    pub fn new(client: &mut Client, body: &Value) -> Self {
        let order = client.post("/v1/orders", body).expect(201).json()["order"]["id"].as_str().unwrap().to_owned();
        client.post_empty(&format!("/v1/orders/{order}/mark-paid")).expect(200);
        let details = client.get(&format!("/v1/orders/{order}/details")).expect(200).json();
        let tickets = client.get(&format!("/v1/tickets?orderId={order}&limit=100")).expect(200).json();
        let mut tickets = tickets["data"].as_array().unwrap().clone();
        tickets.reverse();
        Self { order, page: path_of(&details["documentsUrl"]), tickets }
    }

    pub fn code(&self, index: usize) -> &str {
        self.tickets[index]["code"].as_str().unwrap()
    }

    pub fn id(&self, index: usize) -> &str {
        self.tickets[index]["id"].as_str().unwrap()
    }

    /// The path of a ticket's document.
    pub fn document(&self, index: usize) -> String {
        path_of(&self.tickets[index]["downloadTicketUrl"])
    }

    /// The path of a ticket's page.
    pub fn ticket(&self, index: usize) -> String {
        self.document(index).strip_suffix("/ticket.pdf").unwrap().to_owned()
    }
}

fn paid(client: &mut Client) -> (EventOnSale, Paid) {
    let on_sale = event_on_sale(client, "summer-night");
    let paid = Paid::new(client, &order_of(&on_sale.event, &on_sale.ticket_type, 2));
    (on_sale, paid)
}

/// What the QR codes of a page say.
fn qr_codes(page: &str) -> Vec<String> {
    page.split("<svg ").skip(1).map(|svg| qr_code(svg.split("</svg>").next().unwrap())).collect()
}

/// Draws the dark runs of a QR code, and reads it.
fn qr_code(svg: &str) -> String {
    // A row is drawn as a line of the height of a module, in its middle.
    assert!(svg.contains(r##"viewBox="0 -.5 33 33""##) && svg.contains(r##"fill="#fff""##), "{svg}");
    let dark = svg.split(r##"stroke="#000" d=""##).nth(1).unwrap().split('"').next().unwrap();
    const PIXELS: usize = 4;
    let mut picture = vec![255_u8; (33 * PIXELS) * (33 * PIXELS)];
    let (mut column, mut row) = (0, 0);
    for run in dark.replace('M', ",M").replace('m', ",m").split_terminator(',').skip(1) {
        let (command, rest) = run.split_at(1);
        let (at, length) = rest.split_once('h').unwrap();
        let (x, y) = at.split_once(' ').unwrap();
        let [x, y, length]: [usize; 3] = [x, y, length].map(|number| number.parse().unwrap());
        (column, row) = if command == "M" { (x, y) } else { (column + x, row + y) };
        for y in row * PIXELS..(row + 1) * PIXELS {
            let start = y * 33 * PIXELS + column * PIXELS;
            picture[start..start + length * PIXELS].fill(0);
        }
        column += length;
    }
    let mut image =
        rqrr::PreparedImage::prepare_from_greyscale(33 * PIXELS, 33 * PIXELS, |x, y| picture[y * 33 * PIXELS + x]);
    let grids = image.detect_grids();
    assert_eq!(grids.len(), 1);
    grids[0].decode().unwrap().1
}

#[track_caller]
fn check_headers(response: &Response) {
    for (name, value) in HEADERS {
        assert_eq!(response.header(name), Some(value), "{name}");
    }
    let policy = response.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    for part in ["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("script") && !policy.contains("unsafe"), "{policy}");
}

#[test]
fn the_page_of_a_ticket_has_its_code_and_nothing_of_the_other_tickets() {
    let server = start();
    let (_, order) = paid(&mut server.client());
    let mut holder = server.client_with("");
    for (index, other) in [(0, 1), (1, 0)] {
        let page = holder.get(&order.ticket(index)).expect(200);
        check_headers(&page);
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
        assert_eq!(qr_codes(page.text()), [order.code(index)]);
        for text in
            ["Summer Night", "1\u{A0}June\u{A0}9000, 18:00", "Seat", "Ada", "Download as PDF", "Add to calendar"]
        {
            assert!(page.text().contains(text), "{text}: {}", page.text());
        }
        assert!(!page.text().contains(order.code(other)) && !page.text().contains(order.id(other)));
        assert!(!page.text().contains("<script"), "{}", page.text());
        // All links are relative, and nothing is loaded.
        for attribute in ["href=\"http", "src=", "url("] {
            assert!(!page.text().contains(attribute), "{attribute}: {}", page.text());
        }
    }
}

#[test]
fn the_page_of_an_order_has_all_its_tickets() {
    let server = start();
    let (_, order) = paid(&mut server.client());
    let page = server.client_with("").get(&order.page).expect(200);
    check_headers(&page);
    assert_eq!(qr_codes(page.text()), [order.code(0), order.code(1)]);
    assert!(
        page.text().contains("Download all as PDF") && page.text().contains(&order.order["order_".len()..]),
        "{}",
        page.text()
    );
}

#[test]
fn documents_and_calendar_entries_are_downloaded_by_link() {
    let server = start();
    let (_, order) = paid(&mut server.client());
    let mut holder = server.client_with("");
    let document = holder.get(&order.document(0)).expect(200);
    check_headers(&document);
    assert!(document.body.starts_with(b"%PDF-"));
    assert_eq!(document.header("content-type"), Some("application/pdf"));
    let name = |response: &Response| response.header("content-disposition").map(str::to_owned);
    let expected = |name: &str| Some(format!("inline; filename=\"summer-night-{name}\""));
    assert_eq!(name(&document), expected("ticket-1-of-2.pdf"));
    let all = holder.get(&format!("{}/tickets.pdf", order.page)).expect(200);
    assert!(all.body.starts_with(b"%PDF-"));
    assert_eq!(name(&all), expected("tickets.pdf"));

    let entry = holder.get(&format!("{}/event.ics", order.ticket(0))).expect(200);
    check_headers(&entry);
    assert_eq!(name(&entry), expected("ticket-1-of-2.ics"));
    assert_eq!(entry.header("content-type"), Some("text/calendar; charset=utf-8"));
    for line in [
        "BEGIN:VCALENDAR",
        "DTSTART:90000601T180000Z",
        "DTEND:90000601T200000Z",
        "SUMMARY:Summer Night",
        "STATUS:CONFIRMED",
        "END:VCALENDAR",
        &format!("UID:{}@ticketing", order.id(0)),
    ] {
        assert!(entry.text().contains(&format!("{line}\r\n")), "{line}: {}", entry.text());
    }
    let text = unfolded(entry.text());
    let page = text.lines().find_map(|line| line.strip_prefix("URL:")).expect("the way back");
    assert!(text.contains(&format!("DESCRIPTION:{page}\r\n")), "the default name of an organizer is not told: {text}");
    assert!(page.ends_with(&order.ticket(0)), "{page}");
    assert!(!text.contains(order.code(0)), "the page has the code");
}

/// The lines of a calendar entry, each in one piece.
fn unfolded(entry: &str) -> String {
    entry.replace("\r\n ", "")
}

#[test]
fn a_client_that_has_a_page_is_not_sent_it_again() {
    let server = start();
    let mut client = server.client();
    let (_, order) = paid(&mut client);
    let with_key = [format!("/v1/tickets/{}/document", order.id(0)), format!("/v1/orders/{}/document", order.order)];
    let with_link = [order.ticket(0), order.document(0), order.page.clone(), format!("{}/event.ics", order.ticket(0))];
    let described = Document::of(&server);
    for (path, name) in with_key.iter().zip(["get_ticket_document", "get_order_document"]) {
        let first = client.get(path).expect(200);
        let tag = first.header("etag").unwrap();
        let second = client.send("GET", path, &[&format!("If-None-Match: {tag}")], b"").expect(304);
        assert_eq!((second.header("etag"), second.body.len()), (Some(tag), 0));
        described.check(&described.operation(name), &second);
        client.send("GET", path, &["If-None-Match: \"x\""], b"").expect(200);
    }
    assert_eq!(client.get(&with_key[0]).header("etag"), client.get(&with_link[1]).header("etag"));
    for path in with_link {
        let first = client.get(&path).expect(200);
        let tag = first.header("etag").unwrap();
        let second = client.send("GET", &path, &[&format!("If-None-Match: \"x\", {tag}")], b"").expect(304);
        assert_eq!((second.header("etag"), second.body.len()), (Some(tag), 0));
        check_headers(&second);
        client.send("GET", &path, &["If-None-Match: \"x\""], b"").expect(200);
    }
    let path = order.ticket(0);
    let tag = client.get(&path).header("etag").unwrap().to_owned();
    client.post("/v1/tickets/check-in", &json!({"code": order.code(0)})).expect(200);
    let changed = client.send("GET", &path, &[&format!("If-None-Match: {tag}")], b"").expect(200);
    assert!(changed.text().contains("Checked in"), "{}", changed.text());
    assert_eq!(qr_codes(changed.text()).len(), 1);
    client.get(&order.document(0)).expect(200);
}

#[test]
fn pages_and_calendar_entries_do_not_read_a_large_logo() {
    let server = start();
    let mut client = server.client();
    let (on_sale, order) = paid(&mut client);
    let logo = json!({"ticketLogo": pixel_logo(450_000, 0)});
    client.patch(&format!("/v1/ticket-types/{}", on_sale.ticket_type), &logo).expect(200);
    let ticket = order.ticket(0);
    assert!(!client.get(&ticket).expect(200).text().contains("<img"));
    let entry = format!("{}/event.ics", order.ticket(0));
    // A text that nothing can read: what answers has not read it. On PostgreSQL, it is no text, so the page of a ticket,
    // which may have a logo, is not asked for.
    let paths = match database::is_file() {
        true => vec![&order.page, &entry, &ticket],
        false => vec![&order.page, &entry],
    };
    server.database_without_constraints().run(match database::is_file() {
        true => "UPDATE ticket_logos SET logo = CAST(randomblob(6000) AS TEXT)",
        false => "ALTER TABLE ticket_logos ALTER COLUMN logo TYPE BYTEA USING '\\xff'",
    });
    server.skip_final_check();
    for path in paths {
        client.get(path).expect(200);
    }
    // The control.
    client.get(&order.document(0)).expect(500);
    client.get(&format!("/v1/ticket-types/{}", on_sale.ticket_type)).expect(500);
}

#[test]
fn what_is_cancelled_says_so_and_has_no_code() {
    let server = start();
    let mut client = server.client();
    let (on_sale, order) = paid(&mut client);
    client.post_empty(&format!("/v1/tickets/{}/cancel", order.id(0))).expect(200);
    let page = client.get(&order.ticket(0)).expect(200);
    assert!(page.text().contains("This ticket is cancelled") && !page.text().contains(order.code(0)));
    assert_eq!(qr_codes(page.text()).len(), 0);
    let gone = client.get(&order.document(0)).expect(410);
    check_headers(&gone);
    assert!(gone.text().contains("<h1>These tickets are cancelled</h1>"));
    let [entry, other] = [0, 1].map(|index| client.get(&format!("{}/event.ics", order.ticket(index))).expect(200));
    assert!(entry.text().contains("STATUS:CANCELLED\r\n") && other.text().contains("STATUS:CONFIRMED\r\n"));
    let of_order = client.get(&order.page).expect(200);
    assert_eq!(qr_codes(of_order.text()), [order.code(1)], "the other ticket is still valid");
    let with_key = client.get(&format!("/v1/tickets/{}/document", order.id(0))).expect(410);
    assert_eq!(with_key.code(), "gone");

    client.patch(&format!("/v1/events/{}", on_sale.event), &json!({"status": "CANCELLED"})).expect(200);
    for path in [order.ticket(1), order.page.clone()] {
        let page = client.get(&path).expect(200);
        assert!(page.text().contains("This event is cancelled") && !page.text().contains(order.code(1)), "{path}");
        assert_eq!(qr_codes(page.text()).len(), 0, "{path}");
        assert!(!page.text().contains(".pdf\""), "{path} leads to no document");
    }
    for path in [order.document(1), format!("{}/tickets.pdf", order.page)] {
        client.get(&path).expect(410);
    }
    let with_key = client.get(&format!("/v1/orders/{}/document", order.order)).expect(410);
    assert_eq!(with_key.code(), "gone");
}

#[test]
fn the_calendar_entry_of_a_ticket_is_as_old_as_its_last_change_and_replaces_the_one_before() {
    let clock = ManualClock::new("2026-06-01T12:00:00Z".parse().unwrap());
    let server = start_with(|builder| builder.clock(clock.clone()));
    let mut client = server.client();
    let (on_sale, order) = paid(&mut client);
    // The values of these properties, and how many entries there are.
    let entry = |index: usize| {
        let path = format!("{}/event.ics", order.ticket(index));
        let text = server.client_with("").get(&path).expect(200).text().to_owned();
        assert!(!text.contains("METHOD"), "it is published without an organizer: {text}");
        let value = |name: &str| text.split("\r\n").find_map(|line| line.strip_prefix(name)).unwrap().to_owned();
        let sequence: i64 = value("SEQUENCE:").parse().unwrap();
        (value("UID:"), value("DTSTAMP:"), sequence)
    };
    let [first, second] = [0, 1].map(&entry);
    assert_ne!(first.0, second.0, "one ticket can be cancelled, and the other one not");
    assert_eq!(first.1, "20260601T120000Z");

    clock.set("2026-06-02T12:00:00Z".parse().unwrap());
    client.patch(&format!("/v1/events/{}", on_sale.event), &json!({"location": "Garden"})).expect(200);
    let moved = entry(0);
    assert_eq!((&moved.0, moved.1.as_str(), moved.2), (&first.0, "20260602T120000Z", first.2 + 1));

    clock.set("2026-06-03T12:00:00Z".parse().unwrap());
    client.post_empty(&format!("/v1/tickets/{}/cancel", order.id(0))).expect(200);
    let cancelled = entry(0);
    assert_eq!((&cancelled.0, cancelled.1.as_str(), cancelled.2), (&first.0, "20260603T120000Z", moved.2 + 1));
    assert_eq!((entry(1).1.as_str(), entry(1).2), ("20260602T120000Z", moved.2));
}

/// In Berlin, 22:00 of 12 June and 00:30 of 13 June are one night.
#[test]
fn a_page_names_the_days_of_the_event_on_which_its_ticket_admits() {
    let server = start();
    let mut client = server.client();
    let (on_sale, order) = paid(&mut client);
    let event = format!("/v1/events/{}", on_sale.event);
    client.patch(&event, &json!({"timezone": "Europe/Berlin"})).expect(200);
    let night = json!({"allowedDates": ["2027-06-12T20:00:00Z", "2027-06-12T22:30:00Z"]});
    client.patch(&format!("/v1/ticket-types/{}", on_sale.ticket_type), &night).expect(200);
    for (starts_at, expected) in
        [(json!(null), "only on 12 June 2027, 13 June 2027<"), (json!("06:00"), "only on 12 June 2027<")]
    {
        let settings = client.patch(&format!("{event}/settings"), &json!({"dayStartsAt": starts_at})).expect(200);
        assert_eq!(settings.json()["dayStartsAt"], starts_at);
        for path in [order.ticket(0), order.page.clone()] {
            let page = server.client_with("").get(&path).expect(200).text().replace('\u{A0}', " ");
            assert!(page.contains(expected), "{expected} is not in:\n{page}");
        }
    }
}

#[test]
fn a_calendar_entry_has_short_lines_and_escapes_what_calendars_take_for_their_own() {
    let server = start();
    let mut client = server.client();
    let (on_sale, order) = paid(&mut client);
    let long = "ä".repeat(100);
    let event = json!({"location": format!("Hall; A, B\\C {long}")});
    client.patch(&format!("/v1/events/{}", on_sale.event), &event).expect(200);
    let name = UpdateOrganization::default().name("Jazz, Blues; & Co");
    server.service.update_organization(server.organization, name).unwrap();
    let entry = client.get(&format!("{}/event.ics", order.ticket(0))).expect(200);
    assert!(entry.text().split("\r\n").all(|line| line.len() <= 75), "{}", entry.text());
    let unfolded = unfolded(entry.text());
    assert!(unfolded.contains("DESCRIPTION:Jazz\\, Blues\\; & Co\\nhttp"), "the organizer: {unfolded}");
    assert!(unfolded.contains(&format!("\r\nLOCATION:Hall\\; A\\, B\\\\C {long}\r\n")), "{unfolded}");
}

#[test]
fn an_address_keeps_its_lines_on_pages_and_has_commas_in_a_calendar() {
    let server = start();
    let mut client = server.client();
    let (on_sale, order) = paid(&mut client);
    let event = json!({"location": "Hall <3>\r\n1 Main Street\n12345 Town"});
    let event = client.patch(&format!("/v1/events/{}", on_sale.event), &event).expect(200).json();
    assert_eq!(event["location"], "Hall <3>\n1 Main Street\n12345 Town");
    let entry = client.get(&format!("{}/event.ics", order.ticket(0))).expect(200);
    assert!(entry.text().contains("\r\nLOCATION:Hall <3>\\, 1 Main Street\\, 12345 Town\r\n"), "{}", entry.text());
    for page in [order.ticket(0), order.page.clone()] {
        let page = client.get(&page).expect(200);
        let lines = "<p class=\"where\">Hall &#60;3&#62;<br>1 Main Street<br>12345 Town</p>";
        assert!(page.text().contains(lines), "{}", page.text());
    }
    // An earlier version has stored lines with other ends, and empty ones.
    server.database().execute("UPDATE events SET location = ?1", params!["Hall 3\r\n\n 1 Main Street\u{2028}\n"]);
    let entry = client.get(&format!("{}/event.ics", order.ticket(0))).expect(200);
    assert!(entry.text().contains("\r\nLOCATION:Hall 3\\, 1 Main Street\r\n"), "{}", entry.text());
}

#[test]
fn whatever_else_is_below_a_token_is_answered_like_a_wrong_token() {
    let server = start();
    let (_, order) = paid(&mut server.client());
    let mut holder = server.client_with("");
    let unknown = holder.get(&format!("/tickets/{}", "0".repeat(39))).expect(404);
    for path in [order.ticket(0), order.page.clone()] {
        let token = path.rsplit_once('/').unwrap().1;
        let escaped = path.replace(token, &format!("%{:02X}{}", token.as_bytes()[0], &token[1..]));
        for other in [
            format!("{path}/anything-else"),
            format!("{path}/anything/else"),
            format!("{path}/ticket%2Epdf"),
            format!("{path}//"),
            format!("{path}.."),
            escaped.clone(),
            format!("{escaped}."),
            format!("{escaped}/ticket.pdf"),
        ] {
            let refused = holder.get(&other).expect(404);
            check_headers(&refused);
            assert_eq!(refused.body, unknown.body, "{other}");
        }
        // What mail programs append to a link is taken away, whether the token is right or not.
        for (link, token) in [(path.clone(), token.to_owned()), (path.replace(token, "WRONG"), "WRONG".to_owned())] {
            for (end, location) in [("/", format!("../{token}")), (".", token.clone()), (")", token.clone())] {
                let moved = holder.get(&format!("{link}{end}")).expect(308);
                check_headers(&moved);
                assert_eq!(moved.header("location"), Some(location.as_str()), "{link}{end}");
            }
        }
        let posted = holder.post_empty(&format!("{path}/anything-else")).expect(404);
        check_headers(&posted);
        assert_eq!(posted.body, unknown.body);
        holder.get(&path).expect(200);
    }
}

#[test]
fn problems_are_json_without_the_path_if_the_client_accepts_no_page() {
    let server = start();
    let mut client = server.client();
    let (_, order) = paid(&mut client);
    client.post_empty(&format!("/v1/tickets/{}/cancel", order.id(0))).expect(200);
    let token = order.ticket(0).rsplit_once('/').unwrap().1.to_owned();
    let mut holder = server.client_with("");
    for (path, status, code) in [
        (order.document(0), 410, "gone"),
        (format!("/tickets/{}", "0".repeat(39)), 404, "not-found"),
        (format!("/tickets/{token}/anything-else"), 404, "not-found"),
    ] {
        let refused = holder.send("GET", &path, &["Accept: application/json"], b"").expect(status);
        check_headers(&refused);
        assert_eq!(refused.header("content-type"), Some("application/problem+json"));
        let problem = refused.json();
        assert_eq!(problem["type"], format!("urn:ticketing:problem:{code}"));
        assert_eq!((&problem["status"], problem.get("instance")), (&json!(status), None));
        assert!(!refused.text().contains(&token), "{problem}");
        for accept in ["application/problem+json;q=1, */*;q=0.1", "application/pdf, Application/JSON"] {
            let refused = holder.send("GET", &path, &[&format!("Accept: {accept}")], b"").expect(status);
            assert_eq!(refused.header("content-type"), Some("application/problem+json"), "{accept}");
        }
        let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
        for accept in ["application/json, text/html", "", "*/*", browser] {
            let page = holder.send("GET", &path, &[&format!("Accept: {accept}")], b"").expect(status);
            assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"), "{accept}");
        }
    }
}

#[test]
fn other_methods_are_refused_with_a_page_that_does_not_repeat_the_token() {
    let server = start();
    let (_, order) = paid(&mut server.client());
    let mut holder = server.client_with("");
    for path in [order.ticket(0), order.document(0), order.page.clone(), format!("{}/tickets.pdf", order.page)] {
        let refused = holder.post_empty(&path).expect(405);
        check_headers(&refused);
        assert_eq!(refused.header("allow"), Some("GET,HEAD"));
        assert_eq!(refused.header("content-type"), Some("text/html; charset=utf-8"));
        assert!(!refused.text().contains(path.split('/').nth(2).unwrap()), "{}", refused.text());
        let head = holder.send("HEAD", &path, &[], b"").expect(200);
        check_headers(&head);
    }
}

#[test]
fn a_page_speaks_the_language_of_the_order_or_of_the_customer() {
    let server = start();
    let mut client = server.client();
    let on_sale = event_on_sale(&mut client, "summer-night");
    for (language, locale, tag, words) in [
        (Some("de-AT"), Some("fr"), "de", "Als PDF herunterladen"),
        (None, Some("fr-CH"), "fr", "Télécharger en PDF"),
        // What browsers send as Accept-Language.
        (Some("it,de;q=0.8"), None, "it", "Scarica il PDF"),
        (Some("fr;q=0.8"), None, "fr", "Télécharger en PDF"),
        (None, Some("*;q=0.9, en;q=0.1, de-CH ; q=0.7, nl;q=0.7"), "de", "Als PDF herunterladen"),
        (Some("es"), None, "es", "Descargar en PDF"),
        (Some("it"), None, "it", "Scarica il PDF"),
        (Some("nl"), None, "nl", "Downloaden als PDF"),
        (Some("pl"), None, "en", "Download as PDF"),
        (None, None, "en", "Download as PDF"),
    ] {
        let mut body = order_of(&on_sale.event, &on_sale.ticket_type, 1);
        body["language"] = json!(language);
        body["customer"]["locale"] = json!(locale);
        let order = Paid::new(&mut client, &body);
        let page = client.get(&order.ticket(0)).expect(200);
        assert!(page.text().contains(&format!("<html lang=\"{tag}\">")) && page.text().contains(words), "{tag}");
        assert!(client.get(&order.page).expect(200).text().contains(&format!("<html lang=\"{tag}\">")), "{tag}");
    }
}

#[test]
fn without_a_language_of_the_buyer_a_page_speaks_one_that_the_browser_accepts() {
    let server = start();
    let mut client = server.client();
    let on_sale = event_on_sale(&mut client, "summer-night");
    let mut body = order_of(&on_sale.event, &on_sale.ticket_type, 1);
    let own = Paid::new(&mut client, &body);
    body["language"] = json!("ar");
    let arabic = Paid::new(&mut client, &body);
    body["language"] = json!("es");
    let spanish = Paid::new(&mut client, &body);
    let mut holder = server.client_with("");
    for (order, accepted, tag) in [
        (&own, "pl,de;q=0.9,en;q=0.8", "de"),
        (&own, "en-US,en;q=0.5", "en-US"),
        (&own, "en;q=0.1, fr ; q=0.7, it;q=0.69", "fr"),
        (&own, "de;q=0, nl;q=x, pl", "en"),
        (&own, "", "en"),
        // Nobody has translated the words into Arabic: what the organizer has written is marked as such.
        (&arabic, "nl", "nl"),
        (&spanish, "de", "es"),
    ] {
        for path in [order.ticket(0), order.page.clone()] {
            let page = holder.send("GET", &path, &[&format!("Accept-Language: {accepted}")], b"").expect(200);
            assert!(page.text().contains(&format!("<html lang=\"{tag}\">")), "{accepted}: {}", page.text());
            assert_eq!(page.text().contains("<h1 lang=\"ar\">"), std::ptr::eq(order, &arabic));
        }
    }
    let path = format!("/tickets/{}", "0".repeat(39));
    let unknown = holder.send("GET", &path, &["Accept-Language: fr-CH"], b"").expect(404);
    assert!(unknown.text().contains("<h1>Nous ne trouvons pas ce billet</h1>"), "{}", unknown.text());
}

#[test]
fn the_page_of_a_large_order_has_parts_of_twenty_tickets() {
    let server = start();
    let mut client = server.client();
    let on_sale = event_on_sale(&mut client, "summer-night");
    client.patch(&format!("/v1/ticket-types/{}", on_sale.ticket_type), &json!({"maxPerOrder": 100})).expect(200);
    let order = Paid::new(&mut client, &order_of(&on_sale.event, &on_sale.ticket_type, 40));
    let more = Paid::new(&mut client, &order_of(&on_sale.event, &on_sale.ticket_type, 21));
    let mut holder = server.client_with("");
    let mut codes = |path: &str| {
        let page = holder.get(path).expect(200);
        check_headers(&page);
        (qr_codes(page.text()), page.text().to_owned())
    };
    let all: Vec<_> = (0..40).map(|index| order.code(index).to_owned()).collect();
    let (first, page) = codes(&order.page);
    assert_eq!(first, all[..20]);
    assert!(page.contains("Your tickets (40)") && page.contains("Ticket 20 of 40"), "{page}");
    assert!(
        page.contains("<a href=\"?part=1\" aria-current=\"page\">1–20</a> <a href=\"?part=2\">21–40</a>"),
        "{page}"
    );
    let second = format!("{}?part=2", order.page);
    assert_eq!(codes(&second).0, all[20..]);
    for (query, part) in [("?part=0", 0), ("?part=x", 0), ("?part=3", 1), ("?part=18446744073709551615", 1)] {
        assert_eq!(codes(&format!("{}{query}", order.page)).0, all[part * 20..][..20], "{query}");
    }
    let (last, page) = codes(&format!("{}?part=2", more.page));
    assert_eq!(last, [more.code(20)]);
    assert!(page.contains(">21–21</a>"), "{page}");
}

#[test]
fn html_in_names_is_shown_as_text() {
    let server = start();
    let mut client = server.client();
    let on_sale = event_on_sale(&mut client, "summer-night");
    let event = json!({"title": "<b>Night</b> & \"Day\"", "location": "<i>Hall</i>"});
    client.patch(&format!("/v1/events/{}", on_sale.event), &event).expect(200);
    let text = json!({"name": "<u>Seat</u>", "ticketText": "</p><script>alert(1)</script>"});
    client.patch(&format!("/v1/ticket-types/{}", on_sale.ticket_type), &text);
    let mut body = order_of(&on_sale.event, &on_sale.ticket_type, 1);
    body["customer"]["name"] = json!("<img src=x>");
    let order = Paid::new(&mut client, &body);
    for path in [order.ticket(0), order.page.clone()] {
        let page = client.get(&path).expect(200);
        for tag in ["<b>Night", "<i>", "<u>", "<img", "<script"] {
            assert!(!page.text().contains(tag), "{tag}: {}", page.text());
        }
        assert!(page.text().contains("&#60;img src=x&#62;"), "{}", page.text());
    }
}

#[test]
fn a_wrong_token_is_answered_like_an_unknown_one_and_a_right_one_passes_from_a_braked_address() {
    let server = Server::with(
        |builder| builder.sandbox_gateway().ticket_documents(TicketDocuments::default()),
        |options| options.failed_authentications = 20,
    );
    let mut client = server.client();
    let (_, order) = paid(&mut client);
    let token = order.ticket(0).rsplit_once('/').unwrap().1.to_owned();
    let mut wrong = token.clone().into_bytes();
    wrong[20] = if wrong[20] == b'0' { b'1' } else { b'0' };
    let wrong = String::from_utf8(wrong).unwrap();
    let unknown = format!("0000000000001{}", &token[13..]);
    let mut holder = server.client_with("");
    let mut bodies = Vec::new();
    for other in [&wrong, &unknown, &token.to_lowercase(), &"x".to_owned(), &"%FF".to_owned(), &"..%2F".to_owned()] {
        let refused = holder.get(&format!("/tickets/{other}")).expect(404);
        check_headers(&refused);
        bodies.push(refused.body);
    }
    for path in
        [format!("/tickets/{wrong}/ticket.pdf"), format!("/tickets/{wrong}/event.ics"), format!("/orders/{token}")]
    {
        bodies.push(holder.get(&path).expect(404).body);
    }
    bodies.push(holder.get(&format!("/orders/{wrong}/tickets.pdf")).expect(404).body);
    assert!(bodies.iter().all(|body| *body == bodies[0]), "they do not tell what is wrong");
    for _ in 0..10 {
        holder.get(&format!("/tickets/{wrong}")).expect(404);
    }
    // These were the 20 failures of the minute.
    let braked = holder.get(&format!("/tickets/{wrong}")).expect(429);
    check_headers(&braked);
    assert!(braked.header("retry-after").is_some());
    assert_eq!(server.client_with("key").get("/v1/events").expect(429).code(), "rate-limited", "keys count too");
    holder.get(&order.ticket(0)).expect(200);
    holder.get(&order.document(0)).expect(200);
    holder.get(&order.page).expect(200);
}

#[test]
fn a_renewed_link_is_404_and_the_responses_are_as_the_document_describes_them() {
    let server = start();
    let mut client = server.client();
    let (on_sale, order) = paid(&mut client);
    let described = Document::of(&server);
    let check = |name: &str, response: &Response| described.check(&described.operation(name), response);
    let before = order.ticket(0);
    check("show_ticket", &client.get(&before).expect(200));
    check("download_ticket", &client.get(&order.document(0)).expect(200));
    check("download_calendar_entry", &client.get(&format!("{before}/event.ics")).expect(200));
    check("show_order", &client.get(&order.page).expect(200));
    check("download_tickets", &client.get(&format!("{}/tickets.pdf", order.page)).expect(200));
    check("get_ticket_document", &client.get(&format!("/v1/tickets/{}/document", order.id(0))).expect(200));
    check("get_order_document", &client.get(&format!("/v1/orders/{}/document", order.order)).expect(200));
    let pending = client.post("/v1/orders", &order_of(&on_sale.event, &on_sale.ticket_type, 1)).expect(201).json();
    let pending = pending["order"]["id"].as_str().unwrap();
    let refused = client.get(&format!("/v1/orders/{pending}/document")).expect(409);
    assert_eq!(refused.problem()["reason"], "order-not-completed");
    check("get_order_document", &refused);

    let renewed = client.post_empty(&format!("/v1/tickets/{}/renew-link", order.id(0))).expect(200);
    check("renew_ticket_link", &renewed);
    let dead = client.get(&before).expect(404);
    check("show_ticket", &dead);
    check("download_ticket", &client.get(&order.document(0)).expect(404));
    client.get(&path_of(&renewed.json()["downloadTicketUrl"])).expect(200);
    check("show_order", &client.get(&order.page).expect(200));
}

#[test]
fn a_link_is_answered_sixty_times_in_a_minute_and_others_still_are() {
    let clock = ManualClock::new("2026-06-01T18:00:00Z".parse().expect("a time"));
    let server_clock = clock.clone();
    let server = start_with(|builder| builder.clock(server_clock));
    let (_, paid) = paid(&mut server.client());
    let mut client = server.client_with("");
    for _ in 0..30 {
        client.get(&paid.ticket(0)).expect(200);
        client.get(&paid.document(0)).expect(200);
    }
    let refused = client.get(&paid.ticket(0)).expect(429);
    assert_eq!(refused.header("retry-after"), Some("60"));
    for (name, value) in HEADERS {
        assert_eq!(refused.header(name), Some(value));
    }
    client.get(&paid.ticket(1)).expect(200);
    client.get(&paid.page).expect(200);
    clock.advance(std::time::Duration::from_mins(1));
    client.get(&paid.document(0)).expect(200);
}
