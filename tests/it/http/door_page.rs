//! `/door/`: the page for check-in at the entrance, its service worker and its files.

use std::collections::HashSet;

use serde_json::{Value, json};
use ticketing::server::router;

use crate::common::http::{EventOnSale, Server, event_on_sale};

/// The paths that the service worker keeps, relative to `/door/`.
fn kept(worker: &str) -> Vec<String> {
    let list = worker.split("JSON.parse('").nth(1).and_then(|rest| rest.split('\'').next()).expect(worker);
    serde_json::from_str(list).expect(list)
}

/// The paths that a file names: of the modules that it imports, and of what its HTML loads.
fn named(path: &str, text: &str) -> Vec<String> {
    let folder = path.rsplit_once('/').map_or_else(String::new, |(folder, _)| format!("{folder}/"));
    let text = text.replace('\n', " ");
    let mut paths = Vec::new();
    for (before, after) in [(" from \"./", '"'), (" from './", '\''), ("href=\"", '"'), ("src=\"", '"')] {
        let names = text.split(before).skip(1).filter_map(|rest| rest.split(after).next());
        paths.extend(names.filter(|name| !name.contains(' ')).map(|name| format!("{folder}{name}")));
    }
    paths
}

#[test]
fn the_page_for_check_in_loads_only_its_own_files_of_one_version() {
    let server = Server::start();
    let mut client = server.client_with("");
    let page = client.get("/door/").expect(200);
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    let files = kept(client.get("/door/sw.js").expect(200).text());
    let versions: HashSet<_> = files.iter().map(|file| file.split('/').next().unwrap().to_owned()).collect();
    assert!(versions.len() == 1 && files.len() > 15, "{files:?}");
    for loaded in page.text().split("=\"").filter_map(|rest| rest.split('"').next()).filter(|text| text.contains('/')) {
        assert!(files.iter().any(|file| file == loaded) || loaded == "image/svg+xml", "{loaded}");
    }
    let mut names = 0;
    for path in files.iter().map(String::as_str).chain(["", "sw.js"]) {
        let file = client.get(&format!("/door/{path}")).expect(200);
        for name in named(path, file.text()) {
            assert!(files.contains(&name), "{path} names {name}");
            names += 1;
        }
        let policy = file.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"), "{policy}");
        assert!(!policy.contains("http") && !policy.contains('*') && !policy.contains("unsafe"), "{policy}");
        assert_eq!(file.header("permissions-policy"), Some("camera=(self)"), "{path}");
        assert_eq!(file.header("referrer-policy"), Some("no-referrer"), "{path}");
        let caching = if path.contains('/') { "max-age=31536000, immutable" } else { "no-cache" };
        assert_eq!(file.header("cache-control"), Some(caching), "{path}");
        let tag = format!("If-None-Match: {}", file.header("etag").unwrap());
        client.send("GET", &format!("/door/{path}"), &[&tag], b"").expect(304);
    }
    assert!(names > 15, "{names}");
    // As people type it.
    let redirect = client.get("/door").expect(308);
    assert_eq!(redirect.header("location"), Some("door/"));
    for path in ["/door/other", "/door/0000000000000000/app.js", "/door/x/../app.js"] {
        client.get(path).expect(404);
    }
}

#[test]
fn the_page_for_check_in_has_at_most_60_kb_compressed_of_which_the_decoder_has_15() {
    let server = Server::start();
    let mut client = server.client_with("");
    let files = kept(client.get("/door/sw.js").expect(200).text());
    let mut bytes = 0;
    let mut decoder = 0;
    for path in files.iter().map(String::as_str).chain(["", "sw.js"]) {
        let file = client.send("GET", &format!("/door/{path}"), &["Accept-Encoding: gzip"], b"").expect(200);
        bytes += file.body.len();
        if path.contains("/qr/") {
            decoder += file.body.len();
        }
    }
    assert!((40_000..60_000).contains(&bytes), "{bytes}");
    assert!((10_000..15_000).contains(&decoder), "{decoder}");
}

#[test]
fn the_page_for_check_in_asks_at_once_for_all_modules_that_it_needs_to_start() {
    let server = Server::start();
    let mut client = server.client_with("");
    let page = client.get("/door/").expect(200);
    let links = page.text().split("rel=\"modulepreload\" href=\"").skip(1);
    let preloaded: HashSet<_> = links.filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect();
    let start = page.text().split("src=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a script");
    let mut needed = vec![start.to_owned()];
    for number in 0.. {
        let Some(module) = needed.get(number).cloned() else { break };
        for name in named(&module, client.get(&format!("/door/{module}")).expect(200).text()) {
            if !needed.contains(&name) {
                needed.push(name);
            }
        }
    }
    assert!(needed.len() > 8, "{needed:?}");
    assert_eq!(preloaded, needed[1..].iter().cloned().collect());
}

#[test]
fn a_roster_is_compressed_for_clients_that_accept_gzip() {
    let server = Server::start();
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let guest = json!({"name": "Ada", "email": "ada@example.com"});
    for _ in 0..10 {
        client
            .post("/v1/tickets/issue", &json!({"ticketId": ticket_type, "quantity": 10, "customer": guest}))
            .expect(201);
    }
    client.post(&format!("/v1/events/{event}/door-links"), &json!({"name": "Gate A"})).expect(201);
    let path = format!("/v1/events/{event}/roster");
    let plain = client.get(&path).expect(200);
    let mut get = |path: &str| client.send("GET", path, &["Accept-Encoding: gzip, deflate, br"], b"").expect(200);
    let compressed = get(&path);
    assert_eq!((plain.header("content-encoding"), compressed.header("content-encoding")), (None, Some("gzip")));
    for name in ["vary", "content-type", "cache-control"] {
        assert_eq!(compressed.header(name), plain.header(name), "{name}");
    }
    assert_eq!(plain.header("vary"), Some("accept-encoding"));
    let roster: Value = serde_json::from_slice(&compressed.decompressed()).unwrap();
    assert_eq!((&roster["tickets"], &roster["counts"]), (&plain.json()["tickets"], &plain.json()["counts"]));
    assert_eq!(roster["tickets"].as_array().unwrap().len(), 100);
    // 12 of the 80 bytes of a ticket are the random ones of its hash.
    assert!(compressed.body.len() < plain.body.len() / 2, "{} of {}", compressed.body.len(), plain.body.len());
    let changes = get(&format!("{path}?since={}", roster["cursor"].as_str().unwrap()));
    let changes: Value = serde_json::from_slice(&changes.decompressed()).unwrap();
    assert_eq!((&changes["complete"], &changes["conflicts"]), (&json!(true), &json!([])));
    assert_eq!(get("/v1/events").header("content-encoding"), None, "no other operation has large responses for phones");
}

#[test]
fn the_page_for_check_in_works_under_a_prefix() {
    let server = Server::with_app(
        ticketing::Builder::sandbox_gateway,
        |_| {},
        |service, options| axum::Router::new().nest("/api/tickets", router(service, options)),
    );
    let mut client = server.client_with("");
    let page = client.get("/api/tickets/door/").expect(200);
    let worker = client.get("/api/tickets/door/sw.js").expect(200);
    let (page, worker) = (page.text(), worker.text());
    for file in kept(worker) {
        assert!(!file.starts_with('/'), "{file}");
        client.get(&format!("/api/tickets/door/{file}")).expect(200);
    }
    assert!(!page.contains("=\"/") && !worker.contains("\"/"), "{page}{worker}");
}
