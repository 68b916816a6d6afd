//! How many bytes a page has: visitors of an event share one mobile network.

use serde_json::json;

use crate::common::http::{EventOnSale, Response, event_on_sale, order_of};
use crate::http::ticket_pages::{Paid, start};

const GZIP: &str = "Accept-Encoding: gzip, deflate, br";

/// The pages of orders of so many tickets, each plain and compressed.
fn order_pages<const N: usize>(counts: [u32; N]) -> [[Response; 2]; N] {
    let server = start();
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    client.patch(&format!("/v1/ticket-types/{ticket_type}"), &json!({"maxPerOrder": 100})).expect(200);
    counts.map(|count| {
        let order = Paid::new(&mut client, &order_of(&event, &ticket_type, count));
        let mut holder = server.client_with("");
        let plain = holder.get(&order.page).expect(200);
        [plain, holder.send("GET", &order.page, &[GZIP], b"").expect(200)]
    })
}

#[test]
fn pages_are_compressed_for_clients_that_accept_gzip() {
    let server = start();
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let pending = client.post("/v1/orders", &order_of(&event, &ticket_type, 2)).expect(201).json();
    let checkout = pending["checkoutUrl"].as_str().unwrap().splitn(4, '/').nth(3).unwrap();
    let order = Paid::new(&mut client, &order_of(&event, &ticket_type, 2));
    let mut holder = server.client_with("");
    for path in [order.ticket(0), order.page.clone(), format!("/{checkout}")] {
        let plain = holder.get(&path).expect(200);
        let compressed = holder.send("GET", &path, &[GZIP], b"").expect(200);
        assert_eq!(plain.header("content-encoding"), None, "{path}");
        assert_eq!(compressed.header("content-encoding"), Some("gzip"), "{path}");
        assert!(compressed.decompressed() == plain.body, "{path}");
        for name in ["content-type", "content-security-policy", "cache-control", "vary", "x-content-type-options"] {
            assert_eq!(compressed.header(name), plain.header(name), "{path}: {name}");
        }
        // Each has its own tag, so that a client is not told that it has what it has in another encoding only.
        for (first, second) in [(&plain, "Accept-Encoding: identity"), (&compressed, GZIP)] {
            let tag = format!("If-None-Match: {}", first.header("etag").unwrap());
            let again = holder.send("GET", &path, &[&tag, second], b"").expect(304);
            assert_eq!((again.body.len(), again.header("content-encoding")), (0, None), "{path}");
            assert_eq!(again.header("etag"), first.header("etag"), "{path}");
        }
        assert_ne!(compressed.header("etag"), plain.header("etag"), "{path}");
    }
    // Documents are compressed by themselves.
    assert_eq!(holder.send("GET", &order.document(0), &[GZIP], b"").expect(200).header("content-encoding"), None);
}

#[test]
fn a_ticket_adds_less_than_two_kilobytes_to_a_page_and_half_a_kilobyte_to_a_compressed_one() {
    let pages = order_pages([1, 2, 20]);
    let [one, two, twenty] = &pages;
    for (encoding, first, most) in [(0, 11_500, 2_000), (1, 4_000, 500)] {
        let [one, two, twenty] = [one, two, twenty].map(|page| page[encoding].body.len());
        assert!(two < first && twenty - one < 19 * most, "{one}, {two} and {twenty} bytes");
    }
}

#[test]
fn no_part_of_the_page_of_an_order_has_more_than_ten_kilobytes_when_compressed() {
    let [[_, part]] = order_pages([100]);
    assert!(part.body.len() <= 10_000, "{} bytes", part.body.len());
}
