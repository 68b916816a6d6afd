//! The routes inside another application: under a prefix, in parts, and without a socket.

use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use axum::routing::get;
use serde_json::json;
use ticketing::organization::CreateApiKey;
use ticketing::server::{Routes, ServerOptions, router};
use tower::ServiceExt;

use crate::common::Fixture;
use crate::common::http::{EventOnSale, Response, Server, event_on_sale, id, order_of};

const PREFIX: &str = "/api/tickets";

/// A server whose routes are nested under [`PREFIX`], next to a page of the application.
fn nested(public_url: &str) -> Server {
    let configure = |builder: ticketing::Builder| builder.sandbox_gateway().public_url(public_url);
    Server::with_app(
        configure,
        |_| {},
        |service, options| Router::new().route("/", get(async || "My shop")).nest(PREFIX, router(service, options)),
    )
}

/// What follows the host in a URL.
fn path_of(url: &str) -> String {
    format!("/{}", url.splitn(4, '/').nth(3).unwrap())
}

fn location(response: &Response) -> &str {
    response.header("location").unwrap()
}

#[test]
fn the_location_of_a_created_resource_can_be_requested_under_a_prefix() {
    let server = nested("https://shop.example/api/tickets");
    let mut client = server.client().under(PREFIX);
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let discount = json!({
        "eventId": event, "code": "EARLY", "type": "PERCENTAGE", "value": 10,
        "validFrom": "2020-01-01T00:00:00Z", "validTo": "9000-01-01T00:00:00Z",
    });
    for (path, resources, body) in [
        (
            format!("/v1/events/{event}/ticket-types"),
            "ticket-types",
            json!({"name": "VIP", "price": 50, "quantity": 1}),
        ),
        ("/v1/discounts".to_owned(), "discounts", discount),
        ("/v1/orders".to_owned(), "orders", order_of(&event, &ticket_type, 1)),
    ] {
        let created = client.post(&path, &body).expect(201);
        let created_id = match resources {
            "orders" => created.json()["order"]["id"].as_str().unwrap().to_owned(),
            _ => id(&created),
        };
        assert_eq!(location(&created), format!("/api/tickets/v1/{resources}/{created_id}"));
        assert_eq!(id(&server.client().get(location(&created)).expect(200)), created_id);
    }
}

#[test]
fn a_proxy_may_remove_a_prefix_that_the_public_url_names() {
    let configure = |builder: ticketing::Builder| builder.public_url("https://shop.example/tickets/");
    let server = Server::with(configure, |_| {});
    let mut client = server.client();
    let event = json!({
        "title": "Summer Night", "slug": "summer-night", "startDate": "9000-06-01T18:00:00Z",
        "deliveryMethod": "DIGITAL",
    });
    let created = client.post("/v1/events", &event).expect(201);
    assert_eq!(location(&created), format!("/tickets/v1/events/{}", id(&created)));
    let problem = client.get("/v1/events/event_0").expect(404).problem();
    assert_eq!(problem["instance"], "/tickets/v1/events/event_0");
}

#[test]
fn the_checkout_page_redirects_to_itself_under_a_prefix() {
    let server = nested("https://shop.example/api/tickets");
    let mut client = server.client().under(PREFIX);
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let created = client.post("/v1/orders", &order_of(&event, &ticket_type, 1)).expect(201).json();
    let page = path_of(created["checkoutUrl"].as_str().unwrap());
    assert!(page.starts_with("/api/tickets/checkout/"), "{page}");
    let mut customer = server.client_with("");
    customer.get(&page).expect(200);
    let paid = customer.send("POST", &page, &[], b"outcome=success").expect(303);
    // Relative to the page (RFC 3986, 5.2.3).
    let (folder, _) = page.rsplit_once('/').unwrap();
    assert!(!location(&paid).contains('/'), "{}", location(&paid));
    let shown = customer.get(&format!("{folder}/{}", location(&paid))).expect(200);
    assert!(shown.text().contains("Paid"), "{}", shown.text());
}

