//! What `GET /metrics` tells: that it is in the format it says it is, that each figure moves by what was done, and that
//! no client can fill it with words of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::common::http::{Client, Server, event_on_sale, order_of};
use serde_json::json;
use ticketing::{Checkout, CheckoutRequest, GatewayError, PaymentGateway, RefundRequest};

/// What one scrape told: each series, as it was written, with its value.
struct Scrape {
    text: String,
    series: BTreeMap<String, f64>,
}

impl Scrape {
    /// The value of a series; none is 0, as of a counter that nothing was counted by.
    fn get(&self, series: &str) -> f64 {
        self.series.get(series).copied().unwrap_or(0.0)
    }

    /// The value of a series that must be there, as a whole number.
    fn there(&self, series: &str) -> i64 {
        let value = *self.series.get(series).unwrap_or_else(|| panic!("{series} is missing: {}", self.text));
        assert!(value.fract() == 0.0, "{series}: {value}");
        #[expect(clippy::cast_possible_truncation, reason = "it has no fraction")]
        let value = value as i64;
        value
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The name and the labels of a series, both checked against the grammar of the format.
fn parts(series: &str) -> (&str, Vec<(&str, &str)>) {
    let Some((name, rest)) = series.split_once('{') else { return (series, Vec::new()) };
    let mut rest = rest.strip_suffix('}').unwrap_or_else(|| panic!("{series} does not end"));
    let mut labels = Vec::new();
    while !rest.is_empty() {
        let (label, after) = rest.split_once("=\"").unwrap_or_else(|| panic!("{series} has a label without a value"));
        // None of our values has anything to escape.
        let (value, after) = after.split_once('"').unwrap_or_else(|| panic!("{series} has a value without an end"));
        assert!(is_name(label) && !value.contains('\\'), "{series}");
        labels.push((label, value));
        rest = after.strip_prefix(',').unwrap_or(after);
    }
    (name, labels)
}

/// Reads an OpenMetrics text line by line and refuses what is none: every family has its help and its type, once and
/// before its samples; a counter's samples end in `_total`; buckets rise and end in `+Inf`, which is the count.
fn parse(text: &str) -> Scrape {
    let mut lines: Vec<&str> = text.strip_suffix('\n').expect("the last line ends").split('\n').collect();
    assert_eq!(lines.pop(), Some("# EOF"));
    let mut types: BTreeMap<&str, &str> = BTreeMap::new();
    let mut helped = BTreeSet::new();
    let mut family = "";
    let mut series = BTreeMap::new();
    for line in lines {
        if let Some(comment) = line.strip_prefix("# ") {
            let mut words = comment.splitn(3, ' ');
            let (keyword, name, rest) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
            assert!(is_name(name) && name.starts_with("ticketing_"), "{line}");
            match keyword {
                "HELP" => assert!(helped.insert(name) && rest.ends_with('.'), "{line}"),
                "TYPE" => {
                    assert!(["counter", "gauge", "histogram"].contains(&rest), "{line}");
                    assert!(types.insert(name, rest).is_none(), "{line} comes twice");
                    family = name;
                }
                "UNIT" => {
                    assert!(["seconds", "bytes"].contains(&rest) && name.ends_with(&format!("_{rest}")), "{line}")
                }
                _ => panic!("{line}"),
            }
            continue;
        }
        let (key, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line:?} has no value"));
        let value: f64 = value.parse().unwrap_or_else(|_| panic!("{line:?} has no number"));
        assert!(value >= 0.0, "{line}");
        let (name, labels) = parts(key);
        let suffixes: &[&str] = match types.get(family) {
            Some(&"counter") => &["_total"],
            Some(&"gauge") => &[""],
            Some(&"histogram") => &["_sum", "_count", "_bucket"],
            _ => panic!("{line} has no type"),
        };
        let suffix = name.strip_prefix(family).unwrap_or_else(|| panic!("{line} stands under {family}"));
        assert!(suffixes.contains(&suffix), "{line} is no sample of a {}", types[family]);
        assert_eq!(suffix == "_bucket", labels.iter().any(|(label, _)| *label == "le"), "{line}");
        assert!(series.insert(key.to_owned(), value).is_none(), "{line} comes twice");
    }
    assert_eq!(helped, types.keys().copied().collect());
    let scrape = Scrape { text: text.to_owned(), series };
    check_histograms(&scrape);
    scrape
}

fn check_histograms(scrape: &Scrape) {
    // In the order of the text, in which buckets ascend.
    let lines = scrape.text.lines().filter(|line| line.contains("_bucket{"));
    let mut last = (String::new(), f64::NEG_INFINITY, 0.0);
    let mut ends = 0;
    for line in lines {
        let (key, value) = line.rsplit_once(' ').unwrap();
        let value: f64 = value.parse().unwrap();
        let (start, bound) = key.split_once("le=\"").unwrap();
        let (bound, rest) = bound.split_once('"').unwrap();
        let of = format!("{start}{rest}");
        let bound: f64 = if bound == "+Inf" { f64::INFINITY } else { bound.parse().unwrap() };
        if of == last.0 {
            assert!(bound > last.1 && value >= last.2, "{line}");
        } else {
            assert!(last.0.is_empty() || last.1 == f64::INFINITY, "{} has no last bucket", last.0);
        }
        if bound == f64::INFINITY {
            let labels = rest.trim_start_matches(',');
            let (name, own) = start.split_once("_bucket{").unwrap();
            let own = format!("{own}{labels}").replace(",}", "}");
            let own = if own == "}" { String::new() } else { format!("{{{own}") };
            assert_eq!(scrape.series[&format!("{name}_count{own}")].to_bits(), value.to_bits(), "{line}");
            ends += 1;
        }
        last = (of, bound, value);
    }
    assert!(ends >= 2, "there are histograms");
}

fn scrape(client: &mut Client) -> Scrape {
    let answer = client.get("/metrics").expect(200);
    assert_eq!(answer.header("content-type"), Some("application/openmetrics-text; version=1.0.0; charset=utf-8"));
    parse(answer.text())
}

#[test]
fn the_metrics_need_no_key_answer_head_too_and_nothing_else() {
    let server = Server::start();
    let mut client = server.client_with("");
    scrape(&mut client);
    let head = client.send("HEAD", "/metrics", &[], b"").expect(200);
    assert_eq!(head.header("content-type"), Some("application/openmetrics-text; version=1.0.0; charset=utf-8"));
    assert!(head.body.is_empty());
    let refused = client.post_empty("/metrics").expect(405);
    assert_eq!(refused.code(), "method-not-allowed");
    assert_eq!(refused.header("allow"), Some("GET,HEAD"));
}

#[test]
fn figures_of_the_sale_and_the_door_move_by_what_was_done() {
    let server = Server::start();
    let mut client = server.client();
    let (event, seat) = event_on_sale(&mut client, "summer-night");
    let before = scrape(&mut client);
    for series in ["orders_placed", "orders_completed", "orders_cancelled", "orders_expired", "commits_failed"] {
        assert_eq!(before.there(&format!("ticketing_{series}_total")), 0, "{series}");
    }
    assert_eq!(before.there("ticketing_orders_refused_total{reason=\"sold-out\"}"), 0);
    for outcome in ["accepted", "unknown", "already-checked-in", "wrong-event", "not-valid-today"] {
        assert_eq!(before.there(&format!("ticketing_scans_total{{outcome=\"{outcome}\"}}")), 0, "{outcome}");
    }
    // The organization, its key, the event and its ticket type.
    assert_eq!(before.there("ticketing_commits_total"), 4);

    let paid = client.post("/v1/orders", &order_of(&event, &seat, 2)).expect(201).json();
    let paid = paid["order"]["id"].as_str().unwrap().to_owned();
    let order = client.post_empty(&format!("/v1/orders/{paid}/mark-paid")).expect(200).json();
    client.post("/v1/orders", &order_of(&event, &seat, 3)).expect(201);
    let given_up = client.post("/v1/orders", &order_of(&event, &seat, 4)).expect(201).json();
    client.post_empty(&format!("/v1/orders/{}/cancel", given_up["order"]["id"].as_str().unwrap())).expect(200);
    for _ in 0..2 {
        client.post("/v1/orders", &order_of(&event, &seat, 11)).expect(409);
    }
    let code = order["items"][0]["issuedTickets"][0]["code"].as_str().unwrap();
    client.post("/v1/tickets/check-in", &json!({"code": code})).expect(200);
    for _ in 0..3 {
        client.post("/v1/tickets/check-in", &json!({"code": code})).expect(409);
    }
    client.post("/v1/tickets/check-in", &json!({"code": "00000000000000000000"})).expect(404);

    let after = scrape(&mut client);
    for (series, value) in [
        ("ticketing_orders_placed_total", 3),
        ("ticketing_orders_completed_total", 1),
        ("ticketing_orders_cancelled_total", 1),
        ("ticketing_orders_expired_total", 0),
        ("ticketing_orders_refused_total{reason=\"max-per-order-exceeded\"}", 2),
        ("ticketing_orders_refused_total{reason=\"sold-out\"}", 0),
        ("ticketing_scans_total{outcome=\"accepted\"}", 1),
        ("ticketing_scans_total{outcome=\"already-checked-in\"}", 3),
        ("ticketing_scans_total{outcome=\"unknown\"}", 1),
        ("ticketing_held_places", 3),
        ("ticketing_refunds_due", 0),
        ("ticketing_refunds_refused", 0),
        ("ticketing_webhooks_waiting", 0),
        ("ticketing_webhooks_due", 0),
        ("ticketing_webhook_oldest_due_seconds", 0),
        ("ticketing_store_up", 1),
        ("ticketing_writer_queue_jobs", 0),
        ("ticketing_http_requests_under_way", 1), // the scrape itself
        ("ticketing_http_connections", 1),
    ] {
        assert_eq!(after.there(series), value, "{series}");
    }
    // Three orders with their links, a payment, a cancellation, two refusals, five scans.
    assert_eq!(after.there("ticketing_commits_total"), 4 + 3 + 3 + 1 + 1 + 2 + 5);
    assert_eq!(after.there("ticketing_commit_jobs_sum"), after.there("ticketing_commits_total"));
    assert_eq!(after.there("ticketing_commit_duration_seconds_count"), after.there("ticketing_commits_total"));
    assert!(after.get("ticketing_commit_duration_seconds_sum") > 0.0);
    assert!(after.there("ticketing_wal_size_bytes") > 0);
}

#[test]
fn requests_are_counted_by_route_method_and_status() {
    let server = Server::start();
    let mut client = server.client();
    let (event, _) = event_on_sale(&mut client, "summer-night");
    for _ in 0..3 {
        client.get(&format!("/v1/events/{event}")).expect(200);
    }
    client.send("HEAD", &format!("/v1/events/{event}"), &[], b"").expect(200);
    client.get("/v1/events/event_0000000000000").expect(404);
    client.get("/v1/nothing").expect(404);
    client.send("PUT", "/v1/events", &[], b"").expect(405);
    client.send("BREW", "/nowhere", &[], b"").expect(404);
    server.client_with("").get("/v1/events").expect(401);
    let told = scrape(&mut client);
    for (labels, value) in [
        ("route=\"/v1/events/{eventId}\",method=\"GET\",status=\"200\"", 3),
        ("route=\"/v1/events/{eventId}\",method=\"HEAD\",status=\"200\"", 1),
        ("route=\"/v1/events/{eventId}\",method=\"GET\",status=\"404\"", 1),
        ("route=\"-\",method=\"GET\",status=\"404\"", 1),
        ("route=\"/v1/events\",method=\"other\",status=\"405\"", 1),
        ("route=\"-\",method=\"other\",status=\"404\"", 1),
        ("route=\"/v1/events\",method=\"GET\",status=\"401\"", 1),
        ("route=\"/v1/events\",method=\"POST\",status=\"201\"", 1),
    ] {
        assert_eq!(told.there(&format!("ticketing_http_requests_total{{{labels}}}")), value, "{labels}");
    }
    let duration = "ticketing_http_request_duration_seconds";
    assert_eq!(told.there(&format!("{duration}_count{{route=\"/v1/events/{{eventId}}\",method=\"GET\"}}")), 4);
    assert!(told.get(&format!("{duration}_sum{{route=\"/v1/events/{{eventId}}\",method=\"GET\"}}")) > 0.0);
    // The scrape is counted when it is answered.
    assert_eq!(
        scrape(&mut client).there("ticketing_http_requests_total{route=\"/metrics\",method=\"GET\",status=\"200\"}"),
        1
    );
}

/// Numbers without a pattern, the same in every run.
fn random() -> impl FnMut() -> u64 {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    }
}

#[test]
fn a_thousand_requests_with_invented_paths_and_methods_add_a_handful_of_series() {
    let server = Server::start();
    let mut client = server.client();
    let mut random = random();
    let known = ["GET", "HEAD", "POST", "PATCH", "DELETE"];
    for number in 0..1000 {
        let word = |number: u64| -> String {
            (0..12).map(|place| char::from(b'A' + u8::try_from((number >> (5 * place)) % 26).unwrap())).collect()
        };
        let method = match random() % 3 {
            0 => word(random()),
            _ => known[usize::try_from(random() % 5).unwrap()].to_owned(),
        };
        let path = match random() % 4 {
            0 => format!("/{}", word(random())),
            1 => format!("/v1/{}/{}", word(random()), number),
            2 => format!("/v1/events/{}?q={}", word(random()), word(random())),
            _ => format!("/checkout/{}", word(random())),
        };
        let answer = client.send(&method, &path, &[&format!("X-Request-Id: {}", word(random()))], b"");
        assert!(answer.status >= 400, "{method} {path}");
    }
    let told = scrape(&mut client);
    let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for series in told.series.keys().filter(|series| series.starts_with("ticketing_http_requests_total{")) {
        for (label, value) in parts(series).1 {
            values.entry(label).or_default().insert(value);
        }
    }
    assert_eq!(values["route"], BTreeSet::from(["-", "/v1/events/{eventId}", "/checkout/{token}"]));
    assert_eq!(values["method"], BTreeSet::from(["GET", "HEAD", "POST", "PATCH", "DELETE", "other"]));
    assert!(values["status"].iter().all(|status| ["400", "404", "405", "413", "415", "422"].contains(status)));
    let total: f64 = told
        .series
        .iter()
        .filter(|(series, _)| series.starts_with("ticketing_http_requests_total"))
        .map(|(_, value)| value)
        .sum();
    assert!((total - 1000.0).abs() < 0.5, "{total}");
}

#[test]
fn no_key_code_address_or_token_is_told() {
    let server = Server::start();
    let mut client = server.client();
    let (event, seat) = event_on_sale(&mut client, "summer-night");
    let placed = client.post("/v1/orders", &order_of(&event, &seat, 1)).expect(201).json();
    let token = placed["checkoutUrl"].as_str().unwrap().rsplit_once('/').unwrap().1.to_owned();
    client.send("POST", &format!("/checkout/{token}"), &[], b"outcome=success").expect(303);
    let order = client.get(&format!("/v1/orders/{}", placed["order"]["id"].as_str().unwrap())).json();
    let code = order["items"][0]["issuedTickets"][0]["code"].as_str().unwrap();
    client.post("/v1/tickets/check-in", &json!({"code": code})).expect(200);
    client.get("/v1/orders?customerEmail=ada@example.com").expect(200);
    client.get(&format!("/{code}/{}", server.key)).expect(404);
    client.send(code, &format!("/v1/orders/{code}"), &["X-Request-Id: ada@example.com"], b"").expect(405);
    let told = scrape(&mut client).text;
    for secret in [&server.key, &token, code, "ada@", "Ada", &event, &seat, "summer-night"] {
        assert!(!told.contains(secret), "{secret} is told");
    }
}

#[test]
fn connections_are_counted_while_they_are_open() {
    let server = Server::start();
    let mut client = server.client();
    assert_eq!(scrape(&mut client).there("ticketing_http_connections"), 1);
    let mut others = [server.client(), server.client(), server.client()];
    for other in &mut others {
        other.get("/health/live").expect(200);
    }
    assert_eq!(scrape(&mut client).there("ticketing_http_connections"), 4);
    drop(others);
    let gone = (0..2000).any(|_| {
        std::thread::sleep(Duration::from_millis(5));
        scrape(&mut client).there("ticketing_http_connections") == 1
    });
    assert!(gone, "connections that are closed are counted no more");
}

/// A gateway that takes payments and answers to no refund.
struct Down;

impl PaymentGateway for Down {
    fn start_checkout(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError> {
        let reference = request.idempotency_key.clone();
        Ok(Checkout { link: "https://pay.example/".to_owned(), reference })
    }

    fn refund(&self, _: &RefundRequest) -> Result<(), GatewayError> {
        Err(GatewayError::Unavailable("out to lunch".to_owned()))
    }
}

#[test]
fn refunds_stay_due_while_the_gateway_is_down() {
    let server = Server::with(|builder| builder.payment_gateway(Down), |_| {});
    let mut client = server.client();
    let (event, seat) = event_on_sale(&mut client, "summer-night");
    let caller = server.service.act_for(server.organization).unwrap();
    for _ in 0..2 {
        let placed = client.post("/v1/orders", &order_of(&event, &seat, 1)).expect(201).json();
        let order = placed["order"]["id"].as_str().unwrap();
        server.service.payment_completed(&caller, order.parse().unwrap()).unwrap();
        client.post_empty(&format!("/v1/orders/{order}/cancel")).expect(200);
    }
    let told = scrape(&mut client);
    assert_eq!((told.there("ticketing_refunds_due"), told.there("ticketing_refunds_refused")), (2, 0));
}

#[test]
fn a_store_that_does_not_answer_is_told_to_be_down_and_holds_up_no_scrape() {
    let server = Server::with(|builder| builder.sandbox_gateway().readers(1), |_| {});
    let mut client = server.client();
    assert_eq!(scrape(&mut client).there("ticketing_store_up"), 1);
    // The one reader is somebody else's for as long as this lasts.
    let down = server.service.on_one_snapshot(|| scrape(&mut client)).unwrap();
    assert_eq!(down.there("ticketing_store_up"), 0);
    for gauge in [
        "held_places",
        "refunds_due",
        "refunds_refused",
        "webhooks_waiting",
        "webhooks_due",
        "webhook_oldest_due",
        "wal_size",
    ] {
        assert!(!down.text.contains(gauge), "{gauge} is left out");
    }
    assert_eq!(down.there("ticketing_commits_total"), 2, "the rest is there: the organization and its key");
    let mut again = server.client();
    let up = (0..2000).any(|_| {
        std::thread::sleep(Duration::from_millis(5));
        scrape(&mut again).there("ticketing_store_up") == 1
    });
    assert!(up, "it is up again");
}
