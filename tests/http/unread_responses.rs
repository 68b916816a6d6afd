//! Large responses that clients do not receive.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use serde_json::{Value, json};
use ticketing::Caller;
use ticketing::organization::{CreateApiKey, Secret};
use ticketing::server::{ServerOptions, router};
use ticketing::ticket_type::UpdateTicketType;
use tower::ServiceExt;

use crate::common::*;

/// How many bytes of large bodies one organization may have in memory.
const MOST: usize = 64 * 1024 * 1024;

async fn send(app: &Router, key: &Secret, path: &str, body: Option<Value>) -> axum::response::Response {
    let request = Request::builder().uri(path).header("X-Api-Key", key.expose());
    let request = match body {
        Some(body) => {
            request.method("POST").header("Content-Type", "application/json").body(Body::from(body.to_string()))
        }
        None => request.body(Body::empty()),
    };
    app.clone().oneshot(request.expect("a request")).await.expect("a response")
}

#[test]
fn an_organization_that_does_not_receive_large_responses_gets_503_and_others_go_on() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 0, 10);
    let logo = pixel_logo(LARGEST_FILE, 0);
    let change = UpdateTicketType::default().ticket_logo(logo.clone());
    fixture.service.update_ticket_type(&fixture.caller, ticket_type.id, change).expect("a logo");
    let code = fixture.issue(&ticket_type, 1).remove(0).code;
    let key = |caller: &Caller| {
        fixture.service.create_api_key(caller.organization(), CreateApiKey::new("Test")).expect("a key").key
    };
    let (key, of_other) = (key(&fixture.caller), key(&fixture.other_organization()));
    let app = router(fixture.service.clone(), &ServerOptions::default());
    let large = format!("/v1/ticket-types/{}", ticket_type.id);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        // Before this, the server does not know the organization of the key.
        assert_eq!(send(&app, &key, "/v1/events", None).await.status(), 200);
        let mut unread = Vec::new();
        let refused = loop {
            let response = send(&app, &key, &large, None).await;
            if response.status() != 200 {
                break response;
            }
            unread.push(response);
            assert!(unread.len() < 200, "none is refused");
        };
        assert_eq!((refused.status().as_u16(), refused.headers()["retry-after"].as_bytes()), (503, &b"1"[..]));
        assert_eq!(send(&app, &key, "/v1/events", None).await.status(), 503);
        let scan = send(&app, &key, "/v1/tickets/check-in", Some(json!({"code": code}))).await;
        assert_eq!(scan.status(), 200, "nobody waits at the entrance");
        assert_eq!(send(&app, &of_other, "/v1/events", None).await.status(), 200);

        let received = unread.pop().expect("a response");
        let received = to_bytes(received.into_body(), usize::MAX).await.expect("a body");
        assert_eq!(serde_json::from_slice::<Value>(&received).expect("JSON")["ticketLogo"], logo);
        assert_eq!(unread.len() + 1, MOST.div_ceil(received.len()));
        assert_eq!(send(&app, &key, &large, None).await.status(), 200);
    });
}
