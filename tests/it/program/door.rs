//! The command `door-link`, and a device that was written from the OpenAPI document alone.
#![cfg(all(feature = "program", unix))]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::common::program::{Server, finish, program, text};
use crate::common::unavailable;

fn post(server: &Server, path: &str, body: &Value) -> Value {
    let (status, answer) = server.send("POST", path, server.key(), &body.to_string());
    assert!((200..300).contains(&status), "{path}: {answer}");
    serde_json::from_str(answer.lines().last().unwrap_or_default()).expect(&answer)
}

/// Creates an event with tickets, and returns its id and the codes of the tickets.
fn event_with_tickets(server: &Server) -> (String, Vec<String>) {
    let event = json!({"title": "Jazz", "slug": "jazz", "startDate": "2100-06-01T18:00:00Z", "deliveryMethod": "DIGITAL",
        "status": "PUBLISHED", "timezone": "Europe/Berlin"});
    let event = post(server, "/v1/events", &event)["id"].as_str().unwrap().to_owned();
    let ticket_type =
        post(server, &format!("/v1/events/{event}/ticket-types"), &json!({"name": "Seat", "price": 0, "quantity": 10}));
    let customer = json!({"name": "Ada", "email": "ada@example.com"});
    let issued = json!({"ticketId": ticket_type["id"], "quantity": 5, "customer": customer});
    let issued = post(server, "/v1/tickets/issue", &issued)["issuedTickets"].clone();
    let codes = issued.as_array().unwrap().iter().map(|ticket| ticket["code"].as_str().unwrap().to_owned());
    (event, codes.collect())
}

/// Makes a link, and returns what the command prints.
fn door_link(folder: &Path, event: &str, name: &str) -> String {
    let arguments = ["door-link", event, "--name", name, "--public-url", "https://tickets.example.com"];
    let output = finish(&mut program(folder, &arguments));
    assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
    text(&output.stdout).to_owned()
}

/// The key in what `door-link` has printed.
fn key(printed: &str, event: &str) -> String {
    let start = format!("https://tickets.example.com/door/#{event}/");
    let link = printed.lines().find_map(|line| line.strip_prefix(&start)).expect(printed);
    assert!(link.starts_with("tk_") && link.len() == 39, "{link}");
    link.to_owned()
}

#[test]
fn door_link_prints_the_link_and_its_qr_code_beside_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let (event, _) = event_with_tickets(&server);
    let printed = door_link(folder.path(), &event, "Gate A");
    let key = key(&printed, &event);
    assert!(
        printed.contains("It works until 2100-06-03 02:00 (Europe/Berlin)."),
        "six hours after the event: {printed}"
    );
    assert!(printed.lines().filter(|line| line.contains('█')).count() > 10, "{printed}");
    let (status, roster) = server.send("GET", &format!("/v1/events/{event}/roster"), &key, "");
    assert_eq!(status, 200, "{roster}");
    assert!(roster.contains(r#""gate":"Gate A""#) && !roster.contains("Ada"), "{roster}");

    for (arguments, message) in [
        (&["door-link", &event, "--name", "Gate A"][..], "--public-url"),
        (&["door-link", "event_0", "--name", "Gate A", "--public-url", "https://a.example"], "there is no event"),
        (
            &["door-link", &event, "--name", "Gate A", "--public-url", "https://a.example", "--until", "2020-01-01"],
            "until",
        ),
    ] {
        let output = finish(&mut program(folder.path(), arguments));
        assert!(!output.status.success() && text(&output.stderr).contains(message), "{}", text(&output.stderr));
    }
}

/// A device that has loaded the roster.
struct Device {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Device {
    fn start(server: &Server, event: &str, key: &str, name: &str) -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/program/door_client.py");
        let base = format!("http://{}/v1", server.address());
        let mut python = Command::new("python3");
        let python = python.args([script, &base, event, key, name]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = python.spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Self { child, output }
    }

    /// Scans these codes, and returns the result of each.
    fn scan(mut self, mode: &str, codes: &[&str]) -> Vec<String> {
        let input = format!("{mode}\n{}", codes.join("\n"));
        self.child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let lines = self.output.lines().map(Result::unwrap).collect();
        assert!(self.child.wait().unwrap().success());
        lines
    }
}

#[test]
fn a_device_written_from_the_openapi_document_checks_in_offline_and_merges() {
    if Command::new("python3").arg("--version").output().is_err() {
        return unavailable("python3");
    }
    let folder = tempfile::tempdir().unwrap();
    let logged = folder.path().join("log");
    let mut command = program(folder.path(), &["--listen", "127.0.0.1:0"]);
    let server = Server::start_program(command.stderr(std::fs::File::create(&logged).unwrap()));
    let (event, codes) = event_with_tickets(&server);
    let [gate_a, gate_b] = ["Gate A", "Gate B"].map(|name| key(&door_link(folder.path(), &event, name), &event));
    let codes: Vec<_> = codes.iter().map(String::as_str).collect();
    let start = |key: &str, name: &str| Device::start(&server, &event, key, name);
    let online = start(&gate_a, "Phone 1").scan("online", &[codes[0], codes[0], "AAAA"]);
    assert_eq!(online, ["ADMITTED -", "REFUSED -", "UNKNOWN_CODE -"]);
    // Both have a roster in which the first ticket is checked in, and then no connection.
    let (first, second) = (start(&gate_a, "Phone 1"), start(&gate_b, "Phone 2"));
    let first = first.scan("offline", &[codes[0], codes[1], codes[1], codes[2]]);
    assert_eq!(first, ["REFUSED REFUSED", "ADMITTED ADMITTED", "REFUSED REFUSED", "ADMITTED ADMITTED"]);
    let second = second.scan("offline", &[codes[3], codes[2], "BBBB"]);
    assert_eq!(second, ["ADMITTED ADMITTED", "ADMITTED_TWICE ADMITTED", "UNKNOWN_CODE REFUSED"]);
    let (_, log) = server.send("GET", &format!("/v1/events/{event}/scans"), server.key(), "");
    assert_eq!(log.matches(r#""kind":"IN""#).count(), 8, "{log}");
    assert!(codes.iter().all(|code| !log.contains(code)), "{log}");
    drop(server);
    let logged = std::fs::read_to_string(logged).unwrap();
    let twice = logged.lines().find(|line| line.contains("two people came in with one ticket")).expect(&logged);
    let scan = twice.split("scan=").nth(1).and_then(|rest| rest.split_whitespace().next()).expect(twice);
    assert_eq!((scan.len(), scan.matches('-').count()), (36, 4), "the id of the device: {twice}");
}
