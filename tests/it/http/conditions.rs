//! `ETag` and `If-Match`: revisions as entity tags, and conditional PATCH and DELETE requests.

use crate::common::http::{Client, EventOnSale, Response, Server, event_on_sale, id, order_of};
use crate::facade::operation::{Kind, Resources};
use crate::http::operations::{routes, send};
use crate::http::walkthrough::Document;
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

/// Opens a connection and creates a resource of each type that has revisions: an event, a ticket type, a discount and a
/// webhook endpoint.
fn create_resources(server: &Server) -> (Client, [Resource; 4]) {
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let discount = json!({
        "eventId": event, "code": "EARLY", "type": "PERCENTAGE", "value": 10,
        "validFrom": "2020-01-01T00:00:00Z", "validTo": "9000-01-01T00:00:00Z",
    });
    let discount = id(&client.post("/v1/discounts", &discount).expect(201));
    let webhook = json!({"url": "https://example.com/hook", "events": ["order.completed"]});
    let webhook = id(&client.post("/v1/webhooks", &webhook).expect(201));
    let resources = [
        Resource::new(format!("/v1/events/{event}"), json!({"title": "Late Night"})),
        Resource::new(format!("/v1/ticket-types/{ticket_type}"), json!({"name": "Box"})),
        Resource::new(format!("/v1/discounts/{discount}"), json!({"description": "Early birds"})),
        Resource::new(format!("/v1/webhooks/{webhook}"), json!({"description": "Ours"})),
    ];
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
    for Resource { path, change } in &resources {
        assert_eq!(client.get(path).expect(200).header("etag"), Some("\"1\""), "{path}");
        assert_eq!(client.send("HEAD", path, &[], b"").expect(200).header("etag"), Some("\"1\""), "{path}");
        assert_eq!(client.patch(path, change).expect(200).header("etag"), Some("\"2\""), "{path}");
        assert_eq!(client.get(path).header("etag"), Some("\"2\""), "{path}");
        assert_eq!(client.get(path).json()["revision"], 2, "{path}");
    }
    let event = &resources[0].path;
    let settings = client.patch(&format!("{event}/settings"), &json!({"isFeatured": true})).expect(200);
    assert_eq!(settings.header("etag"), Some("\"3\""));
    client.patch(event, &json!({"status": "CANCELLED"})).expect(200);
    assert_eq!(client.get(event).header("etag"), Some("\"4\""));
}

#[test]
fn a_response_without_a_revision_has_no_etag() {
    let server = Server::start();
    let (mut client, resources) = create_resources(&server);
    let order = order_of(resources[0].id(), resources[1].id(), 1);
    let order = client.post("/v1/orders", &order).expect(201);
    let order = format!("/v1/orders/{}", order.json()["order"]["id"].as_str().unwrap());
    for path in ["/v1/events", "/v1/orders", "/v1/discounts", "/v1/webhooks", &order] {
        assert_eq!(client.get(path).expect(200).header("etag"), None, "{path}");
    }
    assert_eq!(client.get("/v1/events/event_0000000000001").expect(404).header("etag"), None);
}

#[test]
fn a_patch_is_applied_if_one_of_the_tags_matches() {
    let server = Server::start();
    let (mut client, resources) = create_resources(&server);
    for Resource { path, change } in &resources {
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
    for Resource { path, change } in &resources {
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
fn every_operation_with_a_revision_is_executed_only_if_a_tag_matches() {
    let document = Document::of(&Server::start());
    for operation in routes().filter(|operation| matches!(operation.kind, Kind::Conditional(_))) {
        let Resources { fixture, ids: [ids, _] } = Resources::new();
        let server = Server::of(fixture);
        let send = |tag: &str| send(&mut server.client(), &document, operation, &ids, &[&format!("If-Match: {tag}")]);
        assert_eq!(send("\"2\"").expect(412).code(), "precondition-failed", "{}", operation.name);
        let done = send("\"1\"");
        assert_eq!(done.status, operation.status, "{}: {done:?}", operation.name);
        assert_eq!(send("\"1\"").status, if done.status == 204 { 404 } else { 412 }, "{}", operation.name);
    }
}

#[test]
fn requests_other_than_patch_and_delete_ignore_if_match() {
    let server = Server::start();
    let (mut client, resources) = create_resources(&server);
    let event = &resources[0].path;
    for (method, path, status) in
        [("GET", event.clone(), 200), ("HEAD", event.clone(), 200), ("POST", format!("{event}/page-views"), 204)]
    {
        client.send(method, &path, &["If-Match: \"99\""], b"").expect(status);
    }
}
