//! `ETag` and `If-Match`: revisions as entity tags, and conditional PATCH and DELETE requests.

use std::sync::Barrier;

use crate::common::http::{Client, EventOnSale, Response, Server, event_on_sale, id, order_of};
use serde_json::{Value, json};

/// A resource that has a revision.
struct Resource {
    path: String,
    /// The body of a PATCH request that changes it.
    change: Value,
}

impl Resource {
    fn new(path: String, change: Value) -> Self {
        Self { path, change }
    }

    fn id(&self) -> &str {
        let (_, id) = self.path.rsplit_once('/').unwrap();
        id
    }
}

/// One resource of each type that has revisions.
struct Resources {
    event: Resource,
    ticket_type: Resource,
    discount: Resource,
    webhook: Resource,
}

impl Resources {
    /// All of them. The event comes first, and can be deleted only after the others.
    fn all(&self) -> [&Resource; 4] {
        [&self.event, &self.ticket_type, &self.discount, &self.webhook]
    }
}

/// Opens a connection and creates a resource of each type.
fn create_resources(server: &Server) -> (Client, Resources) {
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let discount = json!({
        "eventId": event, "code": "EARLY", "type": "PERCENTAGE", "value": 10,
        "validFrom": "2020-01-01T00:00:00Z", "validTo": "9000-01-01T00:00:00Z",
    });
    let discount = id(&client.post("/v1/discounts", &discount).expect(201));
    let webhook = json!({"url": "https://example.com/hook", "events": ["order.completed"]});
    let webhook = id(&client.post("/v1/webhooks", &webhook).expect(201));
    let resources = Resources {
        event: Resource::new(format!("/v1/events/{event}"), json!({"title": "Late Night"})),
        ticket_type: Resource::new(format!("/v1/ticket-types/{ticket_type}"), json!({"name": "Box"})),
        discount: Resource::new(format!("/v1/discounts/{discount}"), json!({"description": "Early birds"})),
        webhook: Resource::new(format!("/v1/webhooks/{webhook}"), json!({"description": "Ours"})),
    };
    (client, resources)
}

/// Sends a PATCH request with these additional header lines.
fn patch(client: &mut Client, path: &str, conditions: &[&str], body: &Value) -> Response {
    let lines = [&["Content-Type: application/json"], conditions].concat();
    client.send("PATCH", path, &lines, body.to_string().as_bytes())
}

#[test]
fn the_etag_of_a_resource_is_its_revision() {
    let server = Server::start();
    let (mut client, resources) = create_resources(&server);
    for Resource { path, change } in resources.all() {
        assert_eq!(client.get(path).expect(200).header("etag"), Some("\"1\""), "{path}");
        assert_eq!(client.send("HEAD", path, &[], b"").expect(200).header("etag"), Some("\"1\""), "{path}");
        assert_eq!(client.patch(path, change).expect(200).header("etag"), Some("\"2\""), "{path}");
        assert_eq!(client.get(path).header("etag"), Some("\"2\""), "{path}");
        assert_eq!(client.get(path).json()["revision"], 2, "{path}");
    }
    let event = &resources.event.path;
    let settings = client.patch(&format!("{event}/settings"), &json!({"isFeatured": true})).expect(200);
    assert_eq!(settings.header("etag"), Some("\"3\""));
    client.patch(event, &json!({"status": "CANCELLED"})).expect(200);
    assert_eq!(client.get(event).header("etag"), Some("\"4\""));
}

#[test]
fn a_response_without_a_revision_has_no_etag() {
    let server = Server::start();
    let (mut client, resources) = create_resources(&server);
    let order = order_of(resources.event.id(), resources.ticket_type.id(), 1);
    let order = client.post("/v1/orders", &order).expect(201);
    let order = format!("/v1/orders/{}", order.json()["order"]["id"].as_str().unwrap());
    for path in ["/v1/events", "/v1/orders", "/v1/discounts", "/v1/webhooks", &order] {
        assert_eq!(client.get(path).expect(200).header("etag"), None, "{path}");
    }
    assert_eq!(client.get("/v1/events/event_0000000000001").expect(404).header("etag"), None);
}

#[test]
fn the_etag_changes_when_an_event_sells_out_but_not_with_each_sale_or_page_view() {
    let server = Server::start();
    let (mut client, resources) = create_resources(&server);
    client.post_empty(&format!("{}/page-views", resources.event.path)).expect(204);
    let mut order = order_of(resources.event.id(), resources.ticket_type.id(), 10);
    order["discountCode"] = json!("EARLY");
    let sell = |client: &mut Client| {
        let created = client.post("/v1/orders", &order).expect(201).json();
        client.post_empty(&format!("/v1/orders/{}/mark-paid", created["order"]["id"].as_str().unwrap())).expect(200);
    };
    for _ in 0..9 {
        sell(&mut client);
    }
    for resource in resources.all() {
        assert_eq!(client.get(&resource.path).header("etag"), Some("\"1\""), "{}", resource.path);
    }
    sell(&mut client);
    let sold_out = client.get(&resources.event.path);
    assert_eq!(sold_out.json()["status"], "SOLD_OUT");
    assert_eq!(sold_out.header("etag"), Some("\"2\""));
}

