//! `ETag` and `If-Match`: a client changes what it has seen, or hears that it has not.

use std::sync::Barrier;

use crate::common::http::{Client, Response, Server, event_on_sale, id, order_of};
use serde_json::{Value, json};

/// A client, and the paths of an event, a ticket type, a discount and a webhook endpoint with what a change of each says.
fn open(server: &Server) -> (Client, [(String, Value); 4]) {
    let mut client = server.client();
    let (event, seat) = event_on_sale(&mut client, "summer-night");
    let discount = json!({
        "eventId": event, "code": "EARLY", "type": "PERCENTAGE", "value": 10,
        "validFrom": "2020-01-01T00:00:00Z", "validTo": "9000-01-01T00:00:00Z",
    });
    let discount = id(&client.post("/v1/discounts", &discount).expect(201));
    let webhook = json!({"url": "https://example.com/hook", "events": ["order.completed"]});
    let webhook = id(&client.post("/v1/webhooks", &webhook).expect(201));
    let things = [
        (format!("/v1/events/{event}"), json!({"title": "Late Night"})),
        (format!("/v1/ticket-types/{seat}"), json!({"name": "Box"})),
        (format!("/v1/discounts/{discount}"), json!({"description": "Early birds"})),
        (format!("/v1/webhooks/{webhook}"), json!({"description": "Ours"})),
    ];
    (client, things)
}

/// PATCH with these header lines beside.
fn patch(client: &mut Client, path: &str, conditions: &[&str], body: &Value) -> Response {
    let lines = [&["Content-Type: application/json"], conditions].concat();
    client.send("PATCH", path, &lines, body.to_string().as_bytes())
}

#[test]
fn what_has_a_revision_shows_it_as_its_tag() {
    let server = Server::start();
    let (mut client, things) = open(&server);
    for (path, change) in &things {
        assert_eq!(client.get(path).expect(200).header("etag"), Some("\"1\""), "{path}");
        assert_eq!(client.send("HEAD", path, &[], b"").expect(200).header("etag"), Some("\"1\""), "{path}");
        assert_eq!(client.patch(path, change).expect(200).header("etag"), Some("\"2\""), "{path}");
        assert_eq!(client.get(path).header("etag"), Some("\"2\""), "{path}");
        assert!(client.get(path).json().get("revision").is_none(), "it is no field of the resource");
    }
    let event = &things[0].0;
    let settings = client.patch(&format!("{event}/settings"), &json!({"isFeatured": true})).expect(200);
    assert_eq!(settings.header("etag"), Some("\"3\""));
    client.patch(event, &json!({"status": "CANCELLED"})).expect(200);
    assert_eq!(client.get(event).header("etag"), Some("\"4\""));
}

#[test]
fn what_has_none_shows_none() {
    let server = Server::start();
    let (mut client, things) = open(&server);
    let (event, seat) = (things[0].0.rsplit_once('/').unwrap().1, things[1].0.rsplit_once('/').unwrap().1);
    let order = client.post("/v1/orders", &order_of(event, seat, 1)).expect(201);
    let order = format!("/v1/orders/{}", order.json()["order"]["id"].as_str().unwrap());
    for path in ["/v1/events", "/v1/orders", "/v1/discounts", "/v1/webhooks", &order] {
        assert_eq!(client.get(path).expect(200).header("etag"), None, "{path}");
    }
    assert_eq!(client.get("/v1/events/event_0000000000001").expect(404).header("etag"), None);
}

#[test]
fn sales_views_and_uses_leave_the_tag_as_it_is_and_selling_out_does_not() {
    let server = Server::start();
    let (mut client, things) = open(&server);
    let (event, seat) = (things[0].0.rsplit_once('/').unwrap().1, things[1].0.rsplit_once('/').unwrap().1);
    client.post_empty(&format!("/v1/events/{event}/page-views")).expect(204);
    let mut order = order_of(event, seat, 10);
    order["discountCode"] = json!("EARLY");
    let sell = |client: &mut Client| {
        let placed = client.post("/v1/orders", &order).expect(201).json();
        client.post_empty(&format!("/v1/orders/{}/mark-paid", placed["order"]["id"].as_str().unwrap())).expect(200);
    };
    (0..9).for_each(|_| sell(&mut client));
    for (path, _) in &things {
        assert_eq!(client.get(path).header("etag"), Some("\"1\""), "{path}");
    }
    sell(&mut client);
    let sold_out = client.get(&things[0].0);
    assert_eq!((&sold_out.json()["status"], sold_out.header("etag")), (&json!("SOLD_OUT"), Some("\"2\"")));
}

