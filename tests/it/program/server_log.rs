//! The log that the program writes to standard error.
#![cfg(all(feature = "program", unix))]

use std::fs::File;
use std::path::Path;
use std::process::Stdio;

use crate::common::program::{Server, program};
use serde_json::{Value, json};

/// Starts a server whose log goes to the file `log` in `folder`. `log_format` is the environment variable, if set.
fn start(folder: &Path, arguments: &[&str], log_format: Option<&str>) -> Server {
    let mut command = program(folder, &["--listen", "127.0.0.1:0"]);
    command.args(arguments).stderr(File::create(folder.join("log")).unwrap());
    if let Some(format) = log_format {
        command.env("TICKETING_LOG_FORMAT", format);
    }
    Server::start_program(&mut command)
}

/// Returns the value of a response header.
fn header<'a>(response: &'a str, name: &str) -> &'a str {
    let head = response.split("\r\n\r\n").next().unwrap();
    let found =
        head.lines().filter_map(|line| line.split_once(": ")).find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.unwrap_or_else(|| panic!("{name} is missing: {response}")).1
}

fn body(response: &str) -> Value {
    serde_json::from_str(response.split_once("\r\n\r\n").unwrap().1).unwrap()
}

fn id(response: &str) -> String {
    body(response)["id"].as_str().unwrap().to_owned()
}

/// The values that the log line of a request must contain.
struct LoggedRequest {
    method: &'static str,
    route: &'static str,
    status: u16,
    request_id: String,
}

/// Sells and scans a ticket, and sends some invalid requests. Returns the expected log lines, and the texts that the
/// log must not contain.
fn sell_and_scan(server: &Server) -> (Vec<LoggedRequest>, Vec<String>) {
    let key = server.key().to_owned();
    let mut expected = Vec::new();
    let mut send = |method: &str, logged: &'static str, path: &str, route, body: &Value| {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let (status, response) = server.send(method, path, &key, &body);
        let request_id = header(&response, "x-request-id").to_owned();
        expected.push(LoggedRequest { method: logged, route, status, request_id });
        response
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
    let ticket_type = json!({"name": "Seat", "price": 0, "quantity": 100});
    let ticket_type = id(&send("POST", "POST", &types, "/v1/events/{eventId}/ticket-types", &ticket_type));
    let created = body(&send(
        "POST",
        "POST",
        "/v1/orders",
        "/v1/orders",
        &json!({
            "eventId": event, "customer": {"name": "Ada", "email": "ada@example.com"},
            "items": [{"ticketId": ticket_type, "quantity": 1}],
        }),
    ));
    let code = created["issuedTickets"][0]["code"].as_str().unwrap().to_owned();
    send("POST", "POST", "/v1/tickets/check-in", "/v1/tickets/check-in", &json!({"code": code}));
    send("GET", "GET", "/v1/orders?customerEmail=ada@example.com", "/v1/orders", &Value::Null);
    send("GET", "GET", &format!("/v1/tickets/{code}"), "/v1/tickets/{issuedTicketId}", &Value::Null);
    send("GET", "GET", &format!("/{key}"), "-", &Value::Null);
    // A client can send any text as the method, so the text of an unknown method is not logged.
    send(&key, "other", "/v1/events", "/v1/events", &Value::Null);
    let secrets = vec![key.clone(), code, "ada@example.com".to_owned(), "Ada".to_owned(), "Summer".to_owned()];
    (expected, secrets)
}

#[test]
fn in_json_format_each_request_is_one_object_without_personal_data_or_secrets() {
    for (arguments, log_format) in [(&["--log-format", "json"][..], None), (&[], Some("json"))] {
        let folder = tempfile::tempdir().unwrap();
        let server = start(folder.path(), arguments, log_format);
        let (expected, secrets) = sell_and_scan(&server);
        let statuses: Vec<_> = expected.iter().map(|request| request.status).collect();
        assert_eq!(statuses, [201, 201, 201, 200, 200, 404, 404, 405]);
        server.stop("TERM");
        let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
        for secret in &secrets {
            assert!(!log.contains(secret), "{secret} is in the log");
        }
        let lines = log.lines().map(|line| serde_json::from_str(line).expect(line));
        let lines: Vec<Value> = lines.filter(|line: &Value| line["target"] == "ticketing::request").collect();
        assert_eq!(lines.len(), expected.len(), "{log}");
        for (line, LoggedRequest { method, route, status, request_id }) in lines.iter().zip(expected) {
            let found = [&line["method"], &line["route"], &line["status"], &line["request_id"], &line["level"]];
            assert_eq!(found, [&json!(method), &json!(route), &json!(status), &json!(request_id), &json!("INFO")]);
            assert!(line["milliseconds"].is_u64() && line["timestamp"].is_string(), "{line}");
        }
    }
}

#[test]
fn in_text_format_the_default_each_request_is_one_line() {
    for arguments in [&[][..], &["--log-format", "text"]] {
        let folder = tempfile::tempdir().unwrap();
        let server = start(folder.path(), arguments, None);
        let (expected, secrets) = sell_and_scan(&server);
        server.stop("TERM");
        let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
        let lines: Vec<_> = log.lines().filter(|line| line.contains(" ticketing::request: ")).collect();
        assert_eq!(lines.len(), expected.len(), "{log}");
        for (line, LoggedRequest { method, route, status, request_id }) in lines.into_iter().zip(expected) {
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
fn requests_are_served_if_the_log_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = program(folder.path(), &["--listen", "127.0.0.1:0"]);
    let (reader, writer) = std::io::pipe().unwrap();
    let server = Server::start_program(command.stderr(Stdio::from(writer)));
    // The command holds a copy of the writing end. Without a reader, each write to the log fails.
    drop((command, reader));
    for _ in 0..3 {
        assert_eq!(server.get("/health/live", "").0, 200);
    }
}