#[test]
fn a_patch_is_applied_if_one_of_the_tags_matches() {
    let server = Server::start();
    let (mut client, resources) = create_resources(&server);
    for Resource { path, change } in resources.all() {
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
fn without_a_matching_tag_the_precondition_fails_and_nothing_changes() {
    let server = Server::start();
    let (mut client, resources) = create_resources(&server);
    for Resource { path, change } in resources.all() {
        let before = client.get(path).expect(200);
        let tags = r#""2" "0" W/"1" 1 "01" "+1" "1 '1' "2","3" "x" "1x" "99999999999999999999" ü **"#;
        for tags in tags.split(' ').chain(["", "\" 1\""]) {
            let line = format!("If-Match: {tags}");
            let patched = patch(&mut client, path, &[&line], change);
            assert_eq!(patched.expect(412).code(), "precondition-failed", "{path} with {tags:?}");
            let deleted = client.send("DELETE", path, &[&line], b"");
            assert_eq!(deleted.expect(412).code(), "precondition-failed", "{path} with {tags:?}");
        }
        let after = client.get(path).expect(200);
        assert_eq!(after.body, before.body, "{path}");
        assert_eq!(after.headers.len(), before.headers.len(), "{path}");
    }
}

#[test]
fn a_resource_is_deleted_if_its_tag_matches() {
    let server = Server::start();
    let (mut client, resources) = create_resources(&server);
    for Resource { path, change } in resources.all().into_iter().rev() {
        client.patch(path, change).expect(200);
        client.send("DELETE", path, &["If-Match: \"1\""], b"").expect(412);
        client.send("DELETE", path, &["If-Match: \"2\""], b"").expect(204);
        // A deleted resource is not found, with any tag.
        for line in ["If-Match: \"2\"", "If-Match: \"1\"", "If-Match: *"] {
            assert_eq!(client.send("DELETE", path, &[line], b"").expect(404).code(), "not-found", "{path}");
            assert_eq!(patch(&mut client, path, &[line], change).expect(404).code(), "not-found", "{path}");
        }
    }
}

#[test]
fn requests_other_than_patch_and_delete_ignore_if_match() {
    let server = Server::start();
    let (mut client, resources) = create_resources(&server);
    let event = &resources.event.path;
    for (method, path, status) in
        [("GET", event.clone(), 200), ("HEAD", event.clone(), 200), ("POST", format!("{event}/page-views"), 204)]
    {
        client.send(method, &path, &["If-Match: \"99\""], b"").expect(status);
    }
}

/// How many concurrent changes of one event succeeded, and how many got 412.
#[derive(Debug, PartialEq, Eq)]
struct Outcomes {
    changed: usize,
    precondition_failed: usize,
}

/// Lets 12 clients change an event of revision 1 at the same time, with these header lines.
fn change_concurrently(conditions: &[&str]) -> Outcomes {
    let server = Server::start();
    let (mut client, resources) = create_resources(&server);
    let path = &resources.event.path;
    let start = Barrier::new(12);
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let change = |number: usize| {
            let start = &start;
            let server = &server;
            scope.spawn(move || {
                let mut client = server.client();
                start.wait();
                patch(&mut client, path, conditions, &json!({"title": format!("Night {number}")})).status
            })
        };
        let running: Vec<_> = (0..12).map(change).collect();
        running.into_iter().map(|change| change.join().unwrap()).collect()
    });
    let count = |expected| statuses.iter().filter(|status| **status == expected).count();
    let outcomes = Outcomes { changed: count(200), precondition_failed: count(412) };
    assert_eq!(client.get(path).header("etag").unwrap(), format!("\"{}\"", 1 + outcomes.changed));
    outcomes
}

#[test]
fn exactly_one_of_several_concurrent_changes_with_the_same_tag_is_applied() {
    for _ in 0..4 {
        let outcomes = change_concurrently(&["If-Match: \"1\""]);
        assert_eq!(outcomes, Outcomes { changed: 1, precondition_failed: 11 });
    }
}

#[test]
fn all_of_several_concurrent_changes_without_a_tag_are_applied() {
    let outcomes = change_concurrently(&[]);
    assert_eq!(outcomes, Outcomes { changed: 12, precondition_failed: 0 });
}