#[test]
fn a_change_is_made_where_one_of_the_tags_is_that_of_the_resource() {
    let server = Server::start();
    let (mut client, things) = open(&server);
    for (path, change) in &things {
        for (conditions, tag) in [
            (&["If-Match: \"1\""][..], "\"2\""),
            (&["If-Match: \"7\", \"2\""], "\"3\""),
            (&["If-Match: W/\"3\" ,\"3\",\"9\""], "\"4\""),
            (&["If-Match: \"8\"", "If-Match: \"4\""], "\"5\""),
            (&["If-Match: *"], "\"6\""),
            (&[], "\"7\""),
        ] {
            let changed = patch(&mut client, path, conditions, change).expect(200);
            assert_eq!(changed.header("etag"), Some(tag), "{path} with {conditions:?}");
        }
    }
}

#[test]
fn any_other_tag_is_a_failed_precondition_and_nothing_changes() {
    let server = Server::start();
    let (mut client, things) = open(&server);
    for (path, change) in &things {
        let before = client.get(path).expect(200);
        for tags in ["\"2\"", "\"0\"", "W/\"1\"", "1", "\"01\"", "\"+1\"", "\"1", "'1'", "\"2\", \"3\"", "", "ü", "**"]
        {
            let line = format!("If-Match: {tags}");
            for refused in [patch(&mut client, path, &[&line], change), client.send("DELETE", path, &[&line], b"")] {
                assert_eq!(refused.expect(412).code(), "precondition-failed", "{path} with {tags:?}");
            }
        }
        let after = client.get(path).expect(200);
        assert_eq!((after.body, after.headers.len()), (before.body, before.headers.len()), "{path}");
    }
}

#[test]
fn what_was_seen_can_be_deleted() {
    let server = Server::start();
    let (mut client, things) = open(&server);
    for (path, change) in things.iter().rev() {
        client.patch(path, change).expect(200);
        client.send("DELETE", path, &["If-Match: \"1\""], b"").expect(412);
        client.send("DELETE", path, &["If-Match: \"2\""], b"").expect(204);
        // What is not there is not found, whatever the tag.
        for line in ["If-Match: \"2\"", "If-Match: \"1\"", "If-Match: *"] {
            assert_eq!(client.send("DELETE", path, &[line], b"").expect(404).code(), "not-found", "{path}");
            assert_eq!(patch(&mut client, path, &[line], change).expect(404).code(), "not-found", "{path}");
        }
    }
}

#[test]
fn where_nothing_is_changed_or_deleted_the_header_is_ignored() {
    let server = Server::start();
    let (mut client, things) = open(&server);
    let event = &things[0].0;
    for (method, path, status) in
        [("GET", event.clone(), 200), ("HEAD", event.clone(), 200), ("POST", format!("{event}/page-views"), 204)]
    {
        client.send(method, &path, &["If-Match: \"99\""], b"").expect(status);
    }
}

/// How many of 12 clients change an event that they all saw, with these header lines.
fn changes_at_once(conditions: &[&str]) -> (usize, usize) {
    let server = Server::start();
    let (mut client, things) = open(&server);
    let path = &things[0].0;
    let start = Barrier::new(12);
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let change = |number: usize| {
            let (start, server) = (&start, &server);
            scope.spawn(move || {
                let mut client = server.client();
                start.wait();
                patch(&mut client, path, conditions, &json!({"title": format!("Night {number}")})).status
            })
        };
        let running: Vec<_> = (0..12).map(change).collect();
        running.into_iter().map(|change| change.join().unwrap()).collect()
    });
    let count = |wanted| statuses.iter().filter(|status| **status == wanted).count();
    let (made, refused) = (count(200), count(412));
    assert_eq!(client.get(path).header("etag").unwrap(), format!("\"{}\"", 1 + made));
    (made, refused)
}

#[test]
fn of_changes_at_once_with_one_tag_exactly_one_is_made() {
    for _ in 0..4 {
        assert_eq!(changes_at_once(&["If-Match: \"1\""]), (1, 11));
    }
}

#[test]
fn control_without_a_tag_all_of_them_are_made() {
    assert_eq!(changes_at_once(&[]), (12, 0));
}
