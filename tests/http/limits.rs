//! How much a key may ask, how often an address may fail to show one, and what is judged before what.

use std::sync::Barrier;
use std::time::Duration;

use crate::common::http::{Client, Response, Server};
use serde_json::json;
use ticketing::server::ServerOptions;
use ticketing::{Builder, CreateApiKey, ManualClock, Scope, Scopes, Timestamp};

/// What the clock shows at first: half a second after a whole one. A window that begins here ends at `RESET`, told in
/// whole seconds.
const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_500);
const RESET: &str = "1800000061";

fn start(adjust: impl FnOnce(&mut ServerOptions)) -> (Server, ManualClock) {
    let clock = ManualClock::at(NOW);
    let of_this_clock = clock.clone();
    (Server::with(|builder: Builder| builder.sandbox_gateway().clock(of_this_clock), adjust), clock)
}

fn limited(limit: u32) -> (Server, ManualClock) {
    start(|options| options.rate_limit = Some(limit))
}

/// The limit, what remains of it, and when it is whole again.
fn window(answer: &Response) -> [Option<&str>; 3] {
    ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"].map(|name| answer.header(name))
}

#[test]
fn of_many_requests_at_once_exactly_the_limit_gets_through() {
    let (server, _) = limited(100);
    let start = Barrier::new(16);
    let answers: Vec<Response> = std::thread::scope(|scope| {
        let ask = |_| {
            scope.spawn(|| {
                let mut client = server.client();
                start.wait();
                (0..25).map(|_| client.get("/v1/events")).collect::<Vec<_>>()
            })
        };
        let running: Vec<_> = (0..16).map(ask).collect();
        running.into_iter().flat_map(|asked| asked.join().unwrap()).collect()
    });
    let (through, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status != 429);
    assert_eq!((through.len(), refused.len()), (100, 300));
    let remaining = |answer: &&Response| answer.header("x-ratelimit-remaining").unwrap().parse::<u32>().unwrap();
    let mut counted: Vec<_> = through.iter().map(remaining).collect();
    counted.sort_unstable();
    assert_eq!(counted, (0..100).collect::<Vec<_>>(), "each of them was counted by itself");
    for answer in refused {
        assert_eq!((answer.code().as_str(), answer.header("retry-after")), ("rate-limited", Some("60")));
        assert_eq!(window(answer), [Some("100"), Some("0"), Some(RESET)]);
    }
}

#[test]
fn each_key_has_a_limit_of_its_own() {
    let (server, clock) = limited(2);
    let other = server.key_with([Scope::EventsRead]);
    let mut client = server.client();
    for status in [200, 200, 429, 429] {
        client.get("/v1/events").expect(status);
    }
    clock.advance(Duration::from_secs(10));
    let answer = server.client_with(&other).get("/v1/events").expect(200);
    assert_eq!(window(&answer), [Some("2"), Some("1"), Some("1800000071")]);
    server.client().get("/v1/events").expect(429);
}

#[test]
fn a_window_begins_with_the_first_request_and_is_over_after_60_seconds() {
    let (server, clock) = limited(2);
    let mut client = server.client();
    let mut ask = |status| {
        let answer = client.get("/v1/events").expect(status);
        let told = window(&answer).map(|value| value.unwrap().to_owned());
        (told, answer.header("retry-after").map(str::to_owned))
    };
    let told = |remaining: &str, reset: &str| ["2", remaining, reset].map(str::to_owned);
    assert_eq!(ask(200), (told("1", RESET), None));
    clock.advance(Duration::from_millis(59_000));
    assert_eq!(ask(200), (told("0", RESET), None));
    assert_eq!(ask(429), (told("0", RESET), Some("1".to_owned())));
    clock.advance(Duration::from_millis(999));
    assert_eq!(ask(429), (told("0", RESET), Some("1".to_owned())));
    clock.advance(Duration::from_millis(1));
    assert_eq!(ask(200), (told("1", "1800000121"), None));
}

#[test]
fn without_a_limit_nothing_is_counted_and_nothing_is_said() {
    let (server, _) = start(|options| options.rate_limit = None);
    let mut client = server.client();
    for _ in 0..1300 {
        assert_eq!(window(&client.get("/v1/nothing").expect(404)), [None; 3]);
    }
}

