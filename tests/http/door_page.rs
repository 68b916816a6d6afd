//! `/door/`: the page for check-in at the entrance, its service worker and its files.

use std::collections::HashSet;

use ticketing::server::router;

use crate::common::http::Server;

/// The paths that the service worker keeps, relative to `/door/`.
fn kept(worker: &str) -> Vec<String> {
    let list = worker.split("JSON.parse('").nth(1).and_then(|rest| rest.split('\'').next()).expect(worker);
    serde_json::from_str(list).expect(list)
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
    for path in files.iter().map(String::as_str).chain(["", "sw.js"]) {
        let file = client.get(&format!("/door/{path}")).expect(200);
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
    for path in ["/door/other", "/door/0000000000000000/app.js", "/door/x/../app.js"] {
        client.get(path).expect(404);
    }
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
