//! The OpenAPI document: its examples match the server's responses, and its paths and methods match the routes.

use std::collections::BTreeSet;
use std::path::Path;

use crate::common::database;
use crate::common::http::Server;
#[cfg(feature = "docs-page")]
use crate::common::sources::files_under;
use crate::http::walkthrough::{Document, Walkthrough};
use serde_json::{Value, json};

/// The path of the stored examples. Run the tests with `WRITE_EXAMPLES=1` to update them.
fn examples_file() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/server/openapi/examples.json")
}

#[test]
#[cfg_attr(not(feature = "documents"), ignore = "the examples are those of a server with ticket documents")]
fn every_operation_has_an_example_with_a_real_request_and_response() {
    let walkthrough = Walkthrough::run();
    let recorded = Value::Object(walkthrough.examples);
    if std::env::var_os("WRITE_EXAMPLES").is_some() {
        std::fs::write(examples_file(), serde_json::to_string_pretty(&recorded).unwrap() + "\n").unwrap();
    }
    let stored: Value = serde_json::from_slice(&std::fs::read(examples_file()).unwrap()).unwrap();
    let stored = stored.as_object().unwrap();
    let recorded = recorded.as_object().unwrap();
    // The PostgreSQL engine draws random numbers too, so that ids differ.
    if database::is_file() {
        for (name, example) in recorded {
            assert_eq!(stored.get(name), Some(example), "{name}");
        }
    }
    let operations = walkthrough.document.operations();
    let api_operations = operations.iter().filter(|operation| operation.path.starts_with("/v1/"));
    let expected: BTreeSet<_> = api_operations.map(|operation| &operation.name).collect();
    assert_eq!(recorded.keys().collect::<BTreeSet<_>>(), expected);
    assert_eq!(stored.keys().collect::<BTreeSet<_>>(), expected);
}

/// An example in the document, with the schema that it must match.
struct Example<'a> {
    /// The JSON pointer of the object that has both.
    path: String,
    schema: &'a Value,
    value: &'a Value,
}

/// Collects every example in `value`, which is at `path` in the document.
fn collect_examples<'a>(value: &'a Value, path: &str, found: &mut Vec<Example<'a>>) {
    match value {
        Value::Object(members) => {
            if let Some(schema) = members.get("schema") {
                let single = members.get("example");
                let named = members.get("examples").and_then(Value::as_object);
                let named = named.into_iter().flat_map(|examples| examples.values()).map(|example| &example["value"]);
                for value in single.into_iter().chain(named) {
                    found.push(Example { path: path.to_owned(), schema, value });
                }
            }
            for (name, member) in members {
                collect_examples(member, &format!("{path}/{name}"), found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect_examples(item, &format!("{path}/{index}"), found);
            }
        }
        _ => {}
    }
}

#[test]
fn every_example_is_valid_and_has_no_undocumented_field() {
    let document = Document::of(&Server::start());
    let mut examples = Vec::new();
    collect_examples(&document.0, "", &mut examples);
    assert!(examples.len() > 100, "{}", examples.len());
    for Example { path, schema, value } in examples {
        assert_eq!(document.schema_errors(schema, value), [""; 0], "{path}");
    }
}