#[test]
fn the_default_is_1200_a_minute() {
    let (server, _) = start(|_| {});
    let mut client = server.client();
    assert_eq!(window(&client.get("/v1/events")), [Some("1200"), Some("1199"), Some(RESET)]);
}

/// Keys that let nobody in: each is refused for another reason.
fn bad_keys(server: &Server, clock: &ManualClock) -> [String; 5] {
    let revoked = server.key_with([Scope::EventsRead]);
    let id = server.service.list_api_keys(server.organization).unwrap()[0].id;
    server.service.revoke_api_key(id).unwrap();
    let expires_at = Some(Timestamp::from_millis(NOW.millis() + 1));
    let request = CreateApiKey { name: "Test".to_owned(), scopes: Scopes::all(), expires_at };
    let expired = server.service.create_api_key(server.organization, request).unwrap();
    clock.advance(Duration::from_millis(1));
    let unknown = Server::start().key.clone();
    [String::new(), "tk_nonsense".to_owned(), unknown, revoked, expired.key.expose().to_owned()]
}

#[test]
fn after_60_failures_an_address_hears_only_that_they_are_too_many() {
    let (server, clock) = start(|_| {});
    let keys = bad_keys(&server, &clock);
    for key in keys.iter().cycle().take(60) {
        let refused = server.client_with(key).get("/v1/events").expect(401);
        assert_eq!((refused.code().as_str(), window(&refused)), ("unauthenticated", [None; 3]));
        assert_eq!(refused.header("retry-after"), None);
    }
    let braked = |key: &str, retry_after: &str| {
        for path in ["/v1/events", "/v1/nothing"] {
            let refused = server.client_with(key).get(path).expect(429);
            assert_eq!((refused.code().as_str(), refused.header("retry-after")), ("rate-limited", Some(retry_after)));
            assert_eq!((window(&refused), refused.header("www-authenticate")), ([None; 3], None));
        }
    };
    keys.iter().for_each(|key| braked(key, "60"));
    // Who has a key comes in all the same, and takes nothing off the count.
    server.client().get("/v1/events").expect(200);
    clock.advance(Duration::from_millis(59_999));
    keys.iter().for_each(|key| braked(key, "1"));
    server.client_with("").get("/health/live").expect(200);
    clock.advance(Duration::from_millis(1));
    server.client_with(&keys[0]).get("/v1/events").expect(401);
}

#[test]
fn failures_are_braked_whatever_the_limit_of_keys_is() {
    let (server, _) = start(|options| {
        options.rate_limit = None;
        options.failed_authentications = 2;
    });
    let statuses = (0..4).map(|_| server.client_with("").get("/v1/events").status);
    assert_eq!(statuses.collect::<Vec<_>>(), [401, 401, 429, 429]);
}

#[test]
fn failures_at_once_are_counted_each() {
    let (server, _) = start(|_| {});
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let ask = |_| {
            let mut client = server.client_with("tk_nonsense");
            scope.spawn(move || (0..10).map(|_| client.get("/v1/events").status).collect::<Vec<_>>())
        };
        let running: Vec<_> = (0..8).map(ask).collect();
        running.into_iter().flat_map(|asked| asked.join().unwrap()).collect()
    });
    let count = |wanted| statuses.iter().filter(|status| **status == wanted).count();
    assert_eq!((count(401), count(429)), (60, 20));
}

/// A request that has more than one thing wrong with it, and what is told of it.
struct Wrong<'a> {
    key: &'a str,
    method: &'static str,
    path: &'static str,
    headers: &'static [&'static str],
    body: &'static str,
    told: (u16, &'static str, &'static str),
}

impl Wrong<'_> {
    fn head(&self) -> String {
        let mut lines = vec![format!("{} {} HTTP/1.1\r\nHost: a\r\nX-Api-Key: {}", self.method, self.path, self.key)];
        lines.extend(self.headers.iter().map(|line| (*line).to_owned()));
        if !self.headers.iter().any(|line| line.starts_with("Content-Length")) {
            lines.push(format!("Content-Length: {}", self.body.len()));
        }
        lines.join("\r\n") + "\r\n\r\n"
    }

    fn assert_told(&self, answer: &Response) {
        let problem = answer.problem();
        let (status, code, detail) = self.told;
        let line = format!("{} {}: {problem}", self.method, self.path);
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{line}");
        assert!(problem["detail"].as_str().unwrap().contains(detail), "{line}");
    }
}