#[test]
fn problems_name_the_requested_path_and_metrics_the_whole_route_under_a_prefix() {
    let server = nested("http://127.0.0.1");
    let mut client = server.client().under(PREFIX);
    for (method, path, status) in [
        ("GET", "/v1/events/event_0", 404),
        ("GET", "/v1/nothing?q=1", 404),
        ("GET", "/nothing", 404),
        ("PUT", "/v1/events", 405),
        ("POST", "/health/live", 405),
    ] {
        let problem = client.send(method, path, &[], b"").expect(status).problem();
        let expected = format!("{PREFIX}{}", path.split('?').next().unwrap());
        assert_eq!(problem["instance"], expected, "{method} {path}");
    }
    let unauthenticated = server.client_with("").under(PREFIX).get("/v1/nothing").expect(401);
    assert_eq!(unauthenticated.problem()["instance"], "/api/tickets/v1/nothing");
    let metrics = client.get("/metrics").expect(200);
    let count = |labels: &str| {
        let series = format!("ticketing_http_requests_total{{{labels}}} ");
        metrics.text().lines().find_map(|line| line.strip_prefix(&series)).map(str::to_owned)
    };
    let one = Some("1".to_owned());
    assert_eq!(count(r#"route="/api/tickets/v1/events/{eventId}",method="GET",status="404""#), one);
    assert_eq!(count(r#"route="-",method="GET",status="404""#), Some("2".to_owned()));
    assert_eq!(count(r#"route="-",method="GET",status="401""#), one);
}

#[test]
fn problems_of_the_application_name_its_path_and_not_that_of_the_public_url() {
    let configure = |builder: ticketing::Builder| builder.public_url("https://shop.example/api/tickets");
    let server = Server::with_app(
        configure,
        |_| {},
        |service, options| {
            let refuse = async || Err::<(), _>(ticketing::Error::Unauthenticated);
            let own = Router::new().route("/buy", get(refuse)).nest("/shop", Router::new().route("/buy", get(refuse)));
            let observed = Routes::new(service.clone(), options).observe(own);
            Router::new().merge(observed).nest(PREFIX, router(service, options))
        },
    );
    let mut client = server.client();
    for path in ["/buy", "/shop/buy"] {
        assert_eq!(client.get(path).expect(401).problem()["instance"], path);
    }
    let of_server = "/api/tickets/v1/events/event_0";
    assert_eq!(client.get(of_server).expect(404).problem()["instance"], of_server);
}

#[test]
fn the_document_and_its_page_work_under_a_prefix() {
    let server = nested("http://127.0.0.1");
    let mut client = server.client();
    let page = client.get("/api/tickets/docs").expect(200);
    // What the page loads is relative to it, as is the document that it shows.
    for file in ["openapi.json", "openapi.json?server=same-origin", "docs/scalar.js"] {
        assert!(page.text().contains(&format!("\"{file}\"")), "{}", page.text());
        client.get(&format!("/api/tickets/{file}")).expect(200);
    }
    let document = client.get("/api/tickets/openapi.json").expect(200).json();
    // "Try it" appends the path of an operation to the URL of the server, which is relative to the document.
    let base = document["servers"][0]["url"].as_str().unwrap();
    assert_eq!(base, "/api/tickets");
    assert!(document["paths"].get("/v1/events").is_some());
    client.get(&format!("{base}/v1/events")).expect(200);
}

#[test]
fn the_page_of_the_server_has_links_that_work_under_a_prefix() {
    let server = nested("https://shop.example/api/tickets");
    let mut client = server.client_with("");
    let page = client.send("GET", PREFIX, &["Accept: text/html"], b"").expect(200);
    for link in ["/api/tickets/docs", "/api/tickets/door/"] {
        assert!(page.text().contains(&format!("<a href=\"{link}\">")), "{}", page.text());
        client.get(link).expect(200);
    }
    assert_eq!(client.get("/").expect(200).text(), "My shop");
}

#[test]
fn the_server_in_the_document_is_the_public_url_of_the_routes() {
    let servers = |server: &Server, path: &str| server.client().get(path).expect(200).json()["servers"].clone();
    let with_url = |url: &str| Server::with(|builder| builder.public_url(url), |_| {});
    let same_origin = "/openapi.json?server=same-origin";
    for (server, path, expected) in [
        (with_url("https://shop.example"), "/openapi.json", "https://shop.example"),
        // A proxy removes the prefix.
        (with_url("https://shop.example/tickets/"), "/openapi.json", "https://shop.example/tickets"),
        (nested("https://shop.example/api/tickets"), "/api/tickets/openapi.json", "https://shop.example/api/tickets"),
        (
            nested("https://shop.example/a/api/tickets"),
            "/api/tickets/openapi.json?q=/",
            "https://shop.example/a/api/tickets",
        ),
        // The public URL is not that of these routes.
        (nested("https://shop.example/pay"), "/api/tickets/openapi.json", "/api/tickets"),
        // The page at `/docs` is loaded from an address that is not the public one.
        (with_url("https://shop.example"), same_origin, "/"),
        (with_url("https://shop.example/tickets"), same_origin, "/tickets"),
        (nested("https://shop.example/api/tickets"), &format!("/api/tickets{same_origin}"), "/api/tickets"),
    ] {
        assert_eq!(servers(&server, path), json!([{"url": expected, "description": "This server"}]), "{path}");
    }
}

#[test]
fn without_a_public_url_the_server_in_the_document_is_the_path_of_the_routes() {
    let folder = tempfile::tempdir().unwrap();
    let service = ticketing::TicketingService::open(folder.path().join("ticketing.db")).unwrap();
    let app: Router = Router::new().nest("/shop", router(service, &ServerOptions::default()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let request = Request::get("/shop/openapi.json").body(Body::empty()).unwrap();
    let body = runtime.block_on(async { to_bytes(app.oneshot(request).await.unwrap().into_body(), usize::MAX).await });
    let document: serde_json::Value = serde_json::from_slice(&body.unwrap()).unwrap();
    assert_eq!(document["servers"], json!([{"url": "/shop", "description": "This server"}]));
}

#[test]
fn the_prefix_may_have_parameters_of_its_own() {
    let app = |service, options: &ServerOptions| Router::new().nest("/t/{tenant}", router(service, options));
    let server = Server::with_app(ticketing::Builder::sandbox_gateway, |_| {}, app);
    let mut client = server.client().under("/t/caf%C3%A9");
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    assert_eq!(id(&client.get(&format!("/v1/events/{event}")).expect(200)), event);
    let types = client.get(&format!("/v1/events/{event}/ticket-types")).expect(200);
    assert_eq!(types.json()["data"][0]["id"], ticket_type.as_str());
    let created = client.post("/v1/orders", &order_of(&event, &ticket_type, 1)).expect(201);
    assert!(location(&created).starts_with("/t/caf%C3%A9/v1/orders/order_"), "{}", location(&created));
    let checkout = created.json()["checkoutUrl"].as_str().unwrap().rsplit_once('/').unwrap().1.to_owned();
    client.get(&format!("/checkout/{checkout}")).expect(200);
    // A quote in the path cannot end the string in the document.
    let mut quoted = server.client().under("/t/\"x");
    assert_eq!(quoted.get("/openapi.json").expect(200).json()["servers"][0]["url"], "/t/\"x");
}

/// A server that has only these routes, and answers all other paths with `"My shop"`.
fn with_parts(parts: impl FnOnce(&Routes) -> Router) -> Server {
    Server::with_app(
        ticketing::Builder::sandbox_gateway,
        |_| {},
        |service, options| parts(&Routes::new(service, options)).fallback(async || "My shop"),
    )
}

#[test]
fn a_part_has_its_own_routes_only() {
    const ROUTES: [(&str, &[&str]); 7] = [
        ("operations", &["/v1/events", "/v1/discounts"]),
        ("checkout", &["/checkout/unknown"]),
        ("notices", &["/gateway/notices"]),
        ("health", &["/health/live", "/health/ready"]),
        ("door", &["/door/", "/door/sw.js"]),
        ("metrics", &["/metrics"]),
        (
            "docs",
            if cfg!(feature = "docs-page") {
                &["/openapi.json", "/docs", "/docs/scalar.js"]
            } else {
                &["/openapi.json"]
            },
        ),
    ];
    for (mounted, _) in ROUTES {
        let server = with_parts(|routes| match mounted {
            "operations" => routes.operations(),
            "checkout" => routes.checkout(),
            "notices" => routes.notices(),
            "health" => routes.health(),
            "door" => routes.door(),
            "metrics" => routes.metrics(),
            _ => routes.docs(),
        });
        let mut client = server.client();
        for (part, paths) in ROUTES {
            for path in paths {
                let response = client.get(path);
                assert_eq!(response.body == b"My shop", part != mounted, "{mounted}: {path}");
                assert_eq!(response.header("x-request-id").is_some(), part == mounted, "{mounted}: {path}");
            }
        }
    }
}

#[test]
fn unknown_paths_below_v1_need_a_key_also_if_only_the_operations_are_mounted() {
    let server = with_parts(|routes| Router::new().route("/v1/own", get(async || "mine")).merge(routes.operations()));
    for path in ["/v1", "/v1/", "/v1/nothing", "/v1/events/x/y/z"] {
        assert_eq!(server.client_with("").get(path).expect(401).code(), "unauthenticated", "{path}");
        assert_eq!(server.client().get(path).expect(404).code(), "not-found", "{path}");
    }
    // A route of the application takes precedence.
    assert_eq!(server.client_with("").get("/v1/own").expect(200).text(), "mine");
    assert_eq!(server.client_with("").get("/v1x").expect(200).text(), "My shop");
}

#[test]
fn parts_in_different_places_share_metrics_and_limits() {
    let server = Server::with_app(
        ticketing::Builder::sandbox_gateway,
        |options| options.rate_limit = Some(2),
        |service, options| {
            let routes = Routes::new(service, options);
            Router::new()
                .nest("/a", routes.operations())
                .nest("/b", routes.clone().operations())
                .nest("/internal", routes.metrics())
        },
    );
    let mut client = server.client();
    client.get("/a/v1/events").expect(200);
    client.get("/b/v1/events").expect(200);
    client.get("/a/v1/events").expect(429);
    let metrics = client.get("/internal/metrics").expect(200);
    for series in [
        r#"ticketing_http_requests_total{route="/a/v1/events",method="GET",status="200"} 1"#,
        r#"ticketing_http_requests_total{route="/b/v1/events",method="GET",status="200"} 1"#,
        r#"ticketing_http_requests_total{route="/a/v1/events",method="GET",status="429"} 1"#,
        "ticketing_http_connections 1",
    ] {
        assert!(metrics.text().lines().any(|line| line == series), "{series}: {}", metrics.text());
    }
}

#[test]
fn invalid_http_is_refused_before_the_routes_of_the_application() {
    let server = with_parts(|_| Router::new());
    let send = |head: &str| {
        let mut client = server.client_with("");
        client.write(format!("{head}\r\n\r\n").as_bytes());
        client.read_response().unwrap()
    };
    assert_eq!(send("GET /shop HTTP/1.1\r\nHost: a").expect(200).text(), "My shop");
    for head in [
        "GET /shop HTTP/1.1\r\nX: y",
        "GET /shop HTTP/1.1\r\nHost: a\r\nHost: a",
        "POST /shop HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 0",
        "POST /shop HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked",
        &format!("GET /shop?{} HTTP/1.1\r\nHost: a", "x".repeat(8 * 1024)),
    ] {
        let refused = send(head).expect(400);
        assert_eq!(refused.code(), "malformed-request", "{head}");
        assert_eq!(refused.problem()["instance"], "/shop");
    }
}

#[test]
fn slow_clients_of_the_application_are_disconnected() {
    let server = Server::with_app(
        |builder| builder,
        |options| options.head_timeout = Duration::from_millis(50),
        |_, _| Router::new().route("/shop", get(async || "My shop")),
    );
    let mut client = server.client_with("");
    client.write(b"GET /shop HTTP/1.1\r\nHost: a\r\n");
    assert!(client.is_closed_within(Duration::from_secs(30)));
}

#[test]
fn everything_but_the_metrics_is_public() {
    let server = Server::with_app(
        ticketing::Builder::sandbox_gateway,
        |_| {},
        |service, options| Router::new().nest("/public", Routes::new(service, options).public()),
    );
    let mut client = server.client().under("/public");
    for path in ["/v1/events", "/health/live", "/health/ready", "/openapi.json", "/docs"] {
        client.get(path).expect(200);
    }
    assert_eq!(client.get("/checkout/unknown").expect(404).header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(client.get("/metrics").expect(404).problem()["instance"], "/public/metrics");
}

#[test]
fn a_request_in_memory_needs_no_host() {
    let fixture = Fixture::new();
    let request = CreateApiKey::new("Test");
    let key = fixture.service.create_api_key(fixture.caller.organization(), request).unwrap().key;
    let app: Router = Router::new().nest("/api", router(fixture.service.clone(), &ServerOptions::default()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(list_events_in_memory(app, key.expose()));
}

async fn list_events_in_memory(app: Router, key: &str) {
    let events = || Request::get("/api/v1/events");
    let response = app.clone().oneshot(events().header("X-Api-Key", key).body(Body::empty()).unwrap()).await;
    let response = response.unwrap();
    assert_eq!(response.status(), 200);
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    assert_eq!(serde_json::from_slice::<serde_json::Value>(&body).unwrap(), json!({"data": [], "nextCursor": null}));
    let response = app.oneshot(events().body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.status(), 401);
    assert_eq!(response.headers()["content-type"], "application/problem+json");
}
