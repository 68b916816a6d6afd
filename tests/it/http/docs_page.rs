//! The page `/docs` and its script: no key, nothing from other hosts, compressed, and sent once per version.

use crate::common::http::{Client, Response, Server};

const FILES: [&str; 3] = ["/docs", "/docs/scalar.js", "/openapi.json"];

fn get(client: &mut Client, path: &str, headers: &[&str]) -> Response {
    client.send("GET", path, headers, b"")
}

#[test]
fn the_page_needs_no_key_and_loads_nothing_from_other_hosts() {
    let server = Server::start();
    let mut client = server.client_with("");
    let page = client.get("/docs").expect(200);
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{policy}");
    assert!(!policy.contains("http") && !policy.contains('*'), "{policy}");
    assert!(page.text().contains("<script src=\"docs/scalar.js\">"), "{}", page.text());
    assert!(!page.text().contains("//"), "{}", page.text());
    let script = client.get("/docs/scalar.js").expect(200);
    assert_eq!(script.header("content-type"), Some("text/javascript; charset=utf-8"));
    assert!(script.body.len() > 1_000_000, "{}", script.body.len());
}

#[test]
fn the_page_and_its_script_are_compressed_for_clients_that_accept_gzip() {
    let server = Server::start();
    let mut client = server.client_with("");
    for path in FILES {
        let plain = get(&mut client, path, &[]).expect(200);
        let compressed = get(&mut client, path, &["Accept-Encoding: gzip, deflate, br"]).expect(200);
        assert_eq!(plain.header("content-encoding"), None, "{path}");
        assert_eq!(compressed.header("content-encoding"), Some("gzip"), "{path}");
        assert!(compressed.decompressed() == plain.body, "{path}");
        assert!(compressed.body.len() < plain.body.len(), "{path}");
        assert_ne!(compressed.header("etag"), plain.header("etag"), "{path}");
        for name in ["vary", "content-type", "content-security-policy", "cache-control", "x-content-type-options"] {
            assert_eq!(compressed.header(name), plain.header(name), "{path}: {name}");
        }
        assert_eq!(plain.header("vary"), Some("accept-encoding"), "{path}");
        let head = client.send("HEAD", path, &["Accept-Encoding: gzip"], b"").expect(200);
        assert_eq!(head.header("content-length"), Some(compressed.body.len().to_string().as_str()), "{path}");
        let refused = get(&mut client, path, &["Accept-Encoding: gzip;q=0"]).expect(200);
        assert!(refused.body == plain.body, "{path}");
    }
    for (codings, is_compressed) in [
        (&["gzip"][..], true),
        (&["deflate, GZIP;q=0.5"], true),
        (&["br", "gzip"], true),
        (&["x-gzip"], true),
        (&["*"], true),
        (&["identity;q=0.5, gzip;q=0.5"], true),
        (&["identity;q=0, *"], true),
        (&[""], false),
        (&["*;q=0"], false),
        (&["gzip ; Q = 0.000"], false),
        (&["gzip;q=0, *"], false),
        (&["gzip;q=nonsense"], false),
        (&["br, deflate"], false),
        (&["identity"], false),
        (&["identity, gzip;q=0.5"], false),
    ] {
        let lines: Vec<_> = codings.iter().map(|line| format!("Accept-Encoding: {line}")).collect();
        let lines: Vec<_> = lines.iter().map(String::as_str).collect();
        let response = get(&mut client, "/docs", &lines).expect(200);
        assert_eq!(response.header("content-encoding").is_some(), is_compressed, "{codings:?}");
    }
    // The script has 4.9 MB; gzip makes it 1.4 MB.
    let script = get(&mut client, "/docs/scalar.js", &["Accept-Encoding: gzip"]).expect(200);
    assert!(script.body.len() < 2_000_000, "{}", script.body.len());
}

#[test]
fn a_client_that_has_the_version_does_not_get_it_again() {
    let server = Server::start();
    let mut client = server.client_with("");
    for path in FILES {
        for accepted in ["Accept-Encoding: gzip", "Accept-Encoding: identity"] {
            let first = get(&mut client, path, &[accepted]).expect(200);
            let etag = first.header("etag").unwrap();
            for known in ["*", &format!("W/{etag}"), &format!("\"other\", {etag}")] {
                let known = format!("If-None-Match: {known}");
                let again = get(&mut client, path, &[accepted, "If-None-Match: \"other\"", &known]).expect(304);
                assert!(again.body.is_empty(), "{path}");
                for name in ["etag", "vary", "cache-control"] {
                    assert_eq!(again.header(name), first.header(name), "{path}: {name}");
                }
            }
            for other in ["\"other\"", etag.trim_matches('"')] {
                let other = get(&mut client, path, &[accepted, &format!("If-None-Match: {other}")]).expect(200);
                assert!(other.body == first.body, "{path}");
            }
        }
        // Each encoding has a tag of its own.
        let plain = get(&mut client, path, &[]).expect(200);
        let own_tag = format!("If-None-Match: {}", plain.header("etag").unwrap());
        get(&mut client, path, &["Accept-Encoding: gzip", &own_tag]).expect(200);
    }
}
