//! The log of the example server, as whoever runs it finds it on standard error.
#![cfg(all(feature = "server", unix))]

use std::fs::File;
use std::path::Path;
use std::process::Stdio;

use crate::common::example_server::{ExampleServer, program};
use serde_json::{Value, json};

/// Starts a server whose log goes into the file `log` of `folder`.
fn start(folder: &Path, arguments: &[&str], variable: Option<&str>) -> ExampleServer {
    let mut command = program(folder, &["--listen", "127.0.0.1:0"]);
    command.args(arguments).stderr(File::create(folder.join("log")).unwrap());
    if let Some(format) = variable {
        command.env("TICKETING_LOG_FORMAT", format);
    }
    ExampleServer::start_program(&mut command)
}

/// What an answer says in a header.
fn header<'a>(answer: &'a str, name: &str) -> &'a str {
    let head = answer.split("\r\n\r\n").next().unwrap();
    let found =
        head.lines().filter_map(|line| line.split_once(": ")).find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.unwrap_or_else(|| panic!("{name} is missing: {answer}")).1
}

fn body(answer: &str) -> Value {
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

fn id(answer: &str) -> String {
    body(answer)["id"].as_str().unwrap().to_owned()
}

/// A request, as it should be in the log.
struct Asked {
    method: &'static str,
    route: &'static str,
    status: u16,
    request_id: String,
}

/// A sale, a scan and some nonsense. Gives what each request should be in the log, and what must not be in it.
fn do_business(server: &ExampleServer) -> (Vec<Asked>, Vec<String>) {
    let key = server.key().to_owned();
    let mut asked = Vec::new();
    let mut send = |method: &str, logged: &'static str, path: &str, route, body: &Value| {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let (status, answer) = server.send(method, path, &key, &body);
        let request_id = header(&answer, "x-request-id").to_owned();
        asked.push(Asked { method: logged, route, status, request_id });
        answer
    };
    let event = id(&send(
        "POST",
        "POST",
        "/v1/events",
        "/v1/events",
        &json!({
            "title": "Summer Night", "slug": "summer-night", "startDate": "9000-06-01T18:00:00Z",
            "deliveryMethod": "DIGITAL", "status": "PUBLISHED",
        }),
    ));
    let types = format!("/v1/events/{event}/ticket-types");
    let seat = json!({"name": "Seat", "price": 0, "quantity": 100});
    let seat = id(&send("POST", "POST", &types, "/v1/events/{eventId}/ticket-types", &seat));
    let placed = body(&send(
        "POST",
        "POST",
        "/v1/orders",
        "/v1/orders",
        &json!({
            "eventId": event, "customer": {"name": "Ada", "email": "ada@example.com"},
            "items": [{"ticketId": seat, "quantity": 1}],
        }),
    ));
    let code = placed["issuedTickets"][0]["code"].as_str().unwrap().to_owned();
    send("POST", "POST", "/v1/tickets/check-in", "/v1/tickets/check-in", &json!({"code": code}));
    send("GET", "GET", "/v1/orders?customerEmail=ada@example.com", "/v1/orders", &Value::Null);
    send("GET", "GET", &format!("/v1/tickets/{code}"), "/v1/tickets/{issuedTicketId}", &Value::Null);
    send("GET", "GET", &format!("/{key}"), "-", &Value::Null);
    // A method is a word of the client's own: it could be anything.
    send(&key, "other", "/v1/events", "/v1/events", &Value::Null);
    let secrets = vec![key.clone(), code, "ada@example.com".to_owned(), "Ada".to_owned(), "Summer".to_owned()];
    (asked, secrets)
}

#[test]
fn as_json_each_line_is_an_object_with_the_request_and_nothing_personal_or_secret() {
    for (arguments, variable) in [(&["--log-format", "json"][..], None), (&[], Some("json"))] {
        let folder = tempfile::tempdir().unwrap();
        let server = start(folder.path(), arguments, variable);
        let (asked, secrets) = do_business(&server);
        let statuses: Vec<_> = asked.iter().map(|asked| asked.status).collect();
        assert_eq!(statuses, [201, 201, 201, 200, 200, 404, 404, 405]);
        server.stop("TERM");
        let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
        for secret in &secrets {
            assert!(!log.contains(secret), "{secret} is in the log");
        }
        let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
        assert_eq!(lines.len(), asked.len(), "{log}");
        for (line, Asked { method, route, status, request_id }) in lines.iter().zip(asked) {
            let found = [&line["method"], &line["route"], &line["status"], &line["request_id"], &line["level"]];
            assert_eq!(found, [&json!(method), &json!(route), &json!(status), &json!(request_id), &json!("INFO")]);
            assert!(line["milliseconds"].is_u64() && line["timestamp"].is_string(), "{line}");
        }
    }
}

#[test]
fn as_text_which_is_the_default_each_request_has_a_line_too() {
    for arguments in [&[][..], &["--log-format", "text"]] {
        let folder = tempfile::tempdir().unwrap();
        let server = start(folder.path(), arguments, None);
        let (asked, secrets) = do_business(&server);
        server.stop("TERM");
        let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
        assert_eq!(log.lines().count(), asked.len(), "{log}");
        for (line, Asked { method, route, status, request_id }) in log.lines().zip(asked) {
            for part in [&format!("method={method} "), &format!("route={route:?} "), &format!("status={status} ")] {
                assert!(line.contains(part), "{part}: {line}");
            }
            assert!(line.contains("milliseconds=") && line.ends_with(&format!("request_id={request_id:?}")), "{line}");
        }
        assert!(secrets.iter().all(|secret| !log.contains(secret)), "{log}");
    }
}

#[test]
fn the_option_wins_over_the_environment() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), &["--log-format", "text"], Some("json"));
    server.get("/health/live", "");
    server.stop("TERM");
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(log.contains("route=\"/health/live\"") && !log.starts_with('{'), "{log}");
}

#[test]
fn a_log_that_nobody_takes_keeps_no_request_from_its_answer() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = program(folder.path(), &["--listen", "127.0.0.1:0"]);
    let (reader, writer) = std::io::pipe().unwrap();
    let server = ExampleServer::start_program(command.stderr(Stdio::from(writer)));
    // The command holds its end open no longer: with the reader, whatever is written goes nowhere.
    drop((command, reader));
    for _ in 0..3 {
        assert_eq!(server.get("/health/live", "").0, 200);
    }
}
