//! Programs that authenticate callers themselves, and handlers of their own that call the service and return its
//! errors.

use std::error::Error as _;

use axum::Router;
use axum::extract::{FromRef, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::{get, post};
use serde_json::Value;
use ticketing::error::ResourceKind;
use ticketing::id::EventId;
use ticketing::order::{CreateOrder, NewCustomer};
use ticketing::organization::{ListOrganizations, Scope};
use ticketing::payment::{Checkout, CheckoutRequest, GatewayError, GatewayRefund, PaymentGateway, RefundRequest};
use ticketing::server::{Routes, router};
use ticketing::{Builder, Caller, Error, Result, TicketingService};

use crate::common::http::{EventOnSale, Server, event_on_sale};
use crate::http::walkthrough::Document;

/// The state of an application around the service.
#[derive(Clone)]
struct App {
    service: TicketingService,
}

impl FromRef<App> for TicketingService {
    fn from_ref(app: &App) -> Self {
        app.service.clone()
    }
}

/// The login of the application: the user `organizer` may do everything, and `entrance` only check tickets in. `key` is
/// a user who has an API key.
async fn log_in(State(app): State<App>, mut request: Request, next: Next) -> Response {
    if let Some(user) = request.headers().get("x-user") {
        let user = user.to_str().unwrap().to_owned();
        let caller = app.service.run(move |service| caller(service, &user)).await.unwrap();
        request.extensions_mut().insert(caller);
    }
    next.run(request).await
}

fn caller(service: &TicketingService, user: &str) -> Result<Caller> {
    let organizer = || service.act_for(service.list_organizations(ListOrganizations::default())?.data[0].id);
    match user {
        "organizer" => organizer(),
        "entrance" => Ok(organizer()?.with_scopes([Scope::TicketsCheckIn])),
        key => service.authenticate(key),
    }
}

/// Returns the title of an event.
async fn title(State(service): State<TicketingService>, caller: Caller, request: Request) -> Result<String> {
    let id: EventId =
        request.uri().query().and_then(|id| id.parse().ok()).ok_or(Error::NotFound(ResourceKind::Event))?;
    service.run(move |service| Ok(service.get_event(&caller, id)?.title)).await
}

/// Orders a ticket.
async fn order(State(service): State<TicketingService>, caller: Caller, request: Request) -> Result<String> {
    let (event, ticket_type) = request.uri().query().unwrap().split_once('&').unwrap();
    let customer = NewCustomer::new("Ada", "ada@example.com");
    let request = CreateOrder::new(event.parse().unwrap(), customer, ticket_type.parse().unwrap(), 1);
    service.run(move |service| Ok(service.create_order(&caller, request)?.order.id.to_string())).await
}

/// A server with the routes of the service, and routes of the application under `/own`; those under `/observed` have
/// the middleware of the server too.
fn application(configure: impl FnOnce(Builder) -> Builder, rate_limit: Option<u32>) -> Server {
    Server::with_app(
        configure,
        |options| options.rate_limit = rate_limit,
        |service, options| {
            let app = App { service: service.clone() };
            let own = || Router::new().route("/title", get(title)).route("/orders", post(order));
            let observed = Routes::new(service.clone(), options).observe(own());
            Router::new()
                .merge(router(service, options))
                .nest("/own", own())
                .nest("/observed", observed)
                .layer(from_fn_with_state(app.clone(), log_in))
                .with_state(app)
        },
    )
}

/// What the browser of the user `organizer` sends for a page: the login, and what it says of the page.
fn browser(page: &[&str]) -> Vec<String> {
    [user("organizer")].into_iter().chain(page.iter().map(|header| (*header).to_owned())).collect()
}

/// The paths of requests that change something and have no body, or none that they need. Their resources do not exist.
fn without_body(server: &Server) -> Vec<String> {
    let operations = Document::of(server).operations().into_iter();
    let posts = operations.filter(|operation| operation.method == "POST" && operation.path.starts_with("/v1/"));
    let optional = posts.filter(|operation| operation.spec["requestBody"]["required"] != true);
    let paths: Vec<_> = optional.map(|operation| operation.path_of_unknown()).collect();
    assert!(paths.len() >= 10, "{paths:?}");
    paths
}

#[test]
fn a_page_of_another_site_cannot_use_the_login_of_the_program() {
    let server = application(Builder::sandbox_gateway, None);
    let paths = without_body(&server);
    let mut client = server.client_with("");
    for page in [
        &["Sec-Fetch-Site: cross-site"][..],
        &["Sec-Fetch-Site: same-site"],
        &["Sec-Fetch-Site: "],
        // What a browser says of the site counts, and not whether the origin looks like the host.
        &["Sec-Fetch-Site: cross-site", "Origin: http://localhost"],
        &["Origin: https://evil.example"],
        &["Origin: null"],
        &["Origin: localhost"],
        &["Origin: http://localhost.evil.example"],
        &["Origin: http://localhost:8080"],
        &["Origin: http://localhost:443"],
        &["Origin: https://shop.example"],
    ] {
        let headers = browser(page);
        let headers: Vec<_> = headers.iter().map(String::as_str).collect();
        for path in paths.iter().map(String::as_str).chain(["/v1/nothing"]) {
            let refused = client.send("POST", path, &headers, b"").expect(403).problem();
            assert_eq!(refused["detail"], "the request comes from a page of another site", "{path} {page:?}");
            assert_eq!(refused["type"], "urn:ticketing:problem:forbidden");
        }
        for (method, path) in [("PATCH", "/v1/events/event_0"), ("DELETE", "/v1/events/event_0"), ("PUT", "/v1/events")]
        {
            client.send(method, path, &headers, b"").expect(403);
        }
        // The response of a safe method cannot be read by the page.
        client.send("GET", "/v1/events", &headers, b"").expect(200);
        // A handler of the application that takes the caller.
        for own in ["/own", "/observed"] {
            client.send("POST", &format!("{own}/orders?a&b"), &headers, b"").expect(403);
        }
    }
}

#[test]
fn a_page_of_the_program_and_a_client_that_is_no_browser_can_use_its_login() {
    let configure = |builder: Builder| builder.sandbox_gateway().public_url("https://shop.example/tickets");
    let server = application(configure, None);
    let paths = without_body(&server);
    let mut client = server.client_with("");
    for page in [
        &[][..],
        &["Sec-Fetch-Site: same-origin"],
        &["Sec-Fetch-Site: none"],
        &["Sec-Fetch-Site: same-origin", "Origin: https://shop.example"],
        // The host of the request. A proxy may have ended TLS.
        &["Origin: http://localhost"],
        &["Origin: https://LOCALHOST"],
        // A proxy with TLS has replaced the host of the request.
        &["Origin: https://shop.example"],
    ] {
        let headers = browser(page);
        let headers: Vec<_> = headers.iter().map(String::as_str).collect();
        for path in &paths {
            // The server sends no mails, whatever the id.
            let is_mail =
                path.ends_with("/resend-tickets") || path.contains("/v1/tickets/") && path.ends_with("/resend");
            let status = if is_mail { 409 } else { 404 };
            client.send("POST", path, &headers, b"").expect(status);
        }
    }
}

#[test]
fn an_api_key_is_used_by_any_page_that_has_it() {
    let server = application(Builder::sandbox_gateway, None);
    for page in ["Sec-Fetch-Site: cross-site", "Origin: https://shop.example"] {
        server.client().send("POST", "/v1/orders/order_0/cancel", &[page], b"").expect(404);
    }
}

#[test]
fn the_media_types_of_forms_are_refused_also_without_a_body() {
    let server = application(Builder::sandbox_gateway, None);
    let paths = without_body(&server);
    let mut of_key = server.client();
    let mut of_user = server.client_with("");
    for media_type in [
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain",
        "Text/Plain;charset=UTF-8",
    ] {
        let header = format!("Content-Type: {media_type}");
        for path in &paths {
            of_key.send("POST", path, &[&header], b"").expect(415);
            of_user.send("POST", path, &[&header, &user("organizer")], b"").expect(415);
        }
    }
    for header in ["Content-Type: application/json", "Content-Type: application/octet-stream", "Accept: */*"] {
        of_key.send("POST", &paths[0], &[header], b"").expect(404);
    }
}

fn user(name: &str) -> String {
    format!("X-User: {name}")
}

#[test]
fn a_caller_in_the_extensions_needs_no_key_and_has_its_own_scopes() {
    let server = application(Builder::sandbox_gateway, Some(1));
    let mut client = server.client_with("");
    for _ in 0..3 {
        let listed = client.send("GET", "/v1/events", &[&user("organizer")], b"").expect(200);
        // A caller without an API key has no rate limit.
        assert_eq!(listed.header("x-ratelimit-limit"), None);
    }
    let refused = client.send("GET", "/v1/events", &[&user("entrance")], b"").expect(403);
    assert_eq!(refused.code(), "forbidden");
    // The caller has no API key, so the text speaks of none.
    assert_eq!(refused.json()["detail"], "the scope events:read is required");
    assert_eq!(client.send("GET", "/v1/nothing", &[&user("entrance")], b"").expect(404).code(), "not-found");
    client.get("/v1/events").expect(401);
    // The application's caller counts, not the key in the request.
    let mut client = server.client();
    client.send("GET", "/v1/events", &[&user("entrance")], b"").expect(403);
}

#[test]
fn a_caller_with_a_key_has_the_rate_limit_of_the_key() {
    let server = application(Builder::sandbox_gateway, Some(2));
    let with_key = user(&server.key);
    let first = server.client_with("").send("GET", "/v1/events", &[&with_key], b"").expect(200);
    assert_eq!(first.header("x-ratelimit-remaining"), Some("1"));
    server.client().get("/v1/events").expect(200);
    server.client_with("").send("GET", "/v1/events", &[&with_key], b"").expect(429);
}

#[test]
fn a_handler_gets_the_caller_of_the_key_or_of_the_login() {
    let server = application(Builder::sandbox_gateway, None);
    let EventOnSale { event, .. } = event_on_sale(&mut server.client(), "summer-night");
    let path = format!("/own/title?{event}");
    assert_eq!(server.client().get(&path).expect(200).text(), "Summer Night");
    let mut anonymous = server.client_with("");
    assert_eq!(anonymous.send("GET", &path, &[&user("organizer")], b"").expect(200).text(), "Summer Night");
    for key in ["", "tk_wrong"] {
        let refused = server.client_with(key).get(&path).expect(401);
        assert_eq!(refused.header("www-authenticate"), Some("ApiKey"));
        assert_eq!(refused.json()["type"], "urn:ticketing:problem:unauthenticated");
    }
    let twice = format!("X-Api-Key: {}", server.key);
    server.client().send("GET", &path, &[&twice], b"").expect(401);
}

/// Removes the members that depend on the request.
fn without_request(mut problem: Value) -> Value {
    problem.as_object_mut().unwrap().retain(|name, _| name != "instance" && name != "requestId");
    problem
}

#[test]
fn an_error_of_a_handler_is_the_problem_of_the_server() {
    let server = application(Builder::sandbox_gateway, None);
    let mut client = server.client();
    let of_server = client.get("/v1/events/event_0").expect(404).problem();
    let of_handler = client.get("/own/title?event_0").expect(404);
    assert_eq!(of_handler.header("content-type"), Some("application/problem+json"));
    assert_eq!(of_handler.header("x-request-id"), None);
    assert_eq!(of_handler.json(), without_request(of_server.clone()));
    let observed = client.send("GET", "/observed/title?event_0", &["X-Request-Id: mine"], b"").expect(404);
    let problem = observed.problem();
    assert_eq!(observed.header("x-request-id"), Some("mine"));
    assert_eq!(problem["instance"], "/observed/title");
    assert_eq!(without_request(problem), without_request(of_server));
}

/// A gateway that refuses every checkout.
struct RefusingGateway;

impl PaymentGateway for RefusingGateway {
    fn start_checkout(&self, _: &CheckoutRequest) -> Result<Checkout, GatewayError> {
        Err(GatewayError::Refused("http://10.0.0.7/pay knows no account 4711".to_owned()))
    }

    fn refund(&self, request: &RefundRequest) -> Result<GatewayRefund, GatewayError> {
        Ok(request.made("refund"))
    }
}

#[test]
fn neither_a_response_nor_the_message_of_an_error_has_the_text_of_the_gateway() {
    let server = application(|builder| builder.payment_gateway(RefusingGateway), None);
    let EventOnSale { event, ticket_type } = event_on_sale(&mut server.client(), "summer-night");
    for path in ["/own/orders", "/observed/orders"] {
        let failed = server.client().post_empty(&format!("{path}?{event}&{ticket_type}")).expect(502);
        assert_eq!(failed.json()["type"], "urn:ticketing:problem:payment-gateway-failed");
        assert!(!failed.text().contains("10.0.0.7") && !failed.text().contains("4711"), "{}", failed.text());
    }
    let caller = server.service.act_for(server.organization).unwrap();
    let customer = NewCustomer::new("Ada", "ada@example.com");
    let order = CreateOrder::new(event.parse().unwrap(), customer, ticket_type.parse().unwrap(), 1);
    let error = server.service.create_order(&caller, order).unwrap_err();
    assert!(!error.to_string().contains("10.0.0.7"), "{error}");
    assert!(error.is_retryable());
    // The text for the log.
    let source = error.source().and_then(|source| source.downcast_ref::<GatewayError>());
    assert_eq!(source, Some(&GatewayError::Refused("http://10.0.0.7/pay knows no account 4711".to_owned())));
}
