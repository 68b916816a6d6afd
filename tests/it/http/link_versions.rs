//! Pages and documents of links, and the tags of their versions.

use serde_json::json;
use ticketing::Builder;
use ticketing::documents::TicketDocuments;
use ticketing::organization::UpdateOrganization;

use crate::common::http::{Client, Server, event_on_sale, id, order_of};
use crate::http::ticket_pages::Paid;

fn start() -> Server {
    Server::with(|builder: Builder| builder.sandbox_gateway().ticket_documents(TicketDocuments::default()), |_| {})
}

/// The tag and the body of what is at a path.
fn get(client: &mut Client, path: &str) -> (String, Vec<u8>) {
    let response = client.get(path).expect(200);
    (response.header("etag").expect("a tag").to_owned(), response.body)
}

#[test]
fn parts_of_pages_and_what_is_known_are_answered_without_reading_all_tickets() {
    let server = start();
    let mut client = server.client();
    let event = event_on_sale(&mut client, "summer-night").event;
    let seat = json!({"name": "Seat", "price": 5, "quantity": 100, "maxPerOrder": 60});
    let seat = id(&client.post(&format!("/v1/events/{event}/ticket-types"), &seat).expect(201));
    let order = Paid::new(&mut client, &order_of(&event, &seat, 60));
    let (third, document) = (format!("{}?part=3", order.page), format!("{}/tickets.pdf", order.page));
    let known = [&order.page, &third, &document].map(|path| (path, get(&mut client, path)));
    let ticket = client.get(&format!("/v1/tickets/{}", order.id(55))).expect(200).json();

    server.skip_final_check();
    let code = ticket["code"].as_str().expect("a code");
    let unreadable = format!("UPDATE tickets SET expires_at = -1 WHERE code = '{code}'");
    server.database_without_constraints().run(&unreadable);
    for (path, (tag, _)) in &known {
        client.send("GET", path, &[&format!("If-None-Match: {tag}")], b"").expect(304);
    }
    assert_eq!(get(&mut client, &order.page), known[0].1);
    assert_eq!(get(&mut client, &document), known[2].1);
    // The control: the third part shows this ticket.
    client.get(&third).expect(500);
}

/// A change, and what it changes: the pages of the order and of the ticket, the calendar entry, and the documents of
/// both.
type Change<'a> = (&'a str, &'a dyn Fn(&mut Client), [bool; 5]);

#[test]
fn a_tag_changes_with_what_the_page_or_the_document_shows() {
    let server = start();
    let mut client = server.client();
    let on_sale = event_on_sale(&mut client, "summer-night");
    let order = Paid::new(&mut client, &order_of(&on_sale.event, &on_sale.ticket_type, 2));
    let ticket = format!("/v1/tickets/{}", order.id(1));
    let code = client.get(&ticket).expect(200).json()["code"].clone();
    let paths = [
        order.page.clone(),
        order.ticket(1),
        format!("{}/event.ics", order.ticket(1)),
        format!("{}/tickets.pdf", order.page),
        order.document(1),
    ];
    let name = |name: &str| {
        let changes = UpdateOrganization::default().name(name);
        server.service.update_organization(server.organization, changes).expect("renamed");
    };
    let changes: [Change<'_>; 8] = [
        ("nothing", &|_| (), [false; 5]),
        (
            "check-in",
            &|client| drop(client.post("/v1/tickets/check-in", &json!({"code": code})).expect(200)),
            [true, true, false, false, false],
        ),
        (
            "check-out",
            &|client| drop(client.post("/v1/tickets/check-out", &json!({"code": code})).expect(200)),
            [true, true, false, false, false],
        ),
        (
            "title",
            &|client| {
                drop(client.patch(&format!("/v1/events/{}", on_sale.event), &json!({"title": "Another"})).expect(200))
            },
            [true; 5],
        ),
        (
            "type",
            &|client| {
                let path = format!("/v1/ticket-types/{}", on_sale.ticket_type);
                drop(client.patch(&path, &json!({"name": "Another"})).expect(200));
            },
            [true, true, false, true, true],
        ),
        ("organizer", &|_| name("Another"), [true, true, false, true, true]),
        (
            "link",
            &|client| drop(client.post_empty(&format!("/v1/tickets/{}/renew-link", order.id(0))).expect(200)),
            [true, false, false, false, false],
        ),
        (
            "cancellation",
            &|client| drop(client.post_empty(&format!("/v1/tickets/{}/cancel", order.id(0))).expect(200)),
            [true, false, false, true, false],
        ),
    ];
    let mut before = paths.clone().map(|path| get(&mut client, &path));
    for (name, change, expected) in changes {
        change(&mut client);
        let after = paths.clone().map(|path| get(&mut client, &path));
        for (index, path) in paths.iter().enumerate() {
            let (tag, body) = (after[index].0 != before[index].0, after[index].1 != before[index].1);
            assert!(tag || !body, "{name}: {path} shows something else under the same tag");
            assert!(body || !expected[index], "{name}: {path} shows the same");
        }
        before = after;
    }
}

#[test]
fn the_tag_of_an_order_changes_when_it_is_cancelled_after_all_its_tickets() {
    let server = start();
    let mut client = server.client();
    let on_sale = event_on_sale(&mut client, "summer-night");
    let order = Paid::new(&mut client, &order_of(&on_sale.event, &on_sale.ticket_type, 2));
    for ticket in [0, 1] {
        client.post_empty(&format!("/v1/tickets/{}/cancel", order.id(ticket))).expect(200);
    }
    let (tag, body) = get(&mut client, &order.page);
    client.post_empty(&format!("/v1/orders/{}/cancel", order.order)).expect(200);
    let after = get(&mut client, &order.page);
    assert!(tag != after.0 && body != after.1, "the page says that the order is cancelled");
}
