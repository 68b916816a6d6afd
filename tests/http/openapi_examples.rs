//! The document of the interface: its examples are what a server really answers, and its routes are those there are.

use std::collections::BTreeSet;
use std::path::Path;

use crate::common::http::Server;
use crate::walkthrough::{Document, Walkthrough};
use serde_json::{Value, json};

/// Where the examples are kept. `WRITE_EXAMPLES=1` writes them anew.
fn kept() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/server/openapi/examples.json")
}

#[test]
fn the_examples_are_what_is_really_asked_and_answered_and_every_operation_has_one() {
    let walkthrough = Walkthrough::run();
    let told = Value::Object(walkthrough.examples);
    if std::env::var_os("WRITE_EXAMPLES").is_some() {
        std::fs::write(kept(), serde_json::to_string_pretty(&told).unwrap() + "\n").unwrap();
    }
    let kept: Value = serde_json::from_slice(&std::fs::read(kept()).unwrap()).unwrap();
    let (kept, told) = (kept.as_object().unwrap(), told.as_object().unwrap());
    for (name, example) in told {
        assert_eq!(kept.get(name), Some(example), "{name}");
    }
    let operations = walkthrough.document.operations();
    let of_the_api: BTreeSet<_> =
        operations.iter().filter(|each| each.path.starts_with("/v1/")).map(|each| &each.name).collect();
    assert_eq!(told.keys().collect::<BTreeSet<_>>(), of_the_api);
    assert_eq!(kept.keys().collect::<BTreeSet<_>>(), of_the_api);
}

/// Every schema with examples in the document.
fn with_examples<'a>(value: &'a Value, path: &str, found: &mut Vec<(String, &'a Value, &'a Value)>) {
    match value {
        Value::Object(members) => {
            if let Some(schema) = members.get("schema") {
                let several = members.get("examples").and_then(Value::as_object);
                let several =
                    several.into_iter().flat_map(|examples| examples.values()).map(|example| &example["value"]);
                found.extend(
                    members.get("example").into_iter().chain(several).map(|each| (path.to_owned(), schema, each)),
                );
            }
            members.iter().for_each(|(name, member)| with_examples(member, &format!("{path}/{name}"), found));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| with_examples(item, &format!("{path}/{index}"), found));
        }
        _ => {}
    }
}

#[test]
fn every_example_is_valid_and_has_no_undocumented_field() {
    let document = Document::of(&Server::start());
    let mut found = Vec::new();
    with_examples(&document.0, "", &mut found);
    assert!(found.len() > 100, "{}", found.len());
    for (path, schema, example) in found {
        assert_eq!(document.schema_errors(schema, example), [""; 0], "{path}");
    }
}

#[test]
fn problems_have_the_form_that_is_documented() {
    let walkthrough = Walkthrough::run();
    let (server, document) = (&walkthrough.server, &walkthrough.document);
    let path = |name: &str| walkthrough.examples[name]["path"].as_str().unwrap().to_owned();
    let mut client = server.client();
    let json = "Content-Type: application/json";
    let door = server.key_with([ticketing::Scope::TicketsCheckIn]);
    let again = walkthrough.examples["create_event"]["request"].to_string();
    for (name, status, answer) in [
        ("create_event", 400, client.send("POST", "/v1/events", &[json], b"{")),
        ("create_event", 401, server.client_with("").post("/v1/events", &json!({}))),
        ("create_event", 403, server.client_with(&door).post("/v1/events", &json!({}))),
        ("create_event", 409, client.send("POST", "/v1/events", &[json], again.as_bytes())),
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
        assert_eq!(answer.status, status, "{name}: {answer:?}");
        document.check(&document.operation(name), &answer);
    }
}

#[test]
fn a_repeated_request_is_answered_as_documented() {
    let walkthrough = Walkthrough::run();
    let operation = walkthrough.document.operation("issue_tickets");
    let body = walkthrough.examples["issue_tickets"]["request"].to_string();
    let mut client = walkthrough.server.client();
    let headers = ["Content-Type: application/json", "Idempotency-Key: once"];
    for replayed in [None, Some("true")] {
        let answer = client.send("POST", "/v1/tickets/issue", &headers, body.as_bytes());
        assert_eq!((answer.status, answer.header("idempotent-replayed")), (201, replayed));
        walkthrough.document.check(&operation, &answer);
    }
}

#[test]
fn each_documented_route_is_there_and_refuses_every_method_that_is_not_documented() {
    let server = Server::with(ticketing::Builder::sandbox_gateway, |options| options.rate_limit = None);
    let document = Document::of(&server);
    let operations = document.operations();
    let paths: BTreeSet<_> = operations.iter().map(|operation| operation.path.as_str()).collect();
    let mut client = server.client();
    for path in paths {
        let real = path.split('/').map(|part| if part.starts_with('{') { "none" } else { part });
        let real = real.collect::<Vec<_>>().join("/");
        let methods: BTreeSet<_> = operations
            .iter()
            .filter(|operation| operation.path == path)
            .map(|operation| operation.method.as_str())
            .collect();
        for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"] {
            let answer = client.send(method, &real, &[], b"");
            // Whatever answers GET answers HEAD.
            let is_documented = methods.contains(if method == "HEAD" { "GET" } else { method });
            assert_eq!(answer.status == 405, !is_documented, "{method} {real}: {answer:?}");
            let allowed = answer.header("allow").unwrap_or_default().to_owned();
            if !is_documented {
                let mut expected: BTreeSet<&str> = methods.clone();
                expected.extend(methods.contains("GET").then_some("HEAD"));
                assert_eq!(
                    allowed.split([',', ' ']).filter(|each| !each.is_empty()).collect::<BTreeSet<_>>(),
                    expected
                );
            } else if method != "HEAD" && answer.header("content-type") == Some("application/problem+json") {
                assert_ne!(answer.json()["detail"], "no route has this path", "{method} {real}");
            }
        }
    }
}

/// What follows each `route("` in the code of the server, outside tests.
fn mounted() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/server");
    let mut found = BTreeSet::new();
    for file in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        let code: String = text.split_whitespace().collect();
        found.extend(code.split(".route(\"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()));
    }
    let document = std::fs::read_to_string(kept().with_file_name("mod.rs")).unwrap();
    found.extend(document.split(".route(\"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()));
    found
}

#[test]
fn no_route_outside_the_operations_is_left_out() {
    let document = Document::of(&Server::start());
    let outside = document.operations().into_iter().map(|each| each.path).filter(|path| !path.starts_with("/v1/"));
    assert_eq!(outside.collect::<BTreeSet<_>>(), mounted());
}

#[test]
fn the_document_and_the_page_ask_for_no_key_and_load_nothing_from_elsewhere() {
    let server = Server::start();
    let mut anybody = server.client_with("");
    let document = anybody.get("/openapi.json").expect(200);
    assert_eq!(document.header("content-type"), Some("application/json"));
    let head = anybody.send("HEAD", "/openapi.json", &[], b"").expect(200);
    assert_eq!(head.header("content-length"), document.header("content-length"));
    let page = anybody.get("/docs").expect(200);
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{policy}");
    assert!(!policy.contains("http") && !policy.contains('*'), "{policy}");
    assert!(!page.text().contains("//"), "{}", page.text());
    let script = anybody.get("/docs/scalar.js").expect(200);
    assert!(script.body.len() > 1_000_000);
}
