//! The rate limit of each API key, the limit on failed authentications of each address, and which error comes first.

use std::sync::Barrier;
use std::time::Duration;

use crate::common::http::{Client, Response, Server, event_on_sale};
use serde_json::json;
use ticketing::environment::ManualClock;
use ticketing::organization::{CreateApiKey, Scope};
use ticketing::server::ServerOptions;
use ticketing::{Builder, Timestamp};

/// The initial time of the clock: half a second past a full second. The end of a window is rounded up.
fn initial_time() -> Timestamp {
    Timestamp::from_millis(1_800_000_000_500).unwrap()
}

/// The end of a window that starts at `initial_time`, in seconds.
const RESET: &str = "1800000061";

/// Starts a server with a manual clock.
fn start(adjust: impl FnOnce(&mut ServerOptions)) -> (Server, ManualClock) {
    let clock = ManualClock::new(initial_time());
    let server_clock = clock.clone();
    (Server::with(|builder: Builder| builder.sandbox_gateway().clock(server_clock), adjust), clock)
}

fn start_with_limit(limit: u32) -> (Server, ManualClock) {
    start(|options| options.rate_limit = Some(limit))
}

/// The rate limit that a response states.
#[derive(Debug, PartialEq, Eq)]
struct RateLimit<'a> {
    limit: &'a str,
    remaining: &'a str,
    reset: &'a str,
}

fn rate_limit(response: &Response) -> Option<RateLimit<'_>> {
    let limit = response.header("x-ratelimit-limit");
    let remaining = response.header("x-ratelimit-remaining");
    let reset = response.header("x-ratelimit-reset");
    match (limit, remaining, reset) {
        (Some(limit), Some(remaining), Some(reset)) => Some(RateLimit { limit, remaining, reset }),
        (None, None, None) => None,
        headers => panic!("some of the headers are missing: {headers:?}"),
    }
}

