//! The command `import-tickets`.
#![cfg(all(feature = "program", unix))]

use std::fmt::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use ticketing::environment::{Clock, SystemClock};

use crate::common::long_runs::repetitions;
use crate::common::program::{Server, finish, program, text};

fn post(server: &Server, path: &str, body: &Value) -> String {
    let (status, answer) = server.send("POST", path, server.key(), &body.to_string());
    assert_eq!(status, 201, "{path}: {answer}");
    let answer: Value = serde_json::from_str(answer.lines().last().unwrap_or_default()).expect(&answer);
    answer["id"].as_str().unwrap().to_owned()
}

/// A server with an event, and a ticket type with so many seats.
fn on_sale(folder: &std::path::Path, seats: u64) -> (Server, String, String) {
    let server = Server::start(folder, &[]);
    let event = json!({"title": "Jazz", "slug": "jazz", "startDate": "2100-06-01T18:00:00Z", "deliveryMethod": "DIGITAL",
        "status": "PUBLISHED"});
    let event = post(&server, "/v1/events", &event);
    let seat = json!({"name": "Seat", "price": 20, "quantity": seats});
    let seat = post(&server, &format!("/v1/events/{event}/ticket-types"), &seat);
    (server, event, seat)
}

/// Runs the program, and returns its exit status, what it has printed as JSON, and the lines on standard error.
fn run(folder: &std::path::Path, arguments: &[&str]) -> (i32, Value, Vec<String>) {
    let output = finish(&mut program(folder, arguments));
    let printed = text(&output.stdout);
    let printed = serde_json::from_str(printed).unwrap_or(Value::Null);
    let lines = text(&output.stderr).lines().map(str::to_owned).collect();
    (output.status.code().expect("an exit status"), printed, lines)
}

#[test]
fn good_lines_are_imported_refused_ones_are_printed_and_a_repeat_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (server, event, seat) = on_sale(folder.path(), 4);
    let file = folder.path().join("Box office.csv");
    let lines = "Name;Barcode;Seat\r\nAda;4006381333931;Row 1\r\nBob; 4006381333948 ;\"Row; 2\"\r\nCy;12345;Row 3\r\n\
        Di;4006381333931;Row 4\r\nEd;0123456789abcdefghjk;Row 5\r\nFay;4006381333955;\r\nGus;ümlaut-1;Row 7\r\n\
        Hal;4006381333962;Row 8\r\nIda;4006381333979;Row 9\r\nJo\r\n";
    std::fs::write(&file, lines).unwrap();
    let path = file.to_str().unwrap();
    let import =
        ["import-tickets", &event, path, "--type", &seat, "--code-column", "Barcode", "--label-column", "Seat"];
    let (status, printed, refused) = run(folder.path(), &import);
    assert_eq!(status, 1, "{refused:?}");
    assert_eq!(
        (&printed["imported"], &printed["alreadyImported"], &printed["refused"]),
        (&json!(4), &json!(0), &json!(6)),
        "{refused:?}"
    );
    let mut sorted = refused.clone();
    sorted.sort();
    assert_eq!(
        sorted,
        [
            "6 lines were refused",
            "line 10: no seat of the ticket type is left",
            "line 11: it has no column with a code",
            "line 4: its code must have at least 6 characters",
            "line 5: its code is on an earlier line too",
            "line 6: its code must not be a code that this service could have issued: 20 characters of Crockford base32",
            "line 8: its code must have visible ASCII characters only, without spaces",
        ]
    );
    let allocation = printed["allocation"].as_str().unwrap();
    let path_of_tickets = format!("/v1/tickets?allocationId={allocation}");
    let (_, tickets) = server.send("GET", &path_of_tickets, server.key(), "");
    let tickets: Value = serde_json::from_str(tickets.lines().last().unwrap()).unwrap();
    let labels: Vec<_> =
        tickets["data"].as_array().unwrap().iter().rev().map(|ticket| &ticket["ticketLabel"]).collect();
    assert_eq!(labels, [&json!("Row 1"), &json!("Row; 2"), &Value::Null, &json!("Row 8")]);
    let (_, found) = server.send("GET", &format!("/v1/allocations/{allocation}"), server.key(), "");
    assert!(found.contains(r#""name":"Box office""#), "{found}");

    let (status, printed, _) = run(folder.path(), &import);
    assert_eq!((status, &printed["imported"], &printed["alreadyImported"]), (1, &json!(0), &json!(4)));
    assert_eq!(printed["allocation"], allocation);
    let (_, summary) = server.send("GET", &format!("/v1/events/{event}/summary"), server.key(), "");
    assert!(summary.contains(r#""imported":4"#), "{summary}");

    for (arguments, message) in [
        (&["import-tickets", &event, "missing.csv", "--type", &seat][..], "cannot read missing.csv"),
        (&["import-tickets", &event, path, "--type", "type_0"], "there is no ticket type"),
        (&["import-tickets", &event, path, "--type", &seat, "--code-column", "Code"], "has no heading \"Code\""),
    ] {
        let (status, _, lines) = run(folder.path(), arguments);
        assert!(status != 0 && lines.concat().contains(message), "{lines:?}");
    }
}

/// The same command with an address space of 512 MiB.
fn limited(program: &Command) -> Command {
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -v 524288 && exec \"$0\" \"$@\""]).arg(program.get_program()).args(program.get_args());
    limited.env("MALLOC_ARENA_MAX", "2").stdin(Stdio::null());
    if let Some(folder) = program.get_current_dir() {
        limited.current_dir(folder);
    }
    limited
}

/// `TICKETING_IMPORTED_CODES` is the number of codes, by default 3,000.
#[test]
fn many_codes_are_imported_with_little_memory() {
    let codes = repetitions("TICKETING_IMPORTED_CODES", 3000);
    let folder = tempfile::tempdir().unwrap();
    let (server, event, seat) = on_sale(folder.path(), codes + 1);
    let mut lines = String::new();
    for number in 0..codes {
        writeln!(lines, "{:013},Row {}", 4_006_381_000_000_u64 + number * 7, number % 100).unwrap();
    }
    let file = folder.path().join("codes.csv");
    std::fs::write(&file, lines).unwrap();
    let path = file.to_str().unwrap();
    let import = ["import-tickets", &event, path, "--type", &seat, "--label-column", "2", "--name", "Partner"];
    for (imported, already_imported) in [(codes, 0), (0, codes)] {
        let began = SystemClock.monotonic();
        let output = finish(&mut limited(&program(folder.path(), &import)));
        assert!(output.status.success(), "{}", text(&output.stderr));
        let printed: Value = serde_json::from_str(text(&output.stdout)).unwrap();
        assert_eq!(
            (&printed["imported"], &printed["alreadyImported"]),
            (&json!(imported), &json!(already_imported)),
            "{printed}"
        );
        eprintln!("{codes} codes in {:.1?}", SystemClock.monotonic() - began);
    }
    drop(server);
}