#[test]
fn problem_responses_match_the_document() {
    let walkthrough = Walkthrough::run();
    let server = &walkthrough.server;
    let document = &walkthrough.document;
    let path = |name: &str| walkthrough.examples[name]["path"].as_str().unwrap().to_owned();
    let mut client = server.client();
    let json = "Content-Type: application/json";
    let check_in_key = server.key_with([ticketing::organization::Scope::TicketsCheckIn]);
    let existing_event = walkthrough.examples["create_event"]["request"].to_string();
    for (name, status, response) in [
        ("create_event", 400, client.send("POST", "/v1/events", &[json], b"{")),
        ("create_event", 401, server.client_with("").post("/v1/events", &json!({}))),
        ("create_event", 403, server.client_with(&check_in_key).post("/v1/events", &json!({}))),
        ("create_event", 409, client.send("POST", "/v1/events", &[json], existing_event.as_bytes())),
        ("create_event", 413, client.send("POST", "/v1/events", &[json], &vec![b' '; 1024 * 1024 + 1])),
        ("create_event", 415, server.client().send("POST", "/v1/events", &["Content-Type: text/plain"], b"{}")),
        ("create_event", 422, server.client().post("/v1/events", &json!({"title": 5}))),
        ("get_event", 404, server.client().get("/v1/events/none")),
        ("update_event", 412, server.client().send("PATCH", &path("update_event"), &["If-Match: \"9\"", json], b"{}")),
        ("check_in_ticket", 404, server.client().post("/v1/tickets/check-in", &json!({"code": "0"}))),
        ("cancel_order", 409, server.client().post_empty(&path("cancel_order"))),
        ("cancel_ticket", 409, server.client().post_empty(&path("cancel_ticket"))),
        ("delete_event", 409, server.client().delete(&path("get_event"))),
    ] {
        assert_eq!(response.status, status, "{name}: {response:?}");
        document.check(&document.operation(name), &response);
    }
}

#[test]
fn each_documented_path_exists_and_rejects_undocumented_methods() {
    let server = Server::with(ticketing::Builder::sandbox_gateway, |options| options.rate_limit = None);
    let document = Document::of(&server);
    let operations = document.operations();
    let paths: BTreeSet<_> =
        operations.iter().map(|operation| (&operation.path, operation.path_of_unknown())).collect();
    let mut client = server.client();
    for (path, url) in paths {
        let methods: BTreeSet<_> = operations
            .iter()
            .filter(|operation| operation.path == *path)
            .map(|operation| operation.method.as_str())
            .collect();
        for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"] {
            let response = client.send(method, &url, &[], b"");
            // HEAD is allowed for every path that allows GET.
            let is_documented = methods.contains(if method == "HEAD" { "GET" } else { method });
            assert_eq!(response.status == 405, !is_documented, "{method} {url}: {response:?}");
            let allowed = response.header("allow").unwrap_or_default().to_owned();
            if !is_documented {
                let mut expected: BTreeSet<&str> = methods.clone();
                expected.extend(methods.contains("GET").then_some("HEAD"));
                let allowed: BTreeSet<_> = allowed.split([',', ' ']).filter(|method| !method.is_empty()).collect();
                assert_eq!(allowed, expected, "{method} {url}");
            } else if method != "HEAD" && response.header("content-type") == Some("application/problem+json") {
                assert_ne!(response.json()["detail"], "no route has this path", "{method} {url}");
            }
        }
    }
}

/// The paths in the calls of `.route("…")` in the source code of the server.
#[cfg(feature = "docs-page")]
fn registered_paths() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for file in files_under("src/server") {
        let text = std::fs::read_to_string(&file).unwrap();
        let is_code = |line: &&str| !line.trim_start().starts_with("//");
        let code: String = text.lines().filter(is_code).flat_map(str::split_whitespace).collect();
        // A parameter with an asterisk has several segments, which the document cannot say.
        let paths = code.split(".route(\"").skip(1).map(|rest| rest.split('"').next().unwrap().replace("{*", "{"));
        found.extend(paths);
    }
    found
}

#[test]
#[cfg(feature = "docs-page")]
fn the_document_has_every_registered_path_outside_v1() {
    let document = Document::of(&Server::start());
    let paths = document.operations().into_iter().map(|operation| operation.path);
    let outside_v1: BTreeSet<_> = paths.filter(|path| !path.starts_with("/v1/")).collect();
    // A path that ends with a slash leads to the one without, unless a folder has that name.
    let registered = registered_paths()
        .into_iter()
        .filter(|path| path == "/door/" || !(path.ends_with('/') || path == "/door"))
        .collect();
    assert_eq!(outside_v1, registered);
}

#[test]
fn the_document_needs_no_key() {
    let server = Server::start();
    let mut client = server.client_with("");
    let document = client.get("/openapi.json").expect(200);
    assert_eq!(document.header("content-type"), Some("application/json"));
    let head = client.send("HEAD", "/openapi.json", &[], b"").expect(200);
    assert_eq!(head.header("content-length"), document.header("content-length"));
}