#[test]
fn of_many_concurrent_requests_exactly_the_limit_is_served() {
    let (server, _) = start_with_limit(100);
    let start = Barrier::new(16);
    let responses: Vec<Response> = std::thread::scope(|scope| {
        let send_requests = |_| {
            scope.spawn(|| {
                let mut client = server.client();
                start.wait();
                (0..25).map(|_| client.get("/v1/events")).collect::<Vec<_>>()
            })
        };
        let threads: Vec<_> = (0..16).map(send_requests).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let (served, rejected): (Vec<_>, Vec<_>) = responses.iter().partition(|response| response.status != 429);
    assert_eq!(served.len(), 100);
    assert_eq!(rejected.len(), 300);
    let remaining = |response: &&Response| response.header("x-ratelimit-remaining").unwrap().parse::<u32>().unwrap();
    let mut remaining: Vec<_> = served.iter().map(remaining).collect();
    remaining.sort_unstable();
    assert_eq!(remaining, (0..100).collect::<Vec<_>>(), "each request was counted once");
    for response in rejected {
        assert_eq!(response.code(), "rate-limited");
        assert_eq!(response.header("retry-after"), Some("60"));
        assert_eq!(rate_limit(response), Some(RateLimit { limit: "100", remaining: "0", reset: RESET }));
    }
}

#[test]
fn each_key_has_its_own_limit() {
    let (server, clock) = start_with_limit(2);
    let other = server.key_with([Scope::EventsRead]);
    let mut client = server.client();
    for status in [200, 200, 429, 429] {
        client.get("/v1/events").expect(status);
    }
    clock.advance(Duration::from_secs(10));
    let response = server.client_with(&other).get("/v1/events").expect(200);
    assert_eq!(rate_limit(&response), Some(RateLimit { limit: "2", remaining: "1", reset: "1800000071" }));
    server.client().get("/v1/events").expect(429);
}

#[test]
fn a_window_starts_with_the_first_request_and_lasts_60_seconds() {
    let (server, clock) = start_with_limit(2);
    let mut client = server.client();
    let mut assert_served = |remaining: &str, reset: &str| {
        let response = client.get("/v1/events").expect(200);
        assert_eq!(rate_limit(&response), Some(RateLimit { limit: "2", remaining, reset }));
        assert_eq!(response.header("retry-after"), None);
    };
    let assert_rejected = || {
        let response = server.client().get("/v1/events").expect(429);
        assert_eq!(rate_limit(&response), Some(RateLimit { limit: "2", remaining: "0", reset: RESET }));
        assert_eq!(response.header("retry-after"), Some("1"));
    };
    assert_served("1", RESET);
    clock.advance(Duration::from_millis(59_000));
    assert_served("0", RESET);
    assert_rejected();
    clock.advance(Duration::from_millis(999));
    assert_rejected();
    clock.advance(Duration::from_millis(1));
    assert_served("1", "1800000121");
}

#[test]
fn without_a_limit_responses_have_no_rate_limit_headers() {
    let (server, _) = start(|options| options.rate_limit = None);
    let mut client = server.client();
    for _ in 0..1300 {
        assert_eq!(rate_limit(&client.get("/v1/nothing").expect(404)), None);
    }
}

#[test]
fn the_default_limit_is_1200_requests_per_minute() {
    let (server, _) = start(|_| {});
    let mut client = server.client();
    let response = client.get("/v1/events");
    assert_eq!(rate_limit(&response), Some(RateLimit { limit: "1200", remaining: "1199", reset: RESET }));
}

#[test]
fn the_key_of_a_door_link_may_make_300_requests_per_minute() {
    for (of_keys, expected) in [(Some(1200), Some("300")), (Some(100), Some("100")), (None, None)] {
        let (server, clock) = start(|options| options.rate_limit = of_keys);
        let event = event_on_sale(&mut server.client(), "summer-night").event;
        let link = server.client().post(&format!("/v1/events/{event}/door-links"), &json!({"name": "Gate"})).json();
        let mut gate = server.client_with(link["url"].as_str().unwrap().rsplit_once('/').unwrap().1);
        let path = format!("/v1/events/{event}/roster");
        let served = |gate: &mut Client| (0..320).filter(|_| gate.get(&path).status == 200).count();
        let most = expected.map_or(320, |limit| limit.parse().unwrap());
        assert_eq!(served(&mut gate), most);
        assert_eq!(rate_limit(&gate.get(&path)).map(|limit| limit.limit.to_owned()), expected.map(str::to_owned));
        clock.advance(Duration::from_secs(60));
        assert_eq!(served(&mut gate), most);
    }
}

#[test]
fn the_key_of_a_door_link_may_look_up_60_orders_per_hour() {
    let (server, clock) = start(|options| options.rate_limit = None);
    let event = event_on_sale(&mut server.client(), "summer-night").event;
    let links = format!("/v1/events/{event}/door-links");
    let mut gates = ["Gate A", "Gate B"].map(|name| {
        let link = server.client().post(&links, &json!({"name": name})).json();
        server.client_with(link["url"].as_str().unwrap().rsplit_once('/').unwrap().1)
    });
    let path = format!("/v1/events/{event}/roster/orders/order_0000000000001");
    let answered = |gate: &mut Client| (0..70).filter(|_| gate.get(&path).status == 404).count();
    assert_eq!(gates.each_mut().map(answered), [60, 60], "each key has its own");
    let refused = gates[0].get(&path).expect(429);
    assert_eq!((refused.code(), refused.header("retry-after")), ("rate-limited".to_owned(), Some("3600")));
    gates[0].get(&format!("/v1/events/{event}/roster")).expect(200);
    assert_eq!(answered(&mut server.client()), 70, "a key that reads orders anyway");
    clock.advance(Duration::from_millis(3_599_999));
    assert_eq!(answered(&mut gates[0]), 0);
    clock.advance(Duration::from_millis(1));
    assert_eq!(answered(&mut gates[0]), 60);
}

/// Keys that fail to authenticate, each for another reason.
fn invalid_keys(server: &Server, clock: &ManualClock) -> [String; 5] {
    let revoked = server.key_with([Scope::EventsRead]);
    let id = server.service.list_api_keys(server.organization).unwrap()[0].id;
    server.service.revoke_api_key(server.organization, id).unwrap();
    let expires_at = initial_time().saturating_add(Duration::from_millis(1));
    let request = CreateApiKey::new("Test").expires_at(expires_at);
    let expired = server.service.create_api_key(server.organization, request).unwrap();
    clock.advance(Duration::from_millis(1));
    let unknown = Server::start().key.clone();
    [String::new(), "tk_nonsense".to_owned(), unknown, revoked, expired.key.expose().to_owned()]
}

#[test]
fn after_60_failed_authentications_an_address_gets_429_for_invalid_keys() {
    let (server, clock) = start(|_| {});
    let keys = invalid_keys(&server, &clock);
    for key in keys.iter().cycle().take(60) {
        let response = server.client_with(key).get("/v1/events").expect(401);
        assert_eq!(response.code(), "unauthenticated");
        assert_eq!(rate_limit(&response), None);
        assert_eq!(response.header("retry-after"), None);
    }
    let assert_throttled = |retry_after: &str| {
        for key in &keys {
            for path in ["/v1/events", "/v1/nothing"] {
                let response = server.client_with(key).get(path).expect(429);
                assert_eq!(response.code(), "rate-limited");
                assert_eq!(response.header("retry-after"), Some(retry_after));
                assert_eq!(rate_limit(&response), None);
                assert_eq!(response.header("www-authenticate"), None);
            }
        }
    };
    assert_throttled("60");
    // A valid key is accepted all the same, and does not reset the count.
    server.client().get("/v1/events").expect(200);
    clock.advance(Duration::from_millis(59_999));
    assert_throttled("1");
    server.client_with("").get("/health/live").expect(200);
    clock.advance(Duration::from_millis(1));
    server.client_with(&keys[0]).get("/v1/events").expect(401);
}

#[test]
fn failed_authentications_are_limited_even_if_requests_are_not() {
    let (server, _) = start(|options| {
        options.rate_limit = None;
        options.failed_authentications = 2;
    });
    let statuses = (0..4).map(|_| server.client_with("").get("/v1/events").status);
    assert_eq!(statuses.collect::<Vec<_>>(), [401, 401, 429, 429]);
}

#[test]
fn a_flood_of_unknown_keys_is_refused_without_a_look_up_but_known_keys_pass() {
    // From ten times the limit on, and from 1,000 failures on.
    for (limit, failures) in [(60, 1000), (200, 2000)] {
        let (server, clock) = start(|options| {
            options.rate_limit = None;
            options.failed_authentications = limit;
        });
        let [looked_up, unused] = [(); 2].map(|()| server.key_with([Scope::EventsRead]));
        server.client().get("/v1/events").expect(200);
        let unknown = Server::start().key.clone();
        let mut flood = server.client_with(&unknown);
        for _ in 1..failures {
            flood.get("/v1/events");
        }
        server.client_with(&looked_up).get("/v1/events").expect(200);
        flood.get("/v1/events").expect(429);
        // This key is valid, but the server cannot know it without a look-up.
        server.client_with(&unused).get("/v1/events").expect(429);
        server.client().get("/v1/events").expect(200);
        clock.advance(Duration::from_secs(60));
        server.client_with(&unused).get("/v1/events").expect(200);
    }
}

#[test]
fn each_of_many_concurrent_failed_authentications_is_counted() {
    let (server, _) = start(|_| {});
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let send_requests = |_| {
            let mut client = server.client_with("tk_nonsense");
            scope.spawn(move || (0..10).map(|_| client.get("/v1/events").status).collect::<Vec<_>>())
        };
        let threads: Vec<_> = (0..8).map(send_requests).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let count = |expected| statuses.iter().filter(|status| **status == expected).count();
    assert_eq!(count(401), 60);
    assert_eq!(count(429), 20);
}

/// A request with several errors.
struct InvalidRequest<'a> {
    key: &'a str,
    method: &'static str,
    path: &'static str,
    headers: &'static [&'static str],
    body: &'static str,
    expected: ExpectedProblem,
}

