//! `GET /metrics`: the OpenMetrics format, the values of the metrics, and a bounded number of series, which invented
//! paths and methods do not increase.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::common::database;
use crate::common::gateway::{FakeGateway, GatewayBehavior};
use crate::common::http::{Client, EventOnSale, Server, event_on_sale, order_of};
use crate::common::random::Random;
use crate::http::walkthrough::Document;
use serde_json::json;
use ticketing::id::OrderId;

/// A parsed response.
struct Scrape {
    text: String,
    /// Values by series: the name and the labels, as in the text.
    values: BTreeMap<String, f64>,
}

impl Scrape {
    /// The value of a series that must exist.
    fn value(&self, series: &str) -> f64 {
        *self.values.get(series).unwrap_or_else(|| panic!("{series} is missing: {}", self.text))
    }

    /// The value of a series that must exist and have an integer value.
    fn integer(&self, series: &str) -> i64 {
        let value = self.value(series);
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

struct Label<'a> {
    name: &'a str,
    value: &'a str,
}

struct Series<'a> {
    name: &'a str,
    labels: Vec<Label<'a>>,
}

/// Parses a series, and asserts that it is well-formed.
fn parse_series(series: &str) -> Series<'_> {
    let Some((name, rest)) = series.split_once('{') else { return Series { name: series, labels: Vec::new() } };
    let mut rest = rest.strip_suffix('}').unwrap_or_else(|| panic!("{series} has no closing brace"));
    let mut labels = Vec::new();
    while !rest.is_empty() {
        let (label, after) = rest.split_once("=\"").unwrap_or_else(|| panic!("{series} has a label without a value"));
        // No label value of this server needs an escape.
        let (value, after) = after.split_once('"').unwrap_or_else(|| panic!("{series} has an unterminated value"));
        assert!(is_name(label) && !value.contains('\\'), "{series}");
        labels.push(Label { name: label, value });
        rest = after.strip_prefix(',').unwrap_or(after);
    }
    Series { name, labels }
}