#[test]
fn of_two_things_that_are_wrong_the_one_that_is_judged_first_is_told() {
    const JSON: &str = "Content-Type: application/json";
    const TEXT: &str = "Content-Type: text/plain";
    const BIG: &str = "Content-Length: 1048577";
    const BAD_KEY: &str = "Idempotency-Key: two words";
    let (server, _) = limited(40);
    let gone = server.key_with([Scope::EventsRead]);
    let (used_up, without, full) =
        (server.key_with([Scope::EventsRead]), server.key_with([Scope::OrdersRead]), &server.key);
    for key in [&gone, &used_up] {
        let mut client = server.client_with(key);
        (0..40).for_each(|_| drop(client.get("/v1/events").expect(200)));
        client.get("/v1/events").expect(429);
    }
    let revoked = server.service.authenticate(&gone).unwrap().key().unwrap();
    server.service.revoke_api_key(revoked).unwrap();

    let wrong = |key, method, path, headers, body, told| Wrong { key, method, path, headers, body, told };
    let before_the_body = [
        // The key, and the rate limit.
        wrong(&gone, "GET", "/v1/events", &[], "", (401, "unauthenticated", "X-Api-Key")),
        // The rate limit, and the route or the method.
        wrong(&used_up, "POST", "/v1/nothing", &[], "", (429, "rate-limited", "40 requests")),
        wrong(&used_up, "PUT", "/v1/events", &[], "", (429, "rate-limited", "40 requests")),
        // The method, and the scope.
        wrong(&without, "PUT", "/v1/events", &[], "", (405, "method-not-allowed", "")),
        wrong(&without, "POST", "/v1/nothing", &[BIG], "", (404, "not-found", "path")),
        // The scope, and the size.
        wrong(&without, "POST", "/v1/events", &[BIG, JSON], "", (403, "forbidden", "events:write")),
        // The size, and the media type.
        wrong(full, "POST", "/v1/events", &[BIG, TEXT], "", (413, "payload-too-large", "")),
    ];
    for request in before_the_body {
        let mut client = server.client();
        client.write(request.head().as_bytes());
        request.assert_told(&client.read_response().unwrap());
    }
    let with_the_body = [
        // The media type, and the syntax.
        wrong(full, "POST", "/v1/events", &[TEXT], "[}", (415, "unsupported-media-type", "")),
        wrong(full, "POST", "/v1/events", &[TEXT, BAD_KEY], "{}", (415, "unsupported-media-type", "")),
        // The syntax, and the idempotency key.
        wrong(full, "POST", "/v1/events", &[JSON, BAD_KEY], "[}", (400, "malformed-request", "JSON")),
        wrong(full, "POST", "/v1/events", &[JSON, BAD_KEY], "", (400, "malformed-request", "empty")),
        wrong(
            full,
            "POST",
            "/v1/orders/nothing/cancel",
            &[JSON, BAD_KEY],
            "{",
            (400, "malformed-request", "ends too early"),
        ),
        // The idempotency key, and what the body or the path says.
        wrong(full, "POST", "/v1/events", &[JSON, BAD_KEY], "{}", (400, "malformed-request", "Idempotency-Key")),
        wrong(full, "POST", "/v1/events", &[JSON, BAD_KEY], "[]", (400, "malformed-request", "Idempotency-Key")),
        wrong(full, "POST", "/v1/orders/nothing/cancel", &[BAD_KEY], "", (400, "malformed-request", "Idempotency-Key")),
    ];
    for request in with_the_body {
        let mut client: Client = server.client();
        client.write((request.head() + request.body).as_bytes());
        request.assert_told(&client.read_response().unwrap());
        // The same where the body comes later.
        client.write(request.head().as_bytes());
        std::thread::sleep(Duration::from_millis(20));
        client.write(request.body.as_bytes());
        request.assert_told(&client.read_response().unwrap());
    }
    // And with nothing wrong, it is done.
    let event = json!({"title": "Jazz", "slug": "a", "startDate": "9000-06-01T18:00:00Z", "deliveryMethod": "DIGITAL"});
    server.client().post_with_key("key", "/v1/events", &event).expect(201);
}