struct ExpectedProblem {
    status: u16,
    code: &'static str,
    /// A part of the detail.
    detail: &'static str,
}

impl InvalidRequest<'_> {
    fn head(&self) -> String {
        let mut lines = vec![format!("{} {} HTTP/1.1\r\nHost: a\r\nX-Api-Key: {}", self.method, self.path, self.key)];
        lines.extend(self.headers.iter().map(|line| (*line).to_owned()));
        if !self.headers.iter().any(|line| line.starts_with("Content-Length")) {
            lines.push(format!("Content-Length: {}", self.body.len()));
        }
        lines.join("\r\n") + "\r\n\r\n"
    }

    fn assert_problem(&self, response: &Response) {
        let problem = response.problem();
        let line = format!("{} {}: {problem}", self.method, self.path);
        assert_eq!(response.status, self.expected.status, "{line}");
        assert_eq!(response.code(), self.expected.code, "{line}");
        assert!(problem["detail"].as_str().unwrap().contains(self.expected.detail), "{line}");
    }
}

#[test]
fn a_request_with_two_errors_gets_the_problem_of_the_first() {
    const JSON: &str = "Content-Type: application/json";
    const TEXT: &str = "Content-Type: text/plain";
    const BIG: &str = "Content-Length: 1048577";
    const BAD_KEY: &str = "Idempotency-Key: two words";
    let (server, _) = start_with_limit(40);
    let (full, anonymous) = (&server.key, String::new());
    let without_scope = server.key_with([Scope::OrdersRead]);
    let used_up = server.key_with([Scope::EventsRead]);
    let used_up_and_revoked = server.key_with([Scope::EventsRead]);
    for key in [&used_up_and_revoked, &used_up] {
        let mut client = server.client_with(key);
        for _ in 0..40 {
            client.get("/v1/events").expect(200);
        }
        client.get("/v1/events").expect(429);
    }
    let revoked = server.service.authenticate(&used_up_and_revoked).unwrap().key().unwrap();
    server.service.revoke_api_key(server.organization, revoked).unwrap();

    let request = |key, method, path, headers, body, (status, code, detail)| {
        let expected = ExpectedProblem { status, code, detail };
        InvalidRequest { key, method, path, headers, body, expected }
    };
    let before_the_body = [
        // The key, and the route, the method or the size: unknown paths need one too.
        request(&anonymous, "PUT", "/v1", &[BIG], "", (401, "unauthenticated", "X-Api-Key")),
        request(&anonymous, "PUT", "/v1/nothing", &[BIG], "", (401, "unauthenticated", "X-Api-Key")),
        request(&anonymous, "PUT", "/v1/events", &[BIG], "", (401, "unauthenticated", "X-Api-Key")),
        // The key, and the rate limit.
        request(&used_up_and_revoked, "GET", "/v1/events", &[], "", (401, "unauthenticated", "X-Api-Key")),
        // The rate limit, and the route or the method.
        request(&used_up, "POST", "/v1/nothing", &[], "", (429, "rate-limited", "40 requests")),
        request(&used_up, "PUT", "/v1/events", &[], "", (429, "rate-limited", "40 requests")),
        // The method, and the scope.
        request(&without_scope, "PUT", "/v1/events", &[], "", (405, "method-not-allowed", "")),
        request(&without_scope, "POST", "/v1/nothing", &[BIG], "", (404, "not-found", "path")),
        // The scope, and the size.
        request(&without_scope, "POST", "/v1/events", &[BIG, JSON], "", (403, "forbidden", "events:write")),
        // The size, and the media type.
        request(full, "POST", "/v1/events", &[BIG, TEXT], "", (413, "payload-too-large", "")),
    ];
    for request in before_the_body {
        let mut client = server.client();
        client.write(request.head().as_bytes());
        request.assert_problem(&client.read_response().unwrap());
    }
    let with_the_body = [
        // The media type, and the syntax.
        request(full, "POST", "/v1/events", &[TEXT], "[}", (415, "unsupported-media-type", "")),
        request(full, "POST", "/v1/events", &[TEXT, BAD_KEY], "{}", (415, "unsupported-media-type", "")),
        // The syntax, and the idempotency key.
        request(full, "POST", "/v1/events", &[JSON, BAD_KEY], "[}", (400, "malformed-request", "JSON")),
        request(full, "POST", "/v1/events", &[JSON, BAD_KEY], "", (400, "malformed-request", "empty")),
        request(
            full,
            "POST",
            "/v1/orders/nothing/cancel",
            &[JSON, BAD_KEY],
            "{",
            (400, "malformed-request", "ends too early"),
        ),
        // The syntax, and the path.
        request(full, "PATCH", "/v1/events/nothing", &[JSON], "[}", (400, "malformed-request", "JSON")),
        request(full, "PATCH", "/v1/events/nothing", &[JSON], "{}", (404, "not-found", "event")),
        // The idempotency key, and the content of the body or the path.
        request(full, "POST", "/v1/events", &[JSON, BAD_KEY], "{}", (400, "malformed-request", "Idempotency-Key")),
        request(full, "POST", "/v1/events", &[JSON, BAD_KEY], "[]", (400, "malformed-request", "Idempotency-Key")),
        request(
            full,
            "POST",
            "/v1/orders/nothing/cancel",
            &[BAD_KEY],
            "",
            (400, "malformed-request", "Idempotency-Key"),
        ),
    ];
    for request in with_the_body {
        let mut client: Client = server.client();
        client.write((request.head() + request.body).as_bytes());
        request.assert_problem(&client.read_response().unwrap());
        // The same if the body arrives later.
        client.write(request.head().as_bytes());
        std::thread::sleep(Duration::from_millis(20));
        client.write(request.body.as_bytes());
        request.assert_problem(&client.read_response().unwrap());
    }
    // A request without errors is carried out.
    let event = json!({"title": "Jazz", "slug": "a", "startDate": "9000-06-01T18:00:00Z", "deliveryMethod": "DIGITAL"});
    server.client().post_with_key("key", "/v1/events", &event).expect(201);
}

#[test]
fn an_organization_beyond_its_write_quota_gets_429_with_retry_after() {
    let clock = ManualClock::new(initial_time());
    let server_clock = clock.clone();
    let configure = |builder: Builder| builder.sandbox_gateway().clock(server_clock).write_quota(Some(10_000));
    let server = Server::with(configure, |_| {});
    let mut client = server.client();
    let event = |slug: &str, description: usize| {
        json!({
            "title": "Jazz", "slug": slug, "startDate": "9000-06-01T18:00:00Z", "deliveryMethod": "DIGITAL",
            "description": "a".repeat(description),
        })
    };
    client.post("/v1/events", &event("large", 10_000)).expect(201);
    clock.advance(Duration::from_millis(14_500));
    let refused = client.post("/v1/events", &event("refused", 5)).expect(429);
    assert_eq!((refused.code().as_str(), refused.header("retry-after")), ("rate-limited", Some("46")));
    assert_eq!(
        refused.problem()["detail"],
        "the organization has written 10000 bytes within a minute, which is its quota"
    );
    client.get("/v1/events").expect(200);
    clock.advance(Duration::from_millis(45_500));
    client.post("/v1/events", &event("accepted", 5)).expect(201);
}