/// Parses an OpenMetrics text, and asserts that it is valid: each family has one HELP and one TYPE line before its
/// samples, counter samples end in `_total`, and the buckets of a histogram increase and end with `+Inf`, which has the
/// count.
fn parse(text: &str) -> Scrape {
    let mut lines: Vec<&str> = text.strip_suffix('\n').expect("a newline at the end").split('\n').collect();
    assert_eq!(lines.pop(), Some("# EOF"));
    let mut types: BTreeMap<&str, &str> = BTreeMap::new();
    let mut families_with_help = BTreeSet::new();
    let mut family = "";
    let mut values = BTreeMap::new();
    for line in lines {
        if let Some(comment) = line.strip_prefix("# ") {
            let mut words = comment.splitn(3, ' ');
            let keyword = words.next().unwrap();
            let name = words.next().unwrap();
            let rest = words.next().unwrap();
            assert!(is_name(name) && name.starts_with("ticketing_"), "{line}");
            match keyword {
                "HELP" => assert!(families_with_help.insert(name) && rest.ends_with('.'), "{line}"),
                "TYPE" => {
                    assert!(["counter", "gauge", "histogram"].contains(&rest), "{line}");
                    assert!(types.insert(name, rest).is_none(), "{line} is repeated");
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
        let Series { name, labels } = parse_series(key);
        let suffixes: &[&str] = match types.get(family) {
            Some(&"counter") => &["_total"],
            Some(&"gauge") => &[""],
            Some(&"histogram") => &["_sum", "_count", "_bucket"],
            _ => panic!("{line} has no type"),
        };
        let suffix = name.strip_prefix(family).unwrap_or_else(|| panic!("{line} is not a sample of {family}"));
        assert!(suffixes.contains(&suffix), "{line} is not a sample of a {}", types[family]);
        assert_eq!(suffix == "_bucket", labels.iter().any(|label| label.name == "le"), "{line}");
        assert!(values.insert(key.to_owned(), value).is_none(), "{line} is repeated");
    }
    assert_eq!(families_with_help, types.keys().copied().collect());
    let scrape = Scrape { text: text.to_owned(), values };
    check_histograms(&scrape);
    scrape
}

/// The last bucket that [`check_histograms`] has read.
struct Bucket {
    /// The series without the label `le`.
    histogram: String,
    bound: f64,
    value: f64,
}

/// Asserts that the buckets of each histogram follow each other in ascending order, and that `+Inf` has the count.
fn check_histograms(scrape: &Scrape) {
    let lines = scrape.text.lines().filter(|line| line.contains("_bucket{"));
    let mut last = Bucket { histogram: String::new(), bound: f64::NEG_INFINITY, value: 0.0 };
    let mut histograms = 0;
    for line in lines {
        let (key, value) = line.rsplit_once(' ').unwrap();
        let value: f64 = value.parse().unwrap();
        let (start, bound) = key.split_once("le=\"").unwrap();
        let (bound, rest) = bound.split_once('"').unwrap();
        let histogram = format!("{start}{rest}");
        let bound: f64 = if bound == "+Inf" { f64::INFINITY } else { bound.parse().unwrap() };
        if histogram == last.histogram {
            assert!(bound > last.bound && value >= last.value, "{line}");
        } else {
            let is_complete = last.histogram.is_empty() || last.bound == f64::INFINITY;
            assert!(is_complete, "{} has no bucket +Inf", last.histogram);
        }
        if bound == f64::INFINITY {
            let (name, labels_before) = start.split_once("_bucket{").unwrap();
            let labels_after = rest.trim_start_matches(',');
            let labels = format!("{labels_before}{labels_after}").replace(",}", "}");
            let labels = if labels == "}" { String::new() } else { format!("{{{labels}") };
            assert_eq!(scrape.values[&format!("{name}_count{labels}")].to_bits(), value.to_bits(), "{line}");
            histograms += 1;
        }
        last = Bucket { histogram, bound, value };
    }
    assert!(histograms >= 2, "histograms are missing");
}

fn scrape(client: &mut Client) -> Scrape {
    let response = client.get("/metrics").expect(200);
    assert_eq!(response.header("content-type"), Some("application/openmetrics-text; version=1.0.0; charset=utf-8"));
    parse(response.text())
}

/// The names of metrics in a text, without what a counter or a histogram adds to them.
fn names_in(text: &str) -> BTreeSet<String> {
    let words = text.split(|character: char| !character.is_ascii_alphanumeric() && character != '_');
    let metrics = words.filter(|word| word.starts_with("ticketing_"));
    let base = |name: &str| {
        let suffix = ["_bucket", "_sum", "_count"].into_iter().find_map(|suffix| name.strip_suffix(suffix));
        suffix.unwrap_or(name).to_owned()
    };
    metrics.map(base).collect()
}

/// The metrics in the expressions of a dashboard.
fn metrics_of(dashboard: &str) -> BTreeSet<String> {
    let dashboard: serde_json::Value = serde_json::from_str(dashboard).expect("JSON");
    let mut shown = BTreeSet::new();
    let mut ids = BTreeSet::new();
    for panel in dashboard["panels"].as_array().expect("panels") {
        assert!(ids.insert(panel["id"].as_u64()), "{panel}");
        for target in panel["targets"].as_array().into_iter().flatten() {
            let names = names_in(target["expr"].as_str().expect("an expression"));
            assert!(!names.is_empty(), "{target}");
            shown.extend(names);
        }
    }
    shown
}

/// The metrics of the guide, and whether they have labels.
fn guide_rows() -> impl Iterator<Item = (String, bool)> {
    let guide = include_str!("../../../src/guide/metrics.md");
    let cells = guide.lines().filter_map(|line| line.strip_prefix("| `ticketing_")?.split_once('`'));
    cells.filter(|(name, rest)| !name.contains('=') && rest.starts_with(" |")).map(|(name, _)| {
        let (name, labels) = name.split_once('{').unwrap_or((name, ""));
        (format!("ticketing_{name}"), !labels.is_empty())
    })
}

#[test]
fn the_guide_lists_each_metric_and_no_other() {
    let server = Server::start();
    let scraped = scrape(&mut server.client_with(""));
    let families = scraped.text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let families: BTreeSet<_> =
        families.map(|(name, kind)| format!("{name}{}", if kind == "counter" { "_total" } else { "" })).collect();
    let listed: BTreeSet<_> = guide_rows().map(|(name, _)| name).collect();
    assert!(families.is_subset(&listed), "{:?}", families.difference(&listed));
    // Those with labels are there once they have a value.
    let always: BTreeSet<_> = guide_rows().filter(|(_, has_labels)| !has_labels).map(|(name, _)| name).collect();
    assert!(always.is_subset(&families), "{:?}", always.difference(&families));
}

#[test]
fn the_dashboard_shows_each_metric_of_the_guide_and_no_other() {
    let dashboard = include_str!("../../../src/guide/grafana_dashboard.json");
    let listed: BTreeSet<_> = guide_rows().map(|(name, _)| name).collect();
    assert_eq!(metrics_of(dashboard), listed);
    let misspelt = dashboard.replace("ticketing_commits_failed_total", "ticketing_commits_faild_total");
    assert_ne!(metrics_of(&misspelt), listed);
}

#[test]
fn metrics_need_no_key_and_allow_only_get_and_head() {
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
fn clients_that_ask_for_plain_text_get_the_text_format_of_prometheus() {
    let server = Server::start();
    let mut client = server.client();
    event_on_sale(&mut client, "summer-night");
    let mut get = |accept: &str| client.send("GET", "/metrics", &[&format!("Accept: {accept}")], b"").expect(200);
    let open_metrics = get("application/openmetrics-text; version=1.0.0, text/plain; version=0.0.4; q=0.5, */*; q=0.1");
    assert_eq!(open_metrics.header("content-type"), Some("application/openmetrics-text; version=1.0.0; charset=utf-8"));
    let mut is_plain = |accept: &str| get(accept).header("content-type").is_some_and(|found| found.starts_with("text"));
    for accept in [
        "text/plain",
        "TEXT/PLAIN",
        "text/*",
        "text/*, */*;q=0.1",
        "text/plain, application/openmetrics-text; version=1.0.0; q=0.9",
        "application/openmetrics-text;q=0.5, text/plain;q=0.75",
        "application/*;q=0.4,text/plain;q=0.5",
        "text/plain;q=1.000,*/*;q=0.999",
        "text/plain;q=0.001",
        // Browsers, which save other formats as a file: Chromium and Firefox.
        "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
        "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    ] {
        assert!(is_plain(accept), "{accept}");
    }
    for accept in [
        "",
        "*/*",
        "image/png",
        "text/plain, application/openmetrics-text",
        "text/plain;q=0.5,*/*",
        "text/plain;q=x,*/*;q=0.001",
        // Prometheus 2.42.
        "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
         text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
    ] {
        assert!(!is_plain(accept), "{accept}");
    }
    for weight in ["", "0", "0.", "2", "1.1", "0.1234", "0.x", "-1", "nan", "+0.5", "0.+5"] {
        assert!(!is_plain(&format!("text/plain;q={weight}")), "{weight}");
    }
    let plain = get("text/plain; version=0.0.4");
    assert_eq!(plain.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    for response in [&open_metrics, &plain] {
        assert_eq!(response.header("vary"), Some("accept"));
        let document = Document::of(&server);
        document.check(&document.operation("get_metrics"), response);
    }

    let mut types = BTreeMap::new();
    let mut helps = BTreeSet::new();
    let mut series = BTreeSet::new();
    for line in plain.text().strip_suffix('\n').expect("a newline at the end").split('\n') {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, text) = help.split_once(' ').unwrap();
            assert!(helps.insert(name) && text.ends_with('.'), "{line}");
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').unwrap();
            assert!(helps.contains(name), "{line} has no help");
            // Every counter has the suffix, and nothing else has it.
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            types.insert(name, kind);
        } else {
            assert!(!line.starts_with('#'), "{line} belongs to OpenMetrics");
            let (key, _) = line.rsplit_once(' ').unwrap();
            let name = parse_series(key).name;
            let suffixes = ["_bucket", "_sum", "_count"].into_iter();
            let family =
                suffixes.filter_map(|suffix| name.strip_suffix(suffix)).find(|family| types.contains_key(family));
            let kind = types.get(family.unwrap_or(name)).unwrap_or_else(|| panic!("{line} has no type"));
            assert_eq!(family.is_some(), *kind == "histogram", "{line}");
            series.insert(key.to_owned());
        }
    }
    // The two formats have the same series.
    let in_open_metrics: BTreeSet<_> = parse(open_metrics.text()).values.into_keys().collect();
    assert!(in_open_metrics.is_subset(&series), "{in_open_metrics:?}");
    assert!(series.contains("ticketing_orders_placed_total"));
}

#[test]
fn the_text_has_the_counters_and_the_backlog_of_the_service() {
    let gateway = FakeGateway::new();
    gateway.on_refund(GatewayBehavior::Unavailable);
    let server = Server::with(|builder| builder.payment_gateway(gateway), |_| {});
    let mut client = server.client();
    let caller = server.service.act_for(server.organization).unwrap();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let mut order = |quantity| {
        let created = client.post("/v1/orders", &order_of(&event, &ticket_type, quantity)).expect(201).json();
        created["order"]["id"].as_str().unwrap().parse::<OrderId>().unwrap()
    };
    let (paid, refunded, cancelled, _pending) = (order(2), order(1), order(4), order(3));
    let paid = server.service.payment_completed(&caller, paid).unwrap();
    server.service.payment_completed(&caller, refunded).unwrap();
    for order in [refunded, cancelled] {
        client.post_empty(&format!("/v1/orders/{order}/cancel")).expect(200);
    }
    client.post("/v1/orders", &order_of(&event, &ticket_type, 11)).expect(409);
    let code = &paid.items[0].issued_tickets[0].code;
    for (code, status) in [(code.as_str(), 200), (code, 409), (code, 409), ("00000000000000000000", 404)] {
        client.post("/v1/tickets/check-in", &json!({"code": code})).expect(status);
    }
    let metrics = scrape(&mut client);
    for (series, value) in [
        ("ticketing_orders_placed_total", 4),
        ("ticketing_orders_completed_total", 2),
        ("ticketing_orders_cancelled_total", 2),
        ("ticketing_orders_expired_total", 0),
        ("ticketing_orders_refused_total{reason=\"max-per-order-exceeded\"}", 1),
        ("ticketing_orders_refused_total{reason=\"sold-out\"}", 0),
        ("ticketing_scans_total{outcome=\"accepted\"}", 1),
        ("ticketing_scans_total{outcome=\"already-checked-in\"}", 2),
        ("ticketing_scans_total{outcome=\"unknown\"}", 1),
        ("ticketing_scans_total{outcome=\"not-valid-today\"}", 0),
        ("ticketing_held_places", 3),
        ("ticketing_refunds_due", 1),
        ("ticketing_refunds_refused", 0),
        ("ticketing_refunds_without_gateway", 0),
        ("ticketing_checkouts_without_gateway", 0),
        ("ticketing_disputes_open", 0),
        ("ticketing_webhooks_waiting", 0),
        ("ticketing_webhooks_due", 0),
        ("ticketing_webhook_oldest_due_seconds", 0),
        ("ticketing_store_up", 1),
        ("ticketing_commits_failed_total", 0),
        ("ticketing_writer_queue_jobs", 0),
        ("ticketing_http_requests_under_way", 1), // the request for the metrics
        ("ticketing_http_connections", 1),
    ] {
        assert_eq!(metrics.integer(series), value, "{series}");
    }
    let commits = server.service.statistics().commits;
    assert_eq!(metrics.integer("ticketing_commits_total"), i64::try_from(commits.done).unwrap());
    assert_eq!(metrics.integer("ticketing_commit_jobs_sum"), metrics.integer("ticketing_commits_total"));
    assert_eq!(metrics.integer("ticketing_commit_duration_seconds_count"), metrics.integer("ticketing_commits_total"));
    assert!(metrics.value("ticketing_commit_duration_seconds_sum") > 0.0);
    assert_eq!(metrics.integer("ticketing_wal_size_bytes") > 0, database::is_file());
}

#[test]
fn requests_are_counted_by_route_method_and_status() {
    let server = Server::start();
    let mut client = server.client();
    let event = event_on_sale(&mut client, "summer-night").event;
    for _ in 0..3 {
        client.get(&format!("/v1/events/{event}")).expect(200);
    }
    client.send("HEAD", &format!("/v1/events/{event}"), &[], b"").expect(200);
    client.get("/v1/events/event_0000000000000").expect(404);
    client.get("/v1/nothing").expect(404);
    client.send("PUT", "/v1/events", &[], b"").expect(405);
    client.send("BREW", "/nowhere", &[], b"").expect(404);
    server.client_with("").get("/v1/events").expect(401);
    let metrics = scrape(&mut client);
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
        assert_eq!(metrics.integer(&format!("ticketing_http_requests_total{{{labels}}}")), value, "{labels}");
    }
    let duration = "ticketing_http_request_duration_seconds";
    assert_eq!(metrics.integer(&format!("{duration}_count{{route=\"/v1/events/{{eventId}}\",method=\"GET\"}}")), 4);
    assert!(metrics.value(&format!("{duration}_sum{{route=\"/v1/events/{{eventId}}\",method=\"GET\"}}")) > 0.0);
    // The request for the metrics is counted once it has its response.
    assert_eq!(
        scrape(&mut client).integer("ticketing_http_requests_total{route=\"/metrics\",method=\"GET\",status=\"200\"}"),
        1
    );
}

#[test]
fn requests_with_invented_paths_and_methods_add_few_series() {
    let server = Server::start();
    let mut client = server.client();
    let mut random = Random::new(1);
    let known = ["GET", "HEAD", "POST", "PATCH", "DELETE"];
    for number in 0..1000 {
        let word = |number: u64| -> String {
            (0..12).map(|index| char::from(b'A' + u8::try_from((number >> (5 * index)) % 26).unwrap())).collect()
        };
        let method = match random.below(3) {
            0 => word(random.next()),
            _ => random.pick(&known).to_owned(),
        };
        let path = match random.below(4) {
            0 => format!("/{}", word(random.next())),
            1 => format!("/v1/{}/{}", word(random.next()), number),
            2 => format!("/v1/events/{}?q={}", word(random.next()), word(random.next())),
            _ => format!("/checkout/{}", word(random.next())),
        };
        let response = client.send(&method, &path, &[&format!("X-Request-Id: {}", word(random.next()))], b"");
        assert!(response.status >= 400, "{method} {path}");
    }
    let metrics = scrape(&mut client);
    let mut label_values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for series in metrics.values.keys().filter(|series| series.starts_with("ticketing_http_requests_total{")) {
        for label in parse_series(series).labels {
            label_values.entry(label.name).or_default().insert(label.value);
        }
    }
    assert_eq!(label_values["route"], BTreeSet::from(["-", "/v1/events/{eventId}", "/checkout/{token}"]));
    assert_eq!(label_values["method"], BTreeSet::from(["GET", "HEAD", "POST", "PATCH", "DELETE", "other"]));
    assert!(label_values["status"].iter().all(|status| ["400", "404", "405", "413", "415", "422"].contains(status)));
    let total: f64 = metrics
        .values
        .iter()
        .filter(|(series, _)| series.starts_with("ticketing_http_requests_total"))
        .map(|(_, value)| value)
        .sum();
    assert!((total - 1000.0).abs() < 0.5, "{total}");
}

#[test]
fn metrics_contain_no_key_code_email_address_or_token() {
    let server = Server::start();
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let created = client.post("/v1/orders", &order_of(&event, &ticket_type, 1)).expect(201).json();
    let token = created["checkoutUrl"].as_str().unwrap().rsplit_once('/').unwrap().1.to_owned();
    client.send("POST", &format!("/checkout/{token}"), &[], b"outcome=success").expect(303);
    let order = client.get(&format!("/v1/orders/{}", created["order"]["id"].as_str().unwrap())).json();
    let code = order["items"][0]["issuedTickets"][0]["code"].as_str().unwrap();
    client.post("/v1/tickets/check-in", &json!({"code": code})).expect(200);
    client.get("/v1/orders?customerEmail=ada@example.com").expect(200);
    client.get(&format!("/{code}/{}", server.key)).expect(404);
    client.send(code, &format!("/v1/orders/{code}"), &["X-Request-Id: ada@example.com"], b"").expect(405);
    let text = scrape(&mut client).text;
    for secret in [&server.key, &token, code, "ada@", "Ada", &event, &ticket_type, "summer-night"] {
        assert!(!text.contains(secret), "{secret} is in the metrics");
    }
}

#[test]
fn connections_are_counted_while_they_are_open() {
    let server = Server::start();
    let mut client = server.client();
    assert_eq!(scrape(&mut client).integer("ticketing_http_connections"), 1);
    let mut others = [server.client(), server.client(), server.client()];
    for other in &mut others {
        other.get("/health/live").expect(200);
    }
    assert_eq!(scrape(&mut client).integer("ticketing_http_connections"), 4);
    drop(others);
    let are_subtracted = (0..2000).any(|_| {
        std::thread::sleep(Duration::from_millis(5));
        scrape(&mut client).integer("ticketing_http_connections") == 1
    });
    assert!(are_subtracted, "closed connections are still counted");
}

#[test]
fn metrics_without_a_free_database_connection_report_the_store_as_down() {
    let server = Server::with(|builder| builder.sandbox_gateway().readers(1), |_| {});
    let mut client = server.client();
    assert_eq!(scrape(&mut client).integer("ticketing_store_up"), 1);
    // The scrape runs while the only read connection is in use.
    let down = server.service.on_one_snapshot(|| scrape(&mut client)).unwrap();
    assert_eq!(down.integer("ticketing_store_up"), 0);
    for gauge in [
        "held_places",
        "refunds_due",
        "refunds_refused",
        "refunds_without_gateway",
        "checkouts_without_gateway",
        "disputes_open",
        "webhooks_waiting",
        "webhooks_due",
        "webhook_oldest_due",
        "wal_size",
    ] {
        assert!(!down.text.contains(gauge), "{gauge} is present");
    }
    assert_eq!(down.integer("ticketing_commits_total"), 2, "the commits of the organization and its key");
    let mut client = server.client();
    let is_up = (0..2000).any(|_| {
        std::thread::sleep(Duration::from_millis(5));
        scrape(&mut client).integer("ticketing_store_up") == 1
    });
    assert!(is_up, "the store is still reported as down");
}

#[test]
fn the_store_is_down_after_a_write_that_fails_and_up_after_one_that_succeeds() {
    let server = Server::start();
    let mut client = server.client();
    let event = json!({
        "title": "Summer Night", "slug": "summer-night", "startDate": "9000-06-01T18:00:00Z", "deliveryMethod": "DIGITAL",
    });
    let database = server.database();
    // The deferred foreign key makes the commit fail.
    database.run("CREATE TABLE violations (id BIGINT REFERENCES organizations (id) DEFERRABLE INITIALLY DEFERRED)");
    database.trigger("violates", "AFTER INSERT ON events", "1 = 1", "INSERT INTO violations VALUES (1)");
    client.post("/v1/events", &event).expect(500);
    assert_eq!(scrape(&mut client).integer("ticketing_store_up"), 0);
    database.end_trigger("violates");
    client.post("/v1/events", &event).expect(201);
    assert_eq!(scrape(&mut client).integer("ticketing_store_up"), 1);
}
